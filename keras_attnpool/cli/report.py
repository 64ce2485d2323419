"""The report that `train` leaves in a run folder: one HTML page, and the pictures that it shows."""

import base64
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool import analysis, datasets, text
from keras_attnpool.analysis.html_heatmaps import STYLE as HEATMAP_STYLE
from keras_attnpool.analysis.html_heatmaps import visible
from keras_attnpool.cli import runs
from keras_attnpool.cli.attention import (
    LAYERS,
    SCALE,
    above_uniform,
    flat_remark,
    full_colour,
    read_attention,
    words_of,
)

INSTALL = "pip install keras_attnpool[plots]"

# Bounds of what is read and shown, so that the report takes seconds and can be opened.
TEXTS = 512
IDS = 2**18
HEATMAPS = 5
HEATMAP_WORDS = 300
TOP_WORDS, MIN_COUNT = 10, 3
MATRIX_CLASSES = 12
LISTED_CLASSES = 30
NAME_CHARACTERS = 40

PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none';style-src 'unsafe-inline';img-src data:">
<title>{title}</title>
<style>{style}</style>{heatmap_style}
</head><body>
<h1>{title}</h1>
{sections}
</body></html>
"""
# The colours are those of the heat maps.
STYLE = """
:root{--bg:#fff;--fg:#1a1a1a;--dim:#595959;--line:#d0d0d0;--hit:255 140 0}
@media(prefers-color-scheme:dark){
:root{--bg:#161616;--fg:#f2f2f2;--dim:#b0b0b0;--line:#444;--hit:176 68 0}}
body{max-width:64rem;margin:0 auto;padding:1rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h2{margin:2.2em 0 .4em;border-bottom:1px solid var(--line)}
body>p{max-width:44rem}
.note{color:var(--dim)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;overflow-wrap:normal}
th,td{padding:.25em .7em;border-bottom:1px solid var(--line);text-align:right;font-weight:normal}
th{min-width:2.5rem;max-width:12rem;overflow-wrap:break-word;word-break:keep-all}
thead th{color:var(--dim);vertical-align:bottom}
tr>:first-child{text-align:left;padding-left:0}
td.share{background:rgb(var(--hit)/var(--w))}
.grid{display:flex;flex-wrap:wrap;gap:1rem}
.grid img{width:28rem;max-width:100%;border-radius:6px}
.grid section{flex:1 1 10rem;max-width:18rem}
h3{margin:1.2em 0 .3em;font-size:1em}
.grid h3{margin:0}
ol{margin:0;padding-left:1.6em}
ol span{color:var(--dim)}
@media(max-width:36em){th,td{padding:.25em .4em}}
.attn-map i[data-gold]{text-decoration:underline 2px;text-underline-offset:.2em}
"""


def write(
    run: Path,
    options: Mapping[str, Any],
    metrics: Mapping[str, Any],
    test: datasets.LabeledTexts,
    tokenizer: text.WordTokenizer,
    model: keras.Model,
    predicted: npt.NDArray[np.int64],
) -> list[str]:
    """Writes report.html and its pictures into a run folder.

    Args:
        run: The run folder.
        options: The options of `train`.
        metrics: What goes into metrics.json.
        test: The test texts.
        tokenizer: The run's tokenizer.
        model: The trained model.
        predicted: Integer array `(texts,)`, the model's class for every test text.

    Returns:
        What `train` says of it: where it is, what is missing, what must not be read into it.
    """
    name, results = options["model"], metrics["results"]
    reading: list[str] = []
    similarity = flat = None
    if name not in LAYERS:
        reading.append(_without_attention(name, run))
    elif not (shown := _Shown(name, test, tokenizer, model, options["max_length"])).ids.any():
        reading.append(_section("What it looks at", _p("No test text has a word.")))
    else:
        if shown.attention.heads.shape[1] > 1:
            similarity = analysis.head_similarity(shown.attention.heads, shown.ids != 0)
        flat = flat_remark(shown.weights)
        reading += [shown.heatmaps(flat), shown.top_words(), shown.rationale_scores()]
    pictures = _pictures(run, name, results, similarity)
    if name in LAYERS:
        reading.append(_heads(similarity, pictures))
    title = f"{name} on {_data_name(options)}"
    sections = [
        _results(results, len(test), metrics.get("comparison")),
        _curves(pictures),
        _classes(test, predicted, results[name]["f1"]),
        *reading,
        _options(options, metrics["sizes"]),
    ]
    page = PAGE.format(
        title=_escaped(title),
        style=STYLE,
        heatmap_style=HEATMAP_STYLE,
        sections="\n".join(filter(None, sections)),
    )
    with runs.whole_file(run / runs.REPORT) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    no_pictures = None if pictures else f"(without pictures, which need matplotlib: {INSTALL})"
    return list(filter(None, [f"The report is {run / runs.REPORT}", no_pictures, flat]))


class _Shown:
    """What the model looks at in some test texts, and the sections that tell."""

    def __init__(
        self,
        name: str,
        test: datasets.LabeledTexts,
        tokenizer: text.WordTokenizer,
        model: keras.Model,
        max_length: int,
    ) -> None:
        chosen = _spread(len(test), TEXTS)
        ids = tokenizer.encode([test.texts[i] for i in chosen], max_length=max_length)
        fewer = _spread(len(ids), max(1, IDS // ids.shape[1]))
        self.ids = ids[fewer]
        self.test = test.subset(chosen[fewer])
        self.of_all = f"{len(self.test)} of {len(test)}" if len(self.test) < len(test) else "all"
        self.unknown = tokenizer.vocabulary[1]
        self.words = words_of(tokenizer, self.test.texts, self.ids)
        self.attention = read_attention(name, model, self.ids)
        self.weights = [
            row[: len(words)] for row, words in zip(self.attention.weights, self.words, strict=True)
        ]
        # The generated reviews are their tokens, joined by spaces.
        self.gold = self.test.rationales and [
            gold[: len(words)] for gold, words in zip(self.test.rationales, self.words, strict=True)
        ]

    def heatmaps(self, flat: str | None) -> str:
        """Some right and some wrong texts, of as many classes as possible."""
        predicted = self.attention.predictions.argmax(axis=1)
        right = predicted == self.test.labels
        note = (
            f"Test texts with the attention on each word, mean over the heads. {SCALE} "
            f"{self.unknown} marks words that the model does not know."
        )
        if self.gold:
            note += " Underlined: the words that decide the class (known for generated reviews)."
        shown = {
            heading: _mixed(
                [row for row in np.flatnonzero(mask).tolist() if self.words[row]], self.test.labels
            )
            for heading, mask in (("Right", right), ("Wrong", ~right))
        }
        # One scale for all of them.
        excess = {row: above_uniform(self.weights[row]) for rows in shown.values() for row in rows}
        vmax = full_colour(*excess.values())
        parts = [_p(note), _p(flat) if flat else ""]
        for heading, rows in shown.items():
            parts.append(f"<h3>{heading}</h3>")
            parts += [self._heatmap(row, excess[row], vmax) for row in rows]
            if not rows:
                parts.append(_p("None of these texts.", "note"))
        return _section("What it looks at", *parts)

    def _heatmap(self, row: int, weights: npt.NDArray[np.float32], vmax: float) -> str:
        names, probabilities = self.test.label_names, self.attention.predictions[row]
        label = f"true: {_short(names[self.test.labels[row]])} · predicted: "
        label += f"{_short(names[probabilities.argmax()])} ({probabilities.max():.2f})"
        words = self.words[row][:HEATMAP_WORDS]
        if len(words) < len(weights):
            label += f" · the first {HEATMAP_WORDS} of {len(weights)} words"
        piece = analysis.heatmap_html(words, weights[: len(words)], label=label, vmax=vmax)
        piece = piece.removeprefix(HEATMAP_STYLE)
        return _underlined(piece, self.gold[row]) if self.gold else piece

    def top_words(self) -> str:
        """The most attended words of each class."""
        by_class = analysis.top_attended_words(
            self.words,
            self.weights,
            self.test.labels,
            self.test.label_names,
            k=TOP_WORDS,
            min_count=MIN_COUNT,
        )
        lists = []
        for label in _largest(self.test):
            name = self.test.label_names[label]
            items = "".join(
                f"<li><bdi>{_escaped(word)}</bdi> <span>{weight:.2f}</span></li>"
                for word, weight, _ in by_class[name]
            )
            shown = f"<ol>{items}</ol>" if items else _p("No word is frequent enough.", "note")
            lists.append(f'<section><h3 dir="auto">{_escaped(_short(name))}</h3>{shown}</section>')
        note = (
            f"Of words that occur at least {MIN_COUNT} times in the test texts of a class "
            f"({self.of_all} were read): the mean of weight x length of the text, so that 1 is "
            "uniform attention."
        )
        return _section(
            "Most attended words", _p(note), f'<div class="grid">{"".join(lists)}</div>'
        )

    def rationale_scores(self) -> str:
        """Whether the attention is where the label is decided."""
        if not self.gold:
            return ""
        if not any(gold.any() and not gold.all() for gold in self.gold):
            return _section("Is it where the truth is?", _p("No text with a rationale to score."))
        mass = analysis.rationale_mass(self.weights, self.gold)
        auc = analysis.rationale_auc(self.weights, self.gold)
        rows = [
            ("attention", f"{mass.mean:.3f}", f"{auc.mean:.3f}"),
            ("uniform weights", f"{mass.uniform:.3f}", f"{auc.uniform:.3f}"),
        ]
        note = (
            "Which words decide the class of a generated review is known. Mass: their share of the "
            "attention. AUC: how often a word that decides has more attention than one that does "
            f"not. Over {mass.num_scored} texts; uniform weights are those of mean pooling."
        )
        heads = ("", "mass on deciding words", "AUC")
        return _section("Is it where the truth is?", _p(note), _table(heads, rows))


def _without_attention(name: str, run: Path) -> str:
    return _section(
        "What it looks at",
        _p(
            f"The model {name} has no attention weights: there are no heat maps, attended words, "
            "rationale scores and heads to show. What its predictions hang on can be seen by "
            "gradients:"
        ),
        f'<pre class="scroll">python -m keras_attnpool explain {_escaped(str(run))} '
        "--method saliency &quot;a text&quot;</pre>",
    )


def _results(results: Mapping[str, Any], test_size: int, comparison: str | None) -> str:
    rows = []
    for name, result in results.items():
        row = [name, f"{result['accuracy']:.3f}", f"{result['macro_f1']:.3f}"]
        if "epochs" in result:
            row += [f"{result['parameters']:,}", f"{result['parameters_without_embeddings']:,}"]
            row += [f"{result['best_epoch']} of {result['epochs']}", f"{result['seconds']:.0f}"]
        rows.append(row + [""] * (7 - len(row)))
    heads = ("", "accuracy", "macro-F1", "parameters", "without embeddings", "best epoch")
    table = _table((*heads, "seconds"), rows)
    told = _p(comparison) if comparison else ""
    return _section(f"Results on {test_size} test texts", table, told)


def _curves(pictures: Mapping[str, str]) -> str:
    if not pictures:
        return _section("Learning curves", _p(f"The pictures need matplotlib: {INSTALL}"))
    accuracy = _image(pictures, "accuracy.png", "Validation accuracy after each epoch")
    loss = _image(pictures, "loss.png", "Training and validation loss after each epoch")
    return _section("Learning curves", f'<div class="grid">{accuracy}{loss}</div>')


def _classes(
    test: datasets.LabeledTexts, predicted: npt.NDArray[np.int64], f1: Mapping[str, float]
) -> str:
    """F1 of each class; for few classes with the confusion matrix."""
    number, names = test.num_classes, test.label_names
    counts = np.zeros((number, number), np.int64)
    np.add.at(counts, (test.labels, predicted), 1)
    listed = _largest(test)
    matrix = listed if number <= MATRIX_CLASSES else []
    note = "F1 is the harmonic mean of a class's precision and recall."
    if matrix:
        note = "Rows are the true classes, columns the predicted ones. " + note
    if len(listed) < number:
        note += f" The {len(listed)} largest of {number} classes."
    rows = []
    for label in listed:
        total = counts[label].sum()
        cells = [
            f'<td class="share" style="--w:{counts[label, other] / max(total, 1):.3g}">'
            f"{counts[label, other]}</td>"
            for other in matrix
        ]
        score = f"{f1[names[label]]:.3f}" if names[label] in f1 else "–"
        rows.append(
            f'<tr><th scope="row" dir="auto">{_escaped(_short(names[label]))}</th>{"".join(cells)}'
            f"<td>{score}</td><td>{total}</td></tr>"
        )
    heads = ["", *(_short(names[label]) for label in matrix), "F1", "texts"]
    return _section("Class by class", _p(note), _raw_table(heads, rows))


def _heads(similarity: npt.NDArray[np.float64] | None, pictures: Mapping[str, str]) -> str:
    title = "Do the heads differ?"
    if similarity is None:
        return _section(title, _p("There is one head: nothing to compare."))
    mean = analysis.head_redundancy(similarity)
    note = (
        f"The mean cosine similarity of two heads is {mean:.2f}. It is 1 where all heads look at "
        "the same words (all of them near uniform attention, say), and 0 where no two heads share "
        "a word."
    )
    image = _image(pictures, "heads.png", "Similarity of each two heads") if pictures else ""
    return _section(title, _p(note), f'<div class="grid">{image}</div>')


def _options(options: Mapping[str, Any], sizes: Mapping[str, int]) -> str:
    rows = [(f"{part} texts", str(size)) for part, size in sizes.items()]
    rows += [
        (name.replace("_", " "), str(value)) for name, value in options.items() if value is not None
    ]
    versions = f"Keras {keras.__version__}, {keras.config.backend()}"
    table = _table(("option", "value"), [*rows, ("made with", versions)])
    note = _p("Options that are not listed are the model's own.", "note")
    return f"<details><summary>How it was trained</summary>{table}{note}</details>"


def _pictures(
    run: Path,
    name: str,
    results: Mapping[str, Any],
    similarity: npt.NDArray[np.float64] | None,
) -> dict[str, str]:
    """Draws the pictures; returns them as data URIs by file name, none without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return {}
    histories = {key: each["history"] for key, each in results.items() if "history" in each}
    losses = {
        f"{name}, training": histories[name]["loss"],
        f"{name}, validation": histories[name]["val_loss"],
    }
    figures = {file: Figure(figsize=(6, 3.8), layout="constrained") for file in runs.PICTURES}
    accuracy, loss, heads = (figure.subplots() for figure in figures.values())
    analysis.plot_learning_curves(histories, accuracy)
    analysis.plot_learning_curves(losses, loss, metric="loss")
    if similarity is None:
        del figures["heads.png"]
    else:
        figures["heads.png"].set_size_inches(6, 5)
        analysis.plot_head_similarity(similarity, heads)
    uris = {}
    for file, figure in figures.items():
        with runs.whole_file(run / file) as temporary:
            figure.savefig(temporary, dpi=150)
            content = base64.b64encode(temporary.read_bytes()).decode()
        uris[file] = f"data:image/png;base64,{content}"
    return uris


def _underlined(heatmap: str, gold: npt.NDArray[np.bool_]) -> str:
    """Marks words of a heat map; each word is an `<i>`, and nothing else is."""
    flags = iter(gold.tolist())
    return re.sub("<i ", lambda match: "<i data-gold " if next(flags) else match[0], heatmap)


def _spread(size: int, most: int) -> npt.NDArray[np.int64]:
    """At most `most` positions in `range(size)`, evenly spaced: files are often sorted."""
    return np.linspace(0, size - 1, min(size, most)).astype(np.int64)


def _mixed(rows: Sequence[int], labels: npt.NDArray[Any]) -> list[int]:
    """Some of the rows: the first of each class, then the second of each ..."""
    seen: dict[int, int] = {}
    ranked = []
    for row in rows:
        label = int(labels[row])
        seen[label] = seen.get(label, 0) + 1
        ranked.append((seen[label], label, row))
    return [row for _, _, row in sorted(ranked)[:HEATMAPS]]


def _largest(test: datasets.LabeledTexts) -> list[int]:
    """The classes with the most texts, in their order."""
    sizes = np.bincount(test.labels, minlength=test.num_classes)
    return sorted(np.argsort(-sizes, kind="stable")[:LISTED_CLASSES].tolist())


def _data_name(options: Mapping[str, Any]) -> str:
    if options["file"]:
        return Path(options["file"]).name
    return options["dataset"] or "generated reviews"


def _short(name: str) -> str:
    """A class name, cut where it would fill the page."""
    return name if len(name) <= NAME_CHARACTERS else f"{name[:NAME_CHARACTERS]} ..."


def _escaped(content: str) -> str:
    return html.escape(visible(content))


def _section(title: str, *parts: str) -> str:
    return "\n".join([f"<h2>{_escaped(title)}</h2>", *parts])


def _p(content: str, kind: str = "") -> str:
    return f'<p class="{kind}">{_escaped(content)}</p>' if kind else f"<p>{_escaped(content)}</p>"


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td>{_escaped(cell)}</td>" for cell in others)
        lines.append(f'<tr><th scope="row">{_escaped(first)}</th>{cells}</tr>')
    return _raw_table(heads, lines)


def _raw_table(heads: Iterable[str], rows: Iterable[str]) -> str:
    """A table of rows that are HTML; it scrolls by itself where it is too wide."""
    head = "".join(f'<th scope="col" dir="auto">{_escaped(each)}</th>' for each in heads)
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _image(pictures: Mapping[str, str], file: str, alt: str) -> str:
    return f'<img src="{pictures[file]}" alt="{alt}">'
