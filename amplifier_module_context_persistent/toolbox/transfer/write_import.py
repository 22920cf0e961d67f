"""Write the sessions of an import: choose their places, write new logs, and append to logs of an earlier import.

A session keeps the id that it has in the source, so that a second import finds it; without one, the id is derived from
the file's path and its first message. An id with `_` belongs to a sub-session, so only ids of sub-agents contain it:
`{parent}_{name}`.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, takewhile
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from ...config import Config
from ...errors import LockTimeoutError, LogUnreadableError
from ...forms.canonical import total
from ...log.base import ReadableLog
from ...log.database_location import location_of, split_location, stored_name
from ...log.index import Index
from ...log.not_a_log import check_is_log
from ...log.open_log import open_existing, open_log, taken_error
from ...log.record_line import CRC_TAIL_BYTES, FORMAT_VERSION, encode_control
from ...log.reset_record import ids_in, reset_bodies
from ...messages.json_fields import present
from ...messages.metadata import given_id
from ...paths import LOG_NAME, check_session_id, log_name, log_path
from ...sessions.find_session import sessions_of_id
from ...view.wire_rules import header_marks
from .copy_log import append_all, write_new_log
from .drafts import CHANGED_MEANWHILE, EarlierImport, ImportConflictError, SessionDraft
from .host_files import (
    finish_rewind,
    is_unfinished,
    making_session,
    rename_imported,
    rewinding,
    update_host_files,
    write_host_files,
)
from .importers.account import Account
from .importers.fields import session_name
from .importers.source_file import ImportRefusedError
from .own_exports import append_to_origin, compared_with_origin, exported_here
from .source_facts import task_of, title_among, title_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Destination:
    """The place that imported sessions are written to; see `import_session` for the fields."""

    session_id: str | None
    path: str | Path | None
    working_dir: str | None
    storage: str | None
    beside: str = ""
    """The log of a session in whose project the imported sessions are placed; empty if there is none."""

    @property
    def logs(self) -> str:
        """The database or the path that the logs go to; empty for the host's default place."""
        return str(self.beside or self.path or self.storage or "")

    def place(self, session_id: str | None, suffix: str = "") -> str:
        """Return the place of a session's log.

        It is in the project of `beside`, at the named path (with `suffix` in its name), in the database, or with the
        host's sessions.
        """
        if self.beside and session_id is not None:
            return _in_project_of(self.beside, session_id)
        if self.path is not None and stored_name(str(self.path)) is not None:
            return f"{self.path}{suffix}"
        if self.path is not None:
            stem, ending = os.path.splitext(os.path.expanduser(self.path))
            return os.path.abspath(f"{stem}{suffix}{ending}")
        if self.storage is not None and session_id is not None:
            return location_of(self.storage, log_name(session_id, self.working_dir or "."))
        return str(log_path(Config(), session_id=session_id, working_dir=self.working_dir))

    def found_before(self, session_id: str, key: str) -> str:
        """Return the log of this id that an earlier import of the same source made, in any project.

        Returns "" if there is none.
        """
        wanted = self.place(session_id)
        if self.path is not None or key_at(wanted) == key:
            return wanted if self.path is None else ""
        others = (str(session.path) for session in sessions_of_id(session_id, storage=self.storage))
        return next((path for path in others if path != wanted and key_at(path) == key), "")


def _in_project_of(log: str, session_id: str) -> str:
    """Return the place of a session's log in the same project as another log."""
    if (name := stored_name(log)) is not None:
        return location_of(split_location(log)[0], f"{name.rpartition('/')[0]}/{session_id}")
    return str(Path(log).parents[1] / session_id / LOG_NAME)


def place_sessions(sessions: Sequence[SessionDraft], source: str, format_name: str, to: Destination) -> None:
    """Set the ids, keys and paths of all sessions of an import.

    Args:
        sessions: the drafts, each session before its branches and sub-agents.
        source: the path of the source's file.
        format_name: the format of the source.
        to: the destination.

    Raises:
        ConfigError: the session id cannot be part of a path.
        ImportRefusedError: one id is given for several sessions.
    """
    for draft, before in zip(sessions[1:], sessions, strict=False):
        draft.family = before.family + (draft.start.kind == "session")
    families = [list(family) for _, family in groupby(sessions, lambda draft: draft.family)]
    if to.session_id is not None and len(families) > 1:
        raise ImportRefusedError(f"the file holds {len(families):,} sessions, which cannot all be {to.session_id!r}")
    for family in families:
        _place_family(family, source, format_name, to)


