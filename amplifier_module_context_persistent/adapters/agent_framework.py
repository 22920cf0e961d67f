"""History and compaction for the Microsoft Agent Framework: one object that gives both.

    from amplifier_module_context_persistent.adapters.agent_framework import PersistentHistory

    kit = PersistentHistory("sessions", max_tokens=100_000)
    agent = Agent(client=client, context_providers=[kit.provider], compaction_strategy=kit.compaction)

The framework hands a compaction strategy a list of messages, and no session. Messages that the provider loaded are
marked with theirs, so the strategy goes on with the plan of that session, and requests keep their beginning.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from agent_framework import HistoryProvider, Message

from ..forms.agent_framework import NAME, read_message, write
from ..forms.whole_body import bodies_in
from ..messages.incoming import json_copy
from ..messages.message import as_json
from ..session.change_history import HistoryChange
from .sessions_by_key import SessionKey, SessionsByKey
from .working_view import WorkingView

_PROJECT = "agent-framework"
_SESSION = "_context_persistent_session"
"""The property of a loaded message that names its session."""
_MOST_VIEWS = 32


class PersistentHistory:
    """The framework's `HistoryProvider` (`provider`) and `CompactionStrategy` (`compaction`) over sessions in a place.

    Args:
        where: a directory, or the URL of a PostgreSQL database.
        source_id: of the provider.
        options: of each session and its views: `max_tokens` without instructions and tools, `durability`, …;
            `docs/configuration.md` lists them.
    """

    def __init__(self, where: str | os.PathLike[str], *, source_id: str = "context_persistent", **options: Any) -> None:
        self._sessions = SessionsByKey(where, **options)
        self.provider = PersistentHistoryProvider(self._sessions, source_id)
        self.compaction = ViewStrategy(**options)

    async def close(self) -> None:
        """Close the sessions that are open; a later call opens them again."""
        await self._sessions.close()


class PersistentHistoryProvider(HistoryProvider):
    """Loads and saves the messages of sessions.

    Args:
        sessions: where they are.
        source_id: the provider's.
    """

    def __init__(self, sessions: SessionsByKey, source_id: str) -> None:
        super().__init__(source_id)
        self._sessions = sessions

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Give all messages of a session, as they were saved, marked with their session."""
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
        """Store messages in order, together or not at all; those that were loaded from a session are left out."""
        new = [message for message in messages if _SESSION not in message.additional_properties]
        parts = [part for message in new for part in read_message(json_copy(message.to_dict()))]
        if parts:
            manager = await self._sessions.open(_key(session_id))
            await manager.change_history(lambda _, ready: HistoryChange(added=ready), parts)


class ViewStrategy:
    """Replaces the messages of a model call, in place, by a view that fits and keeps its beginning.

    What is saved is not changed. The plans are this process's: after a restart a long session is planned once anew.

    Args:
        options: of the views.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._views: OrderedDict[str, WorkingView[Message]] = OrderedDict()

    async def __call__(self, messages: list[Message]) -> bool:
        """Compact a list in place; whether it changed."""
        if not messages:
            return False
        given = list(messages)
        messages[:] = await self._view_of(given).view(given)
        return [id(message) for message in given] != [id(message) for message in messages]

    def _view_of(self, messages: Sequence[Message]) -> WorkingView[Message]:
        """The view that a list goes on from: the one that gave its beginning, else its session's."""
        going_on = (name for name, view in reversed(self._views.items()) if view.gave(messages))
        name = next(going_on, None)
        if name is None:
            told = (message.additional_properties.get(_SESSION) for message in messages)
            name = next((f"session {one}" for one in told if one is not None), f"run {id(messages[0])}")
        view = self._views.pop(name, None) or WorkingView(
            read=lambda message: read_message(json_copy(message.to_dict())),
            write=lambda changed: list(map(Message.from_dict, write(changed))),
            make=Message.from_dict,
            key=_key_of,
            name=NAME,
            **self._options,
        )
        self._views[name] = view
        if len(self._views) > _MOST_VIEWS:
            self._views.popitem(last=False)
        return view


def _key_of(message: Message) -> str:
    contents = message.to_dict().get("contents")
    return as_json([str(message.role), contents])


def _key(session_id: str | None) -> SessionKey:
    return SessionKey(_PROJECT, session_id or "")
