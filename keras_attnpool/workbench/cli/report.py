"""The report that `train` leaves in a run folder: one HTML page, and the pictures that it shows."""

import base64
import html
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

INSTALL = "pip install keras_attnpool[plots]"

# Bounds of what is read and shown, so that the report takes seconds and can be opened.
TEXTS = 512
TOKENS = 2**18
DELETED, PAIRS = 32, 12
TESTED_TOKENS, MODEL_TOKENS = 2**10, 2**9  # a language model predicts more slowly
HEATMAPS = 5
HEATMAP_WORDS = 300
TOP_WORDS, MIN_COUNT = 10, 3
MATRIX_CLASSES = 12
LISTED_CLASSES = 30
NAME_CHARACTERS = 40


# The things that each layer weighs where texts are not read as plain words, by kind of reader.
PIECES = "Its weights are those of pieces of words, special ones at the ends of a text among them"
WEIGHED = {
    "sentences": ("Words of a sentence.", "Sentences of a text."),
    "features": (f"{PIECES}; the language model stays as it is.",),
    "tokens": (f"{PIECES}; the language model is a part of the encoder.",),
}


class Html(str):
    """A piece of HTML for the page; `_filled` escapes every other string."""


# The templates of report.html, by the names in brackets.
TEMPLATES = {
    name: Template(content.strip())
    for name, content in re.findall(
        r"^\[(\w+)\]\n(.*?)(?=^\[|\Z)",
        resources.files(__package__).joinpath("report.html").read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
}


def write(
    run: Path,
    options: Options,
    name: str,
    metrics: Mapping[str, Any],
    test: datasets.LabeledTexts,
    reader: Reader,
    model: keras.Model,
    predicted: npt.NDArray[np.int64],
) -> list[str]:
    """Writes report.html and its pictures into a run folder.

    Args:
        run: The run folder.
        options: The options of `train`.
        name: The model's name in the table.
        metrics: Content of metrics.json.
        test: The test texts.
        reader: Reader that makes the model's inputs.
        model: The trained model.
        predicted: Integer array `(texts,)`, the model's class for every test text.

    Returns:
        The lines that `train` prints: the place of the report, its missing parts, and cautions.
    """
    results = metrics["results"]
    texts = _ExplainedTexts(test, reader, model, predicted)
    flat, similarity = None, None
    if texts.attended:
        flat = explanations.flat_remark([each.mean(axis=0) for each in texts.heads])
    attended = [texts.heatmaps(flat), texts.deletion(), texts.pairs()]
    if texts.attended:
        attended += [texts.attention_tests(), texts.top_words(), texts.rationale_scores()]
        similarity = texts.similarity()
    pictures = _pictures(run, results[name].get("network", name), results, similarity)
    if texts.attended:
        attended.append(_heads(similarity, pictures))
    content = _joined(
        [
            _results(results, len(test), metrics.get("comparison"), options.class_weights),
            _curves(pictures),
            _classes(test, predicted, results[name]["f1"]),
            *attended,
            _options(options, metrics["sizes"], reader),
        ]
    )
    source = Path(options.file).name if options.file else options.dataset or "generated reviews"
    with whole_file(run / runs.REPORT) as temporary:
        whole_page = page(f"{name} on {source}", content, lang="en")
        temporary.write_text(whole_page, encoding="utf-8", newline="\n")
    no_pictures = None if pictures else f"(without pictures, which need matplotlib: {INSTALL})"
    return list(filter(None, [f"The report is {run / runs.REPORT}", no_pictures, flat]))


class _ExplainedTexts:
    """Some test texts with the attention on their words, and the sections about them."""

    def __init__(
        self,
        test: datasets.LabeledTexts,
        reader: Reader,
        model: keras.Model,
        predicted: npt.NDArray[np.int64],
    ) -> None:
        self.reader, self.model = reader, model
        self.explainer = explanations.Explainer(model, reader, test.label_names)
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
        self.numbered: explanations.Numbered | None = None
        self.is_plain = isinstance(reader, Words) and reader.kind == "words"
        # The generated reviews are their tokens, joined by spaces.
        self.gold = isinstance(reader, Words) and self.test.rationales and [
            gold[: len(each)] for gold, each in zip(self.test.rationales, self.words, strict=True)
        ]  # fmt: skip

    def heatmaps(self, flat: str | None = None) -> Html:
        """Some right and some wrong texts, of as many classes as possible."""
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
            # Each word is an <i>, and nothing else is.
            gold = itertools.cycle(self.gold[row][: len(explained.words)].tolist())
            figure = re.sub("<i ", lambda tag: "<i data-gold " if next(gold) else tag[0], figure)
        return Html(figure)

    def _tested(self) -> list[int]:
        """The texts that tests take words out of: there is a prediction for each word of each."""
        tokens = TESTED_TOKENS if isinstance(self.reader, Words) else MODEL_TOKENS
        most = max(1, int(tokens / np.mean([len(each) for each in self.words])))
        return list(map(int, _spread(len(self.words), min(most, DELETED))))

    def _asked(self, rows: list[int]) -> tuple[Any, npt.NDArray[Any]]:
        """The model that predicts for texts without some words, and the ids of their words."""
        texts = [self.test.texts[row] for row in rows]
        if self.is_plain:
            return self.model, self.reader.encode(texts)
        if self.numbered is None:
            self.numbered = explanations.Numbered(self.model, self.reader, texts)
        return self.numbered, self.numbered.ids

    def _weights(
        self, rows: list[int], model: Any, ids: npt.NDArray[Any]
    ) -> dict[str, npt.NDArray[Any]]:
        """Effects, and attention if there is some, in the places of the ids."""
        weights = {}
        if self.is_plain:
            effects = [self.explainer.effects(self.test.texts[row])[0] for row in rows]
            weights["effect"] = _placed(effects, ids)
        else:
            weights["effect"] = analysis.leave_one_out(model, ids)
        if self.attended:
            weights["attention"] = _placed([self.heads[row].mean(axis=0) for row in rows], ids)
        return weights

    def deletion(self) -> Html:
        """Whether words of most weight are missed more than other words."""
        if not self.words:
            return Html()
        rows = self._tested()
        if self.is_plain:
            chosen = _spread(len(self.words), DELETED).tolist()
            rows = [row for row in chosen if len(self.words[row]) > 1]
        if not rows:
            return Html()
        model, ids = self._asked(rows)
        lines = []
        for name, each in self._weights(rows, model, ids).items():
            curve = analysis.deletion_curve(model, ids, each)
            lines.append((name, f"{curve.attended_area:.3f}", f"{curve.random_area:.3f}"))
        table = _table(("words first in", "their deletion", "deletion at random"), lines)
        return _filled("deletion", texts=len(rows), table=table)

    def pairs(self) -> Html:
        """The effects of negations and of the words that they join, alone and together."""
        found: dict[tuple[str, str], list[npt.NDArray[np.float32]]] = {}
        with_any = [
            content
            for content, words in zip(self.test.texts, self.words, strict=True)
            if explanations.negated([explanations.plain(word) for word in words])
        ]
        for row in _spread(len(with_any), DELETED):
            for negation, word, lost in self.explainer.pairs(with_any[row]):
                found.setdefault((negation, word), []).append(lost)
        if not found:
            return Html()
        strongest = sorted(found, key=lambda pair: -abs(np.mean(found[pair], axis=0)[2]))
        lines = []
        for pair in strongest[:PAIRS]:
            first, second, both = np.mean(found[pair], axis=0)
            numbers = (first, second, both, first + second)
            lines.append(
                (" ".join(pair), *(f"{each:+.3f}" for each in numbers), str(len(found[pair])))
            )
        table = _table(("", "negation", "word", "both", "sum of the two", "texts"), lines)
        return _filled("pairs", texts=min(len(with_any), DELETED), table=table)

    def attention_tests(self) -> Html:
        """Whether the attention can be believed: the tests of the literature."""
        rows = self._tested()
        model, ids = self._asked(rows)
        print(f"Testing the attention on {len(rows)} texts ...", flush=True)
        options: dict[str, Any] = {"beam_size": 0, "verbose": int(sys.stdout.isatty())}
        grades = None
        if self.is_plain:
            (layer,) = self.explainer.layers
            try:
                found = analysis.attention_report(model, ids, layer=layer, **options)
                grades, tests = found.grades, Html(found.tests._repr_html_())
                rest = _joined([_filled("needed"), tests])
            except ValueError as error:
                rest = _filled("unneeded", reason=str(error))
        else:
            rest = self._tests_of_layers([self.test.texts[row] for row in rows])
        if grades is None:
            weights = self._weights(rows, model, ids)
            grades = analysis.grade_attributions(model, ids, weights, gradients=False, **options)
        return _filled("tested", texts=len(rows), grades=Html(grades._repr_html_()), rest=rest)

    def _tests_of_layers(self, texts: Sequence[str]) -> Html:
        """The tests of what weighs sentences, their words, or the tokens of a language model."""
        inputs = self.reader.encode(texts)
        mask = self.reader.mask(inputs)
        steps = [mask, np.asarray(mask.any(axis=-1))]
        found, refused = [], []
        for path, kept, told in zip(
            self.explainer.layers, steps, WEIGHED[self.reader.kind], strict=False
        ):
            try:
                table = AttentionTests(self.model, inputs, kept, path, "attention_report").table()
                found.append(_filled("layer", weighed=told, tests=Html(table._repr_html_())))
            except ValueError as error:
                refused.append(_filled("unneeded", reason=str(error)))
        return _joined([_filled("needed") if found else Html(), *found, *refused])

    def top_words(self) -> Html:
        """The most attended words of each class."""
        by_class = analysis.top_attended_words(
            self.words,
            [each.mean(axis=0) / each.shape[1] for each in self.heads],
            self.test.labels,
            self.test.label_names,
            k=TOP_WORDS,
            min_count=MIN_COUNT,
        )
        none = _filled("note", text="No word is frequent enough.")
        lists = []
        for name in (self.test.label_names[label] for label in _largest(self.test)):
            items = _joined(
                _filled("word", word=word, weight=f"{weight:.2f}")
                for word, weight, _ in by_class[name]
            )
            words = _filled("list", items=items) if items else none
            lists.append(_filled("attended_of_class", name=_short(name), words=words))
        return _filled("attended", least=MIN_COUNT, texts=self.of_all, lists=_joined(lists))

    def rationale_scores(self) -> Html:
        """Whether the attention is where the label is decided."""
        if not self.gold:
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

    def similarity(self) -> npt.NDArray[np.float64] | None:
        """How much each two heads look at the same words; `None` of a single one."""
        if self.heads[0].shape[0] == 1:
            return None
        longest = max(each.shape[1] for each in self.heads)
        padded = [np.pad(each, ((0, 0), (0, longest - each.shape[1]))) for each in self.heads]
        mask = [np.arange(longest) < each.shape[1] for each in self.heads]
        return analysis.head_similarity(np.stack(padded), np.stack(mask))


def _results(results: Mapping[str, Any], test_size: int, told: str | None, balanced: bool) -> Html:
    rows = [[name, *comparison.cells(result, balanced)] for name, result in results.items()]
    told = _filled("paragraph", text=told) if told else ""
    table = _table(("", *comparison.columns(balanced)), rows)
    return _filled("results", size=test_size, table=table, comparison=told)


def _curves(pictures: Mapping[str, str]) -> Html:
    if not pictures:
        return _filled("no_curves", install=INSTALL)
    accuracy = _image(pictures, "accuracy.png", "Validation accuracy after each epoch")
    loss = _image(pictures, "loss.png", "Training and validation loss after each epoch")
    return _filled("curves", accuracy=accuracy, loss=loss)


def _classes(
    test: datasets.LabeledTexts, predicted: npt.NDArray[np.int64], f1: Mapping[str, float]
) -> Html:
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
        shares = [
            _filled("share", share=f"{count / max(total, 1):.3g}", text=count)
            for count in counts[label, matrix]
        ]
        score = f"{f1[names[label]]:.3f}" if names[label] in f1 else "–"
        rows.append((_short(names[label]), *shares, score, str(total)))
    heads = ["", *(_short(names[label]) for label in matrix), "F1", "texts"]
    return _filled("classes", note=note, table=_table(heads, rows))


def _heads(similarity: npt.NDArray[np.float64] | None, pictures: Mapping[str, str]) -> Html:
    if similarity is None:
        return _filled("one_head")
    image = _image(pictures, "heads.png", "Similarity of each two heads") if pictures else ""
    return _filled("heads", mean=f"{analysis.head_redundancy(similarity):.2f}", image=image)


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


def _pictures(
    run: Path, name: str, results: Mapping[str, Any], similarity: npt.NDArray[np.float64] | None
) -> dict[str, str]:
    """Draws the pictures; returns them as data URIs by file name, none without matplotlib."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        return {}
    histories = {key: each["history"] for key, each in results.items() if "history" in each}
    losses = {
        f"{name}, training": histories[name]["loss"],
        f"{name}, validation": histories[name]["val_loss"],
    }
    figures = {file: Figure(figsize=(6, 3.8), layout="constrained") for file in runs.PICTURES}
    accuracy, loss, heads = (figure.subplots() for figure in figures.values())
    curves = {key: each["val_accuracy"] for key, each in histories.items()}
    for ax, lines, ylabel in ((accuracy, curves, "validation accuracy"), (loss, losses, "loss")):
        for label, values in lines.items():
            ax.plot(range(1, len(values) + 1), values, "o-", markersize=3.5, label=label)
        ax.set(xlabel="epoch", ylabel=ylabel)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(color="0.9")
        for text in ax.legend(frameon=False).get_texts():
            text.set_parse_math(False)  # a $ in a name is a dollar
    if similarity is None:
        del figures["heads.png"]
    else:
        figures["heads.png"].set_size_inches(6, 5)
        analysis.plot_head_similarity(similarity, heads)
    uris = {}
    for file, figure in figures.items():
        with whole_file(run / file) as temporary:
            figure.savefig(temporary, dpi=150)
            content = base64.b64encode(temporary.read_bytes()).decode()
        uris[file] = f"data:image/png;base64,{content}"
    return uris


def _spread(size: int, most: int) -> npt.NDArray[np.int64]:
    """At most `most` positions in `range(size)`, evenly spaced: files are often sorted."""
    return np.linspace(0, size - 1, min(size, most)).astype(np.int64)


def _placed(weights: Sequence[npt.NDArray[Any]], ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The weights of the words in the places of their ids."""
    placed = np.zeros(ids.shape)
    placed[ids != 0] = np.concatenate(weights)
    return placed


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


def _short(name: str) -> str:
    """A class name, cut where it would fill the page."""
    return name if len(name) <= NAME_CHARACTERS else f"{name[:NAME_CHARACTERS]} ..."


def _filled(template: str, **values: object) -> Html:
    """A template of report.html with its values; what is no `Html` is shown as text."""
    parts = {
        name: value if isinstance(value, Html) else html.escape(visible(str(value)))
        for name, value in values.items()
    }
    return Html(TEMPLATES[template].substitute(parts))


def _joined(parts: Iterable[Html]) -> Html:
    return Html("\n".join(filter(None, parts)))


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table, which scrolls by itself where it is too wide; a cell may be `Html`."""
    lines = []
    for head, *others in rows:
        cells = (each if isinstance(each, Html) else _filled("cell", text=each) for each in others)
        lines.append(_filled("row", head=head, cells=_joined(cells)))
    titles = _joined(_filled("head", text=each) for each in heads)
    return _filled("table", heads=titles, rows=_joined(lines))


def _image(pictures: Mapping[str, str], file: str, alt: str) -> Html:
    return _filled("image", uri=Html(pictures[file]), alt=alt)
