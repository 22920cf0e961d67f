"""Insertions of compaction: the markers of gaps, the notice, and the places of both and of a summary.

Rules:
- A gap is a place where a view leaves messages out. It ends before a kept group that is in the log, and never before
  the system text at the beginning. Messages beside the entries, which no group has, do not count as missing. Messages
  that no view can show do: an answer of thinking alone, a blank message, a result without a call.
- A marker is between two groups: the last line of the last result before the gap, else a user message before the next
  kept group. In the turn in progress a user message would begin a new turn, except right after the person's own. So a
  gap there that does not follow a result is marked after the results of the next group (`left out before this call`).
  It has no marker if that group has no results, and words of the model are before the gap.
- The marker's text is stored in the plan. A gap that a later plan does not change keeps its bytes.
- The notice is at the last gap, with its marker. It says how much was left out and how to read it, and names the newest
  failed commands; files are named only if there is room.
- Markers and notice share `SHARE` of the target with the markers of cuts: first brief markers (the most frequent
  tools), then the notice, then more tools and changed files.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial

from ..messages.elide import WHOLE
from ..messages.tool_kinds import CHANGE, READ, ToolUse, file_name
from ..view.inserted_messages import inserted_message
from ..view.plan import SUMMARY_TAGS, Gap, Notice, Plan, Quote
from .always_kept import STEPS, Stage
from .draft import CHARS_A_TOKEN, MARKER_TOKENS, Draft
from .failed_commands import MOST_KNOWN, each_once, failed_commands
from .quotes import quotes_of, within_room
from .told_files import files_text

SHARE = 0.08  # of the target, for all that is inserted
NOTICE_SHARE = 0.02  # of the budget; if even the shortest notice is longer, there is none
MOST_NAMES = 4  # tools that a marker names, in about 20 tokens; calls of others are counted together
BRIEF_NAMES = 2  # the same if there is no room for more
MOST_FILES_OF_A_TOOL = 3  # that a marker names; the notice has more


def what_is_gone(draft: Draft, plan: Plan) -> Plan:
    """The plan with its `left_out` filled in: gaps, files and failed commands that this or earlier plans left out."""
    view, previous = draft.view, draft.request.so_far.plan
    uses = list[ToolUse]()
    for group, kept in zip(view.groups, draft.kept, strict=True):
        if not kept:
            uses += group.head.gist.uses
    changed = _files(previous.left_out.changed, uses, CHANGE)
    read = tuple(path for path in _files(previous.left_out.read, uses, READ) if path not in changed)
    in_vain = failed_commands(draft, previous.left_out.in_vain)
    left_out = replace(plan.left_out, gaps=find_gaps(draft), changed=changed, read=read, in_vain=in_vain)
    return replace(plan, left_out=left_out)


def write_inserted(draft: Draft, plan: Plan, older: Mapping[str, str], *, inserts: bool) -> Plan:
    """Write the markers of gaps, the notice and the summary.

    Args:
        draft: the view.
        plan: what it leaves out and cuts.
        older: by the id of a result, the line that says that its file changed since.
        inserts: whether anything else is put in.

    Returns:
        The plan with the texts; its cuts put `older`, the markers of gaps and at the last one the notice after results.
    """
    unmarkable = _unmarkable(draft, plan)
    step = _step_to_tell(draft, plan)
    if inserts and draft.config.compaction_notice_enabled and step >= draft.config.compaction_notice_min_level:
        gaps, notice = _write_markers_and_notice(draft, plan, older, unmarkable, step=step)
    else:
        gaps, notice = tuple(replace(gap, text="") for gap in plan.left_out.gaps or ()), ""
    summary = ""
    if inserts and draft.request.summary_so_far:
        summary = draft.request.summary_so_far.join(SUMMARY_TAGS)

    lines = defaultdict(list, {result_id: [line] for result_id, line in older.items()})
    for gap in gaps:
        if gap.after and gap.text:
            lines[gap.after].append(gap.text)
    last = next((gap for gap in reversed(gaps) if gap.before not in unmarkable), None)
    if last is not None and last.after and not summary:
        inserted = Notice("", "")  # it is a line after the last marker
        if notice:
            lines[last.after].append(notice)
    else:
        inserted = _inserted_message(draft, last, notice, summary)
    marked = {
        result_id: replace(plan.cuts.get(result_id, WHOLE), then="\n".join(after)) for result_id, after in lines.items()
    }
    left_out = replace(plan.left_out, gaps=gaps)
    return replace(plan, left_out=left_out, notice=inserted, cuts={**plan.cuts, **marked})


def _step_to_tell(draft: Draft, plan: Plan) -> int:
    """The step of a plan; if earlier plans left something out, at least their step and that of leaving out."""
    if not draft.request.history.left_out:
        return plan.making.step
    return max(plan.making.step, STEPS[Stage.FREE], draft.request.so_far.plan.making.step)


def _write_markers_and_notice(
    draft: Draft, plan: Plan, older: Mapping[str, str], unmarkable: Set[str], *, step: int
) -> tuple[tuple[Gap, ...], str]:
    """Give the gaps of a plan their markers, and write the notice; both share `SHARE` of the target."""
    gaps, notice = plan.left_out.gaps or (), ""
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
    """The summary and the notice as a message of their own, at the last gap that can be marked.

    If there is no such gap, the message is where the plan before had it, or else before the turn in progress.
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
    """The shortest text of the marker of each gap; empty if nothing can mark it."""
    recall, memory, behind = draft.config.offers_recall, draft.request.so_far.memory, _marked_behind(draft, gaps)
    found = list[str]()
    for gap in gaps:
        is_behind = gap.before in behind
        basis = gap.messages, gap.did, gap.reference, gap.said, recall, is_behind
        write = partial(_brief, gap, recall=recall, behind=is_behind)
        found.append("" if gap.before in unmarkable else memory.brief(gap.before, basis, write))
    return found


