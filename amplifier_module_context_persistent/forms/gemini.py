"""Google's Gemini API: its contents and responses, read and written.

| Gemini | canonical |
| --- | --- |
| `role: model` | `assistant` |
| `text` | `text` |
| `text` with `thought: true` | `thinking` |
| `thoughtSignature` | `thought_signature` on the block or the call |
| `inlineData`, `fileData` | `image`, `document`, `audio` or `video`, by its type |
| `functionCall` | a call; one without an id is named after its function |
| `functionResponse` | a message of the role `tool`, matched by name without an id; of `{output}`, `{result}` the text |
| `executableCode`, `codeExecutionResult`, unknown parts | provider's items |
| `systemInstruction` | a system message |
| `modelVersion`, `finishReason`, `usageMetadata` of a response | metadata |

Names of keys are read in both of Google's spellings and written in camel case; base64 is written with the standard
alphabet. Sources: ai.google.dev/api/caching#Content, .../gemini-api/docs/function-calling, .../thought-signatures (read
2026-11); the types of the package `google-genai` 3.6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ..messages.media_blocks import source_of
from ..messages.message import (
    THINKING_BLOCKS,
    Message,
    as_json,
    call_arguments_of,
    call_name_of,
    given_calls,
    is_block,
    metadata_of,
    parsed,
)
from ..messages.uncarried_blocks import original_of
from .block_text import result_blocks, words_or_line
from .calls_among_blocks import is_next_part, read_answer, read_user_blocks, write_answer
from .calls_by_name import GEMINI
from .canonical import (
    base64_source,
    beside,
    call,
    form_of,
    is_item,
    item_block,
    kind_of_type,
    mapping,
    marked,
    medium,
    numbered_parts,
    objects_in,
    part_of,
    refused,
    result,
    text,
    text_block,
    total,
    usage_of,
    without,
)

NAME = GEMINI
_CAMEL = {
    "inline_data": "inlineData",
    "file_data": "fileData",
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "thought_signature": "thoughtSignature",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
    "mime_type": "mimeType",
    "file_uri": "fileUri",
    "display_name": "displayName",
    "video_metadata": "videoMetadata",
}
PARTS = frozenset({*_CAMEL, *_CAMEL.values()}) - {"mimeType", "mime_type", "displayName", "display_name"}
"""Keys that only this form's parts have."""
_SIGNATURE = "thought_signature"
_STANDARD = str.maketrans("-_", "+/")


# -- reading -----------------------------------------------------------------------------------------------------------


