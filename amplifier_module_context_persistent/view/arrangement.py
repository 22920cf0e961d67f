"""Arranging a view: which messages it has, in what order, how each is shown, and what they come to in tokens.

`arrange` decides and counts, `render` writes; both are pure, so the same history, plan and counter give the same bytes
in any process (I4), and a view between two plans is the one before it with what was appended (I6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter, is_
from typing import NamedTuple

from ..messages.elide import Cut
from ..messages.message import Call, Message
from ..messages.text import well_formed
from .calls_and_results import Group, needs_user_before, tool_groups, unique_call_ids
from .entry import INSTRUCTING, Entry
from .inserted_messages import CONTINUED, inserted_message, stand_in
from .plan import NO_PLAN, Plan
from .recipients import FAMILIES, NOBODY, Recipient
from .wire_rules import TAKES_ALL, Oddities, WireRules

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
    as_stored: bool = False
    """Whether it is handed out as it was stored."""
    narrates: bool = False
    """Whether its narration is shown if its thinking is not."""


@dataclass(frozen=True, slots=True)
class Presentation:
    """How the messages of a view are shown: the plan that it follows, and who reads it."""

    plan: Plan = NO_PLAN
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """By message id, what the messages come to that the plan cuts, with their thinking."""
    reader: Recipient = NOBODY
    """Who gets the view; what others made for themselves alone is left out."""
    wire: WireRules = TAKES_ALL
    """What the reader takes."""


_AS_STORED = Presentation()


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The items of a view in order, and what they come to."""

    items: list[Item] = field(default_factory=list)
    tokens: int = 0
    made_by: Arranger | None = field(default=None, compare=False, repr=False)
    """What arranged it; the next view goes on from there."""


def unmovable_tokens(item: Item) -> int:
    """The tokens of a message that no plan takes away, as of system text that stays and of a pin; else 0."""
    entry = item.entry
    return item.tokens if entry is not None and (entry.pinned or entry.stays) else 0


def same_items(old: Sequence[Item], new: Sequence[Item]) -> int:
    """How many items two views begin with that are the very same objects."""
    if old is new:
        return len(new)
    alike = list(map(is_, old, new))
    return len(alike) if all(alike) else alike.index(False)


def arrange(
    entries: Iterable[Entry], count: Count, how: Presentation = _AS_STORED, *, after: Arrangement | None = None
) -> Arrangement:
    """Arrange a view: groups in order, each call answered, nothing before the first user's word but system text.

    If the reader takes no answer as the last word (`wire`), a view that has one there ends with the line `[continued]`
    as a user's. The answer to that request says so (`Origin.line_before`), and later views show the line before it.

    Args:
        entries: the kept entries, in the history's order.
        count: counts a message that is inserted.
        how: how they are shown.
        after: an arrangement made before with the same counter; where it began alike, only what came since is
            arranged, and what it inserted is not counted again. The same comes out.
    """
    entries, begun = list(entries), after.made_by if after is not None else None
    if after is not None and begun is not None and begun.goes_on_in(entries, how):
        later = entries[len(begun.entries) :]
        return begun.copy().arrange(later) if later else after
    return Arranger(count, how, known_texts=begun.texts if begun is not None else {}).arrange(entries)


