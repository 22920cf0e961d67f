"""The argument SESSION and the option --last."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ..paths import LOG_NAME
from ..transcript.sessions import SessionNameError, find_session, last_session, session_files
from .terminal import UnusableError, one_line, reason

R = TypeVar("R")


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
