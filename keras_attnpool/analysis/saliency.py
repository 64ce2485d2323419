"""Gradient x input and integrated gradients of every token, in Keras alone."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._graph import layers_by_path, paths_of, rewire
from keras_attnpool.analysis._probabilities import class_probabilities
from keras_attnpool.analysis._removal import checked_ids
from keras_attnpool.analysis._token_rows import checked_classes
from keras_attnpool.types import Float32s, Float64s


def gradient_saliency(
    model: keras.Model,
    ids: Any,
    classes: Any = None,
    *,
    layer: Any = None,
    from_logits: bool = False,
    batch_size: int = 32,
) -> Float32s:
    """Computes gradient x input of a class's log-probability for every token.

    For token t with embedding `e_t` and class c: `sum over dim of e_t * d log p_c / d e_t`, to
    first order what the log-probability loses when the embedding is scaled to zero. It is signed: a
    token with a positive value speaks for the class. `np.abs` of it ranks tokens by influence.

    The model runs in inference mode and comes out as it went in: weights, trainable flags, compiled
    state. How: the embeddings are multiplied by a gate of ones, the only trainable weight of a
    model around yours, and one SGD step of learning rate 1 moves the gate by its gradient, which is
    the number wanted.

    Where the predicted probability is 1 to float32 precision, the gradient is 0.

    Args:
        model: A functional or built Sequential classifier with one input of ids. Its output is
            `(batch, classes)`, or `(batch, 1)` for two classes.
        ids: Integer array `(batch, time)`, or any shape that the embedding layer turns into
            `(*ids.shape, dim)`.
        classes: Integer array `(texts,)`, the class of each text. Defaults to the predicted one.
        layer: The layer whose output is gated, by itself, by name or by path
            (`"encoder/embedding"`). Defaults to the model's only `keras.layers.Embedding`.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step.

    Returns:
        float32 array of the shape of `ids`; 0 at steps that the model masks.

    Raises:
        ValueError: If the model has no graph, more than one input or no class scores, if the layer
            is not there or does not embed the ids, or the shapes or classes do not fit.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    model = keras_attnpool.models.LAMAEncoder(100, 2, num_heads=3)
    ids = np.array([[4, 8, 15, 0]])
    saliency = keras_attnpool.analysis.gradient_saliency(model, ids)
    assert saliency.shape == (1, 4) and saliency[0, 3] == 0
    ```

    Reference:
        - Denil, Demiraj and de Freitas, 2014, Extraction of Salient Sentences from Labelled
          Documents
    """
    points, owner = (np.ones(1), np.ones(1)), "gradient_saliency"
    return _gate_gradients(model, ids, classes, layer, from_logits, batch_size, points, owner)


def integrated_gradients(
    model: keras.Model,
    ids: Any,
    classes: Any = None,
    *,
    steps: int = 20,
    layer: Any = None,
    from_logits: bool = False,
    batch_size: int = 32,
) -> Float32s:
    """Computes integrated gradients of a class's log-probability for every token.

    The embeddings of a text grow from zero to what they are, all by the same factor a. For token t
    with embedding `e_t`: the integral over a from 0 to 1 of `sum over dim of e_t * d log p_c / d
    (a e_t)`. The values of a text add up to the log-probability of the class minus that for
    embeddings of zero, up to the error of the quadrature: more `steps` make it smaller.

    It works as `gradient_saliency` does, with one gradient for each step.

    Args:
        model: A functional or built Sequential classifier with one input of ids. Its output is
            `(batch, classes)`, or `(batch, 1)` for two classes.
        ids: Integer array `(batch, time)`, or any shape that the embedding layer turns into
            `(*ids.shape, dim)`.
        classes: Integer array `(texts,)`, the class of each text. Defaults to the predicted one.
        steps: Number of points of the Gauss-Legendre quadrature.
        layer: The layer whose output is gated, by itself, by name or by path
            (`"encoder/embedding"`). Defaults to the model's only `keras.layers.Embedding`.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step.

    Returns:
        float32 array of the shape of `ids`; 0 at steps that the model masks.

    Raises:
        ValueError: If `steps` is less than 1, and where `gradient_saliency` raises one.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    model = keras_attnpool.models.LAMAEncoder(100, 2, num_heads=3)
    ids = np.array([[4, 8, 15, 0]])
    saliency = keras_attnpool.analysis.integrated_gradients(model, ids)
    assert saliency.shape == (1, 4) and saliency[0, 3] == 0
    ```

    Reference:
        - Sundararajan, Taly and Yan, 2017, Axiomatic Attribution for Deep Networks
    """
    owner = "integrated_gradients"
    if not steps >= 1:
        raise ArgumentError("steps", "be 1 or more", {"steps": steps}, owner)
    places, weights = np.polynomial.legendre.leggauss(steps)
    points = (places + 1) / 2, weights / 2
    return _gate_gradients(model, ids, classes, layer, from_logits, batch_size, points, owner)


def _gate_gradients(
    model: keras.Model,
    ids: Any,
    classes: Any,
    layer: Any,
    from_logits: bool,
    batch_size: int,
    points: tuple[Float64s, Float64s],
    owner: str,
) -> Float32s:
    """The weighted sum of the gradients by each token's gate, at factors and with weights."""
    ids = checked_ids(ids, batch_size, owner)
    path = _embedding_path(model, layer, owner)
    size = min(batch_size, len(ids))
    gate = _Gate((size, *ids.shape[1:]))
    gated = rewire(model, _gating(path, gate, owner))
    if len(gated.inputs) != 1:
        must, received = "have one input", f"model '{model.name}' with {len(gated.inputs)} inputs"
        raise ArgumentError("model", must, received, owner)
    shape = getattr(gated.output[0], "shape", None)
    if shape is None or len(shape) != 2:
        must, received = "be a classifier with one output of shape (batch, classes)", f"{shape}"
        raise ArgumentError("model", must, received, owner)
    if classes is None:
        outputs = model.predict(ids, batch_size=batch_size, verbose=0)
        classes = class_probabilities(outputs, from_logits, owner).argmax(axis=1)
    classes = checked_classes(classes, len(ids), max(2, shape[1]), owner)
    step = _GateStep(gated, gate, from_logits, name=owner)
    # The loss is a sum over rows, so that the step is the gradient of each row by itself.
    step.compile(keras.optimizers.SGD(1.0), auto_scale_loss=False)
    gradients = []
    for start in range(0, len(ids), size):
        rows = np.arange(start, start + size) % len(ids)  # the last batch is filled up
        total = np.zeros(gate.shift.shape)
        for factor, weight in zip(*points, strict=True):
            gate.factor.assign(factor)
            gate.shift.assign(np.zeros(gate.shift.shape, "float32"))
            step.train_on_batch(ids[rows], classes[rows])
            total += weight * ops.convert_to_numpy(gate.shift.value)
        gradients.append(total)
    return np.concatenate(gradients)[: len(ids)].astype(np.float32)


