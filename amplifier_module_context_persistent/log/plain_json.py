"""Copy what a host gives into plain JSON types, or say what of it JSON cannot carry."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from ..errors import RecordError

MAX_DEPTH = 200  # orjson refuses to write deeper than 254 levels
_PLAIN_TYPES = frozenset({str, int, bool, float, type(None)})


def to_plain_json(message: Any) -> Any:
    """Copy a message into plain JSON types: tuples become lists, models and dataclasses are dumped.

    Raises:
        RecordError: a key is no string, or a value has no JSON form; names the path to it.
    """
    try:
        return _plain(message, 0)
    except _RefusedError as refused:
        raise RecordError(f"{refused.path()}: {refused.reason}") from None


class _RefusedError(Exception):
    """A value that JSON cannot carry; the way to it is put together while this passes upwards."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.steps: list[str] = []

    def path(self) -> str:
        steps = "".join(reversed(self.steps))
        return "message" + (steps if len(steps) <= 200 else steps[:200] + "…")


def _plain(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind in _PLAIN_TYPES:
        return value
    if depth > MAX_DEPTH:
        raise _RefusedError(f"nested deeper than {MAX_DEPTH} levels")
    if kind is dict or isinstance(value, Mapping):
        plain = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise _RefusedError(f"the key {repr(key)[:40]} is {type(key).__name__}, not a string")
            try:
                plain[str.__str__(key)] = _plain(item, depth + 1)
            except _RefusedError as refused:
                refused.steps.append(f".{key}")
                raise
        return plain
    if kind is list or isinstance(value, list | tuple):
        items = []
        for item in value:
            try:
                items.append(_plain(item, depth + 1))
            except _RefusedError as refused:
                refused.steps.append(f"[{len(items)}]")
                raise
        return items
    for base in (str, int, float):  # an enum of strings is a string
        if isinstance(value, base):
            return base.__str__(value) if base is str else base(value)
    return _plain(_dump(value), depth + 1)


def _dump(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return dump()
    raise _RefusedError(f"{type(value).__name__} has no JSON form; convert it before adding the message")
