"""The command `train`."""

import sys
import warnings
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

import keras_attnpool
from keras_attnpool.workbench._files import whole_file
from keras_attnpool.workbench.cli import comparison, networks, readers, report, runs, tfidf
from keras_attnpool.workbench.cli import options as typed
from keras_attnpool.workbench.cli.checkpoints import Checkpoint
from keras_attnpool.workbench.cli.data import load
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.options import Options
from keras_attnpool.workbench.cli.reporting import reported
from keras_attnpool.workbench.cli.trained import Run

NOT_REFITTED = (
    "The linear rows are fitted on the validation texts too, once these have chosen; networks are "
    "not."
)


def train(given: dict[str, Any]) -> int:
    """Trains a model and its baselines, prints their scores, and writes a run folder.

    Args:
        given: The given options, including `out`. See `options.Options` for the other options.

    Returns:
        The exit status: 0, or 130 after an interruption.

    Raises:
        CommandError: If options or data cannot be used.
    """
    given = dict(given)
    run = Path(given.pop("out"))
    resume, overwrite = given.pop("resume", False), given.pop("overwrite", False)
    if resume:
        runs.read_config(run)  # so that a folder that is not a run gets no lock
    else:
        chosen = typed.choose_encoder(given)
        options = Options(**given)
        typed.check(given, options)
        networks.check(given, options)
    with runs.owned(run):
        runs.remove_leftovers(run)
        if not resume:
            _check_folder(run, overwrite)
            return _Training(run, options, told=chosen).finish()
        config = runs.read_config(run)
        options = Options.of_run(run / runs.CONFIG, config)
        try:
            networks.check({}, options)
        except CommandError as error:
            raise CommandError(f"{run / runs.CONFIG} is damaged: {error}") from error
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
    runs.read_config(run)  # only a run may be replaced
    if not overwrite:
        raise CommandError(
            f"{run} holds a run: --resume goes on with it, --overwrite replaces it, "
            "another --out leaves it alone"
        )


