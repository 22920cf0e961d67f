"""Find out whether an erasure is about a session, by the hashes of the session's names, first messages and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ....erasures.erasure_record import Erasure
from ....log.salted_name import salted_name
from .talk_names import TalkName


def concerning(
    found: Sequence[Erasure],
    names: Sequence[str],
    content_of: Callable[[int], str] = lambda _: "",
    answers_of: Callable[[], Sequence[str]] = tuple,
    talk_of: Callable[[], Sequence[TalkName]] = tuple,
) -> Iterator[Erasure]:
    """Yield the erasures that are about a session. Arguments are those of `is_about`.

    A deletion after a purge is about a session if the purge is: a source from before both has the purged content.
    """
    salts = {erasure.salt for erasure in found if is_about(erasure, names, content_of, answers_of, talk_of)}
    return (erasure for erasure in found if erasure.salt in salts or not salts.isdisjoint(erasure.purges))


def is_about(
    erasure: Erasure,
    names: Sequence[str],
    content_of: Callable[[int], str] = lambda _: "",
    answers_of: Callable[[], Sequence[str]] = tuple,
    talk_of: Callable[[], Sequence[TalkName]] = tuple,
) -> bool:
    """Return whether an erasure is about a session.

    Args:
        erasure: an erasure from the list of erasures.
        names: the names of the session and of its messages.
        content_of: hashes the given number of its first messages.
        answers_of: returns the names of its long answers.
        talk_of: returns the names of the beginnings of its conversation, if nothing else names it.
    """
    known_by = erasure.fingerprints
    if any(salted_name(erasure.salt, name) in known_by.names for name in names):
        return True
    if known_by.content and salted_name(erasure.salt, content_of(known_by.count)) == known_by.content:
        return True
    if known_by.answers and _has_answers_of(erasure, answers_of()):
        return True
    return bool(known_by.talk) and _begins_alike(erasure, talk_of())


def _begins_alike(erasure: Erasure, talk: Sequence[TalkName]) -> bool:
    """Return whether a conversation and an erased one are the same, up to the end of the shorter one."""
    hashes = [salted_name(erasure.salt, talk_name.name) for talk_name in talk]
    known_by = erasure.fingerprints
    return bool(hashes) and (hashes[-1] in known_by.talk or not known_by.talk_ends.isdisjoint(hashes))


def _has_answers_of(erasure: Erasure, answers: Sequence[str]) -> bool:
    """Return whether a session has enough of the long answers that an erasure names: half of them, and at least two.

    A single answer may be a common phrase. The half is counted on the side with fewer answers (the erasure or the
    session), so that a part of an erased session is recognised too.
    """
    erased = erasure.fingerprints.answers
    fewer = min(len(erased), len(answers))
    same = sum(salted_name(erasure.salt, name) in erased for name in answers)
    return same >= max(2, (fewer + 1) // 2)
