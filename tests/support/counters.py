"""A counter with the published vocabulary, where this machine has it."""

from __future__ import annotations

import pytest

from amplifier_module_context_persistent.tokens.counter import TokenCounter, open_counter


def exact_counter() -> TokenCounter:
    counter = open_counter()
    if counter.name != "o200k_base":
        pytest.skip("no vocabulary of o200k_base on this machine (the extra `exact` installs one)")
    return counter
