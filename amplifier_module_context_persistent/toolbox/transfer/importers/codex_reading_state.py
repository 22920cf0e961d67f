"""The state of a Codex rollout while it is read: the events so far, the unfinished answer, and who wrote which message.

A rollout is the file of a session. A later line may change the events of earlier lines: it may say who wrote a message,
the usage of an answer, or which turns were rolled back. Only events near the end are changed in place, so earlier
events are kept in a temporary file.
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
"""Matches the beginning of user messages that no person wrote."""

NEAR = 64
"""The number of events at the end that stay in memory, because later lines may change them."""


class AnswerLine(NamedTuple):
    """A line of an answer: the blocks and calls of its item, or the reasoning that an event reports (`told`)."""

    number: int
    time: Any
    blocks: list[Message]
    calls: list[Message]
    told: str = ""


@dataclass(slots=True)
class Answer:
    """The lines so far of an answer that is not complete."""

    model: str
    lines: list[AnswerLine] = field(default_factory=list)
    exported_id: str = ""
    """The id of the message from which this package exported the answer; "" for any other answer."""
    reasoning: str = ""
    """The text of the answer's reasoning items."""


@dataclass(slots=True)
class HeldEvent:
    """An event of a rollout, with the facts that are needed after the event was moved to a temporary file."""

    event: Event | None
    """The event; None after it was moved to a temporary file."""
    place: int | None = None
    role: str = ""
    """The role of the message; empty if the event is not a message."""
    source: str | None = None
    message_id: str = ""
    said: int = 0
    """The hash of the text, for a user's message."""
    is_context: bool = False
    """Whether a user's message begins in a way that only programs use (`CONTEXT`)."""

    def is_person(self, rollout: Rollout) -> bool:
        """Return whether a person wrote the message.

        An event says so. If the file has no such events, the message is a person's if it does not begin like context.
        """
        if self.role != "user":
            return False
        if self.source == "codex:context":
            return self.said in rollout.said or not (rollout.tells_people or self.is_context)
        return self.source is None


