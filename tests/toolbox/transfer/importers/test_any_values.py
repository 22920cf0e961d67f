"""Entries whose fields hold anything: each importer gives an account or a reason, and never an error of its own."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.errors import ContextPersistentError
from tests.support.imports import history_and_view, imported, write_jsonl
from tests.support.sweeps import proof, some

TIME = "2026-01-01T00:00:00Z"
USAGE = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3, "input": 1, "cost": {"total": 1}}
BLOCKS = [
    {"type": "text", "text": "a", "thinking": "b"},
    {"type": "thinking", "thinking": "t", "signature": "s", "thinkingSignature": "s"},
    {"type": "tool_use", "id": "c", "name": "n", "input": {"a": 1}},
    {"type": "toolCall", "id": "c", "name": "n", "arguments": {"a": 1}},
    {"type": "image", "source": {"type": "base64", "data": "AA", "media_type": "image/png"}, "data": "AA"},
]
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "r"}], "is_error": True}


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": TIME, "type": kind, "payload": payload}


LINES: dict[str, list[Any]] = {
    "claude-code": [
        {"type": "user", "uuid": "1", "message": {"content": "hi"}, "cwd": "/w", "sessionId": "s", "timestamp": TIME},
        {
            "type": "assistant",
            "uuid": "2",
            "parentUuid": "1",
            "message": {"id": "m", "content": BLOCKS, "usage": USAGE},
        },
        {
            "type": "user",
            "uuid": "3",
            "parentUuid": "2",
            "message": {"content": [RESULT]},
            "toolUseResult": {"agentId": "x"},
        },
        {"type": "user", "uuid": "4", "isCompactSummary": True, "message": {"content": "sum"}, "parentUuid": "3"},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "p", "commandMode": "prompt"}},
        {"type": "user", "uuid": "6", "isSidechain": True, "agentId": "z", "message": {"content": "side"}},
    ],
    "codex": [
        line(
            "session_meta",
            id="s",
            git={"branch": "b"},
            base_instructions={"text": "t"},
            source={"subagent": {"thread_spawn": {}}},
        ),
        line("response_item", type="message", role="user", content=[{"type": "input_text", "text": "hi"}]),
        line("event_msg", type="user_message", message="hi"),
        line("response_item", type="reasoning", summary=[{"type": "summary_text", "text": "x"}], encrypted_content="e"),
        line("response_item", type="function_call", name="f", arguments="{}", call_id="c"),
        line("event_msg", type="token_count", info={"last_token_usage": {"input_tokens": 4}}),
        line("response_item", type="function_call_output", call_id="c", output={"content": "o", "success": False}),
        line("compacted", message="m", replacement_history=[{"role": "user", "content": []}]),
        line("event_msg", type="thread_rolled_back", num_turns=1),
    ],
    "gemini-cli": [
        {"sessionId": "s", "projectHash": "h", "startTime": TIME},
        {"id": "1", "type": "user", "content": [{"text": "hi"}], "timestamp": TIME},
        {
            "id": "2",
            "type": "gemini",
            "content": "x",
            "thoughts": [{"subject": "s", "description": "d"}],
            "tokens": {"input": 1},
            "toolCalls": [
                {
                    "id": "c",
                    "name": "n",
                    "args": {},
                    "status": "success",
                    "result": [{"functionResponse": {"response": {"output": "o"}}}],
                }
            ],
        },
        {"$set": {"summary": "t", "messages": [{"id": "3", "type": "user", "content": "y"}]}},
        {"id": "4", "type": "gemini", "content": [{"functionCall": {"id": "k", "name": "n", "args": {}}}]},
        {"id": "5", "type": "user", "content": [{"functionResponse": {"id": "k", "response": {"output": "o"}}}]},
        {"$set": {"messages": [{"id": "4", "type": "gemini", "content": "z"}, {"id": "5", "type": "user"}]}},
        {"$rewindTo": "2"},
    ],
    "pi": [
        {"type": "session", "id": "s", "cwd": "/w", "version": 3},
        {
            "type": "message",
            "id": "1",
            "parentId": None,
            "timestamp": TIME,
            "message": {"role": "user", "content": "hi"},
        },
        {
            "type": "message",
            "id": "2",
            "parentId": "1",
            "message": {"role": "assistant", "content": BLOCKS, "usage": USAGE},
        },
        {
            "type": "message",
            "id": "3",
            "parentId": "2",
            "message": {"role": "toolResult", "toolCallId": "c", "content": []},
        },
        {
            "type": "compaction",
            "id": "4",
            "parentId": "3",
            "summary": "s",
            "firstKeptEntryId": "2",
            "tokensBefore": 9,
            "timestamp": TIME,
        },
        {
            "type": "message",
            "id": "5",
            "parentId": "1",
            "message": {"role": "bashExecution", "command": "ls", "output": "o"},
        },
    ],
    "copilot-cli": [
        {"type": "session.start", "data": {"sessionId": "s", "context": {"cwd": "/w"}}, "id": "1", "timestamp": TIME},
        {"type": "user.message", "data": {"content": "hi", "attachments": []}, "id": "2"},
        {
            "type": "assistant.message",
            "data": {"content": "a", "toolRequests": [{"toolCallId": "c", "name": "n", "arguments": {}}]},
        },
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "c", "success": True, "result": {"content": "r"}},
            "agentId": "q",
        },
    ],
    "anthropic": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": BLOCKS, "usage": USAGE, "metadata": {"timestamp": TIME}},
        {"role": "user", "content": [RESULT, {"type": "text", "text": "and"}]},
    ],
    "openai": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}}]},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": "{}"}}],
            "reasoning_content": "r",
        },
        {"role": "tool", "tool_call_id": "c", "content": "r"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}]},
        {"type": "function_call", "call_id": "d", "name": "n", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "d", "output": [{"type": "input_text", "text": "x"}]},
    ],
}
DOCUMENTS: dict[str, Any] = {
    "atif": {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": {"name": "a", "tool_definitions": [{}]},
        "final_metrics": {},
        "steps": [
            {
                "step_id": 1,
                "source": "user",
                "message": [{"type": "image", "source": {"path": "p", "media_type": "m"}}],
            },
            {
                "step_id": 2,
                "source": "agent",
                "message": "x",
                "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {}}],
                "observation": {
                    "results": [
                        {"source_call_id": "c", "content": "o", "subagent_trajectory_ref": [{"trajectory_id": "t"}]}
                    ]
                },
                "metrics": {"prompt_tokens": 5, "extra": {"cache_write_tokens": 1}},
                "extra": {"context_persistent": {"message_id": "i"}},
            },
            {
                "step_id": 3,
                "source": "system",
                "message": "s",
                "extra": {"context_management": {"boundary": "replace"}, "context_persistent": {"keep": [["i", "i"]]}},
            },
        ],
        "subagent_trajectories": [{"trajectory_id": "t", "agent": {}, "steps": [{"source": "user", "message": "u"}]}],
    },
    "opencode": {
        "info": {"id": "s", "directory": "/w"},
        "messages": [
            {
                "info": {"id": "1", "role": "user", "time": {"created": 1}},
                "parts": [{"type": "text", "text": "hi", "synthetic": True}],
            },
            {
                "info": {
                    "id": "2",
                    "role": "assistant",
                    "tokens": {"input": 1, "cache": {"read": 1}},
                    "error": {"name": "x"},
                },
                "parts": [
                    {"type": "reasoning", "text": "r", "metadata": {"a": {"signature": "s"}}},
                    {
                        "type": "tool",
                        "callID": "c",
                        "tool": "t",
                        "state": {"status": "completed", "input": {}, "output": "o", "time": {"end": 5}},
                    },
                    {"type": "file", "mime": "image/png", "url": "u"},
                ],
            },
        ],
    },
    "gemini-cli": {"sessionId": "s", "projectHash": "h", "messages": LINES["gemini-cli"][1:3]},
    "openai": {
        "model": "m",
        "instructions": "i",
        "input": LINES["openai"],
        "tools": [{"name": "n"}],
        "usage": {"input_tokens": 1},
    },
    "anthropic": {"model": "m", "system": [{"type": "text", "text": "s"}], "messages": LINES["anthropic"]},
}
LINES |= {
    "claude-stream": [
        {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w", "tools": ["Bash"]},
        {"type": "user", "session_id": "s", "message": {"role": "user", "content": "go"}, "uuid": "u"},
        {
            "type": "assistant",
            "session_id": "s",
            "message": {
                "id": "m",
                "model": "x",
                "content": [{"type": "tool_use", "id": "t", "name": "Task", "input": {}}],
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        },
        {
            "type": "assistant",
            "session_id": "s",
            "parent_tool_use_id": "t",
            "message": {"id": "i", "content": [{"type": "text", "text": "in"}]},
        },
        {
            "type": "user",
            "session_id": "s",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"text": "x"}]}]},
            "tool_use_result": {"agentId": "a"},
        },
        {"type": "system", "session_id": "s", "subtype": "compact_boundary", "compact_metadata": {"pre_tokens": 3}},
        {"type": "user", "session_id": "s", "isSynthetic": True, "message": {"content": "so far"}},
        {"type": "result", "session_id": "s", "result": "done", "usage": {"input_tokens": 1}},
    ],
    "codex-exec": [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
        {"type": "item.started", "item": {"id": "item_0", "type": "command_execution", "command": "ls"}},
        {
            "type": "item.completed",
            "item": {
                "id": "item_0",
                "type": "command_execution",
                "command": "ls",
                "aggregated_output": "a",
                "exit_code": 0,
                "status": "completed",
            },
        },
        {"type": "item.completed", "item": {"id": "item_1", "type": "reasoning", "text": "hm"}},
        {
            "type": "item.completed",
            "item": {
                "id": "item_2",
                "type": "mcp_tool_call",
                "server": "s",
                "tool": "t",
                "arguments": {"a": 1},
                "result": {"content": [{"type": "text", "text": "x"}], "structured_content": {"a": 1}},
                "error": {"message": "no"},
                "status": "completed",
            },
        },
        {
            "type": "item.completed",
            "item": {"id": "i", "type": "collab_tool_call", "tool": "wait", "agents_states": {"a": {"status": "x"}}},
        },
        {"type": "item.completed", "item": {"id": "item_3", "type": "agent_message", "text": "done"}},
        {"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 2}},
        {"type": "turn.failed", "error": {"message": "x"}},
    ],
    "goose": [
        {"working_dir": "/w", "description": "d", "message_count": 2, "accumulated_input_tokens": 5},
        {"id": "g", "role": "user", "created": 1, "content": [{"type": "text", "text": "go"}], "metadata": {}},
        {
            "role": "assistant",
            "created": 2,
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {
                    "type": "toolRequest",
                    "id": "t",
                    "toolCall": {"status": "success", "value": {"name": "n", "arguments": {"a": 1}}},
                },
                {"type": "systemNotification", "msg": "x"},
            ],
            "metadata": {"userVisible": True, "agentVisible": False},
        },
        {
            "role": "user",
            "created": 3,
            "content": [
                {
                    "type": "toolResponse",
                    "id": "t",
                    "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "x"}]}},
                }
            ],
            "metadata": {"userVisible": False, "agentVisible": True},
        },
    ],
    "qwen-code": [
        {
            "uuid": "1",
            "parentUuid": None,
            "sessionId": "s",
            "timestamp": TIME,
            "type": "user",
            "message": {"role": "user", "parts": [{"text": "go"}]},
        },
        {
            "uuid": "2",
            "parentUuid": "1",
            "sessionId": "s",
            "type": "assistant",
            "model": "m",
            "usageMetadata": {"promptTokenCount": 1},
            "message": {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "n", "args": {}}}]},
        },
        {
            "uuid": "3",
            "parentUuid": "2",
            "sessionId": "s",
            "type": "tool_result",
            "message": {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "n", "response": {}}}]},
            "toolCallResult": {"status": "error"},
        },
        {
            "uuid": "4",
            "parentUuid": "3",
            "sessionId": "s",
            "type": "system",
            "subtype": "chat_compression",
            "systemPayload": {"compressedHistory": [{"role": "user", "parts": [{"text": "x"}]}]},
        },
        {
            "uuid": "5",
            "sessionId": "s",
            "type": "user",
            "isSidechain": True,
            "agentId": "a",
            "message": {"parts": ["x"]},
        },
    ],
    "vercel-ai": [
        {
            "id": "1",
            "role": "user",
            "ts": 1,
            "content": [{"type": "text", "text": "go"}, {"type": "image", "image": "iVBO", "mediaType": "image/png"}],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "s"}}},
                {"type": "tool-call", "toolCallId": "c", "toolName": "n", "input": {"a": 1}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c",
                    "toolName": "n",
                    "output": {"type": "content", "value": [{"type": "image-data", "data": "iVBO"}]},
                }
            ],
        },
        {
            "id": "2",
            "role": "assistant",
            "metadata": {"createdAt": 1},
            "parts": [
                {"type": "step-start"},
                {
                    "type": "tool-n",
                    "toolCallId": "d",
                    "state": "output-denied",
                    "input": {},
                    "approval": {"reason": "x"},
                },
                {"type": "file", "mediaType": "application/pdf", "url": "data:application/pdf;base64,AA"},
            ],
        },
        {"role": "user", "content": "sum", "isSummary": True, "condenseId": "s"},
        {"id": "3", "role": "assistant", "content": "x", "toolInvocations": [{"toolCallId": "e", "state": "result"}]},
    ],
    "cursor": [
        {"role": "user", "message": {"content": [{"type": "text", "text": "go"}]}},
        {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Shell", "input": {"c": 1}}]}},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "go"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]},
        {"role": "model", "parts": [{"functionCall": {"id": "f", "name": "n", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "f", "name": "n", "response": {"output": "x"}}}]},
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": "go"}, {"image": {"format": "png", "source": {"bytes": "AA"}}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "n", "input": {}}}]},
        {
            "message": {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "x"}, {"json": {"a": 1}}]}}],
            },
            "message_id": 3,
            "created_at": "2026-01-01T00:00:00Z",
            "redact_message": None,
        },
    ],
}
DOCUMENTS |= {
    "goose": {"id": "g", "working_dir": "/w", "name": "n", "conversation": LINES["goose"][1:], "model_config": {}},
    "gemini": {"contents": LINES["gemini"], "systemInstruction": {"parts": [{"text": "s"}]}, "tools": [{}]},
    "bedrock": {"messages": LINES["bedrock"], "system": [{"text": "s"}], "toolConfig": {"tools": [{}]}},
    "chatgpt": [
        {
            "title": "t",
            "conversation_id": "c",
            "current_node": "d",
            "create_time": 1.79e9,
            "mapping": {
                "a": {"id": "a", "message": None, "parent": None, "children": ["b"]},
                "b": {
                    "parent": "a",
                    "children": ["c", "e"],
                    "message": {
                        "id": "mb",
                        "author": {"role": "user"},
                        "create_time": 1.79e9,
                        "content": {"content_type": "multimodal_text", "parts": ["go", {"asset_pointer": "f"}]},
                    },
                },
                "c": {
                    "parent": "b",
                    "children": ["d"],
                    "message": {
                        "author": {"role": "assistant"},
                        "recipient": "python",
                        "content": {"content_type": "code", "text": "1"},
                    },
                },
                "d": {
                    "parent": "c",
                    "children": [],
                    "message": {
                        "author": {"role": "tool", "name": "python"},
                        "content": {"content_type": "execution_output", "text": "1"},
                    },
                },
                "e": {
                    "parent": "b",
                    "children": [],
                    "message": {
                        "author": {"role": "assistant"},
                        "content": {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]},
                        "metadata": {"model_slug": "m"},
                    },
                },
            },
        }
    ],
    "claude-ai": [
        {
            "uuid": "c",
            "name": "n",
            "chat_messages": [
                {
                    "uuid": "q",
                    "sender": "human",
                    "text": "go",
                    "content": [{"type": "text", "text": "go"}],
                    "attachments": [{"file_name": "a", "file_type": "txt", "extracted_content": "x"}],
                    "files": [{"file_name": "f"}],
                    "created_at": "2026-01-01T00:00:00Z",
                    "parent_message_uuid": "0",
                },
                {
                    "uuid": "r",
                    "sender": "assistant",
                    "parent_message_uuid": "q",
                    "content": [
                        {"type": "thinking", "thinking": "hm"},
                        {"type": "tool_use", "name": "n", "input": {"a": 1}},
                        {"type": "tool_result", "content": [{"type": "text", "text": "x"}], "is_error": False},
                        {"type": "text", "text": "done"},
                    ],
                },
            ],
        }
    ],
}
VALUES = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1.5,
        10**30,
        "",
        "x",
        "\ud800",
        "../../up",
        [],
        [None],
        ["x", 1, [2]],
        {},
        {"a": None},
        [{}],
        [[{}]],
    ]
)


def changed(value: Any, draw: st.DataObject, times: int) -> Any:
    """A copy in which some parts, wherever they are, are something else or gone."""
    value = copy.deepcopy(value)
    for _ in range(times):
        at, key, inner = value, None, value
        for _ in range(draw.draw(st.integers(1, 7))):
            if not isinstance(inner, dict | list) or not inner:
                break
            at = inner
            key = draw.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
            inner = at[key]
        if key is not None:
            if draw.draw(st.booleans()) or isinstance(at, list):
                at[key] = copy.deepcopy(draw.draw(VALUES))
            else:
                del at[key]
    return value


@proof
@pytest.mark.parametrize("name", [*LINES, *(f"{name} document" for name in DOCUMENTS)])
@settings(deadline=None, max_examples=some(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
async def test_any_value_anywhere(tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject) -> None:
    """What is left of the session is sound, valid and accounted for."""
    directory, (importer, _, is_document) = tmp_path_factory.mktemp("any"), name.partition(" ")
    times = data.draw(st.integers(0, 4))
    if is_document:
        content = json.dumps(changed(DOCUMENTS[importer], data, times))
        (directory / "in").write_text(content)
    else:
        write_jsonl(directory / "in", map(json.dumps, changed(LINES[importer], data, times)))
    chosen = data.draw(st.sampled_from([importer, "auto"]))
    try:
        report = imported(directory / "in", directory / "log", source_format=chosen)
    except ContextPersistentError:
        assert not (directory / "log").exists()
        return
    for session in report.sessions:
        await history_and_view(Path(session.path), is_well_formed=False)
