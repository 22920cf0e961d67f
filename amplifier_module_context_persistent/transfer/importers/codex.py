"""Codex rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`, also compressed (`.zst`).

A line is `{timestamp, type, payload}`. What the model got and gave are the `response_item` lines; `event_msg` lines
repeat them, and tell which of them a person wrote, what was billed, and which turns were rolled back. `compacted` says
what the model was given from there on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .account import Account
from .events import Compacted, Event, Kept, MessageRead, SessionStart
from .fields import assistant, items, mapping, metadata, plain_content, result, session_name, text, total, usage_of
from .lines import objects_of
from .responses_items import CALLS, OUTPUTS, blocks_of, is_answer, kind_of, output_of, parts_of
from .source import Sample, Source

MOST_BRANCHES = 50
_END_CHARS = 300

_TYPES = frozenset({"session_meta", "response_item", "compacted", "turn_context", "event_msg"})
_CONTEXT = re.compile(r"\s*<[a-zA-Z][\w-]*>|\s*# AGENTS\.md instructions")
_TOLD = frozenset({"token_count", "user_message", "thread_rolled_back"})


@dataclass(slots=True)
class _Part:
    """What becomes one message, a compaction or a kept entry: its lines, and what was told of them elsewhere."""

    kind: str
    lines: list[tuple[int, int, int]]
    """Number, offset and length of each."""
    digest: int = 0
    """Of a user's text, to be compared with what events say that a person wrote."""
    starts_with_tag: bool = False
    ends: tuple[str, str] = ("", "")
    """The beginning and the end of that text."""
    model: str = ""
    usage: dict[str, Any] = field(default_factory=dict)
    is_human: bool = False


