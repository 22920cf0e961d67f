"""Import the sessions of a file that is not a log: draft, place and compare them with earlier imports, then write them.

Each log appears whole or not at all. If one cannot be written, the other logs of this import are removed again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ....checkout_remote import remote_of
from ....erasures.erasure_list import ErasureLists, lift
from ..importers.account import Account, Import, ImportedSession, LostLine
from ..importers.refused_import import ImportRefusedError
from ..importers.registry import Importer
from ..importers.source_file import Source
from .drafts import Drafts, SessionDraft
from .earlier_import import find_earlier, key_at
from .import_erasures import honour_erasures
from .import_places import Destination, place_sessions
from .source_facts import directory_of
from .wanted_sessions import WantedSessions
from .write_import import SessionWriter


@dataclass(frozen=True, slots=True)
class ImportRules:
    """The options of an import. The arguments of `import_session` with the same names explain each."""

    wanted: WantedSessions
    in_own_directory: bool
    strict: bool
    dry_run: bool
    again: bool
    erasure_lists: ErasureLists


def import_drafts(
    importer: Importer,
    opened: Source,
    to: Destination,
    rules: ImportRules,
    *,
    now: Callable[[], str],
    new_id: Callable[[], str],
) -> Import:
    """Import the wanted sessions of a file. Errors are those of `import_session`.

    Args:
        importer: reads the file's format.
        opened: the file.
        to: the place for the sessions.
        rules: what the import may do.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids of logs.
    """
    account = Account()
    drafted = read_drafts(importer, opened, account, strict=rules.strict)
    sessions = rules.wanted.among(drafted, to.working_dir, opened.modified_s)
    if rules.in_own_directory:
        to = replace(to, working_dir=directory_of(sessions[0]) or to.working_dir)
    place_sessions(sessions, opened.path, importer.name, to)
    _note_remotes(sessions, to)
    present = [draft.target.is_origin or key_at(draft.target.path) == draft.target.key for draft in sessions]
    honoured = honour_erasures(sessions, present, rules.erasure_lists, again=rules.again)
    compared = find_earlier(honoured.sessions, account, again=rules.again)
    writer = SessionWriter(compared, importer.name, opened.path, account, now, new_id)
    if not rules.dry_run:
        writer.write()
        lift(honoured.overridden, sessions[0].target.path)
    return _report(writer, honoured.sentences)


def _note_remotes(sessions: Sequence[SessionDraft], to: Destination) -> None:
    """Set the `remote` of each session: its project's remote repository, by which other checkouts find the session.

    The project is the directory for which the sessions are placed. If the path of the new log is given, the project is
    the directory that the source names.
    """
    for draft in sessions:
        if to.path is not None or to.beside:
            directory = directory_of(draft)
        else:
            directory = to.working_dir or os.curdir
        if directory is not None and os.path.isdir(directory):
            draft.target.remote = remote_of(directory)


def _text_passed_over(source: Source) -> list[LostLine]:
    """Return notes about the text before and after a JSON document."""
    around = source.passed_over
    before = LostLine(1, 0, f"the text before the JSON is passed over: {around.before[:80]!r}")
    after = LostLine(around.end_line, None, f"the text after the JSON is passed over: {around.after[:80]!r}")
    return [note for note, has_text in ((before, around.before), (after, around.after)) if has_text]


def read_drafts(importer: Importer, source: Source, account: Account, *, strict: bool) -> list[SessionDraft]:
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
        main.target.path,
        main.target.session_id,
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
    common = earlier.common if earlier is not None else 0
    return ImportedSession(
        draft.start.kind,
        draft.target.session_id,
        draft.target.path,
        draft.messages,
        draft.messages - common,
        draft.plans.compactions,
        draft.reports,
        is_older=earlier is not None and earlier.is_older,
        is_origin=draft.target.is_origin,
        hidden_here=earlier.hidden_here if earlier is not None else 0,
        has_new_compaction=draft.has_new_compaction,
    )


def _nothing(account: Account) -> str:
    if not account.lost:
        return "there is no message in it"
    return f"no line of it is a message that can be imported; {_first_loss(account)}"


def _first_loss(account: Account) -> str:
    first = account.lost[0]
    where = f"{first.file}, " if first.file else ""
    return f"{where}{account.unit} {first.line:,}: {first.reason}"
