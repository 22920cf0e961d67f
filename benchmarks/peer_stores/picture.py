"""A picture of the comparison: bars, as an SVG that refers to nothing outside itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

from .found import Found
from .tables import seconds

_WIDTH, _LEFT, _RIGHT = 820, 190, 90
_ROW, _TOP, _GAP = 24, 56, 64
_LOGARITHMIC = 100
"""Where the longest bar would be so many times the shortest one, bars lie over powers of ten, else over even steps."""
_MOST_LINES = 6
_OURS, _OTHERS = "#0b7285", "#adb5bd"


def picture(found: Mapping[str, Found], messages: int) -> str:
    """Draw an append to the long session and the start of a process that resumes it, a bar for each store."""
    panels = {
        f"Append to a session of {messages:,} messages": "append long",
        "Process start until it has what the model is given": "resume long",
    }
    height = _TOP + len(panels) * (len(found) * _ROW + _GAP) - 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13">',
        "<title>Sessions of several packages side by side</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    top = _TOP
    for title, measure in panels.items():
        parts += _panel(title, {name: one.median(measure) for name, one in found.items()}, top)
        top += len(found) * _ROW + _GAP
    return "\n".join([*parts, "</svg>\n"])


def _panel(title: str, values: Mapping[str, float], top: int) -> list[str]:
    width, bottom = _WIDTH - _LEFT - _RIGHT, top + len(values) * _ROW
    least, most = min(values.values()), max(values.values())
    if most > _LOGARITHMIC * least:
        low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
        title += " (each line: x 10)"
        marks = {10.0**power: (power - low) / (high - low) for power in range(low, high + 1)}
    else:
        low = high = 0
        step = 10.0 ** math.floor(math.log10(most))
        step = next(part * step for part in (0.2, 0.5, 1, 2) if most / (part * step) <= _MOST_LINES)
        marks = {number * step: number * step / most for number in range(int(most / step) + 1)}

    def x(value: float) -> float:
        return _LEFT + width * ((math.log10(value) - low) / (high - low) if high > low else value / most)

    parts = [f'<text x="{_LEFT}" y="{top - 12}" font-size="15" fill="#212529">{escape(title)}</text>']
    for value, share in marks.items():
        at = _LEFT + width * share
        label = seconds(value) if value else "0"
        parts.append(
            f'<line x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{bottom}" stroke="#dee2e6"/>'
            f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle" fill="#495057">{label}</text>'
        )
    for number, (name, value) in enumerate(values.items()):
        y, fill = top + number * _ROW, _OURS if name.startswith("ours") else _OTHERS
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y + 17}" text-anchor="end" fill="#212529">{escape(name)}</text>'
            f'<rect x="{_LEFT}" y="{y + 4}" width="{x(value) - _LEFT:.1f}" height="{_ROW - 8}" fill="{fill}"/>'
            f'<text x="{x(value) + 6:.1f}" y="{y + 17}" fill="#212529">{seconds(value)}</text>'
        )
    return parts
