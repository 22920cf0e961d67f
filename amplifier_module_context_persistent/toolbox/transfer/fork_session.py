"""Forking a session: a new session's log that begins with the history of another one, up to a given message.

The origin is only read. The new log is complete by itself: it has its own checksum chain, and its header names the
origin with the keys that the host's session fork uses (`parent_id`, `forked_from_turn`). It also gets the plan that
views followed at that message, and what was learned of providers' token counts. So the first request of the fork
sends the bytes that the origin sent there, and the provider's prompt cache still has them. Calls without a result
at the end of the copied history stay open; views insert stand-ins for their results, as for any interrupted turn.

The place is named as the host's session fork names it, by the number of a turn, which is taken in whole; or by the id
of a message, which is the last one that is taken in. A message that a reset hid is found in the history that was live
before it: so what a rewind hid can be had again by a fork.

A rewind ends the history of the same log at an earlier place. Nothing is erased: it is a reset that keeps the history
up to there, under one lock of the log, and sessions that have the log open follow it with their next call. The plan
that views followed at that place is written again after it, for the same reason.
"""

from __future__ import annotations

import os
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import uuid4

from ... import clock
from ...config import Config
from ...errors import ConfigError, ContextPersistentError, PlaceError
from ...log.base import Log
from ...log.database_location import location_of, split_location, stored_name
from ...log.filesystem import FileSystem
from ...log.index import USER, Index
from ...log.open_log import check_is_free, open_log, shown
from ...log.record_line import FORMAT_VERSION, Message, encode_control, encode_object
from ...log.reset_record import ids_in, reset_bodies
from ...messages.metadata import given_id, is_human
from ...paths import LOG_NAME, REMOTE, log_name, log_path
from ...sessions.transcript import Transcript, session_id_in
from ...sessions.view_rebuild import ReceiptLog
from ...view.ids_and_names import header_marks
from ...view.plan import kept_ordinals
from .copy_log import append_all, carry, refused_messages, write_new_log
from .host_files import (
    finish_rewind,
    is_unfinished,
    making_session,
    rewinding,
    update_host_files,
    was_rewinding,
    write_host_files,
)
from .importers.account import LostLine


@dataclass(frozen=True, slots=True)
class Fork:
    """What a fork made: the new log, where it comes from, and what it holds."""

    path: str
    session_id: str | None
    parent_id: str | None
    """The session that it comes from, as its log or else its directory names it."""
    message_id: str
    """The last message that was taken over."""
    turn: int
    messages: int
    plan: str = ""
    """The id of the plan that came along."""
    not_carried: Sequence[LostLine] = field(default_factory=list)
    host_files: Sequence[str] = ()
    """What was written for the host beside the log."""
    host_turn: int = 0
    """The turn as the host counts; it takes every message of the role user for the beginning of one."""

    def to_json(self) -> dict[str, Any]:
        """The report in plain JSON types."""
        return {
            "path": self.path,
            "session_id": self.session_id,
            "parent_id": self.parent_id,
            "forked_from": self.message_id,
            "forked_from_turn": self.turn,
            "messages": self.messages,
            "plan": self.plan or None,
            "not_carried": [loss.to_json() for loss in self.not_carried],
            **({"host_files": list(self.host_files)} if self.host_files else {}),
            **({"host_turn": self.host_turn} if self.host_turn != self.turn else {}),
        }


