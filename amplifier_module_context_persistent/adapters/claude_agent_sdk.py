"""A session store for the Claude Agent SDK: its transcripts are stored in the logs of this package.

    from amplifier_module_context_persistent.adapters.claude_agent_sdk import PersistentSessionStore

    store = PersistentSessionStore("~/.amplifier/projects")
    options = ClaudeAgentOptions(session_store=store, resume=session_id)

The SDK keeps files of its own and builds the requests; the store gets a copy of each entry. The store promises:
- An entry is stored as the option `durability` says when `append` returns.
- A batch is stored as a whole or not at all.
- An entry whose `uuid` the session already has is not stored again, whichever process adds it.
- Entries are returned deep-equal. `show`, `search`, `report` and `stats` read the sessions like any other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from claude_agent_sdk import fold_session_summary
from claude_agent_sdk.types import (
    SessionKey as SdkKey,
)
from claude_agent_sdk.types import (
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

from ..errors import LogUnreadableError, RecordError
from ..forms.canonical import mark_of, marked
from ..forms.claude_code import NAME, entries_in, read_entry
from ..log.contract import Log, ReadableLog
from ..messages.check_incoming import listed
from ..messages.message import Message, metadata_of
from ..messages.metadata import given_id
from ..session.change_history import HistoryChange
from ..session_ids import directory_name, id_of
from .sessions_by_key import SessionKey, SessionsByKey

_SUMMARY = "summary"
_KEY = "key"
_LOOKED_AT = 32
"""The number of last messages that are searched for the other parts of an answer."""


class PersistentSessionStore(SessionStore):
    """The `SessionStore` of the Claude Agent SDK, with all of its optional methods.

    Args:
        where: a directory, which has a directory for each project; or the URL of a PostgreSQL database.
        options: options of each session (`durability`, `lock_timeout_s`, …); `docs/configuration.md` lists them.
    """

    def __init__(self, where: str | os.PathLike[str], **options: Any) -> None:
        self._sessions = SessionsByKey(where, **options)

    async def append(self, key: SdkKey, entries: list[SessionStoreEntry]) -> None:
        """Store entries in order, together or not at all. Entries whose `uuid` the session has are left out."""
        session = _key(key)
        entries = [_checked(entry) for entry in listed(entries)]
        if not entries:
            return
        facts: dict[str, str] = {}
        if _is_cut(session):
            facts[_KEY] = session.subpath or session.session_id
        groups = [read_entry(entry, **facts) for entry in entries]
        messages = [message for group in groups for message in group]

        def decide(log: Log, ready: Sequence[Message]) -> HistoryChange:
            """Return the messages to add; `ready` are those above, in a form that can be stored."""
            remaining = iter(ready)
            ready_groups = [list(islice(remaining, len(group))) for group in groups]
            new = _new_entries(log, entries, ready_groups)
            added = [message for new_entry in new for message in new_entry.parts]
            if added and not session.subpath:
                summary = _fold(_last_summary(log, key), key, [new_entry.entry for new_entry in new])
                added[-1] = marked(added[-1], NAME, **{_SUMMARY: summary})
            return HistoryChange(added=added)

        try:
            manager = await self._sessions.open(session)
            await manager.change_history(decide, messages)
        except LogUnreadableError:  # another process deleted the session since it was opened, so begin it again
            await self._sessions.let_go(session)
            manager = await self._sessions.open(session)
            await manager.change_history(decide, messages)

    async def load(self, key: SdkKey) -> list[SessionStoreEntry] | None:
        """Return all entries of a session, unchanged, or None if there are none."""
        manager = await self._sessions.open(_key(key))
        entries: Any = list(entries_in(await manager.get_messages()))
        return entries or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """List the sessions of a project with the time of their last write. Sub-agents are left out."""
        sessions = await self._sessions.main(project_key, _stored_key)
        return [{"session_id": session_id, "mtime": _milliseconds(log.modified_s)} for session_id, log in sessions]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the SDK's summary of each session of a project."""
        summaries: list[SessionSummaryEntry] = []
        for session_id, log in await self._sessions.main(project_key, _stored_key):
            key: SdkKey = {"project_key": project_key, "session_id": session_id}
            data = await self._sessions.read(log, partial(_last_summary, key=key))
            if data is not None:
                mtime = _milliseconds(log.modified_s)
                summaries.append({"session_id": session_id, "mtime": mtime, "data": data})
        return summaries

    async def delete(self, key: SdkKey) -> None:
        """Erase a session and the transcripts of its sub-agents. With a `subpath`, erase only that transcript."""
        await self._sessions.delete(_key(key))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """List the subpaths of a session: the transcripts of its sub-agents."""
        own = _key(key)
        return await self._sessions.subpaths(SessionKey(own.project, own.session_id), _stored_key)

    async def close(self) -> None:
        """Close all open sessions. A session is opened again when it is used."""
        await self._sessions.close()


