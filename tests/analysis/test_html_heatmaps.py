"""HTML heat maps: what is shown, and that hostile texts stay texts."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from refusals import refused

from keras_attnpool.analysis import heatmap_html, heatmap_page, matrices_html

pytestmark = pytest.mark.one_backend("writes HTML of NumPy arrays")

ALLOWED = {
    "style",
    "figure",
    "figcaption",
    "b",
    "span",
    "div",
    "bdi",
    "p",
    "i",
    "details",
    "summary",
}


class Reader(HTMLParser):
    """Collects tags, attributes and the text of every token; unbalanced tags are an error."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.tokens, self.titles, self.open = [], set(), [], [], []
        self.text = ""
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag in {"meta"}:
            return
        self.open.append(tag)
        if tag == "i":
            self.tokens.append("")
            self.titles.append(dict(attrs)["title"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data
        if self.open and self.open[-1] == "i":
            self.tokens[-1] += data


HOSTILE = [
    "<script>alert(1)</script>",
    "</i></p></figure>",
    '"onmouseover="alert(1)',
    "'x'",
    "&amp;",
    "שלום",
    "مرحبا",
    "👩‍👩‍👧",
    "🏳️‍🌈",
    "日本語",
    "é",
]


def test_hostile_tokens_stay_text():
    weights = np.linspace(0, 1, len(HOSTILE))
    source = heatmap_html(
        HOSTILE, weights, title="</b><script>", label="</style><img src=x>", row_names=["<u>"]
    )
    read = Reader(source)
    assert read.tokens == HOSTILE
    assert set(read.tags) <= ALLOWED
    assert read.attributes <= {"class", "style", "title", "dir", "open"}
    assert "</b><script>" in read.text and "</style><img src=x>" in read.text and "<u>" in read.text
    assert "http" not in source and "url(" not in source and "@import" not in source


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("\u202eevil\u202c", "U+202EevilU+202C"),
        ("\u2066a\u2069", "U+2066aU+2069"),
        ("a\x00b", "aU+0000b"),
        ("\n", "␣"),
        ("  ", "␣␣"),
        ("a\u2028b", "aU+2028b"),
        ("\ud83d", "U+D83D"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_or_turns_the_line_is_named(token, shown, tmp_path):
    source = heatmap_html([token], [1.0])
    assert Reader(source).tokens == [shown]
    heatmap_page([source], tmp_path / "page.html", title=token)  # it can be encoded


def test_the_first_letter_sets_the_direction():
    # An element with its own direction in between would hide the letters from dir=auto.
    source = heatmap_html(["שלום", "world"], [0.5, 0.5])
    assert re.search(r'<p dir="auto"><i [^>]*>שלום</i> <i [^>]*>world</i></p>', source)


def test_weights_are_alpha_and_tooltip():
    source = heatmap_html(["a", "b", "c"], [0.2, 0.05, 0.0])
    assert '<i style="--w:1" title="0.2">a</i>' in source
    assert '<i style="--w:0.25" title="0.05">b</i>' in source
    assert '<i title="0">c</i>' in source
    assert Reader(source).text.endswith("weight00.2(uniform: 0.333)")


def test_common_scale():
    source = heatmap_html(["a", "b"], [0.2, 0.9], vmax=0.4)
    assert '--w:0.5" title="0.2"' in source and '--w:1" title="0.9"' in source


def test_negative_weights_have_a_colour_of_their_own():
    source = heatmap_html(["a", "b"], [-0.5, 0.25])
    assert '<i class=n style="--w:1" title="-0.5">a</i>' in source
    assert Reader(source).text.endswith("weight−0.50.5")


def test_heads_and_their_mean():
    source = heatmap_html(["a", "b"], [[1, 0], [0.5, 0.5]])
    assert Reader(source).titles == ["0.75", "0.25", "1", "0", "0.5", "0.5"]
    names = re.findall(r'<bdi class="name">(.*?)</bdi>', source)
    assert names == ["mean", "head 1", "head 2"]
    assert "<details open><summary>2 heads<" in source


def test_named_rows_are_no_heads_and_have_no_mean():
    source = heatmap_html(["a", "b"], [[1, 0], [0.5, 0.5]], row_names=["first", "second"])
    assert Reader(source).titles == ["1", "0", "0.5", "0.5"]
    assert re.findall(r'<bdi class="name">(.*?)</bdi>', source) == ["first", "second"]
    assert "details" not in source.partition("</style>")[2]


def test_a_line_per_sentence_with_its_share():
    source = heatmap_html(["a", ".", "b", "."], [0.1, 0.2, 0.3, 0.4], sentence_lengths=[2, 2])
    assert source.count('<p dir="auto">') == 2
    assert re.findall(r'<bdi class="name">(.*?)</bdi>', source) == ["30%", "70%"]
    source = heatmap_html(["a", "b"], [[1, 0], [0.5, 0.5]], sentence_lengths=[1, 1])
    names = re.findall(r'<bdi class="name">(.*?)</bdi>', source)
    assert names == ["mean: 75%", "25%", "head 1: 100%", "0%", "head 2: 50%", "50%"]


def test_nothing_to_see():
    assert Reader(heatmap_html([], [])).tokens == []
    assert Reader(heatmap_html(["a"], [0.0])).titles == ["0"]
    assert Reader(heatmap_html(["a"], [0.0], sentence_lengths=[1])).titles == ["0"]


def test_ten_thousand_tokens_fold_up():
    rng = np.random.default_rng(0)
    source = heatmap_html([f"w{i}" for i in range(10_000)], rng.random((3, 10_000)))
    assert source.count("<i ") == 40_000 and "<details><summary>" in source
    assert len(source) < 3e6


def luminance(color):
    parts = [c / 255 for c in color]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def color(value):
    if not value.startswith("#"):
        return [int(part) for part in value.split()]
    value = value[1:] if len(value) == 7 else "".join(2 * c for c in value[1:])
    return [int(value[i : i + 2], 16) for i in (0, 2, 4)]


def test_text_is_readable_on_every_weight_light_and_dark():
    themes = re.findall(r"\{(--bg:[^}]*?--neg:[\d ]+)", heatmap_html(["a"], [1.0]))
    themes = [dict(pair.split(":") for pair in t.strip("-").split(";--")) for t in themes]
    assert len({theme["bg"] for theme in themes}) == 2
    for theme in themes:
        text, ground = color(theme["fg"]), np.array(color(theme["bg"]))
        for accent in (color(theme["pos"]), color(theme["neg"])):
            for alpha in np.linspace(0, 1, 11):
                cell = (1 - alpha) * ground + alpha * np.array(accent)
                high, low = sorted((luminance(text), luminance(cell)), reverse=True)
                assert (high + 0.05) / (low + 0.05) >= 4.5, (theme, accent, alpha)


class TestPage:
    def test_one_file_that_loads_nothing(self, tmp_path):
        pieces = [heatmap_html(["a"], [1.0]), heatmap_html(["b"], [1.0])]
        path = heatmap_page(pieces, str(tmp_path / "page.html"), title="<script>")
        source = path.read_text(encoding="utf-8")
        read = Reader(source)
        assert read.tokens == ["a", "b"] and "script" not in read.tags
        assert source.count(".attn-map i{") == 1  # the style comes once
        assert "default-src 'none'" in source and 'charset="utf-8"' in source
        assert "prefers-color-scheme:dark" in source

    @pytest.mark.parametrize("pieces", ["<p>", [1]])
    def test_errors(self, pieces, tmp_path):
        with refused("heatmaps", "heatmap_page"):
            heatmap_page(pieces, tmp_path / "page.html")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"weights": [0.5, 0.5]}, "(2,) for 1 steps"),
        ({"weights": [[[1.0]]]}, "one number per step"),
        ({"weights": [np.nan]}, "NaN"),
        ({"names": "ab"}, "one string"),
        ({"vmax": 0}, "positive"),
        ({"row_names": ["a", "b"]}, "1 in all"),
        ({"sentence_lengths": [2]}, "add up"),
        ({"sentence_lengths": [2, -1]}, "add up"),
    ],
)
def test_errors(change, told):
    with refused(*change, "heatmap_html", told):
        heatmap_html(**{"names": ["a"], "weights": [0.5], **change})


