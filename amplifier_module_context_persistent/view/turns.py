"""The turns of a live history: each begins at a person's message, and what comes before the first belongs to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ..log.index import USER, Index
from ..messages.message import Message
from ..messages.metadata import is_human

Read = Callable[[Sequence[int]], Iterable[Message]]
"""Reads messages by their ordinals."""


def turn_starts(index: Index, read: Read) -> list[int]:
    """Where each turn begins in the live history; empty where that is."""
    live = index.live
    is_straight = not index.generation and len(live) == len(index)  # as most are: every record, one after the other
    roles = bytes(index.roles if is_straight else map(index.roles.__getitem__, live))
    users = [found.start() for found in re.finditer(re.escape(bytes([USER])), roles)]
    unknown = [position for position in users if not index.plain_users[live[position]]]
    messages = read([live[position] for position in unknown])
    others = {position for position, message in zip(unknown, messages, strict=True) if not is_human(message)}
    starts = [position for position in users if position not in others] if others else users
    return [0, *starts[1:]] if len(live) else []
