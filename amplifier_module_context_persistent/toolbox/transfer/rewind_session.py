"""Rewind a session: let its history end at an earlier place of the same log.

Nothing is erased. A rewind appends a reset: records that hide the messages after that place. Sessions that have the log
open follow it with their next call. The plan (which messages the views leave out) that was in force at that place is
written again after the reset, so that the next request can use the provider's prompt cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ... import clock
from ...errors import ContextPersistentError
from ...log.contract import Log
from ...log.index import Index
from ...log.open_log import open_log
from ...log.record_line import Message, encode_object
from ...log.reset_record import ids_in, reset_bodies
from ...messages.json_fields import present
from ...messages.metadata import given_id
from ...sessions.transcript import Transcript
from .copy_log import append_all
from .history_at import HistoryPrefix, following_plan, history_at
from .host_files.after_rewind_or_purge import finish_rewind, rewinding, update_host_files, was_rewinding


class RewindError(ContextPersistentError, ValueError):
    """Raised if a session cannot be rewound to a place; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Rewind:
    """The effect of a rewind.

    `messages` is the number of messages that stay live, `hidden` the number of hidden messages.
    """

    path: str
    message_id: str
    """The id of the last message that stays."""
    turn: int
    messages: int
    hidden: int
    hidden_to: str
    """The id of the last hidden message; "" if no message is hidden. A fork at this message has the history before the
    rewind."""
    plan: str = ""
    """The id of the plan that is in force afterwards; empty if there is none."""
    host_files: Sequence[str] = ()
    """The paths of the host's files that were updated; copies of the old files are kept beside them."""
    host_files_because: str = ""
    """The reason why the host's files were not updated; "" if they were updated, or if there are none."""
    finishes: bool = False
    """Whether an earlier rewind was interrupted before the host's files were updated."""

    def to_json(self) -> dict[str, Any]:
        """Return the report in plain JSON types."""
        return {
            **present(finishes=self.finishes),
            "path": self.path,
            "message_id": self.message_id,
            "turn": self.turn,
            "messages": self.messages,
            "hidden": self.hidden,
            "hidden_to": self.hidden_to or None,
            "plan": self.plan or None,
            **present(host_files=list(self.host_files), host_files_because=self.host_files_because),
        }


def rewind_session(
    path: str | Path,
    to: int | str,
    *,
    dry_run: bool = False,
    lock_timeout_s: float = 10.0,
    now: Callable[[], str] = clock.utc_now,
    new_id: Callable[[], str] = clock.new_id,
) -> Rewind:
    """End a session's history at an earlier place. The later messages stay in the log, hidden.

    The host's `transcript.jsonl` beside the log is cut too, unless the session is open.

    Args:
        path: the session's log (a file, or a location in a database), which may be in use.
        to: the number of the last turn that stays, from 1; or the id of the last message that stays.
        dry_run: only report what would be done.
        lock_timeout_s: the longest wait for another process that holds the log's lock.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.

    Raises:
        PlaceError: the history has no such place.
        RewindError: the history was changed in the meantime, or the message is hidden already.
        LogError: the log is missing, cannot be read, or refused the append.
    """
    with Transcript(path) as transcript:
        past = history_at(transcript, to)
        live = transcript.reader.index.live
        if live[: len(past)] != past.ordinals:
            raise RewindError("this message is hidden; a fork at it has the history that it was part of")
        plan = following_plan(transcript.book, past.ordinals)
        first_message, last_message = transcript.reader.read([live[0], live[-1]])
        first_id, last_id = given_id(first_message) or "", given_id(last_message) or ""
        hidden = len(live) - len(past)
        purges = transcript.reader.index.control_counts["purge"]
        log_path = transcript.path
    done = Rewind(
        path=log_path,
        message_id=past.message_id,
        turn=past.turn,
        messages=len(past),
        hidden=hidden,
        hidden_to=last_id if hidden else "",
        plan=str(plan.get("id")) if plan is not None else "",
        finishes=was_rewinding(log_path),
    )
    if dry_run:
        return done
    if not hidden:
        changed, because = finish_rewind(log_path)
        return replace(done, host_files=changed, host_files_because=because)
    reset_id, time = new_id(), now()
    log = open_log(log_path, lock_timeout_s=lock_timeout_s)
    with rewinding(log_path, time):
        append_all(log, _reset(log, past, first_id, plan, purges=purges, reset_id=reset_id, time=time))
    changed, because = update_host_files(log_path, time=time)
    return replace(done, host_files=changed, host_files_because=because)


def _reset(
    log: Log, past: HistoryPrefix, first: str, plan: Message | None, *, purges: int, reset_id: str, time: str
) -> Callable[[Index], list[bytes]]:
    def prepare(index: Index) -> list[bytes]:
        if index.control_counts["purge"] != purges:  # the plan may hold what was purged
            raise RewindError("the session was purged by another process; look at it, and rewind again")
        if index.live[: len(past)] != past.ordinals or len(index.live) == len(past):
            raise RewindError("the history was changed by another process; look at it, and rewind again")
        ends = [index.find(first), index.find(past.message_id)]
        if ends != [past.ordinals[0], past.ordinals[-1]]:
            raise RewindError("two messages of this log have the same id, so its history cannot be cut there")
        bodies = reset_bodies(
            index.live, past.ordinals, ids_in(log.read), reset_id=reset_id, reason="rewind", time=time
        )
        return [*bodies, *([] if plan is None else [encode_object(plan)])]

    return prepare
