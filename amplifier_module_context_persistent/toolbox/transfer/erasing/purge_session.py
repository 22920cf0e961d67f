"""Purge a session: remove content from its log, from files that this package wrote beside it, and from leftovers.

Rules:
- Before the log changes, a note beside it says that a purge has begun (`note_beside_log`). A purge
  that finds the note finishes the interrupted one.
- The log is purged first. Then the `transcript.jsonl` that a fork or an import wrote is written again, and a redacted
  text is replaced in the name, the description and the working directory in the `metadata.json` that we wrote. If all
  messages are removed, the name and the description go too, because they may be made from messages. Copies that a
  rewind kept, and files that killed operations left ("leftovers"), are deleted.
- A session of another agent that a fork wrote (`noted_agent_forks`) is redacted too, as long as the agent has not
  gone on with it.
- Files that the host wrote or changed stay. They are reported if they hold content that was to be removed.
- An archived log is written as a plain log, and then archived again.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ....catalogue.catalogue_file import remove_catalogue
from ....erasures.erasure_list import lift, note_erasure
from ....erasures.erasure_record import MESSAGES, TEXT, Erasure
from ....erasures.text_rule import TextRule
from ....errors import ArchiveError, LogError, LogFailedError, PurgeError, reason_of
from ....hosts import projects_dirs
from ....log.contract import ReadableLog
from ....log.database_location import stored_name
from ....log.filesystem import FileSystem
from ....log.save_torn_tail import saved_tails
from ....messages.replace_in_message import Replace
from ....paths import LOG_NAME, why_linked
from ...maintenance.leftovers import doubtful_parts, files_left, place_left
from ...maintenance.note_beside_log import PURGING, WrittenFiles, content_of
from ...maintenance.purge_log import plan_purge, purge_log
from ...maintenance.purge_options import Purge, PurgeCounts
from ...maintenance.purge_rewrite import ordinals_gone
from ...maintenance.reused_scan import KnownScan
from ..archive_session import archive_session, is_archived_session
from ..host_files.after_rewind_or_purge import update_host_files
from ..host_files.files_beside_log import HOSTS_NAMES, TRANSCRIPT_NAME, is_hosts_log, read_metadata
from ..host_files.find_host_copies import backups, host_copies, named_in, told_matches
from ..host_files.metadata_fields import NAME_KEYS, with_texts_replaced, without_name
from ..host_files.own_host_files import changed_since, own_files
from .erased_session_names import names_in
from .hard_links import catalogue_files, with_other_names
from .new_erasure import erasure_of
from .noted_agent_forks import AgentFork, agent_forks, agent_forks_of, matches_in, redact_agent_fork


@dataclass(slots=True)
class RemainingContent:
    """What stays after a purge, and holds content that was to be removed, or may hold it."""

    copies: list[str] = field(default_factory=list)
    """The paths of copies that stay, of the host or of another agent, each with a remark if there is one. For a
    redaction, only copies with the text.
    """
    linked: list[str] = field(default_factory=list)
    """Paths of our files that the purge removes or writes anew, and that have other names (hard links), under which the
    removed content stays."""
    is_id_matching: bool = False
    """Whether the session's id contains the text that is redacted; ids are not changed."""
    is_certain: bool = False
    """Whether anything that stays still holds content that was to be removed."""


