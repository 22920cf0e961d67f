"""Find a session's history up to a turn or a message, and the plan in force there.

The message may be one that a reset hid. A plan says which messages the views of a session leave out.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import PlaceError
from ...log.index import USER
from ...log.record_line import Message
from ...messages.metadata import given_id, is_human
from ...sessions.transcript import Transcript
from ...sessions.view_rebuild import ReceiptLog
from ...view.stored_plan import kept_ordinals


@dataclass(frozen=True, slots=True)
class HistoryPrefix:
    """The beginning of a history: the ordinals of its messages, and the id and the turn of the last message."""

    ordinals: array[int]
    message_id: str
    turn: int

    def __len__(self) -> int:
        return len(self.ordinals)


def history_at(transcript: Transcript, at: int | str | None = None) -> HistoryPrefix:
    """Return the history up to a place.

    Args:
        transcript: the session.
        at: the number of a turn, from 1; or the id of a message, which may be hidden; None for the whole live history.

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
    """Return the record of the plan that was in force when the history ended there, or None if there was none.

    Args:
        book: the plans and receipts of the session.
        ordinals: the history, as the ordinals of its messages.
        before: the id of a plan; only plans before that plan are considered.
    """
    plans = _plans_before(book, before) if before else book.made_for
    if not plans:
        return None
    index = replace(book.index, live=ordinals)
    ends = index.find_all([packed.upto for packed, _ in plans])
    is_in_history = bytearray(len(index))
    for ordinal in ordinals:
        is_in_history[ordinal] = 1
    for packed, live in reversed(plans):
        end = ends.get(packed.upto)
        if end is None or not is_in_history[end]:  # so later plans need not be unpacked
            continue
        record = packed.record()
        try:
            _, upto = kept_ordinals(index, record)
        except ValueError:  # the plan names later messages
            continue
        if live[: upto + 1] == ordinals[: upto + 1]:
            return record
    return None


def _plans_before(book: ReceiptLog, plan_id: str) -> Sequence[Any]:
    """Return the plans of a session that are older than the plan with an id; all plans if no plan has the id."""
    for number, (packed, _) in enumerate(book.made_for):
        if packed.record().get("id") == plan_id:
            return book.made_for[:number]
    return book.made_for


def _up_to(transcript: Transcript, message_id: str) -> array[int]:
    """Return the history up to a message, as ordinals; for a hidden message, the latest history that contained it.

    Raises:
        PlaceError: no history contains the message.
    """
    index = transcript.reader.index
    ordinal = index.find(message_id)
    if ordinal is not None:
        pasts: Sequence[array[int]] = [index.live]
        if not index.is_live(ordinal):
            pasts = transcript.book.replaced[::-1]
        for live in pasts:
            if ordinal in live:
                return live[: live.index(ordinal) + 1]
    raise PlaceError(
        f"there is no message with the id {message_id!r:.80}; give a turn's number, or the id of a message in the log"
    )


def _turn_of(transcript: Transcript, ordinals: array[int]) -> int:
    index = transcript.reader.index
    users = [ordinal for ordinal in ordinals if index.columns.roles[ordinal] == USER]
    unknown = [ordinal for ordinal in users if not index.columns.plain_users[ordinal]]
    return max(1, len(users) - len(unknown) + sum(map(is_human, transcript.reader.read(unknown))))
