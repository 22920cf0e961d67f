"""Redaction on write: keys of known services are replaced before a message is stored (`redact_on_write`).

Only keys of a known form are replaced (`messages.secrets.formats`). A value beside a name such as `password` is only a
guess: a wrong guess costs an export a word, but would cost the memory that word for ever. A signed thinking block that
contains a key is left out, because providers refuse a block whose signature does not fit its text.

Rules:
- A list from a host is redacted before it is compared with the log, so that it is recognised.
- Long texts are searched in a thread. Calls are redacted one after the other, in the order in which they came.
- The event and the message's metadata name the kind and the field of a replaced key, never its value.
- A key that is an id or a name stays, because results are matched with calls by it; an event and a warning say so.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..messages.message import Message, metadata_of
from ..messages.metadata import REDACTED_KEY
from .host import Host

logger = logging.getLogger(__name__)

_SMALL_CHARS = 10_000
"""Messages with at most this much text are searched on the event loop, which is faster than using a thread."""

Redaction = dict[str, Any]
"""A key (a password or an API key) in a message: `message` (its number in the call, from 1), `role`, `field`, `kind`;
`kept` if the key stays."""


class RedactionOnWrite:
    """Replaces API keys and passwords of known services in messages before the messages are stored.

    Args:
        host: receives the event `context:redacted_on_write`.
        is_on: whether anything is replaced.
    """

    def __init__(self, host: Host, *, is_on: bool) -> None:
        self._host = host
        self.is_on = is_on
        """Whether anything is replaced."""
        self._turn = asyncio.Lock()

    async def of(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Redact messages, and tell the host what was replaced. If redaction is off, return the same sequence."""
        if not self.is_on:
            return messages
        async with self._turn:
            if sum(map(_text_chars, messages)) <= _SMALL_CHARS:
                redacted, found = _redacted(messages)
            else:
                redacted, found = await asyncio.to_thread(_redacted, messages)
        if found:
            _warn("replaced before storing", [redaction for redaction in found if "kept" not in redaction])
            _warn("kept, since results name calls by it", [redaction for redaction in found if "kept" in redaction])
            await self._host.emit("context:redacted_on_write", {"redactions": found})
        return redacted

    async def of_text(self, text: str) -> str:
        """Redact a text that is stored beside the messages, such as the reason of a pin."""
        (message,) = await self.of([{"role": "system", "content": text}])
        return str(message["content"])


def _warn(what: str, redactions: Sequence[Redaction]) -> None:
    """Log what was done with some keys, and the keys' kinds and places; nothing if there are no keys."""
    kinds = sorted({f"{redaction['kind']} in {redaction['field']}" for redaction in redactions})
    if kinds:
        logger.warning("redact_on_write: %s: %s", what, ", ".join(kinds))


def _redacted(messages: Sequence[Message]) -> tuple[list[Message], list[Redaction]]:
    """Return redacted messages, and a description of each replaced key."""
    from ..messages.secrets.known_keys import redact_known_keys  # compiles the forms of all services

    redacted: list[Message] = []
    redactions: list[Redaction] = []
    for number, message in enumerate(messages, 1):
        clean, found = redact_known_keys(message)
        replaced = Counter(key.kind for key in found if not key.is_kept)
        if replaced:
            metadata = {**metadata_of(clean), REDACTED_KEY: dict(sorted(replaced.items()))}
            clean = {**clean, "metadata": metadata}
        redacted.append(clean if found else message)
        for key in found:
            redaction: Redaction = {
                "message": number,
                "role": message.get("role"),
                "field": key.field,
                "kind": key.kind,
            }
            if key.is_kept:
                redaction["kept"] = True
            redactions.append(redaction)
    return redacted, redactions


def _text_chars(value: Any) -> int:
    """Count the characters of the texts in a JSON value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_text_chars, value.values()))
    return sum(map(_text_chars, value)) if isinstance(value, list) else 0
