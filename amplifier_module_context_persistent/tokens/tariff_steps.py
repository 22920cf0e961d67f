"""Price steps: the size from which on all tokens of a model's request have a higher price.

A session's budget keeps views below the step. `sessions/prices.py` has the same steps with their sources. A running
session needs no prices.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping

_OPENAI_TOKENS = 272_000
_GOOGLE_TOKENS = 200_000

TARIFF_STEPS: Mapping[str, int] = {
    "claude-haiku-5-5": 100_000,
    "gpt-6.2-astra": _OPENAI_TOKENS,
    "gpt-6.2-sol": _OPENAI_TOKENS,
    "gpt-6.1-sol": _OPENAI_TOKENS,
    "gpt-6.1-terra": _OPENAI_TOKENS,
    "gpt-6-astra": _OPENAI_TOKENS,
    "gpt-6-sol": _OPENAI_TOKENS,
    "gpt-6-luna": _OPENAI_TOKENS,
    "gpt-5.6-sol": _OPENAI_TOKENS,
    "gpt-5.6-terra": _OPENAI_TOKENS,
    "gpt-5.6-luna": _OPENAI_TOKENS,
    "gpt-5.5": _OPENAI_TOKENS,
    "gpt-5.4": _OPENAI_TOKENS,
    "gemini-3.1-pro": _GOOGLE_TOKENS,
    "gemini-3.1-pro-preview": _GOOGLE_TOKENS,
    "gemini-3-pro-preview": _GOOGLE_TOKENS,
    "gemini-2.5-pro": _GOOGLE_TOKENS,
}
"""The largest request at the usual prices, in tokens of input, by model."""

_SUFFIX = r"(?:[-@](?:latest|\d{4}-?\d{2}-?\d{2}|\d{3,4}))?(?:-v\d+)?(?::\w+)?(?:\[1m\])?"
"""The possible endings of a model's name: a date or a build, a host's version, a router's or an agent's variant."""


def plain_model_name(model: str) -> str:
    """Return a model's name for comparison: routers write the dots of versions as hyphens, or the other way round."""
    return re.sub(r"(?<=\d)\.(?=\d)", "-", model.lower())


def is_name_of(model: str, known: str) -> bool:
    """Whether a name means a known model: perhaps with a router's prefix and a date behind it (both plain names)."""
    return re.fullmatch(rf"(?:.*[/.])?{re.escape(known)}{_SUFFIX}", model) is not None


def undated_name(model: str) -> str:
    """Return a model's plain name without a date, a build or a variant behind it."""
    return re.sub(rf"(?<=.){_SUFFIX}\Z", "", plain_model_name(model), count=1)


@functools.cache
def tariff_step(model: str) -> float:
    """The largest request in tokens that has the usual prices; infinite for a model without a step or unknown."""
    wanted = plain_model_name(model)
    found = [step for known, step in TARIFF_STEPS.items() if is_name_of(wanted, plain_model_name(known))]
    return min(found, default=math.inf)
