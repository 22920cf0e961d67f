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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from sys import intern
from typing import Any

from .account import Account
from .anthropic import assistant_parts, usage, user_messages
from .events import Cleared, CompactionEvent, Event, Kept, MessageRead, SessionStart, branches, tree_branches
from .fields import assistant, blocks_of, items, mapping, metadata, named, session_name, text
from .source import Source, SourceObject, TwoSessionsError, objects_of
from .tree import branches_of, nearest_of, parents_of, without_circles

MOST_SUBAGENTS = 10_000
NOT_CONVERSATIONAL = frozenset({"progress", "file-history-snapshot", "last-prompt", "permission-mode"})
TYPES = NOT_CONVERSATIONAL.union(
    ["user", "assistant", "system", "summary", "attachment", "queue-operation", "ai-title", "custom-title"]
)
NOT_A_PERSON = re.compile(
    r"\s*(<(command-|local-command|bash-|task-notification|system-reminder|user-prompt-submit-hook|ide_)"
    r"|\[Request interrupted)"
)

_OWN_KEYS = frozenset({"parentUuid", "sessionId", "isSidechain", "uuid", "leafUuid", "snapshot", "attachment"})
_CLEAR = re.compile(r"\s*(<command-message>[^<]*</command-message>\s*)?<command-name>/(clear|reset|new)</command-name>")


@dataclass(frozen=True, slots=True)
class ClaudeEntry:
    """An entry: its line, what it says, and what the order of messages depends on."""

    line: int
    value: dict[str, Any]
    kind: str
    """`user`, `assistant`, `queued`; `clear`, `kept` as metadata; `tree`, if only its place among the others counts."""
    uuid: str
    parent: str
    message_id: str = ""
    is_person: bool = False
    agent: str = ""
    is_told: bool = False
    """Whether it is what a `progress` entry tells of a sub-agent."""
    session: str = ""

    @property
    def id(self) -> str:
        """The id of its message."""
        return self.uuid or f"claude-code-{self.line}"

    @property
    def speaks(self) -> bool:
        """Whether it becomes a message, or a part of one."""
        return self.kind in ("user", "assistant", "queued")


