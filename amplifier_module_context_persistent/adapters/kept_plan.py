"""The plan of a kit's views, kept in the stored session: a record of its log, as a mounted session keeps its own.

The kit plans in a log in memory, of messages that the stored session holds under other ids, or does not hold yet. Both
are told apart by their contents, in order.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import LogError
from ..log.base import Log, ReadableLog
from ..messages.message import Message
from ..session.change_history import HistoryChange
from ..session.manager import PersistentContextManager
from ..session.portable_plan import PortablePlan

logger = logging.getLogger(__name__)


class Named(NamedTuple):
    """One message of a kit, and the messages of a log that it is."""

    key: str
    """Its identity among plans."""
    ids: Sequence[str]
    """The ids of its messages."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A plan that a session keeps.

    Args:
        plan: the plan.
        named: the messages of the conversation that the session holds, in order.
    """

    plan: PortablePlan
    named: Sequence[Named]

    def end_in(self, keys: Sequence[str]) -> int:
        """The number of a list's messages that the plan covers, by their keys; 0 if the list lacks the last one."""
        upto = str(self.plan.record.get("upto"))
        at = 0
        for key, ids in self.named:
            with contextlib.suppress(ValueError):
                at = keys.index(key, at) + 1
                if upto in ids:
                    return at
        return 0


class KeptPlan:
    """The plan of one conversation.

    Args:
        open_session: gives the session's manager.
        named_in: the messages of the conversation that the session holds, in order.
    """

    def __init__(
        self,
        open_session: Callable[[], Awaitable[PersistentContextManager]],
        named_in: Callable[[ReadableLog], list[Named]],
    ) -> None:
        self._open, self._named_in = open_session, named_in
        self._known = ""
        """The id of the last plan that was read or kept."""

    async def read(self) -> Kept | None:
        """Return the plan, with the messages that the session holds; None if it has none."""

        def found(log: ReadableLog) -> Kept | None:
            plan = PortablePlan.of(log)
            return None if plan is None else Kept(plan, self._named_in(log))

        kept = await (await self._open()).look(found)
        self._known = kept.plan.id if kept is not None else ""
        return kept

    async def carry_to(self, other: KeptPlan) -> None:
        """Copy to another conversation the newest plan whose messages it has all.

        A fork from an earlier place then continues with the view that was sent there.

        Raises:
            LogError: the log of this conversation cannot be read.
        """

        def found(log: ReadableLog) -> tuple[list[PortablePlan], list[Named]]:
            plans = list(PortablePlan.earlier(log))
            return plans, self._named_in(log) if plans else []

        plans, named = await (await self._open()).look(found)
        for plan in plans:
            if await other.write(plan, named):
                return

    def has(self, plan_id: str) -> bool:
        """Whether a plan is the last one that was read or kept; True if there is none."""
        return plan_id in ("", self._known)

    async def write(self, plan: PortablePlan, named: Sequence[Named]) -> bool:
        """Keep a plan, unless the session lacks a message of it. If it cannot be stored, a warning says so.

        Args:
            plan: the plan.
            named: the messages of the log that it is of.

        Returns:
            Whether it is kept.
        """
        is_kept = False

        def decide(log: Log, _: Sequence[Message]) -> HistoryChange:
            nonlocal is_kept
            is_kept = False
            try:
                record = plan.renamed(paired(named, self._named_in(log))).record_for(log.index)
            except ValueError:  # the kit has not saved all of it yet
                return HistoryChange()
            is_kept = True
            return HistoryChange(plan=record)

        try:
            await (await self._open()).change_history(decide)
        except LogError as error:
            logger.warning("the plan could not be stored and lives in memory only: %s", error)
            return False
        if is_kept:
            self._known = plan.id
        return is_kept


def paired(named: Sequence[Named], others: Sequence[Named]) -> Mapping[str, str]:
    """Map the ids of one log to the ids of another, by the contents of the messages, in order."""
    keys, at = [other.key for other in others], 0
    ids: dict[str, str] = {}
    for key, own in named:
        try:
            found = keys.index(key, at)
        except ValueError:
            continue
        ids.update(zip(own, others[found].ids, strict=False))
        at = found + 1
    return ids
