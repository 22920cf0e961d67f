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
from itertools import accumulate, takewhile

from ..messages.elide import WHOLE
from ..messages.tool_kinds import CHANGE, READ, ToolUse, file_name
from ..view.inserted_messages import inserted_message
from ..view.plan import SUMMARY_TAGS, Gap, Notice, Plan, Quote
from .always_kept import STEPS, Stage
from .draft import CHARS_A_TOKEN, MARKER_TOKENS, Draft
from .failed_commands import MOST_KNOWN, tried_in_vain
from .quotes import quotes_of, within_room

SHARE = 0.08  # of the target, for all that is inserted
NOTICE_SHARE = 0.02  # of the budget; if even the shortest notice is longer, there is none
MOST_NAMES = 4  # tools that a marker names, in about 20 tokens; calls of others are counted together
BRIEF_NAMES = 2  # the same if there is no room for more
MOST_FILES_OF_A_TOOL = 3  # that a marker names; the notice has more
_BELOW = " Relative paths are below {}."
MOST_FILES = 12  # of each kind


def what_is_gone(draft: Draft, plan: Plan) -> Plan:
    """The plan with its `left_out` filled in: gaps, files and failed commands that this or earlier plans left out."""
    view, previous = draft.view, draft.request.so_far.plan
    uses = [use for p, kept in enumerate(draft.kept) if not kept for use in view.groups[p].head.gist.uses]
    changed = _files(previous.left_out.changed, uses, CHANGE)
    read = tuple(path for path in _files(previous.left_out.read, uses, READ) if path not in changed)
    in_vain = tried_in_vain(draft, previous.left_out.in_vain)
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
    config, request = draft.config, draft.request
    unmarkable, gaps, notice = _unmarkable(draft, plan), plan.left_out.gaps or (), ""
    told_step = plan.making.step
    if request.history.left_out:
        told_step = max(told_step, STEPS[Stage.FREE], request.so_far.plan.making.step)
    if inserts and config.compaction_notice_enabled and told_step >= config.compaction_notice_min_level:
        marks = [MARKER_TOKENS // (2 if cut.brief else 1) for cut in plan.cuts.values() if cut.shortens]
        room = int(SHARE * draft.target_tokens) - sum(marks) - sum(map(cost_of, older.values()))
        briefs = _briefs(draft, gaps, unmarkable)
        room -= sum([cost_of(text.partition("\n")[0]) for text in briefs if text])
        if plan.left_out.messages:
            notice = notice_text(draft, plan, step=told_step, room_tokens=room)
        gaps = _with_texts(draft, gaps, briefs, room - len(notice) // CHARS_A_TOKEN)
    else:
        gaps = tuple(replace(gap, text="") for gap in gaps)
    lines = defaultdict(list, {key: [line] for key, line in older.items()})
    for gap in gaps:
        if gap.after and gap.text:
            lines[gap.after].append(gap.text)
    summary = request.summary_so_far.join(SUMMARY_TAGS) if inserts and request.summary_so_far else ""
    last = next((gap for gap in reversed(gaps) if gap.before not in unmarkable), None)
    before = ""
    if last is not None and last.after and not summary:
        lines[last.after] += [notice] if notice else []
        notice = ""
    elif last is not None:
        before, notice = last.before, "\n".join(filter(None, ("" if last.after else last.text, notice)))
    else:
        turn = draft.view.turn
        before = request.so_far.plan.notice.before or ("" if turn is None else draft.view.groups[turn].head.id)
    notice = f"{summary}\n\n{notice}".rstrip() if summary else notice
    marked = {key: replace(plan.cuts.get(key, WHOLE), then="\n".join(some)) for key, some in lines.items() if some}
    left_out = replace(plan.left_out, gaps=gaps)
    return replace(plan, left_out=left_out, notice=Notice(notice, before), cuts={**plan.cuts, **marked})


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
    if last + 1 == position:  # nothing new is left out here: most gaps of a plan are such
        part = known.get(draft.view.groups[position].head.id)
        if part is not None and part.messages == messages and part.after == _marked_result(draft, last, position):
            return part
    heads = [group.head for group in draft.view.groups[last + 1 : position + 1]]
    parts = [known[head.id] for head in heads if head.id in known]
    dropped = [head for head, kept in zip(heads, draft.kept[last + 1 : position + 1], strict=True) if not kept]
    before, after = heads[-1].id, _marked_result(draft, last, position)
    if not dropped and [(part.before, part.after, part.messages) for part in parts] == [(before, after, messages)]:
        return parts[0]
    did: Counter[str] = Counter()
    ids, said = list[str](), list[Quote]()
    before_head = draft.view.members[last][-1].ordinal if last >= 0 else -1
    for at, head in enumerate(heads):
        if head.id in known:
            did.update(dict(known[head.id].did))
            ids.append(known[head.id].reference)
            said += known[head.id].said
        ids += [entry.id for entry in draft.view.beside if before_head < entry.ordinal < head.ordinal]
        before_head = head.ordinal
        if at < len(heads) - 1 and not draft.kept[last + 1 + at]:
            did.update(_does(use) for use in head.gist.uses)
            said += quotes.get(last + 1 + at, ())
            ids.append(head.id)
    return Gap(before, after, messages, "", _most_frequent(did), next(filter(None, ids), ""), tuple(said))


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
    return view.members[position][-1].id if is_open and view.takes_line(position) else ""


def _does(use: ToolUse) -> str:
    """The tool of a call, with the file that it changes."""
    return f"{use.name} {file_name(use.paths[0])}" if use.kind == CHANGE and use.paths else use.name


def _files(known: Sequence[str], uses: Sequence[ToolUse], kind: str) -> tuple[str, ...]:
    """The files of calls of a kind, each once, the newest last."""
    named = [path for use in uses if use.kind == kind for path in use.paths]
    return tuple(reversed(dict.fromkeys(reversed([*known, *named]))))[-MOST_KNOWN:]


def _brief(gap: Gap, *, recall: bool, behind: bool) -> str:
    """The shortest text of a marker: how many messages, the tools that were called most, the reference of the first."""
    times = _times_by_tool(gap)
    named = BRIEF_NAMES + (len(times) == BRIEF_NAMES + 1)  # a third one is no longer than what counts the others
    said = [_calls_of(tool, count, ()) for tool, count in times.most_common(named)]
    return _marker(gap, said, times, recall=recall, behind=behind)


def _text(gap: Gap, *, recall: bool, behind: bool) -> str:
    """The text of a marker: more tools, most frequent first, and the files that they changed."""
    times, files = _times_by_tool(gap), dict[str, list[str]]()
    for what, _ in gap.did:
        tool, _, file = what.partition(" ")
        files.setdefault(tool, []).extend([file] if file else [])
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
    where = " before this call" if behind else ""
    others = sum([count for _, count in times.most_common()[len(said) :]])
    named = ", ".join([*said, f"other calls x{others}"] if others else said)
    reference = f"; recall {gap.reference}" if recall and gap.reference else ""
    what = f"{gap.messages} message{'s' * (gap.messages != 1)} left out{where}"
    marker = f"[{what}{': ' * bool(named)}{named}{reference}]"
    return "\n".join([marker, *[quote.text for quote in gap.said]])


def _calls_of(tool: str, times: int, files: Sequence[str]) -> str:
    """One tool with the number of its calls and the files that they changed: `Edit a.py, b.py and 2 more x12`."""
    named = ", ".join(files[:MOST_FILES_OF_A_TOOL])
    more = f" and {len(files) - MOST_FILES_OF_A_TOOL} more" if len(files) > MOST_FILES_OF_A_TOOL else ""
    return f"{tool}{' ' * bool(named)}{named}{more}{f' x{times}' if times > 1 else ''}"


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
    texts, left = list(briefs), room_tokens
    new = sorted((at for at, gap in enumerate(gaps) if not gap.text), key=lambda at: (-gaps[at].messages, -at))
    for at in [*(at for at, gap in enumerate(gaps) if gap.text), *new]:
        if not texts[at] or (left < 0 and not gaps[at].text):
            continue
        longer = gaps[at].text or _text(gaps[at], recall=recall, behind=gaps[at].before in behind)
        more = cost_of(longer) - cost_of(texts[at])
        if more <= left:
            left, texts[at] = left - more, longer
    pairs = zip(gaps, texts, strict=True)
    return tuple(gap if gap.text == text else replace(gap, text=text) for gap, text in pairs)


# The notice


def notice_text(draft: Draft, plan: Plan, *, step: int, room_tokens: int) -> str:
    """The notice, in the configured length, or as long as the budget and the room allow.

    It always says how much was left out, how to read it, and the newest failed commands. Only the names of files
    depend on the room.
    """
    config, budget, gaps = draft.config, draft.request.budget_tokens, plan.left_out.gaps or ()
    most = min(config.compaction_notice_token_reserve, int(budget * NOTICE_SHARE))
    where = f", in {len(gaps)} places that are marked" if len(gaps) > 1 else ""
    minimal = f"{_number(plan.left_out.messages, 'earlier message')} left out of this view{where}."
    shortened = sum(cut.shortens for cut in plan.cuts.values())
    cut = f" {_number(shortened, 'long text')} shortened." if shortened else ""
    files, failed = (
        files_text(plan.left_out.changed, plan.left_out.read),
        _failed(draft, plan.left_out.in_vain, most // 2),
    )
    way_back = WAY_BACK if config.offers_recall else NO_WAY_BACK
    normal = f"{minimal}{cut}{files}{failed} {way_back}"
    texts = [normal, f"{minimal}{cut}{failed} {way_back}", f"{minimal}{cut} {way_back}", minimal]
    if config.compaction_notice_verbosity == "verbose":
        texts.insert(0, f"{normal} Compaction went to step {step} to fit {budget:,} tokens.")
    for text in texts if config.compaction_notice_verbosity != "minimal" else [minimal]:
        wrapped = f"<system-reminder>\n{text}\n</system-reminder>"
        room = min(most, room_tokens) if files and files in text else most
        if draft.request.count(inserted_message("user", wrapped)) <= room:
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


def _failed(draft: Draft, commands: Sequence[str], most_tokens: int) -> str:
    """A sentence that names commands, as many of the newest as there is room for."""
    costs = accumulate(draft.request.count(inserted_message("user", command)) for command in reversed(commands))
    fitting = sum(1 for _ in takewhile(lambda cost: cost <= most_tokens, costs))
    newest = commands[len(commands) - fitting :]
    return f" Commands that failed in them: {' | '.join(newest)}." if newest else ""


def _number(count: int, noun: str) -> str:
    return f"1 {noun} is" if count == 1 else f"{count:,} {noun}s are"


# The files that it names: each once, and a directory that they share only once. Sessions name files by long absolute
# paths, so the directory of the project would take most of the room.


def files_text(changed: Sequence[str], read: Sequence[str]) -> str:
    """Sentences that name files, the newest of them.

    Args:
        changed: paths of files that were changed, the newest last.
        read: paths of files that were read and not changed, the newest last.
    """
    by_end = _ends(changed)
    told = list(dict.fromkeys(by_end.get(path, path) for path in reversed(changed)))[::-1]
    named = {*_ends([*read, *told]), *told}
    also = [path for path in dict.fromkeys(read) if path not in named and _ends([path]).keys().isdisjoint(told)]
    directory = _shared_directory([*told[-MOST_FILES:], *also[-MOST_FILES:]])
    text = _sentence("changed", told, directory) + _sentence("read", also, directory)
    return text + _BELOW.format(directory) if directory else text


def _ends(paths: Sequence[str]) -> dict[str, str]:
    """Absolute paths by their shorter names: an end of the path, but not a name alone, which may be another file's."""
    ends = ((path[at + 1 :], path) for path in paths if _is_absolute(path) for at in _slashes(path, 0))
    return {end: path for end, path in ends if "/" in end}


def _shared_directory(paths: Sequence[str]) -> str:
    """The directory that saves most if it is named once; none if relative paths may be below another one."""
    if not all(_is_absolute(path) for path in paths):
        return ""
    counts = Counter(path[:at] for path in paths for at in _slashes(path))
    saved = {name: (times - 1) * len(name) - len(_BELOW.format(name)) for name, times in counts.items()}
    best = max(saved, key=lambda name: (saved[name], name), default="")
    return best if best and saved[best] > 0 else ""


def _sentence(what: str, paths: Sequence[str], directory: str) -> str:
    if not paths:
        return ""
    below = f"{directory}/"
    named = ", ".join([path.removeprefix(below) if directory else path for path in paths[-MOST_FILES:]])
    more = f" and {len(paths) - MOST_FILES} more" if len(paths) > MOST_FILES else ""
    return f" Files {what} in them: {named}{more}."


def _slashes(path: str, start: int = 1) -> list[int]:
    """The positions of a path's slashes from a character on."""
    return [at for at, letter in enumerate(path[start:], start) if letter == "/"]


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or path[1:3] == ":/"
