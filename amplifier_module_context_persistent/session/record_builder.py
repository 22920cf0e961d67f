"""Build the records of messages, of resets, and of the first append of a session.

A *reset* is a record that hides the live messages and begins a new live history. The methods here return functions that
prepare records. The log calls such a function under its lock, with the current index; the function changes nothing and
may run twice. History is never rewritten: the messages that a reset hides stay in the log.

`replayed_messages.py` recognises messages that a host replays when it resumes a session.
"""

from __future__ import annotations

import logging
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..checkout_remote import REMOTE, remote_of
from ..log.contract import Log, Prepare
from ..log.index import SYSTEM, Index
from ..log.record_line import (
    FORMAT_VERSION,
    Message,
    decode_body,
    encode_control,
    encode_message,
    encode_object,
)
from ..log.reset_record import NewMessage, ids_in, reset_bodies
from ..messages.host_form import content_key
from ..messages.message import metadata_of
from ..messages.metadata import LINE_KEY, given_id, is_answer
from ..view.rules_of_log import header_marks
from ..view.stored_plan import kept_ordinals
from ..view.turns import Read
from ..window.ephemerals import UnloggedMessages
from .change_history import Decide
from .deferred_records import Deferred, DeferredRecords
from .memory_files import is_memory_file
from .message_to_store import MessageToStore, key_of
from .replayed_messages import TimestampReplays, free_id_for, is_live_as, overlap, stored_under
from .session_identity import SessionIdentity
from .taken_messages import TakenMessages

logger = logging.getLogger(__name__)


