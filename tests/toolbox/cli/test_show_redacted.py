"""`show` says of a message that keys were replaced before it was stored."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.commands import run


def test_a_message_whose_keys_were_replaced_is_marked(tmp_path: Path) -> None:
    """By the kinds in its metadata; other messages are not marked."""
    messages = [
        {"role": "user", "content": "[REDACTED]", "metadata": {"redacted": {"GitHub token": 2, "npm token": 1}}},
        {"role": "user", "content": "hello", "metadata": {"redacted": "no object"}},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join([f"{json.dumps(message)}\n" for message in messages]), encoding="utf-8")
    result = run("show", log)
    assert result.output.count("redacted before it was stored") == 1
    assert "redacted before it was stored: GitHub token, npm token" in result.output
