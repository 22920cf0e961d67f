"""Generated sessions with everything that changes what stands before reasoning, against providers that enforce it.

    python -m tests.support.reasoning_sessions --sessions 10000 --seed 1

A session is played by Amplifier's loop (`agent_loop`), in one or two processes' managers on one log, and its log may be
forked, rewound, copied, imported and purged on the way. Only public names and commands are used. Prints counts; exits
with 1 if a request was refused, if reasoning was sent that is invalid or was dropped, or if reasoning is missing where
a request continues the one before it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amplifier_core.llm_errors import ContextLengthError
from click.testing import CliRunner

from amplifier_module_context_persistent import PinError
from amplifier_module_context_persistent.toolbox.cli.main import main as command_line
from tests.support import agent_loop
from tests.support.agent_loop import AgentLoop, InterruptedTool, Tool, chat_request, without_reasoning
from tests.support.enforcing_provider import ACCOUNTS, MODELS, Answer, EnforcingProvider, Service
from tests.support.histories import IMAGE_DATA
from tests.support.host_repair import diagnose, repair
from tests.support.messages import Message
from tests.support.reasoning_rules import find_invalid, find_lost
from tests.support.resumed_sessions import transcript_of
from tests.support.sent_requests import CLAUDE, Part, Sent, sent

WORDS = [
    "cart",
    "total",
    "order",
    "price",
    "ledger",
    "queue",
    "worker",
    "index",
    "parser",
    "buffer",
    "shard",
    "digest",
    "token",
]
MODEL_NAMES = (*["claude-opus-5-5"] * 3, *MODELS)


@dataclass
class Outcome:
    """What one session came to."""

    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)


class Process:
    """One process of the session: a host, its loop, its providers and tools."""

    def __init__(self, session: Any, loop: AgentLoop) -> None:
        self.session, self.loop = session, loop
        self.steps_left = 0
        self.providers: dict[tuple[str, str], EnforcingProvider] = {}
        self.prompt: str | None = None

    @property
    def context(self) -> Any:
        return self.session.coordinator.get("context")


class GeneratedSession:
    """One session.

    Args:
        seed: everything follows from it.
        directory: an empty directory for its logs.
        causes: names of those that may occur; by default all.
        loop: options of its loops (`AgentLoop`).
    """

    def __init__(self, seed: int, directory: Path, causes: tuple[str, ...] | None = None, **loop: bool) -> None:
        self.rng = random.Random(seed)
        self.outcome = Outcome(seed)
        self.directory, self._causes, self._loop_options = directory, causes or tuple(CAUSES), loop
        self.log = directory / "log.jsonl"
        self.in_place, self.keeps_wire = self.rng.random() < 0.3, self.rng.random() < 0.4
        self.service = Service(self.answer, says_more=self.keeps_wire)
        self.processes: list[Process] = []
        self._begun: list[Any] = []
        """All real sessions; those that ended without saying so are cleaned up in the end."""
        self.now: Process | None = None
        self.tools = ["look", "edit", "run"]
        self.tool_words = {name: f"Runs {name}." for name in self.tools}
        self.prompt: str | None = "You are careful." if self.rng.random() < 0.7 else None
        self.prompt_counts = False
        """Whether the system prompt is another one in each request."""
        self.model, self.provider = "claude-opus-5-5", "anthropic"
        self.answering: Process
        self.interrupts = False
        self.results: list[str] = []
        """Ids of calls that were interrupted, whose results may come late."""
        self.reminders: list[str] = []
        self.serial = 0
        self.sure = True
        """Whether it is certain which request each answer belongs to."""
        self.tells, self.blank_share = self.rng.random() < 0.8, 0.05
        self.service.same_ids = self.rng.random() < 0.1
        self.config = self._configuration()
        self.last: dict[tuple[str, str], int] = {}
        """By reader, the number of its last request on this log."""

    def _configuration(self) -> dict[str, Any]:
        rng = self.rng
        config: dict[str, Any] = {"durability": "write", "tokenizer": "estimate"}
        config["max_tokens"] = rng.choice((1_500, 2_500, 4_000, 6_000, 12_000, 100_000))
        config["compaction_strategy"] = rng.choice(
            ("truncate", "truncate", "summarize", "sliding_window", "importance")
        )
        config["token_meter"] = rng.choice(("actual", "estimate"))
        if rng.random() < 0.4:
            config["late_system"] = rng.choice(("system", "reminder"))
        if rng.random() < 0.3:
            config["keep_ephemerals"] = True
        if rng.random() < 0.2:
            config["offload_threshold"] = 300
        if rng.random() < 0.2:
            config["max_messages"] = rng.choice((12, 30))
        if rng.random() < 0.1:
            config["protect_first"] = 3
        if rng.random() < 0.08:
            config["receipts"] = False
        if rng.random() < 0.2:
            config["compaction_notice_enabled"] = False
        if rng.random() < 0.4:
            config["max_images"] = 2
        if rng.random() < 0.1:
            (self.directory / "memory.md").write_text("Remember: tests first.", encoding="utf-8")
            config["memory_files"] = [str(self.directory / "memory.md")]
        return config

    # -- playing -----------------------------------------------------------------------------------------------------

    async def play(self, operations: int = 14) -> Outcome:
        """Play the session and check what was sent."""
        try:
            await self.start(resumed=False)
            for _ in range(operations):
                await self.step(self.rng.choices(self._causes, [CAUSES[name][0] for name in self._causes])[0])
        finally:
            for session in self._begun:
                await session.cleanup()
        self._check()
        self.service.exchanges.clear()  # amplifier-core holds what was mounted until the process ends
        return self.outcome

    async def step(self, name: str) -> None:
        """Let something happen by its name, and often a turn after it."""
        self.now = self.rng.choice(self.processes)
        self.outcome.done.append(name)
        self.outcome.counts[f"cause {name}"] += 1
        await CAUSES[name][1](self)
        if name != "turn" and self.rng.random() < 0.7:
            await turn(self)

    def _check(self) -> None:
        service, counts = self.service, self.outcome.counts
        invalid = find_invalid(service.exchanges, service.bound_requests)
        counts["requests"] += len(service.exchanges)
        counts["blocks shown"] += sum(bool(part.mark) for one in service.exchanges for part in one.sent.parts)
        counts["requests with blocks"] += sum(any(p.mark for p in one.sent.parts) for one in service.exchanges)
        counts["refused"] += len(service.refusals)
        counts["dropped"] += len(service.dropped)
        counts["invalid"] += len(invalid)
        self.outcome.faults += [f"refused: request {one.number}, {one.model}: {one.error}" for one in service.refusals]
        self.outcome.faults += [f"invalid: request {one.request}, {one.place}: {one.why}" for one in invalid]
        self.outcome.faults += [f"dropped: request {n}, {place}: {why}" for n, place, why in service.dropped]

    def answer(self, request: Sent, for_loop: bool) -> Answer:
        rng = self.rng
        if not for_loop or self.now is None:
            return Answer(f"Summary: {self.text(20)}", thoughts=("plain",) if rng.random() < 0.5 else ())
        process = self.answering
        thoughts = tuple(rng.choices(("plain", "empty", "redacted"), (6, 2, 1), k=rng.choice((0, 1, 1, 1, 2))))
        if process.steps_left <= 0:
            return Answer(f"Done: {self.text(12)}", thoughts=thoughts)
        process.steps_left -= 1
        calls = [(rng.choice(self.tools), {"path": self._path()}) for _ in range(rng.choice((1, 1, 2, 3)))]
        text = f"Next: {self.text(8)}" if rng.random() < 0.7 else ""
        return Answer(text, calls, thoughts, between=rng.random() < 0.3, blank=rng.random() < self.blank_share)

    def text(self, words: int) -> str:
        self.serial += 1
        return f"{self.serial} " + " ".join(self.rng.choice(WORDS) for _ in range(words))

    def _path(self) -> str:
        return f"src/{self.rng.choice(WORDS)}/{self.rng.choice(WORDS)}.py"

    def _result(self, _: Message) -> str:
        if self.interrupts and self.rng.random() < 0.5:
            raise InterruptedTool("a person interrupted it")
        lines = self.rng.choice((1, 3, 10, 30, 80))
        return "\n".join(f"{self._path()}: {self.text(6)}" for _ in range(lines))

    # -- processes ---------------------------------------------------------------------------------------------------

    async def start(self, *, resumed: bool) -> Process:
        loop = AgentLoop(stores_each=self.rng.random() < 0.5, **self._loop_options)
        session = await agent_loop.start(self.log, loop, resumed=resumed, **self.config)
        process = Process(session, loop)
        self._begun.append(session)
        self.processes.append(process)
        self.now = process
        await self.mount_tools(process)
        if self.prompt is not None:
            await self._set_prompt(process)
        if resumed:
            await self._resume_as_command_line(process)
        return process

    async def mount_tools(self, process: Process) -> None:
        coordinator = process.session.coordinator
        for name in list(coordinator.get("tools")):
            if name not in ("recall", "pin"):
                await coordinator.unmount("tools", name=name)
        for name in self.tools:
            await coordinator.mount("tools", Tool(name, self._result, self.tool_words[name]), name=name)

    async def _set_prompt(self, process: Process) -> None:
        async def prompt() -> str:
            return f"{self.prompt or ''}{self.text(1) if self.prompt_counts else ''}"

        await process.context.set_system_prompt_factory(prompt)

    async def _resume_as_command_line(self, process: Process) -> None:
        transcript = transcript_of(await process.context.get_messages())
        if self.rng.random() < 0.3:
            transcript = transcript[: -self.rng.choice((1, 2))]
        await process.context.set_messages(transcript)
        restored = await process.context.get_messages()
        if self.prompt is None and self.rng.random() < 0.3:
            await process.context.set_messages([{"role": "system", "content": "You are here again."}, *restored])

    def chosen_provider(self, process: Process) -> EnforcingProvider:
        key = self.provider, self.model
        if key not in process.providers:
            process.providers[key] = EnforcingProvider(
                self.service,
                process.session.coordinator,
                self.model,
                name=self.provider,
                in_place=self.in_place,
                keeps_wire=self.keeps_wire,
                tells=self.tells,
            )
        return process.providers[key]

    async def replace_log(self, log: Path) -> None:
        """Go on with another log, in one process."""
        for process in self.processes:
            await process.session.cleanup()
        self.processes.clear()
        self.log = log
        await self.start(resumed=True)

    def new_path(self) -> Path:
        self.serial += 1
        return self.directory / f"log-{self.serial}.jsonl"

    async def run_command(self, *arguments: Any) -> bool:
        """Run a subcommand; whether it did something."""
        words = [str(one) for one in arguments]
        done = await asyncio.to_thread(CliRunner().invoke, command_line, words, env={"NO_COLOR": "1"})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            self.outcome.faults.append(f"command {words}: {done.exception!r}")
        return done.exit_code == 0

    async def ask(self, process: Process, prompt: str, steps: int) -> None:
        """Run one turn; what a host survives is counted."""
        process.loop.provider, process.steps_left = self.chosen_provider(process), steps
        reader = self.provider, self.model
        first = len(self.service.exchanges)
        self.answering = process
        try:
            await process.session.execute(prompt)
        except Exception as error:
            self.survive(error)
        self._look_for_lost(first, reader)

    def survive(self, error: BaseException) -> None:
        chain = [error]
        while chain[-1].__cause__ is not None:
            chain.append(chain[-1].__cause__)
        text = str(error)
        if any(isinstance(one, ContextLengthError) for one in chain) or "ContextLengthError" in text:
            self.outcome.counts["too large"] += 1
        elif not any(name in text for name in ("InvalidRequestError", "ConnectionError", "InterruptedTool")):
            raise error

    def _look_for_lost(self, first: int, reader: tuple[str, str]) -> None:
        exchanges = self.service.exchanges
        for number in range(first, len(exchanges)):
            request = exchanges[number].sent
            if (request.provider, request.model) != reader:
                continue
            before = self.last.get(reader)
            if before is not None and self.sure and MODELS[request.model].binds:
                lost = find_lost(exchanges, before, number)
                self.outcome.counts["continued"] += 1
                self.outcome.counts["lost"] += len(lost)
                self.outcome.faults += [f"lost: request {number} after {before} lacks {p.place}" for p in lost]
            self.last[reader] = number


# -- what happens in sessions ----------------------------------------------------------------------------------------


def _here(session: GeneratedSession) -> Process:
    assert session.now is not None
    return session.now


async def turn(session: GeneratedSession) -> None:
    """A turn of some steps; before it the host may repair, as the command line does."""
    process, rng = _here(session), session.rng
    if rng.random() < 0.4:
        await host_repair(session)
    await session.ask(process, f"Question {session.text(6)}", rng.choice((0, 1, 1, 2, 4)))


async def interrupted(session: GeneratedSession) -> None:
    """A turn in which a person interrupts tools."""
    session.interrupts = True
    await turn(session)
    session.interrupts = False
    history = await _here(session).context.get_messages()
    answered = {message.get("tool_call_id") for message in history}
    called = [call["id"] for message in history for call in message.get("tool_calls") or ()]
    session.results = [call_id for call_id in called if call_id not in answered]


async def late_result(session: GeneratedSession) -> None:
    """The result of an interrupted call comes after all."""
    if not session.results:
        await interrupted(session)
        if session.rng.random() < 0.6:
            await turn(session)
    if session.results and not session.service.same_ids:
        call_id = session.results.pop(0)
        late = {"role": "tool", "tool_call_id": call_id, "name": "look", "content": f"Late: {session.text(9)}"}
        await _here(session).context.add_message(late)


async def host_repair(session: GeneratedSession) -> None:
    """The host looks for interrupted calls and sets a repaired history."""
    context = _here(session).context
    history = await context.get_messages()
    found = diagnose(history)
    if not found.healthy:
        session.outcome.counts["repairs"] += 1
        await context.set_messages(repair(history, found))


async def pin(session: GeneratedSession) -> None:
    """A message is pinned, or no longer."""
    context = _here(session).context
    history = await context.get_messages()
    if history:
        message_id = session.rng.choice(history)["metadata"]["message_id"]
        try:
            await context.pin(message_id, pinned=session.rng.random() < 0.7)
        except PinError:
            session.outcome.counts["pins refused"] += 1


async def hide(session: GeneratedSession) -> None:
    """A turn is hidden, or shown again."""
    context = _here(session).context
    turns = sum(message["role"] == "user" for message in await context.get_messages())
    try:
        await context.hide(session.rng.randint(1, max(1, turns)), hidden=session.rng.random() < 0.7)
        session.outcome.counts["turns hidden or shown"] += 1
    except PinError:
        session.outcome.counts["hides refused"] += 1


async def late_system(session: GeneratedSession) -> None:
    """A hook adds a system or developer message."""
    role = session.rng.choice(("system", "system", "developer"))
    metadata = {"source": "hook", "hook_name": "style"}
    await _here(session).context.add_message({"role": role, "content": session.text(8), "metadata": metadata})


async def reminder(session: GeneratedSession) -> None:
    """A loop stores a reminder as a user's message."""
    text = f"<system-reminder>{session.text(10)}</system-reminder>"
    session.reminders.append(text)
    metadata = {"source": "hook", "ephemeral": True, "persisted": True}
    await _here(session).context.add_message({"role": "user", "content": text, "metadata": metadata})


