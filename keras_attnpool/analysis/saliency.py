"""Computes gradient x input and integrated gradients of every token, with Keras alone."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_attnpool._checks import SIZE, ArgumentError, validate
from keras_attnpool.analysis._graph import calls_through, layers_by_path, paths_of
from keras_attnpool.analysis._inputs import Inputs, leaves_of, stand_in
from keras_attnpool.analysis._probabilities import class_probabilities
from keras_attnpool.analysis._token_rows import checked_classes
from keras_attnpool.ops import need_gradients
from keras_attnpool.types import Float32s, Float64s


def gradient_saliency(
    model: keras.Model,
    inputs: Any,
    classes: Any = None,
    *,
    mask: Any = None,
    layer: Any = None,
    from_logits: bool = False,
    batch_size: int = 32,
) -> Float32s:
    """Computes gradient x input of a class's log-probability for every token.

    The value of token t with embedding `e_t` for class c is `sum over dim of e_t * d log p_c / d
    e_t`. To a first approximation, the log-probability falls by this value if the embedding of the
    token becomes zero. A token with a positive value speaks for the class. The absolute values rank
    tokens by influence.

    The model runs in inference mode. The weights, the trainable flags and the compiled state of the
    model are not changed. An outer model multiplies the embeddings by a gate of ones. Only the gate
    is trainable. One SGD step with learning rate 1 changes the gate by its gradient. This gradient
    is the result.

    If the predicted probability is exactly 1 in float32, the gradient is 0.

    Args:
        model: A classifier with outputs `(batch, classes)`, or `(batch, 1)` for two classes.
        inputs: Inputs of `model.predict`: ids `(rows, time)`, where 0 is padding; vectors `(rows,
            time, dim)`; a list or dict of these, with or without a mask; or batches (a `PyDataset`,
            `tf.data.Dataset` or `DataLoader`). A list of sequences of unequal length is padded, and
            gets a mask if the model takes a mask. If there are several inputs, the first input that
            is not a mask has the steps.
        classes: Integer array `(texts,)`, the class of each text. Defaults to the predicted class.
        mask: `None`, or an array `(rows, time)` of booleans, or of 0 and 1. True means that the
            step counts. With `None` the mask comes from the model's inputs, from a `Masking` layer,
            from the ids that are not 0, or from the lengths of unequal rows.
        layer: The embedding layer, its name, or its path, such as `"encoder/embedding"`. Defaults
            to the model's only `keras.layers.Embedding`.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step.

    Returns:
        float32 array with one value per step of the inputs, 0 at masked steps.

    Raises:
        ValueError: If the model has no graph, more than one input or no class scores; if `layer` is
            missing or does not embed the ids; or if shapes or classes do not fit.

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
    read = Inputs(model, inputs, "gradient_saliency", batch_size, mask)
    return gate_gradients(read, classes, layer, from_logits)


