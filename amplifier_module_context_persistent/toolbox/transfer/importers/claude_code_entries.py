"""Read the entries of a Claude Code file: find out which become messages, and how they are linked (`claude_code.py`).

An entry is the JSON object of a line. Entries form a tree; the live path is the branch that the session continued on.
Each line is read once. Memory keeps only the links between entries. Their content is put aside in a temporary file
until the live path is known.

A session's id is the name of its file. A resumed session or a branch may begin with copies of entries of the session
that it continues: under that session's id, or with a `forkedFrom` that names it. Some versions went on under the older
id in the new file (github.com/anthropics/claude-code/issues/8614). Then the id in the entries counts, unless that
session has a file of its own beside this one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import intern
from typing import Any

from ....forms.anthropic import usage
from ....forms.anthropic_in_files import answered_calls
from ....forms.canonical import blocks_of, id_text
from ..export_mark import MARK_KEY
from .account import Account
from .claude_code_files import with_whole_outputs
from .claude_code_tree import ClaudeEntry, ClaudeFile, Origin
from .fields import items, mapping, session_name, text
from .lines import SourceObject
from .refused_import import TwoSessionsError
from .source_file import Source, objects_of

NOT_CONVERSATIONAL = frozenset({"progress", "file-history-snapshot", "last-prompt", "permission-mode"})
TYPES = NOT_CONVERSATIONAL.union(
    [
        "user",
        "assistant",
        "system",
        "summary",
        "attachment",
        "queue-operation",
        "ai-title",
        "custom-title",
        "agent-name",
    ]
)
NOT_A_PERSON = re.compile(
    r"\s*(<(command-|local-command|bash-|task-notification|system-reminder|user-prompt-submit-hook|ide_)"
    r"|\[Request interrupted)"
)

_OWN_KEYS = frozenset({"parentUuid", "sessionId", "isSidechain", "uuid", "leafUuid", "snapshot", "attachment"})
_OF_MESSAGES = (
    "message",
    "timestamp",
    "requestId",
    "cwd",
    "gitBranch",
    "isMeta",
    "isCompactSummary",
    "isApiErrorMessage",
    MARK_KEY,
)
"""The keys of an entry that are kept for a message. Other keys are dropped; `toolUseResult`, for example, repeats the
result."""
_CLEAR = re.compile(r"\s*(<command-message>[^<]*</command-message>\s*)?<command-name>/(clear|reset|new)</command-name>")


def is_entry(entry: dict[str, Any]) -> bool:
    """Return whether an object has the type and the keys of an entry of this format."""
    kind = text(entry.get("type"))
    if kind in ("user", "assistant"):
        return isinstance(entry.get("message"), dict)
    return kind in TYPES and (bool(_OWN_KEYS & entry.keys()) or "timestamp" in entry) and "payload" not in entry


AsEntry = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Makes an entry from a line in another format; returns None if the line is not part of the conversation."""


def read_file(source: Source, account: Account, file: ClaudeFile, as_entry: AsEntry | None = None) -> ClaudeFile:
    """Read a source into `file`, note each line in the account, and return `file`.

    Raises:
        TwoSessionsError: the source has two sessions.
    """
    for at in objects_of(source, account):
        if as_entry is not None:
            entry = as_entry(at.value)
            if entry is None:
                account.skip(text(at.value.get("type")))
                continue
            at = SourceObject(at.number, entry)
        kind = text(at.value.get("type"))
        _note_facts(file, at.value, kind)
        if kind == "progress" and _is_of_agent(at.value):
            _take_progress(file, at, account)
        elif not _is_repeated(file, at, account):
            if kind == "user":
                _complete_outputs(at.value, source.path, at.number, account)
            _take(file, at, kind, account)
    file.by_uuid.clear()  # each entry has a link to its parent by now
    return file


def _is_of_agent(progress: dict[str, Any]) -> bool:
    """Return whether a `progress` entry has a message of a sub-agent."""
    data = mapping(progress.get("data"))
    return bool(text(data.get("agentId")) and mapping(data.get("message")))


