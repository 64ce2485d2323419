"""Draws small matrices with their numbers as self-contained HTML."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis.html_heatmaps import STYLE, escaped, full_colour


def matrices_html(
    matrices: Mapping[str, tuple[Any, Sequence[str]]],
    row_names: Sequence[str],
    *,
    vmax: float | None = None,
) -> str:
    """Draws matrices with their numbers in coloured cells, as a piece of HTML.

    Use this function for matrices that are small enough to read, such as the matrices of one
    sentence. The HTML loads no script, no file and no font. The colours suit light and dark pages.
    On a narrow page the matrices are stacked. Negative numbers have a second colour.

    Args:
        matrices: A dict from titles to pairs `(matrix, column_names)`: a float array `(rows,
            columns)` and the names of its columns. Minus infinity marks a forbidden pair. The cell
            of a forbidden pair has a dashed frame.
        row_names: Names of the rows, the same for all matrices.
        vmax: The absolute value that gets the full colour. Defaults to the largest finite absolute
            value of each matrix. To compare matrices, set `vmax`.

    Returns:
        A `<style>` and a `<figure>`. `IPython.display.HTML` shows the piece in a notebook.

    Raises:
        ValueError: If a matrix and its names do not fit together, if a matrix contains NaN or
            infinity, or if `vmax` is not positive.

    Example:

    ```python
    import numpy as np
    from keras_attnpool.analysis import matrices_html

    words = ["not", "bad"]
    piece = matrices_html({"weights": (np.array([[0.7, 0.3], [0.5, 0.5]]), words)}, words)
    assert ">0.70</td>" in piece
    ```
    """
    parts = [STYLE, '<figure class="attn-map"><div class="panels">']
    for title, (matrix, columns) in matrices.items():
        parts.append(_table(title, np.asarray(matrix, np.float64), columns, row_names, vmax))
    parts.append("</div></figure>")
    return "".join(parts)


def _table(
    title: str, matrix: Any, columns: Sequence[str], rows: Sequence[str], vmax: float | None
) -> str:
    if matrix.shape != (len(rows), len(columns)):
        raise ArgumentError(
            "matrices",
            f"have shape ({len(rows)}, {len(columns)}), as there are {len(rows)} `row_names` "
            f"and {len(columns)} names of columns",
            f"shape {matrix.shape} under the title {title!r}",
            "matrices_html",
        )
    finite = matrix[np.isfinite(matrix)]
    if len(finite) + np.isneginf(matrix).sum() < matrix.size:
        must = "be finite numbers or minus infinity"
        received = f"NaN or infinity under the title {title!r}"
        raise ArgumentError("matrices", must, received, "matrices_html")
    top = full_colour(vmax, finite, "matrices_html") or 1.0
    head = "".join(f"<th>{escaped(name)}</th>" for name in columns)
    body = "".join(
        f"<tr><th>{escaped(name)}</th>{''.join(_cell(value, top) for value in row)}</tr>"
        for name, row in zip(rows, matrix.tolist(), strict=True)
    )
    return (
        f'<table class="matrix"><caption>{escaped(title)}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(value: float, top: float) -> str:
    if np.isneginf(value):
        return '<td class="no">−∞</td>'
    value += 0.0  # no -0
    number = f"{value:.0f}" if value == round(value) else f"{value:.2f}"
    kind = ' class="n"' if value < 0 else ""
    return f'<td{kind} style="--w:{min(abs(value) / top, 1):.3g}">{number.replace("-", "−")}</td>'