def _key(key: SdkKey | SessionListSubkeysKey) -> SessionKey:
    """Read a key of the SDK. The SDK does not check its callers' keys.

    Raises:
        TypeError: the key is not an object, or lacks a part.
    """
    fields: Mapping[str, Any] = key if isinstance(key, Mapping) else {}
    if not {"project_key", "session_id"} <= fields.keys():
        raise TypeError(f"a session's key is an object with project_key and session_id, not {key!r:.80}")
    return SessionKey(fields["project_key"], fields["session_id"], fields.get("subpath") or "")


def _checked(entry: Any) -> Any:
    """Check that an entry of the SDK is an object, and return the entry.

    Raises:
        RecordError: the entry is not an object.
    """
    if not isinstance(entry, Mapping):
        raise RecordError(f"an entry must be a JSON object, not {type(entry).__name__}")
    return entry


def _is_cut(key: SessionKey) -> bool:
    return id_of(directory_name(key.subpath or key.session_id)) is None


class _NewEntry(NamedTuple):
    """An entry that a session does not have yet, and the messages in which it is stored."""

    entry: SessionStoreEntry
    parts: list[Message]


def _new_entries(
    log: ReadableLog, entries: Sequence[SessionStoreEntry], groups: Sequence[list[Message]]
) -> list[_NewEntry]:
    """Return the entries whose ids neither the log nor an earlier entry of the list has.

    An answer comes as several entries, each with the usage of the whole answer. Only the first entry keeps the usage,
    so that the answer is billed once.

    Args:
        log: the session's log.
        entries: the entries that the SDK gave, in order.
        groups: the messages of each entry.
    """
    new: list[_NewEntry] = []
    seen: set[str] = set()
    billed = _answers_before(log) if any(map(_answer_id, entries)) else set[str]()
    for entry, parts in zip(entries, groups, strict=True):
        entry_id = given_id(parts[0])
        if entry_id is not None:
            if entry_id in seen or _holds(log, entry_id):
                continue
            seen.add(entry_id)
        answer_id = _answer_id(entry)
        if answer_id in billed:
            new.append(_NewEntry(entry, [_without_usage(part) for part in parts]))
            continue
        new.append(_NewEntry(entry, parts))
        if answer_id:
            billed.add(answer_id)
    return new


def _answer_id(entry: Mapping[str, Any]) -> str:
    """Return the id of the answer that an entry is a part of, or "" for other entries."""
    message = entry.get("message")
    if entry.get("type") != "assistant" or not isinstance(message, dict):
        return ""
    answer_id = message.get("id")
    return answer_id if isinstance(answer_id, str) else ""


def _answers_before(log: ReadableLog) -> set[str]:
    """Return the ids of the answers among the last messages of a log.

    The log has the usage of these answers already. So a new entry with a further part of such an answer is stored
    without usage.
    """
    last_messages = log.read(log.index.live[-_LOOKED_AT:])
    answer_ids = {_answer_id(entry) for entry in entries_in(last_messages)}
    return answer_ids - {""}


def _without_usage(part: Message) -> Message:
    """Return a later part of an answer without its usage, because an answer is billed once."""
    metadata = {key: value for key, value in metadata_of(part).items() if key != "usage"}
    return {**part, "metadata": metadata}


def _holds(log: ReadableLog, entry_id: str) -> bool:
    ordinal = log.index.find(entry_id)
    return ordinal is not None and any(given_id(message) == entry_id for message in log.read([ordinal]))


def _last_summary(log: ReadableLog, key: SdkKey) -> dict[str, Any] | None:
    """Return the summary in the log's last message. If that message has none, make the summary from all entries.

    Return None if the log has no messages.
    """
    live = log.index.live
    if not live:
        return None
    (last,) = log.read([live[-1]])
    data = mark_of(last).get(_SUMMARY)
    return data if isinstance(data, dict) else _fold(None, key, list(entries_in(log.read(live))))


def _fold(data: dict[str, Any] | None, key: SdkKey, entries: list[Any]) -> dict[str, Any]:
    before: SessionSummaryEntry | None = None
    if data is not None:
        before = {"session_id": key["session_id"], "mtime": 0, "data": data}
    return dict(fold_session_summary(before, key, entries)["data"])


def _stored_key(log: ReadableLog) -> str:
    """Return the id that the first message of a log names, since the log's name may be shortened."""
    first = next(iter(log.read(log.index.live[:1])), {})
    return str(mark_of(first).get(_KEY, ""))


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
