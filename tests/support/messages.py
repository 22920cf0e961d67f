"""Messages that many tests begin with, and what one says."""

import json
from collections.abc import Iterable
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.messages.message import Call
from amplifier_module_context_persistent.view.entry import Changes, Entry, RequestForm

Message = dict[str, Any]


CALLS = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "c1", "tool": "read", "arguments": {}}, {"id": "c2", "tool": "read", "arguments": {}}],
}


def user(text: str, **metadata: Any) -> Message:
    return {"role": "user", "content": text, **({"metadata": metadata} if metadata else {})}


def result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "name": "read", "content": text}


def words_of(message: dict[str, Any]) -> list[str]:
    """The texts of a message, collected without the code that is tested."""
    content, said = message.get("content"), []
    if isinstance(content, str):
        said.append(content)
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            said.append(block)
        elif isinstance(block, dict):
            said += [block[key] for key in ("text", "thinking", "output") if isinstance(block.get(key), str)]
    for call in message.get("tool_calls") or []:
        if isinstance(call, dict) and isinstance(call.get("arguments"), dict) and call.get("id"):
            said += [as_json(value) for value in call["arguments"].values()]
    return said


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def calls(call_id: str) -> Message:
    return {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "tool": "bash", "arguments": {}}]}


def answers(call_id: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "name": "bash", "content": f"What {call_id} found."}


ROLES = {"u": "user", "r": "user", "s": "system", "a": "assistant", "c": "assistant", "t": "tool", "b": "user"}


def entry(key: int, word: str) -> Entry:
    word, _, closed = word.partition("#")
    kind, _, ids = word.rstrip("!").partition(":")
    return Entry(
        key,
        f"m{key}",
        ROLES[kind],
        10,
        human=kind == "u",
        pinned=word.endswith("!"),
        form=RequestForm(blank=kind == "b"),
        calls=tuple(Call(call_id, "bash") for call_id in ids.split("+")) if kind == "c" else (),
        changes=Changes(closed=frozenset(closed.split("+")) if closed else frozenset()),
        result_of=ids if kind == "t" else None,
    )


def entries(words: str) -> list[Entry]:
    return [entry(key, word) for key, word in enumerate(words.split())]


async def fill(manager: PersistentContextManager, messages: Iterable[Message]) -> None:
    """Add messages to a session."""
    for message in messages:
        await manager.add_message(message)


def spoil(value: Any) -> None:
    """Change everything that can be changed in place."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        for key in list(value):
            value[key] = "spoilt"
        value["spoilt"] = True
    elif isinstance(value, list):
        for item in value:
            spoil(item)
        value.append("spoilt")


async def set_prompt(manager: PersistentContextManager, text: str) -> None:
    """Let a session's system prompt be a text."""

    async def factory() -> str:
        return text

    await manager.set_system_prompt_factory(factory)
