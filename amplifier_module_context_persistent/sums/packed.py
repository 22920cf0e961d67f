"""Sums in writing: packed, and read again within bounds.

Whoever may write a checkpoint may write anything into it. So nothing that is read takes more memory than the sum of
real messages, and what is no number where one belongs is refused.
"""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Iterable
from typing import Any

import orjson

MOST_NUMBER = 1 << 62


def pack(value: list[Any]) -> bytes:
    """Write a value in few bytes."""
    try:
        written = orjson.dumps(value)
    except TypeError:  # what is beyond 64 bits, and lone surrogates
        written = json.dumps(value).encode("ascii")
    return zlib.compress(written, 1)


def unpack(packed: bytes, most_bytes: int = 0) -> list[Any]:
    """Read what `pack` wrote.

    Args:
        packed: the bytes.
        most_bytes: it is no more than so much; 0 for what this process packed itself.

    Raises:
        ValueError, TypeError: it is something else, or more.
    """
    stream = zlib.decompressobj()
    try:
        written = stream.decompress(packed, most_bytes)
    except zlib.error as error:
        raise ValueError("it was not packed here") from error
    if not stream.eof:
        raise ValueError("it is cut, or larger than what it is said to be the sum of")
    try:
        value = orjson.loads(written)
    except ValueError:
        value = _loads_any(written)
    if not isinstance(value, list):
        raise TypeError("it is no sum")
    return value


def check_numbers(values: Iterable[Any], least: int = 0, most: int = MOST_NUMBER) -> None:
    """Check that all values are whole numbers within bounds.

    Raises:
        ValueError: one is not.
    """
    try:
        column = array("q", values)
    except (TypeError, OverflowError) as error:
        raise ValueError("it is no number of 64 bits") from error
    if column and not least <= min(column) <= max(column) <= most:
        raise ValueError("a number is out of bounds")


def check_texts(values: Iterable[Any]) -> None:
    """Check that all values are texts.

    Raises:
        ValueError: one is not.
    """
    if not all(type(value) is str for value in values):
        raise ValueError("it is no text")


def _loads_any(written: bytes) -> Any:
    try:
        return json.loads(written)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
