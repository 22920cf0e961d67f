"""Ranking: which messages answer a question best. The scores are plain sums that can be explained; no model is used.

The score of a message is the sum over the question's terms of

    rarity of the term * the term's weight in the message / MOST_WEIGHT

where the rarity is BM25's logarithm. A message without any of the terms is not found. If a message has little of a
term, a share of its neighbours' weight is added (`NEAR`): a question and its answer, a call and its result belong
together. The sum is multiplied by `SPOKE` if the question names the writer of the message, and by `IN_PERIOD` if the
question names a time and the message was written then. Of equal messages the later one comes first. A word that no
message has is treated as a typing slip if one slip leads to a word that messages have (`typing_slips.py`).

Common words may be in very many messages. So the rarest terms are added up first. After `MOST_POSTINGS`, the other
terms count only in the `CANDIDATES` best messages found so far.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf, log

from .index_terms import PLAIN_SHARE
from .message_terms import MOST_WEIGHT
from .question import ANYTHING_SAID, AskedTerm, Question, speaker_term
from .question_times import Period
from .ranked_index import RankedIndex
from .ranked_segment import Postings, key_of
from .typing_slips import Slip, slips_in

NEAR = ((-1, 0.4), (1, 0.4), (-2, 0.2), (2, 0.2))
"""The share of a neighbour's weight that a message gets, by the neighbour's distance."""
_WITH_NEIGHBOURS = (0, *(distance for distance, _ in NEAR))
SPOKE = 1.5
IN_PERIOD = 2.0
MOST_POSTINGS = 12_000
CANDIDATES = 1_000
GAP = 4
"""The number of free places between two logs, so that messages of two logs are not neighbours."""


@dataclass(frozen=True, slots=True)
class Written:
    """The time in which the wanted messages were written, in seconds since 1970. None leaves an end open."""

    since_s: float | None = None
    until_s: float | None = None

    def may_take(self, seconds: int) -> bool:
        """Return whether a message written at this second may be wanted. 0 means that its time is unknown."""
        if self == ANY_TIME:
            return True
        if seconds <= 0:
            return False
        is_too_early = self.since_s is not None and seconds <= self.since_s - 1
        is_too_late = self.until_s is not None and seconds > self.until_s
        return not is_too_early and not is_too_late


ANY_TIME = Written()


@dataclass(frozen=True, slots=True)
class Reason:
    """The part of a message's score that one term adds."""

    term: str
    said: str
    """The question's word or words for the term."""
    forms: tuple[str, ...]
    """The term, with and without its accents."""
    points: float
    is_near: bool
    """Whether the points come from an adjacent message, which has the term or has more of it."""


def worth_of(ranked: Ranked) -> dict[str, float]:
    """Return the forms of the question's terms in a message, each with the points that the term adds."""
    return {form: reason.points for reason in ranked.reasons for form in reason.forms}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A message that was found, with its score.

    Attributes:
        segment, number: the segment, and the message's number in the segment.
        score: the message's score.
        reasons: the part that each term adds, the largest first.
        spoke: whether the question names the message's writer.
        in_period: whether it was written at the time that the question names.
        seconds: the time of writing in seconds since 1970; 0 if unknown.
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
    """A term of the question, with the number of messages that have it, its rarity, and the points that it adds."""

    asked: AskedTerm
    rarity: float
    count: int
    own: dict[int, float] = field(default_factory=dict)
    """Points by place, for the places looked up so far."""

    def points_at(self, place: int) -> tuple[float, bool]:
        """Return the points that a message gets, and whether the points come from an adjacent message."""
        own = self.own.get(place, 0.0)
        get = self.own.get
        near = max(get(place + distance, 0.0) * share for distance, share in NEAR)
        if near > own:
            return near, True
        return own, False


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a question.

    Attributes:
        found: the best messages, best first.
        common: words of the question that counted only in messages with rarer ones.
        slips: words that no message has, each with the word that is looked for instead.
        is_by_time_alone: whether no message has a word of the question. Then the messages of the time that the question
            names were found.
        unmatched: words that no message has, other than slips.
    """

    found: tuple[Ranked, ...]
    common: tuple[str, ...]
    slips: tuple[Slip, ...] = ()
    is_by_time_alone: bool = False
    unmatched: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for a person about words that no message has."""
        is_shown = self.is_by_time_alone and self.found
        by_time = ("no match for the words; showing what was said at that time",) if is_shown else ()
        return (*(slip.sentence for slip in self.slips), *by_time)


