"""Read sessions of OpenCode as `opencode export` writes them: `{info, messages: [{info, parts}]}`.

The parts are `text`, `reasoning`, `tool` (with `callID`, `tool` and a `state` of status, input, output, error and
attachments), `file`; times are in milliseconds. Other parts are kept as metadata, and so are texts that are shown and
not sent to the model (`ignored`), and files whose content the program adds as text. An answer with `summary` is a
compaction. It keeps the messages from `tail_start_id` on, which the `compaction` part of the request before it names.

Source: anomalyco/opencode, `packages/opencode/src/session/message-v2.ts` at 007a940.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....forms.canonical import call, kind_of_type, medium, plain_content, source_from_url, text_block, total, usage_of
from .account import Account
from .events import CompactionEvent, Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, assistant, items, mapping, metadata, result, text, thinking_block, user
from .refused_import import ImportRefusedError
from .source_file import Source, entries_of


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the events of the session in an export of OpenCode.

    Raises:
        ImportRefusedError: the document has no messages with parts.
    """
    document = source.document()
    if not is_export(document):
        raise ImportRefusedError("the document is no export of OpenCode: it has no messages with parts")
    info = mapping(document.get("info"))
    facts = {
        "cwd": text(info.get("directory")),
        "title": text(info.get("title")),
        "version": text(info.get("version")),
        "parent_session": text(info.get("parentID")),
    }
    yield SessionStart("session", "", facts, text(info.get("id")))
    tail = ""
    for number, message in entries_of(document["messages"], account):
        message_info = mapping(message.get("info"))
        if message_info.get("role") not in ("user", "assistant"):
            account.lose(number, "no message of a user or an assistant")
            continue
        parts = [part for part in items(message.get("parts")) if isinstance(part, dict)]
        role = str(message_info["role"])
        tail = next((text(part.get("tail_start_id")) for part in parts if part.get("type") == "compaction"), tail)
        if (
            role == "assistant"
            and message_info.get("summary") is True
            and _summary_in(parts)
            and not message_info.get("error")
        ):
            account.map("summary")
            yield from _compaction(number, message_info, parts, tail)
            tail = ""
            continue
        of_role = _user if role == "user" else _answer
        events = list(of_role(number, message_info, parts))
        if any(isinstance(event, MessageRead) for event in events):
            account.map(role)
            yield from events
        else:
            account.keep(f"{role} without content")
            yield KeptEntry(message, number, role)


def is_export(document: Any) -> bool:
    """Return whether a document has messages with parts."""
    first = mapping(next(iter(items(mapping(document).get("messages"))), None))
    return isinstance(first.get("info"), dict) and isinstance(first.get("parts"), list)


def _summary_in(parts: list[dict[str, Any]]) -> str:
    return "\n".join(text(part.get("text")) for part in parts if part.get("type") == "text").strip()


def _compaction(number: int, message_info: dict[str, Any], parts: list[dict[str, Any]], tail: str) -> Iterator[Event]:
    """Yield a compaction, and before it an answer without content that has the usage of its request."""
    message_id = text(message_info.get("id")) or f"opencode-{number}"
    time = mapping(message_info.get("time")).get("created")
    facts = _facts_of_answer(message_info, f"{message_id}-request", is_last=True)
    paid = assistant([], [], facts)
    if paid is not None:
        yield MessageRead(paid, number)
    yield CompactionEvent(_summary_in(parts), number, message_id=message_id, time=time, keep_from=tail)


def _facts_of_answer(message_info: dict[str, Any], message_id: str, *, is_last: bool) -> dict[str, Any]:
    """Return the metadata of a step of an answer; the last step has the usage and the error."""
    at_end: dict[str, Any] = {}
    if is_last:
        error = mapping(message_info.get("error"))
        at_end = {
            "usage": _usage(message_info),
            "failed": bool(error),
            "error": text(mapping(error.get("data")).get("message")) or text(error.get("name")),
            "imported": {"error": error} if error else {},
        }
    return metadata(
        message_id,
        mapping(message_info.get("time")).get("created"),
        provider=text(message_info.get("providerID")),
        model=text(message_info.get("modelID")),
        stop_reason=text(message_info.get("finish")),
        **at_end,
    )


def _medium(part: dict[str, Any]) -> Message:
    """Return a file as a block."""
    kind = kind_of_type(text(part.get("mime")))
    return medium(kind, source_from_url(text(part.get("url"))), text(part.get("filename")))


_ADDED_AS_TEXT = ("text/plain", "application/x-directory")


