"""Codex rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`, also compressed (`.zst`).

A line is `{timestamp, type, payload}`. What the model got and gave are the `response_item` lines; `event_msg` lines
repeat them, and tell which of them a person wrote, what was billed, and which turns were rolled back. `compacted` says
what the model was given from there on. Sub-agents have rollouts of their own (`codex_files.py`).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from ....catalogue.bill_id import BILL_KEY
from ....forms.canonical import plain_content, total, usage_of
from ....forms.openai_in_files import is_of_answer, is_output, of_provider, read_content, read_item, read_output
from ....forms.openai_responses import kind_of
from ..export_mark import ExportedPart
from .account import Account
from .branches import Branch, branches
from .codex_files import RolloutName, parent_in, sub_rollouts
from .events import CompactionEvent, Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, assistant, items, mapping, metadata, named, result, session_name, text, thinking_block
from .source_file import Source, SourceObject, TwoSessionsError, objects_of
from .waiting_events import WaitingEvents

CONTEXT = re.compile(r"\s*<[a-zA-Z][\w-]*>|\s*# AGENTS\.md instructions")
"""How a user's message begins that no person wrote."""

MOST_SUBAGENTS = 10_000
_END_CHARS = 300
_NEAR = 64
"""So many events at the end are near: only they are changed by what follows."""
_TOLD = frozenset({"token_count", "user_message", "thread_rolled_back"})
_REASONING = frozenset({"agent_reasoning", "agent_reasoning_raw_content"})


class _AnswerLine(NamedTuple):
    """A line of an answer: what its item says and calls, or the text of an event that tells what was reasoned."""

    number: int
    time: Any
    blocks: list[Message]
    calls: list[Message]
    told: str = ""


@dataclass(slots=True)
class _Answer:
    """The lines of an answer that is being given."""

    model: str
    lines: list[_AnswerLine] = field(default_factory=list)
    exported_id: str = ""
    """The id of the message here that it was exported from."""
    reasoning: str = ""
    """The text of its reasoning items."""


@dataclass(slots=True)
class _Held:
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


def _held(event: Event) -> _Held:
    if not isinstance(event, MessageRead):
        return _Held(event)
    role, told = str(event.message["role"]), event.message["metadata"]
    if role != "user":
        return _Held(event, role=role)
    said = text_in(event.message["content"])
    is_context = CONTEXT.match(said) is not None
    return _Held(event, None, role, told.get("source"), told["message_id"], hash(said), is_context)


@dataclass(slots=True)
class Rollout:
    """What the lines of a file stand for; turns that were rolled back apart."""

    account: Account
    waiting: WaitingEvents
    live: list[_Held] = field(default_factory=list)
    answer: _Answer | None = None
    reasoned: str = ""
    """The text of the reasoning items of an answer that nothing came after yet."""
    rolled_back: list[tuple[int, list[_Held], list[_Held]]] = field(default_factory=list)
    """The line of each roll-back, what stood before it, and what it took away."""
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
    """By the thread of a sub-agent, the call whose result names it."""
    exported: ExportedPart = field(default_factory=ExportedPart)

    def put(self, event: Event) -> None:
        """Add what is no part of an answer."""
        self.end_answer()
        self.add(event)
        self.reasoned = ""

    def add(self, event: Event) -> None:
        """Add an event; one that is not near the end any more is put aside."""
        self.live.append(_held(event))
        if len(self.live) > _NEAR and (far := self.live[-_NEAR - 1]).place is None:
            far.place, far.event = self.waiting.put(self.event(far)), None

    def note_children(self, call_id: str, content: Any) -> None:
        """Note that a call started the sub-agents that its result names first."""
        for thread in [thread for thread, started_by in self.children.items() if not started_by]:
            if thread in str(content):
                self.children[thread] = call_id

    def event(self, held: _Held) -> Event:
        """An event that is held."""
        return held.event if held.event is not None else self.waiting.get(held.place or 0)

    def message(self, held: _Held) -> Message:
        """The message of an event that is held; empty if it is none."""
        event = self.event(held)
        return event.message if isinstance(event, MessageRead) else {}

    def change(self, held: _Held, message: Message) -> None:
        """Let the message of an event be another one."""
        event = self.event(held)
        changed = MessageRead(message, event.line if isinstance(event, MessageRead) else 0)
        if held.event is not None:
            held.event = changed
        else:
            held.place = self.waiting.put(changed)

    def all(self, events: Iterable[_Held]) -> Iterator[Event]:
        """The events, with no source at what a person wrote."""
        for held in events:
            event = self.event(held)
            if held.is_person(self) and isinstance(event, MessageRead):
                event.message["metadata"].pop("source", None)
            yield event

    def answering(self) -> _Answer:
        """The answer that is being given."""
        self.answer = self.answer or _Answer(self.model)
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
        blocks, calls, time, number = list[Message](), dict[str, Message](), None, 0
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
        given = metadata(answer.exported_id or f"codex-{number}", time, provider=provider, model=answer.model)
        if (message := assistant(blocks, calls.values(), given)) is not None:
            self.add(MessageRead(of_provider(message), number))


