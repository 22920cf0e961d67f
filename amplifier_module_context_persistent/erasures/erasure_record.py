"""The lines of a list of erasures. They keep an import from bringing erased content back.

An erasure is a line that says that a session was deleted, or that a text or messages were purged from it. The list
(`erasure_list`) is the file `~/.amplifier/context-erased.jsonl` (mode 0600), or a table of a database; it is kept when
sessions and their catalogues are deleted. A salt is a random text that is hashed together with each name, so that
nobody can look a name up by its hash. Rules:
- The list holds no text of a session. A session is identified by salted hashes of its names
  (`toolbox/transfer/erasing/erased_session_names`).
- A purge of a text leaves a rule (`text_rule`).
- A line is written before anything is removed. Another line lifts (cancels) it if nothing was removed after all, or if
  a person told an import to bring the content back.
- A list that cannot be read, or that has a damaged line, is an error, because it is not known what the list forbids. A
  torn line, as a killed append leaves it, is skipped: the content that it names was not removed yet.
"""

from __future__ import annotations

import binascii
import hashlib
import json
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..errors import ContextPersistentError
from .text_rule import TextRule

SESSION, TEXT, MESSAGES = "session", "text", "messages"
"""The kind of an erasure: a whole session, a text within it, or some of its messages."""

_ID_BYTES = 6


class ErasedError(ContextPersistentError, ValueError):
    """The source was deleted or purged here; nothing was imported."""


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """Salted hashes by which a session, or a copy of it, is recognised."""

    names: frozenset[str] = frozenset()
    """The hashes of names."""
    count: int = 0
    content: str = ""
    """The hash of the first `count` messages; empty if the names suffice."""
    answers: frozenset[str] = frozenset()
    """The hashes of long answers."""
    talk: frozenset[str] = frozenset()
    """The hashes of the beginnings of the conversation."""
    talk_ends: frozenset[str] = frozenset()
    """The hashes of the whole conversation."""

    def __bool__(self) -> bool:
        return bool(self.names or self.content or self.answers)


@dataclass(frozen=True, slots=True)
class ErasedIds:
    """The ids of the messages that were purged, or deleted with their session.

    A sync uses them to purge copies of the log, and keeps a copy of a deleted session whose last message is not among
    them.
    """

    hashes: bytes = b""
    """The salted hashes of the ids, sorted and joined."""
    has_more: bool = False
    """Whether more messages were purged than a list may have ids. Then there are no hashes."""
    has_all: bool = False
    """Whether `hashes` has all messages of a deleted session, also if there were none."""

    def has(self, salted: bytes) -> bool:
        """Return whether the hash of an id (`salted_id`) is among the hashes."""
        count = len(self.hashes) // _ID_BYTES
        at = bisect_left(range(count), salted, key=self._hash)
        return at < count and self._hash(at) == salted

    def _hash(self, number: int) -> bytes:
        return self.hashes[_ID_BYTES * number : _ID_BYTES * (number + 1)]


@dataclass(frozen=True, slots=True)
class Erasure:
    """One erasure, as a line of a list of erasures describes it."""

    salt: str
    """The salt of the hashes. It also identifies the erasure."""
    what: str
    time: str
    fingerprints: Fingerprints
    """The salted hashes by which the session is recognised."""
    ids: ErasedIds = ErasedIds()
    """The ids of the messages that were purged or deleted."""
    rule: TextRule = field(default_factory=TextRule)
    is_all: bool = False
    """Whether everything was purged: all messages, and all records about the session, such as names and tags."""
    is_elsewhere: bool = False
    """Whether the content was erased in another directory, and no sync has carried this out in the home yet."""
    purges: frozenset[str] = frozenset()
    """For a deleted session: the salts of the erasures that were carried out in its log by purges.

    A source from before a purge is recognised by the erasure of that purge, because the deleted log no longer had the
    purged messages.
    """

    @property
    def is_named(self) -> bool:
        """Whether the erasure holds anything that identifies a session."""
        return bool(self.fingerprints)

    @property
    def day(self) -> str:
        """The day of the erasure, as text for a person."""
        return self.time[:10] or "an unknown day"

    def took(self, id_hash: int) -> bool:
        """Return whether the message whose id has this hash was purged, or deleted with its session."""
        return self.ids.has(salted_id(self.salt, id_hash))

    def to_line(self) -> bytes:
        """Return the erasure as a JSON line, with its LF."""
        known_by = self.fingerprints
        names = sorted(known_by.names)
        value: dict[str, Any] = {"erased": self.what, "time": self.time, "salt": self.salt, "names": names}
        if known_by.content:
            value |= {"count": known_by.count, "content": known_by.content}
        if known_by.answers:
            value["answers"] = sorted(known_by.answers)
        if known_by.talk:
            value |= {"talk": sorted(known_by.talk), "talk_ends": sorted(known_by.talk_ends)}
        if self.ids.hashes or self.ids.has_all:
            value["ids"] = binascii.b2a_base64(self.ids.hashes, newline=False).decode()
        rule = self.rule.to_json()
        if rule:
            value["rule"] = rule
        if self.ids.has_more:
            value["more_ids"] = True
        if self.is_all:
            value["all"] = True
        if self.is_elsewhere:
            value["elsewhere"] = True
        if self.purges:
            value["purges"] = sorted(self.purges)
        return json.dumps(value).encode() + b"\n"


def salted_id(salt: str, id_hash: int) -> bytes:
    """Return the form in which an erasure has the id of a message, from the hash of the id."""
    return hashlib.blake2b(id_hash.to_bytes(8, signed=True), digest_size=_ID_BYTES, key=salt.encode()).digest()


def erasure_from(value: dict[str, Any]) -> Erasure:
    """Read an erasure from the JSON object of a line.

    Raises:
        KeyError, TypeError, ValueError: the object is not an erasure.
    """
    salt = str(value["salt"])
    what = str(value["erased"])
    fingerprints = Fingerprints(
        names=_texts(value["names"]),
        count=int(value.get("count", 0)),
        content=str(value.get("content", "")),
        answers=_texts(value.get("answers", ())),
        talk=_texts(value.get("talk", ())),
        talk_ends=_texts(value.get("talk_ends", ())),
    )
    ids = ErasedIds(
        binascii.a2b_base64(str(value.get("ids", ""))),
        has_more=value.get("more_ids") is True,
        has_all=what == SESSION and "ids" in value,
    )
    return Erasure(
        salt,
        what,
        time=str(value["time"]),
        fingerprints=fingerprints,
        ids=ids,
        rule=TextRule.from_json(salt, value.get("rule", {})),
        is_all=value.get("all") is True,
        is_elsewhere=value.get("elsewhere") is True,
        purges=_texts(value.get("purges", ())),
    )


def _texts(values: Iterable[Any]) -> frozenset[str]:
    return frozenset(map(str, values))
