"""The rest of a value that a terminal broke at the end of a line.

- Within quotes, the next line continues and closes the quote.
- Without quotes, the line has to be as long as a terminal is wide. Each next line is one word that looks random and is
  not longer.
"""

from __future__ import annotations

import re

from .found import Secret
from .names import is_mixed, looks_random

_BEFORE_CHARS = 1_000
_QUOTED_REST = re.compile(r"\r?\n(?P<secret>[^\s\"'`<>(){}\[\],;=]{1,200})(?P<quote>[\"'])(?=[\s,;)}\]]|\Z)")
_REST = re.compile(r"\r?\n(?P<secret>[A-Za-z0-9+/_.~-]{6,400}={0,2})(?=\r?\n|\Z)", re.ASCII)
_LEAST_WIDTH = 72
_MOST_LINES = 100


def wrapped_rest(text: str, secret: Secret) -> list[Secret]:
    """Return the rest of a secret whose line ends; the next line has to begin without indentation."""
    if not text.startswith(("\n", "\r\n"), secret.end):
        return []
    line = text[max(0, secret.start - _BEFORE_CHARS) : secret.start].rpartition("\n")[2]
    rest = _QUOTED_REST.match(text, secret.end)
    if rest is not None and line.count(rest["quote"]) % 2:
        return [Secret(*rest.span("secret"), secret.kind)]
    return _unquoted_rest(text, secret, len(line) + secret.end - secret.start)


def _unquoted_rest(text: str, secret: Secret, width: int) -> list[Secret]:
    """Return the lines that continue a secret whose line has a terminal's width."""
    rests = list[Secret]()
    end = secret.end
    line_chars = width
    while line_chars == width >= _LEAST_WIDTH and len(rests) < _MOST_LINES:
        line = _REST.match(text, end)
        if line is None or len(line["secret"]) > width or not _goes_on(line["secret"]):
            break
        start, stop = line.span("secret")
        rests.append(Secret(start, stop, secret.kind))
        end = line.end()
        line_chars = len(line["secret"])
    return rests


def _goes_on(line: str) -> bool:
    if looks_random(line, least=6):
        return True
    return is_mixed(line) and "." not in line and "_" not in line
