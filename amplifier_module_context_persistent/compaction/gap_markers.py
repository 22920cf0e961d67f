"""Gap markers: each place where a view leaves messages out says so, how many, and in a few words what they did.

Rules:
- A marker stands between two groups: as the last line of the last result before the gap, else as a user's message
  before the next kept group. After the newest human message only the first form is used, as a user's message would
  begin a new turn there. What comes right after it, up to a result, is therefore the last that goes; where it has to
  go, that gap has no marker.
- Its text is stored in the plan. A gap that a later plan leaves as it is keeps its bytes.
- Markers take `SHARE` of the target at most. Beyond that names go first, and then gaps are merged by leaving out what
  stands between them. People's messages stay while the markers take `PEOPLE_TOKENS` and `PEOPLE_SHARE` of the target at
  most, where that is more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress, pairwise
from operator import itemgetter

from ..messages.tool_kinds import CHANGE, READ, Use, file_name
from ..view.group_table import ASSISTANT, CALLS, HUMAN
from ..view.plan import Gap
from ..view.rules import first_human, last_human
from .draft import Draft
from .gaps import GapFinder, OpenGap, first_id
from .in_vain import tried_in_vain
from .plan_request import PlanRequest

SHARE = 0.04
LEAST_TOKENS = 120  # for markers where the target is small, and a quarter of it at most
PEOPLE_TOKENS, PEOPLE_SHARE = 1_500, 0.06  # for the markers between people's messages, the smaller of both
LEAST_FOR_PEOPLE = 600  # of these tokens where the view is small, and a quarter of the target at most
OPENING_SHARE = 0.125  # of the target, for the groups by which a gap right after the newest human message is marked
CUT_RESULT_TOKENS = 60  # about what a result comes to of which nothing is shown but how it is had again
MOST_NAMES = 6  # that a marker shows
MOST_KNOWN = 24  # that a plan keeps of a gap
_MESSAGE_TOKENS = 4
_GOES, _PEOPLE, _STAYS = range(3)  # what may be left out so that gaps become one
MOST_FILES = 60  # that a plan knows, of each kind


@dataclass(frozen=True, slots=True)
class Marked:
    """The gaps of a view in order, and the files that were used in them."""

    gaps: tuple[Gap, ...] = ()
    changed: tuple[str, ...] = ()
    """Files that were changed in what is left out, the newest last."""
    read: tuple[str, ...] = ()
    """Files that were read in it."""
    in_vain: tuple[str, ...] = ()
    """Commands in it that failed, and were not run with success later."""
    unmarkable: frozenset[str] = frozenset()
    """What comes after gaps that nothing can mark, as it would begin a new turn: by the id of the message."""


def close_turn(draft: Draft) -> None:
    """Let every gap in the turn in progress begin after a result, where it can be marked."""
    turn = last_human(draft.groups)
    if turn is None:
        return
    left = [position for position in draft.left() if position >= turn]
    for before, after in reversed(list(pairwise(left))):
        gone = any(not kept for kept in draft.kept[before + 1 : after])
        if gone and before > turn and not takes_line(draft, before) and before not in draft.fixed | draft.held:
            draft.drop(before)


def hold_turn_start(draft: Draft) -> None:
    """Hold what comes first after the newest human message, up to a result that a gap can begin after.

    Where that is small with its results cut, it is the last that goes.
    """
    turn = last_human(draft.groups)
    if turn is None:
        return
    room = int(OPENING_SHARE * draft.target_tokens)
    for position in range(turn + 1, len(draft.groups)):
        draft.held.add(position)
        head, *results = draft.members[position]
        room -= head.tokens + CUT_RESULT_TOKENS * len(results)
        if takes_line(draft, position):
            if room >= 0:
                draft.opening.update(range(turn + 1, position + 1))
            return


def drop_opening(draft: Draft) -> bool:
    """Leave out what only a marker needs; whether there was any of it."""
    positions = [position for position in draft.opening - draft.fixed if draft.kept[position]]
    for position in positions:
        draft.drop(position)
    return bool(positions)


def takes_line(draft: Draft, position: int) -> bool:
    """Whether a group ends with a result to which a line can be added."""
    members = draft.members[position]
    return len(members) > 1 and members[-1].id != "" and members[-1].terms.text_chars != ()


def merge_gaps(draft: Draft, finder: GapFinder) -> None:
    """Where even the shortest markers would take too much, leave out what stands between gaps.

    The smallest stretches that no person wrote go first, then people's messages with their answers, the oldest first.
    """
    gaps = finder.find()
    costs = sum([_least_cost(gap.messages) for gap in gaps])
    most = _most(draft)
    if costs <= most:
        return
    most_for_people = max(
        most,
        min(PEOPLE_TOKENS, max(LEAST_FOR_PEOPLE, int(PEOPLE_SHARE * draft.target_tokens)), draft.target_tokens // 4),
    )
    left = draft.left()
    ranks, sizes = list(compress(_ranks(draft), draft.kept)), list(compress(draft.sizes, draft.kept))
    starts = [bisect_left(left, gap.before) for gap in gaps]
    stretches = []
    for (start, end), gap in zip(pairwise(starts), gaps[1:], strict=True):
        rank = max(ranks[start:end])
        if rank < _STAYS:
            first = left[start] if rank == _PEOPLE else sum(sizes[start:end])
            stretches.append((rank == _PEOPLE, first, left[start:end], _least_cost(gap.messages)))
    for people, _, between, saved in sorted(stretches):
        if costs <= (most_for_people if people else most):
            continue
        for position in between:
            draft.drop(position)
        costs -= saved


def _ranks(draft: Draft) -> list[int]:
    """By group, whether it goes as it is, with people's messages, or stays: what is held for anything else does."""
    groups, known = draft.groups, draft.table.traits
    ranks = [_GOES] * len(groups)
    for position in draft.table.positions(HUMAN):
        ranks[position] = _PEOPLE
    for position in draft.held:
        if not known[position] & HUMAN:
            ranks[position] = _PEOPLE if known[position] & ASSISTANT and not known[position] & CALLS else _STAYS
    first = first_human(groups)
    for position in draft.fixed if first is None else draft.fixed | {first}:
        ranks[position] = _STAYS
    return ranks


