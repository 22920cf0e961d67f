"""Compare the sessions of an import with what an earlier import of the same source wrote.

The result (`EarlierImport`) says which messages of the source are new and which have changed in it; `write_import` adds
them. What was hidden here, as by a rewind or a clear, stays hidden. A session that was continued both here and in its
source is refused. A compaction of the source alone is not added to a session that was continued, rewound, cleared,
compacted or purged here, because it would change the model's view of what is here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple

from ....errors import LogUnreadableError
from ....forms.canonical import total
from ....log.checksum import CRC_TAIL_BYTES
from ....log.contract import ReadableLog
from ....log.index import Index
from ....log.not_a_log import check_is_log
from ....log.open_log import open_existing, taken_error
from ....log.record_line import CONTROL_HEAD, decode
from ....messages.message_times import instant_of, timestamp_of
from ....messages.metadata import given_id
from ..importers.account import Account
from .drafts import PLAN_HEAD, EarlierImport, ImportConflictError, SessionDraft
from .import_own_export import compared_with_origin
from .source_facts import title_among, title_of

_HEADER_HEAD, _RESET_HEAD = CONTROL_HEAD + b':"header"', CONTROL_HEAD + b':"reset_'
_PURGE_HEAD = CONTROL_HEAD + b':"purge"'


def find_earlier(sessions: Sequence[SessionDraft], account: Account, *, again: bool) -> list[SessionDraft]:
    """Compare the logs of earlier imports with the source, set each draft's `earlier`, and return the drafts.

    If the file has several sessions, one that cannot be compared is left out and named as lost, with its branches and
    sub-agents.

    Args:
        sessions: the drafts with their places.
        account: the report on the source's lines.
        again: whether content that was purged here is imported again.

    Raises:
        FileExistsError: the name of a session's log is taken by something that is not an earlier import of the
            session.
        ImportConflictError: the session of the file, or each of several, was continued both here and in its source.
    """
    families = [list(family) for _, family in groupby(sessions, lambda draft: draft.family)]
    compared: list[SessionDraft] = []
    refused = ""
    for family in families:
        try:
            for draft in family:
                _find_earlier_of(draft, account, again=again)
        except (FileExistsError, ImportConflictError) as error:
            if len(families) == 1:
                raise
            refused = str(error)
            account.lose_part(family[0].first_line, refused)
        else:
            compared += family
    if not compared:
        raise ImportConflictError(f"nothing can be added to any of {len(families):,} sessions; the last one: {refused}")
    return compared


def _find_earlier_of(draft: SessionDraft, account: Account, *, again: bool) -> None:
    reader = open_earlier(draft.target.path)
    if reader is None:
        return
    with closing(reader):
        if draft.target.is_origin:
            draft.earlier = compared_with_origin(draft, reader, title_of(draft))
            return
        found = _compared(draft, reader, account.lines_by_file[draft.file], again=again)
        facts = _source_in(reader)
        draft.earlier = replace(found, title=title_among(facts, draft))


def _compared(draft: SessionDraft, reader: ReadableLog, lines_now: int, *, again: bool) -> EarlierImport:
    """Compare a draft with the log of an earlier import; `lines_now` is the number of lines of the source now."""
    source = _source_in(reader)
    if source.get("key") != draft.target.key:
        raise taken_error(draft.target.path)
    lines_then = total(source.get("lines")) or 0
    messages_then = total(source.get("messages")) or 0
    records_then = total(source.get("records")) or 0
    clears_then = total(source.get("clears")) or 0
    if reader.index.control_counts["purge"]:
        return _compared_with_purged(draft, reader, messages=messages_then, records=records_then, again=again)
    live = len(reader.index.live)
    # After a clear, only the messages since the last clear of that time are live in the log.
    parts = [0, *draft.clears, draft.messages]  # the positions at which the draft's parts begin, and the end
    last_part = min(clears_then, len(draft.clears))
    begin = parts[last_part]
    end = parts[last_part + 1]
    kept_count = _equal_at_beginning(draft, reader, begin, end)
    is_cut = records_in(reader.index) < (total(source.get("records_in_log")) or 0)
    nothing_to_add = EarlierImport(draft.messages, live, live, len(draft.bodies))
    if lines_now < lines_then or clears_then > len(draft.clears):
        return replace(nothing_to_add, is_older=True)
    found = EarlierImport(begin + kept_count, kept_count, live, 0 if is_cut else records_then, is_cut=is_cut)
    has_as_many = messages_then - begin == live
    if has_as_many and kept_count == live:
        has_more_records = records_then < len(draft.bodies)
        may_be_compaction = has_more_records and found.common == draft.messages and not is_cut
        return nothing_to_add if may_be_compaction and _was_compacted_here(reader) else found
    if found.common == draft.messages and not has_as_many:  # the session was continued here only
        return nothing_to_add
    if _went_on_here(reader, frozenset(draft.ids)):
        return _compared_with_changed(draft, reader, found)
    if kept_count < live and not found.common:
        raise ImportConflictError(
            f"session {draft.target.name} was imported before, and its source begins with another "
            "message now; import it under another id (--session)"
        )
    return found


def _equal_at_beginning(draft: SessionDraft, reader: ReadableLog, begin: int, end: int) -> int:
    """Return how many messages of a draft, from `begin` to `end`, are the first live messages of a log."""
    bodies = (draft.bodies[record] for record in draft.at[begin:end])
    equal = 0
    for body, (_, line) in zip(bodies, reader.lines(reader.index.live), strict=False):
        if line[:-CRC_TAIL_BYTES] != body:
            break
        equal += 1
    return equal


def _was_compacted_here(reader: ReadableLog) -> bool:
    """Return whether a log has a plan that no import wrote.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    if not reader.index.control_counts["plan"]:
        return False
    imported_to = 0  # as in `_went_on_here`
    for number, line in enumerate(reader.records()):
        if line.startswith(_HEADER_HEAD):
            imported_to = _end_of_import(decode(line), number) or imported_to
        elif number >= imported_to and line.startswith(PLAN_HEAD):
            return True
    return False


