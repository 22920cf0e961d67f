"""The wording of a gap's marker: what the messages in the gap were, briefly or at length.

A gap is a place where a view leaves out messages. Its marker counts people's messages, the model's answers and the
calls of each tool. If there is room, a marker that is a user message says that the model called the tools: a provider
may join that message with a person's own, and nobody is to take the calls for the person's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..view.plan import Gap

PERSON, ANSWER = "(person)", "(answer)"  # in `Gap.did`, in place of a tool's name, for texts without calls
MOST_NAMES = 4  # tools that a marker names, in about 20 tokens; calls of other tools are counted together
BRIEF_NAMES = 2  # tools that a brief marker names
MOST_FILES_OF_A_TOOL = 3  # files of one tool that a marker names; the notice names more


def brief_marker(gap: Gap, *, recall: bool, after_next_call: bool) -> str:
    """Return the shortest text of a marker: the number of messages, the most frequent tools, and the reference."""
    times = _times_by_tool(gap)
    named_count = BRIEF_NAMES
    if len(times) == BRIEF_NAMES + 1:
        named_count += 1  # the name of a third tool is no longer than "other calls"
    phrases = [_calls_of(tool, count, ()) for tool, count in times.most_common(named_count)]
    return _marker(gap, ", ".join(_with_others(phrases, times)), recall=recall, after_next_call=after_next_call)


def long_marker(gap: Gap, *, recall: bool, after_next_call: bool) -> str:
    """Return the long text of a marker, with more tools, the most frequent first, and the files that they changed.

    A marker that is a user message says that the model called the tools.
    """
    times = _times_by_tool(gap)
    files = defaultdict[str, list[str]](list)
    for what, _ in gap.did:
        tool, _, file = what.partition(" ")
        if file:
            files[tool].append(file)
    phrases = [_calls_of(tool, count, files[tool]) for tool, count in times.most_common(MOST_NAMES)]
    calls = ", ".join(_with_others(phrases, times))
    if calls and not gap.after:
        calls = f"you called {calls}"
    return _marker(gap, calls, recall=recall, after_next_call=after_next_call)


def _with_others(phrases: Sequence[str], times: Counter[str]) -> list[str]:
    """Return the phrases for the most frequent tools, and one phrase that counts the calls of all other tools.

    Args:
        phrases: a phrase for each of the most frequent tools, in the order of `times.most_common()`.
        times: the number of calls of each tool.
    """
    others = sum([count for _, count in times.most_common()[len(phrases) :]])
    return [*phrases, f"other calls x{others}"] if others else list(phrases)


def _times_by_tool(gap: Gap) -> Counter[str]:
    """Return the number of calls of each tool in a gap."""
    times = Counter[str]()
    for what, count in gap.did:
        if what not in (PERSON, ANSWER):
            times[what.partition(" ")[0]] += count
    return times


def _texts_in(gap: Gap) -> list[str]:
    """Return phrases that count the texts in a gap: people's messages, and the model's texts without calls."""
    times = dict(gap.did)
    found = list[str]()
    if PERSON in times:
        found.append(counted(times[PERSON], "user message"))
    if ANSWER in times:
        found.append(counted(times[ANSWER], "answer"))
    return found


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, such as `1 answer` or `2 answers`."""
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


def _marker(gap: Gap, calls: str, *, recall: bool, after_next_call: bool) -> str:
    """Return the text of a marker with the gap's quotes below it.

    Args:
        gap: the gap: the number of missing messages, their calls and quotes.
        calls: what is said of the calls in the gap; "" if there were none.
        recall: whether the marker names the reference with which the tool `recall` finds the first message.
        after_next_call: whether the marker is after the results of the group that follows the gap.
    """
    marker = "1 message" if gap.messages == 1 else f"{gap.messages} messages"
    marker += " left out before this call" if after_next_call else " left out"
    parts = [*_texts_in(gap), calls] if calls else _texts_in(gap)
    if parts:
        marker += f": {', '.join(parts)}"
    if recall and gap.reference:
        marker += f"; recall {gap.reference}"
    return "\n".join([f"[{marker}]", *[quote.text for quote in gap.said]])


def _calls_of(tool: str, times: int, files: Sequence[str]) -> str:
    """Return a phrase with a tool, its files and the number of its calls, such as `Edit a.py, b.py and 2 more x12`."""
    phrase = tool
    if files:
        phrase += f" {', '.join(files[:MOST_FILES_OF_A_TOOL])}"
    if len(files) > MOST_FILES_OF_A_TOOL:
        phrase += f" and {len(files) - MOST_FILES_OF_A_TOOL} more"
    if times > 1:
        phrase += f" x{times}"
    return phrase