def _complete_outputs(entry: dict[str, Any], path: str, line: int, account: Account) -> None:
    """Replace the shortened outputs in a user's entry. The whole outputs are read from files of their own."""
    message = mapping(entry.get("message"))
    if isinstance(message.get("content"), list):
        message["content"] = with_whole_outputs(message["content"], path, line, account)


def _is_repeated(file: ClaudeFile, at: SourceObject, account: Account) -> bool:
    """Return whether an earlier entry has the same uuid. If so, note the entry in the account.

    Resumed sessions contain such copies. An earlier entry that is silent, or that is from a `progress` entry, does not
    count: a message may have its uuid.
    """
    uuid = id_text(at.value.get("uuid"))
    first = file.by_uuid.get(uuid)
    if first is None:
        return False
    message = at.value.get("message")
    if mapping(message).get("content") and (first.is_told or not first.speaks):
        if first.is_told:
            first.is_replaced = True
        del file.by_uuid[uuid]
        return False
    if file.value(first).get("message") == message:
        account.skip("copy of an earlier entry")
    else:
        account.lose(at.number, "an earlier entry has the same uuid, with other content")
    return True


def _take(file: ClaudeFile, at: SourceObject, kind: str, account: Account) -> None:
    entry = at.value
    message = mapping(entry.get("message"))
    entry_kind = "kept"
    if _clears(kind, message.get("content") if kind == "user" else entry.get("content")):
        account.keep("clear")
        entry_kind = "clear"
    elif kind in NOT_CONVERSATIONAL:
        account.skip(kind)
        entry_kind = "silent"
    elif kind == "attachment" and queued_prompt(entry) is not None:
        account.map("queued command")
        entry_kind = "queued"
    elif kind not in ("user", "assistant"):
        account.keep(kind or "without a type")
    elif not message:
        account.lose(at.number, f"{kind} without a message")
        entry_kind = "silent"
    elif not _has_content(message.get("content")):
        account.keep(f"{kind} without content")
    else:
        account.map(kind)
        entry_kind = kind
    read = _at_its_place(file, at, entry_kind)
    read.agent = _agent_of(file, read, entry)
    read.is_person = entry_kind == "user" and _is_person(entry, message)
    if MARK_KEY in entry:
        read.exported_id = file.exported.note(at.number, entry)
    _add(file, read, entry)
    _check_is_one(file, read)
    if read.speaks and not (file.has_own or read.agent):
        _note_origin(file, read, entry)


def _note_origin(file: ClaudeFile, read: ClaudeEntry, entry: dict[str, Any]) -> None:
    """Note whether a message was copied from the session that this one continues.

    Copies come before all messages of the session itself.
    """
    forked_from = id_text(mapping(entry.get("forkedFrom")).get("sessionId"))
    if forked_from:
        file.forked = Origin(forked_from, read.line)
    elif read.session and read.session != file.name:
        file.resumed_session = read.session
        file.resumed_to_line = read.line
    else:
        file.has_own = True


def _has_content(content: Any) -> bool:
    return bool(content if isinstance(content, str) else blocks_of(content))


def _take_progress(file: ClaudeFile, at: SourceObject, account: Account) -> None:
    """Add the sub-agent's message in a `progress` entry.

    The `progress` entry itself stays as a link between its neighbours.
    """
    entry = at.value
    data = mapping(at.value.get("data"))
    agent, inner = data["agentId"], data["message"]
    kind, message, uuid = text(inner.get("type")), mapping(inner.get("message")), text(inner.get("uuid"))
    _add(file, _at_its_place(file, at, "silent"), entry)
    file.agents.setdefault(agent, text(entry.get("parentToolUseID")))
    if file.has_file(agent, text(entry.get("sessionId"))):
        account.skip("progress of a sub-agent that has a file of its own")
    elif uuid in file.by_uuid:
        account.skip("copy of an earlier entry")
    elif kind not in ("user", "assistant") or not message.get("content"):
        account.keep(f"progress of a sub-agent: {kind or 'without a type'}")
        _add(file, ClaudeEntry(at.number, "kept", "", agent=agent), entry)
    else:
        account.map("progress of a sub-agent")
        _add(file, ClaudeEntry(at.number, kind, uuid, agent=agent, is_told=True), inner)


