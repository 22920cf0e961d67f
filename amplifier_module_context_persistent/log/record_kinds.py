"""The kinds of control records, in one table: what each one is to a scan, a purge, a redaction, an import.

To add a kind, add a row here and, if it changes what is known of a log, a line to `IndexBuilder`. A kind that is not in
the table is kept and ignored.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordKind:
    """What a kind of control record is."""

    frames: bool = False
    """It is part of a reset; a purge writes it anew, or leaves it out with its reset."""
    permanent: bool = False
    """No purge removes it."""
    depends_on_history: bool = False
    """It stands for a part of the history: a receipt."""
    last_in_force: bool = False
    """Only the one in force says something."""
    outlives_messages: bool = False
    """It counts although the messages before it were purged."""
    named_by_hash: bool = False
    """Its name is the hash of its text, so a redacted one is left out."""


KINDS = {
    "header": RecordKind(permanent=True),
    "purge": RecordKind(permanent=True),
    "reset": RecordKind(frames=True),
    "keep": RecordKind(frames=True),
    "commit": RecordKind(frames=True),
    "reset_begin": RecordKind(frames=True),
    "reset_commit": RecordKind(frames=True),
    "plan": RecordKind(last_in_force=True),
    "side_plan": RecordKind(),
    "view": RecordKind(depends_on_history=True),
    "usage": RecordKind(last_in_force=True),
    "system": RecordKind(named_by_hash=True),
    "pin": RecordKind(outlives_messages=True),
}
_UNKNOWN = RecordKind()


def kind_of(name: str) -> RecordKind:
    """What a kind is; an unknown one has no properties."""
    return KINDS.get(name, _UNKNOWN)
