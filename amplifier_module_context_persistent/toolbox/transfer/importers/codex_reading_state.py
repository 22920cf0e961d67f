"""A Codex rollout as it is read: the events of its lines, the answer that is being given, and who wrote what.

What follows a line may change it: events tell who wrote a message, what an answer took, and which turns were rolled
back. Only events near the end are changed, so those before wait in a temporary file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....forms.openai_in_files import of_provider
from ..export_mark import ExportedPart
from .account import Account
from .codex_files import HistoryBase, RolloutName
from .events import Event, MessageRead
from .fields import Message, assistant, metadata, text
from .waiting_events import WaitingEvents

CONTEXT = re.compile(r"\s*<[a-zA-Z][\w-]*>|\s*# AGENTS\.md instructions")
"""The beginnings of user messages that no person wrote."""

NEAR = 64
"""So many events at the end are near: only they are changed by what follows."""


class AnswerLine(NamedTuple):
    """A line of an answer: what its item says and calls, or the text of an event that tells what was reasoned."""

    number: int
    time: Any
    blocks: list[Message]
    calls: list[Message]
    told: str = ""


@dataclass(slots=True)
class Answer:
    """The lines of an answer that is being given."""

    model: str
    lines: list[AnswerLine] = field(default_factory=list)
    exported_id: str = ""
    """The id of the message here that it was exported from."""
    reasoning: str = ""
    """The text of its reasoning items."""


@dataclass(slots=True)
class HeldEvent:
    """An event of a rollout, and what has to be known of it when it is put aside."""

    event: Event | None
    """None if it is put aside."""
    place: int | None = None
    role: str = ""
    """Empty if the event is no message."""
    source: str | None = None
    message_id: str = ""
    said: int = 0
    """Of a user's message, the hash of its text."""
    is_context: bool = False
    """Whether a user's message begins as no person does."""

    def is_person(self, rollout: Rollout) -> bool:
        """Whether a person wrote it: an event says so; if there are no such events, it begins with no tag."""
        if self.role != "user":
            return False
        if self.source == "codex:context":
            return self.said in rollout.said or not (rollout.tells_people or self.is_context)
        return self.source is None


def held_event(event: Event) -> HeldEvent:
    """Hold an event; of a user's message, note what tells who wrote it."""
    if not isinstance(event, MessageRead):
        return HeldEvent(event)
    role, told = str(event.message["role"]), event.message["metadata"]
    if role != "user":
        return HeldEvent(event, role=role)
    said = text_in(event.message["content"])
    is_context = CONTEXT.match(said) is not None
    return HeldEvent(event, None, role, told.get("source"), told["message_id"], hash(said), is_context)


