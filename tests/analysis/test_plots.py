"""Every plot draws the numbers it is given, labelled, on the Axes it is given."""

import builtins

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from refusals import refused

from keras_attnpool import analysis  # noqa: E402
from keras_attnpool.analysis import DeletionCurve  # noqa: E402

pytestmark = pytest.mark.one_backend("draws NumPy arrays")

CURVE = DeletionCurve(np.array([0, 0.5]), np.array([0.9, 0.3]), np.array([0.9, 0.7]), 0.6, 0.8, 10)
PLOTS = {
    "heatmap": lambda **k: analysis.plot_heatmap(["a", "b"], [[0.9, 0.1], [0.3, 0.7]], **k),
    "distribution": lambda **k: analysis.plot_weight_distribution(
        {"1 star": np.arange(6.0), "2 stars": np.array([1.0]), "3 stars": np.array([])}, **k
    ),
    "heads": lambda **k: analysis.plot_head_similarity([[1, 0.2], [0.2, 1]], **k),
    "deletion": lambda **k: analysis.plot_deletion_curve(CURVE, **k),
}


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)
def test_labelled_and_on_the_given_axes(plot):
    ax = plot(title="$\\frac$ title")
    assert ax.get_xlabel() and ax.get_ylabel() and ax.get_title() == "$\\frac$ title"
    ax.figure.savefig("/dev/null", format="png")
    mine = pyplot.subplots()[1]
    assert plot(ax=mine) is mine
    mine.figure.savefig("/dev/null", format="png")
    with refused("ax"):
        plot(ax="axes")


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)
def test_without_matplotlib_the_extra_is_named(plot, monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install keras_attnpool\[plots\]"):
        plot()


class TestHeatmap:
    def test_numbers_and_names(self):
        ax = PLOTS["heatmap"]()
        np.testing.assert_allclose(ax.images[0].get_array(), [[0.9, 0.1], [0.3, 0.7]])
        assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b"]
        assert [t.get_text() for t in ax.get_yticklabels()] == ["1", "2"]
        assert ax.images[0].get_clim() == (0, 0.9)
        assert ax.figure.axes[1].get_ylabel() == "attention weight"

    def test_signed_and_single(self):
        ax = analysis.plot_heatmap(["a", "b"], [-0.5, 0.2])
        assert ax.images[0].get_clim() == (-0.5, 0.5)
        assert analysis.plot_heatmap(["a"], [0.0]).images[0].get_clim() == (0, 1)

    def test_hostile_tokens(self):
        tokens = ["$\\frac$", "$", "<b>", "\\alpha", "_"]
        ax = analysis.plot_heatmap(tokens, np.full(5, 0.2))
        ax.figure.savefig("/dev/null", format="png")
        assert [t.get_text() for t in ax.get_xticklabels()] == tokens

    def test_ten_thousand_tokens(self):
        ax = analysis.plot_heatmap(["w"] * 10_000, np.ones((2, 10_000)))
        assert len(ax.get_xticks()) <= 60
        with refused("weights", "plot_heatmap", "1 steps"):
            analysis.plot_heatmap(["a"], [0.5, 0.5])


class TestWeightDistribution:
    def test_curves_are_densities(self):
        rng = np.random.default_rng(0)
        weights = rng.normal(5, 1, 200)
        ax = analysis.plot_weight_distribution({"x": weights, "few": weights[:2]})
        x, y = ax.lines[0].get_data()
        np.testing.assert_allclose(((y[1:] + y[:-1]) / 2 * np.diff(x)).sum(), 1, atol=0.02)
        assert abs(x[y.argmax()] - 5) < 0.5
        assert legend(ax) == ["x (n = 200)", "few (n = 2)"]

    def test_equal_weights_have_a_peak(self):
        ax = analysis.plot_weight_distribution({"x": np.ones(9)})
        x, y = ax.lines[0].get_data()
        assert np.isfinite(y).all() and abs(x[y.argmax()] - 1) < 0.01

    def test_nothing(self):
        with refused("by_class", "plot_weight_distribution"):
            analysis.plot_weight_distribution({"x": np.array([])})


def test_head_similarity():
    ax = PLOTS["heads"]()
    assert ax.get_title() == "mean off the diagonal: 0.20"
    assert [t.get_text() for t in ax.texts] == ["1.00", "0.20", "0.20", "1.00"]
    assert not analysis.plot_head_similarity(np.eye(30)).texts
    with refused("similarity", "plot_head_similarity"):
        analysis.plot_head_similarity([[1, 0]])


def test_deletion():
    ax = PLOTS["deletion"]()
    np.testing.assert_allclose(ax.lines[0].get_data(), [[0, 50], [0.9, 0.3]])
    assert legend(ax) == ["most attended (area 0.60)", "random (area 0.80)"]
    analysis.plot_deletion_curve(CURVE, ax, name="saliency", control=False)
    assert legend(ax)[2:] == ["saliency (area 0.60)"]
