"""What was measured of a store, and all of it as JSON and back."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Survived:
    """What was left after some kills in the middle of appends."""

    kills: int
    acknowledged: int
    lost: int
    doubled: int
    """Acknowledged messages that are there more than once."""
    error: str | None = None

    def __str__(self) -> str:
        """In a few words."""
        if self.error is not None:
            return f"error: {self.error}"
        return f"{self.lost} lost, {self.doubled} doubled of {self.acknowledged:,}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a session that was damaged gives when it is read."""

    read: int
    expected: int
    changed: int
    """Of those that were read, how many say something else than what was stored."""
    said: bool
    """Whether a warning or an error says that something is wrong."""
    goes_on: bool
    """Whether messages can be appended and read after that."""
    error: str | None = None

    def __str__(self) -> str:
        """In a few words."""
        if self.error is not None:
            return f"error, none read ({self.error.partition(':')[0]})"
        parts = ["all read" if self.read == self.expected else f"{self.read} of {self.expected} read"]
        if self.changed:
            parts.append(f"{self.changed} altered")
        if self.changed or self.read < self.expected:
            parts.append("said" if self.said else "not said")
        if not self.goes_on:
            parts.append("takes no more")
        return ", ".join(parts)


@dataclass(slots=True)
class Found:
    """What was measured of one store."""

    durability: str
    times: dict[str, list[float]] = field(default_factory=dict)
    """By measure, the seconds of each round."""
    given: int = 0
    """How many messages a process that resumes the long session gives to the model."""
    peak_mb: float | None = None
    grown_bytes: float = 0.0
    """What one message more adds to the files of the long session."""
    survived: Survived | None = None
    damaged: dict[str, Outcome] = field(default_factory=dict)

    def note(self, measure: str, seconds: float) -> None:
        """Keep a round's figure."""
        self.times.setdefault(measure, []).append(seconds)

    def median(self, measure: str) -> float:
        """Seconds, the median of the rounds."""
        return statistics.median(self.times[measure])

    def ratio(self, other: Found, measure: str) -> float:
        """To another store: the median of the ratios in each round."""
        pairs = zip(self.times[measure], other.times[measure], strict=True)
        return statistics.median(mine / its for mine, its in pairs)


def to_json(found: Mapping[str, Found], run: Mapping[str, Any]) -> str:
    """Everything, with the figures of each round; `run` says what they were measured with."""
    return json.dumps({"run": run, "stores": {name: asdict(one) for name, one in found.items()}}, indent=1)


def from_json(text: str) -> tuple[dict[str, Found], dict[str, Any]]:
    """Read what `to_json` wrote."""
    told = json.loads(text)
    found = {}
    for name, one in told["stores"].items():
        survived = Survived(**one.pop("survived"))
        damaged = {kind: Outcome(**outcome) for kind, outcome in one.pop("damaged").items()}
        found[name] = Found(**one, survived=survived, damaged=damaged)
    return found, told["run"]
