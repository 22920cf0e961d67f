"""Read the session's requests for the page: tokens, cache, compactions, and the messages that the model saw.

A view is the list of messages that a request sent, and a plan is the result of a compaction: what later views leave
out. Between two plans a view is the last view plus the appended messages. So the content of views is stored once for
each *epoch* (the requests of one history under one plan), as runs of messages with the same treatment in the first
view. Messages that came later in the epoch are kept. If a view was made again and differs, its request begins a new
epoch.

A text that a view cuts is stored as the number of characters of the original at its beginning and at its end, and the
text between them. So it needs little space, and the page can show the original in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import orjson

from ...log.record_line import Message
from ...messages.message import metadata_of
from ...sessions.request_costs import NOTHING, RequestBill
from ...sessions.transcript import Progress, Transcript
from ...sessions.view_rebuild import PlacedReceipt, Rebuilder, RebuiltView, ReceiptLog
from ...tokens.usage import token_count
from ...view.plan import counts_in
from ..replay.evidence import shared_beginning
from ..replay.visibility import ELIDED, KEPT, Marks, lost, marker_of
from .history import History, time_ms
from .message_body import Bodies

ALL, SOME, NONE = "all", "some", "none"
VIEWS = (SOME, ALL, NONE)
SOME_VIEWS = 100
"""The number of views that `some` makes again, besides the first view of each epoch."""

NO_EPOCH = -1
"""The epoch of a request whose view was not made again."""
_PLAN_FIELDS = ("strategy", "step", "dropped", "budget_tokens", "target_tokens", "tokens_before", "tokens_after")
_PROVED, _NOT_PROVED, _NOT_MADE = "y", "n", "-"
_UNKNOWN = -1


@dataclass(slots=True)
class Requests:
    """The requests in order, the content of their views, and the compactions between them."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    epochs: list[orjson.Fragment] = field(default_factory=list)
    compactions: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Texts of inserted messages; other fields refer to them by position."""
    reasons: list[str] = field(default_factory=list)
    """Reasons why views are not proved; other fields refer to them by position."""
    receipts: bool = True
    """Whether the requests are known from receipts. Without receipts, one request is assumed before each answer."""
    estimated: bool = False
    """Whether the requests' tokens are estimated as the tokens of the history before each request."""

    def to_json(self) -> dict[str, Any]:
        """Return the requests in the form that the page's script reads; see docs/report_data.md."""
        columns: dict[str, list[Any]] = {}
        if self.rows:
            for name in self.rows[0]:
                columns[name] = [row[name] for row in self.rows]
        return {
            "columns": columns,
            "epochs": self.epochs,
            "compactions": self.compactions,
            "texts": self.texts,
            "reasons": self.reasons,
            "receipts": self.receipts,
            "estimated": self.estimated,
        }


def supposed_requests(history: History) -> Requests:
    """Return one assumed request before each answer, for a session without receipts.

    Tokens are the provider's counts. If the provider reported no counts at all, a request's tokens are those of the
    whole history before the answer.
    """
    requests = Requests(receipts=False)
    for position, role in enumerate(history.roles):
        if role == "a":
            billed = history.billed.get(position, NOTHING)
            requests.rows.append(
                _row(len(requests.rows) + 1, position, history.times[position], billed.input_tokens, billed)
            )
    if any(row["tokens"] >= 0 for row in requests.rows):
        requests.rows = [row for row in requests.rows if row["tokens"] >= 0]
        return requests
    requests.estimated = True
    before = [0, *accumulate(history.tokens)]
    for row in requests.rows:
        row["tokens"] = before[row["place"]]
    return requests


def _row(number: int, position: int, time_ms: int, tokens: int, billed: RequestBill) -> dict[str, Any]:
    return {
        "number": number,
        "place": position,
        "time": time_ms,
        "tokens": tokens,
        "budget": 0,
        "epoch": -1,
        "proved": _NOT_MADE,
        "reason": -1,
        "provider": "",
        "inserted": 0,
        "unbound": 0,
        "beyond": _UNKNOWN,
        "actual": billed.input_tokens,
        "cached": billed.cached_tokens,
        "output": billed.output_tokens,
        "cost": billed.cost,
        "guess": int(billed.is_estimated),
        "model": billed.model,
    }


