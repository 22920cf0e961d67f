"""Prepare a batch of appends: the records that several callers append together.

Each caller passes a function that prepares its records from the index, while no other process can append. An error in
one caller's function, or in its records, rejects only this caller. Rules:
- The records of one caller are appended together or not at all.
- Nothing is appended to a log of a later format version (`format_version`).
- A caller's function sees the control records (headers, resets, plans) of earlier callers in the batch. For this, a
  batch is written in *parts*, and a part ends after a caller with control records. The function need not see the
  messages of earlier callers, since `append_queue` begins a batch with a caller that looks at messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from ..errors import LogError
from .bundle import HEAD, bundled
from .contract import Outcome, Prepare
from .format_version import check_may_append
from .index import Index
from .record_limits import check_size
from .record_line import CONTROL_HEAD
from .reset_record import COMMIT

_COMMIT_HEAD = CONTROL_HEAD + b':"' + COMMIT.encode() + b'"'
PART_BYTES = 8 << 20  # a part ends after the caller with whose records it exceeds this size


class Part(NamedTuple):
    """A part of a batch: the records of some adjacent callers, which are written together."""

    bodies: list[bytes]
    outcomes: list[Outcome]
    """The outcome of each caller, valid once the records are stored."""


class AppendPart(Protocol):
    """A function that appends the first part of a batch (`prepare_part`)."""

    def __call__(self, batch: Sequence[Prepare], *, wait: bool) -> list[Outcome]:
        """Append the first part, and return the outcomes of its callers; errors as for `Log.append`."""


def append_in_parts(batch: Sequence[Prepare], append_part: AppendPart, *, wait: bool) -> list[Outcome]:
    """Append a batch part by part, and return the outcome of each caller.

    Raises:
        LogError, BlockingIOError: the first part failed, as for `Log.append`; nothing was acknowledged. If a later part
            fails, its error is the outcome of all remaining callers.
    """
    outcomes = append_part(batch, wait=wait) if batch else []
    while len(outcomes) < len(batch):
        rest = batch[len(outcomes) :]
        try:
            outcomes += append_part(rest, wait=True)
        except LogError as error:
            outcomes += [error] * len(rest)  # earlier outcomes stay valid
    return outcomes


def reset_parts(bodies: Sequence[bytes]) -> list[int]:
    """Return the positions of the commit records of resets in a part. Records before such a position are synced first.

    So a reset (a record that replaces a part of the history) takes effect completely or not at all. A power cut may
    keep any blocks of the unsynced bytes, so all records of a reset must be on the disk before its commit.
    """
    if len(bodies) == 1:
        return []
    cuts = {position for position, body in enumerate(bodies) if body.startswith(_COMMIT_HEAD)}
    return sorted(cuts - {0})


def prepare_part(
    batch: Iterable[Prepare], index: Index, max_record_bytes: int, location: str = "", *, bundles: bool = False
) -> Part:
    """Prepare the first part of a batch: callers up to the first one with control records, or up to `PART_BYTES` bytes.

    Other processes must not append to the log until the part is written.

    Args:
        batch: the function of each caller; it returns the caller's records.
        index: the log's index, up to date.
        max_record_bytes: the size limit of a record. A caller with a larger record is rejected.
        location: the location of the log, for the error.
        bundles: whether to bundle the records of each caller (`bundle`). This is needed if a crash may store only some
            of them.

    Raises:
        LogVersionError: a later version wrote the log.
    """
    if index.unknown_version:
        check_may_append(index, location)
    part = Part([], [])
    total_bytes = 0
    first = len(index.columns.offsets)
    for prepare in batch:
        stop = first
        control = False
        try:
            bodies = prepare(index)
            if bundles and len(bodies) > 1:
                bodies = bundled(bodies)
            for body in bodies:
                check_size(body, max_record_bytes)
                total_bytes += len(body)
                if body.startswith(CONTROL_HEAD):
                    control = control or not body.startswith(HEAD)
                else:
                    stop += 1
        except Exception as error:  # noqa: BLE001 - only this caller gets the error
            part.outcomes.append(error)
            continue
        part.bodies.extend(bodies)
        part.outcomes.append(range(first, stop))
        if control or total_bytes > PART_BYTES:
            break
        first = stop
    return part
