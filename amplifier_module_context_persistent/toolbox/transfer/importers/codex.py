"""Read Codex rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`, also compressed (`.zst`).

A rollout is the file of a session, which Codex calls a thread. A line is `{timestamp, type, payload}`. `response_item`
lines are the input and the output of the model. `event_msg` lines repeat them, and say which messages a person wrote,
what was billed, and which turns were rolled back. `compacted` has the history that the model gets from then on.
Sub-agents have rollouts of their own (`codex_files.py`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from ....catalogue.bill_id import BILL_KEY
from ....forms.canonical import blocks_of, plain_content, total, usage_of
from ....forms.openai_in_files import (
    is_of_answer,
    is_output,
    read_content,
    read_item,
    read_output,
    words_of_agent,
)
from ....forms.openai_responses import kind_of
from .account import Account
from .branches import Branch, branches
from .codex_files import HistoryBase, RolloutName, history_base, parent_in, rollout_of_thread, sub_rollouts
from .codex_reading_state import CONTEXT, NEAR, AnswerLine, Rollout, held_event, text_in
from .events import CompactionEvent, Event, KeptEntry, MessageRead, SessionStart
from .fields import (
    Message,
    items,
    mapping,
    metadata,
    named,
    result,
    session_name,
    text,
    thinking_block,
    user,
)
from .source_file import Source, SourceObject, TwoSessionsError, objects_of
from .waiting_events import WaitingEvents

MOST_SUBAGENTS = 10_000
_END_CHARS = 300
_TOLD = frozenset({"token_count", "user_message", "thread_rolled_back", "thread_name_updated"})
_REASONING = frozenset({"agent_reasoning", "agent_reasoning_raw_content"})


def take(rollout: Rollout, at: SourceObject) -> None:
    """Note a line in the account, and add its content to the rollout.

    Raises:
        TwoSessionsError: the line begins another session.
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
    if kind == "inter_agent_communication" and (said := words_of_agent(payload)):
        _said_by_agent(rollout, at, payload, kind, said)
        return
    rollout.account.keep(kind or "without a type")
    if kind == "session_meta":
        rollout.base = history_base(payload)
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
    """Check that a further `session_meta` belongs to this session, or to an earlier session that this one continues.

    Raises:
        TwoSessionsError: the line belongs to a session that began later.
    """
    other, known = text(meta.get("id")), rollout.session_id
    goes_on = rollout.parent_id or "forked_from_session" in rollout.facts
    if other and other != known and not goes_on and text(meta.get("timestamp")) >= rollout.started:
        raise TwoSessionsError(line, known, other)


def _item(rollout: Rollout, at: SourceObject, item: dict[str, Any], exported_id: str) -> None:
    """Add the content of an item: a part of an answer, a call's output, a message, or anything else."""
    kind, number, time = kind_of(item), at.number, at.value.get("timestamp")
    is_part = is_of_answer(item)
    blocks: list[Message] = []
    calls: list[Message] = []
    if is_part or kind in ("message", "reasoning"):
        blocks, calls = read_item(item)
    if kind in ("message", "reasoning") and not plain_content(blocks):
        rollout.account.skip(f"{kind} without content")
        return
    if is_part:
        rollout.account.map(kind)
        answer = rollout.answering()
        answer.lines.append(AnswerLine(number, time, blocks, calls))
        answer.exported_id = answer.exported_id or exported_id
        if kind == "reasoning":
            answer.reasoning += "".join(block["thinking"] for block in blocks)
        return
    if is_output(item):
        rollout.account.map(kind)
        call_id, content, failed = read_output(item)
        rollout.note_children(call_id, content)
        facts = metadata(exported_id or rollout.line_id(number), time, failed=failed)
        rollout.put(MessageRead(result(call_id, content, facts), number))
        return
    if kind == "message":
        _message(rollout, at, item, blocks, exported_id)
        return
    words = words_of_agent(item) if kind == "agent_message" else None
    if words:
        _said_by_agent(rollout, at, item, kind, words)
        return
    rollout.account.keep(kind or "item without a type")
    rollout.put(KeptEntry(at.value, number, "response_item"))


