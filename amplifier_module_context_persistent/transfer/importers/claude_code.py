"""Claude Code sessions: `~/.claude/projects/<encoded directory>/<session>.jsonl`; there is no public specification.

Entries form a tree by `parentUuid`. One record stands for each content block of an answer: those with one `message.id`
are one message. Parallel calls make siblings, which are no branches; a branch begins only where two texts of a person
answer the same message. A compaction is a `system` entry, then a user message with `isCompactSummary`; `/clear` is a
user's message of that command. Sub-agents stand in files of their own or, marked `isSidechain`, in the session's file;
where there is neither, `progress` entries tell what they were asked, called and were given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any

from .account import Account
from .anthropic import assistant_parts, usage, user_messages
from .claude_index import NOT_A_PERSON, ClaudeEntry, ClaudeFile, index_of, is_entry, queued_prompt
from .events import Branch, Cleared, CompactionEvent, Event, Kept, MessageRead, SessionStart, branches
from .fields import assistant, blocks_of, mapping, metadata, session_name, text
from .source import Sample, Source, TwoSessionsError
from .tree import branches_of, common_with, nearest_of, parents_of, without_circles

MOST_SUBAGENTS = 10_000


class ClaudeCode:
    """Importer of Claude Code sessions."""

    name = "claude-code"
    title = "a Claude Code session"

    def score(self, sample: Sample) -> int:
        """How many entries are of types and with keys of this format."""
        return sum(map(is_entry, sample.entries))

    def read(self, source: Source, account: Account) -> Iterator[Event]:
        """Yield the session, its branches, and its sub-agents.

        Raises:
            ImportRefusedError: the file holds two sessions.
        """

        @cache
        def agents_of(session_id: str) -> frozenset[str]:
            return frozenset(map(_agent_of, _agent_files(source.path, session_id)))

        file = ClaudeFile(lambda agent, session_id: agent in agents_of(session_id))
        index_of(source, account, file)
        _check_is_one(file)
        has_main = any(not entry.agent for entry in file.entries if entry.kind != "tree")
        yield from _sessions(file, account, alone=not has_main)
        if not has_main:
            return
        for path in islice(_agent_files(source.path, file.session_id), MOST_SUBAGENTS):
            account.file = os.path.relpath(path, os.path.dirname(source.path))
            with Source(path) as beside:
                sub = index_of(beside, account, ClaudeFile())
                name = sub.agent_id or _agent_of(path)
                facts = {**sub.facts, "spawned_by": file.agents.get(name, "")}
                yield SessionStart("subagent", session_name(name), facts, sub.session_id)
                yield from messages_of(sub, [i for i, entry in enumerate(sub.entries) if entry.kind != "tree"])
            account.file = ""


def _check_is_one(file: ClaudeFile) -> None:
    """Check that all of a file is one session.

    A resumed session holds entries of the one that it goes on from, under that one's id: they are one tree. Another
    session has a tree of its own, whose root is the first entry under its id.

    Raises:
        ImportRefusedError: a person speaks in a second one.
    """
    entries, roots, first = file.entries, list[int](), dict[str, int]()
    parents = parents_of([entry.uuid for entry in entries], [entry.parent for entry in entries])
    for at, entry in enumerate(entries):
        roots.append(roots[parents[at]] if 0 <= parents[at] < at else at)
        if entry.session and (entry.uuid or entry.speaks):
            first.setdefault(entry.session, at)
        root = entries[roots[at]]
        if entry.is_person and not entry.agent and root.session and not root.parent:
            known, began = next(iter(first.items()))
            if began < roots[at] == first[root.session]:
                raise TwoSessionsError(root.line, known, root.session)


def _agent_files(path: str, session_id: str) -> Iterator[str]:
    """Files of sub-agents: in the session's directory, or beside the session's file, as older versions wrote them."""
    directory, name = os.path.split(path)
    inner = os.path.join(directory, name.partition(".jsonl")[0], "subagents")
    for searched in (inner, directory):
        try:
            found = sorted(entry for entry in os.listdir(searched) if re.fullmatch(r"agent-[\w.-]+\.jsonl", entry))
        except OSError:
            continue
        for entry in found:
            other = os.path.join(searched, entry)
            if os.path.isfile(other) and (searched == inner or (session_id and session_of(other) == session_id)):
                yield other


def _agent_of(path: str) -> str:
    """The sub-agent that a file is named after."""
    return os.path.basename(path).removeprefix("agent-").removesuffix(".jsonl")


def session_of(path: str) -> str:
    """The session that the first entry of a file names; empty where it names none."""
    with Source(path) as source:
        return text(mapping(next(source.lines()).value).get("sessionId"))


def _sessions(file: ClaudeFile, account: Account, *, alone: bool) -> Iterator[Event]:
    """The session and its branches, then the sub-agents that stand in its file."""
    entries = file.entries
    agents = dict.fromkeys(entry.agent for entry in entries if entry.agent and entry.kind != "tree")
    main = next(iter(agents), "") if alone else ""
    own = [index for index, entry in enumerate(entries) if entry.agent == main]
    yield from _with_branches(file, own, account, main)
    for agent in agents:
        if agent != main:
            facts = {**file.facts, "spawned_by": file.agents.get(agent, "")}
            yield SessionStart("subagent", session_name(agent), facts, file.session_id)
            yield from messages_of(
                file, [i for i, entry in enumerate(entries) if entry.agent == agent and entry.kind != "tree"]
            )


def _with_branches(file: ClaudeFile, own: Sequence[int], account: Account, agent: str) -> Iterator[Event]:
    talk, roots, parents = _branches(file, own)
    start = SessionStart("session", "", file.facts, file.session_id)
    if agent:
        start = SessionStart("subagent", session_name(agent), file.facts, "", parent_source_id=file.session_id)
    yield start
    yield from messages_of(file, [index for at, index in enumerate(talk) if roots[at] < 0])
    left = [at for at, root in enumerate(roots) if root == at]
    found = (_branch(file, root, talk, roots, parents) for root in left)
    yield from branches(found, account, file.facts, file.session_id)


def _branch(file: ClaudeFile, root: int, talk: Sequence[int], roots: Sequence[int], parents: Sequence[int]) -> Branch:
    first = file.entries[talk[root]]
    common = messages_of(file, [talk[at] for at in common_with(root, roots, parents)])
    own = messages_of(file, [talk[at] for at, other in enumerate(roots) if other == root])
    return Branch(first.line, session_name(first.uuid[:13]), common, own)


def _branches(file: ClaudeFile, own: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """The entries that matter, and for each of them the root of its branch, and its parent among them."""
    entries = [file.entries[index] for index in own]
    speaks = [entry.speaks for entry in entries]
    parents = parents_of([entry.uuid for entry in entries], [entry.parent for entry in entries])
    above = nearest_of(parents, speaks)
    heads: dict[str, int] = {}
    for at, entry in enumerate(entries):
        if entry.message_id:  # the records of one answer are one message, wherever they hang
            head = heads.setdefault(entry.message_id, at)
            above[at] = head if head != at else above[at]
    talk = [at for at, entry in enumerate(entries) if entry.kind != "tree"]
    position_of = {at: position for position, at in enumerate(talk)}
    nearest = []
    for at in talk:
        parent = above[at]
        if parent >= 0 and entries[parent].message_id:
            head = heads[entries[parent].message_id]
            parent = head if head != at else parent
        nearest.append(position_of.get(parent, -1))
    parents = without_circles(nearest)
    roots = branches_of(parents, lambda position: entries[talk[position]].is_person)
    return [own[at] for at in talk], roots, parents


_SYNTHETIC = "<synthetic>"
"""The model that answers name which the program wrote itself, such as those that tell of an error."""


def messages_of(file: ClaudeFile, indices: Sequence[int]) -> Iterator[Event]:
    """What some entries stand for, in their order; the records of one answer are one message.

    A clear hides what stands before it, unless nobody went on after it: then it ends the file that was left.
    """
    shown = set(indices)
    spoke = (index for index in reversed(indices) if file.entries[index].is_person or file.entries[index].message_id)
    last = next(spoke, -1)
    for index in indices:
        entry = file.entries[index]
        if entry.kind == "assistant":
            group = [other for other in file.groups.get(entry.message_id, [index]) if other in shown]
            if index == group[0] and (message := _answer(file, group)) is not None:
                yield MessageRead(message, entry.line)
            continue
        parsed = entry.value
        if entry.kind in ("kept", "clear"):
            if parsed.get("subtype") == "compact_boundary":
                file.compaction = mapping(parsed.get("compactMetadata"))
            yield Kept(parsed, entry.line, text(parsed.get("type")))
            if entry.kind == "clear" and index < last:
                yield Cleared(entry.line, parsed.get("timestamp"))
        elif entry.kind == "queued":
            yield from _queued_messages(parsed, entry)
        elif parsed.get("isCompactSummary") is True:
            yield _compaction(file, parsed, entry)
        else:
            yield from _user(file, parsed, entry)


def _id_of(entry: ClaudeEntry) -> str:
    return entry.uuid or f"claude-code-{entry.line}"


def _answer(file: ClaudeFile, group: Sequence[int]) -> dict[str, Any] | None:
    blocks, calls, known = [], [], set[str]()
    model, stop = "", None
    reported: dict[str, Any] = {}
    first: dict[str, Any] = {}
    for index in group:
        entry = file.entries[index].value
        first = first or entry
        message = mapping(entry.get("message"))
        more, called = assistant_parts(message.get("content"))
        blocks += more
        calls += [one for one in called if one["id"] not in known]
        known.update(one["id"] for one in called)
        model, stop = text(message.get("model")) or model, message.get("stop_reason") or stop
        reported = usage(message.get("usage")) or reported
    failed = True if first.get("isApiErrorMessage") is True else None
    kept: dict[str, Any] = {"request_id": first.get("requestId"), "response_id": mapping(first["message"]).get("id")}
    provider = "anthropic"
    if model == _SYNTHETIC:  # the program's own words: nobody was asked
        provider, model, reported, kept = "", "", {}, {"model": model}
    return assistant(
        blocks,
        calls,
        metadata(
            _id_of(file.entries[group[0]]),
            first.get("timestamp"),
            provider=provider,
            model=model,
            stop_reason=stop,
            usage=reported,
            is_error=failed,
            imported=_rest(file, first, **kept),
        ),
    )


def _user(file: ClaudeFile, parsed: dict[str, Any], entry: ClaudeEntry) -> Iterator[Event]:
    content = mapping(parsed.get("message")).get("content")
    source = None
    if not entry.is_person:
        source = "claude-code:meta" if parsed.get("isMeta") is True else "claude-code:note"
    rest = _rest(file, parsed)
    for message in user_messages(content, _id_of(entry), parsed.get("timestamp"), source=source, imported=rest):
        yield MessageRead(message, entry.line)


def _queued_messages(parsed: dict[str, Any], entry: ClaudeEntry) -> Iterator[Event]:
    prompt = queued_prompt(parsed)
    said = next((text(block.get("text")) for block in blocks_of(prompt)), "")
    mode = mapping(parsed.get("attachment")).get("commandMode")
    from_person = mode in (None, "prompt") and not NOT_A_PERSON.match(said)
    source = None if from_person else "claude-code:queued"
    for message in user_messages(prompt, _id_of(entry), parsed.get("timestamp"), source=source):
        yield MessageRead(message, entry.line)


def _compaction(file: ClaudeFile, parsed: dict[str, Any], entry: ClaudeEntry) -> CompactionEvent:
    blocks = blocks_of(mapping(parsed.get("message")).get("content"))
    details, file.compaction = file.compaction, {}
    return CompactionEvent(
        "\n".join(text(block.get("text")) for block in blocks),
        entry.line,
        message_id=_id_of(entry),
        time=parsed.get("timestamp"),
        tokens_before=details.get("preTokens"),
    )


def _rest(file: ClaudeFile, entry: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a message keeps beside what all formats have; directory and branch where they are not the session's."""
    told = {**more, "cwd": entry.get("cwd"), "git_branch": entry.get("gitBranch")}
    return {key: value for key, value in told.items() if text(value) and value != file.facts.get(key)}
