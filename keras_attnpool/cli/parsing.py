"""What may be typed: the arguments of every command, their defaults and their help."""

import argparse
import math
from collections.abc import Sequence
from typing import Any

import keras_attnpool
from keras_attnpool.cli.options import (
    CONTEXTS,
    DATASETS,
    DEFAULTS,
    EPOCHS,
    METHODS,
    MODELS,
    PENALTIES,
    REVIEW_EPOCHS,
)

DESCRIPTION = """\
Text classifiers that pool by attention: train one, then ask it.

Without a file of yours, `train` learns from reviews that the package generates, so that there is
something to see at once:

  python -m keras_attnpool train --model lama --out runs/first
  python -m keras_attnpool predict runs/first "The room was not clean at all."
  python -m keras_attnpool explain runs/first "The room was not clean at all."

It runs on the backend that the environment variable KERAS_BACKEND names: jax, torch or tensorflow.
What an option is for: python -m keras_attnpool COMMAND --help
"""

TRAIN_DESCRIPTION = """\
Trains a text classifier and sets it beside the same encoder with mean pooling and beside the
largest class, so that you see what the attention is worth.

The data: generated reviews (1 to 5 stars) when nothing is named, a public data set (--dataset), or
your own FILE, a TSV (`label<TAB>text`, no header) or a CSV with columns `label` and `text`; either
may be gzipped. A tenth of the training part decides which epoch is kept.

The run folder gets model.keras (the best epoch), vocabulary.json, config.json, metrics.json, and
report.html: how well it does, and what it looks at.
Ctrl-C keeps the best epoch so far; `train --resume --out RUN` goes on after the last whole one, and
ends with the weights of a run that was never interrupted (same machine, same versions).
"""

TRAIN_EXAMPLES = """\
examples:
  python -m keras_attnpool train --out runs/first
  python -m keras_attnpool train mails.csv --text-column body --label-column folder --out runs/mails
  python -m keras_attnpool train train.tsv --test test.tsv --model san --heads 4 --out runs/san
  python -m keras_attnpool train --dataset r8 --embeddings word2vec --out runs/r8
  python -m keras_attnpool train --resume --out runs/r8
"""

PREDICT_DESCRIPTION = """\
Classifies texts with a trained run: one line a text, `label<TAB>probability<TAB>text`.

Without TEXT and --file, every line of standard input is a text; answers come as the lines do.
Control characters are shown by their code (U+001B), and a ' stands before what a spreadsheet would
take for a formula. --json gives labels and texts as they are.
"""

PREDICT_EXAMPLES = """\
examples:
  python -m keras_attnpool predict runs/first "The soup was cold." "Best hotel ever!"
  python -m keras_attnpool predict runs/first --file texts.txt
  python -m keras_attnpool predict runs/first --json < texts.txt > predictions.jsonl
"""

EXPLAIN_DESCRIPTION = """\
Classifies texts and shows the words that count: the most important ones here, all of them as a heat
map in an HTML page.

Without TEXT and --file, every line of standard input is a text. Two methods:

  attention  the attention weights, of models that have some: lama, lama-encoder, san, transformer
             (there the mean over the words that attend). A weight of 1 is what every word would
             have if all were alike.
  saliency   gradient x input, of any model: what speaks for the predicted class (+) and against it
             (-), on a scale on which the mean strength is 1
"""

EXPLAIN_EXAMPLES = """\
examples:
  python -m keras_attnpool explain runs/first "The soup was cold." "Best hotel ever!"
  python -m keras_attnpool explain runs/first --out explained.html < texts.txt
  python -m keras_attnpool explain runs/bigru --method saliency "The soup was cold."
"""