async def ephemeral(session: GeneratedSession) -> None:
    """A message for this process alone."""
    metadata = {"ephemeral": True}
    message = {"role": session.rng.choice(("user", "system")), "content": session.text(10), "metadata": metadata}
    await _here(session).context.add_message(message)


async def other_prompt(session: GeneratedSession) -> None:
    """The text of the system prompt changes, or goes back to what it was."""
    if session.prompt is not None:
        session.prompt = session.rng.choice(("You are careful.", "You are quick.", f"It is {session.text(3)}."))
        session.prompt_counts = session.rng.random() < 0.15


async def other_tools(session: GeneratedSession) -> None:
    """A tool is added, removed, described in other words, or the order changes."""
    rng = session.rng
    change = rng.choice(("add", "remove", "reword", "reorder"))
    if change == "add":
        name = f"tool{session.serial}"
        session.tools.append(name)
        session.tool_words[name] = f"Runs {name}."
    elif change == "remove" and len(session.tools) > 1:
        session.tools.remove(rng.choice(session.tools))
    elif change == "reword":
        name = rng.choice(session.tools)
        session.tool_words[name] = f"Runs {name}, {session.text(3)}."
    else:
        rng.shuffle(session.tools)
    for process in session.processes:
        await session.mount_tools(process)


async def switch(session: GeneratedSession) -> None:
    """Another model, provider or account; a few turns later often the first one again."""
    before = session.model, session.provider
    session.model = session.rng.choice(MODEL_NAMES)
    session.provider = ACCOUNTS[MODELS[session.model].family]
    if session.rng.random() < 0.15:
        session.provider += "-work"
    if session.rng.random() < 0.6:
        await turn(session)
        session.model, session.provider = before


