"""The purges that a log has records of, and the erasures that they carried out."""

from __future__ import annotations

from ..log.contract import ReadableLog
from ..log.record_kinds import control_of
from ..log.record_line import CONTROL_HEAD, Message

_PURGE_HEAD = CONTROL_HEAD + b':"purge"'


def purges_of(reader: ReadableLog) -> list[Message]:
    """Return the records of a log's purges. If there are any, this reads the whole log.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    if not reader.index.control_counts["purge"]:
        return []
    found = (control_of(line.rstrip(b"\n")) for line in reader.records() if line.startswith(_PURGE_HEAD))
    return [record for kind, record in filter(None, found) if kind == "purge"]


def salts_of_purges(reader: ReadableLog) -> set[str]:
    """Return the salts of the erasures that purges of a log have carried out. Errors are those of `purges_of`."""
    return {str(record.get("erasure", "")) for record in purges_of(reader)}
