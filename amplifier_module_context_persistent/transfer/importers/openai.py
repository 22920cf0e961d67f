"""Bodies of OpenAI's Chat Completions and Responses APIs, and lists or lines of their messages and items.

Items: https://platform.openai.com/docs/api-reference/responses. Reasoning, text and calls that follow each other are
one assistant's message; outputs are results. Codex keeps its history as such items, some of them without a `type`.

A document is a list of messages, or an object with `messages` (Chat Completions, Anthropic) or `input` (Responses).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from . import fields
from .account import Account
from .events import Event, KeptEntry, MessageRead, SessionStart
from .fields import (
    Message,
    as_text,
    assistant,
    call,
    image_block,
    items,
    mapping,
    metadata,
    named,
    plain_content,
    result,
    text,
    text_block,
    thinking_block,
    total,
    usage_of,
)
from .source import ImportRefusedError, Sample, Source, SourceObject, entries_of, objects_of

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_PARAMETERS = (
    "temperature",
    "top_p",
    "max_tokens",
    "max_output_tokens",
    "reasoning",
    "thinking",
    "tool_choice",
    "metadata",
)


def document_messages(document: Any) -> list[Any] | None:
    """The messages or items of a document, with the output after the input; None where it has none."""
    if isinstance(document, list):
        return document
    body = mapping(document)
    for key in ("messages", "input"):
        given = body.get(key)
        if isinstance(given, str) and key == "input":
            given = [{"type": "message", "role": "user", "content": given}]
        if isinstance(given, list):
            return [*given, *items(body.get("output"))]
    return items(body["output"]) if isinstance(body.get("output"), list) else None


def facts_of(document: Any) -> dict[str, Any]:
    """What a body says of the whole: the model, tool definitions, parameters."""
    body = mapping(document)
    facts = named(body, model="model", title="title", session_id="session_id", source_id="id")
    parameters = {key: body[key] for key in _PARAMETERS if body.get(key) is not None}
    return {**facts, "tools": items(body.get("tools")), "parameters": parameters}


def messages_of(source: Source, account: Account) -> Iterator[SourceObject]:
    """The messages with their numbers, from a document's list or from lines; what is no object is lost.

    Raises:
        ImportRefusedError: a document has no messages.
    """
    sample = source.sample
    listed = document_messages(sample.document)
    if listed is None or (len(sample.entries) == 1 and _is_message(sample.entries[0])):
        if sample.document is not None and not sample.entries:
            raise ImportRefusedError("a JSON document without messages")
        yield from objects_of(source, account)
    else:
        yield from entries_of(listed, account)


def sampled(sample: Sample) -> list[dict[str, Any]]:
    """The first messages of a file."""
    listed = document_messages(sample.document)
    if listed is not None:
        return [message for message in listed[:200] if isinstance(message, dict)]
    return list(sample.entries)


def _is_message(entry: dict[str, Any]) -> bool:
    return text(entry.get("role")) in ROLES and "messages" not in entry and "input" not in entry


CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
KINDS = CALLS | OUTPUTS | {"message", "reasoning"}


def kind_of(item: dict[str, Any]) -> str:
    """The type of an item, also of one that does not name it."""
    if kind := text(item.get("type")):
        return kind
    if "role" in item:
        return "message"
    if "output" in item and "call_id" in item:
        return "function_call_output"
    return "function_call" if "name" in item and "call_id" in item else ""


def is_answer(item: dict[str, Any]) -> bool:
    """Whether an item is a part of an assistant's message."""
    kind = kind_of(item)
    return kind in CALLS or kind == "reasoning" or (kind == "message" and item.get("role") == "assistant")


def blocks_of(content: Any) -> list[Message]:
    """Content parts as blocks that hosts keep."""
    return [_block(part) for part in fields.blocks_of(content)]


def _block(part: Message) -> Message:
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text", "summary_text", "reasoning_text"):
        return text_block(text(part.get("text")))
    if kind == "refusal":
        return text_block(text(part.get("refusal")))
    if kind in ("input_image", "image_url"):
        given = part.get("image_url")
        detail = part.get("detail") or mapping(given).get("detail")
        return image_from(text(given) or text(mapping(given).get("url")), detail)
    return part


