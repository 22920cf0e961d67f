"""Checking the views of a session one after the other: of one that goes on, only what was appended.

A view that begins with a whole valid view keeps each rule if what came after it does. So a request costs what is new
in its view, and one after a compaction what its view holds. What is found is what the two checkers find.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from .checker import Seen, tail_violations, view_violations
from .request_checker import GrowingLimits

Message = dict[str, Any]


class GrowingCheck:
    """Checks the views of one policy in their order."""

    def __init__(self) -> None:
        self._messages = 0
        """How many the view before has."""
        self._seen: Seen | None = None
        """What the view before holds; None if one of its messages, or their order, breaks a rule."""
        self._limits = GrowingLimits()

    @property
    def is_sound(self) -> bool:
        """Whether the view before keeps all rules but those on its size, images and documents."""
        return self._seen is not None

    def check(self, view: Sequence[Message], fresh: Sequence[int], same: int) -> list[str]:
        """Say what is wrong with a view.

        Args:
            view: the messages.
            fresh: the positions of the messages that no sound view held before.
            same: how many of its first messages are those of the view before it, in its order.
        """
        goes_on = same == self._messages
        if not goes_on:
            self._limits = GrowingLimits()
        self._limits.take(view[same:] if goes_on else view)
        self._messages = len(view)
        seen = self._seen if goes_on else None
        if seen is None or tail_violations(view, same, seen, fresh=fresh):
            found = view_violations(view, fresh=fresh)
            self._seen = Seen.of(view) if not found else None
        else:
            found = []
        return [*found, *self._limits.violations()]


class WholeCheck:
    """Checks a view that is given piece by piece, and each view that is a beginning of it."""

    def __init__(self) -> None:
        self._seen = Seen()
        self._limits = GrowingLimits()
        self._characters, self._images, self._documents = array("Q", [0]), array("I", [0]), array("I", [0])
        """By the number of messages."""

    def take(self, messages: Sequence[Message]) -> bool:
        """Take the next messages, whole tool groups; False if the view breaks a rule other than those on its size."""
        if self._seen.messages:
            found = tail_violations(messages, 0, self._seen, fresh=range(len(messages)))
        else:
            found = view_violations(messages, fresh=range(len(messages)))
            self._seen.take(messages)
        limits = self._limits
        for message in messages:
            limits.take([message])
            self._characters.append(limits.characters)
            self._images.append(limits.images)
            self._documents.append(limits.documents)
        return not found

    def violations(self, messages: int) -> Iterator[str]:
        """What is wrong with the view of the first so many messages."""
        return self._limits.violations(self._characters[messages], self._images[messages], self._documents[messages])
