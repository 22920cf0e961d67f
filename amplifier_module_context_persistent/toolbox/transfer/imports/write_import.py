"""Write the sessions of an import: write new logs, and append to logs of an earlier import (`earlier_import`)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ....errors import LockTimeoutError
from ....log.index import Index
from ....log.open_log import open_log
from ....log.record_line import FORMAT_VERSION, encode_control
from ....log.reset_record import ids_in, reset_bodies
from ....messages.json_fields import present
from ....sessions.transcript import log_id_in
from ....view.rules_of_log import header_marks
from ..copy_log import append_all, write_new_log
from ..host_files.after_rewind_or_purge import finish_rewind, rewinding, update_host_files
from ..host_files.rename_imported import rename_imported
from ..host_files.write_host_files import is_unfinished, making_session, write_host_files
from ..importers.account import Account
from .drafts import CHANGED_MEANWHILE, PLAN_HEAD, EarlierImport, ImportConflictError, SessionDraft
from .earlier_import import records_in
from .import_own_export import append_to_origin
from .source_facts import task_of, title_of

logger = logging.getLogger(__name__)

_RESET_HEAD = b'{"_record":"reset_begin"'


@dataclass(slots=True)
class SessionWriter:
    """Writes the sessions of one import, with the sub-agents and branches of each.

    Args:
        sessions: the drafts with their places, the session itself first.
        format_name: the format of the source.
        source: the path of the source's file.
        account: the report on what became of its lines.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.
    """

    sessions: Sequence[SessionDraft]
    format_name: str
    source: str
    account: Account
    now: Callable[[], str]
    new_id: Callable[[], str]
    families: dict[int, list[SessionDraft]] = field(init=False)
    """Each session with its branches and sub-agents, by its number in the file."""

    def __post_init__(self) -> None:
        self.families = {}
        for draft in self.sessions:
            self.families.setdefault(draft.family, []).append(draft)

    def write(self) -> None:
        """Write all sessions.

        Sub-agents and branches are written first, so that these exist if the session exists. If a log cannot be
        written, the files that this import made are removed; logs in a database stay, and the next import of the same
        source continues with them.

        Raises:
            OSError: a log cannot be written, or its name is taken.
        """
        new_drafts = set[SessionDraft]()
        with ExitStack() as being_made:
            try:
                for draft in reversed(self.sessions):
                    earlier = draft.earlier
                    if earlier is None:
                        being_made.enter_context(making_session(draft.target.path))
                        write_new_log(draft.target.path, chain([self._header(draft)], draft.bodies))
                        new_drafts.add(draft)
                    elif not earlier.is_older and _has_news(draft, earlier):
                        self._add(draft, earlier)
            except BaseException:
                _remove_logs(new_drafts)
                raise
            for draft in self.sessions:
                if draft in new_drafts or is_unfinished(draft.target.path):
                    write_host_files(
                        draft.target.path, created=self.now(), parent_id=draft.target.parent_id, title=title_of(draft)
                    )
                finish_rewind(draft.target.path)
            for draft in self.sessions:
                _rename(draft)

    def _header(self, draft: SessionDraft, records_in_log: int = 0, *, log_id: str = "") -> bytes:
        """Return the header record of a session.

        Args:
            draft: the session.
            records_in_log: the number of records in its log after the append is complete; 0 for a new log.
            log_id: the id of its log; empty for a new log.
        """
        target = draft.target
        return encode_control(
            "header",
            version=FORMAT_VERSION,
            log_id=log_id or self.new_id(),
            session_id=target.session_id,
            tokenizer="estimate",
            created=self.now(),
            **header_marks([], late_system="reminder"),
            **present(parent_id=target.parent_id, forked_from=draft.start.forked_from, remote=target.remote),
            imported_from=self.format_name,
            source=self._source_of(draft, records_in_log),
        )

    def _source_of(self, draft: SessionDraft, records_in_log: int) -> dict[str, Any]:
        """Return the header's `source` field: the source of the session, and the sessions that belong to it."""
        is_first = draft is self.sessions[0]
        sub_agents, branches = list[SessionDraft](), list[SessionDraft]()
        if is_first or draft.start.kind == "session":
            others = [other for other in self.families[draft.family] if other is not draft]
            sub_agents = [other for other in others if other.start.kind == "subagent"]
            branches = [other for other in others if other.start.kind == "branch"]
        tasks = [task_of(other.start.facts) for other in sub_agents]
        related = present(
            subagents=[other.target.name for other in sub_agents],
            branches=[other.target.name for other in branches],
            subagent_tasks=tasks if any(tasks) else [],
        )
        facts = {key: value for key, value in draft.start.facts.items() if value not in (None, "", {}, [])}
        source = {
            "format": self.format_name,
            "key": draft.target.key,
            "session_id": draft.start.source_id or None,
            **facts,
            **related,
            "file": self.source,
        }
        if is_first:
            source["account"] = self.account.to_json()
        source["lines"] = self.account.lines_by_file[draft.file]
        source["messages"] = draft.messages
        source["records"] = len(draft.bodies)
        source.update(present(records_in_log=records_in_log, clears=len(draft.clears)))
        return source

    def _add(self, draft: SessionDraft, earlier: EarlierImport) -> None:
        """Append new records to the log of an earlier import.

        If messages have changed in the source, the log's versions of these messages are hidden first, as by a rewind.

        Raises:
            ImportConflictError: another process has changed the log.
        """
        if draft.target.is_origin:
            append_to_origin(draft, draft.record_after(earlier.common), earlier.live)
        elif earlier.kept == earlier.live:
            self._append_new(draft, earlier)
        else:
            self._replace_changed(draft, earlier)

    def _append_new(self, draft: SessionDraft, earlier: EarlierImport) -> None:
        """Append the new records to a log whose messages have not changed in the source.

        Raises:
            ImportConflictError: another process has changed the log.
        """
        start = draft.first_new_record(earlier)
        new = draft.bodies.part(start)
        append_all(open_log(draft.target.path), lambda index: self._begin(draft, earlier, index, [], start), new)

    def _replace_changed(self, draft: SessionDraft, earlier: EarlierImport) -> None:
        """Hide the messages of a log that have changed in the source, and append their new versions.

        Raises:
            ImportConflictError: another process has changed the log.
        """
        start = draft.record_after(earlier.common)
        log = open_log(draft.target.path)

        def records_before(index: Index) -> list[bytes]:
            """Return the header, and the reset that hides changed messages. Called under the log's lock."""
            _check_unchanged(index, earlier)
            kept_ordinals = index.live[: earlier.kept]
            time = self.now()
            reset_id = self.new_id()
            hiding = reset_bodies(
                index.live, kept_ordinals, ids_in(log.read), reset_id=reset_id, reason="rewind", time=time
            )
            return self._begin(draft, earlier, index, [*hiding, *_plan_before(draft, start)], start)

        time = self.now()
        with rewinding(draft.target.path, time):
            append_all(log, records_before, draft.bodies.part(start))
        update_host_files(draft.target.path, time=time)

    def _begin(
        self, draft: SessionDraft, earlier: EarlierImport, index: Index, hiding: list[bytes], start: int
    ) -> list[bytes]:
        """Return the records before the new ones: a header, then the records that hide changed messages.

        Raises:
            ImportConflictError: another process has changed the log.
        """
        _check_unchanged(index, earlier)
        new_records = len(draft.bodies) - start
        records_then = records_in(index) + 1 + len(hiding) + new_records
        return [self._header(draft, records_then, log_id=log_id_in(index.headers)), *hiding]


