"""The size of a request as its provider counts it, where its module can (`request_budget`, docs/tokens.md).

A count is a request of its own to the provider's service. So it is asked for only where our prediction leaves open
whether the view fits, and for no longer than `MOST_S`. Whatever goes wrong, our own count decides, as without one.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import orjson
from amplifier_core.message_models import ChatRequest, ToolSpec
from amplifier_core.message_models import Message as ProviderMessage

from ..messages.message import Message

logger = logging.getLogger(__name__)

MOST_S = 10.0


def chat_request(messages: Sequence[Message], tools_json: str, **more: Any) -> ChatRequest:
    """A request as the host's loop makes it of a view and of the definitions of the mounted tools.

    Raises:
        ValueError: a message or a tool is none that a request can hold.
    """
    tools = [ToolSpec(**tool) for tool in orjson.loads(tools_json or "[]")] or None
    return ChatRequest(messages=[ProviderMessage(**message) for message in messages], tools=tools, **more)


async def counted_by(
    provider: Any, view: Sequence[Message], tools_json: str, model: str, estimate: int
) -> tuple[int, int] | None:
    """What a provider counts of a request, and the most that it takes, both in its tokens; None where it cannot say.

    Args:
        provider: its module, or None.
        view: the view, with its system text.
        tools_json: the definitions of the mounted tools.
        model: its model, where it is known.
        estimate: our count of the view.
    """
    budget = getattr(provider, "request_budget", None)
    if not callable(budget):
        return None
    try:
        async with asyncio.timeout(MOST_S):
            said = budget(chat_request(view, tools_json, model=model or None), context_estimate=estimate)
            said = await said if inspect.isawaitable(said) else said
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return None
    except Exception as error:  # noqa: BLE001 - a provider's fault must not stop the request
        logger.info("the provider did not count a request: %s", type(error).__name__)
        return None
    measured = said.get("measurement") if isinstance(said, Mapping) else None
    if not isinstance(measured, Mapping) or measured.get("kind") != "provider_count":
        return None
    tokens, most = measured.get("input_tokens"), said.get("input_limit_tokens")
    return (tokens, most) if _is_count(tokens) and _is_count(most) else None


def _is_count(number: Any) -> TypeGuard[int]:
    return type(number) is int and number > 0