class RecordBuilder:
    """Builds the records of one session in one log.

    Args:
        log: the log; it is read under its lock only.
        unlogged: the session's messages that are in no log.
        identity: its ids are written to the header. The header of a new log names the remote repository of the checkout
            in its directory.
        tokenizer: written to the header.
        late_system: how the session shows late system messages; written to the header of a new log.
        now: gives ISO 8601 timestamps.
        new_id: gives unique message ids.
    """

    def __init__(
        self,
        log: Log,
        unlogged: UnloggedMessages,
        *,
        identity: SessionIdentity,
        tokenizer: str,
        late_system: str,
        now: Callable[[], str],
        new_id: Callable[[], str],
    ) -> None:
        self._log = log
        self._unlogged = unlogged
        self.now = now
        self._new_id = new_id
        self._log_id = new_id()
        self._identity = identity
        self._tokenizer = tokenizer
        self._late_system = late_system
        index = log.index
        self.is_empty = len(index) == 0
        self.authoritative = self._holds_conversation(index)
        """Whether the log decides at a resume. So it is if the log had, when it was opened, more than memory files."""
        self.opened_with = len(index)
        """The number of messages that the log had when it was opened."""
        self.removals_at_open = index.removals
        """The number of resets and purges that the log had when it was opened."""
        self.last_reset = ""
        """The id of the last reset that was prepared here, or ""."""
        self._replays = TimestampReplays(len(index))
        self._headed = False
        self.shown_line: tuple[int, str] | None = None
        """The ordinal of the last view's last message, and the `[continued]` line after it; None if the view had no
        such line."""
        self.deferred = DeferredRecords(log)

    def _holds_conversation(self, index: Index) -> bool:
        if any(role != SYSTEM for role in index.columns.roles) or index.has_removals:
            return True
        return not all(map(is_memory_file, self._log.read(range(len(index)))))

    def carrying(self, carried: Sequence[Deferred], prepare: Prepare) -> Prepare:
        """Prepare buffered records, followed by the records of `prepare`.

        Records that were buffered before the log was replaced are left out: a purge may have removed their messages.
        """

        def prepare_all(index: Index) -> list[bytes]:
            current = [record.body for record in carried if record.index is index]
            return [*self.control(current)(index), *prepare(index)]

        return prepare_all

    def add(
        self, messages: Sequence[Message], *, timestamp: str, own_ids: Sequence[str], is_list: bool = False
    ) -> Prepare:
        """Prepare the records of checked messages. Messages that the log already has are left out.

        Args:
            messages: the messages, stored together; a message with an id keeps it.
            timestamp: ISO 8601.
            own_ids: an id for each message, used if it has none.
            is_list: whether the caller passed a list; the log may already have the start of it.
        """
        pairs = list(zip(messages, own_ids, strict=True))

        def prepare(index: Index) -> list[bytes]:
            known = 0
            if is_list and self._may_repeat(index):
                known = self._repeated(index, messages)
            line = self._line_before(index)
            bodies: list[bytes] = []
            ids: set[str] = set()
            for message, own_id in pairs[known:]:
                message_id = self._id_of(message, own_id, ids)
                if message_id is None:
                    continue
                ids.add(message_id)
                stored = message
                if line and not bodies:
                    stored = _with_line(message, line)
                bodies.append(encode_message(stored, message_id=message_id, timestamp=timestamp))
            return self._after_preamble(index, bodies)

        return prepare

    def _after_preamble(self, index: Index, bodies: list[bytes]) -> list[bytes]:
        """Return the records of messages.

        Before the first messages of the session, also its header and memory files.
        """
        is_begun = self._headed and len(index.columns.offsets) > 0
        if is_begun or not bodies:
            return bodies
        return [*self._preamble(index), *bodies]

    def add_encoded(self, index: Index, bodies: list[bytes], *, is_list: bool) -> list[bytes]:
        """Return the records of `EncodedMessages`, without messages that the log already has."""
        new = bodies
        if is_list and self._may_repeat(index):
            messages = [decode_body(body) for body in bodies]
            new = bodies[self._repeated(index, messages) :]
        line = self._line_before(index) if new else ""
        if line:
            new = [_body_with_line(new[0], line), *new[1:]]
        return self._after_preamble(index, new)

    def _id_of(self, message: Message, own_id: str, used: Collection[str]) -> str | None:
        """Return the id under which to store a message, or None if the log already has the message.

        Args:
            message: a checked message.
            own_id: the id to use if the message has none.
            used: the ids of the messages before it in the same append.
        """
        given_message_id = given_id(message)
        if given_message_id is None:
            return None if self._replays.answer(self._log, message, own_id) else own_id
        message_id = free_id_for(self._log, message, given_message_id)
        if message_id in used:
            message_id = own_id
        if message_id not in (None, given_message_id):
            logger.warning(
                "a message came with an id that is taken (%s); it is stored as %s", given_message_id, message_id
            )
        return message_id

    def _may_repeat(self, index: Index) -> bool:
        """Return whether a list may begin with messages of the log: nothing was added since the log was opened."""
        return len(index) == self.opened_with and bool(index.live)

    def _repeated(self, index: Index, messages: Sequence[Message]) -> int:
        """Return the number of messages at the start of `messages` that are the last messages of the log.

        A process that was killed while it added a list adds the list again, and does not know how much of the list is
        stored.
        """
        last = self._log.read(index.live[-len(messages) :])
        return overlap(list(map(content_key, messages)), list(map(content_key, last)))

    def _line_before(self, index: Index) -> str:
        """Return the line that the last view ended with, if an answer added now answers that view, else "".

        Only the answer shows that a provider saw the line. If something else was added since the view, nobody knows
        whether the view was answered, so the answer gets no line.
        """
        if self.shown_line is not None:
            last_shown, line = self.shown_line
        else:
            count, line = index.session.line_shown
            if count != len(index):
                return ""
            last_shown = count - 1
        is_last = len(index.live) > 0 and index.live[-1] == last_shown
        return line if is_last else ""

    def replace(self, choose: Callable[[], Sequence[Message]], *, reason: str, timestamp: str) -> Prepare:
        """Prepare a reset after which the chosen messages are the live history. Live ones are not written again.

        Live memory files stay at the beginning, unless the reason is `clear`.

        Args:
            choose: returns the messages; called under the log's lock, perhaps more than once.
            reason: the reason of the reset.
            timestamp: ISO 8601, for messages that have none.
        """
        reset_id = self._new_id()
        own_ids = defaultdict[int, str](self._new_id)  # by number; the same ids if `prepare` runs twice

        def prepare(index: Index) -> list[bytes]:
            messages = choose()
            if not messages and not index.live:
                return []
            items = self._kept_memory_files(index, timestamp) if reason != "clear" else []
            used = {key_of(item) for item in items}
            for number, message in enumerate(messages):
                item = self._replacement(message, own_ids[number], used, timestamp)
                if item is not None:
                    items.append(item)
                    used.add(key_of(item))
            return self._reset(index, items, reset_id=reset_id, reason=reason, timestamp=timestamp)

        return prepare

    def _kept_memory_files(self, index: Index, timestamp: str) -> list[int | MessageToStore]:
        """Return the live memory files as items of a new history."""
        items = list[int | MessageToStore]()
        for file in self._memory_files(index):
            if isinstance(file, int):
                items.append(file)
            else:
                items.append(MessageToStore(file, f"{given_id(file)}", timestamp))
        return items

    def _replacement(
        self, message: Message, own_id: str, used: Collection[int | str], timestamp: str
    ) -> int | MessageToStore | None:
        """Return a message as an item of a new history: the ordinal of the same live message, or a new message.

        Return None for a memory file that the new history already has.

        Args:
            message: a checked message.
            own_id: the id to use if the message has no id, or one that is used already.
            used: the ordinals and new ids of the new history so far.
            timestamp: ISO 8601, for a message without a time.
        """
        message_id = given_id(message)
        if not message_id:
            return MessageToStore(message, own_id, timestamp)
        stored = stored_under(self._log, message_id)
        is_used = message_id in used
        if stored is not None:
            ordinal, _ = stored
            is_used = is_used or ordinal in used
        if is_used and is_memory_file(message):
            return None
        if stored is not None and not is_used and is_live_as(self._log, stored, message):
            return ordinal
        if stored is not None or is_used:
            message_id = own_id
        return MessageToStore(message, message_id, timestamp)

    def take(self, choose: Callable[[], TakenMessages], *, timestamp: str) -> Prepare:
        """Prepare the new messages of a host's list: an append at the end, or a reset with the new order."""
        reset_id = self._new_id()
        own_ids = defaultdict[int, str](self._new_id)  # by number; the same ids if `prepare` runs twice

        def prepare(index: Index) -> list[bytes]:
            chosen = choose()
            if not chosen.order:
                new = list[MessageToStore]()
                for number, message in enumerate(chosen.new):
                    new.append(MessageToStore(message, given_id(message) or own_ids[number], timestamp))
                return self._appended(index, new)
            items = list[int | NewMessage]()
            for number, item in enumerate(chosen.order):
                if isinstance(item, int):
                    items.append(item)
                else:
                    items.append(MessageToStore(item, given_id(item) or own_ids[number], timestamp))
            return self._reset(index, items, reset_id=reset_id, reason=chosen.reason, timestamp=timestamp)

        return prepare

    def change(self, decide: Decide, *, reason: str, timestamp: str) -> Prepare:
        """Prepare a decided change: appended messages, or a reset. The plan in force stays if it still fits.

        Args:
            decide: called under the log's lock; if it raises, the append fails with that exception.
            reason: the reason of the reset.
            timestamp: ISO 8601, for messages that have none.
        """
        reset_id = self._new_id()
        own_ids = defaultdict[int, str](self._new_id)  # by number; the same ids if `prepare` runs twice

        def prepare(index: Index) -> list[bytes]:
            decided = decide(self._log)
            new = self._with_free_ids(decided.added, own_ids, timestamp)
            staying = decided.kept
            if staying is None or list(staying) == list(index.live):
                plan = [encode_object(decided.plan)] if decided.plan is not None else []
                return self._appended(index, new, plan)
            bodies = self._reset(index, [*staying, *new], reset_id=reset_id, reason=reason, timestamp=timestamp)
            return [*bodies, *_plan_within(index, staying)]

        return prepare

    def _with_free_ids(
        self, messages: Sequence[Message], own_ids: Mapping[int, str], timestamp: str
    ) -> list[MessageToStore]:
        """Give each message an id: its own, unless the log or the list has this id already.

        Then the id in `own_ids`.
        """
        new = list[MessageToStore]()
        ids: set[str] = set()
        for number, message in enumerate(messages):
            message_id = given_id(message)
            if message_id is None or message_id in ids or stored_under(self._log, message_id) is not None:
                message_id = own_ids[number]
            ids.add(message_id)
            new.append(MessageToStore(message, message_id, timestamp))
        return new

    def _appended(self, index: Index, new: Sequence[MessageToStore], plan: Sequence[bytes] = ()) -> list[bytes]:
        """Return the records that add messages and a plan at the end of the history, after the preamble.

        Return no record if there are neither messages nor a plan.
        """
        bodies = [message.encode() for message in new]
        bodies += plan
        if not bodies:
            return []
        return [*self._preamble(index), *bodies]

    def by_hand(self, make: Callable[[Index, Read, str], bytes | None]) -> Prepare:
        """Prepare a record that a person or the model asks for. No record is written if nothing would change.

        Args:
            make: returns the record's body, or None if the record would change nothing. Its arguments are the index; a
                function that reads messages; and the record's id.
        """
        record_id = self._new_id()

        def prepare(index: Index) -> list[bytes]:
            record = make(index, self._log.read, record_id)
            if record is None:
                return []
            return [*self._header(index), record]

        return prepare

    def control(self, bodies: Sequence[bytes]) -> Prepare:
        """Prepare control records. Nothing is written to an empty log."""

        def prepare(index: Index) -> list[bytes]:
            if not bodies or len(index) == 0:
                return []
            return [*self._header(index), *bodies]

        return prepare

    def _reset(
        self, index: Index, items: Sequence[int | NewMessage], *, reset_id: str, reason: str, timestamp: str
    ) -> list[bytes]:
        """Return the records of a reset that makes `items` the live history."""
        self.last_reset = reset_id
        ids = ids_in(self._log.read)
        bodies = reset_bodies(index.live, items, ids, reset_id=reset_id, reason=reason, time=timestamp)
        return [*self._header(index), *bodies]

    def _memory_files(self, index: Index) -> list[int | Message]:
        """Return the memory files of the history: ordinals, or for an empty log the messages to be written."""
        if len(index) == 0:
            return list(self._unlogged.unsaved)
        system = [ordinal for ordinal in index.live if index.columns.roles[ordinal] == SYSTEM]
        read = zip(system, self._log.read(system), strict=True)
        return [ordinal for ordinal, message in read if is_memory_file(message)]

    def _preamble(self, index: Index) -> list[bytes]:
        """Return the records before a session's first message: its header, and in an empty log the memory files."""
        bodies = self._header(index)
        if len(index) == 0:
            for file in self._unlogged.unsaved:
                bodies.append(MessageToStore(file, f"{given_id(file)}", self.now()).encode())
        return bodies

    def _header(self, index: Index) -> list[bytes]:
        """Return the session's header.

        Return no record if the last header in the log is this session's header, or if this session has no id.
        """
        headers = index.headers
        if not self._headed and headers:
            self._headed = self._identity.session_id in (None, headers[-1].get("session_id"))
        if self._headed:
            return []
        if headers:
            log_id = headers[0].get("log_id", self._log_id)
            remote = headers[0].get(REMOTE)
        else:
            log_id = self._log_id
            remote = remote_of(self._identity.directory)
        late_system = "system" if len(index) else self._late_system
        more = dict(header_marks(headers, late_system=late_system))
        if remote:
            more[REMOTE] = remote
        if self._identity.parent_id:
            more["parent_id"] = self._identity.parent_id
        header = encode_control(
            "header",
            version=FORMAT_VERSION,
            log_id=log_id,
            session_id=self._identity.session_id,
            tokenizer=self._tokenizer,
            created=self.now(),
            **more,
        )
        return [header]


