"""What a search finds, and how what was found is hidden from the searches that follow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

REDACTED = "[REDACTED]"
"""The text put in a secret's place."""


class Secret(NamedTuple):
    """A secret in a text."""

    start: int
    end: int
    kind: str


def merged(found: Iterable[Secret]) -> list[Secret]:
    """Put secrets in order, those that overlap as one of the kind of the first."""
    secrets: list[Secret] = []
    for one in sorted(found):
        if secrets and one.start < secrets[-1].end:
            start, end, kind = secrets.pop()
            secrets.append(Secret(start, max(end, one.end), kind))
        else:
            secrets.append(one)
    return secrets


def hidden(text: str, found: Collection[Secret]) -> str:
    """Give a text of the same length in which secrets are blocks in brackets, which no other search takes for one."""
    if not found:
        return text
    pieces: list[str] = []
    done = 0
    for start, end, _ in merged(found):
        pieces += (text[done:start], _block(end - start))
        done = end
    return "".join([*pieces, text[done:]]) if done else text


def lowered(text: str) -> str:
    """Return a text in lower case, of the same length."""
    return text.lower() if text.isascii() else text.replace("\u0130", "i").replace("\u017f", "s").lower()


def begun_by(expression: re.Pattern[str], folded: str, beginnings: Iterable[str]) -> list[re.Match[str]]:
    """Find the matches of an expression that begin with certain texts, in order; much faster than searching for it.

    Args:
        expression: what is looked for; it is matched in lower case.
        folded: a text in lower case.
        beginnings: every match begins with one of these.
    """
    matches = []
    for beginning in beginnings:
        at = folded.find(beginning)
        while at >= 0:
            if match := expression.match(folded, at):
                matches.append(match)
            at = folded.find(beginning, at + 1)
    return sorted(matches, key=lambda match: match.start())


def _block(length: int) -> str:
    return f"[{'█' * (length - 2)}]" if length > 1 else "["
