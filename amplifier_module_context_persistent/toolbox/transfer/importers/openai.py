"""Bodies of OpenAI's Chat Completions and Responses APIs, and lists or lines of their messages and items.

`forms.openai_chat` and `forms.openai_responses` read messages and items. Reasoning, text and calls that follow each
other are one assistant's message; outputs are results. Codex keeps its history as such items, some without a `type`.

A document is a list of messages, or an object with `messages` (Chat Completions, Anthropic) or `input` (Responses).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ....forms import openai_chat, openai_responses, responses_parts
from ....forms.canonical import marked, parsed_calls, plain_content, text_block
from ....forms.openai_chat import usage as usage_of_openai
from ....forms.openai_responses import ON_SERVER, kind_of
from ....forms.responses_calls import CALLS, OUTPUTS
from ....messages.message import is_block
from ....messages.metadata import metadata_of
from . import fields
from .account import Account
from .events import Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, as_text, assistant, items, mapping, metadata, named, result, text, thinking_block
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


KINDS = CALLS | OUTPUTS | ON_SERVER | {"message", "reasoning"}
"""Types of items that become messages, or parts of one."""


def is_answer(item: dict[str, Any]) -> bool:
    """Whether an item is a part of an assistant's message; of other items the agent's notes are kept as metadata."""
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind in CALLS or kind in ON_SERVER or kind == "reasoning"


def blocks_of(content: Any) -> list[Message]:
    """Content parts of either API as blocks that hosts keep."""
    return [_block(part) for part in fields.blocks_of(content)]


def _block(part: Message) -> Message:
    if not isinstance(part.get("type"), str):
        return part
    return _bare(responses_parts.read_part(openai_chat.read_part(part)))


def _bare(block: Message) -> Message:
    """A block without what only its own form needs to write it again."""
    if block["type"] == "text":
        return text_block(text(block.get("text")))
    return {key: value for key, value in block.items() if key != "part"} if "part" in block else block


def parts_of(item: dict[str, Any]) -> tuple[list[Message], list[Message]]:
    """The content blocks and calls of an item that is a part of an assistant's message."""
    kind = kind_of(item)
    if kind == "message":
        return blocks_of(item.get("content")), []
    [message] = openai_responses.read([_completed(item, kind)])
    blocks = message["content"]
    if kind == "reasoning":
        blocks = _reasoning(text(blocks[0]["thinking"]), blocks[0]["content"])
    return blocks, parsed_calls(message).get("tool_calls", [])


def _completed(item: dict[str, Any], kind: str) -> dict[str, Any]:
    """An item with the id of its call and its lists of objects, which a source may give in other ways."""
    if kind == "reasoning":
        return {**item, **{key: fields.blocks_of(item.get(key)) for key in ("summary", "content")}}
    if kind not in CALLS:
        return item
    told = {"call_id": text(item.get("call_id")) or text(item.get("id"))}
    if item.get("arguments") is None and isinstance(summary := item.get("summary"), str):
        return {**item, **told, "arguments": {"summary": summary}}
    return {**item, **told}


def _reasoning(said: str, state: list[Any]) -> list[Message]:
    """Reasoning as hosts keep it: the summary as text, the encrypted state and the item's id beside it."""
    if not said and not any(state):
        return []
    return [{**thinking_block(said), "content": state} if any(state) else thinking_block(said)]


def of_provider(message: Message) -> Message:
    """An answer with the mark of its form if it has items that only its provider understands."""
    content = message["content"]
    has_items = isinstance(content, list) and any(is_block(block, ON_SERVER) for block in content)
    return marked(message, openai_responses.NAME) if has_items else message


def output_of(item: dict[str, Any]) -> tuple[Any, bool]:
    """The content of a result, and whether it tells of a failure."""
    output = item.get("output")
    failed = mapping(output).get("success") is False
    if isinstance(output, dict):
        output = output.get("content", output)
    if isinstance(output, list):
        output = fields.blocks_of(output)
    [message] = openai_responses.read([{**item, "call_id": text(item.get("call_id")), "output": output}])
    failed = failed or metadata_of(message).get("is_error") is True
    content = message["content"]
    if isinstance(content, list):
        return plain_content([_bare(block) for block in content]), failed
    return as_text(content), failed


_OWN_PARTS = openai_chat.PARTS | responses_parts.PARTS


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
    model, usage = text(facts.get("model")), usage_of_openai(mapping(document).get("usage"))
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
        yield MessageRead(of_provider(message), first)


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
    calls = [mapping(one) for one in items(message.get("tool_calls"))]
    content = fields.blocks_of(message.get("content"))
    [read_answer] = openai_chat.read([{**message, "content": content, "tool_calls": calls}])
    blocks = [_signed(block, given) for block in blocks_of(read_answer["content"])]
    asked = parsed_calls(read_answer).get("tool_calls", [])
    for number, one in enumerate(asked, 1):
        one["id"] = text(one["id"]) or f"{message_id}-call{number}"
    if asked and not calls:  # the older form has one call, without an id
        asked[0]["id"] = f"{message_id}-call"
    told = metadata(
        message_id,
        time,
        provider=text(given.get("provider")) or "openai",
        model=text(message.get("model")) or text(given.get("model")) or model,
        stop_reason=text(message.get("finish_reason")) or text(given.get("stop_reason")),
        usage=usage_of_openai(message.get("usage")) or mapping(given.get("usage")),
    )
    return assistant(blocks, asked, told)


def _signed(block: Message, given: dict[str, Any]) -> Message:
    """A block; of what was thought with its signature, which this package's own export has in the metadata."""
    if block.get("type") != "thinking" or "signature" in block:
        return block
    return thinking_block(text(block.get("thinking")), text(given.get("signature")) or None)


def _content(content: Any) -> Any:
    return content if isinstance(content, str) else plain_content(blocks_of(content))
