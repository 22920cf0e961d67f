"""Write a Codex rollout for `codex resume`: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`.

A rollout is the file of a session. Its first line describes the session. Messages are items of the Responses API. In
addition there are the events that Codex lists and shows sessions by: `user_message`, `agent_message`, `token_count`. A
change of the model is a `turn_context` line. Source: openai/codex, `codex-rs/protocol/src/protocol.rs` (`SessionMeta`,
`RolloutItem`).

Codex has no place for system prompts after the first one (`base_instructions`) and for reasoning of other providers;
they are left out. A `token_count` needs all of its counts: without the input or the output there is none; cached tokens
and reasoning are 0 if they are not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....forms import openai_responses
from ....forms.canonical import items
from ....messages.message import Message, metadata_of, text_of
from ....messages.metadata import is_human
from ....view.entry import INSTRUCTING
from .agent_session import AgentSession, AnswerUsage, answer_usage, iso, texts_of_result
from .session_view import SessionView

ORIGINATOR = "amplifier_context_persistent"
_LIKE_CODEX = {"approval_policy": "on-request", "sandbox_policy": {"type": "read-only"}, "summary": "auto"}
"""Required fields of a turn's context. A resumed session uses the settings of its command line instead."""

Line = dict[str, Any]


def rollout(view: SessionView) -> Iterator[Line]:
    """Yield the lines, in order."""
    session = AgentSession.of(view)
    meta: dict[str, Any] = {
        "session_id": session.id,
        "id": session.id,
        "timestamp": iso(session.began),
        "cwd": session.working_dir,
        "originator": ORIGINATOR,
        "cli_version": "0.0.0",
        "source": "cli",
        "model_provider": "openai",
    }
    instructions = _instructions(view)
    if instructions:
        meta["base_instructions"] = {"text": instructions}
    yield {"timestamp": iso(session.began), "type": "session_meta", "payload": meta}
    writer = _Writer(session)
    for message, time in session.messages(view, "openai"):
        mark = session.mark(message)
        for kind, payload in writer.lines(message):
            yield {"timestamp": time, "type": kind, "payload": payload, **mark}


def _instructions(view: SessionView) -> str:
    """Return the text of the first message with instructions; "" if there is none."""
    for _, message in view.messages():
        if message["role"] in INSTRUCTING:
            return text_of(message)
    return ""


class _Writer:
    """Makes the lines of a rollout from messages, one after the other.

    Keeps the current model and the sums of usage.
    """

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._model = ""
        self._sums = dict.fromkeys(_counts(answer_usage({})), 0)

    def lines(self, message: Message) -> Iterator[tuple[str, Line]]:
        """Yield the lines of a message, as pairs of type and payload: its turn context, its items, and its events."""
        role = message["role"]
        model = metadata_of(message).get("model")
        if role == "assistant" and isinstance(model, str) and model != self._model:
            self._model = model
            yield "turn_context", {"cwd": self._session.working_dir, "model": model, **_LIKE_CODEX}
        typed_text = ""
        for item in openai_responses.write([message]):
            texts = texts_of_result(message)
            if texts:
                item["output"] = [{"type": "input_text", "text": text} for text in texts]
            typed = _typed(item)
            typed_text = typed_text or _words_in(typed)
            yield "response_item", typed
        content = text_of(message)
        if role == "user" and is_human(message):
            yield "event_msg", {"type": "user_message", "message": typed_text, "kind": "plain"}
        elif role == "assistant" and content:
            yield "event_msg", {"type": "agent_message", "message": content}
        if role != "assistant" or self._session.is_copy:
            return  # a copy's answers have no ids, so they would be billed twice
        usage = answer_usage(message)
        if usage.is_known:
            counts = _counts(usage)
            self._sums = {key: count + counts[key] for key, count in self._sums.items()}
            info = {"total_token_usage": self._sums, "last_token_usage": counts, "model_context_window": None}
            yield "event_msg", {"type": "token_count", "info": info, "rate_limits": None}


def _typed(item: Line) -> Line:
    """Return an item in the form of rollouts, with a type and a list of parts as its content."""
    if "type" in item and item["type"] != "message":
        return item
    content = item.get("content")
    if isinstance(content, str):
        kind = "output_text" if item.get("role") == "assistant" else "input_text"
        content = [{"type": kind, "text": content}]
    return {"type": "message", **item, "content": content}


def _words_in(item: Line) -> str:
    """Return the texts of an item's parts, from which Codex makes the text of a `user_message`."""
    parts = [part for part in items(item.get("content")) if part.get("type") == "input_text"]
    return "\n".join(str(part["text"]) for part in parts)


def _counts(usage: AnswerUsage) -> dict[str, int]:
    read = usage.input_tokens + usage.writes.get("cache_write_tokens", 0)
    return {
        "input_tokens": read,
        "cached_input_tokens": usage.cached or 0,
        "output_tokens": usage.output,
        "reasoning_output_tokens": usage.reasoning or 0,
        "total_tokens": read + usage.output,
    }