def held_event(event: Event) -> HeldEvent:
    """Wrap an event. For a user's message, note the facts that tell who wrote it."""
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
    """The events of a rollout's lines. The events of rolled-back turns are kept separately."""

    account: Account
    waiting: WaitingEvents
    live: list[HeldEvent] = field(default_factory=list)
    answer: Answer | None = None
    reasoned: str = ""
    """The text of the last answer's reasoning items, until another item follows."""
    rolled_back: list[tuple[int, list[HeldEvent], list[HeldEvent]]] = field(default_factory=list)
    """The line of each roll-back, the events before it, and the removed events."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    parent_id: str = ""
    model: str = ""
    said: set[int] = field(default_factory=set)
    """The hashes of texts that a person wrote, according to events."""
    tells_people: bool = False
    family: str = ""
    """The id of the thread that this thread was forked or started from, if the file names it; else the id of this
    thread."""
    last_context: dict[str, Any] = field(default_factory=dict)
    started: str = ""
    find_children: Callable[[str], list[RolloutName]] = lambda _: []
    """Returns the rollouts of a thread's sub-agents."""
    children: dict[str, str] = field(default_factory=dict)
    """The id of the call whose result names a sub-agent, by the sub-agent's thread; "" until the call is found."""
    exported: ExportedPart = field(default_factory=ExportedPart)
    base: HistoryBase | None = None
    """The history in another rollout to which a `session_meta` refers; None if there is none, or after it was read."""
    base_files: set[str] = field(default_factory=set)
    """The paths of the rollouts that were read: the file itself, and the files to which it refers."""
    lines_before: int = 0
    """The number of lines that were read from other rollouts."""

    def line_id(self, number: int) -> str:
        """Return an id for the message of a line without an id. A fork and its origin give the line the same id."""
        return f"codex-{number + self.lines_before}"

    def put(self, event: Event) -> None:
        """Add an event that is not part of an answer. Ends the current answer first."""
        self.end_answer()
        self.add(event)
        self.reasoned = ""

    def add(self, event: Event) -> None:
        """Add an event. Only the last `NEAR` events, which later lines may change, stay in memory.

        The event before them is moved to a temporary file.
        """
        self.live.append(held_event(event))
        if len(self.live) <= NEAR:
            return
        oldest_near = -NEAR
        far = self.live[oldest_near - 1]
        if far.place is None:
            far.place = self.waiting.put(self.event(far))
            far.event = None

    def note_children(self, call_id: str, content: Any) -> None:
        """Note the call that started a sub-agent: the first call whose result names the sub-agent's thread."""
        for thread in [thread for thread, started_by in self.children.items() if not started_by]:
            if thread in str(content):
                self.children[thread] = call_id

    def event(self, held: HeldEvent) -> Event:
        """Return the event of `held`, from memory or from the temporary file."""
        return held.event if held.event is not None else self.waiting.get(held.place or 0)

    def message(self, held: HeldEvent) -> Message:
        """Return the message of a held event, or an empty dictionary if the event is not a message."""
        event = self.event(held)
        return event.message if isinstance(event, MessageRead) else {}

    def change(self, held: HeldEvent, message: Message) -> None:
        """Replace the message of a held event."""
        event = self.event(held)
        changed = MessageRead(message, event.line if isinstance(event, MessageRead) else 0)
        if held.event is not None:
            held.event = changed
        else:
            held.place = self.waiting.put(changed)

    def all(self, events: Iterable[HeldEvent]) -> Iterator[Event]:
        """Yield the events. Messages of a person lose their `source`, which marks inserted messages."""
        for held in events:
            event = self.event(held)
            if held.is_person(self) and isinstance(event, MessageRead):
                event.message["metadata"].pop("source", None)
            yield event

    def answering(self) -> Answer:
        """Return the current answer. Begin an answer if there is none."""
        self.answer = self.answer or Answer(self.model)
        return self.answer

    def end_answer(self) -> None:
        """Make one message from the lines of the current answer, and add it.

        An event with reasoning is skipped if it repeats a reasoning item. Otherwise its text is used, because an item
        may have only encrypted reasoning.
        """
        answer = self.answer
        self.answer = None
        if answer is None:
            return
        self.reasoned = answer.reasoning
        blocks: list[Message] = []
        calls: dict[str, Message] = {}
        time = None
        number = 0
        for line in answer.lines:
            if line.told and line.told in answer.reasoning:
                self.account.skip("event agent_reasoning")
                continue
            if line.told:
                self.account.map("event agent_reasoning")
            number = number or line.number  # of the first line that counts
            time = time or line.time
            for block in line.blocks:
                _add_reasoning(blocks, block)
            for one in line.calls:
                calls.setdefault(one["id"], one)
        provider = text(self.facts.get("provider")) or "openai"
        facts = metadata(answer.exported_id or self.line_id(number), time, provider=provider, model=answer.model)
        message = assistant(blocks, calls.values(), facts)
        if message is not None:
            self.add(MessageRead(of_provider(message), number))


def _add_reasoning(blocks: list[Message], block: Message) -> None:
    """Add a block. A reasoning text and an encrypted state that are adjacent become one block."""
    if blocks and _belong_together(blocks[-1], block):
        last = blocks[-1]
        blocks[-1] = {**last, **block, "thinking": last["thinking"] or block["thinking"]}
    else:
        blocks.append(block)


def _belong_together(first: Message, second: Message) -> bool:
    """Return whether two blocks are parts of one reasoning: only one has an encrypted state, and at most one a text."""
    if first.get("type") != "thinking" or second.get("type") != "thinking":
        return False
    have_one_state = ("content" in first) != ("content" in second)
    have_two_texts = bool(first["thinking"] and second["thinking"])
    return have_one_state and not have_two_texts


def text_in(content: Any) -> str:
    """Return the text of content, which is a text or blocks, without space at its ends."""
    if isinstance(content, str):
        return content.strip()
    return "\n".join(text(block.get("text")) for block in content if block.get("type") == "text").strip()
