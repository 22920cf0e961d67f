"""The rule that a purge of a text leaves in the list of erasures, with which later imports replace the text again.

It is the search expression if the expression tells little about the matched text, else salted hashes of the matches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from ..messages.replace_in_message import REPLACEMENT, Replace, Replacement
from ..messages.secrets.found import REDACTED
from ..messages.secrets.redact import redact_text
from ..messages.secrets.replace_secrets import secrets_replacement
from ..search.accents import forms_of
from ..search.pattern import EACH_LINE, compile_regex
from ..search.replace_matches import replace_matches

_MOST_TAKEN = 1000
_MOST_TAKEN_BYTES = 4096
_LEAST_UNKNOWN = 12
"""The least number of characters of each match that must not occur in an expression that is kept."""
_MOST_COMPARED = 30


@dataclass(frozen=True, slots=True)
class TakenHashes:
    """Salted hashes of the texts that a purge removed, by which later imports recognise the texts."""

    salt: str
    hashes: frozenset[tuple[int, int, str]]
    """For each text its size in bytes, a short checksum, and its hash."""

    @classmethod
    def of(cls, salt: str, texts: Iterable[str]) -> TakenHashes:
        """Return the hashes of texts. At most `_MOST_TAKEN` texts are hashed, and none above `_MOST_TAKEN_BYTES`."""
        encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
        wanted = [removed_text for removed_text in encoded if 0 < len(removed_text) <= _MOST_TAKEN_BYTES]
        return cls(
            salt,
            frozenset(
                (len(removed_text), _check(salt, removed_text), _hash(salt, removed_text))
                for removed_text in wanted[:_MOST_TAKEN]
            ),
        )

    def replace(self, text: str) -> str:
        """Return a text in which every part is replaced whose salted hash is in this rule."""
        content = text.encode("utf-8", "surrogatepass")
        for length in sorted({length for length, _, _ in self.hashes}, reverse=True):
            content = self._without(content, length)
        return content.decode("utf-8", "surrogatepass")

    def _without(self, content: bytes, length: int) -> bytes:
        """Return content in which the removed texts of `length` bytes are replaced.

        Every part of this length is compared with the hashes. Hashing is slow, so a part is hashed only if its checksum
        is the checksum of a removed text.
        """
        checks = {check for size, check, _ in self.hashes if size == length}
        known = {digest for size, _, digest in self.hashes if size == length}
        seed = crc32(self.salt.encode())
        pieces = list[bytes]()
        copied_to = position = 0
        while position + length <= len(content):
            window = content[position : position + length]
            if crc32(window, seed) & 0xFFFF in checks and _hash(self.salt, window) in known:
                pieces += [content[copied_to:position], REPLACEMENT.encode()]
                position += length
                copied_to = position
            else:
                position += 1
        if not pieces:
            return content
        return b"".join([*pieces, content[copied_to:]])


def _check(salt: str, text: bytes) -> int:
    return crc32(text, crc32(salt.encode())) & 0xFFFF


def _hash(salt: str, text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=16, key=salt.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class TextRule:
    """The texts that a purge replaces: secrets in known forms, matches of an expression, or texts known by hash."""

    secrets: bool = False
    expression: str = ""
    taken: TakenHashes | None = None
    is_complete: bool = False
    """Whether the rule finds all texts that the purge removed. Rules of earlier versions do not say; then False."""

    def replace(self, text: str) -> str:
        """Return a text with all matches of the rule replaced."""
        if self.secrets:
            text = redact_text(text).replace(REDACTED, REPLACEMENT)
        if self.expression:
            text = replace_matches(compile_regex(self.expression, EACH_LINE), REPLACEMENT, text)
        return self.taken.replace(text) if self.taken is not None else text

    @property
    def replacement(self) -> Replace:
        """What the rule replaces in a message: matches in texts, and secrets that only their keys name."""
        if not self.secrets:
            return self.replace
        return Replacement(self.replace, secrets_replacement().in_value)

    def to_json(self) -> dict[str, Any]:
        """Return the rule in plain JSON types."""
        hashes = sorted(self.taken.hashes) if self.taken is not None else []
        found = {"secrets": self.secrets, "expression": self.expression, "hashes": hashes, "complete": self.is_complete}
        return {key: value for key, value in found.items() if value}

    @classmethod
    def from_json(cls, salt: str, value: dict[str, Any]) -> TextRule:
        """Read a rule from JSON types.

        A malformed rule may raise TypeError, ValueError, IndexError or AttributeError.
        """
        hashes = frozenset((int(fields[0]), int(fields[1]), str(fields[2])) for fields in value.get("hashes", ()))
        taken = TakenHashes(salt, hashes) if hashes else None
        is_complete = value.get("complete") is True
        return cls(value.get("secrets") is True, str(value.get("expression", "")), taken, is_complete)


def rule_of(salt: str, *, secrets: bool, expression: str, taken: Iterable[str]) -> TextRule:
    """Return the rule for later imports that a purge leaves.

    Args:
        salt: the salt of the erasure.
        secrets: whether secrets in known forms were replaced.
        expression: the expression that was searched for; empty if only secrets were replaced.
        taken: the texts that were replaced. Letters with accents are found again in both Unicode forms.
    """
    texts = sorted(set(taken), key=len)
    if (
        expression
        and texts
        and all(_unknown(expression, removed_text) >= _LEAST_UNKNOWN for removed_text in texts[:_MOST_COMPARED])
    ):
        return TextRule(secrets=secrets, expression=expression, is_complete=True)
    spellings = sorted({form for text in texts for form in (text, *forms_of(text))}, key=len)
    hashed = TakenHashes.of(salt, spellings) if spellings else None
    is_complete = hashed is None or len(hashed.hashes) == len(spellings)
    return TextRule(secrets=secrets, taken=hashed, is_complete=is_complete)


def _unknown(expression: str, text: str) -> int:
    """Return the number of characters of a text that the expression does not contain in the same order."""
    signs = expression.casefold()
    rest = text.casefold()[:256]
    row = [0] * (len(rest) + 1)
    for sign in signs:
        before = row
        row = [0]
        for at, other in enumerate(rest):
            row.append(before[at] + 1 if sign == other else max(before[at + 1], row[at]))
    return len(rest) - row[-1]
