"""OpenAI's Responses API: its items and responses, read and written.

Adjacent items of an answer (reasoning, messages, calls, actions of the server) become one canonical message.

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

Other keys of an item (`id`, `status`) are under `item` on its block or call. The ids of an answer's items are bound to
its reasoning. If a view leaves out the reasoning, the other items are written without these ids, because the server
refuses an item "provided without its required 'reasoning' item" (github.com/can1357/oh-my-pi/pull/6824,
github.com/laravel/ai/pull/1052). Items that need an id then become calls of functions (`computer_call`,
`local_shell_call`) or, if the server ran them, one line.

Sources: platform.openai.com/docs/api-reference/responses, .../guides/reasoning, .../guides/tools-shell,
.../guides/tools-computer-use (read 2026-11); the types of the package `openai` 3.57.
"""  # noqa: E501 - one row of a table is one line

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ..messages.message import (
    THINKING_BLOCKS,
    Message,
    given_calls,
    is_block,
    metadata_of,
)
from ..messages.text import blocks_without_calls
from ..messages.uncarried_blocks import original_of
from .block_text import words_or_line
from .canonical import (
    answer,
    beside,
    form_of,
    in_places,
    is_item,
    item_block,
    items,
    mapping,
    mark_of,
    marked,
    objects_in,
    refused,
    text,
    text_block,
    without,
)
from .openai_chat import usage
from .responses_calls import CALLS, OUTPUTS, lacks_screenshot, read_call, read_output, write_call, write_output
from .responses_parts import RESPONSES, read_part, write_part
from .responses_reasoning import CARRIED, Bound, ReasoningShown, reasoning_block, reasoning_item

NAME = RESPONSES

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
"""All known types of items."""
_OF_USER = frozenset({"mcp_approval_response"})
_IN_MARK = ("type", "id", "status")
"""Keys of a message that are kept in the mark only."""
_SAME = "same"
"""The value of `item` on a text that is from the same item as the text before it."""


# -- reading -----------------------------------------------------------------------------------------------------------


def read(items: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Read items of OpenAI's Responses, and return canonical messages. Adjacent items of an answer become one message.

    Raises:
        RecordError: an item is malformed; the error says what is wrong.
    """
    messages: list[Message] = []
    for is_answer, run in groupby(items, is_of_answer):
        if is_answer:
            messages.append(_read_answer(list(run)))
        else:
            messages += map(_read_item, run)
    return messages


def read_response(response: Mapping[str, Any]) -> list[Message]:
    """Read a response: its output as one message with model and usage.

    If a call and its result are in the same output, the server ran the call, and both become provider's items.

    Raises:
        RecordError: the response has no output.
    """
    output = response.get("output")
    if not isinstance(output, list):
        raise refused(".output", "is missing", "give a whole response, not an event of a stream")
    answer_items = objects_in(output, ".output")
    on_server = frozenset(text(item.get("call_id")) for item in answer_items if kind_of(item) in OUTPUTS)
    details = mapping(response.get("incomplete_details"))
    facts = {
        "provider": "openai",
        "model": text(response.get("model")),
        "stop_reason": text(details.get("reason")) or text(response.get("status")),
        "usage": usage(response.get("usage")),
    }
    read_answer = _read_answer(answer_items, on_server, is_whole=True)
    metadata = {**metadata_of(read_answer), **{key: value for key, value in facts.items() if value}}
    whole = {**read_answer, "metadata": metadata}
    return [marked(whole, NAME, beside={**beside(whole), **without({"response": response.get("id")})})]


def kind_of(item: Mapping[str, Any]) -> str:
    """Return the type of an item, which is recognised by its keys if the item does not name it."""
    kind = text(item.get("type"))
    if kind:
        return kind
    if "role" in item:
        return "message"
    if "call_id" not in item:
        return ""
    if "output" in item:
        return "function_call_output"
    return "function_call" if "name" in item else ""


def is_of_answer(item: Mapping[str, Any]) -> bool:
    """Return whether an item is a part of an answer."""
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind not in OUTPUTS and kind not in _OF_USER


def _read_answer(
    run: Sequence[Mapping[str, Any]], on_server: Collection[str] = (), *, is_whole: bool = False
) -> Message:
    """Read adjacent items of an answer; an item that was added alone may lack the reasoning that its id is bound to."""
    blocks: list[Message] = []
    calls: list[Message] = []
    places: list[int] = []
    metadata: dict[str, Any] = {}
    for item in run:
        kind = kind_of(item)
        if kind == "message":
            metadata |= mapping(item.get("metadata"))
        if kind in CALLS and item.get("call_id") not in on_server:
            places.append(len(blocks) + len(calls))
            calls.append(read_call(item, kind))
        elif kind == "reasoning":
            blocks.append(reasoning_block(item))
        elif kind == "message":
            blocks += _texts_of(item)
        else:
            blocks.append(item_block(item))
    read_answer = answer(blocks, calls, places)
    whole = {**read_answer, "metadata": {**metadata, **metadata_of(read_answer)}}
    facts: Message = {}
    if any(kind_of(item) == "reasoning" for item in run):
        facts["reasons"] = True
    if len(run) == 1 and not is_whole:
        facts["alone"] = True
    return marked(whole, NAME, beside=facts)


def _texts_of(item: Mapping[str, Any]) -> list[Message]:
    """Return the content of a message as blocks. The first block gets the message's other keys."""
    content = item.get("content")
    first = without(item, "type", "role", "content", "metadata")
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content}]
        first["content"] = "text"
    parts = [read_part(part) for part in objects_in(items(content), ".content")]
    if not parts:
        parts = [text_block("")]
    first_part, *others = parts
    return [{**first_part, "item": first}, *[{**part, "item": _SAME} for part in others]]


