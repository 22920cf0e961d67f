"""Reports of imported sessions in Chromium, driven to their end."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chromium import BROWSER, WHY_NOT, Page
from tests.support.imports import imported, write_jsonl
from tests.support.opened_pages import DRAWN, way_down
from tests.support.sweeps import proof

pytestmark = pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)

FORMATS = Path(__file__).parents[4] / "shared" / "formats"
REAL = sorted(path.relative_to(FORMATS).as_posix() for path in FORMATS.rglob("*.json*")) if FORMATS.is_dir() else []
COMPACTIONS = "Number((document.getElementById('facts').innerText.match(/([0-9,]+) compaction/) || [0, 0])[1])"
IN_SIGHT = "[...document.querySelectorAll('.compaction strong')].map((one) => one.textContent)"


def compacted(turns: int) -> list[dict[str, Any]]:
    """A Claude Code session that was compacted before each turn, so that a compaction is the turn's first unit."""
    entries: list[dict[str, Any]] = []
    number = count()

    def add(role: str, content: Any, **more: Any) -> None:
        uuid, parent = f"u{next(number)}", entries[-1]["uuid"] if entries else None
        message = {"role": role, "content": content, **({"id": uuid} if role == "assistant" else {})}
        kind = {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "5f0e-2", "isSidechain": False}
        entries.append({**kind, "timestamp": "2026-03-01T10:00:00.000Z", "message": message, **more})

    for turn in range(turns):
        if turn:
            add("user", f"What was said before turn {turn}", isCompactSummary=True)
        add("user", f"Question {turn}")
        add("assistant", [{"type": "text", "text": f"Answer {turn}. " * 60}])
    return entries


def go_through(page: Page, messages: int) -> set[int]:
    """From compaction to compaction, from turn to turn, down to the end; gives the messages that came into sight."""
    compactions = page.run(COMPACTIONS)
    for number in range(compactions):
        page.press("c")
        page.run(DRAWN)
        assert f"Compaction {number + 1}" in page.run(IN_SIGHT)
    for key in ("C", "]", "[", "j", "k"):
        for _ in range(3):
            page.press(key)
    seen, _ = way_down(page)
    assert max(seen) <= messages
    assert page.run("document.querySelector('.end') !== null")
    page.press("k")
    assert page.run("document.querySelectorAll('.row.current').length") > 0
    return seen


@proof
def test_a_compaction_before_a_turn_does_not_stop_the_page(opened, tmp_path):
    """The first thing in sight may be the compaction between a turn's heading and its first message."""
    source = write_jsonl(tmp_path / "s.jsonl", compacted(5))
    page = opened(imported(source).path)
    assert page.run(COMPACTIONS) == 4
    assert go_through(page, 10) == set(range(1, 11))


@proof
@pytest.mark.parametrize("name", REAL)
def test_real_sessions_of_other_agents_can_be_gone_through(opened, tmp_path, name):
    """Each of those that lie beside the project, to its end."""
    done = imported(FORMATS / name, tmp_path / "log.jsonl")
    page = opened(done.path)
    go_through(page, done.messages)
