"""Bodies of requests: the whole live history as OpenAI's Chat Completions and Anthropic's Messages API take it.

What a body is, `transfer.request_body` says. Here it gets what a request has besides messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...messages.text import to_json
from ..request_body import to_anthropic, to_openai
from .session_view import SessionView, json_lines, model_of, tool_definitions

MAX_TOKENS = 4_096
"""What Anthropic's API wants to be told; every model of it may answer with so many."""


def openai_body(view: SessionView) -> Iterator[str]:
    """`{model, tools, messages}` of Chat Completions, message by message. Thinking has no place in it."""
    head: dict[str, Any] = {"model": model} if (model := model_of(view)) else {}
    if tools := tool_definitions(view.tools, openai=True):
        head["tools"] = tools
    return _document(head, to_openai(message for _, message in view.messages()))


def anthropic_body(view: SessionView) -> Iterator[str]:
    """`{model, max_tokens, system, tools, messages}` of the Messages API. Thinking without a signature is left out."""
    head: dict[str, Any] = {"model": model} if (model := model_of(view)) else {}
    head["max_tokens"] = MAX_TOKENS
    if tools := tool_definitions(view.tools, openai=False):
        head["tools"] = tools
    return _document(head, to_anthropic(message for _, message in view.messages()))


def _document(head: dict[str, Any], body: dict[str, Any]) -> Iterator[str]:
    messages = body.pop("messages")
    opened = to_json({**head, **body})[:-1]
    yield f'{opened}{"," if head or body else ""}"messages":[\n'
    yield from json_lines(messages)
    yield "]}\n"
