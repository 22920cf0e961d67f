"""Progress bars for what takes long, on the error stream if that is a terminal: reading logs, and stages of work.

A bar is removed before anything else is printed there, and does not appear for what is read within a second. After
something was printed it returns if the next thing takes longer than a second. Without a terminal rich is not imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from ...errors import LogError
from ...log.database_location import split_location, stored_name
from ...log.filesystem import FileSystem
from .terminal import one_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ...sessions.transcript import Progress as StageProgress

LONG_BYTES = 32 << 20
"""For so much a bar is shown at once."""
LATE_S = 1.0


class ReadFiles(FileSystem):
    """The real file system for a command that prints while it reads; this one shows no bar."""

    def before_printing(self, *, returns: bool = True) -> None:
        """Remove the bar from the terminal, because something is to be printed.

        Args:
            returns: the bar may appear again after a second without anything printed; else it does not.
        """


class WatchedFiles(ReadFiles):
    """The real file system; every read advances a progress bar."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self.bar, self._task, self._late_s = bar, task, monotonic() + LATE_S
        self.then = ""
        """The stage after reading, whose progress is not known."""

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Read up to `size` bytes at `offset`."""
        block = super().read(fd, size, offset)
        self.note_read(len(block))
        return block

    def note_read(self, size: int) -> None:
        """Advance the bar by bytes that were read, from a file or a server."""
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
        """Begin no bar any more; what is read from now on is printed at once."""
        self._late_s = inf


@contextmanager
def progress(*paths: str, title: str = "reading", passes: int = 1, then: str = "") -> Iterator[ReadFiles]:
    """A file system to read logs with; while long ones are read, `passes` times, a bar is shown.

    Args:
        paths: of the logs.
        title: what is done.
        passes: how often each is read.
        then: what is done once all was read, if that takes long, too; how far it is cannot be told.
    """
    if not paths or not sys.stderr.isatty():
        yield ReadFiles()
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
    """The bytes of a log; 0 if that is not known: the code that opens it reports the error."""
    try:
        if stored_name(path) is None:
            return os.stat(path).st_size
        from ...log.postgres.names import stored_heads  # its driver is an extra

        storage, name = split_location(path)
        return stored_heads(storage, [name])[name][-1]
    except (OSError, LogError, ValueError, KeyError):
        return 0


@contextmanager
def stages() -> Iterator[StageProgress]:
    """A bar for work in stages, one after the other."""
    if not sys.stderr.isatty():
        yield lambda *_: None
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
