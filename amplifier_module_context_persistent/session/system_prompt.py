"""Restore the system prompt of a resumed child session. Its host sets none, but receipts name the last one."""

from __future__ import annotations

from ..log.contract import Log
from ..log.control_records import control_records
from ..log.index import SYSTEM
from ..log.record_line import name_of
from ..messages.kept_from_models import is_kept_from_models
from ..messages.message import Message, metadata_of
from .host import Host
from .memory_files import is_memory_file
from .store import Store


class SystemPrompt:
    """The system prompt of a session whose host gives none.

    Args:
        enabled: whether a text is restored at all.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._text: str | None = None

    async def restore(self, store: Store, host: Host) -> str | None:
        """Return the head text (the host's system prompt) for the next view; at a resume, the text of the last request.

        Return None if there is no such text, or if the history has a system prompt of its own.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        if not self._enabled:
            return None
        session = await store.open()
        known = self._text

        def find(log: Log) -> str | None:
            log.follow()
            if has_system_prompt(log):
                return None
            return known if known is not None else last_head_text(log)

        self._text = None
        if session.history.authoritative:
            self._text = await session.read(find)
        self._enabled = self._text is not None
        if known is None and self._text is not None:
            await host.emit("context:system_prompt_restored", {"characters": len(self._text)})
        return self._text


def has_system_prompt(log: Log) -> bool:
    """Return whether the live history has a system prompt."""
    index = log.index
    system = [ordinal for ordinal in index.live if index.columns.roles[ordinal] == SYSTEM]
    return any(map(_is_system_prompt, log.read(system)))


def _is_system_prompt(message: Message) -> bool:
    """Return whether a system message is a system prompt: no memory file, not of a hook, and shown to models."""
    if is_memory_file(message) or is_kept_from_models(message):
        return False
    return metadata_of(message).get("source") != "hook"


def last_head_text(log: Log) -> str | None:
    """Return the head text of the last view that had one, found by the receipts; None if no view had one."""
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
