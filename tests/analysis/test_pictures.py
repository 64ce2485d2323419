"""Pictures of series, patches and bags: what is drawn where, on which scale; what is refused."""

import base64
import io
import re
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from refusals import refused

from keras_attnpool import analysis  # noqa: E402

pytestmark = pytest.mark.one_backend("draws NumPy arrays")

HOSTILE = '<script>"&\u202e'
SIGNAL = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, -3.0]])
IMAGE = np.arange(12).reshape(3, 4) * 20
# The same three numbers in each picture.
WEIGHTS = np.array([0.1, 0.6, 0.3])
PIECES = {
    "series": lambda w=WEIGHTS, **k: analysis.series_html(SIGNAL, w, **k),
    "grid": lambda w=WEIGHTS, **k: analysis.grid_html(w, (1, 3), **k),
    "ranked": lambda w=WEIGHTS, **k: analysis.ranked_html(["a", "b", "c"], w, **k),
}
PLOTS = {
    "series": lambda w=WEIGHTS, **k: analysis.plot_series(SIGNAL, w, **k),
    "grid": lambda w=WEIGHTS, **k: analysis.plot_grid(w, (1, 3), **k),
    "ranked": lambda w=WEIGHTS, **k: analysis.plot_ranked(["a", "b", "c"], w, **k),
}


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


def svg_of(piece):
    """The drawing of a piece of HTML; it must be well-formed."""
    return ElementTree.fromstring(re.search(r"<svg.*?</svg>", piece, re.S)[0])


def number(element, *names):
    return [float(element.get(name)) for name in names]


def shares(piece):
    """How much colour each number has, the largest last."""
    return sorted(float(share) for share in re.findall(r'style="--w:([\d.]+)', piece))


@pytest.mark.parametrize("kind", PIECES)
def test_colours_are_those_of_the_words_heat_map(kind):
    most = 0.75 if kind == "grid" else 1  # the image below is to be seen
    for options in ({}, {"vmax": 2.0}, {"vmax": 0.3}):
        words = analysis.heatmap_html(["a", "b", "c"], WEIGHTS, **options)
        drawn = shares(PIECES[kind](**options))
        np.testing.assert_allclose(drawn, np.multiply(most, shares(words)), atol=2e-3)
        told = f"<span>{options.get('vmax', 0.6):.3g}</span>"
        assert told in words and told in PIECES[kind](**options)


@pytest.mark.parametrize("kind", PIECES)
def test_negative_weights_have_a_colour_of_their_own(kind):
    negative = r'<(?:rect|i) class="n"'
    assert len(re.findall(negative, PIECES[kind](WEIGHTS * [1, -1, 1]))) == 1
    assert not re.search(negative, PIECES[kind]())


@pytest.mark.parametrize("kind", PIECES)
def test_texts_stay_texts(kind):
    piece = PIECES[kind](title=HOSTILE, label=HOSTILE, unit=HOSTILE)
    # A drawing tells its title to who hears it, too.
    assert piece.count("&lt;script&gt;&quot;&amp;") == (3 if kind == "ranked" else 4)
    assert "<script" not in piece and "\u202e" not in piece
    assert HOSTILE not in analysis.ranked_html([HOSTILE], [1.0])
    assert HOSTILE not in analysis.series_html(SIGNAL, WEIGHTS, row_names=[HOSTILE])


