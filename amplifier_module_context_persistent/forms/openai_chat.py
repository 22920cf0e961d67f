"""OpenAI's Chat Completions: its messages and completions, read and written.

| Chat Completions | canonical |
| --- | --- |
| `text` | the same |
| `image_url` | `image`; `detail` stays on it |
| `file` with `file_data` or `file_id` | `document` |
| `input_audio`; `audio_url`, `video_url` (of compatible servers) | `audio`, `video` |
| `refusal`, beside the content or a part of it | `text` with `refusal: true` |
| `reasoning_content`, `reasoning`, `thinking_blocks` (of compatible servers) | `thinking` |
| `tool_calls` | the same: their `arguments` stay the model's own text |
| `tool_calls` of type `custom` | a call with the argument `input` |
| `function_call` and role `function`, the older pair | a call and a message of the role `tool` |
| `audio` of an answer | its transcript as text; a provider's item if only its id is given |
| `annotations` of an answer, unknown parts | `metadata.form.beside`; provider's items |
| `finish_reason`, `model`, `usage` of a completion | metadata |

If messages are written for a request, thinking and metadata are left out (but see `write`), and so are images in system
text and everything but text in results. Calls that another provider's server ran are written as ordinary calls with
results.

Sources: platform.openai.com/docs/api-reference/chat, .../guides/pdf-files, .../guides/audio (read 2026-11); the types
of the package `openai` 3.57.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..messages.message import (
    THINKING_BLOCKS,
    Message,
    call_arguments_of,
    call_name_of,
    given_arguments_of,
    given_calls,
    is_block,
)
from ..messages.metadata import metadata_of
from ..messages.text import blocks_without_calls, to_json
from ..messages.uncarried_blocks import original_of
from ..view.recipients import OPENAI
from ..view.wire_rules import rules_of
from .anthropic_server_tools import SERVER_CALLS, SERVER_RESULTS, on_server
from .block_text import result_blocks, told
from .canonical import (
    beside,
    form_of,
    items,
    mapping,
    marked,
    objects_in,
    refused,
    text,
    text_block,
    total,
    usage_of,
    without,
)
from .chat_parts import CHAT, read_part, spoken_part, text_part, write_part

NAME = CHAT

_THOUGHTS = ("reasoning_content", "reasoning")
_DETAILS = "reasoning_details"
_AUDIO = "answer_audio"
"""The type of the item for spoken words of an answer of which only the id is known."""
ON_ANSWERS = frozenset({"refusal", "annotations", "audio", "function_call", "thinking_blocks", _DETAILS, *_THOUGHTS})
"""Keys of an answer that only this form has."""
_RULES = rules_of(OPENAI, strict=True)
_SECRETS = frozenset({"encrypted_content", "encrypted_index", "encrypted_stdout"})
_INSTRUCTING = ("system", "developer")
_NAME = re.compile(r"[^\s<|\\/>]{1,64}")
"""Names of speakers that OpenAI accepts."""


# -- reading -----------------------------------------------------------------------------------------------------------


def read(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Read messages and return canonical ones.

    Raises:
        RecordError: a message is malformed; the error says where.
    """
    return [_read_one(message) for message in messages]


def read_completion(completion: Mapping[str, Any]) -> list[Message]:
    """Read a completion: the answer of its first choice.

    Raises:
        RecordError: the completion has no choice with a message.
    """
    choices = completion.get("choices")
    first = mapping(choices[0]) if isinstance(choices, list) and choices else {}
    given = first.get("message")
    if not isinstance(given, Mapping):
        raise refused(".choices", "there is no choice with a message", "give a whole completion, not a chunk of one")
    metadata = {
        "provider": "openai",
        "model": text(completion.get("model")),
        "stop_reason": text(first.get("finish_reason")),
        "usage": usage(completion.get("usage")),
    }
    read_answer = _read_one({"role": "assistant", **given})
    told_of = {key: value for key, value in metadata.items() if value}
    whole = {**read_answer, "metadata": {**metadata_of(read_answer), **told_of}}
    return [marked(whole, NAME, beside={**beside(whole), **without(completion, *_COMPLETION)})]


_COMPLETION = ("object", "choices", "model", "usage", "created", "system_fingerprint", "service_tier")


