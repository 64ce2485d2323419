"""The parser: the arguments of every command, their defaults and their help."""

import argparse
import difflib
import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import keras_attnpool
from keras_attnpool.workbench.cli.options import (
    BATCH_SIZE,
    BEST_BEHIND,
    COMPARED,
    CONTEXTS,
    DATASETS,
    DEFAULTS,
    ENCODER,
    EPOCHS,
    FORMATS,
    MINILM,
    MODELS,
    PENALTIES,
    PRINTED_WORDS,
    REVIEW_EPOCHS,
    STEPS,
)

DESCRIPTION = """\
Text classifiers that pool by attention: from a file of texts to a model, and to its reasons.

Without a file of yours, `train` learns from reviews that the package generates, so that there is
something to see at once:

  python -m keras_attnpool train --out runs/first
  python -m keras_attnpool explain runs/first "The wine was very good."

On your own texts:

  python -m keras_attnpool train mails.csv --text-column body --label-column folder --out runs/mails
  python -m keras_attnpool predict runs/mails --input new.csv --text-column body --output out.csv

It runs on the backend that the environment variable KERAS_BACKEND names: jax, torch or tensorflow.
What an option is for: python -m keras_attnpool COMMAND --help
"""

TRAIN_DESCRIPTION = """\
Trains a text classifier, and sets it beside what is simpler: the same encoder with the mean, linear
classifiers on TF-IDF of words and characters, behind a language model also one on the mean of its
states, and the largest class. One of the last lines says whether a simpler one is as good.

The data: generated reviews (1 to 5 stars) when nothing is named, a public data set (--dataset), or
your own FILE, a TSV (`label<TAB>text`, no header) or a CSV with columns `label` and `text`; either
may be gzipped. A tenth of the training part decides which epoch is kept.

The run folder gets model.keras (the best epoch), vocabulary.json, config.json, metrics.json, and
report.html: how well it does, and why.
Ctrl-C keeps the best epoch so far; `train --resume --out RUN` goes on after the last whole one, and
ends with the weights of a run that was never interrupted (same machine, same versions).
"""

TRAIN_EXAMPLES = """\
examples:
  python -m keras_attnpool train --out runs/first
  python -m keras_attnpool train mails.csv --text-column body --label-column folder --out runs/mails
  python -m keras_attnpool train mails.tsv --encoder gru --out runs/words
  python -m keras_attnpool train mails.tsv --compare --out runs/compared
  python -m keras_attnpool train train.tsv --test test.tsv --model san --heads 4 --out runs/san
  python -m keras_attnpool train --resume --out runs/san

Which pooling? docs/which-layer.md has what a comparison found.
"""

PREDICT_DESCRIPTION = """\
Classifies texts with a trained run: one line a text, `label<TAB>probability<TAB>text`.

Without TEXT, --file and --input, every line of standard input is a text; answers come as the lines
do. --output writes the columns of --input as they are, and behind them `label`, `probability` and
`p(CLASS)` of every class: with a number where the input has such a name.

Control characters are shown by their code (U+001B), and a ' stands before what a spreadsheet would
take for a formula. --json, and --output with a name that ends in .jsonl, give everything as it is.
"""

PREDICT_EXAMPLES = """\
examples:
  python -m keras_attnpool predict runs/first "The soup was cold." "Best hotel ever!"
  python -m keras_attnpool predict runs/first --input mails.csv --text-column body --output out.csv
  python -m keras_attnpool predict runs/first --json < texts.txt > predictions.jsonl
"""

EXPLAIN_DESCRIPTION = """\
Classifies texts and shows what each word does to the prediction: the words that do most here, all
of them as heat maps in an HTML page.

  effect     by how much the probability of the predicted class falls when the word is left out:
             + speaks for the class, - against it, 1 is the whole probability. Texts of more than
             128 words: gradient x input, in the same unit.
  attention  where the attention of the model looks, if it has some: 1 is what a mean over all words
             would give to each. It is no reason by itself: docs/explanation.md says when it may be
             read as one. Where it is all but uniform, this is said.
"""

EXPLAIN_EXAMPLES = """\
examples:
  python -m keras_attnpool explain runs/first "The soup was cold." "Best hotel ever!"
  python -m keras_attnpool explain runs/first --out explained.html < texts.txt
"""

EVALUATE_DESCRIPTION = """\
Scores a trained run on a labelled file: accuracy, precision, recall and F1 of each class, the
confusion matrix, and whether its probabilities are right as often as they say.
"""

EXPORT_DESCRIPTION = """\
Writes the model in a format that runs without Keras, with its tokenizer and an example that uses
both. A run with a language model, or one that reads by sentences, is refused.
"""


