"""`set_messages` where the log already holds a conversation: take what is recognised, and change nothing else.

A list is compared with the history first (`reconcile`), and with what else the log holds. Only if there is something to
take is that done again under the log's lock, so that messages which another process added in the meantime are neither
hidden nor stored twice.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ..log.base import Log
from ..messages.message import Message
from ..messages.metadata import is_ephemeral
from .host import Host
from .reconcile import ListComparison, TakenMessages, look_at
from .store import Store
from .transcript_edit import advice, find_edit

logger = logging.getLogger(__name__)


async def reconcile_messages(store: Store, host: Host, given: Sequence[Message], *, timestamp: str) -> None:
    """Take what is new of a list that a host sets, or nothing, and emit an event either way.

    Args:
        store: the session's store.
        host: gets the event.
        given: the list, as plain JSON.
        timestamp: ISO 8601, for messages that have none.

    Raises:
        RecordError: one of the messages cannot be stored; nothing was changed.
        LogError: the log cannot be read, or took nothing.
    """
    session = await store.open()
    messages = [await session.offloaded(message) for message in given if not is_ephemeral(message)]

    def look(log: Log) -> tuple[ListComparison, str]:
        log.follow()
        looked = look_at(log, messages)
        return looked, "" if looked.taken else find_edit(store.path, looked.live, messages)

    looked, edit = await session.read(look)
    stored = len(session.log.index.live)
    if not looked.taken:
        logger.info("set_messages with %d messages is ignored: the log decides", len(given))
        counts = {"ignored_messages": len(given), "stored_messages": stored, "unknown_messages": looked.unknown}
        await host.emit("context:set_messages_ignored", counts)
        if edit and host.show_once(advice(edit, store.path or "", looked.live, messages)):
            counts = {"given_messages": len(given), "stored_messages": stored}
            await host.emit("context:transcript_edited", {"kind": edit, **counts})
        return
    taken = looked.taken

    def choose() -> TakenMessages:
        nonlocal taken
        taken = look_at(session.log, messages).taken
        return taken

    session = await store.append(lambda history: history.take(choose, timestamp=timestamp), small=False)
    if taken.order:
        await session.commit.run(lambda _: session.requests.forget())
    logger.info("set_messages: %d new messages are stored, the history stays", taken.count)
    report = {"given_messages": len(given), "stored_messages": stored, "new_messages": taken.count}
    await host.emit("context:set_messages_taken", {**report, "repaired": bool(taken.order)})
