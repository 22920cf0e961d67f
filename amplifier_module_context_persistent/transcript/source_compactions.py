"""Compactions that another agent made before its session was imported: what its model was given from then on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..log.index import Index
from ..log.record import name_of
from .transcript import Transcript

if TYPE_CHECKING:  # plans load half of the package, and most logs were not imported
    from ..view.plan import Plan

_OWN_FIELDS = {"_record", "version", "log_id", "session_id", "tokenizer", "created"}
"""What a session writes into a header; whoever imports or forks adds where it came from."""


@dataclass(frozen=True, slots=True)
class SourceCompaction:
    """One compaction; it came after the live message at `position`, counted from 0."""

    position: int
    dropped: int
    kept: int
    tokens_before: int
    tokens_after: int
    summary: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "position"}

    def line(self) -> str:
        """What happened, on one line."""
        tokens = f"{self.tokens_before:,} to {self.tokens_after:,} tokens"
        left_out = f"{self.dropped:,} message{'' if self.dropped == 1 else 's'} left out"
        return f"the source compacted here: {left_out}, {self.kept:,} kept, {tokens}"


def source_compactions(transcript: Transcript) -> dict[int, SourceCompaction]:
    """The compactions of the source, by the position of the message that they came after."""
    index = transcript.reader.index
    if not index.control_counts.get("plan") or _is_own(index):
        return {}
    from ..view.plan import Plan
    from .find_request import imported_plans

    found: dict[int, SourceCompaction] = {}
    for position, kept, record in imported_plans(index, transcript.book):
        found[position] = _compaction(record, Plan.from_record(record, ()), position, kept)
    return found


def _is_own(index: Index) -> bool:
    """Whether a log's headers are those of sessions alone: then no plan in it was imported, and none is looked for."""
    return bool(index.headers) and all(header.keys() <= _OWN_FIELDS for header in index.headers)


def _compaction(record: Mapping[str, Any], plan: Plan, position: int, kept: int) -> SourceCompaction:
    summary = plan.summary or name_of(record.get("notice"))
    return SourceCompaction(position, plan.dropped, kept, plan.tokens_before, plan.tokens_after, summary)
