"""What this package and its host write: JSON Lines of messages, a host's transcript, the older module's file.

All of these are logs to the reader: bare messages are valid records. So whatever is damaged in one is found, reported
with its line, and read around, in bounded memory. Every message is copied as it is. A log is recognised here, and
copied whole by `import_log`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import count

from ...log.reader import LogReader
from ..copy_log import Carried, carry, refused_messages, torn_tail, unread_lines
from .account import Account, LostLine
from .events import Event, SessionStart
from .source import Source

_NOTED = frozenset({"checksum", "unchained", "reset"})


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the one session."""
    with closing(LogReader(source.plain_path)) as reader:
        reader.follow()
        yield SessionStart()
        yield from _copied(reader, account)
        _note_rest(reader, account)


def _copied(reader: LogReader, account: Account) -> Iterator[Event]:
    refused: list[Carried] = []
    numbers = count(2)
    for one in carry(reader, range(len(reader.index)), rename=lambda given: f"{given}.{next(numbers)}"):
        if one.body is None:
            refused.append(one)
            continue
        account.map(one.role)
        yield one
    lost = [*refused_messages(reader, refused), *unread_lines(reader), *torn_tail(reader)]
    for loss in sorted(lost, key=lambda loss: loss.offset or 0):
        account.lose(loss.line, loss.reason, loss.offset)


def _note_rest(reader: LogReader, account: Account) -> None:
    for kind, number in reader.index.control_counts.items():
        account.not_conversational[f"{kind} record"] += number
    account.notes += [LostLine(one.line, one.offset, one.detail) for one in reader.index.damage if one.kind in _NOTED]
    account.not_conversational += Counter()  # without what is zero
    account.lines_by_file[""] = max(account.accounted, reader.scanner.line)
    account.not_conversational["blank line"] += account.lines - account.accounted
    account.not_conversational += Counter()
