"""The plan of a kit's views, kept in the stored session: a record of its log, as a mounted session keeps its own plan.

The kit's views are planned in a log in memory. The stored session has the same messages under other ids, or does not
have them yet. Messages of the two logs are matched by their contents, in order.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import LogError
from ..log.contract import Log, ReadableLog
from ..messages.message import Message
from ..session.change_history import HistoryChange
from ..session.manager import PersistentContextManager
from ..session.portable_plan import PortablePlan

logger = logging.getLogger(__name__)


class Named(NamedTuple):
    """A message of a kit, and the ids of the log's messages in which it is stored (one or more)."""

    key: str
    """A text made from the message's content, by which equal messages of two logs are matched."""
    ids: Sequence[str]
    """The ids of the messages in the log."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The plan that a session keeps, and the kit's messages in the session's log.

    Args:
        plan: the plan. It refers to messages by their ids in the log.
        named: the kit's messages in the log, in order, each with these ids.
    """

    plan: PortablePlan
    named: Sequence[Named]

    def covered_count(self, keys: Sequence[str]) -> int:
        """Return how many messages at the start of a list the plan covers; 0 if the list lacks the plan's last message.

        Args:
            keys: the key (`Named.key`) of each message of the list.
        """
        upto = str(self.plan.record.get("upto"))
        end = 0
        for key, ids in self.named:
            position = _position_from(keys, key, end)
            if position is None:
                continue
            end = position + 1
            if upto in ids:
                return end
        return 0


def _position_from(keys: Sequence[str], key: str, start: int) -> int | None:
    """Return the position of a key from `start` on; None if it is not there."""
    try:
        return keys.index(key, start)
    except ValueError:
        return None


class KeptPlan:
    """The stored plan of one conversation, by which views of a later process continue the earlier views.

    Args:
        open_session: gives the session's manager.
        named_in: returns the messages of the conversation that a log has, in order.
    """

    def __init__(
        self,
        open_session: Callable[[], Awaitable[PersistentContextManager]],
        named_in: Callable[[ReadableLog], list[Named]],
    ) -> None:
        self._open = open_session
        self._named_in = named_in
        self._known = ""
        """The id of the last plan that was read or kept."""

    async def read(self) -> Kept | None:
        """Return the kept plan with the kit's messages in the log, or None without a plan."""

        def found(log: ReadableLog) -> Kept | None:
            plan = PortablePlan.of(log)
            return None if plan is None else Kept(plan, self._named_in(log))

        kept_plan = await (await self._open()).look(found)
        self._known = kept_plan.plan.id if kept_plan is not None else ""
        return kept_plan

    async def carry_to(self, other: KeptPlan) -> None:
        """Copy the newest plan that fits to another conversation. A plan fits if the conversation has its messages.

        A fork from an earlier place then continues with the view that was sent there.

        Raises:
            LogError: the log of this conversation cannot be read.
        """

        def found(log: ReadableLog) -> tuple[list[PortablePlan], list[Named]]:
            plans = list(PortablePlan.earlier(log))
            return plans, self._named_in(log) if plans else []

        plans, stored_messages = await (await self._open()).look(found)
        for plan in plans:
            if await other.write(plan, stored_messages):
                return

    def has(self, plan_id: str) -> bool:
        """Return whether a plan is the last one that was read or stored.

        Return True for the id "", which is no plan.
        """
        return plan_id in ("", self._known)

    async def write(self, plan: PortablePlan, stored_messages: Sequence[Named]) -> bool:
        """Store a plan in the session, unless the session lacks a message of the plan.

        If the plan cannot be stored, log a warning.

        Args:
            plan: the plan, made in any log.
            stored_messages: the kit's messages in that log, in order. The plan refers to their ids.

        Returns:
            Whether it is kept.
        """
        is_kept = False

        def decide(log: Log, _: Sequence[Message]) -> HistoryChange:
            nonlocal is_kept  # the last call decides: after a conflict with another writer there is one more
            is_kept = False
            try:
                record = plan.renamed(paired(stored_messages, self._named_in(log))).record_for(log.index)
            except ValueError:  # the kit has not saved all messages of the plan yet
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


def paired(stored_messages: Sequence[Named], others: Sequence[Named]) -> Mapping[str, str]:
    """Pair the messages of two logs by their contents, in order.

    Returns:
        The ids of the second log by the ids of the first.
    """
    keys = [other.key for other in others]
    ids_of_other: dict[str, str] = {}
    start = 0
    for key, ids in stored_messages:
        try:
            position = keys.index(key, start)
        except ValueError:
            continue
        ids_of_other.update(zip(ids, others[position].ids, strict=False))
        start = position + 1
    return ids_of_other
