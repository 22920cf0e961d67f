"""The view: what one request gets, arranged from entries and a plan, then rendered from the messages themselves.

`arrange` decides and counts, `render` writes; both are pure, so the same history, plan and counter give the same bytes
in any process (I4), and a view between two plans is the one before it with what was appended (I6).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from ..messages.elide import Cut, elide_message
from ..messages.message import Call, Message, without_thinking
from ..messages.metadata import COMPACTION_SOURCE
from ..messages.normalize import normalise
from ..messages.reminder import as_reminder
from .entry import Entry
from .rules import Group, needs_user_before, tool_groups, unique_call_ids

INTERRUPTED = "[interrupted: this call has no result]"
CONTINUED = "[continued]"

Count = Callable[[Message], int]
Fetch = Callable[[Sequence[Entry]], Iterable[Message]]


@dataclass(frozen=True, slots=True)
class Item:
    """One message of a view: a stored one (perhaps cut, its call ids renamed), or one that is inserted."""

    entry: Entry | None = None
    cut: Cut | None = None
    silent: bool = False
    """Whether its thinking is left out."""
    call_ids: tuple[str, ...] = ()
    """A message with calls: the ids that they have in the view, where they differ from their own."""
    result: tuple[str, str] | None = None
    """A result: the id and the name of the call that it answers."""
    inserted: Message | None = None
    tokens: int = 0

    @property
    def as_stored(self) -> bool:
        """Whether it is handed out as it was stored."""
        entry = self.entry
        if entry is None or not entry.plain or entry.late or entry.offload is not None:
            return False
        if self.cut is not None or self.silent or self.call_ids:
            return False
        return self.result is None or (entry.named and self.result[0] == entry.result_of)


@dataclass(frozen=True, slots=True)
class _Settled:
    """The beginning of an arrangement that nothing appended can change: every call in it has its result."""

    entries: list[Entry]
    how: tuple[object, ...]
    items: list[Item]
    as_stored: list[bool]
    tokens: int
    call_ids: frozenset[str]
    previous: Entry | None
    answered: bool


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The items of a view in order, and what they come to."""

    items: list[Item] = field(default_factory=list)
    tokens: int = 0
    as_stored: list[bool] = field(default_factory=list, compare=False, repr=False)
    """By item, whether it is handed out as it was stored."""
    settled: _Settled | None = field(default=None, compare=False, repr=False)


def arrange(
    entries: Iterable[Entry],
    count: Count,
    *,
    cuts: Mapping[str, Cut] | None = None,
    cut_tokens: Mapping[str, int] | None = None,
    silent: AbstractSet[str] = frozenset(),
    notice: str = "",
    notice_before: str = "",
    after: Arrangement | None = None,
) -> Arrangement:
    """Arrange a view: groups in order, each call answered, nothing before the first user's word but system text.

    Args:
        entries: the kept entries, in the history's order.
        count: counts a message that is inserted.
        cuts: by message id, how messages are shortened.
        cut_tokens: by message id, what they come to then, with their thinking.
        silent: the ids of messages whose thinking is left out.
        notice: a text to insert as a user's message.
        notice_before: the id of the message that it is put before; else it stands in front.
        after: an arrangement made before; where it began alike, only what came since is arranged. The same comes out.
    """
    how = (cuts, cut_tokens, silent, notice, notice_before)
    entries, settled = list(entries), after.settled if after is not None else None
    if settled is not None and not _goes_on(settled, entries, how):
        settled = None
    cuts, cut_tokens = cuts or {}, cut_tokens or {}
    groups = tool_groups(entries[len(settled.entries) :] if settled else entries)
    call_ids = set(settled.call_ids) if settled else set()
    renamed = unique_call_ids(groups, call_ids)
    items: list[Item] = list(settled.items) if settled else []
    begun = len(items)
    previous, answered = (settled.previous, settled.answered) if settled else (None, False)
    place = _notice_place(groups, notice_before) if notice and settled is None else -1
    for at, group in enumerate(groups):
        head = group.head
        if at == place:
            items.append(_inserted(inserted_message("user", notice), count))
        elif needs_user_before(previous, head, answered=answered):
            items.append(_inserted(inserted_message("user", CONTINUED), count))
        if not head.calls:
            items.append(_stored(head, cuts, cut_tokens, silent=head.id in silent))
            if head.late or not head.instructs:
                previous, answered = head, False
            continue
        ids = tuple(renamed.get((head.key, n), call.id) for n, call in enumerate(head.calls))
        pairs = list(zip(ids, head.calls, strict=True))
        renaming = sum(_longer(count, call, call_id) for call_id, call in pairs)
        changed = ids if any(call_id != call.id for call_id, call in pairs) else ()
        items.append(_stored(head, cuts, cut_tokens, silent=head.id in silent, more=renaming, call_ids=changed))
        for (call_id, call), result in zip(pairs, group.results, strict=True):
            if result is not None:
                more = _longer(count, call, call_id, name="" if result.named else call.name)
                items.append(_stored(result, cuts, cut_tokens, more=more, result=(call_id, call.name)))
            else:
                items.append(_inserted(stand_in(call_id, call.name), count))
        previous, answered = head, True
    tokens = sum([item.tokens for item in items[begun:]], settled.tokens if settled else 0)
    as_stored = (settled.as_stored if settled else []) + [item.as_stored for item in items[begun:]]
    placed = settled is not None or not notice or _holds(entries, notice_before)
    if placed and not any(group.unanswered for group in groups):
        settled = _Settled(entries, how, items, as_stored, tokens, frozenset(call_ids), previous, answered)
    return Arrangement(items, tokens, as_stored, settled)


