"""The expressions and values that a person wants replaced besides the known secrets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import regex

from .found import Secret


@dataclass(frozen=True, slots=True)
class OwnForms:
    """A person's own expressions and values to replace.

    `values` are searched for literally and in the spelling of JSON, the longest first.
    """

    expressions: tuple[regex.Pattern[str], ...] = ()
    values: tuple[str, ...] = ()

    def find(self, text: str) -> list[Secret]:
        """Find matches of the expressions and values in a text."""
        found = []
        for value in self.values:
            at = text.find(value)
            while at >= 0:
                found.append(Secret(at, at + len(value), "value of one's own"))
                at = text.find(value, at + len(value))
        for expression in self.expressions:
            matches = expression.finditer(text)
            found += [Secret(*match.span(), "form of one's own") for match in matches if match.end() > match.start()]
        return found


LEAST_VALUE = 6
"""The length of the shortest value that is allowed, in characters."""


class OwnFormsError(ValueError):
    """A person's own expression or value cannot be used; the message says which and why."""


def own_forms(
    lines: Iterable[str] = (), names: Iterable[str] = (), environment: Mapping[str, str] | None = None
) -> OwnForms:
    """Return a person's own forms.

    Args:
        lines: expressions, one on each line; empty lines and lines that begin with `#` are ignored.
        names: environment variables whose values are replaced everywhere.
        environment: the variables with their values.

    Raises:
        OwnFormsError: an expression is invalid or matches the empty text, or a variable is not set or too short.
    """
    expressions = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            expression = regex.compile(text)
        except regex.error as error:
            raise OwnFormsError(f"line {number}: this is no regular expression: {error}") from error
        if expression.search("") is not None:
            raise OwnFormsError(f"line {number}: this expression matches an empty text, so it would match everywhere")
        expressions.append(expression)
    found = set()
    for name in names:
        value = (environment or {}).get(name, "")
        if not value:
            raise OwnFormsError(f"the environment variable {name} is not set, so its value cannot be looked for")
        if len(value) < LEAST_VALUE:
            raise OwnFormsError(
                f"the value of {name} has fewer than {LEAST_VALUE} characters: it would match parts of words"
            )
        found |= {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return OwnForms(tuple(expressions), tuple(sorted(found, key=lambda value: (-len(value), value))))
