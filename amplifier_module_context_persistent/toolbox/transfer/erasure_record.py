"""The lines of a list of erasures. They keep an import from bringing erased content back.

An erasure is a line that says that a session was deleted, or that a text or messages were purged from it. The list
(`erasure_list`) is the file `~/.amplifier/context-erased.jsonl` (mode 0600), or a table of a database; it is kept when
sessions and their catalogues are deleted. A salt is a random text that is hashed together with each name, so that
nobody can look a name up by its hash. Rules:
- The list holds no text of a session. A session is identified by salted hashes: of its key and its id in the source of
  an import, of its log's id, of some of its messages with their ids, of its agent's long answers (`message_names`), and
  of its first messages if the source gives no id. A "name" in this module is a text that identifies a session, before
  it is hashed.
- A purge of a text leaves a rule: its search expression if the expression tells little about the matched text, else
  salted hashes of the matches.
- A line is written before anything is removed. Another line lifts (cancels) it if nothing was removed after all, or if
  a person told an import to bring the content back.
- A line that cannot be read is skipped. A list that cannot be read is an error, because it is not known what the list
  forbids.
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
from ...search.pattern import compile_regex
from ...search.replace_matches import replace_matches
from .message_names import answers_in_stored, names_in_stored

SESSION, TEXT, MESSAGES = "session", "text", "messages"
"""The kind of an erasure: a whole session, a text within it, or some of its messages."""

_FIRST_HASH = re.compile(r":[0-9a-f]{16}(?=:|$)")
"""Matches the part of a session's key that is from the hash of its first message."""
_MOST_TAKEN = 1000
_MOST_TAKEN_BYTES = 4096
_MOST_IDS = 4_000_000  # a line of 32 MB
_ID_BYTES = 6
_MOST_HEADER_BYTES = 1 << 20
_LEAST_UNKNOWN = 12
"""The least number of characters of each match that must not occur in an expression that is kept."""
_MOST_COMPARED = 30


class ErasedError(ContextPersistentError, ValueError):
    """The source was deleted or purged here; nothing was imported."""


@dataclass(frozen=True, slots=True)
class SourceNames:
    """The names that identify a session, before they are hashed."""

    names: tuple[str, ...] = ()
    count: int = 0
    """The number of first messages that `content` covers."""
    content: str = ""
    """The hash of the first `count` messages; empty if the source gives an id."""
    messages: tuple[str, ...] = ()
    """The names of messages with ids (`message_names`)."""
    answers: tuple[str, ...] = ()
    """The names of long answers, which are the same in every format of the session."""
    id_hashes: tuple[int, ...] = ()
    """The hashes of the ids of the purged messages; empty unless single messages were purged."""


