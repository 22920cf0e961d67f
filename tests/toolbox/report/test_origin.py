"""What the page says of the session that an import came from: its compactions, and the sessions beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.replay import open_transcript
from amplifier_module_context_persistent.toolbox.report import report
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from benchmarks.chromium import BROWSER, WHY_NOT, Page
from tests.support.imports import imported, write_jsonl
from tests.support.opened_pages import TEXT, press_button
from tests.support.pages import ReadPage, read_page
from tests.support.sweeps import proof

KEY = "gh" + "p_" + "a1B2" * 9


def says(uuid: str, parent: str | None, text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    """An entry of a Claude Code session."""
    message: dict[str, Any] = {"role": role, "content": text}
    if role == "assistant":
        message |= {"id": uuid, "model": "claude-opus-4-5", "content": [{"type": "text", "text": text}]}
    kind = {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "5f0e-1", "message": message}
    return {**kind, "isSidechain": False, "timestamp": "2026-03-01T10:00:00.000Z", **more}


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A session of three turns that its source compacted after the second."""
    entries = [
        says("u1", None, "long ago"),
        says("a1", "u1", "yes", "assistant"),
        says("u2", "a1", "then"),
        says("a2", "u2", "well", "assistant"),
        says("c", "a2", f"What was said: {KEY}", isCompactSummary=True),
        says("u3", "c", "go on"),
        says("a3", "u3", "going", "assistant"),
    ]
    return imported(write_jsonl(tmp_path / "s.jsonl", entries)).path


def page_of(log: str, place: Path, turns: slice = slice(None), **options: Any) -> ReadPage:
    """The report of a log, read back."""
    with open_transcript(log) as transcript:
        report(transcript, place, turns=transcript.turns()[turns], **options)
    return read_page(place)


def test_compactions_of_the_source_stand_where_they_happened(log: str, tmp_path: Path) -> None:
    """With what they left out, and with the summary, redacted."""
    page = page_of(log, tmp_path / "p.html")
    (row,) = page.head["requests"]["compactions"]
    assert (row["place"], row["request"], row["strategy"]) == (4, 0, "imported")
    assert (row["dropped"], row["kept"]) == (4, 0)
    assert row["summary"].startswith("What was said: [REDACTED")
    assert page.head["session"]["compactions"] == 1
    assert "1 compaction<" in page.shell


def test_only_those_among_the_turns_that_are_shown(log: str, tmp_path: Path) -> None:
    """Numbers count from the first message of the page."""
    (row,) = page_of(log, tmp_path / "a.html", slice(1, 2)).head["requests"]["compactions"]
    assert row["place"] == 2
    assert page_of(log, tmp_path / "b.html", slice(0, 1)).head["requests"]["compactions"] == []


def test_sub_agents_are_named_and_linked(tmp_path: Path) -> None:
    """By the file that their report has unless another one is asked for; a name that leads elsewhere is text."""
    entries = [says("u1", None, "ask"), says("a1", "u1", "asked", "assistant")]
    entries += [says(f"s{n}", None, f"task {n}", isSidechain=True, agentId=f"ag{n}") for n in range(2)]
    source = write_jsonl(tmp_path / "s.jsonl", entries)
    done = import_session(source, session_id="p1", working_dir=str(tmp_path))
    page = page_of(done.path, tmp_path / "p.html")
    names = [("sub-agent", "p1_ag0", "report-p1_ag0.html"), ("sub-agent", "p1_ag1", "report-p1_ag1.html")]
    assert [(one["what"], one["id"], one["file"]) for one in page.head["session"]["relatives"]] == names
    assert '<a href="report-p1_ag0.html"' in page.shell
    child = page_of(done.sessions[1].path, tmp_path / "c.html")
    assert [(one["what"], one["id"]) for one in child.head["session"]["relatives"]] == [("parent", "p1")]


@proof(quick=1)
@pytest.mark.parametrize(
    "name", ["../../x", "javascript:alert(1)", "//host/x", 'a"onclick=x', ".hidden", "é", "a" * 99]
)
def test_ids_that_are_no_file_names_are_text(tmp_path: Path, name: str) -> None:
    """Nothing of a session is a link that leads elsewhere."""
    entries = [says("u1", None, "ask")]
    log = Path(imported(write_jsonl(tmp_path / "s.jsonl", entries)).path)
    lines = log.read_text(encoding="utf-8").splitlines()
    quoted = name.replace('"', '\\"')
    lines[0] = lines[0].replace('"_crc"', f'"parent_id":"{quoted}","_crc"')
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    page = page_of(str(log), tmp_path / "p.html")
    assert [(one["id"], one["file"]) for one in page.head["session"]["relatives"]] == [(name, "")]
    assert "<a href" not in page.shell


@proof
@pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)
def test_the_page_shows_the_compaction_and_its_summary(log: str, opened: Callable[[str], Page]) -> None:
    """Between the messages, with a summary that unfolds; the key for the next compaction goes there."""
    page = opened(log)
    text = page.run(TEXT)
    assert text.index("well") < text.index("4 messages left out, 0 kept") < text.index("go on")
    assert "What was said" in text
    press_button(page, "summary")
    page.wait("document.querySelectorAll('button.fold[aria-expanded=true]').length === 1")