def _holds(entries: Iterable[Entry], message_id: str) -> bool:
    return message_id != "" and any(entry.id == message_id for entry in entries)


def _goes_on(settled: _Settled, entries: list[Entry], how: tuple[object, ...]) -> bool:
    """Whether entries begin with those that were settled, and are shown in the same way."""
    same = all(a is b for a, b in zip(settled.how, how, strict=True))
    return same and entries[: len(settled.entries)] == settled.entries


def render(
    arrangement: Arrangement, fetch: Fetch, *, head: Sequence[Message] = (), boundary: str = "line"
) -> list[Message]:
    """Write the messages of a view.

    Args:
        arrangement: what to write.
        fetch: parses the messages of entries afresh, in order; the caller may do with them what it likes.
        head: system text that heads the view.
        boundary: as `elide_text`.
    """
    messages = iter(fetch([item.entry for item in arrangement.items if item.entry is not None]))
    view = copy.deepcopy(list(head))
    for item, as_stored in zip(arrangement.items, arrangement.as_stored, strict=True):
        if as_stored:
            view.append(next(messages))
        elif item.entry is None:
            view.append(copy.deepcopy(item.inserted or {}))
        else:
            view.append(_render_item(item, item.entry, next(messages), boundary))
    return view


def shorten(entry: Entry, message: Message, cut: Cut | None, boundary: str = "line") -> Message:
    """A stored message as a view shows it: in accepted form, cut, and late system text as a reminder.

    What is offloaded is always cut at the ends of lines: its bytes depend on nothing but its record.
    """
    if not entry.plain:
        message = normalise(message) or message
    if entry.offload is not None and cut in (None, entry.offload):
        cut, boundary = entry.offload, "line"
    if cut is not None:
        message = elide_message(message, cut, reference=entry.refers_to or entry.id, boundary=boundary)
    return as_reminder(message) if entry.late else message


def _render_item(item: Item, entry: Entry, message: Message, boundary: str) -> Message:
    message = shorten(entry, message, item.cut, boundary)
    if item.silent:
        message = without_thinking(message)
    if item.call_ids:
        new_ids = {call.id: new for call, new in zip(entry.calls, item.call_ids, strict=True)}
        message = _rename_calls(message, new_ids)
    if item.result is not None:
        call_id, name = item.result
        if message.get("tool_call_id") != call_id or not message.get("name"):
            message = {**message, "tool_call_id": call_id, "name": message.get("name") or name}
            message = _rename_results(message, call_id)
    return message


def _rename_calls(message: Message, new_ids: Mapping[str, str]) -> Message:
    changed = dict(message)
    if isinstance(calls := message.get("tool_calls"), list):
        changed["tool_calls"] = [{**call, "id": new_ids.get(call["id"], call["id"])} for call in calls]
    if isinstance(content := message.get("content"), list):
        changed["content"] = [
            {**block, "id": new_ids.get(block["id"], block["id"])} if block["type"] == "tool_call" else block
            for block in content
        ]
    return changed


def _rename_results(message: Message, call_id: str) -> Message:
    content = message.get("content")
    if not isinstance(content, list) or not any(block.get("type") == "tool_result" for block in content):
        return message
    blocks = [{**b, "tool_call_id": call_id} if b.get("type") == "tool_result" else b for b in content]
    return {**message, "content": blocks}


def _stored(
    entry: Entry,
    cuts: Mapping[str, Cut],
    cut_tokens: Mapping[str, int],
    *,
    silent: bool = False,
    more: int = 0,
    **how: Any,
) -> Item:
    cut = cuts.get(entry.id)
    tokens = cut_tokens.get(entry.id, entry.tokens) if cut else entry.tokens
    thinking = entry.thinking_tokens if silent else 0
    return Item(entry=entry, cut=cut, silent=thinking > 0, tokens=tokens - thinking + more, **how)


def _longer(count: Count, call: Call, call_id: str, *, name: str = "") -> int:
    """What another id of a call, and a name beside it, add to the tokens of a message."""
    if call_id == call.id and not name:
        return 0
    return count({"tool_call_id": call_id, "name": name}) - count({"tool_call_id": call.id})


def _inserted(message: Message, count: Count) -> Item:
    return Item(inserted=message, tokens=count(message))


def inserted_message(role: str, text: str, **keys: str) -> Message:
    """A message that stands in views only and says so in its metadata."""
    return {"role": role, **keys, "content": text, "metadata": {"source": COMPACTION_SOURCE}}


def stand_in(call_id: str, name: str) -> Message:
    """The result of a call that has none."""
    return inserted_message("tool", INTERRUPTED, tool_call_id=call_id, name=name)


def _notice_place(groups: Sequence[Group], before: str) -> int:
    """The group that a notice is put before: the named one, else the first that is no system text."""
    named = next((at for at, group in enumerate(groups) if any(e.id == before for e in group.entries())), None)
    if named is not None and before:
        return named
    return next((at for at, group in enumerate(groups) if not group.head.instructs), len(groups))