def take(rollout: Rollout, at: SourceObject) -> None:
    """Note a line, and put it in its place.

    Raises:
        TwoSessionsError: it begins another session.
    """
    kind, payload = text(at.value.get("type")), mapping(at.value.get("payload"))
    exported_id = rollout.exported.note(at.number, at.value)
    if kind == "response_item" and payload:
        _item(rollout, at, payload, exported_id)
        return
    if kind == "event_msg":
        _told(rollout, at, payload)
        return
    if kind == "compacted":
        rollout.account.map(kind)
        rollout.put(_compaction(rollout, at, payload))
        return
    rollout.account.keep(kind or "without a type")
    if kind == "session_meta" and not rollout.session_id:
        _note_facts(rollout, payload)
        return
    if kind == "session_meta":
        _check_is_own(rollout, at.number, payload)
        rollout.family = _family(payload) or rollout.family
    elif kind == "turn_context":
        rollout.model = text(payload.get("model")) or rollout.model
        context = {key: value for key, value in payload.items() if key != "turn_id"}
        if context == rollout.last_context:
            return
        rollout.last_context = context
    rollout.put(KeptEntry(at.value, at.number, kind))


def _check_is_own(rollout: Rollout, line: int, meta: dict[str, Any]) -> None:
    """Check that a further `session_meta` is of this session, or of an earlier one that it goes on from.

    Raises:
        TwoSessionsError: it is of one that began later.
    """
    other, known = text(meta.get("id")), rollout.session_id
    goes_on = rollout.parent_id or "forked_from_session" in rollout.facts
    if other and other != known and not goes_on and text(meta.get("timestamp")) >= rollout.started:
        raise TwoSessionsError(line, known, other)


def _item(rollout: Rollout, at: SourceObject, item: dict[str, Any], exported_id: str) -> None:
    kind, number, time = kind_of(item), at.number, at.value.get("timestamp")
    is_part, blocks, calls = is_of_answer(item), list[Message](), list[Message]()
    if is_part or kind in ("message", "reasoning"):
        blocks, calls = read_item(item)
    if kind in ("message", "reasoning") and not plain_content(blocks):
        rollout.account.skip(f"{kind} without content")
    elif is_part:
        rollout.account.map(kind)
        answer = rollout.answering()
        answer.lines.append(_AnswerLine(number, time, blocks, calls))
        answer.exported_id = answer.exported_id or exported_id
        if kind == "reasoning":
            answer.reasoning += "".join(block["thinking"] for block in blocks)
    elif is_output(item):
        rollout.account.map(kind)
        call_id, content, failed = read_output(item)
        rollout.note_children(call_id, content)
        given = metadata(exported_id or f"codex-{number}", time, failed=failed)
        rollout.put(MessageRead(result(call_id, content, given), number))
    elif kind == "message":
        role = text(item.get("role"))
        rollout.account.map(f"message of {role or 'nobody'}")
        role = role or "user"
        source: str | None = f"codex:{'context' if role == 'user' else role}"
        if role == "user" and hash(text_in(blocks)) in rollout.said:
            source = None
        given = metadata(exported_id or text(item.get("id")) or f"codex-{number}", time, source=source)
        said = plain_content(blocks)
        shown = role if role in ("system", "developer") else "user"
        rollout.put(MessageRead({"role": shown, "content": said, "metadata": given}, number))
    else:
        rollout.account.keep(kind or "item without a type")
        rollout.put(KeptEntry(at.value, number, "response_item"))