def image_from(url: str, detail: Any = None) -> Message:
    """An image from a URL; one that holds its data becomes base64 with its media type."""
    more = {"detail": detail} if isinstance(detail, str) else {}
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return {**image_block(data, head.removeprefix("data:").removesuffix(";base64")), **more}
    return {"type": "image", "source": {"type": "url", "url": url}, **more}


def parts_of(item: dict[str, Any]) -> tuple[list[Message], list[Message]]:
    """The content blocks and calls of an item that is a part of an assistant's message."""
    kind = kind_of(item)
    if kind == "message":
        return blocks_of(item.get("content")), []
    if kind == "reasoning":
        return _reasoning(item), []
    call_id = text(item.get("call_id")) or text(item.get("id"))
    if kind == "custom_tool_call":
        return [], [call(call_id, text(item.get("name")), {"input": item.get("input")})]
    if kind == "local_shell_call":
        return [], [call(call_id, "local_shell", item.get("action"))]
    given = item.get("arguments")
    if given is None and isinstance(summary := item.get("summary"), str):
        given = {"summary": summary}
    return [], [call(call_id, text(item.get("name")), given)]


def text_of_reasoning(item: dict[str, Any]) -> str:
    """What a reasoning item says."""
    return "\n\n".join(
        text(block.get("text")) for key in ("summary", "content") for block in blocks_of(item.get(key)) if block
    )


def _reasoning(item: dict[str, Any]) -> list[Message]:
    """Reasoning as hosts keep it: the summary as text, the encrypted state and the item's id beside it."""
    said, state = text_of_reasoning(item), [item.get("encrypted_content"), item.get("id")]
    if not said and not any(state):
        return []
    return [{**thinking_block(said), "content": state} if any(state) else thinking_block(said)]


def output_of(item: dict[str, Any]) -> tuple[Any, bool]:
    """The content of a result, and whether it tells of a failure."""
    given = item.get("output")
    failed = mapping(given).get("success") is False
    if isinstance(given, dict):
        given = given.get("content", given)
    if isinstance(given, list):
        return plain_content(blocks_of(given)), failed
    return ("" if given is None else as_text(given)), failed


_OWN_PARTS = frozenset(
    {"image_url", "input_text", "output_text", "input_image", "input_audio", "refusal", "input_file"}
)


def score(sample: Sample) -> int:
    """A document of messages is of this format unless another one is surer; lines only by what is its own."""
    messages = sampled(sample)
    known = sum(text(message.get("role")) in ROLES or kind_of(message) in KINDS for message in messages)
    if document_messages(sample.document) is not None:
        return 800 if known else 0
    sure = sum(map(_is_own, messages))
    return known + 1 if sure else 0


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the one session."""
    document = source.sample.document
    facts = facts_of(document)
    model, usage = text(facts.get("model")), _usage(mapping(mapping(document).get("usage")))
    yield SessionStart("session", "", facts, text(facts.get("session_id")))
    if said := text(mapping(document).get("instructions")):
        yield MessageRead({"role": "system", "content": said, "metadata": metadata("openai-instructions")})
    open_function = ""
    for is_part, run in groupby(messages_of(source, account), lambda at: _is_part(at.value)):
        if is_part:
            yield from _answer_of_items(run, account, model, usage)
            continue
        for at in run:
            yield from _event(at, account, model, open_function)
            if mapping(at.value.get("function_call")):
                open_function = f"{id_of(at, 'openai')}-call"


def id_of(at: SourceObject, format_name: str) -> str:
    """The id of a message: as this package's own export says it, else the source; derived where none does."""
    given = mapping(at.value.get("metadata"))
    return text(given.get("message_id")) or text(at.value.get("id")) or f"{format_name}-{at.number}"


def _is_part(item: dict[str, Any]) -> bool:
    """Whether it is an item of an answer, not a whole message."""
    return is_answer(item) and (kind_of(item) != "message" or "type" in item)


def _is_own(message: dict[str, Any]) -> bool:
    if mapping(message.get("metadata")).get("message_id"):
        return False  # this package's own export
    kind = text(message.get("type"))
    if kind in CALLS | OUTPUTS | {"reasoning"} and "role" not in message:
        return True
    parts = [mapping(part) for part in items(message.get("content"))]
    return text(message.get("role")) in ROLES and any(text(part.get("type")) in _OWN_PARTS for part in parts)


