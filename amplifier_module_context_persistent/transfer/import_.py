"""Importing: new sessions from a file of another agent, of a provider's requests, of the host, or of this package.

What a file is follows from its content (`importers.registry`). Its sessions are drafted first, then written: each log
appears whole or not at all, and where one cannot be written those of the same import are taken back. A second import
of a session adds what is new, as long as nobody went on with it here.

Nothing is lost silently: the account says what became of every line, in the report and in the new log's header.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import clock
from ..log.filesystem import FileSystem
from ..window.gc_pause import collector_paused
from .drafts import Draft, Drafts
from .importers.account import Account, Loss
from .importers.events import Importer
from .importers.own import HIDDEN
from .importers.registry import FORMATS, importer_of, recognise
from .importers.source import ImportRefusedError, Source
from .targets import Destination, Target, directory_of, targets_of
from .write_import import EarlierImport, SessionWriter

_FRAME = frozenset({"header", "reset", "keep", "commit", "reset_begin", "reset_commit"})

__all__ = ["FORMATS", "Import", "ImportRefusedError", "ImportedSession", "import_session"]


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """One session of an import: the file's own one, a branch of it, or a sub-agent."""

    kind: str
    session_id: str | None
    path: str
    messages: int
    added: int
    """Of them, those that this import added; fewer than `messages` where the session had been imported before."""
    compactions: int = 0
    usage_reports: int = 0
    is_older: bool = False
    """Whether the source is an older copy of what was imported before, which stays as it is."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Import:
    """What an import copied from a file into new logs, and what it could not."""

    source: str
    format: str
    """What the file is: the name of an importer."""
    path: str
    session_id: str | None
    account: Account
    sessions: list[ImportedSession] = field(default_factory=list)
    """The session itself first, then its branches and sub-agents."""
    roles: Counter[str] = field(default_factory=Counter)
    """The messages of the session itself, by role."""
    derived_ids: int = 0
    """Of them, those that had no id."""
    renamed: dict[str, str] = field(default_factory=dict)
    """New ids, where another message had the id, with the old ones."""
    without_timestamp: int = 0
    """Of them, those that had no timestamp."""

    @property
    def messages(self) -> int:
        """How many messages the session has."""
        return self.roles.total()

    @property
    def added(self) -> int:
        """How many messages were added, in all sessions."""
        return sum(session.added for session in self.sessions)

    @property
    def hidden(self) -> int:
        """Messages that a clear or a reset of the log had hidden; they are not copied."""
        return self.account.not_conversational[HIDDEN]

    @property
    def controls(self) -> dict[str, int]:
        """Records of a log that are no messages and are not copied (plans, receipts and so on), by kind."""
        counts = self.account.not_conversational
        named = {kind.removesuffix(" record"): number for kind, number in counts.items() if kind.endswith(" record")}
        return {kind: number for kind, number in named.items() if kind not in _FRAME}

    @property
    def not_carried(self) -> Sequence[Loss]:
        """What is lost, by line; the first ones where there are very many."""
        return self.account.lost_in_order()

    @property
    def notes(self) -> Sequence[Loss]:
        """What was wrong with lines that were copied all the same."""
        return self.account.notes

    @property
    def lost(self) -> int:
        """How many lines, or parts of lines, are lost."""
        return self.account.lost_lines + self.account.lost_parts

    def to_json(self) -> dict[str, Any]:
        """The report in plain JSON types."""
        return {
            "source": self.source,
            "format": self.format,
            "path": self.path,
            "session_id": self.session_id,
            "messages": self.messages,
            "added": self.added,
            "roles": dict(self.roles),
            "derived_ids": self.derived_ids,
            "renamed": self.renamed,
            "without_timestamp": self.without_timestamp,
            "hidden": self.hidden,
            "controls": self.controls,
            "account": self.account.to_json(),
            "sessions": [session.to_json() for session in self.sessions],
            "not_carried": [loss.to_json() for loss in self.not_carried],
            "notes": [note.to_json() for note in self.notes],
        }


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
        source: the file; it is only read.
        session_id: the new session's id; else it is derived from the source, so that a second import finds it.
        path: the new log's file, or its location; else it lies where the sessions of `working_dir` lie.
        working_dir: the directory that the new session works in; else the current one.
        storage: the database (a location without a log's name) that gets the sessions, instead of files.
        in_own_directory: let it work in the directory that the source names, if it names one.
        source_format: one of `FORMATS`; of a log, all but `auto` and `log` take hidden messages too.
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
    account = Account()
    with collector_paused(), Source(source, files=files) as opened, Drafts(account) as drafts:
        importer = recognise(opened) if source_format == "auto" else importer_of(source_format)
        for event in importer.read(opened, account):
            drafts.take(event)
        drafts.finish()
        drafts.drop_empty()
        if not drafts.sessions:
            raise ImportRefusedError(_nothing(account))
        if strict and account.lost_lines + account.lost_parts:
            raise ImportRefusedError(f"something would be lost, which --strict forbids: {_first_loss(account)}")
        if in_own_directory:
            working_dir = directory_of(drafts) or working_dir
        to: Destination = {"session_id": session_id, "path": path, "working_dir": working_dir, "storage": storage}
        targets = targets_of(opened.path, importer.name, drafts, **to)
        report = _report(opened.path, importer, targets, account)
        writer = SessionWriter(drafts, targets, importer.name, opened.path, account, now, new_id)
        found = writer.find_earlier()
        if not dry_run:
            writer.write(found)
    report.sessions = [_session(target, earlier) for target, earlier in zip(targets, found, strict=True)]
    return report


def _report(source: str, importer: Importer, targets: Sequence[Target], account: Account) -> Import:
    main = targets[0]
    draft: Draft = main.draft
    return Import(
        source,
        importer.name,
        main.path,
        main.session_id,
        account,
        roles=draft.roles,
        derived_ids=draft.derived_ids,
        renamed=draft.renamed,
        without_timestamp=draft.without_timestamp,
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
        draft.context.reports,
        is_older=earlier is not None and earlier.is_older,
    )


def _nothing(account: Account) -> str:
    lost = account.lost
    return (
        f"no line of it is a message that can be imported; {_first_loss(account)}"
        if lost
        else "there is no message in it"
    )


def _first_loss(account: Account) -> str:
    first = account.lost[0]
    where = f"{first.file}, " if first.file else ""
    return f"{where}{account.unit} {first.line:,}: {first.reason}"
