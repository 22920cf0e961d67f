"""The rules that the views of a log keep from its beginning, as its headers say.

A view must begin with the bytes of the view before (I6). So a log that an older version began keeps the rules of that
version: for names and ids (`wire_rules`), for the line `[continued]`, and for late system messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..config.option_table import LateSystem

WIRE = "wire"
"""The key by which plans, headers and receipts say that views follow the strict rules."""
LINES = "lines"
"""A key of headers: only answers keep the `[continued]` line, and only readers that refuse prefill see it. In receipts:
the reader refuses prefill."""
LATE_SYSTEM = "late_system"
"""A key of headers: how late system messages are shown."""


def begins_strict(headers: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the log's views keep the strict rules from its beginning, according to its headers."""
    return not headers or headers[0].get(WIRE) == 1


def has_old_lines(headers: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the headers of a log name a version that showed lines between all answers."""
    return bool(headers) and headers[0].get(LINES) != 1


def late_system_of(
    configured: LateSystem, headers: Sequence[Mapping[str, Any]], *, is_new: bool
) -> Literal["system", "reminder"]:
    """Return how the log's late system messages are shown, `system` or `reminder`.

    With `auto`, a new log gets `reminder`, and an older log stays as it began.
    """
    if configured != "auto":
        return configured
    if is_new:
        return "reminder"
    began_with_reminders = bool(headers) and headers[0].get(LATE_SYSTEM) == "reminder"
    return "reminder" if began_with_reminders else "system"


def header_marks(headers: Sequence[Mapping[str, Any]], *, late_system: str = "system") -> dict[str, Any]:
    """Return the fields of a new header with the rules that the log began with.

    The fields repeat those of the first header.

    Args:
        headers: the headers that the log has.
        late_system: how a log that begins now shows late system messages.
    """
    marks: dict[str, Any] = {}
    if begins_strict(headers):
        marks[WIRE] = 1
    if not has_old_lines(headers):
        marks[LINES] = 1
    began_with = headers[0].get(LATE_SYSTEM) if headers else late_system
    if began_with == "reminder":
        marks[LATE_SYSTEM] = "reminder"
    return marks