@dataclass(slots=True)
class Rollout:
    """The events of a file's lines; turns that were rolled back are separate."""

    account: Account
    waiting: WaitingEvents
    live: list[HeldEvent] = field(default_factory=list)
    answer: Answer | None = None
    reasoned: str = ""
    """The text of the reasoning items of an answer that nothing came after yet."""
    rolled_back: list[tuple[int, list[HeldEvent], list[HeldEvent]]] = field(default_factory=list)
    """The line of each roll-back, the events before it, and the removed events."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    parent_id: str = ""
    model: str = ""
    said: set[int] = field(default_factory=set)
    """Hashes of what a person wrote, as events say."""
    tells_people: bool = False
    family: str = ""
    """The thread that this one and all others come from, as far as the file tells."""
    last_context: dict[str, Any] = field(default_factory=dict)
    started: str = ""
    find_children: Callable[[str], list[RolloutName]] = lambda _: []
    """Gives the rollouts of a thread's sub-agents."""
    children: dict[str, str] = field(default_factory=dict)
    """The call whose result names a sub-agent, by the sub-agent's thread."""
    exported: ExportedPart = field(default_factory=ExportedPart)
    base: HistoryBase | None = None
    """The history that a `session_meta` names instead of repeating it, until it is read."""
    base_files: set[str] = field(default_factory=set)
    """The files of such histories that were read."""
    lines_before: int = 0
    """Lines of such histories."""

    def line_id(self, number: int) -> str:
        """The id of the message of a line that names none; in a fork the same as in its origin."""
        return f"codex-{number + self.lines_before}"

    def put(self, event: Event) -> None:
        """Add what is no part of an answer."""
        self.end_answer()
        self.add(event)
        self.reasoned = ""

    def add(self, event: Event) -> None:
        """Add an event; one that is not near the end any more is put aside."""
        self.live.append(held_event(event))
        if len(self.live) > NEAR and (far := self.live[-NEAR - 1]).place is None:
            far.place, far.event = self.waiting.put(self.event(far)), None

    def note_children(self, call_id: str, content: Any) -> None:
        """Note that a call started the sub-agents that its result names first."""
        for thread in [thread for thread, started_by in self.children.items() if not started_by]:
            if thread in str(content):
                self.children[thread] = call_id

    def event(self, held: HeldEvent) -> Event:
        """An event that is held."""
        return held.event if held.event is not None else self.waiting.get(held.place or 0)

    def message(self, held: HeldEvent) -> Message:
        """The message of an event that is held; empty if it is none."""
        event = self.event(held)
        return event.message if isinstance(event, MessageRead) else {}

    def change(self, held: HeldEvent, message: Message) -> None:
        """Let the message of an event be another one."""
        event = self.event(held)
        changed = MessageRead(message, event.line if isinstance(event, MessageRead) else 0)
        if held.event is not None:
            held.event = changed
        else:
            held.place = self.waiting.put(changed)

    def all(self, events: Iterable[HeldEvent]) -> Iterator[Event]:
        """The events, with no source at what a person wrote."""
        for held in events:
            event = self.event(held)
            if held.is_person(self) and isinstance(event, MessageRead):
                event.message["metadata"].pop("source", None)
            yield event

    def answering(self) -> Answer:
        """The answer that is being given."""
        self.answer = self.answer or Answer(self.model)
        return self.answer

    def end_answer(self) -> None:
        """Put the answer together.

        An event that tells what was reasoned repeats an item that says it, or is all there is: an item may hold nothing
        but the encrypted state.
        """
        answer, self.answer = self.answer, None
        if answer is None:
            return
        self.reasoned = answer.reasoning
        blocks: list[Message] = []
        calls: dict[str, Message] = {}
        time, number = None, 0
        for line in answer.lines:
            if line.told and line.told in answer.reasoning:
                self.account.skip("event agent_reasoning")
                continue
            if line.told:
                self.account.map("event agent_reasoning")
            number, time = number or line.number, time or line.time
            for block in line.blocks:
                _add_reasoning(blocks, block)
            for one in line.calls:
                calls.setdefault(one["id"], one)
        provider = text(self.facts.get("provider")) or "openai"
        given = metadata(answer.exported_id or self.line_id(number), time, provider=provider, model=answer.model)
        if (message := assistant(blocks, calls.values(), given)) is not None:
            self.add(MessageRead(of_provider(message), number))


def _add_reasoning(blocks: list[Message], block: Message) -> None:
    """Add a block; a text and an encrypted state in succession are one block."""
    last = blocks[-1] if blocks else {}
    if last.get("type") == block.get("type") == "thinking":
        said = [one["thinking"] for one in (last, block) if one["thinking"]]
        if len(said) < 2 and ("content" in last) != ("content" in block):
            blocks[-1] = {**last, **block, "thinking": "".join(said)}
            return
    blocks.append(block)


def text_in(content: Any) -> str:
    """The text of content that was read: a text, or blocks."""
    if isinstance(content, str):
        return content.strip()
    return "\n".join(text(block.get("text")) for block in content if block.get("type") == "text").strip()
