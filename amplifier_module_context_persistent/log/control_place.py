"""The place of a record in a log, and a control record's status in the checksum chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(slots=True)
class Place:
    """The place of a record: the number of its line, its offset (or the number of its row), and its length."""

    line: int = 0
    offset: int = 0
    length: int = 0
    seed: int = 0
    check: int = 0
    """With `seed`, the checksum for later reads; see `MessageColumns.checks`."""


class ControlStatus(NamedTuple):
    """The status of a control record in the checksum chain."""

    intact: bool = False
    """Whether the record's `own_crc` is correct, if the record begins or commits a reset."""
    chained: bool = True
    """Whether the record continues the checksum chain."""
    after_loss: bool = False
    """Whether the line before is unreadable. Then it is unknown whether the record continues the chain."""
    counts_as_header: bool = True
    """Whether a header at this place tells the version of the log."""


@dataclass(slots=True)
class HeldControls:
    """The places of the control records whose content the index keeps."""

    headers: list[Place] = field(default_factory=list)
    plan: Place | None = None
    side_plan: Place | None = None
    usage: dict[tuple[str, str], Place] = field(default_factory=dict)
