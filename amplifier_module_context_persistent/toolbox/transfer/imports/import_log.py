"""Import a log of this package: copy it with the same bytes and the same id, including receipts, plans and usage.

A second import of a log that has grown appends the new records. They have the same bytes as in the original, since a
record's checksum depends only on the records before it.

Other files of this package and its host (JSON Lines of messages, a host's transcript, the file of the older module) are
read with the same reader, because a bare message is a valid record. So damage is found, reported with its line, and
skipped, with bounded memory. Every message is copied unchanged.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import count, islice
from typing import cast
from uuid import NAMESPACE_URL, uuid5

from ....erasures.erasure_list import ErasureLists, lift
from ....erasures.erasure_record import ErasedError
from ....errors import ConfigError
from ....log.checksum import CRC_TAIL_BYTES, has_crc
from ....log.contract import ReadableLog
from ....log.database_location import shown_location
from ....log.index import UNCHAINED, Index
from ....log.open_log import open_log, taken_error
from ....log.reader import LogReader
from ....log.record_line import ROLES, Message
from ....paths import check_session_id, session_id_of
from ....sessions.session_files import sessions_of_id
from ....sessions.transcript import log_id_in, naming_header
from ..copy_log import MessageCopier, append_all, copy_log, refused_messages, torn_tail, unread_lines
from ..erasing.undone_erasures import erasures_of_log, why_refused
from ..host_files.write_host_files import is_unfinished, making_session, write_host_files
from ..importers.account import Account, Import, ImportedSession, LostLine
from ..importers.events import Event, SessionStart
from ..importers.refused_import import ImportRefusedError
from ..importers.source_file import Source
from ..seal_log import LOG_ENDING
from ..sync_and_backup.relation_of_copies import Relation, compare_read
from .copying_scanner import CopyingScanner
from .drafts import ImportConflictError
from .earlier_import import open_earlier
from .import_erasures import ADVICE
from .import_places import Destination

_NOTED = frozenset({"checksum", "unchained", "reset"})


def import_log(
    source: Source,
    destination: Destination,
    lists: ErasureLists,
    *,
    dry_run: bool,
    again: bool,
    now: Callable[[], str],
) -> Import:
    """Copy a log, or append its new records to an earlier copy. For the arguments see `import_session`.

    Raises:
        ErasedError: the log's session was deleted here, or purged after the log was copied.
        ImportRefusedError: the file is not a log, or holds no message; or another id is wanted for the log.
        FileExistsError: the name of the new log is taken.
        ImportConflictError: both the log and its earlier copy were continued.
        ConfigError: the wanted id cannot be part of a path.
        OSError: the copy cannot be written.
    """
    source.release_lines()
    with closing(LogReader(source.plain_path)) as reader:
        reader.follow()
        if not _is_log(reader):
            raise ImportRefusedError("this is no log of this package; leave the format to be found out (auto)")
        if not len(reader.index):
            raise ImportRefusedError("there is no message in it")
        overridden = erasures_of_log(reader, source.plain_path, lists.in_force(destination.logs))
        if overridden and not again:
            raise ErasedError(f"{why_refused(overridden[-1])}; {ADVICE}")
        session_id = _session_id(reader, source, destination)
        target = _copied_before(reader, source, session_id, destination) or destination.place(session_id)
        earlier, is_older = open_earlier(target), False
        if earlier is None:
            added = len(reader.index.live)
            if not dry_run:
                with making_session(target):
                    copy_log(source.plain_path, target)
                    write_host_files(target, created=now(), origin=source.path)
        else:
            with closing(earlier):
                added, is_older = _go_on(reader, earlier, target, dry_run=dry_run)
            if not dry_run and is_unfinished(target):
                write_host_files(target, created=now(), origin=source.path)
        if not dry_run:
            lift(overridden, target)
        return _report(reader, source, session_id, target, added, is_older=is_older)


def _copied_before(reader: LogReader, source: Source, session_id: str | None, destination: Destination) -> str:
    """Return the copy of a log that an earlier import made in another project, or "" if there is none.

    Raises:
        ImportRefusedError: the log itself is a session of a project.
    """
    log_id = log_id_in(reader.index.headers)
    if session_id is None or destination.path is not None or not log_id:
        return ""
    earlier = open_earlier(destination.place(session_id))
    if earlier is not None:
        earlier.close()
        return ""
    for session in sessions_of_id(session_id, storage=destination.storage):
        path = str(session.path)
        if path == source.path:
            raise ImportRefusedError(
                f"the log is a session already, in the project {session.project}; fork it, or name a place with -o"
            )
        earlier = open_earlier(path)
        if earlier is not None:
            with closing(earlier):
                if log_id_in(earlier.index.headers) == log_id:
                    return path
    return ""


def _is_log(reader: LogReader) -> bool:
    """Return whether a file contains control records or checksums, which only logs of this package have."""
    index = reader.index
    return bool(index.control_counts) or any(not flags & UNCHAINED for flags in index.columns.flags)


def _session_id(reader: LogReader, source: Source, destination: Destination) -> str | None:
    """Return the id for the session of an imported log: its own id, else the wanted id, else a derived id.

    Return None if the log has no id and the path of the new log is given.

    Raises:
        ImportRefusedError: the wanted id is not the log's own, or the log's own id cannot be part of a path.
        ConfigError: the wanted id cannot be part of a path.
    """
    header = naming_header(reader.index.headers)
    header_id, wanted = header.get("session_id"), destination.session_id
    if wanted is not None:
        check_session_id(wanted)
        if isinstance(header_id, str) and header_id != wanted:
            raise ImportRefusedError(
                f"a log keeps the id of its session, {header_id!r}; fork the session to have another"
            )
        return wanted
    own: str | None
    if isinstance(header_id, str) and header_id:
        own = header_id
    else:
        own = session_id_of(source.path) or _id_in_sealed_name(source.path)
    if own is None and destination.path is None:
        own = str(uuid5(NAMESPACE_URL, f"log:{header.get('log_id') or source.path}"))
    if own is not None and destination.path is None:
        try:
            check_session_id(own)
        except ConfigError as error:
            raise ImportRefusedError(f"its id cannot be a directory's name ({error}); name a place with -o") from error
    return own


def _id_in_sealed_name(path: str) -> str | None:
    """Return the session's id in the name of a sealed log, as `archive --encrypt-to` names the file; else None."""
    session_id = os.path.basename(path).removesuffix(LOG_ENDING)
    if not session_id or not path.endswith(LOG_ENDING):
        return None
    try:
        check_session_id(session_id)
    except ConfigError:
        return None
    return session_id


