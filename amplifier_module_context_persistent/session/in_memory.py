"""The context manager over a log in memory: what tests, forks and hosts without a disk use."""

from __future__ import annotations

from typing import Any

from .manager import PersistentContextManager


class InMemoryContextManager(PersistentContextManager):
    """The same context manager over a log that lives and dies with its process.

    Keys of the configuration that say where and how durably the log is kept have no meaning here.
    """

    _IN_MEMORY_BECAUSE = ""  # it was asked for

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    def _locate(self, session_id: str | None, parent_id: str | None, working_dir: str | None) -> None:
        return None
