"""Sessions of numbered turns, to be forked and rewound."""

import copy
import json
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.checker import assert_valid
from tests.support.messages import Message

CONFIG: dict[str, Any] = {"durability": "write", "tokenizer": "estimate", "max_tokens": 2_000, "recall": False}


def turn(number: int) -> list[Message]:
    """A human message, a call with its result, and an answer."""
    call = {"id": f"c{number}", "tool": "read", "arguments": {"n": number}}
    return [
        {"role": "user", "content": f"question {number}"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "name": "read", "content": f"line {number}\n" * 60},
        {"role": "assistant", "content": f"answer {number}"},
    ]


async def play(path: Path, turns: int, **options: Any) -> list[list[Message]]:
    """Play turns into a session; its view after each of them."""
    manager = PersistentContextManager(path, **CONFIG, **options)
    views = []
    for number in range(1, turns + 1):
        for message in turn(number):
            await manager.add_message(message)
        views.append(copy.deepcopy(await manager.get_messages_for_request()))
    await manager.close()
    return views


async def read(path: str | Path, **options: Any) -> tuple[list[Message], list[Message]]:
    """A session's history and its first view, which is valid."""
    manager = PersistentContextManager(path, **CONFIG, **options)
    history = await manager.get_messages()
    view = await manager.get_messages_for_request()
    assert_valid(view, history=history)
    await manager.close()
    return history, view


def records(path: str | Path, kind: str) -> list[Message]:
    values = map(json.loads, Path(path).read_bytes().splitlines())
    return [value for value in values if value.get("_record") == kind]
