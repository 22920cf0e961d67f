"""The span of a history that a summary replaces. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from ..messages.message import Message
from .always_kept import recent_start
from .draft import Draft
from .plan_request import Summary


@dataclass(frozen=True, slots=True)
class Span:
    """The messages that a summary will replace, by their ordinals, and the request that asks for it."""

    ordinals: frozenset[int]
    basis: Hashable
    request: list[Message]
    with_tools: bool
    """Whether the request is the view with the instruction, and so begins as the last one did."""
    tokens: int


def older_ordinals(draft: Draft) -> frozenset[int]:
    """The ordinals of what is older than the protected share and may go: no person's words, system text or pins."""
    start = recent_start(draft)
    positions = [position for position in draft.left() if position < start and position not in draft.fixed]
    groups = [draft.view.groups[position] for position in positions if not draft.view.groups[position].head.human]
    return frozenset(entry.ordinal for group in groups for entry in group.entries())


def drop_span(draft: Draft, summary: Summary) -> None:
    """Leave out what a summary replaces, whole groups only."""
    for position in draft.left():
        group = draft.view.groups[position]
        if position not in draft.fixed and all(entry.ordinal in summary.ordinals for entry in group.entries()):
            draft.drop(position)
