"""Secrets in what a log says of its session: in no exported record, while ids that belong together still match."""

import asyncio
import json
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.toolbox.transfer.export_session import FORMATS
from tests.support.exports import exported
from tests.support.imports import imported, write_jsonl
from tests.support.messages import Message
from tests.support.secret_forms import SAMPLES

KEY = SAMPLES["GitHub"]
AGENTS = ("claude-code", "codex", "pi")


def entries() -> list[Message]:
    """A session of Claude Code with a key in every text, the directory, the branch and the ids among them."""
    shared = {
        "isSidechain": False,
        "userType": "external",
        "cwd": f"/home/u/{KEY}",
        "sessionId": f"s-{KEY}",
        "version": f"2.0-{KEY}",
        "gitBranch": f"br-{KEY}",
        "slug": f"slug-{KEY}",
    }
    call = {"type": "tool_use", "id": f"call-{KEY}", "name": f"Bash-{KEY}", "input": {"command": KEY}}
    facts = {"id": f"msg-{KEY}", "type": "message", "role": "assistant", "model": f"claude-{KEY}"}
    answer = {**facts, "content": [call], "stop_reason": f"tool_use-{KEY}", "usage": {"input_tokens": 3}}
    result = {"type": "tool_result", "tool_use_id": f"call-{KEY}", "content": f"done {KEY}"}
    bodies: list[Message] = [
        {"type": "user", "message": {"role": "user", "content": f"use {KEY}"}},
        {"type": "assistant", "message": answer, "requestId": f"req-{KEY}"},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    ]
    written: list[Message] = [{"type": "summary", "summary": f"About {KEY}", "leafUuid": f"u-{KEY}-0"}]
    parent = None
    for number, body in enumerate(bodies):
        own = f"u-{KEY}-{number}"
        time = f"2026-11-20T10:00:{number:02}.000Z"
        written.append({**shared, "parentUuid": parent, "uuid": own, "timestamp": time, **body})
        parent = own
    return [*written, {"type": "custom-title", "customTitle": f"title {KEY}", "sessionId": f"s-{KEY}"}]


def imported_log(directory: Path) -> Path:
    source = write_jsonl(directory / f"{KEY}.jsonl", entries())
    imported(source, directory / "logs" / f"log-{KEY}.jsonl")
    return directory / "logs" / f"log-{KEY}.jsonl"


@pytest.mark.parametrize("into", FORMATS)
async def test_no_fact_of_the_source_passes(tmp_path: Path, into: str) -> None:
    """Neither its branch, directory, version and title, nor its ids and models."""
    log = imported_log(tmp_path)
    assert KEY not in unescape(exported(log, into))
    assert KEY in unescape(exported(log, into, redact=False))


def values(record: Any, key: str) -> set[str]:
    """All texts under a key, at any depth."""
    if isinstance(record, list):
        return {text for item in record for text in values(item, key)}
    if not isinstance(record, dict):
        return set()
    own = {record[key]} if isinstance(record.get(key), str) else set()
    return own.union(*(values(item, key) for item in record.values()))


async def test_ids_still_match(tmp_path: Path) -> None:
    """Calls and results, a record and the one before it, the session of all records."""
    log = imported_log(tmp_path)
    records = [json.loads(line) for line in exported(log, "claude-code").splitlines()]
    assert values(records, "tool_use_id") < values(records, "id")
    assert values(records, "parentUuid") < values(records, "uuid")
    assert all(record["uuid"] != record["parentUuid"] for record in records if "uuid" in record)
    assert len(values(records, "sessionId")) == len(values(records, "session")) == 1
    assert values(records, "gitBranch") == {"br-[REDACTED]"}


@pytest.mark.parametrize("into", AGENTS)
async def test_the_current_directory_does_not_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, into: str) -> None:
    """It stands for that of a session whose log names none."""
    directory = tmp_path / KEY
    directory.mkdir()
    monkeypatch.chdir(directory)
    async with PersistentContextManager(tmp_path / "log", durability="write") as manager:
        await manager.add_message({"role": "user", "content": "Go."})
        await manager.add_message({"role": "assistant", "content": "Gone.", "metadata": {"model": "m"}})
    text = exported(tmp_path / "log", into)
    assert KEY not in text
    assert "[REDACTED]" in text


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with receipts and plans whose ids hold a key."""
    log = tmp_path_factory.mktemp("compacted") / "log"
    asyncio.run(_compact(log))
    return log


async def _compact(log: Path) -> None:
    async with PersistentContextManager(
        log, session_id=f"s-{KEY}", durability="write", max_tokens=3_000, receipts=True
    ) as manager:

        async def prompt() -> str:
            return f"You are {KEY}."

        await manager.set_system_prompt_factory(prompt)
        for number in range(40):
            own = {"message_id": f"q{number}-{KEY}"}
            await manager.add_message({"role": "user", "content": f"{number} " + "word " * 60, "metadata": own})
            await manager.get_messages_for_request()
            await manager.add_message({"role": "assistant", "content": f"{number} " + "word " * 60})


@pytest.mark.parametrize("into", FORMATS)
def test_no_fact_of_a_receipt_or_a_plan_passes(compacted: Path, into: str) -> None:
    """They name messages by their ids; they are still found by these."""
    text = exported(compacted, into)
    assert KEY not in unescape(text)
    if into not in ("openai", "anthropic"):  # these hold no ids of messages
        assert KEY in unescape(exported(compacted, into, redact=False))
    if into == "atif":
        steps = json.loads(text)["steps"]
        assert (
            sum("request" in step["extra"]["context_persistent"] for step in steps if step["source"] == "agent") == 40
        )
        assert any("context_management" in step.get("extra", {}) for step in steps)
    if into == "otlp":
        assert "gen_ai.conversation.compacted" in text
