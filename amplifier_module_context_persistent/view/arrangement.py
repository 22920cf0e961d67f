"""Arranging a view: which messages it has, in what order, how each is shown, and what they come to in tokens.

`arrange` decides and counts, `render` writes; both are pure, so the same history, plan and counter give the same bytes
in any process (I4), and a view between two plans is the one before it with what was appended (I6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import NamedTuple

from ..messages.elide import Cut
from ..messages.message import Call, Message
from ..messages.metadata import COMPACTION_SOURCE
from ..messages.text import well_formed
from .entry import INSTRUCTING, Entry
from .native_item import NativeItem
from .plan import Gap, Plan
from .readers import NOBODY, Reader
from .rules import Group, needs_user_before, newest_group, tool_groups, unique_call_ids
from .wire import NOTHING_ODD, TAKES_ALL, WireRules

Count = Callable[[Message], int]
Fetch = Callable[[Sequence[Entry]], Iterable[Message]]


class Item(NamedTuple):
    """One message of a view: a stored one (perhaps cut, its call ids renamed), or one that is inserted."""

    entry: Entry | None = None
    cut: Cut | None = None
    silent: bool = False
    """Whether its thinking is left out."""
    bare: str = ""
    """Whether what is bound to another provider is left out: `all`, or `text` where the text of thinking stays."""
    call_ids: tuple[str, ...] = ()
    """A message with calls: the ids that they have in the view, where they differ from their own."""
    result: tuple[str, str] | None = None
    """A result: the id and the name of the call that it answers."""
    inserted: Message | None = None
    tokens: int = 0
    wire: tuple[WireRules, int] | None = None
    """What its reader takes and how many cache marks it keeps, where it is shown otherwise for that."""


@dataclass(frozen=True, slots=True)
class _Settled:
    """The beginning of an arrangement that nothing appended can change but a late result of one of `open_calls`."""

    entries: list[Entry]
    how: Presentation
    items: list[Item]
    as_stored: list[bool]
    tokens: int
    call_ids: frozenset[str]
    open_calls: frozenset[str]
    previous: Entry | None
    answered: bool
    marks: int
    """Its cache marks."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The items of a view in order, and what they come to."""

    items: list[Item] = field(default_factory=list)
    tokens: int = 0
    as_stored: list[bool] = field(default_factory=list, compare=False, repr=False)
    """By item, whether it is handed out as it was stored."""
    settled: _Settled | None = field(default=None, compare=False, repr=False)
    texts: Mapping[str, Item] = field(default_factory=dict, compare=False, repr=False)
    """By text, the user's messages that are inserted."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing that is appended can change it but a late result; only such an arrangement has an `end`."""
        return self.settled is not None and self.settled.items is self.items

    def is_answered_by(self, later: Sequence[Entry]) -> bool:
        """Whether one of later entries is the result for which a stand-in was put in."""
        return self.settled is not None and _answer(self.settled.open_calls, later)

    def end(self) -> Arrangement:
        """What is known of it to arrange what comes next, without its own items: give it to `arrange` as `after`."""
        settled = replace(self.settled, entries=[], items=[], as_stored=[], tokens=0) if self.settled else None
        return Arrangement(settled=settled, texts=self.texts)

    def part(self, start: int, stop: int) -> Arrangement:
        """The items from one position to before another, to be rendered by themselves."""
        return Arrangement(self.items[start:stop], self.tokens, self.as_stored[start:stop])


