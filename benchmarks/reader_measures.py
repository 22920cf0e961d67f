"""What a view owes its reader, as measures: nothing stale, last words kept, nobody unanswered, gaps marked.

Nothing here knows what a marker looks like, nor how the engine chose: a session and its views are all that is looked
at. By `evidence`'s definition of what of a view is the session's own text and what was inserted:

- A view is **stale** if a result of a call that reads a file (it names one, and no text to put in) shows a line
  (`LEAST_LINE_CHARS` or more, once in that result) that a later edit of the file took away and no edit after that one
  put back, and the view shows neither that edit nor, in the session's own text, any line that it put in. An *edit* is a
  call with a file, an old and a new text that did not fail (`messages.outcome`).
- The **last words** of a finished turn are the assistant's text right before a person's message, without calls. A view
  has them if the message is there and begins with the same `FIRST_CHARS` characters, white space aside.
- People stand **alone** in a view from one's message to the next if the assistant spoke in between and the view shows
  no message of the session there. What counts is the longest run of people's messages that stand so, at least 1.
- A **gap** is a place between two neighbours in the view where messages of the session are missing. It is *marked* if
  text inserted between them, or at the end of the first, has the number of missing messages in it.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from amplifier_module_context_persistent.messages.message import (
    Message,
    call_arguments_of,
    given_calls,
    metadata_of,
    text_of,
)
from amplifier_module_context_persistent.messages.metadata import is_human
from amplifier_module_context_persistent.messages.outcome import ANSWERED, outcome_of
from amplifier_module_context_persistent.messages.tool_kinds import NEW_KEYS, OLD_KEYS, PATH_KEYS, WHOLE_KEYS
from amplifier_module_context_persistent.toolbox.replay.evidence import MessageParts

LEAST_LINE_CHARS = 24
FIRST_CHARS = 200

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


class ViewReader:
    """Knows one session, to read views of it; of its messages only what the measures need is kept.

    Args:
        messages: the session; it is gone through once.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        self.positions: dict[str, int] = {}
        """By message id, the position of the first message that has it."""
        self.human, spoke = bytearray(), bytearray()
        self.beginnings: dict[int, str] = {}
        """By the position of the last words of a finished turn, how they begin."""
        edits: list[tuple[str, _Edit]] = []
        refused: dict[str, bool] = {}
        reads: dict[str, str] = {}
        results: list[str] = []
        called: dict[int, tuple[str, ...]] = {}
        before: Message = {}
        for position, message in enumerate(messages):
            self.positions.setdefault(message["metadata"]["message_id"], position)
            self.human.append(is_human(message))
            spoke.append(message.get("role") == "assistant" and bool(_words(message)))
            if self.human[-1] and position and spoke[position - 1] and position - 1 not in called:
                self.beginnings[position - 1] = _words(before)[:FIRST_CHARS]
            calls = _calls_of(message)
            if calls:
                called[position] = tuple(call_id for call_id, *_ in calls)
            for call_id, path, old, new in calls:
                if old is new is None:
                    reads[call_id] = path
                elif path and old is not None and new is not None:
                    gone, put_in = frozenset(_lines(old)), frozenset(_lines(new))
                    if gone - put_in:
                        edits.append((path, _Edit(position, call_id, gone - put_in, put_in - gone)))
            results.append(str(message.get("tool_call_id")))
            if message.get("role") == "tool":
                refused[results[-1]] = outcome_of(message) != ANSWERED
            before = message
        self.ends = list(self.beginnings)
        self.spoken = array("I", accumulate(spoke, initial=0))
        self.edits: defaultdict[str, list[_Edit]] = defaultdict(list)
        """The edits of the session by file, in order."""
        for path, edit in edits:
            if refused.get(edit.call_id) is False:
                self.edits[path].append(edit)
        self.read_in = {
            at: path for at, call_id in enumerate(results) if (path := reads.get(call_id, "")) in self.edits
        }
        """By the position of a result of a call that reads a file which the session edits, which one."""
        edited = {edit.call_id for of_file in self.edits.values() for edit in of_file}
        self.call_ids = {at: ids for at, ids in called.items() if not edited.isdisjoint(ids)}
        """By the position of a message with calls that are edits, the ids of its calls."""

    def look(self, before: int, view: Sequence[Message], parts: Sequence[MessageParts]) -> Looked:
        """Look at the view of a request after so many messages; `parts` are what its messages say."""
        positions = [self._position(message, part) for message, part in zip(view, parts, strict=True)]
        own = {at: message for at, message in zip(positions, view, strict=True) if at is not None}
        shown, inserted, last = sorted(own), list[str](), None
        run = longest = 1
        gaps = unmarked = 0
        for at, part in zip(positions, parts, strict=True):
            if at is None:
                inserted.append(part.text)
                continue
            if last is not None:
                missing = at - last - 1 - (bisect_left(shown, at) - bisect_right(shown, last))
                gaps += missing > 0
                unmarked += missing > 0 and not _has_number(inserted, missing)
                run = run + 1 if self._stand_alone(last, at) else 1
                longest = max(longest, run)
            last, inserted = at, list(part.inserted)
        begun = [at for at in shown if at in self.beginnings]
        return Looked(
            stale=self._is_stale(before, own, parts),
            turns=bisect_left(self.ends, before),
            answered=sum(_words(own[at]).startswith(self.beginnings[at]) for at in begun),
            alone=longest,
            gaps=gaps,
            unmarked=unmarked,
        )

    def _position(self, message: Message, part: MessageParts) -> int | None:
        """Which message of the session it is; None for what was inserted."""
        return None if part.whole else self.positions.get(str(metadata_of(message).get("message_id")))

    def _stand_alone(self, one: int, other: int) -> bool:
        """Whether two neighbours are people's messages between which the assistant spoke."""
        both = self.human[one] and self.human[other] and one < other
        return bool(both and self.spoken[other] > self.spoken[one])

    def _is_stale(self, before: int, own: Mapping[int, Message], parts: Sequence[MessageParts]) -> bool:
        """Whether a result shows lines that an edit took away which the view does not show."""
        calls = {call_id for at in own for call_id in self.call_ids.get(at, ())}
        text: str | None = None
        for at in own.keys() & self.read_in.keys():
            edits = self.edits[self.read_in[at]]
            later = edits[bisect_right(edits, at, key=_position_of) : bisect_left(edits, before, key=_position_of)]
            if all(edit.call_id in calls for edit in later):
                continue
            lines = Counter(_lines(text_of(own[at])))
            for number, edit in enumerate(later):
                hit = {line for line in edit.gone if lines[line] == 1} if edit.call_id not in calls else ()
                if not hit or any(hit & other.new for other in later[number + 1 :]):
                    continue
                text = "\n".join(part.original for part in parts) if text is None else text
                if not any(line in text for line in edit.new):
                    return True
        return False