def _place_family(family: Sequence[SessionDraft], source: str, format_name: str, to: Destination) -> None:
    """Set the ids, keys and paths of a session, its branches and its sub-agents."""
    main, *others = family
    first = _first_hash(main)
    suffix = f"-{main.family + 1}" if main.family else ""
    given = main.start.source_id or main.start.parent_source_id
    main.key = f"{format_name}:{given or source}:{main.start.name}:{first[:16]}"
    main.session_id = to.session_id
    if to.path is None and to.session_id is None:
        origin = exported_here(main, to.storage)
        if origin:
            main.is_origin, main.session_id = True, main.start.exported_from
            to = replace(to, beside=origin)
        else:
            to = _with_id(main, _derived(session_name(given), main), first[:8], to)
    if main.session_id is not None:
        check_session_id(main.session_id)
    main.path = to.place(main.session_id, suffix)
    main.parent_id = main.start.parent_source_id or None

    taken = set[str]()
    for number, draft in enumerate(others, 1):
        name = draft.start.name or f"part{number}"
        while name in taken:
            name = f"{name}-{number}"
        taken.add(name)
        is_sub_agent = draft.start.kind == "subagent"
        ending = f"_{name}" if is_sub_agent else f"-{name}"
        draft.parent_id = main.session_id
        draft.session_id = None if main.session_id is None else f"{main.session_id}{ending}"
        draft.path = to.place(draft.session_id, f"{suffix}{ending}")
        draft.key = f"{main.key}:{name}"
        key_alone = f"{format_name}:{given}:{name}:{_first_hash(draft)[:16]}"
        if is_sub_agent and key_at(draft.path) == key_alone:  # its file was imported without the session before
            draft.key = key_alone


def _with_id(main: SessionDraft, derived: str, mark: str, to: Destination) -> Destination:
    """Set the id of a session, and return its destination. A session that was imported before stays in its project.

    If another session has the id, `mark` is added to it. This happens because trajectories share ids, and because other
    agents choose their own ids.
    """
    check_session_id(derived)
    for session_id in (derived, f"{derived}-{mark}"):
        if found := to.found_before(session_id, main.key):
            main.session_id = session_id
            return replace(to, beside=found)
    is_taken = key_at(to.place(derived)) not in (None, main.key)
    main.session_id = f"{derived}-{mark}" if is_taken else derived
    return to


def _first_hash(draft: SessionDraft) -> str:
    """Return the SHA-256 of a session's first message, in hexadecimal. Every draft has a message."""
    return hashlib.sha256(draft.bodies[draft.at[0]]).hexdigest()


def _rename(draft: SessionDraft) -> None:
    """Give a session that was imported before the current title of its source."""
    earlier = draft.earlier
    if earlier is None or earlier.is_older or title_of(draft) == earlier.title:
        return
    try:
        rename_imported(draft.path, earlier.title, title_of(draft))
    except LockTimeoutError as error:
        logger.warning("%s keeps its name: %s", draft.path, error.strerror)


def _derived(given: str, main: SessionDraft) -> str:
    if not given:
        return str(uuid5(NAMESPACE_URL, main.key))
    return f"{given}_{main.start.name}" if main.start.kind == "subagent" and main.start.name else given


def key_at(path: str) -> str | None:
    """Return the key of the import that made a log.

    Returns "" for any other file, and None if there is no file.
    """
    try:
        reader = open_earlier(path)
    except OSError:
        return ""
    if reader is None:
        return None
    with closing(reader):
        source = reader.index.headers[0].get("source") if reader.index.headers else None
    return str(source.get("key")) if isinstance(source, dict) else ""


_PLAN_HEAD, _RESET_HEAD = b'{"_record":"plan"', b'{"_record":"reset_begin"'