def _check_unchanged(index: Index, earlier: EarlierImport) -> None:
    """Check that the log has the same number of live messages as when it was compared.

    Raises:
        ImportConflictError: another process has changed the log.
    """
    if len(index.live) != earlier.live:
        raise ImportConflictError(CHANGED_MEANWHILE)


def _rename(draft: SessionDraft) -> None:
    """Give a session that was imported before the current title of its source."""
    earlier = draft.earlier
    if earlier is None or earlier.is_older or title_of(draft) == earlier.title:
        return
    try:
        rename_imported(draft.target.path, earlier.title, title_of(draft))
    except LockTimeoutError as error:
        logger.warning("%s keeps its name: %s", draft.target.path, error.strerror)


def _plan_before(draft: SessionDraft, record: int) -> list[bytes]:
    """Return the body of the plan in force before a record, as a list with one item, or empty without a plan.

    A reset cancels a plan.
    """
    plan: list[bytes] = []
    for body in draft.bodies.part(0, record):
        if body.startswith((PLAN_HEAD, _RESET_HEAD)):
            plan = [body] if body.startswith(PLAN_HEAD) else []
    return plan


def _has_news(draft: SessionDraft, earlier: EarlierImport) -> bool:
    """Return whether a draft differs from its earlier import.

    It differs by more messages, by messages that are gone, or by a compaction after the last message.
    """
    has_more = earlier.common < draft.messages
    has_less = earlier.kept < earlier.live
    return has_more or has_less or earlier.is_cut or draft.has_new_compaction


def _remove_logs(drafts: Iterable[SessionDraft]) -> None:
    """Remove the logs of the drafts, with their directories if these are empty."""
    for draft in drafts:
        with suppress(OSError):
            os.remove(draft.target.path)
            os.rmdir(os.path.dirname(draft.target.path))
