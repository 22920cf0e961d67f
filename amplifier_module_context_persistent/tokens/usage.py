"""The tokens that a provider reported for one request, in an event or in a `usage` record.

`messages/answer_usage.py` reads the usage in a message.

Providers and agents use different names for the same numbers. Some include tokens from the prompt cache in the input
and some do not. Here the counts never overlap: a request read `uncached + cached + written` tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CACHE_WRITES = ("cache_write_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens")
"""The keys of imported usage for writes to the prompt cache: all writes, those for five minutes, those for an hour."""

_INPUT = ("input_tokens", "prompt_tokens", "input")
_OUTPUT = ("output_tokens", "completion_tokens", "output")
_CACHED_APART = ("cache_read_input_tokens", "cacheRead")
_CACHED_WITHIN = ("cache_read_tokens", "cached_tokens", "cached")
_WRITTEN = ("cache_creation_input_tokens", "cache_write_tokens", "cacheWrite")
_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_MOST_TOKENS = 1 << 40
_MOST_DOLLARS = 1e9


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """The tokens that one request read and wrote.

    `cached` tokens were read from the prompt cache. `written` tokens were written to the cache, `written_1h` of them
    for an hour. `output` is None if it was not reported.
    """

    uncached: int
    cached: int = 0
    written: int = 0
    output: int | None = None
    provider: str = ""
    model: str = ""
    written_1h: int = 0
    compaction: ReportedUsage | None = None
    """Tokens that the provider bills in addition, because it compacted the conversation; None if there are none."""
    has_input: bool = True
    """Whether the source reports the input; if not, the counts of the input are 0 without a meaning."""
    requests: int = 1
    """The number of requests in this sum. Some agents report only the sum of a whole session."""
    source_cost: float | None = None
    """The cost in US dollars as the source of an import counted it; None if the source gives none."""

    @property
    def input_tokens(self) -> int:
        """All input tokens of the request, cached or not."""
        return self.uncached + self.cached + self.written


def read_usage(usage: Any, *, provider: str = "", model: str = "") -> ReportedUsage | None:
    """Return the usage that a provider reports; None if the report has no counts.

    Some providers include the cached tokens in the input and some do not: if more tokens were cached than the input
    has, the cached tokens are added to the input.
    """
    if not isinstance(usage, Mapping):
        return None
    reported_input = _first(usage, _INPUT)
    output = _first(usage, _OUTPUT)
    if reported_input is None and output is None:
        return None
    uncached = reported_input or 0
    cached = _first(usage, _CACHED_APART)
    if cached is None:
        cached = _cached_within(usage)
        if cached <= uncached:
            uncached -= cached
    written = _first(usage, _WRITTEN) or 0
    return ReportedUsage(
        uncached,
        cached,
        written=written,
        output=output,
        provider=provider,
        model=model,
        written_1h=_written_1h(usage, written),
        compaction=_compaction_in(usage, provider, model),
        has_input=reported_input is not None or cached > 0,
        requests=token_count(usage.get("requests")) or 1,
        source_cost=_cost(usage.get("cost_usd")),
    )


def _cost(value: Any) -> float | None:
    """Return a cost in US dollars, or None if the value is none. Agents write 0 for a price that they do not know."""
    is_number = type(value) in (int, float)
    if is_number and 0 < value < _MOST_DOLLARS:
        return float(value)
    return None


def reports_cached(usage: Mapping[str, Any]) -> bool:
    """Return whether a report has the number of tokens that were read from the cache, even if the number is 0."""
    details = [usage.get(key) for key in _DETAILS]
    for place in (usage, *details):
        if isinstance(place, Mapping) and _first(place, (*_CACHED_APART, *_CACHED_WITHIN)) is not None:
            return True
    return False


def _cached_within(usage: Mapping[str, Any]) -> int:
    """Return the cached tokens that a report counts within the input, in the report itself or in its details."""
    details: Mapping[str, Any] = {}
    for key in _DETAILS:
        if isinstance(usage.get(key), Mapping):
            details = usage[key]
            break
    return _first(usage, _CACHED_WITHIN) or _first(details, _CACHED_WITHIN) or 0


def _compaction_in(usage: Mapping[str, Any], provider: str, model: str) -> ReportedUsage | None:
    """Return the sum of the compaction passes within one request; None without such passes.

    Claude may compact within a request, and reports such a pass only in `usage.iterations` (Claude docs, "Compaction at
    a token threshold", read 2026-11-26).
    """
    iterations = usage.get("iterations")
    if not isinstance(iterations, list):
        return None
    passes = list[ReportedUsage]()
    for iteration in iterations:
        if isinstance(iteration, Mapping) and iteration.get("type") == "compaction":
            read = read_usage(iteration)
            if read is not None:
                passes.append(read)
    if not passes:
        return None
    uncached = cached = written = written_1h = output = 0
    for usage_of_pass in passes:
        uncached += usage_of_pass.uncached
        cached += usage_of_pass.cached
        written += usage_of_pass.written
        written_1h += usage_of_pass.written_1h
        output += usage_of_pass.output or 0
    return ReportedUsage(
        uncached=uncached,
        cached=cached,
        written=written,
        output=output,
        provider=provider,
        model=model,
        written_1h=written_1h,
    )


def usage_of_record(record: Mapping[str, Any]) -> ReportedUsage | None:
    """Return the usage in a log's `usage` record; None if it reports no tokens, as after a refusal."""
    actual = token_count(record.get("actual_tokens"))
    if not actual:
        return None
    provider = _text(record, "provider")
    model = _text(record, "model")
    passes = read_usage(record.get("compaction_usage"), provider=provider, model=model)
    cached = min(actual, token_count(record.get("cached_tokens")) or 0)
    written = min(actual - cached, token_count(record.get("cache_write_tokens")) or 0)
    return ReportedUsage(
        uncached=actual - cached - written,
        cached=cached,
        written=written,
        output=token_count(record.get("output_tokens")),
        provider=provider,
        model=model,
        written_1h=_written_1h(record, written),
        compaction=passes,
    )


def _written_1h(usage: Mapping[str, Any], written: int) -> int:
    """Return how many of the `written` tokens were written to the cache for an hour.

    Imported usage has this number under our key (`forms/anthropic.usage`), a report of Anthropic in `cache_creation`.
    """
    kinds = usage.get("cache_creation")
    hour_tokens = token_count(usage.get(CACHE_WRITES[2]))
    if hour_tokens is None and isinstance(kinds, Mapping):
        hour_tokens = token_count(kinds.get("ephemeral_1h_input_tokens"))
    return min(written, hour_tokens or 0)


def _first(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """Return the first value under one of `names` that is a number of tokens; None if there is none."""
    for name in names:
        number = token_count(usage.get(name))
        if number is not None:
            return number
    return None


def token_count(value: Any) -> int | None:
    """Return a value if it is a possible token count, else None.

    Counts of `_MOST_TOKENS` or more are refused, because the database could not store their sums.
    """
    if type(value) is int and 0 <= value < _MOST_TOKENS:
        return value
    return None


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""
