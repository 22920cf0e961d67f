"""The control records of a checkpoint: where they lie; what they say is read from the log again and verified."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

from .index import Index
from .index_builder import ControlPlaces, Place
from .record import CRC_TAIL_BYTES, Message, decode, name_of
from .scanner import Scanner

Read = Callable[[int, int], bytes]
"""Gives so many bytes (the second argument) from an offset on (the first); fewer only where the file ends."""


class CheckpointError(Exception):
    """A checkpoint cannot be used; says why."""


def control_places(scanner: Scanner, read_log: Read) -> dict[str, Any]:
    """Say where the control records lie that the index holds; each must be read again as it is known."""
    index, places = scanner.index, scanner.builder.places
    plan = places.plan if index.plan is not None else None
    pairs = [
        *zip(places.headers, index.headers, strict=True),
        *((places.usage[name], index.usage[name]) for name in index.usage),
    ]
    if plan is not None and index.plan is not None:
        pairs.append((plan, index.plan))
    if any(_read_control(place, read_log) != value for place, value in pairs):
        raise CheckpointError("a control record is damaged")
    return {
        "headers": list(map(_numbers, places.headers)),
        "plan": _numbers(plan) if plan is not None else None,
        "usage": [_numbers(places.usage[name]) for name in index.usage],
    }


def restore_controls(given: dict[str, Any], index: Index, end: int, read_log: Read) -> ControlPlaces:
    """Read the control records that the index holds from the log again.

    Args:
        given: what `control_places` said.
        index: gets them.
        end: none of them lies beyond it.
        read_log: reads the log.

    Raises:
        CheckpointError: one is not what it was.
        ValueError, KeyError, TypeError: `given` is something else.
    """
    places, start = ControlPlaces(), 0
    for numbers in given["headers"]:
        place, value = _control(numbers, end, read_log, start)
        start = place.offset + place.length
        places.headers.append(place)
        index.headers.append(value)
    if given["plan"] is not None:
        places.plan, index.plan = _control(given["plan"], end, read_log)
    for numbers in given["usage"]:
        place, value = _control(numbers, end, read_log)
        name = name_of(value.get("provider")), name_of(value.get("model"))
        if name in places.usage:
            raise ValueError("a control record stands in it again")
        places.usage[name], index.usage[name] = place, value
    return places


def _control(numbers: list[int], end: int, read_log: Read, start: int = 0) -> tuple[Place, Message]:
    place = Place(*map(int, numbers))
    if not start <= place.offset < place.offset + place.length <= end:
        raise ValueError("a control record beyond the end, or before the one before it")
    value = _read_control(place, read_log)
    if value is None:
        raise CheckpointError("a control record of the log was changed")
    return place, value


def _numbers(place: Place) -> list[int]:
    return [place.line, place.offset, place.length, place.seed, place.check]


def _read_control(place: Place, read_log: Read) -> Message | None:
    """The control record of a place; None if it is not there as it was."""
    line = read_log(place.offset, place.length)[:-1]
    if line[-CRC_TAIL_BYTES:] != b',"_crc":"%08x"}' % place.check:
        return None
    if crc32(b"}", crc32(line[:-CRC_TAIL_BYTES], place.seed)) != place.check:
        return None
    try:
        return decode(line)
    except ValueError:
        return None
