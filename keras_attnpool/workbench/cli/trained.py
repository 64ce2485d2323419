"""Loads a trained run as an object that predicts and explains texts."""

import os
import reprlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool.workbench.cli import readers, runs
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.explanations import Explainer, Explanation
from keras_attnpool.workbench.cli.reporting import reported
from keras_attnpool.workbench.text._vocabulary import checked_texts

BATCH = 64


class Run:
    """A trained run, which predicts and explains texts. `load_run` returns such an object.

    Attributes:
        folder: The run folder.
        config: Content of `config.json`.
        label_names: The classes.
        reader: Reader that turns texts into the model's inputs.
        model: The `keras.Model`, not compiled.
    """

    def __init__(
        self, folder: Path, config: dict[str, Any], reader: readers.Reader, model: keras.Model
    ) -> None:
        self.folder, self.config, self.reader, self.model = folder, config, reader, model
        self.label_names: list[str] = config["label_names"]

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Reads a run with at least one trained epoch.

        Raises:
            CommandError: If there is no such run, or if one of its files is damaged.
        """
        run = Path(folder)
        config = runs.read_config(run)
        if not (run / runs.MODEL).is_file():
            raise CommandError(
                f"{run} has no {runs.MODEL} yet: no epoch of its training was finished"
            )
        reader = readers.load(run, config)
        names = config.get("label_names")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise CommandError(
                f"{run / runs.CONFIG} is damaged: label_names is {reprlib.repr(names)}"
            )
        model = runs.load_model(run / runs.MODEL)
        shape = getattr(model, "output_shape", None)
        try:
            if shape != (None, len(names)):
                raise ValueError(f"it should return {len(names)} probabilities. Received: {shape}")
            reader.check(model)
        except ValueError as error:
            raise CommandError(
                f"{run / runs.MODEL} does not belong to {run / runs.CONFIG}: {error}"
            ) from error
        return cls(run, config, reader, model)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, classes={reprlib.repr(self.label_names)})"

    def probabilities(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Returns the probabilities of all classes, float32 `(texts, classes)`."""
        texts = checked_texts("Run.predict", texts)
        answers = [np.zeros((0, len(self.label_names)), np.float32)]
        for start in range(0, len(texts), BATCH):
            with reported():
                inputs = self.reader.encode(texts[start : start + BATCH])
            answers.append(np.asarray(self.model.predict_on_batch(inputs), np.float32))
        return np.concatenate(answers)

    def predict(self, texts: Sequence[str]) -> list[str]:
        """The class of every text."""
        return [self.label_names[row] for row in self.probabilities(texts).argmax(axis=1)]

    @cached_property
    def explainer(self) -> Explainer:
        """Returns the object that explains the model's predictions."""
        return Explainer(self.model, self.reader, self.label_names)

    def explain(self, texts: Sequence[str]) -> list[Explanation]:
        """Returns one `Explanation` per text: class, effect of each word, and attention."""
        texts = checked_texts("Run.explain", texts)
        with reported():
            return list(self.explainer.explain(texts))


def load_run(path: str | os.PathLike[str]) -> Run:
    """Loads a run that `python -m keras_attnpool train` has written.

    Args:
        path: The run folder.

    Returns:
        The run, an object with `predict(texts)`, `probabilities(texts)` and `explain(texts)`.

    Raises:
        ValueError: If there is no such run, or if one of its files is damaged.

    Example:

    ```python
    import keras_attnpool
    import keras_attnpool.workbench.cli

    sizes = ["--train-size", "40", "--test-size", "10", "--epochs", "1", "--encoder", "none"]
    assert keras_attnpool.workbench.cli.main(["train", *sizes, "--out", "run"]) == 0
    run = keras_attnpool.workbench.load_run("run")
    assert run.predict(["The room was good."])[0] in run.label_names
    (explanation,) = run.explain(["The room was good."])
    assert explanation.words == ["the", "room", "was", "good", "."]
    assert len(explanation.effects) == 5
    ```
    """
    return Run.load(path)
