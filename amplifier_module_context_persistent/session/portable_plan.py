"""A plan for another log that has the same messages under other ids.

Adapters of kits make plans in a log in memory, which has the messages that the kit will send next. The plan is kept in
the stored session, so that the next process follows it. A plan's record names only the first and the last message of
each run that it keeps, and runs refer to the plan's own log. So a portable plan also has the ids of all kept messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..log.contract import ReadableLog
from ..log.control_records import control_records
from ..log.index import Index, live_positions
from ..messages.metadata import given_id
from ..view.plan import Plan, keep_runs
from ..view.stored_plan import kept_ordinals


@dataclass(frozen=True, slots=True)
class PortablePlan:
    """A plan of a log, with the ids of all messages that it keeps.

    Args:
        record: the plan's control record.
        keep: the ids of all messages that the plan keeps, in order.
    """

    record: Mapping[str, Any]
    keep: tuple[str, ...]

    @classmethod
    def of(cls, log: ReadableLog) -> PortablePlan | None:
        """Return the plan in force of a log, or None if the log has no plan that can be followed."""
        record = log.index.session.plan
        return None if record is None else cls._of_record(log, record)

    @classmethod
    def earlier(cls, log: ReadableLog) -> Iterator[PortablePlan]:
        """Return an iterator over all plans of a log that can be followed, newest first. This reads the whole log.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        records = [record for _, record in control_records(log, ("plan",)) if record is not None]
        return filter(None, (cls._of_record(log, record) for record in reversed(records)))

    @classmethod
    def _of_record(cls, log: ReadableLog, record: Mapping[str, Any]) -> PortablePlan | None:
        try:
            ordinals, _ = kept_ordinals(log.index, record)
        except ValueError:
            return None
        return cls(record, tuple(f"{given_id(message)}" for message in log.read(ordinals)))

    @property
    def id(self) -> str:
        """The plan's id."""
        return str(self.record.get("id"))

    def renamed(self, ids: Mapping[str, str]) -> PortablePlan:
        """Return the plan with other ids of messages. Ids that are not in `ids` stay."""
        keep = tuple(ids.get(message_id, message_id) for message_id in self.keep)
        return PortablePlan(_renamed(self.record, ids), keep)

    def record_for(self, index: Index) -> dict[str, Any]:
        """Make the plan's record for a log that has the same messages.

        Raises:
            ValueError: the live history lacks one of the messages, or the record is not of a plan.
        """
        plan = Plan.from_record(self.record, self.keep)
        message_ids = [*plan.keep, plan.upto]
        ordinals = index.find_all(message_ids)
        try:
            positions = live_positions(index.live, [ordinals[message_id] for message_id in message_ids])[:-1]
        except KeyError as error:
            raise ValueError(f"the live history lacks a message of the plan: {error}") from error
        runs = keep_runs(zip(positions, plan.keep, strict=True))
        return {"_record": "plan", **plan.to_record(runs)}


def _renamed(value: Any, ids: Mapping[str, str]) -> Any:
    """Replace ids in a JSON value. An id is a whole text or the key of an object."""
    if isinstance(value, str):
        return ids.get(value, value)
    if isinstance(value, Mapping):
        return {ids.get(key, key): _renamed(inner, ids) for key, inner in value.items()}
    return [_renamed(inner, ids) for inner in value] if isinstance(value, list) else value
