"""The view of a whole history, summed up message by message; each view that leaves out nothing is a beginning of it.

So the requests of a session under the policy `none` are found in sums, without making their views. The history is
arranged, written and looked at a few hundred messages at a time; but for numbers, nothing of it is held.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..config import Config
from ..tokens.counter import TokenCounter, count_message
from ..view.arrangement import Arrangement, Item, arrange
from ..view.entry import Entry, classify
from ..view.render import render
from .evidence import PlayedSession, Progress
from .measures import Measures, Played

Message = dict[str, Any]
LookAt = Callable[[Message, Mapping[int, Message]], tuple[int, int]]
"""Counts a message of a view, and what of it was inserted; it is given messages of the session by their positions."""

_AT_ONCE = 256  # messages


@dataclass(slots=True)
class WholeView:
    """Sums up to each message of the view of a whole history, and for each message of the history what comes before."""

    before: array[int] = field(default_factory=lambda: array("I"))
    tokens: array[int] = field(default_factory=lambda: array("Q", [0]))
    inserted: array[int] = field(default_factory=lambda: array("Q", [0]))

    @classmethod
    def of(
        cls,
        messages: Sequence[Message],
        counter: TokenCounter,
        look_at: LookAt,
        *,
        progress: Progress = lambda _: None,
    ) -> WholeView | None:
        """Take a history; None if a view of fewer messages is not its beginning."""
        whole = cls()
        arranged, entries, known = Arrangement(), list[Entry](), dict[int, Message]()
        for position, message in enumerate(messages):
            entries.append(classify(position, message, lambda one: count_message(one, counter)))
            known[position] = message
            is_last = position + 1 == len(messages)
            if len(entries) % _AT_ONCE and not is_last:
                continue
            progress(position + 1)
            if arranged.is_answered_by(entries):
                return None  # a result came late: views before it had a stand-in in its place
            made = arrange(entries, lambda one: count_message(one, counter), after=arranged)
            if made.is_settled or is_last:
                if not whole._take(made, known, look_at):
                    return None
                arranged, entries, known = made.end(), [], {}
        whole.before.extend([len(whole.tokens) - 1] * (len(messages) - len(whole.before)))
        return whole

    def _take(self, made: Arrangement, known: Mapping[int, Message], look_at: LookAt) -> bool:
        """Take the next items, whole tool groups; False if they are not in the history's order."""
        begin = len(self.tokens) - 1
        for at, item in enumerate(made.items):
            if item.entry is None:
                continue
            if item.entry.ordinal < len(self.before):
                return False
            led = at > 0 and item.result is None and _leads(made.items[at - 1])
            self.before.extend([begin + at - led] * (item.entry.ordinal + 1 - len(self.before)))
        boundary = Config.load({}).truncate_boundary
        for message in render(made, lambda wanted: (known[entry.ordinal] for entry in wanted), boundary=boundary):
            size, inserted = look_at(message, known)
            self.tokens.append(self.tokens[-1] + size)
            self.inserted.append(self.inserted[-1] + inserted)
        return True

    def play(self, session: PlayedSession, measures: Measures) -> Iterator[Played]:
        """Play the session with views that leave out nothing, adding each request to the measures."""
        cached = 0
        for position, message in enumerate(session.messages):
            if message.get("role") != "assistant":
                continue
            shown = self.before[position]
            tokens = self.tokens[shown]
            measures.requests += 1
            measures.request_tokens.append(tokens)
            measures.cached_tokens += cached
            measures.inserted_tokens += self.inserted[shown]
            wanted = len(session.evidence.get(position, ()))
            measures.evidence += wanted
            measures.evidence_original += wanted
            measures.evidence_shown += wanted
            measures.evidence_recoverable += wanted
            yield Played(measures.requests, position, None, tokens, cached)
            cached = tokens


def _leads(item: Item) -> bool:
    """Whether it is a user message that was inserted before the next one."""
    return item.inserted is not None and item.inserted.get("role") == "user"
