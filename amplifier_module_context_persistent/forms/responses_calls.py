"""Calls and their outputs in OpenAI's Responses: read and written. Each kind of call has its own kind of output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..messages.message import (
    Message,
    as_json,
    call_arguments_of,
    call_name_of,
    given_arguments_of,
    metadata_of,
)
from .block_text import result_blocks, words_or_line
from .canonical import (
    beside,
    call_id_in,
    form_of,
    items,
    mapping,
    marked,
    objects_in,
    result,
    text,
    text_block,
    url_of,
    without,
)
from .responses_parts import RESPONSES, read_part, write_part

_ARGUMENTS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
}
"""The key of a call's arguments, by the type of the call."""
CALLS = frozenset(_ARGUMENTS)
NEED_IDS = frozenset({"computer_call", "local_shell_call"})
"""Types of calls that cannot be sent without their item's id (`id: Required` in the types of `openai` 3.57)."""
OUTPUTS = frozenset(f"{kind}_output" for kind in CALLS)


def read_call(item: Mapping[str, Any], kind: str) -> Message:
    """Read the item of a call and return the call.

    Raises:
        RecordError: the call has no id.
    """
    key = _ARGUMENTS[kind]
    if kind == "computer_call" and "action" not in item and "actions" in item:
        key = "actions"
    id_key = "call_id"
    if kind == "local_shell_call" and "call_id" not in item:
        id_key = "id"
    call_id = call_id_in(item, id_key, "", of="call")
    rest = without(item, "type", id_key, key, "name")
    if kind == "function_call":
        function = {"name": text(item.get("name")), "arguments": item.get("arguments", "{}")}
        read_call: Message = {"id": call_id, "type": "function", "function": function}
        return {**read_call, "item": rest} if rest else read_call
    value = item.get(key)
    arguments = value if isinstance(value, Mapping) else {key: value}
    name = text(item.get("name")) or kind.removesuffix("_call")
    item_keys: Message = {"type": kind}
    if id_key == "id":
        item_keys["by"] = id_key
    return {"id": call_id, "tool": name, "arguments": arguments, "item": {**item_keys, **rest}}


def write_call(call_id: str, call: Message, *, keeps_ids: bool, as_function: bool = False) -> Message:
    """Return a call as an item. The item has the type of the item that the call was read from.

    Args:
        call_id: the id of the call.
        call: a call in the form of the log (`tool_calls`).
        keeps_ids: whether to keep the item's id even if it is optional; this id is bound to the reasoning before it.
        as_function: whether a call of a type that needs an item's id is written as a call of a function instead, a type
            that needs no id.
    """
    item = mapping(call.get("item"))
    kind = text(item.get("type"))
    more = without(item, "type", "by")
    if as_function and kind in NEED_IDS:
        kind = "function_call"
        more = {}
    elif not keeps_ids and kind not in NEED_IDS:
        more.pop("id", None)
    if kind not in CALLS or kind == "function_call":
        arguments_text = _arguments_text(call)
        function = {"call_id": call_id, "name": call_name_of(call), "arguments": arguments_text}
        return {"type": "function_call", **function, **more}
    arguments = call_arguments_of(call)
    key = "actions" if arguments.keys() == {"actions"} else _ARGUMENTS[kind]
    id_key = "id" if item.get("by") == "id" else "call_id"
    written: Message = {"type": kind, id_key: call_id}
    if kind == "custom_tool_call":
        written["name"] = call_name_of(call)
    written[key] = arguments[key] if arguments.keys() == {key} else arguments
    return {**written, **more}


def _arguments_text(call: Message) -> str:
    """Return the arguments of a call as JSON: the model's own text, if that text is the JSON of an object."""
    written_arguments = given_arguments_of(call)
    arguments = call_arguments_of(call)
    is_object = arguments.keys() != {"arguments"}
    if isinstance(written_arguments, str) and written_arguments.strip() and is_object:
        return written_arguments
    return as_json(arguments)


