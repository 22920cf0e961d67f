"""Read Codex rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`, also compressed (`.zst`).

A rollout is the file of a session, which Codex calls a thread. A line is `{timestamp, type, payload}`; until September
2025 it was the payload alone (`codex_bare_lines.py`). `response_item` lines are the input and the output of the model.
`event_msg` lines repeat most of it, and say more (`codex_events.py`). `compacted` has the history that the model gets
from then on. Sub-agents have rollouts of their own (`codex_files.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from ....forms.canonical import plain_content
from ....forms.openai_in_files import (
    as_function,
    is_of_answer,
    read_content,
    read_item,
    read_output,
    words_of_agent,
)
from ....forms.openai_responses import kind_of
from ....forms.responses_calls import OUTPUTS
from ..export_mark import MARK_KEY
from .account import Account
from .branches import Branch, branches
from .codex_bare_lines import directory_in, entries_of_document, is_item, is_mark, with_envelope
from .codex_events import take_event
from .codex_files import HistoryBase, RolloutName, history_base, parent_in, rollout_of_thread, sub_rollouts
from .codex_reading_state import CONTEXT, AnswerLine, Rollout, held_event, text_in
from .events import MOST_SUBAGENTS, CompactionEvent, Event, KeptEntry, MessageRead, SessionStart, session_start
from .fields import items, mapping, metadata, named, result, session_name, text, user
from .lines import SourceObject
from .refused_import import TwoSessionsError
from .source_file import Sample, Source, entries_of, objects_of
from .waiting_events import WaitingEvents


def take(rollout: Rollout, at: SourceObject) -> None:
    """Note a line in the account, and add its content to the rollout.

    Raises:
        TwoSessionsError: the line begins another session.
    """
    kind, payload = text(at.value.get("type")), mapping(at.value.get("payload"))
    if not payload and at.value.get("record_type") == "state":
        rollout.account.skip("state")
        return
    exported_id = rollout.exported.note(at.number, at.value) if MARK_KEY in at.value else ""
    if kind == "response_item" and payload:
        _item(rollout, at, payload, exported_id)
        return
    if kind == "event_msg":
        take_event(rollout, at, payload)
        return
    if kind == "compacted":
        rollout.account.map(kind)
        rollout.put(_compaction(rollout, at, payload))
        return
    if kind == "inter_agent_communication" and (agent_words := words_of_agent(payload)):
        _said_by_agent(rollout, at, payload, kind, agent_words)
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
    else:
        rollout.keep(KeptEntry(at.value, at.number, kind))
        return
    rollout.put(KeptEntry(at.value, at.number, kind))


def _check_is_own(rollout: Rollout, line: int, meta: dict[str, Any]) -> None:
    """Check that a further `session_meta` belongs to this session, or to an earlier session that this one continues.

    Raises:
        TwoSessionsError: the line belongs to a session that began later.
    """
    other = text(meta.get("id"))
    known = rollout.session_id
    goes_on = rollout.parent_id or "forked_from_session" in rollout.session_facts
    if other and other != known and not goes_on and text(meta.get("timestamp")) >= rollout.started:
        raise TwoSessionsError(line, known, other)


def _item(rollout: Rollout, at: SourceObject, item: dict[str, Any], exported_id: str) -> None:
    """Add the content of an item: a part of an answer, a call's output, a message, or anything else."""
    number = at.number
    time = at.value.get("timestamp")
    read_as = as_function(item)
    read_kind = kind_of(read_as)
    kind = read_kind if read_as is item else kind_of(item)
    if read_kind in OUTPUTS:
        rollout.account.map(kind)
        call_id, content, failed = read_output(read_as, read_kind)
        rollout.note_children(call_id, content)
        facts = metadata(exported_id or rollout.line_id(number), time, failed=failed)
        rollout.put(MessageRead(result(call_id, content, facts), number))
        return
    is_part = is_of_answer(read_as, read_kind)
    if is_part or kind == "message":
        blocks, calls = read_item(read_as, read_kind)
        content = plain_content(blocks)
        if kind in ("message", "reasoning") and not content:
            rollout.account.skip(f"{kind} without content")
            return
        if not is_part:
            _message(rollout, at, item, content, exported_id)
            return
        rollout.account.map(kind)
        answer = rollout.answering()
        answer.lines.append(AnswerLine(number, time, blocks, calls))
        answer.exported_id = answer.exported_id or exported_id
        if kind == "reasoning":
            answer.reasoning += "".join(block["thinking"] for block in blocks)
        return
    words = words_of_agent(item) if kind == "agent_message" else None
    if words:
        _said_by_agent(rollout, at, item, kind, words)
        return
    rollout.account.keep(kind or "item without a type")
    rollout.put(KeptEntry(at.value, number, "response_item"))


