"""Takes one training step of every model of a folder inside a Flax NNX module, in a new process.

Run by test_nnx.py with `KERAS_NNX_ENABLED=true`. The weights after the step must be those that the
gradients of another backend give; a file and a state written then give the same numbers again.
"""

import sys
from pathlib import Path
from typing import Any

import jax
import keras
import numpy as np
import optax
from flax import nnx

import keras_attnpool  # noqa: F401  (registers the layers)

RATE = 0.05
TRAINABLE = nnx.All(keras.Variable, lambda path, variable: variable.trainable)


class Net(nnx.Module):
    """A module of Flax that holds a model of Keras."""

    def __init__(self, path: Path):
        self.model = keras.models.load_model(path)

    def __call__(self, inputs: list[Any]) -> Any:
        return self.model(inputs if len(inputs) > 1 else inputs[0])


@nnx.jit
def step(net: Net, optimizer: nnx.Optimizer, inputs: list[Any]) -> None:
    def loss(net: Net) -> Any:
        return (net(inputs) ** 2).mean()

    optimizer.update(net, nnx.grad(loss, argnums=nnx.DiffState(0, TRAINABLE))(net))


def main(folder: Path) -> None:
    count = 0
    for path in sorted(folder.glob("*.keras")):
        inputs = list(map(jax.numpy.asarray, np.load(path.with_suffix(".inputs.npz")).values()))
        targets = list(np.load(path.with_suffix(".stepped.npz")).values())
        net = Net(path)
        step(net, nnx.Optimizer(net, optax.sgd(RATE), wrt=TRAINABLE), inputs)
        found = zip(net.model.trainable_variables, targets, strict=True)
        for variable, target in found:
            np.testing.assert_allclose(variable, target, atol=1e-5, err_msg=variable.path)
        other = Net(path)
        nnx.update(other, nnx.state(net))
        net.model.save(path)
        for again in (other, Net(path)):
            np.testing.assert_array_equal(again(inputs), net(inputs), err_msg=path.stem)
        count += 1
    print(f"{count} models trained")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