@dataclass(slots=True)
class _Rollout:
    """The parts of a file in order; those of turns that were rolled back apart."""

    source: Source
    live: list[_Part] = field(default_factory=list)
    rolled_back: list[tuple[int, list[_Part], list[_Part]]] = field(default_factory=list)
    """The line of each roll-back, what stood before it, and what it took away."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    parent_id: str = ""
    name: str = ""
    instructions: str = ""
    model: str = ""
    said: Counter[int] = field(default_factory=Counter)
    """How often a person wrote a text, by its hash."""
    tells_people: bool = False
    names: dict[str, str] = field(default_factory=dict)
    last_context: dict[str, Any] = field(default_factory=dict)

    def parsed(self, line: tuple[int, int, int]) -> dict[str, Any]:
        """Read a line again."""
        return self.source.object_at(line[1], line[2])


class Codex:
    """Importer of Codex rollouts."""

    name = "codex"
    title = "a Codex rollout"

    def score(self, sample: Sample) -> int:
        """How many entries are lines of a rollout."""
        return sum(e.get("type") in _TYPES and isinstance(e.get("payload"), dict) for e in sample.entries)

    def read(self, source: Source, account: Account) -> Iterator[Event]:
        """Yield the session, and turns that were rolled back as branches."""
        rollout = _Rollout(source)
        for line, entry in objects_of(source, account):
            _take(rollout, (line.number, line.offset, line.length), entry, account)
        _find_people(rollout)
        if rollout.parent_id:
            name = session_name(rollout.name or rollout.session_id)
            yield SessionStart("subagent", name, rollout.facts, "", parent_source_id=rollout.parent_id)
        else:
            yield SessionStart("session", "", rollout.facts, rollout.session_id)
        yield from _events(rollout, rollout.live)
        for number, (at, common, taken) in enumerate(rollout.rolled_back):
            if number >= MOST_BRANCHES:
                account.lose_part(
                    at, f"turns that were rolled back; at most {MOST_BRANCHES} such branches are imported"
                )
                continue
            branch = SessionStart("branch", f"rollback{at}", dict(rollout.facts), rollout.session_id)
            yield branch
            for event in _events(rollout, common):
                if isinstance(event, MessageRead):
                    branch.forked_from = event.message["metadata"]["message_id"]
                yield event
            yield from _events(rollout, taken, heads=False)


def _take(rollout: _Rollout, line: tuple[int, int, int], entry: dict[str, Any], account: Account) -> None:
    kind, payload = text(entry.get("type")), mapping(entry.get("payload"))
    if kind == "response_item" and payload:
        _item(rollout, line, payload, account)
    elif kind == "compacted":
        account.map(kind)
        rollout.live.append(_Part("compacted", [line]))
    elif kind == "turn_context":
        account.keep(kind)
        rollout.model = text(payload.get("model")) or rollout.model
        context = {key: value for key, value in payload.items() if key != "turn_id"}
        if context != rollout.last_context:
            rollout.last_context = context
            rollout.live.append(_Part("kept", [line]))
    elif kind == "session_meta":
        account.keep(kind)
        if rollout.session_id:
            rollout.live.append(_Part("kept", [line]))
        else:
            _note_facts(rollout, payload)
    elif kind == "event_msg":
        _told(rollout, line, payload, account)
    else:
        account.keep(kind or "without a type")
        rollout.live.append(_Part("kept", [line]))


def _item(rollout: _Rollout, line: tuple[int, int, int], item: dict[str, Any], account: Account) -> None:
    kind = kind_of(item)
    if kind in CALLS:
        rollout.names.setdefault(text(item.get("call_id")) or text(item.get("id")), text(item.get("name")))
    if is_answer(item):
        account.map(kind)
        last = rollout.live[-1] if rollout.live else None
        if last is not None and last.kind == "answer" and not last.usage:
            last.lines.append(line)
        else:
            rollout.live.append(_Part("answer", [line], model=rollout.model))
    elif kind in OUTPUTS:
        account.map(kind)
        rollout.live.append(_Part("output", [line]))
    elif kind == "message":
        account.map(f"message of {text(item.get('role')) or 'nobody'}")
        said = _text_of(item)
        ends = (said[:_END_CHARS], said[-_END_CHARS:])
        part = _Part("said", [line], hash(said), _CONTEXT.match(said) is not None, ends)
        part.is_human = rollout.said[part.digest] > 0
        rollout.live.append(part)
    else:
        account.keep(kind or "item without a type")
        rollout.live.append(_Part("kept", [line]))


def _told(rollout: _Rollout, line: tuple[int, int, int], event: dict[str, Any], account: Account) -> None:
    kind = text(event.get("type"))
    if kind not in _TOLD:
        account.skip(f"event {kind}")
        return
    account.keep(f"event {kind}")
    if kind == "user_message":
        rollout.tells_people = True
        rollout.said[hash(text(event.get("message")).strip())] += 1
        _mark_person(rollout, text(event.get("message")).strip())
    elif kind == "token_count":
        usage = _usage(mapping(mapping(event.get("info")).get("last_token_usage")))
        answer = next((part for part in reversed(rollout.live[-64:]) if part.kind == "answer"), None)
        if answer is not None and usage:
            answer.usage = usage
    else:
        turns = event.get("num_turns")
        _roll_back(rollout, line[0], turns if isinstance(turns, int) else 1)


def _mark_person(rollout: _Rollout, said: str) -> None:
    """Mark the last item that a `user_message` event is about; images and context may stand around its text."""
    head, tail, digest = said[:_END_CHARS], said[-_END_CHARS:], hash(said)
    for part in reversed(rollout.live[-8:]):
        if part.kind == "said":
            around = said and (part.ends[0].startswith(head) or part.ends[1].endswith(tail))
            if part.digest == digest or around:
                part.is_human = True
                return


def _roll_back(rollout: _Rollout, line: int, turns: int) -> None:
    starts = [
        at
        for at, part in enumerate(rollout.live)
        if part.kind == "said" and (part.is_human if rollout.tells_people else not part.starts_with_tag)
    ]
    if not starts or turns <= 0:
        return
    begin = starts[-min(turns, len(starts))]
    rollout.rolled_back.append((line, rollout.live[:begin], rollout.live[begin:]))
    del rollout.live[begin:]


def _find_people(rollout: _Rollout) -> None:
    """Decide of each user's item whether a person wrote it: as events say, else unless it begins with a tag."""
    parts = [*rollout.live, *(part for _, _, taken in rollout.rolled_back for part in taken)]
    for part in parts:
        if part.kind == "said":
            told = rollout.said[part.digest] > 0
            part.is_human = told or part.is_human or (not rollout.tells_people and not part.starts_with_tag)


