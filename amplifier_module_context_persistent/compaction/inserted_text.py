"""What compaction puts into a view: the markers of gaps, the notice, and where both and a summary stand.

Rules:
- A gap is where a view leaves messages out. It ends before a kept group that is in the log, and never before the
  system text at the beginning. What is shown though no group has it (messages beside the entries, blank ones, orphaned
  results) is not missing from a gap.
- A marker stands between two groups: as the last line of the last result before the gap, else as a user's message
  before the next kept group. After the newest human message only the first form is used, as a user's message would
  begin a new turn there; a gap that begins after no result there has no marker.
- Its text is stored in the plan. A gap that a later plan leaves as it is keeps its bytes.
- The notice stands at the last gap, with its marker. It says how much is gone and how it is had again, and the newest
  of what was tried in vain; files are named only where there is room.
- All of it shares `SHARE` of the target with the markers of cuts: first the markers without names, then the notice,
  then names.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import NamedTuple

from ..config import Config
from ..messages.elide import Cut
from ..messages.tool_kinds import CHANGE, READ, Use, file_name
from ..view.arrangement import Count, inserted_message
from ..view.plan import SUMMARY_TAGS, Gap
from .draft import MARKER_TOKENS, Draft
from .file_names import files_text
from .groups import Groups
from .in_vain import MOST_KNOWN, tried_in_vain
from .plan_request import CHARS_A_TOKEN, PlanRequest

SHARE = 0.08  # of the target, for all that is inserted
NOTICE_SHARE = 0.02  # of the budget; where even the shortest notice is longer, there is none
MOST_NAMES = 6  # that a marker shows


@dataclass(frozen=True, slots=True)
class Gone:
    """What a view does not show: its gaps in order, and what is told of all of them."""

    gaps: tuple[Gap, ...] = ()
    changed: tuple[str, ...] = ()
    """Files that were changed in what is left out, the newest last."""
    read: tuple[str, ...] = ()
    """Files that were read in it and not changed."""
    in_vain: tuple[str, ...] = ()
    """Commands in it that failed, and were not run with success later."""
    older: Mapping[str, str] = field(default_factory=dict)
    """By the id of a result of reading a file, the line that says that it changed since."""
    before: str = ""
    """What text comes before for which no gap is the place: the id of the newest person's message, or as it was."""
    unmarkable: frozenset[str] = frozenset()
    """What comes after gaps that nothing can mark, as it would begin a new turn: by the id of the message."""


@dataclass(frozen=True, slots=True)
class Inserted:
    """What is put in, and where."""

    gaps: tuple[Gap, ...]
    notice: str
    """The text of a message of its own: a summary, the last gap's marker and the notice where no result has them."""
    before: str
    """The id of the message that it is put before."""
    lines: Mapping[str, str]
    """By the id of a result, what is put after its text: that its file changed since, the marker of a gap, and at the
    last one the notice."""


def what_is_gone(draft: Draft, request: PlanRequest, older: Mapping[str, str]) -> Gone:
    """Describe what a draft leaves out, and earlier plans left out; `older` as in what is made of it."""
    view, previous = draft.view, request.previous
    found = find_gaps(view, draft.kept, request)
    gaps = tuple(_described(draft, gap) for gap in found)
    pairs = zip(found, gaps, strict=True)
    unmarkable = {gap.before for at, gap in pairs if view.turn is not None and at.before > view.turn and not gap.after}
    uses = [use for p, kept in enumerate(draft.kept) if not kept for use in view.groups[p].head.uses]
    changed = _files(previous.changed if previous else (), uses, CHANGE)
    read = _files(previous.read if previous else (), uses, READ)
    in_vain = tried_in_vain(draft, previous.in_vain if previous else ())
    read = tuple(path for path in read if path not in changed)
    turn = view.groups[view.turn].head.id if view.turn is not None else ""
    before = (previous.notice_before if previous else "") or turn
    return Gone(gaps, changed, read, in_vain, older, before, frozenset(unmarkable))