def _answer_of_items(
    run: Iterable[SourceObject], account: Account, model: str, usage: dict[str, Any]
) -> Iterator[Event]:
    """The message that items make which follow each other."""
    blocks, calls, first = list[Message](), list[Message](), 0
    for number, item in run:
        more, called = parts_of(item)
        if not called and not plain_content(more):
            account.skip(f"{kind_of(item)} without content")
            continue
        account.map(kind_of(item))
        first = first or number
        blocks += more
        calls += called
    given = metadata(f"openai-{first}", None, provider="openai", model=model, usage=usage)
    if (message := assistant(blocks, calls, given)) is not None:
        yield MessageRead(message, first)


def _event(at: SourceObject, account: Account, model: str, open_function: str) -> Iterator[Event]:
    number, message = at
    kind, role = kind_of(message), text(message.get("role"))
    if kind in OUTPUTS:
        account.map(kind)
        content, failed = output_of(message)
        given = metadata(f"openai-{number}", failed=failed)
        yield MessageRead(result(text(message.get("call_id")), content, given), number)
    elif role in ROLES:
        if (read := _message(at, model, open_function)) is None:
            account.skip(f"{role} without content")
        else:
            account.map(role)
            yield MessageRead(read, number)
    elif kind:
        account.keep(kind)
        yield KeptEntry(message, number, kind)
    else:
        account.lose(number, f"no message: its role is {str(message.get('role'))[:20]!r}")


def _message(at: SourceObject, model: str, open_function: str) -> Message | None:
    message, message_id = at.value, id_of(at, "openai")
    given = mapping(message.get("metadata"))
    time = given.get("timestamp") or message.get("timestamp") or message.get("created_at")
    role, said = message["role"], _content(message.get("content"))
    if role in ("tool", "function"):
        call_id = text(message.get("tool_call_id")) or open_function
        told = metadata(message_id, time, failed=given.get("is_error") is True)
        return result(call_id, said, told, text(message.get("name")))
    if role == "assistant":
        return _answer(message, message_id, time, given, model)
    told = metadata(message_id, time, source=text(given.get("source")) or None)
    named = {"name": message["name"]} if isinstance(message.get("name"), str) else {}
    return {"role": role, "content": said, **named, "metadata": told} if said else None


def _answer(message: Message, message_id: str, time: Any, given: dict[str, Any], model: str) -> Message | None:
    blocks = blocks_of(message.get("content"))
    if thought := text(message.get("reasoning_content")) or text(message.get("reasoning")):
        blocks.insert(0, thinking_block(thought, text(given.get("signature")) or None))
    if refused := text(message.get("refusal")):
        blocks.append(text_block(refused))
    calls = []
    for number, one in enumerate(items(message.get("tool_calls")), 1):
        asked = mapping(one)
        function = mapping(asked.get("function")) or mapping(asked.get("custom")) or asked
        call_id = text(asked.get("id")) or f"{message_id}-call{number}"
        calls.append(call(call_id, text(function.get("name")), function.get("arguments", function.get("input"))))
    legacy = mapping(message.get("function_call"))
    if legacy and not calls:
        calls.append(call(f"{message_id}-call", text(legacy.get("name")), legacy.get("arguments")))
    told = metadata(
        message_id,
        time,
        provider=text(given.get("provider")) or "openai",
        model=text(message.get("model")) or text(given.get("model")) or model,
        stop_reason=text(message.get("finish_reason")) or text(given.get("stop_reason")),
        usage=_usage(mapping(message.get("usage"))) or mapping(given.get("usage")),
    )
    return assistant(blocks, calls, told)


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else plain_content(blocks_of(content))


def _usage(given: dict[str, Any]) -> dict[str, Any]:
    details = mapping(given.get("prompt_tokens_details")) or mapping(given.get("input_tokens_details"))
    return usage_of(
        input_tokens=total(given.get("prompt_tokens", given.get("input_tokens"))),
        output_tokens=total(given.get("completion_tokens", given.get("output_tokens"))),
        cache_read_tokens=details.get("cached_tokens"),
    )