def _read_item(item: Mapping[str, Any]) -> Message:
    """Return the canonical message of an item that is not a part of an answer.

    In an item of the type `message`, further keys such as `name` stay keys of the message. The keys `type`, `id` and
    `status` are kept in its mark only.
    """
    kind = kind_of(item)
    if kind in OUTPUTS:
        return read_output(item, kind)
    if kind != "message":
        return marked({"role": "user", "content": [item_block(item)]}, NAME)
    content = item.get("content")
    if isinstance(content, list):
        content = [read_part(part) for part in objects_in(content, ".content")]
    further = without(item, "role", "content", "metadata", *_IN_MARK)
    in_mark = {key: value for key, value in item.items() if key in _IN_MARK and value is not None}
    metadata = dict(mapping(item.get("metadata")))
    message = {"role": item.get("role"), "content": content, **further, "metadata": metadata}
    return marked(message, NAME, beside=in_mark)


# -- writing -----------------------------------------------------------------------------------------------------------


def write(messages: Iterable[Message], *, exact: bool = False) -> list[Message]:
    """Write canonical messages as items.

    Args:
        messages: canonical messages in order, without system messages at the beginning.
        exact: whether to write them unchanged, for a reader of the history. Else they are written as a request accepts
            them.
    """
    messages = list(messages)
    unseen = set[str]()
    if not exact:
        for message in messages:
            if _is_result(message) and lacks_screenshot(message):
                unseen.add(str(message.get("tool_call_id")))
    reasoning = ReasoningShown()
    kinds: dict[str, str] = {}  # of the written calls, by id
    written: list[Message] = []
    for message in messages:
        if _is_result(message):
            written.append(write_output(message, kinds, exact=exact))
        elif message["role"] == "assistant":
            for item in _items_of_answer(message, reasoning, unseen, exact=exact):
                written.append(item)
                if text(item.get("type")) in CALLS:
                    kinds[str(item.get("call_id", item.get("id")))] = item["type"]
        else:
            reasoning.turn()
            written += _write_message_item(message, exact=exact)
    return written


def is_one_answer(message: Message, after: Message) -> bool:
    """Return whether two messages are both answers in this form, so that no user's message is needed between them."""

    def is_answer(one: Message) -> bool:
        return one.get("role") == "assistant" and form_of(one) == NAME

    return is_answer(message) and is_answer(after)


def _is_result(message: Message) -> bool:
    return message["role"] in ("tool", "function")


