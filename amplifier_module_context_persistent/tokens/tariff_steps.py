"""Price steps: the request size above which all tokens of a model's request have a higher price.

A session's budget keeps views below the step. `sessions/prices.py` has the same steps with their sources; they are
repeated here because a running session needs no prices.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping

from .model_names import is_name_of, plain_model_name

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
"""The largest request at the usual price, in input tokens, by model."""


@functools.cache
def tariff_step(model: str) -> float:
    """Return the largest request of a model at the usual price, in tokens; infinity if no step is known."""
    wanted = plain_model_name(model)
    found = [step for known, step in TARIFF_STEPS.items() if is_name_of(wanted, plain_model_name(known))]
    return min(found, default=math.inf)
