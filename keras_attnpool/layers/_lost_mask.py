"""Finds where a functional graph loses a mask on its way to a layer."""

from typing import Any

import keras

_RECURRENT = (keras.layers.RNN, keras.layers.Bidirectional)
# These layers pass on only the query's mask, on purpose.
_ATTENTION = (keras.layers.Attention, keras.layers.AdditiveAttention)


def lost_mask_message(inputs: Any) -> str | None:
    """Returns the warning for a layer if an earlier layer lost its mask, or `None`."""
    operation = None if _has_mask(inputs) else lost_at(inputs)
    if operation is None:
        return None
    if isinstance(operation, _RECURRENT):
        cure = (
            "This version of Keras ends masks there. Put keras_attnpool.layers.BidirectionalGRU or "
            "BidirectionalLSTM in its place, or pass `mask=`"
        )
    elif _hands_on(operation):
        cure = "Not all of its inputs carry one. Pass `mask=`"
    else:
        cure = "Pass `mask=`"
    return (
        "was called without a mask, so that padded steps count: the mask from above was lost at "
        f"'{operation.name}' ({type(operation).__name__}). {cure} with one entry per step: what "
        "`compute_mask` of the Embedding or Masking layer gives, or `keras.ops.not_equal(ids, 0)`"
    )


def lost_at(inputs: Any) -> Any:
    """Finds the operation that dropped the mask of `inputs`.

    The search goes from the inputs back towards the start of the model, and into nested models. The
    search follows tensors that have the time axis, and stops at tensors that have a mask.

    Args:
        inputs: A Keras tensor `(batch, time, ...)` without a mask.

    Returns:
        A layer or another operation of the graph, or `None` if no mask was lost.
    """
    outside: dict[int, Any] = {}
    waiting: list[tuple[Any, tuple[Any, ...]]] = [(inputs, ())]
    seen: set[int] = set()
    mixed = None
    while waiting:
        tensor, below = waiting.pop()
        tensor = _origin(tensor, outside)
        if id(tensor) in seen or _has_mask(tensor):
            continue
        seen.add(id(tensor))
        operation, sources, given = _producer(tensor)
        path = (operation, *below)
        without = [each for each in sources if not _has_mask(_origin(each, outside))]
        masked = given or len(without) < len(sources)
        if not sources and _makes_mask_inside(operation, tensor):
            return operation
        if not masked:
            waiting += [(each, path) for each in without]
        elif not _hands_on(operation):
            return operation
        elif without and not given:
            # An operation such as a sum has several inputs. If another input has lost its mask, the
            # search goes on there.
            mixed = mixed or operation
            waiting += [(each, path) for each in without]
        elif any(id(each) in outside for each in sources):
            # A nested model gets the mask only when it computes.
            dropper = next((each for each in path if not _hands_on(each)), None)
            if dropper is not None:
                return dropper
        # Otherwise a layer that supports masks dropped the mask on purpose.
    return mixed


def _origin(tensor: Any, outside: dict[int, Any]) -> Any:
    """Returns the tensor that `tensor` stands for, inside or outside of a nested model.

    `outside` maps the ids of nested models' inputs to the outer tensors that the inputs stand for.
    """
    while True:
        while id(tensor) in outside:
            tensor = outside[id(tensor)]
        operation, node, index = _history(tensor)
        if not isinstance(operation, keras.Model) or getattr(operation, "inputs", None) is None:
            return tensor
        # All calls of a model share its inner inputs, so the last visited call is the right call.
        outside.update(zip(map(id, operation.inputs), node.input_tensors, strict=False))
        tensor = operation.outputs[index]


def _history(tensor: Any) -> tuple[Any, Any, int]:
    """Returns the operation, node and output index that Keras stores with each symbolic tensor."""
    history = getattr(tensor, "_keras_history", None)
    if history is None:
        return None, None, 0
    operation, node_index, tensor_index = history
    return operation, operation._inbound_nodes[node_index], tensor_index


def _producer(tensor: Any) -> tuple[Any, list[Any], bool]:
    """Returns a tensor's operation, the sequences it reads, and whether a mask comes with them."""
    operation, node, _ = _history(tensor)
    if node is None:
        return None, [], False
    arguments = node.arguments
    read = node.input_tensors
    if isinstance(operation, keras.layers.Layer):
        # As in Keras, the mask comes from the first argument.
        first = arguments.args[0] if arguments.args else next(iter(arguments.kwargs.values()), None)
        read = [x for x in keras.tree.flatten(first) if isinstance(x, keras.KerasTensor)]
        read = read[:1] if isinstance(operation, _ATTENTION) else read
    # An output of known length cannot come from an input of unknown length, so such inputs have
    # other steps.
    sources = [
        x for x in read if len(x.shape) > 2 and (tensor.shape[1] is None or x.shape[1] is not None)
    ]
    return operation, sources, bool(sources) and arguments.kwargs.get("mask") is not None


def _makes_mask_inside(operation: Any, tensor: Any) -> bool:
    """Returns whether a layer embeds ids with an inner layer, and loses that layer's mask."""
    if not isinstance(operation, keras.layers.Layer) or _hands_on(operation):
        return False
    ids = [x for x in _history(tensor)[1].input_tensors if len(x.shape) == 2]
    inner = operation._flatten_layers(include_self=False)
    return any(x.shape[1] == tensor.shape[1] for x in ids) and any(
        isinstance(layer, keras.layers.Masking) or getattr(layer, "mask_zero", False)
        for layer in inner
    )


def _has_mask(tensor: Any) -> bool:
    return getattr(tensor, "_keras_mask", None) is not None


def _hands_on(operation: Any) -> bool:
    return bool(getattr(operation, "supports_masking", False))
