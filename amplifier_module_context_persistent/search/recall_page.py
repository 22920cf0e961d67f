"""The pages of `recall`: the check of a request, a page of a message's text, and a page of search hits. No I/O.

Rules:
- A page is an unaltered piece of one message's text: all pages together are the text. Its output begins with
  `[recall of ID, characters A-B of N]`, from which an elision of that output takes the id of the original.
- Pages that `recall` returned, and the calls that asked for them, are not searched.
- Every error in a request is a `RecallError` that says what is allowed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import RecallError
from ..log.record_line import ROLES
from ..messages.message import Message
from ..messages.message_times import instant_of, timestamp_of
from ..messages.metadata import RECALL_TOOL
from ..messages.text import full_text
from .pattern import Pattern, compile_pattern

MOST_PAGE_TOKENS = 4_000
CHARS_PER_TOKEN = 10  # no prose has more, and what is longer need not be counted
PAGE_SHARE = 0.1  # of the budget
HITS = 10
"""The default number of hits."""
LEAST_WORDS = 3
"""A text of fewer words may be a part of longer words, which the ranked index does not know."""
MOST_PLACES = 20
"""The largest number of matches that are counted in one message."""
_AROUND_CHARS = 100  # of a match, on either side of it
_MATCH_CHARS = 500  # of a match are shown; hardly a path or an address is longer
_LINE_CHARS = 200  # how far before the end of a page the end of a line is looked for

_WORD = re.compile(r"\w")

Fits = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """A request to `recall`: a page by `reference`, or a search for `pattern`."""

    reference: str = ""
    offset: int = 0
    limit: int | None = None
    image: int = 0
    query: str = ""
    pattern: Pattern | None = None
    role: str = ""
    tool: str = ""
    since: datetime | None = None
    until: datetime | None = None

    @property
    def query_words(self) -> int:
        """The number of words in a question, or 0 for a regular expression and for a text without a word."""
        if self.pattern is None or not self.pattern.text or _WORD.search(self.query) is None:
            return 0
        return len(self.query.split())

    def matches_time(self, message: Message) -> bool:
        """Return whether a message was written in the wanted time.

        A message without a time matches only if no time is wanted.
        """
        if self.since is None and self.until is None:
            return True
        written = instant_of(timestamp_of(message))
        if written is None:
            return False
        if self.since is not None and written < self.since:
            return False
        return self.until is None or written <= self.until


@dataclass(frozen=True, slots=True)
class Hit:
    """A message in which the search found something."""

    reference: str
    who: str
    """The message's role, or the name of the tool whose result the message is."""
    timestamp: str
    chars: int
    places: tuple[int, ...]
    """Offsets of the matches in the message's text, `MOST_PLACES` at most."""
    excerpt: str
    """The first match, with the text around it, on one line."""


@dataclass(frozen=True, slots=True)
class RecallPage:
    """The answer of `recall`: a piece of one message's text, or hits. The model reads `output`."""

    output: str
    reference: str = ""
    text: str = ""
    offset: int = 0
    end: int = 0
    chars: int = 0
    """The length of the whole text."""
    hits: tuple[Hit, ...] = ()
    next_offset: int | None = None
    """The offset of the next page, in characters or hits, or None if there is no next page."""
    media: tuple[Message, ...] = ()
    """Images and documents of the page: blocks of content in their stored form."""


def check_wanted(
    *,
    reference: Any = None,
    offset: Any = 0,
    limit: Any = None,
    query: Any = None,
    regex: Any = False,
    role: Any = None,
    tool: Any = None,
    image: Any = None,
    since: Any = None,
    until: Any = None,
) -> RecallQuery:
    """Check the arguments of a request to `recall`. None and "" mean that an argument is not given.

    Raises:
        RecallError: a wrong type or value; says which and what is allowed.
    """
    texts = {"reference": reference, "query": query, "role": role, "tool": tool, "since": since, "until": until}
    for name, value in texts.items():
        if not isinstance(value, str | None):
            raise RecallError(f"{name}: must be a text, not {type(value).__name__}")
    if not isinstance(regex, bool | None):
        raise RecallError(f"regex: must be true or false, not {type(regex).__name__}")
    offset = _checked_int("offset", offset, 0, 0)
    limit = _checked_int("limit", limit, None, 1)
    image = _checked_int("image", image, 0, 1)
    if reference and query:
        raise RecallError("give either reference (the id of one message) or query (a search), not both")
    if reference:
        return RecallQuery(reference=reference, offset=offset, limit=limit, image=image)
    if not query or not query.strip():
        raise RecallError("give a reference (the id of a message) or a query that is not empty")
    if role and role not in ROLES:
        raise RecallError(f"role: {role!r} is none; allowed: {', '.join(ROLES)}")
    return RecallQuery(
        offset=offset,
        limit=limit,
        query=query,
        pattern=compile_pattern(query, regex=bool(regex)),
        role=role or "",
        tool=tool or "",
        since=_checked_time("since", since),
        until=_checked_time("until", until),
    )


