"""`context-persistent archive`: compress the logs of closed sessions, and bring them back.

Exit codes: 0 done, or there is nothing to do; 1 some sessions stay unchanged, because they are open, or cannot be read
or written, or came back without the host's file; a dry run also if there is not enough room; 2 nothing was done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import ContextPersistentError
from ...log.archive_estimate import ArchiveEstimate
from ...log.archive_log import LEAST_LOG_BYTES, Archived, refusal_before_reading
from ...log.database_location import stored_name
from ...log.open_mark import SESSION_IS_OPEN
from ...log.room_on_disk import free_bytes
from ...messages.json_fields import present
from ...sessions.filters import SessionFilter
from ...sessions.overview import held_logs, overview_of
from ...sessions.session_files import SessionFile
from ...sessions.session_is_open import is_held, is_open
from ..transfer.archive_session import archive_session, bring_back_session, estimate_session
from ..transfer.host_files.find_host_copies import hosts_files
from ..transfer.host_files.host_transcript_lines import most_transcript_bytes
from ..transfer.host_files.write_host_files import complete_host_files, lacks_transcript
from ..transfer.seal_log import LOG_ENDING, seal_log
from ..transfer.sync_and_backup.room_for_copies import Room, room_of_all, room_of_bringing_back
from .completion import complete
from .confirm import ask, check_can_ask
from .erasing import check_says_which, erasing_options, say_left_by_age
from .error_messages import reason_beside
from .exit_codes import DONE, FINDINGS, UNUSABLE
from .filter_options import check_no_filter, chosen_sessions, filter_options, split_places
from .parameters import TimeType, check_place
from .progress import progress
from .room_text import lacks_room, room_text
from .sealed_files import encrypt_to_option, public_keys
from .session_argument import (
    file_name,
    last_path,
    no_catalogue_option,
    path_of,
    say_hidden_sessions,
    storage_option,
    with_their_sub_agents,
)
from .session_rows import scaled
from .terminal import counted, escaped, one_line, say

if TYPE_CHECKING:
    from pyrage import Recipient


@dataclass(slots=True)
class _Candidate:
    """A session that may be archived or brought back."""

    session: SessionFile
    size: ArchiveEstimate
    refused: str = ""
    """The reason why the session is not changed; "" if there is none."""
    done: Archived | None = None
    lacks_transcript: bool = False
    """Whether the host's file is written when the log is back."""
    why_incomplete: str = ""
    """The reason why the log is back without the host's file; "" if there is none."""

    @property
    def room(self) -> Room:
        """The room that bringing the log back needs."""
        size = self.size
        log_bytes = size.log_bytes or size.file_bytes
        host_bytes = most_transcript_bytes(log_bytes) if self.lacks_transcript else 0
        return room_of_bringing_back(log_bytes, size.file_bytes, host_bytes) if size.is_archived else Room(host_bytes)

    def to_json(self) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "session": self.session.id,
            "path": str(self.session.path),
            "bytes_before": self.size.file_bytes,
        }
        if self.refused:
            entry["refused"] = self.refused
        else:
            entry["bytes_after"] = self.done.bytes_after if self.done is not None else None
        return entry | present(incomplete=self.why_incomplete)