def _at_its_place(file: ClaudeFile, at: SourceObject, kind: str) -> ClaudeEntry:
    """Make an entry that is linked to its parent, which must have been read before."""
    entry = at.value
    parent = _parent_of(entry)
    session = intern(id_text(entry.get("sessionId")))
    read = ClaudeEntry(at.number, kind, id_text(entry.get("uuid")), has_parent=bool(parent), session=session)
    found = file.by_uuid.get(parent)
    if found is not None:
        read.above = (found.head or found) if found.speaks else found.above
        read.root = found.root or found
    return read


def _shared(last: ClaudeEntry | None, entry: ClaudeEntry) -> ClaudeEntry:
    """Return the last silent entry if it has the same links as a new silent entry, else the new entry.

    Sessions have very many such entries, so this saves memory.
    """
    if last is None or entry.root is None:
        return entry
    has_same_links = last.above is entry.above and last.root is entry.root
    is_of_same_agent = last.agent == entry.agent and last.session == entry.session
    if has_same_links and is_of_same_agent:
        return last
    return entry


def _parent_of(entry: dict[str, Any]) -> str:
    return id_text(entry.get("parentUuid")) or id_text(entry.get("logicalParentUuid"))


def _add(file: ClaudeFile, entry: ClaudeEntry, value: dict[str, Any]) -> None:
    """Add an entry, link it to the records of its answer, and store its content."""
    if entry.kind in ("user", "assistant"):
        entry.aside = file.aside.put({key: value[key] for key in _OF_MESSAGES if key in value})
    elif entry.kind != "silent":
        entry.aside = file.aside.put(value)
    uuid = entry.uuid
    if entry.kind == "silent":
        entry = file.silent = _shared(file.silent, entry)
    if uuid:
        file.by_uuid.setdefault(uuid, entry)
    answers = file.answers.setdefault(entry.agent, {})
    if entry.is_person:
        answers.clear()
    answer = _answer_key(entry, value) if entry.kind == "assistant" else None
    if answer and answer in answers and _begins_anew(file, answers[answer], entry, value):
        answers[answer] = entry
    head = answers.setdefault(answer, entry) if answer else entry
    if head is not entry:
        entry.head = head
        head.more = head.more or []
        head.more.append(entry)
    elif entry.kind != "silent":
        file.entries.append(entry)


def _begins_anew(file: ClaudeFile, head: ClaudeEntry, entry: ClaudeEntry, value: dict[str, Any]) -> bool:
    """Return whether a record with an answer's key begins another answer.

    This is so if a result came before the record, and one of the following is true:
    - The answer had ended: its last record has a stop reason.
    - The record has no `requestId`, and either does not begin with a call, or its usage is zero or differs.

    This is needed because some gateways give the same id to every answer. A result alone is not enough, because calls
    may run before their answer has ended.
    """
    if entry.above is None or entry.above.kind != "user":
        return False
    last = mapping(file.value((head.more or [head])[-1]).get("message"))
    if last.get("stop_reason"):
        return True
    if text(value.get("requestId")):
        return False
    answer = mapping(value.get("message"))
    if any(block.get("type") != "tool_use" for block in blocks_of(answer.get("content"))[:1]):
        return True
    reported = usage(answer.get("usage"))
    return not any(reported.values()) or reported != usage(mapping(file.value(head).get("message")).get("usage"))


def _answer_key(entry: ClaudeEntry, value: dict[str, Any]) -> tuple[str, str, bool] | None:
    """Return the key that all records of one answer share, or None if the record has no id.

    The message's id alone is not enough, because some gateways give the same id to every answer.
    """
    message_id = id_text(mapping(value.get("message")).get("id"))
    if not message_id:
        return None
    return message_id, text(value.get("requestId")), entry.is_told


