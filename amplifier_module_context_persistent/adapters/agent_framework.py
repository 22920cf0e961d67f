"""History and compaction for the Microsoft Agent Framework: one object that gives both.

    from amplifier_module_context_persistent.adapters.agent_framework import PersistentHistory

    kit = PersistentHistory("sessions", max_tokens=100_000)
    agent = Agent(client=client, context_providers=[kit.provider], compaction_strategy=kit.compaction)

The framework gives a compaction strategy a list of messages, but no session. The provider marks the messages that it
loads with their session. So the strategy continues the plan of that session, and requests keep their beginning.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from agent_framework import HistoryProvider, Message

from ..errors import RecordError
from ..forms.agent_framework import NAME, read_message, usage, write
from ..forms.whole_body import bodies_in
from ..log.contract import ReadableLog
from ..messages.check_incoming import json_copy, listed
from ..messages.message import as_json, metadata_of
from ..messages.metadata import given_id
from ..session.change_history import HistoryChange
from .kept_plan import KeptPlan, Named
from .sessions_by_key import SessionKey, SessionsByKey
from .working_view import WorkingView

_PROJECT = "agent-framework"
_SESSION = "_context_persistent_session"
"""The property of a loaded message that names its session."""
_MOST_VIEWS = 32
_REPORTED: ContextVar[dict[str, Any]] = ContextVar("_REPORTED", default={})  # noqa: B039 - nobody changes it
"""The metadata of the last answer that the current run saves: the usage of its response."""


class PersistentHistory:
    """The framework's `HistoryProvider` (`provider`) and `CompactionStrategy` (`compaction`) over stored sessions.

    Args:
        where: a directory, or the URL of a PostgreSQL database.
        source_id: the provider's id in the framework.
        options: options of each session and its views: `max_tokens` without instructions and tools, `durability`, …;
            `docs/configuration.md` lists them.
    """

    def __init__(self, where: str | os.PathLike[str], *, source_id: str = "context_persistent", **options: Any) -> None:
        self._sessions = SessionsByKey(where, **options)
        self.compaction = ViewStrategy(self._sessions, **options)
        self.provider = PersistentHistoryProvider(self._sessions, source_id, self.compaction)

    async def close(self) -> None:
        """Close all open sessions. A session is opened again when it is used."""
        await self._sessions.close()


class PersistentHistoryProvider(HistoryProvider):
    """Loads and saves the messages of sessions.

    Args:
        sessions: the stored sessions.
        source_id: the provider's id in the framework.
        strategy: gets each save, so that its plans are kept with the messages.
    """

    def __init__(self, sessions: SessionsByKey, source_id: str, strategy: ViewStrategy) -> None:
        super().__init__(source_id)
        self._sessions = sessions
        self._strategy = strategy

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return all saved messages of a session, unchanged except for a mark with the session's id."""
        manager = await self._sessions.open(_key(session_id))
        bodies = (body for _, body in bodies_in(await manager.get_messages(), NAME) if body is not None)
        messages = list(map(Message.from_dict, bodies))
        for message in messages:
            message.additional_properties[_SESSION] = session_id or ""
        return messages

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Store messages in order, together or not at all. Messages that were loaded from a session are left out."""
        new = [message for message in _checked(messages) if _SESSION not in message.additional_properties]
        parts = [part for message in new for part in read_message(json_copy(message.to_dict()))]
        if not parts:
            return
        _add_to_last_answer(parts, _REPORTED.get())
        manager = await self._sessions.open(_key(session_id))
        await manager.change_history(lambda _, ready: HistoryChange(added=ready), parts)
        await self._strategy.saved(session_id or "", new)

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Store the messages of a run, or of one model call in it, with the usage that the model's response reports."""
        before = _REPORTED.set(_reported(agent, context.response))
        try:
            await super().after_run(agent=agent, session=session, context=context, state=state)
        finally:
            _REPORTED.reset(before)


def _add_to_last_answer(messages: list[dict[str, Any]], metadata: Mapping[str, Any]) -> None:
    """Add metadata to the last answer of a list of messages, in place; do nothing if the list has no answer."""
    if not metadata:
        return
    for number in range(len(messages) - 1, -1, -1):
        message = messages[number]
        if message["role"] == "assistant":
            messages[number] = {**message, "metadata": {**metadata_of(message), **metadata}}
            return


def _reported(agent: Any, response: Any) -> dict[str, Any]:
    """Return the usage of a response, its model and its provider as metadata of an answer, or {} without usage."""
    client = getattr(agent, "client", None)
    provider = str(getattr(client, "OTEL_PROVIDER_NAME", ""))
    answers = sum(str(message.role) == "assistant" for message in getattr(response, "messages", ()))
    reported_usage = usage(getattr(response, "usage_details", None), provider=provider, requests=answers)
    if not reported_usage:
        return {}
    metadata: dict[str, Any] = {"usage": reported_usage}
    if provider not in ("", "unknown"):
        metadata["provider"] = provider
    raw = getattr(response, "raw_representation", None)
    model = getattr(raw, "model", None) or getattr(client, "model", None)
    if isinstance(model, str):
        metadata["model"] = model
    return metadata


