"""A history up to a place: a turn or a message, also one that a reset hid; and the plan that views followed there."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...errors import PlaceError
from ...log.index import USER
from ...log.record_line import Message
from ...messages.metadata import given_id, is_human
from ...sessions.transcript import Transcript
from ...sessions.view_rebuild import ReceiptLog
from ...view.plan import kept_ordinals


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
    """The record of the plan of views at the time when the history ended there; None if there was none.

    With the id of a plan in `before`, the last plan before that one.
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
    raise PlaceError(
        f"there is no message with the id {message_id!r:.80}; give a turn's number, or an id that stands in the log"
    )


def _turn_of(transcript: Transcript, ordinals: array[int]) -> int:
    index = transcript.reader.index
    users = [ordinal for ordinal in ordinals if index.columns.roles[ordinal] == USER]
    unknown = [ordinal for ordinal in users if not index.columns.plain_users[ordinal]]
    return max(1, len(users) - len(unknown) + sum(map(is_human, transcript.reader.read(unknown))))