def read(contents: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Read contents (Gemini's name for messages).

    Raises:
        RecordError: a message is malformed; the error says where.
    """
    return [message for content in contents for message in _read_one(content)]


def read_response(response: Mapping[str, Any]) -> list[Message]:
    """Read a response: the content of its first candidate.

    Raises:
        RecordError: the response has no candidate, for example because the prompt was blocked.
    """
    candidates = response.get("candidates")
    candidate: Mapping[str, Any] = {}
    if isinstance(candidates, list) and candidates:
        candidate = mapping(candidates[0])
    if not candidate:
        raise refused(".candidates", "there is none", "look at the response's promptFeedback, which says why")
    messages = _read_one({"role": "model", "parts": [], **mapping(candidate.get("content"))})
    facts = {
        "provider": "gemini",
        "model": text(response.get("modelVersion", response.get("model_version"))),
        "stop_reason": text(candidate.get("finishReason", candidate.get("finish_reason"))),
        "usage": usage(response.get("usageMetadata", response.get("usage_metadata"))),
    }
    known_facts = {key: value for key, value in facts.items() if value}
    last = messages[-1]
    messages[-1] = {**last, "metadata": {**metadata_of(last), **known_facts}}
    return messages


def usage(reported: Any) -> dict[str, Any]:
    """Return Google's usage under the names that the log uses; thinking counts as output."""
    report = {_camel(key): value for key, value in mapping(reported).items()}
    return usage_of(
        input_tokens=total(report.get("promptTokenCount"), report.get("toolUsePromptTokenCount")),
        output_tokens=total(report.get("candidatesTokenCount"), report.get("thoughtsTokenCount")),
        cache_read_tokens=report.get("cachedContentTokenCount"),
    )


def _camel(key: str) -> str:
    """Return a key in camel case: `promptTokenCount` for `prompt_token_count`."""
    if key in _CAMEL:
        return _CAMEL[key]
    first, *others = key.split("_")
    return first + "".join(map(str.capitalize, others))


def parts_in(content: Any) -> list[Mapping[str, Any]]:
    """Return the parts of a content, with the names of keys in camel case."""
    parts = list[Mapping[str, Any]]()
    given_parts = content if isinstance(content, list) else [content]
    for value in given_parts:
        part = text_block(value) if isinstance(value, str) else value
        if part.get("type") == "text":  # as other forms have it; a part of Google has no type
            part = without(part, "type")
        parts.append(_with_camel(part))
    return parts


def _with_camel(part: Mapping[str, Any]) -> Message:
    renamed = {_CAMEL.get(key, key): value for key, value in part.items()}
    for key in ("inlineData", "fileData"):
        inner = renamed.get(key)
        if isinstance(inner, Mapping):
            renamed[key] = {_CAMEL.get(name, name): value for name, value in inner.items()}
    return renamed


def _read_one(content: Mapping[str, Any]) -> list[Message]:
    key = "parts" if "parts" in content else "content"
    listed = content.get(key)
    if not isinstance(listed, list):
        listed = [listed or ""]
    parts = parts_in(objects_in(listed, f".{key}"))
    role = text(content.get("role"))
    if role in ("model", "assistant"):
        calls = _numbered_calls(parts)
        read_messages = [read_answer(parts, lambda position, _: calls.get(position), read_part)]
    else:
        results = _numbered_results(parts)
        read_messages = read_user_blocks(parts, lambda position, _: results.get(position), read_part, role="user")
    other_keys = without(content, "role", key, "metadata")
    given_metadata = mapping(content.get("metadata"))
    kept_role = {"role": role} if role not in ("", "user", "model", "assistant") else {}
    messages = list[Message]()
    for message in read_messages:
        whole = {**message, **other_keys, "metadata": {**given_metadata, **metadata_of(message)}}
        messages.append(marked(whole, NAME, beside={**beside(whole), **kept_role}))
    return numbered_parts(messages, NAME)


def _numbered_calls(parts: Iterable[Mapping[str, Any]]) -> dict[int, Message]:
    """Return the calls among an answer's parts, by position.

    A call without an id gets an id from its function's name.
    """
    calls_of: Counter[str] = Counter()
    calls: dict[int, Message] = {}
    for position, part in enumerate(parts):
        function_call = part.get("functionCall")
        if not isinstance(function_call, Mapping):
            continue
        name = text(function_call.get("name"))
        calls_of[name] += 1
        call_id = text(function_call.get("id"))
        facts = {
            "unnamed": not call_id,
            "bare": "args" not in function_call,
            "beside": without(function_call, "id", "name", "args"),
        }
        more = _more(part, "functionCall") | {key: value for key, value in facts.items() if value}
        calls[position] = call(call_id or _id_for(name, calls_of[name]), name, function_call.get("args"), **more)
    return calls


def _id_for(name: str, number: int) -> str:
    """Return an id for a call or response without one, made from its name and its number among those of this name."""
    return f"call_{name}" if number == 1 else f"call_{name}_{number}"


def _more(part: Mapping[str, Any], *keys: str) -> Message:
    """Return the other keys of a part. The signature gets the name that all forms use."""
    more = without(part, *keys, "thoughtSignature")
    signature = part.get("thoughtSignature")
    if signature is not None:
        more[_SIGNATURE] = signature
    return more


def _numbered_results(parts: Iterable[Mapping[str, Any]]) -> dict[int, Message]:
    """Return the results among a content's parts, by position. Results without an id are matched by name and number."""
    results_of: Counter[str] = Counter()
    results: dict[int, Message] = {}
    for position, part in enumerate(parts):
        response = part.get("functionResponse")
        if isinstance(response, Mapping):
            name = text(response.get("name"))
            results_of[name] += 1
            results[position] = _read_result(response, results_of[name])
    return results


def _read_result(response_part: Mapping[str, Any], number: int) -> Message:
    name = text(response_part.get("name"))
    call_id = text(response_part.get("id"))
    if not name and not call_id:
        raise refused(".parts", "a functionResponse has neither name nor id", "give the name of its functionCall")
    other_keys: Message = {} if call_id else {"unnamed": True}
    response = response_part.get("response")
    content: Any = as_json(response)
    key = ""
    if isinstance(response, Mapping) and len(response) == 1:
        (key,) = response
        if key in ("output", "result", "error") and isinstance(response[key], str):
            content = response[key]
            other_keys["key"] = key
    inner = response_part.get("parts")
    if inner:
        content = [text_block(content), *[read_part(part) for part in parts_in(inner)]]
    other_keys |= without(response_part, "id", "name", "response", "parts")
    read_result = result(call_id or _id_for(name, number), content, failed=key == "error", name=name)
    return marked(read_result, NAME, beside=other_keys)


def said_in_result(part: Any) -> Any:
    """Return the words in a part of a result: its output, error or text. Return any other value unchanged."""
    response = mapping(mapping(part).get("functionResponse")).get("response")
    if response is None:
        return text(mapping(part).get("text")) or part
    output = mapping(response).get("output", mapping(response).get("error"))
    return output if isinstance(output, str) else response


def read_part(part: Mapping[str, Any]) -> Message:
    """Return a part, with keys in camel case, as a block. A part of another form is returned unchanged."""
    if isinstance(part.get("text"), str):
        more = _more(part, "text", "thought")
        if not part["text"] and _SIGNATURE in more:  # views have no empty text; the model needs the signature
            return {"type": "thinking", "thinking": "", **more, "part": "text"}
        if part.get("thought") is True:
            return {"type": "thinking", "thinking": part["text"], **more}
        return text_block(part["text"], **more)
    inline = part.get("inlineData")
    if isinstance(inline, Mapping):
        media_type = text(inline.get("mimeType"))
        source = base64_source(text(inline.get("data")).translate(_STANDARD), media_type)
        return medium(kind_of_type(media_type), source, text(inline.get("displayName")), **_more(part, "inlineData"))
    file = part.get("fileData")
    if isinstance(file, Mapping):
        media_type = text(file.get("mimeType"))
        source = {"type": "url", "url": text(file.get("fileUri")), "media_type": media_type}
        return medium(kind_of_type(media_type), source, text(file.get("displayName")), **_more(part, "fileData"))
    return item_block(part)


# -- writing -----------------------------------------------------------------------------------------------------------


def write(messages: Iterable[Message], *, exact: bool = False) -> list[Message]:
    """Write canonical messages as contents; in a request, adjacent results become one content.

    Args:
        messages: canonical messages in order, without system messages at the beginning.
        exact: whether to write them unchanged, for a reader of the history. Else they are written as a request accepts
            them.
    """
    written: list[Message] = []
    names: dict[str, str] = {}
    before: Message | None = None
    for message in messages:
        names |= {call_id: call_name_of(call) for call_id, call in given_calls(message).items()}
        parts = _parts_of(message, names, exact=exact)
        role = "model" if message["role"] == "assistant" else "user"
        if _is_own(message):
            role = text(beside(message).get("role")) or role
        if not parts and not exact:
            continue
        if before is not None and written[-1]["role"] == role and _joins(before, message, exact=exact):
            written[-1]["parts"] += parts
        else:
            written.append({"role": role, "parts": parts})
        before = message
    return written


def _joins(before: Message, message: Message, *, exact: bool) -> bool:
    """Return whether a message is merged into the content before it.

    It is if both are parts of one foreign message or, in a request, if both are results or both are answers.
    """
    if is_next_part(before, message):
        return True
    return not exact and before["role"] == message["role"] != "user"


def _is_own(message: Message) -> bool:
    return form_of(message) == NAME


def _parts_of(message: Message, names: Mapping[str, str], *, exact: bool) -> list[Message]:
    is_own_form = _is_own(message)
    if message["role"] in ("tool", "function"):
        return [_write_result(message, names, exact=exact)]
    return write_answer(
        message,
        NAME,
        lambda call_id, call: _write_call(call_id, call, is_own_form=is_own_form),
        lambda block: _part(block, message, exact=exact),
    )


def _write_call(call_id: str, call: Message, *, is_own_form: bool) -> Message:
    function: Message = {}
    if not (is_own_form and call.get("unnamed")):
        function["id"] = call_id
    function["name"] = call_name_of(call)
    arguments = call_arguments_of(call)
    if arguments or not (is_own_form and call.get("bare")):
        function["args"] = arguments
    function |= mapping(call.get("beside"))
    return {"functionCall": function, **_signature(call)}


def _signature(block: Mapping[str, Any]) -> Message:
    signature = block.get(_SIGNATURE, block.get("thoughtSignature"))
    if isinstance(signature, str) and signature:
        return {"thoughtSignature": signature}
    return {}


def _write_result(message: Message, names: Mapping[str, str], *, exact: bool) -> Message:
    is_own_form = _is_own(message)
    form_keys = beside(message)
    call_id = str(message.get("tool_call_id"))
    function: Message = {}
    if not is_own_form:
        function["id"] = call_id
    elif not form_keys.get("unnamed"):
        function["id"] = form_keys.get("id", call_id)
    function["name"] = text(message.get("name")) or names.get(call_id, "unknown")
    function["response"] = _response(message, is_own_form=is_own_form)
    parts = [_part(block, message, exact=exact) for block in result_blocks(message) if _is_medium(block)]
    media = [part for part in parts if part]
    if media:
        function["parts"] = media
    if is_own_form:
        function |= without(form_keys, "key", "unnamed", "role", "id")
    return {"functionResponse": function}


def _response(message: Message, *, is_own_form: bool) -> Any:
    """Return the words of a result under a key. For a result in this form, return its original JSON value."""
    words = "\n".join(words_or_line(block) for block in result_blocks(message) if not _is_medium(block))
    key = text(beside(message).get("key"))
    if is_own_form and "key" not in beside(message):
        try:
            return parsed(words)
        except ValueError:  # a view has shortened the result
            pass
    if not key:
        has_failed = metadata_of(message).get("is_error") is True
        key = "error" if has_failed else "output"
    return {key: words}


def _is_medium(block: Message) -> bool:
    return source_of(original_of(block)) is not None


def _medium_part(original: Mapping[str, Any], *, is_own_form: bool) -> Message | None:
    """Return the part for an image or document; None for other blocks and for addresses that Gemini does not accept."""
    source = source_of(original)
    if source is None:
        return None
    if source.data:
        inline = {"mimeType": source.media_type, "data": source.data}
        if source.name and is_own_form:
            inline["displayName"] = source.name
        return {"inlineData": inline}
    if source.url and _takes_address(source.url):
        file = {"fileUri": source.url}
        media_type = text(mapping(original.get("source")).get("media_type")) or source.media_type
        if media_type:
            file["mimeType"] = media_type
        return {"fileData": file}
    return None


def _part(block: Mapping[str, Any], message: Message, *, exact: bool) -> Message | None:
    """Return the part for a block; None if the block is not sent to Gemini."""
    original = original_of(block)
    is_own_form = _is_own(message)
    if is_block(original, THINKING_BLOCKS):
        if is_own_form and original.get("type") == "thinking":
            return _thought(original)
        return None
    more = {}
    if is_own_form:
        more = {key: value for key, value in original.items() if key not in _NO_KEYS}
    medium = _medium_part(original, is_own_form=is_own_form)
    if medium:
        return {**medium, **more, **_signature(original)}
    if is_own_form and is_item(original):
        return part_of(original)
    words = words_or_line(block)
    if is_own_form and original.get("type") == "text":
        if not words and not exact:
            return None
        return {"text": words, **more, **_signature(original)}
    return {"text": words} if words.strip() else None


def _thought(block: Mapping[str, Any]) -> Message:
    """Return the part for a block of thinking."""
    thought: Message = {"text": text(block.get("thinking"))}
    if block.get("part") != "text":
        thought["thought"] = True
    return {**thought, **_signature(block)}


_NO_KEYS = frozenset({"type", "text", "source", "title", "original", "visibility", _SIGNATURE, "cache_control"})


def _takes_address(url: str) -> bool:
    return url.startswith(("https://", "http://", "gs://"))