def fork_session(
    origin: str | Path,
    at: int | str | None = None,
    *,
    session_id: str | None = None,
    path: str | Path | None = None,
    working_dir: str | None = None,
    dry_run: bool = False,
    now: Callable[[], str] = clock.utc_now,
    new_id: Callable[[], str] = clock.new_id,
    files: FileSystem | None = None,
) -> Fork:
    """Make a new session's log with the history of another one, up to a place in it.

    Args:
        origin: the log that it begins with (a file, or a location in a database); it is not changed, and may be in use.
        at: the number of the last turn, from 1, which is taken in whole; or the id of the last message; None for all.
        session_id: the new session's id; one is made where neither it nor a path is given.
        path: the new log's file, or its location in a database; else it lies beside the origin where that lies as the
            host keeps sessions, or in a database, and otherwise where the sessions of `working_dir` lie.
        working_dir: the directory that the new session works in; else the current one.
        dry_run: only say what would be done.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.
        files: the system calls that read the origin, to watch them.

    Raises:
        PlaceError: the history has no such place.
        ConfigError: the session id cannot be part of a path, or holds `_`.
        LogUnreadableError: the origin is not there, or cannot be read.
        OSError: the new log cannot be written, or something has its name; nothing was changed.
    """
    session_id = _new_id(session_id, path)
    with Transcript(origin, files=files) as transcript:
        past = history_at(transcript, at)
        place = str(path or _place(transcript, str(session_id), working_dir))
        is_begun = _is_begun(place, transcript, past)
        target = os.path.abspath(place) if is_begun else _checked(place)
        plan = following_plan(transcript.book, past.ordinals)
        created, parent_id, origin = now(), session_id_in(transcript), transcript.path
        header = _header(transcript, past, session_id=session_id, created=created, log_id=new_id())
        refused, host_files = dict[int, str](), list[str]()
        bodies = _bodies(header, transcript, past, plan, new_id, refused)
        if dry_run:
            deque(bodies, maxlen=0)  # to know what cannot be copied
        else:
            with making_session(target):
                if not is_begun:
                    write_new_log(target, bodies)
                if Path(target).parent.name == session_id:
                    host_files = write_host_files(
                        target, created=created, parent_id=parent_id, is_fork=True, origin=origin
                    )
        return Fork(
            path=target,
            session_id=session_id,
            parent_id=parent_id,
            message_id=past.message_id,
            turn=past.turn,
            messages=len(past) - len(refused),
            plan=str(plan.get("id")) if plan is not None else "",
            not_carried=refused_messages(transcript.reader, refused),
            host_files=host_files,
            host_turn=sum(transcript.reader.index.roles[ordinal] == USER for ordinal in past.ordinals),
        )


def _is_begun(target: str, transcript: Transcript, past: HistoryPrefix) -> bool:
    """Whether an earlier call for the same fork was interrupted after it wrote the log."""
    if not is_unfinished(target):
        return False
    with Transcript(target) as made:
        header, origin = made.header, transcript.header.get("log_id")
    return (header.get("parent_log_id"), header.get("forked_from")) == (origin, past.message_id)


def _checked(target: str) -> str:
    """The new log's whole path, or its location as it may be shown.

    Raises:
        FileExistsError: something has it already.
    """
    target = target if stored_name(target) is not None else os.path.abspath(target)
    check_is_free(target)
    return shown(target)


def _new_id(session_id: str | None, path: str | Path | None) -> str | None:
    if session_id is None and path is None:
        return str(uuid4())
    if session_id is not None and "_" in session_id:
        raise ConfigError(f"session_id: {session_id!r} is not allowed: the host hides ids with '_' as sub-sessions")
    return session_id


def _bodies(
    header: bytes,
    transcript: Transcript,
    past: HistoryPrefix,
    plan: Message | None,
    new_id: Callable[[], str],
    refused: dict[int, str],
) -> Iterator[bytes]:
    """The records of the fork's log; `refused` gets the messages that cannot be copied."""
    yield header
    index = transcript.reader.index
    for one in carry(transcript.reader, past.ordinals, rename=lambda _: new_id(), refused=refused):
        provider, model = index.model_of(one.ordinal)
        if provider:  # its receipt stays behind
            yield encode_control("asked", provider=provider, model=model)
        yield one.body
    yield from map(encode_object, index.session.usage.values())
    for what, provider, model in sorted(index.session.learned):
        yield encode_control("learned", what=what, provider=provider, model=model)
    for hidden, run in groupby(past.ordinals, index.session.hidden.__contains__):
        if hidden:  # from the fork's views as from the origin's
            members = list(run)
            turn = [given_id(message) or "" for message in transcript.reader.read([members[0], members[-1]])]
            yield encode_control("hide", id=new_id(), turn=turn, hidden=True)
    if plan is not None:
        yield encode_object(plan)


