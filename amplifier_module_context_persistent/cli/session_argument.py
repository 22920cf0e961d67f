"""The argument SESSION and the option --last."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ..errors import LogError
from ..messages.metadata import given_id
from ..paths import LOG_NAME
from ..transcript.sessions import SessionNameError, find_session, last_session, session_files
from ..transcript.transcript import Transcript
from .terminal import UnusableError, one_line, reason

R = TypeVar("R")

_MOST_BYTES = 64 << 20  # a longer log is not read while somebody types


def path_of(name: str) -> str:
    """Find the path of the log that a name means.

    Raises:
        UnusableError: no session has that name, or more than one.
    """
    try:
        return str(find_session(name))
    except (SessionNameError, OSError) as error:
        raise UnusableError(f"{one_line(name)}: {reason(error)}") from error


def session_name(path: str) -> str:
    """What a log's session is called: its id, which is its directory's name, or the path of another file."""
    return Path(path).absolute().parent.name if Path(path).name == LOG_NAME else path


def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a session's id, or a file."""
    ids = [CompletionItem(one_line(s.id)) for s in session_files() if s.id.startswith(incomplete)]
    return ids or [CompletionItem(incomplete, type="file")]


def complete_tool(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a tool that the session named before calls."""
    names = _look(context, lambda transcript: transcript.tool_names())
    return [CompletionItem(one_line(name)) for name in names if name.startswith(incomplete)]


def complete_place(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the number of a turn, or the id of a turn's first message, of the session named before."""

    def places(transcript: Transcript) -> list[str]:
        turns = transcript.turns()
        firsts = [message for turn in turns for message in transcript.messages(turn.start, turn.start + 1)]
        return [*(str(turn.number) for turn in turns), *(given_id(message) or "" for message in firsts)]

    found = _look(context, places)
    return [CompletionItem(one_line(place)) for place in found if place and place.startswith(incomplete)]


def _look(context: click.Context, look: Callable[[Transcript], list[str]]) -> list[str]:
    """Look into the session that the command line names already; nothing if it names none, or one of many megabytes."""
    given = context.params
    left = context.args  # an option that still lacks its value leaves the arguments before it unread
    name = given.get("session") or next(iter(given.get("sessions") or left[-1:]), None)
    try:
        path = find_session(str(name)) if name else last_session().path if given.get("last") else None
        if path is None or path.stat().st_size > _MOST_BYTES:
            return []
        with Transcript(path) as transcript:
            return look(transcript)
    except (LogError, OSError, ValueError):
        return []


def session_argument(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command the argument SESSION and the option `--last`; it gets the log's path as `path`."""

    @click.argument("session", required=False, shell_complete=complete)
    @click.option("--last", is_flag=True, help="The session of this project that was written to last.")
    @functools.wraps(command)
    def named(*arguments: Any, session: str | None, last: bool, **options: Any) -> R:
        if (session is None) != last:
            raise click.UsageError("name one SESSION: a path, an id, the beginning of one, or --last")
        if session is not None:
            return command(*arguments, path=path_of(session), **options)
        try:
            return command(*arguments, path=str(last_session().path), **options)
        except SessionNameError as error:
            raise UnusableError(reason(error)) from error

    return named
