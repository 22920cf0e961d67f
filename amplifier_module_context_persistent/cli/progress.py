"""A progress bar for reading long logs, on the error stream if that is a terminal.

The bar is removed before anything else is printed, and does not appear for a file that is read at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from ..log.filesystem import FileSystem

LONG_BYTES = 32 << 20


class WatchedFiles(FileSystem):
    """The real file system; every read advances a progress bar."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task = bar, task

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Read up to `size` bytes at `offset`."""
        block = super().read(fd, size, offset)
        self._bar.advance(self._task, len(block))
        return block


@contextmanager
def progress(path: str, *, title: str = "reading", passes: int = 1) -> Iterator[FileSystem]:
    """A file system to read a log with; while a long one is read, `passes` times, a bar is shown."""
    try:
        size = os.stat(path).st_size
    except OSError:
        size = 0  # the code that opens the file reports it
    if size < LONG_BYTES or not sys.stderr.isatty():
        yield FileSystem()
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    screen = Console(file=sys.stderr)
    with Progress(*columns, console=screen, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        yield WatchedFiles(bar, bar.add_task(title, total=size * passes))
