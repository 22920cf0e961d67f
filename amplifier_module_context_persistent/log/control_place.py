"""A control record at hand besides its content: where it lies, and what the checksum chain says of it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Place:
    """Where a record lies: its line's number, its offset (or its row's number), and its length."""

    line: int = 0
    offset: int = 0
    length: int = 0
    seed: int = 0
    check: int = 0
    """With `seed` what a later reading is checked against; see `Index`."""


@dataclass(frozen=True, slots=True)
class ControlStatus:
    """What is known of a control record besides its content."""

    intact: bool
    """Its own checksum holds, if it is a begin or a commit of a reset."""
    chained: bool = True
    """It continues the checksum chain."""
    after_loss: bool = False
    """The line before it cannot be read, so nobody can say whether it continues the chain."""
    counts_as_header: bool = True
    """It stands where a header tells the version of the log."""


@dataclass(slots=True)
class HeldControls:
    """Where the control records lie whose content the index holds."""

    headers: list[Place] = field(default_factory=list)
    plan: Place | None = None
    side_plan: Place | None = None
    usage: dict[tuple[str, str], Place] = field(default_factory=dict)
