"""A log at a glance: what `list` says of it, and the text with a checksum that a catalogue keeps of that.

What a person wrote is not kept, but where it stands in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any
from zlib import crc32

import orjson

from ..log.record_line import decode
from ..messages.message import Message
from ..messages.metadata import first_line, is_human


@dataclass(frozen=True, slots=True)
class LastRequest:
    """The last request of a session whose input is known.

    Attributes:
        provider: who answered it.
        model: its model.
        tokens: of its input.
        cacheable: how many of them were read from the prompt cache or written to it.
        is_kept_for_an_hour: whether the cache was paid for an hour.
        time: when it was answered, in ISO 8601.
    """

    provider: str = ""
    model: str = ""
    tokens: int = 0
    cacheable: int = 0
    is_kept_for_an_hour: bool = False
    time: str = ""


NO_REQUEST = LastRequest()


@dataclass(frozen=True, slots=True)
class Glance:
    """A log at a glance."""

    size_bytes: int = 0
    messages: int = 0
    """Live ones."""
    hidden: int = 0
    """Messages that a clear or a reset hid."""
    tokens: int = 0
    """Of the live messages, estimated."""
    damage: int = 0
    """Findings of a scan; `verify` tells them."""
    torn_bytes: int = 0
    open_calls: int = 0
    """Calls of the last messages that have no result."""
    first_line: str = ""
    """The first line that a person wrote."""
    first_message: str = ""
    """When its first message was written, in ISO 8601; empty if no message near its beginning says."""
    last_message: str = ""
    """When its last message was written."""
    model: str = ""
    """The model that answered last, as far as a message or a report says."""
    label: str = ""
    """The name that a person gave the session with `rename`; empty if nobody did."""
    tags: str = ""
    """The tags that a person put on the session with `tag`, separated by spaces."""
    last_request: LastRequest = NO_REQUEST


def told_of(glance: dict[str, Any], line: tuple[int, int, int]) -> str:
    """What is kept of a log, with a checksum: a bit that flips in a file would give other figures.

    Raises:
        TypeError: a text has half of a surrogate pair.
    """
    said = {"glance": glance, "line": line}
    return orjson.dumps({**said, "crc32": crc32(orjson.dumps(said))}).decode()


def glance_told(told: str, read: Callable[[int, int], bytes]) -> Glance | None:
    """What is told of a log, with the line that it names; None where that is another one, or somebody else wrote it."""
    try:
        known, (offset, length, check) = _read_told(told)
        if not length:
            return known
        content = read(offset, length) if 0 <= offset < offset + length <= known.size_bytes else b""
        return replace(known, first_line=said_first(decode(content))) if crc32(content) == check else None
    except (ValueError, KeyError, TypeError):
        return None


def _read_told(told: str) -> tuple[Glance, tuple[int, int, int]]:
    """The glance that is told, and the offset, the length and the checksum of its line; all zero if there is none.

    Raises:
        ValueError, KeyError, TypeError: it was altered, or somebody else or an earlier version wrote it.
    """
    given = orjson.loads(told)
    if given["crc32"] != crc32(orjson.dumps({"glance": given["glance"], "line": given["line"]})):
        raise ValueError("its checksum is another one")
    asked = LastRequest(**given["glance"]["last_request"])  # an earlier version did not keep it
    known, (offset, length, check) = Glance(**{**given["glance"], "last_request": asked}), given["line"]
    _check_fields(asked)
    _check_fields(known)
    return known, (offset, length, check)


def _check_fields(known: Glance | LastRequest) -> None:
    """Make sure that each field has the type of its default, and no number is negative or beyond 64 bits.

    Raises:
        ValueError: one is not so.
    """
    for field in fields(known):
        value = getattr(known, field.name)
        if type(value) is not type(field.default) or (isinstance(value, int) and not 0 <= value < 1 << 63):
            raise ValueError(f"{field.name} is {value!r:.80}")


def said_first(message: Message) -> str:
    """The first line of a message that a person wrote; empty if there is none."""
    return first_line(message) if is_human(message) else ""
