"""Sequences of Amplifier's command line, played whole: resume, repair, other modules, sub-sessions, forks, clear."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.transfer.fork import fork_session
from tests.support.checker import assert_valid
from tests.support.host_repair import diagnose, repair
from tests.support.messages import Message, user
from tests.support.resumed_sessions import calling, result, transcript_of

OURS = {"durability": "write", "tokenizer": "estimate"}


class OtherModule:
    """A context module that keeps a list, stamps nothing, and obeys."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def add_message(self, message: Message) -> None:
        self.messages.append(dict(message))

    async def get_messages(self) -> list[Message]:
        return list(self.messages)

    async def set_messages(self, messages: Sequence[Message]) -> None:
        self.messages = list(messages)

    async def clear(self) -> None:
        self.messages = []

    async def close(self) -> None:
        """Nothing is held."""


class CommandLine:
    """The command line over one session's directory; `repairs` counts what it diagnosed before turns."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.repairs = directory, 0
        self.transcript = directory / "transcript.jsonl"
        self.context: Any = None
        self._clock = 0

    async def start(self, *, other: bool = False) -> None:
        """Create the session; where there is a transcript, resume it as the command line does."""
        self.context = OtherModule() if other else self.manager()
        before = await self.context.get_messages()
        system = [message for message in before if message["role"] == "system"]
        if self.transcript.exists():
            await self.context.set_messages(self.saved())
            restored = await self.context.get_messages()
            if system and not any(message["role"] == "system" for message in restored):
                await self.context.set_messages([*system, *restored])

    def manager(self) -> PersistentContextManager:
        return PersistentContextManager(self.directory / LOG_NAME, session_id=self.directory.name, **OURS)

    async def turn(self, *messages: Message, killed: bool = False) -> None:
        """One turn: repair first, save after each tool result and at the end; or be killed before the end."""
        history = await self.context.get_messages()
        found = diagnose(history)
        if not found.healthy:
            self.repairs += 1
            await self.context.set_messages(repair(history, found))
            await self.save()
        for message in messages:
            await self.context.add_message(message)
            if message["role"] == "tool":
                await self.save()
        if isinstance(self.context, PersistentContextManager):
            view = await self.context.get_messages_for_request()
            assert_valid(view, history=await self.context.get_messages())
        if not killed:
            await self.save()

    async def save(self) -> None:
        """Write the transcript: no system messages, no thinking, and a time of its own where there is none."""
        lines = []
        for message in transcript_of(await self.context.get_messages()):
            self._clock += 1
            stamped = {"timestamp": f"2030-01-01T00:00:{self._clock % 60:02}.000+00:00", **message}
            lines.append(json.dumps(stamped) + "\n")
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.transcript.write_text("".join(lines), encoding="utf-8")

    async def end(self) -> None:
        await self.context.close()

    def saved(self) -> list[Message]:
        return [json.loads(line) for line in self.transcript.read_bytes().splitlines()]


def says(text: str) -> Message:
    return {"role": "assistant", "content": text}


async def texts(context: Any) -> list[Any]:
    return [message["content"] for message in await context.get_messages()]


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "sessions" / "s1")


async def test_a_kill_is_repaired_once_in_five_turns(line: CommandLine) -> None:
    """The transcript lags behind the log, the calls are open, and each turn begins with a diagnosis."""
    await line.start()
    await line.turn(user("begin"), says("begun"))
    await line.turn(user("both"), calling("c1", "c2"), result("c1"), killed=True)
    await line.end()
    for number in range(5):
        await line.start()
        await line.turn(user(f"go on {number}"), calling(f"d{number}"), result(f"d{number}"), says(f"so {number}"))
        await line.end()
    assert line.repairs == 1
    await line.start()
    history = await texts(line.context)
    assert [history.count(text) for text in ("begin", "both", "done c1", "so 4")] == [1] * 4
    await line.end()


async def test_a_kill_that_another_module_repairs_loses_nothing(line: CommandLine) -> None:
    """The other module's list holds its own stand-in and its own turns after ours."""
    await line.start()
    await line.turn(user("begin"), calling("c1"), killed=True)
    await line.save()
    await line.end()
    await line.start(other=True)
    await line.turn(user("go on"), says("going"))
    await line.end()
    await line.start()
    await line.turn(user("and here"), says("yes"))
    history = await texts(line.context)
    assert [text for text in history if text in ("begin", "go on", "going", "and here", "yes")] == [
        "begin",
        "go on",
        "going",
        "and here",
        "yes",
    ]
    assert diagnose(await line.context.get_messages()).healthy
    assert line.repairs == 1
    await line.end()


async def test_cleared_is_cleared_whatever_is_resumed(line: CommandLine) -> None:
    """A transcript that was not saved since the clear brings nothing back, here and after other modules' turns."""
    await line.start()
    await line.turn(user("forget me"), says("never"))
    stale = line.saved()
    await line.context.clear()
    await line.end()
    for _ in range(2):
        await line.start()
        assert await texts(line.context) == []
        await line.context.set_messages(stale)
        assert await texts(line.context) == []
        await line.end()
    await line.start()
    await line.turn(user("new"), says("yes"))
    await line.context.set_messages(stale)
    assert await texts(line.context) == ["new", "yes"]
    await line.end()


async def test_a_fork_is_resumed_as_any_session(line: CommandLine) -> None:
    """From its own transcript, which agrees with its log; the origin stays as it was."""
    await line.start()
    for number in range(3):
        await line.turn(user(f"question {number}"), says(f"answer {number}"))
    await line.end()
    fork = CommandLine(Path(fork_session(line.directory / LOG_NAME, 2).path).parent)
    assert fork.transcript.exists()
    for number in range(2):
        await fork.start()
        await fork.turn(user(f"fork {number}"), says(f"forked {number}"))
        await fork.end()
    await fork.start()
    history = ["question 0", "answer 0", "question 1", "answer 1", "fork 0", "forked 0", "fork 1", "forked 1"]
    assert await texts(fork.context) == history
    await fork.end()
    await line.start()
    assert len(await texts(line.context)) == 6
    await line.end()
