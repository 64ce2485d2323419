"""Times functions in turns, in process time relative to a matrix product of the same round."""

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import keras
import numpy as np

from benchmarks.devices import clock, device
from benchmarks.reproduce import results

Run = Callable[[], Any]
# The unit of cost: a product of two square matrices of this size.
UNIT = 512
MODES = {
    "jax": ("compiled", "eager"),
    "tensorflow": ("graph", "compiled", "eager"),
    "torch": ("eager", "compiled"),
}


def finish(value: Any) -> None:
    """Waits until a GPU has computed a value."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        jax.block_until_ready(value)
    elif backend == "torch":
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize()
    elif device() != "cpu":
        keras.tree.map_structure(lambda x: x.numpy(), value)


def runner(
    layer: Any,
    x: np.ndarray,
    mask: np.ndarray | None,
    mode: str,
    gradient: bool,
    of_inputs: bool = True,
) -> Run:
    """The layer on fixed inputs; with `gradient`, of the squares' sum for weights and inputs."""
    inputs = keras.ops.cast(keras.ops.convert_to_tensor(x), layer.compute_dtype)
    mask = None if mask is None else keras.ops.convert_to_tensor(mask)
    backend = keras.backend.backend()
    return {"jax": _jax, "torch": _torch, "tensorflow": _tensorflow}[backend](
        layer, inputs, mask, mode, gradient, of_inputs
    )


def loss_of(output: Any) -> Any:
    return keras.ops.sum(keras.ops.square(keras.ops.cast(output, "float32")))


def _jax(layer: Any, inputs: Any, mask: Any, mode: str, gradient: bool, of_inputs: bool) -> Run:
    import jax

    weights = [v.value for v in layer.trainable_variables]
    others = [v.value for v in layer.non_trainable_variables]

    # The mask is an argument: of a constant the compiler would compute much in advance.
    def forward(weights: Any, inputs: Any, mask: Any) -> Any:
        return layer.stateless_call(weights, others, inputs, mask=mask)[0]

    function = forward
    if gradient:
        of = (0, 1) if of_inputs else 0
        function = jax.grad(lambda w, x, m: loss_of(forward(w, x, m)), argnums=of)
    if mode == "compiled":
        # Compiled here: what the compiler takes is none of a run's time and memory.
        function = jax.jit(function).lower(weights, inputs, mask).compile()
    return functools.partial(function, weights, inputs, mask)


def _torch(layer: Any, inputs: Any, mask: Any, mode: str, gradient: bool, of_inputs: bool) -> Run:
    import torch

    weights = [v.value for v in layer.trainable_variables]
    # Those of a layer of PyTorch's, which Keras does not know.
    weights += [
        p for p in layer.parameters() if p.requires_grad and all(p is not w for w in weights)
    ]

    def forward(inputs: Any) -> Any:
        return layer(inputs, mask=mask)

    function = forward
    if mode == "compiled":
        # PyTorch counts what it compiles by the code, which all layers would share, and from the
        # ninth on runs them eagerly, with a warning alone.
        forward.__code__ = forward.__code__.replace()
        torch._dynamo.config.fail_on_recompile_limit_hit = True
        function = torch.compile(forward)

    def infer() -> Any:
        with torch.no_grad():
            return function(inputs)

    def train() -> Any:
        given = inputs.detach().requires_grad_(of_inputs)
        wanted = [given, *weights] if of_inputs else weights
        return torch.autograd.grad(loss_of(function(given)), wanted, allow_unused=True)

    return train if gradient else infer


def _tensorflow(
    layer: Any, inputs: Any, mask: Any, mode: str, gradient: bool, of_inputs: bool
) -> Run:
    import tensorflow as tf

    def train(inputs: Any, mask: Any) -> Any:
        with tf.GradientTape() as tape:
            if of_inputs:
                tape.watch(inputs)
            loss = loss_of(layer(inputs, mask=mask))
        wanted = [inputs] * of_inputs + [v.value for v in layer.trainable_variables]
        return tape.gradient(loss, wanted, unconnected_gradients="zero")

    def infer(inputs: Any, mask: Any) -> Any:
        return layer(inputs, mask=mask)

    function = train if gradient else infer
    if mode != "eager":
        function = tf.function(function, jit_compile=mode == "compiled")
    return lambda: function(inputs, mask)


def runners(wanted: dict[str, tuple[Any, ...]]) -> dict[str, Run | Exception]:
    """`runner` of each of these arguments, or its error; JAX compiles several at a time."""
    with ThreadPoolExecutor() as pool:
        waiting = {name: pool.submit(runner, *arguments) for name, arguments in wanted.items()}
    return {name: each.exception() or each.result() for name, each in waiting.items()}


def in_turns(runs: dict[str, Run], rounds: int, least: float = 0.02) -> dict[str, list[float]]:
    """Costs of each run in each round, in products of two matrices of `UNIT` columns."""
    square = keras.ops.convert_to_tensor(
        np.random.default_rng(0).normal(size=(UNIT, UNIT)).astype("float32")
    )
    runs = {"": lambda: keras.ops.matmul(square, square), **runs}
    repeats = {}
    for name, run in runs.items():
        finish(run())
        start = clock()
        finish(run())
        repeats[name] = int(min(50, max(1, least / max(clock() - start, 1e-6))))
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = clock()
            for _ in range(repeats[name]):
                value = run()
            finish(value)
            seconds[name].append((clock() - start) / repeats[name])
    # One unit for all rounds: a unit a round would add its own noise to every figure.
    unit = float(np.median(seconds.pop("")))
    return {name: [value / unit for value in values] for name, values in seconds.items()}


def seconds(run: Run, repeats: int = 50) -> float:
    """Seconds of one of many runs in a row, between which a GPU does not wait."""
    start = clock()
    for _ in range(repeats):
        value = run()
    finish(value)
    return (clock() - start) / repeats


def machine_rates() -> dict[str, float]:
    """Multiplications a second of a float32 matrix product."""
    square = keras.ops.ones((2048, 2048))
    finish(keras.ops.matmul(square, square))
    times = []
    for _ in range(20):
        start = clock()
        finish(keras.ops.matmul(square, square))
        times.append(clock() - start)
    return {"products": 2048**3 / min(times)}


def versions() -> dict[str, str]:
    """What a file of results says of the run."""
    names = ("python", "keras", "keras-hub", "numpy", keras.backend.backend())
    return {name: results.versions()[name] for name in names}