@click.command("archive")
@storage_option
@no_catalogue_option
@click.argument("sessions", metavar="[SESSION]...", nargs=-1, shell_complete=complete)
@click.option("--last", is_flag=True, help="The session of this project that was written to last.")
@filter_options()
@click.option("--older", type=TimeType(), help="Only sessions without a message since then: 90d, 26w, 2026-01-31.")
@click.option("--everything", is_flag=True, help="Archive all sessions, without a filter.")
@click.option("--undo", is_flag=True, help="Bring archived logs back, byte for byte.")
@encrypt_to_option
@click.option(
    "-o", "--output", callback=check_place, metavar="DIR", help="With --encrypt-to: the directory of the sealed copies."
)
@erasing_options
@click.pass_context
def archive(
    context: click.Context,
    sessions: Sequence[str],
    *,
    last: bool,
    everywhere: bool,
    wanted: SessionFilter,
    older: float | None,
    everything: bool,
    undo: bool,
    recipients: tuple[str, ...],
    output: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Compress the logs of closed sessions. Every command can still read them.

    The sessions are those that you name or that filters choose, with their sub-agents. A compressed log takes about a
    fifth of the space. Nothing is lost: if a session goes on, its log is brought back before its first new message; in
    a database the session goes on after the archived part. A session that is open in any program is left unchanged.
    The compressed log is read back before it replaces the log. A single flipped bit in the archive is corrected
    when it is read; larger damage can cost about 1 MB of the log, so a whole session: keep a backup.

    With --encrypt-to and -o the sessions do not change, and open ones are included. Sealed copies of their whole logs,
    with all secrets, are written into DIR. Only the holder of the private key can read them (age; the extra `seal`).
    """
    keys = public_keys(recipients)
    has_only_one = (keys and not output) or (output and not keys)
    if has_only_one or (keys and undo):
        raise click.UsageError("--encrypt-to and -o DIR belong together, without --undo: they make sealed copies")
    check_can_ask(as_json=as_json, yes=yes or bool(keys), dry_run=dry_run)
    sessions, places = split_places(sessions, wanted.places)
    wanted = replace(wanted, places=places)
    is_named = bool(sessions) or last
    if is_named:
        check_no_filter(wanted, everywhere=everywhere)
        if (sessions and last) or everything or older is not None:
            raise click.UsageError("give SESSION, or --last, or filters")
        paths = [last_path()] if last else [path_of(name) for name in sessions]
        chosen = with_their_sub_agents(paths)
    else:
        if older is None:
            check_says_which(wanted, everywhere=everywhere, everything=everything, besides="--older or ")
        say_hidden_sessions()
        chosen = _older_than(chosen_sessions(wanted, everywhere=everywhere), older)
    if output:
        context.exit(_seal_copies(chosen, output, keys, dry_run=dry_run, as_json=as_json))
    candidates = _candidates(chosen, undo=undo, is_named=is_named)
    todo = [candidate for candidate in candidates if not candidate.refused]
    if not as_json:
        _show(candidates, todo, undo=undo)
        if not todo:
            say(_why_nothing(chosen, candidates, undo=undo, is_named=is_named))
    if todo and not dry_run:
        action = "Bring back" if undo else "Archive"
        ask(f"{action} {counted(len(todo), 'session')}?", yes=yes)
        for candidate in todo:
            _do(candidate, undo=undo)
    context.exit(_told(candidates, todo, undo=undo, dry_run=dry_run, as_json=as_json))


def _seal_copies(
    sessions: Sequence[SessionFile], directory: str, keys: Sequence[Recipient], *, dry_run: bool, as_json: bool
) -> int:
    """Write a sealed copy of each log into a directory, and return the exit code; an error does not stop the rest."""
    written = list[dict[str, str]]()
    failed = list[dict[str, str]]()
    for session in sessions:
        path = str(session.path)
        target = str(Path(directory, f"{file_name(session.id)}{LOG_ENDING}").absolute())
        damage = ""
        try:
            if not dry_run:
                with progress(path, title="sealing") as files:
                    damage = seal_log(path, target, keys, files=files)
        except (OSError, ContextPersistentError) as error:
            failed.append({"session": session.id, "error": reason_beside(error, path)})
        else:
            written.append({"session": session.id, "path": target, **present(damage=damage)})
    if as_json:
        click.echo(json.dumps({"dry_run": dry_run, "sealed": written, "failed": failed}))
    else:
        for copy in written:
            say(copy["path"])
            if "damage" in copy:
                warning = f"DAMAGED: {copy['session']}: {copy['damage']}; sealed as it is"
                click.echo(escaped(one_line(warning)), err=True)
        for failure in failed:
            click.echo(escaped(one_line(f"NOT SEALED: {failure['session']}: {failure['error']}")), err=True)
        say("Nothing was done (--dry-run)." if dry_run else f"{counted(len(written), 'session')} sealed.")
    if failed and not written:
        return UNUSABLE
    if failed or any("damage" in copy for copy in written):
        return FINDINGS
    return DONE


def _older_than(sessions: Sequence[SessionFile], older: float | None) -> list[SessionFile]:
    """Return the sessions whose last message is older than a time; all sessions if `older` is None."""
    if older is None:
        return list(sessions)
    overviews = [overview_of(session, None) for session in sessions]
    say_left_by_age(overviews, older)
    return [overview.session for overview in overviews if overview.last_s < older]


def _candidates(sessions: Sequence[SessionFile], *, undo: bool, is_named: bool) -> list[_Candidate]:
    """Return the sessions that are to be archived, or brought back with `undo`.

    A session that cannot be changed is included, with the reason in its `refused`.

    Args:
        sessions: the sessions that were named or chosen by filters.
        undo: whether logs are brought back instead of archived.
        is_named: whether a person named the sessions; otherwise small logs are left out.
    """
    candidates = []
    for session in sessions:
        path = str(session.path)
        try:
            size = estimate_session(path)
            is_plain_file = stored_name(path) is None and not size.is_archived
            refusal = ""
            if is_plain_file and not undo:
                refusal = refusal_before_reading(path)
        except (OSError, ContextPersistentError) as error:
            unknown = ArchiveEstimate(0, 0, is_archived=False, is_exact=False)
            candidates.append(_Candidate(session, unknown, reason_beside(error, path)))
            continue
        if undo:
            lacks = lacks_transcript(path)
            is_back_without_it = is_named and lacks and not _is_open(session)
            if size.is_archived or size.is_partly_archived or is_back_without_it:
                candidates.append(_Candidate(session, size, lacks_transcript=lacks))
            continue
        is_small = size.file_bytes < LEAST_LOG_BYTES
        if size.is_archived or (is_small and not is_named):
            continue
        refused = SESSION_IS_OPEN if _is_open(session) else refusal
        candidates.append(_Candidate(session, size, refused))
    return candidates


def _is_open(session: SessionFile) -> bool:
    """Return whether a session is known to be open. The archiving itself checks this again."""
    path = str(session.path)
    return path in held_logs([session]) if stored_name(path) is not None else bool(is_open(path))


def _do(candidate: _Candidate, *, undo: bool) -> None:
    path = str(candidate.session.path)
    try:
        if undo:
            _bring_back(candidate, path)
            return
        if stored_name(path) is None and is_held(path):
            candidate.refused = SESSION_IS_OPEN
        else:
            with progress(path, title="archiving", passes=2) as watched:
                candidate.done = archive_session(path, files=watched)
    except (OSError, ContextPersistentError) as error:
        candidate.refused = reason_beside(error, path)
    if candidate.refused:
        what = "NOT BROUGHT BACK" if undo else "NOT ARCHIVED"
        click.echo(f"{what}: {one_line(path)}: {candidate.refused}", err=True)


def _bring_back(candidate: _Candidate, path: str) -> None:
    """Bring a log back, and write the host's file if it is missing."""
    size = candidate.size
    if size.is_archived or size.is_partly_archived:
        candidate.done = bring_back_session(path)
    else:  # an earlier run brought the log back
        candidate.done = Archived(size.file_bytes, size.file_bytes)
    try:
        complete_host_files(path)
    except (OSError, ContextPersistentError) as error:
        candidate.why_incomplete = reason_beside(error, path)
        why = f"it is back, but without the host's file: {candidate.why_incomplete}"
        click.echo(f"{one_line(path)}: {why}; then say the same again", err=True)


def _show(candidates: Sequence[_Candidate], todo: Sequence[_Candidate], *, undo: bool) -> None:
    """Print the sessions that are archived (`todo`), or brought back with `undo`, and those that do not change."""
    for candidate in todo:
        line = f"{candidate.session.id}: {_size(candidate.size.file_bytes)}"
        if undo and candidate.size.log_bytes:
            line += f", brought back {_size(candidate.size.log_bytes)}"
        if undo and candidate.lacks_transcript:
            line += ", with the host's file" if candidate.size.is_archived else ", is back; the host's file is written"
        if not undo:
            line += f", archived about {_size(candidate.size.archived_bytes)}"
            if candidate.size.frees <= 0:
                line += ": nothing is freed"
        say(line)
    for candidate in candidates:
        if candidate.refused:
            say(f"stays as it is: {candidate.session.path}: {candidate.refused}")
    if undo:
        for room in _rooms(todo):
            say(room_text(*room))
    if todo and not undo:
        size_now = sum(candidate.size.file_bytes for candidate in todo)
        freed = sum(candidate.size.frees for candidate in todo)
        say(f"{counted(len(todo), 'session')}, {_size(size_now)}; this frees about {_size(freed)} (from a sample)")
        size_of_hosts = _size_of_hosts_files(candidate.session for candidate in todo)
        if size_of_hosts:
            say(f"The host's files beside the logs stay as they are: {_size(size_of_hosts)}.")


def _rooms(todo: Sequence[_Candidate]) -> list[tuple[int, int | None]]:
    """Return the bytes that bringing logs back needs on each disk, and the bytes that are free there, or None."""
    by_disk = dict[int, list[_Candidate]]()
    for candidate in todo:
        if isinstance(candidate.session.path, Path):
            by_disk.setdefault(candidate.session.path.stat().st_dev, []).append(candidate)
    return [
        (room_of_all(candidate.room for candidate in candidates), free_bytes(candidates[0].session.path))
        for candidates in by_disk.values()
    ]


def _size_of_hosts_files(sessions: Iterable[SessionFile]) -> int:
    """Return the bytes of the files that hosts keep beside the logs of sessions."""
    size_bytes = 0
    for session in sessions:
        if isinstance(session.path, Path):
            size_bytes += sum(file.lstat().st_size for file in hosts_files(str(session.path)))
    return size_bytes


def _why_nothing(chosen: Sequence[SessionFile], candidates: Sequence[_Candidate], *, undo: bool, is_named: bool) -> str:
    """Return a text that says that there is nothing to do, and why unless the reasons were printed."""
    nothing = "no session to bring back" if undo else "no session to archive"
    if candidates:
        return nothing
    if not chosen:
        return f"{nothing}: none matches"
    looked_at = f"{counted(len(chosen), 'session')} looked at"
    if undo:
        return f"{nothing}: {looked_at}, none is archived"
    small = "" if is_named else f", or below {_size(LEAST_LOG_BYTES)}"
    return f"{nothing}: {looked_at}, all archived already{small}"


def _told(
    candidates: Sequence[_Candidate], todo: Sequence[_Candidate], *, undo: bool, dry_run: bool, as_json: bool
) -> int:
    """Print which sessions were archived, brought back or refused, and return the exit code."""
    done = [candidate for candidate in todo if candidate.done is not None]
    refused = [candidate for candidate in candidates if candidate.refused]
    changes = [candidate.done for candidate in todo if candidate.done is not None]
    before = sum(change.bytes_before for change in changes)
    after = sum(change.bytes_after for change in changes)
    if as_json:
        listed = todo if dry_run else done
        result = {
            "dry_run": dry_run,
            "brought_back" if undo else "archived": [candidate.to_json() for candidate in listed],
            "kept": [candidate.to_json() for candidate in refused],
            "freed_bytes": before - after,
        }
        click.echo(json.dumps(result))
    elif dry_run:
        say("Nothing was done (--dry-run).")
    elif todo and undo:
        say(f"Brought back {counted(len(done), 'session')}, {_size(after)}.")
    elif todo:
        say(f"Archived {counted(len(done), 'session')}: {_size(before)} became {_size(after)}.")
    if dry_run:
        if undo and any(lacks_room(*room) for room in _rooms(todo)):
            return FINDINGS
        return DONE
    if refused:
        return FINDINGS if done else UNUSABLE
    return FINDINGS if any(candidate.why_incomplete for candidate in done) else DONE


def _size(size_bytes: int) -> str:
    return f"{scaled(size_bytes, 'kMGT')}B"