def usage(reported: Any) -> dict[str, Any]:
    """Return OpenAI's usage, from either of its APIs, under the names that the log uses."""
    given = mapping(reported)
    details = mapping(given.get("prompt_tokens_details")) or mapping(given.get("input_tokens_details"))
    return usage_of(
        input_tokens=total(given.get("prompt_tokens", given.get("input_tokens"))),
        output_tokens=total(given.get("completion_tokens", given.get("output_tokens"))),
        cache_read_tokens=details.get("cached_tokens"),
    )


def _read_one(message: Mapping[str, Any]) -> Message:
    role = message.get("role")
    content = message.get("content")
    if isinstance(content, list):
        content = [read_part(part) for part in objects_in(content, ".content")]
    if role == "function":
        return _read_function_result(message, content)
    if role != "assistant":
        return marked({**message, "content": content}, NAME)
    return _read_answer(message, content)


def _read_answer(message: Mapping[str, Any], content: Any) -> Message:
    told_of: Message = {}
    thoughts, refusal = _thoughts_of(message, told_of), text(message.get("refusal"))
    audio = mapping(message.get("audio"))
    transcript = text(audio.get("transcript"))
    if transcript:
        content = content or transcript
    elif audio and not content:
        content = [{"type": _AUDIO, **audio}]
    if thoughts or refusal:
        said = [text_block(content)] if isinstance(content, str) and content else items(content)
        content = [*thoughts, *said]
        if refusal:
            content.append(text_block(refusal, refusal=True))
    more = without(message, *ON_ANSWERS, "role", "content", "tool_calls")
    read_answer: Message = {"role": "assistant", "content": content, **more}
    for key in ("annotations", _DETAILS):
        if message.get(key):
            told_of[key] = message[key]
    if transcript:
        told_of["audio"] = without(audio, "transcript")
    if refusal:
        told_of["refusal"] = True
    calls, legacy_call = message.get("tool_calls"), message.get("function_call")
    if isinstance(calls, list) and calls:
        read_answer["tool_calls"] = [_read_call(one) for one in calls]
    elif isinstance(legacy_call, Mapping):
        call = {"id": _legacy_id(legacy_call), "type": "function", "function": dict(legacy_call)}
        read_answer["tool_calls"] = [call]
        told_of["function_call"] = True
    return marked(read_answer, NAME, beside=told_of)


def _thoughts_of(message: Mapping[str, Any], told_of: Message) -> list[Message]:
    """Return the thinking in a compatible server's answer as blocks, and note its key under `thoughts` in `told_of`."""
    signed = message.get("thinking_blocks")
    if isinstance(signed, list) and signed:
        told_of["thoughts"] = "thinking_blocks"
        return [dict(block) for block in objects_in(signed, ".thinking_blocks")]
    key = next((key for key in _THOUGHTS if text(message.get(key))), "")
    if not key:
        return []
    told_of["thoughts"] = key
    return [{"type": "thinking", "thinking": message[key]}]


def _read_call(asked: Any) -> Any:
    """Return a call in Amplifier's shape if it is of a custom tool, whose input is its argument; others unchanged."""
    custom = asked.get("custom") if isinstance(asked, Mapping) else None
    if not isinstance(custom, Mapping):
        return asked
    named = {"id": asked.get("id"), "tool": text(custom.get("name")), "arguments": {"input": custom.get("input")}}
    return {**named, **without(asked, "id", "custom")}


def _legacy_id(named: Mapping[str, Any]) -> str:
    """Return an id for a call of the older form, which has no ids: one made of the function's name."""
    return f"call_{text(named.get('name')) or 'function'}"


def _read_function_result(message: Mapping[str, Any], content: Any) -> Message:
    call_id = text(message.get("tool_call_id")) or _legacy_id(message)
    read_result = {**message, "role": "tool", "tool_call_id": call_id, "content": content}
    return marked(read_result, NAME, beside={"role": "function"})


# -- writing -----------------------------------------------------------------------------------------------------------


def write(messages: Iterable[Message], *, exact: bool = False, reasoning: bool = False) -> list[Message]:
    """Write canonical messages as those of Chat Completions.

    Args:
        messages: canonical messages in order.
        exact: whether to write them as they were added, for a reader of the history. Else as a request accepts them.
        reasoning: whether answers of this form keep the keys that compatible servers add: reasoning, and keys of calls
            such as signatures. OpenAI's own server refuses them.
    """
    return [one for message in messages for one in _write_one(message, exact=exact, reasoning=reasoning)]


def _is_own(message: Message) -> bool:
    return form_of(message) == NAME


