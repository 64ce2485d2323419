"""Keeps the state of a network's training on disk, epoch by epoch.

Keras's `BackupAndRestore` has three faults. It does not save the random generators of dropout. It
writes the weights and the epoch number one after the other. If the process stops between the two
writes, the weights and the number belong to different epochs. After a restart, `EarlyStopping`
counts its patience from 0 again.
"""

import json
import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from keras_attnpool.workbench._files import whole_file
from keras_attnpool.workbench.cli import runs
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.options import Options

COLUMNS = {"loss", "val_loss", "val_accuracy", "seconds"}  # every history has these metrics


class Checkpoint(keras.callbacks.Callback):  # type: ignore[misc]
    """Saves every finished epoch, and stops `patience` epochs after the best epoch.

    Early stopping only reads the history of the training.

    Args:
        run: The run folder.
        name: Name of the network's files.
        options: The options of `train`.
        resume: Whether training continues from the files on disk.
        begin: A function that is called before anything is written. The function may replace an
            older run. Only the network whose best epoch becomes the run's model has `begin`.
    """

    def __init__(
        self,
        run: Path,
        name: str,
        options: Options,
        resume: bool,
        begin: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.best, self._run = run / runs.RESUME / f"{name}.keras", run
        self.history: dict[str, list[float]] = {}
        self._options, self._begin = options, begin
        self._generators: list[list[int]] = []
        self._path = run / runs.RESUME / f"{name}.json"
        self._start = 0.0
        if resume and self._path.is_file():
            self.history, self._generators = _read(self._path)

    @property
    def epochs(self) -> int:
        """Number of finished epochs."""
        return len(self.history.get("loss", ()))

    @property
    def best_epoch(self) -> int:
        """The epoch, from 1, with the best validation accuracy; among equals, the lowest loss."""
        scores = zip(self.history["val_accuracy"], self.history["val_loss"], strict=True)
        ranked = [(accuracy, -loss) for accuracy, loss in scores]
        return 1 + ranked.index(max(ranked))

    @property
    def is_over(self) -> bool:
        """Whether training has ended."""
        return self.epochs > 0 and self.epochs - self.best_epoch >= self._options.patience

    def summary(self) -> dict[str, Any]:
        """Returns the metrics of the whole training."""
        return {
            "epochs": self.epochs,
            "best_epoch": self.best_epoch,
            "seconds": round(sum(self.history["seconds"]), 2),
            "history": self.history,
        }

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Sets the seed of the epoch."""
        # On PyTorch, dropout uses the process's random generator, which no checkpoint can save.
        # Every epoch sets its seed, so a resumed run draws the same numbers as an unbroken run.
        keras.utils.set_random_seed(((self._options.seed + 1) * 65537 + epoch) % 2**32)
        self._start = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Saves the epoch, unless training diverged."""
        logs = {**(logs or {}), "seconds": round(time.perf_counter() - self._start, 2)}
        if not math.isfinite(logs["loss"]):
            raise CommandError(
                f"the loss of epoch {epoch + 1} is {logs['loss']}: training diverged. "
                "A smaller --learning-rate may help"
            )
        if self._begin and not self.epochs:
            self._begin()
        self._keep(logs)
        self.model.stop_training = self.is_over

    def _keep(self, logs: dict[str, float]) -> None:
        """Writes the files that a resumed run needs, and the model if it is the best so far."""
        before = self.history, self._generators
        self.history = {
            name: [*self.history.get(name, ()), float(value)] for name, value in logs.items()
        }
        self._generators = [
            keras.ops.convert_to_numpy(state).tolist() for state in _generators(self.model)
        ]
        try:
            self._path.parent.mkdir(exist_ok=True)
            if self.best_epoch == self.epochs:
                with whole_file(self.best) as temporary:
                    self.model.save(temporary)
                if self._begin:
                    with whole_file(self._run / runs.MODEL) as temporary:
                        shutil.copyfile(self.best, temporary)
            with whole_file(self._weights(self.epochs)) as temporary:
                self.model.save_weights(temporary)
            # Now the new epoch is complete, so the older weights can be removed.
            state = {"history": self.history, "generators": self._generators}
            runs.write_json(self._path, state)
        except BaseException:
            self.history, self._generators = before
            raise
        self._weights(self.epochs - 1).unlink(missing_ok=True)

    def restore(self, model: keras.Model) -> None:
        """Restores the state of a compiled model after the last finished epoch.

        Restores the weights, and also the states of the optimizer and of the random generators,
        which `save_weights` does not save.
        """
        path = self._weights(self.epochs)
        model.optimizer.build(model.trainable_variables)
        with runs.readable(path, ": the run cannot be resumed; --overwrite starts it anew"):
            model.load_weights(path)
            for state, value in zip(_generators(model), self._generators, strict=True):
                state.assign(value)

    def _weights(self, epoch: int) -> Path:
        return self._path.with_name(f"{self._path.stem}-{epoch}.weights.h5")


def _generators(model: keras.Model) -> list[keras.Variable]:
    """The states of the model's random generators, such as those of dropout."""
    weights = {id(weight) for weight in model.weights}
    return [variable for variable in model.variables if id(variable) not in weights]


def _read(path: Path) -> tuple[dict[str, list[float]], list[list[int]]]:
    """Reads the history and the states of the generators that `Checkpoint` wrote.

    Raises:
        CommandError: If the contents of the files are not valid.
    """
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(state, dict) or not {"history", "generators"} <= set(state):
            raise ValueError("no history, or no states of the generators")
        history = {name: [float(each) for each in rows] for name, rows in state["history"].items()}
        if len(set(map(len, history.values()))) != 1 or not set(history) >= COLUMNS:
            raise ValueError("not the losses, accuracies and seconds of every epoch")
        generators = [[int(value) for value in each] for each in state["generators"]]
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CommandError(
            f"{path} is damaged ({error}): the run cannot be resumed; --overwrite starts it anew"
        ) from error
    return history, generators
