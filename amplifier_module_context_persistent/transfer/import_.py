"""Importing: new sessions from a file of another agent, of a provider's requests, of the host, or of this package.

What a file is follows from its content (`importers.registry`). A log is copied (`import_log`). The sessions of another
file are drafted first, then written: each log appears whole or not at all, and where one cannot be written those of the
same import are taken back. A second import of a session adds what is new, as long as nobody went on with it here.

Nothing is lost silently: the account says what became of every line, in the report and in the new log's header.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from .. import clock
from ..log.filesystem import FileSystem
from ..window.gc_pause import collector_paused
from .drafts import Drafts
from .import_log import import_log
from .import_report import Import, ImportedSession
from .importers.account import Account
from .importers.events import Importer
from .importers.registry import FORMATS, format_check, importer_of, recognise
from .importers.source import ImportRefusedError, Source
from .targets import Destination, Target, directory_of, targets_of
from .write_import import EarlierImport, SessionWriter

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
    now: Callable[[], str] = clock.utc_now,
    new_id: Callable[[], str] = clock.new_id,
    files: FileSystem | None = None,
) -> Import:
    """Make new sessions from a file, or add to those that were made from it before.

    Args:
        source: the file; it is only read. `-` is the standard input.
        session_id: the new session's id; else it is derived from the source, so that a second import finds it. A log
            keeps its own.
        path: the new log's file, or its location; else it lies where the sessions of `working_dir` lie.
        working_dir: the directory that the new session works in; else the current one.
        storage: the database (a location without a log's name) that gets the sessions, instead of files.
        in_own_directory: let it work in the directory that the source names, if it names one.
        source_format: one of `FORMATS`; of a log, all but `auto` and `log` make messages anew, hidden ones too.
        strict: refuse if anything would be lost.
        dry_run: only say what would be done.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids of logs.
        files: the system calls that read the file, to watch them.

    Raises:
        ImportRefusedError: there is no message in it, it is not of the format that was named, or something would be
            lost and `strict` forbids it.
        ConfigError: the session id cannot be part of a path.
        LogUnreadableError: the file is not there, or cannot be read.
        OSError: a new log cannot be written, or something else has its name; nothing was changed.
    """
    if source_format not in FORMATS:
        raise ValueError(f"source_format: {source_format!r} is not known; allowed are: {', '.join(FORMATS)}")
    to: Destination = {"session_id": session_id, "path": path, "working_dir": working_dir, "storage": storage}
    with collector_paused(), Source(source, files=files) as opened:
        importer = recognise(opened) if source_format == "auto" else importer_of(source_format)
        opened.check = format_check(importer)
        if importer.name == "log":
            return import_log(opened, to, dry_run=dry_run, now=now)
        account = Account()
        drafts = Drafts(account)
        _draft(drafts, importer, opened, account, strict=strict)
        if in_own_directory:
            to["working_dir"] = directory_of(drafts) or working_dir
        targets = targets_of(opened.path, importer.name, drafts, **to)
        writer = SessionWriter(drafts, targets, importer.name, opened.path, account, now, new_id)
        found = writer.find_earlier()
        if not dry_run:
            writer.write(found)
        return _report(writer, found)


def _draft(drafts: Drafts, importer: Importer, source: Source, account: Account, *, strict: bool) -> None:
    """Draft the sessions of a file.

    Raises:
        ImportRefusedError: there is none, or something would be lost and `strict` forbids it.
    """
    for event in importer.read(source, account):
        drafts.take(event)
    drafts.finish()
    if not drafts.sessions:
        raise ImportRefusedError(source.strangeness() or _nothing(account))
    if strict and account.lost_lines + account.lost_parts:
        raise ImportRefusedError(f"something would be lost, which --strict forbids: {_first_loss(account)}")


def _report(writer: SessionWriter, found: Sequence[EarlierImport | None]) -> Import:
    main = writer.targets[0]
    return Import(
        writer.source,
        writer.format_name,
        main.path,
        main.session_id,
        writer.account,
        sessions=[_session(target, earlier) for target, earlier in zip(writer.targets, found, strict=True)],
        roles=main.draft.roles,
        derived_ids=main.draft.derived_ids,
        renamed=main.draft.renamed,
        without_timestamp=main.draft.without_timestamp,
    )


def _session(target: Target, earlier: EarlierImport | None) -> ImportedSession:
    draft = target.draft
    return ImportedSession(
        draft.start.kind,
        target.session_id,
        target.path,
        draft.messages,
        draft.messages - (earlier.common if earlier is not None else 0),
        draft.compactions,
        draft.reports,
        is_older=earlier is not None and earlier.is_older,
    )


def _nothing(account: Account) -> str:
    if not account.lost:
        return "there is no message in it"
    return f"no line of it is a message that can be imported; {_first_loss(account)}"


def _first_loss(account: Account) -> str:
    first = account.lost[0]
    where = f"{first.file}, " if first.file else ""
    return f"{where}{account.unit} {first.line:,}: {first.reason}"