@dataclass(slots=True)
class Arranger:
    """Arranges entries, tool group by tool group. It is used once; what goes on after it goes on with a copy."""

    count: Count
    how: Presentation
    entries: list[Entry] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    tokens: int = 0
    call_ids: set[str] = field(default_factory=set)
    open_calls: set[str] = field(default_factory=set)
    """The ids of calls with stand-ins in place of their results."""
    previous: Entry | None = None
    """The last message that is no system text,"""
    answered: bool = False
    """and whether results or a user's word follow it."""
    marks: int = 0
    """The cache marks so far."""
    stays: bool = True
    """Whether what the plan inserts stands where it will stand whatever is appended."""
    known_texts: Mapping[str, Item] = field(default_factory=dict)
    """By text, the user's messages that an arrangement before inserted,"""
    texts: dict[str, Item] = field(default_factory=dict)
    """and this one."""

    def copy(self) -> Arranger:
        """One that goes on where this one ended."""
        return replace(self, items=self.items.copy(), call_ids=self.call_ids.copy(), open_calls=self.open_calls.copy())

    def goes_on_in(self, entries: list[Entry], how: Presentation) -> bool:
        """Whether entries begin with those arranged here, are shown in the same way, and answer no call among them."""
        known = len(self.entries)
        alike = self.stays and self.how == how and entries[:known] == self.entries
        later = entries[known:]
        answers = {entry.ordinal for group in tool_groups(later) for entry in group.entries()}
        late = (entry.result_of for entry in later if entry.ordinal not in answers)
        return alike and self.open_calls.isdisjoint(late)

    def arrange(self, entries: list[Entry]) -> Arrangement:
        """Arrange what comes next."""
        groups, begun = tool_groups(entries), len(self.items)
        native, inserted = self._places(groups) if not self.entries else (-1, {})
        renamed = unique_call_ids(groups, self.call_ids, self.how.wire)
        for position, group in enumerate(groups):
            head = group.head
            if position == native and (item := self.how.plan.native) is not None:
                self.items.append(Item(inserted=item.message, tokens=item.tokens))
                self.previous, self.answered = head, True  # no word is put between an item and what follows it
            elif position in inserted:
                self._insert_text(inserted[position])
            elif line := self._line_before(head):
                self.items.append(self._line(line))
                self.answered = True  # a user's word follows the answer, whatever comes next
            elif self._wants_user and needs_user_before(self.previous, head, answered=self.answered):
                self._insert_text(CONTINUED)
            if head.calls:
                self._add_calls(group, renamed)
            else:
                self._store(head, 0, (), None)
                if head.origin.late or head.role not in INSTRUCTING:
                    self.previous, self.answered = head, False
        self.tokens += sum(map(attrgetter("tokens"), self.items[begun:]))
        self.entries = self.entries + entries
        if not self.how.wire.answer_last and self._ends_with_answer:
            last = self._line(CONTINUED)
            return Arrangement([*self.items, last], self.tokens + last.tokens, self)
        return Arrangement(self.items, self.tokens, self)

    def _places(self, groups: Sequence[Group]) -> tuple[int, dict[int, str]]:
        """Before which groups a plan inserts a provider's item, and texts.

        The notice comes before its message, in place of a marker there, or before the first that is no system text.
        """
        plan, native = self.how.plan, -1
        markers = {gap.before: gap.text for gap in plan.gaps or () if not gap.after and gap.text}
        placed = {at: markers[group.head.id] for at, group in enumerate(groups) if group.head.id in markers}
        if plan.notice:
            heads = (at for at, group in enumerate(groups) if not group.head.instructs)
            named = (at for at, group in enumerate(groups) if any(e.id == plan.notice_before for e in group.entries()))
            at = next(named, None) if plan.notice_before else None
            self.stays = at is not None
            placed[next(heads, len(groups)) if at is None else at] = plan.notice
        if plan.native is not None:  # also before system text that does not stay so on the wire
            talk = (at for at, group in enumerate(groups) if group.head.origin.late or not group.head.instructs)
            native = next(talk, len(groups))
            self.stays = self.stays and native < len(groups)
        return native, placed

    @property
    def _wants_user(self) -> bool:
        """Whether a user's word is put in where there is none: not in a history that is shown whole to nobody."""
        return self.how.wire.user_first or self.how.plan is not NO_PLAN

    @property
    def _ends_with_answer(self) -> bool:
        """Whether what was arranged ends with an answer, but for system text, which providers move away."""
        return self.previous is not None and self.previous.role == "assistant" and not self.answered

    def _line_before(self, head: Entry) -> str:
        """The line that a request ended with before a message was appended to it, or had to; "" if it had none."""
        wire = self.how.wire
        if not self._ends_with_answer or not wire.stored_lines:
            return ""
        had_to = wire.line_between and head.role == "assistant"
        return head.origin.line_before or (CONTINUED if had_to else "")

    def _add_calls(self, group: Group, renamed: Mapping[tuple[int, int], str]) -> None:
        """Add a message with calls and, right after it, one result for each of them."""
        head, own = group.head, tuple(call.id for call in group.head.calls)
        ids = tuple(renamed.get((head.ordinal, number), call_id) for number, call_id in enumerate(own))
        more = sum(self._longer(call, call_id) for call, call_id in zip(head.calls, ids, strict=True))
        self._store(head, more, ids if ids != own else (), None)
        for call_id, call, result in zip(ids, head.calls, group.results, strict=True):
            name = self.how.wire.name(call.name)
            if result is None:
                self.items.append(self._inserted(stand_in(call_id, name)))
                self.open_calls.add(call.id)
            else:
                self.open_calls.discard(call.id)  # a result answers the last call of its id
                self._store(result, self._longer(call, call_id, "" if result.form.named else name), (), (call_id, name))
        self.previous, self.answered = head, True

    def _insert_text(self, text: str) -> None:
        """Insert a user's message; many markers of gaps are the same text, which is made and counted once."""
        if (item := self.texts.get(text) or self.known_texts.get(text)) is None:
            shown = well_formed(text)  # a plan may quote what cannot be sent
            item = self._inserted(inserted_message("user", shown), for_wire=shown is not text)
        self.texts[text] = item
        self.items.append(item)

    def _line(self, text: str) -> Item:
        """The line that stands after an answer."""
        return self._inserted(inserted_message("user", text), for_wire=True)

    def _inserted(self, message: Message, *, for_wire: bool = False) -> Item:
        return Item(inserted=message, tokens=self.count(message), wire=(self.how.wire, 0) if for_wire else None)

    def _store(self, entry: Entry, more: int, call_ids: tuple[str, ...], result: tuple[str, str] | None) -> None:
        """Add a stored message, whose call ids or name come to `more` tokens than its own."""
        plan, reader, bare = self.how.plan, self.how.reader, ""
        cut, silent = plan.cuts.get(entry.id), entry.id in plan.silent
        tokens = more + (entry.tokens if cut is None else self.how.cut_tokens.get(entry.id, entry.tokens))
        if entry.reasoning.bond is not None and reader.refuses(entry.reasoning.bond):
            bare = "all" if reader.family in FAMILIES else "text"  # who signs refuses what is unsigned
        narrates = bool(
            plan.narrates
            and entry.reasoning.narration_tokens
            and entry.reasoning.bond
            and reader.is_narrated(entry.reasoning.bond)
        )
        if silent or bare:
            thinking = entry.reasoning.tokens if silent or bare == "all" else 0
            silent, tokens = silent and thinking > 0, tokens - thinking + narrates * entry.reasoning.narration_tokens
        wire = self._shown_for(entry, cut) if entry.form.odd is not None or cut is not None else None
        as_stored = entry.as_stored and not (cut or silent or bare or call_ids or wire)
        if result is not None and not (entry.form.named and result[0] == entry.result_of):
            as_stored = False
        self.items.append(Item(entry, cut, silent, bare, call_ids, result, None, tokens, wire, as_stored, narrates))

    def _shown_for(self, entry: Entry, cut: Cut | None) -> tuple[WireRules, int] | None:
        """What a reader takes of a message that has something odd; None where it takes all of it."""
        odd = entry.form.odd or Oddities()
        marks = max(0, self.how.wire.cache_marks - self.marks)
        self.marks += odd.marks
        put_in = "" if cut is None else cut.instead + cut.then
        is_odd = odd.text or odd.marks > marks or well_formed(put_in) is not put_in
        is_odd = is_odd or any(self.how.wire.name(name) != name for name in odd.names)
        is_odd = is_odd or (odd.types and self.how.wire.true_types)
        return (self.how.wire, marks) if is_odd else None

    def _longer(self, call: Call, call_id: str, name: str = "") -> int:
        """What another id of a call, and a name beside it, add to the tokens of a message."""
        if call_id == call.id and not name:
            return 0
        return self.count({"tool_call_id": call_id, "name": name}) - self.count({"tool_call_id": call.id})


def turn_start(items: Sequence[Item]) -> int:
    """Where the last person's message stands, with which the turn in progress begins; the beginning without one."""
    humans = (at for at in reversed(range(len(items))) if (entry := items[at].entry) is not None and entry.human)
    return next(humans, 0)


def last_line(items: Sequence[Item]) -> str:
    """The line that a view ends with since its last word is an answer; empty where it has none."""
    last = items[-1] if items else None
    if last is None or last.inserted is None or last.wire is None:
        return ""
    return str(last.inserted["content"])
