"""The command `train`."""

import hashlib
import inspect
import math
import reprlib
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import numpy.typing as npt

import keras_attnpool
from keras_attnpool import datasets, models, regularizers, text
from keras_attnpool.cli import report, runs
from keras_attnpool.cli.errors import CommandError, reported

MODELS: dict[str, Callable[..., keras.Model]] = {
    "lama": models.LAMA,
    "lama-encoder": models.LAMAEncoder,
    "san": models.SAN,
    "bigru": models.BiGRU,
    "text-cnn": models.TextCNN,
    "transformer": models.TransformerEncoderClassifier,
    "average": models.AverageEmbedding,
}

# Every option that a run is made by; None leaves the choice to the model or the loader.
DEFAULTS: dict[str, Any] = {
    "model": "lama",
    "baseline": True,
    "report": True,
    "file": None,
    "test": None,
    "text_column": None,
    "label_column": None,
    "header": None,
    "encoding": None,
    "dataset": None,
    "train_size": 8000,
    "test_size": 1000,
    "min_frequency": 2,
    "max_length": 256,
    "epochs": None,
    "patience": 3,
    "batch_size": 64,
    "learning_rate": None,
    "seed": 0,
    "heads": None,
    "rank": None,
    "context": None,
    "learn_scale": None,
    "penalty": "none",
    "penalty_factor": 0.2,
    "embeddings": "random",
    "embedding_dim": None,
    "hidden_units": None,
    "dropout": None,
}

# Options that are an argument of the model builder.
ARGUMENTS = {
    "heads": "num_heads",
    "rank": "rank",
    "context": "context",
    "learn_scale": "learn_scale",
    "embedding_dim": "embedding_dim",
    "hidden_units": "hidden_units",
    "dropout": "dropout",
}
PENALTIES = {
    "attention": ("attention_regularizer", regularizers.AttentionOrthogonality),
    "embedding": ("embedding_regularizer", regularizers.CosineDisagreement),
}
CHOICES: dict[str, Iterable[str]] = {
    "model": MODELS,
    "context": ("embeddings", "mean", "learned"),
    "penalty": ("none", *PENALTIES),
}
FROM_ZERO = ("seed", "hidden_units")
LEARNING_RATES = {"transformer": 3e-4}  # else 2e-3
REVIEW_EPOCHS, EPOCHS = 8, 30
VALIDATION_SHARE = 0.1
TEST_SHARE = 0.2
REVIEW_SEEDS = {"train": 1, "test": 2}
# Each length that batches are padded to is compiled: few of them, though there is more padding.
LENGTHS = 2
BASELINE = "mean pooling"
MAJORITY = "largest class"
FILE_OPTIONS = ("test", "text_column", "label_column", "header", "encoding")
LOADERS = {".tsv": datasets.load_tsv, ".txt": datasets.load_tsv, ".csv": datasets.load_csv}


class Data(NamedTuple):
    """What is trained, chosen and tested on."""

    train: datasets.LabeledTexts
    validation: datasets.LabeledTexts
    test: datasets.LabeledTexts

    @property
    def sizes(self) -> dict[str, int]:
        """Number of texts of each part."""
        return {name: len(part) for name, part in self._asdict().items()}

    @property
    def digest(self) -> str:
        """A hash of all texts and labels."""
        content = hashlib.sha256()
        for part in self:
            for row in zip(part.texts, part.labels.tolist(), strict=True):
                content.update(repr(row).encode())
        return content.hexdigest()


