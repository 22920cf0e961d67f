"""Draw the chart of `compare`: the tokens of each request under several policies. `chart.svg` is the template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import pairwise

_COLOURS = ("#0b7285", "#e8590c", "#5f3dc4", "#2b8a3e", "#c92a2a", "#495057")
_MOST_BUDGETS = 2.5  # higher values are clipped, or a whole history would flatten the other lines
_PLACES = {"whole_width": 820, "left": 76, "width": 724, "top_y": 40, "height": 314, "legend_y": 408}
"""The sizes and positions of the chart's parts, in the units of its view box."""


def columns(values: Sequence[int], width: int) -> list[tuple[int, int]]:
    """Divide values into `width` columns, and return the smallest and the largest value of each."""
    if len(values) <= width:
        return [(value, value) for value in values]
    edges = [at * len(values) // width for at in range(width + 1)]
    parts = [values[start:stop] for start, stop in pairwise(edges)]
    return [(min(part), max(part)) for part in parts]


def svg(
    series: Mapping[str, Sequence[int]], budget_tokens: int, *, title: str, levels: Mapping[str, int] | None = None
) -> str:
    """Return an SVG chart of tokens over requests.

    The chart is as high as the largest value, unless that is far above the budget.

    Args:
        series: the tokens of each request, by the name of the line that shows them.
        budget_tokens: the budget, which is drawn as a level.
        title: the title of the chart.
        levels: other levels in tokens, by name.
    """
    from jinja2 import Environment  # most comparisons draw nothing

    text = (files(__package__) / "chart.svg").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)
    largest = max((max(values, default=0) for values in series.values()), default=0)
    top = min(largest, int(_MOST_BUDGETS * budget_tokens))
    drawn = template.render(
        _PLACES,
        title=title,
        series={name: columns(values, _PLACES["width"]) for name, values in series.items()},
        colours=_COLOURS,
        requests=max(map(len, series.values()), default=0),
        largest=largest,
        top=max(1, top),
        levels={"budget": budget_tokens, **(levels or {})},
    )
    return f"{drawn}\n"
