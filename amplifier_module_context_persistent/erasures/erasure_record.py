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
- A line that cannot be read is skipped. A list that cannot be read is an error, because it is not known what the list
  forbids.
"""

from __future__ import annotations

import binascii
import hashlib
import json
from bisect import bisect_left
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
class Erasure:
    """One erasure, as a line of a list of erasures describes it."""

    salt: str
    """The salt of the hashes. It also identifies the erasure."""
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
    talk: frozenset[str] = frozenset()
    """The salted hashes of the beginnings of the conversation."""
    talk_ends: frozenset[str] = frozenset()
    """Those of the whole conversation."""
    ids: bytes = b""
    """The salted hashes of the ids of all messages that were purged or deleted, sorted and joined. A sync uses
    them to purge copies of the log, and keeps a copy of a deleted session whose last message is not among them."""
    has_more_ids: bool = False
    """Whether more messages were purged than a list may have ids. Then the erasure has no ids."""
    is_all: bool = False
    """Whether everything was purged: all messages, and all records about the session, such as names and tags."""
    is_elsewhere: bool = False
    """Whether the content was erased in another directory, and no sync has carried this out in the home yet."""
    has_all_ids: bool = False
    """Whether `ids` has all messages of a deleted session, also if there were none."""
    purges: frozenset[str] = frozenset()
    """For a deleted session: the salts of the erasures that were carried out in its log by purges.

    A source from before a purge is recognised by the erasure of that purge, because the deleted log no longer had the
    purged messages.
    """

    @property
    def is_named(self) -> bool:
        """Whether the erasure holds anything that identifies a session."""
        return bool(self.names or self.content or self.answers)

    @property
    def day(self) -> str:
        """The day of the erasure, as text for a person."""
        return self.time[:10] or "an unknown day"

    def took(self, id_hash: int) -> bool:
        """Return whether the message whose id has this hash was purged, or deleted with its session."""
        wanted = salted_id(self.salt, id_hash)
        count = len(self.ids) // _ID_BYTES
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
        if self.talk:
            value |= {"talk": sorted(self.talk), "talk_ends": sorted(self.talk_ends)}
        if self.ids or self.has_all_ids:
            value["ids"] = binascii.b2a_base64(self.ids, newline=False).decode()
        rule = self.rule.to_json()
        if rule:
            value["rule"] = rule
        if self.has_more_ids:
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
    names = frozenset(str(name) for name in value["names"])
    answers = frozenset(str(answer) for answer in value.get("answers", ()))
    rule = TextRule.from_json(salt, value.get("rule", {}))
    talk, ends = (frozenset(map(str, value.get(key, ()))) for key in ("talk", "talk_ends"))
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
        talk,
        ends,
        ids,
        value.get("more_ids") is True,
        value.get("all") is True,
        value.get("elsewhere") is True,
        purges=frozenset(str(purge) for purge in value.get("purges", ())),
        has_all_ids=value["erased"] == SESSION and "ids" in value,
    )
