"""Archive the log of a session and bring it back, in a file or in a database; estimate what archiving would free."""

from __future__ import annotations

import contextlib

from ...catalogue.index_snapshots import CatalogueSnapshots
from ...errors import ArchiveError, ContextPersistentError
from ...log.archive_estimate import ArchiveEstimate, estimate
from ...log.archive_log import Archived, archive_log
from ...log.bring_back_log import bring_back
from ...log.database_location import split_location, stored_name
from ...log.file_handle import is_archived
from ...log.filesystem import FileSystem
from ...paths import why_linked
from ...sessions.overview import overviews_of
from ...sessions.session_files import SessionFile


def archive_session(path: str, *, files: FileSystem | None = None) -> Archived:
    """Archive the log of a session.

    Args:
        path: the log's file, or its location in a database.
        files: the system calls that read the log, to report progress.

    Raises:
        ArchiveError: this log cannot be archived now; the message says why.
        LogError: the log cannot be read, or its lock cannot be had.
        OSError: the archive cannot be written. In each case the log is unchanged.
    """
    _check_not_linked(path)
    if stored_name(path) is None:
        return archive_log(path, watched=files, snapshots=CatalogueSnapshots())
    from ...log.postgres.archive_stored_log import archive_stored_log  # its driver is an extra

    overviews_of([SessionFile(path, "", "", 0.0)])  # saves its list entry, so that no list has to unpack the log
    return archive_stored_log(path, on_read=files.note_read if files is not None else lambda _: None)


def bring_back_session(path: str) -> Archived:
    """Restore the archived log of a session, byte for byte. Raises the same errors as `archive_session`."""
    _check_not_linked(path)
    if stored_name(path) is None:
        return bring_back(path, snapshots=CatalogueSnapshots())
    from ...log.postgres.archive_stored_log import bring_back_stored_log  # its driver is an extra

    return bring_back_stored_log(path)


def _check_not_linked(path: str) -> None:
    if reason := why_linked(path):
        raise ArchiveError(reason)


def estimate_session(path: str) -> ArchiveEstimate:
    """Estimate how large a log would be when archived, from a sample of the log.

    Raises:
        ArchiveError: the database cannot hold archived logs, or a link brings the log in from elsewhere.
        LogUnreadableError: the log cannot be read.
        DependencyError: the library that compresses is not installed.
    """
    _check_not_linked(path)
    if stored_name(path) is None:
        return estimate(path)
    from ...log.postgres.archive_stored_log import estimate_stored  # its driver is an extra

    return estimate_stored(path)


def archive_like(source: str, target: str) -> None:
    """Archive a copy of a log if the log is archived. A copy that cannot be archived stays plain.

    Args:
        source: the log's file, or its location in a database.
        target: the copy, which is complete.
    """
    if is_archived_session(source) and not is_archived_session(target):
        with contextlib.suppress(ContextPersistentError, OSError):
            archive_session(target)


def is_archived_session(path: str) -> bool:
    """Return whether a log is archived as a whole; False if its database cannot be reached."""
    if stored_name(path) is None:
        return is_archived(path)
    from ...log.postgres.list_logs import archived_among  # its driver is an extra

    storage, name = split_location(path)
    return name in archived_among(storage, [name])
