"""One record: one line of JSON with a checksum as its last key.

Rules that hold here:
- A message record is the message's JSON object with `role` first and `metadata` last. The last keys of `metadata` are,
  in this order, `timestamp`, `pinned` and `critical` if they are true, and `message_id`. A reader may rely on this
  order only in a line whose checksum is correct.
- A message that belongs to a reset has `"_reset":[ID,NUMBER]` after its metadata: the id of the reset, and the number
  of the message among the reset's new messages. This key is not part of the message.
- A control record begins with `{"_record":KIND`.
- The last key is the checksum (`checksum`).
- No value is changed silently. A message with values that `orjson` would alter or reject (integers beyond 64 bits, NaN,
  infinities, lone surrogates) is written by the standard library and marked `"_json":1`. Values that JSON cannot
  represent are rejected. Two adjacent halves of a surrogate pair are read as one character, since JSON does not
  distinguish these.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ..errors import RecordError
from .checksum import CRC_TAIL_BYTES, has_crc
from .record_limits import is_too_deep

FORMAT_VERSION = 2
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
RESERVED_KEYS = frozenset({"_record", "_reset", "_crc", "_json"})
REMOVALS = frozenset({"reset_begin", "purge"})  # kinds of records that take messages out of the live history
CONTROL_HEAD = b'{"_record"'
MARK = b',"_json":1'
ID_KEY = b'"message_id":"'
TRUE_BEFORE_ID = b"true,"  # right before `ID_KEY` if a message is pinned or critical

_MOST_MEMBER_BYTES = 65_536
"""A membership is searched only in this many last bytes of a line. Searching all of a large message would be slow."""
_MEMBER_KEY = b',"_reset":['
_MEMBER = re.compile(rb',"_reset":\[("(?:[^"\\]|\\.)*"),([0-9]{1,9})\]')

Message = dict[str, Any]

_ROUNDED_FROM = 2.0**63
_LONG_NUMBER = b"0" * 19
"""The digits of the shortest number beyond 64 bits, as `_DIGITS_AS_ZEROS` shows them."""
_STEP = 4
_DIGITS_IN_STEPS = b"0" * (len(_LONG_NUMBER) // _STEP)
"""The digits that such a number has at least in every fourth byte of a line."""
_DIGITS_AS_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_BLOCK_BYTES = 1 << 20
_ORDERED = frozenset({"timestamp", "pinned", "critical", "message_id"})


@dataclass(frozen=True, slots=True)
class Member:
    """A message's membership of a reset: the reset's id, and the message's number among its new ones, from 0."""

    reset_id: str
    number: int


def encode_message(
    plain: Message,
    *,
    message_id: str,
    timestamp: str | None,
    member: Member | None = None,
    is_finite: bool = False,
) -> bytes:
    """Encode a message as the body of a record: its JSON without the closing brace and the checksum.

    Args:
        plain: the message in plain JSON types, as `messages.check_incoming` makes it. It is not altered.
        message_id: written as `metadata.message_id`. A value that the message has there and that is not an id (a
            number, an empty text) is moved to `metadata.given_message_id`.
        timestamp: an ISO 8601 time, written as `metadata.timestamp`. A value other than None that the message has
            there, or at its top level, takes precedence. None writes no time.
        member: the message's membership of a reset.
        is_finite: as for `encode_object`.

    Raises:
        RecordError: a number has more digits than the interpreter converts.
    """
    return encode_object(stored_message(plain, message_id, timestamp, member), is_finite=is_finite)


def stored_message(plain: Message, message_id: str, timestamp: str | None, member: Member | None = None) -> Message:
    """Return a message with the keys in the order of its record. For the arguments see `encode_message`."""
    if timestamp is None and member is None and _is_in_order(plain, message_id):  # nearly always in an import
        return plain
    written_time = None
    if timestamp is not None:
        written_time = plain.get("timestamp") or timestamp
    metadata = plain.get("metadata") or {}
    stamped = {"role": plain["role"], **plain}
    stamped.pop("metadata", None)  # it comes last
    if written_time is not None and _ORDERED.isdisjoint(metadata):  # usual for a new message
        stamped["metadata"] = {**metadata, "timestamp": written_time, "message_id": message_id}
    else:
        stamped["metadata"] = {**_with_last(metadata, written_time), "message_id": message_id}
    if member is not None:
        stamped["_reset"] = [member.reset_id, member.number]
    return stamped


