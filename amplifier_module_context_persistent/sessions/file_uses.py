"""Find which files sessions read, changed, created and deleted, from their tool calls.

`messages/tool_kinds.py` recognises a tool and its file. A patch names its files and what it does to them, also if a
shell command contains it (`apply_patch`). Only calls that were answered and did not fail count. Other effects of shell
commands on files, by redirections and programs, are unknown.

A path in the project's directory is given relative to this directory. A sub-agent's session is counted with the session
that started it.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ..catalogue.copy_id import copy_id
from ..errors import LogError, reason_of
from ..messages.message import Message, call_arguments_of, call_name_of, given_calls, result_id_of, text_of
from ..messages.message_times import timestamp_of
from ..messages.outcome import ANSWERED, outcome_of
from ..messages.tool_kinds import CHANGE, READ, RUN, ToolKinds, command_of, same_file
from .session_files import SessionFile
from .sub_agents import noted_parent, root_of
from .transcript import Transcript

ACTIONS = ("read", "changed", "created", "deleted")
LEFT_OUT = "what shell commands did to files is not known, but for patches that they were given"

_DELETES = re.compile(r"delete|remove", re.IGNORECASE)
_CREATES = re.compile(r"create|new", re.IGNORECASE)
_CREATED = re.compile(r"\s*(?:the )?(?:new )?file (?:was )?(?:successfully )?created\b|\s*created\b", re.IGNORECASE)
_PATCHED = re.compile(r"^\*\*\* (Update|Add|Delete) File:[ \t]*(\S.*)$", re.MULTILINE)
_MOVED = re.compile(r"^\*\*\* Move to:[ \t]*(\S.*)$", re.MULTILINE)
_DIFFED = re.compile(r"^--- (?:a/)?(\S+).*\n\+\+\+ (?:b/)?(\S+)", re.MULTILINE)
_NOTHING = "/dev/null"
_PATCH_KEYS = ("patch", "diff", "input", "patch_text")
_VERBS = {"Update": "changed", "Add": "created", "Delete": "deleted"}


@dataclass(frozen=True, slots=True)
class FileCall:
    """The use of a file by one call: the number of its message (from 1), its turn, and its time."""

    path: str
    action: str
    message: int
    turn: int
    time: str = ""
    copy_id: str = ""
    """An id that is equal in all sessions with a copy of the call; "" if nothing identifies the call."""


@dataclass(slots=True)
class FileUse:
    """The uses of a file by a session and its sub-agents.

    Attributes:
        path: the path of the file, relative to the project's directory if the file is in it.
        session: the id of the session; for sub-agents, of the session that started them.
        project: the project of the session.
        counts: the number of times that the file was read, changed, created and deleted, by `ACTIONS`.
        turns: the numbers of the turns that used the file, by the id of the session or the sub-agent.
        last_time: the time of the last use, from its message; empty if the message has no time.
    """

    path: str
    session: str
    project: str
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ACTIONS, 0))
    turns: dict[str, list[int]] = field(default_factory=dict)
    last_time: str = ""

    def __repr__(self) -> str:
        counts = {action: count for action, count in self.counts.items() if count}
        return f"FileUse(path={self.path!r}, session={self.session!r}, counts={counts}, last_time={self.last_time!r})"

    def add(self, by: str, call: FileCall) -> None:
        """Count a call.

        Args:
            by: the id of the session or the sub-agent that made the call.
            call: the use of one file by a call.
        """
        self.counts[call.action] += 1
        turns = self.turns.setdefault(by, [])
        if call.turn not in turns[-1:]:
            turns.append(call.turn)
        self.last_time = max(self.last_time, call.time)

    def to_json(self) -> dict[str, Any]:
        """Return the uses as plain JSON types."""
        where = {"path": self.path, "session": self.session, "project": self.project}
        return {**where, **self.counts, "turns": self.turns, "last_time": self.last_time}


def file_calls(transcript: Transcript) -> Iterator[FileCall]:
    """Yield the uses of files by the calls of one session, in the order of their results.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    kinds = ToolKinds()
    unanswered = dict[str, list[FileCall]]()
    turn_starts = [turn.start for turn in transcript.turns()]
    for position, message in enumerate(transcript.messages()):
        for call_id, uses in _calls(message, kinds):
            turn = max(1, bisect_right(turn_starts, position))
            unanswered[call_id] = _calls_of_files(uses, message, call_id, number=position + 1, turn=turn)
        result_id = result_id_of(message)
        if result_id is None or result_id not in unanswered:
            continue
        calls = unanswered.pop(result_id)
        if outcome_of(message) == ANSWERED:
            for call in calls:
                yield _with_result(call, message)


