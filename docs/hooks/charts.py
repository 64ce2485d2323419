"""Charts of the documentation: SVG by matplotlib, in the colours and letters of the page."""

import html
import io
import math
import re

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

LEFT, RIGHT, TOP, BOTTOM = 56, 340, 16, 56
LETTERS = 13
NARROW = 6.5  # what a letter takes across, about
INK = "#010101"  # becomes the colour of the page's text; black itself is not always written
LINE = 16  # between two names
STYLE = {
    "svg.fonttype": "none",  # letters stay letters
    "font.size": LETTERS,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.spines.bottom": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": INK,
    "grid.alpha": 0.2,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
}


def chart(
    series,
    across,
    up,
    caption,
    spoken,
    *,
    log_x=False,
    log_y=False,
    ticks=None,
    height=200,
    named=None,
):
    """Draws a chart of named points, joined by a line where a name has several.

    Args:
        series: Name to its points `(x, y)`, in the order of x.
        across: What the x axis is.
        up: What the y axis is.
        caption: The words below.
        spoken: The chart for those who cannot see it.
        log_x: Whether the x axis is logarithmic.
        log_y: Whether the y axis is logarithmic.
        ticks: Values that are named on the x axis; powers of ten by default.
        height: Height of the axes.
        named: The names that are written; the rest is drawn faintly. By default all.
    """
    named = list(series) if named is None else named
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": spoken}):
        # The names need as much as they are long, about half their height a letter.
        width, total = RIGHT + 40 + 7 * max(map(len, named)), height + 2 * TOP + BOTTOM
        figure = Figure(figsize=(width / 72, total / 72), dpi=72)
        box = [LEFT / width, BOTTOM / total, (RIGHT - LEFT) / width, height / total]
        axes = figure.add_axes(box, facecolor="none")
        axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
        for index, (name, points) in enumerate(series.items()):
            dashes = (0, (4, 3)) if index % 2 else "solid"
            axes.plot(
                *zip(*points, strict=True),
                color=INK,
                linestyle=dashes if len(points) > 1 else "none",
                linewidth=1.5,
                marker="o",
                markersize=6,
                alpha=1 if name in named else 0.3,
            )
        _set_axes(axes, across, ticks)
        # Level letters above the axis are easier to read than upright ones beside it.
        axes.set_title(up, loc="left", x=(TOP - LEFT) / (RIGHT - LEFT), pad=10, fontsize=LETTERS)
        _write_names(figure, axes, {name: series[name][-1] for name in named})
        return _framed(figure, caption, spoken)


def intervals(rows, across, caption, spoken, *, limits=(0, 1), room=RIGHT, letter=8):
    """Draws a line for each name, the first on top: a point with its interval, a bar and a square.

    Args:
        rows: Name to `(point, (low, high), bar, square)`; NaN where there is none.
        across: What the x axis is.
        caption: The words below.
        spoken: The chart for those who cannot see it.
        limits: The ends of the x axis.
        room: Width beside the names.
        letter: Width of a letter of the names.
    """
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": spoken, "axes.grid.axis": "x"}):
        figure, axes = _lines(rows, across, limits, room, letter)
        places = range(len(rows))
        points, ends, bars, squares = zip(*rows.values(), strict=True)
        axes.hlines(places, *zip(*ends, strict=True), color=INK)
        for values, marker, fill, size in (
            (points, "o", INK, 6),
            (bars, "|", INK, 12),
            (squares, "s", "none", 6),
        ):
            style = {"color": INK, "markerfacecolor": fill, "markersize": size}
            axes.plot(values, places, linestyle="none", marker=marker, **style)
        return _framed(figure, caption, spoken)


def leads(rows, region, across, caption, spoken):
    """Draws a line for each name, the first on top: a difference with its interval.

    Args:
        rows: Name to `(difference, low, high)`.
        region: Differences up to this one count as none: a band from it to its negative.
        across: What the x axis is.
        caption: The words below.
        spoken: The chart for those who cannot see it.
    """
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": spoken, "axes.grid.axis": "x"}):
        means, lows, highs = zip(*rows.values(), strict=True)
        edge = 0.05 * (max(highs) - min(lows))
        limits = min(lows) - edge, max(highs) + edge
        # Narrow enough for a phone: a name stands in its line, before the interval or behind it.
        figure, axes = _lines([""] * len(rows), across, limits, room=404)
        room = axes.transData.transform([(low, 0) for low in lows])[:, 0] - TOP
        for place, (name, (_, _, high)) in enumerate(rows.items()):
            start = limits[0] if NARROW * len(name) < room[place] else high + edge / 2
            axes.text(start, place, name, va="center", parse_math=False)
        axes.axvspan(-region, region, color=INK, alpha=0.15, linewidth=0)
        axes.hlines(range(len(rows)), lows, highs, color=INK)
        axes.plot(means, range(len(rows)), "o", color=INK, markersize=6)
        return _framed(figure, caption, spoken)


