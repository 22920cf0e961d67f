"""Which calls failed: whoever reads a session says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent.report.report import report
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.transcript.stats import outline
from amplifier_module_context_persistent.transcript.transcript import Transcript
from tests.support.counted_sessions import collect
from tests.support.pages import read_page
from tests.support.sessions_of_a_home import run, write


def ran(number: int, command: str, result: str) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "tool": "bash", "arguments": {"command": command}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


MESSAGES = [
    {"role": "user", "content": "go"},
    *ran(0, "cd src && grep -rn name .", "Command exited with code 1"),
    *ran(1, "make", "exit code: 1"),
    *ran(2, "diff a b", "diff: b: No such file or directory\nexit code: 2"),
    *ran(3, "diff a c", '{"stdout": "1c1", "returncode": 1}'),
    {"role": "tool", "tool_call_id": "gone", "content": "exit code: 1"},
]


def test_a_search_that_finds_nothing_did_not_fail(tmp_path: Path) -> None:
    """Nor did a comparison that finds a difference; exit code 1 of anything else, or without its call, is a failure."""
    path = write(tmp_path / "log.jsonl", MESSAGES)
    with Transcript(path) as transcript:
        failed = [bool(placed.ending and placed.ending.is_error) for placed in transcript.placed()]
        assert [place for place, is_failed in enumerate(failed) if is_failed] == [4, 6, 9]
        (line,) = outline(transcript, EstimateCounter())
        assert line.errors == 3
        statistics = collect(transcript.reader, EstimateCounter())
        assert {name: tool.errors for name, tool in statistics.tools.items()} == {"bash": 2, "unknown": 1}
        report(transcript, tmp_path / "page.html")
    assert read_page(tmp_path / "page.html").head["history"]["calls"]["state"] == ".ff."
    (listed,) = json.loads(run("list", "--long", "--json", path.parent).output)["sessions"]
    assert listed["failed_calls"] == 3