def _message(rollout: Rollout, at: SourceObject, item: dict[str, Any], blocks: list[Message], exported_id: str) -> None:
    """Add a message of a person, or a message that the program inserted as instructions or context."""
    role = text(item.get("role"))
    rollout.account.map(f"message of {role or 'nobody'}")
    role = role or "user"
    is_persons = role == "user" and hash(text_in(blocks)) in rollout.said
    if is_persons:
        source = None
    elif role == "user":
        source = "codex:context"
    else:
        source = f"codex:{role}"
    message_id = exported_id or text(item.get("id")) or rollout.line_id(at.number)
    message = {
        "role": role if role in ("system", "developer") else "user",
        "content": plain_content(blocks),
        "metadata": metadata(message_id, at.value.get("timestamp"), source=source),
    }
    rollout.put(MessageRead(message, at.number))


def _said_by_agent(rollout: Rollout, at: SourceObject, told: dict[str, Any], kind: str, said: str) -> None:
    """Add a message from another agent to this one: a task, or the result of a task."""
    rollout.account.map(kind)
    between = named(told, author="author", recipient="recipient")
    message_id = text(told.get("id")) or rollout.line_id(at.number)
    given = metadata(message_id, at.value.get("timestamp"), source="codex:agent", imported=between)
    rollout.put(MessageRead(user(said, given), at.number))


def _told(rollout: Rollout, at: SourceObject, event: dict[str, Any]) -> None:
    """Add the content of an event, by which the program tells its user interface what happens.

    Most events repeat other lines.
    """
    kind = text(event.get("type"))
    account = rollout.account
    thought = text(event.get("text")).strip()
    if kind in _REASONING and thought:
        known = rollout.answer.reasoning if rollout.answer else rollout.reasoned
        if thought in known:
            account.skip("event agent_reasoning")
        else:
            line = AnswerLine(at.number, at.value.get("timestamp"), [thinking_block(thought)], [], thought)
            rollout.answering().lines.append(line)
        return
    completed = mapping(event.get("item"))
    if kind == "item_completed" and completed.get("type") == "UserMessage":
        account.keep("event item_completed of a person")
        _person_said(rollout, "".join(text(block.get("text")) for block in blocks_of(completed.get("content"))))
        return
    if kind not in _TOLD:
        account.skip(f"event {kind}")
        return
    account.keep(f"event {kind}")
    if kind == "user_message":
        _person_said(rollout, text(event.get("message")))
    elif kind == "thread_name_updated":
        if text(event.get("thread_id")) in ("", rollout.session_id):
            rollout.facts |= named(event, title="thread_name")
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
    """Add to the last answer the usage of its request, and an id for billing.

    A fork and a sub-agent begin with a copy of their parent's history, including `token_count`, with new times and
    without ids. So the id is a hash of the answer's content, its usage and its family: the copy gets the same id and is
    billed once. An answer that was exported from here gets no new id: it is billed under the id of the exported
    message.
    """
    for held in reversed(rollout.live[-NEAR:]):
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


def _person_said(rollout: Rollout, given: str) -> None:
    """Note a text that a person wrote, according to an event."""
    said = given.strip()
    rollout.tells_people = True
    rollout.said.add(hash(said))
    _mark_person(rollout, said)


def _mark_person(rollout: Rollout, said: str) -> None:
    """Mark the last item with this text as a message of a person. Images and context may be around the text."""
    for held in reversed(rollout.live[-_MOST_LOOKED_AT:]):
        if held.role != "user":
            continue
        message = rollout.message(held)
        if _contains_words(text_in(message["content"]), said):
            facts = {key: value for key, value in message["metadata"].items() if key != "source"}
            rollout.change(held, {**message, "metadata": facts})
            held.source = None
            return


_MOST_LOOKED_AT = 8  # events before the one that says what a person wrote


def _contains_words(text: str, said: str) -> bool:
    """Return whether an item's text is what a person said, or begins or ends with it."""
    if text == said:
        return True
    return bool(said) and (text.startswith(said[:_END_CHARS]) or text.endswith(said[-_END_CHARS:]))


def _roll_back(rollout: Rollout, line: int, turns: int) -> None:
    """Remove the last turns from the history. The removed turns become an abandoned branch."""
    rollout.end_answer()
    turn_starts = [position for position, held in enumerate(rollout.live) if held.is_person(rollout)]
    if not turn_starts or turns <= 0:
        return
    begin = turn_starts[-min(turns, len(turn_starts))]
    rollout.rolled_back.append((line, rollout.live[:begin], rollout.live[begin:]))
    del rollout.live[begin:]


