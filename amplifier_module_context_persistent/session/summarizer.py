"""Ask the provider of a request for a summary, and take the text of its answer.

Any failure is a `SummaryError`, and the caller continues without a summary. Only the cancellation of the caller's own
task is passed on: nothing was changed by then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..compaction.plan_request import Summary
from ..compaction.summary_span import Span, why_no_summary
from ..errors import SummaryError
from ..messages.message import Message
from ..tokens.meter import Meter
from ..tokens.usage import read_usage
from ..window.summary_request import instruction
from .compaction_events import counts_of
from .host import Host
from .provider_call import answer_of, chat_request
from .store import Session
from .view_service import Ask

FIRST_PAUSE = 10  # requests: a failing provider makes at most one request in ten wait
MOST_PAUSE = 80  # requests; a provider that is back is noticed within an hour of work
_MOST_TIMES = 2  # an answer may have this many times the tokens of its cap

_TAGS = re.compile(r"</?summary>")  # these mark a summary in a view


class SummaryPause:
    """A pause after a failed summary, counted in requests for views.

    A provider that is down or too slow would make every request wait. So the next `FIRST_PAUSE` requests do not ask;
    each further failure doubles the pause.
    """

    def __init__(self) -> None:
        self._left = 0
        self._next = FIRST_PAUSE

    def lets_ask(self) -> bool:
        """Count a request, and return whether a summary may be asked for with it."""
        self._left = max(0, self._left - 1)
        return self._left == 0

    def note(self, *, failed: bool) -> None:
        """Note whether a summary failed."""
        self._left = self._next if failed else 0
        self._next = min(MOST_PAUSE, 2 * self._next) if failed else FIRST_PAUSE


async def sum_up(
    session: Session, meter: Meter, ask: Ask, span: Span | SummaryError, host: Host, pause: SummaryPause
) -> tuple[Summary | None, dict[str, int]]:
    """Ask the provider of a request to summarise the messages that its plan leaves out. If the provider fails, pause.

    Args:
        session: the session of the request.
        meter: is told that the next reported usage belongs to no view.
        ask: the request that needs a plan.
        span: the messages to summarise, or the reason why none can be.
        host: receives the events.
        pause: the time until the next attempt after a failure.

    Returns:
        The summary, or None after an event with the reason; and the usage that the provider billed for it.
    """
    meter.answered()  # the usage that is reported for the summary belongs to no view
    if isinstance(span, SummaryError):
        await _tell_failure(host, span)
        return None, {}
    cap = session.config.summary_max_tokens
    billed: dict[str, int] = {}
    try:
        text, usage = await ask_for_summary(
            ask.provider,
            span.request,
            ask.tools_json if span.with_tools else "",
            max_tokens=cap,
            timeout_s=session.config.summary_timeout_s,
        )
        billed = counts_of(usage)
        tokens = session.count(instruction(text))
        _check_summary(text, tokens, span, cap)
    except SummaryError as failed:
        if ask.provider is not None:
            pause.note(failed=True)
        await _tell_failure(host, failed)
        return None, billed
    pause.note(failed=False)
    sizes = {"summarized_messages": len(span.ordinals), "request_tokens": span.tokens, "summary_tokens": tokens}
    await host.emit("context:summary", {**sizes, **_cached_share(usage)})
    return Summary(text, span.ordinals, span.basis), billed


def _check_summary(text: str, tokens: int, span: Span, cap: int) -> None:
    """Check that an answer is a summary of a span, and is not much longer than was asked for.

    Raises:
        SummaryError: it is not; says why.
    """
    if tokens > _MOST_TIMES * cap:
        raise SummaryError(f"the answer has {tokens:,} tokens; {cap:,} were asked for")
    reason = why_no_summary(text, tokens, span)
    if reason:
        raise SummaryError(reason)


async def _tell_failure(host: Host, failed: SummaryError) -> None:
    await host.emit("context:summary_failed", {"reason": str(failed)})


async def ask_for_summary(
    provider: Any,
    messages: Sequence[Message],
    tools_json: str,
    *,
    max_tokens: int,
    timeout_s: float,
) -> tuple[str, Any]:
    """Ask a provider to answer messages that end with the instruction, in text only and not streamed.

    Args:
        provider: its `complete` is called with a `ChatRequest`.
        messages: the request's messages.
        tools_json: the definitions of the tools, so that the request begins like the one before it and the provider's
            cache fits.
        max_tokens: the cap on the answer.
        timeout_s: the most seconds to wait.

    Returns:
        The text, without `<summary>` tags of its own and never empty; and the usage that the provider reports with it.

    Raises:
        SummaryError: there is no provider, it failed or took too long, or it answered nothing or with a tool call.
    """
    complete = getattr(provider, "complete", None)
    if not callable(complete):
        raise SummaryError("the request names no provider that can be asked")
    more = {"max_output_tokens": max_tokens, "metadata": {"stream": False}}
    response = await answer_of(lambda: complete(chat_request(messages, tools_json, **more)), timeout_s, SummaryError)
    return _text(response), getattr(response, "usage", None)


def _cached_share(usage: Any) -> dict[str, float]:
    """Return the share of a request that the provider read from its cache, or nothing if the share is unknown."""
    names = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
    reported = {name: _of(usage, name) for name in names}
    read = read_usage(reported)
    if read is None or not read.input_tokens or reported["cache_read_tokens"] is None:
        return {}
    return {"cached_share": round(read.cached / read.input_tokens, 4)}


def _text(response: Any) -> str:
    content = getattr(response, "content", None)
    blocks = content if isinstance(content, list) else [content]
    has_call = any(_of(block, "type") in ("tool_call", "tool_use") for block in blocks)
    if has_call or getattr(response, "tool_calls", None):
        raise SummaryError("the answer is a tool call")
    texts = list[str]()
    for block in blocks:
        text = block if isinstance(block, str) else _of(block, "text")
        if isinstance(text, str):
            texts.append(text)
    summary = _TAGS.sub("", "\n".join(texts)).strip()
    if not summary:
        raise SummaryError("the answer is empty")
    return summary


def _of(block: Any, name: str) -> Any:
    return block.get(name) if isinstance(block, Mapping) else getattr(block, name, None)