def page_tokens(budget_tokens: int) -> int:
    """Return the largest size of a page, in tokens."""
    return min(MOST_PAGE_TOKENS, int(PAGE_SHARE * budget_tokens))


def cut_page(
    message: Message, wanted: RecallQuery, *, before: str, after: str, most_chars: int, fits: Fits
) -> RecallPage:
    """Cut a page from a message's text: from `wanted.offset` on, as much as fits and was asked for.

    Args:
        message: the message to read.
        wanted: reference, offset and limit.
        before: the id of the message before it, or "".
        after: the id of the message after it, or "".
        most_chars: the most characters of a page.
        fits: whether an output is small enough.

    Raises:
        RecallError: the offset is past the end; or nothing fits.
    """
    text, _ = full_text(message)
    chars = len(text)
    reference, offset = wanted.reference, wanted.offset
    if offset >= chars and offset > 0:
        raise RecallError(f"offset: {offset:,} is past the end; {reference} has {chars:,} characters")
    about = _about(message, before, after)

    def output(end: int) -> str:
        lines = [f"[recall of {reference}, characters {offset}-{end} of {chars}]", f"[{about}]", text[offset:end]]
        if end < chars:
            lines.append(f"[{chars - end} characters follow: recall reference={reference} offset={end}]")
        return "\n".join(lines)

    furthest = min(chars, offset + most_chars)
    if wanted.limit is not None:
        furthest = min(furthest, offset + wanted.limit)
    end = _furthest(lambda end: fits(output(end)), offset, furthest)
    if end is None or (end == offset and chars):
        raise RecallError("the session's budget is too small to recall anything: a page is a tenth of it")
    if end < furthest:  # rather end at the end of a line
        line_end = text.rfind("\n", max(offset, end - _LINE_CHARS), end) + 1
        if line_end > offset and fits(output(line_end)):
            end = line_end
    next_offset = end if end < chars else None
    return RecallPage(
        output(end), reference, text=text[offset:end], offset=offset, end=end, chars=chars, next_offset=next_offset
    )


def _about(message: Message, before: str, after: str) -> str:
    """Return a text that says who wrote a message and when. The text also gives `before` and `after` if not ""."""
    about = f"{_who(message)}, {timestamp_of(message) or 'no time'}"
    neighbours = []
    if before:
        neighbours.append(f"before it {before}")
    if after:
        neighbours.append(f"after it {after}")
    if neighbours:
        about += f"; {', '.join(neighbours)}"
    return about


def _notes(given_up: int, unranked: str, *, has_hits: bool) -> list[str]:
    """Return the lines below the hits of a search; the arguments are as for `tell_hits`."""
    notes = []
    if given_up:
        messages = "1 message" if given_up == 1 else f"{given_up} messages"
        notes.append(f"[{messages} took too long and may hold more; a simpler expression finds it]")
    if unranked:
        notes.append(f"[{unranked}]")
    if has_hits:
        notes.append("[to read on: recall reference=ID offset=CHARACTER]")
    return notes


