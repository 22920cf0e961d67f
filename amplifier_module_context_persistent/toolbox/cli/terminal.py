"""Printing, asking and reporting errors, shared by all commands.

A transcript is untrusted input: all text from a log, from a file's name or from an error passes through `one_line` or
`escaped` before it is shown. `rich` is imported only when it prints, because many commands do not need it.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ...catalogue.catalogue_file import CatalogueError
from ...errors import ContextPersistentError, DependencyError, PinError, PlaceError
from ...log.filesystem import FileSystem
from ...paths import session_id_of
from .exit_codes import UNUSABLE

_DOUBTFUL = re.compile(r"[^ -~\n]")
_TAB_COLUMNS = 8
_USUAL_COLUMNS = 80

if TYPE_CHECKING:
    from rich.console import Console

    from ...sessions.transcript import Transcript

logging.getLogger(__name__.partition(".")[0]).addHandler(
    logging.NullHandler()
)  # `verify` reports the reader's warnings


class UnusableError(click.ClickException):
    """An error: something cannot be read, found or done; the message says why."""

    exit_code = UNUSABLE


def console() -> Console:
    """Return a console on the standard output that prints square brackets literally, not as markup."""
    from .plain_console import PlainConsole

    return PlainConsole()


def columns_of(output: Console) -> int:
    """Return the width of the terminal, or 80 if the output does not go to a terminal."""
    return output.width if output.is_terminal else _USUAL_COLUMNS


def one_line(text: str) -> str:
    """Return a text on one line, with `?` for each character that does not print."""
    return "".join(character if character.isprintable() else "?" for character in text)


def escaped(text: str) -> str:
    """Return a text with characters escaped that do not print (except LF) or that the output cannot encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return _DOUBTFUL.sub(_escape, text).encode(encoding, "backslashreplace").decode(encoding)


def escaped_body(text: str) -> str:
    """Return a text of several lines escaped, with tabs as spaces and CR LF as LF."""
    return escaped(text.replace("\r\n", "\n").expandtabs(_TAB_COLUMNS))


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def ask(question: str, *, yes: bool) -> None:
    """Ask for a confirmation, unless `yes` says that it was given before.

    Raises:
        Exit: the user refuses, and a message was printed.
        UnusableError: nobody can answer.
        KeyboardInterrupt: Ctrl-C.
    """
    if yes:
        return
    try:
        agreed = click.confirm(question)
    except click.Abort as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        click.echo()
        raise UnusableError("nothing was done; answer y, or add --yes where nobody can be asked") from error
    if not agreed:
        say("Nothing was done.")
        raise click.exceptions.Exit(UNUSABLE)


def say(text: str) -> None:
    """Print one line of text, escaped."""
    click.echo(escaped(one_line(text)))


def counted(number: int, what: str) -> str:
    """Return a number with its noun: `1 message`, `2 messages`, `2 entries`."""
    if number == 1:
        return f"1 {what}"
    return f"{number:,} {what[:-1]}ies" if what.endswith("try") else f"{number:,} {what}s"


def duration(seconds: float) -> str:
    """Return a duration in at most two units: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    for large, small in (
        (f"{days} d", f"{hours} h"),
        (f"{hours} h", f"{minutes} min"),
        (f"{minutes} min", f"{rest} s"),
    ):
        if not large.startswith("0 "):
            return large if small.startswith("0 ") else f"{large} {small}"
    return f"{rest} s"


def cut(text: str, cells: int) -> str:
    """Return a text, cut and marked with `...` if it is wider than a number of cells."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= cells:
        return text
    return f"{set_cell_size(text, cells - 3).rstrip()}..."


def check_tools(tools: Iterable[str], known: Iterable[str]) -> None:
    """Check that tools exist, ignoring case.

    Raises:
        UnusableError: a tool does not exist; the message lists those that do.
    """
    wanted = list(tools)
    names = [one_line(name) for name in known] if wanted else []
    for tool in wanted:
        if one_line(tool).casefold() not in map(str.casefold, names):
            listed = f"there are {', '.join(names)}" if names else "no tool was called"
            raise UnusableError(f"no call of a tool {one_line(tool)!r}; {listed}")


@contextmanager
def unusable(name: str = "") -> Iterator[None]:
    """Convert an error in a `with` block into an `UnusableError` of one line.

    The message begins with the file that the error names, or else with `name`. Blocks that print must use `unreadable`,
    because an error of the output is a different one.

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
    """Print the files that killed calls left beside a new file, which only the user can remove."""
    from ..maintenance.leftovers import parts_of  # most commands make no file

    for part in parts_of(path):
        told = f"an earlier call was killed and left {part}; remove it if you do not need it"
        click.echo(escaped(one_line(told)), err=True)


def _unusable(error: Exception, name: str) -> UnusableError:
    if name and isinstance(error, PlaceError | PinError):  # the error is about the place that a person named
        return UnusableError(f"{one_line(short_name(name))}: {reason(error)}")
    found = str(getattr(error, "filename", None) or name)
    named = one_line(name if found.endswith(name) else found)  # the error has the whole path, the person gave its end
    return UnusableError(f"{named}: {reason(error)}" if named else reason(error))


def short_name(path: str) -> str:
    """Return a name for error messages: the short id of a log's session, or the path if it has no id."""
    from .short_ids import short_id

    session_id = session_id_of(path)
    return path if session_id is None else short_id(session_id)


def reason(error: Exception) -> str:
    """Return an error's message on one line."""
    if isinstance(error, FileNotFoundError) and error.filename is None:  # an error of the system's `getcwd`
        return "the current directory is not there any more; change to another one"
    said = error.strerror if isinstance(error, OSError) else str(error)
    if isinstance(error, DependencyError):  # it has a command on its own line
        said = str(error).replace("\n", " ")
    return one_line(str(said or error))


def reason_beside(error: Exception, path: str) -> str:
    """Return `reason(error)`, preceded by the error's file if that is not `path`."""
    other = str(getattr(error, "filename", None) or path)
    return reason(error) if other == path else f"{one_line(other)}: {reason(error)}"


@contextmanager
def telling_damage(transcript: Transcript) -> Iterator[Transcript]:
    """Print on the error stream, after the block, if a log is damaged, because the output may be incomplete."""
    try:
        yield transcript
    finally:
        described, findings = transcript.reader.describe(), len(transcript.reader.index.damage)
        said = [f"{counted(findings, 'finding')} of damage"] * bool(findings)
        said += [f"a torn end of {counted(described.torn_bytes, 'byte')}"] * bool(described.torn_bytes)
        if said:
            told = f"{described.location}: {' and '.join(said)}; `context-persistent verify` tells what and where"
            click.echo(escaped(one_line(told)), err=True)


def open_transcript(path: str, *, files: FileSystem | None = None) -> Transcript:
    """Open a log for reading, and return its transcript.

    Raises:
        UnusableError: the log does not exist or cannot be read.
    """
    from ...sessions.transcript import Transcript  # `list` and `stats` open few logs

    with unusable(path):
        return Transcript(path, files=files)