def _is_in_order(plain: Message, message_id: str) -> bool:
    """Return whether a message has its keys in the order of its record already, with this id and without marks."""
    if next(iter(plain)) != "role" or next(reversed(plain)) != "metadata":
        return False
    metadata = plain["metadata"]
    if not metadata or metadata.get("message_id") != message_id or "pinned" in metadata or "critical" in metadata:
        return False
    from_the_end = reversed(metadata)
    if next(from_the_end) != "message_id":
        return False
    return "timestamp" not in metadata or next(from_the_end) == "timestamp"


def _with_last(given_metadata: Message, timestamp: Any) -> Message:
    """Return a copy of metadata whose last keys are `timestamp`, `pinned` and `critical`; without the message id."""
    metadata = {**given_metadata}
    marks: dict[str, Any] = {}
    for mark in ("pinned", "critical"):
        if metadata.get(mark) is True:
            marks[mark] = metadata.pop(mark)
    has_timestamp = "timestamp" in metadata
    own_timestamp = metadata.pop("timestamp", None)
    own_id = metadata.pop("message_id", None)
    is_id = isinstance(own_id, str) and own_id
    if own_id is not None and not is_id:
        metadata["given_message_id"] = own_id
    if own_timestamp is None and timestamp is not None:
        metadata["timestamp"] = timestamp
    elif has_timestamp:
        metadata["timestamp"] = own_timestamp
    return {**metadata, **marks}


def decode_body(body: bytes) -> Message:
    """Parse a body (a line without its closing brace and checksum) into its object, as `decode` does."""
    return decode(body + b"}")


def encode_control(kind: str, /, **fields: Any) -> bytes:
    """Encode a control record's body."""
    return encode_object({"_record": kind, **fields})


def encode_object(value: Mapping[str, Any], *, is_finite: bool = False) -> bytes:
    """Encode an object of plain JSON types, without the closing brace; `seal` adds the checksum and the brace.

    Args:
        value: the object.
        is_finite: whether the object is known to have no NaN and no infinity.
    """
    return encode_whole(value, is_finite=is_finite)[:-1]


def encode_whole(value: Mapping[str, Any], *, is_finite: bool = False) -> bytes:
    """Encode an object like `encode_object`, but with the closing brace.

    A caller that can encode the object without this brace saves a copy of a long record.
    """
    try:
        encoded = orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits, or a lone surrogate; all else was rejected before
        return _encode_stdlib(value)
    # orjson writes NaN and infinities as null. `rfind` takes a third of the time of `in` in text.
    if is_finite or encoded.rfind(b"null") == -1 or _finite(value):
        return encoded
    return _encode_stdlib(value)


def _encode_stdlib(value: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")[:-1] + MARK + b"}"
    except ValueError as error:  # an integer of more digits than the interpreter converts
        raise RecordError(f"the message has a value that cannot be written: {error}") from error


def decode(line: bytes) -> Message:
    """Parse a line (with or without LF) into the object that was written, without `_crc` and `_json`.

    Raises:
        ValueError: the line is not a JSON object, or is nested too deeply.
    """
    line = line.rstrip(b"\n")
    if has_crc(line) and line[-len(MARK) - CRC_TAIL_BYTES : -CRC_TAIL_BYTES] != MARK:
        value = orjson.loads(line)
    else:
        value = _decode_foreign(line)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - callers treat every unreadable line alike
    if is_too_deep(line, value):
        raise ValueError("nested too deeply")
    value.pop("_crc", None)
    value.pop("_json", None)
    if "_reset" in value and member_of(line) is not None:
        del value["_reset"]
    return value


