"""Tries every layer under every backend and writes `docs/support/layers.json` (`make where`).

    python tests/where_it_runs.py                  # all backends, each in a process of its own
    python tests/where_it_runs.py numpy openvino   # these alone; the others stay as they are

PyTorch writes a file of each case, what it gives, and its weights behind one step of its gradients;
every backend must get there from the file. Exports are tried by robustness/test_export.py.
"""

import datetime
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE.parent / "docs" / "support" / "layers.json"
# What each backend has of these; a name is missing where Keras has nothing of the kind.
EVERY = ("predict", "saved", "quantized")
CHECKS = {
    **dict.fromkeys(("tensorflow", "torch", "jax", "nnx"), (*EVERY, "compiled", "train")),
    **dict.fromkeys(("numpy", "openvino"), EVERY),
}
PACKAGES = {"nnx": ["jax", "flax", "optax"]}
RATE, TOLERANCE = 0.05, 1e-5
YES, NOTHING = "yes", "nothing inside"
# Called, not by `predict`: OpenVINO's may compute in half precision, and under NNX it fails for
# what is recurrent (docs/upstream/keras-nnx-recurrent.md).
CALLED = ("openvino", "nnx")


def settings(backend: str) -> dict[str, str]:
    """The environment of a process with this backend."""
    return {
        **os.environ,
        "KERAS_BACKEND": "jax" if backend == "nnx" else backend,
        "KERAS_NNX_ENABLED": str(backend == "nnx").lower(),
        "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)]),
        # The compiler in a hurry.
        "OMP_NUM_THREADS": "1",
        "XLA_FLAGS": os.environ.get("XLA_HURRY", "--xla_backend_optimization_level=0"),
    }


def verdicts(backends: list[str]) -> dict[str, Any]:
    """What the backends do with each case, and which layer each case is of."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for backend in ["torch", *backends]:
            task = "try" if found else "write"
            call = [sys.executable, __file__, task, backend, folder]
            subprocess.run(call, env=settings(backend), check=True)
            said = json.loads((Path(folder) / f"{task}.json").read_text(encoding="utf-8"))
            if found:
                found["runs"][backend] = said
            else:
                found = {"layers": said, "runs": {}}
    return found


def write(folder: Path) -> dict[str, str]:
    """Files of the cases of layers, by PyTorch; the class of each case's layer."""
    import keras
    import numpy as np
    from backend_functions import gradients, numpy
    from catalogue import CASES, randomized

    owners = {}
    cases = {name: case for name, case in CASES.items() if case.is_layer}
    # No word has a letter twice: what a maximum does with two of one size is each backend's own.
    letters = np.random.default_rng(0).permuted(np.tile(np.arange(1, 9), (3, 5, 1)), axis=-1)
    cases["characters"] = cases["characters"]._replace(inputs=[letters[..., :4].astype("int32")])
    for name, case in cases.items():
        model = randomized(case.model())
        ours = [each for each in model.layers if type(each).__module__.startswith("keras_attnpool")]
        owners[name] = type(ours[-1]).__name__

        def loss(x: Any, model: Any = model, inputs: Any = case.fed) -> Any:
            # The weights alone count; the ids of some models have no gradient.
            return keras.ops.mean(keras.ops.square(model(inputs))) + keras.ops.sum(0 * x)

        _, slopes = gradients(model, np.zeros(1, "float32"), loss)
        model.save(folder / f"{name}.keras")
        stepped = [
            numpy(variable) - RATE * slope
            for variable, slope in zip(model.trainable_variables, slopes.values(), strict=True)
        ]
        np.savez(folder / f"{name}.stepped.npz", *stepped)
        np.savez(folder / f"{name}.inputs.npz", *case.inputs)
        np.savez(folder / f"{name}.output.npz", numpy(model(case.fed)))
    return owners


