"""Checks of a configuration's values: each function says whether a value is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]

TOOL_KINDS = ("read", "change", "todo", "run", "ask", "other")


def is_int(value: Any) -> bool:
    """Return whether the value is a whole number and not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether the value is a number and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def path(value: Any) -> bool:
    """Return whether the value is the path of a file, or None."""
    if isinstance(value, str):
        return value != ""
    return value is None or hasattr(value, "__fspath__")


def share(value: Any) -> bool:
    """Return whether the value is a share: a number above 0 and at most 1."""
    return is_number(value) and 0 < value <= 1


def share_or_zero(value: Any) -> bool:
    """Return whether the value is a share or 0."""
    return is_number(value) and 0 <= value <= 1


def flag(value: Any) -> bool:
    """Return whether the value is a boolean."""
    return isinstance(value, bool)


def kinds_of_tools(value: Any) -> bool:
    """Return whether the value is None, or maps names of tools to their kinds."""
    if value is None:
        return True
    if not isinstance(value, Mapping):
        return False
    for name, kind in value.items():
        if not isinstance(name, str) or not isinstance(kind, str):
            return False
        if kind.split(":", 1)[0] not in TOOL_KINDS:
            return False
    return True


def one_of(*names: str) -> Check:
    """Return a check that accepts only the given texts."""
    return lambda value: value in names


def at_least(least: int) -> Check:
    """Return a check whether a value is a whole number of at least `least`."""
    return lambda value: is_int(value) and value >= least
