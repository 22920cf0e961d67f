"""Write a session of Claude Code for `claude --resume`: `~/.claude/projects/<directory>/<session>.jsonl`.

There is one record for each content block of an answer, each with the answer's id and usage; and one record for each
message of a user and each result. Each record names the one before it in `parentUuid`. Ids are UUIDs: a message's id is
kept if it is a UUID, else a UUID is derived from it. There is no public specification; the shape is that of version
2.1.

The program has no place for system prompts (it has its own) and for thinking without a signature; they are left out.
Usage is left out if not both input and output are known: a 0 would say that they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ....forms import anthropic
from ....messages.message import Message, metadata_of
from ....messages.metadata import given_id, is_human
from .agent_session import UNKNOWN_MODEL, AgentSession, answer_usage, texts_of_result, uuid_of
from .session_view import SessionView

VERSION = "2.1.0"
_NOBODY = "<synthetic>"
"""The model of an answer without a model and without usage: Claude Code's name for answers that it wrote itself."""

Record = dict[str, Any]


def transcript(view: SessionView) -> Iterator[Record]:
    """Yield the records, in order."""
    session = AgentSession.of(view)
    parent: str | None = None
    shared = {
        "isSidechain": False,
        "userType": "external",
        "cwd": session.working_dir,
        "sessionId": session.id,
        "version": VERSION,
        "gitBranch": str(view.source.get("git_branch") or ""),
    }
    taken: set[str] = set()
    for number, (message, time) in enumerate(session.messages(view, "anthropic")):
        own = uuid_of(session.id, given_id(message) or f"stand-in {number}")
        mark = session.mark(message)
        if own in taken:  # ids that differ in a secret alone are the same when it is redacted
            own = uuid_of(own, str(-number))
        taken.add(own)
        for record in _records(message, own, is_copy=session.is_copy):
            yield {"parentUuid": parent, **shared, **record, "timestamp": time, **mark}
            parent = str(record["uuid"])
    title = view.source.get("title")
    if title:
        yield {"type": "summary", "summary": str(title), "leafUuid": parent}


def _records(message: Message, own: str, *, is_copy: bool) -> Iterator[Record]:
    """Yield the records of a message: one for each block of an answer, else one for the message."""
    for body in anthropic.write([message]):
        texts = texts_of_result(message)
        if texts:
            body["content"][0]["content"] = [{"type": "text", "text": text} for text in texts]
        if body["role"] == "user":
            record: Record = {"type": "user", "message": body, "uuid": own}
            is_programs = message["role"] == "user" and not is_human(message)
            if is_programs:
                record["isMeta"] = True
            yield record
            continue
        content = body["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        yield from _blocks_of_answer(message, blocks, own, is_copy=is_copy)


def _blocks_of_answer(message: Message, blocks: Sequence[Message], own: str, *, is_copy: bool) -> Iterator[Record]:
    """Yield the records of an answer, one for each block; `own` is the id of the first record.

    In a copy, usage is written only if the answer has an id, by which the answer is billed only once.
    """
    facts = metadata_of(message)
    imported = facts.get("imported")
    ids = imported if isinstance(imported, dict) else {}
    response_id = ids.get("response_id")
    model = facts.get("model")
    if not isinstance(model, str):
        model = UNKNOWN_MODEL if answer_usage(message).is_known else _NOBODY
    would_be_billed_twice = is_copy and not response_id
    usage = anthropic_usage({} if would_be_billed_twice else message)
    last = len(blocks) - 1
    for number, block in enumerate(blocks):
        answer: Record = {
            "id": str(response_id or own_response_id(own)),
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [block],
            "stop_reason": _stop_of(message) if number == last else None,
            "stop_sequence": None,
        }
        if usage:
            answer["usage"] = usage
        record: Record = {"type": "assistant", "message": answer}
        if ids.get("request_id"):
            record["requestId"] = str(ids["request_id"])
        record["uuid"] = own if number == 0 else uuid_of(own, str(number))
        if facts.get("is_error") is True:
            record["isApiErrorMessage"] = True
        yield record


def own_response_id(uuid: str) -> str:
    """Return an id for an answer that has none, derived from the UUID of its first record."""
    return f"msg_{uuid.replace('-', '')}"


def _stop_of(message: Message) -> str:
    """Return the reason why an answer ended: the reason in the answer, else the one that its calls show."""
    stop_reason = metadata_of(message).get("stop_reason")
    if isinstance(stop_reason, str):
        return stop_reason
    return "tool_use" if message.get("tool_calls") else "end_turn"


def anthropic_usage(message: Message) -> dict[str, Any]:
    """Return usage in the form that Anthropic reports; {} if it is not known.

    Cache reads and cache writes are not part of `input_tokens`.
    """
    usage = answer_usage(message)
    if not usage.is_known:
        return {}
    converted: dict[str, Any] = {"input_tokens": usage.uncached, "output_tokens": usage.output}
    if "cache_write_tokens" in usage.writes:
        converted["cache_creation_input_tokens"] = usage.writes["cache_write_tokens"]
    if usage.cached is not None:
        converted["cache_read_input_tokens"] = usage.cached
    by_time = {}
    if "cache_write_5m_tokens" in usage.writes:
        by_time["ephemeral_5m_input_tokens"] = usage.writes["cache_write_5m_tokens"]
    if "cache_write_1h_tokens" in usage.writes:
        by_time["ephemeral_1h_input_tokens"] = usage.writes["cache_write_1h_tokens"]
    if by_time:
        converted["cache_creation"] = by_time
    return converted
