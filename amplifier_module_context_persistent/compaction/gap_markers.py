"""Gap markers: each place where a view leaves messages out says so, how many, and in a few words what they did.

Rules:
- A marker stands between two groups: as the last line of the last result before the gap, else as a user's message
  before the next kept group. After the newest human message only the first form is used, as a user's message would
  begin a new turn there.
- Its text is stored in the plan. A gap that a later plan leaves as it is keeps its bytes.
- Markers take `SHARE` of the target at most. Beyond that names go first, and then gaps are merged by leaving out what
  stands between them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ..messages.tool_kinds import CHANGE, READ, Use, file_name
from ..view.plan import Gap
from ..view.rules import first_human, last_human
from .draft import Draft
from .in_vain import tried_in_vain
from .plan_request import PlanRequest

SHARE = 0.04
LEAST_TOKENS = 120  # for markers where the target is small, and a quarter of it at most
MOST_NAMES = 6  # that a marker shows
MOST_KNOWN = 24  # that a plan keeps of a gap
_MESSAGE_TOKENS = 4
MOST_FILES = 60  # that a plan knows, of each kind


@dataclass(slots=True)
class _Open:
    """A gap as it is found."""

    before: int
    """The position of the next kept group."""
    after: int | None
    """The position of the kept group before it."""
    messages: int
    dropped: list[int] = field(default_factory=list)
    """Positions of the groups that this plan leaves out in it."""
    known: list[Gap] = field(default_factory=list)
    """Gaps of the plan before that are parts of it."""


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

    def unsaid(self) -> Marked:
        """The same with no marker shown."""
        return replace(self, gaps=tuple(replace(gap, text="") for gap in self.gaps))


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
    """Hold what comes first after the newest human message, up to a result that a gap can begin after."""
    turn = last_human(draft.groups)
    if turn is None:
        return
    for position in range(turn + 1, len(draft.groups)):
        draft.held.add(position)
        if takes_line(draft, position):
            return


def takes_line(draft: Draft, position: int) -> bool:
    """Whether a group ends with a result to which a line can be added."""
    results = draft.members[position][1:]
    return bool(results) and results[-1].id != "" and bool(results[-1].terms.text_chars)


def merge_gaps(draft: Draft, request: PlanRequest) -> None:
    """Where even the shortest markers would take too much, leave out what stands between gaps.

    The smallest stretches that no person wrote go first, then people's messages with their answers, the oldest first.
    """
    gaps = _gaps(draft, request)
    excess = sum(_cost(_count_only(gap.messages)) for gap in gaps) - _most(draft)
    if excess <= 0:
        return
    stretches = []
    for one, other in pairwise(gaps):
        between = [position for position in range(one.before, other.before) if draft.kept[position]]
        if (rank := _rank(draft, between)) is not None:
            stretches.append((*rank, between, _cost(_count_only(other.messages))))
    for *_, between, saved in sorted(stretches):
        if excess <= 0:
            return
        for position in between:
            draft.drop(position)
        excess -= saved


def _rank(draft: Draft, between: Sequence[int]) -> tuple[bool, int] | None:
    """When a stretch goes: none that is held otherwise than as a person's message or an answer to one."""
    heads = {position: draft.groups[position].head for position in between}
    said = {p for p, head in heads.items() if head.human or (head.role == "assistant" and not head.calls)}
    first = first_human(draft.groups)
    if any(p in draft.fixed or p == first or (p in draft.held and p not in said) for p in between):
        return None
    if any(head.human for head in heads.values()) or any(p in draft.held for p in between):
        return True, between[0]
    return False, sum(draft.sizes[position] for position in between)


def mark_gaps(draft: Draft, request: PlanRequest) -> Marked:
    """Describe the gaps of a view."""
    described = [_described(draft, gap) for gap in _gaps(draft, request)]
    uses = [use for p, kept in enumerate(draft.kept) if not kept for use in draft.groups[p].head.uses]
    previous = request.previous
    changed = _files(previous.changed if previous else (), uses, CHANGE)
    read = _files(previous.read if previous else (), uses, READ)
    gaps = _within(described, _most(draft), recall=request.config.offers_recall)
    in_vain = tried_in_vain(draft, previous.in_vain if previous else ())
    return Marked(gaps, changed, tuple(path for path in read if path not in changed), in_vain)


