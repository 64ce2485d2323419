"""Draws the weights of series, patches and bags, as self-contained HTML or in matplotlib.

The colours are the same as in the heat maps of words. The largest weight, or `vmax`, has the full
colour.
"""

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._axes import axes_or_new, plain_legend
from keras_attnpool.analysis.html_heatmaps import checked_heatmap, escaped, figure
from keras_attnpool.analysis.plotted_heatmaps import colours
from keras_attnpool.types import Array, Float64s

# Sizes in units of the drawing, which fills the width of the page.
_WIDTH, _SIGNAL, _STRIP = 720, 120, 18
# The first line is darker than the others. The third and later lines are dashed.
_DASHES = ("", "", "6 3", "2 3", "8 3 2 3")


def series_html(
    signal: Any,
    weights: Any,
    *,
    names: Sequence[float] | None = None,
    channels: Sequence[str] | None = None,
    title: str | None = None,
    label: str | None = None,
    row_names: Sequence[str] | None = None,
    vmax: float | None = None,
    unit: str | None = None,
) -> str:
    """Draws a series as HTML, and its weights as a coloured strip on the same time axis.

    Args:
        signal: Float array `(time,)`, or `(time, channels)` with one line per channel.
        weights: Float array `(time,)`, or `(rows, time)` with one row per head.
        names: The times of the steps, such as seconds, in increasing order. Defaults to the steps'
            numbers.
        channels: Name of each channel, for a legend. By default there is no legend.
        row_names: Name of each row. Defaults to the heads' numbers.
        title: A heading.
        label: A second line, for instance the prediction.
        vmax: The absolute weight that gets the full colour. Defaults to the largest absolute
            weight. To compare pictures, give all of them the same `vmax`.
        unit: Note beside the colour scale.

    Returns:
        A `<style>` and a `<figure>`. `IPython.display.HTML` shows the piece in a notebook.

    Raises:
        ValueError: If the data do not fit together, or if a number is not finite.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.analysis import series_html
    >>> piece = series_html(np.sin(np.arange(50) / 5), np.ones(50) / 50, names=np.arange(50) / 10)
    >>> "<svg" in piece and "4.9" in piece
    True
    """
    lines, times, rows, vmax = _series(
        "series_html", signal, weights, names, row_names, vmax, channels
    )
    edges = _edges(times)
    places = _WIDTH * (edges - edges[0]) / (edges[-1] - edges[0])
    middles = (places[1:] + places[:-1]) / 2
    low, high = lines.min(), lines.max()
    parts, named = [], []
    for channel, line in enumerate(lines.T):
        heights = _SIGNAL * (1 - (line - low) / (high - low or 1))
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(middles, heights, strict=True))
        parts.append(f'<polyline points="{points}"{_dashes(channel)}/>')
    for number, row in enumerate(rows):
        top = _SIGNAL + 8 + number * (_STRIP + 2)
        if row_names is not None:
            named.append(f'<text x="2" y="{top + 13}">{escaped(row_names[number])}</text>')
        for place, (weight, time) in enumerate(zip(row.tolist(), times.tolist(), strict=True)):
            where = places[place], top, places[place + 1] - places[place], _STRIP
            name = "" if row_names is None else f"{row_names[number]}, "
            parts.append(_cell(where, weight, vmax, f"{name}{time:g}: {weight:.3g}"))
    height = _SIGNAL + 8 + len(rows) * (_STRIP + 2) + 16
    for place in sorted({0, len(times) // 2, len(times) - 1}):
        anchor = "start" if not place else "end" if place == len(times) - 1 else "middle"
        parts.append(
            f'<text x="{middles[place]:.1f}" y="{height - 3}" text-anchor="{anchor}">'
            f"{times[place]:g}</text>"
        )
    for channel, name in enumerate(() if channels is None else channels):
        left = _WIDTH * channel / lines.shape[1]
        stroke = "dim" if channel else "fg"
        parts.append(
            f'<line x1="{left:.1f}" x2="{left + 24:.1f}" y1="{height + 9}" y2="{height + 9}" '
            f'style="stroke:var(--{stroke})"{_dashes(channel)}/>'
            f'<text x="{left + 28:.1f}" y="{height + 13}">{escaped(name)}</text>'
        )
    height += 18 * (channels is not None)
    told = f"{title or 'a series'}: the signal above its weights"
    drawing = _drawing(_WIDTH, height, [*parts, *named], "series", told)
    return figure(drawing, title, label, rows, vmax, unit)


def grid_html(
    weights: Any,
    grid: tuple[int, int] | None = None,
    *,
    image: Any = None,
    title: str | None = None,
    label: str | None = None,
    vmax: float | None = None,
    unit: str | None = None,
) -> str:
    """Draws the weights of an image's patches over the image, as HTML.

    Args:
        weights: Float array `(height, width)`, or `(height * width,)` with `grid`. Leave out the
            weight of a class token.
        grid: Numbers of rows and columns of patches.
        image: The image under the weights, `(height, width)` or `(height, width, 3)`: integers from
            0 to 255, or numbers in [0, 1].
        title: A heading.
        label: A second line, for instance the prediction.
        vmax: The absolute weight that gets the full colour. Defaults to the largest absolute
            weight. To compare pictures, give all of them the same `vmax`.
        unit: Note beside the colour scale.

    Returns:
        A `<style>` and a `<figure>`. `IPython.display.HTML` shows the piece in a notebook.

    Raises:
        ValueError: If the data do not fit together, or if a number is not finite.

    Example:

    >>> import numpy as np
    >>> from keras_attnpool.analysis import grid_html
    >>> piece = grid_html([0.1, 0.2, 0.3, 0.4], (2, 2), image=np.zeros((8, 8)))
    >>> 'data:image/png' in piece and "row 2, column 2: 0.4" in piece
    True
    """
    cells, vmax = _grid("grid_html", weights, grid, vmax)
    size = min(64, _WIDTH // max(cells.shape))
    height, width = size * cells.shape[0], size * cells.shape[1]
    parts = []
    if image is not None:
        parts.append(
            f'<image href="{_png(image, "grid_html")}" width="{width}" height="{height}" '
            'preserveAspectRatio="none"/>'
        )
    for (row, column), weight in np.ndenumerate(cells):
        told = f"row {row + 1}, column {column + 1}: {weight:.3g}"
        parts.append(_cell((column * size, row * size, size, size), weight, vmax, told, 0.75))
    told = f"{title or 'weights'}: a grid of patches"
    drawing = _drawing(width, height, parts, "patches", told)
    return figure(drawing, title, label, cells, vmax, unit)


def ranked_html(
    names: Sequence[Any],
    weights: Any,
    *,
    top: int | None = 10,
    images: Sequence[Any] | None = None,
    title: str | None = None,
    label: str | None = None,
    vmax: float | None = None,
    unit: str | None = None,
) -> str:
    """Lists the instances of a bag as HTML, the largest weight first.

    Args:
        names: The name of each instance, such as its file.
        weights: Float array `(time,)`, one number per instance.
        top: Number of instances that are listed. `None` lists all.
        images: `None`, or the image of each instance, as in `grid_html`.
        title: A heading.
        label: A second line, for instance the prediction.
        vmax: The absolute weight that gets the full colour. Defaults to the largest absolute
            weight. To compare pictures, give all of them the same `vmax`.
        unit: Note beside the colour scale.

    Returns:
        A `<style>` and a `<figure>`. `IPython.display.HTML` shows the piece in a notebook.

    Raises:
        ValueError: If the data do not fit together, or if a number is not finite.

    Example:

    >>> from keras_attnpool.analysis import ranked_html
    >>> piece = ranked_html(["a.png", "b.png"], [0.2, 0.8])
    >>> piece.index("b.png") < piece.index("a.png")
    True
    """
    owner = "ranked_html"
    steps, row, order, vmax = _ranked(owner, names, weights, top, images, vmax)
    lines = []
    for place in order.tolist():
        name, picture = escaped(steps[place]), ""
        if images is not None:
            picture = f'<img alt="{name}" src="{_png(images[place], owner)}">'
        kind = ' class="n"' if row[place] < 0 else ""
        width = 100 * min(abs(row[place]) / (vmax or 1), 1)
        lines.append(
            f"<tr><th>{name}</th><td>{picture}</td>"
            f'<td><i{kind} style="--w:{width / 100:.3g};width:{width:.1f}%"></i></td>'
            f"<td>{row[place]:.3g}</td></tr>"
        )
    body = f'<table class="ranked"><tbody>{"".join(lines)}</tbody></table>'
    left = len(steps) - len(order)
    if left:
        body += (
            f'<p class="rest">{left} more, together {np.abs(np.delete(row, order)).sum():.3g}</p>'
        )
    return figure(body, title, label, row, vmax, unit)


def plot_series(
    signal: Any,
    weights: Any,
    ax: Any = None,
    *,
    names: Sequence[float] | None = None,
    channels: Sequence[str] | None = None,
    title: str | None = None,
    row_names: Sequence[str] | None = None,
    vmax: float | None = None,
    colorbar_label: str = "attention weight",
) -> Any:
    """Draws a series, and its weights as a coloured strip on the same time axis.

    Args:
        signal: Float array `(time,)`, or `(time, channels)` with one line per channel.
        weights: Float array `(time,)`, or `(rows, time)` with one row per head.
        names: The times of the steps, such as seconds, in increasing order. Defaults to the steps'
            numbers.
        channels: Name of each channel, for a legend. By default there is no legend.
        row_names: Name of each row. Defaults to the heads' numbers.
        ax: The Axes to draw on. Defaults to the Axes of a new figure.
        title: The title.
        vmax: The weight that gets the full colour. Defaults to the largest weight.
        colorbar_label: Meaning of the colours.

    Returns:
        The Axes.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If the data do not fit together or are not finite.

    Example:

    ```python
    import numpy as np
    from keras_attnpool.analysis import plot_series

    ax = plot_series(np.sin(np.arange(50) / 5), np.ones(50) / 50, names=np.arange(50) / 10)
    assert ax.get_xlabel() == "time"
    ```
    """
    owner = "plot_series"
    lines, times, rows, top = _series(owner, signal, weights, names, row_names, vmax, channels)
    ax = axes_or_new(ax, owner, (8, 2.6 + 0.2 * len(rows)), title)
    drawn = ax.plot(times, lines, linewidth=1)
    if channels is not None:
        labels = [str(name) for name in channels]
        place = {"loc": "upper right", "fontsize": 8, "frameon": True}
        plain_legend(ax, handles=drawn, labels=labels, **place)
    share = min(0.08 * len(rows), 0.5)  # the strip's share of the height
    low, high = lines.min(), lines.max()
    room = (high - low or 1.0) / (0.92 - share)
    ax.set_ylim(high + 0.04 * room - room, high + 0.04 * room)
    heights = np.linspace(share, 0, len(rows) + 1)
    strip = ax.pcolormesh(
        _edges(times), heights, rows, transform=ax.get_xaxis_transform(), **colours(rows, top)
    )
    ax.set_xlim(*_edges(times)[[0, -1]])
    for name, height in zip(row_names or (), heights[:-1], strict=False):
        ax.annotate(
            str(name),
            (0, height - share / len(rows) / 2),
            xycoords="axes fraction",
            fontsize=8,
            va="center",
            parse_math=False,
        )
    ax.set_xlabel("time")
    ax.figure.colorbar(strip, ax=ax, label=colorbar_label)
    return ax


def plot_grid(
    weights: Any,
    grid: tuple[int, int] | None = None,
    ax: Any = None,
    *,
    image: Any = None,
    title: str | None = None,
    vmax: float | None = None,
    colorbar_label: str = "attention weight",
) -> Any:
    """Draws the weights of an image's patches over the image.

    Args:
        weights: Float array `(height, width)`, or `(height * width,)` with `grid`. Leave out the
            weight of a class token.
        grid: Numbers of rows and columns of patches.
        image: The image under the weights, `(height, width)` or `(height, width, 3)`: integers from
            0 to 255, or numbers in [0, 1].
        ax: The Axes to draw on. Defaults to the Axes of a new figure.
        title: The title.
        vmax: The weight that gets the full colour. Defaults to the largest weight.
        colorbar_label: Meaning of the colours.

    Returns:
        The Axes.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If the data do not fit together or are not finite.

    Example:

    ```python
    import numpy as np
    from keras_attnpool.analysis import plot_grid

    ax = plot_grid([0.1, 0.2, 0.3, 0.4], (2, 2), image=np.zeros((8, 8)))
    assert len(ax.images) == 2
    ```
    """
    cells, top = _grid("plot_grid", weights, grid, vmax)
    ax = axes_or_new(ax, "plot_grid", (4.4, 3.6), title)
    extent = (0, cells.shape[1], cells.shape[0], 0)
    options = colours(cells, top)
    if image is not None:
        ax.imshow(_pixels(image, "plot_grid"), extent=extent)
        # A patch without weight shows the image.
        options["alpha"] = 0.75 * np.minimum(np.abs(cells) / options["vmax"], 1)
    drawn = ax.imshow(cells, extent=extent, interpolation="nearest", **options)
    ax.set_xticks([])
    ax.set_yticks([])
    drawn_scale = ax.figure.colorbar(drawn, ax=ax, label=colorbar_label)
    drawn_scale.solids.set_alpha(1)
    return ax


def plot_ranked(
    names: Sequence[Any],
    weights: Any,
    ax: Any = None,
    *,
    top: int | None = 10,
    images: Sequence[Any] | None = None,
    title: str | None = None,
    vmax: float | None = None,
    xlabel: str = "attention weight",
) -> Any:
    """Draws one bar per instance of a bag, with the largest weight first.

    Args:
        names: The name of each instance, such as its file.
        weights: Float array `(time,)`, one number per instance.
        top: Number of instances that are listed. `None` lists all.
        images: `None`, or the image of each instance, as in `grid_html`.
        ax: The Axes to draw on. Defaults to the Axes of a new figure.
        title: The title.
        vmax: The weight that gets the full colour. Defaults to the largest weight.
        xlabel: Meaning of the bars.

    Returns:
        The Axes.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If the data do not fit together or are not finite.

    Example:

    ```python
    from keras_attnpool.analysis import plot_ranked

    ax = plot_ranked(["a.png", "b.png"], [0.2, 0.8])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b.png", "a.png"]
    ```
    """
    owner = "plot_ranked"
    steps, row, order, full = _ranked(owner, names, weights, top, images, vmax)
    ax = axes_or_new(ax, owner, (5.5, 1 + 0.32 * len(order)), title)
    from matplotlib import colormaps
    from matplotlib.offsetbox import AnnotationBbox, OffsetImage

    options = colours(row, full)
    low, high = options["vmin"], options["vmax"]
    shades = colormaps[options["cmap"]]((row[order] - low) / (high - low))
    ax.barh(range(len(order)), row[order], color=shades, edgecolor="0.6", linewidth=0.5)
    ax.set_yticks(range(len(order)), [steps[place] for place in order], parse_math=False)
    ax.invert_yaxis()
    if images is not None:
        ax.tick_params(axis="y", pad=30)
        for height, place in enumerate(order.tolist()):
            pixels = _pixels(images[place], owner)
            shown = OffsetImage(pixels, zoom=20 / max(pixels.shape[:2]))
            where: Any = {"xycoords": ("axes fraction", "data"), "box_alignment": (1.25, 0.5)}
            ax.add_artist(AnnotationBbox(shown, (0, height), frameon=False, **where))
    ax.set_xlabel(xlabel)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _series(
    owner: str, signal: Any, weights: Any, names: Any, row_names: Any, vmax: Any, channels: Any
) -> tuple[Float64s, Float64s, Float64s, float]:
    """The lines `(time, channels)`, the times, the weights `(rows, time)` and `vmax`."""
    lines = np.asarray(signal, np.float64)
    lines = lines[:, None] if lines.ndim == 1 else lines
    try:
        times = np.arange(1.0, len(lines) + 1) if names is None else np.asarray(names, np.float64)
    except (TypeError, ValueError) as error:
        must = "be the increasing times of the steps, numbers without a unit"
        raise ArgumentError("names", must, f"{names!r:.80}", owner) from error
    if lines.ndim != 2 or not lines.size or not np.isfinite(lines).all():
        must = "be finite numbers (time,) or (time, channels)"
        raise ArgumentError("signal", must, f"shape {np.shape(signal)}", owner)
    if times.shape != lines.shape[:1] or not (np.diff(times) > 0).all():
        must, received = f"be {len(lines)} increasing times", f"shape {times.shape}"
        raise ArgumentError("names", must, received, owner)
    if channels is not None and (isinstance(channels, str) or len(channels) != lines.shape[1]):
        must = f"have one name per channel, {lines.shape[1]} in all"
        raise ArgumentError("channels", must, f"{channels!r}", owner)
    _, rows, full = checked_heatmap(owner, times.tolist(), weights, row_names, vmax)
    return lines, times, rows, full


def _grid(owner: str, weights: Any, grid: Any, vmax: Any) -> tuple[Float64s, float]:
    """The weights `(height, width)` and `vmax`."""
    cells = np.asarray(weights, np.float64)
    if cells.ndim == 1 and grid is not None and cells.size == np.prod(grid):
        cells = cells.reshape(grid)
    if cells.ndim != 2 or not cells.size or (grid is not None and cells.shape != tuple(grid)):
        must = (
            "be a number per patch, (height, width), or (height * width,) with "
            "`grid`; leave a class token out"
        )
        raise ArgumentError("weights", must, f"shape {np.shape(weights)}, grid={grid}", owner)
    _, rows, full = checked_heatmap(owner, range(cells.size), cells.ravel(), None, vmax)
    return rows.reshape(cells.shape), full


def _ranked(
    owner: str, names: Any, weights: Any, top: Any, images: Any, vmax: Any
) -> tuple[list[str], Float64s, Array, float]:
    """The names, the weights, the indices of the largest weights, and `vmax`."""
    steps, rows, full = checked_heatmap(owner, names, weights, None, vmax)
    if len(rows) != 1 or not steps or (images is not None and len(images) != len(steps)):
        received = f"weights of shape {np.shape(weights)}"
        received += "" if images is None else f", {len(images)} images"
        must = "be a number per instance, and `images` one each"
        raise ArgumentError("weights", must, received, owner)
    return steps, rows[0], np.argsort(-np.abs(rows[0]), kind="stable")[:top], full


def _edges(times: Float64s) -> Float64s:
    """The limits of the steps: the start of each step, and the end of the last step."""
    if len(times) == 1:
        return np.array([times[0] - 0.5, times[0] + 0.5])
    middles = (times[1:] + times[:-1]) / 2
    first, last = 2 * times[0] - middles[0], 2 * times[-1] - middles[-1]
    return np.concatenate([[first], middles, [last]])


def _cell(
    where: tuple[float, ...], weight: float, vmax: float, told: str, most: float = 1.0
) -> str:
    x, y, width, height = where
    share = most * min(abs(weight) / vmax, 1) if vmax else 0.0
    kind = ' class="n"' if weight < 0 else ""
    return (
        f'<rect{kind} x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height}" '
        f'style="--w:{share:.3g}"><title>{escaped(told)}</title></rect>'
    )


def _dashes(channel: int) -> str:
    dashes = _DASHES[channel % len(_DASHES)]
    return f' stroke-dasharray="{dashes}"' if dashes else ""


def _drawing(width: int, height: int, parts: list[str], kind: str, told: str) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" style="max-width:{width}px" '
        f'role="img" aria-label="{escaped(told)}">{"".join(parts)}</svg>'
    )


def _pixels(image: Any, owner: str) -> Array:
    """An image as `(height, width, 3)` integers from 0 to 255."""
    pixels = np.asarray(image)
    if pixels.ndim == 2 or pixels.shape[2:] == (1,):
        pixels = np.repeat(pixels.reshape(*pixels.shape[:2], 1), 3, axis=2)
    top = 255 if np.issubdtype(pixels.dtype, np.integer) else 1
    if pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        must, received = "have shape (height, width) or (height, width, 3)", f"{np.shape(image)}"
        raise ArgumentError("image", must, received, owner)
    if not (np.isfinite(pixels).all() and 0 <= pixels.min() <= pixels.max() <= top):
        must = "be integers from 0 to 255 or numbers in [0, 1]"
        received = f"{pixels.dtype} from {pixels.min()} to {pixels.max()}"
        raise ArgumentError("image", must, received, owner)
    return np.asarray(pixels * (255 / top)).round().astype(np.uint8)


def _png(image: Any, owner: str) -> str:
    """Encodes an image as a data URL."""
    pixels = _pixels(image, owner)
    height, width = pixels.shape[:2]
    # Each line of a PNG image begins with the number of its filter; 0 means no filter.
    lines = np.pad(pixels.reshape(height, -1), ((0, 0), (1, 0))).tobytes()

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    content = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + content).decode()
