"""What the command's parts share towards the terminal.

A transcript is untrusted input: whatever comes from a log, from the name of a file or from an error goes through
`one_line` or `escaped` before it is shown.
"""

from __future__ import annotations

import json
import logging
import sys

import click
from rich.console import Console

from .transcript import Transcript

UNUSABLE = 2

logging.getLogger(__package__).addHandler(logging.NullHandler())  # what the reader warns of, `verify` reports


class UnusableError(click.ClickException):
    """What cannot be read, found or done, and why."""

    exit_code = UNUSABLE


def console() -> Console:
    """A console on the standard output that takes nothing in a text for markup."""
    return Console(file=sys.stdout, markup=False, highlight=False, emoji=False)


def one_line(text: str) -> str:
    """A text on one line, without control characters and lone surrogates."""
    return "".join(character if character.isprintable() else "?" for character in text)


def escaped(text: str) -> str:
    """Text with all that is no printable character but line breaks, or that the output lacks, escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    shown = "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def reason(error: Exception) -> str:
    """Why something failed, on one line."""
    said = error.strerror if isinstance(error, OSError) else str(error)
    return one_line(str(said or error))


def open_transcript(path: str) -> Transcript:
    """Open a log for reading.

    Raises:
        UnusableError: it is not there or cannot be read.
    """
    try:
        return Transcript(path)
    except (OSError, ValueError) as error:
        raise UnusableError(f"{one_line(path)}: {reason(error)}") from error
