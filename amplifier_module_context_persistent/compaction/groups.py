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
from ..view.tool_groups import Group, newest_group, tool_groups
from .group_facts import GroupFacts
from .plan_memory import PlanMemory


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
        memory: the facts that earlier plans found about the same groups.
    """

    def __init__(self, entries: Sequence[Entry], count: Count, memory: PlanMemory) -> None:
        self.groups = tool_groups(entries)
        self.facts = facts = memory.facts_of(self.groups)
        """The facts about each group that do not depend on other groups."""
        self.members = [group_facts.members for group_facts in facts]
        """The messages of each group: the message with the calls (the head), then the results."""
        self.beside = self._find_beside(entries)
        """The messages that no view can show: blank messages, answers of thinking alone, results without calls."""
        self.tokens = [group_facts.tokens for group_facts in facts]
        """The tokens of each group if it is shown whole, including stand-ins for missing results."""
        self.has_unanswered = False
        """Whether a call of the view still lacks its result."""
        for position, group_facts in enumerate(facts):
            if group_facts.is_unanswered:
                self.tokens[position] += _stand_in_tokens(group_facts.group, count)
                self.has_unanswered = True
        self.people = [position for position, group_facts in enumerate(facts) if group_facts.is_person]
        """The positions of people's messages."""
        self.first_person = self.people[0] if self.people else None
        self.turn = self.people[-1] if self.people else None
        """The position of the newest message of a person, which begins the turn in progress; None if there is none."""
        self.said = [position for position, group in enumerate(self.groups) if group.head.role == "assistant"]
        """The positions of groups with a message of the model."""
        self.calling = [position for position, group in enumerate(self.groups) if group.results]
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
            if start < last < end and self.facts[last].speaks and not self.groups[last].head.calls:
                found[start] = last
        return found

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def speaking(self) -> list[int]:
        """The positions of groups in which the model wrote text (`GroupFacts.speaks`)."""
        return [position for position, group_facts in enumerate(self.facts) if group_facts.speaks]

    def calls(self, *kinds: str) -> Iterator[AnsweredCall]:
        """Yield the calls of tools of some kinds that have results."""
        for position in self.calling:
            facts = self.facts[position]
            if facts.kinds.isdisjoint(kinds):
                continue
            for number, use, result in facts.answered:
                if use.kind in kinds:
                    yield AnsweredCall(position, number, use, result)

    @cached_property
    def repeated(self) -> frozenset[int]:
        """The positions of groups whose calls were made again later and had the same results."""
        found = set[int]()
        later = set[tuple[object, ...]]()
        answered = [position for position in self.calling if self.facts[position].checksums]
        first_results = Counter([self.facts[position].checksums[0] for position in answered])
        for position in reversed(answered):
            checksums = self.facts[position].checksums
            if first_results[checksums[0]] == 1:
                continue  # no other group begins with this result, which is the most frequent case
            calls = self.groups[position].head.calls
            if not all(checksums) or len(checksums) != len(calls):
                continue
            key = (*[call.asks for call in calls], *checksums)
            if key in later:
                found.add(position)
            later.add(key)
        return frozenset(found)

    @cached_property
    def of_hooks(self) -> list[int]:
        """The positions of the late system messages of hooks.

        A system message is late if it was added after the first message of the conversation.
        """
        return [position for position, group_facts in enumerate(self.facts) if group_facts.hook]

    @cached_property
    def newest_of_hooks(self) -> list[int]:
        """The position of the newest late system message of each hook."""
        return list({self.facts[position].hook: position for position in self.of_hooks}.values())

    @cached_property
    def earlier_of_hooks(self) -> list[int]:
        """The positions of the late system messages of hooks, without the newest message of each hook."""
        return [position for position in self.of_hooks if position not in self.newest_of_hooks]

    def untouchable(self, *, preserve_system: bool) -> set[int]:
        """Return the positions of the groups that no plan may leave out.

        Such groups are system text that stays, pins, protected ends, the newest message of a person, calls in the turn
        in progress that still wait for a result, and the newest group. As the newest group counts one that a person or
        the model began: a reminder after that group does not replace it. The last group stays too, whoever began it.
        """
        if not self.groups:
            return set()
        found = stays_anyway(self.facts, preserve_system=preserve_system)
        if self.turn is not None and self.has_unanswered:
            found.update(position for position in open_calls(self.groups) if position >= self.turn)
        return found | {newest_group(self.groups), len(self.groups) - 1}


def stays_anyway(facts: Sequence[GroupFacts], *, preserve_system: bool) -> set[int]:
    """Return the positions of groups that never change: system text that stays, pins, and a person's newest message."""
    found = set[int]()
    newest_of_people = None
    for position, group_facts in enumerate(facts):
        if group_facts.is_person:
            newest_of_people = position
        if group_facts.is_pinned or (group_facts.stays_as_system and (preserve_system or position == 0)):
            found.add(position)
    return found if newest_of_people is None else found | {newest_of_people}


def _stand_in_tokens(group: Group, count: Count) -> int:
    """Return the tokens of the messages that stand in for a group's missing results."""
    calls = zip(group.head.calls, group.results, strict=True)
    return sum([count(stand_in(call.id, call.name)) for call, result in calls if result is None])