def _marked_behind(draft: Draft, gaps: Sequence[Gap]) -> set[str]:
    """The gaps that are marked after the results of the group behind them, by the id of the message that follows."""
    turn = draft.view.turn
    in_turn = [] if turn is None else draft.view.members[turn + 1 :]
    last = {members[0].id: members[-1].id for members in in_turn if len(members) > 1}
    return {gap.before for gap in gaps if gap.after and last.get(gap.before) == gap.after}


def _unmarkable(draft: Draft, plan: Plan) -> set[str]:
    """The ids of messages after gaps that cannot have a marker, because it would begin a new turn."""
    groups, turn = draft.view.groups, draft.view.turn
    kept = [] if turn is None else [position for position in draft.left() if position > turn]
    behind_words = {groups[position].head.id for position in kept[1:]}  # the first is right after the person's message
    return {gap.before for gap in plan.left_out.gaps or () if not gap.after and gap.before in behind_words}


# Gaps, and their markers


def find_gaps(draft: Draft) -> tuple[Gap, ...]:
    """The gaps of a draft in order, those that are new or have grown without their texts."""
    groups, index = draft.view.groups, draft.request.history.index_of
    shown_before = {place: number for number, place in enumerate(_shown_places(draft))}
    known = {gap.before: gap for gap in draft.request.so_far.plan.left_out.gaps or ()}
    dropped = [position for position, kept in enumerate(draft.kept) if not kept]
    said = quotes_of(groups, dropped if draft.quotes_room else (), draft.request.fetch, draft.quotes_room)
    found: list[Gap] = []
    last, missing_so_far = -1, 0
    start = next((position for position, group in enumerate(groups) if not group.head.instructs), len(groups))
    for position in draft.left():
        head = groups[position].head
        place = index(head.ordinal)
        if position < start or not head.id or place < 0:
            continue
        missing = place - shown_before[place]
        if missing > missing_so_far:
            found.append(_gap(draft, last, position, missing - missing_so_far, known, said))
        last, missing_so_far = position, missing
    return within_room(found, draft.quotes_room, draft.request.count)


def _shown_places(draft: Draft) -> list[int]:
    """The places in the live history of all messages that a view shows, in order."""
    request, members = draft.request, draft.view.members
    dropped = {entry.ordinal for at, kept in enumerate(draft.kept) if not kept for entry in members[at]}
    dropped.update([entry.ordinal for entry in draft.view.beside])
    shown = {*request.history.shown_anyway, *[entry.ordinal for entry in request.entries]} - dropped
    places = [request.history.index_of(ordinal) for ordinal in shown if ordinal >= 0]
    return sorted([place for place in places if place >= 0])


