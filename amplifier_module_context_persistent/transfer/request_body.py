"""Messages as the body of a request: Anthropic's Messages API, OpenAI's Chat Completions.

Any messages will do, a view or a whole history: they are put in order as a view is (`arrange`), so each call has one
result right after it, the first message after the system text is a user's, and what the provider refuses is shown
otherwise.

Sources: platform.claude.com/docs/en/api/messages, .../build-with-claude/pdf-support, .../agents-and-tools/tool-use/
server-tools; platform.openai.com/docs/api-reference/chat, .../guides/pdf-files (read 2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import dropwhile, groupby, takewhile
from typing import Any

from ..messages.media_blocks import IMAGE_TYPES, source_of
from ..messages.message import THINKING_BLOCKS, Message, calls_of, is_block, result_id_of
from ..messages.metadata import line_before, metadata_of
from ..messages.normalize import normalise
from ..messages.text import block_text, blocks_without_calls, calls_with_arguments, to_json
from ..view.arrangement import Presentation, arrange
from ..view.entry import INSTRUCTING, Entry
from ..view.ids_and_names import oddities_of, rules_of
from ..view.recipients import ANTHROPIC, OPENAI
from ..view.render import render

_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
_SERVER_RESULTS = frozenset(
    {
        *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "mcp_tool_result"),
        *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result"),
    }
)
_KEPT = (
    _SERVER_CALLS | _SERVER_RESULTS | {"document", "file", "input_file", "image_url", "input_image", "search_result"}
)
"""Kinds of blocks that Amplifier's requests cannot carry, and these bodies can."""
_CHAT_RULES = rules_of(OPENAI, strict=True)
_SERVER_ID = re.compile(r"(?:srvtoolu|mcptoolu)_[a-zA-Z0-9_]+")
_SECRETS = frozenset({"encrypted_content", "encrypted_index", "encrypted_stdout"})


