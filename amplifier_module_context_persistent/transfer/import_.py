"""Importing a session: a new log from a file of messages, one JSON object a line.

What is read: the older module's file (bare messages with a timestamp at their top), a host's `transcript.jsonl`, plain
JSON Lines of messages (`export --format jsonl` too), and a log of this package, of which the live history is taken. All
of these are logs to the reader: bare messages are valid records. So whatever is damaged in one is found, reported with
its line, and read around, in bounded memory.

Nothing is lost silently: the report counts what was carried over, and lists what could not be. Ids and timestamps stay
where they are given and unique, and nothing else is added but ids.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from .. import clock
from ..config import Config
from ..errors import ContextPersistentError
from ..log.atomic_file import check_free
from ..log.filesystem import FileSystem
from ..log.index import UNCHAINED
from ..log.reader import LogReader
from ..log.record import FORMAT_VERSION, encode_control
from ..paths import check_session_id, log_path
from ..tokens.counter import open_counter
from ..transcript.transcript import Transcript
from .copy import Carried, Loss, NewLog, carry, refused_messages, torn_tail, unread_lines

FORMATS = ("auto", "log", "jsonl", "transcript", "older")

_NOTED = frozenset({"checksum", "unchained", "reset"})
_FRAME = frozenset({"header", "reset", "keep", "commit"})


class ImportRefusedError(ContextPersistentError, ValueError):
    """The file holds nothing that can be imported, or is not of the format that was named; nothing was written."""


@dataclass(slots=True)
class Import:
    """What an import carried over from a file into a new log, and what it could not."""

    source: str
    format: str
    """What the file is: `log`, `transcript`, `older` (with timestamps at the top of messages) or `jsonl`."""
    path: str
    session_id: str | None
    roles: Counter[str] = field(default_factory=Counter)
    """The messages that were carried over, by role."""
    derived_ids: int = 0
    """Of them, those that brought no id along."""
    renamed: dict[str, str] = field(default_factory=dict)
    """New ids, where another message had the id, with the old ones."""
    without_timestamp: int = 0
    """Of them, those that brought no timestamp along."""
    hidden: int = 0
    """Messages that a clear or a reset of the log had hidden: they stay behind."""
    controls: dict[str, int] = field(default_factory=dict)
    """Records of a log that are no messages and stay behind (plans, receipts and so on), by kind."""
    not_carried: Sequence[Loss] = field(default_factory=list)
    notes: Sequence[Loss] = field(default_factory=list)
    """What was wrong with lines that were carried over all the same."""

    @property
    def messages(self) -> int:
        """How many messages were carried over."""
        return self.roles.total()

    def to_json(self) -> dict[str, Any]:
        """The report in plain JSON types."""
        return {
            "source": self.source,
            "format": self.format,
            "path": self.path,
            "session_id": self.session_id,
            "messages": self.messages,
            "roles": dict(self.roles),
            "derived_ids": self.derived_ids,
            "renamed": self.renamed,
            "without_timestamp": self.without_timestamp,
            "hidden": self.hidden,
            "controls": self.controls,
            "not_carried": [loss.to_json() for loss in self.not_carried],
            "notes": [note.to_json() for note in self.notes],
        }


def import_session(
    source: str | Path,
    *,
    session_id: str | None = None,
    path: str | Path | None = None,
    working_dir: str | None = None,
    source_format: str = "auto",
    dry_run: bool = False,
    now: Callable[[], str] = clock.utc_now,
    new_id: Callable[[], str] = clock.new_id,
    files: FileSystem | None = None,
) -> Import:
    """Make a new session's log from a file of messages; never over a log that is there.

    Args:
        source: the file; it is only read.
        session_id: the new session's id; one is made where neither it nor a path is given.
        path: the new log's file; else it lies where the sessions of `working_dir` lie.
        working_dir: the directory that the new session works in; else the current one.
        source_format: one of `FORMATS`; all but `auto` and `log` take every message of the file, also hidden ones.
        dry_run: only say what would be done.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.
        files: the system calls that read the file, to watch them.

    Raises:
        ImportRefusedError: there is no message in it, or it is not of the format that was named.
        ConfigError: the session id cannot be part of a path.
        LogUnreadableError: the file is not there, or cannot be read.
        OSError: the new log cannot be written, or something has its name; nothing was changed.
    """
    if source_format not in FORMATS:
        raise ValueError(f"source_format: {source_format!r} is not known; allowed are: {', '.join(FORMATS)}")
    if session_id is None and path is None:
        session_id = str(uuid4())
    if session_id is not None:
        check_session_id(session_id)
    place = path or log_path(Config(), session_id=session_id, working_dir=working_dir)
    target = os.path.abspath(os.path.expanduser(str(place)))
    check_free(target)
    with Transcript(os.path.realpath(source), files=files) as transcript:
        reader = transcript.reader
        is_log = _is_log(reader)
        if source_format == "log" and not is_log:
            raise ImportRefusedError("this is no log of this package; leave the format to be found out (auto)")
        ordinals = reader.index.live if source_format in ("auto", "log") else array("I", range(len(reader.index)))
        report = Import(transcript.path, "log" if is_log else source_format, target, session_id)
        report.hidden = len(reader.index) - len(ordinals)
        if report.format == "auto":
            report.format = _format_of(reader, transcript.path)
        header = encode_control(
            "header",
            version=FORMAT_VERSION,
            log_id=new_id(),
            session_id=session_id,
            tokenizer=open_counter("auto").name,
            created=now(),
            imported_from=report.format,
        )
        _copy(None if dry_run else target, header, reader, ordinals, report, new_id)
        report.controls = {k: n for k, n in reader.index.control_counts.items() if k not in _FRAME}
        damage = reader.index.damage
        report.notes = [Loss(one.line, one.offset, one.detail) for one in damage if one.kind in _NOTED]
        return report


def _copy(
    target: str | None,
    header: bytes,
    reader: LogReader,
    ordinals: Sequence[int],
    report: Import,
    new_id: Callable[[], str],
) -> None:
    """Write the new log, and note in the report what it holds and what could not be copied."""
    refused: list[Carried] = []
    with NewLog(target) as log:
        log.append(header)
        for one in carry(reader, ordinals, new_id=new_id):
            if one.body is None:
                refused.append(one)
                continue
            _count(report, one)
            log.append(one.body)
        lost = [*refused_messages(reader, refused), *unread_lines(reader), *torn_tail(reader)]
        report.not_carried = sorted(lost, key=lambda loss: loss.offset)
        if not report.messages:
            raise ImportRefusedError(_nothing(report.not_carried))
        log.finish()


def _count(report: Import, one: Carried) -> None:
    report.roles[one.role] += 1
    report.without_timestamp += not one.has_timestamp
    if one.renamed_from is not None:
        report.renamed[one.message_id] = one.renamed_from
    elif not one.named:
        report.derived_ids += 1


def _is_log(reader: LogReader) -> bool:
    """Whether a file holds control records, or checksums."""
    index = reader.index
    return bool(index.control_counts) or any(not flags & UNCHAINED for flags in index.flags)


def _format_of(reader: LogReader, path: str) -> str:
    """What a file of bare messages is most likely, by its name and its first message."""
    if os.path.basename(path).startswith("transcript.jsonl"):
        return "transcript"
    first = next(reader.read(reader.index.live[:1]), {})
    return "older" if isinstance(first.get("timestamp"), str) else "jsonl"


def _nothing(lost: Sequence[Loss]) -> str:
    if not lost:
        return "there is no message in it"
    first = lost[0]
    return f"no line of it is a message that can be imported; line {first.line}: {first.reason}"
