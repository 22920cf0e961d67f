"""What a view says in the place of what the history says: cut texts, and messages that the history does not hold.

A cut text is kept as how much of the original it begins and ends with, and what stands between. So it costs little, and
the page can show it in full.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..log.record import Message
from ..messages.metadata import metadata_of
from ..replay.visibility import ELIDED, Marks
from .body import Bodies

Cut = list[list[Any] | None]
"""For each part of a message's body: None where the view says it all, an empty list where it has nothing of it, else
`[characters of the beginning, characters of the end, what stands between]`."""


@dataclass(slots=True)
class Seen:
    """What a view says otherwise than its history."""

    cuts: dict[int, Cut] = field(default_factory=dict)
    """By position, those that the view before had not, or had otherwise."""
    inserted: list[tuple[int, str, int]] = field(default_factory=list)
    """Before which position a message stands that the history does not hold; its role; the number of its text."""


class AsSeen:
    """Reads views, one after the other.

    Args:
        bodies: makes the bodies of messages.
        texts: takes the texts of inserted messages; each one once.
    """

    def __init__(self, bodies: Bodies, texts: list[str]) -> None:
        self._bodies, self._texts = bodies, texts
        self._numbers: dict[str, int] = {}
        self._known: dict[int, tuple[Message, Cut]] = {}

    def read(
        self,
        view: Sequence[Message],
        marks: Marks,
        place_of: Callable[[str], int | None],
        originals: Callable[[Sequence[int]], Sequence[Message]],
    ) -> Seen:
        """Tell what a view says otherwise, by positions in its history."""
        seen, changed = Seen(), {}
        waiting: list[tuple[str, int]] = []
        known, self._known = self._known, {}
        for message in view:
            message_id = metadata_of(message).get("message_id")
            position = place_of(message_id) if isinstance(message_id, str) else None
            if position is None or position >= marks.total:
                waiting.append((str(message.get("role")), self._number(message)))
                continue
            seen.inserted += [(position, *inserted) for inserted in waiting]
            waiting = []
            if marks.shown.get(position) != ELIDED:
                continue
            if position in known and known[position][0] == message:
                self._known[position] = known[position]
            else:
                changed[position] = message
        seen.inserted += [(marks.total, *inserted) for inserted in waiting]
        for position, original in zip(changed, originals(list(changed)), strict=True):
            cut = self._cut(original, changed[position])
            self._known[position] = changed[position], cut
            if position not in known or known[position][1] != cut:
                seen.cuts[position] = cut
        return seen

    def _number(self, message: Message) -> int:
        text = "\n".join(part[-1] for part in self._bodies.body(0, message))
        if text not in self._numbers:
            self._numbers[text] = len(self._texts)
            self._texts.append(text)
        return self._numbers[text]

    def _cut(self, original: Message, shown: Message) -> Cut:
        left = self._bodies.body(0, shown)
        cut: Cut = []
        for part in self._bodies.body(0, original):
            if left and left[0][0] == part[0]:
                cut.append(_difference(part[-1], left.pop(0)[-1]))
            else:
                cut.append([])
        return cut


def _difference(original: str, shown: str) -> list[Any] | None:
    if original == shown:
        return None
    most = min(len(original), len(shown))
    head = _shared(most, lambda count: original[:count] == shown[:count])
    tail = _shared(most - head, lambda count: count == 0 or original[-count:] == shown[-count:])
    between = shown[head : len(shown) - tail]
    return [_units(original[:head]), _units(original[len(original) - tail :]), between]


def _units(text: str) -> int:
    """How long a text is where the page's script counts: in UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _shared(most: int, is_shared: Callable[[int], bool]) -> int:
    """The largest number up to `most` for which something holds that holds for all smaller ones."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_shared(middle) else (low, middle - 1)
    return low


def seen_json(seen: Seen, page_place: Mapping[int, int] | Callable[[int], int | None]) -> dict[str, Any]:
    """For the page, whose positions are others."""
    at = page_place.get if isinstance(page_place, Mapping) else page_place
    return {
        "cuts": {str(here): cut for position, cut in seen.cuts.items() if (here := at(position)) is not None},
        "inserted": [
            [here, role, text] for position, role, text in seen.inserted if (here := at(position)) is not None
        ],
    }
