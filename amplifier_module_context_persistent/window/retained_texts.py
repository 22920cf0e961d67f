"""Texts (*bodies*) that a view must contain in full: find their messages, and check that a view shows them.

A body's *holder* is a message that contains it. A message of a host, hook or person is preferred to one of the model
or a tool, then one that has the body as its whole text, then the newest. A holder is searched once and kept as long as
it is live, so that later views stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..errors import RetentionError
from ..log.contract import Log
from ..log.index import Index
from ..messages.kept_from_models import is_kept_from_models
from ..messages.message import Message, metadata_of, texts_of
from ..messages.text import well_formed
from ..view.entry import gives_way
from .entries_without_plan import BATCH
from .ephemerals import UnloggedMessages

_HOST_ROLES = frozenset({"user", "system", "developer"})
_WHOLE, _PART, _SAID = 3, 2, 1  # ranks of holders: whole text, part of a text, text of the model or a tool


class RetainedTexts:
    """Finds the messages of one session that contain given texts in full. Use it on the log's thread.

    Args:
        unlogged: the session's messages that are in no log.
    """

    def __init__(self, unlogged: UnloggedMessages) -> None:
        self._unlogged = unlogged
        self._known: dict[str, int] = {}
        self._index: Index | None = None
        self._generation = -1

    def find(self, log: Log, bodies: Sequence[str], *, has_factory: bool) -> frozenset[int]:
        """Find the ordinals of the messages that contain the bodies, one message for each body (its holder).

        Args:
            log: the log, followed.
            bodies: the texts to find.
            has_factory: whether a head text replaces stored system messages; such messages cannot be holders.

        Raises:
            RetentionError: no message contains one of them.
        """
        index = log.index
        if index is not self._index or index.generation != self._generation:
            self._index = index
            self._generation = index.generation
            self._known = {}
        ephemeral = self._unlogged.ordinals()
        known = dict[str, int]()
        for number, body in enumerate(bodies, 1):
            ordinal = self._known.get(body)
            is_gone = ordinal is not None and ordinal < 0 and ordinal not in ephemeral  # negative: a message in no log
            if ordinal is None or is_gone:
                ordinal = self._search(log, body, has_factory=has_factory)
            if ordinal is None:
                raise RetentionError(
                    f"body {number} of {len(bodies)} must be in the view,"
                    " but no live message of this session contains it"
                )
            known[body] = ordinal
        self._known = known  # drop bodies that are no longer asked for
        return frozenset(known.values())

    def _search(self, log: Log, body: str, *, has_factory: bool) -> int | None:
        best: int | None = None
        best_rank = 0
        for ordinal, message in self._newest_first(log):
            rank = _rank(message, body)
            if rank <= best_rank or is_kept_from_models(message):
                continue
            source = metadata_of(message).get("source")
            is_replaced = has_factory and gives_way(str(message.get("role")), source)
            if is_replaced:
                continue
            best = ordinal
            best_rank = rank
            if rank == _WHOLE:
                break
        return best

    def _newest_first(self, log: Log) -> Iterator[tuple[int, Message]]:
        """Yield all messages of the session with their ordinals, newest first."""
        for ordinal in sorted(self._unlogged.ordinals()):
            yield ordinal, self._unlogged.message(ordinal)
        live = log.index.live
        for end in range(len(live), 0, -BATCH):
            ordinals = live[max(0, end - BATCH) : end]
            yield from zip(reversed(ordinals), reversed(list(log.read(ordinals))), strict=True)


def shows_all(view: Iterable[Message], bodies: Iterable[str]) -> bool:
    """Return whether each body is contained in full in one message of a view.

    Views replace characters that are not valid Unicode. So such characters are replaced in the bodies too before the
    comparison.
    """
    texts = [well_formed(text) for message in view for text in texts_of(message)]

    def is_shown(body: str) -> bool:
        return any(body in text for text in texts)

    return all(is_shown(well_formed(body)) for body in bodies)


def checked_bodies(value: Any) -> tuple[str, ...]:
    """Check a caller's list of bodies; duplicates and empty texts are dropped.

    Raises:
        ValueError: `value` is not a list of texts.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ValueError(f"retain_contents must be a list of texts, not {type(value).__name__}")  # noqa: TRY004 - a ValueError is documented
    bodies = list(value)
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
