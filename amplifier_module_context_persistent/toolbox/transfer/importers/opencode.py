"""Read sessions of OpenCode as `opencode export` writes them: `{info, messages: [{info, parts}]}`.

Confirmed by public readers of the format: the parts `text`, `reasoning`, `tool` (with `callID`, `tool` and a `state` of
status, input, output and error), `file`, and times in milliseconds. Other parts are kept as metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....forms.canonical import call, medium, plain_content, source_from_url, text_block, total, usage_of
from .account import Account
from .events import Event, KeptEntry, MessageRead, SessionStart
from .fields import Message, assistant, items, mapping, metadata, result, text, thinking_block, user
from .source_file import ImportRefusedError, Source, entries_of


def read(source: Source, account: Account) -> Iterator[Event]:
    """Yield the one session.

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
    for number, message in entries_of(document["messages"], account):
        told = mapping(message.get("info"))
        if told.get("role") not in ("user", "assistant"):
            account.lose(number, "no message of a user or an assistant")
            continue
        parts = [part for part in items(message.get("parts")) if isinstance(part, dict)]
        read = list(_user(number, told, parts) if told["role"] == "user" else _answer(number, told, parts))
        if any(isinstance(event, MessageRead) for event in read):
            account.map(str(told["role"]))
        else:
            account.keep(f"{told['role']} without content")
            read = [KeptEntry(message, number, str(told["role"]))]
        yield from read


def is_export(document: Any) -> bool:
    """Return whether a document has messages with parts."""
    first = mapping(next(iter(items(mapping(document).get("messages"))), None))
    return isinstance(first.get("info"), dict) and isinstance(first.get("parts"), list)


def _user(number: int, told: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[Event]:
    message_id, time = text(told.get("id")) or f"opencode-{number}", mapping(told.get("time")).get("created")
    said: dict[bool, list[Message]] = {False: [], True: []}
    for part in parts:
        if part.get("type") == "text":
            said[part.get("synthetic") is True].append(text_block(text(part.get("text"))))
        elif part.get("type") == "file" and text(part.get("mime")).startswith("image/"):
            said[False].append(medium("image", source_from_url(text(part.get("url")))))
        else:
            yield KeptEntry(part, number, text(part.get("type")))
    for synthetic, blocks in said.items():
        if blocks:
            own = f"{message_id}-2" if synthetic and said[False] else message_id
            given = metadata(own, time, source="opencode:synthetic" if synthetic else None)
            yield MessageRead(user(plain_content(blocks), given), number)


def _answer(number: int, told: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[Event]:
    """Yield the messages of an answer, step by step. The results of a step's calls follow the step."""
    message_id, times = text(told.get("id")) or f"opencode-{number}", mapping(told.get("time"))
    said = [part for part in parts if part.get("type") in ("text", "reasoning", "tool")]
    steps: list[list[dict[str, Any]]] = [[]]
    for part in said:
        has_calls = any(one["type"] == "tool" for one in steps[-1])
        if has_calls and part["type"] != "tool":
            steps.append([])
        steps[-1].append(part)
    failed = mapping(told.get("error"))
    for at, step in enumerate(steps, 1):
        own = message_id if at == 1 else f"{message_id}-{at}"
        is_last = at == len(steps)
        given = metadata(
            own,
            times.get("created"),
            provider=text(told.get("providerID")),
            model=text(told.get("modelID")),
            stop_reason=text(told.get("finish")),
            usage=_usage(told) if is_last else {},
            failed=is_last and bool(failed),
            imported={"error": failed} if is_last and failed else {},
        )
        yield from _step(number, own, step, given)
    for part in parts:
        if part.get("type") not in ("text", "reasoning", "tool", "step-start", "step-finish", "snapshot"):
            yield KeptEntry(part, number, text(part.get("type")))


def _usage(told: dict[str, Any]) -> dict[str, Any]:
    """Return the usage of an answer."""
    count = mapping(told.get("tokens"))
    cache = mapping(count.get("cache"))
    return usage_of(
        input_tokens=total(count.get("input"), cache.get("read")),
        output_tokens=total(count.get("output"), count.get("reasoning")),
        cache_read_tokens=cache.get("read"),
        cache_write_tokens=cache.get("write"),
        cost_usd=told.get("cost"),
    )


def _step(number: int, own: str, step: list[dict[str, Any]], given: dict[str, Any]) -> Iterator[Event]:
    blocks: list[Message] = []
    asked: dict[str, dict[str, Any]] = {}
    for at, part in enumerate(step, 1):
        if part["type"] == "tool":
            asked[text(part.get("callID")) or f"{own}-call{at}"] = part
        elif part["type"] == "text" and text(part.get("text")):
            blocks.append(text_block(part["text"]))
        elif part["type"] == "reasoning" and text(part.get("text")):
            signed = next((text(mapping(one).get("signature")) for one in mapping(part.get("metadata")).values()), "")
            blocks.append(thinking_block(part["text"], signed or None))
    calls = [
        call(call_id, text(part.get("tool")), mapping(part.get("state")).get("input"))
        for call_id, part in asked.items()
    ]
    message = assistant(blocks, calls, given)
    if message is None:
        return
    yield MessageRead(message, number)
    for at, (call_id, part) in enumerate(asked.items(), 1):
        state = mapping(part.get("state"))
        failed = state.get("status") == "error"
        if failed or (state.get("status") == "completed" and state.get("output") is not None):
            output = text(state.get("error")) if failed else text(state.get("output"))
            told = metadata(f"{own}-result{at}", mapping(state.get("time")).get("end"), failed=failed)
            yield MessageRead(result(call_id, output, told, text(part.get("tool"))), number)
