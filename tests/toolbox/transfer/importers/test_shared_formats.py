"""Small and real files of other agents, where they are at hand: every line accounted for, views valid, resumable."""

from pathlib import Path

import pytest

from tests.support.imports import history_and_view, imported
from tests.support.places import SHARED
from tests.support.sweeps import proof, spread

FORMATS = SHARED / "formats"
FILES = sorted(path for path in FORMATS.rglob("*.json*") if path.is_file()) if FORMATS.is_dir() else []


@proof(quick=1)
@pytest.mark.skipif(not FILES, reason="the shared files are not at hand")
@pytest.mark.parametrize("path", list(spread(FILES, 2)), ids=lambda path: f"{path.parent.name}-{path.stem}")
async def test_each_file_is_imported(path: Path, tmp_path: Path) -> None:
    """As the format that its folder names; nothing is new the second time; what cannot be read is named."""
    report = imported(path, tmp_path / "log.jsonl")
    assert report.format == path.relative_to(FORMATS).parts[0]
    assert report.messages
    for session in report.sessions:
        await history_and_view(session.path)
    assert report.account.lost_lines == (path.stem in ("truncated",)) + (
        path.parent.name == "pi" and path.stem == "session"
    )


@proof
@pytest.mark.skipif(not FILES, reason="the shared files are not at hand")
async def test_a_real_session_has_its_results(tmp_path: Path) -> None:
    """All 186 results of the session answer a call, also those that lie off the newest leaf's path."""
    report = imported(FORMATS / "claude-code" / "real-1.jsonl", tmp_path / "log.jsonl")
    history, _ = await history_and_view(report.path)
    calls = [call["id"] for message in history for call in message.get("tool_calls", ())]
    results = [message["tool_call_id"] for message in history if message["role"] == "tool"]
    assert len(calls) == len(set(calls)) == len(results) == 186
    assert set(calls) == set(results)
    assert [session.kind for session in report.sessions] == ["session", "subagent", "subagent"]
