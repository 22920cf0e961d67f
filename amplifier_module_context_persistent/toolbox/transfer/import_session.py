"""Import sessions from a file of another agent, of a provider's requests, of the host, or of this package.

A file's format is recognised by its content (`importers.registry`). A log is copied (`import_log`). The sessions of
other files are drafted first, then written: each log appears whole or not at all, and if one cannot be written, the
other logs of this import are removed again. A second import of a session adds new messages, as long as nobody continued
the session here.

Nothing is lost silently: an account of what became of every line is in the report and in the new log's header.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ... import clock
from ...checkout_remote import remote_of
from ...log.filesystem import FileSystem
from ...window.collector_paused import collector_paused
from .drafts import Drafts, SessionDraft
from .earlier_import import find_earlier, key_at
from .erasure_list import lift
from .import_erasures import honour_erasures
from .import_log import import_log
from .import_places import Destination, place_sessions
from .importers.account import Account, Import, ImportedSession, LostLine
from .importers.registry import FORMATS, Importer, format_check, importer_of, recognise
from .importers.source_file import ImportRefusedError, Source
from .source_facts import directory_of
from .wanted_sessions import EVERY_SESSION, WantedSessions, facts_of_log, times_of
from .write_import import SessionWriter

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
    with collector_paused(), Source(source, identity=identity, files=files) as opened:
        importer = recognise(opened) if source_format == "auto" else importer_of(source_format)
        opened.check = format_check(importer)
        if importer.name == "log":
            wanted.check_log(opened.path, opened.plain_path, working_dir, opened.modified_s)
            return import_log(opened, to, dry_run=dry_run, again=again, now=now)
        account = Account()
        drafted = _drafted(importer, opened, account, strict=strict)
        sessions = wanted.among(drafted, working_dir, opened.modified_s)
        if in_own_directory:
            to = replace(to, working_dir=directory_of(sessions[0]) or working_dir)
        place_sessions(sessions, opened.path, importer.name, to)
        _note_remotes(sessions, to)
        present = [draft.is_origin or key_at(draft.path) == draft.key for draft in sessions]
        honoured = honour_erasures(sessions, present, again=again)
        find_earlier(honoured.sessions, account, again=again)
        writer = SessionWriter(honoured.sessions, importer.name, opened.path, account, now, new_id)
        if not dry_run:
            writer.write()
            lift(honoured.overridden, sessions[0].path)
        return _report(writer, honoured.told)


def _note_remotes(sessions: Sequence[SessionDraft], to: Destination) -> None:
    """Set each session's `remote`: the remote repository of its project, by which other checkouts find the session.

    The project is the directory that the sessions are placed for. If the new log's path is given, it is the directory
    that the source names.
    """
    for draft in sessions:
        directory = directory_of(draft) if to.path is not None or to.beside else to.working_dir or os.curdir
        if directory is not None and os.path.isdir(directory):
            draft.remote = remote_of(directory)


def _text_passed_over(source: Source) -> list[LostLine]:
    """Return notes about the text before and after a JSON document."""
    around = source.passed_over
    before = LostLine(1, 0, f"the text before the JSON is passed over: {around.before[:80]!r}")
    after = LostLine(around.end_line, None, f"the text after the JSON is passed over: {around.after[:80]!r}")
    return [note for note, said in ((before, around.before), (after, around.after)) if said]


def _drafted(importer: Importer, source: Source, account: Account, *, strict: bool) -> list[SessionDraft]:
    """Read the sessions of a file as drafts.

    Raises:
        ImportRefusedError: the file has no session, or something would be lost and `strict` forbids it.
    """
    drafts = Drafts(account, source.spool)
    for event in importer.read(source, account):
        drafts.take(event)
    drafts.finish()
    account.notes += _text_passed_over(source)
    if not drafts.sessions:
        raise ImportRefusedError(source.strangeness() or _nothing(account))
    if strict and account.lost_lines + account.lost_parts:
        raise ImportRefusedError(f"something would be lost, which --strict forbids: {_first_loss(account)}")
    return drafts.sessions


def _report(writer: SessionWriter, erased: list[str]) -> Import:
    main = writer.sessions[0]
    whole_sessions = [draft for draft in writer.sessions if draft is main or draft.start.kind == "session"]
    report = Import(
        writer.source,
        writer.format_name,
        main.path,
        main.session_id,
        writer.account,
        sessions=[_imported(draft) for draft in writer.sessions],
        derived_ids=sum(draft.derived_ids for draft in whole_sessions),
        without_timestamp=sum(draft.without_timestamp for draft in whole_sessions),
        erased=erased,
    )
    for draft in whole_sessions:
        report.roles += draft.roles
        report.renamed.update(draft.renamed)
    return report


def _imported(draft: SessionDraft) -> ImportedSession:
    earlier = draft.earlier
    return ImportedSession(
        draft.start.kind,
        draft.session_id,
        draft.path,
        draft.messages,
        draft.messages - (earlier.common if earlier is not None else 0),
        draft.compactions,
        draft.reports,
        is_older=earlier is not None and earlier.is_older,
        is_origin=draft.is_origin,
    )


def _nothing(account: Account) -> str:
    if not account.lost:
        return "there is no message in it"
    return f"no line of it is a message that can be imported; {_first_loss(account)}"


def _first_loss(account: Account) -> str:
    first = account.lost[0]
    where = f"{first.file}, " if first.file else ""
    return f"{where}{account.unit} {first.line:,}: {first.reason}"


def session_times(
    path: str, wanted: WantedSessions, *, source_format: str, working_dir: str | None, identity: str | None
) -> list[tuple[int, float]]:
    """Return the wanted sessions of a file.

    Returns:
        For each session its place in the file, from 0, and the time of its last message, in seconds since 1970.
    """
    with collector_paused(), Source(path, identity=identity) as opened:
        importer = recognise(opened) if source_format == "auto" else importer_of(source_format)
        if importer.name == "log":
            asked = (opened.path, opened.plain_path, wanted.filter, working_dir, opened.modified_s)
            return wanted.meant([facts_of_log(*asked)])
        opened.check = format_check(importer)
        drafts = _drafted(importer, opened, Account(), strict=False)
        return times_of(drafts, wanted, working_dir, opened.modified_s)
