"""A session as Markdown: its turns, each message with its model, cost and time, each result with how it ended.

It is written in one pass, a message at a time: what a turn took and cost stands at its end, and so does the session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ..messages.command_outcome import asking_calls
from ..messages.message import Message, calls_of, result_id_of
from ..messages.normalize import tokens_of
from ..messages.outcome import ANSWERED, outcome_of
from ..paths import session_id_of
from ..tokens.counter import EstimateCounter
from ..transcript.bills import Billed, Bills
from ..transcript.calls import duration_s, instant_of_message
from ..transcript.cost import PRICES_AS_OF, Prices
from ..transcript.transcript import Transcript
from .markdown import inline, message_markdown

_MOST_WAITING = 4_096
"""Calls whose results are awaited: more than any session has open at once."""


@dataclass(slots=True)
class _Sums:
    """What some messages come to."""

    messages: int = 0
    calls: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    read: int = 0
    cached: int = 0
    written: int = 0
    cost: float = 0.0
    first: datetime | None = None
    last: datetime | None = None

    def take_time(self, instant: datetime | None) -> None:
        if instant is not None:
            self.first = min(self.first or instant, instant)
            self.last = max(self.last or instant, instant)

    def take_bill(self, billed: Billed) -> None:
        self.models[billed.model] += bool(billed.model)
        self.read += max(0, billed.input_tokens)
        self.cached += max(0, billed.cached_tokens)
        self.written += max(0, billed.output_tokens)
        self.cost += max(0.0, billed.cost)

    def line(self) -> str:
        """All of it, apart by dots."""
        bad = [f"{count:,} {outcome}" for outcome, count in sorted(self.ended.items()) if outcome != ANSWERED]
        seconds = duration_s(self.first, self.last)
        facts = [
            f"{self.messages:,} message{'' if self.messages == 1 else 's'}",
            f"{self.calls:,} call{'' if self.calls == 1 else 's'}{', ' if bad else ''}{', '.join(bad)}"
            if self.calls or bad
            else "",
            _duration(seconds) if seconds else "",
            *(inline(model) for model in sorted(+self.models)),
            _bill(self.read, self.cached, self.written, self.cost),
        ]
        return " · ".join(filter(None, facts))


class SessionMarkdown:
    """Writes a session as Markdown.

    Args:
        transcript: the session, open.
        prices: prices of models; by default the list prices.
    """

    def __init__(self, transcript: Transcript, prices: Prices | None = None) -> None:
        self._transcript = transcript
        counter = EstimateCounter()
        self._bills = Bills(transcript.reader, prices or Prices(), lambda message: tokens_of(message, counter))
        self._calls: dict[str, tuple[datetime | None, bool, str]] = {}
        """By id, the calls without a result yet: when they were made, whether code 1 answers them, and their tool."""

    def pieces(self, messages: Iterable[tuple[int, Message]]) -> Iterator[str]:
        """The export, a piece at a time; `messages` are positions in the history with messages, redacted."""
        known, path = self._transcript.header.get("session_id"), self._transcript.path
        yield f"# Session {inline(str(known or session_id_of(path) or Path(path).stem))}\n\n"
        begins = {turn.start: turn.number for turn in self._transcript.turns()}
        all_of_it, of_turn, number = _Sums(), _Sums(), 0
        for position, message in messages:
            if position in begins:
                if of_turn.messages:
                    yield _turn_end(number, of_turn)
                of_turn, number = _Sums(), begins[position]
                yield f"## Turn {number}\n\n"
            yield self._message(message, (of_turn, all_of_it))
        if of_turn.messages:
            yield _turn_end(number, of_turn)
            yield f"---\n\n{all_of_it.line()}\n\n"
            if all_of_it.cost:
                yield f"Costs are list prices in US dollars, as of {PRICES_AS_OF}.\n\n"

    def _message(self, message: Message, sums: tuple[_Sums, ...]) -> str:
        instant, billed = instant_of_message(message), self._bills.of(message)
        call_id = result_id_of(message)
        facts, tool = [], ""
        for one in sums:
            one.messages += 1
            one.take_time(instant)
            one.take_bill(billed)
        if message.get("role") == "assistant":
            self._await(message, instant, sums)
            bill = _bill(billed.input_tokens, billed.cached_tokens, billed.output_tokens, billed.cost)
            facts = [inline(billed.model), bill]
        elif call_id is not None:
            asked, asks, tool = self._calls.pop(call_id, (None, False, ""))
            outcome = outcome_of(message, asks=asks)
            for one in sums:
                one.ended[outcome] += 1
            seconds = duration_s(asked, instant)
            facts = ["" if outcome == ANSWERED else outcome, _duration(seconds) if seconds else ""]
        return message_markdown(message, tuple(filter(None, facts)), tool)

    def _await(self, message: Message, instant: datetime | None, sums: tuple[_Sums, ...]) -> None:
        asking = asking_calls(message)
        for call in calls_of(message):
            self._calls[call.id] = instant, call.id in asking, call.name
            for one in sums:
                one.calls += 1
        while len(self._calls) > _MOST_WAITING:
            del self._calls[next(iter(self._calls))]


def _turn_end(number: int, sums: _Sums) -> str:
    return f"Turn {number}: {sums.line()}\n\n"


def _bill(read: int, cached: int, written: int, cost: float) -> str:
    """What requests read, wrote and cost; empty where nobody reported it."""
    if read <= 0 and written <= 0:
        return ""
    share = f" ({100 * cached / read:.0f} % cached)" if cached > 0 and read > 0 else ""
    said = [f"{read:,} tokens read{share}"] if read > 0 else []
    said += [f"{written:,} written"] if written > 0 else []
    said += [f"${cost:.4f}" if cost < 0.095 else f"${cost:,.2f}"] if cost > 0 else []
    return ", ".join(said)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
