"""OpenAI's Responses API: its items and responses, read and written.

Items of an answer that follow each other (reasoning, messages, calls, what a server did) are one canonical message.

| Responses | canonical |
| --- | --- |
| `message` with `input_text`, `output_text`, `refusal` | texts, with the other keys of the part |
| `input_image`, `input_file`, `input_audio` | `image`, `document`, `audio` |
| `reasoning` | `thinking`: the summary as text, `content: [encrypted_content, id]` |
| `function_call` | a call; its `arguments` stay the model's own text |
| `custom_tool_call`, `local_shell_call`, `shell_call`, `apply_patch_call`, `computer_call` | a call of the tool `local_shell`, `shell`, ...; its arguments are the item's `input`, `action` or `operation` |
| `..._output` of these | a message of the role `tool`; a screenshot is an image, a shell's output is text |
| `web_search_call`, `mcp_call`, `code_interpreter_call`, `compaction`, unknown items | provider's items |
| `instructions` | a system message |
| `model`, `usage`, `status` of a response | metadata |

Other keys of an item (`id`, `status`) are under `item` on its block or call. If views leave out the reasoning of an
answer, its other items are written without the ids that are bound to it.

Sources: platform.openai.com/docs/api-reference/responses, .../guides/reasoning, .../guides/tools-shell,
.../guides/tools-computer-use (read 2026-11); the types of the package `openai` 3.57.
"""  # noqa: E501 - one row of a table is one line

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ..messages.carried import original_of
from ..messages.media_blocks import source_of
from ..messages.message import (
    THINKING_BLOCKS,
    Message,
    as_json,
    call_arguments_of,
    call_name_of,
    given_arguments_of,
    given_calls,
    is_block,
)
from ..messages.metadata import metadata_of
from ..messages.text import blocks_without_calls
from .anthropic import KINDS as OF_ANTHROPIC
from .anthropic import result_blocks, told
from .canonical import (
    answer,
    base64_source,
    beside,
    call_id_in,
    form_of,
    in_places,
    is_fetchable,
    is_item,
    item_block,
    items,
    mapping,
    mark_of,
    marked,
    medium,
    objects_in,
    refused,
    result,
    source_from_url,
    text,
    text_block,
    url_of,
    without,
)
from .openai_chat import file_block, file_part, usage

NAME = "openai_responses"
PARTS = frozenset({"input_text", "output_text", "input_image", "input_file", "computer_screenshot", "reasoning_text"})
"""Types of content parts that only this form has."""

_ARGUMENTS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
}
"""By the type of a call, the key of its arguments."""
CALLS = frozenset(_ARGUMENTS)
OUTPUTS = frozenset(f"{kind}_output" for kind in CALLS)
ON_SERVER = frozenset(
    {"web_search_call", "file_search_call", "mcp_call", "code_interpreter_call", "image_generation_call"}
)
"""Types of calls that the provider's server runs; they contain their results."""
KINDS = (
    CALLS
    | OUTPUTS
    | ON_SERVER
    | {"message", "reasoning", "compaction", "item_reference", "mcp_list_tools", "mcp_approval_request"}
    | {"mcp_approval_response", "tool_search_call", "tool_search_output", "program", "program_output"}
)
"""Types of items."""
_OF_USER = frozenset({"mcp_approval_response"})
_SAME = "same"
"""Under `item` of a text: it is of the same item as the text before it."""


# -- reading -----------------------------------------------------------------------------------------------------------