def _end_of_import(header: Mapping[str, Any], number: int) -> int:
    """Return the number of records of a log up to the end of the import that wrote a header; 0 if none wrote it."""
    source = header.get("source")
    if not isinstance(source, dict):
        return 0
    return total(source.get("records_in_log")) or number + 1 + (total(source.get("records")) or 0)


def _went_on_here(reader: ReadableLog, ids: frozenset[str]) -> bool:
    """Return whether a person went on with an imported session here: no import wrote one of its messages or resets.

    The header says how many records an import adds. After a kill some are missing, and messages that were said here
    take their places. Such a message is recognised by its id and its time: the source does not have it, and it is later
    than the import, but not in the future.

    Args:
        reader: the log.
        ids: the ids of the source's messages.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    imported_to = 0  # the number of records up to the end of the last import
    imported_at: datetime | None = None  # the time of the last import; None for the first one, which is never cut
    for number, line in enumerate(reader.records()):
        if line.startswith(_HEADER_HEAD):
            header = decode(line)
            end = _end_of_import(header, number)
            if end:
                imported_to = end
                imported_at = instant_of(str(header.get("created"))) if number else None
            continue
        is_message = not line.startswith(CONTROL_HEAD)
        if number >= imported_to and (is_message or line.startswith(_RESET_HEAD)):
            return True
        if is_message and imported_at is not None and _is_said_later(line, imported_at, ids):
            return True
    return False


def _is_said_later(line: bytes, imported_at: datetime, ids: frozenset[str]) -> bool:
    """Return whether the line of a message is later than an import, and not one of the source's messages."""
    try:
        message = decode(line)
    except ValueError:  # a damaged line
        return False
    said_at = instant_of(timestamp_of(message))
    return given_id(message) not in ids and said_at is not None and imported_at < said_at <= datetime.now(UTC)


def _compared_with_changed(draft: SessionDraft, reader: ReadableLog, found: EarlierImport) -> EarlierImport:
    """Compare a draft with the log of an earlier import that was continued, rewound or cleared here.

    Args:
        draft: the session as the source has it.
        reader: the log.
        found: the result of comparing the draft with the live messages from the beginning.

    Raises:
        ImportConflictError: the session was continued both here and in its source, or its source changed a message that
            is live here.
    """
    known = _known_messages(draft, reader, found.common)
    common = max([found.common, *(position + 1 for position in known.unaltered.values())])
    live = reader.index.live[found.kept :]
    own = sum(ordinal not in known.unaltered for ordinal in live)
    if own and (common < draft.messages or not known.altered.isdisjoint(live)):
        raise ImportConflictError(
            f"session {draft.target.name} went on here after {found.common:,} messages of its source, "
            "and the source went on too; import it under another id (--session)"
        )
    hidden = common - found.common - (len(live) - own)
    is_no_news = common == draft.messages and not found.is_cut
    records = len(draft.bodies) if is_no_news else found.records
    return replace(found, common=common, kept=found.live, records=records, hidden_here=hidden)


