"""The session's requests as the page holds them: tokens, cache, compactions, and what the model saw.

Between two plans a view is its predecessor and what came since. So what a view showed is kept once for each *epoch*
(the requests of one history under one plan): the runs of messages that fared alike before its first request. What came
later in the epoch is kept. A request whose view was made again and shows something else begins an epoch of its own.

A text that a view cuts is kept as how much of the original it begins and ends with, and what stands between. So it
costs little, and the page can show it in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import orjson

from ...log.record_line import Message
from ...messages.metadata import metadata_of
from ...sessions.costs import NOTHING, RequestBill
from ...sessions.transcript import Progress, Transcript
from ...sessions.view_rebuild import PlacedReceipt, Rebuilder, RebuiltView, ReceiptLog
from ...tokens.usage import token_count
from ...view.plan import counts_in
from ..replay.evidence import shared_beginning
from ..replay.visibility import ELIDED, KEPT, Marks, lost, marker_of
from .body import Bodies
from .history import History, time_ms

ALL, SOME, NONE = "all", "some", "none"
VIEWS = (SOME, ALL, NONE)
SOME_VIEWS = 100
"""With `some`, as many views are made again, besides the first of each epoch."""

_PLAN_FIELDS = ("strategy", "step", "dropped", "budget_tokens", "target_tokens", "tokens_before", "tokens_after")
_PROVED, _NOT_PROVED, _NOT_MADE = "y", "n", "-"
_UNKNOWN = -1


@dataclass(slots=True)
class Requests:
    """The requests in order, what they saw, and the compactions between them."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    epochs: list[orjson.Fragment] = field(default_factory=list)
    compactions: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Of inserted messages, named by their numbers here."""
    reasons: list[str] = field(default_factory=list)
    """Why views are not proved, named likewise."""
    receipts: bool = True
    """Whether the requests are known by receipts; else one is supposed before each answer."""
    estimated: bool = False
    """Whether their tokens are those of the history before them, since nobody knows what was sent."""

    def to_json(self) -> dict[str, Any]:
        """As the page reads it; see docs/report.md."""
        keys = list(self.rows[0]) if self.rows else []
        return {
            "columns": {key: [row[key] for row in self.rows] for key in keys},
            "epochs": self.epochs,
            "compactions": self.compactions,
            "texts": self.texts,
            "reasons": self.reasons,
            "receipts": self.receipts,
            "estimated": self.estimated,
        }


def supposed_requests(history: History) -> Requests:
    """A request before each answer, for a session that left no receipts; tokens as the provider counted.

    Where it reported none, they are those of the whole history before the answer.
    """
    found = Requests(receipts=False)
    for position, role in enumerate(history.roles):
        if role == "a":
            billed = history.billed.get(position, NOTHING)
            found.rows.append(_row(len(found.rows) + 1, position, history.times[position], billed.input_tokens, billed))
    if any(row["tokens"] >= 0 for row in found.rows):
        found.rows = [row for row in found.rows if row["tokens"] >= 0]
        return found
    found.estimated = True
    before = [0, *accumulate(history.tokens)]
    for row in found.rows:
        row["tokens"] = before[row["place"]]
    return found


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
    """Reads the requests of a session by their receipts.

    Args:
        transcript: the session.
        start: the first position of the history that the page shows.
        stop: the position after the last one.
        bodies: makes the bodies of messages in views; what is redacted there is not counted.
    """

    def __init__(self, transcript: Transcript, start: int, stop: int, bodies: Bodies) -> None:
        self._transcript, self._start, self._stop = transcript, start, stop
        self._index = transcript.book.index
        self._rebuilder = Rebuilder(transcript.reader, transcript.book)
        self._found = Requests()
        self._bodies = bodies
        self._as_seen = ViewTextReader(bodies, self._found.texts)
        self._histories: dict[int, _PastHistory] = {}
        self._epoch: tuple[Marks, int] | None = None
        """Of the epoch of the request before: its first marks, its number."""
        self._before: tuple[object, Marks] | None = None
        """Of the request before: its history and its plan, and what it showed."""

    def read(self, views: str, billed: Mapping[int, RequestBill], progress: Progress) -> Requests:
        """Read them all.

        Args:
            views: which are made again; one of `VIEWS`.
            billed: what requests were billed, by the position of the message that answered.
            progress: is told how far it is.
        """
        noted = self._transcript.requests()
        chosen = _chosen(noted, views)
        latest = 0
        for number, one in enumerate(noted, 1):
            past = self._history(one)
            total = past.positions.count_to(one.receipt.upto)
            latest = max(latest, total if one.live is self._index.live else 0)
            if not self._start <= latest <= self._stop:
                continue
            made = self._rebuilder.view(one) if number in chosen else None
            position = latest - self._start
            row = _row(number, position, time_ms(one.receipt.time), one.receipt.tokens, billed.get(position, NOTHING))
            row["budget"], row["provider"] = one.receipt.budget_tokens, self._bodies.name(one.receipt.provider)
            row["unbound"] = one.receipt.unbound
            row["beyond"] = _beyond(self._transcript.book, one)
            self._show(row, one, past, total, made)
            self._found.rows.append(row)
            progress("making views again", number, len(noted))
        return self._found

    def _history(self, noted: PlacedReceipt) -> _PastHistory:
        key = id(noted.live)
        if key not in self._histories:
            self._histories[key] = _PastHistory(self._transcript, noted, self._start, self._stop)
        return self._histories[key]

    def _show(
        self, row: dict[str, Any], noted: PlacedReceipt, past: _PastHistory, total: int, made: RebuiltView | None
    ) -> None:
        """Fill in what a request saw, and note the compaction before it."""
        key = (id(noted.live), noted.receipt.plan)
        before, epoch = self._before, self._epoch
        is_new = before is None or before[0] != key
        if is_new:
            epoch = None
        marks = _grown(epoch[0], total) if epoch else None
        if made is not None:
            row["proved"] = _PROVED if made.proved else _NOT_PROVED
            if not made.proved:
                row["reason"] = self._reason("; ".join(made.reasons) or "the log was altered since, or its receipt was")
            if made.messages is not None:
                past.positions.learn(made.messages)
                actual = past.marker.mark(made.messages, total)
                row["inserted"] = actual.inserted
                if marks is None or marks.runs() != actual.runs():
                    epoch = actual, self._begin(noted, past, actual, made.messages)
                    marks = actual
        if noted.receipt.plan and is_new:
            compaction = self._compaction(row, noted)
            if compaction is not None and before is not None and marks is not None and made is not None:
                taken = lost(before[1], marks, made.messages or (), past.marker)
                for name in ("elided", "dropped", "summarised", "lacking"):
                    compaction["newly_" + name] = getattr(taken, name) if taken else 0
        self._epoch, self._before = epoch, (key, marks or Marks(0))
        row["epoch"] = epoch[1] if epoch else -1

    def _begin(self, noted: PlacedReceipt, past: _PastHistory, marks: Marks, view: Sequence[Message]) -> int:
        seen = self._as_seen.read(view, marks, past.positions.of, past.marker.messages_at)
        at = past.page_place  # where messages stand on the page, of which some are not there
        cuts = {str(here): cut for position, cut in seen.cuts.items() if (here := at(position)) is not None}
        inserted = [[here, *what] for position, *what in seen.inserted if (here := at(position)) is not None]
        fields = {"runs": past.page_runs(marks), "plan": noted.receipt.plan, "cuts": cuts, "inserted": inserted}
        self._found.epochs.append(orjson.Fragment(orjson.dumps(fields)))  # a tenth of the memory, and there may be many
        return len(self._found.epochs) - 1

    def _compaction(self, row: dict[str, Any], noted: PlacedReceipt) -> dict[str, Any] | None:
        """Note the compaction before a request; None where its plan was followed before."""
        record = self._transcript.book.plan(noted.receipt.plan) or {}
        earlier = {compaction["plan"] for compaction in self._found.compactions}
        if noted.receipt.plan in earlier:
            return None
        fields = {key: value for key in _PLAN_FIELDS if isinstance(value := record.get(key), int | str)}
        compaction = {"plan": noted.receipt.plan, "request": row["number"], "place": row["place"], **fields}
        cuts = record.get("cuts")
        compaction["cuts"] = len(cuts) if isinstance(cuts, dict) else 0
        if isinstance(native := record.get("native"), dict):
            compaction["item"] = {key: n for key in ("covers", "tokens") if type(n := native.get(key)) is int}
            compaction["item"] |= counts_in(native.get("usage"))
        self._found.compactions.append(compaction)
        return compaction

    def _reason(self, text: str) -> int:
        if text not in self._found.reasons:
            self._found.reasons.append(text)
        return self._found.reasons.index(text)


def _beyond(book: ReceiptLog, noted: PlacedReceipt) -> int:
    """About how many tokens a request had that its view lacks: as its host told, or as its provider counted."""
    sent = book.sent_for(noted.receipt)
    if sent is not None:
        return token_count(sent.get("tokens")) or 0
    beyond = book.tokens_beyond(noted.receipt)
    return _UNKNOWN if beyond is None else beyond


class _PastHistory:
    """A history as it was, and where its messages stand on the page."""

    def __init__(self, transcript: Transcript, noted: PlacedReceipt, start: int, stop: int) -> None:
        self._start, self._stop = start, stop
        index = transcript.book.index
        self.marker, self.positions = marker_of(transcript, noted, index)
        self._page: dict[int, int] | None = None
        if noted.live is not index.live:
            now = {ordinal: position for position, ordinal in enumerate(index.live)}
            self._page = {position: now[ordinal] for position, ordinal in enumerate(noted.live) if ordinal in now}

    def page_place(self, position: int) -> int | None:
        """Where a message stands on the page; None where it is not there."""
        there = position if self._page is None else self._page.get(position)
        return there - self._start if there is not None and self._start <= there <= self._stop else None

    def page_runs(self, marks: Marks) -> list[list[Any]]:
        """The runs of messages on the page that fared alike: a letter and a count each; `-` is not in that history."""
        runs: list[list[Any]] = []
        for run in marks.runs():
            letter = run.mark[0]
            if self._page is None:
                start, stop = max(run.start, self._start), min(run.stop, self._stop)
                _extend(runs, letter, stop - start)
            else:
                for position in range(run.start, run.stop):
                    if (there := self.page_place(position)) is not None:
                        _extend(runs, "-", there - sum(count for _, count in runs))
                        _extend(runs, letter, 1)
        return runs


def _extend(runs: list[list[Any]], letter: str, count: int) -> None:
    if count > 0 and runs and runs[-1][0] == letter:
        runs[-1][1] += count
    elif count > 0:
        runs.append([letter, count])


def _grown(marks: Marks, total: int) -> Marks:
    """The marks of a later view under the same plan: what came since is kept."""
    if total <= marks.total:
        return marks
    shown = {**marks.shown, **dict.fromkeys(range(marks.total, total), KEPT)}
    return replace(marks, total=total, shown=shown)


def _chosen(noted: Sequence[PlacedReceipt], views: str) -> set[int]:
    """The numbers of the requests whose views are made again."""
    if views in (NONE, ALL) or len(noted) <= SOME_VIEWS:
        return set() if views == NONE else set(range(1, len(noted) + 1))
    chosen = {1 + at * (len(noted) - 1) // (SOME_VIEWS - 1) for at in range(SOME_VIEWS)}
    before: object = None
    for number, one in enumerate(noted, 1):
        key = (id(one.live), one.receipt.plan)
        if key != before:
            chosen.add(number)
        before = key
    return chosen


Cut = list[list[Any] | None]
"""For each part of a message's body: None where the view says it all, an empty list where it has nothing of it, else
`[characters of the beginning, characters of the end, what stands between]`."""


@dataclass(slots=True)
class ViewTexts:
    """What a view says otherwise than its history."""

    cuts: dict[int, Cut] = field(default_factory=dict)
    """By position, those that the view before had not, or had otherwise."""
    inserted: list[tuple[int, str, int]] = field(default_factory=list)
    """Before which position a message stands that the history does not hold; its role; the number of its text."""


class ViewTextReader:
    """Reads views, one after the other.

    Args:
        bodies: makes the bodies of messages.
        texts: takes the texts of inserted messages; each one once.
    """

    def __init__(self, bodies: Bodies, texts: list[str]) -> None:
        self._bodies, self._texts = bodies, texts
        self._numbers: dict[str, int] = {}
        self._known: dict[int, tuple[Message, Cut]] = {}

    def read(
        self,
        view: Sequence[Message],
        marks: Marks,
        place_of: Callable[[str], int | None],
        originals: Callable[[Sequence[int]], Iterable[Message]],
    ) -> ViewTexts:
        """Tell what a view says otherwise, by positions in its history."""
        seen, changed = ViewTexts(), {}
        waiting: list[tuple[str, int]] = []
        known, self._known = self._known, {}
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
            if position in known and known[position][0] == message:
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

    def _cut(self, original: Message, shown: Message) -> Cut:
        left = self._bodies.body(0, shown)
        cut: Cut = []
        for part in self._bodies.body(0, original):
            if left and left[0][0] == part[0]:
                cut.append(_difference(part[-1], left.pop(0)[-1]))
            else:
                cut.append([])
        return cut


def _difference(original: str, shown: str) -> list[Any] | None:
    if original == shown:
        return None
    head = shared_beginning(original, shown)
    tail = shared_beginning(original[head:][::-1], shown[head:][::-1])
    between = shown[head : len(shown) - tail]
    return [_units(original[:head]), _units(original[len(original) - tail :]), between]


def _units(text: str) -> int:
    """How long a text is where the page's script counts: in UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
