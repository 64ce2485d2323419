"""What the backends make of a function: second derivatives, one row at a time, a Hessian."""

import keras
import numpy as np
import pytest
from backend_functions import numpy, predict
from catalogue import CALLS, LAYERS, MASK, STEPS, randomized, together

pytestmark = pytest.mark.every_backend

BACKEND = keras.backend.backend()


@pytest.fixture(scope="module")
def model():
    """All layers in one model of steps and mask, with their outputs by name: compiled once."""
    ((whole, _),) = together([*LAYERS, *CALLS])
    return randomized(whole)


@pytest.fixture(scope="module")
def call(model):
    tensor = keras.ops.convert_to_tensor
    return lambda x, mask: model([tensor(x), tensor(mask)], training=False)


# TensorFlow has no second derivative of what a loop writes: chunks end in its LookupError there.
ONCE = {"generalized_scalar"} if BACKEND == "tensorflow" else set()


def loss(outputs):
    names = [name for name in [*LAYERS, *CALLS] if name not in ONCE]
    return sum(keras.ops.sum(keras.ops.square(outputs[name])) for name in names)


def gradient_and_product(function):
    """Compiles `x` -> the gradient `g` of a scalar function at `x`, and its Hessian times `g`."""
    if BACKEND == "torch":
        import torch

        def both(x):
            x = x.detach().requires_grad_()
            (first,) = torch.autograd.grad(function(x), x, create_graph=True)
            return first, *torch.autograd.grad((first**2).sum() / 2, x)

    elif BACKEND == "tensorflow":
        import tensorflow as tf

        @tf.function
        def both(x):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    value = function(x)
                first = inner.gradient(value, x)
                half = tf.reduce_sum(first**2) / 2
            return first, outer.gradient(half, x)

    else:
        import jax

        def half(x):
            first = jax.grad(function)(x)
            return (first**2).sum() / 2, first

        # The first gradient comes along, and is not compiled twice.
        product = jax.jit(jax.grad(half, has_aux=True))

        def both(x):
            return product(x)[::-1]

    return lambda x: tuple(map(numpy, both(keras.ops.convert_to_tensor(x))))


@pytest.mark.torch_first("only chunks have a rule for derivatives of their own")
def test_second_derivatives(call):
    """They are differences of first ones."""

    def of(x):
        return loss(call(x, MASK))

    derivatives = gradient_and_product(of)
    first, second = derivatives(STEPS)
    step = 1e-3 / np.abs(first).max()
    ends = [derivatives(STEPS + sign * step * first)[0] for sign in (1, -1)]
    target = (ends[0] - ends[1]) / (2 * step)
    assert np.abs(target).max() > 1
    np.testing.assert_allclose(second, target, atol=0.02 * np.abs(target).max())


@pytest.mark.torch_first("only chunks have a rule for derivatives of their own")
def test_one_row_at_a_time(model, call):
    """`vmap`, which PyTorch's recurrent kernels refuse: Keras's loop takes their place."""

    def row(x, mask):
        return {name: value[0] for name, value in call(x[None], mask[None]).items()}

    if BACKEND == "torch":
        import torch

        outputs = torch.func.vmap(row)(torch.tensor(STEPS), torch.tensor(MASK))
    elif BACKEND == "tensorflow":
        import tensorflow as tf

        outputs = tf.vectorized_map(
            lambda pair: row(*pair), (STEPS, MASK), fallback_to_while_loop=False
        )
    else:
        import jax

        outputs = jax.jit(jax.vmap(row))(STEPS, MASK)
    for name, target in predict(model, [STEPS, MASK]).items():
        np.testing.assert_allclose(numpy(outputs[name]), numpy(target), atol=1e-5, err_msg=name)


@pytest.mark.skipif(BACKEND != "torch", reason="torch.func")
def test_torch_func_derives_in_both_modes(call):
    """Forward over backward: no hooks for what is computed again, no kernel of an LSTM."""
    import torch

    def of(x):
        return loss(call(x, MASK))

    first, second = gradient_and_product(of)(STEPS)
    gradient = torch.func.grad(of)
    slopes, product = torch.func.jvp(gradient, (torch.tensor(STEPS),), (torch.tensor(first),))
    np.testing.assert_allclose(numpy(slopes), first, atol=1e-5 * np.abs(first).max())
    np.testing.assert_allclose(numpy(product), second, atol=1e-4 * np.abs(second).max())
