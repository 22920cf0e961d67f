"""Replace the secrets of a stored message: what exports recognise within a text, and values that their keys name."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from ..replace_in_message import REPLACEMENT, Replacement
from .found import REDACTED
from .own_forms import OwnForms
from .redact import redact_text, redact_value


def secrets_replacement(own: OwnForms | None = None, taken: set[str] | None = None) -> Replacement:
    """Return the replacement of all secrets.

    Args:
        own: a person's further expressions and values to replace.
        taken: a set to which the texts are added that `own` finds.
    """
    return Replacement(partial(_in_text, own, taken), partial(_in_value, own), partial(_note, own, taken))


def _in_text(own: OwnForms | None, taken: set[str] | None, text: str) -> str:
    _note(own, taken, text)
    return redact_text(text, own=own).replace(REDACTED, REPLACEMENT)


def _in_value(own: OwnForms | None, value: Any) -> Any:
    return _with_mark_of_purges(redact_value(value, own=own))


def _note(own: OwnForms | None, taken: set[str] | None, value: Any) -> None:
    """Add to `taken` what `own` finds in the strings, numbers and keys of a JSON value."""
    if own is None or taken is None:
        return
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for item in value:
            _note(own, taken, item)
    elif value is not None:
        text = value if isinstance(value, str) else json.dumps(value)
        taken.update(text[secret.start : secret.end] for secret in own.find(text))


def _with_mark_of_purges(value: Any) -> Any:
    """Return a JSON value in which purges' mark takes the place of the mark that exports write."""
    if isinstance(value, str):
        return value.replace(REDACTED, REPLACEMENT)
    if isinstance(value, list):
        return [_with_mark_of_purges(item) for item in value]
    if isinstance(value, dict):
        return {_with_mark_of_purges(key): _with_mark_of_purges(item) for key, item in value.items()}
    return value
