"""Runs a model's graph again, with a function around each call of a layer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from typing import Any

import keras

from keras_attnpool._checks import ArgumentError
from keras_attnpool.layers import HierarchicalEncoder

Visit = Callable[[str, Any, tuple[Any, ...], dict[str, Any]], tuple[Any, dict[str, list[Any]]]]
"""`(path, layer, args, kwargs) -> (the layer's outputs, further tensors by name)`."""


def graph_of(model: Any) -> keras.Model | None:
    """Returns the model as an uncompiled functional model, or `None` if it has no graph.

    The result has the layers and the graph of `model`. No layer is called or copied.
    """
    if not isinstance(model, keras.Model) or getattr(model, "inputs", None) is None:
        return None
    if isinstance(model, keras.Sequential):
        # `model.input` may be the tensor of an outer model.
        return keras.Model(model.inputs[0], model.outputs[0], name=model.name)
    return keras.Model(model.input, model.output, name=model.name)


def inner_model(layer: Any) -> keras.Model | None:
    """Returns the inner model of a layer if it has a graph, or `None`.

    The inner model is the layer itself, or the encoder of a `HierarchicalEncoder`.
    """
    model = layer.encoder if isinstance(layer, HierarchicalEncoder) else layer
    return model if graph_of(model) is not None else None


def layers_by_path(model: Any, owner: str) -> dict[str, Any]:
    """Returns every layer of a model by its path, such as `"inner/layer"` in a nested model.

    The encoder of a `HierarchicalEncoder` and the user's own layers with inner layers count as
    nested models, too.

    Raises:
        ValueError: If `model` is not a model, or if it has not been built.
    """
    if not isinstance(model, keras.Model):
        must, received = "be a keras.Model", f"{type(model)}"
        raise ArgumentError("model", must, received, owner)
    if not model.built:
        must = "have been built: call it once on a batch"
        received = f"model '{model.name}' of class {type(model).__name__}"
        raise ArgumentError("model", must, received, owner)
    return dict(_inside(model, ""))


def in_graph(model: Any, prefix: str = "") -> Iterator[str]:
    """Returns the paths of the layers that the graph of a model calls."""
    for layer in model.layers:
        yield prefix + layer.name
        inner = inner_model(layer)
        if inner is not None:
            yield from in_graph(inner, f"{prefix}{layer.name}/")


@contextmanager
def calls_through(functions: list[tuple[Any, Callable[..., Any]]]) -> Iterator[None]:
    """Replaces each layer's `call`, inside the context, by a function of the original call."""
    for layer, function in functions:
        # `object.__setattr__` is used because Keras would search the function for variables.
        object.__setattr__(layer, "call", partial(function, layer.call))
    try:
        yield
    finally:
        for layer, _ in functions:
            object.__delattr__(layer, "call")


def paths_of(layers: dict[str, Any], layer: Any) -> list[str]:
    """Returns the paths of the layers that `layer` selects: a layer, a path or else a name."""
    if not isinstance(layer, str):
        return [path for path, each in layers.items() if each is layer]
    return [layer] if layer in layers else [p for p in layers if p.rsplit("/", 1)[-1] == layer]


def _inside(outer: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    is_model = isinstance(outer, keras.Model)
    own = outer.layers if is_model else outer._flatten_layers(include_self=False, recursive=False)
    for layer in own:
        yield prefix + layer.name, layer
        inner = layer.encoder if isinstance(layer, HierarchicalEncoder) else layer
        is_own = not type(inner).__module__.startswith(("keras.", "keras_attnpool."))
        if isinstance(inner, keras.Model) or is_own:
            yield from _inside(inner, f"{prefix}{layer.name}/")


def rewire(model: Any, visit: Visit, prefix: str = "") -> keras.Model:
    """Builds a functional model from the layers of `model`; `visit` calls each layer.

    A layer's results are in the order of its calls in `model`.

    Args:
        model: A functional or built Sequential model.
        visit: Calls a layer or an operation, or replaces this call.
        prefix: Path of `model` inside the outermost model.

    Returns:
        A model with the inputs of `model` and the outputs `(outputs of model, {name: [tensor]})`.
        Each list holds the further tensors that `visit` returned under this name, in the order of
        the calls.
    """
    inner: dict[str, Any] = {}
    extras: dict[str, list[tuple[int, list[Any]]]] = {}
    graph = graph_of(model)
    numbers = _call_numbers(graph)

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        path = prefix + layer.name
        nested = inner_model(layer)
        if nested is None:
            outputs, extra = visit(path, layer, args, kwargs)
        else:
            if path not in inner:
                inner[path] = rewire(nested, visit, f"{path}/")
                if nested is not layer:
                    inner[path] = type(layer)(
                        encoder=inner[path], name=layer.name, dtype=layer.dtype_policy
                    )
            outputs, extra = inner[path](*args, **kwargs)
        number = next(numbers[id(layer)])
        for name, tensors in extra.items():
            extras.setdefault(name, []).append((number, tensors))
        return outputs

    clone = keras.models.clone_model(graph, clone_function=lambda layer: layer, call_function=call)
    found = {
        name: [tensor for _, tensors in sorted(calls, key=itemgetter(0)) for tensor in tensors]
        for name, calls in extras.items()
    }
    rewired = keras.Model(clone.input, (clone.output, found), name=model.name)
    rewired.supports_masking = model.supports_masking
    return rewired


def _call_numbers(graph: Any) -> dict[int, Iterator[int]]:
    """Numbers the calls of each operation in the order of the graph."""
    numbers: dict[int, list[int]] = {}
    for depth in sorted(graph._nodes_by_depth, reverse=True):
        for node in graph._nodes_by_depth[depth]:
            if not node.is_input:
                calls = node.operation._inbound_nodes
                numbers.setdefault(id(node.operation), []).append(calls.index(node))
    return {operation: iter(each) for operation, each in numbers.items()}
