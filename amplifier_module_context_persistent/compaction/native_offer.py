"""The part of a view that a provider may compact, and the plan that follows from the provider's item. Pure.

An item is the opaque result of a provider's own compaction. It replaces the beginning of a view, up to a cut. The last
message before the cut and the first message after it have different roles on the wire. If they had the same role, the
provider would join the two messages, and reasoning after the item would end (Claude docs, "Compaction and preserved
thinking"). No tool group is split, no call before the cut waits for a result, and the newest message of a person stays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..config import NATIVE, Config
from ..messages.message import Message
from ..view.arrangement import Arrangement, Item
from ..view.entry import INSTRUCTING, Entry
from ..view.missing_results import is_stand_in
from ..view.plan import NativeItem, Notice, Plan, counts_in
from ..view.tool_groups import last_human, tool_groups


@dataclass(frozen=True, slots=True)
class NativeOffer:
    """The beginning of a view, for the provider to compact."""

    messages: list[Message]
    """The messages to compact, with all system text of the view."""
    first_kept: int
    """The ordinal of the first message after the beginning."""
    basis: Hashable
    """Identifies the history and its plan. An item is valid only while history and plan are the same."""
    covers: int
    """The number of messages of the view that an item will replace, not counting the system text before these."""
    tokens: int
    """The tokens of the beginning, with head text, tool definitions and overhead."""
    seed: str
    """The hash of the request's tools and system text."""
    stands_for: tuple[str, ...]
    """The hashes of the messages that an item will replace; `NativeItem.stands_for` keeps them."""

    def item(self, message: Message, tokens: int, provider: str, model: str, usage: Mapping[str, Any]) -> ArrivedItem:
        """Build the item from the provider's answer to this offer.

        Args:
            message: the message that contains the item.
            tokens: the tokens of the message.
            provider: the provider that made the item.
            model: the model that made the item.
            usage: the usage that the provider reported.
        """
        item = NativeItem(
            provider=provider,
            model=model,
            message=message,
            tokens=tokens,
            covers=self.covers,
            seed=self.seed,
            stands_for=self.stands_for,
            usage=counts_in(usage),
        )
        return ArrivedItem(item, self.first_kept, self.basis)


@dataclass(frozen=True, slots=True)
class ArrivedItem:
    """The result of a provider's own compaction that has arrived and waits for the next plan."""

    item: NativeItem
    first_kept: int
    """The ordinal of the first message that the item does not replace."""
    basis: Hashable
    """Identifies the history and its plan at the time of the offer."""


@dataclass(frozen=True, slots=True)
class NativeTurn:
    """The state of a request's provider: whether it accepts items, and whether it can be asked for a new item."""

    refuses: Callable[[Message], str]
    """A function that returns why the provider does not accept an item; "" if it accepts the item."""
    ready: ArrivedItem | None = None
    """An item that has arrived and is in no plan yet; None if there is none."""
    may_ask: bool = False
    """Whether the provider can be asked for an item now."""
    runs: bool = False
    """Whether a request for an item is running."""
    failed: Hashable = None
    """The basis for which the provider gave no useful item, or None. The provider is not asked again until the basis
    changes."""


OTHER_STRATEGY = NativeTurn(lambda _item: "compaction_strategy is another one")
"""The state in a session that has another strategy now: items in its earlier plans are refused."""


def find_cut(arrangement: Arrangement, config: Config, budget_tokens: int, fixed_tokens: int) -> int | None:
    """Find the place where the provider's compaction of a view should end.

    At least the newest `protected_recent` of the target stays. The place is before the newest message of a person if
    compaction up to there frees enough tokens, and otherwise in the turn in progress.

    Args:
        arrangement: the view before the request.
        config: gives the shares of the budget, such as `protected_recent` and `native_start`.
        budget_tokens: the budget of the request.
        fixed_tokens: the tokens of the request that cannot be compacted.

    Returns:
        The position of the first message of the view that stays; None if no place frees enough.
    """
    items = arrangement.items
    recent_tokens = int(config.protected_recent * config.target_usage * budget_tokens)
    least_freed = max(1, int(config.compact_min_gain * budget_tokens))
    last_person = _last_person(items)
    open_from = _first_stand_in(items)  # a result may still arrive there
    kept_tokens = 0
    in_turn = None
    for position in range(len(items) - 1, 0, -1):
        kept_tokens += items[position].tokens
        is_recent = position >= open_from or kept_tokens < recent_tokens
        if is_recent or not _may_split(items[position - 1], items[position]):
            continue
        is_in_turn = position > last_person
        tokens_after = fixed_tokens + kept_tokens + config.native_max_tokens
        if is_in_turn:
            tokens_after += items[last_person].tokens
        freed = fixed_tokens + arrangement.tokens - tokens_after
        is_enough = freed >= least_freed and tokens_after + least_freed < config.native_start * budget_tokens
        if not is_in_turn:
            return position if is_enough else in_turn
        if is_enough and in_turn is None:
            in_turn = position
    return in_turn


def _last_person(items: Sequence[Item]) -> int:
    """Return the position of the newest message of a person; 0 if there is none."""
    positions = (at for at, item in enumerate(items) if item.entry is not None and item.entry.human)
    return max(positions, default=0)


