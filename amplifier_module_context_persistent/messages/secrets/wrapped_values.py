"""The rest of a quoted value that a terminal broke at a line's end: the next line continues and closes the quote."""

from __future__ import annotations

import re

from .found import Secret

_BEFORE_CHARS = 1_000
_REST = re.compile(r"\r?\n(?P<secret>[^\s\"'`<>(){}\[\],;=]{1,200})(?P<quote>[\"'])(?=[\s,;)}\]]|\Z)")


def wrapped_rest(text: str, secret: Secret) -> list[Secret]:
    """Return the rest of a quoted secret whose line ends; the next line has to begin without indentation."""
    rest = _REST.match(text, secret.end)
    if rest is None:
        return []
    line = text[max(0, secret.start - _BEFORE_CHARS) : secret.start].rpartition("\n")[2]
    if line.count(rest["quote"]) % 2 == 0:
        return []
    return [Secret(*rest.span("secret"), secret.kind)]