@dataclass(slots=True)
class SessionWriter:
    """Writes the sessions of one import.

    Args:
        sessions: the drafts with their places, the session itself first.
        format_name: the format of the source.
        source: the path of the source's file.
        account: the report on what became of its lines.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.
        again: whether content that was purged here is imported again.
    """

    sessions: Sequence[SessionDraft]
    format_name: str
    source: str
    account: Account
    now: Callable[[], str]
    new_id: Callable[[], str]
    again: bool = False
    families: dict[int, list[SessionDraft]] = field(init=False)
    """Each session with its branches and sub-agents, by its number in the file."""

    def __post_init__(self) -> None:
        self.families = {}
        for draft in self.sessions:
            self.families.setdefault(draft.family, []).append(draft)

    def write(self) -> None:
        """Write all sessions.

        Sub-agents and branches are written first, so they exist if the session exists. If a log cannot be written, the
        files that this import made are removed; logs in a database stay, and the next import of the same source
        continues with them.

        Raises:
            OSError: a log cannot be written, or its name is taken.
        """
        made = set[SessionDraft]()
        with ExitStack() as being_made:
            try:
                for draft in reversed(self.sessions):
                    earlier = draft.earlier
                    if earlier is None:
                        being_made.enter_context(making_session(draft.path))
                        write_new_log(draft.path, chain([self._header(draft)], draft.bodies))
                        made.add(draft)
                    elif not earlier.is_older and (
                        earlier.common < draft.messages or earlier.kept < earlier.live or earlier.is_cut
                    ):
                        self._add(draft, earlier)
            except BaseException:
                for draft in made:
                    with suppress(OSError):
                        os.remove(draft.path)
                        os.rmdir(os.path.dirname(draft.path))
                raise
            for draft in self.sessions:
                if draft in made or is_unfinished(draft.path):
                    write_host_files(draft.path, created=self.now(), parent_id=draft.parent_id, title=title_of(draft))
                finish_rewind(draft.path)
            for draft in self.sessions:
                _rename(draft)

    def _header(self, draft: SessionDraft, records_in_log: int = 0) -> bytes:
        """Return the header record of a session.

        Args:
            draft: the session.
            records_in_log: the number of records in its log after the append is complete; 0 for a new log.
        """
        return encode_control(
            "header",
            version=FORMAT_VERSION,
            log_id=self.new_id(),
            session_id=draft.session_id,
            tokenizer="estimate",
            created=self.now(),
            **header_marks([], late_system="reminder"),
            **present(parent_id=draft.parent_id, forked_from=draft.start.forked_from, remote=draft.remote),
            imported_from=self.format_name,
            source=self._source_of(draft, records_in_log),
        )

    def _source_of(self, draft: SessionDraft, records_in_log: int) -> dict[str, Any]:
        """Return the header's `source` field: where a session comes from, and which sessions belong to it."""
        is_first = draft is self.sessions[0]
        sub_agents, branches = list[SessionDraft](), list[SessionDraft]()
        if is_first or draft.start.kind == "session":
            others = [other for other in self.families[draft.family] if other is not draft]
            sub_agents = [other for other in others if other.start.kind == "subagent"]
            branches = [other for other in others if other.start.kind == "branch"]
        tasks = [task_of(other.start.facts) for other in sub_agents]
        return {
            "format": self.format_name,
            "key": draft.key,
            "session_id": draft.start.source_id or None,
            **{key: value for key, value in draft.start.facts.items() if value not in (None, "", {}, [])},
            **present(
                subagents=[other.session_id or other.path for other in sub_agents],
                branches=[other.session_id or other.path for other in branches],
                subagent_tasks=tasks if any(tasks) else [],
            ),
            "file": self.source,
            **({"account": self.account.to_json()} if is_first else {}),
            "lines": self.account.lines_by_file[draft.file],
            "messages": draft.messages,
            "records": len(draft.bodies),
            **present(records_in_log=records_in_log, clears=len(draft.clears)),
        }

    def find_earlier(self) -> None:
        """Compare the logs of earlier imports with the source, and set each draft's `earlier`.

        Raises:
            FileExistsError: the name of a session's log is taken by something that is not an earlier import of the
                session.
            ImportConflictError: a session was continued both here and in its source.
        """
        for draft in self.sessions:
            if (reader := open_earlier(draft.path)) is not None:
                with closing(reader):
                    if draft.is_origin:
                        draft.earlier = compared_with_origin(draft, reader, title_of(draft))
                        continue
                    found = self._compared(draft, reader)
                    facts = _source_in(reader)
                    draft.earlier = replace(found, title=title_among(facts, draft))

    def _compared(self, draft: SessionDraft, reader: ReadableLog) -> EarlierImport:
        source = _source_in(reader)
        if source.get("key") != draft.key:
            raise taken_error(draft.path)
        lines, messages, records, clears = (
            total(source.get(key)) or 0 for key in ("lines", "messages", "records", "clears")
        )
        if reader.index.control_counts["purge"]:
            return self._compared_with_purged(draft, reader, messages=messages, records=records)
        begin, end = [0, *draft.clears, draft.messages][min(clears, len(draft.clears)) :][:2]
        pairs = zip((draft.bodies[at] for at in draft.at[begin:end]), reader.lines(reader.index.live), strict=False)
        kept = sum(1 for _ in takewhile(lambda pair: pair[1][1][:-CRC_TAIL_BYTES] == pair[0], pairs))
        live = len(reader.index.live)
        is_untouched = messages - begin == live
        is_cut = _records_in(reader.index) < (total(source.get("records_in_log")) or 0)
        found = EarlierImport(begin + kept, kept, live, 0 if is_cut else records, is_cut=is_cut)
        if self.account.lines_by_file[draft.file] < lines or clears > len(draft.clears):
            return EarlierImport(draft.messages, live, live, records, is_older=True)
        if found.common == draft.messages and not is_untouched:  # the session was continued here only
            return EarlierImport(draft.messages, live, live, records)
        if kept < live:
            _check_may_be_cut(draft, found, is_untouched=is_untouched)
        return found

    def _compared_with_purged(
        self, draft: SessionDraft, reader: ReadableLog, *, messages: int, records: int
    ) -> EarlierImport:
        """Compare a draft with the log of an earlier import that was purged since.

        All messages that were imported before count as known, even if the purge removed them.

        Raises:
            ImportConflictError: the session was continued both here and in its source; or purged content was asked for
                again.
        """
        named = draft.session_id or draft.path
        if self.again:
            raise ImportConflictError(
                f"session {named} was purged here since; delete it, then import it with --again, to have it as it was"
            )
        index, places = reader.index, {one: place for place, one in enumerate(draft.ids)}
        found = [places.get(given_id(message) or "") for message in reader.read(index.live)]
        last = max((place for place in found if place is not None), default=-1)
        common = min(max(messages, last + 1), draft.messages)
        went_on = bool(found) and found[-1] is None
        if went_on and common < draft.messages:
            raise ImportConflictError(
                f"session {named} was purged here and went on here, and its source went on too; nothing was added"
            )
        is_older = draft.messages < messages
        return EarlierImport(common, len(index.live), len(index.live), records, is_older=is_older)

    def _add(self, draft: SessionDraft, earlier: EarlierImport) -> None:
        """Append new records to the log of an earlier import.

        If messages have changed in the source, the log's versions are hidden first, as a rewind does.
        """
        start, records = draft.record_after(earlier.common), len(draft.bodies)
        if draft.is_origin:
            append_to_origin(draft, start, earlier.live)
            return
        keeps_all = earlier.kept == earlier.live
        if keeps_all:  # records that followed the last message at that time are in the log already
            following = draft.at[earlier.common] if earlier.common < draft.messages else records
            start = min(max(start, earlier.records), following)
        log = open_log(draft.path)

        def records_before(index: Index) -> list[bytes]:
            """Return the header and, if needed, the reset that hides changed messages. Called under the log's lock."""
            if len(index.live) != earlier.live:
                raise ImportConflictError(CHANGED_MEANWHILE)
            hiding = list[bytes]()
            if not keeps_all:
                kept, time = index.live[: earlier.kept], self.now()
                reset_id = self.new_id()
                hiding += reset_bodies(
                    index.live, kept, ids_in(log.read), reset_id=reset_id, reason="rewind", time=time
                )
                hiding += _plan_before(draft, start)
            records_then = _records_in(index) + 1 + len(hiding) + records - start
            return [self._header(draft, records_then), *hiding]

        new = draft.bodies.part(start)
        if keeps_all:
            append_all(log, records_before, new)
            return
        time = self.now()
        with rewinding(draft.path, time):
            append_all(log, records_before, new)
        update_host_files(draft.path, time=time)


