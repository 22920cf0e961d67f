"""Build the records of a message, a reset, a pin, and the first append of a session.

The functions here return functions that prepare records from the index as it is under the log's lock; those change
nothing and may run twice. History is never rewritten: a reset is a record, and what it hides stays in the log.

A host replays a stored transcript to resume a session. A message that brings an id is known by it; one without
(`TimestampReplays`), by when it was written and what it says.
"""

from __future__ import annotations

import contextlib
import logging
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from hashlib import blake2b

from ..errors import PinError
from ..log.base import Log, Prepare
from ..log.id_table import FEW, IdTable
from ..log.index import SYSTEM, Index, id_hash_of
from ..log.record import FORMAT_VERSION, Message, encode_control, encode_plain
from ..log.reset_record import NewMessage, ids_in, reset_bodies
from ..messages.host_form import content_key, same_content
from ..messages.metadata import LINE_KEY, given_id, metadata_of, timestamp_of
from ..paths import REMOTE, remote_of
from ..view.wire import header_marks
from ..window.message_source import Extras
from .hidden_turns import hide_record
from .memory_files import is_memory_file
from .recognise import Taken, has_removals, stored_under

logger = logging.getLogger(__name__)


class RecordBuilder:
    """The history of one session in one log.

    Args:
        log: the log; it is read under its lock only.
        extras: the session's messages that are in no log.
        session_id: named in the header.
        tokenizer: likewise.
        late_system: how the session shows late system messages; a new log's header says so.
        working_dir: where the session works; a new log's header names the remote repository of the checkout there.
        now: gives ISO 8601 timestamps.
        new_id: gives unique message ids.
    """

    def __init__(
        self,
        log: Log,
        extras: Extras,
        *,
        session_id: str | None,
        tokenizer: str,
        late_system: str,
        working_dir: str,
        now: Callable[[], str],
        new_id: Callable[[], str],
    ) -> None:
        self._log, self._extras, self.now, self._new_id = log, extras, now, new_id
        self._log_id, self._session_id, self._tokenizer = new_id(), session_id, tokenizer
        self._late_system, self._working_dir = late_system, working_dir
        index = log.index
        self.is_empty = len(index) == 0
        self.authoritative = self._holds_conversation(index)
        """Whether the log decides at a resume: it holds, or held, messages other than memory files as it is opened."""
        self._replays = TimestampReplays(len(index))
        self._headed = False
        self.shown_line: tuple[int, str] | None = None
        """The line that the last view ended with, and the ordinal of the answer before it; None where it had none."""
        self._deferred: deque[bytes] = deque()

    def _holds_conversation(self, index: Index) -> bool:
        if any(role != SYSTEM for role in index.roles) or has_removals(index):
            return True
        return not all(map(is_memory_file, self._log.read(range(len(index)))))

    def defer(self, *bodies: bytes) -> None:
        """Buffer records until the next append or close."""
        self._deferred.extend(bodies)

    def withdraw(self, body: bytes) -> None:
        """Take back a buffered record, unless it is in the log already."""
        with contextlib.suppress(ValueError):
            self._deferred.remove(body)

    def take_deferred(self) -> list[bytes]:
        """Take the buffered records; the caller appends them, or buffers them again."""
        if not self._deferred:
            return []
        taken: list[bytes] = []
        with contextlib.suppress(IndexError):  # until there are none: other threads add and take meanwhile
            while True:
                taken.append(self._deferred.popleft())
        return taken

    def carrying(self, carried: Sequence[bytes], prepare: Prepare) -> Prepare:
        """Prepare buffered records, and then what `prepare` gives."""
        return lambda index: [*self.control(carried)(index), *prepare(index)]

    def add(self, message: Message, *, timestamp: str, own_id: str | None = None) -> Prepare:
        """Prepare the record of a message, as `to_plain` gave it; none if the log holds it already.

        Args:
            message: the message; one that brings an id keeps it.
            timestamp: ISO 8601.
            own_id: the id of one that brings none; else a new one.
        """
        own_id, metadata = own_id or self._new_id(), message.get("metadata")
        brought = given_id(message) if metadata and "message_id" in metadata else None
        claimed: list[str] = []

        def prepare(index: Index) -> list[bytes]:
            message_id = own_id
            if brought is not None:
                free_id = free_id_for(self._log, message, brought)
                if free_id is None:
                    return []
                if free_id != brought:
                    logger.warning("a message came with an id that is taken (%s); it is stored as %s", brought, free_id)
                message_id = free_id
            else:
                while claimed:  # this runs again: another writer was faster
                    self._replays.release(claimed.pop())
                if (replayed := self._replays.find(self._log, message)) is not None:
                    self._replays.claim(replayed)
                    claimed.append(replayed)
                    return []
            added = self._with_line(message, index)
            body = encode_plain(added, message_id=message_id, timestamp=timestamp)
            is_begun = self._headed and len(index.offsets)
            return [body] if is_begun else [*self._preamble(index), body]

        return prepare

    def _with_line(self, message: Message, index: Index) -> Message:
        """A message that is added after a view ended with a line: views go on showing it before the message.

        All that is added until the next view says so, since the first of them may be shown nowhere (blank, or system
        text); a view puts the line right after the answer alone.
        """
        count, noted = index.line_shown
        ordinal, line = self.shown_line or (count - 1, noted if count == len(index) else "")
        if not line or not 0 <= ordinal < len(index) or not index.is_live(ordinal):
            return message
        if message["role"] in ("tool", "function"):
            return message
        return {**message, "metadata": {**metadata_of(message), LINE_KEY: line}}

    def replace(self, messages: Sequence[Message], *, reason: str, timestamp: str) -> Prepare:
        """Prepare a reset: the live history becomes `messages`; those that the log holds are kept, not written again.

        Memory files that are live stay first, unless the reason is `clear`.
        """
        reset_id, own_ids = self._new_id(), [self._new_id() for _ in messages]

        def prepare(index: Index) -> list[bytes]:
            if not messages and not index.live:
                return []
            files = [] if reason == "clear" else self._memory_files(index)
            items: list[int | NewMessage] = [_member(item) if isinstance(item, dict) else item for item in files]
            taken = {item if isinstance(item, int) else given_id(item) for item in files}
            for message, own_id in zip(messages, own_ids, strict=True):
                brought = given_id(message)
                ordinal, same = find_by_id(self._log, message, brought) if brought else (None, False)
                if is_memory_file(message) and (brought in taken or ordinal in taken):
                    continue
                if ordinal is not None and same and ordinal not in taken:
                    taken.add(ordinal)
                    items.append(ordinal)
                else:
                    fresh = brought is not None and ordinal is None and not same and brought not in taken
                    taken.add(brought)
                    message_id = brought if brought is not None and fresh else own_id
                    items.append(_new(message, message_id, timestamp))
            return self._reset(index, items, reset_id=reset_id, reason=reason, timestamp=timestamp)

        return prepare

    def take(self, choose: Callable[[], Taken], *, timestamp: str) -> Prepare:
        """Prepare what is taken of a list that a host sets: messages at the end, or a reset with the new order."""
        reset_id, ids = self._new_id(), defaultdict[str, str](self._new_id)

        def prepare(index: Index) -> list[bytes]:
            taken = choose()
            new = [item for item in taken.order if isinstance(item, dict)] + taken.tail
            own = [given_id(message) or ids[str(number)] for number, message in enumerate(new)]
            if not taken.order:
                encoded = [
                    encode_plain(message, message_id=message_id, timestamp=timestamp)
                    for message, message_id in zip(new, own, strict=True)
                ]
                return [*self._preamble(index), *encoded] if encoded else []
            messages = iter(
                [_new(message, message_id, timestamp) for message, message_id in zip(new, own, strict=True)]
            )
            items = [index.live[item] if isinstance(item, int) else next(messages) for item in taken.order]
            return self._reset(index, [*items, *messages], reset_id=reset_id, reason="repair", timestamp=timestamp)

        return prepare

    def pin(self, message_id: str, *, pinned: bool, reason: str, time: str) -> Prepare:
        """Prepare the record that pins or unpins a live message; none if it is so already."""
        pin_id = self._new_id()

        def prepare(index: Index) -> list[bytes]:
            ordinal = index.find_all([message_id]).get(message_id)
            if ordinal is None or not index.is_live(ordinal):
                raise PinError(f"no message of this session has the id {message_id!r:.80}; take one from a view")
            if (ordinal in index.pins) == pinned:
                return []
            fields = {"id": pin_id, "message_id": message_id, "pinned": pinned, "reason": reason, "time": time}
            record = encode_control("pin", **{key: value for key, value in fields.items() if value != ""})
            return [*self._header(index), record]

        return prepare

    def hide(self, turn: int | str, *, hidden: bool, reason: str, time: str) -> Prepare:
        """Prepare the record that hides a turn or shows it again; none if it is so already."""
        record_id = self._new_id()

        def prepare(index: Index) -> list[bytes]:
            record = hide_record(
                index, self._log.read, turn, hidden=hidden, record_id=record_id, reason=reason, time=time
            )
            return [*self._header(index), record] if record is not None else []

        return prepare

    def control(self, bodies: Sequence[bytes]) -> Prepare:
        """Prepare control records; none in an empty log."""
        return lambda index: [*self._header(index), *bodies] if bodies and len(index) else []

    def _reset(
        self, index: Index, items: Sequence[int | NewMessage], *, reset_id: str, reason: str, timestamp: str
    ) -> list[bytes]:
        """The records of a reset: what the live history consists of from then on."""
        ids = ids_in(self._log.read)
        bodies = reset_bodies(index.live, items, ids, reset_id=reset_id, reason=reason, time=timestamp)
        return [*self._header(index), *bodies]

    def _memory_files(self, index: Index) -> list[int | Message]:
        """The memory files before the live history: records, or in an empty log messages to be written."""
        if len(index) == 0:
            return list(self._extras.unsaved)
        system = [ordinal for ordinal in index.live if index.roles[ordinal] == SYSTEM]
        return [o for o, message in zip(system, self._log.read(system), strict=True) if is_memory_file(message)]

    def _preamble(self, index: Index) -> list[bytes]:
        """What goes before a session's first message: its header, and in an empty log the memory files."""
        return self._header(index) + [_encoded(message) for message in self._extras.unsaved if len(index) == 0]

    def _header(self, index: Index) -> list[bytes]:
        """A header, unless the last one in the log is this session's."""
        own = self._headed or (index.headers and index.headers[-1].get("session_id") == self._session_id)
        if own:
            self._headed = True
            return []
        remote = index.headers[0].get(REMOTE) if index.headers else remote_of(self._working_dir)
        header = encode_control(
            "header",
            version=FORMAT_VERSION,
            log_id=index.headers[0].get("log_id", self._log_id) if index.headers else self._log_id,
            session_id=self._session_id,
            tokenizer=self._tokenizer,
            created=self.now(),
            **header_marks(index.headers, late_system="system" if len(index) else self._late_system),
            **({REMOTE: remote} if remote else {}),
        )
        return [header]