@dataclass(frozen=True, slots=True)
class Presentation:
    """How the messages of a view are shown: what a plan says of it, and who reads it."""

    cuts: Mapping[str, Cut] = field(default_factory=dict)
    """By message id, how messages are shortened."""
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """By message id, what they come to then, with their thinking."""
    silent: AbstractSet[str] = frozenset()
    """The ids of messages whose thinking is left out."""
    notice: str = ""
    """A text to insert as a user's message."""
    notice_before: str = ""
    """The id of the message that it is put before; else it comes first."""
    gaps: Sequence[Gap] = ()
    """Where messages are left out; the notice takes the place of the marker before the same message."""
    reader: Reader = NOBODY
    """Who gets the view; what others made for themselves alone is left out."""
    wire: WireRules = TAKES_ALL
    """What the reader takes."""
    native: NativeItem | None = None
    """What stands in place of the older part, as the provider compacted it."""

    @classmethod
    def of(cls, plan: Plan | None, cut_tokens: Mapping[str, int], reader: Reader, wire: WireRules) -> Presentation:
        """How the views after a plan are shown, or those without one."""
        if plan is None:
            return cls(_NO_CUTS, _NO_TOKENS, reader=reader, wire=wire)
        gaps = plan.gaps or ()
        notice, before = plan.notice, plan.notice_before
        return cls(plan.cuts, cut_tokens, plan.silent, notice, before, gaps, reader, wire, plan.native)

    def is_that_of(self, other: Presentation) -> bool:
        """Whether both are made of the very same objects."""
        names = ("cuts", "cut_tokens", "silent", "notice", "notice_before", "gaps", "native")
        same = self.reader == other.reader and self.wire == other.wire
        return same and all(getattr(self, name) is getattr(other, name) for name in names)


_NO_CUTS: Mapping[str, Cut] = {}
_NO_TOKENS: Mapping[str, int] = {}
_AS_STORED = Presentation()


def arrange(
    entries: Iterable[Entry], count: Count, how: Presentation = _AS_STORED, *, after: Arrangement | None = None
) -> Arrangement:
    """Arrange a view: groups in order, each call answered, nothing before the first user's word but system text.

    Where the reader takes no answer as the last word (`wire`), a view that has one there ends with the line
    `[continued]` as a user's. The message that is appended next says so (`Entry.line_before`), and keeps the line.

    Args:
        entries: the kept entries, in the history's order.
        count: counts a message that is inserted.
        how: how they are shown.
        after: an arrangement made before with the same counter; where it began alike, only what came since is
            arranged, and what it inserted is not counted again. The same comes out.
    """
    entries, after = list(entries), after or Arrangement()
    settled = after.settled if after.settled and _goes_on(after.settled, entries, how) else None
    return _Arranger(count, how, settled, after.texts).arrange(entries)