def rank(question: Question, index: RankedIndex, *, most: int, written: Written = ANY_TIME) -> Ranking:
    """Find the messages that answer a question best.

    Args:
        question: the parsed question: its terms, and words for a time.
        index: the index to search.
        most: the most messages to return.
        written: the time in which they were written. Messages without a time are left out if it is limited.
    """
    terms, slips, missing = _terms(question.terms, index)
    is_by_time_alone = bool(question.periods) and not terms
    if is_by_time_alone:
        terms, _, _ = _terms(ANYTHING_SAID, index)
    scores, common = _add_up(terms, index, written)
    spoke = _places_of(question.names, index, scores)
    for place in spoke:
        scores[place] *= SPOKE
    in_period = _in_periods(question.periods, scores, index)
    if is_by_time_alone or question.terms == ANYTHING_SAID:
        scores = {place: scores[place] for place in in_period}
    for place in in_period:
        scores[place] *= IN_PERIOD
    in_order = _in_order(_best(scores, most + _TIES), scores, index)
    ranked = []
    for place in in_order[:most]:
        segment = bisect_right(index.places, place) - 1
        number = place - index.places[segment]
        ranked.append(
            Ranked(
                segment=segment,
                number=number,
                score=scores[place],
                reasons=_reasons(place, terms),
                spoke=place in spoke,
                in_period=place in in_period,
                seconds=index.seconds(segment, number),
            )
        )
    unmatched = tuple(word for word in missing if not _is_speaker(word, index))
    return Ranking(tuple(ranked), tuple(common), slips, is_by_time_alone, unmatched)


def _is_speaker(word: str, index: RankedIndex) -> bool:
    """Return whether a word is the name of a speaker of some message."""
    (count,) = index.frequencies([key_of(speaker_term(word))])
    return count > 0


def _in_periods(periods: Sequence[Period], scores: Mapping[int, float], index: RankedIndex) -> set[int]:
    """Return the places of messages that were written in at least one of the periods."""
    places = set[int]()
    if not periods:
        return places
    for place in scores:
        seconds = _written(place, index)
        if any(period.holds(seconds) for period in periods):
            places.add(place)
    return places


_TIES = 32


def _in_order(places: Sequence[int], scores: Mapping[int, float], index: RankedIndex) -> list[int]:
    """Sort places by score, best first. Of equal scores the later message comes first.

    Times are looked up only for messages with equal scores.
    """
    rounded = {place: round(scores[place], 6) for place in places}
    messages_of_score = Counter(rounded.values())
    times = dict.fromkeys(places, 0)
    for place in places:
        if messages_of_score[rounded[place]] > 1:
            times[place] = _written(place, index)
    return sorted(places, key=lambda place: (-rounded[place], -times[place], -place))


def _terms(asked_terms: Sequence[AskedTerm], index: RankedIndex) -> tuple[list[_Term], tuple[Slip, ...], list[str]]:
    """Return the known terms, rarest first, the corrected typing slips, and the words that no message has.

    The terms include those of the corrected words.
    """
    counts = _counts(asked_terms, index)
    known = [term for term, count in counts.items() if count > 0]
    unknown = [term for term, count in counts.items() if count == 0]
    slips = slips_in(unknown, index, tries_all=not known)
    missing_words = _missing_words(known, unknown, slips)

    counts.update(_counts([slip.meant for slip in slips], index))
    messages = sum(index.counts)
    terms = list[_Term]()
    for term, count in counts.items():
        if count > 0:
            rarity = term.share * _rarity(count, messages)
            terms.append(_Term(term, rarity, count))
    terms.sort(key=lambda term: (term.count, term.asked.name))
    return terms, slips, missing_words


