"""Make the records of a reset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .base import ReadableLog
from .record import Member
from .reset_record import Reset, Run, frame

NewMessage = Callable[[Member], bytes]
"""Encodes a new message of a reset as its member."""


def reset_bodies(
    live: Sequence[int],
    items: Sequence[int | NewMessage],
    ids_of: Callable[[Sequence[int]], Iterable[str]],
    *,
    reset_id: str,
    reason: str,
    time: str,
) -> list[bytes]:
    """The bodies of a reset that makes the live history what `items` say, in their order.

    Args:
        live: the live history now, under the lock, as ordinals.
        items: ordinals of live messages that stay, and new messages.
        ids_of: gives the ids of messages by their ordinals.
        reset_id: a new id.
        reason: `clear`, `set_messages` or `rewind`.
        time: ISO 8601.
    """
    bodies: list[bytes] = []
    runs: list[tuple[int, list[int]]] = []
    positions = {ordinal: position for position, ordinal in enumerate(live)}
    for item in items:
        if not isinstance(item, int):
            bodies.append(item(Member(reset_id, len(bodies))))
        elif runs and runs[-1][0] == len(bodies) and positions[item] == positions[runs[-1][1][-1]] + 1:
            runs[-1][1].append(item)
        else:
            runs.append((len(bodies), [item]))
    wanted = [ordinal for _, run in runs for ordinal in (*run[:2], *run[-2:])] + list(live[-1:])
    ids = dict(zip(wanted, ids_of(wanted), strict=True))
    described = tuple(
        Run(position, len(run), tuple(ids[o] for o in run[:2]), tuple(ids[o] for o in run[-2:]))
        for position, run in runs
    )
    upto = ids[live[-1]] if live else ""
    reset = Reset(reset_id, reason, time, upto, len(bodies), len(items), described)
    return frame(reset, bodies)


def ids_in(log: ReadableLog) -> Callable[[Sequence[int]], Iterable[str]]:
    """Give the ids of messages of a log by their ordinals."""
    return lambda ordinals: (str(message["metadata"]["message_id"]) for message in log.read(ordinals))
