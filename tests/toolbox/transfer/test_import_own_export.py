"""A session that was exported to another agent and is imported again: it is one session, billed once."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.paths import log_path
from amplifier_module_context_persistent.sessions.gather_figures import gathered
from amplifier_module_context_persistent.sessions.prices import PriceList
from amplifier_module_context_persistent.sessions.session_files import session_files
from amplifier_module_context_persistent.sessions.totals import total_of
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.transfer.export_session import export_session
from amplifier_module_context_persistent.toolbox.transfer.fork_to_agent import AGENTS
from amplifier_module_context_persistent.toolbox.transfer.imports.drafts import ImportConflictError
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import Import, import_session
from tests.support.busy_homes import sessions_of_home
from tests.support.commands import run
from tests.support.imports import contents, history_and_view, texts
from tests.support.sweeps import proof

ID = "5f0e0000-0000-4000-8000-000000000001"
NAMES = (ID, "the_session")
"""A session's id as hosts give it, and one that is no UUID, which agents need."""

ROUNDS = [(agent, name) for name in NAMES for agent in AGENTS]


def talk() -> list[dict[str, Any]]:
    def told(number: int, **more: Any) -> dict[str, Any]:
        return {"timestamp": f"2026-02-01T00:00:{number:02}.000Z", "message_id": f"m{number}", **more}

    def answer(number: int, **more: Any) -> dict[str, Any]:
        usage = {"input_tokens": 12, "cache_read_tokens": 4, "cache_write_tokens": 3, "output_tokens": 5}
        known = told(number, provider="anthropic", model="claude-sonnet-4-5", usage=usage)
        return {"role": "assistant", "content": "Done, with sk-ant-REDACTED", **more, "metadata": known}

    call = {"id": "c1", "tool": "bash", "arguments": {"command": "ls"}}
    return [
        {"role": "system", "content": "Be brief.", "metadata": told(1)},
        {"role": "user", "content": "What is there?", "metadata": told(2)},
        answer(3, tool_calls=[call]),
        {"role": "tool", "tool_call_id": "c1", "name": "bash", "content": "a b", "metadata": told(4)},
        answer(5),
        {"role": "user", "content": "And?", "metadata": told(6)},
        answer(7, content="", tool_calls=[{**call, "id": "c2"}]),
    ]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


async def session(name: str) -> Path:
    path = log_path(Config(), session_id=name, working_dir=None)
    async with PersistentContextManager(path, session_id=name, durability="write") as manager:
        for message in talk():
            await manager.add_message(message)
    return path


def requests() -> int:
    with gathered(sessions_of_home(), EstimateCounter(), lambda _: nullcontext(FileSystem())) as found:
        return total_of(found, PriceList()).bill.requests


