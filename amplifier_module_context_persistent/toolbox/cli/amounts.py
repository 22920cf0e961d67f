"""Format amounts of money: in dollars and cents, with a tilde before an estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # most lists need no costs
    from ...sessions.request_costs import Bill
    from ...sessions.resume_cost import ResumeCost

_LEAST_SHOWN = 0.005  # a smaller amount would be shown as $0.00


def money(cost: float) -> str:
    """Return an amount in dollars and cents as text."""
    return "<$0.01" if 0 < cost < _LEAST_SHOWN else f"${cost:,.2f}"


def money_of(bill: Bill) -> str:
    """Return the cost of a bill as text, with a mark if the cost is an estimate; "" if no request has a price."""
    return f"{'~' * bill.is_estimated}{money(bill.cost)}" if bill.has_cost else ""


def resuming_line(resuming: ResumeCost) -> str:
    """Return a line with the cost of the next request, without the cost of its answer."""
    cache = "the cache is cold" if resuming.is_cold else "from the cache"
    return f"resuming costs {money(resuming.cost)}, {cache} ({resuming.tokens:,} tokens)"
