"""The command `train`."""

import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

import keras_attnpool
from keras_attnpool import text
from keras_attnpool.cli import comparison, networks, report, runs
from keras_attnpool.cli import options as typed
from keras_attnpool.cli.checkpoints import Checkpoint
from keras_attnpool.cli.data import load
from keras_attnpool.cli.errors import CommandError, reported
from keras_attnpool.cli.options import Options

LEARNING_RATES = {"transformer": 3e-4}  # else 2e-3
# Each length that batches are padded to is compiled: few of them, though there is more padding.
LENGTHS = 2
MAJORITY = "largest class"


def train(given: dict[str, Any]) -> int:
    """Trains a model and its baseline, prints how they do, and leaves a run folder.

    Args:
        given: The options that were given, `out` among them; see `options.Options` for the others.

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
        options = Options(**given)
        typed.check(given, options)
        networks.check_arguments(given, options)
    with runs.owned(run):
        runs.remove_leftovers(run)
        if not resume:
            _check_folder(run, overwrite)
            return _Training(run, options).finish()
        config = runs.read_config(run)
        options = Options.of_run(run / runs.CONFIG, config)
        typed.check_resumed(given, options)
        if (run / runs.RESUME).is_dir():
            return _Training(run, options, config["data"]["digest"]).finish()
        if not (run / runs.MODEL).is_file():
            raise CommandError(
                f"{run} has neither a {runs.MODEL} nor anything to resume: --overwrite starts it "
                "anew"
            )
        print(f"{run} is finished: there is nothing to resume.")
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


class _Training:
    """One run: its options, its data, and how far each of its networks has come.

    Args:
        run: The run folder.
        options: The options of the run.
        digest: The hash of the data of the run that is resumed.
    """

    def __init__(self, run: Path, options: Options, digest: str | None = None) -> None:
        self.run, self.options = run, options
        self.data, remarks = load(options)
        if digest not in (None, self.data.digest):
            raise CommandError(f"{run}: the data are not those that this run was started with")
        for remark in remarks:
            print(f"warning: {remark}", file=sys.stderr)
        train, sizes = self.data.train, self.data.sizes
        with reported():
            self.tokenizer = text.WordTokenizer.train(train.texts, options.min_frequency)
        parts = ", ".join(f"{count} {name}" for name, count in sizes.items())
        print(f"Texts: {parts}. Classes: {train.num_classes}. ", end="")
        print(f"Words: {self.tokenizer.vocabulary_size}.")
        self.vectors = self._vectors()
        resume = digest is not None
        model = Checkpoint(run, "model", run / runs.MODEL, options, resume, self._begin)
        self.checkpoints = {options.model: model}
        baseline = networks.baseline_of(options.model)
        if options.baseline and baseline:
            best = run / runs.RESUME / "baseline.keras"
            self.checkpoints[baseline] = Checkpoint(run, "baseline", best, options, resume)
        self.trained: dict[str, keras.Model] = {}
        self.predicted: dict[str, npt.NDArray[np.int64]] = {}
        self.metrics: dict[str, Any] = {"interrupted": True, "sizes": sizes, "results": {}}

    def finish(self) -> int:
        """Trains what is not trained yet and writes what came of it; returns the exit status."""
        run, is_new = self.run, not (self.run / runs.CONFIG).exists()
        first = self.checkpoints[self.options.model]
        try:
            for name in self.checkpoints:
                self._train(name)
        except (KeyboardInterrupt, CommandError, OSError) as stop:
            if first.epochs:
                runs.write_json(run / runs.METRICS, self.metrics)
            elif is_new:
                runs.remove_run(run)
                (run / runs.CONFIG).unlink(missing_ok=True)
            if not isinstance(stop, KeyboardInterrupt):
                raise
            print(_after_interrupt(run, first), file=sys.stderr)
            return 130
        self._write_results()
        # Last: a run that is interrupted while the report is written can be resumed.
        runs.remove_resume(run)
        return 0

    def _train(self, name: str) -> None:
        """Trains one network, and tests its best epoch."""
        options, data, checkpoint = self.options, self.data, self.checkpoints[name]
        batches = self._batches()
        with reported():
            model = networks.build(
                name, options, self.tokenizer.vocabulary_size, data.train.num_classes, self.vectors
            )
        size = networks.size(model)
        print(f"\n{name}: {size['parameters']:,} parameters")
        results = self.metrics["results"]
        try:
            _fit(name, model, checkpoint, batches, options)
        finally:
            if checkpoint.epochs:
                results[name] = size | checkpoint.summary()
        self.trained[name] = runs.load_model(checkpoint.best)
        self.predicted[name] = _predicted(self.trained[name], batches["test"])
        results[name] |= comparison.scores(data.test, self.predicted[name])

    def _begin(self) -> None:
        """Puts the run in the place of an older one, as soon as there is something to keep."""
        runs.remove_run(self.run)
        self.tokenizer.save(self.run / runs.VOCABULARY)
        config = {
            "format": runs.FORMAT,
            "keras_attnpool": keras_attnpool.__version__,
            "keras": keras.__version__,
            "backend": keras.config.backend(),
            "options": vars(self.options),
            "label_names": self.data.train.label_names,
            "data": {"sizes": self.data.sizes, "digest": self.data.digest},
        }
        runs.write_json(self.run / runs.CONFIG, config)

    def _write_results(self) -> None:
        test, metrics = self.data.test, self.metrics
        largest = np.full(len(test), np.bincount(self.data.train.labels).argmax())
        metrics["results"][MAJORITY] = comparison.scores(test, largest)
        metrics["interrupted"] = False
        if len(self.predicted) > 1:
            metrics["comparison"] = comparison.sentence(test.labels, self.predicted)
        runs.write_json(self.run / runs.METRICS, metrics)
        print(f"\n{comparison.table(metrics['results'], len(test))}\n")
        print(*filter(None, [metrics.get("comparison"), f"The run is in {self.run}"]), sep="\n\n")
        if self.options.report:
            name, tokenizer = self.options.model, self.tokenizer
            answers = self.trained[name], self.predicted[name]
            for remark in report.write(self.run, self.options, metrics, test, tokenizer, *answers):
                print(remark)

    def _vectors(self) -> npt.NDArray[np.float32] | None:
        """The initial embeddings, unless they are random."""
        source, seed = self.options.embeddings, self.options.seed
        if source == "random":
            return None
        with reported():
            if source == "word2vec":
                print("Training word2vec ...", flush=True)
                dim = networks.embedding_dim(self.options)
                return text.word2vec(self.data.train.texts, self.tokenizer, dim=dim, seed=seed)
            vectors, coverage = text.load_word_vectors(source, self.tokenizer, seed)
        print(f"{source} has vectors for {coverage:.0%} of the words.")
        return vectors

    def _batches(self) -> dict[str, text.BucketedBatches]:
        parts, options = self.data._asdict(), self.options
        with reported():
            ids = {
                name: self.tokenizer.encode(part.texts, max_length=options.max_length)
                for name, part in parts.items()
            }
        lengths = np.concatenate([np.count_nonzero(rows, axis=1) for rows in ids.values()])
        boundaries = text.length_buckets(lengths, LENGTHS)
        return {
            name: text.BucketedBatches(
                ids[name],
                part.labels,
                options.batch_size,
                boundaries,
                shuffle=name == "train",
                seed=options.seed,
            )
            for name, part in parts.items()
        }


def _fit(
    name: str,
    model: keras.Model,
    checkpoint: Checkpoint,
    parts: dict[str, text.BucketedBatches],
    options: Options,
) -> None:
    """Trains to the end, from wherever the checkpoint is."""
    rate = options.learning_rate or LEARNING_RATES.get(name, 2e-3)
    optimizer = keras.optimizers.Adam(rate)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    batches = parts["train"]
    if checkpoint.is_over:
        return
    if checkpoint.epochs:
        checkpoint.restore(model)
    for _ in range(checkpoint.epochs):
        batches.on_epoch_end()  # the order of the next epoch
    model.fit(
        batches,
        validation_data=parts["validation"],
        epochs=options.epochs,
        initial_epoch=checkpoint.epochs,
        callbacks=[checkpoint],
        # A bar that moves, or a line an epoch where nothing can move.
        verbose=1 if sys.stdout.isatty() else 2,
        shuffle=False,
    )


def _predicted(model: keras.Model, batches: text.BucketedBatches) -> npt.NDArray[np.int64]:
    """The predicted class of every text."""
    return np.asarray(batches.restore(model.predict(batches, verbose=0)).argmax(axis=1))


def _after_interrupt(run: Path, first: Checkpoint) -> str:
    if not first.epochs:
        return "\nInterrupted before the first epoch was finished: nothing was kept."
    return (
        f"\nInterrupted. {run / runs.MODEL} is the model of epoch {first.best_epoch}, the best of "
        f"{first.epochs}. To go on: python -m keras_attnpool train --resume --out {run}"
    )