def _keeps_list(message: Message, *, exact: bool) -> bool:
    """Return whether list content stays a list; in a request, the texts of other providers become one text."""
    is_alike = _is_own(message) or (exact and not form_of(message))
    return is_alike and isinstance(message.get("content"), list)


def _write_one(message: Message, *, exact: bool, reasoning: bool) -> Iterator[Message]:
    role = message["role"]
    if role in ("tool", "function"):
        yield _write_result(message, exact=exact)
    elif role == "assistant":
        yield from [_exact_answer(message)] if exact else _answers(message, reasoning=reasoning)
    else:
        yield from _write_text_message(message, exact=exact)


def _write_text_message(message: Message, *, exact: bool) -> Iterator[Message]:
    """Yield the message of a person, the system or a developer; nothing if it would be empty in a request."""
    role = message["role"]
    blocks = [block for block in blocks_without_calls(message) if not is_block(block, THINKING_BLOCKS)]
    if role in _INSTRUCTING:  # system text has no images
        parts = [part for block in blocks if (part := text_part(block)) is not None]
    else:
        parts = [part for block in blocks if (part := write_part(block, message, exact=exact)) is not None]
    content: Any = parts
    if all(part.get("type") == "text" for part in parts) and not _keeps_list(message, exact=exact):
        content = "\n".join(part["text"] for part in parts)
    if content or exact:
        yield {"role": role, "content": content, **_named(message)}


def _named(message: Message) -> Message:
    """Return the name of a speaker as a key of the message; empty if OpenAI does not accept the name."""
    name = message.get("name")
    is_name = isinstance(name, str) and form_of(message) in ("", NAME) and _NAME.fullmatch(name)
    return {"name": name} if is_name else {}


def _write_result(message: Message, *, exact: bool) -> Message:
    said: Any = "\n".join(told(block) for block in result_blocks(message))
    if exact and beside(message).get("role") == "function":
        return {"role": "function", "name": message.get("name"), "content": said}
    if _keeps_list(message, exact=exact):
        parts = [
            write_part(block, message, exact=True) if exact or block.get("type") == "text" else text_part(block)
            for block in result_blocks(message)
        ]
        said = [part for part in parts if part is not None] or said
    return {"role": "tool", "tool_call_id": message["tool_call_id"], "content": said}


def _exact_answer(message: Message) -> Message:
    """Return an answer in the form in which it was added."""
    kept = beside(message)
    blocks = blocks_without_calls(message)
    thinking = [block for block in blocks if is_block(block, THINKING_BLOCKS)]
    spoken = [block for block in blocks if not is_block(block, THINKING_BLOCKS)]
    refusals = list[str]()
    if kept.get("refusal"):  # the refusal was beside the content
        refusals = [block["text"] for block in spoken if block.get("refusal") is True]
        spoken = [block for block in spoken if not block.get("refusal")]
    content = _exact_content(message, spoken, is_text=bool(kept.get("refusal") or thinking))
    written: Message = {"role": "assistant", "content": content if content != [] else None}
    key = text(kept.get("thoughts")) or _THOUGHTS[0]
    if key == "thinking_blocks":
        written[key] = thinking
    elif thinking:
        written[key] = "\n\n".join(text(block.get("thinking")) for block in thinking)
    if refusals:
        written["refusal"] = "\n".join(refusals)
    written |= _named(message)
    if _DETAILS in kept:
        written[_DETAILS] = kept[_DETAILS]
    if (spoken_audio := _audio_in(blocks)) is not None:
        written |= {"content": None, "audio": spoken_audio}
    calls = given_calls(message)
    if calls and kept.get("function_call"):
        first = next(iter(calls.values()))
        return written | {"function_call": mapping(first.get("function"))}
    if calls:
        written["tool_calls"] = [_write_call(call_id, one, own=True) for call_id, one in calls.items()]
    if "audio" in kept:
        audio = mapping(kept["audio"])
        written |= {"content": None, "audio": {**audio, "transcript": content} if isinstance(content, str) else audio}
    if "annotations" in kept:
        written["annotations"] = kept["annotations"]
    return written


def _exact_content(message: Message, spoken: Iterable[Message], *, is_text: bool) -> Any:
    """Return the content of an answer as it was added; with `is_text`, a single text part becomes a text."""
    if not isinstance(message.get("content"), list):
        return message.get("content")
    parts = [part for block in spoken if (part := write_part(block, message, exact=True)) is not None]
    if is_text and len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        return parts[0]["text"]
    return parts