class RequestReader:
    """Reads the requests of a session from their receipts (the log's records of requests).

    Args:
        transcript: the session.
        start: the first position of the history that the page shows.
        stop: the position after the last message that the page shows.
        bodies: makes the bodies of messages in views; its redactions are not counted.
    """

    def __init__(self, transcript: Transcript, start: int, stop: int, bodies: Bodies) -> None:
        self._transcript = transcript
        self._start = start
        self._stop = stop
        self._index = transcript.book.index
        self._rebuilder = Rebuilder(transcript.reader, transcript.book)
        self._found = Requests()
        self._bodies = bodies
        self._as_seen = ViewTextReader(bodies, self._found.texts)
        self._histories: dict[int, _PastHistory] = {}
        self._epoch: tuple[Marks, int] | None = None
        """The epoch of the last request: the marks of its first view, and its number."""
        self._before: tuple[object, Marks] | None = None
        """The history and the plan of the last request, and the marks of its view."""

    def read(self, views: str, billed: Mapping[int, RequestBill], progress: Progress) -> Requests:
        """Return all requests of the shown part.

        Args:
            views: which views are made again; one of `VIEWS`.
            billed: the bills of requests, by the position of the answer.
            progress: called with the progress.
        """
        requests = self._transcript.requests()
        chosen = _chosen(requests, views)
        latest = 0
        for number, noted in enumerate(requests, 1):
            receipt = noted.receipt
            past = self._history(noted)
            total = past.positions.count_to(receipt.upto)
            is_of_live_history = noted.live is self._index.live
            if is_of_live_history:
                latest = max(latest, total)
            if not self._start <= latest <= self._stop:
                continue
            rebuilt = self._rebuilder.view(noted) if number in chosen else None
            position = latest - self._start
            row = _row(number, position, time_ms(receipt.time), receipt.tokens, billed.get(position, NOTHING))
            row["budget"] = receipt.budget_tokens
            row["provider"] = self._bodies.name(receipt.reader.provider)
            row["unbound"] = receipt.unbound
            row["beyond"] = _beyond(self._transcript.book, noted)
            self._show(row, noted, past, total, rebuilt)
            self._found.rows.append(row)
            progress("making views again", number, len(requests))
        return self._found

    def _history(self, noted: PlacedReceipt) -> _PastHistory:
        key = id(noted.live)
        if key not in self._histories:
            self._histories[key] = _PastHistory(self._transcript, noted, self._start, self._stop)
        return self._histories[key]

    def _show(
        self, row: dict[str, Any], noted: PlacedReceipt, past: _PastHistory, total: int, rebuilt: RebuiltView | None
    ) -> None:
        """Add the view to a request's row, and the compaction before this request to the list of compactions.

        An epoch is a run of requests whose views keep growing: only its first view is stored with its marks.
        """
        history_and_plan = (id(noted.live), noted.receipt.plan)
        before = self._before
        is_of_new_plan = before is None or before[0] != history_and_plan
        epoch = None if is_of_new_plan else self._epoch
        marks = None
        if epoch is not None:
            marks_at_begin, _ = epoch
            marks = _grown(marks_at_begin, total)
        if rebuilt is not None:
            row["proved"] = _PROVED if rebuilt.proved else _NOT_PROVED
            if not rebuilt.proved:
                row["reason"] = self._reason(
                    "; ".join(rebuilt.reasons) or "the log was altered since, or its receipt was"
                )
            if rebuilt.messages is not None:
                past.positions.learn(rebuilt.messages)
                actual = past.marker.mark(rebuilt.messages, total)
                row["inserted"] = actual.inserted
                is_grown = marks is not None and marks.runs() == actual.runs()
                if not is_grown:
                    epoch = actual, self._begin(noted, past, actual, rebuilt.messages)
                    marks = actual
        if noted.receipt.plan and is_of_new_plan:
            compaction = self._compaction(row, noted)
            if compaction is not None and before is not None and marks is not None and rebuilt is not None:
                _, marks_before = before
                loss = lost(marks_before, marks, rebuilt.messages or (), past.marker)
                for name in ("elided", "dropped", "summarised", "lacking"):
                    compaction["newly_" + name] = getattr(loss, name) if loss is not None else 0
        self._epoch = epoch
        self._before = (history_and_plan, marks or Marks(0))
        row["epoch"] = epoch[1] if epoch is not None else NO_EPOCH

    def _begin(self, noted: PlacedReceipt, past: _PastHistory, marks: Marks, view: Sequence[Message]) -> int:
        seen = self._as_seen.read(view, marks, past.positions.of, past.marker.messages_at)
        cuts: dict[str, Cut] = {}
        for position, cut in seen.cuts.items():
            place = past.page_place(position)
            if place is not None:
                cuts[str(place)] = cut
        inserted: list[list[Any]] = []
        for position, role, text in seen.inserted:
            place = past.page_place(position)
            if place is not None:
                inserted.append([place, role, text])
        fields = {"runs": past.page_runs(marks), "plan": noted.receipt.plan, "cuts": cuts, "inserted": inserted}
        self._found.epochs.append(
            orjson.Fragment(orjson.dumps(fields))
        )  # encoded immediately, which needs a tenth of the memory
        return len(self._found.epochs) - 1

    def _compaction(self, row: dict[str, Any], noted: PlacedReceipt) -> dict[str, Any] | None:
        """Add and return the compaction before a request; return None if an earlier request had the same plan."""
        plan = noted.receipt.plan
        if any(compaction["plan"] == plan for compaction in self._found.compactions):
            return None
        record = self._transcript.book.plan(plan) or {}
        compaction: dict[str, Any] = {"plan": plan, "request": row["number"], "place": row["place"]}
        for key in _PLAN_FIELDS:
            if isinstance(record.get(key), int | str):
                compaction[key] = record[key]
        cuts = record.get("cuts")
        compaction["cuts"] = len(cuts) if isinstance(cuts, dict) else 0
        native = record.get("native")
        if isinstance(native, dict):
            counts = {key: native[key] for key in ("covers", "tokens") if type(native.get(key)) is int}
            compaction["item"] = {**counts, **counts_in(native.get("usage"))}
        self._found.compactions.append(compaction)
        return compaction

    def _reason(self, text: str) -> int:
        if text not in self._found.reasons:
            self._found.reasons.append(text)
        return self._found.reasons.index(text)


