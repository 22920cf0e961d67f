"""The windows of budgets that are given with a request."""

from typing import Any
from unittest.mock import Mock

from amplifier_module_context_persistent.session.smaller_budgets import SideWindows


def test_the_windows_that_were_used_last_are_kept() -> None:
    """A budget that is asked for again and again keeps its window, whatever others are asked for between."""
    sides = SideWindows(Mock)

    def window(budget_tokens: int) -> Any:
        return sides.window(Mock(), Mock(), budget_tokens, base=Mock())

    often, once = window(1), window(2)
    for budget_tokens in range(3, 20):
        window(budget_tokens)
        assert window(1) is often
    assert window(2) is not once
