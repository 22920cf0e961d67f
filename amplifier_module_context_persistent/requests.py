"""Making the view of a request on the log's thread: budget, windows, plans, and what is reported of a compaction."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from .budget import Window as ProviderWindow
from .budget import budget_tokens
from .compaction import OTHER_MESSAGES, Compaction, needs_plan
from .config import Config
from .errors import LogError
from .extras import Extras
from .history import History
from .log import Log
from .meter import Meter
from .shape import Message
from .tokens import TokenCounter, count_message
from .window import Request, Window

logger = logging.getLogger(__name__)

_SIDE_WINDOWS = 4


@dataclass(frozen=True, slots=True)
class Ask:
    """A request as the caller made it."""

    explicit_tokens: int | None = None
    provider: ProviderWindow | None = None
    provider_name: str = ""
    head_text: str | None = None
    """The factory's system prompt; None where no factory is set."""
    tools_json: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The view of a request, or None where a plan is needed first; and what was done for it."""

    view: list[Message] | None
    tokens: int
    messages: int
    budget_tokens: int
    line: Hashable = ()
    """Stays the same while each view continues the one before it."""
    compaction: Compaction | None = None
    plan_error: str = ""
    futile: dict[str, Any] | None = None
    """Why no plan was followed though one was wanted: what `context:compaction_futile` says."""

    @property
    def counted_tokens(self) -> int:
        """What the view comes to, by our count."""
        return self.compaction.plan.tokens_after if self.compaction is not None else self.tokens

    def report(self) -> dict[str, Any]:
        """What `context:compaction` says: counts, never content."""
        made = self.compaction
        if made is None:
            return {}
        plan = made.plan
        return {
            "plan_id": plan.id,
            "strategy": plan.strategy,
            "step": plan.step,
            "before_messages": self.messages,
            "after_messages": len(made.arrangement.items),
            "before_tokens": plan.tokens_before,
            "after_tokens": plan.tokens_after,
            "dropped_messages": plan.dropped,
            "shortened_messages": len(plan.cuts),
            "budget": plan.budget_tokens,
            "target": plan.target_tokens,
        }


class Requests:
    """The windows of one session."""

    def __init__(
        self,
        config: Config,
        counter: TokenCounter,
        extras: Extras,
        history: History,
        meter: Meter,
        new_id: Callable[[], str],
    ) -> None:
        self._config, self._counter, self._extras, self._meter = config, counter, extras, meter
        self._history, self._new_id = history, new_id
        self._window = Window(config, counter, extras, new_id)
        self._side: OrderedDict[int, Window] = OrderedDict()
        self._tools: tuple[str, int] = ("", 0)
        self._own_budget: int | None = None

    def answer(self, log: Log, ask: Ask, *, may_plan: bool) -> Answer:
        """Make the view of a request.

        Raises:
            FloorError: the view cannot be made to fit.
            LogError: the log cannot be read.
        """
        budget, side = self._budget(ask)
        request = self._request(ask, budget)
        window = self._side_window(log, request, budget) if side else self._window
        built = window.build(log, request, may_plan=may_plan)
        error = self._store_plan(log) if built.compaction is not None and not side else ""
        line = (id(window), window.plan.id if window.plan else "")
        futile = None
        if built.floor is not None:
            fixed = sum(built.floor.values()) - built.floor.get(OTHER_MESSAGES, 0)
            futile = {
                "tokens": built.tokens,
                "budget": request.budget_tokens,
                "floor_tokens": fixed,
                "floor": built.floor,
            }
        return Answer(built.view, built.tokens, built.messages, budget, line, built.compaction, error, futile)

    def wants_compaction(self, log: Log, ask: Ask) -> bool:
        """Whether the view as it stands is at the threshold."""
        budget, _ = self._budget(ask)
        request = self._request(ask, budget)
        tokens, messages = self._window.measure(log, request)
        return needs_plan(self._config, tokens=tokens, messages=messages, budget_tokens=request.budget_tokens)

    def forget(self) -> None:
        """Let go of the side windows, after the history was replaced."""
        self._side.clear()

    def _budget(self, ask: Ask) -> tuple[int, bool]:
        """The budget, and whether it is an explicit one below the session's own."""
        own = budget_tokens(self._config, None, ask.provider)
        if ask.provider is None and ask.explicit_tokens is not None and self._own_budget is not None:
            own = self._own_budget
        if ask.explicit_tokens is None:
            self._own_budget = own
            return own, False
        budget = budget_tokens(self._config, ask.explicit_tokens, ask.provider)
        return budget, budget < own

    def _request(self, ask: Ask, budget: int) -> Request:
        head: tuple[Message, ...] = ()
        if ask.head_text is not None and ask.head_text.strip():
            head = ({"role": "system", "content": ask.head_text},)
        if ask.tools_json != self._tools[0]:
            self._tools = (ask.tools_json, self._counter.count_text(ask.tools_json))
        fixed = self._tools[1] + sum(count_message(message, self._counter) for message in head)
        return Request(
            budget_tokens=self._meter.counted_budget(ask.provider_name, budget),
            fixed_tokens=fixed,
            head=head,
            has_factory=ask.head_text is not None,
            force=ask.force,
        )

    def _side_window(self, log: Log, request: Request, budget: int) -> Window:
        window = self._side.get(budget)
        if window is None:
            window = Window(self._config, self._counter, self._extras, self._new_id, store=False)
            self._window.measure(log, request)  # takes in what is new
            window.begin_with(self._window)
            self._side[budget] = window
            while len(self._side) > _SIDE_WINDOWS:
                self._side.popitem(last=False)
        self._side.move_to_end(budget)
        return window

    def _store_plan(self, log: Log) -> str:
        """Append the plan to the log; if that fails it is followed all the same, and why is returned."""
        try:
            (outcome,) = log.commit([self._history.control([self._window.plan_record(log)])])
        except LogError as error:
            logger.error("the plan could not be stored and lives in memory only: %s", error)  # noqa: TRY400
            return str(error)
        if isinstance(outcome, Exception):
            raise outcome
        return ""