def _check_is_one(file: ClaudeFile, entry: ClaudeEntry) -> None:
    """Check that an entry belongs to the session that the file begins with.

    A resumed session contains entries of the session that it continues, under that session's id; all of them form one
    tree. A second session has a tree of its own, whose root is the first entry with its id.

    Raises:
        TwoSessionsError: the entry is a message of a person in a second session.
    """
    if entry.session and (entry.uuid or entry.speaks):
        file.began.setdefault(entry.session, entry)
    root = entry.root or entry
    if entry.is_person and not entry.agent and root.session and not root.has_parent:
        known, began = next(iter(file.began.items()))
        if began is not root and file.began[root.session] is root:
            raise TwoSessionsError(root.line, known, root.session)


def _agent_of(file: ClaudeFile, read: ClaudeEntry, entry: dict[str, Any]) -> str:
    """Return the id of the sub-agent that wrote an entry, or "" for an entry of the main session.

    If the entry names no agent, the id is that of its parent entry, or is made from the first entry of its side chain.
    """
    if entry.get("isSidechain") is not True:
        return ""
    agent_id = text(entry.get("agentId"))
    if agent_id:
        file.agent_id = file.agent_id or agent_id
        return agent_id
    parent = file.by_uuid.get(_parent_of(entry))
    if parent is not None and parent.agent:
        return parent.agent
    return session_name(read.uuid[:13]) or f"line{read.line}"


_FACTS = (("cwd", "cwd"), ("git_branch", "gitBranch"), ("version", "version"), ("slug", "slug"))


def _note_facts(file: ClaudeFile, entry: dict[str, Any], kind: str) -> None:
    session = id_text(entry.get("sessionId"))
    if session and (not file.session_id or session == file.name):
        file.session_id = session
    for key, theirs in _FACTS:
        if key not in file.facts and theirs in entry and (found := text(entry[theirs])):
            file.facts[key] = found
    if kind in _TITLES:
        _note_title(file, entry, kind)
    started_by = text(entry.get("parent_tool_use_id"))
    if started_by:
        file.agents.setdefault(text(entry.get("agentId")), started_by)
    if "toolUseResult" in entry:
        agent = text(mapping(entry["toolUseResult"]).get("agentId"))
        if agent:
            for call_id in answered_calls(mapping(entry.get("message")).get("content")):
                file.agents.setdefault(agent, call_id)


_TITLES = {"summary": "summary", "ai-title": "aiTitle", "agent-name": "agentName", "custom-title": "customTitle"}
"""The key of the title in an entry, by the entry's type. A later type outranks an earlier one; a person's own title is
last."""
_RANK_OF_TITLE = {kind: rank for rank, kind in enumerate(_TITLES)}


def _note_title(file: ClaudeFile, entry: dict[str, Any], kind: str) -> None:
    """Note the title in an entry of a type in `_TITLES`, unless a title of a higher rank is known.

    A model's title does not replace a person's.
    """
    title = text(entry.get(_TITLES[kind])).strip()
    if title and _RANK_OF_TITLE[kind] >= file.title_rank:
        file.title_rank = _RANK_OF_TITLE[kind]
        file.facts["title"] = title


def queued_prompt(entry: dict[str, Any]) -> Any:
    """Return the prompt that a person or a task queued while the agent worked, or None for any other attachment."""
    attachment = mapping(entry.get("attachment"))
    prompt = attachment.get("prompt")
    if attachment.get("type") == "queued_command" and isinstance(prompt, str | list):
        return prompt
    return None


def _clears(kind: str, content: Any) -> bool:
    """Return whether an entry is the program's own note of a clear by a person, and not a quotation of one."""
    return kind in ("user", "system") and isinstance(content, str) and bool(_CLEAR.match(content))


def _is_person(entry: dict[str, Any], message: dict[str, Any]) -> bool:
    if entry.get("isMeta") is True or entry.get("isCompactSummary") is True:
        return False
    content = message.get("content")
    if isinstance(content, str):
        is_blank = not content or content.isspace()
        return not is_blank and not NOT_A_PERSON.match(content)
    if answered_calls(content):
        return False
    blocks = [block for block in items(content) if isinstance(block, dict)]
    first_words = next((text(block.get("text")) for block in blocks if block.get("type") == "text"), "")
    return bool(blocks) and not NOT_A_PERSON.match(first_words)