def parsed(argv: Sequence[str] | None) -> dict[str, Any]:
    """The given options, and nothing else, with the name of the command as `command`.

    Raises:
        SystemExit: After help, or a message on standard error.
    """
    top, commands = parser()
    known, rest = top.parse_known_args(argv)
    given = vars(known)
    # argparse itself gives up texts that stand behind an option.
    takes_texts = given["command"] in ("predict", "explain")
    behind_dashes = rest[:1] == ["--"]
    if takes_texts and (behind_dashes or not any(each.startswith("-") for each in rest)):
        given["texts"] = [*given.get("texts", ()), *rest[behind_dashes:]]
    elif rest:
        command = commands[given["command"]]
        options = re.findall(r"--[\w-]+", command.format_usage())
        near = difflib.get_close_matches(rest[0].partition("=")[0], options, 1)
        hint = f". Did you mean {near[0]}?" if near else ""
        command.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
    return given


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, as the commands do; the usage alone is longer than a page."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def parser() -> tuple[_Parser, dict[str, _Parser]]:
    """The parser of all commands, and that of each."""
    top = _Parser(
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
    _add_evaluate(commands)
    _add_export(commands)
    return top, commands.choices


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
    model = command.add_argument_group("what to train")
    text = "what reads the words: none, gru, lstm, stacked_lstm, cnn, conv_attention, positional, "
    text += "directional, block; hierarchical, by sentences; minilm or another preset of KerasHub, "
    text += (
        f"a language model; or several joined by + (default: {MINILM} for texts of yours where it "
    )
    text += f"is installed, else {ENCODER})"
    add(model, "--encoder", text, metavar="NAME")
    text = (
        "what makes one vector of them: mean, max, last, first, attention, self_attention, lama, "
    )
    text += "generalized, generalized_scalar, multi_dim, target, sequential ... "
    usual = ", ".join(f"{pooling} behind {encoder}" for encoder, pooling in BEST_BEHIND.items())
    add(model, "--pooling", text + f"(default: {usual})", metavar="NAME")
    text = "in place of both, a model of the papers: " + ", ".join(MODELS)
    add(model, "--model", text, choices=MODELS, metavar="NAME")
    text = "train several poolings behind the encoder, and keep the best: the default, "
    text += ", ".join(COMPARED)
    model.add_argument("--compare", action="store_true", help=text)
    text = "train the language model too; without it, its features are computed once and kept"
    model.add_argument("--fine-tune", action="store_true", help=text)
    text = "leave out the scores of TF-IDF, which stand beside a frozen language model"
    model.add_argument("--no-tfidf", dest="tfidf", action="store_false", help=text)
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
    _add_columns(data)
    names = ", ".join(DATASETS)
    add(data, "--dataset", f"public data set, downloaded if need be: {names}", metavar="NAME")
    add(data, "--train-size", "number of generated reviews to train on", **_number(2))
    add(data, "--test-size", "number of generated reviews to test on", **_number(1))
    add(data, "--min-frequency", "rarer words are unknown words", **_number(1))
    add(data, "--max-length", "longer texts are cut to this many words", **_number(1))
    add(data, "--max-sentences", "sentences of a text that are read (hierarchical)", **_number(1))
    add(data, "--max-words", "words of a sentence that are read (hierarchical)", **_number(1))
    text = "tokens of a text that a language model reads"
    add(data, "--max-tokens", text, **_number(4))
    text = "layer of a language model whose states are its features (default: of minilm 4, else the"
    add(data, "--layer", f"{text} last)", **_number(1))

    fit = command.add_argument_group("training (with Adam)")
    epochs = f"default: {EPOCHS}, on generated reviews {REVIEW_EPOCHS}"
    add(fit, "--epochs", f"at most this many passes over the data ({epochs})", **_number(1))
    add(fit, "--patience", "stop after this many epochs without a better one", **_number(1))
    sizes = f"default: {BATCH_SIZE}, fewer where an epoch would have fewer than {STEPS} batches"
    add(fit, "--batch-size", f"texts in a batch ({sizes})", **_number(1))
    positive = {"metavar": "X", "type": _positive}
    rates = "default: 0.001; 0.00005 with --fine-tune; that of each --model is its own"
    add(fit, "--learning-rate", f"step size ({rates})", **positive)
    text = "count rare classes as much as frequent ones"
    fit.add_argument("--class-weights", action="store_true", help=text)
    add(fit, "--seed", "seed of weights, order and splits", **_number(0))

    size = command.add_argument_group(
        "sizes", "What a model does not have is refused. Defaults that are not shown are its own."
    )
    add(size, "--heads", "attention heads", **_number(1))
    add(size, "--units", "units of the encoder, per direction", **_number(1))
    add(size, "--rank", "rank of a head's bilinear form (lama)", **_number(1))
    text = "what queries the words: mean of the embeddings or of the states, or a learned vector "
    add(size, "--context", text + "(lama, lama-encoder)", choices=CONTEXTS)
    text = "let each head learn how sharply it attends; ours, not the paper's (lama)"
    size.add_argument("--learn-scale", action="store_true", help=text)
    text = "keep heads apart by their attention weights or by their vectors"
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
    text = "where answers go, a .csv, .tsv or .jsonl file: the columns of the input, then the label"
    command.add_argument("--output", metavar="FILE", help=text)
    text = "one JSON object a line, with the probabilities of all classes"
    command.add_argument("--json", action="store_true", help=text)


def _add_evaluate(commands: Any) -> None:
    command = _add_command(
        commands, "evaluate", "score a trained run on a file", description=EVALUATE_DESCRIPTION
    )
    command.add_argument("run", metavar="RUN", help="the run folder")
    command.add_argument(
        "file", metavar="FILE", help="a labelled .tsv or .csv, as `train` takes it"
    )
    _add_columns(command)


def _add_columns(command: Any, file: str = "FILE", **usual: str) -> None:
    for name, default in (usual or {"text": "", "label": ""}).items():
        text = f"name, or position from 0, of the {name}s in {file}"
        text += default and f" (default: {default})"
        command.add_argument(f"--{name}-column", metavar="COLUMN", type=_column, help=text)
    text = f"whether the first line of {file} names the columns (default: that of a .csv does, and "
    command.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help=text + "that of a .tsv if a column is named)",
    )
    text = "what stands between the columns of a .csv: ';' for one, or tab (default: ,)"
    command.add_argument("--delimiter", metavar="CHARACTER", type=_delimiter, help=text)
    if not usual:
        text = "leave out lines without a text or without a label, which are an error otherwise"
        command.add_argument("--skip-empty", action="store_true", help=text)
    text = f"encoding of {file} (default: utf-8; UTF-16 is known by its first bytes)"
    command.add_argument("--encoding", help=text)