def _header(transcript: Transcript, past: HistoryPrefix, *, session_id: str | None, created: str, log_id: str) -> bytes:
    known = transcript.header
    return encode_control(
        "header",
        version=FORMAT_VERSION,
        log_id=log_id,
        session_id=session_id,
        tokenizer=known.get("tokenizer", "estimate"),
        created=created,
        **header_marks([known] if known else []),
        **({REMOTE: known[REMOTE]} if known.get(REMOTE) else {}),
        parent_id=session_id_in(transcript),
        parent_log_id=known.get("log_id"),
        forked_from=past.message_id,
        forked_from_turn=past.turn,
    )


def _place(transcript: Transcript, session_id: str, working_dir: str | None) -> Path | str:
    """Beside the origin: in its database, or where that lies in a directory of its own among other sessions."""
    if (name := stored_name(transcript.path)) is not None:
        project = name.rpartition("/")[0]
        own = f"{project}/{session_id}" if project else log_name(session_id, working_dir or ".")
        return location_of(split_location(transcript.path)[0], own)
    usual = log_path(Config(), session_id=session_id, working_dir=working_dir)
    assert usual is not None  # noqa: S101 - the session has an id
    origin = Path(transcript.path)
    if origin.name == LOG_NAME and origin.parent.name == session_id_in(transcript):
        return origin.parents[1] / session_id / LOG_NAME
    return usual


