"""Codex rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`, also compressed (`.zst`).

A line is `{timestamp, type, payload}`. What the model got and gave are the `response_item` lines; `event_msg` lines
repeat them, and tell which of them a person wrote, what was billed, and which turns were rolled back. `compacted` says
what the model was given from there on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .account import Account
from .branches import Branch, branches
from .events import CompactionEvent, Event, Kept, MessageRead, SessionStart
from .fields import (
    Message,
    assistant,
    items,
    mapping,
    metadata,
    named,
    plain_content,
    result,
    session_name,
    text,
    thinking_block,
    total,
    usage_of,
)
from .openai import OUTPUTS, blocks_of, is_answer, kind_of, output_of, parts_of, text_of_reasoning
from .source import Source, SourceObject, TwoSessionsError, objects_of

CONTEXT = re.compile(r"\s*<[a-zA-Z][\w-]*>|\s*# AGENTS\.md instructions")
"""How a user's message begins that no person wrote."""

_END_CHARS = 300
_TOLD = frozenset({"token_count", "user_message", "thread_rolled_back"})
_REASONING = frozenset({"agent_reasoning", "agent_reasoning_raw_content"})


@dataclass(slots=True)
class CodexPart:
    """What becomes one message, a compaction or a kept entry: its lines, and what was told of them elsewhere."""

    kind: str
    lines: list[SourceObject]
    text: str = ""
    """Of a message, to be compared with what events say that a person wrote."""
    model: str = ""
    usage: dict[str, Any] | None = None
    is_human: bool = False
    reasoning: str = ""
    """Of an answer, the text of its reasoning items."""