@dataclass(slots=True)
class SessionPurge:
    """The plan of a purge: the content to remove from a session, and the copies of its messages that stay."""

    path: str
    counts: PurgeCounts = field(default_factory=PurgeCounts)
    known: KnownScan | None = None
    """The scan of the log's file that was made for the plan, so that the purge need not scan the file again."""
    own: Path | None = None
    """The `transcript.jsonl` of an import or a fork, if the purge has to write it anew; else None."""
    removed: list[str] = field(default_factory=list)
    """The paths of our files that are deleted: copies that a rewind kept, and files that killed operations left."""
    agent_forks: list[AgentFork] = field(default_factory=list)
    """The sessions of other agents that forks of this session wrote, that hold the text, and that are still ours."""
    is_log: bool = True
    """Whether `path` is a log, and not the session of another agent whose origin is not purged with it."""
    log_id: str = ""
    """The id of the log in its header; empty if the header has none."""
    remaining: RemainingContent = field(default_factory=RemainingContent)
    finishes: bool = False
    """Whether an earlier purge was interrupted, so that this purge finishes it."""
    error: str = ""
    """The reason why the session cannot be read; "" for a readable session."""

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to remove and nothing to finish."""
        has_other_work = self.own is not None or bool(self.removed or self.finishes or self.agent_forks)
        return self.counts.is_nothing and not has_other_work


def plan_session_purge(path: str, what: Purge, *, files: FileSystem | None = None) -> SessionPurge:
    """Plan a purge of a session. Writes nothing.

    Args:
        path: the session's log (a file, or a location in a database).
        what: the content to remove.
        files: the system calls that read the log, to report progress.

    Raises:
        PurgeError: this log cannot be purged in this way.
        LogUnreadableError: there is no log, or it cannot be read.
        OSError: a file beside the log cannot be read.
    """
    reason = why_linked(path)
    if reason:
        raise PurgeError(reason)
    log = plan_purge(path, what, files=files)
    planned = SessionPurge(path, log.counts, known=log.known, log_id=log.log_id)
    if what.torn and stored_name(path) is None:
        planned.remaining.linked = with_other_names(saved_tails(path))
        planned.remaining.is_certain = bool(planned.remaining.linked)
    if what.is_torn_only:
        return planned
    removed_or_rewritten = set[str]()
    doubtful: list[str] = []
    if stored_name(path) is None:
        own = own_files(path)
        planned.finishes = WrittenFiles.beside(path).begun == PURGING
        planned.removed = [*files_left(path, HOSTS_NAMES), *_backups_to_go(path, what, planned)]
        if own and _falls_behind(own, what, planned):
            planned.own = own[0]
        planned.remaining.linked += _linked(path, own, what, planned)
        removed_or_rewritten = {*planned.removed, *(os.fspath(file) for file in own)}
        doubtful = doubtful_parts(path, HOSTS_NAMES)
    copies = [copy for copy in host_copies(path, log.session_id) if copy not in removed_or_rewritten]
    copies += doubtful
    if what.redact is None:
        _note_copies(planned, copies)
    else:
        names = [name for name in named_in(path) if name not in removed_or_rewritten]
        planned.remaining.is_id_matching = _id_holds(path, log.session_id, what.redact)
        _note_matches(planned, [*copies, *names], what.redact)
    return planned


def _note_copies(planned: SessionPurge, copies: Sequence[str]) -> None:
    """Note the copies of a session's messages that a purge of whole messages does not change."""
    changed = [os.fspath(file) for file in changed_since(planned.path) if file.name == TRANSCRIPT_NAME]
    planned.remaining.copies = [f"{copy}: the host has changed it" if copy in changed else copy for copy in copies]
    forks = agent_forks_of(planned.log_id)
    planned.remaining.copies += [f"{agent_fork.path}: a fork to {agent_fork.agent}" for agent_fork in forks]
    planned.remaining.is_certain = bool(changed or planned.remaining.linked or forks) and not planned.is_nothing


def _note_matches(planned: SessionPurge, files: Iterable[str], replace: Replace) -> None:
    """Note the files that contain a text which a purge replaces in the log, and the forks of other agents."""
    for file in files:
        matches = told_matches(file, replace)
        if matches:
            planned.remaining.copies.append(f"{file}: {matches}")
    _look_at_agent_forks(planned, agent_forks_of(planned.log_id), replace)
    counts = planned.counts
    matches_elsewhere = counts.tails_matching or counts.names_matching or planned.remaining.is_id_matching
    planned.remaining.is_certain = bool(planned.remaining.copies or planned.remaining.linked or matches_elsewhere)