async def compact(session: GeneratedSession) -> None:
    """A host asks for a compaction."""
    try:
        await _here(session).context.compact()
    except ContextLengthError:
        session.outcome.counts["too large"] += 1


async def compact_aside(session: GeneratedSession) -> None:
    """A person compacts the session from outside, or goes back to the plan before."""
    await session.run_command("compact", session.log, "--tokenizer", "estimate")
    if session.rng.random() < 0.7:
        await turn(session)
        await session.run_command("compact", session.log, "--undo", "--tokenizer", "estimate")


async def side_view(session: GeneratedSession) -> None:
    """A view that no request is made of, with the session's budget or a smaller one."""
    process = _here(session)
    budget = session.rng.choice((None, 800, 1_200, 3_000))
    session.sure = session.sure and session.tells
    try:
        await process.context.get_messages_for_request(token_budget=budget, provider=session.chosen_provider(process))
    except ContextLengthError:
        session.outcome.counts["too large"] += 1


async def side_request(session: GeneratedSession) -> None:
    """A request beside the loop, whose answer the host keeps for itself, or stores."""
    process, provider = _here(session), session.chosen_provider(_here(session))
    session.sure = session.sure and session.tells
    session.last.pop((session.provider, session.model), None)
    try:
        budget = session.rng.choice((None, 1_000, 2_000))
        view = await process.context.get_messages_for_request(token_budget=budget, provider=provider)
        response = await provider.complete(chat_request(view, process.session.coordinator.get("tools")))
    except ContextLengthError:
        session.outcome.counts["too large"] += 1
    except Exception as error:
        session.survive(RuntimeError(type(error).__name__))
    else:
        if session.rng.random() < 0.5:
            await process.context.add_message(agent_loop.stored(response))