class _KnownMessages(NamedTuple):
    """The messages of a draft that a log has, live or hidden."""

    unaltered: dict[int, int]
    """The positions in the draft, by ordinal in the log."""
    altered: set[int]
    """The ordinals of messages with other content than the draft's messages of the same ids."""


def _known_messages(draft: SessionDraft, reader: ReadableLog, first: int) -> _KnownMessages:
    """Return the messages of a draft, from the position `first` on, that a log has."""
    ordinals = reader.index.find_all(draft.ids[first:])
    positions = {}
    for position in range(first, draft.messages):
        ordinal = ordinals.get(draft.ids[position])
        if ordinal is not None:
            positions[ordinal] = position
    unaltered = {}
    for ordinal, line in reader.lines(sorted(positions)):
        position = positions[ordinal]
        if line[:-CRC_TAIL_BYTES] == draft.bodies[draft.at[position]]:
            unaltered[ordinal] = position
    return _KnownMessages(unaltered, positions.keys() - unaltered.keys())


def _compared_with_purged(
    draft: SessionDraft, reader: ReadableLog, *, messages: int, records: int, again: bool
) -> EarlierImport:
    """Compare a draft with the log of an earlier import that was purged after the import.

    All messages that were imported before count as known, even if the purge removed them.

    Raises:
        ImportConflictError: the session was continued both here and in its source; or purged content was asked for
            again.
    """
    session_name = draft.target.name
    if again:
        raise ImportConflictError(
            f"session {session_name} was purged here since; delete it, then import it with --again,"
            " to have it as it was"
        )
    positions = {message_id: position for position, message_id in enumerate(draft.ids)}
    live = reader.index.live
    # The number of the draft's messages that were imported before. A killed import announces more than it wrote.
    known = messages if _took_messages(reader) else _last_in(draft, reader)
    went_on_here = False
    for message in reader.read(live):
        position = positions.get(given_id(message) or "")
        went_on_here = position is None  # the last message decides
        if position is not None:
            known = max(known, position + 1)
    common = min(known, draft.messages)
    if went_on_here and common < draft.messages:
        raise ImportConflictError(
            f"session {session_name} was purged here and went on here, and its source went on too; nothing was added"
        )
    is_older = draft.messages < messages
    if common == draft.messages:
        records = len(draft.bodies)
    return EarlierImport(common, len(live), len(live), records, is_older=is_older)


def _took_messages(reader: ReadableLog) -> bool:
    """Return whether a purge may have removed messages from a log; False if each purge only replaced texts."""
    purges = (decode(line) for line in reader.records() if line.startswith(_PURGE_HEAD))
    return any(purge.get("messages_removed") != 0 for purge in purges)


def _last_in(draft: SessionDraft, reader: ReadableLog) -> int:
    """Return the number of the draft's last message, from 1, that a log has, live or hidden; 0 if it has none."""
    found = reader.index.find_all(draft.ids)
    return max((position + 1 for position, message_id in enumerate(draft.ids) if message_id in found), default=0)


def key_at(path: str) -> str | None:
    """Return the key of the import that made a log.

    Returns "" for any other file, and None if there is no file.
    """
    try:
        reader = open_earlier(path)
    except OSError:
        return ""
    if reader is None:
        return None
    with closing(reader):
        source = reader.index.headers[0].get("source") if reader.index.headers else None
    return str(source.get("key")) if isinstance(source, dict) else ""


def began(path: str) -> str:
    """Return the time in the first header of a log, in ISO 8601; "" if there is no log or no time.

    Raises:
        FileExistsError, LogUnreadableError: as for `open_earlier`.
    """
    reader = open_earlier(path)
    if reader is None:
        return ""
    with closing(reader):
        created = reader.index.headers[0].get("created") if reader.index.headers else None
        return created if isinstance(created, str) else ""


def open_earlier(path: str) -> ReadableLog | None:
    """Open the log that exists at a new log's place, or return None if there is none.

    Raises:
        FileExistsError: something that is not a log has the name.
        LogUnreadableError: the database cannot be read.
    """
    reader = open_existing(path)
    if reader is None:
        return None
    try:
        reader.follow()
        check_is_log(reader)
    except LogUnreadableError as error:
        reader.close()
        raise taken_error(path) from error
    return reader


def _source_in(reader: ReadableLog) -> Mapping[str, Any]:
    """Return the `source` field of a log's last import; an empty mapping for a log that was not imported.

    A session that continues the log may have written a later header without this field.
    """
    sources = (header.get("source") for header in reversed(reader.index.headers))
    return next((source for source in sources if isinstance(source, dict)), {})


def records_in(index: Index) -> int:
    """Return the number of a log's records, including control records."""
    return len(index) + sum(index.control_counts.values())
