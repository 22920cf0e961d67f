"""Codex rollouts of mid-2025, whose lines have no envelope."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.imports import history_and_view, imported, imported_history, records, texts, write_jsonl

Entry = dict[str, Any]
FIRST: Entry = {
    "id": "019d-5",
    "timestamp": "2025-06-01T10:00:00Z",
    "instructions": "Be nice.",
    "git": {"branch": "m", "commit_hash": "c"},
}
STATE: Entry = {"record_type": "state"}


def message(role: str, text: str, **more: Any) -> Entry:
    part = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "id": None, "role": role, "content": [{"type": part, "text": text}], **more}


TALK: list[Entry] = [
    message("user", "<environment_context>\n  <cwd>/home/u/app</cwd>\n</environment_context>"),
    STATE,
    message("user", "list the files"),
    {"id": "rs_1", "type": "reasoning", "summary": [], "content": None, "encrypted_content": "E"},
    {"type": "function_call", "id": "fc_1", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "k1"},
    {"type": "function_call_output", "call_id": "k1", "output": "a.py"},
    STATE,
    message("assistant", "There is one."),
]
TEXTS = ["user: list the files", "assistant: thinking shell", "tool: a.py", "assistant: There is one."]


@pytest.mark.parametrize("source_format", ["auto", "codex"])
@pytest.mark.parametrize("has_marks", [True, False], ids=["", "without marks"])
async def test_lines_without_an_envelope_are_read(tmp_path: Path, source_format: str, has_marks: bool) -> None:
    """With the facts of the first line, and the directory that the program told its model."""
    entries = [FIRST, *(entry for entry in TALK if has_marks or entry is not STATE)]
    report = imported(write_jsonl(tmp_path / "r.jsonl", entries), source_format=source_format)
    history, _ = await history_and_view(report.path)
    assert report.format == "codex"
    assert texts(history)[2:] == TEXTS
    assert texts(history)[0] == "system: Be nice."
    assert [one["metadata"].get("source") for one in history[1:3]] == ["codex:context", None]
    (header,) = records(report.path, "header")
    source = header["source"]
    assert (source["session_id"], source["cwd"], source["git_branch"]) == ("019d-5", "/home/u/app", "m")
    assert report.account.not_conversational == ({"state": 2} if has_marks else {})
    assert not report.lost


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("source_format", ["auto", "codex"])
async def test_a_document_of_the_first_version_is_read(tmp_path: Path, source_format: str, indent: int | None) -> None:
    """Its session and its items say what the lines of later versions say."""
    items = [entry for entry in TALK if entry is not STATE]
    source = tmp_path / "rollout-2025-04-20-019d-5.json"
    source.write_text(json.dumps({"session": {**FIRST, "git": None}, "items": items}, indent=indent))
    report = imported(source, source_format=source_format)
    history, _ = await history_and_view(report.path)
    assert texts(history)[2:] == TEXTS
    assert texts(history)[0] == "system: Be nice."
    (header,) = records(report.path, "header")
    assert (header["imported_from"], header["source"]["session_id"], header["source"]["cwd"]) == (
        "codex",
        "019d-5",
        "/home/u/app",
    )
    assert not report.lost


async def test_the_older_form_of_the_directory(tmp_path: Path) -> None:
    """Up to August 2025 it is a line of text."""
    told = "<environment_context>\n\nCurrent working directory: /home/u/my app\nApproval policy: never\n"
    report, _, _ = await imported_history(tmp_path / "r.jsonl", [FIRST, message("user", told), message("user", "q")])
    (header,) = records(report.path, "header")
    assert header["source"]["cwd"] == "/home/u/my app"


async def test_a_session_that_a_newer_version_went_on_with(tmp_path: Path) -> None:
    """Lines of both forms are one session."""
    newer = {"timestamp": "2025-09-20T10:00:00Z", "type": "response_item", "payload": message("user", "and now?")}
    report, history, _ = await imported_history(tmp_path / "r.jsonl", [FIRST, *TALK, newer])
    assert texts(history)[2:] == [*TEXTS, "user: and now?"]
    assert report.format == "codex"


def test_items_alone_are_openais(tmp_path: Path) -> None:
    """Without the first line and the marks of the program, nothing says that Codex wrote them."""
    talk = [entry for entry in TALK if entry is not STATE]
    assert import_session(write_jsonl(tmp_path / "items.jsonl", talk), path=tmp_path / "log").format == "openai"


@pytest.mark.parametrize("more", [{"object": "assistant"}, {"timestamp": 1748772000}], ids=["other keys", "a number"])
def test_another_object_with_instructions_is_no_rollout(tmp_path: Path, more: Entry) -> None:
    with pytest.raises(ImportRefusedError, match="no message in it"):
        import_session(write_jsonl(tmp_path / "one.json", [{**FIRST, **more}]), path=tmp_path / "log")


def test_a_second_first_line_begins_another_session(tmp_path: Path) -> None:
    other = {**FIRST, "id": "other", "timestamp": "2025-06-02T10:00:00Z"}
    with pytest.raises(ImportRefusedError, match="line 10 begins another session"):
        import_session(write_jsonl(tmp_path / "r.jsonl", [FIRST, *TALK, other, *TALK]), path=tmp_path / "log")