def _has_number(inserted: Sequence[str], missing: int) -> bool:
    """Whether the marker of a gap has the number of the missing messages."""
    return re.search(rf"(?<!\d){missing}(?!\d)", "\n".join(inserted).replace(",", "")) is not None


def _position_of(edit: _Edit) -> int:
    return edit.position


def _words(message: Mapping[str, Any]) -> str:
    return " ".join(text_of(message).split())


def _lines(text: str) -> Iterator[str]:
    """The lines of a text that are long enough to be told from each other, without numbers before them."""
    stripped = (_LINE_NUMBER.sub("", line).strip() for line in text.split("\n"))
    return (line for line in stripped if len(line) >= LEAST_LINE_CHARS)


def _calls_of(message: Message) -> list[tuple[str, str, str | None, str | None]]:
    """The calls of a message: id, the file that is named, and the old and the new text of an edit."""
    found = []
    for call_id, call in given_calls(message).items():
        arguments = call_arguments_of(call)
        path, old, new = (_first(arguments, keys) for keys in (PATH_KEYS, OLD_KEYS, (*NEW_KEYS, *WHOLE_KEYS)))
        found.append((call_id, path or "", old, new))
    return found


def _first(arguments: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    return next((value for key in keys if isinstance(value := arguments.get(key), str)), None)
