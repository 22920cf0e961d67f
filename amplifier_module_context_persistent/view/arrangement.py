"""Arrange a view: choose its messages, their order and their form, and count its tokens.

`arrange` decides and counts, `render` writes the messages. Both are pure: the same history, plan and counter give the
same bytes in any process (I4), and between two plans a view is the last view plus the appended messages (I6).

A *tool group* is a message with the results of its calls. A *gap* is a run of messages that the plan leaves out; its
*marker* is the text that the view shows instead. A *cut* is the part of a shortened message that stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter, is_
from typing import NamedTuple

from ..messages.elide import Cut
from ..messages.message import Call, Message
from ..messages.narration import narration_of
from ..messages.text import well_formed
from .entry import INSTRUCTING, NO_REASONING, Entry
from .inserted_messages import CONTINUED, inserted_message
from .missing_results import stand_in
from .plan import NO_PLAN, NativeItem, Plan
from .recipients import FAMILIES, NOBODY, Recipient
from .tool_groups import Group, needs_user_before, tool_groups
from .unique_call_ids import unique_call_ids
from .wire_rules import TAKES_ALL, Oddities, WireRules

Count = Callable[[Message], int]
Fetch = Callable[[Sequence[Entry]], Iterable[Message]]


class Item(NamedTuple):
    """One message of a view.

    An item is a stored message, perhaps cut or with other call ids, or an inserted message.
    """

    entry: Entry | None = None
    cut: Cut | None = None
    silent: bool = False
    """Whether the thinking of the message is left out."""
    bare: str = ""
    """The content that is left out because it is bound to another provider: `all` of it; `text`: all but the text of
    thinking; "": nothing."""
    call_ids: tuple[str, ...] = ()
    """The ids of the message's calls in the view, or () if the view shows the stored ids."""
    result: tuple[str, str] | None = None
    """The id and the name of the call that a result answers; None for other messages."""
    inserted: Message | None = None
    tokens: int = 0
    wire: tuple[WireRules, int] | None = None
    """The reader's rules and the number of cache marks to keep; None if the rules change nothing in the message."""
    as_stored: bool = False
    """Whether the view shows the stored message unchanged."""
    narrates: bool = False
    """Whether the message's narration is shown if its thinking is not."""
    no_recall: bool = False
    """Whether the narration names no way to recall the thinking."""

    def narration(self, message: Message) -> str:
        """Return the text to show if the message's thinking is left out, or "" if there is no such text."""
        if not self.narrates or self.entry is None:
            return ""
        return narration_of(message, "" if self.no_recall else self.entry.id)


@dataclass(frozen=True, slots=True)
class Presentation:
    """Facts that decide how the messages of a view are shown: the plan that the view follows, and its reader."""

    plan: Plan = NO_PLAN
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """Tokens of each message that the plan cuts, after the cut and with its thinking, by message id."""
    reader: Recipient = NOBODY
    """The reader of the view. Content that is bound to another provider is left out."""
    wire: WireRules = TAKES_ALL
    """The reader's rules for messages."""