def _note_facts(rollout: Rollout, meta: dict[str, Any]) -> None:
    """Note the facts of a `session_meta`: the thread, its parent and its sub-agents, and its instructions."""
    rollout.session_id = text(meta.get("id"))
    rollout.started = text(meta.get("timestamp"))
    git = mapping(meta.get("git"))
    rollout.facts = {
        **named(meta, cwd="cwd", version="cli_version", originator="originator", forked_from_session="forked_from_id"),
        **named(meta, provider="model_provider"),
        **named(git, git_branch="branch"),
        "git": git,
        "tools": items(meta.get("dynamic_tools")),
    }
    rollout.family = _family(meta)
    rollout.parent_id = parent_in(meta)
    rollout.children = {child.thread: "" for child in rollout.find_children(rollout.session_id)}
    spawned = mapping(mapping(mapping(meta.get("source")).get("subagent")).get("thread_spawn"))
    if spawned:
        rollout.facts["agent"] = spawned
    if rollout.parent_id:
        rollout.facts |= named({**meta, **spawned}, agent_type="agent_role", description="agent_nickname")
    given = meta.get("base_instructions")
    instructions = text(mapping(given).get("text")) or text(given) or text(meta.get("instructions"))
    if instructions:
        facts = metadata("codex-instructions", source="codex:base-instructions")
        message = {"role": "system", "content": instructions, "metadata": facts}
        rollout.live.insert(0, held_event(MessageRead(message, 1)))


def _family(meta: dict[str, Any]) -> str:
    """Return the id of the thread that a thread was forked or started from, else its own, from its `session_meta`."""
    come_from = (meta.get(key) for key in ("session_id", "forked_from_id", "parent_thread_id", "id"))
    return next(filter(None, map(text, come_from)), "")


def _usage(given: dict[str, Any]) -> dict[str, Any]:
    return usage_of(
        input_tokens=given.get("input_tokens"),
        output_tokens=total(given.get("output_tokens")),
        cache_read_tokens=given.get("cached_input_tokens"),
        reasoning_tokens=given.get("reasoning_output_tokens"),
    )


_TYPES = frozenset({"session_meta", "response_item", "compacted", "turn_context", "event_msg"})


def is_entry(entry: dict[str, Any]) -> bool:
    """Return whether an object is a line of a rollout."""
    return text(entry.get("type")) in _TYPES and isinstance(entry.get("payload"), dict)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session, turns that were rolled back as branches, and its sub-agents."""
    rollout = _read_rollout(source, account, lambda thread: sub_rollouts(source.path, thread))
    if rollout.parent_id:
        name = session_name(rollout.session_id)
        yield SessionStart("subagent", name, rollout.facts, "", parent_source_id=rollout.parent_id)
    else:
        part = rollout.exported
        yield SessionStart(
            facts=rollout.facts,
            source_id=rollout.session_id,
            exported_from=part.session_id,
            exported_lines=part.last_line,
            origin_logs=tuple(part.log_ids),
        )
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
    rollout.base_files.add(source.path)
    for at in objects_of(source, account):
        _take_with_base(rollout, at, source.path)
    rollout.end_answer()
    return rollout


def _take_base(rollout: Rollout, base: HistoryBase, path: str, line: int) -> None:
    """Read the history that a fork does not repeat: the beginning of the rollout from which the fork was made."""
    account, family, model = rollout.account, rollout.family, rollout.model
    found = rollout_of_thread(path, base.thread)
    if not found or found in rollout.base_files:
        account.lose_part(line, f"the history before the fork: the rollout of thread {base.thread} is not there")
        return
    rollout.base_files.add(found)
    own_file, account.file = account.file, os.path.basename(found)
    before = account.lines_by_file[account.file]
    with Source(found) as beside:
        for at in objects_of(beside, account, end_offset=base.end_bytes):
            _take_with_base(rollout, at, found)
    rollout.end_answer()
    rollout.lines_before += account.lines_by_file[account.file] - before
    account.file, rollout.family, rollout.model = own_file, family, model


def _take_with_base(rollout: Rollout, at: SourceObject, path: str) -> None:
    """Add a line, and first the history in another rollout to which the line refers."""
    take(rollout, at)
    base = rollout.base
    if base is not None:
        rollout.base = None
        _take_base(rollout, base, path, at.number)


def _compaction(rollout: Rollout, at: SourceObject, payload: dict[str, Any]) -> CompactionEvent:
    """Make the event of a compaction.

    The kept messages are those of a person, recognised by their texts. The summary is the payload's message, else the
    last other text that is not context of the agent's own.
    """
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
    return CompactionEvent(summary, at.number, message_id=rollout.line_id(at.number), time=time, keep=keep)
