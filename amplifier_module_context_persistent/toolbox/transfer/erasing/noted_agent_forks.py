"""The list of files that forks to other agents wrote (`fork_to_agent`), so that a purge of their origin finds them.

The list is `~/.amplifier/context-handed-over.jsonl` (mode 0600). It has a line for each file: its path, its agent, the
id of the log that it was written from, its size, and the SHA-256 of its bytes; no text of a session. Rules:
- A file is noted before anything of it is written, and with its content before it appears. So a purge also finds what a
  killed fork left beside its path.
- A file with the noted content is ours, and a purge writes it again without the text. A file with other content belongs
  to the agent, which went on with it: it is named and not touched.
- A purge notes the new content before it replaces the file, so the file is recognised as ours at every moment.
- A file that its agent moved is found by its name within the agent's directory. What was noted of it under its old path
  and under its new one belongs together.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ....erasures.erasure_list import append_to_list, check_regular, erasures_path
from ....log.atomic_file import NewFile
from ....messages.replace_in_message import NAMES, Replace, replace_in
from ....messages.text import to_json
from ...maintenance.leftovers import parts_of
from ...maintenance.note_beside_log import Content, content_of
from ..export_mark import MARK_KEY
from ..host_files.find_host_copies import told_lines

_AGENTS_NAMES = NAMES | {
    "uuid",
    "parentUuid",
    "leafUuid",
    "sessionId",
    "session_id",
    "requestId",
    "parentId",
    "toolCallId",
    "toolName",
    MARK_KEY,
}
"""Keys of the agents' records whose values are ids, names, types and times."""

NOTHING: Content = (0, "")
"""The content that is noted of a file before it is written."""


@dataclass(slots=True)
class AgentFork:
    """A file that a fork to another agent wrote."""

    path: str
    agent: str
    log_id: str
    """The id of the log that it was written from; empty if the log's header has none."""
    contents: list[Content] = field(default_factory=list)
    """The contents that we wrote to it, or were about to write."""

    def parts(self) -> list[str]:
        """Return the paths of the files that killed forks and purges left beside this one."""
        return parts_of(self.path)

    def has_other_names(self) -> bool:
        """Return whether the file has names (hard links) besides its own and those of its parts.

        Raises:
            OSError: the file cannot be looked at.
        """
        status = os.stat(self.path)
        own = 1 + sum(os.path.samestat(os.stat(part), status) for part in self.parts())
        return status.st_nlink > own

    def is_ours(self) -> bool:
        """Return whether the file has a content that we wrote.

        Raises:
            OSError: the file cannot be read.
        """
        size = os.stat(self.path, follow_symlinks=False).st_size
        return (
            not os.path.islink(self.path)
            and any(size == known[0] for known in self.contents)
            and content_of(self.path) in self.contents
        )


def list_of_agent_forks() -> Path:
    """Return the path of this user's list."""
    return erasures_path().with_name("context-handed-over.jsonl")


def note_agent_fork(path: str, agent: str, log_id: str, content: Content = NOTHING) -> None:
    """Add a file to the list, before it is written, and before it gets a content.

    Args:
        path: the path of the agent's file.
        agent: the name of the agent.
        log_id: the id of the log that was forked.
        content: the size and the hash of the content that the file gets; `NOTHING` before it is written.

    Raises:
        OSError: the list cannot be written.
    """
    line = {"path": path, "agent": agent, "log": log_id, "size": content[0], "sha256": content[1]}
    append_to_list(json.dumps(line).encode() + b"\n", list_of_agent_forks())


