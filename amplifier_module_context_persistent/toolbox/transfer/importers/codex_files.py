"""Find the rollouts of a Codex session's sub-agents: files in the same directory that name their parent.

A rollout is the file of a thread, Codex's word for a session. The first line of a rollout is its `session_meta`. For a
sub-agent it has `parent_thread_id`, at the top level or in `source.subagent.thread_spawn`. A sub-agent may have
sub-agents; all of them are imported with the outermost session.

A fork's rollout may name the rollout that it was made from, and how many bytes of it to read, instead of repeating its
lines.

Only regular files are read, and no link is followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .fields import mapping, text
from .lines import parse_json

__all__ = ["HistoryBase", "comes_with_parent", "history_base", "parent_in", "rollout_of_thread", "sub_rollouts"]

_ROLLOUT = re.compile(r"rollout-[\w.-]+\.jsonl")
_THREAD = re.compile(r"[\w-]{1,100}")
_MOST_META_BYTES = 1 << 20
_MOST_DEPTH = 20
_READ_ONLY = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class RolloutName(NamedTuple):
    """A rollout: its file, its thread's id, and the id of the thread that started it ("" if no thread did)."""

    path: str
    thread: str
    parent: str


def parent_in(meta: object) -> str:
    """Return the id of the thread that started a thread, from its `session_meta`, or "" if none did."""
    facts = mapping(meta)
    spawned = mapping(mapping(mapping(facts.get("source")).get("subagent")).get("thread_spawn"))
    return text(spawned.get("parent_thread_id")) or text(facts.get("parent_thread_id"))


class HistoryBase(NamedTuple):
    """The beginning of a fork's history: the first `end_bytes` bytes of another thread's rollout."""

    thread: str
    end_bytes: int


def history_base(meta: Mapping[str, Any]) -> HistoryBase | None:
    """Return the history that a `session_meta` refers to, or None if the rollout contains its whole history."""
    base = mapping(meta.get("history_base"))
    thread = text(base.get("thread_id")) or text(base.get("rollout_id"))
    if not thread:
        return None
    end = base.get("end_byte_offset")
    return HistoryBase(thread, end if isinstance(end, int) else 0)


def rollout_of_thread(path: str, thread: str) -> str:
    """Return the path of a thread's rollout: beside the rollout `path`, or in the directories of other days.

    Returns "" if there is none.
    """
    if not _THREAD.fullmatch(thread):
        return ""
    name = f"rollout-*-{thread}.jsonl*"
    directory = Path(path).parent
    found = list(directory.glob(name))
    levels_up = list(directory.parents)
    if len(levels_up) > 2:  # the directory is YEAR/MONTH/DAY
        found += levels_up[2].glob(f"[0-9]*/[0-9]*/[0-9]*/{name}")
    for rollout in found:
        is_rollout = rollout.name.endswith((".jsonl", ".jsonl.zst"))
        if is_rollout and rollout.is_file() and not rollout.is_symlink():
            return str(rollout)
    return ""


def sub_rollouts(path: str, thread: str) -> list[RolloutName]:
    """Return the rollouts of a thread's direct and indirect sub-agents, in the directory of its file, parents first."""
    by_parent = dict[str, list[RolloutName]]()
    for found in _rollouts_in(os.path.dirname(path)):
        if found.parent:
            by_parent.setdefault(found.parent, []).append(found)
    waiting = [thread]
    below = list[RolloutName]()
    while waiting:
        children = by_parent.pop(waiting.pop(0), [])
        below += children
        waiting += [child.thread for child in children]
    return below


def comes_with_parent(path: str) -> bool:
    """Return whether a file is a sub-agent's rollout and the outermost session's rollout is in the same directory."""
    directory, name = os.path.split(path)
    if not _ROLLOUT.fullmatch(name):
        return False
    own = _name_of(path)
    if not own.parent:
        return False
    parents = _parents_in(directory, os.stat(directory).st_mtime_ns)
    at = own.parent
    for _ in range(_MOST_DEPTH):
        if not parents.get(at):
            return at in parents
        at = parents[at]
    return False


@lru_cache(maxsize=100)
def _parents_in(directory: str, _mtime_ns: int) -> dict[str, str]:
    """Return the parent thread of each rollout in a directory, by thread id. The time invalidates the cache."""
    return {rollout.thread: rollout.parent for rollout in _rollouts_in(directory)}


def _rollouts_in(directory: str) -> Iterator[RolloutName]:
    try:
        names = sorted(entry.name for entry in os.scandir(directory) if entry.is_file(follow_symlinks=False))
    except OSError:
        return iter(())
    return (_name_of(os.path.join(directory, name)) for name in names if _ROLLOUT.fullmatch(name))


def _name_of(path: str) -> RolloutName:
    try:
        seen = os.lstat(path)
    except OSError:
        return RolloutName(path, "", "")
    return _read_name(path, seen.st_ino, seen.st_mtime_ns)


@lru_cache(maxsize=10_000)
def _read_name(path: str, _inode: int, _mtime_ns: int) -> RolloutName:
    """Read the first line of a rollout. The inode and the time invalidate the cache when the file has changed."""
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, _READ_ONLY)) as file:
            first = parse_json(file.readline(_MOST_META_BYTES))
    except (OSError, ValueError):
        return RolloutName(path, "", "")
    line = mapping(first)
    meta = mapping(line.get("payload")) if line.get("type") == "session_meta" else {}
    return RolloutName(path, text(meta.get("id")), parent_in(meta))
