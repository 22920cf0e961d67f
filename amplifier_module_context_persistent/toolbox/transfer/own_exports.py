"""Import files that were exported from a session here: find the session, and append only the new messages to it.

Messages are compared by their ids, which the export wrote into the records (`export_mark.py`), because their texts may
have been redacted.
"""

from __future__ import annotations

from contextlib import closing
from itertools import islice

from ...errors import LogUnreadableError
from ...log.base import ReadableLog
from ...log.index import Index
from ...log.open_log import open_existing, open_log
from ...messages.metadata import given_id
from ...sessions.find_session import sessions_of_id
from ...view.entry import INSTRUCTING
from .copy_log import append_all
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
    """Compare a file with the session that it was exported from.

    Args:
        draft: the session as read from the file.
        reader: the log of the session.
        title: the title of the session.

    Raises:
        ImportConflictError: both the session and the file were continued.
    """
    live = reader.index.live
    added = reader.index.find_all(draft.ids[draft.exported :])  # by earlier imports of the file
    common = max((at + 1 for at in range(draft.exported, draft.messages) if draft.ids[at] in added), default=0)
    common = max(common, draft.exported)
    if common < draft.messages and not _ends_alike(draft, reader, common):
        raise ImportConflictError(
            f"session {draft.session_id}, which this file was exported from, went on or was changed here, and went on "
            "in the file too; import it under another id (--session)"
        )
    return EarlierImport(common, len(live), len(live), 0, title=title)


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
    new = draft.bodies.part(start)
    first = list(islice(new, 1))

    def begin(index: Index) -> list[bytes]:
        if len(index.live) != live:
            raise ImportConflictError(CHANGED_MEANWHILE)
        return first

    append_all(open_log(draft.path), begin, new)


def _ends_alike(draft: SessionDraft, reader: ReadableLog, common: int) -> bool:
    """Return whether the last message of a log, apart from instructions, is the last one that the file has too."""
    newest = reader.read(reader.index.live[-_MOST_LOOKED_UP:])
    said = [given_id(message) for message in newest if message["role"] not in INSTRUCTING]
    last = next((one for one in reversed(draft.ids[:common]) if reader.index.find(one) is not None), None)
    return bool(said) and last is not None and said[-1] == last
