"""When not to plan again: after a plan that freed little, the next is tried only when more can be freed."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ..config import Config
from ..errors import FloorError
from .plan_gain import reaches_min_gain
from .request import ViewRequest


class ReplanThrottle:
    """Remembers the plans that one window tried, so that it does not try one again that would free too little.

    Args:
        config: the policy.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._tried: tuple[int, int, int] | None = None
        """Tokens, messages and budget of the view at the last plan that was tried, whether it was followed or not worth
        it. The next plan is tried only after the view has grown enough."""
        self._refused: tuple[int, FloorError] | None = None
        """Tokens of a view that could not be made to fit, and the error."""
        self._retained: AbstractSet[int] = frozenset()
        self._pins: AbstractSet[int] = frozenset()

    def forget(self) -> None:
        """Forget all plans, as after the history was replaced."""
        self._tried = self._refused = None

    def set_constraints(self, retained: AbstractSet[int], pins: AbstractSet[int]) -> None:
        """Set the messages that plans must keep in full.

        If the retained messages change, a view that could not be made to fit may fit now, so the failure is forgotten.
        If the pins change, a plan may free more or less than the last one, so the failure and the last plan are
        forgotten.
        """
        if pins != self._pins:
            self._pins = frozenset(pins)
            self.forget()
        if retained != self._retained:
            self._retained = retained
            self._refused = None

    def may_try(self, request: ViewRequest, tokens: int, messages: int) -> bool:
        """Return whether a plan may free more than the last one that was tried.

        Args:
            request: the request that the view is for: its budget, its provider and its tools.
            tokens: the number of tokens of its view.
            messages: the number of messages of its view.

        Raises:
            FloorError: a plan was tried for the same view before, and the view cannot be made to fit.
        """
        budget = request.budget_tokens
        if self._refused is not None and self._refused[0] == tokens and budget < self._refused[1].needed_tokens:
            known = self._refused[1]
            raise FloorError(budget, known.needed_tokens, known.fixed, known.pins)
        if self._tried is not None and tokens <= budget and not request.is_cold:
            # A budget that follows the provider's counts moves a little with every request.
            more_tokens = tokens - self._tried[0] + max(0, self._tried[2] - budget)
            more_messages = messages - self._tried[1]
            return reaches_min_gain(self._config, tokens=more_tokens, messages=more_messages, budget_tokens=budget)
        return True

    def record_plan(self, tokens: int, messages: int, budget_tokens: int) -> None:
        """Remember a view that follows a plan."""
        self._tried = (tokens, messages, budget_tokens)
        self._refused = None

    def record_futile(self, tokens: int, messages: int, budget_tokens: int, refused: FloorError | None = None) -> None:
        """Remember a plan that freed too little. `refused` is the error if the view cannot be made to fit at all.

        Args:
            tokens: the tokens of the view for which the plan was made.
            messages: the messages of this view.
            budget_tokens: the budget of its request.
            refused: the error if the view cannot be made to fit; None if the plan only freed too little.
        """
        self._tried = (tokens, messages, budget_tokens)
        if refused is not None:
            self._refused = (tokens, refused)
