"""Errors of a command as one line with exit code 2: what was wrong, and with which file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from ...catalogue.catalogue_file import CatalogueError
from ...errors import ContextPersistentError, PinError, PlaceError, reason_of
from ...paths import session_id_of
from .exit_codes import UNUSABLE
from .terminal import escaped, one_line

_SHOWN = f"{__name__}.shown"


class UnusableError(click.ClickException):
    """An error: something cannot be read, found or done; the message says why."""

    exit_code = UNUSABLE


def show_as(plain: str, path: str) -> None:
    """Let messages of the current command show a path instead of the path of a plain copy (`shown_path`)."""
    click.get_current_context().meta.setdefault(_SHOWN, {})[plain] = path


def shown_path(path: str) -> str:
    """Return the path to show for a log: for a plain copy of a sealed log, the path of the sealed file."""
    context = click.get_current_context(silent=True)
    shown_paths: dict[str, str] = context.meta.get(_SHOWN, {}) if context is not None else {}
    return shown_paths.get(path, path)


@contextmanager
def unusable(name: str = "") -> Iterator[None]:
    """Convert an error in a `with` block into an `UnusableError` of one line.

    The message begins with the file that the error names, or else with `name`. Blocks that print must use `unreadable`,
    because an `OSError` may then come from the output.

    Raises:
        UnusableError: the work failed.
    """
    try:
        yield
    except (OSError, ContextPersistentError, ValueError) as error:
        raise _unusable(error, name) from error


@contextmanager
def unreadable(name: str = "") -> Iterator[None]:
    """Convert errors as `unusable` does, but not an `OSError`, for blocks that read and print a session.

    Raises:
        UnusableError: the work failed.
    """
    try:
        yield
    except (ContextPersistentError, CatalogueError, ValueError) as error:
        raise _unusable(error, name) from error


@contextmanager
def making(path: str, *, force: bool) -> Iterator[None]:
    """Convert errors as `unusable` does while a new file is made, and hint at `--force` if the file exists.

    Raises:
        UnusableError: the work failed.
    """
    with unusable(path):
        try:
            yield
        except FileExistsError as error:
            hint = "" if force else "; --force replaces a file"
            raise UnusableError(f"{one_line(path)}: {reason(error)}{hint}") from error
    tell_parts_left(path)


def tell_parts_left(path: str) -> None:
    """Print which unfinished files of killed commands lie beside a new file. Only the user can remove them."""
    from ..maintenance.leftovers import parts_of  # most commands make no file

    for part in parts_of(path):
        problem = f"an earlier call was killed and left {part}; remove it if you do not need it"
        click.echo(escaped(one_line(problem)), err=True)


def _unusable(error: Exception, name: str) -> UnusableError:
    """Return the one-line error for an exception; `name` is the path or the session that a person named."""
    if name and isinstance(error, PlaceError | PinError):  # the error is about the place that a person named
        return UnusableError(f"{one_line(short_name(name))}: {reason(error)}")
    path = shown_path(name)
    path_of_error = shown_path(str(getattr(error, "filename", None) or path))
    if not path and "://" in path_of_error:
        return UnusableError(reason(error))  # a mistyped location may have a password where nobody looks for one
    gave_end_of_path = bool(path) and path_of_error.endswith(path)
    if not gave_end_of_path:
        path = path_of_error
    if not path:
        return UnusableError(reason(error))
    return UnusableError(f"{one_line(path)}: {reason(error)}")


def short_name(path: str) -> str:
    """Return a name for error messages: the short id of a log's session, or the path of a log without an id."""
    from .short_ids import short_id

    session_id = session_id_of(path)
    return path if session_id is None else short_id(session_id)


def reason(error: Exception) -> str:
    """Return an error's message on one line."""
    if isinstance(error, FileNotFoundError) and error.filename is None:  # an error of the system's `getcwd`
        return "the current directory is not there any more; change to another one"
    return one_line(reason_of(error))


def reason_beside(error: Exception, path: str) -> str:
    """Return `reason(error)`, preceded by the error's file if that is not `path`."""
    path_of_error = str(getattr(error, "filename", None) or path)
    if path_of_error == path:
        return reason(error)
    return f"{one_line(path_of_error)}: {reason(error)}"


def check_tools(tools: Iterable[str], known: Iterable[str]) -> None:
    """Check that tools exist, ignoring case.

    Raises:
        UnusableError: a tool does not exist; the message lists those that do.
    """
    wanted = [one_line(tool) for tool in tools]
    if not wanted:
        return
    names = [one_line(name) for name in known]
    folded = {name.casefold() for name in names}
    listed = f"there are {', '.join(names)}" if names else "no tool was called"
    for tool in wanted:
        if tool.casefold() not in folded:
            raise UnusableError(f"no call of a tool {tool!r}; {listed}")