def parsed(argv: Sequence[str] | None) -> dict[str, Any]:
    """What was given, and nothing else, with the name of the command as `command`.

    Raises:
        SystemExit: After help, or a message on standard error.
    """
    known, rest = parser().parse_known_args(argv)
    given = vars(known)
    # argparse itself gives up texts that stand behind an option.
    behind_dashes = rest[:1] == ["--"]
    if "run" in given and (behind_dashes or not any(each.startswith("-") for each in rest)):
        given["texts"] = [*given.get("texts", ()), *rest[behind_dashes:]]
    elif rest:
        parser().error(f"unrecognized arguments: {' '.join(rest)}")
    return given


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(
        prog="python -m keras_attnpool",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    # The backend is what KERAS_BACKEND or Keras's own configuration says.
    text = "show the versions and exit"
    top.add_argument("--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help=text)
    commands = top.add_subparsers(metavar="COMMAND", dest="command", required=True)
    _add_train(commands)
    _add_predict(commands)
    _add_explain(commands)
    return top


class _Version(argparse.Action):
    """Shows versions. Keras takes seconds to import, which help need not wait for."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: Any) -> None:
        import keras

        print(f"keras_attnpool {keras_attnpool.__version__}, Keras {keras.__version__}")
        parser.exit()


def _add_command(commands: Any, name: str, summary: str, **texts: str) -> Any:
    return commands.add_parser(
        name,
        help=summary,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        # What is not given is absent: defaults come later, so that --resume can tell.
        argument_default=argparse.SUPPRESS,
        **texts,
    )


def _add_train(commands: Any) -> None:
    command = _add_command(
        commands,
        "train",
        "train a classifier",
        description=TRAIN_DESCRIPTION,
        epilog=TRAIN_EXAMPLES,
    )

    def add(group: Any, flag: str, text: str, **kwargs: Any) -> None:
        default = DEFAULTS.get(flag.lstrip("-").replace("-", "_"))
        suffix = "" if default in (None, False) else f" (default: {default})"
        group.add_argument(flag, help=text + suffix, **kwargs)

    command.add_argument("--out", metavar="RUN", required=True, help="the run folder")
    add(command, "--model", "what to train", choices=MODELS)
    existing = command.add_mutually_exclusive_group()
    existing.add_argument("--resume", action="store_true", help="go on with the run in RUN")
    existing.add_argument("--overwrite", action="store_true", help="replace the run in RUN")
    command.add_argument(
        "--no-baseline",
        dest="baseline",
        action="store_false",
        help="do not train the mean to compare with",
    )
    command.add_argument(
        "--no-report", dest="report", action="store_false", help="do not write report.html"
    )

    data = command.add_argument_group("data")
    data.add_argument("file", metavar="FILE", nargs="?", help="your own labelled .tsv or .csv")
    add(data, "--test", "labelled file to test on (default: a fifth of FILE)", metavar="FILE2")
    column = {"metavar": "COLUMN", "type": _column}
    add(data, "--text-column", "name, or position from 0, of FILE's texts", **column)
    add(data, "--label-column", "name, or position from 0, of FILE's labels", **column)
    header = argparse.BooleanOptionalAction
    add(data, "--header", "whether the first line of FILE names the columns", action=header)
    add(data, "--encoding", "encoding of FILE (default: utf-8; UTF-16 is known by its first bytes)")
    names = ", ".join(DATASETS)
    add(data, "--dataset", f"public data set, downloaded if need be: {names}", metavar="NAME")
    add(data, "--train-size", "number of generated reviews to train on", **_number(2))
    add(data, "--test-size", "number of generated reviews to test on", **_number(1))
    add(data, "--min-frequency", "rarer words are unknown words", **_number(1))
    add(data, "--max-length", "longer texts are cut to this many words", **_number(1))

    fit = command.add_argument_group("training (with Adam)")
    epochs = f"default: {EPOCHS}, on generated reviews {REVIEW_EPOCHS}"
    add(fit, "--epochs", f"at most this many passes over the data ({epochs})", **_number(1))
    add(fit, "--patience", "stop after this many epochs without a better one", **_number(1))
    add(fit, "--batch-size", "texts in a batch", **_number(1))
    positive = {"metavar": "X", "type": _positive}
    rates = "default: 0.002, of the transformer 0.0003"
    add(fit, "--learning-rate", f"step size ({rates})", **positive)
    add(fit, "--seed", "seed of weights, order and splits", **_number(0))

    size = command.add_argument_group(
        "model", "What a model does not have is refused. Defaults that are not shown are its own."
    )
    add(size, "--heads", "attention heads (lama, lama-encoder, san, transformer)", **_number(1))
    add(size, "--rank", "rank of a head's bilinear form (lama, lama-encoder)", **_number(1))
    text = "what queries the words: mean of the embeddings or of the states, or a learned vector "
    add(size, "--context", text + "(lama, lama-encoder)", choices=CONTEXTS)
    text = "let each head learn how sharply it attends; ours, not the paper's (lama, lama-encoder)"
    size.add_argument("--learn-scale", action="store_true", help=text)
    text = "keep heads apart by their attention weights (lama, lama-encoder, san) or by their "
    text += "vectors (lama, lama-encoder)"
    add(size, "--penalty", text, choices=PENALTIES)
    add(size, "--penalty-factor", "weight of the penalty in the loss", **positive)
    text = "random; word2vec (trained on the training part first); or a text file of word vectors, "
    add(size, "--embeddings", text + "GloVe's for one", metavar="{random,word2vec,PATH}")
    add(size, "--embedding-dim", "size of a word's vector", **_number(1))
    add(size, "--hidden-units", "units of the classifier's hidden layer, 0 for none", **_number(0))
    add(size, "--dropout", "dropout of the classifier", metavar="X", type=_share)


def _add_predict(commands: Any) -> None:
    command = _add_command(
        commands,
        "predict",
        "classify texts with a trained run",
        description=PREDICT_DESCRIPTION,
        epilog=PREDICT_EXAMPLES,
    )
    _add_texts(command, "classify")
    text = "one JSON object a line, with the probabilities of all classes"
    command.add_argument("--json", action="store_true", help=text)


def _add_explain(commands: Any) -> None:
    command = _add_command(
        commands,
        "explain",
        "show which words count",
        description=EXPLAIN_DESCRIPTION,
        epilog=EXPLAIN_EXAMPLES,
    )
    _add_texts(command, "explain")
    text = f"what counts (default: {METHODS[0]})"
    command.add_argument("--method", choices=METHODS, help=text)
    text = "where the heat maps go, an .html file (default: explained.html in RUN)"
    command.add_argument("--out", metavar="FILE", help=text)


def _add_texts(command: Any, verb: str) -> None:
    command.add_argument("run", metavar="RUN", help="the run folder")
    command.add_argument("texts", metavar="TEXT", nargs="*", help=f"a text to {verb}")
    text = f"a file of texts to {verb}, one a line; - for standard input"
    command.add_argument("-f", "--file", metavar="FILE", help=text)


def _number(least: int) -> dict[str, Any]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"expects an integer >= {least}. Received: {text!r}")
        return int(text)

    return {"metavar": "N", "type": number}


def _positive(text: str) -> float:
    number = _float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expects a number above 0. Received: {text!r}")
    return number


def _share(text: str) -> float:
    number = _float(text)
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(f"expects a number in [0, 1). Received: {text!r}")
    return number


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _column(text: str) -> str | int:
    return int(text) if text.isdecimal() else text