@dataclass(frozen=True, slots=True)
class TakenHashes:
    """Salted hashes of the texts that a purge removed. They find these texts in later imports."""

    salt: str
    hashes: frozenset[tuple[int, int, str]]
    """For each text its size in bytes, a short checksum, and its hash."""

    @classmethod
    def of(cls, salt: str, texts: Iterable[str]) -> TakenHashes:
        """Return the hashes of texts. At most `_MOST_TAKEN` texts are hashed, and none above `_MOST_TAKEN_BYTES`."""
        encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
        wanted = [one for one in encoded if 0 < len(one) <= _MOST_TAKEN_BYTES]
        return cls(salt, frozenset((len(one), _check(salt, one), _hash(salt, one)) for one in wanted[:_MOST_TAKEN]))

    def replace(self, text: str) -> str:
        """Return a text in which every part that has one of the hashes is replaced."""
        content = text.encode("utf-8", "surrogatepass")
        for length in sorted({length for length, _, _ in self.hashes}, reverse=True):
            content = self._without(content, length)
        return content.decode("utf-8", "surrogatepass")

    def _without(self, content: bytes, length: int) -> bytes:
        """Return content in which the removed texts of `length` bytes are replaced.

        Every part of this length is compared with the hashes. Hashing is slow, so a part is hashed only if its checksum
        is that of a removed text.
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
    """The rule for what a purge replaces: secrets in known forms, matches of an expression, or hashed texts."""

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
            text = replace_matches(compile_regex(self.expression), REPLACEMENT, text)
        return self.taken.replace(text) if self.taken is not None else text

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
        hashes = frozenset((int(one[0]), int(one[1]), str(one[2])) for one in value.get("hashes", ()))
        taken = TakenHashes(salt, hashes) if hashes else None
        is_complete = value.get("complete") is True
        return cls(value.get("secrets") is True, str(value.get("expression", "")), taken, is_complete)


def rule_of(salt: str, *, secrets: bool, expression: str, taken: Iterable[str]) -> TextRule:
    """Return the rule for later imports that a purge leaves.

    Args:
        salt: the salt of the erasure.
        secrets: whether secrets in known forms were replaced.
        expression: the expression that was searched for; empty if only secrets were replaced.
        taken: the texts that were replaced.
    """
    texts = sorted(set(taken), key=len)
    if expression and texts and all(_unknown(expression, one) >= _LEAST_UNKNOWN for one in texts[:_MOST_COMPARED]):
        return TextRule(secrets=secrets, expression=expression, is_complete=True)
    hashed = TakenHashes.of(salt, texts) if texts else None
    return TextRule(secrets=secrets, taken=hashed, is_complete=hashed is None or len(hashed.hashes) == len(texts))


def _unknown(expression: str, text: str) -> int:
    """Return the number of characters of a text that the expression does not contain in the same order."""
    signs, rest = expression.casefold(), text.casefold()[:256]
    row = [0] * (len(rest) + 1)
    for sign in signs:
        before, row = row, [0]
        for at, other in enumerate(rest):
            row.append(before[at] + 1 if sign == other else max(before[at + 1], row[at]))
    return len(rest) - row[-1]


@dataclass(frozen=True, slots=True)
class Erasure:
    """One erasure: a line of a list."""

    salt: str
    """The salt of the hashes; it also identifies the erasure."""
    what: str
    time: str
    names: frozenset[str]
    """The salted hashes of names."""
    count: int = 0
    content: str = ""
    """The salted hash of the first `count` messages; empty if the names suffice."""
    rule: TextRule = field(default_factory=TextRule)
    answers: frozenset[str] = frozenset()
    """The salted hashes of long answers."""
    ids: bytes = b""
    """The salted hashes of the ids of all purged messages, sorted and joined; with them a copy of the log is purged
    too."""
    is_elsewhere: bool = False
    """Whether the content was erased in another directory, and no sync has carried this out in the home yet."""

    @property
    def is_named(self) -> bool:
        """Whether the erasure holds anything that identifies a session."""
        return bool(self.names or self.content or self.answers)

    @property
    def day(self) -> str:
        """The day of the erasure, as text for a person."""
        return self.time[:10] or "an unknown day"

    def concerns(
        self,
        names: Sequence[str],
        content_of: Callable[[int], str] = lambda _: "",
        answers_of: Callable[[], Sequence[str]] = tuple,
    ) -> bool:
        """Return whether the erasure is about a session.

        Args:
            names: the names of the session and of its messages.
            content_of: hashes the given number of its first messages.
            answers_of: returns the names of its long answers.
        """
        if any(_named(self.salt, name) in self.names for name in names):
            return True
        if self.content and _named(self.salt, content_of(self.count)) == self.content:
            return True
        return bool(self.answers) and self._has_answers_of(answers_of())

    def _has_answers_of(self, answers: Sequence[str]) -> bool:
        """Return whether enough answers are the same: at least half of them, and at least two.

        A single answer may be a common phrase. The half is counted on the smaller side, the erasure's answers or the
        session's, so a part of an erased session is recognised too.
        """
        fewer = min(len(self.answers), len(answers))
        same = sum(_named(self.salt, name) in self.answers for name in answers)
        return same >= max(2, (fewer + 1) // 2)

    def took(self, id_hash: int) -> bool:
        """Return whether the purge removed the message whose id has this hash."""
        wanted, count = _salted_id(self.salt, id_hash), len(self.ids) // _ID_BYTES
        at = bisect_left(range(count), wanted, key=self._id)
        return at < count and self._id(at) == wanted

    def _id(self, number: int) -> bytes:
        return self.ids[_ID_BYTES * number : _ID_BYTES * (number + 1)]

    def to_line(self) -> bytes:
        """Return the erasure as a JSON line, with its LF."""
        value: dict[str, Any] = {"erased": self.what, "time": self.time, "salt": self.salt, "names": sorted(self.names)}
        if self.content:
            value |= {"count": self.count, "content": self.content}
        if self.answers:
            value["answers"] = sorted(self.answers)
        if self.ids:
            value["ids"] = binascii.b2a_base64(self.ids, newline=False).decode()
        rule = self.rule.to_json()
        if rule:
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
    """Make an erasure with a new salt.

    Args:
        source: the names of the session.
        what: the kind: `SESSION`, `TEXT` or `MESSAGES`.
        time: the time of the erasure, in ISO 8601.
        rule: makes the rule of a purge from the salt.
    """
    salt = token_hex(16)
    names = frozenset(_named(salt, name) for name in (*source.names, *source.messages))
    content = _named(salt, source.content) if source.content else ""
    answers = frozenset(_named(salt, name) for name in source.answers)
    ids = b""
    if len(source.id_hashes) <= _MOST_IDS:  # an incomplete list would look complete
        ids = b"".join(sorted({_salted_id(salt, id_hash) for id_hash in source.id_hashes}))
    return Erasure(salt, what, time, names, source.count, content, rule(salt), answers, ids)


def erasure_from(value: dict[str, Any]) -> Erasure:
    """Read an erasure from a line's JSON object. A malformed one raises KeyError, TypeError or ValueError."""
    salt = str(value["salt"])
    names = frozenset(str(name) for name in value["names"])
    answers = frozenset(str(answer) for answer in value.get("answers", ()))
    rule = TextRule.from_json(salt, value.get("rule", {}))
    ids = binascii.a2b_base64(str(value.get("ids", "")))
    return Erasure(
        salt,
        str(value["erased"]),
        str(value["time"]),
        names,
        int(value.get("count", 0)),
        str(value.get("content", "")),
        rule,
        answers,
        ids,
        value.get("elsewhere") is True,
    )


