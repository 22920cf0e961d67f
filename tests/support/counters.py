"""What counts tokens in tests: mostly the estimate, and the published vocabulary where this machine has it."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_module_context_persistent.tokens.counter import (
    EstimateCounter,
    TokenCounter,
    count_message,
    open_counter,
)


def count(message: dict[str, Any]) -> int:
    """What a message counts by the estimate."""
    return count_message(message, EstimateCounter())


def exact_counter() -> TokenCounter:
    counter = open_counter()
    if counter.name != "o200k_base":
        pytest.skip("no vocabulary of o200k_base on this machine (the extra `exact` installs one)")
    return counter
