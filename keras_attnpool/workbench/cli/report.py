"""Writes the report of `train`, an HTML page in the run folder."""

import base64
import html
import io
import itertools
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool import analysis
from keras_attnpool.analysis.attention_tests import AttentionTests
from keras_attnpool.analysis.html_heatmaps import page, visible
from keras_attnpool.workbench import datasets
from keras_attnpool.workbench._files import whole_file
from keras_attnpool.workbench.cli import comparison, explanations, networks, runs
from keras_attnpool.workbench.cli.options import Options
from keras_attnpool.workbench.cli.readers import Reader, Words
from keras_attnpool.workbench.cli.trained import Run

INSTALL = "pip install keras_attnpool[plots]"

# Within these limits, the report is small and ready in seconds.
TEXTS = 512
TOKENS = 2**18
DELETED = 32
TESTED_TOKENS, MODEL_TOKENS = 2**10, 2**9  # a language model predicts more slowly
HEATMAPS = 5
HEATMAP_WORDS = 300
MATRIX_CLASSES = 12
LISTED_CLASSES = 30
NAME_CHARACTERS = 40


# For each kind of reader, a remark on the steps that get weights.
PIECES = "Its weights are those of pieces of words, special ones at the ends of a text among them"
WEIGHED = {
    "words": "",
    "features": f"{PIECES}; the language model stays as it is.",
    "tokens": f"{PIECES}; the language model is a part of the encoder.",
}


class Html(str):
    """A piece of HTML for the page. `_filled` escapes all strings that are not of this type."""


