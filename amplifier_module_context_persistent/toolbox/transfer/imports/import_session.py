"""Import sessions from a file of another agent, of a provider's requests, of the host, or of this package.

A file's format is recognised by its content (`importers.registry`). A log is copied (`import_log`). The sessions of
other files are drafted first, then written (`import_drafts`). A second import of a session adds new messages, if nobody
continued the session here.

Nothing is lost silently: an account of what became of every line is in the report and in the new log's header.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .... import clock
from ....erasures.erasure_list import ErasureLists
from ....log.collector_paused import collector_paused
from ....log.filesystem import FileSystem
from ..importers.account import Account, Import, ImportedSession
from ..importers.refused_import import ImportRefusedError
from ..importers.registry import FORMATS, Importer, format_check, importer_of, recognise
from ..importers.source_file import Source
from .import_drafts import ImportRules, import_drafts, read_drafts
from .import_log import import_log
from .import_places import Destination
from .wanted_sessions import EVERY_SESSION, WantedSessions, facts_of_log, times_of

__all__ = ["FORMATS", "Import", "ImportRefusedError", "ImportedSession", "import_session"]


def import_session(
    source: str | Path,
    *,
    session_id: str | None = None,
    path: str | Path | None = None,
    working_dir: str | None = None,
    storage: str | None = None,
    in_own_directory: bool = False,
    source_format: str = "auto",
    strict: bool = False,
    dry_run: bool = False,
    again: bool = False,
    identity: str | None = None,
    wanted: WantedSessions = EVERY_SESSION,
    erasure_lists: ErasureLists | None = None,
    now: Callable[[], str] = clock.utc_now,
    new_id: Callable[[], str] = clock.new_id,
    files: FileSystem | None = None,
) -> Import:
    """Make new sessions from a file, or add new messages to the sessions of an earlier import.

    Args:
        source: the file; it is only read. `-` is the standard input.
        session_id: the new session's id; by default derived from the source, so that a second import finds the session.
            A log keeps its own id.
        path: the new log's file, or its location; by default with the sessions of `working_dir`.
        working_dir: the directory that the new session works in; by default the current one.
        storage: the database (a location without a log's name) that gets the sessions, instead of files.
        in_own_directory: let the session work in the directory that the source names, if it names one.
        source_format: one of `FORMATS`. For a log, other values than `auto` and `log` import its messages one by one,
            including hidden ones.
        strict: refuse the file if anything would be lost.
        dry_run: only report what would be done.
        again: import also content that was deleted or purged here.
        identity: the file with the private key, if the source is sealed (age).
        wanted: the filter for the sessions of the file.
        erasure_lists: reads the lists of erasures. If several files are imported with the same object, a list is read
            again only after it has changed.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids of logs.
        files: the system calls that read the file, to report progress.

    Raises:
        ImportRefusedError: the file has no message, or another format than the named one, or `strict` is set and
            something would be lost.
        ErasedError: the session was deleted here, or its messages were purged.
        NotMeantError: no session of the file matches the filter.
        ConfigError: the session id cannot be part of a path.
        LogUnreadableError: the file is missing, or cannot be read.
        SealError: the file is sealed, and no key was given, or the key does not open it.
        OSError: a new log cannot be written, or its name is taken; nothing was changed.
    """
    if source_format not in FORMATS:
        raise ValueError(f"source_format: {source_format!r} is not known; allowed are: {', '.join(FORMATS)}")
    to = Destination(session_id, path, working_dir, storage)
    lists = erasure_lists or ErasureLists()
    with collector_paused(), Source(source, identity=identity, files=files) as opened:
        importer = _importer_for(opened, source_format)
        if importer.name == "log":
            wanted.check_log(opened.path, opened.plain_path, working_dir, opened.modified_s)
            return import_log(opened, to, lists, dry_run=dry_run, again=again, now=now)
        rules = ImportRules(wanted, in_own_directory, strict, dry_run, again, lists)
        return import_drafts(importer, opened, to, rules, now=now, new_id=new_id)


def _importer_for(opened: Source, source_format: str) -> Importer:
    """Return the importer of a file, and let the file refuse lines of other formats."""
    importer = recognise(opened) if source_format == "auto" else importer_of(source_format)
    opened.marks = importer.marks
    opened.check = format_check(importer)
    return importer


def session_times(
    path: str, wanted: WantedSessions, *, source_format: str, working_dir: str | None, identity: str | None
) -> list[tuple[int, float]]:
    """Return the wanted sessions of a file.

    Args:
        path: the file.
        wanted: the filter and the sessions that the user names.
        source_format: the format of the file; "auto" to recognise it.
        working_dir: the directory of sessions that name none; None for the current directory.
        identity: the file with the private key, for a sealed file.

    Returns:
        For each session its place in the file, from 0, and the time of its last message, in seconds since 1970.
    """
    with collector_paused(), Source(path, identity=identity) as opened:
        importer = _importer_for(opened, source_format)
        if importer.name == "log":
            facts_wanted = (opened.path, opened.plain_path, wanted.filter, working_dir, opened.modified_s)
            return wanted.meant([facts_of_log(*facts_wanted)])
        drafts = read_drafts(importer, opened, Account(), strict=False)
        return times_of(drafts, wanted, working_dir, opened.modified_s)
