"""The list of erasures on this machine, so that an import does not bring erased content back.

A list of JSON lines (`erasure_list`) outlives the sessions and their catalogues: the file
`~/.amplifier/context-erased.jsonl` (mode 0600), and a table of each database. A deletion adds a line for its session, a
purge a line for the removed content. Rules:
- The list holds no text of a session. A session is identified by salted hashes: of its key and its id in the source of
  an import, of its log's id, of some of its messages with their ids, of its agent's long answers (`message_names`), and
  of its first messages if the source gives no id.
- A purge's rule is its expression if that tells little about the matched text; else salted hashes of the matches.
- A line is written before anything is removed. Another line lifts it if nothing was removed after all, or if an import
  was told to bring the content back.
- A line that cannot be read is skipped. A list that cannot be read is an error: nobody knows what it forbids.
"""

from __future__ import annotations

import binascii
import contextlib
import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any
from zlib import crc32

from ...errors import ContextPersistentError
from ...log.base import ReadableLog
from ...log.file_handle import first_line
from ...log.open_reader import open_reader
from ...log.record_line import CRC_TAIL_BYTES
from ...messages.replace_in_message import REPLACEMENT
from ...messages.secrets.found import REDACTED
from ...messages.secrets.redact import redact_text
from ...search.pattern import compile_regex, replace_matches
from .message_names import answers_in_stored, names_in_stored

SESSION, TEXT, MESSAGES = "session", "text", "messages"
"""The kind of an erasure: a whole session, a text within it, or some of its messages."""

_FIRST_HASH = re.compile(r":[0-9a-f]{16}(?=:|$)")
"""In a session's key: a part of the hash of its first message."""
_MOST_TAKEN = 1000
_MOST_TAKEN_BYTES = 4096
_MOST_IDS = 4_000_000  # a line of 32 MB
_ID_BYTES = 6
_MOST_HEADER_BYTES = 1 << 20
_LEAST_UNKNOWN = 12
"""So many characters of each match must not be told by an expression that is kept."""
_MOST_COMPARED = 30


class ErasedError(ContextPersistentError, ValueError):
    """The source was deleted or purged here; nothing was imported."""


@dataclass(frozen=True, slots=True)
class SourceNames:
    """The identity of a session: names from its source, and its first messages if the source gives no id."""

    names: tuple[str, ...] = ()
    count: int = 0
    """The number of the source's messages."""
    content: str = ""
    """The hash of these messages; empty if the source has an id."""
    messages: tuple[str, ...] = ()
    """The names of messages that have ids (`message_names`)."""
    answers: tuple[str, ...] = ()
    """The names of long answers, which any form of the session has."""
    id_hashes: tuple[int, ...] = ()
    """The hashes of the ids of the messages that go, if not all of them do."""


@dataclass(frozen=True, slots=True)
class TakenHashes:
    """Salted hashes of the texts that a purge took, by which they are found again."""

    salt: str
    hashes: frozenset[tuple[int, int, str]]
    """Of each text its bytes, a short check, and its hash."""

    @classmethod
    def of(cls, salt: str, texts: Iterable[str]) -> TakenHashes:
        """Hash texts; texts above `_MOST_TAKEN_BYTES` are skipped, because they are never looked for."""
        encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
        wanted = [one for one in encoded if 0 < len(one) <= _MOST_TAKEN_BYTES]
        return cls(salt, frozenset((len(one), _check(salt, one), _hash(salt, one)) for one in wanted[:_MOST_TAKEN]))

    def replace(self, text: str) -> str:
        """A text with everything replaced that has one of the hashes."""
        content = text.encode("utf-8", "surrogatepass")
        for length in sorted({length for length, _, _ in self.hashes}, reverse=True):
            content = self._without(content, length)
        return content.decode("utf-8", "surrogatepass")

    def _without(self, content: bytes, length: int) -> bytes:
        checks = {check for size, check, _ in self.hashes if size == length}
        known = {digest for size, _, digest in self.hashes if size == length}
        seed, pieces, start, at = crc32(self.salt.encode()), list[bytes](), 0, 0
        while at + length <= len(content):
            window = content[at : at + length]
            if crc32(window, seed) & 0xFFFF in checks and _hash(self.salt, window) in known:
                pieces += [content[start:at], REPLACEMENT.encode()]
                start = at = at + length
            else:
                at += 1
        return b"".join([*pieces, content[start:]]) if pieces else content


def _check(salt: str, text: bytes) -> int:
    return crc32(text, crc32(salt.encode())) & 0xFFFF


