"""When a view is to be compacted, when a plan frees enough to be followed, and when not to try again.

A request that finds nothing in the provider's cache pays for all that it sends, so it is the cheapest moment to plan:
one table says how long providers keep what they cached.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from ..compaction.planner import Compaction
from ..config import Config
from ..errors import FloorError
from ..messages.metadata import instant_of
from ..view.recipients import ANTHROPIC, GEMINI, OPENAI, family_of
from .request import ViewRequest

COLD_TARGET = 0.86  # of `target_usage`, for a request that pays for every token: docs/experiments.md, "Pauses"


def for_cold_cache(config: Config) -> Config:
    """The policy of a plan for a request that finds nothing in the provider's cache."""
    return replace(config, target_usage=COLD_TARGET * config.target_usage)


def needs_plan(
    config: Config,
    *,
    tokens: int,
    messages: int,
    budget_tokens: int,
    unmovable_tokens: int = 0,
    begins_turn: bool = False,
    is_cold: bool = False,
) -> bool:
    """Whether a view of this size is to be compacted.

    A plan in the middle of a tool loop ends the reasoning of the loop so far. So where a turn begins, half of the way
    from the target to the threshold is enough (docs/compaction.md has what that was measured to bring). Where every
    token is paid for, it is enough that a plan frees what makes it worth it.

    Args:
        config: the policy.
        tokens: of the view.
        messages: of the view.
        budget_tokens: the most that it may have.
        unmovable_tokens: of those tokens that no plan can take away; the threshold is a share of the rest.
        begins_turn: whether a turn begins, in a session with reasoning.
        is_cold: whether the provider has nothing cached, and no reasoning would be lost.
    """
    many = config.max_messages is not None and messages > config.max_messages
    threshold = (config.compact_threshold + config.target_usage) / 2 if begins_turn else config.compact_threshold
    if is_cold:
        threshold = min(threshold, for_cold_cache(config).target_usage + config.compact_min_gain)
    room_tokens = max(0, budget_tokens - unmovable_tokens)
    return many or tokens - unmovable_tokens >= threshold * room_tokens


def worth_it(config: Config, made: Compaction, *, budget_tokens: int, tokens: int, messages: int) -> bool:
    """Whether a plan frees enough to be followed, or the view of `tokens` and `messages` does not fit without it."""
    fewer = {"tokens": tokens - made.plan.tokens_after, "messages": messages - len(made.arrangement.items)}
    return tokens > budget_tokens or matters(config, budget_tokens=budget_tokens, **fewer)


def matters(config: Config, *, tokens: int, messages: int, budget_tokens: int) -> bool:
    """Whether a difference of so many tokens, or messages, is at least `compact_min_gain` of what is allowed."""
    share, most = config.compact_min_gain, config.max_messages
    return tokens >= max(1, share * budget_tokens) or (most is not None and messages >= max(1, share * most))


class ReplanThrottle:
    """What one window remembers of the plans that it tried.

    Args:
        config: the policy.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._tried: tuple[int, int, int] | None = None
        """Tokens, messages and budget of the view when a plan was last made, or was not worth it: until the view has
        grown by enough, another one is not tried."""
        self._refused: tuple[int, FloorError] | None = None
        """Tokens of a view that could not be made to fit, and why."""
        self._retained: AbstractSet[int] = frozenset()
        self._pins: AbstractSet[int] = frozenset()

    def forget(self) -> None:
        """Begin anew, as after the history was replaced."""
        self._tried = self._refused = None

    def set_constraints(self, retained: AbstractSet[int], pins: AbstractSet[int]) -> None:
        """Take in what plans have to leave whole.

        A cached refusal is valid only for the same retained set, and pins change what a plan frees.
        """
        if pins != self._pins:
            self._pins = frozenset(pins)
            self.forget()
        if retained != self._retained:
            self._retained, self._refused = retained, None

    def wants_plan(
        self, request: ViewRequest, tokens: int, messages: int, *, unmovable_tokens: int = 0, begins_turn: bool = False
    ) -> bool:
        """Whether a plan is to be tried for a view of so many tokens and messages.

        Args:
            request: the request.
            tokens: of its view.
            messages: of its view.
            unmovable_tokens: as `needs_plan`.
            begins_turn: as `needs_plan`.

        Raises:
            FloorError: it was tried for this very view, and cannot be made to fit.
        """
        budget = request.budget_tokens
        if request.plans_now:
            room_tokens = max(0, budget - unmovable_tokens)
            return tokens - unmovable_tokens > self._config.target_usage * room_tokens
        size = {"tokens": tokens, "messages": messages, "budget_tokens": budget, "unmovable_tokens": unmovable_tokens}
        if not needs_plan(self._config, **size, begins_turn=begins_turn, is_cold=request.is_cold):
            return False
        if self._refused is not None and self._refused[0] == tokens and budget < self._refused[1].needed_tokens:
            known = self._refused[1]
            raise FloorError(budget, known.needed_tokens, known.fixed, known.pins)
        if self._tried is not None and tokens <= budget and not request.is_cold:
            # A budget that follows the provider's counts moves a little with every request.
            more_tokens = tokens - self._tried[0] + max(0, self._tried[2] - budget)
            more_messages = messages - self._tried[1]
            return matters(self._config, tokens=more_tokens, messages=more_messages, budget_tokens=budget)
        return True

    def record_plan(self, tokens: int, messages: int, budget_tokens: int) -> None:
        """Remember a view that follows a plan."""
        self._tried, self._refused = (tokens, messages, budget_tokens), None

    def record_futile(self, tokens: int, messages: int, budget_tokens: int, refused: FloorError | None = None) -> None:
        """Remember a futile plan, to avoid replanning; `refused` says that the view cannot be made to fit at all."""
        self._tried = (tokens, messages, budget_tokens)
        self._refused = (tokens, refused) if refused is not None else self._refused


class CacheLife(NamedTuple):
    """How long the models of a family keep what they cached after it was used last."""

    family: str
    """Empty for any."""
    seconds: float
    source: str
    read_on: str


_DAY = 86_400.0

CACHE_LIVES = (
    CacheLife(ANTHROPIC, 300.0, "Claude docs, Prompt caching: five minutes, unless an hour was paid for", "2026-11-23"),
    CacheLife(
        OPENAI, _DAY, "OpenAI API reference, prompt_cache_retention: 24h, where data may be retained", "2026-11-23"
    ),
    CacheLife(GEMINI, _DAY, "none is documented for implicit caching; the longest that another one has", "2026-11-23"),
    CacheLife("", 300.0, "none: the shortest that a provider is known to have", "2026-11-23"),
)
"""The first row that fits says how long."""


class PromptCache:
    """What the providers of one session have cached.

    Args:
        ttl_s: how many seconds they keep it, in place of the table; 0 where no plan is to depend on that.
    """

    def __init__(self, ttl_s: float | None) -> None:
        self._ttl_s = ttl_s
        self._asked_at = ""

    def note_request(self, provider: str, model: str, *, now: str, viewed_at: str) -> bool:
        """Note a request; whether what was cached by the one before it is gone.

        Args:
            provider: who is asked.
            model: its model.
            now: ISO 8601.
            viewed_at: when a process before this one made its last view, as the log says; empty where it does not.
        """
        before, self._asked_at = instant_of(self._asked_at or viewed_at), now
        asked = instant_of(now)
        family = family_of(provider, model)
        known = next(row.seconds for row in CACHE_LIVES if row.family in ("", family))
        lives = self._ttl_s if self._ttl_s is not None else known
        return bool(lives and before and asked and (asked - before).total_seconds() > lives)