async def retained(session: GeneratedSession) -> None:
    """A turn whose views must hold some reminders in full."""
    await reminder(session)
    process = _here(session)
    process.loop.retain = session.rng.sample(session.reminders, min(2, len(session.reminders)))
    history = json.dumps(await process.context.get_messages())
    process.loop.retain = [text for text in process.loop.retain if json.dumps(text)[1:-1] in history]
    await turn(session)
    process.loop.retain = []
    session.last.clear()


async def network(session: GeneratedSession) -> None:
    """A request fails before it is answered, or the host before it stores the answer; the host asks again."""
    session.sure = session.sure and session.tells
    loop = _here(session).loop
    loop.loses_answer = session.rng.random() < 0.4
    if not loop.loses_answer:
        session.service.failures.append(ConnectionError("ConnectionError: the network is down"))
    await turn(session)
    loop.loses_answer = False
    session.service.failures.clear()
    await turn(session)


async def overflow(session: GeneratedSession) -> None:
    """A provider finds a request too long; the next view is smaller."""
    session.sure = session.sure and session.tells
    session.service.failures.append(ContextLengthError("prompt is too long"))
    await turn(session)
    session.service.failures.clear()
    await turn(session)


async def in_flight(session: GeneratedSession) -> None:
    """While a request is on its way, a message is stored: a person steers, or a hook reminds."""
    provider = session.chosen_provider(_here(session))

    async def steer() -> None:
        if session.rng.random() < 0.5:
            await _here(session).context.add_message({"role": "user", "content": f"Wait: {session.text(4)}"})

    provider.before_answer, before = steer, provider.before_answer
    await turn(session)
    provider.before_answer = before


