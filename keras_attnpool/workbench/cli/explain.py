"""The command `explain`."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from keras_attnpool import analysis
from keras_attnpool.analysis.html_heatmaps import visible
from keras_attnpool.workbench._files import whole_file
from keras_attnpool.workbench.cli import explanations, runs
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.explanations import Explanation
from keras_attnpool.workbench.cli.options import PRINTED_WORDS
from keras_attnpool.workbench.cli.predict import field, given_table, tell_of_empty
from keras_attnpool.workbench.cli.reporting import reported
from keras_attnpool.workbench.cli.trained import Run

PRINTED_CHARACTERS = 100
UNKNOWN = "[UNK]"


def explain(given: dict[str, Any]) -> int:
    """Prints the class of every text with its important words, and writes heat maps.

    Args:
        given: The option `run`, and those of the options `texts`, `file`, `input` (with its reading
            options), `words` and `out` that the user gave.

    Returns:
        The exit status, 0.

    Raises:
        CommandError: If the run, the input or the output file cannot be used.
    """
    folder = Path(given["run"])
    runs.read_config(folder)
    out = Path(given.get("out", folder / runs.EXPLAINED))
    _check_out(out)
    table = given_table(given)
    run = Run.load(folder)
    texts = [content for content, _ in table.rows]
    if not texts:
        return 0
    tell_of_empty(sum(not content.strip() for content in texts), len(texts))
    pieces: list[str] = []
    explained = []
    with reported():
        # An explanation needs one prediction per word, so each text is printed as soon as it is
        # ready.
        for each in run.explainer.explain(texts):
            print(field(each.label), f"{each.probability:.4f}", _shortened(each.text), sep="\t")
            _print_words(each, given.get("words", PRINTED_WORDS))
            sys.stdout.flush()
            label = f"{each.label} ({each.probability:.4f}) {' '.join(_notes(run, each))}"
            pieces += explanations.heatmaps(each, label)
            explained.append(each)
    with whole_file(out) as temporary:
        analysis.heatmap_page(pieces, temporary, title="What decides, and where attention looks")
    attention = [each.attention for each in explained if each.attention is not None]
    lines = [explanations.EFFECT, explanations.ATTENTION if attention else None]
    lines += [explanations.BY_GRADIENT if any(each.by_gradient for each in explained) else None]
    unmoved = any(
        each.words and np.abs(each.effects).max() < explanations.NOTHING for each in explained
    )
    lines += [explanations.UNMOVED if unmoved else None]
    lines += [explanations.flat_remark(attention), f"Heat maps: {out}"]
    print("", *filter(None, lines), sep="\n")
    sys.stdout.flush()
    return 0


def _print_words(explained: Explanation, number: int) -> None:
    """Prints the words with the largest effects."""
    attention = explained.attention
    if explained.words:
        print("   effect", *["attention"] * (attention is not None), "word", sep="  ")
    words, times = explained.words, Counter(explained.words)
    for place in np.argsort(-np.abs(explained.effects), kind="stable")[:number].tolist():
        numbers = [f"{explained.effects[place]:+9.3f}"]
        numbers += [] if attention is None else [f"{attention[place]:9.2f}"]
        which = f"  (word {place + 1})" if times[words[place]] > 1 else ""
        print(*numbers, f"{visible(words[place])}{which}", sep="  ")
    if len(words) > number:
        print(f"           {len(words) - number} more (--words)")


def _check_out(out: Path) -> None:
    # The file extension is required. Otherwise a typing error could replace a model or a text file.
    if out.suffix.lower() not in (".html", ".htm") or out.is_dir():
        raise CommandError(f"--out must name an .html file. Received: {out}")
    if not out.parent.is_dir():
        raise CommandError(f"--out {out}: there is no folder {out.parent}")


def _notes(run: Run, explained: Explanation) -> list[str]:
    """Remarks for the reader of the heat map."""
    notes, words = [], explained.words
    length = run.reader.length(explained.text)
    if not length:
        notes.append("There is no word in this text.")
    if length > len(words):
        notes.append(f"The model reads {len(words)} of {length} words.")
    if any(word.endswith(f" {UNKNOWN}") for word in words):
        notes.append(f"{UNKNOWN}: the model does not know this word.")
    near = None if explained.attention is None else explanations.flat_remark([explained.attention])
    return [*notes, near] if near else notes


def _shortened(content: str) -> str:
    line = field(" ".join(content.split()))
    return line if len(line) <= PRINTED_CHARACTERS else f"{line[:PRINTED_CHARACTERS]} ..."