def _calls_of_files(
    uses: Iterable[tuple[str, str]], message: Message, call_id: str, *, number: int, turn: int
) -> list[FileCall]:
    """Return the uses of files by one call of a message.

    Args:
        uses: the path of each file and the action on it.
        message: the message with the call.
        call_id: the id of the call.
        number: the number of the message, from 1.
        turn: the number of its turn.
    """
    id_in_copies = copy_id(message)
    if id_in_copies:
        id_in_copies = f"{id_in_copies} {call_id}"
    time = timestamp_of(message)
    return [FileCall(path, action, message=number, turn=turn, time=time, copy_id=id_in_copies) for path, action in uses]


def _with_result(call: FileCall, result: Message) -> FileCall:
    """Return a call with the action `created` if the call wrote a file and the result says that the file is new."""
    if call.action != "changed" or not _CREATED.match(text_of(result)[:80]):
        return call
    return replace(call, action="created")


def _calls(message: Message, kinds: ToolKinds) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the calls of a message that use files: each call's id, and its paths with the action on each."""
    calls = given_calls(message)
    if not calls:
        return
    for (call_id, call), use in zip(calls.items(), kinds.uses_of(message), strict=True):
        arguments = call_arguments_of(call)
        text = _patch_of(arguments, is_command=use.kind == RUN)
        patched = list(_patched(text))
        if patched:
            yield call_id, patched
        elif use.kind == READ:
            yield call_id, [(path, "read") for path in use.paths]
        elif use.kind == CHANGE:
            action = _action(call_name_of(call), arguments)
            yield call_id, [(path, action) for path in use.paths]


def _patch_of(arguments: Mapping[str, Any], *, is_command: bool) -> str:
    """Return the patch in the arguments of a call; "" if there is none.

    In a shell command, only a patch in the format of `apply_patch` is recognised.
    """
    if is_command:
        command = command_of(arguments)
        return command if "*** Begin Patch" in command else ""
    for key in _PATCH_KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
    return ""


def _patched(text: str) -> Iterator[tuple[str, str]]:
    for verb, path in _PATCHED.findall(text):
        yield _plain(path), _VERBS[verb]
    for path in _MOVED.findall(text):
        yield _plain(path), "created"
    for before, after in _DIFFED.findall(text):
        if before == _NOTHING:
            yield _plain(after), "created"
        elif after == _NOTHING:
            yield _plain(before), "deleted"
        else:
            yield _plain(after), "changed"


def _plain(path: str) -> str:
    return path.rstrip().removeprefix("./").replace("\\", "/")


