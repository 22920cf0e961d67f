"""`stats --spend-limit 50/week`: what is left of a limit in this day, week or month."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from ...sessions.costs import Bill
from ...sessions.totals import Period
from .amounts import money

_LIMIT = re.compile(r"\$?(\d{1,12}(?:\.\d{1,6})?)/(day|week|month)")

if TYPE_CHECKING:
    _Base = click.ParamType["SpendLimit"]
else:
    _Base = click.ParamType  # older versions of click have no generic one


@dataclass(frozen=True, slots=True)
class SpendLimit:
    """So many US dollars in a day, a week from Monday on, or a month, of this machine's time zone."""

    dollars: float
    unit: str

    def period(self, now: datetime) -> Period:
        """The day, the week or the month of a moment, from its beginning on."""
        day = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        if self.unit == "week":
            day -= timedelta(days=day.weekday())
        elif self.unit == "month":
            day = day.replace(day=1)
        return Period(day.timestamp())

    def line(self, bill: Bill) -> str:
        """The rest of the limit, on one line."""
        left = self.dollars - bill.cost
        rest = f"{money(left)} left" if left >= 0 else f"{money(-left)} over the limit"
        return f"{'~' * bill.is_estimated}{money(bill.cost)} of {money(self.dollars)} spent this {self.unit}: {rest}"

    def to_json(self, bill: Bill) -> dict[str, Any]:
        """The same as plain JSON types."""
        told = {
            "limit": self.dollars,
            "unit": self.unit,
            "spent": round(bill.cost, 6),
            "is_estimated": bill.is_estimated,
        }
        return {**told, "left": round(self.dollars - bill.cost, 6)}


class SpendLimitType(_Base):
    """The written form of a limit: dollars, and a day, a week or a month."""

    name = "DOLLARS/UNIT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> SpendLimit:
        """Read a limit."""
        if isinstance(value, SpendLimit):
            return value
        found = _LIMIT.fullmatch(value)
        if found is None:
            self.fail("give dollars and day, week or month, as in 50/week", param, ctx)
        return SpendLimit(float(found[1]), found[2])
