"""The secrets that a search finds, and a text in which they are hidden from later searches."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

REDACTED = "[REDACTED]"
"""The text that replaces a secret."""


class Secret(NamedTuple):
    """A secret in a text: its start, its end and its kind."""

    start: int
    end: int
    kind: str

    @classmethod
    def of(cls, match: re.Match[str], kind: str, group: str = "secret") -> Secret:
        """Return the secret in a group of a match."""
        return cls(match.start(group), match.end(group), kind)


def merged(found: Iterable[Secret]) -> list[Secret]:
    """Return secrets in order. Overlapping secrets become one secret, of the kind of the first."""
    secrets: list[Secret] = []
    for secret in sorted(found):
        if secrets and secret.start < secrets[-1].end:
            start, end, kind = secrets.pop()
            secrets.append(Secret(start, max(end, secret.end), kind))
        else:
            secrets.append(secret)
    return secrets


def hidden(text: str, found: Collection[Secret]) -> str:
    """Return a text of the same length in which secrets are blocks in brackets, which no other search finds."""
    if not found:
        return text
    pieces: list[str] = []
    done = 0
    for secret in merged(found):
        pieces += [text[done : secret.start], _block(secret.end - secret.start)]
        done = secret.end
    pieces.append(text[done:])
    return "".join(pieces)


def _block(length: int) -> str:
    return f"[{'█' * (length - 2)}]" if length > 1 else "["
