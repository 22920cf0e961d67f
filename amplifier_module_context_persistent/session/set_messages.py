"""`set_messages` where the log already holds a conversation: take what is recognised, and change nothing else.

A list is compared with the history first (`reconcile`), and with what else the log holds. Only if there is something to
take is that done again under the log's lock, so that messages which another process added in the meantime are neither
hidden nor stored twice.

Where a list lacks turns that the log has, `transcript.jsonl` was rewound or repaired apart from this module, as the
host's own script does. The log knows nothing of such an edit, and the host's next save undoes it; so the person is told
at the resume, with the command that does it for good. Signs of an edit are: the script keeps the old file under a name
with the time; or the file was written after the last message of the log.
"""

from __future__ import annotations

import logging
import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from ..log.base import Log
from ..log.record_line import CONTROL_HEAD, REMOVALS, decode
from ..messages.host_form import content_key
from ..messages.message import Message
from ..messages.metadata import given_id, instant_of, is_ephemeral, is_human, timestamp_of
from ..paths import LOG_NAME
from .host import Host
from .reconcile import align, arranged, new_messages
from .record_builder import TakenMessages, has_removals, stored_under
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


# -- what of a list is new ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListComparison:
    """The result of comparing a list with the log."""

    taken: TakenMessages
    live: Sequence[Message]
    """The live history that the list was compared with."""
    unknown: int = 0
    """How many messages of a list that is not taken the log does not hold, live or hidden."""


def look_at(log: Log, given: Sequence[Message]) -> ListComparison:
    """Find what of a list is to be taken, and count what is unknown if that is nothing.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    all_live = list(log.read(log.index.live))
    positions = [position for position, message in enumerate(all_live) if not is_ephemeral(message)]  # what hosts know
    live = [all_live[position] for position in positions]
    found = align(live, given)
    if found is not None and not (found.tail or found.results or found.closings):
        return ListComparison(TakenMessages(), live)
    known = KnownMessages(log, live)
    tail = None
    if found is not None and not any(map(known.is_hidden, found.inserted)) and not known.repeats(found.tail):
        tail = new_messages(found.tail, known.is_new, ends_removed=known.ends_removed)
    if found is None or tail is None:
        return ListComparison(TakenMessages(), live, count_unknown(log, given))
    order = arranged(live, found, tail)
    while order and isinstance(last := order[-1], dict):  # what comes last is appended
        tail.insert(0, last)
        order.pop()
    if order == list(range(len(live))):
        order = []
    taken = TakenMessages([positions[item] if isinstance(item, int) else item for item in order], tail)
    return ListComparison(taken, live, 0 if taken else count_unknown(log, given))


def count_unknown(log: Log, given: Sequence[Message]) -> int:
    """How many messages of a list the log does not hold, by their ids or else by their contents."""
    ids = [brought for message in given if (brought := given_id(message)) is not None]
    known = log.index.find_all(ids)
    bare = [content_key(message) for message in given if given_id(message) is None]
    contents = {content_key(message) for message in log.read(range(len(log.index)))} if bare else set()
    return sum(brought not in known for brought in ids) + sum(content not in contents for content in bare)


class KnownMessages:
    """What a log holds: its live history, and the messages that were taken out of it."""

    def __init__(self, log: Log, live: Sequence[Message]) -> None:
        self._log = log
        self._live = {content_key(message): timestamp_of(message) for message in live}
        self._removed = self._purged = ""
        """When messages were last taken out, and when last by a purge: what was erased is told by its age alone."""
        self.ends_removed = has_removals(log.index)
        """Whether that is the last thing that happened."""
        if self.ends_removed:
            self._find_removals()

    def _find_removals(self) -> None:
        """Find the last reset or purge; reads all of the log."""
        last_live = next(iter(self._log.lines(self._log.index.live[-1:])), (0, b""))[1]
        for line, record in control_records(self._log, REMOVALS):
            if record is not None:
                self._removed, self.ends_removed = str(record.get("time", "")), True
                self._purged = self._removed if record["_record"] == "purge" else self._purged
            elif line == last_live:
                self.ends_removed = False

    def is_new(self, message: Message) -> bool:
        """Whether the log never held a message: not by its id, by its content and time, or as one that was erased."""
        time = timestamp_of(message)
        if self.is_hidden(message) or (time and self._live.get(content_key(message)) == time):
            return False
        if self._purged and time and not is_newer(time, self._purged):
            return False
        return not self.ends_removed or is_newer(time, self._removed)

    def is_hidden(self, message: Message) -> bool:
        """Whether the log holds a message by its id, or by its content one that is not live.

        A message with the content of a hidden one is another one if it is newer than what hid that, and was not written
        at the same time.
        """
        brought = given_id(message)
        if brought is not None and stored_under(self._log, brought) is not None:
            return True
        times, time = self._hidden_times.get(content_key(message)), timestamp_of(message)
        return times is not None and (not is_newer(time, self._removed) or _second_of(time) in times)

    def repeats(self, tail: Sequence[Message]) -> bool:
        """Whether a tail without times only repeats messages of the live history."""
        repeated = (not timestamp_of(message) and content_key(message) in self._live for message in tail)
        return bool(tail) and all(repeated)

    @cached_property
    def _hidden_times(self) -> dict[str, set[datetime | None]]:
        """When the messages were written that are not live, by their contents."""
        index = self._log.index
        hidden = [ordinal for ordinal in range(len(index)) if not index.is_live(ordinal) and index.is_held(ordinal)]
        times = defaultdict[str, set[datetime | None]](set)
        for message in self._log.read(hidden):
            times[content_key(message)].add(_second_of(timestamp_of(message)))
        return times


def is_newer(time: str, than: str) -> bool:
    """Whether one ISO 8601 time is in a later second than another: many clocks tell no more; False if one is none."""
    one, other = _second_of(time), _second_of(than)
    return one is not None and other is not None and one > other


def _second_of(time: str) -> datetime | None:
    instant = instant_of(time)
    return instant.replace(microsecond=0) if instant is not None else None


def control_records(log: Log, kinds: Collection[str]) -> Iterator[tuple[bytes, dict[str, Any] | None]]:
    """Give every line of a log, without LF, and its record where it is a control record of one of some kinds.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    heads = tuple(CONTROL_HEAD + f':"{kind}"'.encode() for kind in kinds)
    for line in log.records():
        record = None
        if line.startswith(heads):
            try:
                record = decode(line)
            except ValueError:  # a damaged line: whoever verifies the log reports it
                record = None
        yield line.rstrip(b"\r\n"), record


# -- a transcript that was edited elsewhere ----------------------------------------------------------------------------


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
        if found[2] >= last.astimezone(UTC).strftime("%Y%m%d%H%M%S"):
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
