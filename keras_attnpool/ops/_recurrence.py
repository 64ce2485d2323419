"""Runs both directions of a recurrent layer over masked rows by the backend's fast kernels."""

import sys
from typing import Any

import keras
from keras import ops

from keras_attnpool.ops._devices import eager_on_torch_cpu, masks_are_cheap
from keras_attnpool.ops._rows import empty_batch_safe
from keras_attnpool.ops._steps import take_steps
from keras_attnpool.types import Tensor


class BothDirections:
    """Reads masked rows forward and backward, with the backend's fast kernels if it has some.

    The fast kernels do not support masks, so the kept steps of each row are moved to the front of
    the row. The backward direction reverses only the kept steps. So padding on either side does not
    change the result at kept steps. CPUs with JAX or TensorFlow have no such kernel. On these CPUs
    the steps stay in their places, and padded steps do not change the states because of the mask.
    With a mask the layer is faster than with moved steps.

    Args:
        mask: Boolean tensor `(batch, time)` where True keeps a step, or `None`.
    """

    def __init__(self, mask: Tensor | None) -> None:
        self._mask = mask
        self._moves = mask is not None and not masks_are_cheap()
        if not self._moves:
            return
        steps = ops.expand_dims(ops.arange(0, ops.shape(mask)[1], dtype="int32"), 0)
        kept = ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)
        # The order is: the kept steps, then the padded steps. ONNX has no stable `argsort`.
        time = ops.shape(mask)[1]
        order = ops.sort(ops.where(mask, steps, steps + time), axis=1)
        self._front = ops.where(order < time, order, order - time)
        self._turned = ops.where(steps < kept, kept - 1 - steps, steps)
        # The new place of each kept step, and 0 for the padded steps before the first kept step.
        self._back = ops.maximum(ops.cumsum(ops.cast(mask, "int32"), axis=1) - 1, 0)

    def to_front(self, inputs: Tensor) -> Tensor:
        """Moves the kept steps of `(batch, time, dim)` to the front, if that saves time."""
        return take_steps(inputs, self._front) if self._moves else inputs

    def to_places(self, states: Tensor) -> Tensor:
        """Undoes `to_front`; the values at padded steps are arbitrary."""
        return take_steps(states, self._back) if self._moves else states

    def read(
        self, inputs: Tensor, forward: Any, backward: Any, backward_inputs: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Returns the states of both directions, each `(batch, time, units)`.

        Args:
            inputs: Tensor `(batch, time, dim)` from `to_front`.
            forward: Built `keras.layers.LSTM` or `GRU` that returns sequences, with the default
                activations and no dropout.
            backward: A layer like `forward` for the other direction, with `go_backwards=False`.
            backward_inputs: Inputs of the backward layer, if they differ from `inputs`.
        """
        turned = self._turn(inputs if backward_inputs is None else backward_inputs)
        if self._moves or self._mask is None:
            return recurrent_states(forward, inputs), self._turn(recurrent_states(backward, turned))
        states = _keras_states(backward, turned, ops.flip(self._mask, axis=1))
        return _keras_states(forward, inputs, self._mask), self._turn(states)

    def _turn(self, x: Tensor) -> Tensor:
        """Reverses the kept steps of a tensor, or restores their order."""
        return take_steps(x, self._turned) if self._moves else ops.flip(x, axis=1)


def recurrent_states(layer: Any, inputs: Tensor) -> Tensor:
    """Returns all states `(batch, time, units)` of a built recurrent layer, without a mask.

    The result equals `layer(inputs)`. With PyTorch on a CPU, Keras would run a Python loop over the
    steps, so this function calls PyTorch's kernel with the layer's weights.

    Args:
        layer: Built `keras.layers.LSTM` or `GRU` (`reset_after=True`) that returns sequences, with
            the default activations and no dropout.
        inputs: Float tensor `(batch, time, dim)`.
    """
    # On GPUs Keras calls cuDNN if possible. No kernel supports an empty batch.
    if eager_on_torch_cpu(inputs) and inputs.shape[0] > 0:
        states = _torch_states(layer, inputs)
        if states is not None:
            return states
    return _keras_states(layer, inputs)


def _keras_states(layer: Any, *inputs_and_mask: Tensor) -> Tensor:
    return empty_batch_safe(lambda x, mask=None: layer(x, mask=mask), *inputs_and_mask)


def _torch_states(layer: Any, inputs: Tensor) -> Tensor | None:
    """Returns the states from PyTorch's kernel, or `None` if it cannot read these inputs."""
    # The package imports no backend, but Keras has imported it.
    torch = sys.modules["torch"]
    if inputs.dtype not in (torch.float32, torch.float64):
        return None
    cell = layer.cell
    weights = [cell.kernel, cell.recurrent_kernel, *([cell.bias] if cell.use_bias else [])]
    kernel, recurrent, *bias = [ops.convert_to_tensor(w) for w in weights]
    if any(w.dtype != inputs.dtype for w in (kernel, recurrent, *bias)):
        return None
    state = inputs.new_zeros((1, inputs.shape[0], layer.units))
    # The arguments are: layers, dropout, training, both directions, batch first. The kernel keeps
    # values for a gradient only in training. A trace must be the same with and without gradients.
    training = torch.is_grad_enabled() and not torch.jit.is_tracing()
    options = (1, 0.0, training, False, True)
    try:
        if isinstance(layer, keras.layers.LSTM):
            # Keras has one bias. PyTorch has a bias for the inputs and a bias for the states.
            biases = [bias[0], torch.zeros_like(bias[0])] if bias else []
            flat = [kernel.T, recurrent.T, *biases]
            return torch.lstm(inputs, (state, state), flat, bool(bias), *options)[0]
        flat = [_reset_first(w, layer.units) for w in (kernel, recurrent, *bias)]
        flat = [flat[0].T, flat[1].T, *(flat[2] if bias else ())]
        return torch.gru(inputs, state, flat, bool(bias), *options)[0]
    except RuntimeError as error:
        # `torch.func` supports neither `vmap` nor forward derivatives of these kernels. There is no
        # public function that tells whether `torch.func` is active.
        if not (isinstance(error, NotImplementedError) or "Batching rule" in str(error)):
            raise
        return None


def _reset_first(weights: Tensor, units: int) -> Tensor:
    """Puts a GRU's gates into PyTorch's order; the order of Keras is update, reset, new."""
    # These are slices, because OpenVINO loses the sizes after a `split`
    # (docs/upstream/openvino-gru-split.md).
    update, reset = weights[..., :units], weights[..., units : 2 * units]
    return ops.concatenate([reset, update, weights[..., 2 * units :]], axis=-1)
