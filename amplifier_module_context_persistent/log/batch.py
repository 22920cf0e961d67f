"""What a batch of appends is, and what the rooms above need of any log.

Each caller gives a function that prepares its records from the index as it is under the lock. Callers do not see each
other: what one of them gets wrong is refused to it alone. Rules:
- What a caller prepares is appended as a whole or not at all.
- Nothing is appended to a log of a later format version.
- A caller's function sees the control records (headers, resets, plans) of those before it in the batch: a batch is
  written in parts, and a part ends after a caller that appends control records. It need not see their messages:
  `append_queue` begins a batch with a caller that looks at messages.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from ..errors import LogError, LogVersionError, RecordError
from .base import Outcome, Prepare
from .bundle import HEAD, bundled
from .index import Index
from .record_line import CONTROL_HEAD, SEAL_BYTES
from .reset_record import COMMIT

_COMMIT_HEAD = CONTROL_HEAD + b':"' + COMMIT.encode() + b'"'
PART_BYTES = 8 << 20  # what is written at once, but for a single caller's records


class Part(NamedTuple):
    """What the first callers of a batch append together."""

    bodies: list[bytes]
    outcomes: list[Outcome]
    """What each caller is told once the records are stored."""


class AppendPart(Protocol):
    """Appends what the first callers of a batch prepare, as `prepare_part` takes them together."""

    def __call__(self, batch: Sequence[Prepare], *, wait: bool) -> list[Outcome]:
        """Give their outcomes; errors as `Log.append`."""


def append_in_parts(batch: Sequence[Prepare], append_part: AppendPart, *, wait: bool) -> list[Outcome]:
    """Append a batch part by part; who comes after a part that is refused is told why, and all if it is the first.

    Raises:
        LogError, BlockingIOError: as `Log.append`; nothing was acknowledged.
    """
    outcomes = append_part(batch, wait=wait) if batch else []
    while len(outcomes) < len(batch):
        rest = batch[len(outcomes) :]
        try:
            outcomes += append_part(rest, wait=True)
        except LogError as error:
            outcomes += [error] * len(rest)  # what was acknowledged before stays acknowledged
    return outcomes


def reset_parts(bodies: Sequence[bytes]) -> list[int]:
    """Where the records of a part are to be synced in between, so that a reset is in force as a whole or not at all.

    A power cut may keep any blocks of what is not synced. So all that a commit vouches for has to be on the disk before
    the commit.
    """
    if len(bodies) == 1:
        return []
    cuts = {at for at, body in enumerate(bodies) if body.startswith(_COMMIT_HEAD)}
    return sorted(cuts - {0})


def prepare_part(
    batch: Iterable[Prepare], index: Index, max_record_bytes: int, location: str = "", *, bundles: bool = False
) -> Part:
    """Prepare the first part of a batch: up to a caller with control records, or `PART_BYTES`.

    Args:
        batch: each caller's function.
        index: the log's, under its lock.
        max_record_bytes: a larger record is refused.
        location: where the log lies, for the error.
        bundles: whether a crash may tear the records of one caller apart, so that they are to be bundled.

    Raises:
        LogVersionError: a later version wrote the log.
    """
    if index.unknown_version:
        check_may_append(index, location)
    part = Part([], [])
    most_bytes, total_bytes, first = max_record_bytes - SEAL_BYTES, 0, len(index.columns.offsets)
    for prepare in batch:
        stop, control = first, False
        try:
            bodies = prepare(index)
            if bundles and len(bodies) > 1:
                bodies = bundled(bodies)
            for body in bodies:
                if len(body) > most_bytes:
                    raise RecordError(f"the record has {len(body):,} bytes; at most {most_bytes:,} are stored")
                total_bytes += len(body)
                if body.startswith(CONTROL_HEAD):
                    control = control or not body.startswith(HEAD)
                else:
                    stop += 1
        except Exception as error:  # noqa: BLE001 - it belongs to that caller alone, who gets it
            part.outcomes.append(error)
            continue
        part.bodies.extend(bodies)
        part.outcomes.append(range(first, stop))
        if control or total_bytes > PART_BYTES:
            break
        first = stop
    return part


def check_may_append(index: Index, location: str) -> None:
    """Refuse to write to a log of a later format version.

    Raises:
        LogVersionError: it is one.
    """
    if index.unknown_version:
        reason = f"the log has format version {index.unknown_version}, which this version of the package only reads"
        raise LogVersionError(errno.EPERM, f"{reason}; update it", location)