def _told(rollout: Rollout, at: SourceObject, event: dict[str, Any]) -> None:
    kind, account = text(event.get("type")), rollout.account
    if kind in _REASONING and (told := text(event.get("text")).strip()):
        if told in (rollout.answer.reasoning if rollout.answer else rollout.reasoned):
            account.skip("event agent_reasoning")
        else:
            line = _AnswerLine(at.number, at.value.get("timestamp"), [thinking_block(told)], [], told)
            rollout.answering().lines.append(line)
        return
    if kind not in _TOLD:
        account.skip(f"event {kind}")
        return
    account.keep(f"event {kind}")
    if kind == "user_message":
        rollout.tells_people = True
        said = text(event.get("message")).strip()
        rollout.said.add(hash(said))
        _mark_person(rollout, said)
    elif kind == "token_count":
        info = mapping(event.get("info"))
        usage = _usage(mapping(info.get("last_token_usage")))
        if usage:
            rollout.end_answer()
            _bill(rollout, usage, info, is_exported=rollout.exported.last_line == at.number)
    else:
        turns = event.get("num_turns")
        _roll_back(rollout, at.number, turns if isinstance(turns, int) else 1)


def _bill(rollout: Rollout, usage: dict[str, Any], info: dict[str, Any], *, is_exported: bool) -> None:
    """Let the last answer say what its request took, and under which id it is billed.

    A fork and a sub-agent begin with a copy of their parent's history, `token_count` included, with times of their own
    and without ids. So what tells an answer from others is what it says and what its request took, in its family. An
    answer that was exported from here has the id by which it is billed here.
    """
    for held in reversed(rollout.live[-_NEAR:]):
        if held.role == "assistant":
            message = rollout.message(held)
            given = message["metadata"]
            said = (rollout.family, message["content"], message.get("tool_calls"), info)
            key = repr(said).encode("utf-8", "surrogatepass")
            bill = {BILL_KEY: f"codex:{hashlib.sha256(key).hexdigest()[:32]}"} if not is_exported else {}
            asked = {key: given[key] for key in ("provider", "model") if key in given}
            told = {**asked, "usage": usage} | bill | given | {"usage": usage} | bill
            rollout.change(held, {**message, "metadata": told})
            return


def _mark_person(rollout: Rollout, said: str) -> None:
    """Mark the last item that a `user_message` event is about; images and context may stand around its text."""
    for held in reversed(rollout.live[-8:]):
        if held.role == "user":
            message = rollout.message(held)
            told = text_in(message["content"])
            if told == said or (said and (told.startswith(said[:_END_CHARS]) or told.endswith(said[-_END_CHARS:]))):
                given = {key: value for key, value in message["metadata"].items() if key != "source"}
                rollout.change(held, {**message, "metadata": given})
                held.source = None
                return


def _roll_back(rollout: Rollout, line: int, turns: int) -> None:
    rollout.end_answer()
    starts = [at for at, held in enumerate(rollout.live) if held.is_person(rollout)]
    if not starts or turns <= 0:
        return
    begin = starts[-min(turns, len(starts))]
    rollout.rolled_back.append((line, rollout.live[:begin], rollout.live[begin:]))
    del rollout.live[begin:]


def _note_facts(rollout: Rollout, meta: dict[str, Any]) -> None:
    rollout.session_id, rollout.started = text(meta.get("id")), text(meta.get("timestamp"))
    rollout.facts = named(
        meta, cwd="cwd", version="cli_version", originator="originator", forked_from_session="forked_from_id"
    )
    git = mapping(meta.get("git"))
    rollout.facts |= {
        **named(meta, provider="model_provider"),
        **named(git, git_branch="branch"),
        "git": git,
        "tools": items(meta.get("dynamic_tools")),
    }
    rollout.family = _family(meta)
    spawned = mapping(mapping(mapping(meta.get("source")).get("subagent")).get("thread_spawn"))
    rollout.parent_id = parent_in(meta)
    rollout.children = {child.thread: "" for child in rollout.find_children(rollout.session_id)}
    if spawned:
        rollout.facts["agent"] = spawned
    if rollout.parent_id:
        told = {**meta, **spawned}
        rollout.facts |= named(told, agent_type="agent_role", description="agent_nickname")
    given = meta.get("base_instructions")
    if said := text(mapping(given).get("text")) or text(given) or text(meta.get("instructions")):
        told = metadata("codex-instructions", source="codex:base-instructions")
        rollout.live.insert(0, _held(MessageRead({"role": "system", "content": said, "metadata": told}, 1)))