def _most(draft: Draft) -> int:
    return max(int(SHARE * draft.target_tokens), min(LEAST_TOKENS, draft.target_tokens // 4))


def _files(known: Sequence[str], uses: Sequence[Use], kind: str) -> tuple[str, ...]:
    """The files of calls of a kind, each once, the newest last."""
    named = [path for use in uses if use.kind == kind for path in use.paths]
    return tuple(reversed(dict.fromkeys(reversed([*known, *named]))))[-MOST_FILES:]


def _gaps(draft: Draft, request: PlanRequest) -> list[_Open]:
    """The places where messages are left out."""
    index_of = request.index_of
    grouped = {entry.ordinal for members in draft.members for entry in members}
    shown = {entry.ordinal for position in draft.left() for entry in draft.members[position]}
    shown |= request.shown_anyway | {entry.ordinal for entry in request.entries if entry.ordinal not in grouped}
    indexes = sorted(index_of(ordinal) for ordinal in shown if ordinal >= 0)
    previous = request.previous
    known = {gap.before: gap for gap in previous.gaps} if previous is not None and previous.gaps is not None else {}
    old = set(previous.keep) if previous is not None and previous.gaps is not None else set()
    newest_old = max((index_of(entry.ordinal) for entry in request.entries if entry.id in old), default=-1)
    after_restored = False
    found: list[_Open] = []
    last: int | None = None
    at, start = -1, 0
    for position in draft.left():
        head = draft.groups[position].head
        if head.ordinal < 0 or not head.id or (head.instructs and not head.late):
            continue
        here = index_of(head.ordinal)
        messages = here - at - 1 - (bisect_left(indexes, here) - bisect_left(indexes, at + 1))
        dropped = [p for p in range(start, position) if not draft.kept[p]]
        parts = [known[i] for p in range(start, position + 1) if (i := draft.groups[p].head.id) in known]
        restored = head.id not in old and here < newest_old
        certain = bool(dropped or parts) or not old or restored or after_restored
        after_restored = restored
        if messages > 0 and certain:
            found.append(_Open(position, last, messages, dropped, parts))
        last, at, start = position, here, position + 1
    return found


def _described(draft: Draft, gap: _Open) -> Gap:
    """A gap with what is known of it; an unchanged one is that of the plan before."""
    before, after = draft.groups[gap.before].head.id, _result_before(draft, gap)
    if len(gap.known) == 1 and not gap.dropped:
        known = gap.known[0]
        if (known.before, known.after) == (before, after):
            return known
    did = Counter[str]()
    for known in gap.known:
        did.update(dict(known.did))
    for position in gap.dropped:
        did.update(_does(use) for use in draft.groups[position].head.uses)
    reference = next((known.reference for known in gap.known), "") or _first_id(draft, gap.dropped)
    kept = tuple(did.most_common(MOST_KNOWN))
    return Gap(before, after, gap.messages, "", kept, reference)


def _first_id(draft: Draft, positions: Sequence[int]) -> str:
    return next((draft.groups[p].head.id for p in positions if draft.groups[p].head.id), "")


def _result_before(draft: Draft, gap: _Open) -> str:
    """The id of the result that the marker ends; empty where it is a message of its own."""
    turn = last_human(draft.groups)
    if gap.after is None or not takes_line(draft, gap.after):
        return ""
    if draft.groups[gap.after].pinned and (turn is None or gap.before <= turn):
        return ""
    return draft.members[gap.after][-1].id


def _does(use: Use) -> str:
    """What a call does, in words."""
    return f"{use.name} {file_name(use.paths[0])}" if use.kind in (READ, CHANGE) and use.paths else use.name


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


def _within(gaps: Sequence[Gap], most: int, *, recall: bool) -> tuple[Gap, ...]:
    """Give the gaps their texts: those of unchanged ones stay, the newest of the others say most."""
    texts = [gap.text or _count_only(gap.messages) for gap in gaps]
    costs = [_cost(text) for text in texts]
    left = most - sum(costs)
    for index in reversed(range(len(gaps))):
        if left >= 0:
            break
        if gaps[index].text:
            texts[index] = _count_only(gaps[index].messages)
            cost = _cost(texts[index])
            left, costs[index] = left + costs[index] - cost, cost
    for names, with_reference in ((2, False), (MOST_NAMES, False), (MOST_NAMES, recall)):
        for index in reversed(range(len(gaps))):
            gap = gaps[index]
            if gap.text:
                continue
            text = _text(gap, names=names, recall=with_reference)
            cost = _cost(text)
            if cost - costs[index] <= left:
                left, costs[index], texts[index] = left - cost + costs[index], cost, text
    return tuple(replace(gap, text=text) for gap, text in zip(gaps, texts, strict=True))