def _encoded(message: Message) -> bytes:
    """A message that has its id and timestamp already."""
    metadata = message["metadata"]
    return encode_plain(message, message_id=metadata["message_id"], timestamp=metadata["timestamp"])


def _new(message: Message, message_id: str, timestamp: str) -> NewMessage:
    """Encode a message as the member of a reset."""
    return lambda member: encode_plain(message, message_id=message_id, timestamp=timestamp, member=member)


def _member(message: Message) -> NewMessage:
    """Likewise one that has its id and timestamp already."""
    metadata = message["metadata"]
    return _new(message, metadata["message_id"], metadata["timestamp"])


def find_by_id(log: Log, message: Message, message_id: str) -> tuple[int | None, bool]:
    """Find a live record by the id that a message brings along: its ordinal, and whether the contents are the same.

    The ordinal is None if no live record has the id; the flag then says whether another record has it.
    """
    if (known := stored_under(log, message_id)) is None:
        return None, False
    ordinal, stored = known
    if not log.index.is_live(ordinal):
        return None, True
    return ordinal, same_content(stored, message)


def free_id_for(log: Log, message: Message, brought: str) -> str | None:
    """The id under which to store a message that has one already; None if the log holds the message.

    If the id belongs to another message, or to one that is no longer live, another id is derived from it and the
    content. So a host that brings the message again at each resume finds it, and it is stored once.
    """
    candidate = brought
    while True:
        ordinal, known = find_by_id(log, message, candidate)
        if ordinal is None and not known:
            return candidate
        if ordinal is not None and known:
            return None
        digest = blake2b(f"{candidate}\0{content_key(message)}".encode("utf-8", "surrogatepass"), digest_size=8)
        candidate = f"m{digest.hexdigest()}"