def integrated_gradients(
    model: keras.Model,
    inputs: Any,
    classes: Any = None,
    *,
    steps: int = 20,
    mask: Any = None,
    baseline: Any = "zeros",
    layer: Any = None,
    from_logits: bool = False,
    batch_size: int = 32,
) -> Float32s:
    """Computes integrated gradients of a class's log-probability for every token.

    All embeddings of a text are multiplied by a factor `a` that grows from 0 to 1. The value of
    token t with embedding `e_t` is the integral over `a` of `sum over dim of e_t * d log p_c / d (a
    e_t)`. The values of a text add up to the class's log-probability, minus the log-probability if
    all embeddings are zero. The error of the quadrature falls with more `steps`.

    The gradients are computed as in `gradient_saliency`, one per point of the quadrature.

    Args:
        model: A classifier with outputs `(batch, classes)`, or `(batch, 1)` for two classes.
        inputs: Inputs of `model.predict`: ids `(rows, time)`, where 0 is padding; vectors `(rows,
            time, dim)`; a list or dict of these, with or without a mask; or batches (a `PyDataset`,
            `tf.data.Dataset` or `DataLoader`). A list of sequences of unequal length is padded, and
            gets a mask if the model takes a mask. If there are several inputs, the first input that
            is not a mask has the steps.
        classes: Integer array `(texts,)`, the class of each text. Defaults to the predicted class.
        steps: Number of points of the Gauss-Legendre quadrature.
        mask: `None`, or an array `(rows, time)` of booleans, or of 0 and 1. True means that the
            step counts. With `None` the mask comes from the model's inputs, from a `Masking` layer,
            from the ids that are not 0, or from the lengths of unequal rows.
        baseline: The vector at the start of the integral: `"zeros"`, `"mean"` of all steps that
            count, or a vector. With ids or with `layer` the baseline must be `"zeros"`.
        layer: The embedding layer, its name, or its path, such as `"encoder/embedding"`. Defaults
            to the model's only `keras.layers.Embedding`.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step.

    Returns:
        float32 array with one value per step of the inputs, 0 at masked steps.

    Raises:
        ValueError: If `steps` is less than 1, or in the cases of `gradient_saliency`.

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
    validate("steps", steps, SIZE, owner)
    places, weights = np.polynomial.legendre.leggauss(steps)
    points = (places + 1) / 2, weights / 2
    read = Inputs(model, inputs, owner, batch_size, mask)
    if (read.are_ids or layer is not None) and not (
        isinstance(baseline, str) and baseline == "zeros"
    ):
        must = "be 'zeros' where a layer's output grows, as that of an embedding does"
        raise ArgumentError("baseline", must, f"{baseline!r}", owner)
    return gate_gradients(read, classes, layer, from_logits, points, stand_in(read, baseline))


def gate_gradients(
    inputs: Inputs,
    classes: Any,
    layer: Any,
    from_logits: bool,
    points: tuple[Float64s, Float64s] = (np.ones(1), np.ones(1)),
    baseline: Any = 0.0,
) -> Float32s:
    """Adds up the weighted gradients of each step's gate over the factors."""
    owner, model, count = inputs.owner, inputs.model, inputs.count
    need_gradients(owner)
    embedding = None
    if inputs.are_ids or layer is not None:
        embedding = _embedding(model, layer, owner)
    elif not isinstance(model, keras.Model):
        must, received = "be a keras.Model", f"{type(model)}"
        raise ArgumentError("model", must, received, owner)
    probabilities = class_probabilities(inputs.predict(), from_logits, owner)
    if classes is None:
        classes = probabilities.argmax(axis=1)
    classes = checked_classes(classes, count, probabilities.shape[1], owner)
    size = min(inputs.batch_size, count)
    gate = _Gate((size, *inputs.mask.shape[1:]), np.asarray(baseline, np.float32))

    name = getattr(embedding, "name", "")

    def gated(call: Any, *args: Any, **kwargs: Any) -> Any:
        outputs = call(*args, **kwargs)
        if len(getattr(outputs, "shape", ())) != len(gate.shift.shape) + 1:
            must = f"turn ids {tuple(gate.shift.shape)} into vectors, one axis more"
            received = f"layer '{name}' with output {getattr(outputs, 'shape', type(outputs))}"
            raise ArgumentError("layer", must, received, owner)
        return gate(outputs)

    def run(tensors: Any) -> Any:
        if embedding is not None:
            with calls_through([(embedding, gated)]):
                return model(tensors, training=False)
        leaves = leaves_of(tensors)
        x = leaves[inputs.steps]
        moved = gate(x)
        if inputs.mask_value is not None:  # a masked step must keep the mask value
            kept = ops.any(ops.not_equal(x, inputs.mask_value), axis=-1, keepdims=True)
            moved = ops.where(kept, moved, x)
        return model(inputs.form({**leaves, inputs.steps: moved}), training=False)

    step = _GateStep(run, model, gate, name=owner)
    # The loss is a sum over rows, so each row of the step is the gradient of this row.
    loss = _loss_of_logits if from_logits else _loss
    step.compile(keras.optimizers.SGD(1.0), loss, auto_scale_loss=False)
    targets = np.eye(probabilities.shape[1], dtype="float32")[classes]
    gradients = []
    for start in range(0, count, size):
        rows = np.arange(start, start + size) % count  # the last batch is filled up
        total = np.zeros(gate.shift.shape)
        for factor, weight in zip(*points, strict=True):
            gate.factor.assign(factor)
            gate.shift.assign(np.zeros(gate.shift.shape, "float32"))
            step.train_on_batch(inputs.form(inputs.some(rows)), targets[rows])
            total += weight * ops.convert_to_numpy(gate.shift.value)
        gradients.append(total)
    total = np.concatenate(gradients)[:count]
    return np.where(inputs.mask, total, 0).astype(np.float32)


