"""Claude Code sessions: `~/.claude/projects/<encoded directory>/<session>.jsonl`; there is no public specification.

Entries form a tree by `parentUuid`. One record stands for each content block of an answer: those with one `message.id`
and one `requestId` are one message, up to the next message of a person. Parallel calls make siblings, which are no
branches; a branch begins only where two texts of a person answer the same message. A compaction is a `system` entry,
then a user message with `isCompactSummary`; `/clear` is a user's message of that command. Sub-agents are in files of
their own or, marked `isSidechain`, in the session's file; where there is neither, `progress` entries tell what they
were asked, called and were given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from sys import intern
from typing import Any

from ....forms.anthropic import answered_calls, usage
from ....forms.canonical import blocks_of
from .account import Account
from .anthropic import assistant_parts, user_messages
from .branches import Branch, branches, split_tree
from .claude_code_files import agent_facts, agent_files, agent_in_name, with_whole_outputs
from .events import ClearMark, CompactionEvent, Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, assistant, items, mapping, metadata, session_name, text
from .source_file import Source, SourceObject, TwoSessionsError, objects_of

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


@dataclass(slots=True, eq=False)
class ClaudeEntry:
    """An entry: its line, what it says, and its place among the others."""

    line: int
    value: dict[str, Any]
    kind: str
    """`user`, `assistant`, `queued`; `clear`, `kept` as metadata; `silent`, if only its place counts."""
    uuid: str
    parent: str
    session: str = ""
    agent: str = ""
    is_person: bool = False
    is_told: bool = False
    """Whether it is what a `progress` entry tells of a sub-agent."""
    above: ClaudeEntry | None = None
    """The message below which it hangs; what says nothing is passed over."""
    root: ClaudeEntry | None = None
    """The first entry of its tree, where that is another one."""
    head: ClaudeEntry | None = None
    """The first record of its answer, where that is another one."""
    records: list[ClaudeEntry] = field(default_factory=list)
    """What its message is made of, itself first."""

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
    """What one file holds.

    Args:
        has_file: whether a sub-agent of a session has a file of its own, beside this one.
    """

    has_file: Callable[[str, str], bool] = lambda _agent, _session: False
    entries: list[ClaudeEntry] = field(default_factory=list)
    """What becomes messages or is kept, in order; of an answer the first record."""
    by_uuid: dict[str, ClaudeEntry] = field(default_factory=dict)
    answers: dict[str, dict[tuple[str, str, bool], ClaudeEntry]] = field(default_factory=dict)
    """The first record of each answer since a person spoke, by agent and the answer's key."""
    began: dict[str, ClaudeEntry] = field(default_factory=dict)
    """By session, its first entry."""
    agents: dict[str, str] = field(default_factory=dict)
    """By a sub-agent's id, the call that started it."""
    facts: dict[str, Any] = field(default_factory=dict)
    session_id: str = ""
    agent_id: str = ""
    compaction: dict[str, Any] = field(default_factory=dict)
    """What the last `compact_boundary` said."""


def is_entry(entry: dict[str, Any]) -> bool:
    """Whether an object has the type and the keys of an entry of this format."""
    kind = text(entry.get("type"))
    if kind in ("user", "assistant"):
        return isinstance(entry.get("message"), dict)
    return kind in TYPES and (bool(_OWN_KEYS & entry.keys()) or "timestamp" in entry) and "payload" not in entry


