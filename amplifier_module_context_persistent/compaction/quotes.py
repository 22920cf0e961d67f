"""Quotes: what was said in a gap, shown below the gap's marker.

A gap is a place where a view leaves out messages; its marker is the line that says so. A person's message, the text
that the model writes beside its calls, and a person's answer to a call often give the only reason for a decision or a
failure. They are a few words beside long arguments and results. So the group (a message with the results of its calls)
is left out, and these words stay, shortened.

Rules:
- Four kinds of text are quoted: a person's message of at least `LEAST_WORDS_CHARS`, the model's texts of at least
  `LEAST_SAID_CHARS` beside its calls, a person's words when rejecting a call, and a person's answers to a tool that
  asks. The last two are quoted as tool results, because any tool may claim that a person said something.
- Quotes of people's messages take at most `WORDS_SHARE` of the room, which is the part of the target that plans can
  fill. All other quotes together take at most `SAID_SHARE`. If they are more, the oldest go first, and the model's
  texts before a person's answers.
- A summary contains what was said, so a view with a summary has no quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from ..messages.excerpt import shown_spans
from ..messages.message import Message, text_of
from ..messages.outcome import REJECTED
from ..messages.tool_kinds import ASK
from ..view.arrangement import Count, Fetch
from ..view.entry import Entry
from ..view.plan import Gap, Plan, Quote
from ..view.tool_groups import Group

# Measured: docs/experiments.md ("Quotes").
SAID_SHARE = 0.08  # of the room
WORDS_SHARE = 0.08  # of the room, for people's messages
LEAST_SAID_CHARS = 160  # of a model's text: shorter texts say what is done next ("Now I run the tests")
LEAST_WORDS_CHARS = 16  # of a person's message: "yes" or "go on" says nothing without what was before it
HEAD_CHARS, TAIL_CHARS = 160, 80  # of a quote

_SAID = "You said"
_SAID_BY_USER = "The user said"
_SPACE = re.compile(r"\s+")
_REASON = re.compile(r"(?:\b(?:said|says|reason|feedback|comment|message)\s*:|\n)(.*)\Z", re.DOTALL | re.IGNORECASE)
_CHARS_A_TOKEN = 4  # approximately, in prose
_INTRODUCTION_TOKENS = 5  # approximately, in the words that introduce a quote


def quotable(group: Group) -> list[tuple[Entry, str]]:
    """Return the messages of a group that are worth a quote, each with the words that introduce its quote."""
    head = group.head
    if not head.id:
        return []
    text_chars = sum(head.gist.terms.text_chars)
    if head.human and text_chars >= LEAST_WORDS_CHARS:
        return [(head, _SAID_BY_USER)]
    if not group.results:
        return []
    answers = answers_of_people(group)
    if text_chars >= LEAST_SAID_CHARS:
        return [(head, _SAID), *answers]
    return answers


def answers_of_people(group: Group) -> list[tuple[Entry, str]]:
    """Return the results of a group in which a person speaks, each with the words that introduce its quote."""
    found = list[tuple[Entry, str]]()
    for use, result in zip(group.head.gist.uses, group.results, strict=False):
        if result is None or not result.id:
            continue
        if result.gist.outcome == REJECTED:
            found.append((result, f"{use.name} was rejected"))
        elif use.kind == ASK:
            found.append((result, f"{use.name} was answered"))
    return found


def estimated_tokens(group: Group) -> int:
    """Estimate the number of tokens in the quotes that a group has if it is left out."""
    quotes = quotable(group)
    if not quotes:
        return 0
    most = HEAD_CHARS + TAIL_CHARS
    chars = [min(most, sum(entry.gist.terms.text_chars)) for entry, _ in quotes]
    return sum(chars) // _CHARS_A_TOKEN + _INTRODUCTION_TOKENS * len(chars)


class Rooms(NamedTuple):
    """The tokens that quotes may take, or do take: those of people's messages, and all others."""

    words: int = 0
    others: int = 0


def rooms_of(room_tokens: int) -> Rooms:
    """Return the tokens that quotes may take if plans can fill `room_tokens`."""
    return Rooms(int(WORDS_SHARE * room_tokens), int(SAID_SHARE * room_tokens))


def quote_tokens(gaps: Iterable[Gap], count: Count) -> Rooms:
    """Return the number of tokens in the quotes of some gaps."""
    words = others = 0
    for gap in gaps:
        for quote in gap.said:
            tokens = count({"content": quote.text})
            if is_of_words(quote):
                words += tokens
            else:
                others += tokens
    return Rooms(words, others)


def is_of_words(quote: Quote) -> bool:
    """Return whether a quote shows a person's message."""
    return quote.text.startswith(_SAID_BY_USER)


