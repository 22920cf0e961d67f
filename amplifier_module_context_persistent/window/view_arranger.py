"""Arrange the entries that a window keeps, under its plan and for the reader of a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..config import Config
from ..log.contract import Log
from ..messages.message import Message
from ..view.arrangement import Arrangement, Presentation, arrange
from ..view.bound_reasoning import BoundViews
from ..view.entry import Entry
from ..view.missing_results import LateResults
from ..view.plan import NO_PLAN
from ..view.recipients import FIRST_RULES, NOBODY
from ..view.rules_of_log import begins_strict, has_old_lines
from ..view.wire_rules import TAKES_ALL, WireRules, request_rules, rules_of
from .kept_entries import KeptEntries
from .message_source import MessageSource
from .plan_state import with_late_told
from .request import ViewRequest
from .view_totals import Totals, ViewTotals


class ViewArranger:
    """Arranges the views of one window.

    Args:
        config: the policy.
        kept: the entries of the window.
        source: the messages of the window.
        for_reader: whether views are made for their reader.
    """

    def __init__(self, config: Config, kept_entries: KeptEntries, source: MessageSource, *, for_reader: bool) -> None:
        self._config = config
        self._kept = kept_entries
        self._source = source
        self._for_reader = for_reader
        self.last = Arrangement()
        """The last view, with all reasoning that its reader accepts."""
        self.bound = BoundViews()
        """The reasoning that the last view shows."""
        self._late = LateResults()
        self._totals = ViewTotals()

    def totals(self, arrangement: Arrangement) -> Totals:
        """Return the totals of a view. Its items are kept and must not change."""
        return self._totals.of(arrangement.items)

    def arrange(
        self, log: Log, request: ViewRequest, entries: list[Entry] | None = None, *, plans: bool = False
    ) -> Arrangement:
        """Arrange the view under the plan in force for a request's reader.

        Args:
            log: the open log of the session.
            request: the request that the view is for: its budget, its provider and its tools.
            entries: the entries to arrange; by default those that the window keeps.
            plans: whether a plan is being made (as in `BoundViews.bind`).
        """
        if entries is None:
            entries = self._kept.entries(log, has_factory=request.has_factory)
        plan = self._kept.plan
        state = self._kept.state
        count = self._source.count
        if not self._for_reader:
            how = Presentation(plan or NO_PLAN, state.cut_tokens, NOBODY, TAKES_ALL)
            self.last = arrange(entries, count, how, after=self.last)
            return self.last
        tells = request.reader.rules != FIRST_RULES and not has_old_lines(log.index.headers)
        entries = with_late_told(state, entries, self._late.of(entries), request.retained, count, tells=tells)
        how = Presentation(plan or NO_PLAN, state.cut_tokens, request.reader, self.wire(log, request))
        arranged = self.last = arrange(entries, count, how, after=self.last)

        def rendered(start: int) -> Sequence[Message]:
            return self._source.look_at(log, arranged.items[start:])

        native = plan.native if plan is not None else None
        return self.bound.bind(
            arranged,
            rendered,
            log_state=log.index,
            reader=request.reader,
            tools=request.tools,
            head=request.head,
            native=native,
            binds=plan is not None or not request.shows_history,
            plans=plans,
        )

    def wire(self, log: Log, request: ViewRequest, *, strict: bool = False) -> WireRules:
        """Return the rules of a request's reader. Strict rules apply to newer logs, and to others from a plan on."""
        plan = self._kept.plan
        if not strict:
            strict = begins_strict(log.index.headers) if plan is None else plan.rules.wire
        reader = request.reader
        rules = rules_of(reader.family, strict=strict)
        if reader.rules == FIRST_RULES:
            return replace(rules, unnamed="")
        old_lines = has_old_lines(log.index.headers)
        return request_rules(rules, is_named=reader.is_named, line_last=request.line_last, old_lines=old_lines)
