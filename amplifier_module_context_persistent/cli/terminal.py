"""What the command's parts share towards the terminal.

A transcript is untrusted input: whatever comes from a log, from the name of a file or from an error goes through
`one_line` or `escaped` before it is shown.
"""

from __future__ import annotations

import json
import logging
import re
import sys

import click
from rich.console import Console

from ..log.filesystem import FileSystem
from ..transcript.transcript import Transcript

UNUSABLE = 2

_DOUBTFUL = re.compile(r"[^ -~\n]")
_TAB_COLUMNS = 8

logging.getLogger(__name__.partition(".")[0]).addHandler(
    logging.NullHandler()
)  # what the reader warns of, `verify` reports


class UnusableError(click.ClickException):
    """What cannot be read, found or done, and why."""

    exit_code = UNUSABLE


class _PlainConsole(Console):
    """A console that leaves it to the command what becomes of a broken pipe."""

    def on_broken_pipe(self) -> None:
        """Raise the error again; this is called while it is caught."""
        raise


def console() -> Console:
    """A console on the standard output that takes nothing in a text for markup."""
    return _PlainConsole(file=sys.stdout, markup=False, highlight=False, emoji=False)


def one_line(text: str) -> str:
    """A text on one line, without control characters and lone surrogates."""
    return "".join(character if character.isprintable() else "?" for character in text)


def escaped(text: str) -> str:
    """Text with all that is no printable character but line breaks, or that the output lacks, escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return _DOUBTFUL.sub(_escape, text).encode(encoding, "backslashreplace").decode(encoding)


def escaped_body(text: str) -> str:
    """Text of several lines `escaped`, tabs as spaces, and every way to end a line as one."""
    return escaped(text.replace("\r\n", "\n").expandtabs(_TAB_COLUMNS))


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return character if character.isprintable() else json.dumps(character)[1:-1]


def ask(question: str, *, yes: bool) -> None:
    """Ask whether something is to be done; `yes` is an answer given before.

    Raises:
        UnusableError: it is not.
    """
    if yes:
        return
    try:
        agreed = click.confirm(question)
    except click.Abort:  # the end of the input
        click.echo()
        agreed = False
    if not agreed:
        raise UnusableError("nothing was done; answer y, or add --yes where nobody can be asked")


def reason(error: Exception) -> str:
    """Why something failed, on one line."""
    said = error.strerror if isinstance(error, OSError) else str(error)
    return one_line(str(said or error))


def open_transcript(path: str, *, files: FileSystem | None = None) -> Transcript:
    """Open a log for reading.

    Raises:
        UnusableError: it is not there or cannot be read.
    """
    try:
        return Transcript(path, files=files)
    except (OSError, ValueError) as error:
        raise UnusableError(f"{one_line(path)}: {reason(error)}") from error
