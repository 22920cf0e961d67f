"""Fork a session to another agent (`fork --to`): write its history into the agent's directory of sessions.

The agent can resume it like its own sessions, under a new id. The origin is only read, and no file of the agent is
changed: a new file appears whole or not at all. Nothing is redacted, because the file stays on this machine, like a
fork.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from ... import clock
from ...errors import ConfigError, PlaceError
from ...log.atomic_file import NewFile, check_free
from ...log.filesystem import FileSystem
from ...messages.json_fields import present
from ...messages.message import Message
from ...messages.message_times import instant_of
from ...sessions.transcript import Transcript
from .erasing.noted_agent_forks import note_agent_fork
from .erasing.purged_origin import without_purged
from .export_session import EXPORTERS
from .exporters.session_view import SessionView


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that can continue a session of this package."""

    place: Callable[[str, str, datetime], Path]
    """A function that returns the path of a session's file, given the session's id, its working directory, and the
    time."""
    resume: Callable[[str, str], list[str]]
    """Returns the command that continues a session, from the session's id and the path of its file."""


def _claude_code(session_id: str, working_dir: str, _: datetime) -> Path:
    home = os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude"
    project = re.sub(r"[^a-zA-Z0-9]", "-", working_dir)
    return Path(home).expanduser() / "projects" / project / f"{session_id}.jsonl"


def _codex(session_id: str, _: str, now: datetime) -> Path:
    home = os.environ.get("CODEX_HOME") or "~/.codex"
    local = now.astimezone()
    day = local.strftime("%Y/%m/%d")
    return Path(home).expanduser() / "sessions" / day / f"rollout-{local:%Y-%m-%dT%H-%M-%S}-{session_id}.jsonl"


def _pi(session_id: str, working_dir: str, now: datetime) -> Path:
    project = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", working_dir))
    time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    name = f"{re.sub('[:.]', '-', time)}_{session_id}.jsonl"
    return Path("~/.pi/agent/sessions").expanduser() / f"--{project}--" / name


AGENTS = {
    "claude-code": Agent(_claude_code, lambda session_id, _: ["claude", "--resume", session_id]),
    "codex": Agent(_codex, lambda session_id, _: ["codex", "resume", session_id]),
    "pi": Agent(_pi, lambda _, path: ["pi", "--session", path]),
}


@dataclass(frozen=True, slots=True)
class ForkToAgent:
    """The result: the new session of the other agent."""

    agent: str
    path: str
    session_id: str
    working_dir: str
    turn: int
    messages: int
    command: list[str]
    """The command that continues the session. It must be run in `working_dir`."""
    erased: Sequence[str] = ()
    """Sentences for a person about what was deleted or purged here, and is in the origin."""

    def to_json(self) -> dict[str, Any]:
        """Return the report in plain JSON types."""
        report = {name: getattr(self, name) for name in self.__slots__ if name != "erased"}
        return report | present(erased=list(self.erased))


def fork_to_agent(
    origin: str | Path,
    agent: str,
    at: int | str | None = None,
    *,
    session_id: str | None = None,
    path: str | Path | None = None,
    working_dir: str | None = None,
    dry_run: bool = False,
    again: bool = False,
    now: Callable[[], str] = clock.utc_now,
    files: FileSystem | None = None,
) -> ForkToAgent:
    """Write a session's history as a session of another agent.

    Args:
        origin: the session's log; it is only read, and may be in use.
        agent: one of `AGENTS`.
        at: the number of the last turn, from 1, or the id of the last message; None for all.
        session_id: the new session's id, a UUID; by default one is made.
        path: the new file; by default in the agent's directory of sessions.
        working_dir: the directory that the agent will work in; by default the current one.
        dry_run: only report what would be done.
        again: copy also what was purged here since the origin was written.
        now: gives ISO 8601 timestamps.
        files: the system calls that read the origin, to report progress.

    Raises:
        PlaceError: the live history has no such place.
        ConfigError: the id is not a UUID.
        LogUnreadableError: the origin is missing, or cannot be read.
        ErasedError: the origin holds what was purged here, and cannot be copied without that content.
        OSError: the new file cannot be written, or its name is taken; nothing was changed.
    """
    own_id = _checked_id(session_id)
    directory = os.path.realpath(working_dir or os.getcwd())
    with Transcript(origin, files=files) as whole, without_purged(whole, "", again=again) as purged:
        transcript = purged.transcript
        past = purged.history_at(at)
        count = len(past.ordinals)
        if list(past.ordinals) != list(transcript.reader.index.live[:count]):
            raise PlaceError("this message is hidden; fork the session there first, and hand the fork over")

        def messages() -> Iterator[tuple[int, Message]]:
            return enumerate(transcript.messages(0, count))

        view = SessionView(transcript, messages, lambda value: value, new_id=own_id, working_dir=directory)
        place = path or AGENTS[agent].place(own_id, directory, instant_of(now()) or datetime.now(UTC))
        target = os.path.abspath(os.path.expanduser(place))
        if not dry_run:
            _write(target, agent, view, with_directories=path is None)
        command = AGENTS[agent].resume(own_id, target)
        erased = purged.sentences
        return ForkToAgent(
            agent, target, own_id, directory, turn=past.turn, messages=count, command=command, erased=erased
        )


def _write(target: str, agent: str, view: SessionView, *, with_directories: bool) -> None:
    """Write the agent's file. Before it appears, it is noted as ours, so that a purge of the origin finds it."""
    digest = hashlib.sha256()
    size = 0
    check_free(target)
    note_agent_fork(target, agent, view.log_id)
    with NewFile(target, with_directories=with_directories) as file:
        for piece in EXPORTERS[agent](view):
            content = piece.encode("utf-8", "replace")
            digest.update(content)
            size += len(content)
            file.write(content)
        note_agent_fork(target, agent, view.log_id, (size, digest.hexdigest()))
        file.finish()


def _checked_id(session_id: str | None) -> str:
    try:
        return str(UUID(session_id)) if session_id is not None else str(uuid4())
    except ValueError:
        raise ConfigError(f"session_id: {session_id!r} is no UUID, as these agents need one") from None
