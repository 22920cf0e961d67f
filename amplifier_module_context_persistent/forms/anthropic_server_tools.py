"""Tools that Anthropic's server runs: their calls and results, in pairs as a request needs them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..messages.message import THINKING_BLOCKS, Message, is_block, metadata_of
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
    """Return whether a message is a paused answer (`pause_turn`), which Anthropic continues when it gets it back."""
    return message.get("role") == "assistant" and metadata_of(message).get("stop_reason") == "pause_turn"


def with_whole_pairs(messages: list[Message], *, goes_on: bool) -> list[Message]:
    """Return messages in which every call of a server tool has its result, and every result its call.

    Others are removed. If a call and its result are in two adjacent answers, the answers are merged. With `goes_on`,
    the last message is not changed.
    """
    merged = _merged(messages)
    programs = _programs(merged)
    last = None
    if goes_on and merged:
        last = merged.pop()
    shown_messages = [_paired(message, programs) for message in merged]
    paired = [shown_message for shown_message in shown_messages if shown_message is not None]
    if last is not None:
        paired.append(last)
    return paired


def _merged(messages: list[Message]) -> list[Message]:
    """Merge two adjacent answers if the second has a result for a server's call in the first."""
    called: set[str] = set()  # the ids of the server's calls in the last merged message
    merged: list[Message] = []
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        follows_answer = bool(merged) and merged[-1]["role"] == message["role"] == "assistant"
        if follows_answer and not called.isdisjoint(_server_results_in(blocks)):
            merged[-1] = {"role": "assistant", "content": as_blocks(merged[-1]["content"]) + blocks}
        else:
            called = set()
            merged.append(message)
        called.update(str(block.get("id")) for block in blocks if is_block(block, SERVER_CALLS))
    return merged


def _server_results_in(blocks: Iterable[Message]) -> set[str]:
    """Return the ids of the server's calls that have a result among these blocks."""
    return {str(block.get("tool_use_id")) for block in blocks if is_block(block, SERVER_RESULTS)}


def _programs(messages: Iterable[Message]) -> dict[str, str]:
    """Return the ids of programs whose result is in a later answer than their call, with the ids for Anthropic.

    Such a program is code that Anthropic's server runs and that calls tools of the client. So its result comes only
    after the results of these tools. If a user's message comes before that, the program is broken off and is not
    returned.
    """
    waiting: dict[str, str] = {}
    ended: dict[str, str] = {}
    for message in messages:
        blocks = as_blocks(message["content"])
        if message["role"] != "assistant":
            has_more_than_results = any(block.get("type") != "tool_result" for block in blocks)
            if has_more_than_results:
                waiting = {}
            continue
        with_result = _server_results_in(blocks)
        for program in with_result:
            if program in waiting:
                ended[program] = waiting.pop(program)
        called_a_tool = {_caller_of(block) for block in blocks}
        for block in blocks:
            program = str(block.get("id"))
            if is_block(block, SERVER_CALLS) and program in called_a_tool and program not in with_result:
                waiting[program] = _server_id(block)
    return ended | waiting


def _caller_of(block: Message) -> str:
    """Return the id of the program that made a call of a client's tool; "" for any other block."""
    if block.get("type") != "tool_use":
        return ""
    return text(mapping(block.get("caller")).get("tool_id"))


def _without_lost_caller(block: Message, known: Collection[str]) -> Message:
    """Return a call without its `caller` if the request does not contain that program; any other block unchanged."""
    caller = _caller_of(block)
    if not caller or caller in known:
        return block
    return {key: value for key, value in block.items() if key != "caller"}


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
    """Return the blocks of a message without server calls that have no result and results that have no call.

    Ids are replaced by ids that Anthropic accepts.

    Args:
        blocks: the blocks of one message.
        programs: the ids of calls whose result is in another message, each with the id that Anthropic accepts.
    """
    blocks = list(blocks)
    programs = programs or {}
    open_calls: dict[str, int] = {}
    new_ids: dict[int, str] = {}
    for position, block in enumerate(blocks):
        is_call = is_block(block, SERVER_CALLS)
        is_result = is_block(block, SERVER_RESULTS)
        own_id = str(block.get(_id_key(block)))
        if (is_call or is_result) and own_id in programs:
            new_ids[position] = programs[own_id]
        elif is_call:
            open_calls[own_id] = position
        elif is_result and own_id in open_calls:
            call_position = open_calls.pop(own_id)
            new_id = _server_id(blocks[call_position])
            new_ids[call_position] = new_id
            new_ids[position] = new_id
    renamed = list[Message]()
    for position, block in enumerate(blocks):
        if position in new_ids:
            renamed.append({**block, _id_key(block): new_ids[position]})
        elif not is_block(block, SERVER_CALLS | SERVER_RESULTS):
            renamed.append(block)
    return renamed


def _id_key(block: Message) -> str:
    """Return the key under which a server block has the id of its call."""
    return "id" if is_block(block, SERVER_CALLS) else "tool_use_id"


def _server_id(call: Message) -> str:
    """Return the id of a server's call in the form that Anthropic accepts."""
    call_id = str(call.get("id"))
    if _SERVER_ID.fullmatch(call_id):
        return call_id
    begin = "srvtoolu_" if call["type"] == "server_tool_use" else "mcptoolu_"
    return begin + re.sub(r"[^a-zA-Z0-9]", "_", call_id)
