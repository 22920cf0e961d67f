"""Messages as the clients of providers and kits have them, one list a form, as its kit would send or receive it."""

from __future__ import annotations

from typing import Any

Message = dict[str, Any]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PDF = "JVBERi0xLjQKJSVFT0YK"
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
PNG_URL = f"data:image/png;base64,{PNG}"


def _said(*blocks: Message) -> Message:
    return {"role": "user", "content": list(blocks)}


def _text(said: str, **more: Any) -> Message:
    return {"type": "text", "text": said, **more}


ANTHROPIC_PNG: Message = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
ANTHROPIC_PDF: Message = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
    "title": "q3.pdf",
    "citations": {"enabled": True},
}

ANTHROPIC: list[Message] = [
    _said(_text("Look."), ANTHROPIC_PNG, ANTHROPIC_PDF),
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Two files.", "signature": "c2ln"},
            _text("I look."),
            {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": "."}},
            {"type": "tool_use", "id": "toolu_2", "name": "cat", "input": {}, "caller": {"type": "direct"}},
        ],
    },
    _said(
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py"},
        {
            "type": "tool_result",
            "tool_use_id": "toolu_2",
            "content": [_text("no"), ANTHROPIC_PNG],
            "is_error": True,
            "cache_control": {"type": "ephemeral"},
        },
        _text("Go on."),
    ),
    {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "srvtoolu_1",
                "content": [
                    {"type": "web_search_result", "url": "https://e.org", "title": "t", "encrypted_content": "RW"}
                ],
            },
            _text(
                "cited",
                citations=[
                    {
                        "type": "web_search_result_location",
                        "url": "https://e.org",
                        "title": "t",
                        "encrypted_index": "RW8",
                        "cited_text": "c",
                    }
                ],
            ),
            {"type": "tool_use", "id": "toolu_3", "name": "ls", "input": {}},
            _text("and then"),
        ],
    },
    _said({"type": "tool_result", "tool_use_id": "toolu_3", "content": [_text("one"), _text("two")]}),
    {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "Em"}, _text("Done.")]},
]

OPENAI_CHAT: list[Message] = [
    _said(
        _text("Look."),
        {"type": "image_url", "image_url": {"url": PNG_URL, "detail": "low"}},
        {"type": "file", "file": {"filename": "q3.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
    ),
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}},
            {"id": "call_2", "type": "function", "function": {"name": "cat", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "a.py"},
    {"role": "tool", "tool_call_id": "call_2", "content": [_text("one"), _text("two")]},
    {"role": "assistant", "content": "It says:", "refusal": "I won't."},
    {"role": "user", "content": "Then this."},
    {"role": "assistant", "content": [_text("Here."), {"type": "refusal", "refusal": "Not that."}]},
    {"role": "user", "content": "The older form."},
    {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
    {"role": "function", "name": "ls", "content": "b.py"},
    {"role": "assistant", "content": "Done."},
]

OPENAI_RESPONSES: list[Message] = [
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Look."},
            {"type": "input_image", "image_url": PNG_URL, "detail": "auto"},
            {"type": "input_file", "filename": "q3.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
        ],
    },
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
        "encrypted_content": "RW5j",
    },
    {
        "type": "function_call",
        "call_id": "call_1",
        "name": "ls",
        "arguments": '{"path": "."}',
        "id": "fc_1",
        "status": "completed",
    },
    {"type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": "*** Begin", "id": "ctc_1"},
    {"type": "function_call_output", "call_id": "call_1", "output": "a.py"},
    {"type": "custom_tool_call_output", "call_id": "call_2", "output": "ok"},
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    },
    {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "role": "assistant",
        "content": [
            {"type": "output_text", "text": "Seen.", "annotations": [], "logprobs": []},
            {"type": "refusal", "refusal": "Not that."},
        ],
    },
    {
        "type": "computer_call",
        "call_id": "call_3",
        "action": {"type": "screenshot"},
        "id": "cu_1",
        "pending_safety_checks": [],
        "status": "completed",
    },
    {
        "type": "computer_call_output",
        "call_id": "call_3",
        "output": {"type": "computer_screenshot", "image_url": PNG_URL},
    },
    {"type": "shell_call", "call_id": "call_4", "action": {"commands": ["ls"]}, "id": "sh_1", "status": "completed"},
    {
        "type": "shell_call_output",
        "call_id": "call_4",
        "output": [
            {"stdout": "a.py", "stderr": "warn", "outcome": {"type": "exit", "exit_code": 0}},
            {"stdout": "", "stderr": "late", "outcome": {"type": "timeout"}},
            {"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}},
        ],
    },
    {
        "type": "apply_patch_call",
        "call_id": "call_5",
        "operation": {"type": "delete_file", "path": "a"},
        "id": "ap_1",
        "status": "completed",
    },
    {"type": "apply_patch_call_output", "call_id": "call_5", "output": "gone", "status": "completed"},
    {
        "type": "local_shell_call",
        "call_id": "call_6",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
        "id": "ls_1",
        "status": "completed",
    },
    {"type": "local_shell_call_output", "id": "call_6", "output": "{}"},
    {
        "type": "mcp_call",
        "id": "mcp_1",
        "name": "n",
        "server_label": "s",
        "arguments": "{}",
        "output": "out",
    },
    {
        "type": "code_interpreter_call",
        "id": "ci_1",
        "code": "1",
        "container_id": "c",
        "outputs": [{"type": "logs", "logs": "1"}],
        "status": "completed",
    },
    {
        "type": "message",
        "id": "msg_2",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
    },
]