def names_in_log(location: str) -> SourceNames:
    """Return the names by which a log's session is recognised when its source or a copy of the log is imported.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    with contextlib.closing(open_reader(location)) as reader:
        reader.follow()
        return names_in(reader)


def names_in(reader: ReadableLog, gone: Iterable[int] | None = None) -> SourceNames:
    """Return the names of an open log's session, as `names_in_log` does.

    Args:
        reader: the log.
        gone: the ordinals of the messages that are purged; None if the whole session is erased, or a text in it.
    """
    index = reader.index
    names, count, has_id = _named_by_headers(index.headers)
    count = 0 if has_id else min(count, len(index))  # a session without an id is recognised by its first messages
    content = ""
    if count:
        content = content_name(line[:-CRC_TAIL_BYTES] for _, line in reader.lines(range(count)))
    ordinals = None if gone is None else list(gone)
    message_names = names_in_stored(reader, ordinals)
    answers = answers_in_stored(reader, ordinals)
    id_hashes = [index.columns.id_hashes[ordinal] for ordinal in ordinals or ()]
    return SourceNames(tuple(names), count, content, tuple(message_names), tuple(answers), tuple(id_hashes))


def names_of(reader: ReadableLog) -> list[str]:
    """Return the names by which erasures of an open log are found: from its headers, else from its messages.

    A fork has messages of its origin, so messages are used only if no header gives a name.
    """
    return _named_by_headers(reader.index.headers)[0] or names_in_stored(reader)


def names_at_start(log: str) -> list[str] | None:
    """Return the names by which erasures of a log's file are found, from its first line.

    Returns None if the first line is not a header with a `log_id`.

    Later headers have the same `log_id`, so no other line is read.

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
    """Return the names in a log's headers, the number of messages in its source, and whether the source gave an id."""
    names, count, has_id = dict[str, None](), 0, True
    for header in headers:
        log_id = header.get("log_id")
        if log_id:
            names[f"log:{log_id}"] = None
        source = header.get("source")
        if isinstance(source, dict) and source.get("key"):
            has_id = bool(source.get("session_id"))
            names |= dict.fromkeys(names_of_key(str(source["key"]), has_id=has_id))
            count = int(source.get("messages") or 0)
    return list(names), count, has_id


def names_of_key(key: str, *, has_id: bool) -> list[str]:
    """Return the names that identify an imported session, made from its import key.

    The first name contains the whole key. If the source gives the session an id, a second name contains the key without
    the hash of the session's first message.
    """
    return [f"key:{key}", *([f"id:{_FIRST_HASH.sub('', key)}"] if has_id else [])]


def content_name(bodies: Iterable[bytes]) -> str:
    """Return a name for messages: the hash of the bodies of their records."""
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
    """Yield the erasures that are about a session. Takes the same arguments as `Erasure.concerns`."""
    return (erasure for erasure in found if erasure.concerns(names, content_of, answers_of))
