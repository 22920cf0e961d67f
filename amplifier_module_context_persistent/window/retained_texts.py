"""Bodies that a request's view has to hold complete: where they are in a session, and whether a view shows them.

A body's *holder* is the message that has it as its whole text, or else as a part of one of its texts; one that a host,
a hook or a person wrote before one that the model or a tool did; the newest of those. It is looked for once: as long
as it is live it stays the holder, so that later views stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..errors import RetentionError
from ..log.base import Log
from ..log.index import Index
from ..messages.message import Message, texts_of
from ..messages.metadata import is_kept_from_models, metadata_of
from ..messages.text import well_formed
from ..view.entry import gives_way
from .cold_start import BATCH
from .ephemerals import Extras

_HOST_ROLES = frozenset({"user", "system", "developer"})
_WHOLE, _PART, _SAID = 3, 2, 1  # how well a message holds a body


class RetainedTexts:
    """The holders that are known in one session; asked on the log's thread.

    Args:
        extras: the session's messages that are in no log.
    """

    def __init__(self, extras: Extras) -> None:
        self._extras = extras
        self._known: dict[str, int] = {}
        self._index: Index | None = None
        self._generation = -1

    def find(self, log: Log, bodies: Sequence[str], *, has_factory: bool) -> frozenset[int]:
        """Find the ordinals of the holders of bodies.

        Args:
            log: the log, followed.
            bodies: the bodies.
            has_factory: whether stored system messages give way to a head text: such a message holds nothing.

        Raises:
            RetentionError: no message holds one of them.
        """
        index = log.index
        if index is not self._index or index.generation != self._generation:
            self._index, self._generation, self._known = index, index.generation, {}
        ephemeral, known = self._extras.ordinals(), dict[str, int]()
        for number, body in enumerate(bodies, 1):
            ordinal = self._known.get(body)
            if ordinal is None or (ordinal < 0 and ordinal not in ephemeral):
                ordinal = self._search(log, body, has_factory=has_factory)
            if ordinal is None:
                raise RetentionError(
                    f"body {number} of {len(bodies)} that the view has to hold"
                    " stands in no live message of this session"
                )
            known[body] = ordinal
        self._known = known  # forget what no request asks for any more
        return frozenset(known.values())

    def _search(self, log: Log, body: str, *, has_factory: bool) -> int | None:
        best, best_rank = None, 0
        for ordinal, message in self._newest_first(log):
            rank, source = _rank(message, body), metadata_of(message).get("source")
            is_shown = not (has_factory and gives_way(str(message.get("role")), source))
            if rank > best_rank and is_shown and not is_kept_from_models(message):
                best, best_rank = ordinal, rank
                if rank == _WHOLE:
                    break
        return best

    def _newest_first(self, log: Log) -> Iterator[tuple[int, Message]]:
        """All messages of the session."""
        for ordinal in sorted(self._extras.ordinals()):
            yield ordinal, self._extras.message(ordinal)
        live = log.index.live
        for end in range(len(live), 0, -BATCH):
            ordinals = live[max(0, end - BATCH) : end]
            yield from zip(reversed(ordinals), reversed(list(log.read(ordinals))), strict=True)


def shows_all(view: Iterable[Message], bodies: Iterable[str]) -> bool:
    """Whether every body is complete in a message of a view, in the form in which views show it."""
    texts = [well_formed(text) for message in view for text in texts_of(message)]
    return all(any(well_formed(body) in text for text in texts) for body in bodies)


def checked_bodies(given: Any) -> tuple[str, ...]:
    """The bodies that a caller asks for, each once; empty ones are in every view.

    Raises:
        ValueError: it is no list of texts.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ValueError(f"retain_contents must be a list of texts, not {type(given).__name__}")  # noqa: TRY004 - a ValueError is documented
    bodies = list(given)
    if not all(isinstance(body, str) for body in bodies):
        raise ValueError("retain_contents must hold texts only")
    return tuple(dict.fromkeys(body for body in bodies if body))


def _rank(message: Message, body: str) -> int:
    texts = texts_of(message)
    if not any(body in text for text in texts):
        return 0
    if message.get("role") not in _HOST_ROLES:
        return _SAID
    return _WHOLE if texts == [body] else _PART
