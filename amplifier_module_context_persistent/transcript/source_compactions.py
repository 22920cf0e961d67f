"""Compactions that another agent made before its session was imported: what its model was given from then on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..log.index import ASSISTANT, Index
from ..log.record import name_of
from ..messages.metadata import given_id, timestamp_of
from .transcript import Transcript

if TYPE_CHECKING:  # plans load half of the package, and most logs were not imported
    from ..view.plan import Plan
    from .find_request import Requested

IMPORTED = "imported"
"""The strategy that plans of imported compactions name."""
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
    return {position: compaction for position, _, compaction in _found(transcript)}


def _found(transcript: Transcript) -> Iterator[tuple[int, str, SourceCompaction]]:
    """Each compaction of the source: the position of the message that it came after, and its plan's id."""
    index = transcript.reader.index
    if not index.control_counts.get("plan") or _is_own(index):
        return
    from ..view.plan import Plan
    from ..view.plan_record import kept_ordinals

    for packed, _ in transcript.book.made_for:
        record = packed.record()
        if record.get("strategy") == IMPORTED:
            try:
                kept, position = kept_ordinals(index, record)
                plan = Plan.from_record(record, ())
            except ValueError:  # a reset hid what it names
                continue
            yield position, plan.id, _compaction(record, plan, position, len(kept))


def source_request(transcript: Transcript, number: int) -> Requested | None:
    """A request of the agent from which a session was imported: there was one before each answer.

    What its model was given is the history under the last compaction before it. No receipt proves that, so the one
    that this makes up has no hash.

    Args:
        transcript: a session without receipts.
        number: the request's number, from 1, or from -1 for the last one.

    Returns:
        None if the session was not imported, or has no such request.
    """
    index = transcript.reader.index
    if not any("imported_from" in header for header in index.headers):
        return None
    answers = [place for place, ordinal in enumerate(index.live) if index.roles[ordinal] == ASSISTANT]
    wanted = number if number > 0 else len(answers) + 1 + number
    if number == 0 or not 1 <= wanted <= len(answers):
        return None
    from ..view.receipts import Receipt
    from .find_request import Requested
    from .view_rebuild import Noted

    place = answers[wanted - 1]
    plan = max(((at, plan_id) for at, plan_id, _ in _found(transcript) if at < place), default=(0, ""))[1]
    ends = [index.live[at] for at in (place, place - 1) if at >= 0]
    answer, *before = transcript.reader.read(ends)
    receipt = Receipt(
        id="",
        time=timestamp_of(answer),
        plan=plan,
        upto=(given_id(before[0]) or "") if before else "",
        messages=0,
        tokens=0,
        budget_tokens=0,
        provider="",
        head="",
        extras=0,
        hash="",
    )
    noted = Noted(receipt, index.live, len(index), 0)
    return Requested(wanted, len(answers), noted, transcript.book)


def _is_own(index: Index) -> bool:
    """Whether a log's headers are those of sessions alone: then no plan in it was imported, and none is looked for."""
    return bool(index.headers) and all(header.keys() <= _OWN_FIELDS for header in index.headers)


def _compaction(record: Mapping[str, Any], plan: Plan, position: int, kept: int) -> SourceCompaction:
    summary = plan.summary or name_of(record.get("notice"))
    return SourceCompaction(position, plan.dropped, kept, plan.tokens_before, plan.tokens_after, summary)
