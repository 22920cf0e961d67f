"""What values keys may have."""

from pathlib import Path

import pytest

from amplifier_module_context_persistent.config import checks


@pytest.mark.parametrize(
    ("check", "allowed", "refused"),
    [
        (checks.is_int, [0, -3], [True, 1.0, "1", None]),
        (checks.is_number, [0, 1.5], [True, "1", None]),
        (checks.path, [None, "a", Path("a")], ["", 3, b"a"]),
        (checks.share, [0.1, 1], [0, 1.1, True, "0.5"]),
        (checks.share_or_zero, [0, 1], [-0.1, 1.1, True]),
        (checks.flag, [True, False], [0, "true", None]),
        (checks.kinds_of_tools, [None, {"a": "read:target", "b": "run"}], [[], {"a": "fly"}, {1: "read"}, {"a": 2}]),
        (checks.one_of("a", "b"), ["a", "b"], ["c", None]),
        (checks.at_least(2), [2, 9], [1, 2.0, True]),
    ],
)
def test_values(check: checks.Check, allowed: list[object], refused: list[object]) -> None:
    """Each check takes what it names and nothing else."""
    assert [value for value in allowed if not check(value)] == []
    assert [value for value in refused if check(value)] == []
