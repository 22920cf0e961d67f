"""Values of options that many commands take: times, and the names of files and directories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...log.database_location import why_no_place
from ...sessions.filters import FilterError
from ...sessions.given_times import TIMES, moment_s

if TYPE_CHECKING:
    _TimeBase = click.ParamType[float]
else:
    _TimeBase = click.ParamType  # older versions of click have no generic one


T = TypeVar("T")


class TimeType(_TimeBase):
    """A time: an age (`3d`, `12h`), or a date with or without a time of day, in the local time zone."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse a time as a person writes it, and return it in seconds since 1970."""
        if isinstance(value, float):
            return value
        try:
            return moment_s(value)
        except FilterError:
            self.fail(TIMES, param, ctx)


def check_not_empty(_context: click.Context, _parameter: click.Parameter, value: T) -> T:
    """Refuse an empty value of an option, and return any other value unchanged. This is a callback for click.

    A value is mostly empty because a script's variable is not set. A filter without a value would choose all sessions.

    Raises:
        BadParameter: a text is empty.
    """
    if "" in (value if isinstance(value, tuple) else (value,)):
        raise click.BadParameter("this is empty; give a value, or leave it out")
    return value


def check_place(
    _context: click.Context, _parameter: click.Parameter, place: str | tuple[str, ...] | None
) -> str | tuple[str, ...] | None:
    """Check the names of files or directories, and return them unchanged (also None, if there are none).

    This is a callback of options and arguments.

    Raises:
        BadParameter: a name is empty, or is a URL, which names no file.
    """
    names = place if isinstance(place, tuple) else (place,)
    for name in names:
        if name == "":
            raise click.BadParameter("this is an empty name; give the path of the new file")
        why = why_no_place(name)
        if why:
            raise click.BadParameter(why)
    return place
