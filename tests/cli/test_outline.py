"""How the turns of a session are printed."""

from __future__ import annotations

import io

from rich.console import Console

from amplifier_module_context_persistent.cli.show import show_outline
from amplifier_module_context_persistent.transcript.stats import TurnLine

LINES = [
    TurnLine(1, 1, 5, "2026-01-05T09:00:00Z", 4.0, "Fix it.", calls=1, tokens=1_200),
    TurnLine(2, 6, 9, "2026-01-05T09:10:00Z", 125.0, "\x1b[31mred " + "word " * 40, calls=12, errors=1, open_calls=1),
]


def printed(lines: list[TurnLine], *, width: int = 80, terminal: bool = False) -> list[str]:
    file = io.StringIO()
    show_outline(lines, Console(file=file, width=width, force_terminal=terminal, color_system=None))
    return file.getvalue().splitlines()


def test_columns_are_aligned() -> None:
    """Under their heads, the first line of each turn last."""
    head, first, second = printed(LINES)
    assert head.split() == ["turn", "began", "took", "calls", "errors", "tokens", "first", "line"]
    assert first.index("Fix it.") == head.index("first line") == second.index("?[31m")
    assert first.split()[:5] == ["1", "2026-01-05", "09:00", "4.0", "s"]
    assert second.split()[3:9] == ["2", "min", "5", "s", "12", "2"]


def test_columns_without_a_value_are_left_out() -> None:
    """A session without times and errors needs none for them."""
    head, *_ = printed([TurnLine(1, 1, 2, line="Hello.", calls=0, tokens=3)])
    assert head.split() == ["turn", "calls", "tokens", "first", "line"]
    assert printed([]) == []


def test_a_terminal_cuts_what_a_pipe_shows_whole() -> None:
    """And marks it."""
    for width in (80, 120):
        rows = printed(LINES, width=width, terminal=True)
        assert max(map(len, rows)) <= width
        assert rows[2].rstrip().endswith("...")
    assert ("word " * 40).strip() in printed(LINES)[2]
