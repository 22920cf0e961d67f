"""What a search finds, and how what was found is hidden from the searches that follow."""

from __future__ import annotations

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
    """Return a text of the same length in which secrets are blocks in brackets, which no other search takes for one."""
    if not found:
        return text
    pieces: list[str] = []
    done = 0
    for start, end, _ in merged(found):
        pieces += (text[done:start], _block(end - start))
        done = end
    return "".join([*pieces, text[done:]]) if done else text


def _block(length: int) -> str:
    return f"[{'█' * (length - 2)}]" if length > 1 else "["