def _user(number: int, message_info: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[Event]:
    """Yield the message of a person, the message that the program added to it, and the other parts."""
    message_id = text(message_info.get("id")) or f"opencode-{number}"
    time = mapping(message_info.get("time")).get("created")
    of_person: list[Message] = []
    of_program: list[Message] = []
    for part in parts:
        if part.get("type") == "text" and part.get("ignored") is True:
            yield KeptEntry(part, number, "ignored text")
        elif part.get("type") == "text":
            blocks = of_program if part.get("synthetic") is True else of_person
            blocks.append(text_block(text(part.get("text"))))
        elif part.get("type") == "file" and text(part.get("mime")) not in ("", *_ADDED_AS_TEXT):
            of_person.append(_medium(part))
        else:
            yield KeptEntry(part, number, text(part.get("type")))
    if of_person:
        yield MessageRead(user(plain_content(of_person), metadata(message_id, time)), number)
    if of_program:
        own_id = f"{message_id}-2" if of_person else message_id
        facts = metadata(own_id, time, source="opencode:synthetic")
        yield MessageRead(user(plain_content(of_program), facts), number)


def _answer(number: int, message_info: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[Event]:
    """Yield the messages of an answer, step by step. The results of a step's calls follow the step."""
    message_id = text(message_info.get("id")) or f"opencode-{number}"
    steps = _steps([part for part in parts if part.get("type") in ("text", "reasoning", "tool")])
    for step_number, step in enumerate(steps, 1):
        step_id = message_id if step_number == 1 else f"{message_id}-{step_number}"
        facts = _facts_of_answer(message_info, step_id, is_last=step_number == len(steps))
        yield from _step(number, step_id, step, facts)
    for part in parts:
        if part.get("type") not in ("text", "reasoning", "tool", "step-start", "step-finish", "snapshot"):
            yield KeptEntry(part, number, text(part.get("type")))


def _steps(parts: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Divide the parts of an answer into steps, at least one. Each step ends with its calls."""
    steps: list[list[dict[str, Any]]] = [[]]
    for part in parts:
        has_calls = any(part_of_step["type"] == "tool" for part_of_step in steps[-1])
        if has_calls and part["type"] != "tool":
            steps.append([])
        steps[-1].append(part)
    return steps


def _usage(message_info: dict[str, Any]) -> dict[str, Any]:
    """Return the usage of an answer."""
    count = mapping(message_info.get("tokens"))
    cache = mapping(count.get("cache"))
    return usage_of(
        input_tokens=total(count.get("input"), cache.get("read")),
        output_tokens=total(count.get("output"), count.get("reasoning")),
        cache_read_tokens=cache.get("read"),
        cache_write_tokens=cache.get("write"),
        cost_usd=message_info.get("cost"),
    )


def _step(number: int, step_id: str, step: list[dict[str, Any]], facts: dict[str, Any]) -> Iterator[Event]:
    """Yield the message of one step of an answer, and the results of its calls.

    Args:
        number: the number of the line or entry.
        step_id: the id of the message.
        step: the parts of the step.
        facts: the metadata of the message.
    """
    blocks: list[Message] = []
    tool_parts: dict[str, dict[str, Any]] = {}  # by the id of the call
    for place, part in enumerate(step, 1):
        if part["type"] == "tool":
            tool_parts[text(part.get("callID")) or f"{step_id}-call{place}"] = part
        elif part["type"] == "text" and text(part.get("text")):
            blocks.append(text_block(part["text"]))
        elif part["type"] == "reasoning" and text(part.get("text")):
            blocks.append(thinking_block(part["text"], _signature(part)))
    calls = []
    for call_id, part in tool_parts.items():
        calls.append(call(call_id, text(part.get("tool")), mapping(part.get("state")).get("input")))
    message = assistant(blocks, calls, facts)
    if message is None:
        return
    yield MessageRead(message, number)
    for place, (call_id, part) in enumerate(tool_parts.items(), 1):
        result_message = _result_of(part, call_id, f"{step_id}-result{place}")
        if result_message is not None:
            yield MessageRead(result_message, number)


def _result_of(part: dict[str, Any], call_id: str, message_id: str) -> Message | None:
    """Return the result of a call; None if the call has not ended.

    Args:
        part: the part of the call.
        call_id: the id of the call.
        message_id: the id of the result.
    """
    state = mapping(part.get("state"))
    failed = state.get("status") == "error"
    completed = state.get("status") == "completed" and state.get("output") is not None
    if not failed and not completed:
        return None
    output: Any = text(state.get("error")) if failed else text(state.get("output"))
    state_metadata = mapping(state.get("metadata"))
    was_stopped = failed and state_metadata.get("interrupted") is True
    if was_stopped and isinstance(state_metadata.get("output"), str):
        output = state_metadata["output"]
    attachments = [_medium(item) for item in items(state.get("attachments")) if isinstance(item, dict)]
    if attachments:
        words = [text_block(output)] if output else []
        output = [*words, *attachments]
    facts = metadata(message_id, mapping(state.get("time")).get("end"), failed=failed)
    return result(call_id, output, facts, text(part.get("tool")))


def _signature(part: dict[str, Any]) -> str | None:
    """Return the signature of reasoning, from the first provider in its metadata, or None without a signature."""
    for of_provider in mapping(part.get("metadata")).values():
        return text(mapping(of_provider).get("signature")) or None
    return None
