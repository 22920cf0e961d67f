"""A glance: the facts that `list` shows of one log, and their encoding, with a checksum, in a catalogue.

The first line that a person wrote is not stored, only its place in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any
from zlib import crc32

import orjson

from ..log.record_line import decode
from ..messages.message import Message, text_of
from ..messages.metadata import first_line, is_human
from ..messages.own_words import command_named


@dataclass(frozen=True, slots=True)
class LastRequest:
    """The last request of a session whose input is known.

    Attributes:
        provider: the provider that answered it.
        model: its model.
        tokens: the tokens of its input.
        cacheable: the tokens that were read from the prompt cache or written to it.
        is_kept_for_an_hour: whether the cache was paid for an hour.
        time: the time of its answer, in ISO 8601.
    """

    provider: str = ""
    model: str = ""
    tokens: int = 0
    cacheable: int = 0
    is_kept_for_an_hour: bool = False
    time: str = ""


NO_REQUEST = LastRequest()
_VERSION = 2
"""The version of the rule for the first line. A glance of another version is taken again."""


@dataclass(frozen=True, slots=True)
class Glance:
    """The facts that `list` shows of one log."""

    size_bytes: int = 0
    messages: int = 0
    """Number of live messages."""
    hidden: int = 0
    """Number of messages that a reset hid."""
    tokens: int = 0
    """Estimated tokens of the live messages."""
    damage: int = 0
    """Number of findings of a scan; `verify` lists them."""
    torn_bytes: int = 0
    open_calls: int = 0
    """Number of calls in the last messages without a result."""
    first_line: str = ""
    """The first line that a person wrote."""
    first_message: str = ""
    """The time of the first message, in ISO 8601; "" if no message near the beginning has one."""
    last_message: str = ""
    """The time of the last message."""
    model: str = ""
    """The model of the last answer, if a message or a usage record names it."""
    label: str = ""
    """The name from `rename`; "" if there is none."""
    tags: str = ""
    """The tags from `tag`, separated by spaces."""
    last_request: LastRequest = NO_REQUEST


def told_of(glance: dict[str, Any], line: tuple[int, int, int]) -> str:
    """Encode a glance with a checksum, because a flipped bit in the file would give wrong figures.

    Raises:
        TypeError: a text has half of a surrogate pair.
    """
    said = {"glance": glance, "line": line, "version": _VERSION}
    return orjson.dumps({**said, "crc32": crc32(orjson.dumps(said))}).decode()


def glance_told(told: str, read: Callable[[int, int], bytes]) -> Glance | None:
    """Decode a stored glance and read its first line.

    Return None if that line changed, or if another program wrote the glance.
    """
    try:
        known, (offset, length, check) = _read_told(told)
        if not length:
            return known
        content = read(offset, length) if 0 <= offset < offset + length <= known.size_bytes else b""
        return replace(known, first_line=said_first(decode(content))) if crc32(content) == check else None
    except (ValueError, KeyError, TypeError):
        return None


def _read_told(told: str) -> tuple[Glance, tuple[int, int, int]]:
    """Decode a glance, with the offset, length and checksum of its first line (zeros if there is none).

    Raises:
        ValueError, KeyError, TypeError: the glance was altered, or another program or an earlier version wrote it.
    """
    given = orjson.loads(told)
    said = {"glance": given["glance"], "line": given["line"], "version": _VERSION}
    if given["version"] != _VERSION or given["crc32"] != crc32(orjson.dumps(said)):
        raise ValueError("it is of another version, or its checksum is another one")
    asked = LastRequest(**given["glance"]["last_request"])  # an earlier version did not keep it
    known, (offset, length, check) = Glance(**{**given["glance"], "last_request": asked}), given["line"]
    _check_fields(asked)
    _check_fields(known)
    return known, (offset, length, check)


def _check_fields(known: Glance | LastRequest) -> None:
    """Check that each field has the type of its default, and that no number is negative or beyond 64 bits.

    Raises:
        ValueError: a field has another type, or a number is out of range.
    """
    for field in fields(known):
        value = getattr(known, field.name)
        if type(value) is not type(field.default) or (isinstance(value, int) and not 0 <= value < 1 << 63):
            raise ValueError(f"{field.name} is {value!r:.80}")


def said_first(message: Message) -> str:
    """Return the first line that a person wrote in a message, or the person's slash command, or ""."""
    return first_line(message) if is_human(message) or command_named(text_of(message)) else ""
