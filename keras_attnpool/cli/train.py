"""The command `train`."""

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

import keras_attnpool
from keras_attnpool import text
from keras_attnpool.cli import comparison, networks, report, runs
from keras_attnpool.cli import options as typed
from keras_attnpool.cli.data import Data, load
from keras_attnpool.cli.errors import CommandError, reported

LEARNING_RATES = {"transformer": 3e-4}  # else 2e-3
# Each length that batches are padded to is compiled: few of them, though there is more padding.
LENGTHS = 2
MAJORITY = "largest class"


def train(given: dict[str, Any]) -> int:
    """Trains a model and its baseline, prints how they do, and leaves a run folder.

    Args:
        given: The options that were given, `out` among them; see `options.DEFAULTS` for the others.

    Returns:
        The exit status: 0, or 130 if it was interrupted.

    Raises:
        CommandError: If options or data cannot be used.
    """
    given = dict(given)
    run = Path(given.pop("out"))
    resume, overwrite = given.pop("resume", False), given.pop("overwrite", False)
    if resume:
        runs.read_config(run)  # before a lock is put into a folder that is no run
    else:
        typed.check(given, typed.DEFAULTS | given)
        networks.check_taken(given, typed.DEFAULTS | given)
    with runs.owned(run):
        runs.remove_leftovers(run)
        if not resume:
            _check_folder(run, overwrite)
            return _train(run, _with_epochs(typed.DEFAULTS | given), None)
        config = runs.read_config(run)
        typed.check_config(run / runs.CONFIG, config)
        options = _with_epochs(typed.DEFAULTS | config["options"])
        typed.check_resumed(given, options)
        if (run / runs.RESUME).is_dir():
            return _train(run, options, config["data"]["digest"])
        if not (run / runs.MODEL).is_file():
            raise CommandError(
                f"{run} has neither a {runs.MODEL} nor anything to resume: --overwrite starts it "
                "anew"
            )
        print(f"{run} is finished: there is nothing to resume.")
        return 0


def _with_epochs(options: dict[str, Any]) -> dict[str, Any]:
    if options["epochs"] is not None:
        return options
    own = options["file"] or options["dataset"]
    return options | {"epochs": typed.EPOCHS if own else typed.REVIEW_EPOCHS}


def _train(run: Path, options: dict[str, Any], digest: str | None) -> int:
    """Trains, from the start or, where the data of that digest are to be found, from the middle."""
    data, remarks = load(options)
    if digest not in (None, data.digest):
        raise CommandError(f"{run}: the data are not those that this run was started with")
    for remark in remarks:
        print(f"warning: {remark}", file=sys.stderr)
    with reported():
        tokenizer = text.WordTokenizer.train(data.train.texts, options["min_frequency"])
    sizes = ", ".join(f"{count} {name}" for name, count in data.sizes.items())
    print(f"Texts: {sizes}. Classes: {data.train.num_classes}. ", end="")
    print(f"Words: {tokenizer.vocabulary_size}.")

    def begin() -> None:
        """Called when there is something to keep: until then a run to be replaced is safe."""
        runs.remove_run(run)
        tokenizer.save(run / runs.VOCABULARY)
        runs.write_json(run / runs.CONFIG, _config(options, data))

    vectors = _vectors(options, data, tokenizer)
    is_new = not (run / runs.CONFIG).exists()
    name, baseline = options["model"], networks.baseline_of(options["model"])
    first = runs.Checkpoint(run, "model", run / runs.MODEL, digest is not None)
    checkpoints = {name: first}
    if options["baseline"] and baseline:
        best = run / runs.RESUME / "baseline.keras"
        checkpoints[baseline] = runs.Checkpoint(run, "baseline", best, digest is not None)
    metrics: dict[str, Any] = {"interrupted": True, "sizes": data.sizes, "results": {}}
    results, trained, predicted = metrics["results"], {}, {}
    try:
        for each, checkpoint in checkpoints.items():
            parts = _batches(options, data, tokenizer)
            with reported():
                model = networks.build(
                    each, options, tokenizer.vocabulary_size, data.train.num_classes, vectors
                )
            size = networks.size(model)
            print(f"\n{each}: {size['parameters']:,} parameters")
            try:
                _fit(each, model, checkpoint, parts, options, begin if each == name else None)
            finally:
                if checkpoint.epochs:
                    results[each] = size | checkpoint.summary()
            trained[each] = runs.load_model(checkpoint.best)
            predicted[each] = _predicted(trained[each], parts["test"])
            results[each] |= comparison.scores(data.test, predicted[each])
    except (KeyboardInterrupt, CommandError, OSError) as stop:
        if first.epochs:
            runs.write_json(run / runs.METRICS, metrics)
        elif is_new:
            runs.remove_run(run)
            (run / runs.CONFIG).unlink(missing_ok=True)
        if not isinstance(stop, KeyboardInterrupt):
            raise
        print(_after_interrupt(run, first), file=sys.stderr)
        return 130
    largest = np.full(len(data.test), np.bincount(data.train.labels).argmax())
    results[MAJORITY] = comparison.scores(data.test, largest)
    metrics["interrupted"] = False
    if len(predicted) > 1:
        metrics["comparison"] = comparison.sentence(data.test.labels, predicted)
    runs.write_json(run / runs.METRICS, metrics)
    print(f"\n{comparison.table(results, len(data.test))}\n")
    print(*filter(None, [metrics.get("comparison"), f"The run is in {run}"]), sep="\n\n")
    if options["report"]:
        for remark in report.write(
            run, options, metrics, data.test, tokenizer, trained[name], predicted[name]
        ):
            print(remark)
    # Last: a run that is interrupted while the report is written can be resumed.
    runs.remove_resume(run)
    return 0


