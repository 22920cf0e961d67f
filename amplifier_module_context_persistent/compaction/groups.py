"""The tool groups of a view, and what every plan asks of them. Nothing of it changes while a plan is made."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from ..messages.tool_kinds import ToolUse
from ..view.arrangement import Count
from ..view.calls_and_results import Group, last_human, newest_group, open_calls, tool_groups
from ..view.entry import Entry
from ..view.inserted_messages import stand_in


class AnsweredCall(NamedTuple):
    """A call of a group that has its result."""

    position: int
    number: int
    """Of the call in its message."""
    use: ToolUse
    result: Entry


class Groups:
    """Groups in order; each is named by its position.

    Args:
        entries: the messages of the view.
        count: counts the stand-ins for missing results.
    """

    def __init__(self, entries: Sequence[Entry], count: Count) -> None:
        self.groups = groups = tool_groups(entries)
        self.members = [group.entries() for group in groups]
        """The messages of each, head first."""
        grouped = {entry.ordinal for members in self.members for entry in members}
        self.beside = [entry for entry in entries if entry.id and entry.ordinal not in grouped]
        """Messages that no view can show: blank messages, answers of thinking alone, results without calls."""
        self.tokens = [_tokens_of(group, members, count) for group, members in zip(groups, self.members, strict=True)]
        """The tokens of each whole group, with stand-ins for missing results."""
        self.people = [position for position, group in enumerate(groups) if group.head.human]
        """The positions of people's messages."""
        self.first_person = self.people[0] if self.people else None
        self.turn = self.people[-1] if self.people else None
        """The position of the last person's message, with which the turn in progress begins."""
        self.said = [position for position, group in enumerate(groups) if group.head.role == "assistant"]
        """Groups with a message of the model."""
        self.calling = [position for position, group in enumerate(groups) if group.results]
        """Groups with calls."""
        self.answers = self._find_answers()
        """The position of a turn's final words (text without calls), by the position of the person's message."""

    def _find_answers(self) -> dict[int, int]:
        """Find the final words of each turn that has ended."""
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

    def speaks(self, position: int) -> bool:
        """Whether the model wrote text in this group; only groups in the log count."""
        head = self.groups[position].head
        return head.role == "assistant" and head.id != "" and any(head.gist.terms.text_chars)

    def takes_line(self, position: int) -> bool:
        """Whether a group ends with a result to which a line can be added."""
        members = self.members[position]
        return len(members) > 1 and members[-1].id != "" and members[-1].gist.terms.text_chars != ()

    def calls(self, *kinds: str) -> Iterator[AnsweredCall]:
        """The calls of tools of some kinds that have results."""
        for position in self.calling:
            group = self.groups[position]
            for number, (use, result) in enumerate(zip(group.head.gist.uses, group.results, strict=False)):
                if use.kind in kinds and result is not None:
                    yield AnsweredCall(position, number, use, result)

    @cached_property
    def repeated(self) -> frozenset[int]:
        """The groups whose calls were made again later, and answered with the same words."""
        found, later = set[int](), set[tuple[object, ...]]()
        for position in reversed(self.calling):
            head, *results = self.members[position]
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
        """The newest late system message of each hook."""
        newest = dict[str, int]()
        for position, group in enumerate(self.groups):
            if group.head.origin.hook:
                newest[group.head.origin.hook] = position
        return list(newest.values())

    @cached_property
    def earlier_of_hooks(self) -> list[int]:
        """The late system messages of hooks before the newest of the same hook."""
        of_hooks = [position for position, group in enumerate(self.groups) if group.head.origin.hook]
        return [position for position in of_hooks if position not in self.newest_of_hooks]

    def untouchable(self, *, preserve_system: bool) -> set[int]:
        """System text that stays, pins, protected ends, the last person's message, open calls and the newest group.

        The newest group is one that a person or the model began: a reminder after it does not take its place. The last
        message stays as well, whatever it is.
        """
        if not self.groups:
            return set()
        found = stays_anyway(self.groups, preserve_system=preserve_system)
        if self.turn is not None:
            found.update(position for position in open_calls(self.groups) if position >= self.turn)
        return found | {newest_group(self.groups), len(self.groups) - 1}


def stays_anyway(groups: Sequence[Group], *, preserve_system: bool) -> set[int]:
    """The groups that nothing ever touches: system text that stays, pins, and the last person's message."""
    turn = last_human(groups)
    found = set[int]() if turn is None else {turn}
    for position, group in enumerate(groups):
        head = group.head
        is_lasting_system_text = head.instructs and head.stays and (preserve_system or position == 0)
        if group.pinned or is_lasting_system_text:
            found.add(position)
    return found


def _tokens_of(group: Group, members: Sequence[Entry], count: Count) -> int:
    """The tokens of a whole group, with stand-ins for missing results."""
    tokens = members[0].tokens if len(members) == 1 else sum([entry.tokens for entry in members])
    if group.unanswered:
        for call, result in zip(group.head.calls, group.results, strict=True):
            if result is None:
                tokens += count(stand_in(call.id, call.name))
    return tokens
