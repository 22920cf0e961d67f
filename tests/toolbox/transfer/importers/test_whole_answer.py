"""A single answer of a provider's API, in a file of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.imports import history_and_view, imported, texts
from tests.support.sweeps import proof

CALL = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": '{"p": 1}'}}
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_770_000_000,
    "model": "m",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "hi", "tool_calls": [CALL]}, "finish_reason": "stop"},
        {"index": 1, "message": {"role": "assistant", "content": "other"}, "finish_reason": "stop"},
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2},
}
USE = {"type": "tool_use", "id": "c", "name": "ls", "input": {"p": 1}}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "hi"}, USE],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
GEMINI = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [{"text": "hi"}, {"functionCall": {"id": "c", "name": "ls", "args": {"p": 1}}}],
            },
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
    "modelVersion": "m",
}
BEDROCK = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [{"text": "hi"}, {"toolUse": {"toolUseId": "c", "name": "ls", "input": {"p": 1}}}],
        }
    },
    "stopReason": "tool_use",
    "usage": {"inputTokens": 3, "outputTokens": 2},
}


@proof(quick=1)
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "answer", [COMPLETION, MESSAGE, GEMINI, BEDROCK], ids=["chat", "anthropic", "gemini", "bedrock"]
)
async def test_an_answer_is_a_session_of_one_message(
    tmp_path: Path, answer: dict[str, Any], indent: int | None
) -> None:
    """With its text, its call, and what it cost; other choices are lost by name."""
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(answer, indent=indent))
    report = imported(path)
    history, _ = await history_and_view(report.path)
    assert report.format == "answer"
    assert texts(history) == ["assistant: hi ls"]
    [called] = history[0]["tool_calls"]
    assert (called["id"], called["arguments"]) == ("c", {"p": 1})
    usage = history[0]["metadata"]["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (3, 2)
    assert len(report.not_carried) == len(answer.get("choices", [1])) - 1


def test_a_malformed_answer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps({"choices": [{"delta": {}}, {"message": {"role": "assistant", "content": "x"}}]}))
    with pytest.raises(ImportRefusedError, match="no choice with a message"):
        import_session(path, path=tmp_path / "log.jsonl")


@pytest.mark.parametrize(("answer", "others"), [(COMPLETION, 1), (GEMINI, 2)], ids=["choices", "candidates"])
def test_other_choices_of_an_answer_are_named(tmp_path: Path, answer: dict[str, Any], others: int) -> None:
    """With the line that they are in; the first one is the session's. One choice alone is all of the answer."""
    key = "choices" if "choices" in answer else "candidates"
    path = tmp_path / "answer.json"
    path.write_text(json.dumps({**answer, key: [answer[key][0]] * (others + 1)}))
    account = imported(path).account
    assert [(loss.line, loss.reason) for loss in account.lost] == [
        (1, f"{others} other choices of the answer: the first one is the session's")
    ]
    (tmp_path / "one").mkdir()
    path = tmp_path / "one" / "answer.json"
    path.write_text(json.dumps({**answer, key: [answer[key][0]]}))
    assert imported(path).account.lost == []
