"""Read a question in words for the ranking: its terms, the speakers that it names, and the times that it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from types import MappingProxyType

from ..errors import RecallError
from .index_terms import asked_words, joined_words, plain_term
from .message_terms import who_term
from .pattern import MOST_TEXT_CHARS
from .question_languages import function_words, languages_of
from .question_times import Period, periods_of

MOST_TERMS = 48
WEAK = 0.1
"""The share of its points that a weak word keeps."""
_WEAK_TEXT = """
another anything anyway basically else etc even ever everything hello hi instead many maybe much next nothing ok okay
perhaps please quite rather really simply somehow something still thanks thing things well yes yet
"""
_WEAK_WORDS = frozenset(_WEAK_TEXT.split())
"""English words that say little about the subject of a question."""
_ACTIVITIES_TEXT = """
discuss discussed go going happen happened happening occurred talk talked went work worked working
arbeiten gearbeitet gemacht geschah geschehen passierte passiert
arrivé discuté fait passé travaillé
ocurrió pasó trabajamos trabajando
"""
_ACTIVITIES = frozenset(_ACTIVITIES_TEXT.split())
"""Words for any activity. Together with a time, they ask for everything that was said in that time."""
_ROLES = MappingProxyType(
    dict.fromkeys(("user", "person", "human", "people"), "user")
    | dict.fromkeys(("assistant", "agent", "model", "bot"), "assistant")
)


@dataclass(frozen=True, slots=True)
class AskedTerm:
    """A term of a question.

    Attributes:
        name: the term.
        said: the word or the words of the question that have the term.
        plain: the term without its accents, or "" if it has none. Messages are indexed under both.
        share: the share of its points that count.
    """

    name: str
    said: str
    plain: str = ""
    share: float = 1.0

    @property
    def is_weak(self) -> bool:
        """Whether only a share of the term's points counts."""
        return self.share != 1.0

    @property
    def is_joined(self) -> bool:
        """Whether the term joins several words of the question."""
        return " " in self.said


ANYTHING_SAID = tuple(AskedTerm(who_term(role), f"said by the {role}") for role in ("user", "assistant"))
"""The terms of a question that names a time and nothing else: they find everything that people and agents said then."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its terms.

    Attributes:
        text: the question, unchanged.
        terms: each term once, in order.
        names: terms of the speakers that a word of the question may name.
        periods: the times that the question names.
    """

    text: str
    terms: tuple[AskedTerm, ...]
    names: tuple[str, ...]
    periods: tuple[Period, ...]


def read_question(text: str, *, now: datetime) -> Question:
    """Read a question.

    Args:
        text: the question, or only keywords.
        now: the present time, for words such as `yesterday` and `last week`.

    Raises:
        RecallError: the question is too long, or has no word.
    """
    if len(text) > MOST_TEXT_CHARS:
        raise RecallError(f"query: a question has at most {MOST_TEXT_CHARS:,} characters, not {len(text):,}")
    all_words = [word.casefold() for word, _ in asked_words(text)]
    periods = periods_of(text, now, languages_of(all_words))
    question_words = asked_words(_without(periods, text))
    words = [word for word, _ in question_words]
    left_out = function_words(all_words)
    telling = [(word, term_names) for word, term_names in question_words if word.casefold() not in left_out]
    if telling:
        terms = [*_terms_of(telling), *_joined(words, left_out)]
    else:  # only function words: then they are all that can be looked for
        terms = [*_terms_of(question_words), *_joined(words, frozenset())]
    asks_for_activity = all(word.casefold() in _ACTIVITIES for word, _ in telling)
    if periods and asks_for_activity:
        terms = list(ANYTHING_SAID)
    if not terms:
        raise RecallError("query: it holds no word")
    by_name: dict[str, AskedTerm] = {}
    for term in terms:
        by_name.setdefault(term.name, term)
    different_terms = tuple(by_name.values())[:MOST_TERMS]
    speakers = dict.fromkeys(speaker_term(word) for word, _ in telling)
    return Question(text, different_terms, tuple(speakers), periods)


def speaker_term(word: str) -> str:
    """Return the index term of the speaker that a word may name."""
    return who_term(_ROLES.get(word.casefold(), word))


def _without(periods: Sequence[Period], text: str) -> str:
    """Return a question without the words that name times."""
    other_texts = list[str]()
    at = 0
    for period in periods:
        other_texts.append(text[at : period.start])
        at = period.stop
    return " ".join([*other_texts, text[at:]])


def _terms_of(question_words: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[AskedTerm]:
    for word, found in question_words:
        share = WEAK if word.casefold() in _WEAK_WORDS else 1.0
        for term in found:
            yield AskedTerm(term, word, plain_term(term), share)


def _joined(words: Sequence[str], little: frozenset[str]) -> Iterator[AskedTerm]:
    """Yield the terms of names that two neighbouring words may form. Two function words (`for the`) form none."""
    for (one, other), term in zip(pairwise(words), joined_words(words), strict=True):
        if one.casefold() not in little or other.casefold() not in little:
            yield AskedTerm(term, f"{one} {other}")
