"""Amounts of money as commands say them: in dollars and cents, a tilde before an estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # most lists say them without adding up costs
    from ...sessions.costs import Bill
    from ...sessions.resume_cost import ResumeCost

_LEAST_SHOWN = 0.005  # less would be shown as nothing


def money(cost: float) -> str:
    """An amount in dollars and cents."""
    return "<$0.01" if 0 < cost < _LEAST_SHOWN else f"${cost:,.2f}"


def money_of(bill: Bill) -> str:
    """The cost of a bill, marked if it is an estimate; empty if no request has a price."""
    return f"{'~' * bill.is_estimated}{money(bill.cost)}" if bill.has_cost else ""


def resuming_line(resuming: ResumeCost) -> str:
    """The cost of the next request, before its answer."""
    cache = "the cache is cold" if resuming.is_cold else "from the cache"
    return f"resuming costs {money(resuming.cost)}, {cache} ({resuming.tokens:,} tokens)"