def gone_on(agent: str, path: Path, said: str) -> None:
    """Let an agent go on with a file: a person's words and an answer, in the agent's own form."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    time = "2026-03-01T00:00:00.000Z"
    if agent == "codex":
        usage = {"input_tokens": 9, "output_tokens": 1}
        items = [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": said}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"re {said}"}]},
        ]
        more = [{"timestamp": time, "type": "response_item", "payload": item} for item in items]
        told = {"type": "token_count", "info": {"last_token_usage": usage}}
        more.append({"timestamp": time, "type": "event_msg", "payload": told})
    elif agent == "pi":
        own = f"{len(lines):08x}"
        answer = {"role": "assistant", "content": [{"type": "text", "text": f"re {said}"}], "usage": {"input": 9}}
        above = {"type": "message", "parentId": lines[-1]["id"], "id": own, "timestamp": time}
        below = {"type": "message", "parentId": own, "id": f"{own[1:]}f", "timestamp": time}
        more = [above | {"message": {"role": "user", "content": said}}, below | {"message": answer}]
    else:
        shared = {"sessionId": lines[0]["sessionId"], "timestamp": time, "isSidechain": False}
        asked = {"type": "user", "uuid": f"u{len(lines)}", "parentUuid": lines[-1]["uuid"]}
        given = {"type": "assistant", "uuid": f"a{len(lines)}", "parentUuid": asked["uuid"], "requestId": "r"}
        answer = {"id": f"msg_{len(lines)}", "role": "assistant", "content": [{"type": "text", "text": f"re {said}"}]}
        answer["usage"] = {"input_tokens": 9, "output_tokens": 1}
        more = [
            shared | asked | {"message": {"role": "user", "content": said}},
            shared | given | {"message": answer},
        ]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *more]))


def imported_again(path: Path, **options: Any) -> Import:
    report = import_session(path, **options)
    assert len(session_files()) == 1
    assert report.sessions[0].is_origin
    return report


@proof(quick=3)
@pytest.mark.parametrize(("agent", "name"), ROUNDS)
async def test_it_is_known_and_nothing_changes(home: Path, agent: str, name: str) -> None:
    """Redacted or not, and from another directory."""
    log = await session(name)
    before = contents(log)
    for redact in (True, False):
        export_session(log, home / "out.jsonl", agent, redact=redact, force=True)
        report = imported_again(home / "out.jsonl")
        assert (report.path, report.session_id, report.added) == (str(log), name, 0)
    assert contents(log) == before
    assert requests() == 3
    told = run("import", str(home / "out.jsonl")).stdout
    assert f"it was exported from session {name}, which is here; 0 of them were added" in told


@proof(quick=3)
@pytest.mark.parametrize(("agent", "name"), ROUNDS)
async def test_what_the_agent_added_is_added(home: Path, agent: str, name: str) -> None:
    """Once, and billed once; and again what it added since."""
    log = await session(name)
    export_session(log, home / "out.jsonl", agent)
    for number in (1, 2):
        gone_on(agent, home / "out.jsonl", f"more {number}")
        assert imported_again(home / "out.jsonl", dry_run=True).added == 2
        assert imported_again(home / "out.jsonl").added == 2
        assert imported_again(home / "out.jsonl").added == 0
        assert requests() == 3 + number
    history, _ = await history_and_view(log)
    assert texts(history)[-4:] == ["user: more 1", "assistant: re more 1", "user: more 2", "assistant: re more 2"]
    assert len(history) == len(talk()) + 4


@pytest.mark.parametrize("agent", AGENTS)
async def test_what_went_on_here_too_is_refused(home: Path, agent: str) -> None:
    """If only the session here went on, nothing is wrong."""
    log = await session(ID)
    export_session(log, home / "out.jsonl", agent)
    async with PersistentContextManager(log, durability="write") as manager:
        await manager.add_message({"role": "user", "content": "here"})
    assert imported_again(home / "out.jsonl").added == 0
    gone_on(agent, home / "out.jsonl", "there")
    before = contents(log)
    with pytest.raises(ImportConflictError, match="went on in the file too"):
        import_session(home / "out.jsonl")
    assert contents(log) == before
    report = import_session(home / "out.jsonl", session_id="another")
    assert report.session_id == "another"
    assert report.added == report.messages


@pytest.mark.parametrize("agent", AGENTS)
async def test_elsewhere_it_is_a_session_with_its_ids(home: Path, agent: str) -> None:
    """Where the session is not, and where another one has its id."""
    log = await session(ID)
    export_session(log, home / "out.jsonl", agent)
    log.unlink()
    report = import_session(home / "out.jsonl")
    assert not report.sessions[0].is_origin
    history, _ = await history_and_view(report.path)
    said = [one["metadata"]["message_id"] for one in history if one["role"] != "system"]
    assert said[:6] == ["m2", "m3", "m4", "m5", "m6", "m7"]
    other = log_of(report)
    other.write_text('{"role":"user","content":"another"}\n')
    assert not import_session(home / "out.jsonl").sessions[0].is_origin
    assert other.read_text().count("\n") == 1


def log_of(report: Import) -> Path:
    return Path(report.path)


async def test_marks_of_another_session_in_a_file_are_not_believed(home: Path) -> None:
    """And what is no mark is passed over."""
    log = await session(ID)
    export_session(log, home / "out.jsonl", "pi")
    lines = [json.loads(line) for line in (home / "out.jsonl").read_text().splitlines()]
    for mark in (None, 7, [], {"session": 1}, {"session": ""}, {"session": "x", "message": 3}, {"session": "other"}):
        lines[-1]["contextPersistent"] = mark
        (home / "out.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        imported_again(home / "out.jsonl", dry_run=True)
