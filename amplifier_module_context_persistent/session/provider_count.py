"""The size of a request as its provider counts it, where its module can (`request_budget`, docs/tokens.md).

A count is a request of its own to the provider's service. So it is asked for only where our prediction leaves open
whether the view fits, and for no longer than `MOST_S`. Whatever goes wrong, our own count decides, as without one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from ..messages.message import Message
from .provider_call import answer_of, chat_request

logger = logging.getLogger(__name__)

MOST_S = 10.0


class _NoCountError(Exception):
    """The provider did not count."""


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

    def ask() -> Any:
        return budget(chat_request(view, tools_json, model=model or None), context_estimate=estimate)

    try:
        said = await answer_of(ask, MOST_S, _NoCountError)
    except _NoCountError as error:  # a provider's fault must not stop the request
        logger.info("the provider did not count a request: %s", error)
        return None
    measured = said.get("measurement") if isinstance(said, Mapping) else None
    if not isinstance(measured, Mapping) or measured.get("kind") != "provider_count":
        return None
    tokens, most = measured.get("input_tokens"), said.get("input_limit_tokens")
    return (tokens, most) if _is_count(tokens) and _is_count(most) else None


def _is_count(number: Any) -> TypeGuard[int]:
    return type(number) is int and number > 0
