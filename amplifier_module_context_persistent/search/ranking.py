"""Ranking: which messages answer a question best. Plain sums, without a model, that can be explained.

The score of a message is the sum over the question's terms of

    rarity of the term * the term's weight in the message / MOST_WEIGHT

where the rarity is BM25's logarithm. A message without any of the terms is not found. Of a term that it has little of,
a message gets a share of what its neighbours have (`NEAR`): a question and its answer, a call and its result are one
thing. The sum is multiplied by `SPOKE` if the question names who wrote the message, and by `IN_PERIOD` if it names a
time and the message is of that time. Of equal messages the later one comes first.

Common words may stand in very many messages. So rare terms come first, and once `MOST_POSTINGS` are added up, the
others count only in the `CANDIDATES` best messages that were found by then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import chain
from math import log
from operator import itemgetter
from typing import Protocol

from .message_terms import MOST_WEIGHT
from .question import Question
from .ranked_segment import MessageColumns, Postings, key_of

NEAR = ((-1, 0.4), (1, 0.4), (-2, 0.2), (2, 0.2))
"""Shares of a neighbour's weight, by its distance."""
SPOKE = 1.5
IN_PERIOD = 1.5
MOST_POSTINGS = 12_000
CANDIDATES = 1_000
GAP = 4
"""So many places are left free between two logs: the messages of one are no neighbours of the other's."""


class RankedIndex(Protocol):
    """Segments of one log or of many, those of a log in their order."""

    @property
    def places(self) -> Sequence[int]:
        """The place of each segment's first message; a message's place is that plus its number in the segment."""
        ...

    @property
    def counts(self) -> Sequence[int]:
        """How many messages each segment has."""
        ...

    def postings(self, key: int) -> Iterable[tuple[int, Postings]]:
        """The postings of a term, each with the number of its segment."""
        ...

    def columns(self, segment: int) -> MessageColumns:
        """Where and when the messages of a segment were written."""
        ...


@dataclass(frozen=True, slots=True)
class Reason:
    """What a term adds to a score."""

    term: str
    points: float
    is_near: bool
    """Whether a neighbour has the term, or more of it."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A message that was found.

    Attributes:
        segment, number: where it is.
        score: what it is ranked by.
        reasons: what each term adds, the most first.
        spoke: whether the question names who wrote it.
        in_period: whether it is of the time that the question names.
        seconds: when it was written; 0 if that is not known.
    """

    segment: int
    number: int
    score: float
    reasons: tuple[Reason, ...]
    spoke: bool
    in_period: bool
    seconds: int


