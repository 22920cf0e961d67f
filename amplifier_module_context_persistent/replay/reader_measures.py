"""What a view owes its reader, as measures: nothing stale, last words kept, nobody unanswered, gaps marked.

Nothing here knows what a marker looks like, and nothing is shared with the engine: a session and its views are all that
is looked at. By `evidence`'s definition of what of a view is the session's own text and what was inserted:

- A view is **stale** if a result of a call that reads a file (it names one, and no text to put in) shows a line
  (`LEAST_LINE_CHARS` or more, once in that result) that a later edit of the file took away and no edit after that one
  put back, and the view shows neither that edit nor, in the session's own text, any line that it put in. An *edit* is a
  call with a file, an old and a new text whose result tells of no error.
- The **last words** of a finished turn are the assistant's text right before a person's message, without calls. A view
  has them if the message is there and begins with the same `FIRST_CHARS` characters, white space aside.
- People stand **alone** in a view from one's message to the next if the assistant spoke in between and the view shows
  no message of the session there. What counts is the longest run of people's messages that stand so, at least 1.
- A **gap** is a place between two neighbours in the view where messages of the session are missing. It is *marked* if
  text inserted between them, or at the end of the first, has the number of missing messages in it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from .evidence import Message, Said

LEAST_LINE_CHARS = 24
FIRST_CHARS = 200

_FILE = ("file_path", "path", "filename", "filepath", "file")
_OLD = ("old_string", "old_str", "oldText", "old_text", "old")
_NEW = ("new_string", "new_str", "newText", "new_text", "new", "content", "contents")
_REFUSED = re.compile(r"\s*(?:<tool_use_error|error|could not|failed)", re.IGNORECASE)
_LINE_NUMBER = re.compile(r"^\s*\d+\s?[\t→|:]")


@dataclass(frozen=True, slots=True)
class Looked:
    """What one view gives its reader."""

    stale: bool = False
    turns: int = 0
    """Finished turns with last words, before the request."""
    answered: int = 0
    """Those of them whose last words are in the view."""
    alone: int = 1
    gaps: int = 0
    unmarked: int = 0


@dataclass(slots=True)
class Owed:
    """What the views of a session came to, summed over them."""

    views: int = 0
    stale_views: int = 0
    last_words: int = 0
    last_words_shown: int = 0
    alone_sum: int = 0
    gaps: int = 0
    gaps_unmarked: int = 0

    def take(self, looked: Looked) -> None:
        """Add a view."""
        self.views += 1
        self.stale_views += looked.stale
        self.last_words += looked.turns
        self.last_words_shown += looked.answered
        self.alone_sum += looked.alone
        self.gaps += looked.gaps
        self.gaps_unmarked += looked.unmarked

    @property
    def stale(self) -> float:
        """The share of stale views."""
        return self.stale_views / max(1, self.views)

    @property
    def answered(self) -> float:
        """The share of last words of finished turns that views show; 1 where there are none."""
        return self.last_words_shown / self.last_words if self.last_words else 1.0

    @property
    def alone(self) -> float:
        """The longest run of people's messages that stand alone, the mean over views."""
        return self.alone_sum / max(1, self.views)

    @property
    def unmarked(self) -> float:
        """The share of gaps that nothing inserted marks."""
        return self.gaps_unmarked / max(1, self.gaps)


@dataclass(frozen=True, slots=True)
class _Edit:
    position: int
    call_id: str
    gone: frozenset[str]
    new: frozenset[str]


