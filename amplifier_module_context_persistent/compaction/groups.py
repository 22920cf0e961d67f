"""The tool groups of a view, and the facts about them that do not change while a plan is made.

A tool group is a message with the results of its calls; a message without calls is a group by itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from ..messages.tool_kinds import ToolUse
from ..view.arrangement import Count
from ..view.entry import Entry
from ..view.missing_results import open_calls, stand_in
from ..view.tool_groups import Group, last_human, newest_group, tool_groups


class AnsweredCall(NamedTuple):
    """A call with its result, and the place of the call."""

    position: int
    """The position of the group."""
    number: int
    """The index of the call among the calls of its message."""
    use: ToolUse
    result: Entry


class Groups:
    """The groups of a view in order. Each group is named by its position in this order.

    Args:
        entries: the messages of the view.
        count: counts the tokens of a message; used for the messages that stand in for missing results.
    """

    def __init__(self, entries: Sequence[Entry], count: Count) -> None:
        self.groups = groups = tool_groups(entries)
        self.members = [group.entries() for group in groups]
        """The messages of each group: the message with the calls (the head), then the results."""
        self.beside = self._find_beside(entries)
        """The messages that no view can show: blank messages, answers of thinking alone, results without calls."""
        self.tokens = [_tokens_of(group, members, count) for group, members in zip(groups, self.members, strict=True)]
        """The tokens of each group if it is shown whole, including stand-ins for missing results."""
        self.people = [position for position, group in enumerate(groups) if group.head.human]
        """The positions of people's messages."""
        self.first_person = self.people[0] if self.people else None
        self.turn = self.people[-1] if self.people else None
        """The position of the newest message of a person, which begins the turn in progress; None if there is none."""
        self.said = [position for position, group in enumerate(groups) if group.head.role == "assistant"]
        """The positions of groups with a message of the model."""
        self.calling = [position for position, group in enumerate(groups) if group.results]
        """The positions of groups with calls."""
        self.answers = self._find_answers()
        """The position of a turn's final answer (a text without calls), by the position of the person's message."""

    def _find_beside(self, entries: Sequence[Entry]) -> list[Entry]:
        """Find the entries with an id that are in no group."""
        if sum(map(len, self.members)) == len(entries):
            return []  # every entry is in a group, which is the most frequent case
        grouped = {entry.ordinal for members in self.members for entry in members}
        return [entry for entry in entries if entry.id and entry.ordinal not in grouped]

    def _find_answers(self) -> dict[int, int]:
        """Find the final answer of each turn that has ended.

        Returns:
            The position of the answer, by the position of the person's message that begins the turn. A turn is missing
            if its last message of the model has calls or no text.
        """
        found = dict[int, int]()
        if not self.said:
            return found
        for start, end in pairwise(self.people):
            last = self.said[bisect_left(self.said, end) - 1]
            if start < last < end and self.speaks(last) and not self.groups[last].head.calls:
                found[start] = last
        return found

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def speaking(self) -> list[int]:
        """The positions of groups in which the model wrote text (`speaks`)."""
        return [position for position in self.said if self.speaks(position)]

    def speaks(self, position: int) -> bool:
        """Return whether the model wrote text in a group; False for a group that is not in the log."""
        head = self.groups[position].head
        return head.role == "assistant" and head.id != "" and any(head.gist.terms.text_chars)

    def takes_line(self, position: int) -> bool:
        """Return whether a group ends with a result to whose text a line can be added."""
        members = self.members[position]
        return len(members) > 1 and members[-1].id != "" and members[-1].gist.terms.text_chars != ()

    def calls(self, *kinds: str) -> Iterator[AnsweredCall]:
        """Yield the calls of tools of some kinds that have results."""
        for position in self.calling:
            group = self.groups[position]
            for number, (use, result) in enumerate(zip(group.head.gist.uses, group.results, strict=False)):
                if use.kind in kinds and result is not None:
                    yield AnsweredCall(position, number, use, result)

    @cached_property
    def repeated(self) -> frozenset[int]:
        """The positions of groups whose calls were made again later and had the same results."""
        found, later = set[int](), set[tuple[object, ...]]()
        answered = [position for position in self.calling if len(self.members[position]) > 1]
        first_results = Counter([self.members[position][1].gist.terms.checksum for position in answered])
        for position in reversed(answered):
            head, *results = self.members[position]
            if first_results[results[0].gist.terms.checksum] == 1:
                continue  # no other group begins with this result, which is the most frequent case
            said = [result.gist.terms.checksum for result in results]
            if not all(said) or len(said) != len(head.calls):
                continue
            key = (*[call.asks for call in head.calls], *said)
            if key in later:
                found.add(position)
            later.add(key)
        return frozenset(found)

    @cached_property
    def newest_of_hooks(self) -> list[int]:
        """The position of the newest late system message of each hook.

        A system message is late if it was added after the first message of the conversation.
        """
        newest = dict[str, int]()
        for position, group in enumerate(self.groups):
            if group.head.origin.hook:
                newest[group.head.origin.hook] = position
        return list(newest.values())

    @cached_property
    def earlier_of_hooks(self) -> list[int]:
        """The positions of the late system messages of hooks, without the newest message of each hook."""
        of_hooks = [position for position, group in enumerate(self.groups) if group.head.origin.hook]
        return [position for position in of_hooks if position not in self.newest_of_hooks]

    def untouchable(self, *, preserve_system: bool) -> set[int]:
        """Return the positions of the groups that no plan may leave out.

        These are system text that stays, pins, protected ends, the newest message of a person, calls in the turn in
        progress that still wait for a result, and the newest group. The newest group is one that a person or the model
        began: a reminder after it does not replace it. The last group stays too, whatever it is.
        """
        if not self.groups:
            return set()
        found = stays_anyway(self.groups, preserve_system=preserve_system)
        if self.turn is not None:
            found.update(position for position in open_calls(self.groups) if position >= self.turn)
        return found | {newest_group(self.groups), len(self.groups) - 1}


def stays_anyway(groups: Sequence[Group], *, preserve_system: bool) -> set[int]:
    """Return the positions of groups that never change: system text that stays, pins, and a person's newest message."""
    turn = last_human(groups)
    found = set[int]() if turn is None else {turn}
    for position, group in enumerate(groups):
        head = group.head
        is_lasting_system_text = head.instructs and head.stays and (preserve_system or position == 0)
        if group.pinned or is_lasting_system_text:
            found.add(position)
    return found


def _tokens_of(group: Group, members: Sequence[Entry], count: Count) -> int:
    """Return the tokens of a group if it is shown whole, including stand-ins for missing results."""
    tokens = members[0].tokens if len(members) == 1 else sum([entry.tokens for entry in members])
    if group.unanswered:
        for call, result in zip(group.head.calls, group.results, strict=True):
            if result is None:
                tokens += count(stand_in(call.id, call.name))
    return tokens
