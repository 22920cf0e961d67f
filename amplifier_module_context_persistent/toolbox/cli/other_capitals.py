"""Count the messages that hold a purged text in other capitals, which a purge leaves, and say how to take them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress

import regex

from ...errors import ContextPersistentError
from ...log.database_location import stored_name
from ...search.pattern import Pattern, regex_pattern
from ...sessions.pattern_in_projects import SessionsSearch
from ...sessions.pattern_in_session import line_test, searched_text
from ...sessions.session_files import SessionFile
from ...sessions.transcript import Transcript
from .terminal import counted, one_line

_MOST_BYTES = 256_000_000
"""The most bytes of logs that are read for the count, so that a purge of large logs takes no longer for it."""


def other_capitals(expression: str, sessions: Sequence[SessionFile]) -> tuple[int, str]:
    """Return how many live messages match an expression in other capitals alone, and a hint for a person.

    The hint is empty if there are none, or if the expression ignores capitals already. At most `_MOST_BYTES` of logs
    are read; logs that a catalogue rules out are not read.
    """
    try:
        exact = regex_pattern(expression)
        any_case = regex_pattern(expression, ignore_case=True)
    except ContextPersistentError:  # too long for a search
        return 0, ""
    if exact.ignores_case or expression.lower() == expression.upper():
        return 0, ""
    count, is_whole = _count(exact, any_case, sessions)
    if not count:
        return 0, ""
    at_least = "" if is_whole else "at least "
    holds, keeps = ("holds", "keeps") if count == 1 else ("hold", "keep")
    option = one_line(shlex.join(["--redact", f"(?i){expression}"]))
    return (
        count,
        f"{at_least}{counted(count, 'message')} {holds} it in other capitals, and {keeps} it; to take all: {option}",
    )


def _count(exact: Pattern, any_case: Pattern, sessions: Sequence[SessionFile]) -> tuple[int, bool]:
    """Return the number of messages, and whether all logs were searched."""
    files = [session for session in sessions if stored_name(str(session.path)) is None]
    ruled_out = _ruled_out(files, any_case)
    is_whole = len(files) == len(sessions)
    count = read_bytes = 0
    for session in files:
        path = str(session.path)
        if path in ruled_out:
            continue
        try:
            read_bytes += os.stat(path).st_size
            if read_bytes > _MOST_BYTES:
                return count, False
            count += _count_in(path, exact, any_case)
        except (OSError, ContextPersistentError, ValueError, TimeoutError, MemoryError):
            is_whole = False
    return count, is_whole


def _ruled_out(files: Iterable[SessionFile], pattern: Pattern) -> set[str]:
    """Return the paths of the logs that a catalogue rules out."""
    hosted = [session for session in files if session.project]
    with suppress(OSError, ContextPersistentError, ValueError):
        search = SessionsSearch(hosted, pattern)
        return {str(session.path) for session in hosted if search.rules_out(session)}
    return set()


def _count_in(path: str, exact: Pattern, any_case: Pattern) -> int:
    count = 0
    may_match = line_test(any_case) if any_case.needle else None
    with Transcript(path) as transcript:
        for placed in transcript.placed(may_match=may_match):
            text = searched_text(placed.message)
            if _has_match(any_case.expression, text):
                left = exact.expression.sub("", text, concurrent=True, timeout=1.0)
                count += _has_match(any_case.expression, left)
    return count


def _has_match(expression: regex.Pattern[str], text: str) -> bool:
    return expression.search(text, concurrent=True, timeout=1.0) is not None