def _gap(
    draft: Draft,
    last: int,
    position: int,
    messages: int,
    known: Mapping[str, Gap],
    quotes: Mapping[int, tuple[Quote, ...]],
) -> Gap:
    """The gap between two kept groups; an unchanged gap is reused from the plan before.

    Args:
        draft: the view.
        last: the position of the group before the gap, -1 if there is none.
        position: the position of the next kept group.
        messages: the number of missing messages.
        known: the gaps of the plan before, by the message after them.
        quotes: the quotes of groups that this plan leaves out, by position.
    """
    before, after = draft.view.groups[position].head.id, _marked_result(draft, last, position)
    if last + 1 == position:  # nothing new is left out here: most gaps of a plan are such
        part = known.get(before)
        if part is not None and part.messages == messages and part.after == after:
            return part
    between = range(last + 1, position)
    if all(draft.kept[at] for at in between):
        heads = [draft.view.groups[at].head.id for at in range(last + 1, position + 1)]
        parts = [known[head_id] for head_id in heads if head_id in known]
        if [(part.before, part.after, part.messages) for part in parts] == [(before, after, messages)]:
            return parts[0]

    did, ids, said = Counter[str](), list[str](), list[Quote]()
    before_head = draft.view.members[last][-1].ordinal if last >= 0 else -1
    for at in range(last + 1, position + 1):
        head = draft.view.groups[at].head
        part = known.get(head.id)
        if part is not None:  # this gap contains a gap of the plan before
            did.update(dict(part.did))
            ids.append(part.reference)
            said += part.said
        ids += [entry.id for entry in draft.view.beside if before_head < entry.ordinal < head.ordinal]
        before_head = head.ordinal
        if at in between and not draft.kept[at]:
            did.update(_does(use) for use in head.gist.uses)
            said += quotes.get(at, ())
            ids.append(head.id)
    reference = next(filter(None, ids), "")
    return Gap(before, after, messages, "", _most_frequent(did), reference, tuple(said))


def _most_frequent(did: Counter[str]) -> tuple[tuple[str, int], ...]:
    """The most frequent actions of tools; other calls are counted by the tool's name, so that none is lost."""
    found = Counter(dict(did.most_common(MOST_KNOWN)))
    for what, times in did.most_common()[MOST_KNOWN:]:
        found[what.partition(" ")[0]] += times
    return tuple(found.most_common())


def _marked_result(draft: Draft, last: int, position: int) -> str:
    """The id of the result that gets the marker of a gap as its last line; empty if the marker is a message of its own.

    It is the last result before the gap. In the turn in progress, if a text stands before the gap, it is the last
    result of the group behind it.
    """
    view, turn = draft.view, draft.view.turn
    is_open = turn is not None and position > turn
    if last >= 0 and view.takes_line(last) and (is_open or not view.groups[last].pinned):
        return view.members[last][-1].id
    if is_open and view.takes_line(position):
        return view.members[position][-1].id
    return ""


def _does(use: ToolUse) -> str:
    """The tool of a call, with the file that it changes."""
    if use.kind == CHANGE and use.paths:
        return f"{use.name} {file_name(use.paths[0])}"
    return use.name


def _files(known: Sequence[str], uses: Sequence[ToolUse], kind: str) -> tuple[str, ...]:
    """The files of calls of a kind, each once, the newest last."""
    named = list(known)
    for use in uses:
        if use.kind == kind:
            named += use.paths
    return tuple(each_once(named)[-MOST_KNOWN:])


def _brief(gap: Gap, *, recall: bool, behind: bool) -> str:
    """The shortest text of a marker: how many messages, the tools that were called most, the reference of the first."""
    times = _times_by_tool(gap)
    named = BRIEF_NAMES
    if len(times) == BRIEF_NAMES + 1:
        named += 1  # a third one is no longer than what counts the others
    said = [_calls_of(tool, count, ()) for tool, count in times.most_common(named)]
    return _marker(gap, said, times, recall=recall, behind=behind)


def _text(gap: Gap, *, recall: bool, behind: bool) -> str:
    """The text of a marker: more tools, most frequent first, and the files that they changed."""
    times, files = _times_by_tool(gap), defaultdict[str, list[str]](list)
    for what, _ in gap.did:
        tool, _, file = what.partition(" ")
        if file:
            files[tool].append(file)
    said = [_calls_of(tool, count, files[tool]) for tool, count in times.most_common(MOST_NAMES)]
    return _marker(gap, said, times, recall=recall, behind=behind)


def _times_by_tool(gap: Gap) -> Counter[str]:
    """The number of calls of each tool in a gap."""
    times = Counter[str]()
    for what, count in gap.did:
        times[what.partition(" ")[0]] += count
    return times


def _marker(gap: Gap, said: Sequence[str], times: Counter[str], *, recall: bool, behind: bool) -> str:
    """A marker that says what some tools did, and what was said; calls of the other tools are counted together."""
    marker = "1 message" if gap.messages == 1 else f"{gap.messages} messages"
    marker += " left out before this call" if behind else " left out"
    others = sum([count for _, count in times.most_common()[len(said) :]])
    named = [*said, f"other calls x{others}"] if others else said
    if named:
        marker += f": {', '.join(named)}"
    if recall and gap.reference:
        marker += f"; recall {gap.reference}"
    return "\n".join([f"[{marker}]", *[quote.text for quote in gap.said]])


