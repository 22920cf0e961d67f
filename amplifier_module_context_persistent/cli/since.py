"""A time as commands take it: how long ago, or a date."""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

if TYPE_CHECKING:
    _TimeBase = click.ParamType[float]
else:
    _TimeBase = click.ParamType  # older versions of click have no generic one


class Since(_TimeBase):
    """A time: how long ago (`3d`, `12h`), or a date with or without a time of day, here."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it as seconds since 1970."""
        if isinstance(value, float):
            return value
        if found := re.fullmatch(r"(\d{1,9})([smhdw])", value):
            return time.time() - int(found[1]) * _SECONDS[found[2]]
        try:
            return datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            self.fail("give how long ago, as in 12h or 3d, or a date, as in 2026-01-31", param, ctx)