class _Arranger:
    """Makes one arrangement: from nothing, or from the settled beginning of one that was made before."""

    def __init__(self, count: Count, how: Presentation, settled: _Settled | None, texts: Mapping[str, Item]) -> None:
        self._count, self._how, self._settled = count, how, settled
        self._items: list[Item] = list(settled.items) if settled else []
        self._as_stored: list[bool] = list(settled.as_stored) if settled else []
        self._call_ids = set(settled.call_ids) if settled else set()
        self._previous = settled.previous if settled else None
        self._answered = settled.answered if settled else False
        self._open_calls = set(settled.open_calls) if settled else set()
        self._wire, self._marks = how.wire, settled.marks if settled else 0
        self._known_texts = texts
        self._texts = dict(texts) if settled else {}

    def arrange(self, entries: list[Entry]) -> Arrangement:
        """Arrange the tool groups of entries; those of the settled beginning are arranged already."""
        settled, how, begun = self._settled, self._how, len(self._items)
        groups = tool_groups(entries[len(settled.entries) :] if settled else entries)
        renamed = unique_call_ids(groups, self._call_ids, self._wire)
        notice = _notice_position(groups, how.notice_before) if how.notice and settled is None else -1
        native = _first_talk(groups) if how.native is not None and settled is None else -1
        markers = {gap.before: gap.text for gap in how.gaps if not gap.after and gap.text} if settled is None else {}
        for position, group in enumerate(groups):
            head = group.head
            if position == native and how.native is not None:
                self._append(Item(inserted=how.native.message, tokens=how.native.tokens))
                self._previous, self._answered = head, True  # no word is put between an item and what follows it
            elif position == notice:
                self._insert_text(how.notice)
            elif head.id in markers:
                self._insert_text(markers[head.id])
            elif line := self._line_before(head):
                self._insert_line(line)
                self._answered = True  # a user's word follows the answer, whatever comes next
            elif head.role != "user" and needs_user_before(self._previous, head, answered=self._answered):
                self._insert_text(CONTINUED)
            if head.calls:
                self._add_calls(group, renamed)
            else:
                self._store(head, 0, (), None)
                if head.late or head.role not in INSTRUCTING:
                    self._previous, self._answered = head, False
        new, items = self._items[begun:], self._items
        tokens = sum(map(attrgetter("tokens"), new), settled.tokens if settled else 0)
        before = how.notice_before
        placed = settled or not how.notice or (before and any(entry.id == before for entry in entries))
        placed = placed and native < len(groups)
        if placed and not (groups and groups[newest_group(groups)].unanswered):
            settled = _Settled(
                settled.entries + entries[len(settled.entries) :] if settled else entries,
                how,
                items,
                self._as_stored,
                tokens,
                call_ids=frozenset(self._call_ids),
                open_calls=frozenset(self._open_calls),
                previous=self._previous,
                answered=self._answered,
                marks=self._marks,
            )
        if not how.wire.answer_last and self._ends_with_answer:
            self._items, self._as_stored = list(items), list(self._as_stored)
            self._insert_line(CONTINUED)
            return Arrangement(self._items, tokens + self._items[-1].tokens, self._as_stored, settled, self._texts)
        return Arrangement(items, tokens, self._as_stored, settled, self._texts)

    @property
    def _ends_with_answer(self) -> bool:
        """Whether what was arranged ends with an answer, but for system text, which providers move away."""
        return self._previous is not None and self._previous.role == "assistant" and not self._answered

    def _line_before(self, head: Entry) -> str:
        """The line that a view ended with before a message was appended to it, or had to; empty where it had none.

        Where the strict rules hold from the beginning, and no request may end with an answer, an answer after another
        one had the line.
        """
        if not self._ends_with_answer:
            return ""
        had_to = self._wire.strict and not self._wire.answer_last and head.role == "assistant"
        return head.line_before or (CONTINUED if had_to else "")

    def _add_calls(self, group: Group, renamed: Mapping[tuple[int, int], str]) -> None:
        """Add a message with calls and, right after it, one result for each of them."""
        head, count = group.head, self._count
        ids = [call.id for call in head.calls]
        changed: tuple[str, ...] = ()
        more = 0
        if renamed:
            ids = [renamed.get((head.ordinal, number), call_id) for number, call_id in enumerate(ids)]
            more = sum([_longer(count, call, call_id) for call_id, call in zip(ids, head.calls, strict=True)])
            changed = (
                tuple(ids) if any(call_id != call.id for call_id, call in zip(ids, head.calls, strict=True)) else ()
            )
        self._store(head, more, changed, None)
        for call_id, call, result in zip(ids, head.calls, group.results, strict=True):
            if result is None:
                self._append(self._inserted(stand_in(call_id, self._wire.name(call.name))))
                self._open_calls.add(call.id)
            else:
                named = result.named and call_id == call.id
                name = self._wire.name(call.name)
                more = 0 if named else _longer(count, call, call_id, name="" if result.named else name)
                self._store(result, more, (), (call_id, name))
        self._previous, self._answered = head, True

    def _insert_text(self, text: str) -> None:
        """Insert a user's message; many markers of gaps are the same text, which is made and counted once."""
        item = self._texts.get(text)
        if item is None:
            shown = well_formed(text)  # a plan may quote what cannot be sent
            item = self._known_texts.get(text) or self._inserted(
                inserted_message("user", shown), for_wire=shown is not text
            )
            self._texts[text] = item
        self._append(item)

    def _insert_line(self, text: str) -> None:
        """Insert the line that stands after an answer."""
        self._append(self._inserted(inserted_message("user", text), for_wire=True))

    def _inserted(self, message: Message, *, for_wire: bool = False) -> Item:
        return Item(inserted=message, tokens=self._count(message), wire=(self._wire, 0) if for_wire else None)

    def _append(self, item: Item) -> None:
        self._items.append(item)
        self._as_stored.append(False)

    def _store(self, entry: Entry, more: int, call_ids: tuple[str, ...], result: tuple[str, str] | None) -> None:
        """Add a stored message, whose call ids or name come to `more` tokens than its own."""
        cut: Cut | None = None
        tokens, silent, bare, as_stored = entry.tokens, False, "", entry.as_stored and not call_ids
        how = self._how
        if entry.bond is not None or entry.id in how.cuts or entry.id in how.silent:
            cut, silent, reader = how.cuts.get(entry.id), entry.id in how.silent, how.reader
            if cut is not None:
                tokens, as_stored = how.cut_tokens.get(entry.id, tokens), False
            if entry.bond is not None and reader.refuses(entry.bond):
                bare = "text" if reader.takes_plain_thinking else "all"
            if silent or bare:
                thinking = entry.thinking_tokens if silent or bare == "all" else 0
                silent, tokens = silent and thinking > 0, tokens - thinking
                as_stored = as_stored and not silent and not bare
        if result is not None and not (entry.named and result[0] == entry.result_of):
            as_stored = False
        wire = self._shown_for(entry, cut) if entry.odd is not None or cut is not None else None
        self._items.append(tuple.__new__(Item, (entry, cut, silent, bare, call_ids, result, None, tokens + more, wire)))
        self._as_stored.append(as_stored and wire is None)

    def _shown_for(self, entry: Entry, cut: Cut | None) -> tuple[WireRules, int] | None:
        """What a reader takes of a message that has something odd; None where it takes all of it."""
        odd = entry.odd or NOTHING_ODD
        marks = max(0, self._wire.cache_marks - self._marks)
        self._marks += odd.marks
        put_in = "" if cut is None else cut.instead + cut.then
        if odd.text or odd.marks > marks or well_formed(put_in) is not put_in:
            return self._wire, marks
        return (self._wire, marks) if any(self._wire.name(name) != name for name in odd.names) else None


