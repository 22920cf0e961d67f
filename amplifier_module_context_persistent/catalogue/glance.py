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
from ..messages.first_line import first_line
from ..messages.message import Message, text_of
from ..messages.metadata import is_human
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
    """The number of findings of a scan. `verify` lists these."""
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

    Args:
        glance: the fields of the glance.
        line: the offset, length and checksum of its first line in the log; zeros if there is none.

    Raises:
        TypeError: a text has half of a surrogate pair.
    """
    checked = {"glance": glance, "line": line, "version": _VERSION}
    return orjson.dumps({**checked, "crc32": crc32(orjson.dumps(checked))}).decode()


def glance_told(encoded: str, read: Callable[[int, int], bytes]) -> Glance | None:
    """Decode a stored glance and read its first line from the log.

    Args:
        encoded: the result of `told_of`.
        read: reads the log's bytes, from an offset and of a length.

    Returns:
        The glance; None if the first line changed in the log, or if another program wrote the glance.
    """
    try:
        glance, (offset, length, checksum) = _read_told(encoded)
        if not length:
            return glance
        content = b""
        if 0 <= offset < offset + length <= glance.size_bytes:
            content = read(offset, length)
        if crc32(content) != checksum:
            return None
        return replace(glance, first_line=said_first(decode(content)))
    except (ValueError, KeyError, TypeError):
        return None


def _read_told(encoded: str) -> tuple[Glance, tuple[int, int, int]]:
    """Decode a glance, with the offset, length and checksum of its first line (zeros if there is none).

    Raises:
        ValueError, KeyError, TypeError: the glance was altered, or another program or an earlier version wrote it.
    """
    record = orjson.loads(encoded)
    facts = record["glance"]
    checked = {"glance": facts, "line": record["line"], "version": _VERSION}
    if record["version"] != _VERSION or record["crc32"] != crc32(orjson.dumps(checked)):
        raise ValueError("it is of another version, or its checksum is another one")
    last_request = LastRequest(**facts["last_request"])  # an earlier version did not keep it
    glance = Glance(**{**facts, "last_request": last_request})
    offset, length, checksum = record["line"]
    _check_fields(last_request)
    _check_fields(glance)
    return glance, (offset, length, checksum)


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
    is_persons = is_human(message) or bool(command_named(text_of(message)))
    return first_line(message) if is_persons else ""
