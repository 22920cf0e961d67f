"""The span of a history that a summary stands for. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from ..messages.message import Message
from ..view.plan import SUMMARY_TAGS
from .draft import Draft


@dataclass(frozen=True, slots=True)
class Summary:
    """A text that stands for the messages with these keys, as long as the history's `basis` is that one."""

    text: str
    keys: frozenset[int]
    basis: Hashable


@dataclass(frozen=True, slots=True)
class Span:
    """The messages that a summary is to stand for, by their keys, and the request that asks for it."""

    keys: frozenset[int]
    basis: Hashable
    request: list[Message]
    with_tools: bool
    """Whether the request is the view with the instruction, and so begins as the last one did."""
    tokens: int

    def summed_up(self, text: str) -> Summary:
        """The summary of this span."""
        return Summary(text, self.keys, self.basis)


def older_keys(draft: Draft) -> frozenset[int]:
    """The keys of what is older than the protected share and may go: no person's words, system text or pins."""
    start = draft.recent_start(draft.config.protected_recent)
    places = [place for place in draft.left() if place < start and place not in draft.fixed]
    groups = [draft.groups[place] for place in places if not draft.groups[place].head.human]
    return frozenset(entry.key for group in groups for entry in group.entries())


def drop_span(draft: Draft, summary: Summary) -> None:
    """Leave out what a summary stands for, whole groups only."""
    for place in draft.left():
        group = draft.groups[place]
        if place not in draft.fixed and all(entry.key in summary.keys for entry in group.entries()):
            draft.drop(place)


def summary_text(text: str) -> str:
    """A summary as it stands in a view."""
    return text.join(SUMMARY_TAGS)
