"""Creates a layer's weights and initializers, and the dropout of its inputs."""

import functools
from typing import Any

import keras

from keras_attnpool.types import Tensor


class LayerWeights(keras.layers.Layer):  # type: ignore[misc]
    """Adds weights with the initializers and regularizers of the layer's arguments; not public."""

    dropout: float = 0.0
    seed: int | None = None
    _initializers_used = 0

    def _start_dropout(self) -> None:
        """Creates the seed generator of the dropout, if any."""
        if self.dropout > 0:
            # It is named after the layer, because Keras would name it by a counter.
            self.seed_generator = keras.random.SeedGenerator(
                self.seed, name=f"{self.name}_seed_generator"
            )

    def _apply_dropout(self, x: Tensor, training: bool | None) -> Tensor:
        if not training or self.dropout == 0:
            return x
        return keras.random.dropout(x, self.dropout, seed=self.seed_generator)

    def _add(self, kind: str, name: str, shape: tuple[int, ...], initializer: Any = None) -> Any:
        """Adds a weight with the initializer and regularizer of its kind."""
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=self._clone_initializer(
                initializer or getattr(self, f"{kind}_initializer")
            ),
            regularizer=getattr(self, f"{kind}_regularizer", None),
        )

    _add_kernel = functools.partialmethod(_add, "kernel")

    def _add_bias(self, name: str, shape: tuple[int, ...]) -> Any:
        """Adds a bias; returns `None` with `use_bias=False`."""
        return self._add("bias", name, shape) if self.use_bias else None

    def _clone_initializer(self, initializer: Any) -> Any:
        """Returns a copy of the initializer that draws other numbers than the earlier copies.

        A Keras initializer draws the same numbers at every call, so two kernels of the same shape
        would start with the same values. The layer's `seed` applies if the initializer has no seed.
        """
        index = self._initializers_used
        self._initializers_used += 1
        if not isinstance(initializer, keras.initializers.Initializer):
            return initializer
        config = initializer.get_config()
        if "seed" not in config or not isinstance(config["seed"], (int, type(None))):
            return initializer
        seed = self.seed if config["seed"] is None else config["seed"]
        # The first copy keeps the seed, like a Keras layer with one kernel.
        if seed is not None:
            seed = seed + 7919 * index
            # JAX accepts no larger seeds.
            seed = seed if seed < 2**32 else seed % 2**32
        config["seed"] = seed
        return type(initializer).from_config(config)
