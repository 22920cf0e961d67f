"""Imports of files that were exported from a session here: the session is found, and only what is new is added to it.

Messages are compared by their ids, which the export left on the records (`export_mark.py`): their texts may have been
redacted.
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
    """The log of the session that a file was exported from; empty if it is not here.

    A session of the same id is another one if it has none of the first messages of the file.

    Raises:
        LogUnreadableError: the database of `storage` cannot be asked.
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
        draft: the session as the file tells it.
        reader: the log of the session.
        title: the title that the session keeps.

    Raises:
        ImportConflictError: both went on.
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
    """Append what an agent added to the session that the file was exported from.

    Args:
        draft: the session as the file tells it.
        start: the number of the first record that is new.
        live: how many live messages the log had when it was compared.

    Raises:
        ImportConflictError: the log has another number of live messages by now; nothing was appended.
        LogError: the log took not all of it.
    """
    new = draft.bodies.part(start)
    first = list(islice(new, 1))

    def begin(index: Index) -> list[bytes]:
        if len(index.live) != live:
            raise ImportConflictError(CHANGED_MEANWHILE)
        return first

    append_all(open_log(draft.path), begin, new)


def _ends_alike(draft: SessionDraft, reader: ReadableLog, common: int) -> bool:
    """Whether a log ends, apart from instructions, with the last message that it has in common with the file."""
    newest = reader.read(reader.index.live[-_MOST_LOOKED_UP:])
    said = [given_id(message) for message in newest if message["role"] not in INSTRUCTING]
    last = next((one for one in reversed(draft.ids[:common]) if reader.index.find(one) is not None), None)
    return bool(said) and last is not None and said[-1] == last
