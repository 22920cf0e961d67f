"""A summary by a provider: how it is asked for, and what of its answer is taken."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from amplifier_core.message_models import ChatRequest, ChatResponse, TextBlock, ThinkingBlock, ToolCall, ToolCallBlock

from amplifier_module_context_persistent.errors import SummaryError
from amplifier_module_context_persistent.session.summarizer import ask_for_summary

MESSAGES = [{"role": "user", "content": "Hello."}, {"role": "user", "content": "Summarise."}]
TOOLS = [{"name": "grep", "description": "Search.", "parameters": {"type": "object"}}]


class Provider:
    """Answers what it was made with, and keeps what it was asked."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer, self.asked = answer, list[ChatRequest]()

    async def complete(self, request: ChatRequest) -> Any:
        self.asked.append(request)
        answer = self.answer()
        return await answer if asyncio.iscoroutine(answer) else answer


def text(*texts: str) -> ChatResponse:
    return ChatResponse(content=[TextBlock(text=one) for one in texts])


async def ask(provider: Any, *, timeout_s: float = 5.0) -> str:
    said, _ = await ask_for_summary(provider, MESSAGES, json.dumps(TOOLS), max_tokens=700, timeout_s=timeout_s)
    return said


async def test_the_request_is_the_messages_with_the_tools_capped_and_not_streamed() -> None:
    """What the provider gets begins as any other request does."""
    provider = Provider(lambda: text("All was well."))
    assert await ask(provider) == "All was well."
    (request,) = provider.asked
    assert [message.content for message in request.messages] == ["Hello.", "Summarise."]
    assert [tool.model_dump() for tool in request.tools or []] == TOOLS
    assert (request.max_output_tokens, request.metadata) == (700, {"stream": False})


@pytest.mark.parametrize(
    "answer",
    [
        text("All was", "well."),
        text("<summary>\nAll was\nwell.\n</summary>"),
        ChatResponse(content=[ThinkingBlock(thinking="hm"), TextBlock(text="All was\nwell.")]),
    ],
)
async def test_the_answer_is_its_text(answer: ChatResponse) -> None:
    """Blocks are joined, tags of its own taken off, thinking left out."""
    assert await ask(Provider(lambda: answer)) == "All was\nwell."


async def forever() -> None:
    await asyncio.Event().wait()


def failing(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


CALL = ToolCall(id="c", name="grep", arguments={})


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (failing(RuntimeError("secret words")), "the provider failed: RuntimeError"),
        (failing(asyncio.CancelledError()), "cancelled"),
        (forever, "no answer within 0.05 s"),
        (lambda: text(" \n"), "empty"),
        (lambda: text("<summary></summary>"), "empty"),
        (lambda: ChatResponse(content=[]), "empty"),
        (lambda: None, "empty"),
        (lambda: ChatResponse(content=[TextBlock(text="Well")], tool_calls=[CALL]), "tool call"),
        (lambda: ChatResponse(content=[ToolCallBlock(id="c", name="grep", input={})]), "tool call"),
    ],
)
async def test_whatever_goes_wrong_is_one_error_that_says_what(answer: Callable[[], Any], why: str) -> None:
    """And nothing of what a provider said of it."""
    with pytest.raises(SummaryError, match=why) as raised:
        await ask(Provider(answer), timeout_s=0.05 if answer is forever else 5.0)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("provider", [None, object()])
async def test_without_a_provider_there_is_no_summary(provider: Any) -> None:
    """What cannot be asked is not asked."""
    with pytest.raises(SummaryError, match="no provider"):
        await ask(provider)


async def test_the_cancellation_of_the_caller_is_passed_on() -> None:
    """Who is cancelled while the provider thinks is cancelled, and gets no error instead."""
    task = asyncio.create_task(ask(Provider(forever)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
