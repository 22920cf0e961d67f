"""Erased content that a log would bring back: a session deleted here, or content purged after the log was copied."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TypeGuard

from ...log.base import ReadableLog
from ...log.open_reader import open_reader
from ...log.record_kinds import control_of
from ...log.record_line import Message
from .erasure_list import erasures
from .erasures import SESSION, ErasedError, Erasure, concerning, names_of


def erasures_of_log(reader: ReadableLog, found: Sequence[Erasure] | None = None) -> list[Erasure]:
    """The erasures that a log would undo: of its session, and purges that came after it was copied.

    Args:
        reader: the log.
        found: the erasures that are in force; by default this user's.

    Raises:
        LogUnreadableError: the log cannot be read.
        OSError: nobody knows what was erased, since the file cannot be read.
    """
    found = erasures() if found is None else found
    about = erasures_about(reader, found)
    if not any(erasure.what != SESSION for erasure in about):
        return about
    purges = filter(_is_purge, (control_of(line.rstrip(b"\n")) for line in reader.records()))
    purged = max((str(record.get("time", "")) for _, record in purges), default="")
    return [erasure for erasure in about if erasure.what == SESSION or erasure.time > purged]


def erasures_about(reader: ReadableLog, found: Sequence[Erasure]) -> list[Erasure]:
    """The erasures, of some, that concern the session of a log; errors as `erasures_of_log`."""
    return list(concerning(found, names_of(reader))) if found else []


def why_refused(erasure: Erasure) -> str:
    """Why a log is not taken, for a person."""
    if erasure.what == SESSION:
        return f"this session was deleted here on {erasure.day}"
    return f"this session was purged here on {erasure.day}, and the file still holds what was removed"


def check_not_erased(location: str, target: str) -> None:
    """Make sure that a copy of a log undoes no erasure, here or in the database that it goes to.

    Raises:
        ErasedError: it would.
        LogUnreadableError: the log cannot be read.
        OSError: nobody knows what was erased, since the file cannot be read.
    """
    if not (found := erasures(target)):
        return
    with closing(open_reader(location)) as reader:
        reader.follow()
        if undone := erasures_of_log(reader, found):
            raise ErasedError(f"{why_refused(undone[-1])}; --again copies it all the same")


def _is_purge(found: tuple[str, Message] | None) -> TypeGuard[tuple[str, Message]]:
    return found is not None and found[0] == "purge"