def _message(rollout: Rollout, at: SourceObject, item: dict[str, Any], content: Any, exported_id: str) -> None:
    """Add a message of a person, or a message that the program inserted as instructions or context."""
    role = text(item.get("role"))
    rollout.account.map(f"message of {role or 'nobody'}")
    role = role or "user"
    words = text_in(content)
    is_persons = role == "user" and (rollout.withdraw(words) or hash(words) in rollout.person_hashes)
    if is_persons:
        source = None
    elif role == "user":
        source = "codex:context"
        if "cwd" not in rollout.session_facts and (directory := directory_in(words)):
            rollout.session_facts["cwd"] = directory
    else:
        source = f"codex:{role}"
    message_id = exported_id or text(item.get("id")) or rollout.line_id(at.number)
    message = {
        "role": role if role in ("system", "developer") else "user",
        "content": content,
        "metadata": metadata(message_id, at.value.get("timestamp"), source=source),
    }
    rollout.put(MessageRead(message, at.number))


def _said_by_agent(
    rollout: Rollout, at: SourceObject, metadata_of_agent: dict[str, Any], kind: str, words: str
) -> None:
    """Add a message from another agent to this one: a task, or the result of a task."""
    rollout.account.map(kind)
    between = named(metadata_of_agent, author="author", recipient="recipient")
    message_id = text(metadata_of_agent.get("id")) or rollout.line_id(at.number)
    facts = metadata(message_id, at.value.get("timestamp"), source="codex:agent", imported=between)
    rollout.put(MessageRead(user(words, facts), at.number))