class QuotedTokens:
    """The estimated tokens of the quotes that a draft shows, while its groups are left out.

    Args:
        groups: all groups.
        so_far: the tokens of the quotes that the previous plan shows.
        rooms: the tokens that quotes may take; None if nothing is quoted.
    """

    def __init__(self, groups: Sequence[Group], so_far: Rooms, rooms: Rooms | None) -> None:
        self.rooms = rooms or Rooms()
        self._costs = [0 if rooms is None else estimated_tokens(group) for group in groups]
        self._is_words = [group.head.human for group in groups]
        self._words, self._others = so_far

    @property
    def shown(self) -> int:
        """The tokens of the quotes for which there is room."""
        return min(self._words, self.rooms.words) + min(self._others, self.rooms.others)

    def of(self, position: int) -> int:
        """Return the tokens of the quotes that a group has if it is left out."""
        return self._costs[position]

    def shown_of(self, position: int) -> int:
        """Return the tokens by which the quotes shown would grow if a group was left out."""
        tokens = self._costs[position]
        if not tokens:
            return 0
        left = self.rooms.words - self._words if self._is_words[position] else self.rooms.others - self._others
        return max(0, min(tokens, left))

    def leave_out(self, position: int) -> None:
        """Count the quotes of a group that is left out."""
        self._add(position, self._costs[position])

    def bring_back(self, position: int) -> None:
        """Stop counting the quotes of a group that was left out."""
        self._add(position, -self._costs[position])

    def _add(self, position: int, tokens: int) -> None:
        if self._is_words[position]:
            self._words += tokens
        else:
            self._others += tokens


def quotes_of(
    groups: Sequence[Group], dropped: Iterable[int], fetch: Fetch, rooms: Rooms
) -> dict[int, tuple[Quote, ...]]:
    """Return the quotes of the groups that a plan leaves out, by the group's position.

    If there is not room for all, newer groups are chosen before older ones, and groups in which a person answers before
    the model's texts.

    Args:
        groups: all groups.
        dropped: the positions of the groups that are left out.
        fetch: parses the messages of entries.
        rooms: the tokens that the quotes may take.
    """
    costs = {position: estimated_tokens(groups[position]) for position in dropped}
    quoted = [position for position in costs if costs[position]]
    words = [position for position in quoted if groups[position].head.human]
    others = [position for position in quoted if not groups[position].head.human]
    words.sort(reverse=True)
    others.sort(key=lambda position: (_is_of_model(groups[position]), -position))
    chosen = [*_that_fit(words, costs, rooms.words), *_that_fit(others, costs, rooms.others)]
    wanted = {position: quotable(groups[position]) for position in chosen}
    entries = [entry for some in wanted.values() for entry, _ in some]
    messages = dict(zip([entry.id for entry in entries], fetch(entries), strict=True))
    return {position: tuple(_quotes(some, messages)) for position, some in wanted.items()}


def _that_fit(positions: Iterable[int], costs: Mapping[int, int], room_tokens: int) -> Iterator[int]:
    """Yield positions from the first on, until the next one's tokens (`costs`) do not fit any more."""
    for position in positions:
        room_tokens -= costs[position]
        if room_tokens < 0:
            return
        yield position


def _is_of_model(group: Group) -> bool:
    """Return whether all quotes of a group are from the model."""
    return all(words == _SAID for _, words in quotable(group))


def _quotes(wanted: Iterable[tuple[Entry, str]], messages: Mapping[str, Message]) -> Iterator[Quote]:
    for entry, words in wanted:
        text = text_of(messages[entry.id])
        if entry.gist.outcome == REJECTED:
            reason = _REASON.search(text)
            text = reason[1] if reason is not None else ""
        if said := shortened(text):
            yield Quote(entry.id, f'{words}: "{said}"')


def shortened(text: str) -> str:
    """Return a text on one line, shortened to its beginning and its end if it is too long for a quote."""
    text = _SPACE.sub(" ", text).strip()
    spans = shown_spans(text, HEAD_CHARS, TAIL_CHARS, prose=True)
    return " … ".join([text[start:end].strip() for start, end in spans])


def within_room(gaps: Sequence[Gap], rooms: Rooms, count: Count) -> tuple[Gap, ...]:
    """Return the gaps, with quotes removed until the rest fit into the rooms.

    A gap that loses a quote gets an empty marker text, so that the text is written again.
    """
    said = [quote for gap in gaps for quote in gap.said]
    words = [quote for quote in said if is_of_words(quote)]
    others = [quote for quote in said if not is_of_words(quote)]
    others.sort(key=lambda quote: not quote.text.startswith(_SAID))
    taken = quote_tokens(gaps, count)
    gone = {
        *_until_the_rest_fit(words, taken.words - rooms.words, count),
        *_until_the_rest_fit(others, taken.others - rooms.others, count),
    }
    return tuple([gap if gone.isdisjoint(gap.said) else _without(gap, gone) for gap in gaps])


def _until_the_rest_fit(quotes: Iterable[Quote], excess_tokens: int, count: Count) -> Iterator[Quote]:
    """Yield quotes from the first on, until `excess_tokens` are saved."""
    for quote in quotes:
        if excess_tokens <= 0:
            return
        excess_tokens -= count({"content": quote.text})
        yield quote


def _without(gap: Gap, gone: set[Quote]) -> Gap:
    """Return a copy of a gap without some of its quotes and without its marker text."""
    return replace(gap, said=tuple([quote for quote in gap.said if quote not in gone]), text="")


def without_quotes(plan: Plan, ids: Set[str]) -> Plan:
    """Return a plan without the quotes of the messages with these ids, for the next plan to start from."""
    gaps = plan.left_out.gaps or ()
    gone = {quote for gap in gaps for quote in gap.said if quote.id in ids}
    if not gone:
        return plan
    kept = tuple([gap if gone.isdisjoint(gap.said) else _without(gap, gone) for gap in gaps])
    return replace(plan, left_out=replace(plan.left_out, gaps=kept))