class _Gate(keras.layers.Layer):  # type: ignore[misc]
    """Moves a baseline towards each vector by factor + shift. The shift is zero, and is trained."""

    def __init__(self, shape: tuple[int, ...], baseline: Float32s) -> None:
        super().__init__(dtype="float32", autocast=False, name="saliency_gate")
        self.supports_masking = True
        self.baseline = baseline
        # A gate is not trained, because near 1 float32 keeps few digits of a small gradient.
        self.shift = self.add_weight(name="shift", shape=shape, initializer="zeros")
        self.factor = self.add_weight(name="factor", shape=(), initializer="ones", trainable=False)
        self.built = True

    def call(self, inputs: Any) -> Any:
        gate = ops.cast(self.factor.value + self.shift.value, inputs.dtype)
        gate = ops.reshape(gate, (*gate.shape, *[1] * (len(inputs.shape) - len(gate.shape))))
        baseline = ops.cast(self.baseline, inputs.dtype)
        return baseline + gate * (inputs - baseline)

    def compute_output_spec(self, inputs: Any, **kwargs: Any) -> Any:
        return keras.KerasTensor(inputs.shape, inputs.dtype)


class _GateStep(keras.Model):  # type: ignore[misc]
    """The gated model with the gate as its only weight, and the log-probability as output."""

    def __init__(self, run: Any, model: keras.Model, gate: _Gate, **kwargs: Any) -> None:
        super().__init__(dtype="float32", autocast=False, **kwargs)
        self.gate = gate
        # Keras does not track a model in a closure, so its weights are in no optimizer and no
        # state.
        weights = model.trainable_variables

        def frozen_run(inputs: Any) -> Any:
            frozen = [(v, ops.stop_gradient(v.value)) for v in weights]
            # This scope excludes the layers' penalties from the gradient.
            own = [(v, v.value) for v in (gate.shift, gate.factor)]
            with keras.StatelessScope([*frozen, *own]):
                return run(inputs)

        self.run = frozen_run

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return self.run(inputs)


def _loss(targets: Any, probabilities: Any) -> Any:
    """The negative log-probability of each row's class, summed over rows."""
    likely = ops.cast(probabilities, "float32")
    if likely.shape[-1] == 1:
        likely = ops.concatenate([1 - likely, likely], axis=-1)
    return -ops.sum(targets * ops.log(ops.maximum(likely, np.finfo(np.float32).tiny)))


def _loss_of_logits(targets: Any, logits: Any) -> Any:
    """Computes `_loss` from logits."""
    logits = ops.cast(logits, "float32")
    if logits.shape[-1] == 1:
        logits = ops.concatenate([ops.zeros_like(logits), logits], axis=-1)
    return -ops.sum(targets * ops.log_softmax(logits))


def _embedding(model: Any, layer: Any, owner: str) -> Any:
    layers = layers_by_path(model, owner)
    hits = paths_of(layers, layer)
    if layer is None:
        hits = [p for p, each in layers.items() if isinstance(each, keras.layers.Embedding)]
    if len(hits) != 1:
        must = f"name one layer of model '{model.name}'"
        if layer is None:
            must += ", unless that has exactly one keras.layers.Embedding"
        raise ArgumentError("layer", must, f"layer={layer!r}, layers {list(layers)}", owner)
    return layers[hits[0]]
