"""A session for the OpenAI Agents SDK, and views of it for every model call, since the SDK has no compaction.

    from amplifier_module_context_persistent.adapters.openai_agents import PersistentSession

    session = PersistentSession("user-17", "sessions", max_tokens=100_000)
    await Runner.run(agent, "Hello", session=session, run_config=session.run_config())

The SDK saves the items of each turn before it calls the model again, so a run that is killed continues after its last
turn. Without `run_config` the SDK sends the whole history, as with any other session.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from agents import RunConfig, TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit
from agents.run_config import CallModelData, ModelInputData

from ..errors import ConfigError
from ..forms.openai_agents import NAME, Item, items_in, key_of, read_items
from ..forms.request_bodies import to_openai_responses
from ..forms.whole_body import bodies_in
from ..log.contract import Log
from ..messages.check_incoming import json_copy, listed
from ..messages.message import Message
from ..session.change_history import HistoryChange, last_given
from ..session.open_session import open_session

_LOOKED_AT = (8, 256, sys.maxsize)
"""The numbers of last messages to compare with an input of the SDK. If one number finds nothing, the next is tried."""

_READ: ContextVar[PersistentSession | None] = ContextVar("the session whose history the SDK read last", default=None)


class PersistentSession(SessionABC):
    """A `Session` of the OpenAI Agents SDK whose items are stored in a log of this package.

    Args:
        session_id: any text. If it cannot be a directory's name, the directory's name is made from it.
        where: a directory, which has a directory for each session; or the URL of a PostgreSQL database. Default: the
            directory of Amplifier's sessions of this project.
        session_settings: the SDK's settings; `limit` is the largest number of items that `get_items` returns.
        options: options of the session: `max_tokens` (the most tokens of a view, not counting the definitions of
            tools), `durability`, …; `docs/configuration.md` lists them.

    Raises:
        ConfigError: `where` is neither a directory nor a known URL; an unknown option, or a wrong value.
        TypeError: the id is not a text.
    """

    def __init__(
        self,
        session_id: str,
        where: str | os.PathLike[str] | None = None,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or {})
        # the agent has no tool `recall`, and relies on it that items are stored when a call returns
        options = {"recipient": "openai", "recall": False, "require_persistence": True, **options}
        self.manager = open_session(session_id, where, **options)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items of the history, or its last `limit` items, in order and unchanged."""
        _READ.set(self)
        if not isinstance(limit, int | None):
            raise TypeError(f"the limit must be a whole number, not {type(limit).__name__}")
        most = resolve_session_limit(limit, self.session_settings)
        items: Any
        if most is None:
            items = items_in(await self.manager.get_messages())
            return list(items)
        if most <= 0:
            return []
        items = items_in(await self.manager.last_messages(most))
        if len(items) < most:  # an item may be several messages, or the history has no more items
            items = items_in(await self.manager.get_messages())
        return list(items[-most:])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items in order, together or not at all."""
        messages = read_items([json_copy(item) for item in listed(items)])
        if messages:
            await self.manager.change_history(lambda _, ready: HistoryChange(added=ready), messages)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item from the history and return it; None if the history is empty.

        The item stays in the log, hidden.
        """
        popped: Any = None

        def decide(log: Log, _: Sequence[Message]) -> HistoryChange:
            nonlocal popped
            last = last_given(log)
            if not last:
                popped = None
                return HistoryChange()
            *rest, popped = items_in([message for _, message in last])
            return HistoryChange(log.index.live[: -len(last)], read_items(rest))

        await self.manager.change_history(decide)
        return popped  # type: ignore[no-any-return]  # the SDK may be absent

    async def clear_session(self) -> None:
        """Empty the history. Its items stay in the log until they are purged."""
        await self.manager.clear()

    def run_config(self, **given: Any) -> RunConfig:
        """Make the configuration of a run of this session, in which every model call gets a view of the session.

        With it, a run of another session is refused, because the model would be shown this session.
        """
        own = {"call_model_input_filter": self.filter_model_input, "session_input_callback": self.combine_input}
        return RunConfig(**{**own, **given})

    async def filter_model_input(self, data: CallModelData[Any]) -> ModelInputData:
        """Replace the input of a model call by a view, followed by the items that the session does not have yet.

        The instructions count as part of the view; definitions of tools do not.
        """
        instructions = data.model_data.instructions

        async def head() -> str:
            return instructions or ""

        await self.manager.set_system_prompt_factory(head)
        view = await self.manager.get_messages_for_request()
        items = [_plain(item) for item in data.model_data.input]
        unsaved = await self._unsaved(items)
        if items and not unsaved:
            view = _up_to(items[-1], view)
        sent: list[Any] = []
        if any(_is_talk(message) for message in view):
            sent = to_openai_responses(view)["input"]
        return ModelInputData(input=[*sent, *unsaved], instructions=instructions)

    async def combine_input(
        self, history: list[TResponseInputItem], new_input: list[TResponseInputItem]
    ) -> list[TResponseInputItem]:
        """Return the input of a run: the items of the history that a view shows, and the new items.

        Raises:
            ConfigError: the run is of another session.
        """
        self._check_is_of_this_run()
        view = await self.manager.get_messages_for_request()
        unmatched = Counter(map(key_of, items_in(view)))
        staying: list[TResponseInputItem] = []
        for item in reversed(history):
            key = key_of(_plain(item))
            if unmatched[key]:
                unmatched[key] -= 1
                staying.append(item)
        return [*reversed(staying), *new_input]

    def _check_is_of_this_run(self) -> None:
        """Check that the SDK read the history of this session last. Its callbacks do not get the session of their run.

        Raises:
            ConfigError: the SDK read another session last.
        """
        read = _READ.get()
        _READ.set(None)
        if read is not None and read.manager.log_path != self.manager.log_path:
            raise ConfigError(
                f"run_config: it is that of session {self.session_id!r}, and this run is of session "
                f"{read.session_id!r}; make it with that session's run_config()"
            )

    async def _unsaved(self, items: list[Item]) -> list[Any]:
        """Return the items of a model call's input after the last item that the session has."""
        for count in _LOOKED_AT:
            saved = {key_of(item) for item in items_in(await self.manager.last_messages(count))}
            for end in range(len(items), 0, -1):
                if key_of(items[end - 1]) in saved:
                    return items[end:]
        return items

    async def close(self) -> None:
        """Close the log. The next call of another method opens it again."""
        await self.manager.close()


def _up_to(item: Item, view: list[Message]) -> list[Message]:
    """Return a view up to the item that the model must answer, or the whole view if it does not show the item.

    Other runs of the session saved the messages after the item. The model would answer these instead, or refuse a
    request that ends with an answer. The next request shows them.
    """
    key, end = key_of(item), len(view)
    for group, body in reversed(list(bodies_in(view, NAME))):
        items = body if isinstance(body, list) else items_in(group)
        if key in map(key_of, items):
            return view[:end]
        end -= len(group)
    return view


def _is_talk(message: Message) -> bool:
    return message["role"] not in ("system", "developer")


def _plain(item: Any) -> Item:
    return dict(item)