class _Gate(keras.layers.Layer):  # type: ignore[misc]
    """Multiplies each token's vector by factor + shift; the shift is zero and can be trained."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(dtype="float32", autocast=False, name="saliency_gate")
        self.supports_masking = True
        # Not the gate itself: next to 1, float32 would keep few digits of a small gradient.
        self.shift = self.add_weight(name="shift", shape=shape, initializer="zeros")
        self.factor = self.add_weight(name="factor", shape=(), initializer="ones", trainable=False)
        self.built = True

    def call(self, inputs: Any) -> Any:
        gate = ops.expand_dims(self.factor.value + self.shift.value, -1)
        return inputs * ops.cast(gate, inputs.dtype)

    def compute_output_spec(self, inputs: Any, **kwargs: Any) -> Any:
        return keras.KerasTensor(inputs.shape, inputs.dtype)


class _GateStep(keras.Model):  # type: ignore[misc]
    """The gated model with the gate as its only weight, and the log-probability as output."""

    def __init__(self, gated: keras.Model, gate: _Gate, from_logits: bool, **kwargs: Any) -> None:
        super().__init__(dtype="float32", autocast=False, **kwargs)
        self.gate = gate
        self.from_logits = from_logits
        # In a closure Keras does not track the model: no optimizer and no state ever holds its
        # weights, whatever happens during the step.
        weights = [v for v in gated.trainable_variables if v is not gate.shift]

        def run(inputs: Any) -> Any:
            frozen = [(v, ops.stop_gradient(v.value)) for v in weights]
            # Penalties that the layers add end in this scope, out of the gradient.
            own = [(v, v.value) for v in (gate.shift, gate.factor)]
            with keras.StatelessScope([*frozen, *own]):
                return gated(inputs, training=False)[0]

        self.run = run

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return self.run(inputs)

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        outputs = ops.cast(y_pred, "float32")
        if outputs.shape[-1] == 1:
            other = ops.zeros_like(outputs) if self.from_logits else 1 - outputs
            outputs = ops.concatenate([other, outputs], axis=-1)
        if self.from_logits:
            logs = ops.log_softmax(outputs)
        else:
            logs = ops.log(ops.maximum(outputs, np.finfo(np.float32).tiny))
        return -ops.sum(logs * ops.one_hot(ops.cast(y, "int32"), outputs.shape[-1]))


def _gating(path: str, gate: _Gate, owner: str) -> Any:
    def visit(called: str, layer: Any, args: Any, kwargs: Any) -> tuple[Any, dict[str, list[Any]]]:
        outputs = layer(*args, **kwargs)
        if called != path:
            return outputs, {}
        shape = getattr(outputs, "shape", ())
        if len(shape) != len(gate.shift.shape) + 1:
            must = f"be one that turns ids {tuple(gate.shift.shape)} into vectors, one axis more"
            raise ArgumentError("layer", must, f"layer '{path}' with output {shape}", owner)
        return gate(outputs), {}

    return visit


def _embedding_path(model: Any, layer: Any, owner: str) -> str:
    layers = layers_by_path(model, owner)
    hits = paths_of(layers, layer)
    if layer is None:
        hits = [p for p, each in layers.items() if isinstance(each, keras.layers.Embedding)]
    if len(hits) != 1:
        must = f"name one layer of model '{model.name}'"
        if layer is None:
            must += ", unless that has exactly one keras.layers.Embedding"
        raise ArgumentError("layer", must, f"layer={layer!r}, layers {list(layers)}", owner)
    return hits[0]