def _items_of_answer(
    message: Message, reasoning: ReasoningShown, unseen: Collection[str], *, exact: bool
) -> list[Message]:
    """Return the items of an answer.

    Args:
        message: the answer.
        reasoning: knows which reasoning earlier answers show.
        unseen: the ids of computer calls whose results lack their screenshot.
        exact: whether to write the items unchanged, for readers of the history; else as a request accepts them.
    """
    is_own_form = form_of(message) == NAME
    ordered = _blocks_in_order(message, is_own_form=is_own_form)
    shows_reasoning = any(reasoning_item(block) is not None for block in ordered)
    bound = Bound.KEPT if exact else reasoning.of(message, shows=shows_reasoning)
    keeps_ids = is_own_form and bound is Bound.KEPT
    answer_items: list[Message] = []
    for block in ordered:
        original = original_of(block)
        if block.get("type") == "tool_call":
            call_id, call = block["call"]
            lacks_screenshot = call_id in unseen and mapping(call.get("item")).get("type") == "computer_call"
            as_function = bound is Bound.LOST or lacks_screenshot
            answer_items.append(write_call(call_id, call, keeps_ids=keeps_ids, as_function=as_function))
        elif exact and block.get(CARRIED):
            continue
        elif is_block(block, THINKING_BLOCKS):
            item = reasoning_item(block)
            if item is not None:
                answer_items.append(item)
        elif is_own_form and is_item(original) and not _is_lost(original, bound):
            answer_items.append(dict(original))
        elif is_own_form and block.get("item") == _SAME and answer_items and answer_items[-1].get("type") == "message":
            answer_items[-1]["content"].append(_answer_part(block, exact=exact))
        else:
            answer_items += _answer_message(block, keeps_ids=keeps_ids, exact=exact)
    if not exact:
        while answer_items and answer_items[-1].get("type") == "reasoning":  # reasoning needs an item after it
            answer_items.pop()
    return answer_items


def _blocks_in_order(message: Message, *, is_own_form: bool) -> list[Message]:
    """Return the blocks and calls of an answer in order; calls are at the end if the answer is of another form."""
    blocks = blocks_without_calls(message)
    thought = message.get("thinking_block")
    if isinstance(thought, dict) and not any(is_block(block, THINKING_BLOCKS) for block in blocks):
        blocks = [thought, *blocks]
    calls = [{"type": "tool_call", "call": (call_id, call)} for call_id, call in given_calls(message).items()]
    return in_places(blocks, calls, mark_of(message).get("calls_at") if is_own_form else None)


def _is_lost(item: Mapping[str, Any], bound: Bound) -> bool:
    """Return whether an item of a server's tool is bound to reasoning that is left out, so that it cannot be sent."""
    return bound is Bound.LOST and text(item.get("type")) in ON_SERVER


def _answer_message(block: Message, *, keeps_ids: bool, exact: bool) -> Iterator[Message]:
    item = mapping(block.get("item"))
    words = words_or_line(block)
    if item.get("content") == "text":
        kind = {"type": "message"} if exact else {}
        yield {**kind, **without(item, "content"), "role": "assistant", "content": words}
    elif item and keeps_ids:
        yield {"type": "message", **item, "role": "assistant", "content": [_answer_part(block, exact=exact)]}
    elif words.strip():
        phase = {"phase": item["phase"]} if isinstance(item.get("phase"), str) else {}
        yield {"role": "assistant", "content": words, **phase}


def _answer_part(block: Message, *, exact: bool) -> Message:
    if block.get("refusal") is True:
        return {"type": "refusal", "refusal": text(block.get("text"))}
    more = without(block, "type", "text", "item", "visibility", "original")
    if not exact and "annotations" not in more:
        more["annotations"] = []
    return {"type": "output_text", "text": words_or_line(block), **more}


def _write_message_item(message: Message, *, exact: bool) -> Iterator[Message]:
    """Yield the input item for a message that is not an answer; nothing if the message is empty.

    Args:
        message: a message of the role user, system or developer.
        exact: whether to write the message unchanged, for a reader of the history; else as a request accepts it.
    """
    is_own_form = form_of(message) == NAME
    blocks = [block for block in blocks_without_calls(message) if not is_block(block, THINKING_BLOCKS)]
    if is_own_form and len(blocks) == 1:
        original = original_of(blocks[0])
        if text(original.get("type")) in _OF_USER:
            yield dict(original)
            return
    written = [write_part(block, message, exact=exact) for block in blocks]
    parts = [part for part in written if part is not None]
    content: Any = parts
    keeps_list = is_own_form and isinstance(message.get("content"), list)
    if not keeps_list and all(part["type"] == "input_text" for part in parts):
        content = "\n".join(part["text"] for part in parts)
    if content or exact:
        form_keys = beside(message) if is_own_form else {}
        yield {**without(form_keys, "id", "status"), "role": message["role"], "content": content, **_ids(form_keys)}


def _ids(form_keys: Mapping[str, Any]) -> Message:
    return {key: form_keys[key] for key in ("id", "status") if key in form_keys}
