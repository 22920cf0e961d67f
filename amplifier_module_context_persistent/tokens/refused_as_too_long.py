"""A provider refuses a view as too long: recognise the error, and limit the next views.

`Meter.learn_from_error` calls these functions. What a session learns from other refusals: `session/provider_refusals`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OVERFLOW_ERROR = "ContextLengthError"
OVERFLOW_SHARE = 0.9
"""The share of a refused view's size that later views may have."""


def refuses_as_too_long(event: Mapping[str, Any]) -> bool:
    """Return whether a `provider:error` event says that a request was too long for the model's window."""
    error = event.get("error")
    return isinstance(error, Mapping) and error.get("type") == OVERFLOW_ERROR


def limit_after(counted: int) -> int:
    """Return the most tokens of the next views, in our tokens, after the refusal of a view of `counted` tokens."""
    return max(1, int(OVERFLOW_SHARE * counted))
