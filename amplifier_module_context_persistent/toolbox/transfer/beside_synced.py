"""The host's files beside a log that a sync changes, and what was left there: they are brought in step with the log.

What is begun is noted beside the log first (`toolbox/maintenance/written_files.py`). So a sync that finds the note
finishes what a killed one left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ...errors import LogFailedError
from ..maintenance.written_files import MAKING, SYNCING, WrittenFiles
from .append_to_copy import SyncError
from .host_files import (
    clear_up,
    is_hosts_log,
    is_unfinished,
    own_transcript,
    read_metadata,
    update_host_files,
    write_host_files,
)


def beside_copy(log: str, origin: str, *, is_home: bool, now: Callable[[], str]) -> AbstractContextManager[None]:
    """Bring the host's files beside a copy in step, after a block has changed the copy; errors as of what it gives.

    Args:
        log: the copy.
        origin: the log that it is brought up to.
        is_home: whether a host lists the sessions there.
        now: gives ISO 8601 timestamps.
    """
    if not is_home or is_unfinished(log):
        return host_files_made(log, origin, named_only=not is_home, now=now)
    return files_in_step(log, now=now)


@contextmanager
def files_in_step(log: str, *, now: Callable[[], str]) -> Iterator[None]:
    """Bring the host's files that we wrote beside a log in step after a block has changed the log.

    Raises:
        SyncError: a session has opened the log meanwhile, so they are the host's now.
        OSError: one of them cannot be written or removed; the next sync finishes it.
    """
    if not is_hosts_log(log):
        yield
        return
    clear_up(log)
    note = WrittenFiles.beside(log)
    before = note.begun
    note.begin(SYNCING, now())
    try:
        yield
    except LogFailedError:
        raise
    except BaseException:  # the log is what it was, or is longer
        if not before:
            finish(log)
        raise
    finish(log)


def is_interrupted(log: str) -> bool:
    """Whether a sync was interrupted before the files beside a log were in step with it."""
    return is_hosts_log(log) and WrittenFiles.beside(log).begun == SYNCING


def finish(log: str) -> None:
    """Bring the files beside a log in step, and note that; errors as `files_in_step`."""
    clear_up(log)
    if own_transcript(log) is not None and (because := update_host_files(log, time=None)[1]):
        raise SyncError(because)
    WrittenFiles.beside(log).finish()


@contextmanager
def host_files_made(log: str, origin: str, *, named_only: bool, now: Callable[[], str]) -> Iterator[None]:
    """Write the host's files beside a copy again, after the `with` block has appended to the copy.

    This is for a copy that no host uses, because its session may have got a name meanwhile; and for a copy of which a
    killed sync wrote only the log.

    Raises:
        OSError: a file cannot be written; a second call finishes it.
    """
    if not is_hosts_log(log):
        yield
        return
    clear_up(log)
    created = read_metadata(Path(log).parent).get("created")
    WrittenFiles.beside(log).begin(MAKING)
    try:
        yield
    finally:
        write_host_files(log, created=str(created or now()), origin=origin, named_only=named_only)