def _first_stand_in(items: Sequence[Item]) -> int:
    """Return the position of the first stand-in for a missing result; the number of items if no item is a stand-in."""
    for position, item in enumerate(items):
        if is_stand_in(item.inserted):
            return position
    return len(items)


def _may_split(before: Item, after: Item) -> bool:
    """Return whether a cut may be between two adjacent messages of a view.

    The message after the cut is a user's or a model's message from the log, and the two have different wire roles.
    """
    entry = after.entry
    is_in_log = entry is not None and entry.ordinal >= 0
    if entry is None or not is_in_log or entry.role not in ("user", "assistant"):
        return False
    return {_wire_role(before), _wire_role(after)} == {"user", "assistant"}


def _wire_role(item: Item) -> str:
    """Return the role that a provider sees in a message.

    The role is `user` for results, and for late system text, which is shown as a user's reminder.
    """
    if item.entry is None:
        role = str((item.inserted or {}).get("role"))
    elif item.entry.role in INSTRUCTING:
        return "user" if item.entry.origin.late else item.entry.role
    else:
        role = item.entry.role
    return "user" if role in ("tool", "function") else role


def messages_to_compact(view: Sequence[Message], head: int, cut: int) -> list[Message]:
    """Return the messages that a provider gets for compaction.

    These are the first `head + cut` messages of a view, and all system messages of the rest. The system messages of the
    rest come right after those at the start of the view, because providers may put all system text first.

    Args:
        view: the rendered view.
        head: the number of system messages at the start of the view.
        cut: the number of messages to be compacted after the first `head` messages.
    """
    begin = view[: head + cut]
    rest = view[head + cut :]
    later_system = [message for message in rest if message.get("role") in INSTRUCTING]
    system_end = next((at for at, message in enumerate(begin) if message.get("role") not in INSTRUCTING), len(begin))
    return [*begin[:system_end], *later_system, *begin[system_end:]]


def kept_after(entries: Sequence[Entry], first_kept: int) -> list[Entry]:
    """Return the entries that a view keeps beside an item; an empty list if the first kept message is missing.

    The entry with the ordinal `first_kept` and all later entries are kept. Of the earlier entries, system text and
    groups with pins are kept, and the newest message of a person if no later entry is a message of a person. Earlier
    reminders of hooks within the conversation are not kept, because hooks repeat them.
    """
    at = next((position for position, entry in enumerate(entries) if entry.ordinal == first_kept), None)
    if at is None:
        return []
    before = entries[:at]
    after = entries[at:]
    groups = tool_groups(before)
    staying = set[int]()
    for group in groups:
        if any(entry.pinned for entry in group.entries()):
            staying |= {entry.ordinal for entry in group.entries()}
    question = last_human(groups)
    if question is not None and not any(entry.human for entry in after):
        staying |= {entry.ordinal for entry in groups[question].entries()}
    stays = list[Entry]()
    for entry in before:
        is_reminder = entry.origin.late and entry.origin.source == "hook"
        if entry.ordinal in staying or (entry.instructs and not is_reminder):
            stays.append(entry)
    return [*stays, *after]


def plan_with(
    item: NativeItem, before: Plan, staying_entries: Sequence[Entry], cut_tokens: Mapping[str, int], plan: Plan
) -> tuple[Plan, dict[str, int]]:
    """Make a plan that shows an item, and shows the kept entries as the previous plan did.

    Args:
        item: the item of the provider, which replaces the older part of the view.
        before: the previous plan.
        staying_entries: the entries that stay.
        cut_tokens: the tokens of the messages that the previous plan cuts, by message id.
        plan: a plan with an id, sizes and counts, to be completed.

    Returns:
        The completed plan, and the tokens of the messages that it cuts, by message id.
    """
    ids = [entry.id for entry in staying_entries if entry.id]
    staying_ids = frozenset(ids)
    making = replace(plan.making, strategy=NATIVE, step=before.making.step)
    cuts = {key: cut for key, cut in before.cuts.items() if key in staying_ids}
    first = _first_of_conversation(staying_entries)
    # The messages before which the plan may still name a gap. Before the first message, the item says what was there.
    gap_ends = staying_ids - {first}
    gaps = before.left_out.gaps
    if gaps is not None:
        gaps = tuple([gap for gap in gaps if gap.before in gap_ends])
    plan = replace(
        plan,
        keep=tuple(ids),
        cuts=cuts,
        silent=before.silent & staying_ids,
        media={key: numbers for key, numbers in before.media.items() if key in staying_ids},
        closed={key: calls for key, calls in before.closed.items() if key in staying_ids},
        left_out=replace(plan.left_out, hidden=before.left_out.hidden, gaps=gaps),
        notice=before.notice if before.notice.before in gap_ends else Notice(),
        making=making,
        rules=replace(plan.rules, no_recall=before.rules.no_recall),
        native=item,
    )
    return plan, {key: cut_tokens[key] for key in cuts if key in cut_tokens}


def _first_of_conversation(entries: Sequence[Entry]) -> str:
    """Return the id of the first entry after the system text at the beginning; "" if there is none."""
    for entry in entries:
        if entry.origin.late or not entry.instructs:
            return entry.id
    return ""