@dataclass(slots=True, eq=False)
class EncodedMessages:
    """Messages that were encoded when they were added, and are stored together.

    The method `of` returns the object as a `Prepare`. A closure would take more room: when thousands of tasks append at
    once, each keeps such an object (`log/append_queue.py`).
    """

    bodies: list[bytes]
    """The bodies of messages that had neither an id nor a time."""
    is_list: bool
    """As in `RecordBuilder.add`."""
    _history: RecordBuilder = field(init=False)

    def of(self, history: RecordBuilder) -> Prepare:
        """Return self as the function that prepares the records for a history."""
        self._history = history
        return self

    def __call__(self, index: Index) -> list[bytes]:
        """Return the records that the log lacks."""
        return self._history.add_encoded(index, self.bodies, is_list=self.is_list)


def _with_line(message: Message, line: str) -> Message:
    """Note in an answer the line that its request ended with. Other messages are returned unchanged."""
    if not is_answer(message):
        return message
    return {**message, "metadata": {**metadata_of(message), LINE_KEY: line}}


def _body_with_line(body: bytes, line: str) -> bytes:
    message = _with_line(decode_body(body), line)
    return encode_message(message, message_id=f"{given_id(message)}", timestamp=None)


def _plan_within(index: Index, staying: Sequence[int]) -> list[bytes]:
    """Return the record of the plan in force if the plan is still valid for `staying`, else an empty list."""
    stays = array("I", staying)
    if index.session.plan is None or stays != index.live[: len(stays)]:
        return []  # there is no plan, or the order changes
    try:
        kept_ordinals(replace(index, live=stays), index.session.plan)
    except ValueError:  # it names messages that do not stay
        return []
    return [encode_object(index.session.plan)]
