"""Contents of Gemini's API: lists, bodies, lines, and chats that Gemini CLI saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.forms import gemini
from tests.support.imports import history_and_view, imported, imported_history, texts
from tests.support.sweeps import proof

TALK: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "go"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
    {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {"functionCall": {"id": "f1", "name": "read", "args": {"path": "a"}}, "thoughtSignature": "sig"},
        ],
    },
    {"role": "user", "parts": [{"functionResponse": {"id": "f1", "name": "read", "response": {"output": "out"}}}]},
    {"role": "model", "parts": [{"text": "done"}]},
]
SHORT = ["user: go image", "assistant: thinking read", "tool: out", "assistant: done"]
SHAPES = {
    "list": TALK,
    "saved chat": {"history": TALK, "authType": "oauth"},
    "body": {"contents": TALK, "systemInstruction": {"parts": [{"text": "Be brief."}]}, "model": "gemini-3"},
}


@proof(quick=1)
@pytest.mark.parametrize("shape", [*SHAPES, "lines"])
async def test_contents_in_their_shapes(tmp_path: Path, shape: str) -> None:
    """Written again by their form they are what they were, signatures too."""
    path = tmp_path / "checkpoint-x.json"
    path.write_text(json.dumps(SHAPES[shape]) if shape in SHAPES else "\n".join(map(json.dumps, TALK)))
    report = imported(path)
    history, _ = await history_and_view(report.path)
    assert report.format == "gemini"
    assert texts(history) == ["system: Be brief."] * (shape == "body") + SHORT
    assert gemini.write([one for one in history if one["role"] != "system"], exact=True) == TALK


async def test_what_the_program_says_first_is_no_persons(tmp_path: Path) -> None:
    """And what is no content is lost by name."""
    first = {"role": "user", "parts": [{"text": "This is the Gemini CLI. We are setting up the context."}]}
    report, history, _ = await imported_history(tmp_path / "c.jsonl", [first, *TALK, {"role": "user", "text": "x"}])
    assert history[0]["metadata"]["source"] == "gemini-cli:context"
    assert [(one.line, one.reason) for one in report.account.lost] == [(6, "no content: it has role, text")]
