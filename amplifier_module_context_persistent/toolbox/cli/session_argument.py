"""The argument SESSION, the option --last, and the place of sessions: the disk, or the database of --storage."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...catalogue.catalogue_file import switched_off
from ...errors import LogError
from ...log.database_location import (
    STORAGE_VARIABLE,
    parse_location,
    shown_location,
    split_location,
    stored_name,
    why_no_place,
    without_password,
)
from ...paths import session_id_of
from ...sessions.find_session import SessionNameError, find_session
from ...sessions.other_projects import last_session
from ...sessions.session_files import SessionFile, project_sessions, session_files, sessions_in, sessions_with_id_prefix
from ...sessions.sub_agents import with_sub_agents
from .completion import complete
from .error_messages import UnusableError, reason, shown_path, unusable
from .parameters import check_not_empty
from .sealed_files import how_to_read, plain_path
from .terminal import one_line

if TYPE_CHECKING:
    pass

R = TypeVar("R")

NAME_ONE = "name one SESSION: a path, an id or a name, the beginning of one, or --last"
_STORAGE = f"{__name__}.storage"
_HIDDEN = f"{__name__}.hidden"


def storage_option(command: Callable[..., R]) -> Callable[..., R]:
    """Add `--storage` to a command; the function `storage()` returns the named database.

    The connection is kept until the command ends. A password in the URL is never shown.
    """

    @click.option(
        "--storage",
        "url",
        metavar="URL",
        envvar=STORAGE_VARIABLE,
        callback=check_not_empty,
        help="Look for sessions in this PostgreSQL database.",
    )
    @functools.wraps(command)
    def stored(*arguments: Any, url: str | None, **options: Any) -> R:
        if url is not None:
            context = click.get_current_context()
            with unusable("--storage"):
                context.meta[_STORAGE] = split_location(without_password(url))[0]  # all of it is checked
            from ...log.postgres.server_connections import using

            context.with_resource(using(parse_location(context.meta[_STORAGE])))
        return command(*arguments, **options)

    return stored


def no_catalogue_option(command: Callable[..., R]) -> Callable[..., R]:
    """Add `--no-catalogue` to a command, with which the command neither uses nor writes a catalogue."""

    def switch(context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click calls it
        if value:
            context.with_resource(switched_off())

    return click.option(
        "--no-catalogue",
        is_flag=True,
        expose_value=False,
        callback=switch,
        help="Neither use nor write the catalogue.",
    )(command)


def storage() -> str | None:
    """Return the location of the current command's database, without a password; None for the disk."""
    location: str | None = click.get_current_context().meta.get(_STORAGE)
    return location


def say_hidden_sessions() -> None:
    """Print once on the error stream that row-level security hides sessions, if it does in the command's database."""
    place = storage()
    notes = click.get_current_context().meta
    if place is None or notes.get(_HIDDEN):
        return
    from ...log.postgres.list_logs import hides_logs

    notes[_HIDDEN] = True
    if hides_logs(place):
        click.echo("row-level security hides the sessions of others from this role (BYPASSRLS shows all)", err=True)


def find_path(name: str) -> str:
    """Return the path of a session's log, by any name of the session, or its location without a password.

    Raises:
        SessionNameError: no session has that name, or more than one.
        ValueError: the name is a location that cannot be read.
        LogUnreadableError: the database cannot be asked.
    """
    path = str(find_session(name, storage=storage()))
    return shown_location(path)


def is_place(name: str) -> bool:
    """Return whether a name is a directory of sessions, and not a session or its directory."""
    if not os.path.isdir(name):
        return False
    try:
        find_session(name, storage=storage())
    except (SessionNameError, LogError):
        return True
    return False


def name_for_errors(name: str) -> str:
    """Return a session's name for an error message, which must not show URLs, because of passwords."""
    is_url = stored_name(name) is not None or bool(why_no_place(name))
    return "the location" if is_url else name


def path_of(name: str) -> str:
    """Return a path as `find_path` does; for a sealed log the path of a plain copy, if the command reads such logs.

    Raises:
        UnusableError: no session has that name, or more than one; the database cannot be read; or a key is missing.
    """
    try:
        return plain_path(find_path(name))
    except (SessionNameError, ValueError, OSError) as error:
        if isinstance(error, SessionNameError) and os.path.isdir(name):
            advice = how_to_read(name)
            if advice:
                raise UnusableError(f"no session is in {one_line(name)}: {advice}") from error
        message = reason(error)
        shown_name = one_line(name_for_errors(name))
        if shown_name:
            message = f"{shown_name}: {message}"
        raise UnusableError(message) from error