def _added_by_server(message: Message) -> Message:
    """Return the reasoning of an answer under the keys that its server used."""
    kept = beside(message)
    key = text(kept.get("thoughts"))
    blocks = [block for block in blocks_without_calls(message) if is_block(block, THINKING_BLOCKS)]
    added: Message = {_DETAILS: kept[_DETAILS]} if _DETAILS in kept else {}
    if key == "thinking_blocks" and blocks:
        added[key] = blocks
    elif key and blocks:
        added[key] = "\n\n".join(text(block.get("thinking")) for block in blocks)
    return added


def _audio_in(blocks: Iterable[Message]) -> Message | None:
    """Return the reference to an answer's spoken words of which only the id is known; None if there is none."""
    given = next((one for one in map(original_of, blocks) if one.get("type") == _AUDIO), None)
    return None if given is None else without(given, "type")


def _answers(message: Message, *, reasoning: bool) -> Iterator[Message]:
    """Yield the messages of an answer in a request.

    If the provider's server ran tools in it, it becomes several messages, with the results between them.
    """
    spoken = [block for block in blocks_without_calls(message) if not is_block(block, THINKING_BLOCKS)]
    originals = [block if (kept := original_of(block)) is block or not _of_server(kept) else kept for block in spoken]
    said: list[Message] = []
    calls: list[Message] = []
    results: list[Message] = []
    for block in on_server([dict(block) for block in originals]):
        if is_block(block, SERVER_RESULTS):
            content = to_json(_without_secrets(block.get("content")))
            results.append({"role": "tool", "tool_call_id": _RULES.call_id(block["tool_use_id"]), "content": content})
            continue
        if results and len(results) == len(calls):
            yield from _answer(said, calls, message, reasoning=reasoning)
            yield from results
            said, calls, results = [], [], []
        if is_block(block, SERVER_CALLS):
            name = _RULES.name(str(block.get("name") or "unknown"))
            calls.append(_function(_RULES.call_id(block["id"]), name, to_json(block.get("input") or {})))
        elif told(block):
            said.append(block)
    if results:
        yield from _answer(said, calls, message, reasoning=reasoning)
        yield from results
        said, calls = [], []
    own = [_write_call(call_id, one, own=reasoning) for call_id, one in given_calls(message).items()]
    yield from _answer(said, calls + own, message, reasoning=reasoning)


def _of_server(block: Mapping[str, Any]) -> bool:
    return is_block(block, SERVER_CALLS | SERVER_RESULTS)


def _answer(said: list[Message], calls: list[Message], message: Message, *, reasoning: bool) -> Iterator[Message]:
    if not said and not calls:
        return
    answer: Message = {"role": "assistant"}
    audio = _audio_in(said) if _is_own(message) else None
    if audio is not None:
        answer["audio"] = {"id": audio.get("id")}
    else:
        answer["content"] = _content_of_answer(said, message)
        answer.update(_named(message))
        if reasoning:
            answer.update(_added_by_server(message))
    if calls:
        answer["tool_calls"] = calls
    yield answer


def _content_of_answer(said: list[Message], message: Message) -> Any:
    """Return the content of an answer: a text, or parts if the answer was added with parts; None if it is empty."""
    was_list = {"thoughts", "refusal", _DETAILS}.isdisjoint(beside(message)) or len(said) > 1
    if said and _keeps_list(message, exact=False) and (was_list or said[0].get("refusal")):
        parts = [part for part in map(spoken_part, said) if part is not None]
        return parts or None
    return "\n".join(told(block) for block in said) or None


def _write_call(call_id: str, asked: Message, *, own: bool) -> Message:
    if asked.get("type") == "custom" and "tool" in asked:
        given = call_arguments_of(asked)
        told_of = given["input"] if given.keys() == {"input"} else to_json(given)
        return {"id": call_id, "type": "custom", "custom": {"name": call_name_of(asked), "input": told_of}}
    if own and isinstance(asked.get("function"), Mapping):
        return asked
    given = given_arguments_of(asked)
    arguments = call_arguments_of(asked)
    is_good = isinstance(given, str) and is_block(asked, {"function"}) and arguments.keys() != {"arguments"}
    return _function(call_id, call_name_of(asked), str(given) if is_good and given else to_json(arguments))


def _function(call_id: str, name: str, arguments: str) -> Message:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _without_secrets(value: Any) -> Any:
    """Return a value without the keys that only the server that made it can read."""
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_secrets(item) for key, item in value.items() if key not in _SECRETS}
    return value
