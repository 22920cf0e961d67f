"""Projects below a home directory whose sessions hold something of everything, some of them damaged."""

from __future__ import annotations

import random
from pathlib import Path

from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.sessions.session_files import session_files
from tests.support.busy_logs import lines, steps

NAMES = ("one", "one-0a_helper", "two", "three_x", "four")


class BusyHome:
    """Sessions of two projects that grow.

    Args:
        home: the home directory.
        seed: of what is in them.
        damage: how likely each line of a damaged session is.
    """

    def __init__(self, home: Path, seed: int, damage: float = 0.3) -> None:
        self._rng = random.Random(seed)
        self._logs = [
            home / ".amplifier" / "projects" / project / "sessions" / name / LOG_NAME
            for project in ("-here", "-there")
            for name in NAMES
        ]
        self._damage = {log: damage if log.parent.name == "four" else 0.0 for log in self._logs}
        self._left: dict[Path, list[list[bytes]]] = {}
        self._crc: dict[Path, int] = {}
        for log in self._logs:
            log.parent.mkdir(parents=True)
            log.touch()
            self._left[log] = steps(25, self._rng)

    def grow(self) -> None:
        """Write some more to some sessions."""
        for log in self._logs:
            count = self._rng.choice((0, 3, 9))
            bodies = [body for step in self._left[log][:count] for body in step]
            self._left[log] = self._left[log][count:]
            content, self._crc[log] = lines(bodies, self._crc.get(log, 0), self._rng, self._damage[log])
            with log.open("ab") as file:
                file.write(content)


def sessions_of_home() -> list:
    """All sessions, by their paths."""
    return sorted(session_files(), key=lambda one: str(one.path))
