"""Loads natural language inference data from the files of SNLI and MultiNLI."""

import json
import re
import reprlib
from pathlib import Path

import numpy as np

from keras_attnpool.types import PathLike
from keras_attnpool.workbench._text_files import read_text
from keras_attnpool.workbench.datasets.labeled_texts import SentencePairs

LABELS = ("entailment", "neutral", "contradiction")
_FIELDS = ("gold_label", "sentence1", "sentence2")


def load_nli(path: PathLike, *, encoding: str = "utf-8") -> SentencePairs:
    """Loads sentence pairs from a `.jsonl` file of SNLI or MultiNLI.

    Each line is a JSON object with `sentence1` (the premise), `sentence2` (the hypothesis) and
    `gold_label`. The label is `"entailment"`, `"neutral"`, `"contradiction"`, or `"-"` if the
    annotators did not agree. Pairs with `"-"` are left out, as in all published results.

    Args:
        path: The file, such as `snli_1.0_train.jsonl`. Gzip is recognised by the content.
        encoding: Encoding of the file. A byte order mark is dropped.

    Returns:
        `SentencePairs` in the order of the lines, with `label_names` `("entailment", "neutral",
        "contradiction")` and without relatedness. White space around sentences is dropped.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If bytes are not in `encoding`, if a line is not a JSON object or lacks a field,
            if a label is unknown, if a sentence is empty, if no pair is labelled, or if a gzip file
            is damaged. The message names the file and the line.

    Example:
        ```python
        from pathlib import Path
        from keras_attnpool.workbench.datasets import load_nli

        line = '{"gold_label": "%s", "sentence1": "A dog runs.", "sentence2": "%s"}\\n'
        Path("dev.jsonl").write_text(
            line % ("entailment", "An animal moves.") + line % ("-", "It rains.")
        )
        pairs = load_nli("dev.jsonl")
        assert len(pairs) == 1 and pairs.label_names[pairs.labels[0]] == "entailment"
        ```
    """
    path = Path(path)
    sentences_a: list[str] = []
    sentences_b: list[str] = []
    labels: list[int] = []
    for number, line in enumerate(read_text("load_nli", path, encoding).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        # Python also raises a ValueError for a number with thousands of digits.
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}, line {number}: not a JSON object ({error})") from error
        if not isinstance(row, dict) or any(not isinstance(row.get(f), str) for f in _FIELDS):
            raise ValueError(
                f"{path}, line {number}: the line must be a JSON object with the texts {_FIELDS}. "
                f"Received: {line[:80]!r}"
            )
        if row["gold_label"] == "-":
            continue
        if row["gold_label"] not in LABELS:
            raise ValueError(
                f"{path}, line {number}: `gold_label` must be one of {(*LABELS, '-')}. "
                f"Received: {reprlib.repr(row['gold_label'])}"
            )
        first, second = row["sentence1"].strip(), row["sentence2"].strip()
        if not first or not second:
            raise ValueError(f"{path}, line {number}: a sentence is empty")
        if re.search("[\ud800-\udfff]", first + second):
            raise ValueError(f"{path}, line {number}: a sentence is not valid Unicode")
        sentences_a.append(first)
        sentences_b.append(second)
        labels.append(LABELS.index(row["gold_label"]))
    if not labels:
        raise ValueError(f"{path}: load_nli found no labelled pair in it")
    return SentencePairs(
        tuple(sentences_a), tuple(sentences_b), np.array(labels), LABELS, relatedness=None
    )
