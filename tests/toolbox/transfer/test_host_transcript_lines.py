"""A line of a host's transcript is the same message whether its log's line is read or written as it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.transfer.host_files.host_transcript_lines import (
    as_hosts_see,
    transcript_lines,
)

TIME = "2026-02-01T10:00:00.000Z"
PLAIN = {"role": "user", "content": "hello"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "plain": (PLAIN, PLAIN),
    "a time": (
        {**PLAIN, "metadata": {"timestamp": TIME}},
        {**PLAIN, "metadata": {"timestamp": TIME}, "timestamp": TIME},
    ),
    "a time at the top": ({**PLAIN, "timestamp": TIME}, {**PLAIN, "timestamp": TIME}),
    "two times": (
        {**PLAIN, "timestamp": TIME, "metadata": {"timestamp": "2026-03-01T10:00:00.000Z"}},
        {**PLAIN, "timestamp": TIME, "metadata": {"timestamp": "2026-03-01T10:00:00.000Z"}},
    ),
    "pinned": (
        {**PLAIN, "metadata": {"pinned": True, "timestamp": TIME}},
        {**PLAIN, "metadata": {"pinned": True, "timestamp": TIME}, "timestamp": TIME},
    ),
    "a time as a word": (
        {**PLAIN, "content": [{"type": "text", "text": "timestamp"}], "metadata": {"timestamp": TIME}},
        {
            **PLAIN,
            "content": [{"type": "text", "text": "timestamp"}],
            "metadata": {"timestamp": TIME},
            "timestamp": TIME,
        },
    ),
    "a time in an argument": (
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": "t", "arguments": {"timestamp": "x"}}]},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": "t", "arguments": {"timestamp": "x"}}]},
    ),
    "a strange time": ({**PLAIN, "metadata": {"timestamp": 5}}, {**PLAIN, "metadata": {"timestamp": 5}}),
    "nothing as a value": ({**PLAIN, "name": None}, PLAIN),
    "the word null": ({**PLAIN, "content": "[null]"}, {**PLAIN, "content": "[null]"}),
    "thinking beside": (
        {"role": "assistant", "content": "a", "thinking_block": {"x": 1}},
        {"role": "assistant", "content": "a"},
    ),
    "ephemeral": ({**PLAIN, "metadata": {"ephemeral": True}}, None),
    "instructions": ({"role": "system", "content": "be kind"}, None),
    "a large number": ({**PLAIN, "n": 2**80}, {**PLAIN, "n": 2**80}),
    "other letters": ({**PLAIN, "content": "\u00e4\u2028\U0001f600"}, {**PLAIN, "content": "\u00e4\u2028\U0001f600"}),
}


@pytest.mark.parametrize(("stored", "shown"), CASES.values(), ids=CASES)
def test_a_line_is_what_a_host_writes(stored: dict[str, Any], shown: dict[str, Any] | None, tmp_path: Path) -> None:
    """Without what hosts leave out, and with the time at the top."""
    log = tmp_path / "log.jsonl"
    line, seed = seal(encode_message(stored, message_id="m1", timestamp=None), 0)
    log.write_bytes(line + seal(encode_message(PLAIN, message_id="m2", timestamp=None), seed)[0])
    with Transcript(log) as transcript:
        reader = transcript.reader
        found = [json.loads(written) for written in transcript_lines(reader, as_hosts_see(reader))]
    wanted = [] if shown is None else [{**shown, "metadata": {**shown.get("metadata", {}), "message_id": "m1"}}]
    assert found == [*wanted, {**PLAIN, "metadata": {"message_id": "m2"}}]
