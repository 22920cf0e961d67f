"""Show progress on the error stream: of reading logs, and of work in stages.

In a terminal the progress is a bar. The bar is removed before anything else is printed there, and appears only if work
takes longer than a second. After something was printed, the bar appears again if the next work takes longer than a
second.

Elsewhere the progress is a line every ten seconds, and rich is not imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

import click

from ...errors import LogError
from ...log.database_location import split_location, stored_name
from ...log.filesystem import FileSystem
from .terminal import escaped, one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ...sessions.transcript import Progress as StageProgress

LONG_BYTES = 32 << 20
"""The total size of logs at which a bar is shown immediately."""
LATE_S = 1.0
LINE_EVERY_S = 10.0


class ReadFiles(FileSystem):
    """The real file system with the methods of a progress bar.

    It shows nothing, for commands that print as they read.
    """

    def before_printing(self, *, returns: bool = True) -> None:
        """Remove the bar from the terminal before something is printed; do nothing without a bar.

        Args:
            returns: whether the bar may appear again after a second in which nothing is printed.
        """


class WatchedFiles(ReadFiles):
    """The real file system, with a progress bar that every read advances."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self.bar = bar
        self._task = task
        self._late_s = monotonic() + LATE_S
        self.then = ""
        """The name of the stage after reading, whose progress is not known; "" if there is none."""

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Read up to `size` bytes at `offset`."""
        block = super().read(fd, size, offset)
        self.note_read(len(block))
        return block

    def note_read(self, size: int) -> None:
        """Advance the bar by a number of bytes that were read from a file or a server."""
        if not self.bar.live.is_started and monotonic() > self._late_s:
            self.bar.start()
        self.bar.advance(self._task, size)
        if self.then and self.bar.tasks[0].finished:
            self.bar.update(self._task, description=self.then)
            self.bar.tasks[0].total = None
            self.then = ""

    def before_printing(self, *, returns: bool = True) -> None:
        """Remove the bar if the output goes to the terminal too."""
        if not sys.stdout.isatty():
            return
        if self.bar.live.is_started:
            self.bar.stop()
        self._late_s = monotonic() + LATE_S if returns else inf

    def finish(self) -> None:
        """Prevent the bar from appearing again, because the command prints each result at once from now on."""
        self._late_s = inf


class ProgressLines:
    """Progress as lines of text, for an error stream that is not a terminal; short work prints nothing."""

    def __init__(self) -> None:
        self._next_s = monotonic() + LINE_EVERY_S

    def tell(self, what: str, done: int, total: int) -> None:
        """Print a line of progress, unless one was printed less than ten seconds ago."""
        if monotonic() < self._next_s:
            return
        self._next_s = monotonic() + LINE_EVERY_S
        click.echo(escaped(f"{one_line(what)}: {done:,} of {total:,}"), err=True)


class ToldFiles(ReadFiles):
    """The real file system, with lines of progress in megabytes read."""

    def __init__(self, title: str, size: int) -> None:
        self._lines = ProgressLines()
        self._title = f"{title}, MB"
        self._size = size
        self._read = 0

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Read up to `size` bytes at `offset`."""
        block = super().read(fd, size, offset)
        self._read += len(block)
        self._lines.tell(self._title, min(self._read, self._size) >> 20, self._size >> 20)
        return block


@contextmanager
def progress(*paths: str, title: str = "reading", passes: int = 1, then: str = "") -> Iterator[ReadFiles]:
    """Yield a file system that shows the progress of reading logs, if the logs are long.

    Args:
        paths: the paths of the logs.
        title: the name of the work.
        passes: the number of times that each log is read.
        then: the name of the stage after reading, if that takes long too; its progress is not known.
    """
    if not paths:
        yield ReadFiles()
        return
    if not sys.stderr.isatty():
        size = sum(_size_of(path) for path in paths if stored_name(path) is None)  # no query to a database
        yield ToldFiles(title, size * passes) if size >= LONG_BYTES else ReadFiles()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    from .time_left import TimeLeftColumn

    size = sum(map(_size_of, paths))
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeLeftColumn())
    screen = Console(file=sys.stderr)
    bar = Progress(*columns, console=screen, transient=True, redirect_stdout=False, redirect_stderr=False)
    if size >= LONG_BYTES:
        bar.start()
    files = WatchedFiles(bar, bar.add_task(title, total=size * passes))
    files.then = then
    try:
        yield files
    finally:
        files.finish()
        if bar.live.is_started:
            bar.stop()


def _size_of(path: str) -> int:
    """Return the size of a log in bytes; 0 if an error occurs, which the code that opens the log reports."""
    try:
        if stored_name(path) is None:
            return os.stat(path).st_size
        from ...log.postgres.list_logs import stored_heads  # its driver is an extra

        storage, name = split_location(path)
        return stored_heads(storage, [name])[name][-1]
    except (OSError, LogError, ValueError, KeyError):
        return 0


@contextmanager
def stages() -> Iterator[StageProgress]:
    """Yield a function to report the progress of work in stages: its name, and the parts done of a total."""
    if not sys.stderr.isatty():
        yield ProgressLines().tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    from .time_left import TimeLeftColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeLeftColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("reading", total=None)
        stage = ""

        def tell(what: str, done: int, total: int) -> None:
            nonlocal stage
            if what != stage:
                stage = what
                bar.reset(task, description=one_line(what))
            bar.update(task, completed=done, total=total)

        yield tell