def _beyond(book: ReceiptLog, noted: PlacedReceipt) -> int:
    """Return about how many tokens a request had beyond its view, by the host's count, or else by the provider's."""
    sent = book.sent_for(noted.receipt)
    if sent is not None:
        return token_count(sent.get("tokens")) or 0
    beyond = book.tokens_beyond_view(noted.receipt)
    return _UNKNOWN if beyond is None else beyond


class _PastHistory:
    """A history at the time of a request, and the places of its messages on the page."""

    def __init__(self, transcript: Transcript, noted: PlacedReceipt, start: int, stop: int) -> None:
        self._start = start
        self._stop = stop
        index = transcript.book.index
        self.marker, self.positions = marker_of(transcript, noted, index)
        self._page: dict[int, int] | None = None
        if noted.live is not index.live:
            now = {ordinal: position for position, ordinal in enumerate(index.live)}
            self._page = {position: now[ordinal] for position, ordinal in enumerate(noted.live) if ordinal in now}

    def page_place(self, position: int) -> int | None:
        """Return the place of a message on the page, or None if the page does not show the message."""
        now = position if self._page is None else self._page.get(position)
        if now is None or not self._start <= now <= self._stop:
            return None
        return now - self._start

    def page_runs(self, marks: Marks) -> list[list[Any]]:
        """Return runs of messages on the page with the same mark, as letter and count; `-` is not in that history."""
        runs: list[list[Any]] = []
        for run in marks.runs():
            letter = run.mark[0]
            if self._page is None:
                start, stop = max(run.start, self._start), min(run.stop, self._stop)
                _extend(runs, letter, stop - start)
                continue
            places = map(self.page_place, range(run.start, run.stop))
            for place in places:
                if place is not None:
                    covered = sum(count for _, count in runs)
                    _extend(runs, "-", place - covered)
                    _extend(runs, letter, 1)
        return runs


def _extend(runs: list[list[Any]], letter: str, count: int) -> None:
    """Add `count` messages with a mark at the end of the runs."""
    if count <= 0:
        return
    if runs and runs[-1][0] == letter:
        runs[-1][1] += count
    else:
        runs.append([letter, count])