@dataclass(slots=True)
class Rollout:
    """The parts of a file in order; those of turns that were rolled back apart."""

    live: list[CodexPart] = field(default_factory=list)
    rolled_back: list[tuple[int, list[CodexPart], list[CodexPart]]] = field(default_factory=list)
    """The line of each roll-back, what stood before it, and what it took away."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    parent_id: str = ""
    name: str = ""
    instructions: str = ""
    model: str = ""
    said: set[str] = field(default_factory=set)
    """What a person wrote, as events say."""
    tells_people: bool = False
    last_context: dict[str, Any] = field(default_factory=dict)
    started: str = ""


def take(rollout: Rollout, at: SourceObject, account: Account) -> None:
    """Note a line, and put it in its place.

    Raises:
        TwoSessionsError: it begins another session.
    """
    kind, payload = text(at.value.get("type")), mapping(at.value.get("payload"))
    if kind == "response_item" and payload:
        _item(rollout, at, payload, account)
    elif kind == "compacted":
        account.map(kind)
        rollout.live.append(CodexPart("compacted", [at]))
    elif kind == "turn_context":
        account.keep(kind)
        rollout.model = text(payload.get("model")) or rollout.model
        context = {key: value for key, value in payload.items() if key != "turn_id"}
        if context != rollout.last_context:
            rollout.last_context = context
            rollout.live.append(CodexPart("kept", [at]))
    elif kind == "session_meta":
        account.keep(kind)
        if rollout.session_id:
            _check_is_own(rollout, at.number, payload)
            rollout.live.append(CodexPart("kept", [at]))
        else:
            _note_facts(rollout, payload)
    elif kind == "event_msg":
        _told(rollout, at, payload, account)
    else:
        account.keep(kind or "without a type")
        rollout.live.append(CodexPart("kept", [at]))


def _check_is_own(rollout: Rollout, line: int, meta: dict[str, Any]) -> None:
    """Check that a further `session_meta` is of this session, or of an earlier one that it goes on from.

    Raises:
        TwoSessionsError: it is of one that began later.
    """
    other, known = text(meta.get("id")), rollout.session_id
    goes_on = rollout.parent_id or "forked_from_session" in rollout.facts
    if other and other != known and not goes_on and text(meta.get("timestamp")) >= rollout.started:
        raise TwoSessionsError(line, known, other)


def _item(rollout: Rollout, at: SourceObject, item: dict[str, Any], account: Account) -> None:
    kind = kind_of(item)
    said = text_of_reasoning(item) if kind == "reasoning" else ""
    if kind in ("message", "reasoning") and not plain_content(parts_of(item)[0]):
        account.skip(f"{kind} without content")
    elif is_answer(item):
        account.map(kind)
        answer = _answer_at_end(rollout)
        answer.lines.append(at)
        answer.reasoning += said
    elif kind in OUTPUTS:
        account.map(kind)
        rollout.live.append(CodexPart("output", [at]))
    elif kind == "message":
        account.map(f"message of {text(item.get('role')) or 'nobody'}")
        part = CodexPart("said", [at], text_of(item))
        part.is_human = part.text in rollout.said
        rollout.live.append(part)
    else:
        account.keep(kind or "item without a type")
        rollout.live.append(CodexPart("kept", [at]))


def _answer_at_end(rollout: Rollout) -> CodexPart:
    """The answer that is being given."""
    last = rollout.live[-1] if rollout.live else None
    if last is None or last.kind != "answer" or last.usage:
        last = CodexPart("answer", [], model=rollout.model)
        rollout.live.append(last)
    return last


def _told(rollout: Rollout, at: SourceObject, event: dict[str, Any], account: Account) -> None:
    kind = text(event.get("type"))
    if kind in _REASONING and (told := text(event.get("text")).strip()):
        last = rollout.live[-1] if rollout.live else None
        if last is not None and told in last.reasoning:
            account.skip("event agent_reasoning")
        else:
            _answer_at_end(rollout).lines.append(at)
        return
    if kind not in _TOLD:
        account.skip(f"event {kind}")
        return
    account.keep(f"event {kind}")
    if kind == "user_message":
        rollout.tells_people = True
        said = text(event.get("message")).strip()
        rollout.said.add(said)
        _mark_person(rollout, said)
    elif kind == "token_count":
        usage = _usage(mapping(mapping(event.get("info")).get("last_token_usage")))
        answer = next((part for part in reversed(rollout.live[-64:]) if part.kind == "answer"), None)
        if answer is not None and usage:
            answer.usage = usage
    else:
        turns = event.get("num_turns")
        _roll_back(rollout, at.number, turns if isinstance(turns, int) else 1)


def _mark_person(rollout: Rollout, said: str) -> None:
    """Mark the last item that a `user_message` event is about; images and context may stand around its text."""
    for part in reversed(rollout.live[-8:]):
        around = said and (part.text.startswith(said[:_END_CHARS]) or part.text.endswith(said[-_END_CHARS:]))
        if part.kind == "said" and (part.text == said or around):
            part.is_human = True
            return


def _roll_back(rollout: Rollout, line: int, turns: int) -> None:
    starts = [
        at
        for at, part in enumerate(rollout.live)
        if part.kind == "said" and (part.is_human if rollout.tells_people else not CONTEXT.match(part.text))
    ]
    if not starts or turns <= 0:
        return
    begin = starts[-min(turns, len(starts))]
    rollout.rolled_back.append((line, rollout.live[:begin], rollout.live[begin:]))
    del rollout.live[begin:]


def _finish(rollout: Rollout, account: Account) -> None:
    """Decide what depends on later lines.

    A person wrote a user's item if an event says so; where there are no such events, unless it begins with a tag. An
    event that tells what was reasoned repeats an item that says it, or is all there is: an item may hold nothing but
    the encrypted state.
    """
    for part in [*rollout.live, *(part for _, _, taken in rollout.rolled_back for part in taken)]:
        if part.kind == "said" and not part.is_human:
            part.is_human = part.text in rollout.said or not (rollout.tells_people or CONTEXT.match(part.text))
        elif part.kind == "answer":
            events = [line for line in part.lines if line.value.get("type") == "event_msg"]
            repeated = [line for line in events if text(line.value["payload"].get("text")).strip() in part.reasoning]
            for line in events:
                (account.skip if line in repeated else account.map)("event agent_reasoning")
            part.lines = [line for line in part.lines if line not in repeated]


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
    spawned = mapping(mapping(mapping(meta.get("source")).get("subagent")).get("thread_spawn"))
    rollout.parent_id = text(spawned.get("parent_thread_id"))
    if rollout.parent_id:
        rollout.facts["agent"] = spawned
        rollout.name = rollout.session_id
    given = meta.get("base_instructions")
    rollout.instructions = text(mapping(given).get("text")) or text(given) or text(meta.get("instructions"))


def _usage(given: dict[str, Any]) -> dict[str, Any]:
    return usage_of(
        input_tokens=given.get("input_tokens"),
        output_tokens=total(given.get("output_tokens")),
        cache_read_tokens=given.get("cached_input_tokens"),
        reasoning_tokens=given.get("reasoning_output_tokens"),
    )


def text_of(item: dict[str, Any]) -> str:
    """The text of a message item."""
    blocks = blocks_of(item.get("content"))
    return "\n".join(text(block.get("text")) for block in blocks if block.get("type") == "text").strip()


_TYPES = frozenset({"session_meta", "response_item", "compacted", "turn_context", "event_msg"})


def is_entry(entry: dict[str, Any]) -> bool:
    """Whether an object is a line of a rollout."""
    return text(entry.get("type")) in _TYPES and isinstance(entry.get("payload"), dict)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session, and turns that were rolled back as branches."""
    rollout = Rollout()
    for at in objects_of(source, account):
        take(rollout, at, account)
    _finish(rollout, account)
    if rollout.parent_id:
        name = session_name(rollout.name or rollout.session_id)
        yield SessionStart("subagent", name, rollout.facts, "", parent_source_id=rollout.parent_id)
    else:
        yield SessionStart("session", "", rollout.facts, rollout.session_id)
    yield from _events(rollout, rollout.live)
    found = (
        Branch(line, f"rollback{line}", _events(rollout, common), _events(rollout, taken, heads=False))
        for line, common, taken in rollout.rolled_back
    )
    yield from branches(found, account, rollout.facts, rollout.session_id)


