"""Objects of Python with a form in JSON: models of providers' clients, dataclasses and members of enums.

An answer of a client becomes the JSON that the server sent: without defaults, and without fields that the client added.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

_CLIENTS = frozenset({"anthropic", "openai"})
_PARSED = frozenset({"parsed", "parsed_arguments", "parsed_output"})
"""Fields that clients add to their models whose names begin with `Parsed`."""


class NoJsonFormError(Exception):
    """Raised for an object that is not an enum, a dataclass or a model with `model_dump`."""


def json_form(value: Any) -> Any:
    """Return the value of a client's object in JSON. Fields of the value may again be such objects.

    Raises:
        NoJsonFormError: the object is of no kind that has a form in JSON.
    """
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        raise NoJsonFormError
    dumped = dump(**_dump_options(type(value).__module__))
    return _without_parsed(dumped, value) if _is_of_client(value) else dumped


def _is_of_client(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in _CLIENTS


def _without_parsed(dumped: Any, value: Any) -> Any:
    """Return the dump of a client's object without the fields that the client added. Servers refuse such fields.

    Args:
        dumped: the dump of `value`.
        value: an object of a provider's Python client, or a value in one of its fields.
    """
    if isinstance(dumped, list) and isinstance(value, list):
        return [_without_parsed(item, part) for item, part in zip(dumped, value, strict=True)]
    if not isinstance(dumped, dict) or not _is_of_client(value):
        return dumped
    parsed_fields = _PARSED if type(value).__name__.startswith("Parsed") else ()
    own_keys = {key: item for key, item in dumped.items() if key not in parsed_fields}
    return {key: _without_parsed(item, getattr(value, key, None)) for key, item in own_keys.items()}


def _dump_options(module: str) -> dict[str, Any]:
    """Return the arguments with which `model_dump` is called on an object of a provider's Python client.

    With these arguments the dump has the same keys as the server's JSON.

    Args:
        module: the name of the module that defines the object's class.
    """
    if module.partition(".")[0] in _CLIENTS:
        return {"mode": "json", "exclude_unset": True, "warnings": False}
    if module.startswith("google.genai"):
        return {"mode": "json", "exclude_none": True, "by_alias": True}
    return {}
