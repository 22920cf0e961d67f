"""The state of a Codex rollout while it is read: the events so far, the unfinished answer, and who wrote which message.

A rollout is the file of a session. A later line may change the events of earlier lines: it may say who wrote a message,
the usage of an answer, or which turns were rolled back. Only events near the end are changed in place, so earlier
events are kept in a temporary file.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ....catalogue.bill_id import BILL_KEY
from ....forms.openai_in_files import of_provider
from ..export_mark import ExportedPart
from .account import Account
from .codex_files import HistoryBase, RolloutName
from .events import Event, KeptEntry, MessageRead
from .fields import Message, assistant, metadata, text
from .waiting_events import WaitingEvents

CONTEXT = re.compile(r"\s*<[a-zA-Z][\w-]*>|\s*# AGENTS\.md instructions")
"""Matches the beginning of user messages that no person wrote."""

NEAR = 64
"""The number of events at the end that stay in memory, because later lines may change them."""


_END_CHARS = 300
_MOST_REPORTED = 8
"""The number of messages of a person that events reported last, and that an item may still repeat."""


class AnswerLine(NamedTuple):
    """A line of an answer: the blocks and calls of its item, or the text or reasoning that an event reports."""

    number: int
    time: Any
    blocks: list[Message]
    calls: list[Message]
    reported_text: str = ""
    """The words that an event reports; empty for an item."""
    event: str = ""
    """The name of the event in the account."""


class RequestBill(NamedTuple):
    """The usage of a request, as reported (`info`) and under the log's names."""

    usage: dict[str, Any]
    info: dict[str, Any]
    is_exported: bool
    """Whether the request's answer was exported from here."""
    line: int
    """The number of the line that reports the usage."""


@dataclass(slots=True)
class Answer:
    """The lines so far of an answer that is not complete."""

    model: str
    bill: RequestBill | None = None
    """The usage of the answer's request, if it was reported before the answer's items."""
    lines: list[AnswerLine] = field(default_factory=list)
    exported_id: str = ""
    """The id of the message from which this package exported the answer; "" for any other answer."""
    reasoning: str = ""
    """The text of the answer's reasoning items."""
    kept_within: list[KeptEntry] = field(default_factory=list)
    """The entries between the answer's lines that are kept as metadata."""

    @property
    def is_only_reported(self) -> bool:
        """Whether only events report the answer so far."""
        return all(line.reported_text for line in self.lines)

    def contains(self, words: str) -> bool:
        """Return whether an item of the answer contains the given words."""
        return any(contains_words(text_in(line.blocks), words) for line in self.lines if not line.reported_text)


@dataclass(slots=True, eq=False)
class HeldEvent:
    """An event of a rollout, with the facts that are needed after the event was moved to a temporary file."""

    event: Event | None
    """The event; None after it was moved to a temporary file."""
    place: int | None = None
    role: str = ""
    """The role of the message; empty if the event is not a message."""
    source: str | None = None
    message_id: str = ""
    text_hash: int = 0
    """The hash of the text, for a user's message."""
    is_context: bool = False
    """Whether a user's message begins in a way that only programs use (`CONTEXT`)."""
    billed_by: int = 0
    """The number of the line that reports the usage of an answer; 0 if no line does."""

    def is_person(self, rollout: Rollout) -> bool:
        """Return whether a person wrote the message.

        An event says so. If the file has no such events, the message is a person's if it does not begin like context.
        """
        if self.role != "user":
            return False
        if self.source == "codex:context":
            return self.text_hash in rollout.person_hashes or not (rollout.tells_people or self.is_context)
        return self.source is None


def held_event(event: Event) -> HeldEvent:
    """Wrap an event. For a user's message, note the facts that tell who wrote it."""
    if not isinstance(event, MessageRead):
        return HeldEvent(event)
    role = str(event.message["role"])
    facts = event.message["metadata"]
    if role != "user":
        return HeldEvent(event, role=role)
    words = text_in(event.message["content"])
    is_context = CONTEXT.match(words) is not None
    return HeldEvent(event, None, role, facts.get("source"), facts["message_id"], hash(words), is_context)


