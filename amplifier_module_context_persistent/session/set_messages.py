"""`set_messages` where the log already holds a conversation: take what is recognised, and change nothing else.

A list is compared with the history first. Only if there is something to take is that done again under the log's lock,
so that messages which another process added in the meantime are neither hidden nor stored twice.

Where a list lacks turns that the log has, `transcript.jsonl` was rewound or repaired apart from this module, as the
host's own script does. The log knows nothing of such an edit, and the host's next save undoes it; so the person is told
at the resume, with the command that does it for good. Signs of an edit are: the script keeps the old file under a name
with the time; or the file was written after the last message of the log.
"""

from __future__ import annotations

import logging
import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ..log.base import Log
from ..messages.message import Message
from ..messages.metadata import instant_of, is_ephemeral, is_human, timestamp_of
from ..paths import LOG_NAME
from .host import Host
from .recognise import Look, Taken, look_at
from .store import Store

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

    def look(log: Log) -> tuple[Look, str]:
        log.follow()
        looked = look_at(log, messages)
        return looked, "" if looked.taken else find_edit(store.path, looked.live, messages)

    looked, edit = await session.read(look)
    taken = looked.taken
    stored = len(session.log.index.live)
    if not taken:
        logger.info("set_messages with %d messages is ignored: the log decides", len(given))
        counts = {"ignored_messages": len(given), "stored_messages": stored, "unknown_messages": looked.unknown}
        await host.emit("context:set_messages_ignored", counts)
        if edit and host.show_once(advice(edit, store.path or "", looked.live, messages)):
            counts = {"given_messages": len(given), "stored_messages": stored}
            await host.emit("context:transcript_edited", {"kind": edit, **counts})
        return
    last = [taken]

    def choose() -> Taken:
        last[0] = look_at(session.log, messages).taken
        return last[0]

    session = await store.append(lambda history: history.take(choose, timestamp=timestamp), small=False)
    taken = last[0]
    if taken.order:
        await session.commit.run(lambda _: session.requests.forget())
    logger.info("set_messages: %d new messages are stored, the history stays", taken.count)
    report = {"given_messages": len(given), "stored_messages": stored, "new_messages": taken.count}
    await host.emit("context:set_messages_taken", {**report, "repaired": bool(taken.order)})


_TRANSCRIPT = "transcript.jsonl"
_KEPT = re.compile(re.escape(_TRANSCRIPT) + r"\.bak-pre-(rewind|repair)-(\d{14})")
_SAVING_S = 5.0  # a host that saves while messages are added may be this much late


def find_edit(log: str | None, live: Sequence[Message], given: Sequence[Message]) -> str:
    """Say how the host's transcript was edited since the last message of the log: `rewind`, `repair` or `edit`.

    Args:
        log: the log's file; edits are looked for beside it.
        live: the live history.
        given: the transcript, as the host sets it.

    Returns:
        The kind; empty if there is no sign of an edit, or the transcript lacks no turn.
    """
    if log is None or Path(log).name != LOG_NAME or not live:
        return ""
    last = instant_of(timestamp_of(live[-1]))
    if last is None or sum(map(is_human, given)) >= sum(map(is_human, live)):
        return ""
    try:
        names = [path.name for path in Path(log).parent.iterdir()]
    except OSError:  # the directory may be entered, but not listed
        names = []
    kept = [found for name in names if (found := _KEPT.fullmatch(name)) is not None]
    for found in sorted(kept, key=lambda name: name[2], reverse=True):
        if _time_of(found[2]) >= last.replace(microsecond=0):
            return found[1]
    try:
        saved_s = (Path(log).parent / _TRANSCRIPT).stat().st_mtime
    except OSError:
        return ""
    return "edit" if saved_s > last.timestamp() + _SAVING_S else ""


def advice(kind: str, log: str, live: Sequence[Message], given: Sequence[Message]) -> str:
    """The text about an edit for a person: the log keeps its history; what to do to follow the edit."""
    done = {"rewind": "was rewound", "repair": "was repaired"}.get(kind, "was cut")
    turns = sum(map(is_human, given))
    told = f"{_TRANSCRIPT} {done} outside this session, but the log still has all {len(live):,} messages, and goes on."
    if not turns:
        return f"{told} To begin anew, use /clear."
    command = shlex.join(["context-persistent", "rewind", log, "--to", str(turns)])
    return f"{told} To rewind the session for good: {command}"


def _time_of(digits: str) -> datetime:
    try:
        return datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:  # no time after all
        return datetime.min.replace(tzinfo=UTC)
