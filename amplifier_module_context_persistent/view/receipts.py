"""Receipts: a small record of each request's view. With it the view can be made again from the log and verified.

Rules:
- A receipt has ids (plan, last message, head text) and counts, but no content. The *head text* is the system text at
  the start of a view.
- Its hash is a chain over the canonical bytes of the view's messages, in order. The head text is hashed last, although
  it comes first in the view, because it changes while the messages after it stay. So if a view continues the last one,
  only its new messages are hashed. After a repair, the repaired group and everything after it are hashed again.
- The same view has the same hash in any process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import orjson

from ..config import Config
from ..log.record_line import encode_control
from ..messages.message import Message
from ..tokens.model_names import kept_name
from .arrangement import Item
from .recipients import FIRST_RULES, RULES
from .render import common_length

DIGEST_BYTES = 16
_SHORT_DIGEST_BYTES = 8
_NAMES = ("id", "time", "plan", "upto", "provider", "model", "head", "tools", "bound", "hash")

RENDERING = {"truncate_boundary": "line", "late_system": "system"}
"""The options that a view's bytes depend on, each with the value that a receipt need not name."""

LINE = "line"
"""The key in `Receipt.render` for the line that the view ends with because its last message is an answer."""
RULES_KEY = "rules"
"""The key in `Receipt.render` for the version of the rules that the view was made by (`recipients.RULES`)."""


def canonical(message: Any) -> bytes:
    """Encode a message as canonical bytes: JSON without spaces, keys sorted, in UTF-8, as `orjson` writes it.

    If `orjson` would alter or refuse a value (integers beyond 64 bits, NaN, infinities, lone surrogates), the standard
    library writes the message in ASCII.

    Raises:
        ValueError: an integer has more digits than the interpreter converts. No log has such an integer.
    """
    try:
        encoded = orjson.dumps(message, option=orjson.OPT_SORT_KEYS)
        if b"null" not in encoded or orjson.loads(encoded) == message:  # orjson writes NaN and infinities as null
            return encoded
    except TypeError:
        pass
    return json.dumps(message, sort_keys=True, separators=(",", ":")).encode("ascii")


def text_hash(text: Any) -> str:
    """Return the hash by which receipts name a head text or the definitions of tools."""
    return blake2b(canonical(text), digest_size=_SHORT_DIGEST_BYTES).hexdigest()


class ViewHashes:
    """Hashes the views of a window; messages at the start that did not change are not hashed again."""

    def __init__(self) -> None:
        self._of: object = None
        self._items: Sequence[Item] = ()
        self._digests: list[bytes] = []

    def hash_of(
        self,
        items: Sequence[Item],
        messages: Callable[[int], Sequence[Message]],
        head: Sequence[Message],
        *,
        of: object,
    ) -> str:
        """Hash a view, from the first item that differs from the last view.

        Args:
            items: the items of the view.
            messages: gives the rendered messages of the items, from a position to the end.
            head: system text at the start of the view.
            of: identifies the log state that the items' ordinals refer to. If it differs from the last call, the whole
                view is hashed.

        Raises:
            ValueError: an error of `canonical`. The next view is hashed from its beginning.
        """
        same = common_length(self._items, items) if of is self._of else 0
        self._items = ()  # if the messages cannot be read
        digests = self._digests
        del digests[same:]
        running = digests[-1] if digests else bytes(DIGEST_BYTES)
        for message in messages(same):
            running = _digest(running, message)
            digests.append(running)
        self._of = of
        self._items = items
        for message in head:
            running = _digest(running, message)
        return running.hex()


def _digest(running: bytes, message: Message) -> bytes:
    return blake2b(running + canonical(message), digest_size=DIGEST_BYTES).digest()