# The templates of report.html, by the names that stand there in brackets.
TEMPLATES = {
    name: Template(content.strip())
    for name, content in re.findall(
        r"^\[(\w+)\]\n(.*?)(?=^\[|\Z)",
        resources.files(__package__).joinpath("report.html").read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
}


def write(
    run: Run,
    options: Options,
    name: str,
    metrics: Mapping[str, Any],
    test: datasets.LabeledTexts,
    predicted: npt.NDArray[np.int64],
) -> list[str]:
    """Writes report.html into the folder of a run.

    Args:
        run: The run.
        options: The options of `train`.
        name: Name of the model in the table of results.
        metrics: Content of metrics.json.
        test: The test texts.
        predicted: Integer array `(texts,)`, the predicted class of every test text.

    Returns:
        The lines that `train` prints: the path of the report, its missing parts, and warnings.
    """
    results = metrics["results"]
    texts = _ExplainedTexts(run, test, predicted)
    flat = explanations.flat_remark([each.mean(axis=0) for each in texts.heads])
    content = _joined(
        [
            _results(results, len(test), metrics.get("comparison"), options.class_weights),
            _curves(results[name].get("network", name), results),
            _classes(test, predicted, results[name]["f1"]),
            texts.heatmaps(flat),
            texts.tests(),
            texts.rationale_scores(),
            _options(options, metrics["sizes"], run.reader),
        ]
    )
    source = Path(options.file).name if options.file else options.dataset or "generated reviews"
    with whole_file(run.folder / runs.REPORT) as temporary:
        whole_page = page(f"{name} on {source}", content, lang="en")
        temporary.write_text(whole_page, encoding="utf-8", newline="\n")
    return [f"The report is {run.folder / runs.REPORT}", *filter(None, [flat])]


class _ExplainedTexts:
    """Selects test texts, computes their attention, and writes the report's sections about them."""

    def __init__(
        self, run: Run, test: datasets.LabeledTexts, predicted: npt.NDArray[np.int64]
    ) -> None:
        self.reader, self.model, self.explainer = run.reader, run.model, run.explainer
        reader = run.reader
        chosen = _spread(len(test), min(TEXTS, max(1, TOKENS // reader.max_length)))
        texts = test.subset(chosen)
        words = [reader.words(content) for content in texts.texts]
        full = np.array([row for row, each in enumerate(words) if each], int)
        self.test, self.predicted = texts.subset(full), predicted[chosen][full]
        self.words = [words[row] for row in full]
        self.of_all = f"{len(full)} of {len(test)}" if len(full) < len(test) else "all"
        heads = self.explainer.attention(self.test.texts)
        self.attended = bool(heads) and all(each is not None for each in heads)
        self.heads = [each for each in heads if each is not None]
        self.is_plain = isinstance(reader, Words)
        # The generated reviews are their tokens, joined by spaces.
        self.gold = self.is_plain and self.test.rationales and [
            gold[: len(each)] for gold, each in zip(self.test.rationales, self.words, strict=True)
        ]  # fmt: skip

    def heatmaps(self, flat: str | None = None) -> Html:
        """Draws heat maps of texts from many classes, with right and wrong predictions."""
        if not self.words:
            return _filled("no_words")
        right = self.predicted == self.test.labels
        chosen = {
            answer: _mixed(np.flatnonzero(mask).tolist(), self.test.labels)
            for answer, mask in (("right", right), ("wrong", ~right))
        }
        none = _filled("note", text="None of these texts.")
        underlined = "Underlined: the words that decide the class (known for generated reviews)."
        notes = [explanations.EFFECT] + [explanations.ATTENTION] * self.attended
        return _filled(
            "heat_maps",
            scale=" ".join(notes),
            underlined=underlined if self.gold else "",
            flat=_filled("paragraph", text=flat) if flat else "",
            **{
                answer: _joined(self._heatmap(row) for row in rows) or none
                for answer, rows in chosen.items()
            },
        )

    def _heatmap(self, row: int) -> Html:
        (explained,) = self.explainer.explain([self.test.texts[row]])
        true = self.test.label_names[self.test.labels[row]]
        label = f"true: {_short(true)} · predicted: {_short(explained.label)} "
        label += f"({explained.probability:.2f})"
        if len(explained.words) > HEATMAP_WORDS:
            label += f" · the first {HEATMAP_WORDS} of {len(explained.words)} words"
            explained = explained.first(HEATMAP_WORDS)
        figure = "".join(explanations.heatmaps(explained, label))
        if self.gold:
            # Each word is an <i>, and nothing else is an <i>.
            gold = itertools.cycle(self.gold[row][: len(explained.words)].tolist())
            figure = re.sub("<i ", lambda tag: "<i data-gold " if next(gold) else tag[0], figure)
        return Html(figure)

    def _subject(self) -> tuple[list[int], Any, npt.NDArray[Any]]:
        """Returns some texts, a model that predicts them without some words, and the words' ids.

        The number of texts is limited, because each word of each text needs a prediction.
        """
        tokens = TESTED_TOKENS if self.is_plain else MODEL_TOKENS
        most = max(1, int(tokens / np.mean([len(each) for each in self.words])))
        rows = list(map(int, _spread(len(self.words), min(most, DELETED))))
        texts = [self.test.texts[row] for row in rows]
        if self.is_plain:
            return rows, self.model, self.reader.encode(texts)
        numbered = explanations.Numbered(self.model, self.reader, texts)
        return rows, numbered, numbered.ids

    def tests(self) -> Html:
        """Tests whether words with large weights matter, and whether attention is reliable."""
        if not self.words:
            return Html()
        rows, model, ids = self._subject()
        weights: dict[str, Any] = {"effect": analysis.leave_one_out(model, ids)}
        if self.attended:
            placed = np.zeros(ids.shape)
            placed[ids != 0] = np.concatenate([self.heads[row].mean(axis=0) for row in rows])
            weights["attention"] = placed
        lines = []
        for name, each in weights.items():
            curve = analysis.deletion_curve(model, ids, each)
            lines.append((name, f"{curve.attended_area:.3f}", f"{curve.random_area:.3f}"))
        table = _table(("words first in", "their deletion", "deletion at random"), lines)
        deletion = _filled("deletion", texts=len(rows), table=table)
        if not self.attended:
            return deletion
        print(f"Testing the attention on {len(rows)} texts ...", flush=True)
        options: dict[str, Any] = {"beam_size": 0, "verbose": int(sys.stdout.isatty())}
        graded = analysis.grade_attributions(
            model, ids, weights, gradients=self.is_plain, **options
        )
        rest = self._tests_of_layer([self.test.texts[row] for row in rows])
        grades = Html(graded._repr_html_())
        return _joined([deletion, _filled("tested", texts=len(rows), grades=grades, rest=rest)])

    def _tests_of_layer(self, texts: Sequence[str]) -> Html:
        """The tests of the layer that weighs the words or tokens of a text."""
        inputs, path = self.reader.encode(texts), explanations.POOLING
        kept = self.reader.mask(inputs)
        try:
            table = AttentionTests(self.model, inputs, kept, path, "attention_report").table()
        except ValueError as error:
            return _filled("unneeded", reason=str(error))
        tests, weighed = Html(table._repr_html_()), WEIGHED[self.reader.kind]
        return _joined([_filled("needed"), _filled("layer", weighed=weighed, tests=tests)])

    def rationale_scores(self) -> Html:
        """Measures how well the attention agrees with the deciding words."""
        if not (self.gold and self.attended):
            return Html()
        if not any(gold.any() and not gold.all() for gold in self.gold):
            return _filled("no_rationales")
        weights = [each.mean(axis=0) / each.shape[1] for each in self.heads]
        mass = analysis.rationale_mass(weights, self.gold)
        auc = analysis.rationale_auc(weights, self.gold)
        rows = [
            ("attention", f"{mass.mean:.3f}", f"{auc.mean:.3f}"),
            ("uniform weights", f"{mass.uniform:.3f}", f"{auc.uniform:.3f}"),
        ]
        table = _table(("", "mass on deciding words", "AUC"), rows)
        return _filled("rationales", texts=mass.num_scored, table=table)


def _results(results: Mapping[str, Any], test_size: int, told: str | None, balanced: bool) -> Html:
    rows = [[name, *comparison.cells(result, balanced)] for name, result in results.items()]
    told = _filled("paragraph", text=told) if told else ""
    table = _table(("", *comparison.columns(balanced)), rows)
    return _filled("results", size=test_size, table=table, comparison=told)


def _curves(name: str, results: Mapping[str, Any]) -> Html:
    """Draws the learning curves of the networks, and the losses of one network."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        return _filled("no_curves", install=INSTALL)
    histories = {key: each["history"] for key, each in results.items() if "history" in each}
    losses = {"training": histories[name]["loss"], "validation": histories[name]["val_loss"]}
    losses = {f"{name}, {part}": values for part, values in losses.items()}
    accuracies = {key: each["val_accuracy"] for key, each in histories.items()}
    images = []
    for lines, ylabel in ((accuracies, "validation accuracy"), (losses, "loss")):
        figure = Figure(figsize=(6, 3.8), layout="constrained")
        ax = figure.subplots()
        for label, values in lines.items():
            ax.plot(range(1, len(values) + 1), values, "o-", markersize=3.5, label=label)
        ax.set(xlabel="epoch", ylabel=ylabel)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(color="0.9")
        for text in ax.legend(frameon=False).get_texts():
            text.set_parse_math(False)  # a $ in a name is a dollar, not a formula
        figure.savefig(content := io.BytesIO(), dpi=150)
        uri = f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
        images.append(_filled("image", uri=Html(uri), alt=f"The {ylabel} of each epoch"))
    return _filled("curves", images=_joined(images))


def _classes(
    test: datasets.LabeledTexts, predicted: npt.NDArray[np.int64], f1: Mapping[str, float]
) -> Html:
    """Shows F1 of each class, and the confusion matrix if there are few classes."""
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
        shares = [
            _filled("share", share=f"{count / max(total, 1):.3g}", text=count)
            for count in counts[label, matrix]
        ]
        score = f"{f1[names[label]]:.3f}" if names[label] in f1 else "–"
        rows.append((_short(names[label]), *shares, score, str(total)))
    heads = ["", *(_short(names[label]) for label in matrix), "F1", "texts"]
    return _filled("classes", note=note, table=_table(heads, rows))


def _options(options: Options, sizes: Mapping[str, int], reader: Reader) -> Html:
    rows = [(f"{part} texts", str(size)) for part, size in sizes.items()]
    rows.append(("what is read", str(reader)))
    unused = networks.without_effect(options)
    rows += [
        (name.replace("_", " "), str(value))
        for name, value in vars(options).items()
        if value is not None and name not in unused
    ]
    versions = f"Keras {keras.__version__}, {keras.config.backend()}"
    return _filled("options", table=_table(("option", "value"), [*rows, ("made with", versions)]))


def _spread(size: int, most: int) -> npt.NDArray[np.int64]:
    """At most `most` evenly spaced positions in `range(size)`, because files are often sorted."""
    return np.linspace(0, size - 1, min(size, most)).astype(np.int64)


def _mixed(rows: Sequence[int], labels: npt.NDArray[Any]) -> list[int]:
    """Selects rows: the first of each class, then the second of each class, and so on."""
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


def _short(name: str) -> str:
    """A class name, shortened if it is very long."""
    return name if len(name) <= NAME_CHARACTERS else f"{name[:NAME_CHARACTERS]} ..."


def _filled(template: str, **values: object) -> Html:
    """Fills a template of report.html. Values of other types than `Html` are shown as text."""
    parts = {
        name: value if isinstance(value, Html) else html.escape(visible(str(value)))
        for name, value in values.items()
    }
    return Html(TEMPLATES[template].substitute(parts))


def _joined(parts: Iterable[Html]) -> Html:
    return Html("\n".join(filter(None, parts)))


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table that scrolls if it is too wide. A cell may be `Html`."""
    lines = []
    for head, *others in rows:
        cells = (each if isinstance(each, Html) else _filled("cell", text=each) for each in others)
        lines.append(_filled("row", head=head, cells=_joined(cells)))
    titles = _joined(_filled("head", text=each) for each in heads)
    return _filled("table", heads=titles, rows=_joined(lines))