async def cut_answer(session: GeneratedSession) -> None:
    """A person interrupts an answer while it comes in; what there is of it is stored."""
    _here(session).loop.cuts_answer = True
    await turn(session)
    _here(session).loop.cuts_answer = False


async def images(session: GeneratedSession) -> None:
    """A person shows some images, perhaps more than a request may have."""
    source = {"type": "base64", "media_type": "image/png", "data": IMAGE_DATA}
    for _ in range(session.rng.choice((1, 1, 2))):
        blocks = [{"type": "text", "text": f"See: {session.text(3)}"}, {"type": "image", "source": source}]
        await _here(session).context.add_message({"role": "user", "content": blocks})


async def redact(session: GeneratedSession) -> None:
    """A person redacts a word in the log."""
    await session.run_command("purge", session.log, "--redact", f"{session.rng.randrange(40)} [a-z]+", "--yes")


async def at_once(session: GeneratedSession) -> None:
    """Two processes run a turn each at the same time."""
    if len(session.processes) < 2:
        await session.start(resumed=True)
    session.last.clear()
    session.sure = session.sure and session.tells
    first, second = session.processes[-2:]
    prompts = [f"At once: {session.text(4)}" for _ in range(2)]
    await asyncio.gather(*(session.ask(one, prompt, 2) for one, prompt in zip((first, second), prompts, strict=True)))
    session.last.clear()


