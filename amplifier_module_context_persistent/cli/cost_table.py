"""How commands print what requests cost."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ..tokens.prices import PRICES_AS_OF, Prices
from ..transcript.cost import Bill, Cost
from .tables import show_table
from .terminal import counted

_LEAST_COST = 0.00005  # less is rounding


def show_cost(output: Console, cost: Cost, notes: list[str]) -> None:
    """Print what providers reported by model, and what it cost."""
    if not cost.total.requests:
        return
    rows = [*sorted(cost.models.items(), key=lambda item: -item[1].cost), ("all", cost.total)]
    heads = ("model", "requests", "input", "cached", "written", "output", "cost")
    show_table(output, heads, [_bill(name or "?", bill) for name, bill in rows if len(rows) > 2 or name != "all"])
    output.print(Text("; ".join(notes), "dim"))


def cost_notes(cost: Cost, prices: Prices, hidden: float = 0.0) -> list[str]:
    """What is to be said of a cost; `hidden` is what went to answers that are no longer live."""
    notes = ["prices as given" if prices.has_own else f"list prices in US dollars as of {PRICES_AS_OF}; see --prices"]
    if cost.total.unpriced_requests:
        notes.append(f"no price for {counted(cost.total.unpriced_requests, 'request')}")
    if cost.estimated_outputs:
        notes.append(f"the output of {counted(cost.estimated_outputs, 'request')} was counted here, not reported")
    if hidden > _LEAST_COST:
        notes.append(f"{money(hidden)} went to requests whose answers are no longer live")
    return notes


def _bill(name: str, bill: Bill) -> tuple[str, ...]:
    cost = "" if bill.unpriced_requests == bill.requests else money(bill.cost)
    cached, written = percent(bill.cached_tokens, bill.input_tokens), percent(bill.written_tokens, bill.input_tokens)
    return (name, f"{bill.requests:,}", f"{bill.input_tokens:,}", cached, written, f"{bill.output_tokens:,}", cost)


def money(cost: float) -> str:
    """An amount, small ones with more digits."""
    return f"{cost:,.2f}" if cost >= 1 else f"{cost:.4f}"


def percent(part: int, whole: int) -> str:
    """A part of a whole in percent."""
    return f"{part / whole:.0%}" if whole else "0%"
