"""The arrangement of a view: the entries that its window keeps, under its plan, for the reader of a request."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ..config import Config
from ..log.base import Log
from ..messages.message import Message
from ..view.arrangement import Arrangement, Presentation, arrange
from ..view.bound_reasoning import BoundViews
from ..view.calls_and_results import LateResults
from ..view.entry import Entry
from ..view.plan import NO_PLAN
from ..view.recipients import FIRST_RULES, NOBODY
from ..view.render import render
from ..view.wire_rules import TAKES_ALL, WireRules, begins_strict, has_old_lines, request_rules, rules_of
from .kept_entries import KeptEntries
from .message_source import MessageSource
from .plan_state import with_late_told
from .request import ViewRequest
from .view_totals import Totals, ViewTotals


class ViewArranger:
    """Arrange the views of one window.

    Args:
        config: the policy.
        kept: the entries of the window.
        source: its messages.
        for_reader: whether views are made for who reads them.
    """

    def __init__(self, config: Config, kept: KeptEntries, source: MessageSource, *, for_reader: bool) -> None:
        self._config, self._kept, self._source, self._for_reader = config, kept, source, for_reader
        self.last = Arrangement()
        """The last view, with all reasoning that its reader takes."""
        self.bound = BoundViews()
        """The reasoning that the last view shows."""
        self._late, self._totals = LateResults(), ViewTotals()

    def totals(self, arrangement: Arrangement) -> Totals:
        """The totals of a view; its items are kept, and must not change."""
        return self._totals.of(arrangement.items)

    def arrange(
        self, log: Log, request: ViewRequest, entries: list[Entry] | None = None, *, plans: bool = False
    ) -> Arrangement:
        """The view under the plan in force, for who asks; of its entries, unless others are given."""
        if entries is None:
            entries = self._kept.entries(log, has_factory=request.has_factory)
        plan, reader, wire = self._kept.plan, NOBODY, TAKES_ALL
        if self._for_reader:
            tells = request.reader.rules != FIRST_RULES and not has_old_lines(log.index.headers)
            late, count = self._late.of(entries), self._source.count
            entries = with_late_told(self._kept.state, entries, late, request.retained, count, tells=tells)
            reader, wire = request.reader, self.wire(log, request)
        how = Presentation(plan or NO_PLAN, self._kept.state.cut_tokens, reader, wire)
        arranged = self.last = arrange(entries, self._source.count, how, after=self.last)
        if not self._for_reader:
            return arranged

        def rendered(start: int) -> list[Message]:
            part = Arrangement(arranged.items[start:])
            return render(part, partial(self._source.fetch, log), boundary=self._config.truncate_boundary)

        native = plan.native if plan is not None else None
        return self.bound.bind(
            arranged,
            rendered,
            of=log.index,
            reader=reader,
            tools=request.tools,
            head=request.head,
            native=native,
            binds=plan is not None or not request.shows_history,
            plans=plans,
        )

    def wire(self, log: Log, request: ViewRequest, *, strict: bool = False) -> WireRules:
        """What the reader of a request takes; strict rules hold from a newer log's beginning, else from a plan on."""
        plan = self._kept.plan
        strict = strict or (begins_strict(log.index.headers) if plan is None else plan.wire)
        reader = request.reader
        rules = rules_of(reader.family, strict=strict)
        if request.reader.rules == FIRST_RULES:
            return replace(rules, unnamed="")
        old_lines = has_old_lines(log.index.headers)
        return request_rules(rules, is_named=reader.is_named, line_last=request.line_last, old_lines=old_lines)