GEMINI: list[Message] = [
    {
        "role": "user",
        "parts": [
            {"text": "Look."},
            {"inlineData": {"mimeType": "image/png", "data": PNG}},
            {"inlineData": {"mimeType": "application/pdf", "data": PDF, "displayName": "q3.pdf"}},
            {"fileData": {"fileUri": "https://e.org/f", "mimeType": "video/mp4"}},
        ],
    },
    {
        "role": "model",
        "parts": [
            {"text": "Hm.", "thought": True},
            {"text": "I look.", "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "ls", "args": {"path": "."}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "ls", "args": {"path": "b"}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "ls", "response": {"output": "a.py"}}},
            {"functionResponse": {"name": "ls", "response": {"rows": [1, 2]}}},
            {"text": "Go on."},
        ],
    },
    {
        "role": "model",
        "parts": [
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"text": "One."},
            {"functionCall": {"id": "f1", "name": "cat", "args": {}}},
        ],
    },
    {"role": "user", "parts": [{"functionResponse": {"id": "f1", "name": "cat", "response": {"error": "gone"}}}]},
    {"role": "model", "parts": [{"text": "Done."}]},
]

BEDROCK: list[Message] = [
    {
        "role": "user",
        "content": [
            {"text": "Look."},
            {"image": {"format": "png", "source": {"bytes": PNG}}},
            {"document": {"format": "pdf", "name": "q3", "source": {"bytes": PDF}}},
            {"guardContent": {"text": {"text": "Is it so?", "qualifiers": ["query"]}}},
            {"cachePoint": {"type": "default"}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
            {"text": "I look."},
            {"toolUse": {"toolUseId": "t1", "name": "ls", "input": {"path": "."}}},
            {"toolUse": {"toolUseId": "t2", "name": "cat", "input": {}}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "t1", "content": [{"text": "a.py"}], "status": "success"}},
            {"toolResult": {"toolUseId": "t2", "content": [{"json": {"rows": [1]}}], "status": "error"}},
            {"text": "Go on."},
        ],
    },
    {"role": "assistant", "content": [{"text": "Done."}]},
]

MCP: list[Message] = [
    {
        "role": "tool",
        "tool_call_id": "c1",
        "content": [_text("ok"), {"type": "image", "data": PNG, "mimeType": "image/png"}],
    },
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]},
    {
        "role": "tool",
        "tool_call_id": "c3",
        "content": [
            {"type": "resource", "resource": {"uri": "f://n.md", "mimeType": "text/markdown", "text": "EMBEDDED"}},
            {"type": "resource", "resource": {"uri": "f://q.pdf", "mimeType": "application/pdf", "blob": PDF}},
            {"type": "resource_link", "uri": "reports://q3", "name": "q3", "mimeType": "application/pdf"},
        ],
    },
    {"role": "tool", "tool_call_id": "c4", "content": [], "structuredContent": {"rows": [1]}},
    {
        "role": "tool",
        "tool_call_id": "c5",
        "content": [_text("no")],
        "isError": True,
        "structuredContent": {"why": "x"},
    },
]

BY_FORM: dict[str, list[Message]] = {
    "anthropic": ANTHROPIC,
    "openai_chat": OPENAI_CHAT,
    "openai_responses": OPENAI_RESPONSES,
    "gemini": GEMINI,
    "bedrock": BEDROCK,
    "mcp": MCP,
}