async def resume(session: GeneratedSession) -> None:
    """All processes end, some without saying so, and one goes on."""
    for process in session.processes:
        if session.rng.random() < 0.6:
            await process.session.cleanup()
    session.processes.clear()
    if session.rng.random() < 0.2:
        session.config["late_system"] = session.rng.choice(("system", "reminder"))
    if session.rng.random() < 0.2:
        session.config["max_tokens"] = session.rng.choice((1_500, 4_000, 20_000))
    if session.rng.random() < 0.1:
        session.config["truncate_boundary"] = session.rng.choice(("line", "char"))
    if session.rng.random() < 0.1:
        session.config["receipts"] = session.rng.random() < 0.5
    await session.start(resumed=True)


async def sub_session_resume(session: GeneratedSession) -> None:
    """The host replays the whole history through `add_message`."""
    history = await _here(session).context.get_messages()
    await session.replace_log(session.log)
    for message in history:
        await _here(session).context.add_message(message)


async def second_process(session: GeneratedSession) -> None:
    """Another process opens the same log, and both go on."""
    if len(session.processes) < 2:
        await session.start(resumed=True)
    for process in session.processes:
        session.now = process
        await turn(session)


async def foreign_turns(session: GeneratedSession) -> None:
    """Turns are made under another context module, which sends the history without reasoning; then ours goes on."""
    await session.replace_log(session.log)
    context = _here(session).context
    history = transcript_of(await context.get_messages())
    if not history or not diagnose(history).healthy or MODELS[session.model].family != CLAUDE:
        return
    told = [without_reasoning(message) for message in history] + [
        {"role": "user", "content": f"Elsewhere: {session.text(5)}"}
    ]
    model = MODELS[session.model]
    request = sent(model.family, session.provider, model.name, (), told, in_place=False)
    session.answering = _here(session)
    _here(session).steps_left = 0
    failed = len(session.service.refusals)
    try:
        blocks = session.service.complete(model, request)
    except Exception:
        del session.service.refusals[failed:]  # the other module's fault
        return
    answer = {"role": "assistant", "content": blocks}
    await context.set_messages([*history, told[-1], answer])


