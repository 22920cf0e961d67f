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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..messages.message import (
    THINKING_BLOCKS,
    Message,
    call_arguments_of,
    call_name_of,
    given_arguments_of,
    given_calls,
    is_block,
    metadata_of,
)
from ..messages.text import blocks_without_calls, to_json
from ..messages.uncarried_blocks import original_of
from ..view.recipients import OPENAI
from ..view.wire_rules import rules_of
from .anthropic_server_tools import SERVER_CALLS, SERVER_RESULTS, on_server
from .block_text import result_blocks, words_or_line
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
"""The type of the block for a spoken answer that came without its transcript; the block has the id of the audio."""
ON_ANSWERS = frozenset({"refusal", "annotations", "audio", "function_call", "thinking_blocks", _DETAILS, *_THOUGHTS})
"""Keys that only answers of this form have."""
_RULES = rules_of(OPENAI, strict=True)
_SECRETS = frozenset({"encrypted_content", "encrypted_index", "encrypted_stdout"})
_INSTRUCTING = ("system", "developer")
_NAME = re.compile(r"[^\s<|\\/>]{1,64}")
"""Names of speakers that OpenAI accepts."""


# -- reading -----------------------------------------------------------------------------------------------------------


def read(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Read messages of Chat Completions, and return canonical messages.

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
    choice: Mapping[str, Any] = {}
    if isinstance(choices, list) and choices:
        choice = mapping(choices[0])
    answer = choice.get("message")
    if not isinstance(answer, Mapping):
        raise refused(".choices", "there is no choice with a message", "give a whole completion, not a chunk of one")
    facts = {
        "provider": "openai",
        "model": text(completion.get("model")),
        "stop_reason": text(choice.get("finish_reason")),
        "usage": usage(completion.get("usage")),
    }
    known_facts = {key: value for key, value in facts.items() if value}
    message = _read_one({"role": "assistant", **answer})
    message = {**message, "metadata": {**metadata_of(message), **known_facts}}
    other_keys = without(completion, *_COMPLETION)
    return [marked(message, NAME, beside={**beside(message), **other_keys})]


_COMPLETION = ("object", "choices", "model", "usage", "created", "system_fingerprint", "service_tier")


def usage(reported: Any) -> dict[str, Any]:
    """Return OpenAI's usage, from either of its APIs, under the names that the log uses."""
    report = mapping(reported)
    if not report:
        return {}
    details = mapping(report.get("prompt_tokens_details")) or mapping(report.get("input_tokens_details"))
    return usage_of(
        input_tokens=total(report.get("prompt_tokens", report.get("input_tokens"))),
        output_tokens=total(report.get("completion_tokens", report.get("output_tokens"))),
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
    form_keys: Message = {}  # what has no place in the canonical message
    thoughts = _thoughts_of(message, form_keys)
    refusal = text(message.get("refusal"))
    audio = mapping(message.get("audio"))
    transcript = text(audio.get("transcript"))
    if transcript:
        content = content or transcript
    elif audio and not content:
        content = [{"type": _AUDIO, **audio}]
    if thoughts or refusal:
        if isinstance(content, str) and content:
            blocks = [text_block(content)]
        else:
            blocks = items(content)
        content = [*thoughts, *blocks]
        if refusal:
            content.append(text_block(refusal, refusal=True))
    more = without(message, *ON_ANSWERS, "role", "content", "tool_calls")
    read_answer: Message = {"role": "assistant", "content": content, **more}
    for key in ("annotations", _DETAILS):
        if message.get(key):
            form_keys[key] = message[key]
    if transcript:
        form_keys["audio"] = without(audio, "transcript")
    if refusal:
        form_keys["refusal"] = True
    calls = message.get("tool_calls")
    legacy_call = message.get("function_call")
    if isinstance(calls, list) and calls:
        read_answer["tool_calls"] = [_read_call(call) for call in calls]
    elif legacy_call is not None and isinstance(legacy_call, Mapping):
        new_call = {"id": _legacy_id(legacy_call), "type": "function", "function": dict(legacy_call)}
        read_answer["tool_calls"] = [new_call]
        form_keys["function_call"] = True
    return marked(read_answer, NAME, beside=form_keys)


def _thoughts_of(message: Mapping[str, Any], form_keys: Message) -> list[Message]:
    """Return the thinking in a compatible server's answer as blocks. Note its key under `thoughts` in `form_keys`."""
    signed = message.get("thinking_blocks")
    if isinstance(signed, list) and signed:
        form_keys["thoughts"] = "thinking_blocks"
        return [dict(block) for block in objects_in(signed, ".thinking_blocks")]
    for key in _THOUGHTS:
        if text(message.get(key)):
            form_keys["thoughts"] = key
            return [{"type": "thinking", "thinking": message[key]}]
    return []


def _read_call(chat_call: Any) -> Any:
    """Return a call of a custom tool in Amplifier's shape, with its input as the argument; other calls unchanged."""
    custom = mapping(chat_call).get("custom")
    if custom is None or not isinstance(custom, Mapping):
        return chat_call
    call = {"id": chat_call.get("id"), "tool": text(custom.get("name")), "arguments": {"input": custom.get("input")}}
    return {**call, **without(chat_call, "id", "custom")}


def _legacy_id(function: Mapping[str, Any]) -> str:
    """Return an id, made from the function's name, for a call of the older form, which has no ids."""
    return f"call_{text(function.get('name')) or 'function'}"


def _read_function_result(message: Mapping[str, Any], content: Any) -> Message:
    call_id = text(message.get("tool_call_id")) or _legacy_id(message)
    read_result = {**message, "role": "tool", "tool_call_id": call_id, "content": content}
    return marked(read_result, NAME, beside={"role": "function"})


# -- writing -----------------------------------------------------------------------------------------------------------


def write(messages: Iterable[Message], *, exact: bool = False, reasoning: bool = False) -> list[Message]:
    """Write canonical messages as messages of Chat Completions.

    Args:
        messages: canonical messages in order.
        exact: whether to write them unchanged, for a reader of the history. Else they are written as a request accepts
            them.
        reasoning: whether answers of this form keep the keys that compatible servers add: reasoning, and keys of calls
            such as signatures. OpenAI's own server refuses them.
    """
    written: list[Message] = []
    for message in messages:
        written += _write_one(message, exact=exact, reasoning=reasoning)
    return written


def _is_own(message: Message) -> bool:
    return form_of(message) == NAME


def _keeps_list(message: Message, *, exact: bool) -> bool:
    """Return whether content that is a list stays a list.

    In a request, the texts of other providers become one text.
    """
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
    """Yield the message of a person, the system or a developer. In a request, yield nothing for an empty message."""
    is_instruction = message["role"] in _INSTRUCTING
    parts = list[Message]()
    for block in _without_thinking(message):
        # instructions have no images
        part = text_part(block) if is_instruction else write_part(block, message, exact=exact)
        if part is not None:
            parts.append(part)
    content: Any = parts
    has_text_only = all(part.get("type") == "text" for part in parts)
    if has_text_only and not _keeps_list(message, exact=exact):
        content = "\n".join(part["text"] for part in parts)
    if content or exact:
        yield {"role": message["role"], "content": content, **_named(message)}


def _without_thinking(message: Message) -> list[Message]:
    """Return the blocks of a message other than calls and thinking."""
    return [block for block in blocks_without_calls(message) if not is_block(block, THINKING_BLOCKS)]


def _named(message: Message) -> Message:
    """Return the name of a speaker as a key of the message; empty if OpenAI does not accept the name."""
    name = message.get("name")
    is_name = isinstance(name, str) and form_of(message) in ("", NAME) and _NAME.fullmatch(name)
    return {"name": name} if is_name else {}


def _write_result(message: Message, *, exact: bool) -> Message:
    """Return a result as a message with the role `tool`, or `function` for a result that was added with this role."""
    blocks = list(result_blocks(message))
    text_content = "\n".join(words_or_line(block) for block in blocks)
    was_of_function = beside(message).get("role") == "function"
    if exact and was_of_function:
        return {"role": "function", "name": message.get("name"), "content": text_content}
    parts = list[Message]()
    if _keeps_list(message, exact=exact):
        parts = _result_parts(blocks, message, exact=exact)
    return {"role": "tool", "tool_call_id": message["tool_call_id"], "content": parts or text_content}


def _result_parts(blocks: Sequence[Message], message: Message, *, exact: bool) -> list[Message]:
    """Return the blocks of a result as parts. A request accepts only texts, so any other block becomes a text."""
    parts = list[Message]()
    for block in blocks:
        is_kept = exact or block.get("type") == "text"
        part = write_part(block, message, exact=True) if is_kept else text_part(block)
        if part is not None:
            parts.append(part)
    return parts


def _exact_answer(message: Message) -> Message:
    """Return an answer in the form in which it was added."""
    form_keys = beside(message)
    blocks = blocks_without_calls(message)
    thinking = [block for block in blocks if is_block(block, THINKING_BLOCKS)]
    spoken = [block for block in blocks if not is_block(block, THINKING_BLOCKS)]
    refusals = list[str]()
    if form_keys.get("refusal"):  # the refusal was beside the content
        refusals = [block["text"] for block in spoken if block.get("refusal") is True]
        spoken = [block for block in spoken if not block.get("refusal")]
    content = _exact_content(message, spoken, is_text=bool(form_keys.get("refusal") or thinking))
    answer: Message = {"role": "assistant", "content": content if content != [] else None}
    answer |= _exact_thinking(thinking, key=text(form_keys.get("thoughts")) or _THOUGHTS[0])
    if refusals:
        answer["refusal"] = "\n".join(refusals)
    answer |= _named(message)
    if _DETAILS in form_keys:
        answer[_DETAILS] = form_keys[_DETAILS]
    audio_reference = _audio_in(blocks)
    if audio_reference is not None:
        answer |= {"content": None, "audio": audio_reference}
    calls = given_calls(message)
    if calls and form_keys.get("function_call"):  # the older form, with one call
        (first_call, *_) = calls.values()
        answer["function_call"] = mapping(first_call.get("function"))
        return answer
    if calls:
        answer["tool_calls"] = [_write_call(call_id, call, keeps_given=True) for call_id, call in calls.items()]
    if "audio" in form_keys:
        audio = dict(mapping(form_keys["audio"]))
        if isinstance(content, str):
            audio["transcript"] = content
        answer |= {"content": None, "audio": audio}
    if "annotations" in form_keys:
        answer["annotations"] = form_keys["annotations"]
    return answer


def _exact_thinking(thinking: list[Message], key: str) -> Message:
    """Return the thinking of an answer under the key under which its server gave it."""
    if key == "thinking_blocks":
        return {key: thinking}
    return {key: _joined_thinking(thinking)} if thinking else {}


def _joined_thinking(blocks: Iterable[Message]) -> str:
    return "\n\n".join(text(block.get("thinking")) for block in blocks)


def _exact_content(message: Message, spoken: Iterable[Message], *, is_text: bool) -> Any:
    """Return the content of an answer in the form in which it was added.

    With `is_text`, a single text part becomes a text.
    """
    if not isinstance(message.get("content"), list):
        return message.get("content")
    written = [write_part(block, message, exact=True) for block in spoken]
    parts = [part for part in written if part is not None]
    if is_text and len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        return parts[0]["text"]
    return parts


def _added_by_server(message: Message) -> Message:
    """Return the reasoning of an answer under the keys that its server used."""
    form_keys = beside(message)
    added: Message = {}
    if _DETAILS in form_keys:
        added[_DETAILS] = form_keys[_DETAILS]
    key = text(form_keys.get("thoughts"))
    thinking = [block for block in blocks_without_calls(message) if is_block(block, THINKING_BLOCKS)]
    if key and thinking:
        added[key] = thinking if key == "thinking_blocks" else _joined_thinking(thinking)
    return added


def _audio_in(blocks: Iterable[Message]) -> Message | None:
    """Return the id (and expiry) of a spoken answer that came without its transcript; None if there is none."""
    for block in blocks:
        original = original_of(block)
        if original.get("type") == _AUDIO:
            return without(original, "type")
    return None


def _answers(message: Message, *, reasoning: bool) -> Iterator[Message]:
    """Yield the messages of an answer in a request.

    If the provider's server ran tools during the answer, the answer becomes several messages, with results between
    them.
    """
    spoken: list[Message] = []
    calls: list[Message] = []
    results: list[Message] = []
    for block in on_server([_as_server_block(block) for block in _without_thinking(message)]):
        if is_block(block, SERVER_RESULTS):
            content = to_json(_without_secrets(block.get("content")))
            results.append({"role": "tool", "tool_call_id": _RULES.call_id(block["tool_use_id"]), "content": content})
            continue
        is_round_complete = len(results) > 0 and len(results) == len(calls)
        if is_round_complete:
            yield from _answer(spoken, calls, message, reasoning=reasoning)
            yield from results
            spoken = []
            calls = []
            results = []
        if is_block(block, SERVER_CALLS):
            name = _RULES.name(str(block.get("name") or "unknown"))
            calls.append(_function(_RULES.call_id(block["id"]), name, to_json(block.get("input") or {})))
        elif words_or_line(block):
            spoken.append(block)
    if results:
        yield from _answer(spoken, calls, message, reasoning=reasoning)
        yield from results
        spoken = []
        calls = []
    own_calls = [_write_call(call_id, call, keeps_given=reasoning) for call_id, call in given_calls(message).items()]
    yield from _answer(spoken, [*calls, *own_calls], message, reasoning=reasoning)


def _as_server_block(block: Message) -> Message:
    """Return a copy of the server's call or result that a block describes; any other block unchanged."""
    original = original_of(block)
    return dict(original) if is_block(original, SERVER_CALLS | SERVER_RESULTS) else dict(block)


def _answer(spoken: list[Message], calls: list[Message], message: Message, *, reasoning: bool) -> Iterator[Message]:
    if not spoken and not calls:
        return
    answer: Message = {"role": "assistant"}
    audio = _audio_in(spoken) if _is_own(message) else None
    if audio is not None:
        answer["audio"] = {"id": audio.get("id")}
    else:
        answer["content"] = _content_of_answer(spoken, message)
        answer.update(_named(message))
        if reasoning:
            answer.update(_added_by_server(message))
    if calls:
        answer["tool_calls"] = calls
    yield answer


def _content_of_answer(spoken: list[Message], message: Message) -> Any:
    """Return the content of an answer: a text, or parts if the answer was added with parts.

    Return None if it is empty.
    """
    if spoken and _keeps_list(message, exact=False):
        was_list = {"thoughts", "refusal", _DETAILS}.isdisjoint(beside(message)) or len(spoken) > 1
        if was_list or spoken[0].get("refusal"):
            parts = [part for part in map(spoken_part, spoken) if part is not None]
            return parts or None
    return "\n".join(words_or_line(block) for block in spoken) or None


def _write_call(call_id: str, call: Message, *, keeps_given: bool) -> Message:
    arguments = call_arguments_of(call)
    if call.get("type") == "custom" and "tool" in call:
        tool_input = arguments["input"] if arguments.keys() == {"input"} else to_json(arguments)
        return {"id": call_id, "type": "custom", "custom": {"name": call_name_of(call), "input": tool_input}}
    if keeps_given and isinstance(call.get("function"), Mapping):
        return call
    written_arguments = given_arguments_of(call)
    is_object = arguments.keys() != {"arguments"}  # else the model's text is no JSON object
    if is_block(call, {"function"}) and isinstance(written_arguments, str) and written_arguments and is_object:
        arguments_text = written_arguments
    else:
        arguments_text = to_json(arguments)
    return _function(call_id, call_name_of(call), arguments_text)


def _function(call_id: str, name: str, arguments: str) -> Message:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _without_secrets(value: Any) -> Any:
    """Return a value without the keys that only the server that made the value can read."""
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_secrets(item) for key, item in value.items() if key not in _SECRETS}
    return value