def _events(rollout: Rollout, parts: Sequence[CodexPart], *, heads: bool = True) -> Iterator[Event]:
    if heads and rollout.instructions:
        given = metadata("codex-instructions", source="codex:base-instructions")
        yield MessageRead({"role": "system", "content": rollout.instructions, "metadata": given}, 1)
    people: dict[str, list[str]] = {}
    for part in parts:
        number, entry = part.lines[0].number, part.lines[0].value
        payload = mapping(entry.get("payload"))
        message_id = text(payload.get("id")) or f"codex-{number}"
        if part.kind == "kept":
            yield Kept(entry, number, text(entry.get("type")))
        elif part.kind == "compacted":
            yield _compaction(payload, f"codex-{number}", entry.get("timestamp"), number, people)
        elif part.kind == "said":
            said = plain_content(blocks_of(payload.get("content")))
            role = text(payload.get("role")) or "user"
            if part.is_human and role == "user":
                people.setdefault(text_of(payload), []).append(message_id)
            yield MessageRead(_said(said, role, message_id, entry.get("timestamp"), is_human=part.is_human), number)
        elif part.kind == "output":
            content, failed = output_of(payload)
            given = metadata(f"codex-{number}", entry.get("timestamp"), failed=failed)
            yield MessageRead(result(text(payload.get("call_id")), content, given), number)
        else:
            yield from _answer(rollout, part)
        if not rollout.rolled_back:
            part.lines = []  # no branch needs them again


def _said(said: Any, role: str, message_id: str, time: Any, *, is_human: bool) -> dict[str, Any]:
    is_instruction = role in ("system", "developer")
    source = None if is_human and role == "user" else f"codex:{'context' if role == 'user' else role}"
    given = metadata(message_id, time, source=source)
    return {"role": role if is_instruction else "user", "content": said, "metadata": given}


def _answer(rollout: Rollout, part: CodexPart) -> Iterator[Event]:
    blocks: list[Message] = []
    calls, ids, time = [], set[str](), None
    for line in part.lines:
        entry = line.value
        time = time or entry.get("timestamp")
        payload = mapping(entry.get("payload"))
        if entry.get("type") == "event_msg":  # it tells what the item beside it only holds encrypted
            _add_reasoning(blocks, thinking_block(text(payload.get("text")).strip()))
            continue
        more, called = parts_of(payload)
        for block in more:
            _add_reasoning(blocks, block)
        calls += [one for one in called if one["id"] not in ids]
        ids.update(one["id"] for one in called)
    number = part.lines[0].number
    provider = text(rollout.facts.get("provider")) or "openai"
    given = metadata(f"codex-{number}", time, provider=provider, model=part.model, usage=part.usage)
    if (message := assistant(blocks, calls, given)) is not None:
        yield MessageRead(message, number)


def _add_reasoning(blocks: list[Message], block: Message) -> None:
    """Add a block; a text and an encrypted state that stand beside each other are one."""
    last = blocks[-1] if blocks else {}
    if last.get("type") == block.get("type") == "thinking":
        said = [one["thinking"] for one in (last, block) if one["thinking"]]
        if len(said) < 2 and ("content" in last) != ("content" in block):
            blocks[-1] = {**last, **block, "thinking": "".join(said)}
            return
    blocks.append(block)


def _compaction(
    payload: dict[str, Any], message_id: str, time: Any, line: int, people: dict[str, list[str]]
) -> CompactionEvent:
    """What was kept are messages of a person, by their texts; the last other text is the summary."""
    summary, keep = text(payload.get("message")), []
    for item in items(payload.get("replacement_history")):
        said = text_of(mapping(item))
        if said in people:
            keep.append(people[said][-1])
        elif said and not text(payload.get("message")) and not CONTEXT.match(said):
            summary = said
    return CompactionEvent(summary, line, message_id=message_id, time=time, keep=keep)