def _action(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the action of a tool that changes files, judging by its name and its command."""
    call_text = f"{name} {arguments.get('command', '')} {arguments.get('operation', '')} {arguments.get('action', '')}"
    if _DELETES.search(call_text):
        return "deleted"
    return "created" if _CREATES.search(call_text) else "changed"


def files_of(sessions: Sequence[SessionFile], path: str = "") -> tuple[list[FileUse], dict[str, str]]:
    """Return the uses of files by sessions, the last used files first, and the errors of unreadable logs by path.

    A fork begins with a copy of its origin's history. A copied call is counted only in the origin.

    Args:
        sessions: the sessions; sub-agents' sessions count with the session that started them.
        path: only uses of this file: its name, the end of its path, or its path from the working directory.
    """
    roots = _roots(sessions)
    unreadable = dict[str, str]()
    read = list[_SessionCalls]()
    names = _names_to_look_for(path)
    for session in sessions:
        try:
            with Transcript(session.path) as transcript:
                if path and not _may_name(transcript, path):
                    continue
                is_sub_agent = roots[session] != session.id
                is_fork = "forked_from" in transcript.header
                calls = list[FileCall]()
                # noted before the calls are read: if reading fails in the middle, the calls before that count
                read.append(_SessionCalls(session, (is_sub_agent, is_fork, len(transcript)), calls))
                calls.extend(call for call in file_calls(transcript) if _uses_any(call, names, session.project))
        except (LogError, OSError, ValueError) as error:
            unreadable[str(session.path)] = reason_of(error)
    return _added_up(read, roots), unreadable


def _added_up(read: Sequence[_SessionCalls], roots: Mapping[SessionFile, str]) -> list[FileUse]:
    """Return the uses of files by the calls of sessions, the last used files first. A copied call counts once."""
    origins = _origins(read)
    uses: dict[tuple[str, str, str], FileUse] = {}
    for session, _, calls in read:
        project = session.project
        root = roots[session]
        for call in calls:
            is_copy = bool(call.copy_id) and origins[call.copy_id] is not session
            if is_copy:
                continue
            path = _from_project(call.path, project)
            use = uses.setdefault((project, root, path), FileUse(path, root, project))
            use.add(session.id, call)
    return sorted(uses.values(), key=lambda use: (use.last_time, use.session, use.path), reverse=True)


class _SessionCalls(NamedTuple):
    """The calls of one session that are to be counted."""

    session: SessionFile
    rank: tuple[bool, bool, int]
    """Of several sessions with a copy of a call, the one with the lowest rank is the origin.

    The rank says whether the session is a sub-agent's, whether it is a fork, and how many messages it has.
    """
    calls: list[FileCall]


def _uses_any(call: FileCall, names: Sequence[str], project: str) -> bool:
    """Return whether a call used a file that has one of `names`. An empty list means all files."""
    if not names:
        return True
    path = _from_project(call.path, project)
    return any(same_file(name, path) for name in names)


def _origins(all_calls: Iterable[_SessionCalls]) -> dict[str, SessionFile]:
    """Return the session in which each call was probably made, by the `copy_id` of the call."""
    origins = dict[str, _SessionCalls]()
    for candidate in all_calls:
        for call in candidate.calls:
            if not call.copy_id:
                continue
            origin = origins.get(call.copy_id)
            if origin is None or candidate.rank < origin.rank:
                origins[call.copy_id] = candidate
    return {call_id: origin.session for call_id, origin in origins.items()}


def _names_to_look_for(path: str) -> list[str]:
    """Return the given path and its absolute path; [] if the path is empty."""
    if not path:
        return []
    names = [_plain(path)]
    if not os.path.isabs(path):
        names.append(Path(os.path.abspath(path)).as_posix())
    return list(dict.fromkeys(names))


def _may_name(transcript: Transcript, path: str) -> bool:
    """Return whether an answer contains the file's name. This is faster than reading all answers."""
    name = _plain(path).rsplit("/", 1)[-1].encode("utf-8", "surrogatepass")
    if not name.isascii():
        return True
    return next(iter(transcript.placed(role="assistant", may_match=lambda line: name in line)), None) is not None


@lru_cache(maxsize=65_536)
def _from_project(path: str, project: str) -> str:
    """Return a path relative to the project's directory; a path outside this directory is unchanged."""
    if not path.startswith("/"):
        return path
    for parent in PurePosixPath(path).parents:
        if _slug(str(parent)) == project:
            return str(PurePosixPath(path).relative_to(parent))
    return path


def _slug(directory: str) -> str:
    slug = directory.replace("/", "-").replace(":", "")
    return slug if slug.startswith("-") else f"-{slug}"


def _roots(sessions: Iterable[SessionFile]) -> dict[SessionFile, str]:
    """Return the id of each session's parent, by session; for a session that is not a sub-agent's, its own id."""
    ids_by_project: dict[str, set[str]] = {}
    roots = {}
    for session in sorted(sessions, key=lambda session: (len(session.id), session.id)):
        roots_of_project = ids_by_project.setdefault(session.project, set())
        parent = None
        if session.project:
            parent = root_of(session.id, roots_of_project) or noted_parent(session.id, session.path)
        roots[session] = parent or session.id
        roots_of_project.add(roots[session])
    return roots