def slopes(groups, across, caption, spoken):
    """Draws a line for each name, below the head of its group: a point with its range, a square.

    Args:
        groups: Head to name to `((point, low, high), square)`; no square for `None`.
        across: What the x axis is.
        caption: The words below.
        spoken: The chart for those who cannot see it.
    """
    rows = [row for head, lines in groups.items() for row in ((head, None), *lines.items())]
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": spoken, "axes.grid.axis": "x"}):
        known = [
            [*time, memory or 0] for lines in groups.values() for time, memory in lines.values()
        ]
        edges = min(0, *map(min, known)) - 0.1, max(2, *map(max, known)) + 0.1
        # Narrow enough for a phone.
        figure, axes = _lines([name for name, _ in rows], across, edges, room=170, letter=7)
        for place, (_, values) in enumerate(rows):
            if values is None:
                axes.get_yticklabels()[place].set_fontweight("bold")
                continue
            (point, low, high), square = values
            axes.hlines(place, low, high, color=INK)
            axes.plot(point, place, "o", color=INK, markersize=5)
            if square is not None:
                axes.plot(square, place, "s", color=INK, markerfacecolor="none", markersize=9)
        return _framed(figure, caption, spoken)


def _lines(rows, across, limits, room=RIGHT, letter=8, pitch=1.4):
    """A figure with a line for each name, and its axes."""
    height, left = pitch * LINE * len(rows), letter * max(map(len, rows)) or TOP
    width, total = left + room, height + TOP + BOTTOM
    figure = Figure(figsize=(width / 72, total / 72), dpi=72)
    box = [left / width, BOTTOM / total, (room - TOP) / width, height / total]
    axes = figure.add_axes(box, facecolor="none")
    axes.set(xlim=limits, ylim=(len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), list(rows), parse_math=False)
    axes.tick_params(axis="x", pad=10)
    axes.set_xlabel(across, labelpad=6)
    return figure, axes


def _framed(figure, caption, spoken):
    """Writes the figure of HTML around a picture."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    width, height = figure.bbox.size
    return (
        f'<figure class="drawn">\n<svg viewBox="0 0 {width:.6g} {height:.6g}" '
        # Phones show it a little smaller, and what is wider than the page can be moved.
        f'style="max-width: {width:.6g}px; min-width: {round(0.85 * width)}px" '
        f'role="img" aria-label="{html.escape(spoken)}">\n'
        f"{_inside(buffer.getvalue())}\n</svg>\n"
        f"<figcaption>{html.escape(caption)}</figcaption>\n</figure>"
    )


def _set_axes(axes, across, ticks):
    """Sets limits, named values and titles."""
    points = [place for line in axes.lines for place in line.get_xydata().tolist()]
    for axis, values in (
        (axes.xaxis, [x for x, _ in points]),
        (axes.yaxis, [y for _, y in points]),
    ):
        low, high = min(values), max(values)
        if axis.get_scale() == "log":
            axis.set_major_locator(LogLocator(numticks=20))
            limits = 10 ** math.floor(math.log10(low)), 10 ** (math.floor(math.log10(high)) + 1)
            axis.set_minor_locator(NullLocator())
        else:
            axis.set_major_locator(MaxNLocator(6, integer=axis is axes.yaxis))
            limits = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
        axis.set_major_formatter(FuncFormatter(_short))
        (axes.set_xlim if axis is axes.xaxis else axes.set_ylim)(*limits)
    if ticks is not None:
        low = 0 if axes.get_xscale() == "linear" else min(ticks)
        axes.set_xlim(low, max(ticks))
        axes.set_xticks(_apart_across(axes, ticks))
    axes.tick_params(axis="x", pad=10)
    axes.set_xlabel(across, labelpad=6)


def _short(value, place=None):
    """Writes a value of an axis: `0.1`, `10,000`, `100 M`."""
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value:,g}"


def _apart_across(axes, ticks):
    """Drops values whose names would meet."""
    kept = []
    for tick in sorted(ticks):
        at = axes.transData.transform((tick, 1))[0]
        if not kept or at - axes.transData.transform((kept[-1], 1))[0] >= 2 * LETTERS:
            kept.append(tick)
    return kept


def _write_names(figure, axes, ends):
    """Writes names on the right, moved apart where they would meet, with lines to their points."""
    places = {name: axes.transData.transform(end) for name, end in ends.items()}
    heights, last = {}, math.inf
    for name in sorted(places, key=lambda name: -places[name][1]):
        last = heights[name] = min(places[name][1], last - LINE)
    limit = BOTTOM
    for name in reversed(heights):
        limit = heights[name] = max(heights[name], limit)
        limit += LINE
    for name, (x, y) in places.items():
        leader = Line2D([x, RIGHT + 26], [y, heights[name]], transform=None)
        leader.set(color=INK, alpha=0.3, linewidth=1)
        figure.add_artist(leader)
        # A $ in a name is a dollar, and no formula.
        figure.text(
            (RIGHT + 30) / figure.bbox.width,
            (heights[name] - 4) / figure.bbox.height,
            name,
            parse_math=False,
        )


def _inside(svg):
    """Takes the drawing out of matplotlib's `<svg>`, without what belongs to a whole file."""
    # Nothing is cut off, and the clip paths stand last.
    body = svg[svg.index("<g ") : svg.rindex("<defs>")]
    for needless in (
        r"<!--.*?-->",
        r' clip-path="[^"]+"',
        r' transform="rotate\(-0 [^"]+"',
        r" font-family: [^;]+;",
        r'(?<=<g) id="[^"]+"',  # it would stand twice on a page with two charts
        r"(?<=\d\.\d\d)\d+",
    ):
        body = re.sub(needless, "", body, flags=re.DOTALL)
    body = body.replace("xlink:href", "href").replace(INK, "currentColor")
    return re.sub(r"\s*\n\s*", "\n", body).strip()