def last_path() -> str:
    """Return the path or the location of the last written log of this project.

    Raises:
        UnusableError: there is no session, or the database cannot be asked.
    """
    with unusable():
        return str(last_session(storage=storage()).path)


def sessions_here(*, everywhere: bool = False) -> list[SessionFile]:
    """Return the sessions of this project, or of all projects, on disk or in the database.

    Raises:
        UnusableError: the database cannot be asked.
    """
    with unusable():
        return session_files(storage=storage()) if everywhere else project_sessions(storage=storage())


def sessions_that_may_belong(paths: Iterable[str]) -> list[SessionFile]:
    """Return sessions that include the sessions of the given logs and their sub-agents; on disk, all sessions.

    Raises:
        UnusableError: the database cannot be asked.
    """
    if storage() is None:
        return sessions_here(everywhere=True)
    with unusable():
        return sessions_with_id_prefix(paths)


def session_file(path: str) -> SessionFile:
    """Return the session whose log has this path or location; its project is left empty.

    Raises:
        UnusableError: there is no such log.
    """
    session_id = session_id_of(path) or Path(path).stem
    if stored_name(path) is not None:
        return SessionFile(path, session_id, "", 0.0)
    with unusable(path):
        return SessionFile(Path(path), session_id, "", os.lstat(path).st_mtime)


def with_their_sub_agents(paths: Iterable[str]) -> list[SessionFile]:
    """Return the sessions of logs, each followed by its sub-agents' sessions. No session is repeated.

    Raises:
        UnusableError: a log does not exist, or the database cannot be asked.
    """
    chosen_paths = list(paths)
    candidates = sessions_that_may_belong(chosen_paths)
    by_path = {str(session.path): session for session in candidates}
    chosen: dict[str, SessionFile] = {}
    for path in chosen_paths:
        session = by_path.get(path) or session_file(path)
        for member in with_sub_agents(session, candidates):
            chosen[str(member.path)] = member
    return list(chosen.values())


def session_name(path: str) -> str:
    """Return a session's id, given its log's path; the path in a form to show if the path contains no id."""
    return session_id_of(path) or shown_path(path)


def file_name(session_id: str) -> str:
    """Return a session's id as a file name: characters that have a meaning in paths become `-`."""
    name = ""
    for character in session_id:
        is_safe = character.isalnum() or character in "-_."
        name += character if is_safe else "-"
    return name


class SessionFirst(click.Command):
    """A command with the argument SESSION and others; with `--last` the argument SESSION is left out."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Parse a command line; with `--last`, click would take the first argument for SESSION."""
        if "--last" not in arguments:
            return super().parse_args(context, arguments)
        params = self.params
        context.params["session"] = None
        self.params = [param for param in params if param.name != "session"]
        try:
            return super().parse_args(context, arguments)
        finally:
            self.params = params


def _check_has_sessions(place: str) -> None:
    """Refuse a directory whose sessions are all sealed.

    Raises:
        UnusableError: no session in it can be read; the message says how to.
    """
    if sessions_in(place):
        return
    how = how_to_read(place)
    if how:
        raise UnusableError(f"no session is in {one_line(place)}: {how}")


def optional_session_argument(command: Callable[..., R]) -> Callable[..., R]:
    """Add the argument SESSION and `--last` to a command, which gets the log's path, or None, as `path`.

    With `--storage` the command gets the log's location instead. If the command has `--in`, SESSION may be a directory
    of sessions.
    """

    @storage_option
    @no_catalogue_option
    @click.argument("session", required=False, shell_complete=complete)
    @click.option("--last", is_flag=True, help="The session of this project that was written to last.")
    @functools.wraps(command)
    def named(*arguments: Any, session: str | None, last: bool, **options: Any) -> R:
        if session is not None and last:
            raise click.UsageError(NAME_ONE)
        path = None
        if last:
            path = last_path()
        elif session is not None and "places" in options and is_place(session):
            _check_has_sessions(session)
            options["places"] = (*options["places"], session)
        elif session is not None:
            path = path_of(session)
        return command(*arguments, path=path, **options)

    return named


def session_argument(command: Callable[..., R]) -> Callable[..., R]:
    """Add SESSION and `--last` to a command; if neither is given, a person picks a session in a terminal."""

    @optional_session_argument
    @functools.wraps(command)
    def named(*arguments: Any, path: str | None, **options: Any) -> R:
        chosen = path if path is not None else picked()
        if chosen is None:
            raise click.UsageError(NAME_ONE)
        return command(*arguments, path=chosen, **options)

    return named


def picked() -> str | None:
    """Let a person pick a session from a list, and return its log's path; None without a terminal or an answer."""
    from .pick_session import can_pick, pick_session  # most commands name their session

    return pick_session(sessions_here()) if can_pick() else None