def tell_hits(
    hits: Sequence[Hit],
    wanted: RecallQuery,
    *,
    order: str = "newest first",
    more: bool,
    stopped_at: str | None,
    given_up: int = 0,
    unranked: str = "",
    fits: Fits,
) -> RecallPage:
    """Make a page of the hits of a search, in order, with as many as fit.

    Args:
        hits: the hits after the first `wanted.offset`.
        wanted: the search.
        order: the hits' order, in words for people and models.
        more: whether there are further hits.
        stopped_at: if time ran out, the time of the last message that was searched, if it has one.
        given_up: the number of messages that took too long to search.
        unranked: says how much of the history is not ranked yet; empty if all is.
        fits: whether an output is small enough.

    Raises:
        RecallError: not even one hit fits.
    """
    query = wanted.query
    if len(query) > _MATCH_CHARS:
        query = query[:_MATCH_CHARS] + "…"
    notes = _notes(given_up, unranked, has_hits=bool(hits))

    def page(count: int) -> RecallPage:
        """Return the page with the first hits."""
        next_hit = wanted.offset + count
        if hits:
            lines = [f"[search for {query!r}: hits {wanted.offset + 1}-{next_hit}, {order}]"]
        elif wanted.offset:
            lines = [f"[search for {query!r}: no more hits]"]
        else:
            lines = [f"[search for {query!r}: no hits]"]
        lines += [_hit_text(hit) for hit in hits[:count]]
        goes_on = more or count < len(hits)
        if goes_on:
            lines.append(f"[more hits follow: recall the same query with offset={next_hit}]")
        elif stopped_at is not None:
            how = f"go on with until={stopped_at}" if stopped_at else "narrow the search"
            lines.append(f"[time ran out: what is older was not searched; {how}]")
        output = "\n".join([*lines, *notes])
        return RecallPage(output, hits=tuple(hits[:count]), next_offset=next_hit if goes_on else None)

    if not hits:
        return page(0)
    for count in range(len(hits), 0, -1):
        shortened = page(count)
        if fits(shortened.output):
            return shortened
    raise RecallError("the session's budget is too small for even one hit: a page is a tenth of it")


def make_hit(message: Message, reference: str, tool: str, text: str, spans: Sequence[tuple[int, int]]) -> Hit:
    """Describe a message in which a search found the places `spans`.

    Args:
        message: the message in the form of the log.
        reference: the reference by which `recall` returns the message.
        tool: the name of the tool whose result the message is; "" for other messages.
        text: the searched text of the message.
        spans: the start and the end of each match, in characters of the text.
    """
    start, end = spans[0]
    end = min(end, start + _MATCH_CHARS)
    first = max(0, start - _AROUND_CHARS)
    last = min(len(text), end + _AROUND_CHARS)
    excerpt = " ".join(text[first:last].split())
    if first > 0:
        excerpt = f"…{excerpt}"
    if last < len(text):
        excerpt = f"{excerpt}…"
    positions = tuple(position for position, _ in spans)
    return Hit(
        reference,
        _who(message, tool),
        timestamp=timestamp_of(message),
        chars=len(text),
        places=positions,
        excerpt=excerpt,
    )


def recall_output(output: str) -> Message:
    """Return an output as the tool result that the model gets, to count its tokens."""
    return {"role": "tool", "name": RECALL_TOOL, "content": output}


def _hit_text(hit: Hit) -> str:
    """Return the lines of a hit: the message, the places of the matches, and an excerpt."""
    first, *others = hit.places
    also = ""
    if others:
        also = f"; also at {', '.join(str(place) for place in others[:5])}"
    if len(others) > 5:
        also += ", …"
    return f"{hit.reference}: {hit.who}, {hit.timestamp or 'no time'}, at {first} of {hit.chars}{also}\n  {hit.excerpt}"


def _who(message: Message, tool: str = "") -> str:
    role = str(message.get("role"))
    name = tool or message.get("name")
    if role in ("tool", "function") and name:
        return f"result of {name}"
    return role


def _furthest(fits: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the largest number from `low` to `high` that fits, or None if `low` does not fit.

    If a number fits, all smaller numbers must fit too.
    """
    if fits(high):
        return high
    first_too_large = low + bisect_left(range(low, high), 1, key=lambda number: int(not fits(number)))
    if first_too_large == low:
        return None
    return first_too_large - 1


def _checked_int(name: str, value: Any, default: Any, least: int) -> Any:
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise RecallError(f"{name}: must be a whole number from {least} on, not {value!r:.40}")
    return value


def _checked_time(name: str, value: str | None) -> datetime | None:
    if not value:
        return None
    instant = instant_of(value)
    if instant is None:
        raise RecallError(f"{name}: {value!r:.40} is no ISO 8601 time, such as 2026-01-31T14:00:00Z")
    return instant
