"""Which tools a message is about."""

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.transcript.transcript import Transcript
from tests.support.sessions_of_a_home import write

CALLS = [{"id": "c1", "tool": "bash", "arguments": {}}, {"id": "c2", "tool": "grep", "arguments": {}}]
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Go.", "name": "somebody"},
    {"role": "assistant", "content": "", "tool_calls": [*CALLS, {**CALLS[0], "id": "c3"}]},
    {"role": "tool", "tool_call_id": "c2", "content": "two"},
    {"role": "tool", "tool_call_id": "c1", "name": "renamed", "content": "one"},
    {"role": "tool", "tool_call_id": "c9", "content": "an orphan"},
    {"role": "tool", "tool_call_id": "c3", "content": "three"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c2", "tool": "read", "arguments": {}}]},
    {"role": "tool", "tool_call_id": "c2", "content": "two again"},
]
TOOLS = [(), ("bash", "grep"), ("grep",), ("renamed",), (), ("bash",), ("read",), ("read",)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of these messages."""
    return write(tmp_path / "log.jsonl", MESSAGES)


def test_a_message_is_about_what_it_calls_or_answers(path: Path) -> None:
    """A result that does not say its tool has that of the nearest call before it; each name is told once."""
    with Transcript(path) as transcript:
        assert [placed.tools for placed in transcript.placed()] == TOOLS


def test_messages_are_picked_by_tool(path: Path) -> None:
    """Calls and results, also where the call stands before the part that is looked at."""
    with Transcript(path) as transcript:
        assert [placed.number for placed in transcript.placed(tool="grep")] == [2, 3]
        assert [placed.number for placed in transcript.placed(2, tool="grep")] == [3]
        assert [placed.number for placed in transcript.placed(tool="bash")] == [2, 6]
