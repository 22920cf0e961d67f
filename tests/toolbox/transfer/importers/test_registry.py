"""What a file is: what is known and not read is refused by name; nothing is stored that says nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.imports import imported_history, texts, write_jsonl
from tests.support.sweeps import proof

LANGCHAIN = {"type": "human", "data": {"content": "go", "type": "human"}}
PYDANTIC = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "go"}]}


OTHERS = {
    "LangChain": {"type": "human", "content": "go"},
    "Amp": {"v": 5, "id": "T-1", "messages": [{"role": "user", "content": [{"type": "text", "text": "go"}]}]},
    "Droid": {"type": "session_start", "id": "d", "cwd": "/w"},
    "Zed": {"version": "0.3.0", "messages": [{"User": {"content": [{"Text": "go"}]}}]},
    "Crush": {"role": "user", "parts": [{"type": "text", "data": {"text": "go"}}]},
    "Continue": {"sessionId": "s", "history": [{"message": {"role": "user", "content": "go"}}]},
    "Kiro": {"conversation_id": "c", "history": [{"user": {"content": {"Prompt": {"prompt": "go"}}}}]},
    "Agent Development Kit": {"appName": "a", "events": [{"content": {"parts": [{"text": "go"}]}}]},
    "VS Code": {"requesterUsername": "u", "requests": [{"message": {"text": "go"}}]},
    "Open WebUI": {"id": "c", "chat": {"history": {"messages": {}}, "messages": []}},
    "LibreChat": {"conversationId": "c", "messages": [{"text": "go"}]},
    "LM Studio": {"name": "c", "messages": [{"versions": [{"role": "user"}]}]},
    "AutoGen": {"source": "user", "content": "go", "models_usage": None},
    "ShareGPT": {"conversations": [{"from": "human", "value": "go"}]},
    "api_conversation_history": {"ts": 1, "type": "say", "say": "text", "text": "go"},
    "--from gemini-cli": {"sessionId": "s", "messageId": 0, "type": "user", "message": "go"},
    "batch": {"custom_id": "1", "body": {"messages": [{"role": "user", "content": "go"}]}},
    "stream": {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "a"}}]},
}


@proof(quick=4)
@pytest.mark.parametrize("is_lines", [True, False], ids=["lines", "document"])
@pytest.mark.parametrize("named", OTHERS)
def test_a_file_of_another_program_is_refused_with_what_it_is(tmp_path: Path, named: str, *, is_lines: bool) -> None:
    """And with what to do; none is read as a format that it resembles."""
    one = OTHERS[named]
    path = tmp_path / "chat.json"
    path.write_text(f"{json.dumps(one)}\n{json.dumps(one)}\n" if is_lines else json.dumps(one, indent=1))
    with pytest.raises(ImportRefusedError, match=named):
        import_session(path, path=tmp_path / "log.jsonl")


def test_a_chat_as_text_is_refused_as_such(tmp_path: Path) -> None:
    path = tmp_path / "chat.md"
    path.write_text("# aider chat started at 2026-01-01\n\n#### go\n\nok\n")
    with pytest.raises(ImportRefusedError, match="plain text or Markdown is not read"):
        import_session(path, path=tmp_path / "log.jsonl")


@proof(quick=1)
@pytest.mark.parametrize("is_list", [True, False], ids=["list", "lines"])
@pytest.mark.parametrize(
    ("message", "named"),
    [(LANGCHAIN, "LangChain"), (PYDANTIC, "Pydantic AI")],
    ids=["langchain", "pydantic"],
)
def test_what_is_known_and_not_read_is_refused_by_name(
    tmp_path: Path, message: Any, named: str, *, is_list: bool
) -> None:
    path = tmp_path / "messages.json"
    path.write_text(json.dumps([message, message]) if is_list else f"{json.dumps(message)}\n{json.dumps(message)}\n")
    with pytest.raises(ImportRefusedError, match=named):
        import_session(path, path=tmp_path / "log.jsonl")


def test_an_unknown_file_is_refused_with_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "messages.json"
    path.write_text('[{"speaker": "me", "utterance": "go"}]')
    with pytest.raises(ImportRefusedError, match="it begins with an object that has speaker, utterance"):
        import_session(path, path=tmp_path / "log.jsonl")


async def test_a_message_that_says_nothing_is_lost_by_name(tmp_path: Path) -> None:
    """Another program's message has a role, and what it says under a name of its own."""
    lines = [{"role": "user", "content": "go"}, {"role": "assistant", "utterance": "on it"}]
    report, history, _ = await imported_history(tmp_path / "messages.jsonl", lines)
    assert texts(history) == ["user: go"]
    assert [(one.line, one.reason) for one in report.account.lost] == [
        (2, "a message without content: it has role, utterance")
    ]


async def test_a_transcript_of_cursor(tmp_path: Path) -> None:
    """Its calls have no ids and no results; they are calls all the same."""
    lines = [
        {"role": "user", "message": {"content": [{"type": "text", "text": "list it"}]}},
        {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Shell", "input": {"c": "ls"}}]}},
        {"role": "assistant", "message": {"content": []}},
        {"role": "system"},
    ]
    report, history, _ = await imported_history(tmp_path / "chat.jsonl", lines)
    assert report.format == "cursor"
    assert texts(history) == ["user: list it", "assistant: Shell"]
    assert [(one.line, one.reason) for one in report.account.lost] == [
        (4, "no message of a user or an assistant: it has role")
    ]


def test_a_file_of_nothing_but_strange_messages_is_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "m.jsonl", [{"role": "user", "utterance": "go"}])
    with pytest.raises(ImportRefusedError, match="begins with an object that has role, utterance"):
        import_session(path, path=tmp_path / "log.jsonl")


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"PK\x03\x04\x14\0", "zip archive"), (b"SQLite format 3\0\x10", "SQLite")],
    ids=["zip", "sqlite"],
)
def test_what_holds_sessions_and_is_no_text_is_told_with_what_to_do(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "export"
    path.write_bytes(content)
    with pytest.raises(ImportRefusedError, match=told):
        import_session(path, path=tmp_path / "log.jsonl")
