"""A session with every role, with thinking, calls and control characters, stored and exported."""

from pathlib import Path
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.transfer.export_session import Export
from tests.support.messages import Message

SESSION: list[Message] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello.", "name": None},
    {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Yes?"}],
        "thinking_block": {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        "tool_calls": [{"id": "c1", "tool": "bash", "arguments": {"n": 2**70, "x": None, "l": [1, None]}}],
    },
    {"role": "tool", "tool_call_id": "c1", "name": "bash", "content": "\x9b5n \ud800 ok"},
    {"role": "developer", "content": "More."},
    {"role": "user", "content": "Bye."},
]


async def store(path: Path, messages: list[Message]) -> list[Message]:
    """Store messages; they come back as the log has them."""
    manager = PersistentContextManager(path, session_id="said", durability="write")
    for message in messages:
        await manager.add_message(message)
    stored = await manager.get_messages()
    await manager.close()
    return stored


def exported(path: Path, into: str, **options: Any) -> str:
    with Transcript(path) as transcript:
        return "".join(Export(transcript, into, **options))
