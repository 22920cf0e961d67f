"""The options that choose the sessions of a command; they have the same names and meanings in every command.

Rules:
- `--all` means the sessions of all projects. Without it and without `--project`, a command is about this project.
- `--in` names a directory with sessions instead. Commands that only read also accept such a directory as SESSION.
- A filter is given instead of SESSION. A filter that would be ignored is an error.
- A command that erases needs a session or a filter; `--everything` chooses all sessions.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...log.filesystem import FileSystem
from ...sessions.filters import ALL_SESSIONS, FilterError, SessionFilter, candidates, matching, no_project
from ...sessions.given_times import check_range
from ...sessions.other_projects import named_projects
from ...sessions.session_files import SessionFile, session_files, sessions_in
from .completion import complete, complete_tool
from .error_messages import UnusableError, unreadable, unusable
from .parameters import TimeType, check_not_empty, check_place
from .progress import progress
from .sealed_files import how_to_read, say_left_sealed, sealed_files_in
from .session_argument import is_place, say_hidden_sessions, storage
from .terminal import counted, escaped, one_line

if TYPE_CHECKING:
    from ...sessions.totals import Period

R = TypeVar("R")


def chosen_sessions(wanted: SessionFilter, *, everywhere: bool) -> list[SessionFile]:
    """Return the sessions that the filters choose, in this project, another project, all projects, or some directories.

    Raises:
        UsageError: directories and another place are given.
        UnusableError: there is no session, or the database or a directory cannot be read.
    """
    check_places(wanted, everywhere=everywhere)
    with unusable():
        sessions = candidates(wanted, everywhere=everywhere, storage=storage())
    if not sessions:
        say_hidden_sessions()
        raise _no_session_error(wanted, everywhere=everywhere)
    say_left_sealed(wanted.places)
    with unreadable():
        return matching(sessions, wanted, watch=watched, without_time=say_without_time, unknown=say_unknown)


def _no_session_error(wanted: SessionFilter, *, everywhere: bool) -> UnusableError:
    """Return the error that a filter finds no session, with a text that says where else to look."""
    if wanted.project is not None:
        return no_project_error(wanted.project)
    if wanted.places:
        directories = one_line(", ".join(wanted.places))
        how_to = [how_to_read(place) for place in wanted.places]
        sealed = "; ".join(how for how in how_to if how)
        if sealed:
            return UnusableError(f"no session is in {directories}: {sealed}")
        return UnusableError(
            f"no session is in {directories}; --project DIRECTORY means those that began in a directory"
        )
    if everywhere:
        return UnusableError("there is no session")
    projects = named_projects(session_files()) if storage() is None else ""
    others = f"{one_line(projects)}; " if projects else ""
    return UnusableError(f"this project has no session; {others}--all takes all projects")


def no_project_error(project: str) -> UnusableError:
    """Return the error that no project of this name has sessions. The text names projects with similar names.

    Raises:
        UnusableError: the database cannot be queried.
    """
    with unusable():
        message = no_project(project, storage=storage())
    return UnusableError(f"{one_line(message)}; `context-persistent list --all`")


def check_places(wanted: SessionFilter, *, everywhere: bool) -> None:
    """Check that directories of sessions can be read, and that no other place is given.

    Raises:
        UsageError: two places are given.
        UnusableError: a directory cannot be read.
    """
    if wanted.places and everywhere:
        raise click.UsageError("give either --all or a directory")
    if wanted.places and storage():
        raise click.UsageError("give either --storage or a directory")
    for place in wanted.places:
        with unusable(place):
            os.scandir(place).close()


def say_without_time(count: int) -> None:
    """Print on the error stream how many sessions a filter by time left out because their messages have no times."""
    if count:
        click.echo(f"left out: {counted(count, 'session')} whose messages have no times", err=True)


_MOST_KNOWN = 12


def say_unknown(kind: str, wanted: str, known: Sequence[str]) -> None:
    """Print on the error stream that no session has a wanted model, tool or tag, and which ones sessions have.

    Args:
        kind: the noun for what a filter names: `model`, `tool` or `tag`.
        wanted: the name that the filter gives.
        known: the names that sessions have.
    """
    listed = "there is none"
    if known:
        listed = f"there are {', '.join(known[:_MOST_KNOWN])}"
    if len(known) > _MOST_KNOWN:
        listed += f" and {len(known) - _MOST_KNOWN:,} more"
    click.echo(escaped(one_line(f"no session has the {kind} {wanted}; {listed}")), err=True)


def watched(paths: Sequence[str]) -> AbstractContextManager[FileSystem]:
    """Return the file system for reading logs while sessions are added up.

    It shows a progress bar if reading takes long.
    """
    return progress(*paths, title="adding up", passes=2)


def period_of(wanted: SessionFilter) -> Period:
    """Return the period between a filter's `--since` and `--until`, for figures that are counted by time."""
    from ...sessions.totals import Period

    return Period(wanted.since_s, wanted.until_s)


def check_no_filter(wanted: SessionFilter, *, everywhere: bool) -> None:
    """Check that no filter is given together with the names of sessions.

    Raises:
        UsageError: a filter was given, and would be ignored.
    """
    if everywhere:
        raise click.UsageError("--all means the sessions of all projects; give it without SESSION or --last")
    if wanted != ALL_SESSIONS:
        raise click.UsageError("a filter chooses among sessions; give it without SESSION or --last")


