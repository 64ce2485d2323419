"""A model exported to a format, and run there: for test_export.py.

Each runtime is imported where it is used: the test environment has only TensorFlow and PyTorch.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from catalogue import DIM, MASK, STEPS, Case, randomized

from keras_attnpool import analysis

BACKEND = keras.config.backend()
# What `model.export` has under each backend; anything else it refuses by name.
FORMATS = {
    "tensorflow": ("tf_saved_model", "onnx", "openvino", "litert"),
    "jax": ("tf_saved_model", "onnx", "openvino"),
    "torch": ("torch", "onnx", "openvino"),
}[BACKEND]
# From the most useful: which axes the exported model leaves open.
OPEN = ("same numbers", "static length only", "static shape only")
SUFFIXES = {
    "tf_saved_model": "", "onnx": ".onnx", "openvino": ".xml", "litert": ".tflite", "torch": ".pt2",
}  # fmt: skip


def on_one_input(case: Case) -> Case:
    """The case with steps of zeros as padding in place of a second input, the mask.

    As a model of words has it. Two inputs of one length are another matter: JAX's exporters take
    it that their lengths differ.
    """
    if case.inputs[-1] is not MASK:
        return case

    def model() -> keras.Model:
        steps = keras.Input((None, DIM), name="steps")
        keep = keras.ops.any(keras.ops.not_equal(steps, 0), axis=-1)
        return keras.Model(steps, case.model()([steps, keep]))

    return case._replace(model=model, inputs=[STEPS * MASK[..., None]])


def with_scores(case: Case) -> keras.Model:
    """The case's model with random weights; outputs: the prediction, then all its scores."""
    model = randomized(case.model())
    try:
        shown = analysis.attention_model(model)
    except ValueError:  # It has no scores.
        return model
    prediction, scores = shown.output
    return keras.Model(shown.input, [prediction, *keras.tree.flatten(scores)])


def other_inputs(case: Case) -> list[np.ndarray]:
    """Two texts, more padded, two steps longer: holes in the first, the second empty."""
    made = []
    for x in case.inputs:
        shape = (2, *(axis + 2 for axis in x.shape[1:]))
        if x.dtype.kind == "f":
            shape = (*shape[:-1], x.shape[-1])
        more = np.random.default_rng(1).integers(1, 9, size=shape).astype(x.dtype)
        more[:, 1] = 0
        more[1] = 0
        made.append(more.astype(x.dtype))
    return made


def fed(inputs: list[np.ndarray]) -> Any:
    return inputs if len(inputs) > 1 else inputs[0]


def export(model: keras.Model, format: str, path: Path, case: Case, opened: str) -> Path:
    """Writes the model with the axes open that `opened` says, and returns where."""
    path = path.with_name(path.name + SUFFIXES[format])
    specs = []
    for tensor, x in zip(model.inputs, case.inputs, strict=True):
        batch = x.shape[0] if opened == "static shape only" else None
        steps = tensor.shape[1:] if opened == "same numbers" else x.shape[1:]
        specs.append(keras.InputSpec(shape=(batch, *steps), dtype=tensor.dtype, name=tensor.name))
    options: dict[str, Any] = {"input_signature": [fed(specs)]}
    if BACKEND == "torch" and format != "onnx":
        # Traced at definite sizes; Keras would take 1 for every open one.
        sizes = [keras.InputSpec(shape=x.shape, dtype=str(x.dtype)) for x in case.inputs]
        options["input_signature"] = [fed(sizes)]
    if format == "torch":
        options["dynamic_shapes"] = torch_shapes(specs)
    model.export(str(path), format=format, verbose=False, **options)
    return path


def torch_shapes(specs: list[Any]) -> Any:
    """Which axes of the inputs may have another size."""
    import torch

    shapes = [
        {axis: torch.export.Dim.DYNAMIC for axis, size in enumerate(spec.shape) if size is None}
        for spec in specs
    ]
    return [(fed(shapes),)]


def run(format: str, path: Path) -> Callable[[list[np.ndarray], list[str]], list[np.ndarray]]:
    """`f(inputs, names)`: the outputs of the exported model in its own runtime."""
    return {
        "tf_saved_model": _tf_saved_model,
        "onnx": _onnx,
        "openvino": _openvino,
        "litert": _litert,
        "torch": _torch,
    }[format](path)


def _tf_saved_model(path: Path) -> Any:
    import tensorflow as tf

    loaded = tf.saved_model.load(str(path))
    return lambda inputs, names: [x.numpy() for x in keras.tree.flatten(loaded.serve(fed(inputs)))]


def _onnx(path: Path) -> Any:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def call(inputs: list[np.ndarray], names: list[str]) -> list[np.ndarray]:
        given = {one.name for one in session.get_inputs()}
        # Without slashes: the table leaves out what looks like a path.
        strange = ", ".join(sorted(given - set(names))).replace("/", ".")
        if strange:
            raise ValueError(f"the graph asks for an input that the model has not: {strange}")
        return session.run(None, {k: x for k, x in zip(names, inputs, strict=True) if k in given})

    return call


def _openvino(path: Path) -> Any:
    import openvino

    model = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    # Behind the outputs of a TensorFlow graph, Identity, Identity_1 ..., the converter lists as
    # further outputs what the graph computes and does not use.
    own = {}
    for output in model.outputs:
        for name in output.get_names():
            if match := re.fullmatch(r"Identity(?:_(\d+))?:0", name):
                own[int(match[1] or 0)] = output
    outputs = [own[place] for place in sorted(own)] or list(model.outputs)
    return lambda inputs, names: [model(inputs)[output] for output in outputs]


def _litert(path: Path) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(str(path)).get_signature_runner()

    def call(inputs: list[np.ndarray], names: list[str]) -> list[np.ndarray]:
        wanted = list(runner.get_input_details())
        if set(wanted) != set(names):
            raise ValueError(f"inputs called {wanted} instead of {names}")
        outputs = runner(**dict(zip(names, inputs, strict=True)))
        # output_2 before output_10.
        return [outputs[name] for name in sorted(outputs, key=lambda name: (len(name), name))]

    return call


def _torch(path: Path) -> Any:
    import torch

    module = torch.export.load(path).module()

    def call(inputs: list[np.ndarray], names: list[str]) -> list[np.ndarray]:
        with torch.no_grad():
            outputs = module(fed([torch.from_numpy(x) for x in inputs]))
        return [x.numpy() for x in keras.tree.flatten(outputs)]

    return call


def difference(model: keras.Model, format: str, path: Path, case: Case, opened: str) -> float:
    """The largest difference between the model and what was exported, over what it leaves open."""
    exported = run(format, path)
    names = [tensor.name for tensor in model.inputs]
    batches = [case.inputs]
    if opened != "static shape only":
        batches.append([x[:1] for x in case.inputs])
    if opened == "same numbers":
        batches.append(other_inputs(case))
    worst = 0.0
    for inputs in batches:
        wanted = [keras.ops.convert_to_numpy(x) for x in keras.tree.flatten(model(fed(inputs)))]
        outputs_of_file = exported(inputs, names)
        shapes = [[x.shape for x in outputs] for outputs in (outputs_of_file, wanted)]
        assert shapes[0] == shapes[1], f"shapes {shapes[0]} instead of {shapes[1]}"
        worst = max(
            worst,
            *(float(np.abs(f - w).max()) for f, w in zip(outputs_of_file, wanted, strict=True)),
        )
    return worst
