"""Texts, rationales and attributions in the files of the ERASER benchmark."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_attnpool.analysis._token_rows import (
    aligned_rows,
    checked_labels,
    checked_tokens,
    flag_rows,
)
from keras_attnpool.analysis.rationale_scores import checked_share, number_of, token_spans
from keras_attnpool.types import Bools, Float64s, Int64s, PathLike

# Of a data set: docs.jsonl, and annotations in <split>.jsonl. Of a model: results.jsonl.
DOCUMENTS, RESULTS = "docs.jsonl", "results.jsonl"


class EraserTexts(NamedTuple):
    """What `from_eraser` returns; a text for each annotation.

    Attributes:
        tokens: The tokens of each text.
        rationales: Boolean array `(tokens,)` of each text, True = part of the evidence.
        labels: int64 array `(texts,)`.
        label_names: The name of each class.
        names: The annotation's id of each text.
        attributions: float64 array `(tokens,)` of each text from `results.jsonl`, or `None`.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.analysis import EraserTexts
    >>> gold = np.array([False, True])
    >>> texts = EraserTexts([["so", "bad"]], [gold], np.array([0]), ["NEG"], ["0"], None)
    >>> texts.label_names[texts.labels[0]]
    'NEG'
    """

    tokens: list[list[str]]
    rationales: list[Bools]
    labels: Int64s
    label_names: list[str]
    names: list[str]
    attributions: list[Float64s] | None


def to_eraser(
    folder: PathLike,
    tokens: Any,
    labels: Any,
    label_names: Sequence[str],
    *,
    rationales: Sequence[Any] | None = None,
    attributions: Any = None,
    probabilities: Any = None,
    share: float = 0.2,
    split: str = "test",
) -> Path:
    """Writes texts, rationales and attributions as ERASER's tools read them.

    `docs.jsonl` has the texts, `<split>.jsonl` the annotations with their rationales as spans, and
    `results.jsonl` a model's side: each attribution as `soft_rationale_predictions`, its
    `ceil(share * n)` largest tokens as `hard_rationale_predictions`, and with `probabilities` the
    `classification` and its scores. Each text is one document, `"test-0"` say. The splits of a set
    go to one folder, one after the other.

    Args:
        folder: Where to write; it is made if need be. What it holds of this split is replaced.
        tokens: One list of strings per text. ERASER joins them by spaces: none may hold white space
            or be empty.
        labels: Integer array `(texts,)`, the true classes.
        label_names: The name of each class.
        rationales: `None`, or one boolean or 0/1 array `(tokens,)` per text.
        attributions: `None`, or one row of numbers per text, or `(texts, time)` with 0 behind the
            tokens.
        probabilities: `None`, or float array `(texts, classes)`, what the model predicts; beside
            `attributions`.
        share: The share of each text that is the hard rationale.
        split: The name of the annotations' file.

    Returns:
        The folder.

    Raises:
        ValueError: If shapes do not fit, a token cannot be written, or `share` is not in (0, 1].

    Example:

    ```python
    from keras_attnpool import analysis

    folder = analysis.to_eraser(
        "movies", [["not", "bad"]], [1], ["NEG", "POS"], attributions=[[0.7, 0.3]]
    )
    assert analysis.from_eraser(folder).tokens == [["not", "bad"]]
    ```

    Reference:
        - DeYoung et al., 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models
    """
    words = checked_tokens(tokens, "to_eraser")
    for index, row in enumerate(words):
        for token in row:
            if token.split() != [token]:
                raise ValueError(
                    "to_eraser expects tokens without white space, not empty. Received: "
                    f"{token!r} in text {index}"
                )
    sizes = [len(row) for row in words]
    classes = checked_labels(labels, len(words), label_names, "to_eraser")
    checked_share(share, "to_eraser")
    if rationales is None:
        rationales = [[0] * size for size in sizes]
    given = aligned_rows(rationales, sizes, "to_eraser", "rationales")
    golds = flag_rows(given, "to_eraser", "rationales")
    names = [f"{split}-{index}" for index in range(len(words))]
    results: list[dict[str, Any]] = []
    if attributions is not None:
        weights = aligned_rows(attributions, sizes, "to_eraser", "attributions")
        scores = _probabilities(probabilities, len(words), label_names)
        results = [
            _result(name, row, share, label_names, probability)
            for name, row, probability in zip(names, weights, scores, strict=True)
        ]
    elif probabilities is not None:
        raise ValueError(
            "to_eraser expects `probabilities` beside `attributions`: ERASER's results have both. "
            "Received: `probabilities` alone"
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    documents = [
        {"docid": name, "document": " ".join(row)} for name, row in zip(names, words, strict=True)
    ]
    _replace(folder / DOCUMENTS, "docid", split, documents)
    _replace(folder / RESULTS, "annotation_id", split, results)
    annotations = [
        {
            "annotation_id": name,
            "query": "",
            "query_type": None,
            "classification": label_names[label],
            "docids": [name],
            "evidences": [[each] for each in _evidence(name, row, gold)],
        }
        for name, row, label, gold in zip(names, words, classes, golds, strict=True)
    ]
    _write(folder / f"{split}.jsonl", annotations)
    return folder


def from_eraser(
    folder: PathLike, split: str = "test", label_names: Sequence[str] | None = None
) -> EraserTexts:
    """Reads texts, rationales and attributions from the files of an ERASER data set.

    Sets of several documents a text give one text each, document after document, in the order of
    `docids` or else of the evidence. Both forms of the documents are read: `docs.jsonl` and a
    folder `docs`.

    Args:
        folder: The folder of the set.
        split: The name of the annotations' file, `"train"`, `"val"` or `"test"` in ERASER's sets.
        label_names: The name of each class, that of class 0 first. Defaults to the classes of this
            split, sorted; give those of the training split to the others.

    Returns:
        `EraserTexts`. Its attributions are the `soft_rationale_predictions` of `results.jsonl`,
        where the folder has that file.

    Raises:
        ValueError: If a file is no such file, a span or row does not fit its document, or a class
            is not in `label_names`.
        FileNotFoundError: If a file is not there.

    Example:

    ```python
    from keras_attnpool import analysis

    analysis.to_eraser("movies", [["not", "bad"]], [1], ["NEG", "POS"], rationales=[[1, 1]])
    texts = analysis.from_eraser("movies")
    assert texts.rationales[0].tolist() == [True, True]
    ```
    """
    folder = Path(folder)
    documents = _documents(folder)
    exists = (folder / RESULTS).exists()
    given = _read(folder / RESULTS, "annotation_id", "rationales") if exists else ()
    results = {each["annotation_id"]: each for each in given}
    tokens, golds, classes, names, weights = [], [], [], [], []
    keys = "annotation_id", "evidences", "classification"
    for annotation in _read(folder / f"{split}.jsonl", *keys):
        name = annotation["annotation_id"]
        evidence = [each for group in annotation["evidences"] for each in group]
        listed = [*(annotation.get("docids") or ()), *(each["docid"] for each in evidence)]
        starts: dict[str, int] = {}
        words: list[str] = []
        for document in dict.fromkeys(listed or [name]):
            if document not in documents:
                raise ValueError(f"{folder}: annotation {name!r} is of no document, {document!r}")
            starts[document] = len(words)
            words += documents[document]
        gold = np.zeros(len(words), bool)
        for each in evidence:
            start, end = each["start_token"], each["end_token"]
            if not 0 <= start <= end <= len(documents[each["docid"]]):
                raise ValueError(
                    f"{folder}: annotation {name!r} has evidence from {start} to {end} of document "
                    f"{each['docid']!r}, which has {len(documents[each['docid']])} tokens"
                )
            gold[starts[each["docid"]] + start : starts[each["docid"]] + end] = True
        if name in results:
            weights.append(_weights(results[name], starts, documents, len(words), folder))
        tokens.append(words)
        golds.append(gold)
        classes.append(annotation["classification"])
        names.append(name)
    if weights and len(weights) != len(tokens):
        raise ValueError(f"{folder / RESULTS} has results of {len(weights)} of {len(tokens)} texts")
    label_names = sorted(set(classes)) if label_names is None else list(label_names)
    unknown = sorted(set(classes) - set(label_names))
    if unknown or len(set(label_names)) != len(label_names):
        raise ValueError(
            f"from_eraser expects distinct `label_names` with every class of {folder}, {split}. "
            f"Received: label_names={label_names}, without {unknown}"
        )
    labels = np.array([label_names.index(each) for each in classes], np.int64)
    return EraserTexts(tokens, golds, labels, label_names, names, weights or None)


def _evidence(name: str, words: list[str], gold: Bools) -> Iterator[dict[str, Any]]:
    for start, end in token_spans(gold):
        yield {
            "docid": name,
            "start_token": start,
            "end_token": end,
            "text": " ".join(words[start:end]),
            "start_sentence": -1,
            "end_sentence": -1,
        }


def _probabilities(values: Any, texts: int, names: Sequence[str]) -> Sequence[Any]:
    if values is None:
        return [None] * texts
    scores = np.asarray(values, np.float64)
    if scores.shape != (texts, len(names)) or not np.isfinite(scores).all():
        raise ValueError(
            f"to_eraser expects finite `probabilities` of shape ({texts}, {len(names)}). Received: "
            f"shape {scores.shape}, {np.count_nonzero(~np.isfinite(scores))} numbers not finite"
        )
    return list(scores)


def _result(
    name: str, row: Float64s, share: float, names: Sequence[str], scores: Any
) -> dict[str, Any]:
    top = np.zeros(len(row), bool)
    top[np.argsort(-row, kind="stable")[: number_of(row, share)]] = True
    spans = [{"start_token": start, "end_token": end} for start, end in token_spans(top)]
    rationale = {
        "docid": name,
        "hard_rationale_predictions": spans,
        "soft_rationale_predictions": row.tolist(),
    }
    result: dict[str, Any] = {"annotation_id": name, "rationales": [rationale]}
    if scores is not None:
        result["classification"] = names[scores.argmax()]
        result["classification_scores"] = dict(zip(names, scores.tolist(), strict=True))
    return result


def _weights(
    result: Mapping[str, Any], starts: Mapping[str, int], documents: Any, size: int, folder: Path
) -> Float64s:
    """The soft predictions of a result, in the places of its text."""
    row = np.zeros(size)
    for each in result["rationales"]:
        name, soft = each["docid"], each.get("soft_rationale_predictions")
        if soft is None or name not in starts or len(soft) != len(documents[name]):
            raise ValueError(
                f"{folder / RESULTS}: result {result['annotation_id']!r} has no number for each "
                f"token of document {name!r}"
            )
        row[starts[name] : starts[name] + len(soft)] = soft
    return row


def _documents(folder: Path) -> dict[str, list[str]]:
    """The tokens of each document, which ERASER's spans count.

    Sentences are lines, tokens are parted by single spaces and by no other white space. Two spaces
    have an empty token between them; in the files of a folder it does not count.
    """
    if (folder / DOCUMENTS).exists():
        given = _read(folder / DOCUMENTS, "docid", "document")
        return {each["docid"]: _tokens(each["document"]) for each in given}
    return {
        path.name: [token for token in _tokens(path.read_text(encoding="utf-8")) if token]
        for path in sorted((folder / "docs").iterdir())
    }


def _tokens(document: str) -> list[str]:
    if not document.strip():
        return []
    return [token for line in document.split("\n") for token in line.strip().split(" ")]


def _replace(path: Path, key: str, split: str, entries: list[dict[str, Any]]) -> None:
    """Writes entries in the place of the earlier ones of their split."""
    others = _read(path, key) if path.exists() else ()
    kept = [each for each in others if str(each[key]).rpartition("-")[0] != split]
    if kept or entries:
        _write(path, [*kept, *entries])
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, entries: Iterable[dict[str, Any]]) -> None:
    lines = (json.dumps(entry, sort_keys=True) + "\n" for entry in entries)
    path.write_text("".join(lines), encoding="utf-8", newline="\n")


def _read(path: Path, *keys: str) -> list[dict[str, Any]]:
    """The entries of a file, one a line, each with these keys."""
    entries = []
    # Not `splitlines`: a line of JSON may hold what Python takes for a line's end.
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                _ = [entry[key] for key in keys]
            except (ValueError, TypeError, KeyError) as error:
                raise ValueError(
                    f"{path}: line {number} is no JSON object with {', '.join(keys)}"
                ) from error
            entries.append(entry)
    return entries
