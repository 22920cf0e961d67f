"""What the records of a log add up to that are no live messages: plans, reports, receipts, and what was paid for.

Hidden messages count too where a provider was paid for them, so a reset changes nothing here. Records are taken in the
log's order, and what was taken can be written down and gone on from.
"""

from __future__ import annotations

from typing import Any

from ..log.record import CONTROL_HEAD, Message, decode, name_of
from ..messages.usage import ReportedUsage
from .packed import MOST_NUMBER, check_numbers, check_texts
from .requests import Request, RequestFinder

_PLAN_COUNTS = ("dropped", "budget_tokens", "target_tokens", "tokens_before", "tokens_after")
_PLAN_FIELDS = ("id", "strategy", "step", *_PLAN_COUNTS)
_PLAN_KEYS = {*_PLAN_FIELDS, "shortened"}
_MOST_LINES = 256
"""So many kinds of views (by plan and head text) are remembered that a later one may continue."""
_MOST_TOKENS = 1 << 53


class RecordSums:
    """The sums of a log's records; `finder` finds the requests that were paid for.

    Args:
        finder: at the log's beginning, or where `restore` lets it go on.
    """

    def __init__(self, finder: RequestFinder) -> None:
        self.finder = finder
        self.plans: list[dict[str, Any]] = []
        self.models: dict[str, list[int]] = {}
        """By model, of what was paid for: requests, input from no cache, from a cache, written to one, output, and
        requests whose output was counted here."""
        self.reports = self.actual_tokens = self.cached_tokens = 0
        self.errors: dict[float, int] = {}
        """How often a prediction was off by so much, to three digits."""
        self.learned: dict[str, list[float]] = {}
        """By provider and model: the ratio, and the tokens that come on top."""
        self.views = self.view_tokens = self.shared_tokens = self.breaks = 0
        self._known: dict[tuple[str, str], int] = {}
        """By plan and head text, the tokens of the last view that may be continued; the newest last."""
        self._plan_ids: set[str] = set()

    def take(self, line: bytes) -> list[Request]:
        """Take the line of the next record; the requests that it answers."""
        if line.startswith(CONTROL_HEAD):
            try:
                record = decode(line)
            except ValueError:
                return []  # `verify` reports it
            kind = name_of(record.get("_record"))
            if kind == "plan":
                self._take_plan(record)
            elif kind == "usage":
                self._take_report(record)
            elif kind == "view":
                self._take_receipt(record)
            requests = list(self.finder.take(record))
        else:
            requests = list(self.finder.take_line(line))
        for request in requests:
            _count_request(self.models, request)
        return requests

    def paid(self) -> dict[str, list[int]]:
        """`models`, with the requests that no message has answered so far."""
        models = {model: list(numbers) for model, numbers in self.models.items()}
        for request in self.finder.unanswered():
            _count_request(models, request)
        return models

    def error_at(self, rank: int) -> float:
        """The error of a report by its rank, from 0, the smallest first."""
        for error in sorted(self.errors):
            rank -= self.errors[error]
            if rank < 0:
                return error
        raise IndexError(rank)

    def to_json(self) -> list[Any]:
        """As plain JSON types, for `restore`."""
        finder = self.finder
        waiting = [
            [one.uncached, one.cached, one.written, one.output, one.provider, one.model] for one in finder.waiting
        ]
        known = [[plan, head, tokens] for (plan, head), tokens in self._known.items()]
        counts = [self.reports, self.actual_tokens, self.cached_tokens]
        counts += [self.views, self.view_tokens, self.shared_tokens, self.breaks]
        errors = list(map(list, self.errors.items()))
        fork = [finder.forked_from, finder.copies]
        return [self.plans, self.models, counts, errors, self.learned, known, waiting, *fork]

    def restore(self, given: list[Any]) -> None:
        """Go on from what `to_json` gave.

        Raises:
            ValueError, TypeError: it is something else.
        """
        self.plans, self.models, counts, errors, self.learned, known, waiting, forked_from, copies = given
        self.reports, self.actual_tokens, self.cached_tokens, *views = counts
        self.views, self.view_tokens, self.shared_tokens, self.breaks = views
        self.errors = {float(error): count for error, count in errors}
        self._known = {(plan, head): tokens for plan, head, tokens in known}
        self._plan_ids = {repr(plan["id"]) for plan in self.plans}
        self.finder.waiting = [ReportedUsage(*parts) for parts in waiting]
        self.finder.forked_from, self.finder.copies = str(forked_from), bool(copies)
        self._check()

    def _check(self) -> None:
        """Check what was read, as far as a log could not hold it; errors as `restore`."""
        counted, waiting = list(self.models.values()), self.finder.waiting
        if any(len(numbers) != 6 for numbers in counted) or any(plan.keys() != _PLAN_KEYS for plan in self.plans):
            raise ValueError("counts are missing")
        check_numbers(number for numbers in counted for number in numbers)
        check_numbers((self.reports, self.actual_tokens, self.views, self.view_tokens, self.breaks))
        check_numbers((self.cached_tokens, self.shared_tokens, *self._known.values()), -MOST_NUMBER)
        check_numbers(self.errors.values(), 1)
        if sum(self.errors.values()) != self.reports:
            raise ValueError("errors are missing")
        check_numbers(plan["shortened"] for plan in self.plans)
        check_numbers(plan[key] or 0 for plan in self.plans for key in _PLAN_COUNTS)
        check_numbers(number for one in waiting for number in (one.uncached, one.cached, one.written, one.output or 0))
        check_texts(text for one in waiting for text in (one.provider, one.model))
        if not all(len(pair) == 2 and {float, int}.issuperset(map(type, pair)) for pair in self.learned.values()):
            raise ValueError("what was learned is no number")

    def _take_plan(self, record: Message) -> None:
        name = repr(record.get("id"))
        if name not in self._plan_ids:  # a rewind writes the plan in force again
            cuts = record.get("cuts")
            shortened = len(cuts) if isinstance(cuts, dict) else 0
            counts = {key: _count_or_none(record.get(key)) for key in _PLAN_COUNTS}
            self.plans.append({key: record.get(key) for key in _PLAN_FIELDS} | counts | {"shortened": shortened})
            self._plan_ids.add(name)

    def _take_report(self, record: Message) -> None:
        actual, predicted = record.get("actual_tokens"), record.get("predicted_tokens")
        if not isinstance(actual, int) or not isinstance(predicted, int) or not 0 < actual < _MOST_TOKENS:
            return
        cached = record.get("cached_tokens")
        self.reports += 1
        self.actual_tokens += actual
        self.cached_tokens += cached if isinstance(cached, int) else 0
        error = float(f"{abs(min(predicted, _MOST_TOKENS) / actual - 1):.3g}")
        self.errors[error] = self.errors.get(error, 0) + 1
        name = f"{record.get('provider') or '?'} {record.get('model') or '?'}"
        self.learned[name] = [_number(record.get("ratio")), _number(record.get("overhead_tokens"))]

    def _take_receipt(self, record: Message) -> None:
        from ..view.receipts import Receipt  # it loads half of the package, and most logs are known already

        try:
            receipt = Receipt.from_record(record)
        except ValueError:
            return  # `views` counts it
        line, tokens = (receipt.plan, receipt.head), receipt.tokens
        shared = min(self._known.pop(line, 0), tokens)
        self.views += 1
        self.view_tokens += tokens
        self.shared_tokens += shared
        self.breaks += not shared
        self._known[line] = 0 if receipt.extras else tokens
        if len(self._known) > _MOST_LINES:
            del self._known[next(iter(self._known))]


def _count_or_none(value: Any) -> int | None:
    """A count that a record gives; None for what is none, as another program may have written it."""
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < _MOST_TOKENS else 0.0


def _count_request(models: dict[str, list[int]], request: Request) -> None:
    usage, numbers = request.usage, models.setdefault(request.usage.model, [0] * 6)
    more = (1, usage.uncached, usage.cached, usage.written, request.output_tokens, int(request.is_estimate))
    for position, number in enumerate(more):
        numbers[position] += number
