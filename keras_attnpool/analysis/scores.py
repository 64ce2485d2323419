"""Reads the attention weights of any layer in any model."""

import inspect
from functools import partial
from typing import Any

import keras

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._graph import (
    calls_through,
    graph_of,
    in_graph,
    layers_by_path,
    paths_of,
    rewire,
)
from keras_attnpool.analysis._inputs import Inputs

FLAG = "return_attention_scores"


def attention_model(model: keras.Model, layer: Any = None) -> keras.Model:
    """Builds a model that returns predictions and attention weights.

    The new model shares every layer with `model`, so training changes both models. The new model is
    compiled only once, so it is faster than many calls of `attention_scores`.

    A layer returns attention scores if its `call` takes `return_attention_scores`. Examples are the
    attention layers of this package, of Keras and of KerasHub. The search includes nested models,
    your own layers with inner layers, and the model inside a `HierarchicalEncoder`, whose scores
    are `(batch, sentences, ...)`. The search does not include other wrappers. In a subclassed model
    the search finds the layers that are attributes of the model. The new model then records the
    calls of these layers when it runs.

    Args:
        model: A functional or built Sequential model.
        layer: The layer, its name, or its path, such as `"encoder/pooling"` in a nested model.
            `None` takes all layers that return attention scores.

    Returns:
        A model with the inputs of `model` and the outputs `(outputs of model, {path: [scores]})`.
        The scores are float32, with one entry per call of the layer. The model is functional if
        `model` is functional.

    Raises:
        ValueError: If the model has not been built or has no such layer, or if the layer returns no
            attention scores.

    Example:

    ```python
    import keras
    import keras_attnpool

    model = keras_attnpool.models.LAMAEncoder(100, 2, num_heads=3)
    shown = keras_attnpool.analysis.attention_model(model)
    predictions, scores = shown(keras.ops.array([[4, 8, 15, 0]]))
    assert scores["pooling"][0].shape == (1, 3, 4)
    ```
    """
    layers = layers_by_path(model, "attention_model")
    wanted = wanted_layers(model, layers, layer, "attention_scores")
    if graph_of(model) is None or not wanted <= set(in_graph(model)):
        return _Observed(model, {path: layers[path] for path in wanted})

    calls = dict.fromkeys(wanted, 0)

    def visit(path: str, called: Any, args: Any, kwargs: Any) -> tuple[Any, dict[str, list[Any]]]:
        if path not in wanted:
            return called(*args, **kwargs), {}
        tensors, others = split_arguments(called, args, kwargs)
        calls[path] += 1
        name = called.name if calls[path] == 1 else f"{called.name}_call_{calls[path]}"
        outputs, scores, floats = _WithScores(called, others, name)(tensors)
        return (outputs, scores) if others.get(FLAG) else outputs, {path: [floats]}

    return rewire(model, visit)


def attention_scores(
    model: keras.Model,
    inputs: Any,
    layer: Any = None,
    *,
    batch_size: int = 32,
    return_predictions: bool = False,
) -> Any:
    """Reads the attention weights that a model uses for the given inputs.

    The weights come from the forward pass that makes the predictions, in inference mode and with
    the model's masks. The model is not changed, and it need not be compiled.

    Args:
        model: A functional or built Sequential model.
        inputs: Inputs of `model.predict`: arrays, a list or dict of arrays, or batches (a
            `PyDataset`, `tf.data.Dataset` or `DataLoader`). A list of sequences of unequal length
            is padded.
        layer: The layer, its name, or its path, such as `"encoder/pooling"` in a nested model, or
            `"sentences/word_pooling"` for the words of HCAN and HAN. `None` takes all layers whose
            `call` takes `return_attention_scores`.
        batch_size: Number of examples in one step.
        return_predictions: Whether to return the predictions with the scores.

    Returns:
        The scores as a float32 NumPy array in the layer's layout, such as `(batch, heads, time)`.
        The rows are in the order of the data, even if `SequenceBatches` are shuffled. A layer that
        is called several times gives a list with one array per call. A layer whose scores are a
        tuple or dict gives the same structure. With `layer=None`, several layers give a dict from
        paths to scores. With `return_predictions`, the result is the pair `(scores, predictions)`.

    Raises:
        ValueError: If the model has no such layer, if the layer returns no attention scores, or if
            the inputs are empty.

    Example:

    ```python
    import numpy as np
    import keras_attnpool

    model = keras_attnpool.models.LAMAEncoder(100, 2, num_heads=3)
    ids = np.array([[4, 8, 15, 0]])
    scores = keras_attnpool.analysis.attention_scores(model, ids, "pooling")
    assert scores.shape == (1, 3, 4)
    ```
    """
    read = Inputs(model, inputs, "attention_scores", batch_size)
    shown = attention_model(model, layer)
    predictions, by_path = shown.predict(read.form(read.leaves), batch_size=batch_size, verbose=0)
    scores = {path: calls[0] if len(calls) == 1 else calls for path, calls in by_path.items()}
    chosen = next(iter(scores.values())) if len(scores) == 1 else scores
    return (chosen, predictions) if return_predictions else chosen


