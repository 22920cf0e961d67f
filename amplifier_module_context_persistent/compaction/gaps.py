"""The gaps of a view: the places where it leaves out groups, how many messages each lacks, and what was done in them.

A group is a message with the results of its calls. `markers` writes a gap's marker.

Rule: a gap ends before a kept group that is in the log, and never before the system text at the beginning. Messages
that are not among the plan's entries but are shown anyway do not count as missing. Messages that no view can show do
count as missing: an answer of thinking alone, a blank message, a result without a call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..messages.tool_kinds import CHANGE, ToolUse, file_name
from ..view.plan import Gap, Quote
from .draft import Draft
from .failed_commands import MOST_KNOWN
from .groups import Groups
from .marker_wording import ANSWER, PERSON
from .quotes import Quotable, quotes_of, says_more, within_room


def find_gaps(draft: Draft) -> tuple[Gap, ...]:
    """Return the gaps of a draft in order. Unchanged gaps have their marker texts; new and larger gaps have none."""
    groups = draft.view.groups
    index = draft.request.history.index_of
    shown_before = {place: number for number, place in enumerate(_shown_places(draft))}
    known = {gap.before: gap for gap in draft.request.so_far.plan.left_out.gaps or ()}
    quotes = quotes_of(_worth_a_quote(draft), draft.request.fetch, draft.quotes_room)
    found: list[Gap] = []
    last = -1
    missing_so_far = 0
    start = next((position for position, group in enumerate(groups) if not group.head.instructs), len(groups))
    for position in draft.kept_positions():
        head = groups[position].head
        place = index(head.ordinal)
        if position < start or not head.id or place < 0:
            continue
        missing = place - shown_before[place]
        if missing > missing_so_far:
            found.append(_gap(draft, last, position, missing - missing_so_far, known, quotes))
        last = position
        missing_so_far = missing
    return within_room(found, draft.quotes_room, draft.request.count)


def _worth_a_quote(draft: Draft) -> dict[int, list[Quotable]]:
    """Return the messages worth a quote in the groups that are left out, by position; none if there is no room.

    A quote that says no more than the names in the view is not worth it.
    """
    if not draft.quotes_room:
        return {}
    facts = draft.view.facts
    quotable = {at: facts[at].quotable for at, is_kept in enumerate(draft.kept) if not is_kept and facts[at].quotable}
    if not quotable:
        return {}
    shown_names = set[str]().union(*[draft.shown_terms(position) for position in draft.kept_positions()])
    return {position: quotes for position, quotes in quotable.items() if says_more(quotes, shown_names)}


def _shown_places(draft: Draft) -> list[int]:
    """Return the positions in the live history of all messages that the view shows, in order."""
    request = draft.request
    members = draft.view.members
    dropped = {entry.ordinal for at, is_kept in enumerate(draft.kept) if not is_kept for entry in members[at]}
    dropped.update([entry.ordinal for entry in draft.view.beside])
    shown_ordinals = [entry.ordinal for entry in request.entries if entry.ordinal not in dropped]
    if request.history.shown_anyway:
        shown_ordinals += request.history.shown_anyway - dropped
    return request.history.places_of(shown_ordinals)


def _gap(
    draft: Draft,
    last_kept: int,
    next_kept: int,
    messages: int,
    known: Mapping[str, Gap],
    quotes: Mapping[int, tuple[Quote, ...]],
) -> Gap:
    """Return the gap between two kept groups. An unchanged gap is taken from the previous plan.

    Args:
        draft: the view in the making.
        last_kept: the position of the group before the gap; -1 if there is none.
        next_kept: the position of the next kept group.
        messages: the number of missing messages.
        known: the gaps of the previous plan, by the id of the message after them.
        quotes: the quotes of groups that this plan leaves out, by position.
    """
    before = draft.view.groups[next_kept].head.id
    after = _marked_result(draft, last_kept, next_kept)
    unchanged = _unchanged_gap(draft, last_kept, next_kept, known, Gap(before, after, messages))
    if unchanged is not None:
        return unchanged
    did = Counter[str]()
    ids = list[str]()
    left_out_quotes = list[Quote]()
    before_head = draft.view.members[last_kept][-1].ordinal if last_kept >= 0 else -1
    for at in range(last_kept + 1, next_kept + 1):  # also at the next kept group: an old gap may end there
        head = draft.view.groups[at].head
        part = known.get(head.id)
        if part is not None:  # this gap contains a gap of the previous plan
            did.update(dict(part.did))
            ids.append(part.reference)
            left_out_quotes += part.said
        ids += [entry.id for entry in draft.view.beside if before_head < entry.ordinal < head.ordinal]
        before_head = head.ordinal
        if at < next_kept and not draft.kept[at]:
            did.update(_actions_of(draft.view, at))
            left_out_quotes += quotes.get(at, ())
            ids.append(head.id)
    reference = next(filter(None, ids), "")
    return Gap(
        before=before,
        after=after,
        messages=messages,
        did=_most_frequent(did),
        reference=reference,
        said=tuple(left_out_quotes),
    )


def _unchanged_gap(draft: Draft, last_kept: int, next_kept: int, known: Mapping[str, Gap], wanted: Gap) -> Gap | None:
    """Return the gap of the previous plan that has the place and the number of messages of `wanted`, or None."""
    if last_kept + 1 == next_kept:  # this plan leaves out nothing new here, which is the most frequent case
        part = known.get(wanted.before)
        if part is not None and part.messages == wanted.messages and part.after == wanted.after:
            return part
    if not all(draft.kept[last_kept + 1 : next_kept]):
        return None
    heads = [draft.view.groups[at].head.id for at in range(last_kept + 1, next_kept + 1)]
    parts = [known[head_id] for head_id in heads if head_id in known]
    place = (wanted.before, wanted.after, wanted.messages)
    if [(part.before, part.after, part.messages) for part in parts] == [place]:
        return parts[0]
    return None


def _most_frequent(did: Counter[str]) -> tuple[tuple[str, int], ...]:
    """Return the most frequent actions of tools with their counts.

    The rarer actions are counted by the name of their tool alone, so that no call is lost.
    """
    found = Counter(dict(did.most_common(MOST_KNOWN)))
    for what, times in did.most_common()[MOST_KNOWN:]:
        found[what.partition(" ")[0]] += times
    return tuple(found.most_common())


def _marked_result(draft: Draft, last: int, position: int) -> str:
    """Return the id of the result that has a gap's marker as its last line; "" if no result can have it.

    This is the last result of the group before the gap (`last`). In the turn in progress, if that group does not end
    with a result, the last result of the group after the gap (`position`) is taken. Earlier turns have no marker in a
    pinned group.
    """
    view = draft.view
    turn = draft.view.turn
    is_open = turn is not None and position > turn
    if last >= 0 and view.facts[last].takes_line and (is_open or not view.facts[last].is_pinned):
        return view.members[last][-1].id
    if is_open and view.facts[position].takes_line:
        return view.members[position][-1].id
    return ""


def _actions_of(view: Groups, position: int) -> list[str]:
    """Return what was done in a group: the action of each call in words, or who wrote its text."""
    head = view.groups[position].head
    if head.human:
        return [PERSON]
    if view.facts[position].speaks and not head.calls:
        return [ANSWER]
    return [_action_of(use) for use in head.gist.uses]


def _action_of(use: ToolUse) -> str:
    """Return the action of a call in words: the name of its tool, and the name of the file if the call changes one."""
    if use.kind == CHANGE and use.paths:
        return f"{use.name} {file_name(use.paths[0])}"
    return use.name