def _look_at_agent_forks(planned: SessionPurge, found: Iterable[AgentFork], replace: Replace) -> None:
    """Add the sessions of other agents that hold a text: those that are still ours, and those that went on."""
    for agent_fork in found:
        planned.removed += agent_fork.parts()
        matches = matches_in(agent_fork, replace)
        if matches and agent_fork.is_ours():
            planned.agent_forks.append(agent_fork)
            if agent_fork.has_other_names():
                planned.remaining.linked.append(agent_fork.path)
        elif matches:
            planned.remaining.copies.append(f"{agent_fork.path}: {matches}, a fork that went on in {agent_fork.agent}")


def plan_agent_forks(what: Purge, planned: Iterable[SessionPurge]) -> list[SessionPurge]:
    """Plan a redaction of the sessions of other agents that were forked from logs that no plan is about.

    Such a log was deleted, or lies outside of the projects. If a session cannot be read, its `error` has the reason.

    Raises:
        OSError: the list of these sessions cannot be read.
    """
    if what.redact is None:
        return []
    known = {agent_fork.log_id for agent_fork in planned if agent_fork.log_id}
    alone = list[SessionPurge]()
    for agent_fork in agent_forks():
        if agent_fork.log_id in known:
            continue
        purge = SessionPurge(agent_fork.path, is_log=False)
        try:
            _look_at_agent_forks(purge, [agent_fork], what.redact)
        except OSError as error:
            purge.error = reason_of(error)
        purge.remaining.is_certain = bool(purge.remaining.copies or purge.remaining.linked)
        if purge.error or purge.remaining.is_certain or not purge.is_nothing:
            alone.append(purge)
    return alone


def _id_holds(path: str, session_id: str | None, replace: Replace) -> bool:
    """Return whether a redaction would change the session's id: the id in the log's header, or its directory's name."""
    ids = [session_id or ""]
    if stored_name(path) is None and is_hosts_log(path):
        ids.append(os.path.basename(os.path.dirname(os.path.abspath(path))))
    return any(replace(name) != name for name in ids)


def _backups_to_go(path: str, what: Purge, planned: SessionPurge) -> list[str]:
    """Return the copies that a rewind kept and that must be deleted, because they contain content to be removed."""
    files = backups(path)
    if what.redact is not None:
        files = [file for file in files if told_matches(file, what.redact)]
    elif planned.counts.is_nothing and not planned.finishes:
        files = []
    return list(map(os.fspath, files))


def _falls_behind(own: list[Path], what: Purge, planned: SessionPurge) -> bool:
    """Return whether the files that we wrote for the host hold, or will hold, content that their log lacks."""
    if planned.finishes or not planned.counts.is_nothing:
        return True
    if what.everything:
        return any(read_metadata(file.parent).keys() & {*NAME_KEYS} for file in own)
    return what.redact is not None and any(told_matches(file, what.redact) for file in own)


def _linked(path: str, own: list[Path], what: Purge, planned: SessionPurge) -> list[str]:
    """Return our files that have other names (hard links) and contain, or may contain, the removed content."""
    if planned.is_nothing:
        return []
    written_again = list[str]()
    if planned.own is not None:
        for file in own:
            if what.redact is not None:
                is_changed = bool(told_matches(file, what.redact))
            else:
                is_name_changed = what.everything and bool(read_metadata(file.parent).keys() & {*NAME_KEYS})
                is_changed = file.name == TRANSCRIPT_NAME or is_name_changed
            if is_changed:
                written_again.append(os.fspath(file))
    return with_other_names([*planned.removed, *written_again, *catalogue_files(path)])


