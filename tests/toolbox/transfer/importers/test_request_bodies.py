"""Bodies of requests: Anthropic, OpenAI Chat Completions and Responses; which of them a file is."""

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.forms.request_bodies import to_openai_responses
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from tests.support.imports import history_and_view, imported, records, texts, write_jsonl
from tests.support.sweeps import proof

Message = dict[str, Any]


def document(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=2))
    return path


USE = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "gone", "is_error": True}
ANTHROPIC = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, USE]},
    {"role": "user", "content": [RESULT, {"type": "text", "text": "and now"}]},
]
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}
CHAT = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        ],
    },
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "gone"}]},
]
ITEMS = [
    {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
    {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "E"},
    {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "gone"},
    {"type": "web_search_call", "id": "w"},
    {"type": "compaction", "encrypted_content": "E"},
]
SCREEN = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA"}
FAILED_CHUNK = {"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 1}}
NATIVE = [
    {"role": "user", "content": [{"type": "input_file", "file_data": "AA", "filename": "a.pdf"}]},
    {"type": "mcp_call", "id": "m", "name": "lookup", "arguments": "{}", "output": "found"},
    {"type": "computer_call", "id": "cu", "call_id": "c1", "action": {"type": "screenshot"}},
    {"type": "computer_call_output", "call_id": "c1", "output": SCREEN},
    {"type": "shell_call", "call_id": "c2", "action": {"commands": ["ls"]}},
    {"type": "shell_call_output", "call_id": "c2", "output": [FAILED_CHUNK]},
    {"type": "apply_patch_call", "call_id": "c3", "operation": {"type": "update_file", "path": "a"}},
    {"type": "apply_patch_call_output", "call_id": "c3", "status": "failed", "output": "no such file"},
    {"role": "user", "content": "go on"},
]


@proof
async def test_results_in_an_anthropic_user_message_are_results(tmp_path: Path) -> None:
    """In a body, a list and lines alike; the text beside them is a person's, and the view calls nothing interrupted."""
    body = {
        "model": "claude-x",
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "read"}],
        "messages": ANTHROPIC,
    }
    said = ["user: go", "assistant: thinking read", "tool: gone", "user: and now"]
    for source in (
        document(tmp_path / "body.json", body),
        document(tmp_path / "cline.json", ANTHROPIC),
        write_jsonl(tmp_path / "lines.jsonl", ANTHROPIC),
    ):
        report = imported(source)
        assert report.format == "anthropic"
        history, view = await history_and_view(report.path)
        assert texts(history)[-4:] == said
        assert history[-2]["metadata"]["is_error"] is True
        assert "interrupted" not in json.dumps(view)
    header = records(tmp_path / "imported" / "body.jsonl", "header")[0]
    assert (header["source"]["tools"], header["source"]["model"]) == ([{"name": "read"}], "claude-x")
    assert texts((await history_and_view(tmp_path / "imported" / "body.jsonl"))[0])[0] == "system: Be brief."


async def test_a_malformed_block_loses_none_of_the_others(tmp_path: Path) -> None:
    """A call without an id gets one; what is beside it is read, and so is a damaged result."""
    answer = [USE, {"type": "tool_use", "name": "nameless"}, {"type": "text", "text": "working"}]
    given = [{"type": "text", "text": "and now"}, {**RESULT, "content": [None, {"type": "text", "text": "gone"}, 7]}]
    messages = [{"role": "assistant", "content": answer}, {"role": "user", "content": given}]
    report = imported(document(tmp_path / "body.json", {"system": "s", "messages": messages}))
    history, _ = await history_and_view(report.path)
    assert history[1]["content"] == "working"
    assert history[1]["tool_calls"] == [
        {"id": "t1", "tool": "read", "arguments": {"path": "a"}},
        {"id": "anthropic-1-call2", "tool": "nameless", "arguments": {}},
    ]
    assert history[2]["content"] == [{"type": "text", "text": "gone"}, {"type": "text", "text": "7"}]
    assert texts(history)[3] == "user: and now"


