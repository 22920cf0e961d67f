"""Calling a provider's module beside the conversation: the request, and the wait for what it answers."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from amplifier_core.message_models import ChatRequest, ToolSpec
from amplifier_core.message_models import Message as ProviderMessage

from ..messages.message import Message


def chat_request(messages: Sequence[Message], tools_json: str, **more: Any) -> ChatRequest:
    """A request as the host's loop makes it of a view and of the definitions of the mounted tools.

    Raises:
        ValueError: a message or a tool is none that a request can hold.
    """
    tools = [ToolSpec(**tool) for tool in orjson.loads(tools_json or "[]")] or None
    return ChatRequest(messages=[ProviderMessage(**message) for message in messages], tools=tools, **more)


async def answer_of(call: Callable[[], Any], timeout_s: float, error: type[Exception]) -> Any:
    """What a provider answers. Only the cancellation of the caller's own task is passed on.

    Args:
        call: makes the request, and calls the provider's module.
        timeout_s: how long to wait.
        error: what is raised where there is no answer; it says why, and nothing of the request.
    """
    try:
        async with asyncio.timeout(timeout_s):
            answer = call()
            return await answer if inspect.isawaitable(answer) else answer
    except TimeoutError as failed:
        raise error(f"there was no answer within {timeout_s:g} s") from failed
    except asyncio.CancelledError as failed:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise error("the provider's call was cancelled") from failed
    except Exception as failed:
        raise error(f"the provider failed: {type(failed).__name__}") from failed