def agent_forks(log_id: str | None = None) -> list[AgentFork]:
    """Return the files in the list that are still there, or of which a killed operation left something.

    An agent may have moved a file within its own directory, as Codex does with archived sessions. Then the file is
    found by its name, and returned with its new path.

    Args:
        log_id: only files that were written from this log.

    Raises:
        OSError: the list exists and cannot be read.
    """
    place = list_of_agent_forks()
    try:
        status = place.stat()
    except FileNotFoundError:
        return []
    check_regular(status, place)
    known = _read(place, (status.st_ino, status.st_size, status.st_mtime_ns))
    wanted = known if log_id is None else [agent_fork for agent_fork in known if agent_fork.log_id == log_id]
    found: dict[str, AgentFork] = {}  # copies, because `_read` keeps its result
    missing: list[AgentFork] = []
    for agent_fork in wanted:
        if os.path.isfile(agent_fork.path) or agent_fork.parts():
            found[agent_fork.path] = replace(agent_fork, contents=[*agent_fork.contents])
        else:
            missing.append(agent_fork)
    for agent_fork, moved in _moved(missing):
        same = found.setdefault(moved, replace(agent_fork, path=moved, contents=[]))
        if same.log_id == agent_fork.log_id:
            same.contents += agent_fork.contents
    return list(found.values())


def _moved(missing: Iterable[AgentFork]) -> Iterator[tuple[AgentFork, str]]:
    """Yield the missing files with their new paths: files of their names in the directory of their agent.

    Such a directory is `~/.codex`, and each is walked once.
    """
    sought: dict[Path, dict[str, list[AgentFork]]] = {}  # by the agent's directory, and by the file's name
    for agent_fork in missing:
        place = Path(agent_fork.path)
        root = next((parent for parent in place.parents if parent.name.startswith(".")), None)
        if root is not None:
            sought.setdefault(root, {}).setdefault(place.name, []).append(agent_fork)
    for root, by_name in sought.items():
        for directory, _, names in os.walk(root):
            for name in by_name.keys() & names:
                path = os.path.join(directory, name)
                if os.path.isfile(path):
                    yield from ((agent_fork, path) for agent_fork in by_name[name])


@lru_cache(maxsize=1)
def _read(place: Path, _stamp: tuple[int, int, int]) -> list[AgentFork]:
    """Return the files in the list. A line that cannot be read is skipped."""
    found: dict[str, AgentFork] = {}
    for line in place.read_bytes().splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            value = json.loads(line)
            path = str(value["path"])
            content = (int(value["size"]), str(value["sha256"]))
            agent_fork = found.setdefault(path, AgentFork(path, str(value["agent"]), str(value["log"])))
            if agent_fork.log_id != value["log"]:  # the first file was removed, and its name given to another one
                agent_fork = AgentFork(path, str(value["agent"]), str(value["log"]))
                found[path] = agent_fork
            if content != NOTHING:
                agent_fork.contents.append(content)
    return list(found.values())


def agent_forks_of(log_id: str) -> list[AgentFork]:
    """Return the files that were written from a log; none if the log has no id.

    Raises:
        OSError: the list exists and cannot be read.
    """
    return agent_forks(log_id) if log_id else []


def redact_agent_fork(agent_fork: AgentFork, replace: Replace) -> None:
    """Write a file of ours again with a text replaced. Ids, names and times stay.

    Raises:
        OSError: the file cannot be read or written, or the agent changed it; nothing was written.
    """
    before = os.stat(agent_fork.path)
    digest = hashlib.sha256()
    size = 0
    with NewFile(agent_fork.path, replace=True) as new:
        with open(agent_fork.path, "rb") as lines:
            for line in lines:
                redacted = _redacted(line, replace)
                digest.update(redacted)
                size += len(redacted)
                new.write(redacted)
        content = (size, digest.hexdigest())
        note_agent_fork(agent_fork.path, agent_fork.agent, agent_fork.log_id, content)
        if not agent_fork.is_ours() or not os.path.samestat(os.stat(agent_fork.path), before):
            raise OSError(
                errno.EBUSY, f"{agent_fork.agent} went on with it during the purge; purge again", agent_fork.path
            )
        new.finish()


def _redacted(line: bytes, replace: Replace) -> bytes:
    value: Any = json.loads(line)
    changed = replace_in(value, replace, _AGENTS_NAMES)
    return line if changed == value else to_json(changed).encode("utf-8", "replace") + b"\n"


def matches_in(agent_fork: AgentFork, replace: Replace) -> str:
    """Return how many lines of a file a redaction would change, such as `2 lines`; "" for none, or if it is missing.

    Raises:
        OSError: the file cannot be read.
    """
    return told_lines(agent_fork.path, replace) if os.path.isfile(agent_fork.path) else ""