class ViewStrategy:
    """Replaces the messages of a model call, in place, by a view that fits the token budget.

    The view has the same beginning as the view of the previous call, until a compaction changes it. Saved messages are
    not changed. The plan of a session's views is stored in the session's log.

    Args:
        sessions: the stored sessions.
        options: options of the views.
    """

    def __init__(self, sessions: SessionsByKey, **options: Any) -> None:
        self._sessions = sessions
        self._options = options
        self._running: list[WorkingView[Message]] = []
        """Views whose runs may continue, the last used view at the end. A call takes its view out of the list."""
        self._saved: OrderedDict[str, WorkingView[Message]] = OrderedDict()
        """Working views whose runs were saved, by session."""

    async def __call__(self, messages: list[Message]) -> bool:
        """Replace a list of messages by its view, in place. Return whether the list changed."""
        checked = _checked(messages)
        if not checked:
            return False
        ordered = _with_calls_at_their_results(checked)
        view = self._take_out(ordered)
        messages[:] = await view.view(ordered)
        self._running = [*self._running, view][-_MOST_VIEWS:]
        return [id(message) for message in checked] != [id(message) for message in messages]

    async def saved(self, session_id: str, messages: Sequence[Message]) -> None:
        """Store the plan of the view that contains a session's saved messages, so that the next run can continue it."""
        view = self._with(messages)
        if view is None:
            return
        self._running = [other for other in self._running if other is not view]
        if view.kept_plan is None:  # the first run of the session
            view.kept_plan = self._kept_plan(session_id)
        await view.keep_plan()
        self._saved.pop(session_id, None)
        self._saved[session_id] = view
        if len(self._saved) > _MOST_VIEWS:
            self._saved.popitem(last=False)

    def _with(self, messages: Sequence[Message]) -> WorkingView[Message] | None:
        """Return the view of a run that contains any of the messages, or None.

        A view with the same objects is preferred to a view with equal messages.
        """
        view: WorkingView[Message]
        for itself in (True, False):
            for view in reversed(self._running):
                if any(view.knows(message, itself=itself) for message in messages):
                    return view
        return None

    def _take_out(self, messages: Sequence[Message]) -> WorkingView[Message]:
        """Return the view that a list continues, and take it out of the free views, so that only one call uses it.

        This is the view that returned the beginning of the list; else the last view of the session; else a new view.
        """
        for view in reversed(self._running):
            if view.gave(messages):
                self._running = [other for other in self._running if other is not view]
                return view
        session_id = _session_of(messages)
        for saved_id, view in list(self._saved.items()):
            if saved_id == session_id or view.gave(messages):
                del self._saved[saved_id]
                return view
        kept_plan = None
        if session_id is not None:
            kept_plan = self._kept_plan(session_id)

        def read(message: Message) -> list[dict[str, Any]]:
            return read_message(json_copy(message.to_dict()))

        def write_bodies(changed: list[dict[str, Any]]) -> list[Message]:
            return [Message.from_dict(body) for body in write(changed)]

        return WorkingView(
            read=read,
            write=write_bodies,
            make=Message.from_dict,
            key=_key_of,
            name=NAME,
            kept_plan=kept_plan,
            **self._options,
        )

    def _kept_plan(self, session_id: str) -> KeptPlan:
        return KeptPlan(lambda: self._sessions.open(_key(session_id)), _named_in)


def _session_of(messages: Sequence[Message]) -> str | None:
    """Return the id of the session from which the first loaded message of a list comes, or None if none was loaded."""
    for message in messages:
        session_id = message.additional_properties.get(_SESSION)
        if session_id is not None:
            return str(session_id)
    return None


def _checked(messages: Sequence[Message]) -> list[Message]:
    """Check that `messages` is a list of the framework's messages, and return it as a list.

    Raises:
        RecordError: `messages` is not a list of the framework's messages.
    """
    checked = listed(messages)
    for message in checked:
        if not isinstance(message, Message):
            raise RecordError(f"a message of the framework is expected, not {type(message).__name__}")
    return checked


def _with_calls_at_their_results(messages: Sequence[Message]) -> list[Message]:
    """Move each answer with calls, and the results of its calls, to the place of the last of these results.

    Two runs of one session may save in turns. Then messages of the other run are between a call and its result. A view
    puts the call and its results together. It must end as the list does: with the result that the model must answer.
    """
    callers: dict[str | None, int] = {}
    caller_of: dict[int, int] = {}
    for number, message in enumerate(messages):
        for content in message.contents:
            if content.type == "function_call":
                callers[content.call_id] = number
            elif content.type == "function_result" and content.call_id in callers:
                caller_of[number] = callers[content.call_id]
    last_result = {caller: number for number, caller in caller_of.items()}

    def place(number: int) -> tuple[int, int]:
        caller = caller_of.get(number, number)
        return last_result.get(caller, number), number

    return [messages[number] for number in sorted(range(len(messages)), key=place)]


def _named_in(log: ReadableLog) -> list[Named]:
    """Return the framework's messages that a log has, in order."""
    stored_messages = []
    for group, body in bodies_in(log.read(log.index.live), NAME):
        if body is not None:
            ids = [given_id(part) or "" for part in group]
            stored_messages.append(Named(_key_of(Message.from_dict(body)), ids))
    return stored_messages


def _key_of(message: Message) -> str:
    return as_json([str(message.role), [content.to_dict() for content in message.contents]])


def _key(session_id: str | None) -> SessionKey:
    return SessionKey(_PROJECT, session_id or "")
