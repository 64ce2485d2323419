"""Writes the page of an attention report."""

import base64
import io
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from keras_attnpool.analysis._axes import plain_grid
from keras_attnpool.analysis.html_heatmaps import heatmap_html, page
from keras_attnpool.analysis.score_table import ScoreTable
from keras_attnpool.types import Array, Bools, PathLike

SHOWN = 6
# The picture shows how the ranking of words changes, so it leaves out tests that keep the ranking.
NO_ORDER = ("as it is", "uniform weights")


def write_report(
    path: PathLike,
    title: str,
    grades: ScoreTable,
    tests: ScoreTable,
    names: list[list[str]],
    attributions: Mapping[str, Array],
    mask: Bools,
) -> Path:
    """Writes tables, pictures and heat maps to one page, and returns its path."""
    template = resources.files(__package__).joinpath("report_page.html").read_text("utf-8")
    content = Template(template).substitute(
        grades=grades._repr_html_(),
        tests=tests._repr_html_(),
        pictures=_pictures(tests, attributions, mask),
        heat_maps=_heat_maps(names, attributions, mask),
    )
    path = Path(path)
    path.write_text(page(title, content, lang="en"), encoding="utf-8", newline="\n")
    return path


def _heat_maps(names: list[list[str]], attributions: Mapping[str, Array], mask: Bools) -> str:
    rows = np.flatnonzero(mask.any(axis=1))[:SHOWN].tolist()
    return "\n".join(
        heatmap_html(names[row], values[row][mask[row]], title=f"row {row}: {name}")
        for row in rows
        for name, values in attributions.items()
    )


def _pictures(tests: ScoreTable, attributions: Mapping[str, Array], mask: Bools) -> str:
    """Draws two pictures as image data; without matplotlib it draws none."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return ""
    figures = [Figure(figsize=(6, 4), layout="constrained") for _ in range(2)]
    ordered = {name: row["tau"] for name, row in tests.per_text.items() if name not in NO_ORDER}
    ax = figures[0].subplots()
    taus = [values[~np.isnan(values)] for values in ordered.values()]
    ax.boxplot(taus)
    ax.set_xticks(range(1, len(taus) + 1), list(ordered), rotation=30, ha="right")
    ax.set(ylabel="Kendall's tau with the attention as it is", ylim=(-1.05, 1.05))
    plain_grid(ax, axis="y")
    ax = figures[1].subplots()
    names, values = zip(*attributions.items(), strict=True)
    ax.plot(*(each[mask] for each in values), ".", markersize=4, alpha=0.4)
    ax.set(xlabel=f"{names[0]} of a step", ylabel=f"{names[1]}: probability lost")
    plain_grid(ax)
    alts = ("What becomes of the order of steps", "Attention against effect, a point for each step")
    return "".join(_image(*each) for each in zip(figures, alts, strict=True))


def _image(figure: Any, alt: str) -> str:
    with io.BytesIO() as file:
        figure.savefig(file, format="png", dpi=150)
        content = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{alt}" src="data:image/png;base64,{content}">'