_AS_STORED = Presentation()


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The items of a view in order, and the sum of their tokens."""

    items: list[Item] = field(default_factory=list)
    tokens: int = 0
    made_by: Arranger | None = field(default=None, compare=False, repr=False)
    """The arranger that made the arrangement; the next view can continue from it."""


def unmovable_tokens(item: Item) -> int:
    """Return the tokens of a message that no plan may leave out: a pin, or system text that stays.

    Return 0 for others.
    """
    entry = item.entry
    if entry is None or not (entry.pinned or entry.stays):
        return 0
    return item.tokens


def same_items(old: Sequence[Item], new: Sequence[Item]) -> int:
    """Count the items at the start of two views that are identical objects."""
    if old is new:
        return len(new)
    alike = list(map(is_, old, new))
    return len(alike) if all(alike) else alike.index(False)


def arrange(
    entries: Iterable[Entry],
    count: Count,
    how: Presentation = _AS_STORED,
    *,
    after: Arrangement | None = None,
    groups: Sequence[Group] | None = None,
) -> Arrangement:
    """Arrange a view: groups in order, every call answered, only system text before the first user message.

    If the reader refuses a request that ends with an answer (`wire`), a view that would end so gets the user message
    `[continued]` at its end. The answer to that request records the line (`Origin.line_before`), and later views repeat
    the line there.

    Args:
        entries: the kept entries, in the history's order.
        count: counts the tokens of an inserted message.
        how: the plan and the reader.
        after: an earlier arrangement with the same counter. If the entries continue it, only the new ones are arranged,
            and its inserted texts are not counted again. It does not change the result.
        groups: the tool groups of the entries, if the caller has them.
    """
    entries = list(entries)
    if after is None or after.made_by is None:
        return Arranger(count, how).arrange(entries, groups)
    earlier = after.made_by
    if not earlier.goes_on_in(entries, how):
        return Arranger(count, how, known_texts=earlier.texts).arrange(entries, groups)
    later = entries[len(earlier.entries) :]
    return earlier.copy().arrange(later) if later else after


@dataclass(slots=True)
class Arranger:
    """The state while entries are arranged, one tool group after the other.

    Use an arranger once; `copy` continues it.
    """

    count: Count
    how: Presentation
    entries: list[Entry] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    tokens: int = 0
    call_ids: set[str] = field(default_factory=set)
    open_calls: set[str] = field(default_factory=set)
    """Ids of the calls whose result is a stand-in."""
    previous: Entry | None = None
    """The last message that is not system text."""
    answered: bool = False
    """Whether results or a user message follow `previous`."""
    marks: int = 0
    """Number of cache marks so far."""
    stays: bool = True
    """Whether the plan's inserted texts keep their places when messages are appended."""
    known_texts: Mapping[str, Item] = field(default_factory=dict)
    """User messages that the earlier arrangement inserted, by text."""
    texts: dict[str, Item] = field(default_factory=dict)
    """User messages that this arrangement inserted, by text."""

    def copy(self) -> Arranger:
        """Return a new arranger that continues after the last entry of this one."""
        return replace(self, items=self.items.copy(), call_ids=self.call_ids.copy(), open_calls=self.open_calls.copy())

    def goes_on_in(self, entries: list[Entry], how: Presentation) -> bool:
        """Return whether this arrangement can be continued to a list of entries.

        The list must begin with the entries arranged here, and the presentation must be equal. None of the later
        entries may be a late result for an earlier call.
        """
        arranged = len(self.entries)
        if not (self.stays and self.how == how and entries[:arranged] == self.entries):
            return False
        later = entries[arranged:]
        grouped = {entry.ordinal for group in tool_groups(later) for entry in group.entries()}
        answers_to_earlier_calls = (entry.result_of for entry in later if entry.ordinal not in grouped)
        return self.open_calls.isdisjoint(answers_to_earlier_calls)

    def arrange(self, entries: list[Entry], groups: Sequence[Group] | None = None) -> Arrangement:
        """Arrange the next entries, after the entries that were arranged before.

        `groups` are their tool groups if known.
        """
        groups = tool_groups(entries) if groups is None else groups
        first_new = len(self.items)
        native, inserted = self._places(groups) if not self.entries else (-1, {})
        renamed = unique_call_ids(groups, self.call_ids, self.how.wire)
        wants_user = self._wants_user
        stores_lines = self.how.wire.stored_lines
        for position, group in enumerate(groups):
            head = group.head
            if position == native and self.how.plan.native is not None:
                self._insert_native(self.how.plan.native, head)
            elif position in inserted:
                self._insert_text(inserted[position])
            elif stores_lines and (line := self._line_before(head)):
                self.items.append(self._line(line))
                self.answered = True  # a user message follows the answer
            elif wants_user and needs_user_before(self.previous, head, answered=self.answered):
                self._insert_text(CONTINUED)
            if head.calls:
                self._add_calls(group, renamed)
            else:
                self._store(head, 0, (), None)
                if head.origin.late or head.role not in INSTRUCTING:
                    self.previous = head
                    self.answered = False
        self.tokens += sum(map(attrgetter("tokens"), self.items[first_new:]))
        self.entries = self.entries + entries
        if not self.how.wire.answer_last and self._ends_with_answer:
            last = self._line(CONTINUED)
            return Arrangement([*self.items, last], self.tokens + last.tokens, self)
        return Arrangement(self.items, self.tokens, self)

    def _insert_native(self, item: NativeItem, next_head: Entry) -> None:
        """Insert the item of a provider's compaction.

        No user message is inserted between the item and the next message.
        """
        self.items.append(Item(inserted=item.message, tokens=item.tokens))
        self.previous = next_head
        self.answered = True

    def _places(self, groups: Sequence[Group]) -> tuple[int, dict[int, str]]:
        """Return the places of the plan's insertions. A place is the position of the group that follows.

        The first value is the place of the provider's item, or -1 without an item. The second value has the inserted
        texts by place.
        """
        plan = self.how.plan
        markers = {gap.before: gap.text for gap in plan.left_out.gaps or () if not gap.after and gap.text}
        texts = {at: markers[group.head.id] for at, group in enumerate(groups) if group.head.id in markers}
        if plan.notice.text:
            place = _group_with(plan.notice.before, groups)
            self.stays = place is not None
            if place is None:
                place = _after_system_text(groups)
            texts[place] = plan.notice.text  # replaces a marker at this place
        if plan.native is None:
            return -1, texts
        native_place = _first_of_conversation(groups)
        if native_place is None:
            self.stays = False
            native_place = len(groups)
        return native_place, texts

    @property
    def _wants_user(self) -> bool:
        """Whether missing user messages are inserted.

        None are inserted if no reader is named and no plan is followed.
        """
        return self.how.wire.user_first or self.how.plan is not NO_PLAN

    @property
    def _ends_with_answer(self) -> bool:
        """Whether the last message is an answer.

        System text at the end does not count, since providers move it elsewhere.
        """
        return self.previous is not None and self.previous.role == "assistant" and not self.answered

    def _line_before(self, head: Entry) -> str:
        """Return the `[continued]` line to show before a message, or "" if none is stored and the rules need none.

        Only for a reader whose views repeat stored lines (`WireRules.stored_lines`).
        """
        wire = self.how.wire
        if not self._ends_with_answer:
            return ""
        if wire.line_between and head.role == "assistant":
            return head.origin.line_before or CONTINUED
        return head.origin.line_before

    def _add_calls(self, group: Group, renamed: Mapping[tuple[int, int], str]) -> None:
        """Add a message with calls and, right after it, one result for each call.

        Args:
            group: the message and its results.
            renamed: new ids of calls, by the ordinal of the message and the number of the call.
        """
        head = group.head
        stored_ids = tuple([call.id for call in head.calls])
        ids = stored_ids
        more_tokens = 0
        if renamed:
            ids = tuple([renamed.get((head.ordinal, number), call_id) for number, call_id in enumerate(stored_ids)])
            more_tokens = sum([self._longer(call, call_id) for call, call_id in zip(head.calls, ids, strict=True)])
        self._store(head, more_tokens, ids if ids != stored_ids else (), None)
        for call_id, call, result in zip(ids, head.calls, group.results, strict=True):
            name = self.how.wire.name(call.name)
            if result is None:
                self.items.append(self._inserted(stand_in(call_id, name)))
                self.open_calls.add(call.id)
                continue
            self.open_calls.discard(call.id)  # a result answers the last call of its id
            new_name = "" if result.form.named else name
            self._store(result, self._longer(call, call_id, new_name), (), (call_id, name))
        self.previous = head
        self.answered = True

    def _insert_text(self, text: str) -> None:
        """Insert a user message. Many gap markers have the same text, so each text is made and counted once."""
        item = self.texts.get(text) or self.known_texts.get(text)
        if item is None:
            sent_text = well_formed(text)  # a plan may quote what cannot be sent
            item = self._inserted(inserted_message("user", sent_text), for_wire=sent_text is not text)
        self.texts[text] = item
        self.items.append(item)

    def _line(self, text: str) -> Item:
        """Make a line to show after an answer."""
        return self._inserted(inserted_message("user", text), for_wire=True)

    def _inserted(self, message: Message, *, for_wire: bool = False) -> Item:
        return Item(inserted=message, tokens=self.count(message), wire=(self.how.wire, 0) if for_wire else None)

    def _store(self, entry: Entry, more_tokens: int, call_ids: tuple[str, ...], result: tuple[str, str] | None) -> None:
        """Add a stored message.

        Args:
            entry: the message.
            more_tokens: the tokens that its new call ids or name add.
            call_ids: `Item.call_ids`.
            result: `Item.result`.
        """
        plan = self.how.plan
        reasoning = entry.reasoning
        cut = plan.cuts.get(entry.id)
        tokens = entry.tokens if cut is None else self.how.cut_tokens.get(entry.id, entry.tokens)
        bare = ""
        narrates = silent = no_recall = False
        if reasoning is not NO_REASONING:
            if reasoning.bond is not None:  # else nothing of the message is bound to a reader
                bare = self._bare(entry)
                narrates = self._narrates(entry)
            drops_thinking = entry.id in plan.silent
            if drops_thinking or bare == "all":
                tokens -= reasoning.tokens
            if narrates and (drops_thinking or bare):
                tokens += reasoning.narration_tokens
            silent = drops_thinking and reasoning.tokens > 0
            no_recall = narrates and plan.rules.no_recall
        wire = None
        if entry.form.odd is not None or cut is not None:
            wire = self._shown_for(entry, cut)
        as_stored = not (cut or silent or bare or call_ids or wire) and entry.as_stored
        if result is not None and not (entry.form.named and result[0] == entry.result_of):
            as_stored = False
        tokens += more_tokens
        self.items.append(
            Item(entry, cut, silent, bare, call_ids, result, None, tokens, wire, as_stored, narrates, no_recall)
        )

    def _bare(self, entry: Entry) -> str:
        """Return the value of `Item.bare` for a message: which of its bound content is left out; "" if none is."""
        reader = self.how.reader
        bond = entry.reasoning.bond
        if bond is None or not reader.refuses(bond):
            return ""
        return "all" if reader.family in FAMILIES else "text"  # providers that sign refuse unsigned thinking

    def _narrates(self, entry: Entry) -> bool:
        """Return whether the words between a message's tool calls stay without its thinking (`Item.narrates`)."""
        reasoning = entry.reasoning
        if not self.how.plan.rules.narrates or not reasoning.narration_tokens or reasoning.bond is None:
            return False
        return self.how.reader.is_narrated(reasoning.bond)

    def _shown_for(self, entry: Entry, cut: Cut | None) -> tuple[WireRules, int] | None:
        """Return `Item.wire`: the reader's rules and the number of cache marks that the message may keep.

        Return None if the message breaks no rule.
        """
        wire = self.how.wire
        odd = entry.form.odd or Oddities()
        marks_left = max(0, wire.cache_marks - self.marks)
        self.marks += odd.marks
        cut_text = "" if cut is None else cut.instead + cut.then
        breaks_a_rule = (
            odd.text
            or odd.marks > marks_left
            or well_formed(cut_text) is not cut_text
            or any(wire.name(name) != name for name in odd.names)
            or (odd.types and wire.true_types)
        )
        if not breaks_a_rule:
            return None
        return wire, marks_left

    def _longer(self, call: Call, call_id: str, name: str = "") -> int:
        """Return the number of tokens that a new call id, and a tool name, add to a message."""
        if call_id == call.id and not name:
            return 0
        return self.count({"tool_call_id": call_id, "name": name}) - self.count({"tool_call_id": call.id})