def _note_facts(rollout: _Rollout, meta: dict[str, Any]) -> None:
    rollout.session_id = text(meta.get("id"))
    names = (
        ("cwd", "cwd"),
        ("version", "cli_version"),
        ("originator", "originator"),
        ("forked_from_session", "forked_from_id"),
    )
    for key, named in (*names, ("provider", "model_provider")):
        if value := text(meta.get(named)):
            rollout.facts[key] = value
    git = mapping(meta.get("git"))
    if branch := text(git.get("branch")):
        rollout.facts["git_branch"] = branch
    if git:
        rollout.facts["git"] = git
    if tools := items(meta.get("dynamic_tools")):
        rollout.facts["tools"] = tools
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


def _text_of(item: dict[str, Any]) -> str:
    blocks = blocks_of(item.get("content"))
    return "\n".join(text(block.get("text")) for block in blocks if block.get("type") == "text").strip()


def _events(rollout: _Rollout, parts: Sequence[_Part], *, heads: bool = True) -> Iterator[Event]:
    if heads and rollout.instructions:
        given = metadata("codex-instructions", source="codex:base-instructions")
        yield MessageRead({"role": "system", "content": rollout.instructions, "metadata": given}, 1, "session_meta")
    people: dict[str, list[str]] = {}
    for part in parts:
        number = part.lines[0][0]
        entry = rollout.parsed(part.lines[0])
        payload = mapping(entry.get("payload"))
        message_id = text(payload.get("id")) or f"codex-{number}"
        if part.kind == "kept":
            yield Kept(entry, number, text(entry.get("type")))
        elif part.kind == "compacted":
            yield _compaction(payload, f"codex-{number}", entry.get("timestamp"), number, people)
        elif part.kind == "said":
            said = plain_content(blocks_of(payload.get("content")))
            role = text(payload.get("role")) or "user"
            if not said:
                continue
            if part.is_human and role == "user":
                people.setdefault(_text_of(payload), []).append(message_id)
            yield MessageRead(_said(said, role, message_id, entry.get("timestamp"), is_human=part.is_human), number)
        elif part.kind == "output":
            call_id = text(payload.get("call_id"))
            content, failed = output_of(payload)
            given = metadata(f"codex-{number}", entry.get("timestamp"), is_error=True if failed else None)
            yield MessageRead(result(call_id, rollout.names.get(call_id, ""), content, given), number)
        else:
            yield from _answer(rollout, part)


def _said(said: Any, role: str, message_id: str, time: Any, *, is_human: bool) -> dict[str, Any]:
    is_instruction = role in ("system", "developer")
    source = None if is_human and role == "user" else f"codex:{'context' if role == 'user' else role}"
    given = metadata(message_id, time, source=source)
    return {"role": role if is_instruction else "user", "content": said, "metadata": given}


def _answer(rollout: _Rollout, part: _Part) -> Iterator[Event]:
    blocks, calls, ids, time = [], [], set[str](), None
    for line in part.lines:
        entry = rollout.parsed(line)
        time = time or entry.get("timestamp")
        more, called = parts_of(mapping(entry.get("payload")))
        blocks += more
        calls += [one for one in called if one["id"] not in ids]
        ids.update(one["id"] for one in called)
    number = part.lines[0][0]
    provider = text(rollout.facts.get("provider")) or "openai"
    given = metadata(f"codex-{number}", time, provider=provider, model=part.model, usage=part.usage)
    if (message := assistant(blocks, calls, given)) is not None:
        yield MessageRead(message, number)


def _compaction(
    payload: dict[str, Any], message_id: str, time: Any, line: int, people: dict[str, list[str]]
) -> Compacted:
    """What was kept are messages of a person, by their texts; the last other text is the summary."""
    summary, keep = text(payload.get("message")), []
    for item in items(payload.get("replacement_history")):
        said = _text_of(mapping(item))
        if said in people:
            keep.append(people[said][-1])
        elif said and not text(payload.get("message")) and not _CONTEXT.match(said):
            summary = said
    return Compacted(summary, line, message_id=message_id, time=time, keep=keep)
