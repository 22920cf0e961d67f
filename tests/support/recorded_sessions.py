"""Sessions in a log whose views are remembered, to be held against what their receipts give back."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.sessions.view_rebuild import Rebuilder, RebuiltView, read_receipts
from fixtures.generate import generate_session
from tests.support.messages import Message, set_prompt
from tests.support.sweeps import whole


def controls(path: Path, kind: str) -> list[Message]:
    records = map(json.loads, path.read_bytes().splitlines())
    return [record for record in records if record.get("_record") == kind]


def made(path: Path) -> list[RebuiltView]:
    """All views of a log, made again: one after the other, and one in four from nothing, or all of them."""
    with closing(LogReader(path)) as reader:
        reader.follow()
        one = Rebuilder(reader, book := read_receipts(reader))
        return [
            (Rebuilder(reader, book) if whole() or at % 4 == 0 else one).view(noted)
            for at, noted in enumerate(book.requests)
        ]


def assert_proved(path: Path, views: list[list[Message]]) -> None:
    """Each view is given back as it was handed out, and proved."""
    again = made(path)
    assert [one.messages for one in again] == views
    assert [(one.proved, one.reasons, one.damaged) for one in again] == [(True, [], [])] * len(views)


class Recorded:
    """A session in a log whose views are remembered; `head` is the factory's text, None without one."""

    def __init__(self, path: Path, **config: Any) -> None:
        self.path, self.config = path, {"durability": "write", "tokenizer": "estimate", "max_tokens": 4_000, **config}
        self.views: list[list[Message]] = []
        self.manager = self.open()

    def open(self) -> PersistentContextManager:
        return PersistentContextManager(self.path, **self.config)

    async def add(self, *messages: Message) -> None:
        for message in messages:
            await self.manager.add_message(message)

    async def view(self, budget: int | None = None, provider: Any | None = None) -> list[Message]:
        self.views.append(copy.deepcopy(await self.manager.get_messages_for_request(budget, provider)))
        return self.views[-1]

    async def head(self, text: str) -> None:
        await set_prompt(self.manager, text)

    async def restart(self) -> None:
        await self.manager.close()
        self.manager = self.open()

    async def prove(self) -> None:
        """Close the session, and hold its views against what their receipts give back."""
        await self.manager.close()
        assert_proved(self.path, self.views)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if failure is None:
            await self.prove()

    async def play(self, count: int = 80, seed: int = 3) -> None:
        await self.converse(generate_session(seed, count, mean_bytes=600))

    async def converse(self, messages: Iterable[Message]) -> None:
        """Add messages, and make a request before each answer."""
        for message in messages:
            if message["role"] == "assistant":
                await self.view()
            await self.add(message)


async def record(path: Path, messages: Iterable[Message], **config: Any) -> list[list[Message]]:
    """Record a session with a request before each answer; the views that were handed out."""
    session = Recorded(path, **config)
    await session.converse(messages)
    await session.manager.close()
    return session.views
