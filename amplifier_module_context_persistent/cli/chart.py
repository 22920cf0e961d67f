"""Charts of tokens over requests: bars for a terminal, and a self-contained SVG. No I/O.

The same figures give the same text. Names in an SVG are escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

BLOCKS = " ▁▂▃▄▅▆▇█"
PLAIN = " .:-=+*#"
"""Levels of a cell, from empty to full, with and without block characters."""

CLIPPED = "^"
"""Stands on a bar that is higher than the chart."""

_COLOURS = ("#0b7285", "#e8590c", "#5f3dc4", "#2b8a3e", "#c92a2a", "#495057")
_MOST_BUDGETS = 2.5  # higher values are clipped: a history sent whole would flatten all others
_WIDTH, _HEIGHT = 820, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 20, 40, 46


def columns(values: Sequence[int], width: int) -> list[tuple[int, int]]:
    """Divide values into `width` columns: the smallest and the largest value of each."""
    if len(values) <= width:
        return [(value, value) for value in values]
    edges = [at * len(values) // width for at in range(width + 1)]
    parts = [values[start:stop] for start, stop in pairwise(edges)]
    return [(min(part), max(part)) for part in parts]


def bars(values: Sequence[int], *, width: int, height: int, top: int, levels: str = BLOCKS) -> list[str]:
    """Draw values as bars: lines of `width` cells, the highest first; `top` fills a column, more is `CLIPPED`."""
    full = len(levels) - 1
    highest = [high for _, high in columns(values, width)]
    heights = [min(height * full, round(high / max(1, top) * height * full)) for high in highest]
    rows = [[levels[max(0, min(full, reached - row * full))] for reached in heights] for row in reversed(range(height))]
    rows[0] = [CLIPPED if high > top else cell for high, cell in zip(highest, rows[0], strict=True)]
    return ["".join(row).rstrip() for row in rows]


def scale(series: Mapping[str, Sequence[int]], budget_tokens: int) -> int:
    """What fills a column: the largest value, unless it is far above the budget."""
    largest = max((value for values in series.values() for value in values), default=0)
    return max(1, min(largest, int(_MOST_BUDGETS * budget_tokens)))


def svg(
    series: Mapping[str, Sequence[int]], budget_tokens: int, *, title: str, levels: Mapping[str, int] | None = None
) -> str:
    """Draw tokens over requests, a line for each name, with the budget and other levels by name, as an SVG document."""
    top = scale(series, budget_tokens)
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    count = max((len(values) for values in series.values()), default=0)
    legend_top = _HEIGHT + 8
    total_height = legend_top + 20 * len(series) + 8

    def y(tokens: int) -> str:
        return f"{_TOP + height * (1 - tokens / top):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {total_height}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{total_height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="24" font-size="15" fill="#212529">{escape(title)}</text>',
        f'<clipPath id="plot"><rect x="{_LEFT}" y="{_TOP}" width="{width}" height="{height}"/></clipPath>',
    ]
    for step in range(5):
        tokens = top * step // 4
        parts.append(
            f'<line x1="{_LEFT}" y1="{y(tokens)}" x2="{_LEFT + width}" y2="{y(tokens)}" stroke="#dee2e6"/>'
            f'<text x="{_LEFT - 8}" y="{y(tokens)}" dy="4" text-anchor="end" fill="#495057">{tokens:,}</text>'
        )
    parts.append(
        f'<text x="{_LEFT + width}" y="{_HEIGHT - 14}" text-anchor="end" fill="#495057">request {count:,}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 14}" fill="#495057">tokens of each request</text>'
    )
    parts += _cut_off(series, top, width)
    for colour, values in zip(_COLOURS * len(series), series.values(), strict=False):
        across = columns(values, width)
        points = " ".join(
            f"{_LEFT + (at + 0.5) * width / max(1, len(across)):.1f},{y(tokens)}"
            for at, (low, high) in enumerate(across)
            for tokens in ((low,) if low == high else (low, high))
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5" clip-path="url(#plot)"/>'
        )
    for name, tokens in {"budget": budget_tokens, **(levels or {})}.items():
        beside = -5 if name == "budget" else 14  # above its line, the others below theirs
        if tokens <= top:
            parts.append(
                f'<line x1="{_LEFT}" y1="{y(tokens)}" x2="{_LEFT + width}" y2="{y(tokens)}" '
                'stroke="#212529" stroke-dasharray="6 4"/>'
                f'<text x="{_LEFT + 6}" y="{y(tokens)}" dy="{beside}" fill="#212529">{escape(name)} {tokens:,}</text>'
            )
    parts += _legend(series, legend_top)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _cut_off(series: Mapping[str, Sequence[int]], top: int, width: int) -> list[str]:
    """Say what is higher than the chart."""
    largest = max((value for values in series.values() for value in values), default=0)
    if largest <= top:
        return []
    return [
        f'<text x="{_LEFT + width}" y="{_TOP - 6}" text-anchor="end" fill="#495057">'
        f"cut off above {top:,}; the largest request has {largest:,} tokens</text>"
    ]


def _legend(series: Mapping[str, Sequence[int]], top: int) -> list[str]:
    """A line in each colour with its name."""
    parts = []
    for at, (colour, name) in enumerate(zip(_COLOURS * len(series), series, strict=False)):
        y = top + 20 * at
        parts.append(
            f'<line x1="{_LEFT}" y1="{y}" x2="{_LEFT + 24}" y2="{y}" stroke="{colour}" stroke-width="3"/>'
            f'<text x="{_LEFT + 34}" y="{y}" dy="4" fill="#212529">{escape(name)}</text>'
        )
    return parts
