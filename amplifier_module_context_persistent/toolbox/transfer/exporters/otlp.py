"""Write OpenTelemetry spans as OTLP JSON, with the semantic conventions for generative AI.

All of these conventions are in development (the scope's attributes say so). A session is one trace: a root span
`invoke_agent`, and in it `chat {model}` for each answer and `execute_tool {name}` for each result. A chat span's
`gen_ai.input.messages` are the messages since the previous answer, not the whole history, because the size would grow
with the square of the history. Messages after the last answer are in the root span.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ....forms.canonical import total
from ....messages.answer_usage import usage_of_message
from ....messages.media_blocks import source_of
from ....messages.message import Message, metadata_of, result_id_of
from ....messages.message_times import instant_of, timestamp_of
from ....messages.metadata import given_id
from ....messages.text import block_text, blocks_without_calls, calls_with_arguments, to_json
from .session_view import SessionView, first_time, json_lines, session_name

SCOPE = {
    "name": "amplifier-module-context-persistent",
    "attributes": [{"key": "gen_ai.semantic_conventions.status", "value": {"stringValue": "development"}}],
}
_CLIENT = 3
_INTERNAL = 1
_ERROR = 2


def spans(view: SessionView) -> Iterator[str]:
    """Yield the trace of a session, span by span."""
    session = session_name(view)
    resource = {"attributes": _attributes({"service.name": "amplifier", "gen_ai.conversation.id": session})}
    opened = to_json({"resource": resource})[:-1]
    yield f'{{"resourceSpans":[{opened},"scopeSpans":[{{"scope":{to_json(SCOPE)},"spans":[\n'
    yield from json_lines(_Spans(view, session).made())
    yield "]}]}]}\n"


class _Spans:
    """Makes the spans (OpenTelemetry) of a session, in the order in which the spans ended."""

    def __init__(self, view: SessionView, session: str) -> None:
        self._view = view
        self._session = session
        self._seed = view.session_id or view.transcript.path
        self._trace = hashlib.sha256(self._seed.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._root = self._id("root")
        self._now = _nanoseconds(first_time(view))
        """The latest time so far, in nanoseconds. A message without a time gets this time."""
        self._names: dict[str, tuple[str, Any]] = {}

    def made(self) -> Iterator[dict[str, Any]]:
        """Yield all spans."""
        plans = [packed.record() for packed, _ in self._view.transcript.book.made_for]
        last_before_plans = {self._view.redacted(str(plan.get("upto"))) for plan in plans}
        began = self._now
        heard: list[Message] = []  # since the last answer
        compacted = False  # since the last answer
        for position, message in self._view.messages():
            began = min(began, self._time(message))
            call_id = result_id_of(message)
            if call_id is not None:
                yield self._tool(message, call_id, position)
            if message.get("role") == "assistant":
                yield self._chat(message, heard, position, compacted=compacted)
                heard = []
                compacted = False
            else:
                heard.append(message)
            self._now = max(self._now, self._time(message))
            if (given_id(message) or "") in last_before_plans:
                compacted = True
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.conversation.id": self._session,
            "gen_ai.agent.name": self._view.source.get("format"),
            "gen_ai.input.messages": to_json([_message(heard_message) for heard_message in heard]) if heard else None,
        }
        yield self._span(
            self._root, "", name="invoke_agent", kind=_INTERNAL, start=began, end=self._now, told=attributes
        )

    def _chat(self, message: Message, heard: list[Message], position: int, *, compacted: bool) -> dict[str, Any]:
        """Return the span of a model call: the messages before the answer, the answer, and its usage."""
        metadata = metadata_of(message)
        usage = metadata.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        imported = metadata.get("imported")
        response_id = imported.get("response_id") if isinstance(imported, dict) else None
        reported = usage_of_message(message)
        model = metadata.get("model")
        written = counts.get("cache_write_tokens")
        stop = metadata.get("stop_reason")
        for call_id, name, arguments in calls_with_arguments(message):
            self._names[call_id] = (name, arguments)
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": self._session,
            "gen_ai.provider.name": metadata.get("provider"),
            "gen_ai.request.model": model,
            "gen_ai.response.model": model,
            "gen_ai.response.id": response_id,
            "gen_ai.response.finish_reasons": [stop] if isinstance(stop, str) else None,
            "gen_ai.usage.input_tokens": total(counts.get("input_tokens"), written),
            "gen_ai.usage.output_tokens": reported.output if reported is not None else None,
            "gen_ai.usage.cache_read.input_tokens": counts.get("cache_read_tokens"),
            "gen_ai.usage.cache_creation.input_tokens": written,
            "gen_ai.conversation.compacted": True if compacted else None,
            "gen_ai.input.messages": to_json([_message(heard_message) for heard_message in heard]),
            "gen_ai.output.messages": to_json([_message(message)]),
        }
        span_id = self._id(f"chat {position}")
        span_name = f"chat {model}" if model else "chat"
        return self._span(
            span_id, self._root, name=span_name, kind=_CLIENT, start=self._now, end=self._time(message), told=attributes
        )

    def _tool(self, message: Message, call_id: str, position: int) -> dict[str, Any]:
        """Return the span of a tool's call, from its result."""
        name = str(message.get("name") or "unknown")
        arguments = None
        if call_id in self._names:
            name, arguments = self._names[call_id]
        failed = metadata_of(message).get("is_error") is True
        output = "\n".join(block_text(block) for block in blocks_without_calls(message))
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.conversation.id": self._session,
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": to_json(arguments) if arguments is not None else None,
            "gen_ai.tool.call.result": output,
            "error.type": "tool_error" if failed else None,
        }
        span_id = self._id(f"tool {position}")
        span_name = f"execute_tool {name}"
        span = self._span(
            span_id,
            self._root,
            name=span_name,
            kind=_INTERNAL,
            start=self._now,
            end=self._time(message),
            told=attributes,
        )
        if failed:
            span["status"] = {"code": _ERROR}
        return span

    def _span(
        self, span_id: str, parent: str, name: str, kind: int, start: int, end: int, told: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "traceId": self._trace,
            "spanId": span_id,
            **({"parentSpanId": parent} if parent else {}),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": str(min(start, end)),
            "endTimeUnixNano": str(end),
            "attributes": _attributes(told),
        }

    def _id(self, what: str) -> str:
        return hashlib.sha256(f"{self._seed} {what}".encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def _time(self, message: Message) -> int:
        """Return the time of a message in nanoseconds, or the latest time so far if the message has none."""
        instant = instant_of(timestamp_of(message)) if timestamp_of(message) else None
        return _nanoseconds(instant) if instant is not None else self._now


def _nanoseconds(instant: datetime) -> int:
    return int(instant.timestamp() * 1_000_000) * 1_000


def _attributes(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": str(value)}


def _message(message: Message) -> dict[str, Any]:
    """Return a message in the form of the conventions: role and parts."""
    call_id = result_id_of(message)
    if call_id is not None:
        output = "\n".join(block_text(block) for block in blocks_without_calls(message))
        return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": output}]}
    parts: list[dict[str, Any]] = []
    for block in blocks_without_calls(message):
        source = source_of(block)
        if block.get("type") == "thinking":
            parts.append({"type": "reasoning", "content": str(block.get("thinking") or "")})
        elif source is not None and source.address:
            parts.append({"type": "uri", "modality": source.kind, "uri": source.address})
        elif block.get("type") not in ("redacted_thinking", "reasoning"):
            parts.append({"type": "text", "content": block_text(block)})
    for call_id, name, arguments in calls_with_arguments(message):
        parts.append({"type": "tool_call", "id": call_id, "name": name, "arguments": arguments})
    converted: dict[str, Any] = {"role": str(message.get("role")), "parts": parts}
    stop = metadata_of(message).get("stop_reason")
    if isinstance(stop, str):
        converted["finish_reason"] = stop
    return converted