class ReportedMessage(NamedTuple):
    """A message of a person that an event reports."""

    held: HeldEvent
    text: str
    event: str
    """The name of the event in the account."""


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
    session_facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    parent_id: str = ""
    model: str = ""
    person_hashes: set[int] = field(default_factory=set)
    """The hashes of texts that a person wrote, according to events."""
    tells_people: bool = False
    reported: deque[ReportedMessage] = field(default_factory=deque)
    """The last messages of a person that only events report."""
    last_count: dict[str, Any] = field(default_factory=dict)
    """The last report of usage."""
    usage_comes_first: bool | None = None
    """Whether usage is reported before the items of the answer; None until usage is reported."""
    next_bill: RequestBill | None = None
    """The usage of the next answer, if it was reported before the answer's first line."""
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

    def keep(self, entry: KeptEntry) -> None:
        """Add an entry that is kept as metadata. An answer that is not complete goes on after it."""
        if self.answer is None:
            self.put(entry)
        else:
            self.answer.kept_within.append(entry)

    def add(self, event: Event) -> None:
        """Add an event. Of a large source only the last `NEAR` events, which later lines may change, stay in memory.

        The event before them is moved to a temporary file.
        """
        self.live.append(held_event(event))
        if len(self.live) <= NEAR or self.waiting.stay_in_memory:
            return
        oldest_near = -NEAR
        far = self.live[oldest_near - 1]
        if far.place is None:
            far.place = self.waiting.put(self.event(far))
            far.event = None

    def note_child(self, thread: str, call_id: str) -> None:
        """Note the call that started a sub-agent. An event reports both."""
        if thread in self.children:
            self.children[thread] = call_id

    def note_children(self, call_id: str, content: Any) -> None:
        """Note the call that started a sub-agent: the first call whose result names the sub-agent's thread."""
        for thread in [thread for thread, started_by in self.children.items() if not started_by]:
            if thread in str(content):
                self.children[thread] = call_id

    def event(self, held: HeldEvent) -> Event:
        """Return the event of `held`, from memory or from the temporary file."""
        if held.event is not None:
            return held.event
        return self.waiting.get(held.place or 0)

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

    def add_reported_line(self, line: AnswerLine) -> None:
        """Add a line that an event reports to the current answer. After a report of usage it begins the next one."""
        if self.answer is not None and self.answer.bill is not None:
            self.end_answer()
        self.answering().lines.append(line)

    def contains_near_end(self, words: str) -> bool:
        """Return whether an item of the current answer, or of an answer near the end, contains the given words."""
        if self.answer is not None and self.answer.contains(words):
            return True
        for held in reversed(self.live[-NEAR:]):
            if held.role == "user" and held.is_person(self):
                return False
            if held.role == "assistant" and contains_words(text_in(self.message(held)["content"]), words):
                return True
        return False

    def add_reported_message(self, message: MessageRead, words: str, event: str) -> None:
        """Add a message of a person that an event reports. An item that repeats it takes its place (`withdraw`)."""
        self.put(message)
        self.reported.append(ReportedMessage(self.live[-1], words, event))
        if len(self.reported) > _MOST_REPORTED:
            self.account.map(self.reported.popleft().event)

    def withdraw(self, words: str) -> bool:
        """Remove a message of a person that an event reported, because an item says the same.

        Return whether there is one.
        """
        for message in self.reported:
            if contains_words(words, message.text) and message.held in self.live:
                self.reported.remove(message)
                self.live.remove(message.held)
                self.account.keep(message.event)
                return True
        return False

    def bill(self, bill: RequestBill) -> None:
        """Give an answer the usage of its request: the last answer, or the next one if usage is reported first."""
        answer = self.answer
        has_no_items = answer is None or answer.is_only_reported
        if self.usage_comes_first is None:
            self.usage_comes_first = has_no_items and self._last_answer_near_end() is None
        if answer is not None and answer.is_only_reported:
            self._lose_bill(answer.bill)
            answer.bill = bill
            return
        is_for_next_answer = answer is None or answer.bill is not None or self.next_bill is not None
        self.end_answer()
        if self.usage_comes_first and is_for_next_answer:
            self._lose_bill(self.next_bill)
            self.next_bill = bill
        else:
            self._bill_last(bill)

    def _last_answer_near_end(self) -> HeldEvent | None:
        """Return the last answer among the events that stay in memory; None if there is none."""
        for held in reversed(self.live[-NEAR:]):
            if held.role == "assistant":
                return held
        return None

    def _lose_bill(self, bill: RequestBill | None) -> None:
        """Note in the account that a usage is lost, because no answer in the rollout belongs to its request."""
        if bill is not None:
            self.account.lose_part(bill.line, "the usage of a request: no answer of the rollout is its answer")

    def _bill_last(self, bill: RequestBill) -> None:
        """Add to the last answer the usage of its request, and an id for billing.

        A fork and a sub-agent begin with a copy of their parent's history, including `token_count`, with new times and
        without ids. So the id is a hash of the answer's content, its usage and its family: the copy gets the same id
        and is billed once. An answer that was exported from here gets no new id: it is billed under the id of the
        exported message.
        """
        last = self._last_answer_near_end()
        if last is None:
            self._lose_bill(bill)
            return
        if last.billed_by:
            self.account.lose_part(last.billed_by, "the usage of a request: its answer has a later usage")
        last.billed_by = bill.line
        message = self.message(last)
        facts = message["metadata"]
        own = {key: facts[key] for key in ("provider", "model") if key in facts}
        own["usage"] = bill.usage
        if not bill.is_exported:
            own[BILL_KEY] = self._bill_id(message, bill)
        self.change(last, {**message, "metadata": own | facts | own})  # `own` wins, and its keys come first

    def _bill_id(self, message: Message, bill: RequestBill) -> str:
        """Return an id that the copies of an answer in forks and sub-agents have, too."""
        identity = (self.family, message["content"], message.get("tool_calls"), bill.info)
        content = repr(identity).encode("utf-8", "surrogatepass")
        return f"codex:{hashlib.sha256(content).hexdigest()[:32]}"

    def end_answer(self) -> None:
        """Make one message from the lines of the current answer, and add it.

        An event is skipped if it repeats an item. Otherwise its text is used. For example, an item may have only
        encrypted reasoning. The message is named after its first line, also if that line repeats an item: it keeps its
        id when the file grows.
        """
        answer = self.answer
        self.answer = None
        if answer is None:
            return
        self.reasoned = answer.reasoning
        blocks: list[Message] = []
        calls: dict[str, Message] = {}
        time = None
        for line in answer.lines:
            time = time or line.time
            if line.reported_text:
                if _is_repeated(line, answer):
                    self.account.skip(line.event)
                    continue
                self.account.map(line.event)
            for block in line.blocks:
                _add_reasoning(blocks, block)
            for call in line.calls:
                calls.setdefault(call["id"], call)
        number = answer.lines[0].number
        provider = text(self.session_facts.get("provider")) or "openai"
        facts = metadata(answer.exported_id or self.line_id(number), time, provider=provider, model=answer.model)
        message = assistant(blocks, calls.values(), facts)
        if message is not None:
            self.add(MessageRead(of_provider(message), number))
            self._bill_ended(answer)
        for entry in answer.kept_within:
            self.add(entry)

    def _bill_ended(self, answer: Answer) -> None:
        """Bill the answer that was added last, if the usage of its request was reported before."""
        if answer.bill is not None:
            self._lose_bill(self.next_bill)
        bill = answer.bill or self.next_bill
        if bill is not None:
            self.next_bill = None
            self._bill_last(bill)

    def finish(self) -> None:
        """End the last answer, and note the messages that only events report. Call this at the end of the rollout."""
        self.end_answer()
        self._lose_bill(self.next_bill)
        self.next_bill = None
        for message in self.reported:
            self.account.map(message.event)
        self.reported.clear()


def _is_repeated(line: AnswerLine, answer: Answer) -> bool:
    """Return whether an item of an answer says what an event reports."""
    if line.blocks[0]["type"] == "thinking":
        return line.reported_text in answer.reasoning
    return answer.contains(line.reported_text)


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


def contains_words(text: str, words: str) -> bool:
    """Return whether a text is what was said, or begins or ends with it on lines of its own, or beside a tag.

    Of long words only the first and the last characters are compared.
    """
    if text == words:
        return True
    begin = words[:_END_CHARS]
    end = words[-_END_CHARS:]
    is_cut = len(words) > _END_CHARS
    if not words:
        return False
    if text.startswith(begin) and (is_cut or text[len(begin)] in "\n<"):
        return True
    return text.endswith(end) and (is_cut or text[-len(end) - 1] in "\n>")
