"""The system prompt of a resumed child session: the host sets none, so the text of its last view is used again.

Receipts name the head text of each view by its hash, and the log keeps each text once. Without receipts there is
nothing to restore.
"""

from __future__ import annotations

from ..log.base import Log
from ..log.index import SYSTEM
from ..log.record import name_of
from ..messages.metadata import metadata_of
from .control_records import control_records
from .memory_files import is_memory_file
from .store import Store


class SystemPrompt:
    """The text that heads the views of a session whose host gives it none.

    Args:
        enabled: whether a text is restored at all.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._text: str | None = None
        self._is_told = False

    async def restore(self, store: Store) -> str | None:
        """Find the text for the next view; None if there is none, or a system message stands in for it.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        if not self._enabled:
            return None
        session = await store.open()
        if not session.history.authoritative:
            self._enabled = False
            return None

        def find(log: Log) -> str | None:
            log.follow()
            if has_system_prompt(log):
                return None
            if self._text is None:
                self._text = last_head_text(log)
            return self._text

        text = await session.read(find)
        self._enabled = text is not None
        return text

    def is_first_use(self) -> bool:
        """Whether this is asked for the first time."""
        first, self._is_told = not self._is_told, True
        return first


def has_system_prompt(log: Log) -> bool:
    """Whether the live history has a system message that is neither a memory file nor from a hook."""
    index = log.index
    system = [ordinal for ordinal in index.live if index.roles[ordinal] == SYSTEM]
    return any(not is_memory_file(m) and metadata_of(m).get("source") != "hook" for m in log.read(system))


def last_head_text(log: Log) -> str | None:
    """The text that headed the last view with a head text, as the receipts say."""
    texts: dict[str, str] = {}
    last = ""
    for _, record in control_records(log, ("system", "view")):
        if record is None:
            continue
        if record["_record"] == "view":
            last = name_of(record.get("head", "")) or last
        elif isinstance(text := record.get("text"), str):
            texts[name_of(record.get("hash"))] = text
    return texts.get(last)