def train(given: dict[str, Any]) -> int:
    """Trains a model and its baseline, prints how they do, and leaves a run folder.

    Args:
        given: The options that were given, `out` among them; see `DEFAULTS` for the others.

    Returns:
        The exit status: 0, or 130 if it was interrupted.

    Raises:
        CommandError: If options or data cannot be used.
    """
    given = dict(given)
    run = Path(given.pop("out"))
    resume, overwrite = given.pop("resume", False), given.pop("overwrite", False)
    config = runs.read_config(run) if resume else {}
    if resume:
        _check_config(run / runs.CONFIG, config)
    options = DEFAULTS | config.get("options", given)
    if options["epochs"] is None:
        options["epochs"] = EPOCHS if options["file"] or options["dataset"] else REVIEW_EPOCHS
    if resume:
        _check_resumed(given, options)
        if not (run / runs.RESUME).is_dir():
            if not (run / runs.MODEL).is_file():
                raise CommandError(
                    f"{run} has neither a {runs.MODEL} nor anything to resume: --overwrite starts "
                    "it anew"
                )
            print(f"{run} is finished: there is nothing to resume.")
            return 0
    else:
        _check(given, options)
        _check_folder(run, overwrite)
    data = _load(options)
    if resume and config["data"]["digest"] != data.digest:
        raise CommandError(f"{run}: the data are not those that this run was started with")
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
    new_folder = not run.exists()
    run.mkdir(parents=True, exist_ok=True)
    networks = {options["model"]: runs.Checkpoint(run, "model", run / runs.MODEL, resume)}
    if options["baseline"] and options["model"] != "average":
        best = run / runs.RESUME / "baseline.keras"
        networks[BASELINE] = runs.Checkpoint(run, "baseline", best, resume)
    first = networks[options["model"]]
    metrics: dict[str, Any] = {"interrupted": True, "sizes": data.sizes, "results": {}}
    try:
        for name, checkpoint in networks.items():
            parts = _batches(options, data, tokenizer)
            with reported():
                model = _build(name, options, data, tokenizer.vocabulary_size, vectors)
            size = _size(model)
            print(f"\n{name}: {size['parameters']:,} parameters")
            try:
                _fit(
                    name, model, checkpoint, parts, options, begin if checkpoint is first else None
                )
            finally:
                if checkpoint.epochs:
                    metrics["results"][name] = size | checkpoint.summary()
            best_model = runs.load_model(checkpoint.best)
            predicted = _predicted(best_model, parts["test"])
            metrics["results"][name] |= _scores(data.test, predicted)
            if checkpoint is first:
                shown = best_model, predicted
    except (KeyboardInterrupt, CommandError, OSError) as stop:
        interrupted = isinstance(stop, KeyboardInterrupt)
        if first.epochs:
            runs.write_json(run / runs.METRICS, metrics)
        elif new_folder:
            runs.remove_run(run)
            (run / runs.CONFIG).unlink(missing_ok=True)
            run.rmdir()
        if not interrupted:
            raise
        print(_after_interrupt(run, first), file=sys.stderr)
        return 130
    largest = np.full(len(data.test), np.bincount(data.train.labels).argmax())
    metrics["results"][MAJORITY] = _scores(data.test, largest)
    metrics["interrupted"] = False
    runs.write_json(run / runs.METRICS, metrics)
    print(f"\n{_table(metrics['results'], len(data.test))}\n\nThe run is in {run}")
    if options["report"]:
        has_pictures = report.write(run, options, metrics, data.test, tokenizer, *shown)
        print(f"The report is {run / runs.REPORT}")
        if not has_pictures:
            print(f"(without pictures, which need matplotlib: {report.INSTALL})")
    # Last: a run that is interrupted while the report is written can be resumed.
    runs.remove_resume(run)
    return 0


def _check_config(path: Path, config: dict[str, Any]) -> None:
    """Refuses what `train` cannot have written: a run folder may come from anywhere."""
    options, data = config.get("options"), config.get("data")
    if not isinstance(options, dict):
        raise CommandError(f"{path} is damaged: there are no options in it")
    if not isinstance(data, dict) or not isinstance(data.get("digest"), str):
        raise CommandError(f"{path} is damaged: it does not say which data the run has")
    for name, value in options.items():
        if name not in DEFAULTS or not _is_possible(name, value):
            raise CommandError(
                f"{path} is damaged: {reprlib.repr(value)} is no value of the option "
                f"{reprlib.repr(name)}"
            )


def _is_possible(name: str, value: Any) -> bool:
    if value is None:
        return DEFAULTS[name] is None
    if name in CHOICES:
        return isinstance(value, str) and value in CHOICES[name]
    if name in ("baseline", "report", "header", "learn_scale"):
        return isinstance(value, bool)
    if name in ("penalty_factor", "learning_rate", "dropout"):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and (0 <= value < 1 if name == "dropout" else 0 < value < math.inf)
    if isinstance(DEFAULTS[name], int) or name in (
        "epochs",
        "heads",
        "rank",
        "embedding_dim",
        *FROM_ZERO,
    ):
        return type(value) is int and (name not in FROM_ZERO) <= value < 2**31
    is_column = name in ("text_column", "label_column") and type(value) is int and value >= 0
    return isinstance(value, str) or is_column


