"""Read Claude Code sessions: `~/.claude/projects/<encoded directory>/<session>.jsonl`.

There is no public specification.

Entries form a tree by `parentUuid`. Each content block of an answer is a record: records with the same `message.id` and
`requestId` are one message, up to the next message of a person. Parallel calls make siblings, which are not branches. A
branch begins only if two messages of a person answer the same message. A compaction is a `system` entry, then a user
message with `isCompactSummary`; `/clear` is a user message with this command. Sub-agents are in files of their own or,
marked `isSidechain`, in the session's file. If neither exists, `progress` entries have their prompts, calls and
results. A resumed session or a `/branch` may begin with copies of the messages of the session that it continues.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any

from ....forms.anthropic import usage
from ....forms.anthropic_in_files import with_ids
from ....forms.canonical import blocks_of
from ..export_mark import mark_of
from ..exporters.claude_code import own_response_id
from .account import Account
from .anthropic import user_messages
from .branches import NO_PARENT, Branch, TreeBranch, branches, split_tree
from .claude_code_entries import NOT_A_PERSON, AsEntry, queued_prompt, read_file
from .claude_code_files import agent_facts, agent_files, agent_in_name, has_session_beside, session_in_name
from .claude_code_tree import ClaudeEntry, ClaudeFile
from .events import (
    MOST_SUBAGENTS,
    ClearMark,
    CompactionEvent,
    Event,
    KeptEntry,
    MessageRead,
    SessionStart,
    session_start,
)
from .fields import Message, assistant, mapping, metadata, session_name, text
from .provider_messages import answer_parts
from .source_file import Source


def read(source: Source, account: Account, as_entry: AsEntry | None = None) -> Iterator[Event]:
    """Yield the session, its branches, and its sub-agents.

    Args:
        source: the file.
        account: records what becomes of its lines.
        as_entry: makes an entry from a line, if the lines are in another format.

    Raises:
        ImportRefusedError: the file holds two sessions.
    """

    @cache
    def agents_of(session_id: str) -> frozenset[str]:
        return frozenset(agent_in_name(path) for path in agent_files(source.path, session_id))

    name = session_in_name(source.path)
    file = ClaudeFile(source.aside, lambda agent, session_id: agent in agents_of(session_id), name)
    read_file(source, account, file, as_entry)
    by_agent: dict[str, list[ClaudeEntry]] = {}
    for entry in file.entries:
        by_agent.setdefault(entry.agent, []).append(entry)
    if name.startswith("agent-"):
        _give_to_agent(by_agent)
    if has_session_beside(source.path, file.session_id):
        file.go_on_as(name)
    main = ""  # the session itself; in a sub-agent's file, the first sub-agent
    if by_agent and "" not in by_agent:
        main = next(iter(by_agent))
    own = by_agent.pop(main, [])
    yield from _with_branches(file, source.path, own, account, main)
    for agent, entries in by_agent.items():
        facts = {**file.facts, "spawned_by": file.agents.get(agent, "")}
        yield SessionStart("subagent", session_name(agent), facts, file.session_id)
        yield from messages_of(file, entries)
    if main or not own:
        return
    for path in islice(agent_files(source.path, file.session_id), MOST_SUBAGENTS):
        account.file = os.path.relpath(path, os.path.dirname(source.path))
        with Source(path) as beside:
            sub = read_file(beside, account, ClaudeFile(beside.aside))
            name = sub.agent_id or agent_in_name(path)
            facts = {**sub.facts, "spawned_by": file.agents.get(name, ""), **agent_facts(path)}
            yield SessionStart("subagent", session_name(name), facts, sub.session_id)
            yield from messages_of(sub, sub.entries)
        account.file = ""


def _give_to_agent(by_agent: dict[str, list[ClaudeEntry]]) -> None:
    """Give the first sub-agent of its own file the entries that name no sub-agent, if none of them says anything.

    The program writes such entries about the session, for example its settings.
    """
    others = by_agent.get("", [])
    if len(by_agent) < 2 or any(entry.speaks for entry in others):
        return
    del by_agent[""]
    first = next(iter(by_agent))
    by_agent[first] = sorted([*others, *by_agent[first]], key=lambda entry: entry.line)


def _with_branches(
    file: ClaudeFile, path: str, own: Sequence[ClaudeEntry], account: Account, agent: str
) -> Iterator[Event]:
    """Yield the session of a file, or of a sub-agent if the file is a sub-agent's, and its abandoned branches."""
    for position, entry in enumerate(own):
        entry.position = position
    parents = [entry.above.position if entry.above is not None else NO_PARENT for entry in own]
    live, left = split_tree(parents, lambda position: own[position].is_person)
    origin = file.origin
    if agent:
        facts = {**file.facts, **agent_facts(path)}
        start = SessionStart("subagent", session_name(agent), facts, "", parent_source_id=file.session_id)
    else:
        if origin.session:
            file.facts["forked_from_session"] = origin.session
        start = session_start(file.facts, file.session_id, file.exported)
    yield start
    events = messages_of(file, [own[position] for position in live])
    yield from _noting_copies(events, start, origin.last_line) if origin.last_line else events

    def made(branch: TreeBranch) -> Branch:
        first = own[branch.own[0]]
        return Branch(
            first.line,
            session_name(first.uuid[:13]),
            messages_of(file, [own[position] for position in branch.common]),
            messages_of(file, [own[position] for position in branch.own]),
        )

    yield from branches(map(made, left), account, file.facts, file.session_id)