def _calls_of(tool: str, times: int, files: Sequence[str]) -> str:
    """One tool with the number of its calls and the files that they changed: `Edit a.py, b.py and 2 more x12`."""
    said = tool
    if files:
        said += f" {', '.join(files[:MOST_FILES_OF_A_TOOL])}"
    if len(files) > MOST_FILES_OF_A_TOOL:
        said += f" and {len(files) - MOST_FILES_OF_A_TOOL} more"
    if times > 1:
        said += f" x{times}"
    return said


def cost_of(text: str) -> int:
    """The estimated tokens of a marker, rather too many than too few: exact counts would take most of a plan's time."""
    return len(text) // CHARS_A_TOKEN + 4


def _with_texts(draft: Draft, gaps: Sequence[Gap], briefs: Sequence[str], room_tokens: int) -> tuple[Gap, ...]:
    """Give gaps longer texts while there is room: first the unchanged ones those that they had, then the largest.

    Args:
        draft: the view.
        gaps: the gaps.
        briefs: the shortest text of each; empty if nothing can mark it.
        room_tokens: what the longer texts may take beyond the shortest ones.
    """
    recall, behind = draft.config.offers_recall, _marked_behind(draft, gaps)
    unchanged = [at for at, gap in enumerate(gaps) if gap.text]
    new = [at for at, gap in enumerate(gaps) if not gap.text]
    new.sort(key=lambda at: (-gaps[at].messages, -at))
    texts = list(briefs)
    for at in [*unchanged, *new]:
        gap = gaps[at]
        if not texts[at] or (room_tokens < 0 and not gap.text):
            continue
        longer = gap.text or _text(gap, recall=recall, behind=gap.before in behind)
        more_tokens = cost_of(longer) - cost_of(texts[at])
        if more_tokens <= room_tokens:
            room_tokens -= more_tokens
            texts[at] = longer
    pairs = zip(gaps, texts, strict=True)
    return tuple(gap if gap.text == text else replace(gap, text=text) for gap, text in pairs)


# The notice


def notice_text(draft: Draft, plan: Plan, *, step: int, room_tokens: int) -> str:
    """The notice, in the configured length, or as long as the budget and the room allow.

    It always says how much was left out, how to read it, and the newest failed commands. Only the names of files
    depend on the room.
    """
    most_tokens = min(draft.config.compaction_notice_token_reserve, int(draft.request.budget_tokens * NOTICE_SHARE))
    files = files_text(plan.left_out.changed, plan.left_out.read)
    for wording in _notice_wordings(draft, plan, files, step=step, most_tokens=most_tokens):
        text = f"<system-reminder>\n{wording}\n</system-reminder>"
        names_files = files != "" and files in wording
        most = min(most_tokens, room_tokens) if names_files else most_tokens
        if draft.request.count(inserted_message("user", text)) <= most:
            return text
    return ""


def _notice_wordings(draft: Draft, plan: Plan, files: str, *, step: int, most_tokens: int) -> list[str]:
    """The wordings of the notice, the longest first, as `compaction_notice_verbosity` allows."""
    config, gaps = draft.config, plan.left_out.gaps or ()
    places = f", in {len(gaps)} places that are marked" if len(gaps) > 1 else ""
    minimal = f"{_number(plan.left_out.messages, 'earlier message')} left out of this view{places}."
    if config.compaction_notice_verbosity == "minimal":
        return [minimal]
    shortened = sum(cut.shortens for cut in plan.cuts.values())
    cut = f" {_number(shortened, 'long text')} shortened." if shortened else ""
    failed = _failed(draft, plan.left_out.in_vain, most_tokens // 2)
    way_back = WAY_BACK if config.offers_recall else NO_WAY_BACK
    normal = f"{minimal}{cut}{files}{failed} {way_back}"
    wordings = [normal, f"{minimal}{cut}{failed} {way_back}", f"{minimal}{cut} {way_back}", minimal]
    if config.compaction_notice_verbosity == "verbose":
        wordings.insert(0, f"{normal} Compaction went to step {step} to fit {draft.request.budget_tokens:,} tokens.")
    return wordings


WAY_BACK = (
    "The tool recall gives them back: by search (query), or by the id that a marker or a cut text names "
    "(reference). Recall or look again rather than guess what was said."
)
NO_WAY_BACK = (
    "They are kept in the session's log; "
    "work from what is shown, and look again at a file or a result rather than guess what it said."
)


def _failed(draft: Draft, commands: Sequence[str], most_tokens: int) -> str:
    """A sentence that names commands, as many of the newest as there is room for."""
    tokens, newest = 0, list[str]()
    for command in reversed(commands):
        tokens += draft.request.count(inserted_message("user", command))
        if tokens > most_tokens:
            break
        newest.insert(0, command)
    return f" Commands that failed in them: {' | '.join(newest)}." if newest else ""


def _number(count: int, noun: str) -> str:
    return f"1 {noun} is" if count == 1 else f"{count:,} {noun}s are"
