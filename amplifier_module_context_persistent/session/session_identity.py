"""Which session a manager keeps: its id, its parent's id, and the directory that it works in."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionIdentity:
    """The identity of one session, for the place and the header of its log."""

    session_id: str | None = None
    """The id; None if the host gives none."""
    parent_id: str | None = None
    """The id of the session whose sub-agent this session is; None if it is no sub-agent's."""
    working_dir: str | None = None
    """The directory that the session works in; None if the host gives none."""

    @property
    def directory(self) -> str:
        """The directory that the session works in; by default that of the process."""
        return self.working_dir or os.getcwd()