def read_output(item: Mapping[str, Any], kind: str) -> Message:
    """Read the output of a call and return the result.

    Raises:
        RecordError: the output does not name its call.
    """
    id_key = "call_id"
    if kind == "local_shell_call_output" and "call_id" not in item:
        id_key = "id"
    call_id = call_id_in(item, id_key, "", of="result")
    output = item.get("output")
    has_failed = mapping(output).get("success") is False or item.get("status") == "failed"
    form_keys = without(item, id_key, "output", "metadata")
    content: Any = output
    if kind == "computer_call_output" and isinstance(output, Mapping):
        content = [read_part(output)]
    elif kind == "shell_call_output" and isinstance(output, list):
        content = list[Message]()
        for number, chunk in enumerate(map(mapping, output)):
            content += _chunk(chunk, number)
            has_failed = has_failed or bool(mapping(chunk.get("outcome")).get("exit_code"))
        if output:
            form_keys["chunks"] = [without(mapping(chunk), *_STREAMS) for chunk in output]
    elif isinstance(output, list):
        content = [read_part(part) for part in objects_in(output, ".output")]
    elif output is None:
        content = ""
    if id_key == "id":
        form_keys["by"] = id_key
    read_result = result(call_id, content, failed=has_failed)
    whole = {**read_result, "metadata": {**mapping(item.get("metadata")), **metadata_of(read_result)}}
    return marked(whole, RESPONSES, beside=form_keys)


def write_output(message: Message, kinds: Mapping[str, str], *, exact: bool) -> Message:
    """Return a result as the output item of its call.

    Args:
        message: the result.
        kinds: the types of the calls before the result, by the calls' ids.
        exact: whether to write the result unchanged, for a reader of the history; else as a request accepts it.
    """
    call_id = str(message.get("tool_call_id"))
    is_own = form_of(message) == RESPONSES
    form_keys = beside(message) if is_own else {}
    kind = text(form_keys.get("type"))
    if kind not in OUTPUTS or (not exact and kinds.get(call_id) in CALLS):
        kind = f"{kinds.get(call_id, 'function_call')}_output"
    if kind != form_keys.get("type"):
        form_keys = {}
        if kind == "apply_patch_call_output":
            form_keys["status"] = _status(message)
    chunks = items(form_keys.get("chunks"))
    id_key = "id" if form_keys.get("by") == "id" else "call_id"
    return {
        "type": kind,
        id_key: call_id,
        "output": _output(message, kind, chunks, is_own=is_own, exact=exact),
        **without(form_keys, "type", "by", "role", "chunks"),
    }


def _output(message: Message, kind: str, chunks: Sequence[Any], *, is_own: bool, exact: bool) -> Any:
    """Return the `output` of a result in the shape of its type: a screenshot, chunks, parts, or text."""
    blocks = list(result_blocks(message))
    words = "\n".join(words_or_line(block) for block in blocks)
    if kind == "computer_call_output":
        for block in blocks:
            if block.get("type") == "image":
                return _screenshot(block)
        return words
    if kind == "shell_call_output":
        return _chunks(blocks, chunks)
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return words
    written = [write_part(block, message, exact=exact) for block in blocks]
    parts = [part for part in written if part is not None]
    is_text_alone = all(part["type"] == "input_text" for part in parts)
    if is_text_alone and not is_own:
        return words
    return parts or words


def _status(message: Message) -> str:
    return "failed" if metadata_of(message).get("is_error") is True else "completed"


def lacks_screenshot(message: Message) -> bool:
    """Return whether a result has no image, because a view left the image out."""
    return not any(block.get("type") == "image" for block in result_blocks(message))


def _screenshot(block: Message) -> Message:
    source = mapping(block.get("source"))
    if source.get("type") == "file":
        return {"type": "computer_screenshot", "file_id": source.get("file_id")}
    return {"type": "computer_screenshot", "image_url": url_of(source)}


_STREAMS = ("stdout", "stderr")


def _chunk(chunk: Mapping[str, Any], number: int) -> list[Message]:
    """Return a chunk of a shell's output as text blocks; the other keys of the chunk are in the mark."""
    blocks = list[Message]()
    for stream in _STREAMS:
        words = text(chunk.get(stream))
        if words:
            blocks.append(text_block(words, chunk=number, stream=stream))
    return blocks


def _chunks(blocks: Sequence[Message], other_keys: Sequence[Any]) -> list[Message]:
    """Return a shell's output in chunks, as `_chunk` split the output.

    A text without a number is put into the first chunk.

    Args:
        blocks: the blocks of the output.
        other_keys: the keys of each chunk beside its words; empty if the output came from another provider.
    """
    chunks = list[Message]()
    for report in other_keys or [{}]:
        outcome = {"type": "exit", "exit_code": 0}
        chunks.append({"stdout": "", "stderr": "", "outcome": outcome, **mapping(report)})
    for block in blocks:
        number = block.get("chunk")
        if not isinstance(number, int) or not 0 <= number < len(chunks):
            number = 0
        stream = "stderr" if block.get("stream") == "stderr" else "stdout"
        chunks[number][stream] += words_or_line(block)
    return chunks
