"""Call a provider's module outside the conversation: for an answer, or for the provider's count of a request's tokens.

A count (`request_budget`, docs/tokens.md) is a separate request to the provider's service. So it is requested only if
our prediction does not decide whether the view fits, and for at most `MOST_S`. If it fails, our own count decides.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from ..messages.message import Message
from ..tokens.usage import token_count

if TYPE_CHECKING:
    from amplifier_core.message_models import ChatRequest

logger = logging.getLogger(__name__)

MOST_S = 10.0


def chat_request(messages: Sequence[Message], tools_json: str, **more: Any) -> ChatRequest:
    """Make the request that the host's loop would make from a view and the definitions of the mounted tools.

    Raises:
        ValueError: a message or a tool does not fit into a request.
    """
    from amplifier_core.message_models import ChatRequest, ToolSpec  # only a host's provider is asked
    from amplifier_core.message_models import Message as ProviderMessage

    tools = [ToolSpec(**tool) for tool in orjson.loads(tools_json or "[]")] or None
    return ChatRequest(messages=[ProviderMessage(**message) for message in messages], tools=tools, **more)


async def answer_of(call: Callable[[], Any], timeout_s: float, error: type[Exception]) -> Any:
    """Return a provider's answer. Only the cancellation of the caller's own task is passed on.

    Args:
        call: makes the request, and calls the provider's module.
        timeout_s: the most seconds to wait.
        error: the exception to raise if there is no answer; its text has the reason, and no content of the request.
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


class _NoCountError(Exception):
    """The provider did not count."""


async def counted_by(
    provider: Any, view: Sequence[Message], tools_json: str, model: str, estimate: int
) -> tuple[int, int] | None:
    """Return a provider's token count of a request and its input limit; None if the provider does not count.

    Args:
        provider: the provider's module, or None.
        view: the view, with its system text.
        tools_json: the definitions of the mounted tools.
        model: the provider's model, or "" if unknown.
        estimate: our count of the view.
    """
    budget = getattr(provider, "request_budget", None)
    if not callable(budget):
        return None

    def ask() -> Any:
        return budget(chat_request(view, tools_json, model=model or None), context_estimate=estimate)

    try:
        answer = await answer_of(ask, MOST_S, _NoCountError)
    except _NoCountError as error:  # a provider's fault must not stop the request
        logger.info("the provider did not count a request: %s", error)
        return None
    if not isinstance(answer, Mapping):
        return None
    measurement = answer.get("measurement")
    if not isinstance(measurement, Mapping) or measurement.get("kind") != "provider_count":
        return None
    tokens = token_count(measurement.get("input_tokens"))
    limit = token_count(answer.get("input_limit_tokens"))
    if not tokens or not limit:
        return None
    return tokens, limit