class RewindError(ContextPersistentError, ValueError):
    """The session cannot be rewound as it was asked for; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Rewind:
    """What a rewind does: what stays live, what it hides, and by which message that can be had again."""

    path: str
    message_id: str
    """The last message that stays."""
    turn: int
    messages: int
    hidden: int
    hidden_to: str
    """The last message that is hidden: a fork at it has the history as it was. Empty where none is."""
    plan: str = ""
    """The id of the plan that stays in force."""
    host_files: Sequence[str] = ()
    """The host's files that were brought in step; the old ones are kept beside them."""
    host_files_because: str = ""
    """Why the host's files stay as they are, if there are any."""
    finishes: bool = False
    """Whether an earlier rewind was interrupted before the host's files were in step."""

    def to_json(self) -> dict[str, Any]:
        """The report in plain JSON types."""
        return {
            **({"finishes": True} if self.finishes else {}),
            "path": self.path,
            "message_id": self.message_id,
            "turn": self.turn,
            "messages": self.messages,
            "hidden": self.hidden,
            "hidden_to": self.hidden_to or None,
            "plan": self.plan or None,
            **({"host_files": list(self.host_files)} if self.host_files else {}),
            **({"host_files_because": self.host_files_because} if self.host_files_because else {}),
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
    """Let a session's history end at an earlier place; what came after it stays in the log, hidden.

    The host's own `transcript.jsonl` beside the log is cut too, unless the session is open.

    Args:
        path: the session's log (a file, or a location in a database), which may be in use.
        to: the number of the last turn that stays, from 1; or the id of the last message that stays.
        dry_run: only say what would be done.
        lock_timeout_s: how long to wait for another process that holds the log's lock.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.

    Raises:
        PlaceError: the history has no such place.
        RewindError: the history changed meanwhile, or the message is hidden already.
        LogError: the log is not there, cannot be read, or took nothing.
    """
    with Transcript(path) as transcript:
        past = history_at(transcript, to)
        live = transcript.reader.index.live
        if live[: len(past)] != past.ordinals:
            raise RewindError("this message is hidden; a fork at it has the history that it was part of")
        plan = following_plan(transcript.book, past.ordinals)
        ends = [live[0], live[len(past) - 1], live[-1]]
        first, _, last = (given_id(message) or "" for message in transcript.reader.read(ends))
        hidden = len(live) - len(past)
        found = transcript.path
    done = Rewind(
        path=found,
        message_id=past.message_id,
        turn=past.turn,
        messages=len(past),
        hidden=hidden,
        hidden_to=last if hidden else "",
        plan=str(plan.get("id")) if plan is not None else "",
        finishes=was_rewinding(found),
    )
    if dry_run:
        return done
    if not hidden:
        changed, because = finish_rewind(found)
        return replace(done, host_files=changed, host_files_because=because)
    reset_id, time = new_id(), now()
    log = open_log(found, lock_timeout_s=lock_timeout_s)
    with rewinding(found, time):
        append_all(log, _reset(log, past, first, plan, reset_id=reset_id, time=time))
    changed, because = update_host_files(found, time=time)
    return replace(done, host_files=changed, host_files_because=because)


def _reset(
    log: Log, past: HistoryPrefix, first: str, plan: Message | None, *, reset_id: str, time: str
) -> Callable[[Index], list[bytes]]:
    def prepare(index: Index) -> list[bytes]:
        if index.live[: len(past)] != past.ordinals or len(index.live) == len(past):
            raise RewindError("the history was changed meanwhile; look at it, and rewind again")
        ends = [index.find(first), index.find(past.message_id)]
        if ends != [past.ordinals[0], past.ordinals[-1]]:
            raise RewindError("two messages of this log have the same id, so its history cannot be cut there")
        bodies = reset_bodies(
            index.live, past.ordinals, ids_in(log.read), reset_id=reset_id, reason="rewind", time=time
        )
        return [*bodies, *([] if plan is None else [encode_object(plan)])]

    return prepare


@dataclass(frozen=True, slots=True)
class HistoryPrefix:
    """A history up to a message, as ordinals; the message's id, and the turn that it belongs to."""

    ordinals: array[int]
    message_id: str
    turn: int

    def __len__(self) -> int:
        return len(self.ordinals)


def history_at(transcript: Transcript, at: int | str | None = None) -> HistoryPrefix:
    """Find the history up to a place.

    Args:
        transcript: the session.
        at: the number of a turn, from 1; or a message's id, also one of a message that is hidden; None for all.

    Raises:
        PlaceError: there is no such turn or message.
    """
    live = transcript.reader.index.live
    if not live:
        raise PlaceError("the session's history is empty")
    if isinstance(at, int):
        turns = transcript.turns()
        if not 1 <= at <= len(turns):
            raise PlaceError(f"there is no turn {at:,}: the session has the turns 1 to {len(turns):,}")
        live = live[: turns[at - 1].stop]
    elif at is not None:
        live = _up_to(transcript, at)
    (last,) = transcript.reader.read([live[-1]])
    return HistoryPrefix(live[:], given_id(last) or "", _turn_of(transcript, live))


def following_plan(book: ReceiptLog, ordinals: array[int], *, before: str = "") -> Message | None:
    """The record of the plan that views followed when the history ended there; None where there was none.

    With the id of a plan in `before`, the last one of those that were made before it.
    """
    plans = book.made_for
    if before:
        known = (at for at, (packed, _) in enumerate(plans) if packed.record().get("id") == before)
        plans = plans[: next(known, len(plans))]
    index = replace(book.index, live=ordinals)
    ends, is_kept = index.find_all([packed.upto for packed, _ in plans]), bytearray(len(index))
    for ordinal in ordinals if plans else ():
        is_kept[ordinal] = 1
    for packed, live in reversed(plans):
        if (end := ends.get(packed.upto)) is None or not is_kept[end]:  # without unpacking all that come later
            continue
        record = packed.record()
        try:
            _, upto = kept_ordinals(index, record)
        except ValueError:  # it names what comes later
            continue
        if live[: upto + 1] == ordinals[: upto + 1]:
            return record
    return None


def _up_to(transcript: Transcript, message_id: str) -> array[int]:
    index = transcript.reader.index
    ordinal = index.find(message_id)
    if ordinal is not None:
        pasts: Sequence[array[int]] = [index.live]
        if not index.is_live(ordinal):
            pasts = transcript.book.replaced[::-1]
        for live in pasts:
            if ordinal in live:
                return live[: live.index(ordinal) + 1]
    raise PlaceError("there is no message with this id; give a turn's number, or an id that stands in the log")


def _turn_of(transcript: Transcript, ordinals: array[int]) -> int:
    index = transcript.reader.index
    users = [ordinal for ordinal in ordinals if index.roles[ordinal] == USER]
    unknown = [ordinal for ordinal in users if not index.plain_users[ordinal]]
    return max(1, len(users) - len(unknown) + sum(map(is_human, transcript.reader.read(unknown))))
