"""Fork a whole log, to keep both histories of a session that was continued in two places under the same id.

Unlike `fork_session`, it copies hidden messages, plans and receipts too, so the original log may be replaced
afterwards. The fork's id is derived from the log's end. So a second sync makes the same fork, and recognises a fork
that was made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import cast
from uuid import NAMESPACE_URL, uuid5

from ... import clock
from ...log.contract import ReadableLog
from ...log.index import USER
from ...log.open_log import new_log
from ...log.open_reader import open_reader
from ...log.record_line import (
    CONTROL_HEAD,
    FORMAT_VERSION,
    Message,
    decode,
    encode_control,
    encode_object,
    message_id_of,
)
from ...sessions.overview import overview_of
from ...sessions.raw_records import StoredLog, read_log
from ...sessions.session_files import SessionFile
from ...sessions.session_name import MOST_CHARS, read_name
from ...sessions.transcript import header_session_id, log_id_in
from ..maintenance.chained_lines import ChainedLines
from ..maintenance.purge_options import Purge, PurgeCounts
from ..maintenance.purge_rewrite import Rewrite
from .damaged_log import check_sound
from .host_files.write_host_files import is_unfinished, making_session, write_host_files

_HEADER_HEAD = CONTROL_HEAD + b':"header"'
_OF_AN_IMPORT = ("source", "imported_from")
"""Keys of a header that would make an import append to the fork."""
_COPY_ALL = Purge(redact=str)
"""A purge that removes and replaces nothing, since `str` returns a text unchanged. All records are written again,
with new checksums."""


def fork_id(reader: ReadableLog) -> str:
    """Return the id of the session that a fork of the whole log gets. The id changes when the log grows."""
    end = cast("StoredLog", reader).scanner.seed  # every stored log is scanned
    return str(uuid5(NAMESPACE_URL, f"sync:{log_id_in(reader.index.headers)}:{len(reader.index)}:{end:08x}"))


def name_of_other_history(session: SessionFile, turn: int) -> str:
    """Return the name of the fork that keeps the other history of a session that was continued in two places.

    The name is the session's name, or the first line of its first message, with a mark that distinguishes the fork from
    the session.

    Args:
        session: the session whose history the fork keeps.
        turn: the first turn in which the two histories differ.
    """
    called = read_name(session.path).name or overview_of(session, None).first_line
    mark = f" (other history from turn {turn:,})"
    called = " ".join("".join(filter(str.isprintable, called)).split())
    return f"{called[: MOST_CHARS - len(mark)]}{mark}".strip()


def fork_whole(
    origin: str,
    target: str,
    *,
    session_id: str,
    name: str,
    now: Callable[[], str],
    new_id: Callable[[], str] = clock.new_id,
) -> None:
    """Make a new session's log with all records of another log. The new log appears whole or not at all.

    Args:
        origin: the log, which is only read.
        target: the new log's file, or its location in a database.
        session_id: the new session's id.
        name: the new session's name.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.

    Raises:
        DamagedLogError: the log is damaged; a fork would give its records new checksums and so hide it.
        PurgeError: the log cannot be copied.
        LogUnreadableError: the log cannot be read.
        OSError: the new log cannot be written, or its name is taken; nothing is left of it.
    """
    with closing(open_reader(origin, trusting=False)) as reader, making_session(target):
        read_log(reader)
        check_sound(reader)
        parent_id = header_session_id(reader.index.headers)
        if not is_unfinished(target):
            header = _header(reader, session_id, parent_id, new_id())
            with new_log(target, reads_back=True) as new:
                stored_log = cast("StoredLog", reader)  # every log in a file or a database is one
                fork_lines = _ForkLines(new.write, header)
                copying = Rewrite(stored_log, _COPY_ALL, PurgeCounts(), fork_lines, time=now())
                copying.run()
                tags = list(reader.index.session.tags)
                fork_lines.put(encode_control("label", title=name, tags=tags, time=now()))
                new.finish()
        write_host_files(target, created=now(), parent_id=parent_id, is_fork=True, origin=origin)


def is_fork_of(fork: str, origin: ReadableLog) -> bool:
    """Return whether a log is the fork that `fork_whole` made of another log.

    Raises:
        LogUnreadableError: the fork cannot be read.
    """
    with closing(open_reader(fork)) as reader:
        reader.follow()
        header = reader.index.headers[0] if reader.index.headers else {}
        same = header.get("parent_log_id") == (log_id_in(origin.index.headers) or None)
        return same and header.get("forked_from") == _last_id(origin)


class _ForkLines(ChainedLines):
    """Writes the lines of a fork: its own header, then the origin's records. Later headers get the fork's ids."""

    def __init__(self, write: Callable[[bytes], None], header: Message) -> None:
        super().__init__(write)
        self._header: Message | None = header
        self._own = {key: header[key] for key in ("log_id", "session_id")}

    def put(self, body: bytes) -> None:
        """Write a record. Before the first record, write the fork's header in place of the origin's header."""
        is_header = body.startswith(_HEADER_HEAD)
        if self._header is not None:
            super().put(encode_object(self._header))
            self._header = None
        elif is_header:
            super().put(encode_object(_without_import(decode(body + b"}")) | self._own))
        if not is_header:
            super().put(body)


def _header(reader: ReadableLog, session_id: str, parent_id: str | None, log_id: str) -> Message:
    known = reader.index.headers[0] if reader.index.headers else decode(encode_control("header") + b"}")
    turns = sum(reader.index.columns.roles[ordinal] == USER for ordinal in reader.index.live)
    return _without_import(known) | {
        "version": FORMAT_VERSION,
        "log_id": log_id,
        "session_id": session_id,
        "parent_id": parent_id,
        "parent_log_id": log_id_in(reader.index.headers) or None,
        "forked_from": _last_id(reader),
        "forked_from_turn": turns,
    }


def _without_import(header: Message) -> Message:
    return {key: value for key, value in header.items() if key not in _OF_AN_IMPORT}


def _last_id(reader: ReadableLog) -> str | None:
    """Return the id of a log's last message, live or hidden, or None if the log has no message."""
    count = len(reader.index)
    if not count:
        return None
    _, line = next(iter(reader.lines([count - 1])))
    return message_id_of(decode(line), line, reader.index.columns.offsets[count - 1])
