"""Whether a plain value fits the type that a client's package declares for it, to the last level.

Pydantic checks an `Iterable` only when somebody reads it, and lets unknown keys of a TypedDict pass; so this is a
checker of its own, for what the packages use: TypedDict, Union, Literal, lists, and plain types.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import Any, Literal, Union, get_args, get_origin

import typing_extensions

_WRAPPERS = {
    getattr(module, name)
    for module in (typing, typing_extensions)
    for name in ("Required", "NotRequired", "Annotated")
    if hasattr(module, name)
}
_REQUIRED = (typing.Required, typing_extensions.Required)
_LISTS = (list, collections.abc.Iterable, collections.abc.Sequence)
_MAPPINGS = (dict, collections.abc.Mapping)


def misfits(value: Any, hint: Any, path: str = "body") -> list[str]:
    """Say what of a value does not fit a type; empty if all does."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in _WRAPPERS or str(origin) in ("typing.Annotated", "typing_extensions.Annotated"):
        return misfits(value, arguments[0], path)
    if origin in (Union, types.UnionType):
        tried = [misfits(value, one, path) for one in arguments]
        return min(tried, key=lambda found: (len(found), -max(map(len, found), default=0)))
    if origin in (Literal, typing_extensions.Literal):
        return [] if value in arguments else [f"{path}: {value!r} is none of {arguments}"]
    if origin in _LISTS:
        if not isinstance(value, list):
            return [f"{path}: {type(value).__name__} is no list"]
        return [found for at, item in enumerate(value) for found in misfits(item, arguments[0], f"{path}[{at}]")]
    if origin in _MAPPINGS:
        return [] if isinstance(value, dict) else [f"{path}: {type(value).__name__} is no object"]
    if typing_extensions.is_typeddict(hint):
        return _of_object(value, hint, path)
    return _of_plain(value, hint, path)


def _of_object(value: Any, hint: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {type(value).__name__} is no {hint.__name__}"]
    hints = typing_extensions.get_type_hints(hint, include_extras=True)
    found = [f"{path}: {hint.__name__} has no key {key!r}" for key in value.keys() - hints.keys()]
    required = {key for key, one in hints.items() if get_origin(one) in _REQUIRED} | hint.__required_keys__
    found += [f"{path}: {hint.__name__} lacks {key!r}" for key in required - value.keys()]
    for key in value.keys() & hints.keys():
        found += misfits(value[key], hints[key], f"{path}.{key}")
    return found


def _of_plain(value: Any, hint: Any, path: str) -> list[str]:
    if hint in (Any, object) or (hint is type(None) and value is None):
        return []
    if hint is float:
        hint = (int, float)
    if isinstance(hint, type | tuple) and isinstance(value, hint):
        return []
    return [f"{path}: {type(value).__name__} is no {hint}"]