@proof
async def test_chat_completions(tmp_path: Path) -> None:
    """Arguments are parsed, images become blocks; the older `function_call` gets an id."""
    older = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}},
        {"role": "function", "name": "read", "content": "gone"},
    ]
    report = imported(document(tmp_path / "chat.json", {"model": "gpt-4o", "messages": CHAT}))
    assert report.format == "openai"
    history, _ = await history_and_view(report.path)
    assert texts(history) == ["system: Be brief.", "user: look image", "assistant: read", "tool: gone"]
    assert history[2]["tool_calls"] == [{"id": "c1", "tool": "read", "arguments": {"path": "a"}}]
    assert history[1]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "AA"}
    history, view = await history_and_view(imported(document(tmp_path / "older.json", older)).path)
    assert "interrupted" not in json.dumps(view)
    assert history[2]["tool_call_id"] == history[1]["tool_calls"][0]["id"]


@proof
async def test_responses(tmp_path: Path) -> None:
    """Items of an answer are one message, a server's calls too; other items are kept; `input` may be a text."""
    for source in (
        document(tmp_path / "body.json", {"model": "gpt-5", "instructions": "Be brief.", "input": ITEMS}),
        write_jsonl(tmp_path / "lines.jsonl", ITEMS),
    ):
        report = imported(source)
        assert (report.format, report.account.metadata) == ("openai", {"compaction": 1})
        history, _ = await history_and_view(report.path)
        assert texts(history)[-4:-1] == ["user: go", "assistant: thinking read", "tool: gone"]
        assert history[-1]["content"] == [ITEMS[4]]
    text = imported(document(tmp_path / "text.json", {"input": "just this"}))
    assert texts((await history_and_view(text.path))[0]) == ["user: just this"]


async def test_native_tools_of_responses(tmp_path: Path) -> None:
    """Calls that the client answers are calls with results; those of the server go back to OpenAI as they came."""
    report = imported(document(tmp_path / "body.json", {"input": NATIVE}))
    assert not report.account.metadata
    history, view = await history_and_view(report.path)
    document_block, (item,) = history[0]["content"][0], history[1]["content"]
    assert (document_block["type"], document_block["title"]) == ("document", "a.pdf")
    assert item == NATIVE[1]
    assert NATIVE[1] in to_openai_responses(view)["input"]
    calls = [call for message in history for call in message.get("tool_calls", ())]
    assert [call["tool"] for call in calls] == ["computer", "shell", "apply_patch"]
    assert calls[0]["arguments"] == {"type": "screenshot"}
    results = {message["tool_call_id"]: message for message in history if message["role"] == "tool"}
    assert [block.keys() for block in results["c1"]["content"]] == [{"type", "source"}]
    assert [block["text"] for block in results["c2"]["content"]] == ["a", "b"]
    failed = [call_id for call_id, message in results.items() if message["metadata"].get("is_error")]
    assert failed == ["c2", "c3"]


@proof(quick=1)
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([{"role": "user", "content": "hi"}], "jsonl"),
        ([{"role": "user", "content": "hi", "timestamp": "2026-01-01T00:00:00Z"}], "older"),
        (ANTHROPIC, "anthropic"),
        (ITEMS, "openai"),
        (CHAT[1:2], "openai"),
        ([{"role": "user", "content": "x", "_crc": "00000000"}], "log"),
    ],
)
def test_lines_are_recognised_by_their_content(tmp_path: Path, messages: list[Message], expected: str) -> None:
    """Whatever the file's name says; a format that is named is taken."""
    source = write_jsonl(tmp_path / "rollout.zst.json", messages)
    assert import_session(source, path=tmp_path / "new").format == expected
    assert import_session(source, path=tmp_path / "other", source_format="openai").format == "openai"


@pytest.mark.parametrize(
    "foreign",
    [
        {"role": "tool", "tool_call_id": "c", "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": "t", "arguments": {}}]},
    ],
    ids=["result", "call"],
)
def test_messages_with_results_or_calls_of_their_own_are_not_anthropics(tmp_path: Path, foreign: Any) -> None:
    """Anthropic's are blocks; other programs write such blocks beside results and calls of their own."""
    anthropics = [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "t", "input": {}}]},
    ]
    source = tmp_path / "messages.json"
    source.write_text(json.dumps([*anthropics, foreign]))
    assert imported(source, tmp_path / "log.jsonl").format != "anthropic"