class _WithScores(keras.layers.Layer):  # type: ignore[misc]
    """Calls a layer with `return_attention_scores=True`, and returns the scores in float32.

    The cast is inside this layer. In the graph it would be an operation named "cast", and a model
    from a file may have an operation of this name. Each call has its own layer, because Keras
    assumes that all calls of a layer have the same number of outputs
    (docs/upstream/keras-second-call.md). The tensors carry their masks, so masks need no code.
    """

    def __init__(self, layer: Any, others: dict[str, Any], name: str) -> None:
        super().__init__(dtype=layer.dtype_policy, autocast=False, name=name)
        self.supports_masking = True
        self.layer = layer
        self.others = others
        self.built = True

    def call(self, tensors: dict[str, Any]) -> Any:
        outputs, scores = self.layer(**{**self.others, **tensors, FLAG: True})
        floats = keras.tree.map_structure(lambda x: keras.ops.cast(x, "float32"), scores)
        return outputs, scores, floats

    def compute_output_spec(self, tensors: dict[str, Any]) -> Any:
        # Keras would trace the call with an unknown length, which some layers do not allow.
        spec = self.layer.compute_output_spec
        if FLAG not in inspect.signature(spec).parameters:
            return super().compute_output_spec(tensors)
        outputs, scores = spec(**{**self.others, **tensors, FLAG: True})
        floats = keras.tree.map_structure(lambda x: keras.KerasTensor(x.shape, "float32"), scores)
        return outputs, scores, floats

    def compute_mask(self, *args: Any, **kwargs: Any) -> None:
        return None


class _Observed(keras.Model):  # type: ignore[misc]
    """A model without a graph, and the scores of some of its layers, recorded while it runs."""

    def __init__(self, model: keras.Model, layers: dict[str, Any]) -> None:
        super().__init__(name=model.name, dtype=model.dtype_policy, autocast=False)
        self.model, self.paths = model, {id(layer): path for path, layer in layers.items()}
        self.found = list(layers.values())
        self.built = True

    def call(self, inputs: Any) -> Any:
        scores: dict[str, list[Any]] = {path: [] for path in self.paths.values()}

        def show(path: str, call: Any, *args: Any, **kwargs: Any) -> Any:
            given = inspect.signature(call).bind(*args, **kwargs).arguments
            outputs, each = call(**{**given, FLAG: True})
            scores[path].append(
                keras.tree.map_structure(lambda x: keras.ops.cast(x, "float32"), each)
            )
            return (outputs, each) if given.get(FLAG) else outputs

        with calls_through([(each, partial(show, self.paths[id(each)])) for each in self.found]):
            outputs = self.model(inputs, training=False)
        silent = [path for path, calls in scores.items() if not calls]
        if silent:
            must = f"be called when model '{self.model.name}' runs"
            raise ArgumentError("layer", must, f"{silent}, which were not", "attention_model")
        return outputs, scores


def split_arguments(layer: Any, args: Any, kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits a call's named arguments into arguments with tensors and arguments without tensors."""
    signature = inspect.signature(layer.call)
    tensors: dict[str, Any] = {}
    others: dict[str, Any] = {}
    named = signature.bind(*args, **kwargs).arguments
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= named.pop(name, {})
    for name, value in named.items():
        has_tensor = any(isinstance(x, keras.KerasTensor) for x in keras.tree.flatten(value))
        (tensors if has_tensor else others)[name] = value
    return tensors, others


def wanted_layers(model: keras.Model, layers: dict[str, Any], layer: Any, owner: str) -> set[str]:
    """The paths of the layers whose weights are requested."""
    able = {path: each for path, each in layers.items() if _has_scores(each)}
    listed = f"Layers with attention weights: {list(able) or 'none'}"
    if layer is None:
        if not able:
            must = f"have a layer whose call takes `{FLAG}`"
            received = f"model '{model.name}' with the layers {list(layers)}"
            raise ArgumentError("model", must, received, owner)
        return set(able)
    hits = set(paths_of(layers, layer))
    name = layer if isinstance(layer, str) else getattr(layer, "name", layer)
    if not hits:
        must = f"name a layer of model '{model.name}'. {listed}"
        raise ArgumentError("layer", must, {"layer": layer}, owner)
    if isinstance(layer, str) and len(hits) > 1:
        raise ArgumentError(
            "layer",
            f"be a path, one of {sorted(hits)}, where several layers of model '{model.name}' "
            f"are called '{name}'",
            {"layer": layer},
            owner,
        )
    if not hits <= set(able):
        must = f"name a layer with attention weights, whose call takes `{FLAG}`. {listed}"
        raise ArgumentError("layer", must, {"layer": layer}, owner)
    return hits


def _has_scores(layer: Any) -> bool:
    return FLAG in inspect.signature(layer.call).parameters
