"""Draws heat maps of weights as self-contained HTML."""

import html
import re
import string
import unicodedata
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from keras_attnpool._checks import ArgumentError, column
from keras_attnpool.types import Array, Float64s, PathLike


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _packed(name: str) -> str:
    """Reads a style sheet without comments and line ends, which Markdown would change."""
    return re.sub(r"/\*.*?\*/|\n", "", _resource(name), flags=re.DOTALL)


_RULES = _packed("heatmap.css")
STYLE = f"<style>{_RULES}</style>"
# If heads have more cells than this, only their mean is unfolded.
_OPEN_CELLS = 1500


def heatmap_html(
    names: Sequence[Any],
    weights: Any,
    *,
    title: str | None = None,
    label: str | None = None,
    sentence_lengths: Sequence[int] | None = None,
    row_names: Sequence[str] | None = None,
    vmax: float | None = None,
    unit: str | None = None,
) -> str:
    """Draws words or other steps, coloured by weight, as a piece of HTML.

    The HTML loads no script, no file and no font. The colours suit light and dark pages. Long texts
    wrap. If the mouse points to a word, the page shows the word's weight. Names are always shown as
    text, never as HTML. Control and direction-changing characters appear as code points.
    Right-to-left scripts keep their direction. The mean of several heads comes first, unless there
    are `row_names`. Negative weights have a second colour. Saliency, for example, may be negative.

    Args:
        names: The name of each of the `time` steps: words, file names, seconds.
        weights: Float array `(time,)`, or `(rows, time)` with one row per head.
        title: A heading.
        label: A second line below the title, for instance the prediction.
        sentence_lengths: Number of words of each sentence, in order. If `sentence_lengths` is
            given, each sentence has its own line, with the sentence's share of the row's weight.
        row_names: Name of each row, if the rows are not heads. Defaults to "head 1", "head 2" ...
        vmax: The absolute weight that gets the full colour. Defaults to the largest absolute
            weight. To compare texts, give all of them the same `vmax`.
        unit: Note beside the colour scale. If no weight is negative, the note defaults to the
            uniform weight, 1 / `time`.

    Returns:
        A `<style>` and a `<figure>`. `IPython.display.HTML` shows the piece in a notebook.

    Raises:
        ValueError: If names, weights and sentences do not fit together, or if a number is not
            finite.

    Example:

    ```python
    from keras_attnpool.analysis import heatmap_html

    piece = heatmap_html(["not", "bad"], [0.7, 0.3], label="predicted: 4 stars")
    assert ">not</i>" in piece and 'title="0.7"' in piece
    ```
    """
    owner = "heatmap_html"
    steps, rows, vmax = checked_heatmap(owner, names, weights, row_names, vmax)
    heads = [f"head {i + 1}" for i in range(len(rows))] if len(rows) > 1 else [""]
    heads = heads if row_names is None else [str(name) for name in row_names]
    lengths = sentence_lengths
    if lengths is not None and (min(lengths, default=0) < 0 or sum(lengths) != len(steps)):
        must = f"add up to the number of steps, {len(steps)}"
        received = f"{list(lengths)}, {sum(lengths)} in all"
        raise ArgumentError("sentence_lengths", must, received, owner)
    words = [escaped(name) for name in steps]
    drawn = [_row(words, *row, vmax, lengths) for row in zip(rows, heads, strict=True)]
    if len(rows) > 1 and row_names is None:
        mean = _row(words, rows.mean(axis=0), "mean", vmax, lengths)
        is_open = " open" if rows.size <= _OPEN_CELLS else ""
        heads = [f"<details{is_open}><summary>{len(rows)} heads</summary>", *drawn, "</details>"]
        drawn = [mean, *heads]
    if unit is None and steps and not (rows < 0).any():
        unit = f"uniform: {1 / len(steps):.3g}"
    return figure("".join(drawn), title, label, rows, vmax, unit)


def heatmap_page(heatmaps: Sequence[str], path: PathLike, *, title: str = "Attention") -> Path:
    """Writes heat maps to one HTML page.

    Args:
        heatmaps: Pieces of HTML in order, made by `heatmap_html` or another function whose name
            ends in `_html`.
        path: The file to write, in UTF-8. An existing file is replaced. The folder must exist.
        title: The page's title and heading.

    Returns:
        The path.

    Raises:
        ValueError: If `heatmaps` is not a list of strings.

    Example:

    ```python
    from keras_attnpool.analysis import heatmap_html, heatmap_page

    path = heatmap_page([heatmap_html(["not", "bad"], [0.7, 0.3])], "attention.html")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    ```
    """
    if isinstance(heatmaps, str) or any(not isinstance(piece, str) for piece in heatmaps):
        must, received = (
            "be a list of strings from functions that end in _html",
            f"{type(heatmaps).__name__}",
        )
        raise ArgumentError("heatmaps", must, received, "heatmap_page")
    path = Path(path)
    path.write_text(page(title, "\n".join(heatmaps), lang="und"), encoding="utf-8", newline="\n")
    return path


