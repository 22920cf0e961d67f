"""The tool groups of a view, and what every plan asks of them. Nothing of it changes while a plan is made."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..view.arrangement import Count, stand_in
from ..view.entry import Entry
from ..view.rules import Group, newest_group, open_calls, tool_groups


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups in order; each is named by its position."""

    groups: list[Group]
    members: list[tuple[Entry, ...]]
    """The messages of each, head first."""
    tokens: list[int]
    """What each comes to whole, with stand-ins for missing results."""
    people: list[int]
    """The positions of people's messages."""
    said: list[int]
    """Those of the model's."""
    calling: list[int]
    """Those of groups with calls."""
    answers: dict[int, int]
    """By the position of a person's message, that of the last words of its turn: text without calls."""

    @classmethod
    def of(cls, entries: Iterable[Entry], count: Count) -> Groups:
        """Look at the tool groups of entries."""
        groups = tool_groups(entries)
        members = [group.entries() for group in groups]
        tokens = [sum([entry.tokens for entry in some]) for some in members]
        for position, group in enumerate(groups):
            if group.unanswered:
                pairs = zip(group.head.calls, group.results, strict=True)
                tokens[position] += sum(count(stand_in(call.id, call.name)) for call, result in pairs if result is None)
        people = [position for position, group in enumerate(groups) if group.head.human]
        said = [position for position, group in enumerate(groups) if group.head.role == "assistant"]
        return cls(
            groups,
            members,
            tokens,
            people=people,
            said=said,
            calling=[position for position, group in enumerate(groups) if group.results],
            answers=_answers(groups, people, said),
        )

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def turn(self) -> int | None:
        """The position of the last person's message, with which the turn in progress begins."""
        return self.people[-1] if self.people else None

    @property
    def first_person(self) -> int | None:
        """The position of the first person's message."""
        return self.people[0] if self.people else None

    def speaks(self, position: int) -> bool:
        """Whether the model says something in a group that the log has."""
        head = self.groups[position].head
        return head.role == "assistant" and head.id != "" and any(head.terms.text_chars)

    def takes_line(self, position: int) -> bool:
        """Whether a group ends with a result to which a line can be added."""
        members = self.members[position]
        return len(members) > 1 and members[-1].id != "" and members[-1].terms.text_chars != ()

    def with_tool(self, kind: str) -> list[int]:
        """The groups that call a tool of some kind."""
        return [p for p in self.calling if any(use.kind == kind for use in self.groups[p].head.uses)]

    @property
    def of_hooks(self) -> tuple[list[int], list[int]]:
        """The late system messages of hooks: the newest of each hook, and the earlier ones."""
        newest = {group.head.hook: position for position, group in enumerate(self.groups) if group.head.hook}
        earlier = [p for p, group in enumerate(self.groups) if group.head.hook and newest[group.head.hook] != p]
        return list(newest.values()), earlier

    def untouchable(self, *, preserve_system: bool) -> set[int]:
        """System text that stays, pins, protected ends, the last person's message, open calls and the newest group.

        The newest group is one that a person or the model began: a reminder after it does not take its place. The last
        message stays as well, whatever it is.
        """
        groups, turn = self.groups, self.turn
        if not groups:
            return set()
        found = {p for p, group in enumerate(groups) if group.pinned or (preserve_system and group.head.stays)}
        if groups[0].head.stays:
            found.add(0)
        if turn is not None:
            found.add(turn)
            found.update(position for position in open_calls(groups) if position >= turn)
        return found | {newest_group(groups), len(groups) - 1}


def _answers(groups: Sequence[Group], people: Sequence[int], said: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for start, end in pairwise(people):
        number = bisect_left(said, end) - 1
        if number >= 0 and said[number] > start:
            head = groups[said[number]].head
            if not head.calls and head.id and any(head.terms.text_chars):
                found[start] = said[number]
    return found