def last_line(items: Sequence[Item]) -> str:
    """The line that a view ends with since its last word is an answer; empty where it has none."""
    last = items[-1] if items else None
    if last is None or last.inserted is None or last.wire is None:
        return ""
    return str(last.inserted["content"])


def _goes_on(settled: _Settled, entries: list[Entry], how: Presentation) -> bool:
    """Whether entries begin with those that were settled, are shown in the same way, and answer no call among them."""
    known = len(settled.entries)
    if not settled.how.is_that_of(how) or entries[:known] != settled.entries:
        return False
    return not _answer(settled.open_calls, entries[known:])


def _answer(open_calls: AbstractSet[str], later: Iterable[Entry]) -> bool:
    """Whether later entries answer an open call: a result answers the last call of its id that is not closed."""
    asked: set[str] = set()
    for entry in later if open_calls else ():
        if entry.result_of is not None:
            if entry.result_of in open_calls and entry.result_of not in asked:
                return True
        elif not entry.blank:
            asked.update(call.id for call in entry.calls if call.id not in entry.closed)
    return False


def _longer(count: Count, call: Call, call_id: str, *, name: str = "") -> int:
    """What another id of a call, and a name beside it, add to the tokens of a message."""
    if call_id == call.id and not name:
        return 0
    return count({"tool_call_id": call_id, "name": name}) - count({"tool_call_id": call.id})


def _notice_position(groups: Sequence[Group], before: str) -> int:
    """The group that a notice is put before: the named one, else the first that is no system text."""
    named = next((at for at, group in enumerate(groups) if any(e.id == before for e in group.entries())), None)
    if named is not None and before:
        return named
    return next((at for at, group in enumerate(groups) if not group.head.instructs), len(groups))


def _first_talk(groups: Sequence[Group]) -> int:
    """The first group that is no system text, nor stays so on the wire."""
    return next((at for at, group in enumerate(groups) if group.head.late or not group.head.instructs), len(groups))


INTERRUPTED = "[interrupted: this call has no result]"
CONTINUED = "[continued]"


def inserted_message(role: str, text: str, **keys: str) -> Message:
    """A message that exists only in views; its metadata says so."""
    return {"role": role, **keys, "content": text, "metadata": {"source": COMPACTION_SOURCE}}


def stand_in(call_id: str, name: str) -> Message:
    """The result of a call that has none."""
    return inserted_message("tool", INTERRUPTED, tool_call_id=call_id, name=name)
