"""Find files beside a Claude Code session: the transcripts of its sub-agents, and large outputs of tools.

They are in the directory `<session>/` beside `<session>.jsonl`: `subagents/agent-ID.jsonl`, in newer versions also
`subagents/workflows/RUN/agent-ID.jsonl`, each with `agent-ID.meta.json` (`agentType`, `description`, `toolUseId`); and
`tool-results/NAME.txt`, a whole output; the transcript has only its first 2 KB.

Rules:
- A transcript may name any path. So only the last component of a path is used, inside `tool-results/` of this session.
- Only regular files are read, up to a limit. No link is followed on the way from the session's directory.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import Any

from ....forms.canonical import blocks_of
from .account import Account
from .fields import items, mapping, text
from .lines import parse_json
from .source_file import Source

__all__ = [
    "agent_facts",
    "agent_files",
    "agent_in_name",
    "has_session_beside",
    "session_in_name",
    "session_of",
    "with_whole_outputs",
]

MOST_OUTPUT_BYTES = 32 << 20
_MOST_META_BYTES = 64 << 10
_AGENT_FILE = re.compile(r"agent-[\w.-]+\.jsonl")
_PERSISTED = re.compile(r"\s*<persisted-output>.*?saved to: *(?P<path>[^\n]+)", re.DOTALL)
_MOST_RUNS = 1_000
_SESSION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_READ_ONLY = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def agent_files(path: str, session_id: str) -> Iterator[str]:
    """Yield the paths of sub-agents' files.

    They are in the session's directory; older versions wrote them beside the session's file.
    """
    directory = os.path.dirname(path)
    inner = os.path.join(_session_directory(path), "subagents")
    for searched in (inner, *_workflow_runs(inner)):
        yield from _agent_files_in(searched)
    for other in _agent_files_in(directory):
        if session_id and session_of(other) == session_id:
            yield other


def _workflow_runs(subagents: str) -> list[str]:
    """Return the directories of a session's workflow runs, each with files of sub-agents."""
    workflows = os.path.join(subagents, "workflows")
    try:
        names = sorted(entry.name for entry in os.scandir(workflows) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [os.path.join(workflows, name) for name in names[:_MOST_RUNS]]


def _agent_files_in(directory: str) -> list[str]:
    try:
        found = [entry.name for entry in os.scandir(directory) if entry.is_file(follow_symlinks=False)]
    except OSError:
        return []
    return [os.path.join(directory, name) for name in sorted(found) if _AGENT_FILE.fullmatch(name)]


def agent_in_name(path: str) -> str:
    """Return the id of the sub-agent in a file's name."""
    return os.path.basename(path).removeprefix("agent-").removesuffix(".jsonl")


def session_in_name(path: str) -> str:
    """Return the id of the session in a file's name."""
    return os.path.basename(path).partition(".jsonl")[0]


def has_session_beside(path: str, session_id: str) -> bool:
    """Return whether a session has a file of its own beside a file that is named after another session."""
    directory, name = os.path.split(path)
    is_file_name = session_id not in ("", ".", "..") and os.path.basename(session_id) == session_id
    own_file = f"{session_id}.jsonl"
    if not is_file_name or own_file == name or not _SESSION_ID.fullmatch(session_in_name(path)):
        return False
    return os.path.isfile(os.path.join(directory, own_file))


def session_of(path: str) -> str:
    """Return the session id in the first entry of a file, or "" if the entry has none."""
    with Source(path) as source:
        return text(mapping(next(source.lines).value).get("sessionId"))


def agent_facts(path: str) -> dict[str, str]:
    """Return the facts in a sub-agent's `agent-ID.meta.json`: its type, its task, and the call that started it."""
    content = _read_regular(os.path.dirname(path), f"agent-{agent_in_name(path)}.meta.json", _MOST_META_BYTES)
    try:
        meta = mapping(parse_json(content)) if content else {}
    except ValueError:
        return {}
    found = {
        "agent_type": text(meta.get("agentType")),
        "description": text(meta.get("description")),
        "spawned_by": text(meta.get("toolUseId")),
    }
    return {key: value for key, value in found.items() if value}


def with_whole_outputs(content: Any, source_path: str, line: int, account: Account) -> Any:
    """Return the content of a user's message with large outputs read from their files.

    If a file is missing, the rest of the output is noted as lost.
    """
    if not any(_persisted_path(block) for block in items(content)):
        return content
    return [_with_whole_output(block, source_path, line, account) for block in items(content)]


def _with_whole_output(block: Any, source_path: str, line: int, account: Account) -> Any:
    path = _persisted_path(block)
    if not path:
        return block
    name = re.split(r"[/\\]", path)[-1].strip()
    for session in _session_directories(source_path):
        whole = _read_regular(os.path.join(session, "tool-results"), name, MOST_OUTPUT_BYTES)
        if whole:
            return {**block, "content": whole.decode("utf-8", "replace")}
    account.lose_part(line, f"the whole output is not in tool-results/{name[:100]}: only its beginning is imported")
    return block


def _persisted_path(block: Any) -> str:
    """Return the path to which Claude Code saved the whole result, or "" if the block has the whole result."""
    if not isinstance(block, dict) or block.get("type") != "tool_result":
        return ""
    content = block.get("content")
    words = (
        content
        if isinstance(content, str)
        else "".join(text(text_block.get("text")) for text_block in blocks_of(content)[:1])
    )
    found = _PERSISTED.match(words)
    return found["path"] if found else ""


def _session_directory(path: str) -> str:
    """Return the directory with a session's further files, beside its own file."""
    return os.path.join(os.path.dirname(path), session_in_name(path))


def _session_directories(path: str) -> list[str]:
    """Return the session directories that may have outputs: beside the session's file, or above a sub-agent's file."""
    found = [_session_directory(path)]
    session, subagents, _ = os.path.dirname(path).rpartition(f"{os.sep}subagents")
    if subagents:
        found.append(session)
    return found


def _read_regular(directory: str, name: str, most_bytes: int) -> bytes:
    """Return the content of a regular file; b"" if it is missing, too large or a link, or is in a linked directory."""
    if not name or name in (".", "..") or "\0" in name or not _is_plain_directory(directory):
        return b""
    try:
        descriptor = os.open(os.path.join(directory, name), _READ_ONLY)
    except OSError:
        return b""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_size > most_bytes:
        os.close(descriptor)
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most_bytes)


def _is_plain_directory(path: str) -> bool:
    """Return whether a path and the directory above it are directories and not links."""
    try:
        return all(stat.S_ISDIR(os.lstat(parent).st_mode) for parent in (path, os.path.dirname(path)))
    except OSError:
        return False