@dataclass(slots=True)
class ClaudeFile:
    """The index of one file.

    Args:
        has_file: whether a sub-agent of a session has a file of its own, beside this one.
    """

    has_file: Callable[[str, str], bool] = lambda _agent, _session: False
    entries: list[ClaudeEntry] = field(default_factory=list)
    groups: dict[str, list[int]] = field(default_factory=dict)
    """By `message.id`, the entries of one answer."""
    agents: dict[str, str] = field(default_factory=dict)
    """By a sub-agent's id, the call that started it."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    agent_id: str = ""
    first_of: dict[str, int] = field(default_factory=dict)
    """By uuid, the entry that has it."""
    compaction: dict[str, Any] = field(default_factory=dict)
    """What the last `compact_boundary` said."""


def is_entry(entry: dict[str, Any]) -> bool:
    """Whether an object has the type and the keys of an entry of this format."""
    kind = text(entry.get("type"))
    if kind in ("user", "assistant"):
        return isinstance(entry.get("message"), dict)
    return kind in TYPES and (bool(_OWN_KEYS & entry.keys()) or "timestamp" in entry) and "payload" not in entry


def index_of(source: Source, account: Account, file: ClaudeFile) -> ClaudeFile:
    """Read a file, and note each line in the account."""
    for at in objects_of(source, account):
        _note_facts(file, at.value)
        data = mapping(at.value.get("data"))
        if text(at.value.get("type")) == "progress" and text(data.get("agentId")) and mapping(data.get("message")):
            _take_progress(file, at, account)
        elif not _is_repeated(file, at, account):
            _take(file, at, account)
    return file


def _is_repeated(file: ClaudeFile, at: SourceObject, account: Account) -> bool:
    """Whether an entry is a copy of an earlier one, as resumed sessions hold them; noted if so.

    What says nothing, and what `progress` told of a sub-agent, keeps no message from having its uuid.
    """
    entry, uuid = at.value, text(at.value.get("uuid"))
    number = file.first_of.get(uuid, -1) if uuid else -1
    if number < 0:
        return False
    first, says = file.entries[number], bool(mapping(entry.get("message")).get("content"))
    if says and (first.is_told or not first.speaks):
        file.entries[number] = replace(first, uuid="", kind="tree" if first.is_told else first.kind)
        del file.first_of[uuid]
        return False
    if first.value.get("message") == entry.get("message"):
        account.skip("copy of an earlier entry")
    else:
        account.lose(at.number, "an earlier entry has the same uuid, with other content")
    return True


def _take(file: ClaudeFile, at: SourceObject, account: Account) -> None:
    entry = at.value
    kind, message = text(entry.get("type")), mapping(entry.get("message"))
    if _clears(entry):
        account.keep("clear")
        held = "clear"
    elif kind in ("user", "assistant") and message and not blocks_of(message.get("content")):
        account.keep(f"{kind} without content")
        held = "kept"
    elif kind in ("user", "assistant") and message:
        account.map(kind)
        held = kind
    elif kind == "attachment" and queued_prompt(entry) is not None:
        account.map("queued command")
        held = "queued"
    elif kind in NOT_CONVERSATIONAL:
        account.skip(kind)
        held = "tree"
    elif kind in ("user", "assistant"):
        account.lose(at.number, f"{kind} without a message")
        held = "tree"
    else:
        account.keep(kind or "without a type")
        held = "kept"
    uuid = text(entry.get("uuid"))
    if held == "tree" and not uuid:
        return
    parent = text(entry.get("parentUuid")) or text(entry.get("logicalParentUuid"))
    agent = _agent_of(file, entry, uuid, parent)
    person = held == "user" and _is_person(entry, message)
    session = intern(text(entry.get("sessionId")))
    if held in ("user", "assistant"):
        entry.pop("toolUseResult", None)  # nobody reads it any more: the result stands in the message
    value = {} if held == "tree" else entry  # what says nothing is not read again
    read = ClaudeEntry(at.number, value, held, uuid, parent, is_person=person, agent=agent, session=session)
    _add(file, read, message)


def _take_progress(file: ClaudeFile, at: SourceObject, account: Account) -> None:
    """Note what an entry tells of a sub-agent; it has its own place among the others besides."""
    entry, data = at.value, mapping(at.value.get("data"))
    agent, inner = data["agentId"], data["message"]
    kind, message, uuid = text(inner.get("type")), mapping(inner.get("message")), text(inner.get("uuid"))
    if text(entry.get("uuid")):
        parent = text(entry.get("parentUuid")) or text(entry.get("logicalParentUuid"))
        session = intern(text(entry.get("sessionId")))
        _add(file, ClaudeEntry(at.number, {}, "tree", entry["uuid"], parent, session=session), {})
    file.agents.setdefault(agent, text(entry.get("parentToolUseID")))
    if file.has_file(agent, text(entry.get("sessionId"))):
        account.skip("progress of a sub-agent that has a file of its own")
    elif uuid and uuid in file.first_of:
        account.skip("copy of an earlier entry")
    elif kind not in ("user", "assistant") or not message.get("content"):
        account.keep(f"progress of a sub-agent: {kind or 'without a type'}")
        _add(file, ClaudeEntry(at.number, entry, "kept", "", "", agent=agent), {})
    else:
        account.map("progress of a sub-agent")
        _add(file, ClaudeEntry(at.number, inner, kind, uuid, "", agent=agent, is_told=True), message)


def _add(file: ClaudeFile, entry: ClaudeEntry, message: dict[str, Any]) -> None:
    index = len(file.entries)
    if entry.uuid:
        file.first_of.setdefault(entry.uuid, index)
    if entry.kind == "assistant" and (answer := text(message.get("id"))):
        file.groups.setdefault(answer, []).append(index)
        entry = replace(entry, message_id=answer)
    file.entries.append(entry)


def _agent_of(file: ClaudeFile, entry: dict[str, Any], uuid: str, parent: str) -> str:
    """The sub-agent that an entry belongs to: as it names it, else by the entry that its side chain begins with."""
    if entry.get("isSidechain") is not True:
        return ""
    if named := text(entry.get("agentId")):
        file.agent_id = file.agent_id or named
        return named
    above = file.first_of.get(parent, -1) if parent else -1
    if above >= 0 and file.entries[above].agent:
        return file.entries[above].agent
    return session_name(uuid[:13]) or f"line{len(file.entries)}"


def _note_facts(file: ClaudeFile, entry: dict[str, Any]) -> None:
    file.session_id = file.session_id or text(entry.get("sessionId"))
    for key, found in named(entry, cwd="cwd", git_branch="gitBranch", version="version", slug="slug").items():
        file.facts.setdefault(key, found)
    kind = entry.get("type")
    if kind in ("summary", "ai-title", "custom-title"):
        title = text(entry.get("summary")) or text(entry.get("aiTitle")) or text(entry.get("customTitle"))
        if title:
            file.facts["title"] = title
    answered = mapping(entry.get("toolUseResult"))
    if agent := text(answered.get("agentId")):
        for block in items(mapping(entry.get("message")).get("content")):
            if isinstance(block, dict) and block.get("type") == "tool_result":
                file.agents.setdefault(agent, text(block.get("tool_use_id")))


def queued_prompt(entry: dict[str, Any]) -> Any:
    """What a person or a task queued while the agent worked; None for another attachment."""
    attachment = mapping(entry.get("attachment"))
    prompt = attachment.get("prompt")
    return prompt if attachment.get("type") == "queued_command" and isinstance(prompt, str | list) else None


def _clears(entry: dict[str, Any]) -> bool:
    """Whether an entry is the program's own note that a person cleared the history, not a text that quotes one."""
    kind = entry.get("type")
    told = entry.get("content") if kind == "system" else mapping(entry.get("message")).get("content")
    return kind in ("user", "system") and isinstance(told, str) and bool(_CLEAR.match(told))