class Case:
    """One case under one backend: the checks, in the order in which they can share models."""

    def __init__(self, folder: Path, name: str, backend: str) -> None:
        import numpy as np

        self.backend, self.path = backend, folder / f"{name}.keras"
        self.again = self.path.with_suffix(".again.keras")
        arrays, (self.target,), self.stepped = (
            list(np.load(folder / f"{name}.{kind}.npz").values())
            for kind in ("inputs", "output", "stepped")
        )
        self.fed = arrays if len(arrays) > 1 else arrays[0]

    @cached_property
    def model(self) -> Any:
        """The model, as PyTorch wrote it."""
        import keras

        return keras.models.load_model(self.path)

    def written_again(self, model: Any) -> Any:
        """The model as it comes out of a file of this backend."""
        import keras

        model.save(self.again)
        return keras.models.load_model(self.again)

    def output(self, model: Any) -> Any:
        """What the model predicts, by the way that is the quickest."""
        from backend_functions import numpy, predict

        return numpy(model(self.fed)) if self.backend in CALLED else predict(model, self.fed)

    def predict(self) -> str:
        """The numbers of PyTorch."""
        model = self.model
        called = self.backend in CALLED
        found = model(self.fed) if called else model.predict(self.fed, verbose=0)
        same(found, self.target)
        return YES

    def saved(self) -> str:
        """A file that this backend writes gives the same again."""
        self.second = self.written_again(self.model)
        same(self.output(self.second), self.target)
        return YES

    def quantized(self) -> str:
        """In int8 the output is near, and a file keeps it; `nothing inside`: all stays as it is."""
        import numpy as np

        model = self.second
        model.quantize("int8")
        if not any(part.quantization_mode == "int8" for part in model._flatten_layers()):
            return NOTHING
        found = self.output(model)
        same(found, self.target, atol=0.1 * max(1.0, float(np.abs(self.target).max())))
        same(self.output(self.written_again(model)), found, 1e-6)
        return YES

    def compiled(self) -> str:
        """By the backend's own compiler, all of it at once."""
        import keras
        from backend_functions import compiled

        if self.backend == "nnx":
            from flax import nnx

            same(nnx.jit(lambda net, x: net(x))(self.model, self.fed), self.target)
            return YES
        call = compiled(lambda x, mask: keras.ops.stop_gradient(self.model(x, training=False)))
        tensors = keras.tree.map_structure(keras.ops.convert_to_tensor, self.fed)
        same(call(tensors, None), self.target)
        return YES

    def train(self) -> str:
        """One step, by `fit` or inside a module of NNX, ends at the weights of the gradients."""
        import keras

        model = self.model
        if self.backend == "nnx":
            step_inside_nnx(model, self.fed)
        else:
            for layer in model._flatten_layers():
                if "dropout" in vars(layer):
                    layer.dropout = 0.0
            squares = keras.ops.square(model.output)
            each = keras.ops.mean(squares, axis=tuple(range(1, len(squares.shape))))
            outer = keras.Model(model.input, each)
            outer.compile(keras.optimizers.SGD(RATE), loss=lambda y, loss: loss)
            rows = len(self.target)
            outer.fit(self.fed, self.target.reshape(rows, -1)[:, 0], batch_size=rows, verbose=0)
        for variable, target in zip(model.trainable_variables, self.stepped, strict=True):
            same(variable.value, target)
        return YES


def same(found: Any, target: Any, atol: float = TOLERANCE) -> None:
    """Whether a tensor holds these numbers."""
    import numpy as np
    from backend_functions import numpy

    np.testing.assert_allclose(numpy(found), target, atol=atol)


def step_inside_nnx(model: Any, fed: Any) -> None:
    """One step of a module that holds the model; its state and a copy give the same numbers."""
    import jax
    import keras
    import numpy as np
    import optax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, model: Any) -> None:
            self.model = model

        def __call__(self, x: Any) -> Any:
            return self.model(x)

    trainable = nnx.All(keras.Variable, lambda path, variable: variable.trainable)

    @nnx.jit
    def step(net: Net, optimizer: nnx.Optimizer, x: Any) -> None:
        def loss(net: Net) -> Any:
            return (net(x) ** 2).mean()

        optimizer.update(net, nnx.grad(loss, argnums=nnx.DiffState(0, trainable))(net))

    net, other = Net(model), Net(keras.models.clone_model(model))
    x = jax.tree.map(jax.numpy.asarray, fed)
    step(net, nnx.Optimizer(net, optax.sgd(RATE), wrt=trainable), x)
    nnx.update(other, nnx.state(net))
    np.testing.assert_array_equal(other(x), net(x))


def attempts(folder: Path, backend: str) -> dict[str, dict[str, str]]:
    """What each check of this backend says of each case."""
    import keras
    from backend_functions import reason

    import keras_attnpool  # noqa: F401  (registers the layers)

    found: dict[str, dict[str, str]] = {check: {} for check in CHECKS[backend]}
    for path in sorted(folder.glob("*.output.npz")):
        case = Case(folder, path.name.removesuffix(".output.npz"), backend)
        for check, said in found.items():
            attempt: Callable[[], str] = getattr(case, check)
            try:
                said[case.path.stem] = attempt()
            except Exception as error:  # Whatever the backend raises is the cell's reason.
                said[case.path.stem] = reason(error)
        keras.utils.clear_session(free_memory=False)
        print(backend, case.path.stem, *(said[case.path.stem] for said in found.values()))
    return found


def main(backends: list[str]) -> None:
    found = verdicts(backends)
    before = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    names = ["keras", "numpy", *(p for b in backends for p in PACKAGES.get(b, [b]))]
    versions = {name: importlib.metadata.version(name) for name in names}
    found["runs"] = {**before.get("runs", {}), **found["runs"]}
    found["versions"] = dict(sorted({**before.get("versions", {}), **versions}.items()))
    found["date"] = datetime.date.today().isoformat()
    TABLE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    task = sys.argv[1] if sys.argv[1:] else ""
    if task in ("write", "try"):
        backend, folder = sys.argv[2], Path(sys.argv[3])
        said = write(folder) if task == "write" else attempts(folder, backend)
        (folder / f"{task}.json").write_text(json.dumps(said), encoding="utf-8")
    else:
        main(sys.argv[1:] or list(CHECKS))