def _add_export(commands: Any) -> None:
    command = _add_command(
        commands, "export", "write the model for use without Keras", description=EXPORT_DESCRIPTION
    )
    command.add_argument("run", metavar="RUN", help="the run folder")
    text = "what to write (default: onnx)"
    command.add_argument("--format", choices=FORMATS, help=text)
    command.add_argument("--out", metavar="FOLDER", required=True, help="a new folder for it")


def _add_explain(commands: Any) -> None:
    command = _add_command(
        commands,
        "explain",
        "show which words count",
        description=EXPLAIN_DESCRIPTION,
        epilog=EXPLAIN_EXAMPLES,
    )
    _add_texts(command, "explain")
    text = f"how many words of each text are printed (default: {PRINTED_WORDS})"
    command.add_argument("--words", help=text, **_number(1))
    text = "where the heat maps go, an .html file (default: explained.html in RUN)"
    command.add_argument("--out", metavar="FILE", help=text)


def _add_texts(command: Any, verb: str) -> None:
    command.add_argument("run", metavar="RUN", help="the run folder")
    absent = argparse.SUPPRESS  # said once more, or argparse lists TEXT among what is missing
    text = f"a text to {verb}"
    command.add_argument("texts", metavar="TEXT", nargs="*", default=absent, help=text)
    text = f"a file of texts to {verb}, one a line; - for standard input"
    command.add_argument("-f", "--file", metavar="FILE", help=text)
    text = "a .csv, .tsv or .jsonl file, gzipped or not: one of its columns is the texts"
    command.add_argument("--input", metavar="FILE", help=text)
    _add_columns(command, "the file", text="text")


def _number(least: int) -> dict[str, Any]:
    def number(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) < 2**31:
            raise argparse.ArgumentTypeError(
                f"must be an integer >= {least} and below 2**31. Received: {text!r}"
            )
        return int(text)

    return {"metavar": "N", "type": number}


def _positive(text: str) -> float:
    number = _float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0. Received: {text!r}")
    return number


def _share(text: str) -> float:
    number = _float(text)
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(f"must be a number in [0, 1). Received: {text!r}")
    return number


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _delimiter(text: str) -> str:
    character = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(character) != 1 or character in '"\r\n':
        raise argparse.ArgumentTypeError(f"must be one character. Received: {text!r}")
    return character


def _column(text: str) -> str | int:
    return int(text) if text.isdecimal() else text