def write_inserted(
    request: PlanRequest,
    gone: Gone,
    cuts: Collection[Cut],
    *,
    target_tokens: int,
    room_tokens: int,
    dropped: int,
    step: int,
    inserts: bool,
) -> Inserted:
    """Write the markers of gaps, the notice and the summary.

    Args:
        request: what the plan is made from.
        gone: what the view leaves out.
        cuts: the cuts of the messages that stay.
        target_tokens: of the view.
        room_tokens: the most that markers of gaps may take.
        dropped: how many messages are left out.
        step: how far the plan went.
        inserts: whether anything is put in at all.
    """
    config = request.config
    shown = inserts and says_what_is_gone(config, step)
    costs = sum([cost_of(_count_only(gap)) for gap in gone.gaps if gap.before not in gone.unmarkable]) if shown else 0
    shortened = [cut for cut in cuts if cut.shortens]
    room = int(SHARE * target_tokens) - sum([MARKER_TOKENS // (2 if cut.brief else 1) for cut in shortened])
    room -= sum(map(cost_of, gone.older.values()))
    notice = ""
    if shown and dropped:
        notice = notice_text(request, gone, dropped, len(shortened), step=step, room_tokens=room - costs)
    if not shown:
        gaps = tuple(replace(gap, text="") for gap in gone.gaps)
    else:
        most = min(room_tokens, room - len(notice) // CHARS_A_TOKEN)
        gaps = _with_texts(gone.gaps, most, gone.unmarkable, recall=config.offers_recall)
    summary = request.summary_so_far.join(SUMMARY_TAGS) if inserts and request.summary_so_far else ""
    placed = _placed(gaps, gone.unmarkable, notice, summary, gone.before)
    lines = dict(gone.older)
    for key, line in placed.lines.items():
        lines[key] = f"{lines[key]}\n{line}" if key in lines else line
    return replace(placed, lines=lines)


def says_what_is_gone(config: Config, step: int) -> bool:
    """Whether a view says at all that messages were left out."""
    return config.compaction_notice_enabled and step >= config.compaction_notice_min_level


def _placed(gaps: tuple[Gap, ...], unmarkable: AbstractSet[str], notice: str, summary: str, before: str) -> Inserted:
    """Let a notice stand at the last gap, with its marker; a summary is always a message of its own."""
    lines = {gap.after: gap.text for gap in gaps if gap.after and gap.text}
    last = next((gap for gap in reversed(gaps) if gap.before not in unmarkable), None)
    if last is not None and last.after and not summary:
        if notice:
            lines[last.after] = f"{last.text}\n{notice}".lstrip("\n")
        return Inserted(gaps, "", "", lines)
    marker = last.text if last is not None and not last.after else ""
    before = last.before if last is not None else before
    said = "\n".join(part for part in (marker, notice) if part)
    return Inserted(gaps, f"{summary}\n\n{said}".rstrip() if summary else said, before, lines)


# Gaps, and their markers


class OpenGap(NamedTuple):
    """A gap as it is found."""

    before: int
    """The position of the next kept group."""
    after: int | None
    """The position of the kept group before it."""
    messages: int
    dropped: Sequence[int] = ()
    """Positions of the groups that this plan leaves out in it."""
    known: Sequence[Gap] = ()
    """Gaps of the plan before that are parts of it."""


def find_gaps(view: Groups, kept: Sequence[bool], request: PlanRequest) -> list[OpenGap]:
    """The gaps of a view that keeps these groups, in order."""
    index, previous = request.index_of, request.previous
    grouped = {entry.ordinal for members in view.members for entry in members}
    beside = {*request.shown_anyway, *(e.ordinal for e in request.entries if e.ordinal not in grouped)}
    members = [entry.ordinal for some in compress(view.members, kept) for entry in some]
    shown = sorted(index(ordinal) for ordinal in {*beside, *members} if ordinal >= 0)
    known = {gap.before: gap for gap in previous.gaps or ()} if previous is not None else {}
    found: list[OpenGap] = []
    last, at, begun = -1, -1, False
    for position, group in enumerate(view.groups):
        begun = begun or not group.head.instructs
        if not kept[position] or not group.head.id or not begun:
            continue
        here = index(group.head.ordinal)
        missing = here - at - 1 - (bisect_left(shown, here) - bisect_right(shown, at))
        if missing > 0:
            dropped = [p for p in range(last + 1, position) if not kept[p]]
            heads = [view.groups[p].head.id for p in range(last + 1, position + 1)]
            parts = [known[head] for head in heads if head in known]
            found.append(OpenGap(position, last if last >= 0 else None, missing, dropped, parts))
        last, at = position, here
    return found


def _described(draft: Draft, gap: OpenGap) -> Gap:
    """A gap with what is known of it; an unchanged one is that of the plan before."""
    groups = draft.view.groups
    before, after = groups[gap.before].head.id, _result_before(draft, gap)
    if len(gap.known) == 1 and not gap.dropped:
        known = gap.known[0]
        if (known.before, known.after, known.messages) == (before, after, gap.messages):
            return known
    did: Counter[str] = Counter()
    for known in gap.known:
        did.update(dict(known.did))
    did.update(_does(use) for position in gap.dropped for use in groups[position].head.uses)
    ids = [known.reference for known in gap.known] + [groups[position].head.id for position in gap.dropped]
    return Gap(before, after, gap.messages, "", tuple(did.most_common(MOST_KNOWN)), next(filter(None, ids), ""))


def _result_before(draft: Draft, gap: OpenGap) -> str:
    """The id of the result that the marker ends; empty where it is a message of its own."""
    view = draft.view
    if gap.after is None or not view.takes_line(gap.after):
        return ""
    if view.groups[gap.after].pinned and (view.turn is None or gap.before <= view.turn):
        return ""
    return view.members[gap.after][-1].id


def _does(use: Use) -> str:
    """What a call does, in words."""
    return f"{use.name} {file_name(use.paths[0])}" if use.kind in (READ, CHANGE) and use.paths else use.name


def _files(known: Sequence[str], uses: Sequence[Use], kind: str) -> tuple[str, ...]:
    """The files of calls of a kind, each once, the newest last."""
    named = [path for use in uses if use.kind == kind for path in use.paths]
    return tuple(reversed(dict.fromkeys(reversed([*known, *named]))))[-MOST_KNOWN:]


def _count_only(gap: Gap) -> str:
    return f"[{gap.messages} message{'s' * (gap.messages != 1)} left out]"


def _text(gap: Gap, *, names: int, recall: bool) -> str:
    """The text of a marker."""
    said = [f"{what} x{times}" if times > 1 else what for what, times in gap.did[:names]]
    if len(gap.did) > names > 0:
        said.append("…")
    parts = [": " + ", ".join(said)] if said else []
    if recall and gap.reference:
        parts.append(f"; recall {gap.reference}")
    return _count_only(gap)[:-1] + "".join(parts) + "]"


def cost_of(text: str) -> int:
    """About what a marker comes to, rather more than less: a plan would spend most of its time with counting them."""
    return len(text) // CHARS_A_TOKEN + 4


def _with_texts(gaps: Sequence[Gap], most: int, unmarkable: AbstractSet[str], *, recall: bool) -> tuple[Gap, ...]:
    """Give the gaps their texts: those of unchanged ones stay, the newest of the others say most."""
    texts = ["" if gap.before in unmarkable else gap.text or _count_only(gap) for gap in gaps]
    left = most - sum([cost_of(text) for text in texts if text])
    for index in reversed(range(len(gaps))):
        if left < 0 and texts[index]:
            shorter = _count_only(gaps[index])
            left, texts[index] = left + cost_of(texts[index]) - cost_of(shorter), shorter
    for names, with_reference in ((2, False), (MOST_NAMES, False), (MOST_NAMES, recall)):
        for index in reversed(range(len(gaps))):
            if gaps[index].text or not texts[index]:
                continue
            longer = _text(gaps[index], names=names, recall=with_reference)
            more = cost_of(longer) - cost_of(texts[index])
            if more <= left:
                left, texts[index] = left - more, longer
    pairs = zip(gaps, texts, strict=True)
    return tuple(gap if gap.text == text else replace(gap, text=text) for gap, text in pairs)


# The notice


def notice_text(request: PlanRequest, gone: Gone, dropped: int, shortened: int, *, step: int, room_tokens: int) -> str:
    """The notice; as long as configured, or as the budget and the room allow.

    What has to be said is said in any room: how much is gone, how the rest is had, and the newest of what was tried in
    vain. Only the names of files need it.
    """
    config, count = request.config, request.count
    where = f", in {len(gone.gaps)} places that are marked" if len(gone.gaps) > 1 else ""
    minimal = f"{_number(dropped, 'earlier message')} left out of this view{where}."
    cut = f" {_number(shortened, 'long text')} shortened." if shortened else ""
    files = files_text(gone.changed, gone.read)
    way_back = WAY_BACK if config.offers_recall else NO_WAY_BACK
    short = f"{minimal}{cut} {way_back}"
    most = min(config.compaction_notice_token_reserve, int(request.budget_tokens * NOTICE_SHARE))
    room = min(most, room_tokens)
    failed = _failed(gone.in_vain, most // 2, count)
    normal = f"{minimal}{cut}{files}{failed} {way_back}"
    verbose = f"{normal} Compaction went to step {step} to fit {request.budget_tokens:,} tokens."
    levels = {"minimal": [minimal], "normal": [normal, f"{minimal}{cut}{failed} {way_back}", short, minimal]}
    levels["verbose"] = [verbose, *levels["normal"]]
    for text in levels[config.compaction_notice_verbosity]:
        wrapped = f"<system-reminder>\n{text}\n</system-reminder>"
        if count(inserted_message("user", wrapped)) <= (room if files and files in text else most):
            return wrapped
    return ""


WAY_BACK = (
    "The tool recall gives them back: by search (query), or by the id that a marker or a cut text names "
    "(reference). Recall or look again rather than guess what was said."
)
NO_WAY_BACK = (
    "They are kept in the session's log; "
    "work from what is shown, and look again at a file or a result rather than guess what it said."
)


def _failed(commands: Sequence[str], most_tokens: int, count: Count) -> str:
    """A sentence that names commands, as many of the newest as there is room for."""

    def sentence(number: int) -> str:
        return " Commands that failed in them: " + " | ".join(commands[-number:]) + "." if number else ""

    def too_long(number: int) -> bool:
        return count(inserted_message("user", sentence(number))) > most_tokens

    return sentence(bisect_left(range(1, len(commands) + 1), 1, key=too_long))


def _number(count: int, noun: str) -> str:
    return f"1 {noun} is" if count == 1 else f"{count:,} {noun}s are"