def _note_facts(rollout: Rollout, meta: dict[str, Any]) -> None:
    """Note the facts of a `session_meta`: the thread, its parent and its sub-agents, and its instructions."""
    rollout.session_id = text(meta.get("id"))
    rollout.started = text(meta.get("timestamp"))
    git = mapping(meta.get("git"))
    rollout.session_facts = {
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
        rollout.session_facts["agent"] = spawned
    if rollout.parent_id:
        rollout.session_facts |= named({**meta, **spawned}, agent_type="agent_role", description="agent_nickname")
    base = meta.get("base_instructions")
    instructions = text(mapping(base).get("text")) or text(base) or text(meta.get("instructions"))
    if instructions:
        facts = metadata("codex-instructions", source="codex:base-instructions")
        message = {"role": "system", "content": instructions, "metadata": facts}
        rollout.live.insert(0, held_event(MessageRead(message, 1)))


def _family(meta: dict[str, Any]) -> str:
    """Return the id of the thread that a thread was forked or started from, else its own, from its `session_meta`."""
    come_from = (meta.get(key) for key in ("session_id", "forked_from_id", "parent_thread_id", "id"))
    return next(filter(None, map(text, come_from)), "")


_TYPES = frozenset({"session_meta", "response_item", "compacted", "turn_context", "event_msg"})


def score(sample: Sample) -> int:
    """Return how well a file fits this format: the number of its first lines that are a rollout's.

    Items without an envelope count only beside a line that other formats do not have. A document scores 1000.
    """
    if entries_of_document(sample.document):
        return 1_000
    has_mark = any(map(is_mark, sample.entries))
    lines = 0
    for entry in sample.entries:
        is_bare_line = has_mark and (is_item(entry) or is_mark(entry))
        lines += _is_entry(entry) or is_bare_line
    return lines


def _is_entry(entry: dict[str, Any]) -> bool:
    return text(entry.get("type")) in _TYPES and isinstance(entry.get("payload"), dict)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session, turns that were rolled back as branches, and its sub-agents."""
    rollout = _read_rollout(source, account, lambda thread: sub_rollouts(source.path, thread))
    if rollout.parent_id:
        name = session_name(rollout.session_id)
        yield SessionStart("subagent", name, rollout.session_facts, "", parent_source_id=rollout.parent_id)
    else:
        yield session_start(rollout.session_facts, rollout.session_id, rollout.exported)
    yield from rollout.all(rollout.live)
    found = (
        Branch(line, f"rollback{line}", rollout.all(common), rollout.all(taken))
        for line, common, taken in rollout.rolled_back
    )
    yield from branches(found, account, rollout.session_facts, rollout.session_id)
    if rollout.parent_id or not rollout.session_id:
        return
    for child in islice(sub_rollouts(source.path, rollout.session_id), MOST_SUBAGENTS):
        account.file = os.path.basename(child.path)
        with Source(child.path) as beside:
            sub = _read_rollout(beside, account)
            facts = {**sub.session_facts, "spawned_by": rollout.children.get(child.thread, "")}
            yield SessionStart("subagent", session_name(child.thread), facts, sub.session_id)
            yield from sub.all(sub.live)
        account.file = ""


def _read_rollout(
    source: Source, account: Account, find_children: Callable[[str], list[RolloutName]] = lambda _: []
) -> Rollout:
    """Read all lines of a rollout."""
    rollout = Rollout(account, WaitingEvents(source.aside), find_children=find_children)
    rollout.base_files.add(source.path)
    for at in _entries(source, account):
        _take_with_base(rollout, at, source.path)
    rollout.finish()
    return rollout


def _entries(source: Source, account: Account) -> Iterable[SourceObject]:
    """Return the entries of a rollout, which has one on each line or is one document."""
    listed = entries_of_document(source.sample.document)
    return entries_of(listed, account) if listed else objects_of(source, account)


def _take_base(rollout: Rollout, base: HistoryBase, path: str, line: int) -> None:
    """Read the history that a fork does not repeat: the beginning of the rollout from which the fork was made."""
    account, family, model = rollout.account, rollout.family, rollout.model
    found = rollout_of_thread(path, base.thread)
    if not found or found in rollout.base_files:
        account.lose_part(line, f"the history before the fork: the rollout of thread {base.thread} is not there")
        return
    rollout.base_files.add(found)
    own_file = account.file
    account.file = os.path.basename(found)
    before = account.lines_by_file[account.file]
    with Source(found) as beside:
        for at in objects_of(beside, account, end_offset=base.end_bytes):
            _take_with_base(rollout, at, found)
    rollout.end_answer()
    rollout.lines_before += account.lines_by_file[account.file] - before
    account.file = own_file
    rollout.family = family
    rollout.model = model


def _take_with_base(rollout: Rollout, at: SourceObject, path: str) -> None:
    """Add a line, and first the history in another rollout to which the line refers."""
    if "payload" not in at.value:
        at = at._replace(value=with_envelope(at.value))
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
    people = {held.text_hash: held.message_id for held in rollout.live if held.is_person(rollout)}
    summary = text(payload.get("message"))
    keep = []
    for item in items(payload.get("replacement_history")):
        words = text_in(read_content(mapping(item).get("content")))
        if hash(words) in people:
            keep.append(people[hash(words)])
        elif words and not text(payload.get("message")) and not CONTEXT.match(words):
            summary = words
    time = at.value.get("timestamp")
    return CompactionEvent(summary, at.number, message_id=rollout.line_id(at.number), time=time, keep=keep)