async def fork(session: GeneratedSession) -> None:
    """The session goes on in a fork, of all or of a part."""
    history = await _here(session).context.get_messages()
    new = session.new_path()
    at = (
        ["--at", session.rng.choice(history)["metadata"]["message_id"]]
        if session.rng.random() < 0.6 and history
        else []
    )
    if await session.run_command("fork", session.log, *at, "-o", new, "--session", f"fork{session.serial}"):
        await session.replace_log(new)


async def rewind(session: GeneratedSession) -> None:
    """The session is rewound, while it runs or not."""
    history = await _here(session).context.get_messages()
    if history:
        to = session.rng.choice(history)["metadata"]["message_id"]
        await session.run_command("rewind", session.log, "--to", to, "--yes")
        if session.rng.random() < 0.3:
            await session.replace_log(session.log)


async def copy(session: GeneratedSession) -> None:
    """The log is copied, and the session goes on with the copy."""
    for process in session.processes:
        await process.session.cleanup()
    session.processes.clear()
    new = session.new_path()
    copied = session.log.exists() and await session.run_command("copy", session.log, new)
    session.log = new if copied else session.log
    await session.start(resumed=True)


async def import_request(session: GeneratedSession) -> None:
    """The body of a request becomes a session of its own, which goes on."""
    bodies = [one.sent for one in session.service.exchanges if MODELS[one.sent.model].family == CLAUDE and one.answer]
    if not bodies:
        return
    source, new = session.directory / f"body-{session.serial}.json", session.new_path()
    request = session.rng.choice(bodies[-4:])
    source.write_text(json.dumps(_body(request)), encoding="utf-8")
    if await session.run_command(
        "import", source, "--format", "anthropic", "-o", new, "--session", f"i{session.serial}"
    ):
        await session.replace_log(new)
        # A body has no reasoning of other readers, nor what was left out of it, as in turns without this module.
        reader, brought = (request.provider, request.model), _marks(request.parts)
        exchanges = session.service.exchanges
        session.last = {
            one: number
            for one, number in session.last.items()
            if one == reader and _marks((*exchanges[number].sent.parts, *exchanges[number].answer)) <= brought
        }


async def clear(session: GeneratedSession) -> None:
    """A person clears the history; sometimes what was cleared is purged."""
    await _here(session).context.clear()
    if session.rng.random() < 0.5:
        await session.run_command("purge", session.log, "--cleared", "--yes")


CAUSES: dict[str, tuple[float, Callable[[GeneratedSession], Awaitable[None]]]] = {
    "turn": (10, turn),
    "interrupted": (1, interrupted),
    "late_result": (1.5, late_result),
    "host_repair": (1, host_repair),
    "pin": (1, pin),
    "hide": (1, hide),
    "late_system": (1, late_system),
    "reminder": (1, reminder),
    "ephemeral": (1, ephemeral),
    "other_prompt": (1, other_prompt),
    "other_tools": (1, other_tools),
    "switch": (2, switch),
    "compact": (0.7, compact),
    "compact_aside": (0.4, compact_aside),
    "side_view": (1, side_view),
    "side_request": (1, side_request),
    "retained": (1, retained),
    "network": (1, network),
    "overflow": (0.5, overflow),
    "in_flight": (1, in_flight),
    "cut_answer": (0.5, cut_answer),
    "images": (0.8, images),
    "redact": (0.3, redact),
    "at_once": (0.5, at_once),
    "resume": (1.5, resume),
    "sub_session_resume": (0.5, sub_session_resume),
    "second_process": (1, second_process),
    "foreign_turns": (0.7, foreign_turns),
    "fork": (0.8, fork),
    "rewind": (0.8, rewind),
    "copy": (0.4, copy),
    "import_request": (0.6, import_request),
    "clear": (0.3, clear),
}