class TestMatrices:
    def test_numbers_names_and_colours(self):
        weights = np.array([[-0.25, 1], [0.125, -np.inf]])
        source = matrices_html({"<b>": (weights, ["&", "word"])}, ["first", HOSTILE[0]])
        text = Reader(source).text
        for shown in ("<b>", "&", "word", "first", HOSTILE[0], "−0.25", "0.12", "1", "−∞"):
            assert shown in text
        assert "script" not in Reader(source).tags
        assert '<td class="n" style="--w:0.25">−0.25</td>' in source
        assert '<td style="--w:1">1</td>' in source
        assert "−0</td>" not in matrices_html({"a": ([[-0.0]], ["x"])}, ["r"])

    def test_one_scale_for_two_matrices(self):
        two = {"a": ([[0.5]], ["x"]), "b": ([[2.0]], ["x"])}
        assert matrices_html(two, ["r"]).count("--w:1") == 2
        assert "--w:0.25" in matrices_html(two, ["r"], vmax=2)

    @pytest.mark.parametrize(
        ("matrix", "told"), [([[1.0, 2.0]], "(1, 2)"), ([[np.nan]], "NaN"), ([[np.inf]], "NaN")]
    )
    def test_errors(self, matrix, told):
        with refused("matrices", "matrices_html", told):
            matrices_html({"a": (matrix, ["x"])}, ["r"])

    @pytest.mark.parametrize("vmax", [0, -1, np.nan])
    def test_a_colour_that_no_number_reaches_is_refused(self, vmax):
        with refused("vmax", "matrices_html"):
            matrices_html({"a": ([[1.0]], ["x"])}, ["r"], vmax=vmax)
