"""Pin a message, or hide a turn, by a record in the log; a person or the model asks for it.

Views keep a *pinned* message in full. A *hidden* turn stays in the history, and `recall` and `search` find it, but
plans leave it out: it disappears from views with the next plan. After it is shown again, it returns with the next plan.
The turn in progress cannot be hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import PinError
from ..log.contract import Log
from ..log.index import Index, live_positions
from ..log.record_line import encode_control
from ..messages.message import Message
from ..messages.metadata import given_id
from ..view.turns import Read, turn_starts

if TYPE_CHECKING:
    from .store import Store


async def pin(store: Store, message_id: str, *, pinned: bool, reason: str, within: float | None, time: str) -> None:
    """Pin or unpin a message. Arguments and errors are those of `PersistentContextManager.pin`."""
    if pinned and within is not None:
        session = await store.open()
        most = int(within * session.config.target_usage * session.views.last_budget_tokens)
        await session.queue.run(partial(check_room, message_id=message_id, count=session.count, most_tokens=most))
    make = partial(pin_record, message_id=message_id, pinned=pinned, reason=reason, time=time)
    await store.append(lambda history: history.by_hand(make), looks_back=True)


async def hide(store: Store, turn: int | str, *, hidden: bool, reason: str, time: str) -> None:
    """Hide a turn or show it again. Arguments and errors are those of `PersistentContextManager.hide`."""
    make = partial(hide_record, turn=turn, hidden=hidden, reason=reason, time=time)
    await store.append(lambda history: history.by_hand(make), looks_back=True)


def pin_record(
    index: Index, _: Read, record_id: str, message_id: str, *, pinned: bool, reason: str, time: str
) -> bytes | None:
    """Encode the record that pins or unpins a live message. Return None if nothing would change.

    Raises:
        PinError: no live message has this id.
    """
    ordinal = index.find_all([message_id]).get(message_id)
    if ordinal is None or not index.is_live(ordinal):
        raise PinError(f"no message of this session has the id {message_id!r:.80}; take one from a view")
    if (ordinal in index.session.pins) == pinned:
        return None
    return _record("pin", id=record_id, message_id=message_id, pinned=pinned, reason=reason, time=time)


def check_room(log: Log, message_id: str, count: Callable[[Message], int], most_tokens: int) -> None:
    """Check that a log's pins and one more message have at most `most_tokens` tokens.

    Raises:
        PinError: the pins would have more tokens.
    """
    log.follow()
    index = log.index
    pinned = {*index.session.pins, *index.find_all([message_id]).values()}
    live = [ordinal for ordinal in sorted(pinned) if index.is_live(ordinal)]
    tokens = sum(map(count, log.read(live)))
    if tokens > most_tokens:
        raise PinError(
            f"with this message the pinned messages have {tokens:,} tokens; the limit is {most_tokens:,}; "
            "unpin another message first, or pin a shorter message with the important part"
        )


def hide_record(
    index: Index, read: Read, record_id: str, turn: int | str, *, hidden: bool, reason: str, time: str
) -> bytes | None:
    """Encode the record that hides a turn or shows it again. Return None if nothing would change.

    Args:
        index: the index of the log.
        read: reads messages of the log.
        record_id: the record's id.
        turn: the number of the turn, from 1, or the id of one of its messages.
        hidden: whether to hide the turn or to show it.
        reason: the reason, kept in the log.
        time: the time of the record, ISO 8601.

    Raises:
        PinError: there is no such turn, or the turn is in progress.
    """
    starts = turn_starts(index, read)
    number = _number(index, starts, turn)
    if hidden and number == len(starts):
        raise PinError(f"turn {number:,} is the one in progress: it can be hidden once the next one has begun")
    stop = starts[number] if number < len(starts) else len(index.live)
    members = index.live[starts[number - 1] : stop]
    is_done = all((ordinal in index.session.hidden) == hidden for ordinal in members)
    if is_done:
        return None
    ends = [given_id(message) or "" for message in read([members[0], members[-1]])]
    return _record("hide", id=record_id, turn=ends, hidden=hidden, reason=reason, time=time)


def _record(kind: str, **fields: Any) -> bytes:
    return encode_control(kind, **{key: value for key, value in fields.items() if value != ""})


def _number(index: Index, starts: list[int], turn: int | str) -> int:
    if isinstance(turn, int):
        if not 1 <= turn <= len(starts):
            raise PinError(f"there is no turn {turn:,}: the session has the turns 1 to {len(starts):,}")
        return turn
    ordinal = index.find_all([turn]).get(turn)
    if ordinal is None or not index.is_live(ordinal):
        raise PinError(f"no message of this session has the id {turn!r:.80}; give a turn's number or a message's id")
    (position,) = live_positions(index.live, [ordinal])
    return sum(start <= position for start in starts)
