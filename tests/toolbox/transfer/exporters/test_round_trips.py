"""Exports into formats of others: what they hold, that they are valid, and that a second round changes nothing."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from atif import Trajectory
from hypothesis import HealthCheck, given, settings

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.transfer.export_session import Export, export_session
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.checker import anthropic_violations, openai_violations
from tests.support.histories import messages as any_histories
from tests.support.imports import history_and_view, texts
from tests.support.messages import fill
from tests.support.sweeps import proof, some

Message = dict[str, Any]

CALL = {"id": "c1", "tool": "read", "arguments": {"path": "a"}}
USAGE = {"input_tokens": 900, "output_tokens": 7, "cache_read_tokens": 800, "cache_write_tokens": 100}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
SESSION: list[Message] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "read"}, IMAGE]},
    {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Reading"}],
        "tool_calls": [CALL, {"id": "c2", "tool": "ls", "arguments": {}}],
        "metadata": {"model": "m-1", "provider": "p", "stop_reason": "tool_use", "usage": USAGE},
    },
    {"role": "tool", "tool_call_id": "c1", "name": "read", "content": "gone", "metadata": {"is_error": True}},
    {"role": "user", "content": "never mind"},
    {"role": "tool", "tool_call_id": "c2", "name": "ls", "content": "too late"},
    {"role": "user", "content": "<system-reminder>note</system-reminder>", "metadata": {"source": "hook"}},
    {"role": "assistant", "content": "Done."},
]  # fmt: skip


async def stored(path: Path, messages: list[Message], **options: Any) -> Path:
    async with PersistentContextManager(path, durability="write", **options) as manager:
        await fill(manager, messages)
    return path


def exported(log: Path | str, into: str, path: Path) -> Any:
    export_session(log, path, into, redact=False)
    return json.loads(path.read_bytes())


def roles(messages: list[Message]) -> str:
    return " ".join(message["role"] for message in messages)


def live(path: Path | str) -> list[Message]:
    with Transcript(path) as transcript:
        return list(transcript.messages())


async def test_an_openai_body_is_one_that_is_accepted(tmp_path: Path) -> None:
    """Every call has one result right after it, arguments are JSON text, images are URLs, thinking is left out."""
    body = exported(await stored(tmp_path / "log", SESSION), "openai", tmp_path / "out")
    messages = body["messages"]
    assert roles(messages) == "system user assistant tool tool user user assistant"
    assert messages[1]["content"][1]["image_url"]["url"] == "data:image/png;base64,AA"
    assert messages[2]["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"path":"a"}'}
    assert [message["tool_call_id"] for message in messages[3:5]] == ["c1", "c2"]
    assert messages[4]["content"] == "too late"  # it stands in its place
    assert body["model"] == "m-1"
    assert "hm" not in json.dumps(body)
    assert openai_violations(body) == []


async def test_an_anthropic_body_is_one_that_is_accepted(tmp_path: Path) -> None:
    """The system text stands beside, results of one answer stand in one user message, thinking keeps its signature."""
    body = exported(await stored(tmp_path / "log", SESSION), "anthropic", tmp_path / "out")
    assert body["system"] == "Be brief."
    messages = body["messages"]
    assert roles(messages) == "user assistant user user user assistant user"
    assert messages[-1]["content"] == "[continued]"
    assert body["max_tokens"] == 4_096
    assert anthropic_violations(body) == []
    assert [block["type"] for block in messages[1]["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert [block["tool_use_id"] for block in messages[2]["content"]] == ["c1", "c2"]
    assert messages[2]["content"][0]["is_error"] is True


async def test_an_atif_trajectory_is_valid_and_comes_back(tmp_path: Path) -> None:
    """By the published models; ids, times, usage and marks come back as they were."""
    log = await stored(tmp_path / "log", SESSION)
    document = exported(log, "atif", tmp_path / "out")
    trajectory = Trajectory.model_validate(document)
    assert [step.source for step in trajectory.steps] == [
        "system",
        "user",
        "agent",
        "user",
        "system",
        "system",
        "agent",
    ]
    metrics = trajectory.steps[2].metrics
    assert metrics is not None
    assert (metrics.prompt_tokens, metrics.cached_tokens) == (1000, 800)
    assert document["final_metrics"]["total_steps"] == 7
    report = import_session(tmp_path / "out", path=tmp_path / "again")
    assert report.format == "atif"
    kept = [message for message in live(log) if message.get("tool_call_id") != "c2"]
    back = live(tmp_path / "again")
    assert [message for message in back if "too late" not in str(message["content"])] == kept


async def test_an_atif_step_names_the_steps_that_its_request_saw(tmp_path: Path) -> None:
    """By receipts: all before it, and after a compaction what the plan kept; the system prompt is a step."""
    async with PersistentContextManager(
        tmp_path / "log", durability="write", max_tokens=3_000, receipts=True
    ) as manager:

        async def prompt() -> str:
            return "You are the system."

        await manager.set_system_prompt_factory(prompt)
        for number in range(40):
            await manager.add_message({"role": "user", "content": f"question {number} " + "word " * 60})
            await manager.get_messages_for_request()
            await manager.add_message({"role": "assistant", "content": f"answer {number} " + "word " * 60})
    document = exported(tmp_path / "log", "atif", tmp_path / "out")
    Trajectory.model_validate(document)
    steps = document["steps"]
    assert any(step["message"] == "You are the system." for step in steps if step["source"] == "system")
    compactions = [step for step in steps if "context_management" in step.get("extra", {})]
    assert compactions
    requests = {
        step["step_id"]: step["extra"]["context_persistent"]["request"] for step in steps if step["source"] == "agent"
    }
    assert len(requests) == 40
    before = [request for number, request in requests.items() if number < compactions[0]["step_id"]]
    assert all(len(request["steps"]) <= 2 for request in before)
    last = requests[max(requests)]
    said = sum(stop - start + 1 for start, stop in last["steps"])
    assert 0 < said < len(steps) / 2
    assert last["steps"][-1][1] < max(requests)


@proof
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=some(20))
@given(any_histories())
async def test_a_second_round_changes_nothing(tmp_path_factory: pytest.TempPathFactory, history: list[Message]) -> None:
    """Whatever messages hold: what was imported from an export is exported and imported as the same."""
    directory = tmp_path_factory.mktemp("round")
    await stored(directory / "log", history)
    if not (directory / "log").exists():
        return
    for into in ("openai", "anthropic", "atif"):
        try:
            document = exported(directory / "log", into, directory / f"{into}.1")
        except ValueError as refused:
            if "no message can be sent" not in str(refused):
                raise
            continue
        if into == "atif":
            Trajectory.model_validate(document)
        try:
            import_session(directory / f"{into}.1", path=directory / f"{into}.log1", source_format=into)
        except ImportRefusedError:
            assert not document.get("messages")
            assert not [step for step in document.get("steps", ()) if step["message"]]
            continue
        exported(directory / f"{into}.log1", into, directory / f"{into}.2")
        import_session(directory / f"{into}.2", path=directory / f"{into}.log2", source_format=into)
        assert live(directory / f"{into}.log2") == live(directory / f"{into}.log1"), into


async def test_spans_of_a_session(tmp_path: Path) -> None:
    """One trace: the agent, a chat for each answer, a tool for each result; all ids fit, times do not go back."""
    session = [
        {**message, "metadata": {**message.get("metadata", {}), "timestamp": f"2026-01-01T00:00:0{n}Z"}}
        for n, message in enumerate(SESSION)
    ]
    document = exported(await stored(tmp_path / "log", session), "otlp", tmp_path / "out")
    (resource,) = document["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    assert scope["scope"]["attributes"][0]["value"] == {"stringValue": "development"}
    spans = scope["spans"]
    assert [span["name"] for span in spans] == [
        "chat m-1",
        "execute_tool read",
        "execute_tool ls",
        "chat",
        "invoke_agent",
    ]
    assert len({span["spanId"] for span in spans}) == 5
    root = spans[-1]
    assert {span.get("parentSpanId") for span in spans} == {root["spanId"], None}
    assert all(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in spans)
    told = {one["key"]: one["value"] for one in spans[0]["attributes"]}
    assert told["gen_ai.usage.input_tokens"] == {"intValue": "1000"}
    assert told["gen_ai.usage.cache_creation.input_tokens"] == {"intValue": "100"}
    assert told["gen_ai.response.finish_reasons"] == {"arrayValue": {"values": [{"stringValue": "tool_use"}]}}
    assert [one["role"] for one in json.loads(told["gen_ai.input.messages"]["stringValue"])] == ["system", "user"]
    assert spans[1]["status"] == {"code": 2}


async def test_secrets_are_replaced_in_all_of_them(tmp_path: Path) -> None:
    """In texts, arguments, system prompts; thinking that would change is left out."""
    secret = "ghp_" + "a1B2" * 9
    call = {"id": "c", "tool": "sh", "arguments": {"cmd": f"curl -H 'Authorization: {secret}'"}}
    session = [
        {"role": "system", "content": f"Use {secret}."},
        {"role": "user", "content": f"token {secret}"},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": secret, "signature": "s"}],
            "tool_calls": [call],
        },
        {"role": "tool", "tool_call_id": "c", "content": secret},
    ]
    log = await stored(tmp_path / "log", session)
    for into in ("atif", "openai", "anthropic", "otlp"):
        done = export_session(log, tmp_path / into, into)
        text = (tmp_path / into).read_text()
        json.loads(text)
        assert secret not in text, into
        assert done.redacted >= 4


async def test_a_tool_definition_is_turned_into_the_other_form(tmp_path: Path) -> None:
    """From an Anthropic body to OpenAI's form and back."""
    tool = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object", "properties": {"p": {}}}}
    body = {"system": "s", "tools": [tool], "messages": [{"role": "user", "content": "hi"}]}
    (tmp_path / "in").write_text(json.dumps(body))
    import_session(tmp_path / "in", path=tmp_path / "log")
    chat = exported(tmp_path / "log", "openai", tmp_path / "chat")
    assert chat["tools"] == [
        {
            "type": "function",
            "function": {"name": "read", "description": "Read a file.", "parameters": tool["input_schema"]},
        }
    ]
    import_session(tmp_path / "chat", path=tmp_path / "log2")
    assert exported(tmp_path / "log2", "anthropic", tmp_path / "back")["tools"] == [tool]
    assert texts((await history_and_view(tmp_path / "log2"))[0]) == ["system: s", "user: hi"]


PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}


@pytest.mark.parametrize("start", range(len(SESSION) - 1))
async def test_a_part_of_a_session_is_a_body_too(tmp_path: Path, start: int) -> None:
    """It begins with a user's message and holds no result of a call that is left out."""
    log = await stored(tmp_path / "log", SESSION)
    with Transcript(log) as transcript:
        for into, violations in (("anthropic", anthropic_violations), ("openai", openai_violations)):
            body = json.loads("".join(Export(transcript, into, start=start)))
            assert violations(body) == []
            first = next(message for message in body["messages"] if message["role"] != "system")
            assert first["role"] == "user"


async def test_half_a_surrogate_pair_makes_no_export_invalid(tmp_path: Path) -> None:
    """In texts, arguments and names; it becomes the sign for what cannot be encoded."""
    call = {"id": "c\ud800", "tool": "l\ud800s", "arguments": {"a\ud800": "\udfff"}}
    session = [
        {"role": "user", "content": "caf\udce9"},
        {"role": "assistant", "content": "", "tool_calls": [call], "metadata": {"model": "m\ud800"}},
        {"role": "tool", "tool_call_id": "c\ud800", "content": "\udce9"},
    ]
    log = await stored(tmp_path / "log", session)
    for into in ("atif", "otlp", "anthropic", "openai"):
        export_session(log, tmp_path / into, into, redact=False)
        text = (tmp_path / into).read_bytes().decode()
        assert "\\ud" not in text.lower(), into
    Trajectory.model_validate_json((tmp_path / "atif").read_bytes())


async def test_a_session_without_an_id_is_called_by_its_name_and_has_times(tmp_path: Path) -> None:
    """No path of this machine is an id, and no span is from 1970."""
    for name in ("none.jsonl", "some.jsonl"):
        times = [] if name.startswith("none") else [1]
        lines = [
            {**message, **({"timestamp": "2026-03-01T00:00:00Z"} if at in times else {})}
            for at, message in enumerate(SESSION)
        ]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        spans = exported(tmp_path / name, "otlp", tmp_path / f"{name}.otlp")["resourceSpans"][0]
        trajectory = exported(tmp_path / name, "atif", tmp_path / f"{name}.atif")
        assert str(tmp_path) not in json.dumps([spans, trajectory])
        assert trajectory["session_id"] == name.removesuffix(".jsonl")
        begun = [int(span["startTimeUnixNano"]) for span in spans["scopeSpans"][0]["spans"]]
        assert min(begun) > 1_700_000_000_000_000_000
        assert not times or {*begun} == {int(datetime(2026, 3, 1, tzinfo=UTC).timestamp()) * 1_000_000_000}