def _check_resumed(given: dict[str, Any], options: dict[str, Any]) -> None:
    for name, value in given.items():
        if value != options[name]:
            raise CommandError(
                f"--resume goes on with the options of the run, where {_flag(name)} is "
                f"{options[name]!r}. Received: {value!r}"
            )


def _check(given: dict[str, Any], options: dict[str, Any]) -> None:
    """Refuses options that would have no effect."""
    if options["file"] and options["dataset"]:
        raise CommandError("FILE and --dataset exclude each other")
    for name in FILE_OPTIONS:
        if name in given and not options["file"]:
            raise CommandError(f"{_flag(name)} needs a FILE")
    for name in ("train_size", "test_size"):
        if name in given and (options["file"] or options["dataset"]):
            raise CommandError(f"{_flag(name)} is for the generated reviews only")
    if "penalty_factor" in given and options["penalty"] == "none":
        raise CommandError("--penalty-factor needs a --penalty")
    if "embedding_dim" in given and options["embeddings"] not in ("random", "word2vec"):
        raise CommandError("--embedding-dim is decided by the file that --embeddings names")
    for name, argument in ARGUMENTS.items():
        if name in given:
            _check_taken(_flag(name), argument, options["model"])
    if options["penalty"] != "none":
        argument, _ = PENALTIES[options["penalty"]]
        _check_taken(f"--penalty {options['penalty']}", argument, options["model"])


def _check_taken(flag: str, argument: str, model: str) -> None:
    takers = [name for name, build in MODELS.items() if argument in _arguments(build)]
    if model not in takers:
        raise CommandError(f"--model {model} does not take {flag}; {', '.join(takers)} do")


def _check_folder(run: Path, overwrite: bool) -> None:
    if run.exists() and not run.is_dir():
        raise CommandError(f"{run} is a file, where a run folder is to be")
    if not run.exists() or not any(run.iterdir()):
        return
    runs.read_config(run)  # nothing but a run is replaced
    if not overwrite:
        raise CommandError(
            f"{run} holds a run: --resume goes on with it, --overwrite replaces it, "
            "another --out leaves it alone"
        )


def _flag(name: str) -> str:
    return "FILE" if name == "file" else f"--{name.replace('_', '-')}"


def _arguments(build: Callable[..., keras.Model]) -> dict[str, Any]:
    """Names and defaults of what a model builder takes."""
    return {name: p.default for name, p in inspect.signature(build).parameters.items()}


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


def _load(options: dict[str, Any]) -> Data:
    with reported():
        if options["file"]:
            whole = _load_file(options["file"], options)
            if options["test"]:
                test = _load_file(options["test"], options, label_names=whole.label_names)
            else:
                whole, test = whole.split(TEST_SHARE, options["seed"])
        elif options["dataset"]:
            whole, test = (_load_public(options["dataset"], split) for split in ("train", "test"))
        else:
            whole = datasets.reviews(options["train_size"], seed=REVIEW_SEEDS["train"])
            test = datasets.reviews(options["test_size"], seed=REVIEW_SEEDS["test"])
        train, validation = whole.split(VALIDATION_SHARE, options["seed"])
    return Data(train, validation, test)


def _load_public(name: str, split: str) -> datasets.LabeledTexts:
    data = datasets.load(name, split)
    if isinstance(data, datasets.LabeledTexts):
        return data
    raise CommandError(f"--dataset {name} holds pairs of sentences, not single texts")


def _load_file(path: str, options: dict[str, Any], **kwargs: Any) -> datasets.LabeledTexts:
    suffix = Path(path.lower().removesuffix(".gz")).suffix
    if suffix not in LOADERS:
        endings = ", ".join(LOADERS)
        raise CommandError(f"{path}: expects a name that ends in one of {endings} (or with .gz)")
    for name in ("text_column", "label_column", "header", "encoding"):
        if options[name] is not None:
            kwargs[name] = options[name]
    return LOADERS[suffix](path, **kwargs)


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
            return text.word2vec(data.train.texts, tokenizer, dim=_dim(options), seed=seed)
        vectors, coverage = text.load_word_vectors(source, tokenizer, seed)
    print(f"{source} has vectors for {coverage:.0%} of the words.")
    return vectors