def _source_in(reader: ReadableLog) -> Mapping[str, Any]:
    """Return the `source` field of a log's last import, or an empty mapping.

    A session that continues the log may have written a later header without this field.
    """
    given = (header.get("source") for header in reversed(reader.index.headers))
    return next((source for source in given if isinstance(source, dict)), {})


def _records_in(index: Index) -> int:
    """Return the number of a log's records, including control records."""
    return len(index) + sum(index.control_counts.values())


def _plan_before(draft: SessionDraft, record: int) -> list[bytes]:
    """Return the body of the plan in force before a record, as a list of one or no item. A reset cancels a plan."""
    plan: list[bytes] = []
    for body in draft.bodies.part(0, record):
        if body.startswith((_PLAN_HEAD, _RESET_HEAD)):
            plan = [body] if body.startswith(_PLAN_HEAD) else []
    return plan


def open_earlier(path: str) -> ReadableLog | None:
    """Open the log that exists at a new log's place, or return None if there is none.

    Raises:
        FileExistsError: something that is not a log has the name.
        LogUnreadableError: the database cannot be read.
    """
    if (reader := open_existing(path)) is None:
        return None
    try:
        reader.follow()
        check_is_log(reader)
    except LogUnreadableError as error:
        reader.close()
        raise taken_error(path) from error
    return reader


def _check_may_be_cut(draft: SessionDraft, found: EarlierImport, *, is_untouched: bool) -> None:
    """Check that live messages may be hidden because the source has other messages in their place now.

    Raises:
        ImportConflictError: the session was continued here, or even its first message has changed in the source.
    """
    if not is_untouched:
        raise ImportConflictError(
            f"session {draft.session_id or draft.path} went on here after {found.common:,} messages of its source, "
            "and the source went on too; import it under another id (--session)"
        )
    if not found.common:
        raise ImportConflictError(
            f"session {draft.session_id or draft.path} was imported before, and its source begins with another "
            "message now; import it under another id (--session)"
        )
