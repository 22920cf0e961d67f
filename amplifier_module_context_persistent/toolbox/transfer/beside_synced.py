"""The host's files beside a log that a sync changes, and what was left there: they are brought in step with the log.

What is begun is noted beside the log first (`toolbox/maintenance/written_files.py`). So a sync that finds the note
finishes what a killed one left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import LogFailedError
from ..maintenance.written_files import MAKING, SYNCING, WrittenFiles
from .catch_up import SyncError
from .host_files import (
    clear_up,
    is_hosts_log,
    own_transcript,
    read_metadata,
    update_host_files,
    write_host_files,
)


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
def metadata_renewed(log: str, origin: str, *, now: Callable[[], str]) -> Iterator[None]:
    """Write anew what names a session beside a copy that no host uses, after a block has gone on with the copy.

    Raises:
        OSError: it cannot be written; a second call finishes it.
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
        write_host_files(log, created=str(created or now()), origin=origin, named_only=True)
