"""Tools that Anthropic's server runs: their calls and results, in pairs as a request takes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..messages.message import THINKING_BLOCKS, Message, is_block
from ..messages.metadata import metadata_of
from .block_text import as_blocks
from .canonical import mapping, text

SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
SERVER_RESULTS = frozenset(
    {
        *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "mcp_tool_result"),
        *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result"),
        "advisor_tool_result",
    }
)
_SERVER_ID = re.compile(r"(?:srvtoolu|mcptoolu)_[a-zA-Z0-9_]+")


def has_paused(message: Mapping[str, Any]) -> bool:
    """Return whether a message is an answer that Anthropic goes on with if it is sent back as it is (`pause_turn`)."""
    return message.get("role") == "assistant" and metadata_of(message).get("stop_reason") == "pause_turn"


def with_whole_pairs(messages: list[Message], *, goes_on: bool) -> list[Message]:
    """The messages with calls and results of server tools in pairs; a pair over two answers makes one of them."""
    asked: dict[str, int] = {}
    merged: list[Message] = []
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = {str(block.get("tool_use_id")) for block in blocks if is_block(block, SERVER_RESULTS)}
        follows = bool(merged) and merged[-1]["role"] == message["role"] == "assistant"
        if follows and results & asked.keys():
            merged[-1] = {"role": "assistant", "content": as_blocks(merged[-1]["content"]) + blocks}
        else:
            asked = {}
            merged.append(message)
        asked.update({str(block.get("id")): 0 for block in blocks if is_block(block, SERVER_CALLS)})
    programs = _programs(merged)
    last = merged.pop() if goes_on and merged else None
    paired = [shown for message in merged if (shown := _paired(message, programs)) is not None]
    return [*paired, last] if last is not None else paired


def _programs(messages: Iterable[Message]) -> dict[str, str]:
    """Return the ids that the provider takes of programs that called tools of the client, by their own ids.

    The result of such a program comes only after those of the tools, in a later answer; until then its call waits. A
    user's word before that breaks the program off.
    """
    waiting: dict[str, str] = {}
    ended: dict[str, str] = {}
    for message in messages:
        blocks = as_blocks(message["content"])
        if message["role"] != "assistant":
            if any(block.get("type") != "tool_result" for block in blocks):
                waiting = {}
            continue
        results = {str(block.get("tool_use_id")) for block in blocks if is_block(block, SERVER_RESULTS)}
        called = {str(block.get("id")): _server_id(block) for block in blocks if is_block(block, SERVER_CALLS)}
        callers = {_caller_of(block) for block in blocks}
        ended |= {program: waiting[program] for program in results & waiting.keys()}
        begun = {program: given for program, given in called.items() if program in callers}
        waiting = {program: given for program, given in (waiting | begun).items() if program not in results}
    return ended | waiting


def _caller_of(block: Message) -> str:
    """Return the id of the program that made a call of the client's tools; "" for another call or block."""
    return text(mapping(block.get("caller")).get("tool_id")) if block.get("type") == "tool_use" else ""


def _without_lost_caller(block: Message, known: Collection[str]) -> Message:
    """A call without the program that made it if the request lacks that one; the same object for any other block."""
    caller = _caller_of(block)
    return {key: block[key] for key in block if key != "caller"} if caller and caller not in known else block


def _paired(message: Message, programs: Mapping[str, str]) -> Message | None:
    content = message["content"]
    if not isinstance(content, list):
        return message
    if not any(is_block(block, SERVER_CALLS | SERVER_RESULTS) or _caller_of(block) for block in content):
        return message
    blocks = on_server(content, programs)
    known = programs.keys() | {str(block.get("id")) for block in blocks if is_block(block, SERVER_CALLS)}
    blocks = [_without_lost_caller(block, known) for block in blocks]
    while blocks and message["role"] == "assistant" and is_block(blocks[-1], THINKING_BLOCKS):
        blocks.pop()
    return {**message, "content": blocks} if blocks else None


def on_server(blocks: Iterable[Message], programs: Mapping[str, str] | None = None) -> list[Message]:
    """Return the blocks of a message without server calls that have no result, and without results that have no call.

    Ids are replaced by those that the provider accepts.

    Args:
        blocks: those of one message.
        programs: by their ids, calls whose result is in another message, and the ids that the provider takes.
    """
    blocks, programs = list(blocks), programs or {}
    open_calls: dict[str, int] = {}
    new_ids: dict[int, str] = {}
    for position, block in enumerate(blocks):
        is_call, is_result = is_block(block, SERVER_CALLS), is_block(block, SERVER_RESULTS)
        own_id = str(block.get(_id_key(block)))
        if (is_call or is_result) and own_id in programs:
            new_ids[position] = programs[own_id]
        elif is_call:
            open_calls[own_id] = position
        elif is_result and own_id in open_calls:
            call = open_calls.pop(own_id)
            new_ids[call] = new_ids[position] = _server_id(blocks[call])
    kept = list[Message]()
    for position, block in enumerate(blocks):
        if position in new_ids:
            kept.append({**block, _id_key(block): new_ids[position]})
        elif not is_block(block, SERVER_CALLS | SERVER_RESULTS):
            kept.append(block)
    return kept


def _id_key(block: Message) -> str:
    """Return the key of a server block that has the id of the call."""
    return "id" if is_block(block, SERVER_CALLS) else "tool_use_id"


def _server_id(asked: Message) -> str:
    """Return the id of a server's call as the provider takes it."""
    call_id = str(asked.get("id"))
    if _SERVER_ID.fullmatch(call_id):
        return call_id
    begin = "srvtoolu_" if asked["type"] == "server_tool_use" else "mcptoolu_"
    return begin + re.sub(r"[^a-zA-Z0-9]", "_", call_id)
