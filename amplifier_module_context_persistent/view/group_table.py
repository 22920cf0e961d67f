"""A table of tool groups: what every plan asks of each group of its view, side by side.

A plan asks dozens of questions of a thousand groups (is it a person's, did it change a file?), and each one that has
to look at the messages themselves fetches them into the processor's cache again. Here the answers are bits and numbers
in a few long columns. They follow from the group alone, so a table is taken over from one plan to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress

from ..messages.tool_kinds import CHANGE, READ, RUN, TODO
from .entry import INSTRUCTING, Entry
from .rules import Group, last_human, newest_group, open_calls

HUMAN, ASSISTANT, INSTRUCTS, PINNED, SAID, CALLS, IN_LOG = (1 << bit for bit in range(7))
"""Traits: a person's message; the model's; system text; a pin or a protection holds it; that is the model's,
in the log, with text; it has calls; and it is in the log, and no system text but a late one."""

OPEN, FILES, RUNS, FAILED, PLANS, OFFLOADED = (1 << bit for bit in range(6))
"""What its calls are: one has no result; one reads or changes a file; one runs a command; one of those failed; one
writes a list of what to do; and a result is offloaded."""

_TOOLS = {READ: FILES, CHANGE: FILES, RUN: RUNS, TODO: PLANS}


@dataclass(frozen=True, slots=True)
class GroupTable:
    """Groups, and what is known of each, by its position."""

    groups: list[Group] = field(default_factory=list)
    members: list[tuple[Entry, ...]] = field(default_factory=list)
    """The messages that were stored, head first."""
    ids: list[str] = field(default_factory=list)
    """The ids of the heads."""
    ordinals: list[tuple[int, ...]] = field(default_factory=list)
    """Those of the messages."""
    tokens: list[int] = field(default_factory=list)
    """What the messages come to where no cut shortens them."""
    terms: list[tuple[str, ...]] = field(default_factory=list)
    """The terms that they show then; one may be there several times."""
    traits: bytes = b""
    tools: bytes = b""

    @classmethod
    def of(cls, groups: list[Group]) -> GroupTable:
        """Look at groups."""
        rows = [_row(head, results) for head, results in groups]
        members, ids, ordinals, tokens, terms, traits, tools = zip(*rows, strict=True) if rows else ((),) * 7
        return cls(
            groups,
            list(members),
            ids=list(ids),
            ordinals=list(ordinals),
            tokens=list(tokens),
            terms=list(terms),
            traits=bytes(traits),
            tools=bytes(tools),
        )

    def and_later(self, groups: list[Group]) -> GroupTable:
        """The table with groups that come after its own."""
        later = GroupTable.of(groups)
        return GroupTable(
            self.groups + later.groups,
            self.members + later.members,
            self.ids + later.ids,
            self.ordinals + later.ordinals,
            self.tokens + later.tokens,
            self.terms + later.terms,
            self.traits + later.traits,
            self.tools + later.tools,
        )

    def left(self, kept: Sequence[bool]) -> GroupTable:
        """The table of those groups that are kept."""
        return GroupTable(
            list(compress(self.groups, kept)),
            list(compress(self.members, kept)),
            list(compress(self.ids, kept)),
            list(compress(self.ordinals, kept)),
            list(compress(self.tokens, kept)),
            list(compress(self.terms, kept)),
            bytes(compress(self.traits, kept)),
            bytes(compress(self.tools, kept)),
        )

    def positions(self, traits: int) -> list[int]:
        """The groups that have any of some traits."""
        return list(compress(range(len(self.traits)), self.traits.translate(_having(traits))))

    def calling(self, tools: int) -> list[int]:
        """The groups whose calls are any of some kinds."""
        return list(compress(range(len(self.tools)), self.tools.translate(_having(tools))))

    @property
    def has_open(self) -> bool:
        """Whether a call has no result."""
        return any(self.tools.translate(_having(OPEN)))

    def offloaded(self) -> list[Entry]:
        """The results that are offloaded."""
        positions = self.calling(OFFLOADED)
        return [entry for position in positions for entry in self.members[position] if entry.offload is not None]

    def untouchable(self, *, preserve_system: bool = True) -> set[int]:
        """What no step of the ladder touches: system text, pins, the last human message, open calls, the newest group.

        The newest group is one that a person or the model began: a reminder after it does not take its place. The last
        message stays as well, whatever it is.
        """
        groups, turn = self.groups, last_human(self.groups)
        if not groups:
            return set()
        fixed = set(self.positions(PINNED | INSTRUCTS if preserve_system else PINNED))
        if groups[0].head.instructs:
            fixed.add(0)
        if turn is not None:
            fixed.add(turn)
            fixed.update([position for position in open_calls(groups) if position >= turn] if self.has_open else ())
        return fixed | {newest_group(groups), len(groups) - 1}


@lru_cache(maxsize=32)
def _having(bits: int) -> bytes:
    """By which `bytes.translate` says of many bytes at once whether they have any of some bits."""
    return bytes([byte & bits != 0 for byte in range(256)])


_Row = tuple[tuple[Entry, ...], str, tuple[int, ...], int, tuple[str, ...], int, int]


def _row(head: Entry, results: Sequence[Entry | None]) -> _Row:
    """What the columns say of a group: members, id, ordinals, tokens, terms, traits and tools."""
    if not results:
        return (head,), head.id, (head.ordinal,), head.tokens, head.terms.names, _traits(head), 0
    tokens, terms, traits, tools = head.tokens, head.terms.names, _traits(head), 0
    members, ordinals = [head], [head.ordinal]
    for use in head.uses:
        tools |= _TOOLS.get(use.kind, 0)
    for result in results:
        if result is None:
            tools |= OPEN
            continue
        members.append(result)
        ordinals.append(result.ordinal)
        tokens += result.tokens
        if result.terms.names:
            terms = terms + result.terms.names if terms else result.terms.names
        if result.failed_run:
            tools |= FAILED
        if result.offload is not None:
            tools |= OFFLOADED
        if result.pinned or result.protected:
            traits |= PINNED
    return tuple(members), head.id, tuple(ordinals), tokens, terms, traits, tools


def _traits(head: Entry) -> int:
    traits, role = 0, head.role
    if role == "assistant":
        traits = ASSISTANT | IN_LOG | SAID if any(head.terms.text_chars) else ASSISTANT | IN_LOG
        if head.calls:
            traits |= CALLS
    elif role in INSTRUCTING:
        traits = INSTRUCTS | IN_LOG if head.late else INSTRUCTS
    else:
        traits = HUMAN | IN_LOG if head.human else IN_LOG
    if not head.id:
        traits &= ~(IN_LOG | SAID)
    return traits | PINNED if head.pinned or head.protected else traits