def to_anthropic(view: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Turn a view into what `client.messages.create` takes besides `model`, `max_tokens` and `tools`.

    Args:
        view: messages in Amplifier's form, as `get_messages_for_request` gives them; they are not altered.

    Returns:
        `system`, a text, where the view begins with system text; `messages`, each with `role` (`user`, `assistant`) and
        `content`, a text or blocks. Thinking without a signature and metadata have no place in it; system text after
        the first other message is a user's; an answer at the end, and one before another answer, is followed by a
        user's `[continued]`: the body of the next view goes on from this one.

    Raises:
        ValueError: an item is no message, or none of them can be sent.
    """
    ordered = in_order(view, ANTHROPIC)
    system = "\n\n".join(text for one in takewhile(_instructs, ordered) if (text := _text(one)))
    messages = list(_anthropic_messages(dropwhile(_instructs, ordered)))
    return {**({"system": system} if system else {}), "messages": _checked(messages)}


def to_openai(view: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Turn a view into what `client.chat.completions.create` takes besides `model` and `tools`.

    Args:
        view: messages in Amplifier's form, as `get_messages_for_request` gives them; they are not altered.

    Returns:
        `messages`, each with `role` (`system`, `developer`, `user`, `assistant`, `tool`), `content` and, of an answer,
        `tool_calls`. Thinking and metadata have no place in it. Calls that a provider's server ran (`server_tool_use`)
        are calls with results like others. In results, of what is no text only the kind is told.

    Raises:
        ValueError: an item is no message, or none of them can be sent.
    """
    return {"messages": _checked([message for one in in_order(view, OPENAI) for message in _chat_messages(one)])}


def in_order(messages: Iterable[Mapping[str, Any]], family: str) -> list[Message]:
    """Put messages in order for a family of providers; blocks that only request bodies can carry stay as they are.

    Raises:
        ValueError: an item is no message.
    """
    given: list[Message] = []
    entries: list[Entry] = []
    for position, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise ValueError(f"item {position} is no message: {message!r:.60}")  # noqa: TRY004 - as other wrong input
        accepted = normalise(dict(message), keeps=_KEPT)
        given.append(accepted or dict(message))
        entries.append(_entry(position, message, accepted))
    arranged = arrange(entries, lambda _: 0, Presentation(wire=rules_of(family, strict=True)))
    return render(arranged, lambda wanted: (given[entry.ordinal] for entry in wanted))


def _entry(position: int, message: Mapping[str, Any], accepted: Message | None) -> Entry:
    return Entry(
        position,
        "",
        str(message["role"]),
        0,
        blank=accepted is None,
        calls=calls_of(accepted) if accepted else (),
        result_of=result_id_of(message),
        named=bool(message.get("name")),
        odd=oddities_of(accepted) if accepted else None,
        line_before=line_before(message),
    )


def _checked(messages: list[Message]) -> list[Message]:
    if all(message["role"] in INSTRUCTING for message in messages):
        raise ValueError("no message can be sent; a request needs at least one of a user")
    return messages


def _instructs(message: Message) -> bool:
    return message["role"] in INSTRUCTING


def _text(message: Message) -> str:
    return "\n".join(text for block in blocks_without_calls(message) if (text := block_text(block)).strip())


def _result_blocks(message: Message) -> Iterator[Message]:
    """The blocks of a result; those of `tool_result` blocks in it stand for themselves."""
    for block in blocks_without_calls(message):
        if block.get("type") != "tool_result":
            yield block
        elif isinstance(output := block.get("output"), list | str):
            yield from blocks_without_calls({"content": output})
        else:
            yield {"type": "text", "text": to_json(output)}


# -- Anthropic ---------------------------------------------------------------------------------------------------------


def _anthropic_messages(messages: Iterable[Message]) -> Iterator[Message]:
    for are_results, run in groupby(messages, lambda message: message["role"] in ("tool", "function")):
        if are_results:
            yield {"role": "user", "content": list(map(_tool_result, run))}
            continue
        for message in run:
            answers = message["role"] == "assistant"
            blocks = _answer_blocks(message) if answers else _said_blocks(blocks_without_calls(message))
            only = blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks
            if blocks:
                yield {"role": "assistant" if answers else "user", "content": only}


def _said_blocks(blocks: Iterable[Message]) -> list[Message]:
    """What a user or a tool may say: texts, images, documents."""
    spoken = (block for block in blocks if not is_block(block, THINKING_BLOCKS))
    return [shown for block in spoken if (shown := _anthropic_block(block)) is not None]


def _answer_blocks(message: Message) -> list[Message]:
    """What an answer says, with the thinking that is signed, and its calls at the end."""
    given = blocks_without_calls(message)
    own = message.get("thinking_block")
    if isinstance(own, dict) and not any(is_block(block, THINKING_BLOCKS) for block in given):
        given = [own, *given]
    blocks: list[Message] = []
    for block in _on_server(given):
        if is_block(block, _SERVER_CALLS | _SERVER_RESULTS):
            blocks.append(block)
        elif source_of(block) is not None or block.get("type") == "search_result":  # a user's, or a tool's
            blocks.append({"type": "text", "text": _told(block)})
        elif (shown := _anthropic_block(block)) is not None:
            blocks.append(shown)
    blocks += [
        {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        for call_id, name, arguments in calls_with_arguments(message)
    ]
    while blocks and is_block(blocks[-1], THINKING_BLOCKS):  # "the final block cannot be thinking"
        blocks.pop()
    return blocks


def _on_server(blocks: Iterable[Message]) -> list[Message]:
    """Blocks without a server's calls that lack their result and results of nothing; ids as the provider takes them."""
    blocks = list(blocks)
    asked: dict[str, int] = {}
    pairs: dict[int, str] = {}
    for at, block in enumerate(blocks):
        if is_block(block, _SERVER_CALLS):
            asked[str(block.get("id"))] = at
        elif is_block(block, _SERVER_RESULTS) and (called := asked.pop(str(block.get("tool_use_id")), -1)) >= 0:
            pairs[called] = pairs[at] = _server_id(blocks[called])
    return [
        {**block, ("id" if is_block(block, _SERVER_CALLS) else "tool_use_id"): pairs[at]} if at in pairs else block
        for at, block in enumerate(blocks)
        if at in pairs or not is_block(block, _SERVER_CALLS | _SERVER_RESULTS)
    ]


def _server_id(call: Message) -> str:
    """The id of a server's call as the provider takes it."""
    call_id = str(call.get("id"))
    if _SERVER_ID.fullmatch(call_id):
        return call_id
    begin = "srvtoolu_" if call["type"] == "server_tool_use" else "mcptoolu_"
    return begin + re.sub(r"[^a-zA-Z0-9]", "_", call_id)


def _tool_result(message: Message) -> Message:
    blocks = _said_blocks(_result_blocks(message))
    content: Any = blocks
    if all(block.keys() == {"type", "text"} for block in blocks):
        content = "\n".join(block["text"] for block in blocks)
    failed = {"is_error": True} if metadata_of(message).get("is_error") is True else {}
    return {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content, **failed}


def _anthropic_block(block: Message) -> Message | None:
    """A block of text, thinking or media; None for one that says nothing or is not signed."""
    kind = block.get("type")
    marked = {"cache_control": block["cache_control"]} if "cache_control" in block else {}
    if kind == "thinking":
        signed = isinstance(block.get("signature"), str) and block["signature"]
        return {"type": kind, "thinking": block.get("thinking") or "", "signature": signed} if signed else None
    if kind == "redacted_thinking":
        return {"type": kind, "data": str(block.get("data") or "")}
    if kind == "reasoning":
        return None
    if kind in ("document", "search_result") and isinstance(block.get("source"), dict | str):
        return {key: value for key, value in block.items() if key != "visibility"}
    if (medium := _anthropic_medium(block)) is not None:
        return {**medium, **marked}
    said = block_text(block)
    return {"type": "text", "text": said, **marked} if said.strip() else None


def _anthropic_medium(block: Message) -> Message | None:
    """An image or a PDF, whatever form it has; None where it has none that Anthropic takes."""
    source = source_of(block)
    if source is None:
        return None
    kind = "image" if source.kind == "image" else "document"
    if source.data and source.media_type in (IMAGE_TYPES if kind == "image" else ("application/pdf",)):
        body = {"type": "base64", "media_type": source.media_type, "data": source.data}
    elif source.url.startswith(("http://", "https://")):
        body = {"type": "url", "url": source.url}
    elif isinstance(given := block.get("source"), dict) and given.get("type") == "file":
        body = given
    else:
        return None
    return {"type": kind, "source": body, **({"title": source.name} if source.name and kind == "document" else {})}


# -- OpenAI ------------------------------------------------------------------------------------------------------------


def _chat_messages(message: Message) -> Iterator[Message]:
    role = message["role"]
    if role in ("tool", "function"):
        said = "\n".join(_told(block) for block in _result_blocks(message))
        yield {"role": "tool", "tool_call_id": message["tool_call_id"], "content": said}
    elif role == "assistant":
        yield from _chat_answers(message)
    else:
        blocks = [block for block in blocks_without_calls(message) if not is_block(block, THINKING_BLOCKS)]
        as_part = _text_part if role in INSTRUCTING else _chat_part  # system text has no images
        parts = [part for block in blocks if (part := as_part(block)) is not None]
        is_text = all(part["type"] == "text" for part in parts)
        if content := "\n".join(part["text"] for part in parts) if is_text else parts:
            yield {"role": role, "content": content}


def _chat_answers(message: Message) -> Iterator[Message]:
    """An answer; one in which a server ran tools is several, with the results between them."""
    spoken = (block for block in blocks_without_calls(message) if not is_block(block, THINKING_BLOCKS))
    said: list[str] = []
    calls: list[tuple[str, str, Any]] = []
    results: list[Message] = []
    for block in _on_server(spoken):
        if is_block(block, _SERVER_RESULTS):
            content = to_json(_without_secrets(block.get("content")))
            results.append({"role": "tool", "tool_call_id": _chat_id(block["tool_use_id"]), "content": content})
            continue
        if results and len(results) == len(calls):
            yield from _chat_answer(said, calls)
            yield from results
            said, calls, results = [], [], []
        if is_block(block, _SERVER_CALLS):
            name = _CHAT_RULES.name(str(block.get("name") or "unknown"))
            calls.append((_chat_id(block["id"]), name, block.get("input") or {}))
        elif text := _told(block):
            said.append(text)
    if results:
        yield from _chat_answer(said, calls)
        yield from results
        said, calls = [], []
    yield from _chat_answer(said, calls + calls_with_arguments(message))


def _chat_id(call_id: str) -> str:
    return _CHAT_RULES.call_id(call_id)


def _chat_answer(said: list[str], calls: list[tuple[str, str, Any]]) -> Iterator[Message]:
    listed = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": to_json(arguments)}}
        for call_id, name, arguments in calls
    ]
    if said or listed:
        content = "\n".join(said) or None
        yield {"role": "assistant", "content": content, **({"tool_calls": listed} if listed else {})}


def _chat_part(block: Message) -> Message | None:
    """A part of a user's message: text, an image, a PDF."""
    source = source_of(block)
    if source is not None and source.kind == "image" and source.address:
        return {"type": "image_url", "image_url": {"url": source.address}}
    if source is not None and source.kind == "document" and source.data and source.media_type == "application/pdf":
        return {"type": "file", "file": {"filename": source.name or "document.pdf", "file_data": source.address}}
    return _text_part(block)


def _text_part(block: Message) -> Message | None:
    text = _told(block)
    return {"type": "text", "text": text} if text.strip() else None


def _told(block: Message) -> str:
    """A block as text: what it says, or what it is."""
    if (source := source_of(block)) is None:
        return block_text(block)
    if source.kind == "document" and source.media_type.startswith("text/") and source.text:
        return source.text
    place = f": {source.url}" if source.url.startswith(("http://", "https://")) else ""
    return f"[{source.kind}{place}]"


def _without_secrets(value: Any) -> Any:
    """A value without what only the server that made it can read."""
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_secrets(item) for key, item in value.items() if key not in _SECRETS}
    return value