async def test_what_cline_adds_to_a_persons_words_is_not_the_persons(tmp_path: Path) -> None:
    """Its environment is a message of the program, and so are results that it writes as texts."""
    environment = "<environment_details>\n# Files\n</environment_details>"
    messages = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "<task>go</task>"}, {"type": "text", "text": environment}],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "ls", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "out"},
                {"type": "text", "text": environment},
            ],
        },
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": f"[read_file for 'a'] Result:\nthe file\n\n{environment}"},
        {"role": "user", "content": f"thanks\n\n{environment}"},
        {"type": "reasoning", "encrypted_content": "x", "summary": []},
    ]
    path = tmp_path / "api_conversation_history.json"
    path.write_text(json.dumps(messages))
    report = imported(path)
    history, _ = await history_and_view(report.path)
    persons = [one["content"] for one in history if one["role"] == "user" and "source" not in one["metadata"]]
    assert persons == ["<task>go</task>", "thanks"]
    programs = [one["content"] for one in history if one["metadata"].get("source") == "cline:environment"]
    assert programs[:2] == [environment, environment]
    assert "the file" in json.dumps(programs[2])
    assert programs[3] == environment
    assert report.account.metadata == {"reasoning": 1}


async def test_summaries_of_roo_code_are_compactions(tmp_path: Path) -> None:
    """Views go on from the summary and what it did not replace; a mark of left-out messages is one too."""

    def said(text: str, **more: Any) -> dict[str, Any]:
        return {"role": "user", "content": [{"type": "text", "text": text}], "ts": 1_770_000_000_000, **more}

    messages = [
        said("task"),
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
            "condenseParent": "c",
        },
        said("one", condenseParent="c"),
        {"role": "assistant", "content": "Summed up.", "isSummary": True, "condenseId": "c"},
        said("two", truncationParent="t"),
        said("Left out: 1", isTruncationMarker=True, truncationId="t"),
        said("three"),
    ]
    path = tmp_path / "api_conversation_history.json"
    path.write_text(json.dumps(messages))
    report = imported(path)
    history, view = await history_and_view(report.path)
    assert texts(history) == ["user: task", "assistant: thinking", "user: one", "user: two", "user: three"]
    assert texts(view) == ["user: <summary>\nLeft out: 1\n</summary>", "user: task", "user: three"]
    assert sum(one.compactions for one in report.sessions) == 2


def test_a_file_of_cline_without_calls_is_one_of_cline(tmp_path: Path) -> None:
    """Its messages have texts alone; the environment shows what wrote them."""
    words = "go\n\n<environment_details>x</environment_details>"
    report = imported(document(tmp_path / "m.json", [{"role": "user", "content": words}]))
    assert (report.format, report.messages) == ("anthropic", 2)


async def test_spoken_words_are_text(tmp_path: Path) -> None:
    """The transcript of an answer beside its text, and of parts whose sound is in the file or not."""
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}, "transcript": "and this"}
    messages = [
        {"role": "user", "content": [{"type": "input_audio", "transcript": "read this", "audio": None}, sound]},
        {"role": "assistant", "content": "Reading.", "audio": {"id": "a", "transcript": "I read it aloud."}},
        {"role": "user", "content": "on"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_audio", "transcript": "Done."}]},
    ]
    history, _ = await history_and_view(imported(document(tmp_path / "m.json", messages)).path)
    assert texts(history) == [
        "user: read this and this audio",
        "assistant: Reading. I read it aloud.",
        "user: on",
        "assistant: Done.",
    ]


def test_a_message_of_no_role_of_anthropics_is_lost_by_name_and_nothing_else(tmp_path: Path) -> None:
    """And an encrypted reasoning is kept; what comes after them is read."""
    body = {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "one"},
            {"role": "critic", "content": "hm"},
            {"type": "reasoning", "encrypted_content": "x"},
            {"role": "assistant", "content": "two"},
            {"role": "user", "content": []},
        ],
    }
    path = tmp_path / "body.json"
    path.write_text(json.dumps(body))
    report = imported(path)
    assert [(loss.line, loss.reason) for loss in report.account.lost] == [(2, "a message of the role 'critic'")]
    assert dict(report.account.mapped) == {"user": 1, "assistant": 1}