def _group_with(message_id: str, groups: Sequence[Group]) -> int | None:
    """Return the position of the group with a message, or None if no group has it, or the id is ""."""
    if not message_id:
        return None
    for at, group in enumerate(groups):
        if group.head.id == message_id:
            return at
        for result in group.results:
            if result is not None and result.id == message_id:
                return at
    return None


def _after_system_text(groups: Sequence[Group]) -> int:
    """Return the position of the first group that is not system text, or the end."""
    return next((at for at, group in enumerate(groups) if not group.head.instructs), len(groups))


def _first_of_conversation(groups: Sequence[Group]) -> int | None:
    """Return the position of the first message that is not sent as system text, or None if there is none."""
    for at, group in enumerate(groups):
        if group.head.origin.late or not group.head.instructs:
            return at
    return None


def turn_start(items: Sequence[Item]) -> int:
    """Return the position of the last human message, which begins the current turn, or 0 if there is none."""
    for position in reversed(range(len(items))):
        entry = items[position].entry
        if entry is not None and entry.human:
            return position
    return 0


def last_line(items: Sequence[Item]) -> str:
    """Return the `[continued]` line after the answer that ends a view, or "" if the view has no such line."""
    last = items[-1] if items else None
    if last is None or last.inserted is None or last.wire is None:
        return ""
    return str(last.inserted["content"])