class Reader:
    """Reads the views of one session."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._positions: dict[str, int] = {}
        for position, message in enumerate(messages):
            self._positions.setdefault(message["metadata"]["message_id"], position)
        self._human = [_is_persons(message) for message in messages]
        self._calls = [_calls_of(message) for message in messages]
        spoke = [message.get("role") == "assistant" and bool(_words(message)) for message in messages]
        self._spoken = [0, *accumulate(spoke)]
        ends = [at - 1 for at, human in enumerate(self._human) if human and at and spoke[at - 1]]
        self._ends = [at for at in ends if not self._calls[at]]
        self._beginnings = {at: _words(messages[at])[:FIRST_CHARS] for at in self._ends}
        self._edits = self._find_edits(messages)
        reads = {call_id: path for calls in self._calls for call_id, path, old, new in calls if old is new is None}
        self._read_in = [reads.get(str(message.get("tool_call_id")), "") for message in messages]

    def look(self, before: int, view: Sequence[Message], parts: Sequence[Said]) -> Looked:
        """Look at the view of a request after so many messages; `parts` are what its messages say."""
        positions = [self._position(message, part) for message, part in zip(view, parts, strict=True)]
        shown = {at: message for at, message in zip(positions, view, strict=True) if at is not None}
        ends = self._beginnings.keys() & shown.keys()
        answered = sum(_words(shown[at]).startswith(self._beginnings[at]) for at in ends)
        gaps, unmarked = self._gaps(positions, parts)
        return Looked(
            stale=self._is_stale(before, shown, parts),
            turns=bisect_left(self._ends, before),
            answered=answered,
            alone=self._alone([at for at in positions if at is not None]),
            gaps=gaps,
            unmarked=unmarked,
        )

    def look_at_all(self, before: int) -> Looked:
        """What a view gives that shows everything."""
        turns = bisect_left(self._ends, before)
        return Looked(turns=turns, answered=turns)

    def _position(self, message: Message, part: Said) -> int | None:
        """Which message of the session it is; None for what was inserted."""
        return None if part.whole else self._positions.get(str((message.get("metadata") or {}).get("message_id")))

    def _alone(self, positions: Sequence[int]) -> int:
        """The longest run of people's messages that stand alone."""
        longest = run = 1
        for one, other in pairwise(positions):
            both = self._human[one] and self._human[other] and one < other
            run = run + 1 if both and self._spoken[other] > self._spoken[one] else 1
            longest = max(longest, run)
        return longest

    def _gaps(self, positions: Sequence[int | None], parts: Sequence[Said]) -> tuple[int, int]:
        """How many gaps there are, and how many of them are not marked."""
        shown = sorted({at for at in positions if at is not None})
        gaps = unmarked = 0
        before: int | None = None
        inserted: list[str] = []
        for at, part in zip(positions, parts, strict=True):
            if at is None:
                inserted.append(part.text)
                continue
            if before is not None:
                missing = at - before - 1 - (bisect_left(shown, at) - bisect_right(shown, before))
                if missing > 0:
                    gaps += 1
                    unmarked += not re.search(rf"(?<!\d){missing}(?!\d)", "\n".join(inserted).replace(",", ""))
            before, inserted = at, list(part.inserted)
        return gaps, unmarked

    def _find_edits(self, messages: Sequence[Message]) -> Mapping[str, list[_Edit]]:
        """The edits of the session by file, in order."""
        results = {str(message.get("tool_call_id")): message for message in messages if message.get("role") == "tool"}
        found: defaultdict[str, list[_Edit]] = defaultdict(list)
        for position, calls in enumerate(self._calls):
            for call_id, path, old, new in calls:
                result = results.get(call_id)
                if path and old is not None and new is not None and result and not _REFUSED.match(_words(result)):
                    before, after = frozenset(_lines(old)), frozenset(_lines(new))
                    if before - after:
                        found[path].append(_Edit(position, call_id, before - after, after - before))
        return found

    def _is_stale(self, before: int, shown: Mapping[int, Message], parts: Sequence[Said]) -> bool:
        calls = {call_id for at in shown for call_id, *_ in self._calls[at]}
        own: str | None = None
        for at, message in shown.items():
            path = self._read_in[at]
            later = [edit for edit in self._edits.get(path, ()) if at < edit.position < before] if path else []
            if not any(edit.call_id not in calls for edit in later):
                continue
            lines = Counter(_lines(_text(message)))
            for number, edit in enumerate(later):
                hit = {line for line in edit.gone if lines[line] == 1} if edit.call_id not in calls else ()
                if not hit or any(hit & other.new for other in later[number + 1 :]):
                    continue
                own = "\n".join(part.original for part in parts) if own is None else own
                if not any(line in own for line in edit.new):
                    return True
        return False


def _is_persons(message: Mapping[str, Any]) -> bool:
    """Whether a person wrote it: role user, from no source, and no reminder of a hook."""
    source = (message.get("metadata") or {}).get("source")
    return message.get("role") == "user" and not source and not _text(message).lstrip().startswith("<system-reminder")


def _text(message: Mapping[str, Any]) -> str:
    """The text of a message, without thinking and calls."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text") or "") for block in blocks if isinstance(block, dict))


def _words(message: Mapping[str, Any]) -> str:
    return " ".join(_text(message).split())


def _lines(text: str) -> Iterator[str]:
    """The lines of a text that are long enough to be told from each other, without numbers before them."""
    stripped = (_LINE_NUMBER.sub("", line).strip() for line in text.split("\n"))
    return (line for line in stripped if len(line) >= LEAST_LINE_CHARS)


_CALLS = ("tool_call", "tool_use")


def _calls_of(message: Mapping[str, Any]) -> list[tuple[str, str, str | None, str | None]]:
    """The calls of a message: id, the file that is named, and the old and the new text of an edit."""
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    listed = message.get("tool_calls")
    calls = listed if listed and isinstance(listed, list) else [b for b in blocks if b.get("type") in _CALLS]
    found = []
    for call in calls:
        if not isinstance(call, dict):
            continue
        given = call.get("arguments", call.get("input"))
        arguments = given if isinstance(given, dict) else {}
        path, old, new = (_first(arguments, keys) for keys in (_FILE, _OLD, _NEW))
        found.append((str(call.get("id")), path or "", old, new))
    return found


def _first(arguments: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    return next((value for key in keys if isinstance(value := arguments.get(key), str)), None)