@dataclass(frozen=True, slots=True)
class ReaderName:
    """The provider and the model that a view was made for; each is "" if the host does not name it."""

    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class RequestHashes:
    """The hashes that prove a request; each is "" if there was nothing to hash."""

    view: str = ""
    """The hash of the view: the chain over its messages."""
    head: str = ""
    """The hash of the head text."""
    tools: str = ""
    """The hash of the tool definitions."""
    bound: str = ""
    """The hash of the whole request (`bound_reasoning.py`); "" in receipts of versions that did not write this hash."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of a request's view.

    `plan` is the id of the plan that the view follows, `upto` the id of the last live message; each is "" if there is
    none. `extras` counts messages that are in no log. `render` has the rendering options that differ from the defaults.
    """

    id: str
    time: str
    plan: str
    upto: str
    messages: int
    tokens: int
    budget_tokens: int
    reader: ReaderName
    hashes: RequestHashes
    extras: int = 0
    render: Mapping[str, Any] = field(default_factory=dict)
    unbound: int = 0
    """The number of answers shown without their reasoning, because a message before it changed."""

    @property
    def rules(self) -> int:
        """The version of the rules that the view was made by, or 0 if the receipt has no valid number."""
        version = self.render.get(RULES_KEY, FIRST_RULES)
        return version if type(version) is int else 0

    def encode(self) -> bytes:
        """Encode the receipt as the body of a control record."""
        fields = {
            "id": self.id,
            "time": self.time,
            "plan": self.plan,
            "upto": self.upto,
            "messages": self.messages,
            "tokens": self.tokens,
            "budget_tokens": self.budget_tokens,
            "provider": kept_name(self.reader.provider),
            "model": kept_name(self.reader.model),
            "head": self.hashes.head,
            "tools": self.hashes.tools,
            "extras": self.extras,
            "unbound": self.unbound,
            "render": dict(self.render),
            "bound": self.hashes.bound,
            "hash": self.hashes.view,
        }
        return encode_control("view", **{key: value for key, value in fields.items() if value})

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Receipt:
        """Read a receipt back.

        Raises:
            ValueError: the record is not of this shape.
        """
        texts = {key: record.get(key, "") for key in _NAMES}
        counts = {key: record.get(key, 0) for key in ("messages", "tokens", "budget_tokens", "extras", "unbound")}
        render = record.get("render", {})
        has_texts = all(isinstance(text, str) for text in texts.values()) and texts["id"] and texts["hash"]
        has_counts = all(type(count) is int and count >= 0 for count in counts.values())
        if not has_texts or not has_counts or not isinstance(render, dict):
            raise ValueError("not a receipt: its id or its hash is missing, or a value in it is of another type")
        return cls(
            id=texts["id"],
            time=texts["time"],
            plan=texts["plan"],
            upto=texts["upto"],
            reader=ReaderName(texts["provider"], texts["model"]),
            hashes=RequestHashes(texts["hash"], texts["head"], texts["tools"], texts["bound"]),
            render=render,
            **counts,
        )


def render_options(config: Config) -> dict[str, Any]:
    """Return a receipt's `render`: the options of `RENDERING` that differ from the defaults, and the rules' version."""
    options = {key: getattr(config, key) for key in RENDERING}
    changed = {key: value for key, value in options.items() if value != RENDERING[key]}
    return {**changed, RULES_KEY: RULES}


_WIRE_OF, _CALL_IDS_OF = attrgetter("wire"), attrgetter("call_ids")


def keeps_wire_rules(items: Sequence[Item]) -> bool:
    """Return whether a view changes any stored message because of `view.wire_rules`."""
    return any(map(_WIRE_OF, items)) or any(map(_CALL_IDS_OF, items))


def extras_in(items: Sequence[Item]) -> int:
    """Count the items whose messages are in no log."""
    return sum(item.entry is not None and item.entry.ordinal < 0 for item in items)


def encode_head(text: str) -> bytes:
    """Encode a head text as the body of a control record."""
    return encode_control("system", hash=text_hash(text), text=text)
