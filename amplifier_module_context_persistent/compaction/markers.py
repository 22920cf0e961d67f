"""The texts that compaction inserts: the markers of gaps, the notice, and the summary; and their places.

A group is a message with the results of its calls. A gap is a place where a view leaves groups out (`gaps`). Its marker
is a text that says so. The notice is one text that sums up what the whole view leaves out (`notice_wording`). A cut
shortens a message's text, and can also put a line after it.

Rules:
- A marker is between two groups. It is the last line of the last result before the gap, or else a user message before
  the next kept group. In the turn in progress a user message would begin a new turn, except right after the person's
  own message. So a gap there that does not follow a result is marked after the results of the next group
  (`left out before this call`). The gap has no marker if that group has no results and follows text of the model.
- The marker's text is stored in the plan. If a later plan does not change a gap, its marker keeps its bytes.
- The notice is at the last gap, with its marker. It says how much was left out and how to read it, and names the newest
  failed commands. It names files only if there is room.
- Markers and notice share `SHARE` of the target with the markers of cuts. The room is used first for brief markers (the
  most frequent tools), then for the notice, and then for more tools and changed files in the markers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from ..messages.elide import WHOLE
from ..messages.tool_kinds import CHANGE, READ, ToolUse
from ..view.plan import SUMMARY_TAGS, Gap, Notice, Plan
from .always_kept import STEPS, Stage
from .draft import CHARS_A_TOKEN, MARKER_TOKENS, Draft
from .failed_commands import MOST_KNOWN, each_once, failed_commands
from .gaps import find_gaps
from .marker_wording import long_marker
from .notice_wording import notice_text

SHARE = 0.08  # of the target, for all markers and the notice


def with_left_out(draft: Draft, plan: Plan) -> Plan:
    """Return the plan with the gaps, files and failed commands that this plan or earlier plans left out of the view."""
    view = draft.view
    previous = draft.request.so_far.plan
    uses = list[ToolUse]()
    for group, is_kept in zip(view.groups, draft.kept, strict=True):
        if not is_kept:
            uses += group.head.gist.uses
    changed = _files(previous.left_out.changed, uses, CHANGE)
    read = tuple(path for path in _files(previous.left_out.read, uses, READ) if path not in changed)
    in_vain = failed_commands(draft, previous.left_out.in_vain)
    left_out = replace(plan.left_out, gaps=find_gaps(draft), changed=changed, read=read, in_vain=in_vain)
    return replace(plan, left_out=left_out)


def write_inserted(draft: Draft, plan: Plan, older: Mapping[str, str], *, inserts: bool) -> Plan:
    """Write the markers of gaps, the notice and the summary.

    Args:
        draft: the view in the making.
        plan: the plan, complete except for the inserted texts.
        older: a line for each result whose file has changed since; by the result's id. It says that the file changed.
        inserts: whether markers, notice and summary are inserted; if not, only the lines of `older` are.

    Returns:
        The plan with the texts. If a text follows a result, it is in the result's cut (`Cut.then`); otherwise it is in
        its gap or in the plan's notice.
    """
    unmarkable = _unmarkable(draft, plan)
    step = _step_to_tell(draft, plan)
    if inserts and draft.config.compaction_notice_enabled and step >= draft.config.compaction_notice_min_level:
        gaps, notice = _write_markers_and_notice(draft, plan, older, unmarkable, step=step)
    else:
        gaps = tuple(replace(gap, text="") for gap in plan.left_out.gaps or ())
        notice = ""
    summary = ""
    if inserts and draft.request.summary_so_far:
        summary = draft.request.summary_so_far.join(SUMMARY_TAGS)

    lines = defaultdict(list, {result_id: [line] for result_id, line in older.items()})
    for gap in gaps:
        if gap.after and gap.text:
            lines[gap.after].append(gap.text)
    last = next((gap for gap in reversed(gaps) if gap.before not in unmarkable), None)
    if last is not None and last.after and not summary:
        inserted = Notice("", "")  # the notice is a line after the last marker, and not a message
        if notice:
            lines[last.after].append(notice)
    else:
        inserted = _inserted_message(draft, last, notice, summary)
    marked = {
        result_id: plan.cuts.get(result_id, WHOLE).with_line("\n".join(after)) for result_id, after in lines.items()
    }
    left_out = replace(plan.left_out, gaps=gaps)
    return replace(plan, left_out=left_out, notice=inserted, cuts={**plan.cuts, **marked})


def _step_to_tell(draft: Draft, plan: Plan) -> int:
    """Return the step that the notice names: how far compaction went.

    If earlier plans left out messages, the step is at least that of the previous plan and of the stage `FREE`.
    """
    if not draft.request.history.left_out:
        return plan.making.step
    return max(plan.making.step, STEPS[Stage.FREE], draft.request.so_far.plan.making.step)


def _write_markers_and_notice(
    draft: Draft, plan: Plan, older: Mapping[str, str], unmarkable: Set[str], *, step: int
) -> tuple[tuple[Gap, ...], str]:
    """Return the gaps of a plan with their markers, and the notice ("" if there is none).

    Both share `SHARE` of the target with `older` and the markers of cuts.
    """
    gaps = plan.left_out.gaps or ()
    notice = ""
    room_tokens = int(SHARE * draft.target_tokens) - sum(map(cost_of, older.values()))
    for cut in plan.cuts.values():
        if cut.shortens:
            room_tokens -= MARKER_TOKENS // 2 if cut.brief else MARKER_TOKENS
    briefs = _briefs(draft, gaps, unmarkable)
    room_tokens -= sum([cost_of(text.partition("\n")[0]) for text in briefs if text])
    if plan.left_out.messages:
        notice = notice_text(draft, plan, step=step, room_tokens=room_tokens)
    return _with_texts(draft, gaps, briefs, room_tokens - len(notice) // CHARS_A_TOKEN), notice


def _inserted_message(draft: Draft, last: Gap | None, notice: str, summary: str) -> Notice:
    """Return the message with the summary and the notice, to be inserted at the last gap that can be marked (`last`).

    If there is no such gap, the message is where the previous plan had it, or else before the turn in progress.
    """
    if last is not None:
        before = last.before
        if last.text and not last.after:
            notice = f"{last.text}\n{notice}" if notice else last.text
    else:
        turn = draft.view.turn
        start_of_turn = "" if turn is None else draft.view.groups[turn].head.id
        before = draft.request.so_far.plan.notice.before or start_of_turn
    if summary:
        notice = f"{summary}\n\n{notice}".rstrip()
    return Notice(notice, before)


def _briefs(draft: Draft, gaps: Sequence[Gap], unmarkable: Set[str]) -> list[str]:
    """Return the shortest marker text of each gap; "" for a gap that cannot be marked."""
    recall = draft.config.offers_recall
    memory = draft.request.so_far.memory
    marked_after_next_call = _marked_after_next_call(draft, gaps)
    found = list[str]()
    for gap in gaps:
        text = ""
        if gap.before not in unmarkable:
            text = memory.brief(gap, recall=recall, after_next_call=gap.before in marked_after_next_call)
        found.append(text)
    return found


def _marked_after_next_call(draft: Draft, gaps: Sequence[Gap]) -> set[str]:
    """Find the gaps that are marked in the group after the gap, at the end of that group's results.

    Returns:
        For each such gap, the id of the message after it.
    """
    turn = draft.view.turn
    in_turn = [] if turn is None else draft.view.members[turn + 1 :]
    last_results = {members[0].id: members[-1].id for members in in_turn if len(members) > 1}  # by the group's head
    return {gap.before for gap in gaps if gap.after and last_results.get(gap.before) == gap.after}


def _unmarkable(draft: Draft, plan: Plan) -> set[str]:
    """Find the gaps that cannot have a marker, because the marker would begin a new turn.

    Returns:
        For each such gap, the id of the message after it.
    """
    groups = draft.view.groups
    turn = draft.view.turn
    if turn is None:
        return set()
    later_groups = [position for position in draft.kept_positions() if position > turn]
    after_model_text = {
        groups[position].head.id for position in later_groups[1:]
    }  # before the first is the person's message
    unmarked = [gap for gap in plan.left_out.gaps or () if not gap.after]
    return {gap.before for gap in unmarked if gap.before in after_model_text}


def _files(known: Sequence[str], uses: Sequence[ToolUse], kind: str) -> tuple[str, ...]:
    """Return the known files and the files of calls of one kind, each once, the newest last."""
    paths = list(known)
    for use in uses:
        if use.kind == kind:
            paths += use.paths
    return tuple(each_once(paths)[-MOST_KNOWN:])


def cost_of(text: str) -> int:
    """Estimate the number of tokens in a marker, rather too high than too low.

    Exact counts would take most of a plan's time.
    """
    return len(text) // CHARS_A_TOKEN + 4


def _with_texts(draft: Draft, gaps: Sequence[Gap], briefs: Sequence[str], room_tokens: int) -> tuple[Gap, ...]:
    """Return the gaps with marker texts, which are longer than the shortest text while there is room.

    Unchanged gaps get their previous texts first. Then the other gaps get long texts, the largest gap first.

    Args:
        draft: the view in the making.
        gaps: the gaps.
        briefs: the shortest text of each gap; "" for a gap that cannot be marked.
        room_tokens: the tokens that all longer texts together may take beyond the shortest ones.
    """
    recall = draft.config.offers_recall
    marked_after_next_call = _marked_after_next_call(draft, gaps)
    unchanged = [at for at, gap in enumerate(gaps) if gap.text]
    new = [at for at, gap in enumerate(gaps) if not gap.text]
    new.sort(key=lambda at: (-gaps[at].messages, -at))
    texts = list(briefs)
    for at in [*unchanged, *new]:
        gap = gaps[at]
        if not texts[at] or (room_tokens < 0 and not gap.text):
            continue
        if gap.text == texts[at]:
            continue  # the marker stays brief, which is frequent
        longer = gap.text or long_marker(gap, recall=recall, after_next_call=gap.before in marked_after_next_call)
        more_tokens = cost_of(longer) - cost_of(texts[at])
        if more_tokens <= room_tokens:
            room_tokens -= more_tokens
            texts[at] = longer
    pairs = zip(gaps, texts, strict=True)
    return tuple(gap if gap.text == text else replace(gap, text=text) for gap, text in pairs)