def _grown(marks: Marks, total: int) -> Marks:
    """Return marks extended to `total` messages, for a later view of the same plan, which shows the newer ones too."""
    if total <= marks.total:
        return marks
    all_shown = {**marks.shown, **dict.fromkeys(range(marks.total, total), KEPT)}
    return replace(marks, total=total, shown=all_shown)


def _chosen(requests: Sequence[PlacedReceipt], views: str) -> set[int]:
    """Return the numbers of the requests whose views are made again."""
    if views == NONE:
        return set()
    if views == ALL or len(requests) <= SOME_VIEWS:
        return set(range(1, len(requests) + 1))
    chosen = {1 + step * (len(requests) - 1) // (SOME_VIEWS - 1) for step in range(SOME_VIEWS)}
    before: object = None
    for number, noted in enumerate(requests, 1):
        history_and_plan = (id(noted.live), noted.receipt.plan)
        if history_and_plan != before:
            chosen.add(number)
        before = history_and_plan
    return chosen


Cut = list[list[Any] | None]
"""For each part of a message's body: None if the view has the whole part, an empty list if the view has nothing of it,
else `[characters of the beginning, characters of the end, the text between]`."""


@dataclass(slots=True)
class ViewTexts:
    """The differences between a view and its history."""

    cuts: dict[int, Cut] = field(default_factory=dict)
    """The cuts of elided messages, by position, except cuts that are the same as in the last view."""
    inserted: list[tuple[int, str, int]] = field(default_factory=list)
    """The position of the message after each inserted message, its role, and the number of its text."""


class ViewTextReader:
    """Finds the differences between the messages of views and the messages of the history, one view after another.

    Args:
        bodies: makes the bodies of messages.
        texts: the list to which the texts of inserted messages are added, each once.
    """

    def __init__(self, bodies: Bodies, texts: list[str]) -> None:
        self._bodies = bodies
        self._texts = texts
        self._numbers: dict[str, int] = {}
        self._known: dict[int, tuple[Message, Cut]] = {}

    def read(
        self,
        view: Sequence[Message],
        marks: Marks,
        place_of: Callable[[str], int | None],
        originals: Callable[[Sequence[int]], Iterable[Message]],
    ) -> ViewTexts:
        """Return the differences between a view and its history."""
        seen = ViewTexts()
        changed: dict[int, Message] = {}  # shortened messages that the last view did not show so, by position
        waiting: list[tuple[str, int]] = []  # inserted messages before the next message of the history
        known = self._known  # of the last view
        self._known = {}  # of this view
        for message in view:
            message_id = metadata_of(message).get("message_id")
            position = place_of(message_id) if isinstance(message_id, str) else None
            if position is None or position >= marks.total:
                waiting.append((str(message.get("role")), self._number(message)))
                continue
            seen.inserted += [(position, *inserted) for inserted in waiting]
            waiting = []
            if marks.shown.get(position) != ELIDED:
                continue
            is_as_before = position in known and known[position][0] == message
            if is_as_before:
                self._known[position] = known[position]
            else:
                changed[position] = message
        seen.inserted += [(marks.total, *inserted) for inserted in waiting]
        for position, original in zip(changed, originals(list(changed)), strict=True):
            cut = self._cut(original, changed[position])
            self._known[position] = changed[position], cut
            if position not in known or known[position][1] != cut:
                seen.cuts[position] = cut
        return seen

    def _number(self, message: Message) -> int:
        text = "\n".join(part[-1] for part in self._bodies.body(0, message))
        if text not in self._numbers:
            self._numbers[text] = len(self._texts)
            self._texts.append(text)
        return self._numbers[text]

    def _cut(self, original: Message, shown_message: Message) -> Cut:
        left = self._bodies.body(0, shown_message)
        cut: Cut = []
        for part in self._bodies.body(0, original):
            if left and left[0][0] == part[0]:
                cut.append(_difference(part[-1], left.pop(0)[-1]))
            else:
                cut.append([])
        return cut


def _difference(original: str, shown_text: str) -> list[Any] | None:
    if original == shown_text:
        return None
    head = shared_beginning(original, shown_text)
    tail = shared_beginning(original[head:][::-1], shown_text[head:][::-1])
    between = shown_text[head : len(shown_text) - tail]
    return [_units(original[:head]), _units(original[len(original) - tail :]), between]


def _units(text: str) -> int:
    """Return the length of a text in UTF-16 units, as the script of the page counts characters."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le")) // 2