def test_a_series_and_its_strips_share_the_time_axis():
    times = [0.0, 1.0, 4.0]
    rows = np.stack([WEIGHTS, WEIGHTS[::-1]])
    options = {"names": times, "row_names": ["one", "two"]}
    drawing = svg_of(analysis.series_html(SIGNAL, rows, **options))
    cells = [number(each, "x", "y", "width") for each in drawing.iter("rect")]
    first, second = np.array(cells[:3]), np.array(cells[3:])
    # Cells lie side by side over the whole width, from middle to middle of the times.
    width = float(drawing.get("viewBox").split()[2])
    edges = width * (np.array([-0.5, 0.5, 2.5, 5.5]) + 0.5) / 6
    np.testing.assert_allclose(first[:, 0], edges[:3], atol=0.01)
    np.testing.assert_allclose(first[:, 0] + first[:, 2], edges[1:], atol=0.01)
    np.testing.assert_array_equal(first[:, [0, 2]], second[:, [0, 2]])
    assert (second[:, 1] > first[:, 1]).all()
    lines = [line.get("points").split() for line in drawing.iter("polyline")]
    assert len(lines) == 2
    for line, values in zip(lines, SIGNAL.T, strict=True):
        x, y = np.array([point.split(",") for point in line], float).T
        np.testing.assert_allclose(x, (edges[1:] + edges[:-1]) / 2, atol=0.06)
        assert (np.argsort(-y) == np.argsort(values, kind="stable")).all()  # up is more
    told = [each.text for each in drawing.iter("title")]
    assert told[1] == "one, 1: 0.6" and told[5] == "two, 4: 0.1"

    ax = analysis.plot_series(SIGNAL, rows, **options)
    (strip,) = ax.collections
    np.testing.assert_array_equal(np.ravel(strip.get_array()), rows.ravel())
    np.testing.assert_allclose(ax.get_xlim(), [-0.5, 5.5])
    assert [line.get_xdata().tolist() for line in ax.lines] == [times, times]
    # No line runs through the strip, which has the lowest part of the Axes.
    bottom, top = ax.get_ylim()
    assert (SIGNAL.min() - bottom) / (top - bottom) > strip.get_coordinates()[..., 1].max()


def test_channels_are_told_apart_and_named():
    signal = np.arange(12.0).reshape(3, 4)
    names = ["x", HOSTILE, "$z$", "w"]
    drawing = svg_of(analysis.series_html(signal, WEIGHTS, channels=names))
    lines = [line.get("stroke-dasharray") for line in drawing.iter("polyline")]
    assert lines[0] is None and len(set(lines[1:])) == 3  # the first is darker
    assert [line.get("stroke-dasharray") for line in drawing.iter("line")] == lines
    told = [text.text for text in drawing.iter("text")][-4:]
    assert told == ["x", HOSTILE.replace("\u202e", "U+202E"), "$z$", "w"]
    bottom = float(drawing.get("viewBox").split()[3])
    assert all(float(text.get("y")) < bottom for text in drawing.iter("text"))
    ax = analysis.plot_series(signal, WEIGHTS, channels=names)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == names
    ax.figure.savefig(io.BytesIO())


def test_one_frame_is_a_series():
    assert len(list(svg_of(analysis.series_html([3.0], [1.0])).iter("rect"))) == 1
    analysis.plot_series([3.0], [1.0]).figure.savefig(io.BytesIO())


def test_patches_lie_on_their_places_over_the_image():
    weights = np.arange(6.0) / 15
    piece = analysis.grid_html(weights, (2, 3), image=IMAGE)
    drawing = svg_of(piece)
    found = {
        each.find("title").text: number(each, "x", "y", "width") for each in drawing.iter("rect")
    }
    size = found["row 1, column 1: 0"][2]
    for (row, column), weight in np.ndenumerate(weights.reshape(2, 3)):
        x, y, _ = found[f"row {row + 1}, column {column + 1}: {weight:.3g}"]
        assert (x, y) == (column * size, row * size)
    data = re.search(r'href="data:image/png;base64,([^"]+)"', piece)[1]
    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(data)))
    np.testing.assert_allclose(pixels[..., 0] * 255, IMAGE, atol=0.5)
    assert number(drawing.find("image"), "width", "height") == [3 * size, 2 * size]
    # Numbers in [0, 1] and a colour axis give the same.
    alike = np.repeat(IMAGE[..., None] / 255, 3, axis=2)
    assert analysis.grid_html(weights.reshape(2, 3), image=alike) == piece

    ax = analysis.plot_grid(weights, (2, 3), image=IMAGE)
    below, above = ax.images
    assert below.get_extent() == above.get_extent() == [0, 3, 2, 0]
    np.testing.assert_array_equal(above.get_array(), weights.reshape(2, 3))
    np.testing.assert_allclose(above.get_alpha(), 0.75 * weights.reshape(2, 3) * 3)