def _go_on(reader: LogReader, earlier: ReadableLog, target: str, *, dry_run: bool) -> tuple[int, bool]:
    """Append the new records of a log to an earlier copy.

    Returns:
        The number of new messages, and whether the log is older than the copy (then nothing is appended).

    Raises:
        FileExistsError: the existing file is not a copy of this log.
        ImportConflictError: the copy was continued differently.
    """
    lines = reader.stored_bytes()
    common = 0
    for known_line in earlier.stored_bytes():
        line = next(lines, None)
        if line is None:
            return 0, True
        if line != known_line:
            if not common:
                raise taken_error(target)
            if compare_read(earlier, reader).relation is Relation.PURGED:
                return 0, True
            raise _conflict(target, common, earlier)
        common += 1
    if not common:
        raise taken_error(target)
    known_messages = len(earlier.index)
    bodies = _bodies(lines, target, common, earlier)
    first_body = list(islice(bodies, 1))
    if first_body and earlier.index.damage:
        raise _conflict(target, common, earlier)
    if first_body and not dry_run:

        def check_and_begin(index: Index) -> list[bytes]:
            """Return the first record. It is appended under the lock of the check, before another process can write."""
            if len(index) != known_messages:
                raise ImportConflictError("the copy was changed by another process; import again")
            return first_body

        append_all(open_log(target), check_and_begin, bodies)
    return len(reader.index) - known_messages, False


