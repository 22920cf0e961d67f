"""How a call ended, told from its result."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_module_context_persistent.messages.outcome import ANSWERED, FAILED, REJECTED, outcome_of


def result(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c1", "content": content, **more}


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        (result("12 passed"), ANSWERED),
        (result(""), ANSWERED),
        (result("3 errors were found in the log, which says: Error: x"), ANSWERED),
        (result("Error: no such file"), FAILED),
        (result("<error>no such file</error>"), FAILED),
        (result("Traceback (most recent call last):\n  File ..."), FAILED),
        (result("FileNotFoundError: a.py"), FAILED),
        (result("some output\n[exit code: 1]"), FAILED),
        (result("some output\nexit code: 0"), ANSWERED),
        (result("...\n==== 1 failed, 0 passed in 44.1s ===="), FAILED),
        (result("...\n2 errors in 0.12s"), FAILED),
        (result("...\n1 failed, 6977 passed, 7 skipped in 618.50s (0:10:18)"), FAILED),
        (result("...\n==== 3 passed in 0.1s ===="), ANSWERED),
        (result("1 failed in 2s, says the log\nand then it went on"), ANSWERED),
        (result("fine", is_error=True), FAILED),
        (result("fine", metadata={"is_error": True}), FAILED),
        (result([{"type": "text", "text": "fine", "is_error": True}]), FAILED),
        (result({"success": False}), FAILED),
        (result('{"returncode": 2, "stdout": ""}'), FAILED),
        (result('{"returncode": 0, "stderr": "warning"}'), ANSWERED),
        (result('{"returncode": true}'), ANSWERED),
        (result("The user rejected this call."), REJECTED),
        (result("Permission to use bash has been denied."), REJECTED),
        (result("Denied by hook: no network"), REJECTED),
    ],
)
def test_an_outcome_is_told(message: dict[str, Any], outcome: str) -> None:
    """By flags, by the fields of a JSON object, by fixed words at the beginning or the end; never by the middle."""
    assert outcome_of(message) == outcome


def test_hostile_results_are_answered_in_linear_time() -> None:
    """Deep JSON and long runs of brackets are no failure of ours."""
    assert outcome_of(result("{" * 100_000 + "}")) == ANSWERED
    assert outcome_of(result("<" * 1_000_000)) == ANSWERED
