"""The context manager with a log in memory."""

from __future__ import annotations

from .choose_log import ChosenLog
from .kept_in_memory import log_in_memory
from .manager import PersistentContextManager
from .session_identity import SessionIdentity


class InMemoryContextManager(PersistentContextManager):
    """A context manager without a disk, for tests and for hosts that have none.

    This class takes the arguments of `PersistentContextManager`. The arguments for the place and the durability of the
    log have no effect.
    """

    def _choose_log(self, identity: SessionIdentity) -> ChosenLog:
        return ChosenLog(log_in_memory(self.config))