class TimestampReplays:
    """Messages without an id, recognised by timestamp and content; each record answers for one of them.

    Only records that the log held when it was opened are looked at: what this process adds is no replay. They are
    remembered by the hashes of their ids, since a purge by another process gives records other ordinals. About 25 bytes
    a record; whatever a hash finds is read before it counts.
    """

    def __init__(self, opened_with: int) -> None:
        self._opened_with = opened_with
        self._is_collected = False
        self._stamps, self._ids = array("q"), array("q")
        """The hashes of the timestamps and of the ids of those records that have a timestamp."""
        self._table = IdTable()
        """Finds hashes in `_stamps`."""
        self._last = ("", list[int]())
        """The timestamp that was asked for last, and the hashes of the ids of its records."""
        self._claimed: set[int] = set()

    def find(self, log: Log, message: Message) -> str | None:
        """The id of a record that a message replays; `claim` it."""
        if not self._opened_with or not (timestamp := timestamp_of(message)):
            return None
        if not self._is_collected:
            self._collect(log)
        if self._last[0] != timestamp:
            positions = sorted(self._table.positions(_hash_of(timestamp), self._stamps))
            self._last = timestamp, [self._ids[position] for position in positions]
        for hashed in self._last[1]:
            if hashed not in self._claimed and (message_id := _replayed(log, hashed, message, timestamp)):
                return message_id
        return None

    def claim(self, message_id: str) -> None:
        """Mark a record as replayed, so that it answers for no other message."""
        self._claimed.add(_hash_of(message_id))

    def release(self, message_id: str) -> None:
        """Let a record answer again: the message for which it was claimed is prepared anew."""
        self._claimed.discard(_hash_of(message_id))

    def _collect(self, log: Log) -> None:
        ordinals = array("I", filter(self._opened_with.__gt__, log.index.live))
        for stored in log.read(ordinals):
            if (timestamp := timestamp_of(stored)) and (message_id := given_id(stored)):
                self._stamps.append(_hash_of(timestamp))
                self._ids.append(_hash_of(message_id))
        while self._table.count < len(self._stamps) - FEW:
            self._table.catch_up(self._stamps)
        self._is_collected = True


def _replayed(log: Log, hashed: int, message: Message, timestamp: str) -> str | None:
    """The id of the record whose id has a hash, if it has this timestamp and this content; it may be hidden by now."""
    ordinal = log.index.find_hashed(hashed)
    if ordinal is None:
        return None
    (stored,) = log.read([ordinal])
    return given_id(stored) if timestamp_of(stored) == timestamp and same_content(stored, message) else None


def _hash_of(text: str) -> int:
    return id_hash_of(text.encode("utf-8", "surrogatepass"))