AsEntry = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Makes an entry of a line that is in another form; None if the line is no part of the conversation."""


def read_file(source: Source, account: Account, file: ClaudeFile, as_entry: AsEntry | None = None) -> ClaudeFile:
    """Read a file, and note each line in the account.

    Raises:
        TwoSessionsError: it holds two sessions.
    """
    for at in objects_of(source, account):
        if as_entry is not None:
            entry = as_entry(at.value)
            if entry is None:
                account.skip(text(at.value.get("type")))
                continue
            at = SourceObject(at.number, entry)
        _note_facts(file, at.value)
        data = mapping(at.value.get("data"))
        if text(at.value.get("type")) == "progress" and text(data.get("agentId")) and mapping(data.get("message")):
            _take_progress(file, at, account)
        elif not _is_repeated(file, at, account):
            _complete_outputs(at.value, source.path, at.number, account)
            _take(file, at, account)
    return file


def _complete_outputs(entry: dict[str, Any], path: str, line: int, account: Account) -> None:
    """Put large outputs, of which the transcript has the beginning, in their place."""
    message = mapping(entry.get("message"))
    if entry.get("type") == "user" and isinstance(message.get("content"), list):
        message["content"] = with_whole_outputs(message["content"], path, line, account)


def _is_repeated(file: ClaudeFile, at: SourceObject, account: Account) -> bool:
    """Whether an entry is a copy of an earlier one, as resumed sessions hold them; noted if so.

    What says nothing, and what `progress` told of a sub-agent, keeps no message from having its uuid.
    """
    message, uuid = at.value.get("message"), text(at.value.get("uuid"))
    first = file.by_uuid.get(uuid)
    if first is None:
        return False
    if mapping(message).get("content") and (first.is_told or not first.speaks):
        if first.is_told:
            (first.head or first).records.remove(first)
        del file.by_uuid[uuid]
        return False
    if first.value.get("message") == message:
        account.skip("copy of an earlier entry")
    else:
        account.lose(at.number, "an earlier entry has the same uuid, with other content")
    return True


def _take(file: ClaudeFile, at: SourceObject, account: Account) -> None:
    entry, kind = at.value, text(at.value.get("type"))
    message = mapping(entry.get("message"))
    held = "kept"
    if _clears(entry):
        account.keep("clear")
        held = "clear"
    elif kind in NOT_CONVERSATIONAL:
        account.skip(kind)
        held = "silent"
    elif kind == "attachment" and queued_prompt(entry) is not None:
        account.map("queued command")
        held = "queued"
    elif kind not in ("user", "assistant"):
        account.keep(kind or "without a type")
    elif not message:
        account.lose(at.number, f"{kind} without a message")
        held = "silent"
    elif not blocks_of(message.get("content")):
        account.keep(f"{kind} without content")
    else:
        account.map(kind)
        held = kind
    read = _at_its_place(file, at, held)
    read.agent = _agent_of(file, read, entry)
    read.is_person = held == "user" and _is_person(entry, message)
    if held in ("user", "assistant"):
        entry.pop("toolUseResult", None)  # nobody reads it any more: the result stands in the message
    _add(file, read)
    _check_is_one(file, read)


def _take_progress(file: ClaudeFile, at: SourceObject, account: Account) -> None:
    """Note what an entry tells of a sub-agent; it has its own place among the others besides."""
    entry, data = at.value, mapping(at.value.get("data"))
    agent, inner = data["agentId"], data["message"]
    kind, message, uuid = text(inner.get("type")), mapping(inner.get("message")), text(inner.get("uuid"))
    _add(file, _at_its_place(file, at, "silent"))
    file.agents.setdefault(agent, text(entry.get("parentToolUseID")))
    if file.has_file(agent, text(entry.get("sessionId"))):
        account.skip("progress of a sub-agent that has a file of its own")
    elif uuid in file.by_uuid:
        account.skip("copy of an earlier entry")
    elif kind not in ("user", "assistant") or not message.get("content"):
        account.keep(f"progress of a sub-agent: {kind or 'without a type'}")
        _add(file, ClaudeEntry(at.number, entry, "kept", "", "", agent=agent))
    else:
        account.map("progress of a sub-agent")
        _add(file, ClaudeEntry(at.number, inner, kind, uuid, "", agent=agent, is_told=True))


def _at_its_place(file: ClaudeFile, at: SourceObject, kind: str) -> ClaudeEntry:
    """An entry below its parent, which stands before it; what says nothing is not read again."""
    entry = at.value
    parent = text(entry.get("parentUuid")) or text(entry.get("logicalParentUuid"))
    session = intern(text(entry.get("sessionId")))
    value = {} if kind == "silent" else entry
    read = ClaudeEntry(at.number, value, kind, text(entry.get("uuid")), parent, session)
    if (found := file.by_uuid.get(parent)) is not None:
        read.above = (found.head or found) if found.speaks else found.above
        read.root = found.root or found
    return read


def _add(file: ClaudeFile, entry: ClaudeEntry) -> None:
    if entry.uuid:
        file.by_uuid.setdefault(entry.uuid, entry)
    answers = file.answers.setdefault(entry.agent, {})
    if entry.is_person:
        answers.clear()
    answer = _answer_key(entry) if entry.kind == "assistant" else None
    head = answers.setdefault(answer, entry) if answer else entry
    head.records.append(entry)
    if head is not entry:
        entry.head = head
    elif entry.kind != "silent":
        file.entries.append(entry)


def _answer_key(entry: ClaudeEntry) -> tuple[str, str, bool] | None:
    """The key that the records of one answer share; None if the record has no id.

    A message's id alone does not do: some gateways give one id to every answer.
    """
    message = mapping(entry.value.get("message"))
    message_id = text(message.get("id"))
    if not message_id:
        return None
    return message_id, text(entry.value.get("requestId")), entry.is_told


def _check_is_one(file: ClaudeFile, entry: ClaudeEntry) -> None:
    """Check that an entry is of the session that the file begins with.

    A resumed session holds entries of the one that it goes on from, under that one's id: they are one tree. Another
    session has a tree of its own, whose root is the first entry under its id.

    Raises:
        TwoSessionsError: a person speaks in a second one.
    """
    if entry.session and (entry.uuid or entry.speaks):
        file.began.setdefault(entry.session, entry)
    root = entry.root or entry
    if entry.is_person and not entry.agent and root.session and not root.parent:
        known, began = next(iter(file.began.items()))
        if began is not root and file.began[root.session] is root:
            raise TwoSessionsError(root.line, known, root.session)


def _agent_of(file: ClaudeFile, read: ClaudeEntry, entry: dict[str, Any]) -> str:
    """The sub-agent that an entry belongs to: as it names it, else by the entry that its side chain begins with."""
    if entry.get("isSidechain") is not True:
        return ""
    if named := text(entry.get("agentId")):
        file.agent_id = file.agent_id or named
        return named
    parent = file.by_uuid.get(read.parent)
    return (parent.agent if parent is not None else "") or session_name(read.uuid[:13]) or f"line{read.line}"


_FACTS = (("cwd", "cwd"), ("git_branch", "gitBranch"), ("version", "version"), ("slug", "slug"))


def _note_facts(file: ClaudeFile, entry: dict[str, Any]) -> None:
    file.session_id = file.session_id or text(entry.get("sessionId"))
    for key, theirs in _FACTS:
        if key not in file.facts and (found := text(entry.get(theirs))):
            file.facts[key] = found
    kind = entry.get("type")
    if kind in ("summary", "ai-title", "custom-title"):
        title = text(entry.get("summary")) or text(entry.get("aiTitle")) or text(entry.get("customTitle"))
        if title:
            file.facts["title"] = title
    answered = mapping(entry.get("toolUseResult"))
    if started_by := text(entry.get("parent_tool_use_id")):
        file.agents.setdefault(text(entry.get("agentId")), started_by)
    if agent := text(answered.get("agentId")):
        for call_id in answered_calls(mapping(entry.get("message")).get("content")):
            file.agents.setdefault(agent, call_id)


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
    if answered_calls(content):
        return False
    blocks = [block for block in items(content) if isinstance(block, dict)]
    said = next((text(block.get("text")) for block in blocks if block.get("type") == "text"), "")
    return bool(blocks) and not NOT_A_PERSON.match(said)


def read(source: Source, account: Account, as_entry: AsEntry | None = None) -> Iterator[Event]:
    """Yield the session, its branches, and its sub-agents.

    Args:
        source: the file.
        account: what becomes of its lines.
        as_entry: makes an entry of a line, if the lines are in another form.

    Raises:
        ImportRefusedError: the file holds two sessions.
    """

    @cache
    def agents_of(session_id: str) -> frozenset[str]:
        return frozenset(map(agent_in_name, agent_files(source.path, session_id)))

    file = ClaudeFile(lambda agent, session_id: agent in agents_of(session_id))
    read_file(source, account, file, as_entry)
    by_agent: dict[str, list[ClaudeEntry]] = {}
    for entry in file.entries:
        by_agent.setdefault(entry.agent, []).append(entry)
    main = "" if "" in by_agent else next(iter(by_agent), "")
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
            sub = read_file(beside, account, ClaudeFile())
            name = sub.agent_id or agent_in_name(path)
            facts = {**sub.facts, "spawned_by": file.agents.get(name, ""), **agent_facts(path)}
            yield SessionStart("subagent", session_name(name), facts, sub.session_id)
            yield from messages_of(sub, sub.entries)
        account.file = ""


def _with_branches(
    file: ClaudeFile, path: str, own: Sequence[ClaudeEntry], account: Account, agent: str
) -> Iterator[Event]:
    """Yield the session of a file (or its sub-agent, if the file is one's), and the branches that it left."""
    position = {entry: at for at, entry in enumerate(own)}
    parents = [position.get(entry.above, -1) if entry.above is not None else -1 for entry in own]
    live, left = split_tree(parents, lambda at: own[at].is_person)
    start = SessionStart("session", "", file.facts, file.session_id)
    if agent:
        facts = {**file.facts, **agent_facts(path)}
        start = SessionStart("subagent", session_name(agent), facts, "", parent_source_id=file.session_id)
    yield start
    yield from messages_of(file, [own[at] for at in live])
    found = (
        Branch(
            own[places[0]].line,
            session_name(own[places[0]].uuid[:13]),
            messages_of(file, [own[at] for at in common]),
            messages_of(file, [own[at] for at in places]),
        )
        for common, places in left
    )
    yield from branches(found, account, file.facts, file.session_id)


_SYNTHETIC = "<synthetic>"
"""The model that answers name which the program wrote itself, such as those that tell of an error."""


def messages_of(file: ClaudeFile, entries: Sequence[ClaudeEntry]) -> Iterator[Event]:
    """What some entries stand for, in their order.

    A clear hides what stands before it, unless nobody went on after it: then it ends the file that was left.
    """
    spoke = (entry.line for entry in reversed(entries) if entry.is_person or entry.kind == "assistant")
    last = next(spoke, 0)
    for entry in entries:
        parsed = entry.value
        if entry.kind == "assistant":
            if (message := _answer(file, entry.records)) is not None:
                yield MessageRead(message, entry.line)
        elif entry.kind in ("kept", "clear"):
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
            yield from _user(file, parsed, entry)


def _answer(file: ClaudeFile, records: Sequence[ClaudeEntry]) -> dict[str, Any] | None:
    """The message of the records of an answer; None if there is none left."""
    blocks, calls, reported = list[Message](), dict[str, Message](), dict[str, Any]()
    model, stop = "", None
    for record in records:
        message = record.value["message"]
        more, called = assistant_parts(message.get("content"))
        blocks += more
        for one in called:
            calls.setdefault(one["id"], one)
        model, stop = text(message.get("model")) or model, message.get("stop_reason") or stop
        counts = usage(message.get("usage"))
        reported = counts if any(counts.values()) else reported
    if not records:
        return None
    first = records[0].value
    kept: dict[str, Any] = {"request_id": first.get("requestId"), "response_id": first["message"].get("id")}
    provider = "anthropic"
    if model == _SYNTHETIC:  # the program's own words: nobody was asked
        provider, model, reported, kept = "", "", {}, {"model": model}
    given = metadata(
        records[0].id,
        first.get("timestamp"),
        provider=provider,
        model=model,
        stop_reason=stop,
        usage=reported,
        failed=first.get("isApiErrorMessage") is True,
        imported=_rest(file, first, **kept),
    )
    return assistant(blocks, calls.values(), given)


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
