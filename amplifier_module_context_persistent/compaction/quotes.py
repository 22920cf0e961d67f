"""Quotes: what was said in a gap, shown below the gap's marker.

A gap is a place where a view leaves out messages; its marker is the line that says so. The text that the model writes
beside its calls, and a person's answer to a call, often give the only reason for a decision or a failure. They are a
few words beside long arguments and results. So the tool group (a message with the results of its calls) is left out,
and their words stay, shortened.

Rules:
- Three kinds of text are quoted: the model's texts of at least `LEAST_SAID_CHARS`, a person's words when rejecting a
  call, and a person's answers to a tool that asks. The last two are quoted as tool results, because any tool may claim
  that a person said something.
- A model's text below `PLAIN_SAID_CHARS` that names something is not quoted if the view shows all names in it anyway.
- The last sentence of a model's text is left out if it names nothing: it says what the call does, and the marker counts
  the call. If only a few words are left that name nothing either ("Good."), the text is not quoted.
- Quotes come on top of the target. They take at most `SAID_SHARE` of the room, which is the part of the target that
  plans can fill, and at most a quarter of what is left to the threshold. The model's oldest texts are left out first,
  then the oldest of the other texts.
- A summary contains what was said, so a view with a summary has no quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from ..messages.excerpt import SENTENCE_END, shown_spans
from ..messages.message import Message, text_of
from ..messages.outcome import REJECTED
from ..messages.paths_and_ids import spans
from ..messages.tool_kinds import ASK
from ..view.arrangement import Count, Fetch
from ..view.entry import Entry
from ..view.plan import Gap, Plan, Quote
from ..view.tool_groups import Group

# Measured: docs/experiments.md ("Quotes").
SAID_SHARE = 0.08  # of the room
LEAST_SAID_CHARS = 100  # of a model's text: shorter texts say what is done next ("Now I run the tests")
PLAIN_SAID_CHARS = 160  # of a model's text that is quoted whatever it names
LEAST_LEFT_CHARS = 40  # of what is left of a model's text without its last sentence, if it names nothing
HEAD_CHARS, TAIL_CHARS = 160, 80  # of a quote

_SAID = "You said"
_SPACE = re.compile(r"\s+")
_REASON = re.compile(r"(?:\b(?:said|says|reason|feedback|comment|message)\s*:|\n)(.*)\Z", re.DOTALL | re.IGNORECASE)
_CHARS_A_TOKEN = 4  # approximately, in prose
_INTRODUCTION_TOKENS = 5  # approximately, in the words that introduce a quote


Quotable = tuple[Entry, str]
"""A message that is worth a quote, with the words that introduce its quote."""


def quotable(head: Entry, answers: list[Quotable]) -> list[Quotable]:
    """Return the messages of a group with calls that are worth a quote.

    Args:
        head: the message with the calls.
        answers: the results in which a person speaks (`answers_of_people`).
    """
    if not head.id:
        return []
    if sum(head.gist.terms.text_chars) >= LEAST_SAID_CHARS:
        return [(head, _SAID), *answers]
    return answers


def answers_of_people(group: Group) -> list[Quotable]:
    """Return the results of a group in which a person speaks."""
    found = list[Quotable]()
    for use, result in zip(group.head.gist.uses, group.results, strict=False):
        if result is None or not result.id:
            continue
        if result.gist.outcome == REJECTED:
            found.append((result, f"{use.name} was rejected"))
        elif use.kind == ASK:
            found.append((result, f"{use.name} was answered"))
    return found


def estimated_tokens(quotes: Sequence[Quotable]) -> int:
    """Estimate the number of tokens in some quotes."""
    most = HEAD_CHARS + TAIL_CHARS
    chars = [min(most, sum(entry.gist.terms.text_chars)) for entry, _ in quotes]
    return sum(chars) // _CHARS_A_TOKEN + _INTRODUCTION_TOKENS * len(chars)


def quote_tokens(gaps: Iterable[Gap], count: Count) -> int:
    """Return the total number of tokens in the quotes of some gaps."""
    return sum([count({"content": quote.text}) for gap in gaps for quote in gap.said])


def says_more(quotes: Sequence[Quotable], shown_names: Set[str]) -> bool:
    """Return whether the quotes of a group say more than the names in `shown_names`.

    They do not if the only one is a short text of the model that names something, and all names in it are among these.
    """
    if not _is_of_model(quotes):
        return True
    ((head, _),) = quotes
    terms = head.gist.terms
    if sum(terms.text_chars) >= PLAIN_SAID_CHARS:
        return True
    return not terms.places or not terms.places.keys() <= shown_names


def quotes_of(
    left_out: Mapping[int, Sequence[Quotable]], fetch: Fetch, room_tokens: int
) -> dict[int, tuple[Quote, ...]]:
    """Return the quotes of the groups that a plan leaves out, by the group's position.

    If the room is too small for all quotes, groups in which a person speaks are chosen first, and newer groups before
    older ones.

    Args:
        left_out: what is worth a quote in the groups that are left out, by position; not empty for any of them.
        fetch: parses the messages of entries.
        room_tokens: the tokens that all quotes together may take.
    """
    wanted = dict[int, Sequence[Quotable]]()
    for position in sorted(left_out, key=lambda at: (_is_of_model(left_out[at]), -at)):
        quotes = left_out[position]
        room_tokens -= estimated_tokens(quotes)
        if room_tokens < 0:
            break
        wanted[position] = quotes
    entries = [entry for some in wanted.values() for entry, _ in some]
    messages = dict(zip([entry.id for entry in entries], fetch(entries), strict=True))
    return {position: tuple(_quotes(some, messages)) for position, some in wanted.items()}


def _is_of_model(quotes: Iterable[Quotable]) -> bool:
    """Return whether all quotes of a group are from the model."""
    return all(words == _SAID for _, words in quotes)


def _quotes(wanted: Iterable[Quotable], messages: Mapping[str, Message]) -> Iterator[Quote]:
    for entry, words in wanted:
        text = text_of(messages[entry.id])
        if entry.gist.outcome == REJECTED:
            reason = _REASON.search(text)
            text = reason[1] if reason is not None else ""
        if words == _SAID:
            text = _without_announcement(text)
        if short_text := shortened(text):
            yield Quote(entry.id, f'{words}: "{short_text}"')


def _without_announcement(text: str) -> str:
    """Return a model's text without its last sentence, if that sentence names nothing and only announces the call.

    Return "" if what is left is short and names nothing.
    """
    text = text.rstrip()
    ends = [match.end() for match in SENTENCE_END.finditer(text) if match.end() < len(text)]
    if not ends or spans(text[ends[-1] :]):
        return text
    left = text[: ends[-1]]
    if len(left) > LEAST_LEFT_CHARS or spans(left):
        return left
    return ""


def shortened(text: str) -> str:
    """Return a text on one line, shortened to beginning and end if the text is too long for a quote."""
    text = _SPACE.sub(" ", text).strip()
    shown_parts = shown_spans(text, HEAD_CHARS, TAIL_CHARS, prose=True)
    return " … ".join([text[start:end].strip() for start, end in shown_parts])


def within_room(gaps: Sequence[Gap], room_tokens: int, count: Count) -> tuple[Gap, ...]:
    """Return the gaps, with quotes removed until the rest fit into the room.

    A gap that loses a quote gets an empty marker text, so that the text is written again.
    """
    excess = quote_tokens(gaps, count) - room_tokens
    dropped = set[Quote]()
    quotes = [quote for gap in gaps for quote in gap.said]
    for quote in sorted(quotes, key=lambda quote: not quote.text.startswith(_SAID)):
        if excess <= 0:
            break
        excess -= count({"content": quote.text})
        dropped.add(quote)
    return tuple([gap if dropped.isdisjoint(gap.said) else _without(gap, dropped) for gap in gaps])


def _without(gap: Gap, dropped: set[Quote]) -> Gap:
    """Return a copy of a gap without some of its quotes and without its marker text."""
    return replace(gap, said=tuple([quote for quote in gap.said if quote not in dropped]), text="")


def without_quotes(plan: Plan, ids: Set[str]) -> Plan:
    """Return a plan without the quotes of the messages with these ids, for the next plan to start from."""
    gaps = plan.left_out.gaps or ()
    hidden_quotes = {quote for gap in gaps for quote in gap.said if quote.id in ids}
    if not hidden_quotes:
        return plan
    remaining_gaps = tuple(
        [gap if hidden_quotes.isdisjoint(gap.said) else _without(gap, hidden_quotes) for gap in gaps]
    )
    return replace(plan, left_out=replace(plan.left_out, gaps=remaining_gaps))
