"""Hide a turn from views, and show it again: the opposite of a pin, for whole turns.

History keeps the turn, and `recall` and `search` find it. A plan leaves it out; so it goes with the next one, and comes
back with the next one after it is shown again. The turn in progress cannot be hidden.
"""

from __future__ import annotations

from ..errors import PinError
from ..log.index import Index
from ..log.record import encode_control
from ..messages.metadata import given_id
from ..view.plan import live_positions
from ..view.rules import Read, turn_starts


def hide_record(
    index: Index, read: Read, turn: int | str, *, hidden: bool, record_id: str, reason: str, time: str
) -> bytes | None:
    """Encode the record that hides a turn or shows it again; None if it is so already.

    Args:
        index: of the log.
        read: reads its messages.
        turn: its number, from 1, or the id of one of its messages.
        hidden: whether it is hidden.
        record_id: the record's id.
        reason: why.
        time: ISO 8601.

    Raises:
        PinError: there is no such turn, or it is the one in progress.
    """
    starts = turn_starts(index, read)
    number = _number(index, starts, turn)
    if hidden and number == len(starts):
        raise PinError(f"turn {number:,} is the one in progress: it can be hidden once the next one has begun")
    stop = starts[number] if number < len(starts) else len(index.live)
    members = index.live[starts[number - 1] : stop]
    if all((ordinal in index.hidden) == hidden for ordinal in members):
        return None
    first, last = (given_id(message) or "" for message in read([members[0], members[-1]]))
    fields = {"id": record_id, "turn": [first, last], "hidden": hidden, "reason": reason, "time": time}
    return encode_control("hide", **{key: value for key, value in fields.items() if value != ""})


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
