"""A manager being played to, and what its history must hold; clock and ids come out the same in every run."""

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager
from tests.support.messages import Message, set_prompt
from tests.support.real_sessions import Host

Manager = PersistentContextManager


class Ids:
    """Ids and timestamps that come out the same in every run; restarts go on with them, and with each message."""

    def __init__(self) -> None:
        self.serial = itertools.count(1)
        self.ticks = 0

    def new_id(self) -> str:
        return f"id{next(self.serial):05}"

    def now(self) -> str:
        return f"2026-03-01T{self.ticks // 3600:02}:{self.ticks // 60 % 60:02}:{self.ticks % 60:02}.000Z"


class Provider:
    """A provider that publishes its window."""

    def __init__(self, context_window: int, max_output_tokens: int) -> None:
        self.window = SimpleNamespace(context_window=context_window, max_output_tokens=max_output_tokens)

    def get_model_info(self) -> Any:
        return self.window


class Session:
    """A manager being played to, and what its history must hold, ephemeral messages in their places."""

    def __init__(self, path: Path | None = None, **config: Any) -> None:
        given = {"tokenizer": "estimate", "recipient": "somebody", **config}
        self.path, self.config, self.ids = path, given, Ids()
        self.stored = 0
        self.places: list[int | Message] = []
        self.head_text: str | None = None
        self.start()

    def start(self) -> None:
        self.host = Host()
        options = {**self.config, "coordinator": self.host, "now": self.ids.now, "new_id": self.ids.new_id}
        self.manager: Manager = (
            InMemoryContextManager(**options) if self.path is None else Manager(self.path, **options)
        )

    async def restart(self) -> None:
        """Close the manager and begin anew on the same file; what was ephemeral is gone."""
        await self.manager.close()
        self.places = [place for place in self.places if isinstance(place, int)]
        self.start()
        if self.head_text is not None:
            await self.head(self.head_text)

    async def head(self, text: str) -> None:
        self.head_text = text

        await set_prompt(self.manager, text)

    async def add(self, *messages: Message) -> None:
        for message in messages:
            self.ids.ticks += 1
            await self.manager.add_message(message)
            total = self.host.of("context:message_added:debug")[-1]["total_messages"]
            if is_ephemeral(message):
                self.places.append(message)
            elif total > self.stored:
                self.places.append(total - 1)
            self.stored = total

    async def history(self) -> list[Message]:
        stored = await self.manager.get_messages()
        return [stored[place] if isinstance(place, int) else place for place in self.places]

    async def request(self, token_budget: int | None = None, provider: Provider | None = None) -> list[Message]:
        return await self.manager.get_messages_for_request(token_budget=token_budget, provider=provider)

    @property
    def plans(self) -> int:
        return len(self.host.of("context:compaction"))

    @property
    def tried_in_vain(self) -> bool:
        """Whether a plan was not worth it since the last one that was made; a process forgets that when it ends."""
        names = [event for event, _ in self.host.events if event.endswith(("pre_compact", "compaction"))]
        return names[-1:] == ["context:pre_compact"]

    def budget(self, token_budget: int | None = None, provider: Provider | None = None) -> int:
        """The budget of a request, computed from the documents."""
        cap = self.config.get("max_tokens")
        found = cap or 200_000
        if provider is not None:
            window = provider.window.context_window
            room = window - min(provider.window.max_output_tokens, window // 2) - 1_000
            found = room if room > 0 else found
        if token_budget is not None:
            found = token_budget
        return min(found, cap) if cap else found


def is_ephemeral(message: Message) -> bool:
    metadata = message.get("metadata") or {}
    return metadata.get("ephemeral") is True and metadata.get("persisted") is not True