def read(given: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Read items; those of an answer that follow each other become one message.

    Raises:
        RecordError: an item is malformed; says what is wrong.
    """
    messages: list[Message] = []
    for of_answer, run in groupby(given, is_of_answer):
        found = list(run)
        messages += [_read_answer(found)] if of_answer else [_read_item(item) for item in found]
    return messages


def read_response(response: Mapping[str, Any]) -> list[Message]:
    """Read a response: its output as one message with model and usage.

    A call whose result is in the same output was run by the server: both are provider's items.

    Raises:
        RecordError: it has no output.
    """
    output = response.get("output")
    if not isinstance(output, list):
        raise refused(".output", "is missing", "give a whole response, not an event of a stream")
    answer_items = objects_in(output, ".output")
    on_server = frozenset(text(item.get("call_id")) for item in answer_items if kind_of(item) in OUTPUTS)
    details = mapping(response.get("incomplete_details"))
    told_of = {
        "provider": "openai",
        "model": text(response.get("model")),
        "stop_reason": text(details.get("reason")) or text(response.get("status")),
        "usage": usage(response.get("usage")),
    }
    read_answer = _read_answer(answer_items, on_server, is_whole=True)
    more = {key: value for key, value in told_of.items() if value}
    whole = {**read_answer, "metadata": {**metadata_of(read_answer), **more}}
    return [marked(whole, NAME, beside={**beside(whole), **without({"response": response.get("id")})})]


def kind_of(item: Mapping[str, Any]) -> str:
    """The type of an item, also of one that does not name it."""
    if kind := text(item.get("type")):
        return kind
    if "role" in item:
        return "message"
    if "output" in item and "call_id" in item:
        return "function_call_output"
    return "function_call" if "name" in item and "call_id" in item else ""


def is_of_answer(item: Mapping[str, Any]) -> bool:
    """Whether an item is a part of an answer."""
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind not in OUTPUTS and kind not in _OF_USER


def reasoning_block(item: Mapping[str, Any]) -> Message:
    """Reasoning as hosts keep it: the summary as text, the encrypted state and the item's id beside it."""
    parts = {key: [text(mapping(part).get("text")) for part in items(item.get(key))] for key in ("summary", "content")}
    said = "\n\n".join(part for texts in parts.values() for part in texts)
    lengths = {key: [len(part) for part in texts] for key, texts in parts.items() if texts}
    block: Message = {"type": "thinking", "thinking": said, "content": [item.get("encrypted_content"), item.get("id")]}
    if lengths not in ({}, {"summary": [len(said)]}):
        block["lengths"] = lengths
    more = without(item, "type", "summary", "content", "encrypted_content", "id")
    return {**block, **({"item": more} if more else {})}


def _read_answer(
    run: Sequence[Mapping[str, Any]], on_server: Collection[str] = (), *, is_whole: bool = False
) -> Message:
    """Read items of an answer; one that came alone may lack the reasoning before it, to which its id is bound."""
    blocks: list[Message] = []
    calls: list[Message] = []
    places: list[int] = []
    metadata: dict[str, Any] = {}
    for item in run:
        kind = kind_of(item)
        metadata |= mapping(item.get("metadata")) if kind == "message" else {}
        if kind in CALLS and item.get("call_id") not in on_server:
            places.append(len(blocks) + len(calls))
            calls.append(_read_call(item, kind))
        elif kind == "reasoning":
            blocks.append(reasoning_block(item))
        elif kind == "message":
            blocks += _texts_of(item)
        else:
            blocks.append(item_block(item))
    read_answer = answer(blocks, calls, places)
    whole = {**read_answer, "metadata": {**metadata, **metadata_of(read_answer)}}
    reasons = any(kind_of(item) == "reasoning" for item in run)
    is_alone = len(run) == 1 and not is_whole
    told_of = {key: True for key, holds in (("reasons", reasons), ("alone", is_alone)) if holds}
    return marked(whole, NAME, beside=told_of)


def _texts_of(item: Mapping[str, Any]) -> list[Message]:
    content = item.get("content")
    parts = [{"type": "output_text", "text": content}] if isinstance(content, str) else content
    read_parts = [read_part(part) for part in objects_in(items(parts), ".content")] or [text_block("")]
    first = without(item, "type", "role", "content", "metadata")
    if isinstance(content, str):
        first["content"] = "text"
    return [{**part, "item": _SAME if number else first} for number, part in enumerate(read_parts)]


def _read_call(item: Mapping[str, Any], kind: str) -> Message:
    key = _ARGUMENTS[kind]
    if kind == "computer_call" and "action" not in item and "actions" in item:
        key = "actions"
    by = "id" if kind == "local_shell_call" and "call_id" not in item else "call_id"
    call_id = call_id_in(item, by, "", of="call")
    rest = without(item, "type", by, key, "name")
    if kind == "function_call":
        function = {"name": text(item.get("name")), "arguments": item.get("arguments", "{}")}
        read_call: Message = {"id": call_id, "type": "function", "function": function}
        return {**read_call, "item": rest} if rest else read_call
    given = item.get(key)
    arguments = given if isinstance(given, Mapping) else {key: given}
    name = text(item.get("name")) or kind.removesuffix("_call")
    told_of = {"type": kind, **({"by": by} if by == "id" else {}), **rest}
    return {"id": call_id, "tool": name, "arguments": arguments, "item": told_of}


def _read_item(item: Mapping[str, Any]) -> Message:
    kind = kind_of(item)
    if kind in OUTPUTS:
        return _read_output(item, kind)
    if kind != "message":
        return marked({"role": "user", "content": [item_block(item)]}, NAME)
    content = item.get("content")
    if isinstance(content, list):
        content = [read_part(part) for part in objects_in(content, ".content")]
    more = without(item, "type", "role", "content", "metadata", "id", "status")
    read_message = {"role": item.get("role"), "content": content, **more, "metadata": {**mapping(item.get("metadata"))}}
    return marked(read_message, NAME, beside=without(item, "role", "content", "metadata", *more))


def _read_output(item: Mapping[str, Any], kind: str) -> Message:
    by = "id" if kind == "local_shell_call_output" and "call_id" not in item else "call_id"
    call_id = call_id_in(item, by, "", of="result")
    output = item.get("output")
    failed = mapping(output).get("success") is False or item.get("status") == "failed"
    content: Any = output
    if kind == "computer_call_output" and isinstance(output, Mapping):
        content = [read_part(output)]
    elif kind == "shell_call_output" and isinstance(output, list):
        content = [block for number, chunk in enumerate(output) for block in _chunk(mapping(chunk), number)]
        failed = failed or any(mapping(mapping(chunk).get("outcome")).get("exit_code") for chunk in output)
    elif isinstance(output, list):
        content = [read_part(part) for part in objects_in(output, ".output")]
    elif output is None:
        content = ""
    read_result = result(call_id, content, failed=failed)
    rest = without(item, by, "output", "metadata")
    whole = {**read_result, "metadata": {**mapping(item.get("metadata")), **metadata_of(read_result)}}
    return marked(whole, NAME, beside={**rest, **({"by": by} if by == "id" else {})})


def _chunk(chunk: Mapping[str, Any], number: int) -> list[Message]:
    """A chunk of a shell's output: its `stdout` and `stderr` as texts, the rest on the first."""
    rest = without(chunk, "stdout", "stderr")
    out = text_block(text(chunk.get("stdout")), chunk=number, **({"rest": rest} if rest else {}))
    return [out, text_block(chunk["stderr"], chunk=number)] if text(chunk.get("stderr")) else [out]


def read_part(part: Mapping[str, Any]) -> Message:
    """Read a part of a content as a block; one that is not of this form stays as it came."""
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text"):
        return text_block(text(part.get("text")), **without(part, "type", "text"))
    if kind == "refusal":
        return text_block(text(part.get("refusal")), **without(part, "type", "refusal"), refusal=True)
    if kind in ("input_image", "computer_screenshot"):
        given = part.get("image_url")
        url, file_id = text(given) or text(mapping(given).get("url")), part.get("file_id")
        if not url and not isinstance(file_id, str):
            return item_block(part)
        source = source_from_url(url) if url or not isinstance(file_id, str) else {"type": "file", "file_id": file_id}
        kept = {"part": kind} if kind == "computer_screenshot" else {}
        return medium("image", source, **without(part, "type", "image_url", "file_id"), **kept)
    if kind == "input_file":
        return file_block(part, without(part, "type", "file_data", "file_id", "file_url", "filename"))
    if kind == "input_audio":
        given = mapping(part.get("input_audio"))
        source = base64_source(text(given.get("data")), f"audio/{text(given.get('format')) or 'wav'}")
        return medium("audio", source)
    return item_block(part)


# -- writing -----------------------------------------------------------------------------------------------------------


def write(messages: Iterable[Message], *, exact: bool = False) -> list[Message]:
    """Write canonical messages as items.

    Args:
        messages: in order; without system messages at the beginning.
        exact: as they were added, for a reader of the history. Else as a request takes them.
    """
    kinds: dict[str, str] = {}
    written: list[Message] = []
    for message in messages:
        if message["role"] in ("tool", "function"):
            written.append(_write_output(message, kinds, exact=exact))
        elif message["role"] == "assistant":
            made = list(_items_of_answer(message, exact=exact))
            kinds |= {
                str(item["call_id"]): item["type"] for item in made if item.get("type") in CALLS and "call_id" in item
            }
            written += made
        else:
            written += _write_said(message, exact=exact)
    return written


def _is_own(message: Message) -> bool:
    return form_of(message) == NAME


def _items_of_answer(message: Message, *, exact: bool) -> Iterator[Message]:
    own = _is_own(message)
    given = blocks_without_calls(message)
    thought = message.get("thinking_block")
    if isinstance(thought, dict) and not any(is_block(block, THINKING_BLOCKS) for block in given):
        given = [thought, *given]
    calls = [{"type": "tool_call", "call": (call_id, one)} for call_id, one in given_calls(message).items()]
    ordered = in_places(given, calls, mark_of(message).get("calls_at") if own else None)
    has_reasoning = any(_reasoning_item(block) is not None for block in ordered)
    is_bound = not {"reasons", "alone"}.isdisjoint(beside(message))
    keeps_ids = own and (exact or has_reasoning or not is_bound)
    made: list[Message] = []
    for block in ordered:
        if block.get("type") == "tool_call":
            made.append(_write_call(*block["call"], keeps_ids=keeps_ids))
        elif is_block(block, THINKING_BLOCKS):
            made += [item] if (item := _reasoning_item(block)) is not None else []
        elif own and is_item(original := original_of(block)):
            made.append(dict(original))
        elif own and block.get("item") == _SAME and made and made[-1].get("type") == "message":
            made[-1]["content"].append(_answer_part(block, exact=exact))
        else:
            made += _answer_message(block, keeps_ids=keeps_ids, exact=exact)
    while made and not exact and made[-1].get("type") == "reasoning":  # it needs the item that follows it
        made.pop()
    yield from made


def _reasoning_item(block: Message) -> Message | None:
    """Reasoning as an item; None for another provider's, or for what has neither state nor id."""
    state = block.get("content")
    if block.get("type") != "thinking" or not isinstance(state, list) or len(state) != 2 or not any(state):
        return None
    said, lengths = text(block.get("thinking")), mapping(block.get("lengths"))
    parts = {"summary": [said] if said else []}
    if lengths:
        parts = _cut_again(said, lengths)
    item: Message = {"type": "reasoning", **({"id": state[1]} if state[1] else {})}
    item["summary"] = [{"type": "summary_text", "text": part} for part in parts.get("summary", [])]
    if "content" in parts:
        item["content"] = [{"type": "reasoning_text", "text": part} for part in parts["content"]]
    return {**item, **({"encrypted_content": state[0]} if state[0] else {}), **mapping(block.get("item"))}


def _cut_again(said: str, lengths: Mapping[str, Any]) -> dict[str, list[str]]:
    """The parts that a reasoning's text was joined of."""
    parts: dict[str, list[str]] = {}
    at = 0
    for key, sizes in lengths.items():
        parts[str(key)] = []
        for size in sizes if isinstance(sizes, list) else []:
            parts[str(key)].append(said[at : at + size])
            at += size + len("\n\n")
    return parts


def _answer_message(block: Message, *, keeps_ids: bool, exact: bool) -> Iterator[Message]:
    item = mapping(block.get("item"))
    said = told(block)
    if item.get("content") == "text":
        yield {
            **({"type": "message"} if exact else {}),
            **without(item, "content"),
            "role": "assistant",
            "content": said,
        }
    elif item and keeps_ids:
        yield {"type": "message", **item, "role": "assistant", "content": [_answer_part(block, exact=exact)]}
    elif said.strip():
        yield {"role": "assistant", "content": said}


def _answer_part(block: Message, *, exact: bool) -> Message:
    if block.get("refusal") is True:
        return {"type": "refusal", "refusal": text(block.get("text"))}
    more = without(block, "type", "text", "item", "visibility", "original")
    if not exact and "annotations" not in more:
        more["annotations"] = []
    return {"type": "output_text", "text": told(block), **more}


def _write_call(call_id: str, asked: Message, *, keeps_ids: bool) -> Message:
    told_of = mapping(asked.get("item"))
    kind = text(told_of.get("type"))
    more = without(told_of, "type", "by")
    if not keeps_ids:
        more.pop("id", None)
    if kind not in CALLS or kind == "function_call":
        given = given_arguments_of(asked)
        arguments = call_arguments_of(asked)
        is_good = isinstance(given, str) and given.strip() and arguments.keys() != {"arguments"}
        said = given if is_good else as_json(arguments)
        return {"type": "function_call", "call_id": call_id, "name": call_name_of(asked), "arguments": said, **more}
    key, arguments = _ARGUMENTS[kind], call_arguments_of(asked)
    key = "actions" if arguments.keys() == {"actions"} else key
    value = arguments[key] if arguments.keys() == {key} else arguments
    named = {"name": call_name_of(asked)} if kind == "custom_tool_call" else {}
    by = "id" if told_of.get("by") == "id" else "call_id"
    return {"type": kind, by: call_id, **named, key: value, **more}


def _write_output(message: Message, kinds: Mapping[str, str], *, exact: bool) -> Message:
    own, kept = _is_own(message), beside(message)
    call_id = str(message.get("tool_call_id"))
    kind = text(kept.get("type")) if own else ""
    asked = kinds.get(call_id, "function_call")
    if kind not in OUTPUTS:
        kind = f"{asked}_output"
    content = message.get("content")
    blocks = list(result_blocks(message))
    output: Any = "\n".join(told(block) for block in blocks)
    parts = [part for block in blocks if (part := _part(block, message, exact=exact)) is not None]
    if kind == "computer_call_output":
        output = next((_screenshot(block) for block in blocks if block.get("type") == "image"), output)
    elif kind == "shell_call_output":
        output = _chunks(blocks)
    elif isinstance(content, list) and (own or any(part["type"] != "input_text" for part in parts)):
        output = parts or output
    elif isinstance(content, str):
        output = content
    by = "id" if kept.get("by") == "id" else "call_id"
    return {"type": kind, by: call_id, "output": output, **(without(kept, "type", "by", "role") if own else {})}


def _screenshot(block: Message) -> Message:
    source = mapping(block.get("source"))
    if source.get("type") == "file":
        return {"type": "computer_screenshot", "file_id": source.get("file_id")}
    return {"type": "computer_screenshot", "image_url": url_of(source)}


def _chunks(blocks: Sequence[Message]) -> list[Message]:
    """A shell's output in chunks, as `_chunk` took them apart; one chunk for another text."""
    chunks: dict[Any, Message] = {}
    for block in blocks:
        number, said = block.get("chunk", 0), told(block)
        if number not in chunks:
            end = {"outcome": {"type": "exit", "exit_code": 0}}
            chunks[number] = {"stdout": said, "stderr": "", **end, **mapping(block.get("rest"))}
        else:
            chunks[number]["stderr"] += said
    return list(chunks.values())


def _write_said(message: Message, *, exact: bool) -> Iterator[Message]:
    own, content = _is_own(message), message.get("content")
    kept = beside(message) if own else {}
    blocks = [block for block in blocks_without_calls(message) if not is_block(block, THINKING_BLOCKS)]
    only = original_of(blocks[0]) if len(blocks) == 1 else {}
    if own and only.get("type") in _OF_USER:
        yield dict(only)
        return
    parts = [part for block in blocks if (part := _part(block, message, exact=exact)) is not None]
    written: Any = parts
    if not (own and isinstance(content, list)) and all(part["type"] == "input_text" for part in parts):
        written = "\n".join(part["text"] for part in parts)
    if written or exact:
        yield {**without(kept, "id", "status"), "role": message["role"], "content": written, **_ids(kept)}


def _ids(kept: Mapping[str, Any]) -> Message:
    return {key: kept[key] for key in ("id", "status") if key in kept}


def _part(block: Mapping[str, Any], message: Message, *, exact: bool) -> Message | None:
    """A part of what a person or a tool says; a line about what this form does not take."""
    original, own = original_of(block), _is_own(message)
    source = source_of(original)
    if source is not None and source.kind == "image":
        given = mapping(original.get("source"))
        detail = {"detail": original["detail"]} if isinstance(original.get("detail"), str) else {}
        if given.get("type") == "file" and own:
            return {"type": "input_image", "file_id": given.get("file_id"), "detail": "auto", **detail}
        if source.data or is_fetchable(source.url) or (own and source.url):
            more = detail if exact else {"detail": "auto", **detail}
            return {"type": "input_image", "image_url": source.address, **more}
    if (given_file := file_part(original, form_of(message))) is not None:
        return {"type": "input_file", **given_file}
    if source is not None and source.kind == "document" and is_fetchable(source.url):
        return {"type": "input_file", "file_url": source.url}
    if own and is_item(original) and not is_block(original, OF_ANTHROPIC):
        return dict(original)
    said = told(block)
    if own and exact and original.get("type") == "text":
        return {"type": "input_text", "text": said, **without(original, "type", "text", "item")}
    return {"type": "input_text", "text": said} if said.strip() else None
