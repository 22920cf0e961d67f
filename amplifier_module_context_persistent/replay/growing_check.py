"""Checking the views of a session one after the other: of one that goes on, only what was appended.

A view that begins with a whole valid view keeps each rule if what came after it does. So a request costs what is new
in its view, and one after a compaction what its view holds. What is found is what the two checkers find.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from .checker import Seen, tail_violations, view_violations
from .request_checker import TextSize, limit_violations

Message = dict[str, Any]


class GrowingCheck:
    """Checks the views of one policy in their order."""

    def __init__(self) -> None:
        self._seen: Seen | None = None
        """What the view before holds; None if it was not valid."""
        self._size = TextSize()

    def check(self, view: Sequence[Message], fresh: Sequence[int], same: int) -> list[str]:
        """Say what is wrong with a view.

        Args:
            view: the messages.
            fresh: the positions of the messages that no valid view held before.
            same: how many of its first messages are those of the view before it, in its order.
        """
        if self._seen is not None and same == self._seen.messages and self._goes_on(view, fresh, same):
            return []
        found = [*view_violations(view, fresh=fresh), *limit_violations(view, exact=False)]
        self._seen, self._size = (Seen.of(view), TextSize.of(view)) if not found else (None, TextSize())
        return found

    def _goes_on(self, view: Sequence[Message], fresh: Sequence[int], same: int) -> bool:
        """Whether a view that begins with the whole one before it is valid for sure."""
        size = self._size.with_more(view[same:])
        if self._seen is None or size.violations or size.media != self._size.media:
            return False
        if tail_violations(view, same, self._seen, fresh=fresh):
            return False
        self._size = size
        return True


class WholeCheck:
    """Checks a view that is given piece by piece, and each view that is a beginning of it."""

    def __init__(self) -> None:
        self._seen = Seen()
        self._size = TextSize()
        self._characters, self._media_counts = array("Q", [0]), array("I", [0])
        """By the number of messages."""
        self._media: list[Message] = []
        """The messages with images or documents, up to the first one that makes a view break a rule."""
        self._found: list[list[str]] = [[]]
        """By the number of images and documents, what is wrong with them."""

    def take(self, messages: Sequence[Message]) -> bool:
        """Take the next messages, whole tool groups; False if the view breaks a rule other than those on its size."""
        if self._seen.messages:
            found = tail_violations(messages, 0, self._seen, fresh=range(len(messages)))
        else:
            found = view_violations(messages, fresh=range(len(messages)))
            self._seen.take(messages)
        for message in messages:
            before, size = self._size, self._size.with_more([message])
            self._size = size
            self._characters.append(size.characters)
            self._media_counts.append(size.media)
            if size.media > before.media:
                self._media.append(message)
                said = [one for one in limit_violations(self._media, exact=False) if not one.startswith("bytes:")]
                self._found += [said] * (size.media - before.media)
        return not found

    def violations(self, messages: int) -> list[str]:
        """What is wrong with the view of the first so many messages."""
        size = TextSize(self._characters[messages], self._media_counts[messages])
        return [*size.violations, *self._found[size.media]]