def _bodies(lines: Iterator[bytes], target: str, common: int, earlier: ReadableLog) -> Iterator[bytes]:
    for line in lines:
        if not has_crc(line.removesuffix(b"\n")):
            raise _conflict(target, common, earlier)
        yield line.removesuffix(b"\n")[:-CRC_TAIL_BYTES]


def _conflict(target: str, common: int, earlier: ReadableLog) -> ImportConflictError:
    if earlier.index.control_counts["purge"]:
        return ImportConflictError(
            f"{shown_location(target)}: an earlier copy of this log was purged since, and the file went on from before "
            "that; nothing was added; import the log to another place (-o), and compare them"
        )
    return ImportConflictError(
        f"{shown_location(target)}: an earlier copy of this log differs from it after {common:,} lines; "
        "import the log to another place (-o), and compare them"
    )


def _report(
    reader: LogReader, source: Source, session_id: str | None, target: str, added: int, *, is_older: bool
) -> Import:
    index, account = reader.index, Account()
    for role, number in Counter(index.columns.roles).items():
        account.mapped[ROLES[role]] += number
    _note_others(account, reader, account.mapped, "other line")
    account.notes = [
        LostLine(finding.line, finding.offset, f"{finding.detail}; it is copied as it stands")
        for finding in index.damage
    ]
    live = index.live
    return Import(
        source.path,
        "log",
        target,
        session_id,
        account,
        sessions=[ImportedSession("session", session_id, target, len(live), added, is_older=is_older)],
        roles=Counter(ROLES[index.columns.roles[ordinal]] for ordinal in live),
        hidden=len(index) - len(live),
    )


def read_messages(
    source: Source, account: Account, *, start: SessionStart | None = None, most: int | None = None, why_not: str = ""
) -> Iterator[Event]:
    """Yield the events of the session in a file of bare messages, or in a log that is imported message by message.

    Args:
        source: the file.
        account: records what becomes of each line.
        start: the known facts about the session.
        most: the number of messages to import, from the first one on.
        why_not: the reason why later messages are lost.
    """
    numbers = count(2)

    def renamed(message_id: str) -> str:
        return f"{message_id}.{next(numbers)}"

    source.release_lines()
    copier = MessageCopier(renamed, {}, _why_no_message)
    new_scanner = partial(CopyingScanner, copier=copier, spool=source.spool, most=most)
    with closing(LogReader(source.plain_path, new_scanner=new_scanner)) as reader:
        reader.follow()
        yield start or SessionStart()
        copies = cast("CopyingScanner", reader.scanner).copies
        account.mapped.update(map(ROLES.__getitem__, copies.roles))
        yield copies
        if most is not None:
            copier.refused |= dict.fromkeys(range(most, len(reader.index)), why_not)
        _note_losses(account, reader, copier.refused)
        _note_others(account, reader, account.not_conversational, "blank line")
        damage = reader.index.damage
        account.notes = [
            LostLine(finding.line, finding.offset, finding.detail) for finding in damage if finding.kind in _NOTED
        ]


def _note_losses(account: Account, reader: LogReader, refused: dict[int, str]) -> None:
    """Note the messages that cannot be copied, the lines that cannot be read, and a torn tail."""
    losses = [*refused_messages(reader, refused), *unread_lines(reader), *torn_tail(reader)]
    for loss in sorted(losses, key=lambda loss: loss.offset or 0):
        account.lose(loss.line, loss.reason, loss.offset)


def _why_no_message(message: Message) -> str:
    """Return why an object with a role is not a message in the hosts' form, or "" for such a message."""
    if "content" in message or message.get("tool_calls"):
        return ""
    return f"a message without content: it has {', '.join(sorted(message))[:80]}"


def _note_others(account: Account, reader: LogReader, column: Counter[str], rest: str) -> None:
    """Count control records and lines without a message in a column of the account."""
    column.update({f"{kind} record": number for kind, number in reader.index.control_counts.items() if number})
    account.lines_by_file[""] = max(account.accounted, reader.scanner.line)
    if account.lines > account.accounted:
        column[rest] += account.lines - account.accounted
