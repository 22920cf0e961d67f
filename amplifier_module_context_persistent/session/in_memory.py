"""The context manager over a log in memory: for tests, forks and hosts without a disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from ..config import Options
from .choose_log import ChosenLog, log_in_memory
from .manager import PersistentContextManager


class InMemoryOptions(Options, total=False):
    """The arguments of `PersistentContextManager` but the log's file."""

    coordinator: Any | None
    session_id: str | None
    parent_id: str | None
    working_dir: str | None
    now: Callable[[], str]
    new_id: Callable[[], str]


class InMemoryContextManager(PersistentContextManager):
    """The same context manager over a log in memory, which ends with its process.

    It takes the arguments of `PersistentContextManager` but the log's file. Keys of the configuration that say where
    and how durably the log is kept have no meaning here.
    """

    def __init__(self, **options: Unpack[InMemoryOptions]) -> None:
        super().__init__(**options)

    def _choose_log(self, session_id: str | None, parent_id: str | None, working_dir: str | None) -> ChosenLog:
        return ChosenLog(log_in_memory(self.config))