def _check_folder(run: Path, overwrite: bool) -> None:
    if all(path.name == runs.LOCK for path in run.iterdir()):
        return
    runs.read_config(run)  # nothing but a run is replaced
    if not overwrite:
        raise CommandError(
            f"{run} holds a run: --resume goes on with it, --overwrite replaces it, "
            "another --out leaves it alone"
        )


def _config(options: dict[str, Any], data: Data) -> dict[str, Any]:
    return {
        "format": runs.FORMAT,
        "keras_attnpool": keras_attnpool.__version__,
        "keras": keras.__version__,
        "backend": keras.config.backend(),
        "options": options,
        "label_names": data.train.label_names,
        "data": {"sizes": data.sizes, "digest": data.digest},
    }


def _vectors(
    options: dict[str, Any], data: Data, tokenizer: text.WordTokenizer
) -> npt.NDArray[np.float32] | None:
    """The initial embeddings, unless they are random."""
    source, seed = options["embeddings"], options["seed"]
    if source == "random":
        return None
    with reported():
        if source == "word2vec":
            print("Training word2vec ...", flush=True)
            dim = networks.embedding_dim(options)
            return text.word2vec(data.train.texts, tokenizer, dim=dim, seed=seed)
        vectors, coverage = text.load_word_vectors(source, tokenizer, seed)
    print(f"{source} has vectors for {coverage:.0%} of the words.")
    return vectors


def _batches(
    options: dict[str, Any], data: Data, tokenizer: text.WordTokenizer
) -> dict[str, text.BucketedBatches]:
    with reported():
        ids = {
            name: tokenizer.encode(part.texts, max_length=options["max_length"])
            for name, part in data._asdict().items()
        }
    lengths = np.concatenate([np.count_nonzero(rows, axis=1) for rows in ids.values()])
    boundaries = text.length_buckets(lengths, LENGTHS)
    return {
        name: text.BucketedBatches(
            rows,
            getattr(data, name).labels,
            options["batch_size"],
            boundaries,
            shuffle=name == "train",
            seed=options["seed"],
        )
        for name, rows in ids.items()
    }


class _Epochs(keras.callbacks.Callback):  # type: ignore[misc]
    """Keeps every finished epoch and stops when the last better one is `patience` back."""

    def __init__(
        self,
        checkpoint: runs.Checkpoint,
        options: dict[str, Any],
        begin: Callable[[], None] | None,
    ) -> None:
        super().__init__()
        self.checkpoint = checkpoint
        self.patience = options["patience"]
        self.seed = options["seed"]
        self.begin = begin
        self.start = 0.0

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        # On PyTorch, dropout draws from the generator of the whole process, which no checkpoint can
        # keep: every epoch starts it anew, so that a resumed run draws what an unbroken one does.
        keras.utils.set_random_seed(((self.seed + 1) * 65537 + epoch) % 2**32)
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        logs = {**(logs or {}), "seconds": round(time.perf_counter() - self.start, 2)}
        if not math.isfinite(logs["loss"]):
            raise CommandError(
                f"the loss of epoch {epoch + 1} is {logs['loss']}: training diverged. "
                "A smaller --learning-rate may help"
            )
        if self.begin and not self.checkpoint.epochs:
            self.begin()
        self.checkpoint.add(self.model, logs)
        self.model.stop_training = self.checkpoint.epochs_since_best >= self.patience


def _fit(
    name: str,
    model: keras.Model,
    checkpoint: runs.Checkpoint,
    parts: dict[str, text.BucketedBatches],
    options: dict[str, Any],
    begin: Callable[[], None] | None,
) -> None:
    """Trains to the end, from wherever the checkpoint is."""
    rate = options["learning_rate"] or LEARNING_RATES.get(name, 2e-3)
    optimizer = keras.optimizers.Adam(rate)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    batches = parts["train"]
    if checkpoint.epochs:
        if checkpoint.epochs_since_best >= options["patience"]:
            return
        checkpoint.restore(model)
    for _ in range(checkpoint.epochs):
        batches.on_epoch_end()  # the order of the next epoch
    model.fit(
        batches,
        validation_data=parts["validation"],
        epochs=options["epochs"],
        initial_epoch=checkpoint.epochs,
        callbacks=[_Epochs(checkpoint, options, begin)],
        # A bar that moves, or a line an epoch where nothing can move.
        verbose=1 if sys.stdout.isatty() else 2,
        shuffle=False,
    )


def _predicted(model: keras.Model, batches: text.BucketedBatches) -> npt.NDArray[np.int64]:
    """The predicted class of every text."""
    return np.asarray(batches.restore(model.predict(batches, verbose=0)).argmax(axis=1))


def _after_interrupt(run: Path, first: runs.Checkpoint) -> str:
    if not first.epochs:
        return "\nInterrupted before the first epoch was finished: nothing was kept."
    return (
        f"\nInterrupted. {run / runs.MODEL} is the model of epoch {first.best_epoch}, the best of "
        f"{first.epochs}. To go on: python -m keras_attnpool train --resume --out {run}"
    )