def _family(meta: dict[str, Any]) -> str:
    """The thread that a thread comes from, as far as its `session_meta` tells."""
    come_from = (meta.get(key) for key in ("session_id", "forked_from_id", "parent_thread_id", "id"))
    return next(filter(None, map(text, come_from)), "")


def _usage(given: dict[str, Any]) -> dict[str, Any]:
    return usage_of(
        input_tokens=given.get("input_tokens"),
        output_tokens=total(given.get("output_tokens")),
        cache_read_tokens=given.get("cached_input_tokens"),
        reasoning_tokens=given.get("reasoning_output_tokens"),
    )


def text_in(content: Any) -> str:
    """The text of content as it was read: a text, or blocks."""
    if isinstance(content, str):
        return content.strip()
    return "\n".join(text(block.get("text")) for block in content if block.get("type") == "text").strip()


_TYPES = frozenset({"session_meta", "response_item", "compacted", "turn_context", "event_msg"})


def is_entry(entry: dict[str, Any]) -> bool:
    """Whether an object is a line of a rollout."""
    return text(entry.get("type")) in _TYPES and isinstance(entry.get("payload"), dict)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session, turns that were rolled back as branches, and its sub-agents."""
    rollout = _read_rollout(source, account, lambda thread: sub_rollouts(source.path, thread))
    if rollout.parent_id:
        name = session_name(rollout.session_id)
        yield SessionStart("subagent", name, rollout.facts, "", parent_source_id=rollout.parent_id)
    else:
        part = rollout.exported
        yield SessionStart("session", "", rollout.facts, rollout.session_id, "", "", part.session_id, part.last_line)
    yield from rollout.all(rollout.live)
    found = (
        Branch(line, f"rollback{line}", rollout.all(common), rollout.all(taken))
        for line, common, taken in rollout.rolled_back
    )
    yield from branches(found, account, rollout.facts, rollout.session_id)
    if rollout.parent_id or not rollout.session_id:
        return
    for child in islice(sub_rollouts(source.path, rollout.session_id), MOST_SUBAGENTS):
        account.file = os.path.basename(child.path)
        with Source(child.path) as beside:
            sub = _read_rollout(beside, account)
            facts = {**sub.facts, "spawned_by": rollout.children.get(child.thread, "")}
            yield SessionStart("subagent", session_name(child.thread), facts, sub.session_id)
            yield from sub.all(sub.live)
        account.file = ""


def _read_rollout(
    source: Source, account: Account, find_children: Callable[[str], list[RolloutName]] = lambda _: []
) -> Rollout:
    """Read all lines of a rollout."""
    rollout = Rollout(account, WaitingEvents(source.aside), find_children=find_children)
    for at in objects_of(source, account):
        take(rollout, at)
    rollout.end_answer()
    return rollout


def _add_reasoning(blocks: list[Message], block: Message) -> None:
    """Add a block; a text and an encrypted state that stand beside each other are one."""
    last = blocks[-1] if blocks else {}
    if last.get("type") == block.get("type") == "thinking":
        said = [one["thinking"] for one in (last, block) if one["thinking"]]
        if len(said) < 2 and ("content" in last) != ("content" in block):
            blocks[-1] = {**last, **block, "thinking": "".join(said)}
            return
    blocks.append(block)


def _compaction(rollout: Rollout, at: SourceObject, payload: dict[str, Any]) -> CompactionEvent:
    """What was kept are messages of a person, by their texts; the last other text is the summary."""
    rollout.end_answer()
    people = {held.said: held.message_id for held in rollout.live if held.is_person(rollout)}
    summary, keep = text(payload.get("message")), []
    for item in items(payload.get("replacement_history")):
        said = text_in(read_content(mapping(item).get("content")))
        if hash(said) in people:
            keep.append(people[hash(said)])
        elif said and not text(payload.get("message")) and not CONTEXT.match(said):
            summary = said
    time = at.value.get("timestamp")
    return CompactionEvent(summary, at.number, message_id=f"codex-{at.number}", time=time, keep=keep)
