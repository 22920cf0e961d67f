"""A conversation store for Pydantic AI, and views of a conversation before each model request.

    from amplifier_module_context_persistent.adapters.pydantic_ai import PersistentConversationStore, ViewOfHistory

    store = PersistentConversationStore("conversations")
    agent = Agent(model, capabilities=[ViewOfHistory(store, max_tokens=100_000)])
    conversation = await store.load("user-17") or Conversation(conversation_id="user-17")
    await store.save(await agent.run("Hello", conversation=conversation))

Each conversation is a session of its own with all entries, in the order of saving. Its *record* names the end of the
current branch. A fork has a copy of the entries that it shares, under the same ids. If two processes save at once, one
of them gets `ConversationConflict`, because the record is compared under the log's lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import ref

from pydantic import TypeAdapter
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext

from ..errors import ConfigError, DeleteError
from ..forms.canonical import mark_of, marked
from ..forms.pydantic_ai import NAME, read_message, write
from ..forms.whole_body import bodies_in, for_people
from ..log.contract import Log, ReadableLog
from ..messages.message import Message, as_json
from ..messages.metadata import given_id
from ..session.change_history import HistoryChange
from ..session.in_memory_manager import InMemoryContextManager
from .kept_plan import KeptPlan, Named
from .sessions_by_key import SessionKey, SessionsByKey
from .working_view import WorkingView

_PROJECT = "conversations"
_RECORD = "record"
_ENTRY = "entry"
_MOST_VIEWS = 32
_messages: TypeAdapter[Any] = TypeAdapter(ModelMessage)
_records: TypeAdapter[ConversationRecord] = TypeAdapter(ConversationRecord)


class PersistentConversationStore(ConversationStore):
    """A `ConversationStore` of Pydantic AI that keeps conversations in logs of this package.

    `delete` erases the conversation's log. Entries that a fork shares stay in the fork.

    Args:
        where: a directory, or the URL of a PostgreSQL database.
        options: options of each session (`durability`, …); `docs/configuration.md` lists them.
    """

    def __init__(self, where: str | os.PathLike[str], **options: Any) -> None:
        self._sessions = SessionsByKey(where, **options)
        self._owners: dict[str, str] = {}
        """For each entry that this process has seen, by the entry's id: the id of a conversation that has the entry."""
        self._views: list[ref[ViewOfHistory]] = []
        """The views that get a call after each save, so that they store their plans in the saved conversation."""

    def kept_plan(self, conversation_id: str) -> KeptPlan:
        """Return the plan of a conversation's views, which is kept in its log."""
        return KeptPlan(lambda: self._sessions.open(_key(conversation_id)), _named_in)

    def tell(self, views: ViewOfHistory) -> None:
        """Call a `ViewOfHistory` after each save, as long as that view is in use."""
        in_use = [reference for reference in self._views if reference() is not None]
        self._views = [*in_use, ref(views)]

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation, or None if there is none."""
        manager = await self._sessions.open(_key(conversation_id))
        record = _record_in(await manager.last_messages(1))
        if record is not None:
            self._note_owner_of_ends(record)
        return record

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Return the stored records, newest first. If `scope` is given, return only the records of that scope."""
        records: list[ConversationRecord] = []
        for session in await self._sessions.listed(_PROJECT):
            record = await self._sessions.read(session, _record_of)
            if record is None:
                continue
            self._note_owner_of_ends(record)
            if scope in (None, record.scope):
                records.append(record)
        records.sort(key=lambda record: record.updated_at, reverse=True)
        return records[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record with its new entries, together or not at all.

        Raises:
            ConversationConflict: the stored record has another revision, or the head is in no conversation.
        """
        manager = await self._sessions.open(_key(record.conversation_id))
        shared = await self._shared(record, new_entries)
        entries = [*shared, *new_entries]
        parts = [part for entry in entries for part in _read(entry)]
        if not parts:
            parts = [for_people(_goes_on(record))]
        parts[-1] = marked(parts[-1], NAME, **{_RECORD: _records.dump_python(record, mode="json")})

        def decide(log: Log, ready: Sequence[Message]) -> HistoryChange:
            stored = _record_of(log)
            revision = stored.revision if stored is not None else None
            if revision != expected_revision:
                raise ConversationConflict(record.conversation_id)
            continued = entries[0].parent_id if entries else record.head_id
            if continued is not None and _group_at(log, continued) is None:
                raise ConversationConflict(record.conversation_id)
            return HistoryChange(added=ready)

        await manager.change_history(decide, parts)
        if shared and record.forked_from is not None:
            await self.kept_plan(record.forked_from).carry_to(self.kept_plan(record.conversation_id))
        self._note_owner_of_ends(record)
        for entry in entries:
            self._owners[entry.id] = record.conversation_id
        for reference in tuple(self._views):
            views = reference()
            if views is not None:
                await views.saved(record.conversation_id)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Erase a conversation.

        Raises:
            ConversationConflict: the stored record has another revision.
        """

        def check(log: ReadableLog) -> None:
            record = _record_of(log)
            if record is None or record.revision != expected_revision:
                raise ConversationConflict(conversation_id)

        try:
            await self._sessions.delete(_key(conversation_id), check)
        except DeleteError as error:
            raise ConversationConflict(conversation_id) from error

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return an entry, which may be on an abandoned branch.

        Raises:
            LookupError: no conversation has the entry.
        """
        history = await self.read_history(entry_id, limit=1)
        if not history:
            raise LookupError(f"no conversation holds the entry {entry_id!r:.80}")
        return history[-1]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entries that lead to the entry `head_id`, in order, or the last `limit` of them.

        Raises:
            LookupError: no conversation has the entry.
        """
        if head_id is None or limit == 0:
            return []
        owner = self._owners.get(head_id)
        if owner is not None:
            history = await self._history_in(_key(owner), head_id, limit)
            if history is not None:
                return history
        for record in await self.read_records():
            history = await self._history_in(_key(record.conversation_id), head_id, limit)
            if history is not None:
                self._owners[head_id] = record.conversation_id
                return history
        raise LookupError(f"no conversation holds the entry {head_id!r:.80}")

    async def close(self) -> None:
        """Close all open conversations. A conversation is opened again when it is used."""
        await self._sessions.close()

    async def _history_in(self, key: SessionKey, head_id: str, limit: int | None) -> list[ConversationEntry] | None:
        manager = await self._sessions.open(key)
        return await manager.look(lambda log: _history(log, head_id, limit))

    async def _shared(
        self, record: ConversationRecord, new_entries: Sequence[ConversationEntry]
    ) -> list[ConversationEntry]:
        """Return the entries that a fork shares with the conversation from which it was made."""
        first = new_entries[0].parent_id if new_entries else record.head_id
        if first is None or record.forked_from is None:
            return []
        if await self._history_in(_key(record.conversation_id), first, 1) is not None:
            return []
        return await self._history_in(_key(record.forked_from), first, None) or []

    def _note_owner_of_ends(self, record: ConversationRecord) -> None:
        """Remember which conversation the last entry of each branch belongs to."""
        for entry_id in (record.head_id, *record.branches):
            if entry_id:
                self._owners[entry_id] = record.conversation_id


class ViewOfHistory(AbstractCapability[Any]):
    """A capability that sends each model request a view. The view fits, and its beginning stays between requests.

    Use it as `capabilities=[ViewOfHistory(store, max_tokens=…)]`; one serves any number of conversations. It changes
    only the request: a run keeps its whole history, which `ProcessHistory` would cut, and a save stores it.

    Args:
        store: the store of the conversations. It keeps the plans of their views, and the next process continues with
            them. Without a store the plans end with this process.
        options: options of the views: `max_tokens` without instructions and tools, `recipient`, …;
            `docs/configuration.md` lists them.

    Raises:
        ConfigError: an unknown option, or a wrong value.
    """

    def __init__(self, store: PersistentConversationStore | None = None, **options: Any) -> None:
        if not isinstance(store, PersistentConversationStore | None):
            raise ConfigError(f"store: a PersistentConversationStore is expected, not {type(store).__name__}")
        InMemoryContextManager(**options)  # a wrong option is refused here, not in the middle of a run
        self._store = store
        self._options = options
        self._views: list[tuple[str, WorkingView[Any]]] = []
        """The free views (no call uses them), each with the id of its conversation. The last used view is at the end.
        """
        if store is not None:
            store.tell(self)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Replace the messages of a request by the session's view of them."""
        request_context.messages = await self.view(ctx.conversation_id or "", request_context.messages)
        return request_context

    async def view(self, conversation_id: str, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Return the view to send instead of the messages of a conversation."""
        view = self._take_out(conversation_id, messages)
        if view is None:
            view = self._new_view(conversation_id)
        sent = await view.view(messages)
        views = [*self._views, (conversation_id, view)]
        self._views = views[-_MOST_VIEWS:]
        return sent

    def _new_view(self, conversation_id: str) -> WorkingView[Any]:
        kept_plan = None
        if self._store is not None:
            kept_plan = self._store.kept_plan(conversation_id)
        return WorkingView(
            read=lambda message: read_message(_messages.dump_python(message, mode="json")),
            write=lambda changed: [_messages.validate_python(message) for message in write(changed)],
            make=_messages.validate_python,
            key=_key_of,
            name=NAME,
            kept_plan=kept_plan,
            **self._options,
        )

    async def saved(self, conversation_id: str) -> None:
        """Keep the plan of a conversation's views, after the conversation was saved."""
        for known, view in tuple(self._views):
            if known == conversation_id:
                await view.keep_plan()

    def _take_out(self, conversation_id: str, messages: Sequence[ModelMessage]) -> WorkingView[Any] | None:
        """Return the view of a conversation that has most in common with a list, or None if no view is free.

        The view is removed from the free views, so that only one call uses it.
        """
        free = [view for view_conversation_id, view in self._views if view_conversation_id == conversation_id]
        if not free:
            return None
        best = max(free, key=lambda view: view.in_common(messages))
        self._views = [(view_conversation_id, view) for view_conversation_id, view in self._views if view is not best]
        return best


def _key_of(message: ModelMessage) -> str:
    return as_json(_messages.dump_python(message, mode="json", include={"kind", "parts"}))


def _key(conversation_id: str) -> SessionKey:
    return SessionKey(_PROJECT, conversation_id)


def _read(entry: ConversationEntry) -> list[Message]:
    """Return the messages that an entry is stored as."""
    place = {"id": entry.id, "parent": entry.parent_id}
    parts = read_message(_messages.dump_python(entry.message, mode="json"), **{_ENTRY: place})
    parts[0]["metadata"]["message_id"] = entry.id
    return parts


def _goes_on(record: ConversationRecord) -> str:
    """Return the text that people read in place of a record without a message.

    The kit saves such a record for a `branch`, which abandons the messages after the new end of the conversation.
    """
    return f"[the conversation goes on after {record.head_id or 'nothing'}]"


def _record_of(log: ReadableLog) -> ConversationRecord | None:
    return _record_in(list(log.read(log.index.live[-1:])))


def _record_in(messages: Sequence[Message]) -> ConversationRecord | None:
    """Return the record in the last message of a conversation, or None if that message has no record."""
    if not messages:
        return None
    record = mark_of(messages[-1]).get(_RECORD)
    if record is None:
        return None
    return _records.validate_python(record)


def _entry_of(group: Sequence[Message], body: Any) -> ConversationEntry | None:
    """Return the entry that is stored in the messages of a group, or None if they contain no entry."""
    place = mark_of(group[0]).get(_ENTRY)
    if body is None or not isinstance(place, dict):
        return None
    return ConversationEntry(id=place["id"], parent_id=place["parent"], message=_messages.validate_python(body))


def _group_at(log: ReadableLog, entry_id: str) -> list[Message] | None:
    """Return the messages that an entry was stored as, or None if the log lacks the entry."""
    first = log.index.find(entry_id)
    if first is None:
        return None
    (message,) = log.read([first])
    if given_id(message) != entry_id:
        return None
    part = mark_of(message).get("part")
    count = part[1] if isinstance(part, list) else 1
    return [message, *log.read(range(first + 1, first + count))]


def _named_in(log: ReadableLog) -> list[Named]:
    """Return the messages of the current branch, in order."""
    record = _record_of(log)
    if record is None:
        return []
    groups = {mark_of(group[0]).get(_ENTRY, {}).get("id"): (group, body) for group, body in _pairs(log)}
    stored_messages: list[Named] = []
    entry_id = record.head_id
    while entry_id is not None and entry_id in groups:
        group, body = groups[entry_id]
        entry = _entry_of(group, body)
        if entry is None:
            break
        stored_messages.append(Named(_key_of(entry.message), [given_id(part) or "" for part in group]))
        entry_id = entry.parent_id
    stored_messages.reverse()
    return stored_messages


def _pairs(log: ReadableLog) -> Iterator[tuple[list[Message], Any]]:
    return bodies_in(log.read(log.index.live), NAME)


def _history(log: ReadableLog, head_id: str, limit: int | None) -> list[ConversationEntry] | None:
    """Return the entries that lead to the entry `head_id`, found by their parents; None if the log lacks one."""
    known: dict[str, ConversationEntry] = {}
    if limit is None:  # the history is most of the log, so read the whole log at once
        pairs = (_entry_of(group, body) for group, body in _pairs(log))
        known = {entry.id: entry for entry in pairs if entry is not None}
    history: list[ConversationEntry] = []
    entry_id: str | None = head_id
    while entry_id is not None and (limit is None or len(history) < limit):
        entry = known.get(entry_id) or _entry_at(log, entry_id)
        if entry is None:
            return None
        history.append(entry)
        entry_id = entry.parent_id
    return history[::-1]


def _entry_at(log: ReadableLog, entry_id: str) -> ConversationEntry | None:
    group = _group_at(log, entry_id)
    if group is None:
        return None
    ((found, body),) = bodies_in(group, NAME)
    return _entry_of(found, body)
