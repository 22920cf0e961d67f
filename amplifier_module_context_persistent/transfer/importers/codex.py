"""Codex rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`, also compressed (`.zst`).

A line is `{timestamp, type, payload}`. What the model got and gave are the `response_item` lines; `event_msg` lines
repeat them, and tell which of them a person wrote, what was billed, and which turns were rolled back. `compacted` says
what the model was given from there on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .account import Account
from .codex_index import CONTEXT, Part, Rollout, find_people, settle, take, text_of
from .events import MOST_BRANCHES, Compacted, Event, Kept, MessageRead, SessionStart, branch
from .fields import Message, assistant, items, mapping, metadata, plain_content, result, session_name, text
from .lines import objects_of
from .responses_items import blocks_of, output_of, parts_of, thinking
from .source import Sample, Source

_TYPES = frozenset({"session_meta", "response_item", "compacted", "turn_context", "event_msg"})


class Codex:
    """Importer of Codex rollouts."""

    name = "codex"
    title = "a Codex rollout"

    def score(self, sample: Sample) -> int:
        """How many entries are lines of a rollout."""
        return sum(text(e.get("type")) in _TYPES and isinstance(e.get("payload"), dict) for e in sample.entries)

    def read(self, source: Source, account: Account) -> Iterator[Event]:
        """Yield the session, and turns that were rolled back as branches."""
        rollout = Rollout()
        for at, entry in objects_of(source, account):
            take(rollout, at, entry, account)
        settle(rollout, account)
        find_people(rollout)
        if rollout.parent_id:
            name = session_name(rollout.name or rollout.session_id)
            yield SessionStart("subagent", name, rollout.facts, "", parent_source_id=rollout.parent_id)
        else:
            yield SessionStart("session", "", rollout.facts, rollout.session_id)
        yield from _events(rollout, rollout.live)
        for number, (line, common, taken) in enumerate(rollout.rolled_back):
            if number >= MOST_BRANCHES:
                account.lose_part(
                    line, f"turns that were rolled back; at most {MOST_BRANCHES} such branches are imported"
                )
                continue
            start = SessionStart("branch", f"rollback{line}", dict(rollout.facts), rollout.session_id)
            yield from branch(start, _events(rollout, common), _events(rollout, taken, heads=False))


def _events(rollout: Rollout, parts: Sequence[Part], *, heads: bool = True) -> Iterator[Event]:
    if heads and rollout.instructions:
        given = metadata("codex-instructions", source="codex:base-instructions")
        yield MessageRead({"role": "system", "content": rollout.instructions, "metadata": given}, 1, "session_meta")
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
            if not said:
                continue
            if part.is_human and role == "user":
                people.setdefault(text_of(payload), []).append(message_id)
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


def _answer(rollout: Rollout, part: Part) -> Iterator[Event]:
    blocks: list[Message] = []
    calls, ids, time = [], set[str](), None
    for line in part.lines:
        entry = line.value
        time = time or entry.get("timestamp")
        payload = mapping(entry.get("payload"))
        if entry.get("type") == "event_msg":  # it tells what the item beside it only holds encrypted
            _add_reasoning(blocks, thinking(text(payload.get("text")).strip()))
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
) -> Compacted:
    """What was kept are messages of a person, by their texts; the last other text is the summary."""
    summary, keep = text(payload.get("message")), []
    for item in items(payload.get("replacement_history")):
        said = text_of(mapping(item))
        if said in people:
            keep.append(people[said][-1])
        elif said and not text(payload.get("message")) and not CONTEXT.match(said):
            summary = said
    return Compacted(summary, line, message_id=message_id, time=time, keep=keep)