def _missing_words(known: Sequence[AskedTerm], unknown: Sequence[AskedTerm], slips: Sequence[Slip]) -> list[str]:
    """Return the words of the question that no message has, each once. Corrected slips and weak words are left out."""
    found_words = {term.said for term in known}
    found_words.update(slip.said for slip in slips)
    unknown_words = dict.fromkeys(term.said for term in unknown if not term.is_weak and not term.is_joined)
    return [word for word in unknown_words if word not in found_words]


def _rarity(count: int, messages: int) -> float:
    """Return the inverse document frequency of BM25 for a term that `count` of all messages have."""
    return log(1 + (messages - count + 0.5) / (count + 0.5))


def _counts(terms: Sequence[AskedTerm], index: RankedIndex) -> dict[AskedTerm, int]:
    """Return the number of messages that have each term, with or without its accents."""
    return dict(zip(terms, index.frequencies([_widest(term) for term in terms]), strict=True))


def _widest(term: AskedTerm) -> int:
    """Return the checksum of the form that every message with the term has: the form without accents."""
    return key_of(term.plain or term.name)


def _add_up(terms: Sequence[_Term], index: RankedIndex, written: Written) -> tuple[dict[int, float], list[str]]:
    """Return the scores by place, and the words that were too common to be looked up in all messages.

    Args:
        terms: the terms, rarest first.
        index: the index to search.
        written: the time in which wanted messages were written.
    """
    rare, common = _divided(terms)
    for term in rare:
        for key, share in _lookups(term):
            for segment, found in _heaviest(key, term.count, index, MOST_POSTINGS):
                _note(term, share, index.places[segment], found.messages, found.weights)
    places: Iterable[int] = chain.from_iterable(term.own for term in rare)
    if written != ANY_TIME:
        places = (place for place in places if written.may_take(_written(place, index)))
    scores = dict.fromkeys(places, 0.0)
    for term in rare:
        _add_with_neighbours(scores, term.own)
    if common:
        scores = {place: scores[place] for place in _best(scores, CANDIDATES)}
        _add_common(scores, common, index)
    return scores, [term.asked.said for term in common]


def _divided(terms: Sequence[_Term]) -> tuple[list[_Term], list[_Term]]:
    """Return the terms to look up in all messages, and the terms that are too common for that.

    The rarest term is never too common.
    """
    rare, common = list[_Term](), list[_Term]()
    postings_left = MOST_POSTINGS
    for term in terms:
        if rare and term.count > postings_left:
            common.append(term)
        else:
            rare.append(term)
            postings_left -= term.count
    return rare, common


def _add_common(scores: dict[int, float], terms: Sequence[_Term], index: RankedIndex) -> None:
    """Add the points of common terms to the scores.

    The terms are looked up only in the messages that have a score, and in their neighbours.
    """
    with_neighbours = {place + distance for place in scores for distance in _WITH_NEIGHBOURS}
    numbers_by_segment = _numbers_of(with_neighbours, index)
    for term in terms:
        for key, share in _lookups(term):
            for segment, found in index.postings(key, among=numbers_by_segment):
                numbers, weights = _some_of(found, numbers_by_segment[segment])
                _note(term, share, index.places[segment], numbers, weights)
        for place in scores:
            points, _ = term.points_at(place)
            scores[place] += points


def _lookups(term: _Term) -> list[tuple[int, float]]:
    """Return the checksums of a term, each with its share of the points.

    If a message has several of these, the last one counts.
    """
    lookups = []
    if term.asked.plain:
        lookups.append((key_of(term.asked.plain), PLAIN_SHARE))
    lookups.append((key_of(term.asked.name), 1.0))
    return lookups


def _note(term: _Term, share: float, begin: int, numbers: Iterable[int], weights: Iterable[int]) -> None:
    points = share * term.rarity / MOST_WEIGHT
    term.own.update((begin + number, points * weight) for number, weight in zip(numbers, weights, strict=True))


def _numbers_of(places: Iterable[int], index: RankedIndex) -> dict[int, list[int]]:
    """Group messages by segment. Return the messages' numbers within each segment, in order.

    Args:
        places: the places of the messages in the whole index.
        index: the index to search.
    """
    numbers: dict[int, list[int]] = {}
    segment = -1
    end = 0.0
    for place in sorted(places):
        if place >= end:
            segment = bisect_right(index.places, place) - 1
            end = index.places[segment + 1] if segment + 1 < len(index.places) else inf
        if segment >= 0:
            numbers.setdefault(segment, []).append(place - index.places[segment])
    return numbers