def still_holding(planned: SessionPurge, what: Purge) -> list[str]:
    """Return the files of ours beside a purged log that still hold a text that was to be removed, each with the number.

    Raises:
        LogUnreadableError: the log cannot be read.
        OSError: a file cannot be read.
    """
    path = planned.path
    if what.redact is None:
        return []
    found = [(agent_fork.path, matches_in(agent_fork, what.redact)) for agent_fork in planned.agent_forks]
    left = [f"{file}: {matches}" for file, matches in found if matches]
    if stored_name(path) is not None or not os.path.lexists(path):
        return left
    return [*left, *_own_holding(path, what)]


def plan_places_left(what: Purge) -> list[SessionPurge]:
    """Plan the removal of files, in all projects, that killed operations left in places without a log.

    A saved torn tail stays. So do files that an import or a fork wrote beside a log that somebody removed. Such files
    are reported if a redaction would change them.
    """
    planned = list[SessionPurge]()
    for log, left in places_left(tails=False):
        holding = _own_holding(log, what)
        if holding:  # with its note, by which `delete` knows these files as ours
            planned.append(SessionPurge(log, remaining=RemainingContent(copies=holding, is_certain=True)))
            continue
        linked = with_other_names(left)
        planned.append(
            SessionPurge(log, removed=left, remaining=RemainingContent(linked=linked, is_certain=bool(linked)))
        )
    if what.redact is None:
        return planned
    for log, left in places_left():
        copies = list[str]()
        for name in left:
            matches = told_matches(name, what.redact) if ".torn-" in name else ""
            if matches:
                copies.append(f"{name}: {matches}")
        if copies:
            planned.append(SessionPurge(log, remaining=RemainingContent(copies=copies, is_certain=True)))
    return planned


def _own_holding(log: str, what: Purge) -> list[str]:
    """Return our files for the host beside a log that hold a text to be redacted, each with the number of matches."""
    if what.redact is None:
        return []
    found = [(file, told_matches(file, what.redact)) for file in own_files(log)]
    return [f"{file}: {matches}" for file, matches in found if matches]


def places_left(name: str | None = None, *, tails: bool = True) -> list[tuple[str, list[str]]]:
    """Return the places where a log was and only files of killed operations are left.

    Args:
        name: the name of a session's directory; None for all.
        tails: whether saved torn tails count as such files.

    Returns:
        For each place the path that the log would have, and the paths of the files.
    """
    found = []
    name_pattern = "*" if name is None else glob.escape(name)
    for root in projects_dirs():
        for directory in sorted(root.glob(f"*/sessions/{name_pattern}")):
            log = os.fspath(directory / LOG_NAME)
            with contextlib.suppress(OSError):  # it is not a directory, or cannot be read
                left = place_left(log, HOSTS_NAMES, tails=tails)
                if left and not why_linked(log):
                    found.append((log, left))
    return found


def purge_session(
    planned: SessionPurge,
    what: Purge,
    *,
    now: Callable[[], str],
    rule: Callable[[str], TextRule] | None = lambda _: TextRule(),
    salt: str = "",
    files: FileSystem | None = None,
) -> tuple[PurgeCounts, str]:
    """Purge a session as planned.

    Args:
        planned: the result of `plan_session_purge`.
        what: the content to remove.
        now: gives ISO 8601 timestamps.
        rule: gets the salt of the new erasure and returns the rule for the texts of later imports. None if the erasure
            is already noted.
        salt: the salt of the erasure if it is already noted.
        files: the system calls that read the log, to report progress.

    Returns:
        The counts of what was removed, and the reason why `transcript.jsonl` was not updated; the reason is empty if it
        was updated or need not be.

    Raises:
        LogError: the errors of `purge_log`.
        OSError: a file beside the log cannot be written or removed. Another purge of the session finishes this one.
    """
    done = planned.counts, ""
    if planned.is_log:
        done = _purge_log_and_files(planned, what, now=now, rule=rule, salt=salt, files=files)
    else:
        remove_left(planned.removed, planned.path)
    if what.redact is not None:
        for agent_fork in planned.agent_forks:
            with contextlib.suppress(OSError):  # `still_holding` names it
                redact_agent_fork(agent_fork, what.redact)
    return done