def mark_gaps(draft: Draft, request: PlanRequest, finder: GapFinder) -> Marked:
    """Describe the gaps of a view; `name_in_markers` gives them their texts."""
    turn = last_human(draft.groups)
    found = finder.find()
    described = [_described(draft, gap, turn) for gap in found]
    pairs = zip(found, described, strict=True)
    unmarkable = {gap.before for at, gap in pairs if turn is not None and at.before > turn and not gap.after}
    uses = [use for p, kept in enumerate(draft.kept) if not kept for use in draft.groups[p].head.uses]
    previous = request.previous
    changed = _files(previous.changed if previous else (), uses, CHANGE)
    read = _files(previous.read if previous else (), uses, READ)
    in_vain = tried_in_vain(draft, previous.in_vain if previous else ())
    read = tuple(path for path in read if path not in changed)
    return Marked(tuple(described), changed, read, in_vain, frozenset(unmarkable))


def least_cost(marked: Marked) -> int:
    """About what the markers come to where they name nothing."""
    return sum([_least_cost(gap.messages) for gap in marked.gaps if gap.before not in marked.unmarkable])


def name_in_markers(marked: Marked, draft: Draft, room_tokens: int, *, recall: bool) -> Marked:
    """Give the markers their texts, which name what is missing as far as that fits this room and `SHARE`."""
    most = min(_most(draft), room_tokens)
    return replace(marked, gaps=_within(marked.gaps, most, marked.unmarkable, recall=recall))