class _Training:
    """One run: its options, its data, and the progress of its networks.

    Args:
        run: The run folder.
        options: The options of the run.
        digest: The hash of the data, if a run is resumed.
        told: The lines that are already printed.
    """

    def __init__(
        self, run: Path, options: Options, digest: str | None = None, told: str | None = None
    ) -> None:
        self.run, self.options = run, options
        self.data, remarks = load(options)
        if told:
            print(told)
        if digest not in (None, self.data.digest):
            raise CommandError(f"{run}: the data are not those that this run was started with")
        for remark in remarks:
            print(f"warning: {remark}", file=sys.stderr)
        train, sizes = self.data.train, self.data.sizes
        options.fit_to(len(train))
        parts = ", ".join(f"{count} {name}" for name, count in sizes.items())
        print(f"Texts: {parts}. Classes: {train.num_classes}. ", end="", flush=True)
        asked, self.rows, resume = networks.encoder(options), networks.rows(options), bool(digest)
        self.reader = readers.learn(train.texts, options, asked)
        print(f"{self.reader}.")
        self.frozen: readers.Features | None = None
        if asked.is_frozen and isinstance(self.reader, readers.Features):
            self.frozen = self.reader
        self.vectors = self.reader.vectors(train.texts, options)
        self.checkpoints = {
            name: Checkpoint(run, f"row-{row}", options, resume, None if row else self._begin)
            for row, name in enumerate(self.rows)
        }
        self.trained: dict[str, keras.Model] = {}
        self.probabilities: dict[str, list[npt.NDArray[np.float32]]] = {}
        self.predicted: dict[str, npt.NDArray[np.int64]] = {}
        self.metrics: dict[str, Any] = {"interrupted": True, "sizes": sizes, "results": {}}

    def finish(self) -> int:
        """Trains the remaining networks, writes the results and returns the exit status."""
        run, is_new = self.run, not (self.run / runs.CONFIG).exists()
        first = next(iter(self.checkpoints.values()))
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
        # This is the last step. If writing the report is interrupted, the run can be resumed.
        runs.remove_resume(run)
        return 0

    def _train(self, name: str) -> None:
        """Trains one network and tests its best epoch."""
        options, data, checkpoint = self.options, self.data, self.checkpoints[name]
        reader = self.reader
        with reported():
            batches = reader.batches(data._asdict(), options)
        # A trainable language model draws seeds for its dropout when it is loaded.
        keras.utils.set_random_seed(options.seed)
        model = networks.build(
            options, reader.arguments, data.train.num_classes, self.vectors, self.rows[name]
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
        self.probabilities[name] = [
            np.asarray(batches[part].predict(self.trained[name])) for part in ("validation", "test")
        ]
        self.predicted[name] = self.probabilities[name][1].argmax(axis=1)
        results[name] |= comparison.scores(data.test, self.predicted[name])

    def _begin(self) -> None:
        """Replaces an older run as soon as the new run has finished an epoch."""
        runs.remove_run(self.run)
        self.reader.save(self.run)
        runs.write_json(self.run / runs.CONFIG, self._config())

    def _config(self) -> dict[str, Any]:
        return {
            "format": runs.FORMAT,
            "keras_attnpool": keras_attnpool.__version__,
            "keras": keras.__version__,
            "backend": keras.config.backend(),
            "options": vars(self.options),
            "reader": self.reader.settings,
            "label_names": self.data.train.label_names,
            "data": {"sizes": self.data.sizes, "digest": self.data.digest},
        }

    def _write_results(self) -> None:
        name, test, metrics = self._chosen(), self.data.test, self.metrics
        balanced = self.options.class_weights
        others = self._simple()
        name = self._with_scores(name, others)
        predicted = {name: self.predicted[name]} | self.predicted
        predicted |= {key: each.predicted for key, each in others.items()}
        for key, each in predicted.items():
            result = metrics["results"].setdefault(key, comparison.scores(test, each))
            if key in others:
                result["seconds"] = round(others[key].seconds, 2)
            if key != name:
                pair = predicted[name], each
                result["difference"] = comparison.difference(test.labels, *pair, balanced)
        metrics["interrupted"] = False
        size, mean = metrics["results"][name]["parameters"], f"{self.options.encoder} + mean"
        smaller = [
            row
            for row in self.rows
            if row != name and (row == mean or metrics["results"][row]["parameters"] < size)
        ]
        simpler = [comparison.MAJORITY, *(each for each in others if each != comparison.MAJORITY)]
        simpler += smaller
        told = comparison.sentence(test.labels, predicted, simpler, balanced)
        lines = [NOT_REFITTED]
        if len(self.data.validation) < comparison.FEWEST:
            lines.append(comparison.TOO_FEW.format(len(self.data.validation)))
        if self.options.compare:
            metrics["chosen"] = name
        # If scikit-learn is missing, the output says so. Otherwise the table would look complete.
        lines += [comparison.NO_LINEAR] * (len(others) == 1)
        # The verdict is the last line, because a user looks there first.
        metrics["comparison"] = "\n".join([*lines, told])
        runs.write_json(self.run / runs.METRICS, metrics)
        print(f"\n{comparison.table(metrics['results'], len(test), balanced)}\n")
        if self.options.compare:
            print(f"The validation part likes {name} best: it is the model of this run.")
        print(f"The run is in {self.run}")
        if self.options.report:
            print("Writing the report ...", flush=True)
            trained = Run(self.run, self._config(), self.reader, self.trained[name])
            answers = self.predicted[name]
            print(*report.write(trained, self.options, name, metrics, test, answers), sep="\n")
        print(f"\n{metrics['comparison']}")

    def _simple(self) -> dict[str, comparison.Simple]:
        """The rows that need no network. The row of the largest class is last."""
        own = self.options.file or self.options.dataset
        # Generated reviews consist of words only.
        kinds = [*comparison.KINDS][: None if own else 1]
        balanced, data = self.options.class_weights, self.data
        print("\nLinear classifiers ...", flush=True)
        rows = comparison.linear(data, kinds, balanced)
        if self.frozen:
            rows |= comparison.logistic(data, self.frozen.means(data._asdict()), balanced)
        return rows | {comparison.MAJORITY: comparison.Simple(comparison.largest(data), 0.0)}

    def _chosen(self) -> str:
        """Returns the row whose model is kept: the pooling with the best validation scores."""
        if not self.options.compare:
            return self.options.name
        ranks = {
            name: (each.history["val_accuracy"][best], -each.history["val_loss"][best])
            for name, each in self.checkpoints.items()
            for best in [each.best_epoch - 1]
        }
        name = max(ranks, key=ranks.__getitem__)
        self.options.pooling = self.rows[name]
        self._replace(self.trained[name])
        return name

    def _with_scores(self, name: str, rows: dict[str, comparison.Simple]) -> str:
        """Adds linear classifiers to the network if this improves the validation scores.

        Returns:
            The name of the row whose model is kept.
        """
        if not (self.options.tfidf and self.frozen):
            return name
        words, mean = (rows.get(each) for each in (comparison.BOTH, comparison.MEAN))
        if not (words and words.scorer and mean and mean.weights):
            return name
        # Such rows have validation scores.
        assert words.validation is not None and mean.validation is not None
        data, results = self.data, self.metrics["results"]
        validation, test = self.probabilities[name]
        factor, weight, share = comparison.mixed(
            validation,
            words.validation,
            mean.validation,
            data.validation.labels,
            self.options.class_weights,
        )
        if not weight and not share:
            return name
        both = name + " + TF-IDF" * bool(weight) + " + logistic" * bool(share)
        scorer, (weights, bias) = words.scorer.times(weight), mean.weights
        logits = self.frozen.means(data._asdict())[2] @ weights + bias
        answers = tfidf.joined(
            test, factor, scorer(data.test.texts), share * tfidf.log_softmax(logits)
        )
        self.predicted = {both: answers.argmax(axis=1)} | self.predicted
        model = tfidf.model_with_scores(
            self.trained[name], factor, bool(weight), share, (weights / self.frozen.scale, bias)
        )
        own = {key: value for key, value in results[name].items() if key not in ("history", "f1")}
        size = model.count_params() + (scorer.weights.size + scorer.bias.size) * bool(weight)
        own |= {"parameters": size, "parameters_without_embeddings": size, "network": name}
        own["seconds"] = round(own["seconds"] + words.seconds + mean.seconds, 2)
        own |= comparison.scores(data.test, self.predicted[both])
        self.metrics["results"] = {both: own} | results
        self.trained[both] = model
        self.frozen.scorer = scorer if weight else None
        self._replace(model)
        return both

    def _replace(self, model: keras.Model) -> None:
        """Saves another model as the model of the run."""
        with whole_file(self.run / runs.MODEL) as temporary:
            model.save(temporary)
        self.reader.save(self.run)
        runs.write_json(self.run / runs.CONFIG, self._config())


def _fit(
    name: str,
    model: keras.Model,
    checkpoint: Checkpoint,
    parts: dict[str, Any],
    options: Options,
) -> None:
    """Trains from the checkpoint to the end."""
    # The settings are those of the comparison that chose the default.
    optimizer = keras.optimizers.Adam(networks.learning_rate(options), global_clipnorm=1.0)
    # With --class-weights the texts have weights, so balanced accuracy chooses the epoch.
    model.compile(optimizer, "sparse_categorical_crossentropy", weighted_metrics=["accuracy"])
    batches = parts["train"]
    if checkpoint.is_over:
        return
    if checkpoint.epochs:
        checkpoint.restore(model)
    for _ in range(checkpoint.epochs):
        batches.on_epoch_end()  # draws the order of the next epoch
    with warnings.catch_warnings():
        if options.fine_tune:  # the states do not depend on all parts of a language model
            warnings.filterwarnings("ignore", "Gradients do not exist for variables")
        model.fit(
            batches,
            validation_data=parts["validation"],
            epochs=options.epochs,
            initial_epoch=checkpoint.epochs,
            callbacks=[checkpoint],
            # A progress bar on a terminal; one line per epoch elsewhere.
            verbose=1 if sys.stdout.isatty() else 2,
            shuffle=False,
        )


def _after_interrupt(run: Path, first: Checkpoint) -> str:
    if not first.epochs:
        return "\nInterrupted before the first epoch was finished: nothing was kept."
    return (
        f"\nInterrupted. {run / runs.MODEL} is the model of epoch {first.best_epoch}, the best of "
        f"{first.epochs}. To go on: python -m keras_attnpool train --resume --out {run}"
    )