def member_of(line: bytes) -> Member | None:
    """Return the reset that a line (without LF) names for its message, and the number there.

    Return None if the message is in no reset, or if the line has no checksum.
    """
    if not has_crc(line):
        return None
    end = line[:-CRC_TAIL_BYTES].removesuffix(MARK)
    if not end.endswith(b"]"):
        return None
    key_start = end.rfind(_MEMBER_KEY, max(0, len(end) - _MOST_MEMBER_BYTES))
    found = _MEMBER.fullmatch(end, key_start) if key_start != -1 else None
    if found is None:
        return None
    try:
        return Member(str(json.loads(found[1])), int(found[2]))
    except ValueError:
        return None


def has_misplaced_crc(line: bytes) -> bool:
    """Return whether a line has a checksum that is not at its end. Then another program has rewritten the line."""
    if line.rfind(b'"_crc"') == -1:
        return False
    try:
        value = _decode_stdlib(line)
    except ValueError:
        return False
    return isinstance(value, dict) and "_crc" in value


def name_of(value: Any) -> str:
    """Return a name in a control record as text; "" for a list or an object, which is not a name."""
    return "" if isinstance(value, list | dict) else str(value)


def message_id_of(message: Message, line: bytes, offset: int) -> str:
    """Return the id of a message; for a line without an id, an id derived from its bytes and its offset."""
    metadata = message.get("metadata")
    message_id = metadata.get("message_id") if isinstance(metadata, dict) else None
    if isinstance(message_id, str) and message_id:
        return message_id
    from hashlib import sha256  # loads OpenSSL, and few logs have lines without ids

    return "m" + sha256(b"%d:" % offset + line.rstrip(b"\n")).hexdigest()[:16]


def message_alone(line: bytes, message_id: str) -> bytes | None:
    """Return the JSON of the message in a line (without LF), without the keys of the log.

    Return None if it is uncertain that `decode` would return the same message. That is certain for most lines that this
    package wrote: the last key before the checksum is the message's id.
    """
    body = line[:-CRC_TAIL_BYTES]
    own_id = ID_KEY + message_id.encode(errors="replace") + b'"}'
    if not has_crc(line) or not body.endswith(own_id) or b'"_crc"' in body or b'"_json"' in body:
        return None
    return body + b"}"


def _decode_foreign(line: bytes) -> Any:
    """Parse a line that `orjson` may not have written. If `orjson` rejects or rounds it, use the standard library."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:  # NaN, a lone surrogate
        return _decode_stdlib(line)
    return _decode_stdlib(line) if may_be_rounded(line, value) else value


def may_be_rounded(line: bytes, value: Any) -> bool:
    """Return whether JSON has a number of more than 64 bits, which `orjson` turns into a float.

    Such a number has 19 digits or more. So all digits are replaced with zeros, and 19 zeros are searched; this takes a
    twelfth of a regular expression's time. First only every fourth byte is looked at, which is enough for most lines.
    The line is read in blocks, to limit the memory.

    Args:
        line: the JSON.
        value: the value that `orjson` parsed from it.
    """
    for begin in range(0, len(line), _BLOCK_BYTES):
        end = begin + _BLOCK_BYTES + len(_LONG_NUMBER)
        if line[begin:end:_STEP].translate(_DIGITS_AS_ZEROS).rfind(_DIGITS_IN_STEPS) == -1:
            continue
        if line[begin:end].translate(_DIGITS_AS_ZEROS).rfind(_LONG_NUMBER) != -1:
            return not is_too_deep(line, value) and any(abs(number) >= _ROUNDED_FROM for number in _floats_in(value))
    return False


def _floats_in(value: Any) -> Iterator[float]:
    """Yield the floats in a value of plain JSON types."""
    left = [[value]]
    for container in left:  # the list grows in the loop, because a line may be nested too deeply for recursion
        items = container.values() if isinstance(container, dict) else container
        for item in items:
            kind = type(item)
            if kind is dict or kind is list:
                left.append(item)
            elif kind is float:
                yield item


def _decode_stdlib(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _finite(value: Any) -> bool:
    return all(map(math.isfinite, _floats_in(value)))