def _noting_copies(events: Iterator[Event], start: SessionStart, last_line: int) -> Iterator[Event]:
    """Yield events, and note the last message up to a line: it was copied from the session that this one continues."""
    for event in events:
        if isinstance(event, MessageRead) and event.line <= last_line:
            start.forked_from = event.message["metadata"]["message_id"]
        yield event


_SYNTHETIC = "<synthetic>"
"""The model in answers that the program wrote itself, such as error messages."""


def messages_of(file: ClaudeFile, entries: Sequence[ClaudeEntry]) -> Iterator[Event]:
    """Yield the events of entries, in order.

    A clear hides the entries before it. A clear after the last message hides nothing: then the program continued in a
    new file, and the messages of this file stay.
    """
    spoke = (entry.line for entry in reversed(entries) if entry.is_person or entry.kind == "assistant")
    last = next(spoke, 0)
    open_calls: dict[str, None] = {}
    for entry in entries:
        if entry.kind == "assistant":
            message = _answer(file, entry.records, open_calls)
            if message is not None:
                yield MessageRead(message, entry.line)
            continue
        parsed = file.value(entry)
        if entry.kind in ("kept", "clear"):
            if parsed.get("subtype") == "compact_boundary":
                file.compaction = mapping(parsed.get("compactMetadata"))
            yield KeptEntry(parsed, entry.line, text(parsed.get("type")))
            if entry.kind == "clear" and entry.line < last:
                yield ClearMark(entry.line, parsed.get("timestamp"))
        elif entry.kind == "queued":
            yield from _queued_messages(parsed, entry)
        elif parsed.get("isCompactSummary") is True:
            yield _compaction(file, parsed, entry)
        elif entry.records:
            yield from _user(file, parsed, entry, open_calls)


def _answer(file: ClaudeFile, records: Sequence[ClaudeEntry], open_calls: dict[str, None]) -> dict[str, Any] | None:
    """Return the message from the records of an answer, or None if there is none.

    Its calls are added to `open_calls`.
    """
    if not records:
        return None
    blocks: list[Message] = []
    calls: dict[str, Message] = {}
    reported: dict[str, Any] = {}
    model, stop = "", None
    values = [file.value(record) for record in records]
    for record, value in zip(records, values, strict=True):
        message = value["message"]
        more_blocks, more_calls = answer_parts(with_ids(blocks_of(message.get("content")), record.id, open_calls))
        blocks += more_blocks
        for tool_call in more_calls:
            calls.setdefault(tool_call["id"], tool_call)
        model = text(message.get("model")) or model
        stop = message.get("stop_reason") or stop
        counts = usage(message.get("usage"))
        if any(counts.values()):
            reported = counts
    first = values[0]
    source_facts: dict[str, Any] = {"request_id": first.get("requestId"), "response_id": first["message"].get("id")}
    if mark_of(first) is not None and source_facts["response_id"] == own_response_id(records[0].uuid):
        source_facts["response_id"] = (
            None  # the export made up this id; it is not the one by which the answer is billed
        )
    provider = "anthropic"
    if model == _SYNTHETIC:  # the program's own text: no model was called
        provider = ""
        model = ""
        reported = {}
        source_facts = {"model": _SYNTHETIC}
    facts = metadata(
        records[0].id,
        first.get("timestamp"),
        provider=provider,
        model=model,
        stop_reason=stop,
        usage=reported,
        failed=first.get("isApiErrorMessage") is True,
        imported=_rest(file, first, **source_facts),
    )
    return assistant(blocks, calls.values(), facts)


def _user(file: ClaudeFile, parsed: dict[str, Any], entry: ClaudeEntry, open_calls: dict[str, None]) -> Iterator[Event]:
    content = mapping(parsed.get("message")).get("content")
    if not isinstance(content, str):
        content = with_ids(blocks_of(content), entry.id, open_calls)
    source = None
    if not entry.is_person:
        source = "claude-code:meta" if parsed.get("isMeta") is True else "claude-code:note"
    rest = _rest(file, parsed)
    for message in user_messages(content, entry.id, parsed.get("timestamp"), source=source, imported=rest):
        yield MessageRead(message, entry.line)


def _queued_messages(parsed: dict[str, Any], entry: ClaudeEntry) -> Iterator[Event]:
    prompt = queued_prompt(parsed)
    first_words = next((text(block.get("text")) for block in blocks_of(prompt)), "")
    mode = mapping(parsed.get("attachment")).get("commandMode")
    from_person = mode in (None, "prompt") and not NOT_A_PERSON.match(first_words)
    source = None if from_person else "claude-code:queued"
    for message in user_messages(prompt, entry.id, parsed.get("timestamp"), source=source):
        yield MessageRead(message, entry.line)


def _compaction(file: ClaudeFile, parsed: dict[str, Any], entry: ClaudeEntry) -> CompactionEvent:
    details = file.compaction
    file.compaction = {}
    return CompactionEvent(
        "\n".join(text(block.get("text")) for block in blocks_of(mapping(parsed.get("message")).get("content"))),
        entry.line,
        message_id=entry.id,
        time=parsed.get("timestamp"),
        tokens_before=details.get("preTokens"),
    )


def _rest(file: ClaudeFile, entry: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return metadata that other formats do not have: `more`, and the directory and Git branch if not the session's."""
    rest = {key: value for key, value in more.items() if value and isinstance(value, str)}
    for key, theirs in (("cwd", "cwd"), ("git_branch", "gitBranch")):
        value = text(entry.get(theirs))
        if value and value != file.facts.get(key):
            rest[key] = value
    return rest