def _hash(salt: str, text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=16, key=salt.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class TextRule:
    """The replacements of a purge: secrets in known forms, matches of an expression, or texts with certain hashes."""

    secrets: bool = False
    expression: str = ""
    taken: TakenHashes | None = None
    is_complete: bool = False
    """Whether the rule finds all texts that the purge took; rules of earlier versions do not say."""

    def replace(self, text: str) -> str:
        """A text with everything replaced that the rule takes."""
        if self.secrets:
            text = redact_text(text).replace(REDACTED, REPLACEMENT)
        if self.expression:
            text = replace_matches(compile_regex(self.expression), REPLACEMENT, text)
        return self.taken.replace(text) if self.taken is not None else text

    def to_json(self) -> dict[str, Any]:
        """The rule in plain JSON types."""
        hashes = sorted(self.taken.hashes) if self.taken is not None else []
        found = {"secrets": self.secrets, "expression": self.expression, "hashes": hashes, "complete": self.is_complete}
        return {key: value for key, value in found.items() if value}

    @classmethod
    def from_json(cls, salt: str, value: dict[str, Any]) -> TextRule:
        """Read a rule; errors of its types are possible."""
        hashes = frozenset((int(one[0]), int(one[1]), str(one[2])) for one in value.get("hashes", ()))
        taken = TakenHashes(salt, hashes) if hashes else None
        is_complete = value.get("complete") is True
        return cls(value.get("secrets") is True, str(value.get("expression", "")), taken, is_complete)


def rule_of(salt: str, *, secrets: bool, expression: str, taken: Iterable[str]) -> TextRule:
    """The rule that a purge leaves.

    Args:
        salt: the salt of its line.
        secrets: whether secrets in known forms were replaced.
        expression: the expression that was searched for; empty if only secrets were.
        taken: the matched texts.
    """
    texts = sorted(set(taken), key=len)
    if expression and texts and all(_unknown(expression, one) >= _LEAST_UNKNOWN for one in texts[:_MOST_COMPARED]):
        return TextRule(secrets=secrets, expression=expression, is_complete=True)
    hashed = TakenHashes.of(salt, texts) if texts else None
    return TextRule(secrets=secrets, taken=hashed, is_complete=hashed is None or len(hashed.hashes) == len(texts))


def _unknown(expression: str, text: str) -> int:
    """The number of a text's characters that the expression does not contain in the same order."""
    signs, rest = expression.casefold(), text.casefold()[:256]
    row = [0] * (len(rest) + 1)
    for sign in signs:
        before, row = row, [0]
        for at, other in enumerate(rest):
            row.append(before[at] + 1 if sign == other else max(before[at + 1], row[at]))
    return len(rest) - row[-1]


@dataclass(frozen=True, slots=True)
class Erasure:
    """One line of the file."""

    salt: str
    """It also names the line."""
    what: str
    time: str
    names: frozenset[str]
    """Salted hashes."""
    count: int = 0
    content: str = ""
    """The salted hash of the first `count` messages; empty if the names tell enough."""
    rule: TextRule = field(default_factory=TextRule)
    answers: frozenset[str] = frozenset()
    """Salted hashes of long answers."""
    ids: bytes = b""
    """Salted hashes of the ids of all messages that went, in order: by them a copy of the log is purged too."""
    is_elsewhere: bool = False
    """Whether this home's list has it from an erasure in another directory, and no sync has carried it out here yet."""

    @property
    def is_named(self) -> bool:
        """Whether it names anything by which a session is known again."""
        return bool(self.names or self.content or self.answers)

    @property
    def day(self) -> str:
        """When, as a person is told."""
        return self.time[:10] or "an unknown day"

    def concerns(
        self,
        names: Sequence[str],
        content_of: Callable[[int], str] = lambda _: "",
        answers_of: Callable[[], Sequence[str]] = tuple,
    ) -> bool:
        """Whether a session is the one that the line names.

        Args:
            names: names of the session and of its messages.
            content_of: hashes this many of its first messages.
            answers_of: gives the names of its long answers.
        """
        if any(_named(self.salt, name) in self.names for name in names):
            return True
        if self.content and _named(self.salt, content_of(self.count)) == self.content:
            return True
        return bool(self.answers) and self._has_answers_of(answers_of())

    def _has_answers_of(self, answers: Sequence[str]) -> bool:
        """Whether half of the answers are the same, and at least two: one alone may be a common phrase.

        Half of the line's answers, or of the session's if it has fewer: so a part of an erased session is recognised.
        """
        fewer = min(len(self.answers), len(answers))
        same = sum(_named(self.salt, name) in self.answers for name in answers)
        return same >= max(2, (fewer + 1) // 2)

    def took(self, id_hash: int) -> bool:
        """Whether a message went, by the hash of its id."""
        wanted, count = _salted_id(self.salt, id_hash), len(self.ids) // _ID_BYTES
        at = bisect_left(range(count), wanted, key=self._id)
        return at < count and self._id(at) == wanted

    def _id(self, number: int) -> bytes:
        return self.ids[_ID_BYTES * number : _ID_BYTES * (number + 1)]

    def to_line(self) -> bytes:
        """The line with its LF."""
        value: dict[str, Any] = {"erased": self.what, "time": self.time, "salt": self.salt, "names": sorted(self.names)}
        if self.content:
            value |= {"count": self.count, "content": self.content}
        if self.answers:
            value["answers"] = sorted(self.answers)
        if self.ids:
            value["ids"] = binascii.b2a_base64(self.ids, newline=False).decode()
        if rule := self.rule.to_json():
            value["rule"] = rule
        if self.is_elsewhere:
            value["elsewhere"] = True
        return json.dumps(value).encode() + b"\n"


def _salted_id(salt: str, id_hash: int) -> bytes:
    return hashlib.blake2b(id_hash.to_bytes(8, signed=True), digest_size=_ID_BYTES, key=salt.encode()).digest()


def _named(salt: str, name: str) -> str:
    return hashlib.sha256(f"{salt}:{name}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def erasure_of(
    source: SourceNames, what: str, *, time: str, rule: Callable[[str], TextRule] = lambda _: TextRule()
) -> Erasure:
    """Make the line of an erasure; `rule` makes a purge's rule from the line's salt."""
    salt = token_hex(16)
    names = frozenset(_named(salt, name) for name in (*source.names, *source.messages))
    content = _named(salt, source.content) if source.content else ""
    answers = frozenset(_named(salt, name) for name in source.answers)
    ids = b""
    if len(source.id_hashes) <= _MOST_IDS:  # else some of them would be taken for all
        ids = b"".join(sorted({_salted_id(salt, id_hash) for id_hash in source.id_hashes}))
    return Erasure(salt, what, time, names, source.count, content, rule(salt), answers, ids)


def erasure_from(value: dict[str, Any]) -> Erasure:
    """Read the object of a line; a malformed one raises KeyError, TypeError or ValueError."""
    salt = str(value["salt"])
    return Erasure(
        salt,
        str(value["erased"]),
        str(value["time"]),
        frozenset(map(str, value["names"])),
        int(value.get("count", 0)),
        str(value.get("content", "")),
        TextRule.from_json(salt, value.get("rule", {})),
        frozenset(map(str, value.get("answers", ()))),
        binascii.a2b_base64(str(value.get("ids", ""))),
        value.get("elsewhere") is True,
    )


def names_in_log(location: str) -> SourceNames:
    """The identity by which a log's session is recognised when its source or a copy of the log is imported.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    with contextlib.closing(open_reader(location)) as reader:
        reader.follow()
        return names_in(reader)


def names_in(reader: ReadableLog, gone: Iterable[int] | None = None) -> SourceNames:
    """The same of an open log; `gone` are the ordinals of the messages that go, if not all of them do."""
    names, count, has_id = _named_by_headers(reader.index.headers)
    wanted = 0 if has_id else min(count, len(reader.index))
    bodies = (line[:-CRC_TAIL_BYTES] for _, line in reader.lines(range(wanted)))
    content = content_name(bodies) if wanted else ""
    gone = None if gone is None else list(gone)
    named, answers = names_in_stored(reader, gone), answers_in_stored(reader, gone)
    id_hashes = [reader.index.columns.id_hashes[ordinal] for ordinal in gone or ()]
    return SourceNames(tuple(names), wanted, content, tuple(named), tuple(answers), tuple(id_hashes))


def names_of(reader: ReadableLog) -> list[str]:
    """The names that find the erasures of an open log: from its headers, else from its messages.

    A fork has messages of its origin, so messages count only if no header names the log.
    """
    return _named_by_headers(reader.index.headers)[0] or names_in_stored(reader)


def names_at_start(log: str) -> list[str] | None:
    """The names that find the erasures of a log's file, if its first line is a header that has them all; else None.

    Later headers of a log have the same `log_id`, so no other line is read.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        header = json.loads(first_line(log, _MOST_HEADER_BYTES))
    except (ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or header.get("_record") != "header" or not header.get("log_id"):
        return None
    return _named_by_headers([header])[0]


def _named_by_headers(headers: Iterable[Mapping[str, Any]]) -> tuple[list[str], int, bool]:
    """The names that a log's headers give, how many messages its source had, and whether that gave the session's id."""
    names, count, has_id = dict[str, None](), 0, True
    for header in headers:
        if log_id := header.get("log_id"):
            names[f"log:{log_id}"] = None
        source = header.get("source")
        if isinstance(source, dict) and source.get("key"):
            has_id = bool(source.get("session_id"))
            names |= dict.fromkeys(names_of_key(str(source["key"]), has_id=has_id))
            count = int(source.get("messages") or 0)
    return list(names), count, has_id


def names_of_key(key: str, *, has_id: bool) -> list[str]:
    """The names that a session's key gives; with an id in the source also without the hash of its first message."""
    return [f"key:{key}", *([f"id:{_FIRST_HASH.sub('', key)}"] if has_id else [])]


def content_name(bodies: Iterable[bytes]) -> str:
    """A name for messages by the bodies of their records."""
    digest = hashlib.sha256()
    for body in bodies:
        digest.update(len(body).to_bytes(8, "big") + body)
    return f"content:{digest.hexdigest()}"


def concerning(
    found: Sequence[Erasure],
    names: Sequence[str],
    content_of: Callable[[int], str] = lambda _: "",
    answers_of: Callable[[], Sequence[str]] = tuple,
) -> Iterator[Erasure]:
    """The erasures that concern a session; arguments as `Erasure.concerns` has them."""
    return (erasure for erasure in found if erasure.concerns(names, content_of, answers_of))
