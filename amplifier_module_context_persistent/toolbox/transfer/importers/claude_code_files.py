"""Files beside a Claude Code session: the transcripts of its sub-agents, and large outputs of tools.

The directory `<session>/` beside `<session>.jsonl` has them: `subagents/agent-ID.jsonl`, in newer versions also
`subagents/workflows/RUN/agent-ID.jsonl`, each with `agent-ID.meta.json` (`agentType`, `description`, `toolUseId`); and
`tool-results/NAME.txt`, a whole output whose first 2 KB are in the transcript.

Rules:
- A transcript may name any path, so only the last component of a path counts, inside `tool-results/` of this session.
- Only regular files are read, up to a limit. No link is followed on the way from the session's directory.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import Any

from ....forms.anthropic import answered_calls
from ....forms.canonical import blocks_of
from .account import Account
from .fields import items, mapping, text
from .lines import parse_json
from .source_file import Source

__all__ = ["agent_facts", "agent_files", "agent_in_name", "session_of", "with_whole_outputs"]

MOST_OUTPUT_BYTES = 32 << 20
_MOST_META_BYTES = 64 << 10
_AGENT_FILE = re.compile(r"agent-[\w.-]+\.jsonl")
_PERSISTED = re.compile(r"\s*<persisted-output>.*?saved to: *(?P<path>[^\n]+)", re.DOTALL)
_MOST_RUNS = 1_000
_READ_ONLY = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def agent_files(path: str, session_id: str) -> Iterator[str]:
    """Files of sub-agents: in the session's directory, or beside the session's file, as older versions wrote them."""
    directory = os.path.dirname(path)
    inner = os.path.join(_session_directory(path), "subagents")
    for searched in (inner, *_workflow_runs(inner)):
        yield from _agent_files_in(searched)
    for other in _agent_files_in(directory):
        if session_id and session_of(other) == session_id:
            yield other


def _workflow_runs(subagents: str) -> list[str]:
    """The directories of a session's workflows, each with files of sub-agents."""
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
    """The sub-agent that a file is named after."""
    return os.path.basename(path).removeprefix("agent-").removesuffix(".jsonl")


def session_of(path: str) -> str:
    """The session that the first entry of a file names; empty if it names none."""
    with Source(path) as source:
        return text(mapping(next(source.lines).value).get("sessionId"))


def agent_facts(path: str) -> dict[str, str]:
    """Facts that `agent-ID.meta.json` tells of a sub-agent's file: its type, its task, the call that started it."""
    content = _read_regular(os.path.dirname(path), f"agent-{agent_in_name(path)}.meta.json", _MOST_META_BYTES)
    try:
        told = mapping(parse_json(content)) if content else {}
    except ValueError:
        return {}
    found = {
        "agent_type": text(told.get("agentType")),
        "description": text(told.get("description")),
        "spawned_by": text(told.get("toolUseId")),
    }
    return {key: value for key, value in found.items() if value}


def with_whole_outputs(content: Any, source_path: str, line: int, account: Account) -> Any:
    """A user's message's content with large outputs read from their files; a file that is gone is named as lost."""
    if not any(_persisted_path(block) for block in items(content)):
        return content
    return [_with_whole_output(block, source_path, line, account) for block in items(content)]


def _with_whole_output(block: Any, source_path: str, line: int, account: Account) -> Any:
    path = _persisted_path(block)
    if not path:
        return block
    name = re.split(r"[/\\]", path)[-1].strip()
    for session in _session_directories(source_path):
        if whole := _read_regular(os.path.join(session, "tool-results"), name, MOST_OUTPUT_BYTES):
            return {**block, "content": whole.decode("utf-8", "replace")}
    account.lose_part(line, f"the whole output is not in tool-results/{name[:100]}: only its beginning is imported")
    return block


def _persisted_path(block: Any) -> str:
    """The path under which Claude Code saved the whole of a result; empty if the result is whole."""
    if not isinstance(block, dict) or not answered_calls([block]):
        return ""
    said = "".join(text(one.get("text")) for one in blocks_of(block.get("content"))[:1])
    found = _PERSISTED.match(said)
    return found["path"] if found else ""


def _session_directory(path: str) -> str:
    """The directory of a session's further files, beside its own file."""
    directory, name = os.path.split(path)
    return os.path.join(directory, name.partition(".jsonl")[0])


def _session_directories(path: str) -> list[str]:
    """The possible directories of outputs: beside the session's file, or above a sub-agent's file."""
    found = [_session_directory(path)]
    session, subagents, _ = os.path.dirname(path).rpartition(f"{os.sep}subagents")
    if subagents:
        found.append(session)
    return found


def _read_regular(directory: str, name: str, most_bytes: int) -> bytes:
    """The content of a regular file; empty if there is none, it is too large, or it or its directory is a link."""
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
    """Whether a path is a directory and no link, and so is the one that it is in."""
    try:
        return all(stat.S_ISDIR(os.lstat(one).st_mode) for one in (path, os.path.dirname(path)))
    except OSError:
        return False