_TIME_HELP = (
    "Only sessions with a message since then: 12h, 3d, 2026-01-31, `last week`.",
    "Only sessions with a message before then.",
)
_TIME_HELP_OF_MESSAGES = ("Only messages since then: 12h, 3d, 2026-01-31, `last week`.", "Only messages before then.")
_TOOL_HELP = "Only sessions that call this tool; again for another one that they call, too."


def filter_options(
    *, tool_help: str = _TOOL_HELP, has_places: bool = True, of_messages: bool = False
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Add `--all`, `--in` and the filters of sessions to a command.

    The command gets the arguments `everywhere` (whether `--all` was given) and `wanted` (the filter).

    Args:
        tool_help: the help of `--tool`, if the command shows single messages.
        has_places: whether the command has `--in`.
        of_messages: whether `--since` and `--until` choose single messages, not sessions that have one.
    """

    def with_all(command: Callable[..., R]) -> Callable[..., R]:
        filtered = source_filter_options(tool_help=tool_help, of_messages=of_messages)(command)
        if has_places:
            filtered = _place_option(filtered)
        return click.option("--all", "everywhere", is_flag=True, help="The sessions of all projects.")(filtered)

    return with_all


_place_option = click.option(
    "--in",
    "places",
    metavar="DIRECTORY",
    multiple=True,
    callback=check_place,
    type=click.Path(file_okay=False),
    help="The sessions in this directory, or in the projects in it. May be repeated.",
)


def _has_sessions(place: str) -> bool:
    with unusable(place):
        return bool(sessions_in(place))


def split_places(names: Sequence[str], places: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split names into sessions and directories of sessions; the latter are added to `places`.

    A directory that has only sealed files is replaced by these files. If a directory has sessions too, its sealed files
    are left out.

    Raises:
        UsageError: sessions and directories are both given.
        UnusableError: a directory cannot be read.
    """
    directories, left = list[str](), list[str]()
    for name in names:
        sealed = sealed_files_in(name) if is_place(name) else []
        if not is_place(name):
            left.append(name)
        elif sealed and not _has_sessions(name):
            left += sealed
        else:
            directories.append(name)
    if left and directories:
        raise click.UsageError(f"{one_line(directories[0])} is a directory of sessions; give sessions or directories")
    return left, (*places, *directories)


def source_filter_options(
    *, tool_help: str = _TOOL_HELP, of_messages: bool = False
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Add the filters of sessions, without `--all`, to a command for imports.

    The command gets the argument `wanted` (the filter). An import always includes all projects.

    Args:
        tool_help: as for `filter_options`.
        of_messages: as for `filter_options`.
    """

    def with_filters(command: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(command)
        def filtered(*arguments: Any, **options: Any) -> R:
            filters = {name: options.pop(name) for name in _FILTERS if name in options}
            try:
                check_range(filters["since_s"], filters["until_s"])
            except FilterError as error:
                raise click.UsageError(str(error)) from error
            return command(*arguments, wanted=SessionFilter(**filters), **options)

        for option in reversed(_options(tool_help, _TIME_HELP_OF_MESSAGES if of_messages else _TIME_HELP)):
            filtered = option(filtered)
        return filtered

    return with_filters


_FILTERS = tuple(field.name for field in fields(SessionFilter))
"""The names under which click passes the options on: each option sets the field of a filter with its name."""


_text_option = functools.partial(click.option, callback=check_not_empty)
"""An option for a text that is not empty."""


def _options(tool_help: str, time_help: tuple[str, str]) -> list[Callable[[Callable[..., R]], Callable[..., R]]]:
    """Return the options of the filter language, in the order of the help."""
    since_help, until_help = time_help
    return [
        _text_option("--project", metavar="NAME", help="Only sessions of this project: a name, a directory, or `.`."),
        click.option("--since", "since_s", type=TimeType(), help=since_help),
        click.option("--until", "until_s", type=TimeType(), help=until_help),
        _text_option("--model", metavar="TEXT", help="Only sessions that a model with this in its name answered."),
        _text_option("--tool", "tools", metavar="NAME", multiple=True, shell_complete=complete_tool, help=tool_help),
        _text_option(
            "--name", metavar="TEXT", help="Only sessions whose name contains TEXT, or whose id begins with it."
        ),
        _text_option(
            "--tag", "tags", metavar="TAG", multiple=True, help="Only sessions with this tag. May be repeated."
        ),
        _text_option(
            "--not-tag",
            "without_tags",
            metavar="TAG",
            multiple=True,
            help="Only sessions without this tag. May be repeated.",
        ),
        click.option("--untagged", is_flag=True, help="Only sessions without any tag."),
        _text_option(
            "--except",
            "excepted",
            metavar="SESSION",
            multiple=True,
            shell_complete=complete,
            help="Leave out this session and its sub-agents. May be repeated.",
        ),
        click.option("--failed", is_flag=True, help="Only sessions in which a call failed."),
        click.option(
            "-n", "--number", "most", type=click.IntRange(min=1), help="Only this number of sessions, the newest."
        ),
    ]
