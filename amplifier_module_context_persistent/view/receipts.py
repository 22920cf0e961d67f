"""Receipts: a small record of every view that was handed out, by which it can be made again from the log and proved.

Rules:
- A receipt names things (plan, last message, head text) and counts them; it holds no content.
- Its hash is a chain over the canonical bytes of the view's messages in order, the head text last, though it comes
  first: it changes while everything after it stays. So a view that continues the one before it costs what is
  new, and a repaired group costs what follows it.
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
from .arrangement import Item
from .recipients import FIRST_RULES, RULES, kept_name
from .render import common_length

DIGEST_BYTES = 16
_SHORT_DIGEST_BYTES = 8
_NAMES = ("id", "time", "plan", "upto", "provider", "model", "head", "tools", "bound", "hash")

RENDERING = {"truncate_boundary": "line", "late_system": "system"}
"""The options that the bytes of a view depend on, and what a receipt means that does not name them."""

LINE = "line"
"""Among them, the line that the view ends with since its last word is an answer."""
RULES_KEY = "rules"
"""Among them, the version of the rules by which the view was made (`recipients.RULES`)."""


def canonical(message: Any) -> bytes:
    """The canonical bytes of a message: JSON without spaces, keys sorted, UTF-8, as `orjson` writes it.

    What `orjson` alters or refuses (integers beyond 64 bits, NaN, infinities, lone surrogates) is written by the
    standard library, in ASCII.

    Raises:
        ValueError: an integer of more digits than the interpreter converts; no log holds one.
    """
    try:
        encoded = orjson.dumps(message, option=orjson.OPT_SORT_KEYS)
        if b"null" not in encoded or orjson.loads(encoded) == message:  # orjson writes NaN and infinities as null
            return encoded
    except TypeError:
        pass
    return json.dumps(message, sort_keys=True, separators=(",", ":")).encode("ascii")


def text_hash(text: Any) -> str:
    """The name under which a head text is kept; also of tools."""
    return blake2b(canonical(text), digest_size=_SHORT_DIGEST_BYTES).hexdigest()


class ViewHashes:
    """The running hashes of a window's views."""

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
        """Hash a view, going on from where it differs from the last one.

        Args:
            items: the arrangement's items; without them nothing is taken over.
            messages: gives what they were rendered to, from a position on.
            head: system text that heads the view.
            of: what the items' keys are ordinals of; items of something else are never taken for the same.

        Raises:
            ValueError: as `canonical`; the next view is hashed from its beginning.
        """
        same = common_length(self._items, items) if of is self._of else 0
        digests, self._items = self._digests, ()
        del digests[same:]
        running = digests[-1] if digests else bytes(DIGEST_BYTES)
        for message in messages(same):
            running = _digest(running, message)
            digests.append(running)
        self._of, self._items = of, items
        for message in head:
            running = _digest(running, message)
        return running.hex()


def _digest(running: bytes, message: Message) -> bytes:
    return blake2b(running + canonical(message), digest_size=DIGEST_BYTES).digest()


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is kept of a request.

    `plan` is empty where none was followed, `head` (the head text's hash) where no factory gave one, `upto` where the
    log had no live message. `extras` counts messages that are in no log. `render` are the options by which it was
    rendered, where they are not the default ones.
    """

    id: str
    time: str
    plan: str
    upto: str
    messages: int
    tokens: int
    budget_tokens: int
    provider: str
    head: str
    extras: int
    hash: str
    render: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    """The provider's model, where it says so."""
    tools: str = ""
    """The hash of the tools' definitions; empty where there were none."""
    unbound: int = 0
    """How many answers are shown without their reasoning, as what stood before it changed."""
    bound: str = ""
    """The hash of all that was sent (`bound_reasoning.py`); receipts from before there was one have none."""

    @property
    def rules(self) -> int:
        """The version of the rules by which the view was made; 0 if it is no number."""
        named = self.render.get(RULES_KEY, FIRST_RULES)
        return named if type(named) is int else 0

    def encode(self) -> bytes:
        """The body of its control record."""
        fields = {
            "id": self.id,
            "time": self.time,
            "plan": self.plan,
            "upto": self.upto,
            "messages": self.messages,
            "tokens": self.tokens,
            "budget_tokens": self.budget_tokens,
            "provider": kept_name(self.provider),
            "model": kept_name(self.model),
            "head": self.head,
            "tools": self.tools,
            "extras": self.extras,
            "unbound": self.unbound,
            "render": dict(self.render),
            "bound": self.bound,
            "hash": self.hash,
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
        named = all(isinstance(text, str) for text in texts.values()) and texts["id"] and texts["hash"]
        counted = all(type(count) is int and count >= 0 for count in counts.values())
        if not named or not counted or not isinstance(render, dict):
            raise ValueError("not a receipt: its id or its hash is missing, or a value in it is of another type")
        return cls(**texts, **counts, render=render)


def render_options(config: Config) -> dict[str, Any]:
    """The options that a view's bytes depend on beside history, plan and head text, as a receipt names them."""
    return {key: value for key, usual in RENDERING.items() if (value := getattr(config, key)) != usual} | {
        RULES_KEY: RULES
    }


_WIRE_OF, _CALL_IDS_OF = attrgetter("wire"), attrgetter("call_ids")


def keeps_wire_rules(items: Sequence[Item]) -> bool:
    """Whether items are shown otherwise than they are stored for what providers refuse (`view.wire_rules`)."""
    return any(map(_WIRE_OF, items)) or any(map(_CALL_IDS_OF, items))


def extras_in(items: Sequence[Item]) -> int:
    """How many items are messages that are in no log."""
    return sum(item.entry is not None and item.entry.ordinal < 0 for item in items)


def encode_head(text: str) -> bytes:
    """The body of the control record that keeps a head text."""
    return encode_control("system", hash=text_hash(text), text=text)