@dataclass(slots=True)
class _Term:
    """A term of the question, and what its postings give."""

    name: str
    rarity: float
    postings: list[tuple[int, Postings]]
    count: int
    own: dict[int, float] = field(default_factory=dict)
    """Points by place, as far as they were looked up."""

    def points_at(self, place: int) -> tuple[float, bool]:
        """The points of a message, and whether they are a neighbour's."""
        own, get = self.own.get(place, 0.0), self.own.get
        near = max(get(place + distance, 0.0) * share for distance, share in NEAR)
        return (near, True) if near > own else (own, False)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a question.

    Attributes:
        found: the best messages, best first.
        common: terms that counted only in messages with rarer ones.
    """

    found: tuple[Ranked, ...]
    common: tuple[str, ...]


def rank(question: Question, index: RankedIndex, *, most: int) -> Ranking:
    """Find the messages that answer a question best.

    Args:
        question: what is asked.
        index: what is searched.
        most: how many messages are given at most.
    """
    terms = _terms(question, index)
    scores, common = _add_up(terms, index)
    spoke = _places_of(question.names, index, scores)
    for place in spoke:
        scores[place] *= SPOKE
    times = _Times(index)
    in_period = set[int]()
    if question.period is not None:
        in_period = {place for place in _best(scores, CANDIDATES) if question.period.holds(times.of(place))}
        for place in in_period:
            scores[place] *= IN_PERIOD
    found = sorted(_best(scores, most + _TIES), key=lambda place: (-round(scores[place], 6), -times.of(place), -place))
    ranked = []
    for place in found[:most]:
        segment = bisect_right(index.places, place) - 1
        number, reasons = place - index.places[segment], _reasons(place, terms)
        is_spoken, is_then = place in spoke, place in in_period
        ranked.append(Ranked(segment, number, scores[place], reasons, is_spoken, is_then, times.of(place)))
    return Ranking(tuple(ranked), tuple(common))


_TIES = 32


def _terms(question: Question, index: RankedIndex) -> list[_Term]:
    """The terms that are found, rarest first."""
    terms, messages = [], sum(index.counts)
    for name in question.terms:
        postings = [(segment, found) for segment, found in index.postings(key_of(name)) if found.weights]
        count = sum(len(found.weights) for _, found in postings)
        if count:
            rarity = log(1 + (messages - count + 0.5) / (count + 0.5))
            terms.append(_Term(name, rarity, postings, count))
    return sorted(terms, key=lambda term: (term.count, term.name))


def _add_up(terms: Sequence[_Term], index: RankedIndex) -> tuple[dict[int, float], list[str]]:
    """Scores by place, and the terms that were too common to be looked up everywhere."""
    left, rare, common = MOST_POSTINGS, list[_Term](), list[_Term]()
    for term in terms:
        if rare and term.count > left:
            common.append(term)
            continue
        left -= term.count
        rare.append(term)
        for segment, found in _heaviest(term, MOST_POSTINGS):
            _note(term, index.places[segment], found)
    scores = dict.fromkeys(chain.from_iterable(term.own for term in rare), 0.0)
    for term in rare:
        _add_with_neighbours(scores, term.own)
    if common:
        scores = {place: scores[place] for place in _best(scores, CANDIDATES)}
        segments = {bisect_right(index.places, place) - 1 for place in scores}
        for term in common:
            for segment, found in term.postings:
                if segment in segments:
                    _note(term, index.places[segment], found)
            for place in scores:
                scores[place] += term.points_at(place)[0]
    return scores, [term.name for term in common]


def _note(term: _Term, begin: int, found: Postings) -> None:
    points = term.rarity / MOST_WEIGHT
    term.own.update(
        (begin + number, points * weight) for number, weight in zip(found.messages, found.weights, strict=True)
    )


def _heaviest(term: _Term, most: int) -> list[tuple[int, Postings]]:
    """The postings of a term; of more than so many, those with the greatest weights, and of equal ones the later."""
    if term.count <= most:
        return term.postings
    counts = [0] * (MOST_WEIGHT + 1)
    for _, found in term.postings:
        for weight in range(1, MOST_WEIGHT + 1):
            counts[weight] += found.weights.count(weight)
    least, left = MOST_WEIGHT, most
    while counts[least] <= left:
        left -= counts[least]
        least -= 1
    kept = []
    for segment, found in reversed(term.postings):
        pairs = [pair for pair in zip(*found, strict=True) if pair[1] > least]
        if left > 0 and least in found.weights:
            same = [pair for pair in zip(*found, strict=True) if pair[1] == least]
            pairs = sorted(pairs + same[-left:])
            left -= len(same)
        kept.append((segment, Postings([number for number, _ in pairs], bytes(weight for _, weight in pairs))))
    return kept


def _add_with_neighbours(scores: dict[int, float], own: dict[int, float]) -> None:
    """Add the points of a term to messages that have it, or whose neighbours have more of it."""
    best = dict(own)
    for distance, share in NEAR:
        for place, points in own.items():
            near = place + distance
            if near in scores and best.get(near, 0.0) < points * share:
                best[near] = points * share
    for place, points in best.items():
        scores[place] += points


def _best(scores: dict[int, float], most: int) -> list[int]:
    """The places with the best scores; of those at the limit, the later ones."""
    if len(scores) <= most:
        return list(scores)
    return [place for place, _ in nlargest(most, scores.items(), key=itemgetter(1, 0))]


def _places_of(names: Iterable[str], index: RankedIndex, among: dict[int, float]) -> set[int]:
    """The places of messages that somebody wrote whom one of some names means."""
    places = set[int]()
    for name in names:
        for segment, found in index.postings(key_of(name)):
            begin = index.places[segment]
            places.update(place for number in found.messages if (place := begin + number) in among)
    return places


class _Times:
    """Looks up when messages were written."""

    def __init__(self, index: RankedIndex) -> None:
        self._index = index
        self._columns: dict[int, MessageColumns] = {}

    def of(self, place: int) -> int:
        """Seconds since 1970; 0 if that is not known, or there is no message."""
        segment = bisect_right(self._index.places, place) - 1
        if segment < 0:
            return 0
        columns = self._columns.get(segment)
        if columns is None:
            columns = self._columns[segment] = self._index.columns(segment)
        number = place - self._index.places[segment]
        return columns.seconds[number] if number < len(columns.seconds) else 0


def _reasons(place: int, terms: Iterable[_Term]) -> tuple[Reason, ...]:
    reasons = (Reason(term.name, *term.points_at(place)) for term in terms)
    return tuple(sorted((reason for reason in reasons if reason.points), key=lambda reason: -reason.points))