def test_a_bag_is_listed_by_size_without_sign():
    names, weights = ["a", "b", "c", "d"], np.array([0.1, -0.4, 0.3, 0.2])
    piece = analysis.ranked_html(names, weights, top=2, images=[IMAGE] * 4)
    assert re.findall(r"<th>(\w)</th>", piece) == ["b", "c"]
    assert piece.count("data:image/png") == 2 and "2 more, together 0.3<" in piece
    assert re.findall(r";width:([\d]+\.\d)%", piece) == ["100.0", "75.0"]
    everything = analysis.ranked_html(names, weights, top=None)
    assert re.findall(r"<th>(\w)</th>", everything) == ["b", "c", "d", "a"]
    assert " more, together " not in everything

    ax = analysis.plot_ranked(names, weights, top=3, images=[IMAGE] * 4)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b", "c", "d"]
    assert [bar.get_width() for bar in ax.patches] == [-0.4, 0.3, 0.2]
    assert ax.yaxis_inverted() and len(ax.artists) == 3
    ax.figure.savefig(io.BytesIO())


@pytest.mark.parametrize("kind", PLOTS)
def test_plots_take_axes_and_titles_and_a_scale(kind):
    mine = pyplot.subplots()[1]
    assert PLOTS[kind](ax=mine, title="$\\frac$ title", vmax=2.0) is mine
    assert mine.get_title() == "$\\frac$ title"
    drawn = {"series": "collections", "grid": "images"}.get(kind)
    if drawn:
        assert getattr(mine, drawn)[-1].get_clim() == (0, 2)
        assert mine.figure.axes[-1].get_ylabel() == "attention weight"
    mine.figure.savefig(io.BytesIO())
    with refused("ax"):
        PLOTS[kind](ax="axes")


SERIES = (analysis.series_html, analysis.plot_series)
GRID = (analysis.grid_html, analysis.plot_grid)
RANKED = (analysis.ranked_html, analysis.plot_ranked)


@pytest.mark.parametrize(
    ("functions", "name", "args", "options"),
    [
        (SERIES, "signal", (np.zeros((3, 2, 1)), WEIGHTS), {}),
        (SERIES, "signal", ([0, np.nan, 1], WEIGHTS), {}),
        (SERIES, "weights", (SIGNAL, WEIGHTS[:2]), {}),
        (SERIES, "weights", (SIGNAL, [0, np.inf, 1]), {}),
        (SERIES, "names", (SIGNAL, WEIGHTS), {"names": [0, 1, 1]}),
        (SERIES, "names", (SIGNAL, WEIGHTS), {"names": [0, 1]}),
        (SERIES, "names", (SIGNAL, WEIGHTS), {"names": ["0.0 s", "0.1 s", "0.2 s"]}),
        (SERIES, "channels", (SIGNAL, WEIGHTS), {"channels": ["x"]}),
        (SERIES, "row_names", (SIGNAL, WEIGHTS), {"row_names": ["a", "b"]}),
        (GRID, "weights", (np.ones(37), (6, 6)), {}),
        (GRID, "weights", (np.ones((2, 3)), (3, 2)), {}),
        (GRID, "weights", (np.ones(4),), {}),
        (GRID, "image", (np.ones((2, 2)),), {"image": np.full((2, 2), 1.5)}),
        (GRID, "image", (np.ones((2, 2)),), {"image": np.full((2, 2), 256)}),
        (GRID, "image", (np.ones((2, 2)),), {"image": np.zeros((2, 2, 4))}),
        (GRID, "image", (np.ones((2, 2)),), {"image": [[np.nan]]}),
        (RANKED, "weights", (["a", "b"], [1.0]), {}),
        (RANKED, "weights", (["a", "b"], np.ones((2, 2))), {}),
        (RANKED, "weights", (["a", "b"], [1, 0]), {"images": [IMAGE]}),
        (RANKED, "weights", ([], []), {}),
        (RANKED, "vmax", (["a"], [1.0]), {"vmax": 0}),
    ],
)
def test_what_does_not_fit_is_refused(functions, name, args, options):
    for function in functions:
        with refused(name):
            function(*args, **options)


def test_a_class_token_among_the_patches_is_named():
    with pytest.raises(ValueError, match="leave a class token out"):
        analysis.grid_html(np.ones(37), (6, 6))
