"""The picture of a paper's claims, for the notebooks: our intervals beside the paper's figures."""

from html import escape
from typing import Any

import numpy as np

VERDICTS = {1: "confirmed", 0: "level", -1: "other way"}
STYLE = (
    "<style>.claims{margin:1em 0;font:13px/1.35 system-ui,sans-serif}"
    ".claims figcaption{max-width:none;margin:0 0 .5em;font-style:normal;text-align:left}"
    ".claims figcaption b{display:block;font-size:15px}"
    ".claims table,.claims table :is(tr,th,td){border:0;background:none;color:inherit}"
    ".claims table{display:table;width:100%;margin:0;border-collapse:collapse;font-size:13px}"
    ".claims :is(th,td){padding:0 .5em 0 0;font-weight:normal;text-align:left;white-space:nowrap}"
    ".claims tr.claim th{padding-top:.6em;white-space:normal}"
    ".claims td.bar{width:45%;min-width:8em;padding:0 1.4em 0 0}"
    ".claims svg{display:block;width:100%;height:20px;overflow:visible}"
    ".claims svg *{stroke:#808080;fill:#808080}.claims .zero{stroke-dasharray:2 2}"
    ".claims text{stroke:none!important;fill:currentColor!important;text-anchor:middle}"
    ".claims .s1 *{stroke:#1a80d9;fill:#1a80d9}.claims .s-1 *{stroke:#d95f02;fill:#d95f02}"
    ".claims .paper{fill:none!important;stroke:currentColor!important;stroke-width:1.5}"
    "@media(max-width:36em){.claims table{font-size:11px}.claims td.bar{min-width:5em}}</style>"
)


def verdict(low, high):
    """1 if the interval lies above zero, -1 if it lies below, else 0."""
    return (low > 0) - (high < 0)


def moves(
    rng: np.random.Generator, draws: int, *rows: Any, spread: tuple[float, int] | None = None
) -> np.ndarray:
    """How far other runs would move the mean of a row, or the difference of two: `(50, draws)`.

    By Student's t with the `spread` that all rows have, else by Welch's: three runs tell little of
    their own spread, and drawn from themselves they give an interval that is too short. The tails
    of t need many draws. The spread of a single run is unknown, and taken as none.
    """
    if spread:
        total, degrees = spread[0] * sum(1 / len(row) for row in rows), float(spread[1])
    else:
        several = [row for row in rows if len(row) > 1]
        variances = np.array([np.var(row, ddof=1) / len(row) for row in several])
        total = variances.sum()
        each = sum(variances**2 / [len(row) - 1 for row in several])
        degrees = total**2 / each if total else 1.0
    if not total:
        return np.zeros((1, draws))
    return total**0.5 * rng.standard_t(degrees, size=(50, draws))


def half_interval(variance, *rows):
    """Half of the 95 % interval of a mean, or of the difference of two.

    Args:
        variance: What the choice of the test items adds to its variance.
        rows: The figures of the runs of each row. Runs count by Welch's t; a single run tells
            nothing of other runs.
    """
    rng, draws = np.random.default_rng(0), 2000
    items = rng.normal(0, variance**0.5, (50, draws))
    return float(np.quantile(np.abs(items + moves(rng, draws, *rows)), 0.95))


def outcomes(claims, sets):
    """By claim and set: the verdict, the paper's points or None, ours, and our interval.

    Args:
        claims: Two rows by the words of each claim, which says that the first row is ahead.
        sets: The lines of `claims.json` by the name of each set.
    """
    return {
        words: {
            name: (verdict(*line[4:]), *line[2:])
            for name, lines in sets.items()
            for line in lines
            if tuple(line[:2]) == tuple(pair)
        }
        for words, pair in claims.items()
    }


def claims_html(found, what="set"):
    """Draws `outcomes`: of each set a point with its interval, and the paper's figure hollow.

    Args:
        found: What `outcomes` gives.
        what: The word for one set.
    """
    rows = [row for of_claim in found.values() for row in of_claim.values()]
    points = [0, *(x for row in rows for x in row[1:] if x is not None)]
    first, last = min(points) // 1, -(-max(points) // 1)

    def at(x):
        return f"{100 * (x - first) / (last - first):.1f}%"

    def drawn(marks):
        zero = f'<line class="zero" x1="{at(0)}" x2="{at(0)}" y1="0" y2="20"/>'
        return f'<td class="bar"><svg aria-hidden="true">{zero}{marks}</svg></td>'

    def signed(x, digits=1):
        digits += digits == 1 and 0.005 < abs(x) < 0.05  # the sign of a small number counts
        return f"{round(x, digits) + 0.0:+.{digits}f}".replace("-", "−")

    ticks = sorted({first, 0, last})
    axis = "".join(f'<text x="{at(x)}" y="14">{signed(x, 0) if x else 0}</text>' for x in ticks)
    apart = [not low <= paper <= high for _, paper, _, low, high in rows if paper is not None]
    names = f"<td>ours, 95 % interval</td><td>{'paper' * bool(apart)}</td><td>verdict</td>"
    lines = [f"<tr><td></td>{drawn(axis)}{names}</tr>"]
    for words, of_claim in found.items():
        came = [row[0] for row in of_claim.values()]
        counts = (f"{VERDICTS[sign]} on {came.count(sign)}" for sign in VERDICTS if sign in came)
        told = f"{', '.join(counts)} of {len(came)} {what}{'s' * (len(came) > 1)}"
        lines.append(f'<tr class="claim"><th colspan="5"><b>{escape(words)}</b>: {told}</th></tr>')
        for name, (sign, paper, ours, low, high) in of_claim.items():
            x, size = at(ours), 3 + abs(sign)
            point = f'<circle cx="{x}" cy="10" r="{size}"/>'
            if sign < 0:  # a square, so that nobody needs the colour
                point = f'<rect x="{x}" y="6" width="8" height="8" transform="translate(-4)"/>'
            bar = f'<line x1="{at(low)}" x2="{at(high)}" y1="10" y2="10" stroke-width="2"/>'
            marks, theirs = f'<g class="s{sign}">{bar}{point}</g>', ""
            if paper is not None:
                marks += f'<circle class="paper" cx="{at(paper)}" cy="10" r="5"/>'
                theirs = signed(paper)
            lines.append(
                f"<tr><th>{escape(name)}</th>{drawn(marks)}<td>{signed(ours)} ({signed(low)} to "
                f"{signed(high)})</td><td>{theirs}</td><td>{VERDICTS[sign]}</td></tr>"
            )
    came = [row[0] for row in rows]
    counts = ", ".join(f"{came.count(sign)} {word}" for sign, word in VERDICTS.items())
    title = f"{len(rows)} intervals: {counts}"
    legend = "Each point is our difference in points, and each bar is its 95 % interval."
    if apart:
        legend += (
            " Each hollow circle is the paper's difference: "
            f"{sum(apart)} of {len(apart)} lie{'s' * (sum(apart) == 1)} outside our interval."
        )
    return (
        f'{STYLE}<figure class="claims"><figcaption><b>{title}</b>{legend}</figcaption>'
        f'<table class="intervals">{"".join(lines)}</table></figure>'
    )