def _is_person(entry: dict[str, Any], message: dict[str, Any]) -> bool:
    if entry.get("isMeta") is True or entry.get("isCompactSummary") is True:
        return False
    content = message.get("content")
    if isinstance(content, str):
        return bool(content.strip()) and not NOT_A_PERSON.match(content)
    blocks = [block for block in items(content) if isinstance(block, dict)]
    if any(block.get("type") == "tool_result" for block in blocks):
        return False
    said = next((text(block.get("text")) for block in blocks if block.get("type") == "text"), "")
    return bool(blocks) and not NOT_A_PERSON.match(said)


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the session, its branches, and its sub-agents.

    Raises:
        ImportRefusedError: the file holds two sessions.
    """

    @cache
    def agents_of(session_id: str) -> frozenset[str]:
        return frozenset(map(_agent_in_name, _agent_files(source.path, session_id)))

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
            name = sub.agent_id or _agent_in_name(path)
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


def _agent_in_name(path: str) -> str:
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
    found = tree_branches(
        [at for at, root in enumerate(roots) if root == at],
        roots,
        parents,
        lambda root: (file.entries[talk[root]].line, file.entries[talk[root]].uuid[:13]),
        lambda places: messages_of(file, [talk[at] for at in places]),
    )
    yield from branches(found, account, file.facts, file.session_id)


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
    kept: dict[str, Any] = {"request_id": first.get("requestId"), "response_id": mapping(first["message"]).get("id")}
    provider = "anthropic"
    if model == _SYNTHETIC:  # the program's own words: nobody was asked
        provider, model, reported, kept = "", "", {}, {"model": model}
    return assistant(
        blocks,
        calls,
        metadata(
            file.entries[group[0]].id,
            first.get("timestamp"),
            provider=provider,
            model=model,
            stop_reason=stop,
            usage=reported,
            failed=first.get("isApiErrorMessage") is True,
            imported=_rest(file, first, **kept),
        ),
    )


def _user(file: ClaudeFile, parsed: dict[str, Any], entry: ClaudeEntry) -> Iterator[Event]:
    content = mapping(parsed.get("message")).get("content")
    source = None
    if not entry.is_person:
        source = "claude-code:meta" if parsed.get("isMeta") is True else "claude-code:note"
    rest = _rest(file, parsed)
    for message in user_messages(content, entry.id, parsed.get("timestamp"), source=source, imported=rest):
        yield MessageRead(message, entry.line)


def _queued_messages(parsed: dict[str, Any], entry: ClaudeEntry) -> Iterator[Event]:
    prompt = queued_prompt(parsed)
    said = next((text(block.get("text")) for block in blocks_of(prompt)), "")
    mode = mapping(parsed.get("attachment")).get("commandMode")
    from_person = mode in (None, "prompt") and not NOT_A_PERSON.match(said)
    source = None if from_person else "claude-code:queued"
    for message in user_messages(prompt, entry.id, parsed.get("timestamp"), source=source):
        yield MessageRead(message, entry.line)


def _compaction(file: ClaudeFile, parsed: dict[str, Any], entry: ClaudeEntry) -> CompactionEvent:
    details, file.compaction = file.compaction, {}
    return CompactionEvent(
        "\n".join(text(block.get("text")) for block in blocks_of(mapping(parsed.get("message")).get("content"))),
        entry.line,
        message_id=entry.id,
        time=parsed.get("timestamp"),
        tokens_before=details.get("preTokens"),
    )


def _rest(file: ClaudeFile, entry: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a message keeps beside what all formats have; directory and branch where they are not the session's."""
    told = {**more, "cwd": entry.get("cwd"), "git_branch": entry.get("gitBranch")}
    return {key: value for key, value in told.items() if text(value) and value != file.facts.get(key)}