def _marks(parts: Iterable[Part]) -> set[str]:
    return {part.mark for part in parts if part.mark}


def _body(request: Sent) -> Message:
    """A request as its provider's module writes it."""
    messages: list[Message] = []
    for part in request.parts:
        block = json.loads(part.text)
        if part.mark:
            block["data" if part.kind == "redacted_thinking" else "signature"] = part.mark
        at = int(part.place.split(".")[1])
        while len(messages) <= at:
            messages.append({"role": part.role, "content": []})
        messages[at]["content"].append(block)
    system = "\n".join(str(json.loads(text)[1]) for text in request.system)
    tools = [
        {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
        for tool in json.loads(request.tools)
    ]
    return {"model": request.model, "system": system, "tools": tools, "messages": messages}


# -- many of them ----------------------------------------------------------------------------------------------------


def play(
    seed: int,
    *,
    operations: int = 14,
    causes: tuple[str, ...] | None = None,
    keep_ephemerals: bool | None = None,
    **loop: bool,
) -> Outcome:
    """Play the session of a seed in a directory of its own; `keep_ephemerals` overrules what it is configured with."""
    directory = Path(tempfile.mkdtemp(prefix="context-persistent-reasoning-"))
    try:
        session = GeneratedSession(seed, directory, causes, **loop)
        if keep_ephemerals is not None:
            session.config["keep_ephemerals"] = keep_ephemerals
        return asyncio.run(session.play(operations))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first session; the next ones count on")
    parser.add_argument("--causes", help="names, with commas between: only these")
    parser.add_argument("--everything", action="store_true", help="put all reasoning back into the views: many faults")
    parser.add_argument("--keep-ephemerals", choices=("yes", "no"), help="in all sessions; else in some")
    parser.add_argument("--stop", action="store_true", help="stop at the first fault")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    totals, faulty, begin = Counter[str](), 0, time.monotonic()
    causes = tuple(options.causes.split(",")) if options.causes else None
    for seed in range(options.seed, options.seed + options.sessions):
        keeps = {"yes": True, "no": False}.get(options.keep_ephemerals)
        outcome = play(seed, causes=causes, keep_ephemerals=keeps, everything=options.everything)
        totals += outcome.counts
        faulty += bool(outcome.faults)
        if outcome.faults:
            print(f"seed {seed}: {outcome.faults[0]}; after {' '.join(outcome.done)}", flush=True)
            if options.stop:
                break
        if (seed - options.seed + 1) % 500 == 0:
            print(f"{time.monotonic() - begin:.0f} s, {seed - options.seed + 1} sessions: {_line(totals)}", flush=True)
    print(f"sessions with a fault: {faulty} of {seed - options.seed + 1}, {time.monotonic() - begin:.0f} s")
    print(_line(totals))
    print("causes:", ", ".join(f"{name[6:]} {totals[name]:,}" for name in totals if name.startswith("cause ")))
    sys.stdout.flush()
    return 1 if faulty else 0


def _line(totals: Counter[str]) -> str:
    names = ("requests", "requests with blocks", "blocks shown", "continued", "refused", "invalid", "dropped", "lost")
    rest = [name for name in totals if name not in names and not name.startswith("cause ")]
    return ", ".join(f"{name} {totals[name]:,}" for name in (*names, *sorted(rest)))


if __name__ == "__main__":
    status = main()
    os._exit(status)  # amplifier-core 2.0.2 may crash when the interpreter is finalised