def page(title: str, content: str, lang: str) -> str:
    """Builds a page that loads and runs nothing, whatever its texts contain.

    Args:
        title: Title and heading, plain text.
        content: HTML, which may include heat maps. The style of the heat maps is written once.
        lang: The page's language.
    """
    return string.Template(_resource("page.html")).substitute(
        title=escaped(title),
        content=content.replace(STYLE, ""),
        lang=lang,
        style=_RULES + _packed("page.css"),
    )


def visible(text: str) -> str:
    """Makes white space, control and direction-changing characters visible."""
    if text and not text.strip():
        text = "␣" * len(text)
    return "".join(_visible_character(character) for character in text)


def _visible_character(character: str) -> str:
    kind = unicodedata.category(character)
    bidi = unicodedata.bidirectional(character)
    # Format characters that join emoji and letters stay. Characters that change the direction are
    # replaced.
    turns = bidi in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    if kind in {"Cc", "Cs", "Zl", "Zp"} or turns:
        return f"U+{ord(character):04X}"
    return character


def escaped(text: Any) -> str:
    """Turns a text into HTML in which all its characters are visible."""
    return html.escape(visible(str(text)))


def figure(
    body: str, title: str | None, label: str | None, rows: Array, vmax: float, unit: str | None
) -> str:
    """Puts a picture between its heading and its colour scale."""
    heading = "" if title is None else f'<b dir="auto">{escaped(title)}</b>'
    heading += "" if label is None else f'<span dir="auto">{escaped(label)}</span>'
    heading = f"<figcaption>{heading}</figcaption>" if heading else ""
    low, kind = (f"−{vmax:.3g}", " n") if (rows < 0).any() else ("0", "")
    told = f"<span>({escaped(unit)})</span>" if unit else ""
    return (
        f'{STYLE}<figure class="attn-map">{heading}{body}'
        f'<div class="scale"><span>weight</span><span>{low}</span>'
        f'<span class="bar{kind}"></span><span>{vmax:.3g}</span>{told}</div></figure>'
    )


def _row(
    words: list[str], row: Array, name: str, vmax: float, lengths: Sequence[int] | None
) -> str:
    cells = [
        f'<i{" class=n" if weight < 0 else ""} style="--w:{min(abs(weight) / vmax, 1):.3g}" '
        f'title="{weight:.3g}">{word}</i>'
        if weight and vmax
        else f'<i title="0">{word}</i>'
        for word, weight in zip(words, row.tolist(), strict=True)
    ]
    name = escaped(name)
    if lengths is None:
        return _line(name, cells)
    total = np.abs(row).sum()
    lines, start = [], 0
    for length in lengths:
        share = np.abs(row[start : start + length]).sum() / total if total else 0.0
        told = f"{share:.0%}" if start or not name else f"{name}: {share:.0%}"
        lines.append(_line(told, cells[start : start + length]))
        start += length
    return f'<div class="head">{"".join(lines)}</div>'


def _line(name: str, cells: list[str]) -> str:
    # The first letter sets the direction of the text, but not if it is in another element.
    label = f'<bdi class="name">{name}</bdi>' if name else ""
    return f'<div class="row">{label}<p dir="auto">{" ".join(cells)}</p></div>'


def checked_heatmap(
    owner: str,
    names: Sequence[Any],
    weights: Any,
    row_names: Sequence[str] | None,
    vmax: float | None,
) -> tuple[list[str], Float64s, float]:
    """Checks the data of a heat map: names, weights and `vmax`.

    Raises:
        ValueError: If the arguments do not fit together, or if a number is not finite.
    """
    steps = [str(name) for name in column(owner, "names", names, of="names")]
    rows = np.asarray(weights, np.float64)
    rows = rows[None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != len(steps) or not len(rows):
        size = len(steps)
        must = f"have shape ({size},) or (rows, {size}), one number per step; cut the padding off"
        received = f"weights of shape {np.shape(weights)} for {size} steps"
        raise ArgumentError("weights", must, received, owner)
    if not np.isfinite(rows).all():
        raise ArgumentError("weights", "be finite", "NaN or infinity among them", owner)
    if row_names is not None and (isinstance(row_names, str) or len(row_names) != len(rows)):
        must = f"have one name per row, {len(rows)} in all"
        raise ArgumentError("row_names", must, f"{row_names!r}", owner)
    return steps, rows, full_colour(vmax, rows, owner)


def full_colour(vmax: float | None, numbers: Array, owner: str) -> float:
    """Returns the given `vmax`, or the largest absolute value."""
    if vmax is None:
        return float(np.abs(numbers).max(initial=0))
    if not (np.isfinite(vmax) and vmax > 0):
        raise ArgumentError("vmax", "be positive", {"vmax": vmax}, owner)
    return vmax
