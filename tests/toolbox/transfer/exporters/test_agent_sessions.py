"""Sessions of other agents, as exports and forks write them: they come back the same, and agents' readers take them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import ConfigError, PlaceError
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.messages.metadata import is_human
from amplifier_module_context_persistent.sessions.gather_figures import gathered
from amplifier_module_context_persistent.sessions.prices import PriceList
from amplifier_module_context_persistent.sessions.totals import total_of
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.transfer.export_session import export_session
from amplifier_module_context_persistent.toolbox.transfer.fork_to_agent import AGENTS, fork_to_agent
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from amplifier_module_context_persistent.toolbox.transfer.rewind_session import rewind_session
from tests.support.busy_homes import sessions_of_home
from tests.support.commands import run
from tests.support.imports import contents, history_and_view, imported, texts
from tests.support.sweeps import proof

ID = "5f0e0000-0000-4000-8000-000000000001"
PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}
PIXEL = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def told(number: int, **more: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-02-01T00:00:{number:02}.000Z", "message_id": f"m{number}", **more}


def answered(number: int, provider: str, model: str, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 12, "cache_read_tokens": 4, "cache_write_tokens": 3, "output_tokens": 5}
    return told(number, provider=provider, model=model, usage=usage, **more)


def talk(provider: str = "anthropic", model: str = "claude-sonnet-4-5") -> list[dict[str, Any]]:
    thought = {"type": "thinking", "thinking": "hm", "signature": "signed"}
    calls = [
        {"id": "c1", "tool": "read", "arguments": {"path": "a"}},
        {"id": "c2", "tool": "bash", "arguments": {"command": "ls"}},
    ]
    said = {"type": "text", "text": "I look."}
    first = {"role": "assistant", "content": [thought, said], "tool_calls": calls}
    return [
        {"role": "system", "content": "Be brief.", "metadata": told(1)},
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, PIXEL], "metadata": told(2)},
        {**first, "metadata": answered(3, provider, model, stop_reason="tool_use")},
        {"role": "tool", "tool_call_id": "c2", "name": "bash", "content": "a b", "metadata": told(4)},
        {"role": "tool", "tool_call_id": "c1", "name": "read", "content": "no", "metadata": told(5, is_error=True)},
        {"role": "assistant", "content": "A cat.", "metadata": answered(6, provider, model, stop_reason="end_turn")},
        {"role": "user", "content": "Thanks.", "metadata": told(7)},
        {"role": "assistant", "content": "", "tool_calls": calls[:1], "metadata": answered(8, provider, model)},
    ]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.fixture
async def log(home: Path) -> Path:
    path = home / f"{ID}.jsonl"
    async with PersistentContextManager(path, durability="write") as manager:
        for message in talk():
            await manager.add_message(message)
    return path


SAME = [
    "user: What is it? image",
    "assistant: thinking I look. read bash",
    "tool: no",
    "tool: a b",
    "assistant: A cat.",
    "user: Thanks.",
    "assistant: read",
    "tool: [interrupted: this call has no result]",
]


@proof(quick=1)
@pytest.mark.parametrize("agent", AGENTS)
async def test_it_comes_back_as_it_was(home: Path, log: Path, agent: str) -> None:
    """Texts, images, calls, results, errors, times, models and usage; an open call has a result that says so."""
    export_session(log, home / "out.jsonl", agent)
    report = imported(home / "out.jsonl", home / "back.jsonl")
    history, _ = await history_and_view(report.path)
    assert report.format == agent
    expected = [said.replace("thinking ", "") if agent == "codex" else said for said in SAME]
    assert [said for said in texts(history) if not said.startswith("system")] == expected
    said = [one for one in history if one["role"] != "system"]
    assert [one["metadata"]["timestamp"][17:19] for one in said[:7]] == ["02", "03", "05", "04", "06", "07", "08"]
    failed = [one["metadata"].get("is_error") for one in said if one["role"] == "tool"]
    assert failed[:2] == [None if agent == "codex" else True, None]
    answers = [one["metadata"] for one in said if one["role"] == "assistant"]
    assert {one["model"] for one in answers} == {"claude-sonnet-4-5"}
    usage = answers[0]["usage"]
    assert usage["cache_read_tokens"] == 4
    assert usage["output_tokens"] == 5
    written = usage.get("cache_write_tokens", 0)
    assert usage["input_tokens"] + written == 15
    assert said[0]["content"][1]["source"]["data"] == PIXEL["source"]["data"]


ODD = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": [
            {"type": "mcp_call", "id": "m1", "server_label": "s", "name": "ask", "arguments": "{}", "output": "NEEDLE"},
            {"type": "text", "text": "So."},
        ],
        "tool_calls": [{"id": f"c{number}", "tool": "sh", "arguments": {}} for number in (1, 2)],
        "metadata": {"usage": {"input_tokens": 7, "output_tokens": 2}, "form": {"name": "openai_responses"}},
    },
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": text} for text in ("one", "two")]},
    {"role": "tool", "tool_call_id": "c2", "content": ""},
]


@pytest.mark.parametrize("agent", AGENTS)
async def test_what_only_the_source_has_comes_back_too(home: Path, agent: str) -> None:
    """Results of several texts and of none, usage of an unknown model, and what a provider's server called, whole."""
    log = home / "log.jsonl"
    log.write_text("".join(json.dumps(message) + "\n" for message in ODD))
    export_session(log, home / "out", agent)
    history, _ = await history_and_view(imported(home / "out", home / "back").path)
    said = [message["content"] for message in history if message["role"] == "tool"]
    assert said == [[{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], ""]
    (answer,) = (message for message in history if message["role"] == "assistant")
    assert answer["metadata"]["usage"]["input_tokens"] == 7
    assert "NEEDLE" in json.dumps(answer["content"])
    assert "recall" not in json.dumps(answer["content"])


async def test_the_chain_of_records_is_whole(home: Path, log: Path) -> None:
    """Of Claude Code and pi: each entry names the one before it, and all ids are different."""
    for agent, own, above in (("claude-code", "uuid", "parentUuid"), ("pi", "id", "parentId")):
        export_session(log, home / f"{agent}.jsonl", agent)
        entries = [json.loads(line) for line in (home / f"{agent}.jsonl").read_text().splitlines()]
        chain = [entry for entry in entries if above in entry]
        assert [entry[above] for entry in chain] == [None, *(entry[own] for entry in chain[:-1])]
        assert len({entry[own] for entry in chain}) == len(chain)


@proof(quick=1)
@pytest.mark.parametrize("agent", AGENTS)
async def test_a_fork_to_another_agent_lies_where_that_keeps_its_own(home: Path, log: Path, agent: str) -> None:
    """From turn 1 of two, for this directory; it is told how to go on, and nothing of ours changes."""
    before = contents(log)
    done = run("fork", str(log), "--to", agent, "--at", "1", "--json")
    handed = json.loads(done.stdout)
    assert UUID(handed["session_id"]).version == 4
    assert handed["session_id"] in handed["path"]
    assert Path(handed["path"]).is_relative_to(home)
    assert (handed["turn"], handed["messages"]) == (1, 6)
    report = imported(Path(handed["path"]), home / "back.jsonl")
    history, _ = await history_and_view(report.path)
    assert [said for said in texts(history) if said.startswith("user")] == ["user: What is it? image"]
    assert contents(log) == before
    assert run("fork", str(log), "--to", agent, "--dry-run").stdout.count("Nothing was done") == 1
    assert handed["command"][0] in run("fork", str(log), "--to", agent).stdout


async def test_what_is_handed_over_is_paid_for_once(home: Path, log: Path) -> None:
    """Imported again beside its origin: Claude Code's records have the ids of the answers, the others no usage."""
    import_session(log, session_id=ID)
    for agent in AGENTS:
        import_session(fork_to_agent(log, agent).path)
    with gathered(sessions_of_home(), EstimateCounter(), lambda _: nullcontext(FileSystem())) as found:
        assert total_of(found, PriceList()).bill.requests == 3


async def test_what_cannot_be_handed_over_is_refused(home: Path, log: Path) -> None:
    with pytest.raises(ConfigError, match="no UUID"):
        fork_to_agent(log, "pi", session_id="x")
    with pytest.raises(PlaceError):
        fork_to_agent(log, "pi", 9)
    rewind_session(log, 1)
    with pytest.raises(PlaceError, match="hidden"):
        fork_to_agent(log, "pi", "m7")
    with pytest.raises(FileExistsError):
        fork_to_agent(log, "pi", path=log)


async def test_without_a_word_of_an_answer_or_a_time(home: Path) -> None:
    """A session that says neither times nor models nor ids; its first message is an answer."""
    log = home / "log.jsonl"
    log.write_text('{"role":"assistant","content":"hi"}\n{"role":"user","content":"yes"}\n')
    for agent in AGENTS:
        export_session(log, home / f"{agent}.jsonl", agent)
        report = imported(home / f"{agent}.jsonl", home / f"{agent}.back.jsonl")
        history, _ = await history_and_view(report.path)
        assert texts(history)[-2:] == ["assistant: hi", "user: yes"]


def test_the_sdk_of_claude_code_reads_it(home: Path, log: Path) -> None:
    """Its own reader lists the session and gives all of its records."""
    pytest.importorskip("claude_agent_sdk")
    handed = fork_to_agent(log, "claude-code")
    code = (
        "import claude_agent_sdk as sdk, json\n"
        "known = [one.session_id for one in sdk.list_sessions()]\n"
        f"print(json.dumps([known, [m.type for m in sdk.get_session_messages({handed.session_id!r})]]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    known, kinds = json.loads(done.stdout)
    assert known == [handed.session_id]
    records = [json.loads(line) for line in Path(handed.path).read_text().splitlines()]
    assert kinds == [record["type"] for record in records]


INJECTED = [
    {"role": "user", "content": "hello", "metadata": told(1)},
    {"role": "assistant", "content": "hi", "metadata": told(2)},
    {"role": "user", "content": "A hook says: careful.", "metadata": told(3, source="hook", hook_name="h")},
    {"role": "user", "content": "<system-reminder>\nRemember.\n</system-reminder>", "metadata": told(4)},
    {"role": "user", "content": "What was done before.", "metadata": told(5, source="context-compaction")},
    {"role": "assistant", "content": "ok", "metadata": told(6)},
    {"role": "user", "content": [PIXEL], "metadata": told(7)},
    {"role": "assistant", "content": "seen", "metadata": told(8)},
    {"role": "user", "content": [{"type": "text", "text": "look"}, PIXEL, PDF], "metadata": told(9)},
    {"role": "assistant", "content": "seen too", "metadata": told(10)},
    {"role": "user", "content": "thank", "metadata": told(11)},
]


@proof(quick=1)
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("is_copy", [False, True], ids=["export", "fork"])
async def test_whose_words_are_whose_stays_so(home: Path, agent: str, *, is_copy: bool) -> None:
    """What a hook, a reminder and a summary said is no person's; an image alone is."""
    log = home / "log.jsonl"
    log.write_text("".join(json.dumps(message) + "\n" for message in INJECTED))
    out = home / "out.jsonl"
    if is_copy:
        out = Path(fork_to_agent(log, agent).path)
    else:
        export_session(log, out, agent)
    history, _ = await history_and_view(imported(out, home / "back.jsonl").path)
    assert [texts([one])[0][:11] for one in history if is_human(one)] == [
        "user: hello",
        "user: image",
        "user: look ",
        "user: thank",
    ]
    assert sum(one["role"] == "user" for one in history) == 7


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("usage", "known"),
    [
        ({}, {}),
        ({"output_tokens": 5}, {}),
        ({"input_tokens": 5}, {}),
        ({"input_tokens": 7, "output_tokens": 5}, {"input_tokens": 7, "output_tokens": 5}),
    ],
    ids=["nothing", "output", "input", "both"],
)
async def test_what_is_not_known_is_not_zero(
    home: Path, agent: str, usage: dict[str, int], known: dict[str, int]
) -> None:
    """Usage comes back only if both counts are known, and a cost that nobody told does not."""
    log = home / "log.jsonl"
    answer = {"role": "assistant", "content": "hi", "metadata": told(2, model="m", usage=usage)}
    log.write_text(f"{json.dumps({'role': 'user', 'content': 'hello'})}\n{json.dumps(answer)}\n")
    export_session(log, home / "out.jsonl", agent)
    history, _ = await history_and_view(imported(home / "out.jsonl", home / "back.jsonl").path)
    back = history[-1]["metadata"].get("usage", {})
    assert {key: back[key] for key in known} == known
    assert "cost_usd" not in back
    assert bool(back) is bool(known)
    if agent == "claude-code":
        written = [json.loads(line) for line in (home / "out.jsonl").read_text().splitlines()]
        assert written[1]["message"].get("usage", {}) == known


async def test_reasoning_that_was_counted_is_counted_in_a_rollout(home: Path) -> None:
    log = home / "log.jsonl"
    usage = {"input_tokens": 7, "output_tokens": 5, "reasoning_tokens": 3}
    log.write_text(json.dumps({"role": "assistant", "content": "hi", "metadata": {"usage": usage}}) + "\n")
    export_session(log, home / "out.jsonl", "codex")
    history, _ = await history_and_view(imported(home / "out.jsonl", home / "back.jsonl").path)
    assert history[-1]["metadata"]["usage"]["reasoning_tokens"] == 3