def _most(draft: Draft) -> int:
    return max(int(SHARE * draft.target_tokens), min(LEAST_TOKENS, draft.target_tokens // 4))


def _files(known: Sequence[str], uses: Sequence[Use], kind: str) -> tuple[str, ...]:
    """The files of calls of a kind, each once, the newest last."""
    named = [path for use in uses if use.kind == kind for path in use.paths]
    return tuple(reversed(dict.fromkeys(reversed([*known, *named]))))[-MOST_FILES:]


def _described(draft: Draft, gap: OpenGap, turn: int | None) -> Gap:
    """A gap with what is known of it; an unchanged one is that of the plan before."""
    before, after = draft.groups[gap.before].head.id, _result_before(draft, gap, turn)
    if len(gap.known) == 1 and not gap.dropped:
        known = gap.known[0]
        if (known.before, known.after) == (before, after):
            return known
    did: dict[str, int] = {}
    for known in gap.known:
        for what, times in known.did:
            did[what] = did.get(what, 0) + times
    for position in gap.dropped:
        for use in draft.groups[position].head.uses:
            what = _does(use)
            did[what] = did.get(what, 0) + 1
    reference = next((known.reference for known in gap.known), "") or first_id(draft, gap.dropped)
    kept = tuple(sorted(did.items(), key=itemgetter(1), reverse=True)[:MOST_KNOWN])
    return Gap(before, after, gap.messages, "", kept, reference)


def _result_before(draft: Draft, gap: OpenGap, turn: int | None) -> str:
    """The id of the result that the marker ends; empty where it is a message of its own."""
    if gap.after is None or not takes_line(draft, gap.after):
        return ""
    if gap.after in draft.fixed and draft.groups[gap.after].pinned and (turn is None or gap.before <= turn):
        return ""
    return draft.members[gap.after][-1].id


def _does(use: Use) -> str:
    """What a call does, in words."""
    return f"{use.name} {file_name(use.paths[0])}" if use.kind in (READ, CHANGE) and use.paths else use.name


@lru_cache(maxsize=1024)
def _count_only(messages: int) -> str:
    return f"[{messages} message{'s' * (messages != 1)} left out]"


def _text(gap: Gap, *, names: int, recall: bool) -> str:
    """The text of a marker."""
    said = [f"{what} x{times}" if times > 1 else what for what, times in gap.did[:names]]
    if len(gap.did) > names > 0:
        said.append("…")
    parts = [": " + ", ".join(said)] if said else []
    if recall and gap.reference:
        parts.append(f"; recall {gap.reference}")
    return _count_only(gap.messages)[:-1] + "".join(parts) + "]"


def _cost(text: str) -> int:
    """About what a marker comes to, rather more than less: a plan would spend most of its time with counting them."""
    return len(text) // 3 + _MESSAGE_TOKENS


@lru_cache(maxsize=1024)
def _least_cost(messages: int) -> int:
    return _cost(_count_only(messages))


def _within(gaps: Sequence[Gap], most: int, unmarkable: AbstractSet[str], *, recall: bool) -> tuple[Gap, ...]:
    """Give the gaps their texts: those of unchanged ones stay, the newest of the others say most."""
    texts = ["" if gap.before in unmarkable else gap.text or _count_only(gap.messages) for gap in gaps]
    costs = [_cost(text) if text else 0 for text in texts]
    left = most - sum(costs)
    for index in reversed(range(len(gaps))):
        if left >= 0:
            break
        if gaps[index].text and texts[index]:
            texts[index] = _count_only(gaps[index].messages)
            cost = _cost(texts[index])
            left, costs[index] = left + costs[index] - cost, cost
    for names, with_reference in ((2, False), (MOST_NAMES, False), (MOST_NAMES, recall)):
        for index in reversed(range(len(gaps))):
            gap = gaps[index]
            if gap.text or not texts[index]:
                continue
            text = _text(gap, names=names, recall=with_reference)
            cost = _cost(text)
            if cost - costs[index] <= left:
                left, costs[index], texts[index] = left - cost + costs[index], cost, text
    pairs = zip(gaps, texts, strict=True)
    return tuple(gap if gap.text == text else replace(gap, text=text) for gap, text in pairs)
