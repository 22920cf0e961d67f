"""The part of a view that a provider may compact, and the plan that follows from the provider's item. Pure.

The item replaces the beginning of a view. The last message before the cut and the first one after it have different
roles on the wire: else the provider would join the two, and reasoning after the item would end (Claude docs,
"Compaction and preserved thinking"). No tool group is split, no call in the beginning waits for a result, and the
person's last message stays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..config import NATIVE, Config
from ..messages.message import Message
from ..view.arrangement import Arrangement, Item
from ..view.calls_and_results import last_human, tool_groups
from ..view.entry import INSTRUCTING, Entry
from ..view.inserted_messages import INTERRUPTED
from ..view.plan import NativeItem, Notice, Plan, counts_in


@dataclass(frozen=True, slots=True)
class NativeOffer:
    """The beginning of a view, for the provider to compact."""

    messages: list[Message]
    """It, with all system text of the view."""
    first_kept: int
    """The ordinal of the first message after it."""
    basis: Hashable
    """The recipient for which an item is valid."""
    covers: int
    tokens: int
    seed: str
    stands_for: tuple[str, ...]

    def item(self, message: Message, tokens: int, provider: str, model: str, usage: Mapping[str, Any]) -> ArrivedItem:
        """Build the item from the provider's answer to this offer."""
        return ArrivedItem(
            NativeItem(provider, model, message, tokens, self.covers, self.seed, self.stands_for, counts_in(usage)),
            self.first_kept,
            self.basis,
        )


@dataclass(frozen=True, slots=True)
class ArrivedItem:
    """An item that arrived, for the next plan."""

    item: NativeItem
    first_kept: int
    basis: Hashable


@dataclass(frozen=True, slots=True)
class NativeTurn:
    """The abilities of a request's provider with items."""

    refuses: Callable[[Message], str]
    """Why it does not accept an item; empty if it does."""
    ready: ArrivedItem | None = None
    may_ask: bool = False
    """Whether it can be asked for an item now."""
    runs: bool = False
    """Whether it is being asked."""
    failed: Hashable = None
    """The basis on which it gave none: it is asked again after the next plan."""


LETS_GO = NativeTurn(lambda _item: "compaction_strategy is another one")
"""The abilities in a session with another strategy, whose earlier plan may have an item."""


def cut_of(arrangement: Arrangement, config: Config, budget_tokens: int, fixed_tokens: int) -> int | None:
    """The position of the first item that stays, with at least the newest `protected_recent` of the target.

    It is before the person's last message if an item of that part saves enough; else in the turn in progress. None if
    there is no such place either.
    """
    items = arrangement.items
    recent_tokens = int(config.protected_recent * config.target_usage * budget_tokens)
    least_freed = max(1, int(config.compact_min_gain * budget_tokens))
    last_person = _last_person(items)
    open_from = _first_stand_in(items)  # a result may still come there
    kept_tokens, in_turn = 0, None
    for position in range(len(items) - 1, 0, -1):
        kept_tokens += items[position].tokens
        is_recent = position >= open_from or kept_tokens < recent_tokens
        if is_recent or not _parts(items[position - 1], items[position]):
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
    """The position of a person's last message; 0 if there is none."""
    positions = (at for at, item in enumerate(items) if item.entry is not None and item.entry.human)
    return max(positions, default=0)


def _first_stand_in(items: Sequence[Item]) -> int:
    """The position of the first stand-in for a missing result; behind the end if there is none."""
    for position, item in enumerate(items):
        if item.inserted and item.inserted.get("content") == INTERRUPTED:
            return position
    return len(items)


def _parts(before: Item, after: Item) -> bool:
    """Whether the view may be parted between two items."""
    sides = _wire_role(before), _wire_role(after)
    return (
        after.entry is not None
        and after.entry.ordinal >= 0
        and after.entry.role in ("user", "assistant")
        and {*sides} == {"user", "assistant"}
    )


def _wire_role(item: Item) -> str:
    """The role that a provider sees; results are a user's. Late system text is shown as a user's reminder."""
    if item.entry is None:
        role = str((item.inserted or {}).get("role"))
    elif item.entry.role in INSTRUCTING:
        return "user" if item.entry.origin.late else item.entry.role
    else:
        role = item.entry.role
    return "user" if role in ("tool", "function") else role


def offered(view: Sequence[Message], head: int, cut: int) -> list[Message]:
    """The messages of a view to be compacted, and later system text: providers may send it first.

    Args:
        view: the rendered view.
        head: the number of messages of system text at its beginning.
        cut: the number of messages after these to be compacted.
    """
    begin, rest = list(view[: head + cut]), view[head + cut :]
    later = [message for message in rest if message.get("role") in INSTRUCTING]
    first = next((at for at, message in enumerate(begin) if message.get("role") not in INSTRUCTING), len(begin))
    return [*begin[:first], *later, *begin[first:]]


def kept_after(entries: Sequence[Entry], first_kept: int) -> list[Entry]:
    """The entries that stay: all from the first kept one on; before it system text, pins and the last question.

    Later reminders of hooks go into the item, because hooks repeat them.
    """
    at = next((position for position, entry in enumerate(entries) if entry.ordinal == first_kept), None)
    if at is None:
        return []
    before, after = entries[:at], entries[at:]
    groups = tool_groups(before)
    held = set[int]()
    for group in groups:
        if any(entry.pinned for entry in group.entries()):
            held |= {entry.ordinal for entry in group.entries()}
    question = last_human(groups)
    if question is not None and not any(entry.human for entry in after):
        held |= {entry.ordinal for entry in groups[question].entries()}
    stays = list[Entry]()
    for entry in before:
        is_reminder = entry.origin.late and entry.origin.source == "hook"
        if entry.ordinal in held or (entry.instructs and not is_reminder):
            stays.append(entry)
    return [*stays, *after]


def plan_with(
    item: NativeItem, before: Plan, kept: Sequence[Entry], cut_tokens: Mapping[str, int], plan: Plan
) -> tuple[Plan, dict[str, int]]:
    """The plan that shows an item, and shows the kept entries in the same form as the plan before.

    Args:
        item: the item.
        before: the plan before.
        kept: the entries that stay.
        cut_tokens: the tokens of the plan's cut messages.
        plan: has an id, sizes and counts; the rest is filled in.
    """
    ids = [entry.id for entry in kept if entry.id]
    named = frozenset(ids)
    making = replace(plan.making, strategy=NATIVE, step=before.making.step)
    first = next((entry.id for entry in kept if entry.origin.late or not entry.instructs), "")
    cuts = {key: cut for key, cut in before.cuts.items() if key in named}
    gaps = before.left_out.gaps
    gaps = gaps and tuple(gap for gap in gaps if gap.before in named and gap.before != first)
    shows_notice = before.notice.before in named and before.notice.before != first
    plan = replace(
        plan,
        keep=tuple(ids),
        cuts=cuts,
        silent=before.silent & named,
        media={key: numbers for key, numbers in before.media.items() if key in named},
        closed={key: calls for key, calls in before.closed.items() if key in named},
        left_out=replace(plan.left_out, hidden=before.left_out.hidden, gaps=gaps),
        notice=before.notice if shows_notice else Notice(),
        making=making,
        rules=replace(plan.rules, no_recall=before.rules.no_recall),
        native=item,
    )
    return plan, {key: cut_tokens[key] for key in cuts if key in cut_tokens}
