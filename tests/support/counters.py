"""What counts tokens in tests: mostly the estimate, and the published vocabulary where this machine has it."""

from __future__ import annotations

import marshal
from functools import lru_cache
from typing import Any

import pytest

from amplifier_module_context_persistent.tokens.counter import (
    EstimateCounter,
    TokenCounter,
    count_message,
    open_counter,
)
from tests.support.view_checker import PLAIN


def count(message: dict[str, Any]) -> int:
    """What a message counts by the estimate; the messages of a view are those of the one before it."""
    return _count(marshal.dumps(message, PLAIN))


@lru_cache(maxsize=10_000)
def _count(message: bytes) -> int:
    return count_message(marshal.loads(message), EstimateCounter())


class DoubleCounter(EstimateCounter):
    """Another tokenizer than the estimate: it counts twice as many."""

    def __init__(self) -> None:
        super().__init__("double")

    def count_text(self, text: str) -> int:
        return 2 * super().count_text(text)


def exact_counter() -> TokenCounter:
    counter = open_counter()
    if counter.name != "o200k_base":
        pytest.skip("no vocabulary of o200k_base on this machine (the extra `exact` installs one)")
    return counter
