"""The sessions of sub-agents within their parent's page: where they began, what they cost, folded."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chromium import BROWSER, WHY_NOT
from tests.support.commands import run
from tests.support.opened_pages import DRAWN, TEXT
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("project")

FIND = "document.getElementById('find')"
KEY = "ghp_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA2bC4"


def at(minute: int, **more: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-01-05T09:{minute:02}:00Z", **more}


def answered(minute: int, text: str, *calls: dict[str, Any], tokens: int = 100_000) -> dict[str, Any]:
    """An answer of Opus that cost $0.50 for each 100,000 tokens of input."""
    usage = {"input_tokens": tokens, "output_tokens": 0}
    metadata = at(minute, model="claude-opus-4-5", provider="anthropic", usage=usage)
    return {"role": "assistant", "content": text, "tool_calls": list(calls), "metadata": metadata}


@pytest.fixture
def page(project: Path) -> Path:
    """The report of a session that had a sub-agent look for something at 9:05, and one that has another parent."""
    call = {"id": "c1", "tool": "task", "arguments": {"prompt": "Look for it."}}
    parent = [
        {"role": "user", "content": "Find the rounding.", "metadata": at(1)},
        answered(4, "I have it looked for.", call),
        {"role": "tool", "tool_call_id": "c1", "content": "In total.py.", "metadata": at(9)},
        answered(10, "It is in total.py."),
    ]
    search = {"id": "s1", "tool": "grep", "arguments": {"pattern": "round"}}
    below = [
        {"role": "user", "content": f"Look for the half cent. {KEY}", "metadata": at(5)},
        answered(6, "needle in the sub-agent", search, tokens=300_000),
        {"role": "tool", "tool_call_id": "s1", "content": "Error: nothing", "metadata": at(7)},
    ]
    write(log_of("main"), parent)
    write(log_of("main-0a1b_finder"), below)
    write(log_of("else-0a1b_finder"), below)
    run("report", "main", "-o", project / "main.html")
    return project / "main.html"


def head_of(page: Path) -> Any:
    block = re.search('class="block">([^<]+)<', page.read_text("utf-8"))
    assert block is not None
    return json.loads(gzip.decompress(base64.b64decode(block[1])))


def test_a_sub_agent_stands_where_it_began(page: Path) -> None:
    """With what it came to; keys are replaced in it, and counted."""
    (one,) = head_of(page)["sub_agents"]
    counts = [one[key] for key in ("id", "title", "place", "messages", "calls", "failed", "cost", "guess")]
    title = "Look for the half cent. [REDACTED]"
    assert counts == ["main-0a1b_finder", title, 1, 3, 1, 1, 1.5, 0]
    assert "needle in the sub-agent" in one["text"]
    assert KEY not in page.read_text("utf-8") + json.dumps(head_of(page))
    assert "$1.00" in page.read_text("utf-8")
    assert "$1.50 more in 1 sub-agent<" in page.read_text("utf-8")
    assert head_of(page)["session"]["redacted"] > 0


def test_reports_have_them_too_and_are_made_again_when_one_goes_on(page: Path) -> None:
    run("reports", "made")
    made = Path("made", "report-main.html")
    assert head_of(made)["sub_agents"] == head_of(page)["sub_agents"]
    assert json.loads(run("reports", "made", "--json").stdout)["made"] == 0
    run("rename", "main-0a1b_finder", "The finder")
    assert json.loads(run("reports", "made", "--json").stdout)["made"] == 2
    assert head_of(made)["sub_agents"][0]["title"] == "The finder"


@proof
@pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_folded_and_found(page: Path, opened: Any, width: int) -> None:
    """Its cost is in sight when folded; find unfolds it; nothing is wider than the screen."""
    fold = "document.querySelector('.fold.subagent')"
    tab = opened(page.with_suffix(".jsonl"), width=width)
    assert "$1.50" in tab.run(f"{fold}.dataset.meta")
    assert "needle" not in tab.run(TEXT)
    right = tab.run(f"getComputedStyle({fold}, '::after').width && {fold}.getBoundingClientRect().right")
    assert right <= width
    assert tab.run(f"{fold}.scrollWidth <= {fold}.clientWidth")
    tab.run(f"{FIND}.value = 'needle'; {FIND}.dispatchEvent(new Event('input'))")
    tab.wait("document.getElementById('found').textContent.includes('1 message')")
    tab.run(f"{FIND}.focus()")
    tab.press("Enter")
    tab.run(DRAWN)
    assert "needle in the sub-agent" in tab.run(TEXT)
    assert tab.run("document.documentElement.scrollWidth") <= width
