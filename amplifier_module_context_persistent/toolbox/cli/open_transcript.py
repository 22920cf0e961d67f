"""Open a session's log for a command, and tell its damage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ...log.filesystem import FileSystem
from .error_messages import unusable
from .terminal import counted, escaped, one_line

if TYPE_CHECKING:
    from ...sessions.transcript import Transcript


def open_transcript(path: str, *, files: FileSystem | None = None) -> Transcript:
    """Open a log for reading, and return its transcript.

    Raises:
        UnusableError: the log does not exist or cannot be read.
    """
    from ...sessions.transcript import Transcript  # `list` and `stats` open few logs

    with unusable(path):
        return Transcript(path, files=files)


@contextmanager
def telling_damage(transcript: Transcript) -> Iterator[Transcript]:
    """Print on the error stream, after the block, if a log is damaged, because the output may be incomplete."""
    try:
        yield transcript
    finally:
        described = transcript.reader.describe()
        findings = len(transcript.reader.index.damage)
        problems = []
        if findings:
            problems.append(f"{counted(findings, 'finding')} of damage")
        if described.torn_bytes:
            problems.append(f"a torn end of {counted(described.torn_bytes, 'byte')}")
        if problems:
            line = f"{described.location}: {' and '.join(problems)}; `context-persistent verify` tells what and where"
            click.echo(escaped(one_line(line)), err=True)
