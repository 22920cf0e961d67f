"""Import files that were exported from a session here: find the session, and append only the new messages to it.

Messages are compared by their ids, which the export wrote into the records (`export_mark.py`), because their texts may
have been redacted.
"""

from __future__ import annotations

from contextlib import closing
from itertools import islice

from ....errors import LogUnreadableError
from ....log.contract import ReadableLog
from ....log.index import Index
from ....log.open_log import open_existing, open_log
from ....messages.metadata import given_id
from ....sessions.session_files import sessions_of_id
from ....view.entry import INSTRUCTING
from ..copy_log import append_all
from .drafts import CHANGED_MEANWHILE, EarlierImport, ImportConflictError, SessionDraft

_MOST_LOOKED_UP = 100


def exported_here(draft: SessionDraft, storage: str | None) -> str:
    """Return the log of the session that a file was exported from, or "" if the session is not here.

    A session with the same id but none of the file's first messages is another session.

    Raises:
        LogUnreadableError: the database `storage` cannot be reached.
    """
    if not draft.exported:
        return ""
    first = list(islice(draft.ids, min(draft.exported, _MOST_LOOKED_UP)))
    for session in sessions_of_id(draft.start.exported_from, storage=storage):
        try:
            reader = open_existing(str(session.path))
            if reader is None:
                continue
            with closing(reader):
                reader.follow()
                if reader.index.find_all(first):
                    return str(session.path)
        except LogUnreadableError:
            continue
    return ""


def compared_with_origin(draft: SessionDraft, reader: ReadableLog, title: str) -> EarlierImport:
    """Compare a file with the session from which the file was exported.

    Args:
        draft: the session as read from the file.
        reader: the log of the session.
        title: the title of the session.

    Raises:
        ImportConflictError: both the session and the file were continued.
    """
    live = len(reader.index.live)
    common = draft.exported
    imported_earlier = reader.index.find_all(draft.ids[draft.exported :])
    for position in range(draft.exported, draft.messages):
        if draft.ids[position] in imported_earlier:
            common = position + 1
    if common < draft.messages and not _ends_alike(draft, reader, common):
        raise ImportConflictError(
            f"session {draft.target.session_id}, which this file was exported from, went on or was changed here, and "
            "went on in the file too; import it under another id (--session)"
        )
    return EarlierImport(common, live, live, 0, title=title)


def append_to_origin(draft: SessionDraft, start: int, live: int) -> None:
    """Append the records that an agent added to an exported file to the session that the file was exported from.

    Args:
        draft: the session as read from the file.
        start: the number of the first new record.
        live: the number of live messages in the log when it was compared.

    Raises:
        ImportConflictError: the number of live messages has changed since; nothing was appended.
        LogError: the log refused some of the records.
    """
    records = draft.bodies.part(start)
    first_record = list(islice(records, 1))

    def check_and_begin(index: Index) -> list[bytes]:
        """Return the first record. It is appended under the lock of the check, before another process can write."""
        if len(index.live) != live:
            raise ImportConflictError(CHANGED_MEANWHILE)
        return first_record

    append_all(open_log(draft.target.path), check_and_begin, records)


def _ends_alike(draft: SessionDraft, reader: ReadableLog, common: int) -> bool:
    """Return whether a log ends with the last message that the log and the file have in common.

    Instructions at the end of the log are ignored.

    Args:
        draft: the session as read from the file.
        reader: the log.
        common: the number of the file's first messages that may be in the log.
    """
    newest = reader.read(reader.index.live[-_MOST_LOOKED_UP:])
    spoken_ids = [given_id(message) for message in newest if message["role"] not in INSTRUCTING]
    if not spoken_ids:
        return False
    for message_id in reversed(draft.ids[:common]):
        if reader.index.find(message_id) is not None:
            return spoken_ids[-1] == message_id
    return False