def _some_of(postings: Postings, numbers: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return those of the given messages that have a term, and the weights of the term in each."""
    having, weights = list[int](), list[int]()
    messages = postings.messages
    place = 0
    for number in numbers:
        place = bisect_left(messages, number, place)
        if place == len(messages):
            break
        if messages[place] == number:
            having.append(number)
            weights.append(postings.weights[place])
    return having, weights


def _heaviest(key: int, count: int, index: RankedIndex, most: int) -> Sequence[tuple[int, Postings]]:
    """Return the postings of a term.

    If there are more than `most`, return the postings with the largest weights; of equal weights, the later messages.
    """
    postings = list(index.postings(key))
    if count <= most:
        return postings
    limit, left = _weight_limit(postings, most)
    heaviest = []
    for segment, found in reversed(postings):
        is_left = left > 0 and limit in found.weights
        if not is_left and max(found.weights) <= limit:
            continue
        pairs = list(zip(found.messages, found.weights, strict=True))
        chosen = [pair for pair in pairs if pair[1] > limit]
        if is_left:
            at_limit = [pair for pair in pairs if pair[1] == limit]
            chosen = sorted(chosen + at_limit[-left:])
            left -= len(at_limit)
        numbers = [number for number, _ in chosen]
        weights = bytes(weight for _, weight in chosen)
        heaviest.append((segment, Postings.of(numbers, weights)))
    return heaviest


def _weight_limit(postings: Sequence[tuple[int, Postings]], most: int) -> tuple[int, int]:
    """Return the weight above which all postings are kept, and the number of postings of just this weight to keep."""
    weights = b"".join(found.weights for _, found in postings)
    limit = MOST_WEIGHT
    left = most
    while limit > 0:
        count = weights.count(limit)
        if count > left:
            break
        left -= count
        limit -= 1
    return limit, left


def _add_with_neighbours(scores: dict[int, float], own: dict[int, float]) -> None:
    """Add the points of a term to the messages that have it, or whose adjacent messages have more of it."""
    best = dict(own)
    for distance, share in NEAR:
        for place, points in own.items():
            near = place + distance
            if near in scores and best.get(near, 0.0) < points * share:
                best[near] = points * share
    for place, points in best.items():
        if place in scores:
            scores[place] += points


def _best(scores: Mapping[int, float], most: int) -> list[int]:
    """Return the `most` places with the best scores. Of equal scores at the limit, the later places are kept."""
    if len(scores) <= most:
        return list(scores)
    least = sorted(scores.values())[-most]
    best = [place for place, score in scores.items() if score > least]
    same = sorted(place for place, score in scores.items() if score == least)
    return best + same[len(best) - most :]


def _places_of(names: Iterable[str], index: RankedIndex, among: Mapping[int, float]) -> set[int]:
    """Return the places, among the given ones, of messages written by a speaker whom a name means."""
    keys = [key_of(name) for name in names]
    known = [key for key, count in zip(keys, index.frequencies(keys), strict=True) if count]
    places = set[int]()
    if not known:
        return places
    wanted = _numbers_of(among, index)
    for key in known:
        for segment, found in index.postings(key, among=wanted):
            begin = index.places[segment]
            numbers, _ = _some_of(found, wanted[segment])
            places.update(begin + number for number in numbers)
    return places


def _written(place: int, index: RankedIndex) -> int:
    """Return when a message was written, in seconds since 1970, or 0 if unknown."""
    segment = bisect_right(index.places, place) - 1
    return index.seconds(segment, place - index.places[segment])


def _reasons(place: int, terms: Iterable[_Term]) -> tuple[Reason, ...]:
    """Return the part of a message's score that each term adds, the largest first."""
    reasons = []
    for term in terms:
        points, is_near = term.points_at(place)
        if points:
            asked_term = term.asked
            forms = (asked_term.name, asked_term.plain) if asked_term.plain else (asked_term.name,)
            reasons.append(Reason(asked_term.name, asked_term.said, forms, points, is_near))
    return tuple(sorted(reasons, key=lambda reason: -reason.points))
