"""The command `predict`."""

import codecs
import json
import os
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from keras_attnpool.analysis.html_heatmaps import visible
from keras_attnpool.cli import runs
from keras_attnpool.cli.errors import CommandError, reported

# Texts that are answered at once. Lengths are rounded up, since each is compiled.
BATCH = 64
LENGTH_STEP = 32
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def predict(given: dict[str, Any]) -> int:
    """Prints the class of every text, batch by batch.

    Args:
        given: `run`, and what was given of `texts`, `file` and `json`.

    Returns:
        The exit status, 0.

    Raises:
        CommandError: If the run or the input cannot be used.
    """
    texts = given_texts(given)
    config, tokenizer, model = runs.load(Path(given["run"]))
    longest = config["options"]["max_length"]
    # Whoever types waits for each answer.
    size = 1 if reads_stdin(given) and sys.stdin.isatty() else BATCH
    while batch := list(islice(texts, size)):
        with reported():
            ids = tokenizer.encode(batch, max_length=longest)
        width = min(-(-ids.shape[1] // LENGTH_STEP) * LENGTH_STEP, longest)
        ids = np.pad(ids, ((0, 0), (0, width - ids.shape[1])))
        answers = np.asarray(model.predict_on_batch(ids))
        for content, row in zip(batch, answers.tolist(), strict=True):
            probabilities = dict(zip(config["label_names"], row, strict=True))
            label = max(probabilities, key=probabilities.__getitem__)
            if "json" in given:
                answer = {"label": label, "probability": probabilities[label]}
                answer |= {"probabilities": probabilities, "text": content}
                print(json.dumps(answer))
            else:
                line = field(" ".join(content.split()))
                print(field(label), f"{probabilities[label]:.4f}", line, sep="\t")
        sys.stdout.flush()
    return 0


def given_texts(given: dict[str, Any]) -> Iterator[str]:
    """The texts of a command: its arguments, or the lines of a file or of standard input.

    Raises:
        CommandError: If a file stands where a text is expected, or cannot be read as texts.
    """
    if not given.get("texts"):
        return lines(sys.stdin) if reads_stdin(given) else _lines_of(given["file"])
    if "file" in given:
        raise CommandError("TEXT and --file exclude each other")
    for content in given["texts"]:
        if os.path.isfile(content):
            raise CommandError(
                f"{content} is a file, not a text: --file {content} reads one text a line (if it "
                "is a text after all, write it to standard input)"
            )
    return iter(given["texts"])


def reads_stdin(given: dict[str, Any]) -> bool:
    """Whether the texts are the lines of standard input."""
    return not given.get("texts") and given.get("file", "-") == "-"


def lines(stream: TextIO) -> Iterator[str]:
    """The lines of a stream, each of them a text.

    Raises:
        CommandError: If they are not in the encoding of the stream.
    """
    name = "standard input" if stream is sys.stdin else stream.name
    if stream.isatty():
        print("Reading texts, one a line, until Ctrl-D.", file=sys.stderr)
    try:
        for line in stream:
            yield line.rstrip("\r\n")
    except UnicodeError as error:
        expected = getattr(error, "encoding", stream.encoding)
        raise CommandError(f"{name}: expects {expected}. Received: {error}") from error


def _lines_of(path: str) -> Iterator[str]:
    if path.lower().endswith((".csv", ".tsv", ".gz")):
        raise CommandError(
            f"--file expects texts, one a line, and nothing else. Received: {path}; take the "
            "column of the texts out of it first"
        )
    with open(path, "rb") as file:
        start = file.read(2)
    encoding = "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    return _read(path, encoding)


def _read(path: str, encoding: str) -> Iterator[str]:
    with open(path, encoding=encoding) as stream:
        yield from lines(stream)


def field(content: str) -> str:
    """A label or a text as part of one line, which neither terminal nor spreadsheet obeys."""
    line = visible(content)
    is_formula = line.startswith(("=", "+", "-", "@")) and not NUMBER.fullmatch(line)
    return f"'{line}" if is_formula else line