def _dim(options: dict[str, Any]) -> int:
    own = _arguments(MODELS[options["model"]])["embedding_dim"]
    return int(options["embedding_dim"] or own)


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


def _build(
    name: str,
    options: dict[str, Any],
    data: Data,
    vocabulary_size: int,
    vectors: npt.NDArray[np.float32] | None,
) -> keras.Model:
    """The model, or its baseline: mean pooling over embeddings of the same size and start."""
    build = MODELS["average" if name == BASELINE else name]
    taken = _arguments(build)
    arguments = {
        argument: options[option]
        for option, argument in ARGUMENTS.items()
        if argument in taken and options[option] is not None
    }
    arguments["embedding_dim"] = _dim(options)
    if arguments.get("hidden_units") == 0:
        arguments["hidden_units"] = None
    if options["penalty"] != "none" and name != BASELINE:
        hook, penalty = PENALTIES[options["penalty"]]
        arguments[hook] = penalty(options["penalty_factor"])
    if "max_length" in taken:
        arguments["max_length"] = options["max_length"]
    keras.utils.set_random_seed(options["seed"])
    return build(vocabulary_size, data.train.num_classes, embeddings=vectors, **arguments)


def _size(model: keras.Model) -> dict[str, int]:
    parameters = model.count_params()
    embeddings = model.get_layer("embedding").count_params()
    return {"parameters": parameters, "parameters_without_embeddings": parameters - embeddings}


class _Epochs(keras.callbacks.Callback):  # type: ignore[misc]
    """Keeps every finished epoch and stops when the last better one is `patience` back."""

    def __init__(
        self, checkpoint: runs.Checkpoint, patience: int, begin: Callable[[], None] | None
    ) -> None:
        super().__init__()
        self.checkpoint = checkpoint
        self.patience = patience
        self.begin = begin
        self.start = 0.0

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
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
        callbacks=[_Epochs(checkpoint, options["patience"], begin)],
        # A bar that moves, or a line an epoch where nothing can move.
        verbose=1 if sys.stdout.isatty() else 2,
        shuffle=False,
    )


def _predicted(model: keras.Model, batches: text.BucketedBatches) -> npt.NDArray[np.int64]:
    """The predicted class of every text."""
    return np.asarray(batches.restore(model.predict(batches, verbose=0)).argmax(axis=1))


def _scores(test: datasets.LabeledTexts, predicted: npt.NDArray[Any]) -> dict[str, Any]:
    """Accuracy, and F1 of every class that was there or was predicted, with their mean."""
    classes = np.arange(test.num_classes)[:, None]
    true, chosen = test.labels == classes, predicted == classes
    f1 = {
        test.label_names[label]: float(2 * hits / total)
        for label, (hits, total) in enumerate(
            zip((true & chosen).sum(1), true.sum(1) + chosen.sum(1), strict=True)
        )
        if total
    }
    return {
        "accuracy": float(np.mean(predicted == test.labels)),
        "macro_f1": float(np.mean(list(f1.values()))),
        "f1": f1,
    }


def _after_interrupt(run: Path, first: runs.Checkpoint) -> str:
    if not first.epochs:
        return "\nInterrupted before the first epoch was finished: nothing was kept."
    return (
        f"\nInterrupted. {run / runs.MODEL} is the model of epoch {first.best_epoch}, the best of "
        f"{first.epochs}. To go on: python -m keras_attnpool train --resume --out {run}"
    )


def _table(results: dict[str, Any], test_size: int) -> str:
    columns = ("accuracy", "macro-F1", "parameters", "without embeddings", "epochs", "seconds")
    title = f"{test_size} test texts"
    width = max(len(title), *map(len, results))
    lines = [f"{title:{width}}  {'  '.join(columns)}"]
    for name, result in results.items():
        cells = [f"{result['accuracy']:.3f}", f"{result['macro_f1']:.3f}"]
        if "epochs" in result:
            cells += [f"{result['parameters']:,}", f"{result['parameters_without_embeddings']:,}"]
            cells += [str(result["epochs"]), f"{result['seconds']:.0f}"]
        row = [f"{cell:>{len(column)}}" for cell, column in zip(cells, columns, strict=False)]
        lines.append(f"{name:{width}}  {'  '.join(row)}")
    return "\n".join(lines)