def _purge_log_and_files(
    planned: SessionPurge,
    what: Purge,
    now: Callable[[], str],
    rule: Callable[[str], TextRule] | None,
    salt: str,
    files: FileSystem | None,
) -> tuple[PurgeCounts, str]:
    """Purge a log and the files beside it. Takes, returns and raises the same as `purge_session`."""
    path = planned.path
    if what.is_torn_only:
        return purge_log(path, what, now=now, files=files), ""
    if stored_name(path) is not None:
        return _purge_noted(planned, what, now=now, rule=rule, salt=salt, files=files), ""
    if not os.path.lexists(path):  # there is no log, only leftovers
        remove_left(planned.removed, path)
        return planned.counts, ""
    note = WrittenFiles.beside(path)
    done = planned.counts
    because = ""
    before = note.begun
    if planned.own is not None:
        for file in own_files(path):  # an earlier version wrote no note about them
            note.contents.setdefault(file.name, [content_of(file)])
    note.begin(PURGING, now())
    try:
        if not planned.counts.is_nothing:
            done = _purge_noted(planned, what, now=now, rule=rule, salt=salt, files=files)
        elif planned.finishes:
            remove_catalogue(path)  # a search may have written it between the two removals of the first purge
    except LogFailedError:
        raise
    except BaseException:  # the log is unchanged
        note.begun = before
        note.save()
        raise
    if planned.own is not None:
        _, because = update_host_files(path, time=None, change=_change_of_metadata(what, done))
    remove_left(planned.removed, path)
    if not because:
        WrittenFiles.beside(path).finish()
    return done, because


def _change_of_metadata(what: Purge, done: PurgeCounts) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Return how a purge changes the `metadata.json` that we wrote, or None if only its count of turns changes."""
    if what.redact is not None:
        return partial(with_texts_replaced, replace=what.redact)
    if what.everything or (what.took is not None and not done.messages_kept):  # a sync repeats a purge of everything
        return without_name
    return None


def _purge_noted(
    planned: SessionPurge,
    what: Purge,
    now: Callable[[], str],
    rule: Callable[[str], TextRule] | None,
    salt: str,
    files: FileSystem | None,
) -> PurgeCounts:
    """Purge a log. Before that, note the erasure, so that no import brings the content back.

    Raises the same errors as `purge_session`.
    """
    noted = list[Erasure]()

    def note(log: ReadableLog) -> str:
        if rule is None:
            return salt
        if what.redact is not None:
            erasure = erasure_of(names_in(log), TEXT, time=now(), rule=rule)
        else:
            names = names_in(log, ordinals_gone(log.index, what))
            erasure = erasure_of(names, MESSAGES, time=now(), rule=rule, is_all=what.everything)
        note_erasure(erasure, planned.path)
        noted.append(erasure)
        return erasure.salt

    was_archived = is_archived_session(planned.path)
    try:
        done = purge_log(planned.path, what, now=now, known=planned.known, note=note, files=files)
    except LogFailedError:
        raise
    except BaseException:  # the log is unchanged
        lift(noted, planned.path)
        raise
    if was_archived:
        with contextlib.suppress(ArchiveError, LogError, OSError):  # then it stays as the purge wrote it
            archive_session(planned.path)
    return done


def remove_left(files: list[str], log: str) -> None:
    """Delete files that this package wrote, and then the session's directory if it is empty.

    Raises:
        OSError: a file cannot be deleted.
    """
    for name in files:
        with contextlib.suppress(FileNotFoundError):
            os.remove(name)
    if is_hosts_log(log):
        with contextlib.suppress(OSError):  # the directory contains something else
            os.rmdir(os.path.dirname(log))
