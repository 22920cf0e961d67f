"""A question in words, as the ranking takes it: its terms, whom it names, and which times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from ..errors import RecallError
from .index_terms import asked_words, joined_words
from .message_terms import who_term
from .pattern import MOST_TEXT_CHARS
from .question_times import Period, period_of

MOST_TERMS = 48
_FUNCTION_WORDS_TEXT = """
a about again all also am an and any are as at be because been before being but by can could did do does doing
done down during each for from had has have having he her here hers him his how i if in into is it its itself
just let me more most my myself no nor not of off on once only or other our ours out over own please s same
shall she should so some such t than that the their theirs them then there these they this those to too under
until up us very was we were what when where whether which while who whom whose why will with would you your
yours
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_TEXT.split())
"""Words that do not tell what a question is about; they count only if there are no others."""
_ROLES = MappingProxyType(
    dict.fromkeys(("user", "person", "human", "people"), "user")
    | dict.fromkeys(("assistant", "agent", "model", "bot"), "assistant")
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its terms.

    Attributes:
        text: the question, unchanged.
        terms: each term once, in order.
        names: terms of the speakers that a word of the question may name.
        period: the time that the question names; None if it names none.
    """

    text: str
    terms: tuple[str, ...]
    names: tuple[str, ...]
    period: Period | None


def read_question(text: str, *, now: datetime) -> Question:
    """Read a question.

    Args:
        text: the question, or only keywords.
        now: from which `yesterday` and `last week` are counted.

    Raises:
        RecallError: it is too long, or holds no word.
    """
    if len(text) > MOST_TEXT_CHARS:
        raise RecallError(f"query: a question has at most {MOST_TEXT_CHARS:,} characters, not {len(text):,}")
    asked = asked_words(text)
    words = [word for word, _ in asked]
    terms = [term for word, found in asked if word not in _FUNCTION_WORDS for term in found]
    terms = terms or [term for _, found in asked for term in found]
    terms += joined_words(words)
    if not terms:
        raise RecallError("query: it holds no word")
    names = [who_term(_ROLES.get(word, word)) for word in words if word not in _FUNCTION_WORDS]
    return Question(text, tuple(dict.fromkeys(terms))[:MOST_TERMS], tuple(dict.fromkeys(names)), period_of(text, now))
