"""An import of a session that its agent compacted since: the compaction is stored, also if nothing else is new."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.commands import run
from tests.support.imports import write_jsonl
from tests.support.sessions_of_a_home import log_of

pytestmark = pytest.mark.usefixtures("project")

SESSION = "019a0000-0000-7000-8000-000000000099"


def line(kind: str, second: int, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-11-28T10:00:{second:02d}.000Z", "type": kind, "payload": payload}


def said(second: int, role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return line("response_item", second, type="message", role=role, content=[{"type": kind, "text": text}])


START = [
    line("session_meta", 0, id=SESSION, cwd="/w", originator="codex_cli_rs", cli_version="0.50.0"),
    *(said(2 * turn + 1, "user", f"question {turn}") for turn in range(2)),
    *(said(2 * turn + 2, "assistant", f"answer {turn}") for turn in range(2)),
]
COMPACTED = line("compacted", 9, message="The gist of it all.")


def plans() -> list[dict[str, Any]]:
    records = map(json.loads, log_of(SESSION).read_text().splitlines())
    return [record for record in records if record.get("_record") == "plan"]


def test_a_compaction_that_alone_is_new_is_stored_once(tmp_path: Path) -> None:
    run("import", write_jsonl(tmp_path / "rollout.jsonl", START), "--session", SESSION)
    assert not plans()
    for turn in range(2):
        done = run("import", write_jsonl(tmp_path / "rollout.jsonl", [*START, COMPACTED]), "--session", SESSION)
        assert ("its agent has compacted it since" in done.stdout) == (turn == 0)
        (plan,) = plans()
        assert "The gist of it all." in json.dumps(plan)


def test_the_session_can_go_on_after_it(tmp_path: Path) -> None:
    """The compaction is in force, and what was said after it is stored."""
    for lines in (START, [*START, COMPACTED], [*START, COMPACTED, said(10, "user", "question 3")]):
        run("import", write_jsonl(tmp_path / "rollout.jsonl", lines), "--session", SESSION)
    assert "The gist of it all." in json.dumps(plans()[-1])
    assert "question 3" in run("show", SESSION).stdout
    assert "damage: none" in run("verify", SESSION).stdout


@pytest.mark.parametrize("change", ["go on", "rewind", "clear", "compact"])
async def test_a_compaction_is_no_news_for_a_session_that_was_changed_here(tmp_path: Path, change: str) -> None:
    """The model's view of it stays as it is."""
    start = [*START, *(said(8, role, f"{role}'s long words " * 500) for role in ("user", "assistant"))]
    run("import", write_jsonl(tmp_path / "rollout.jsonl", start), "--session", SESSION)
    if change in ("rewind", "compact"):
        run(*{"rewind": ("rewind", SESSION, "1", "--yes"), "compact": ("compact", SESSION, "--budget", "5000")}[change])
    else:
        async with PersistentContextManager(str(log_of(SESSION)), session_id=SESSION, durability="write") as manager:
            if change == "go on":
                await manager.add_message({"role": "user", "content": "own question"})
            else:
                await manager.clear()
    before = log_of(SESSION).read_bytes()
    assert len(plans()) == (change == "compact")
    for _ in range(2):
        run("import", write_jsonl(tmp_path / "rollout.jsonl", [*start, COMPACTED]), "--session", SESSION)
        assert log_of(SESSION).read_bytes() == before
