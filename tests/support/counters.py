"""What counts tokens in tests: mostly the estimate, and the published vocabulary where this machine has it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pytest

from amplifier_module_context_persistent.tokens.counter import (
    EstimateCounter,
    TokenCounter,
    count_message,
    open_counter,
)


def count(message: dict[str, Any]) -> int:
    """What a message counts by the estimate; the messages of a view are those of the one before it."""
    return _count(json.dumps(message))


@lru_cache(maxsize=10_000)
def _count(text: str) -> int:
    return count_message(json.loads(text), EstimateCounter())


def exact_counter() -> TokenCounter:
    counter = open_counter()
    if counter.name != "o200k_base":
        pytest.skip("no vocabulary of o200k_base on this machine (the extra `exact` installs one)")
    return counter
