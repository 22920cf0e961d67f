"""Update the host's files beside a log that a sync changes, so that they match the log.

"In step" means that the host's files (`transcript.jsonl`, `metadata.json`) have the same content as the log.

Before a sync changes anything, it writes a note beside the log (`toolbox/maintenance/note_beside_log.py`). So if it is
killed, the next sync finds the note and finishes the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ....errors import LogFailedError
from ...maintenance.note_beside_log import MAKING, SYNCING, WrittenFiles
from ..archive_session import is_archived_session
from ..host_files.after_rewind_or_purge import update_host_files
from ..host_files.files_beside_log import clear_up, is_hosts_log, read_metadata
from ..host_files.own_host_files import own_transcript
from ..host_files.write_host_files import has_own_metadata_only, is_unfinished, write_host_files
from .append_to_copy import SyncError


def beside_copy(log: str, origin: str, *, is_home: bool, now: Callable[[], str]) -> AbstractContextManager[None]:
    """Return a context manager that updates the host's files beside a copy after its block has changed the copy.

    Errors are those of `host_files_made` or `update_files_after_block`.

    Args:
        log: the copy.
        origin: the log that the copy was made from.
        is_home: whether the copy is in a directory whose sessions a host lists.
        now: gives ISO 8601 timestamps.
    """
    if not is_home or is_unfinished(log) or has_own_metadata_only(log):
        named_only = not is_home or is_archived_session(origin)  # the copy gets the form of its origin
        return host_files_made(log, origin, named_only=named_only, now=now)
    return update_files_after_block(log, now=now)


def has_transcript(log: str, *, is_home: bool) -> bool:
    """Return whether a new copy of a log gets a `transcript.jsonl`: only in a home, and not if the copy is archived.

    The host's transcript is a second copy of the messages, several times larger than an archive. It is made when the
    log is brought back (`complete_host_files`), or by the host when the session goes on.
    """
    return is_home and not is_archived_session(log)


@contextmanager
def update_files_after_block(log: str, *, now: Callable[[], str]) -> Iterator[None]:
    """Update the files that this package wrote for the host beside a log, after a `with` block has changed the log.

    Raises:
        SyncError: a session has opened the log in the meantime, so the files are the host's now.
        OSError: a file cannot be written or removed; the next sync finishes the update.
    """
    if not is_hosts_log(log):
        yield
        return
    clear_up(log)
    note = WrittenFiles.beside(log)
    was_unfinished = note.begun
    note.begin(SYNCING, now())
    try:
        yield
    except LogFailedError:
        raise
    except BaseException:
        # the log is unchanged or longer, so the files can be updated now, unless an earlier sync left them unfinished
        if not was_unfinished:
            finish(log)
        raise
    finish(log)


def is_interrupted(log: str) -> bool:
    """Return whether a sync was interrupted before the files beside a log were updated."""
    return is_hosts_log(log) and WrittenFiles.beside(log).begun == SYNCING


def finish(log: str) -> None:
    """Update the files beside a log, and remove the note about the unfinished update.

    Errors are those of `update_files_after_block`.
    """
    clear_up(log)
    if own_transcript(log) is not None and (because := update_host_files(log, time=None)[1]):
        raise SyncError(because)
    WrittenFiles.beside(log).finish()


@contextmanager
def host_files_made(log: str, origin: str, *, named_only: bool, now: Callable[[], str]) -> Iterator[None]:
    """Write the host's files beside a copy again, after the `with` block has appended to the copy.

    This is for a copy that no host uses, because its session may have got a name since the last sync. It is also for a
    copy of which a killed sync wrote only the log.

    Args:
        log: the path of the copy.
        origin: the path of the log from which the copy came.
        named_only: whether to write only `metadata.json`, and no second copy of the messages.
        now: gives ISO 8601 timestamps.

    Raises:
        OSError: a file cannot be written; a second call finishes the work.
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
