"""The parts of a running session whose log is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..config import Config
from ..errors import LogUnreadableError
from ..log.base import Log
from ..log.group_commit import GroupCommit
from ..messages.message import Message
from ..messages.offload import may_offload, offload
from ..tokens.counter import TokenCounter, count_message
from ..window.ephemeral import Extras
from .record_builder import RecordBuilder
from .view_service import ViewService

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Session:
    """The parts of a session: its log, its history, its views."""

    log: Log
    commit: GroupCommit
    counter: TokenCounter
    extras: Extras
    history: RecordBuilder
    requests: ViewService
    config: Config

    def count(self, message: Message) -> int:
        """Count a message's tokens."""
        return count_message(message, self.counter)

    def forget(self) -> None:
        """Forget what belonged to the history that was replaced."""
        self.extras.clear()
        self.requests.forget()

    async def offloaded(self, message: Message) -> Message:
        """A message as it is stored: a big tool result with the mark of what views show of it; else the same object."""
        threshold, preview = self.config.offload_threshold, self.config.preview_tokens
        if threshold is None or not may_offload(message, threshold):
            return message
        return await self.commit.run(
            lambda _: offload(message, self.count, threshold_tokens=threshold, preview_tokens=preview)
        )

    async def read(self, function: Callable[[Log], T]) -> T:
        """Call a function that only reads the log, on the log's thread.

        Where the log's snapshot proves wrong, the log is scanned anew under the function's hands: then it is called
        once more.

        Raises:
            LogUnreadableError: the log cannot be read.
        """

        def job(log: Log) -> T:
            index = log.index
            try:
                return function(log)
            except LogUnreadableError:
                if log.index is index or not log.describe().exists:
                    raise
            return function(log)

        return await self.commit.run(job)

    def add_ephemeral(self, log: Log, message: Message) -> None:
        """Add a message to this process's views, after the last record, without storing it."""
        reminds = self.config.late_system == "reminder"
        self.extras.add_ephemeral(log.index, message, self.count, reminds=reminds)
