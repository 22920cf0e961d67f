"""`stats --spend-limit 50/week`: compute what is left of a limit in this day, week or month."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from ...sessions.request_costs import Bill
from ...sessions.totals import Period
from .amounts import money

_LIMIT = re.compile(r"\$?(\d{1,12}(?:\.\d{1,6})?)/(day|week|month)")

if TYPE_CHECKING:
    _Base = click.ParamType["SpendLimit"]
else:
    _Base = click.ParamType  # older versions of click have no generic one


@dataclass(frozen=True, slots=True)
class SpendLimit:
    """A limit of the money spent in a day, a week (from Monday) or a month, in this machine's time zone."""

    dollars: float
    unit: str

    def period(self, now: datetime) -> Period:
        """Return the period from the beginning of the current day, week or month, with no end."""
        day = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        if self.unit == "week":
            day -= timedelta(days=day.weekday())
        elif self.unit == "month":
            day = day.replace(day=1)
        return Period(day.timestamp())

    def is_exceeded(self, bill: Bill) -> bool:
        """Tell whether more than the limit is spent. Requests without a known cost do not count."""
        return bill.cost > self.dollars

    def line(self, bill: Bill) -> str:
        """Return a line that says how much of the limit is spent and how much is left."""
        left = self.dollars - bill.cost
        rest = f"{money(left)} left" if left >= 0 else f"{money(-left)} over the limit"
        return f"{'~' * bill.is_estimated}{money(bill.cost)} of {money(self.dollars)} spent this {self.unit}: {rest}"

    def to_json(self, bill: Bill) -> dict[str, Any]:
        """Return the limit, the spent amount and the rest as plain JSON types."""
        fields = {
            "limit": self.dollars,
            "unit": self.unit,
            "spent": round(bill.cost, 6),
            "is_estimated": bill.is_estimated,
        }
        return {**fields, "left": round(self.dollars - bill.cost, 6)}


class SpendLimitType(_Base):
    """The parameter type of a limit, such as `50/week`: dollars, and `day`, `week` or `month`."""

    name = "DOLLARS/UNIT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> SpendLimit:
        """Parse a limit."""
        if isinstance(value, SpendLimit):
            return value
        match = _LIMIT.fullmatch(value)
        if match is None:
            self.fail("give dollars and day, week or month, as in 50/week", param, ctx)
        return SpendLimit(float(match[1]), match[2])
