"""Adding messages: they are read from any form, checked, and appended together or not at all.

The messages of one call are one append: one write and one sync under the log's lock. This holds for a list, and for a
foreign message that corresponds to several (one user message of Anthropic with results and text, for example).

A list may be added again after its process was killed. Then the messages at the end of the log are the first messages
of the list. They are not stored again, as long as nothing else was added since the log was opened.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from ..config import Config
from ..errors import LogError, LogFailedError, MemoryFilesError, RecordError
from ..forms.any_form_to_canonical import read_given, with_messages_before
from ..forms.calls_by_name import lack_calls
from ..forms.canonical import form_of
from ..forms.recognise import is_ordinary, is_plain
from ..forms.responses_reasoning import lack_reasoning
from ..log.contract import Log
from ..log.record_line import decode_body, encode_message
from ..messages.check_incoming import check_message, json_copy, listed, why_refused
from ..messages.host_form import content_key
from ..messages.kept_from_models import is_kept_from_models
from ..messages.message import Message, metadata_of, text_of
from ..messages.metadata import comes_from_a_log, given_id, is_ephemeral
from ..messages.offload import may_offload
from ..tokens.meter import Meter
from .host import Host
from .pending_requests import PendingRequests
from .record_builder import EncodedMessages
from .redact_on_write import RedactionOnWrite
from .store import Session, Store

_LARGE_CHARS = 1 << 20  # a longer text is not encoded on the event loop's thread
_LOOKED_AT = 8
_MOST_LOOKED_AT = 128
_MANY = 16  # neither are messages with more characters together


class Additions:
    """Adds messages to one session.

    Args:
        config: the configuration.
        host: gets an event for each message. With a coordinator, messages of an ambiguous shape are Amplifier's own.
        store: the session's store.
        meter: counts answers.
        pending: notes which request an answer belongs to.
        redaction: replaces keys before they are stored.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.
    """

    def __init__(
        self,
        config: Config,
        host: Host,
        store: Store,
        meter: Meter,
        pending: PendingRequests,
        redaction: RedactionOnWrite,
        *,
        now: Callable[[], str],
        new_id: Callable[[], str],
    ) -> None:
        self._config = config
        self._host = host
        self._store = store
        self._meter = meter
        self._pending = pending
        self._now = now
        self._new_id = new_id
        self._redaction = redaction
        self._form: str | None = None
        """The form of the last foreign message, for reading ambiguous shapes; None until the form is read from the log.
        """
        self._unknown: dict[str, str] = {}
        """Ids of messages that may or may not be stored, by content; a repeat of the message gets the same id."""

    def add(self, messages: Sequence[Any], *, form: str | None, is_list: bool) -> Coroutine[Any, Any, bool]:
        """Add messages of any form. Arguments and errors are those of `PersistentContextManager.add_messages`.

        Returns:
            False if all messages are ordinary (`is_ordinary`); else True, and the caller looks at their metadata.
        """
        incoming: Sequence[Message] = messages if type(messages) is list else listed(messages)
        if incoming and form is None and self._may_encode(incoming):
            return self._append_encoded(incoming, is_list=is_list)
        return self._add_copied(incoming, form, is_list=is_list)

    async def _add_copied(self, incoming: Sequence[Message], form: str | None, *, is_list: bool) -> bool:
        """Add copies of messages, so that the caller's changes while the log is opened are not stored."""
        if not incoming:
            return False
        copied = [json_copy(message, is_stored=comes_from_a_log(message)) for message in incoming]
        if form is None and self._may_encode(copied):  # a copy may be plain although the original was not
            return await self._append_encoded(copied, is_list=is_list)
        if checked := await self._checked(copied, form):
            session = self._store.session or await self._store.open()
            await self._add_checked(session, checked, is_list=is_list or len(checked) > 1)
        return True

    async def _add_checked(self, session: Session, incoming: Sequence[Message], *, is_list: bool) -> None:
        """Add canonical messages that no caller can change. Ephemeral messages go only to the views of this process."""
        passing = list(filter(self._passes, incoming))
        stored = incoming
        if passing:
            stored = [message for message in incoming if message not in passing]
        if self._redaction.is_on:
            stored = await self._redaction.of(stored)
        if stored:
            session = await self._append(session, stored, is_list=is_list)
        for message in passing:
            await _add_ephemeral(session, message)
        self._form = _last_form_of(incoming) or self._form
        if self._host.hooks is not None:
            await self._tell(session, _payloads_of(incoming))

    def _may_encode(self, messages: Sequence[Any]) -> bool:
        """Return whether messages are stored unchanged and are small enough to encode on the event loop."""
        if self._redaction.is_on or self._unknown:
            return False
        threshold = self._config.offload_threshold
        for message in messages:
            if not is_ordinary(message) or (threshold is not None and may_offload(message, threshold)):
                return False
        if len(messages) == 1:
            return not _is_large(messages[0])
        return sum(map(_chars_of, messages)) <= _LARGE_CHARS

    async def ready(self, messages: Sequence[Mapping[str, Any]]) -> list[Message]:
        """Prepare canonical messages for storing. Answers get the hash of their request. Errors are those of `add`."""
        copied = [json_copy(message) for message in messages]
        for message in copied:
            check_message(message)
            reason = why_refused(message)
            if reason:
                raise RecordError(reason)
        session = await self._store.open()
        ready = [await session.offloaded(message) for message in await self._redaction.of(copied)]
        return [self._pending.note(message) for message in ready]

    def not_stored(self, ready: Sequence[Message]) -> None:
        """Undo the notes about messages that could not be stored."""
        for message in ready:
            self._pending.take_back(message)

    async def _checked(self, copied: list[Message], form: str | None) -> list[Message]:
        """Read messages of any form into canonical ones, and check the result."""
        checked = copied
        if form is not None or not all(map(is_plain, copied)):
            checked = await self._read(copied, form)
        for message in checked:
            is_stored = given_id(message) is not None
            check_message(message, is_stored=is_stored)
            if not is_stored and (reason := why_refused(message)):
                raise RecordError(reason)
        return checked

    async def _read(self, copied: Sequence[Message], form: str | None) -> list[Message]:
        """Read messages, at least one of which may be foreign."""
        if self._form is None and not all(map(is_plain, copied)):
            self._form = _last_form_of(await self._last_messages(_LOOKED_AT)) or ""
        read = read_given(copied, form, before=self._form or "", guesses=self.guesses)
        if lack_calls(read):
            return with_messages_before(read, await self._since_calls())
        if lack_reasoning(read):
            return with_messages_before(read, await self._last_messages(1))
        return read

    async def _since_calls(self) -> list[Message]:
        """Return the last messages of the log, enough to include an answer that calls a tool.

        If no such answer is near the end, return about `_MOST_LOOKED_AT` messages.
        """
        count = _LOOKED_AT
        last = await self._last_messages(count)
        while not any(message.get("tool_calls") for message in last):
            is_all_of_log = len(last) < count
            if is_all_of_log or count >= _MOST_LOOKED_AT:
                break
            count *= 4
            last = await self._last_messages(count)
        return last

    async def _last_messages(self, count: int) -> list[Message]:
        """Return the last `count` messages of the log."""
        session = self._store.session or await self._store.open()

        def read(log: Log) -> list[Message]:
            return list(log.read(log.index.live[-count:]))

        return await session.read(read)

    @property
    def guesses(self) -> bool:
        """Whether an ambiguous message may be of a foreign form. Hosts of Amplifier always mean Amplifier's own."""
        return not self._host.is_there

    def _passes(self, message: Message) -> bool:
        """Return whether a message is ephemeral and is not stored, only shown in this process's views."""
        metadata = message.get("metadata")
        if not metadata or "ephemeral" not in metadata:
            return False
        return is_ephemeral(message) and not self._config.keep_ephemerals

    async def _append(self, session: Session, incoming: Sequence[Message], *, is_list: bool) -> Session:
        if self._config.offload_threshold is not None:
            incoming = [await session.offloaded(message) for message in incoming]
        noted = list(map(self._noted, incoming))
        if self._unknown:
            noted = [self._with_known_id(message) for message in noted]
        timestamp = self._now()
        own_ids = [self._new_id() for _ in noted]
        ids = frozenset(message_id for message_id in map(given_id, noted) if message_id is not None)
        small = len(noted) <= _MANY and not any(map(_is_large, noted))
        try:
            session = await self._store.append(
                lambda history: history.add(noted, timestamp=timestamp, own_ids=own_ids, is_list=is_list),
                small=small,
                ids=ids,
            )
        except (RecordError, LogError) as error:
            self._take_back(noted)
            if isinstance(error, LogFailedError):
                self._note_unknown(noted, own_ids)
            raise
        if self._unknown:
            for message in noted:
                self._unknown.pop(content_key(message), None)
        return session

    def _note_unknown(self, messages: Sequence[Message], own_ids: Sequence[str]) -> None:
        """Note the ids under which messages may have been stored, in case the same messages are added again."""
        for message, own_id in zip(messages, own_ids, strict=True):
            self._unknown[content_key(message)] = given_id(message) or own_id

    async def _append_encoded(self, incoming: Sequence[Message], *, is_list: bool) -> bool:
        """Append messages for which `_may_encode` is true.

        The JSON of the messages is encoded at once, so they are not copied.

        Returns:
            False, as `add`.
        """
        payloads = _payloads_of(incoming) if self._host.hooks is not None else ()
        bodies = list[bytes]()
        timestamp = self._now()
        try:
            for message in incoming:
                if message["role"] == "assistant":
                    self._meter.answered()
                noted = self._pending.note(message)
                bodies.append(encode_message(noted, message_id=self._new_id(), timestamp=timestamp, is_finite=True))
            encoded = EncodedMessages(bodies, is_list or len(bodies) > 1)
            session = await self._store.append(encoded.of, small=len(bodies) <= _MANY)
        except (RecordError, LogError, MemoryFilesError) as error:
            self._take_back(incoming[: len(bodies) + 1])  # the message after the last body was noted, but not encoded
            if isinstance(error, LogFailedError):
                for message in map(decode_body, bodies):
                    self._unknown[content_key(message)] = f"{given_id(message)}"
            raise
        if payloads:
            await self._tell(session, payloads)
        return False

    def _noted(self, message: Message) -> Message:
        """Return a message in the form in which it is appended. An answer with reasoning gets its request's hash."""
        if message["role"] == "assistant" and not is_kept_from_models(message):
            self._meter.answered()
        return self._pending.note(message)

    def _take_back(self, noted: Sequence[Message]) -> None:
        """Undo the notes about messages that were not stored. The messages may be added again."""
        for message in noted:
            self._pending.take_back(message)

    def _with_known_id(self, message: Message) -> Message:
        """Give a message the id under which it may already be stored."""
        if given_id(message) is not None:
            return message
        known = self._unknown.get(content_key(message))
        return message if known is None else {**message, "metadata": {**metadata_of(message), "message_id": known}}

    async def _tell(self, session: Session, payloads: Sequence[tuple[str, int]]) -> None:
        total = len(session.log.index.live)
        for role, length in payloads:
            payload = {"role": role, "content_length": length, "total_messages": total}
            await self._host.emit("context:message_added:debug", payload)


def _last_form_of(messages: Sequence[Message]) -> str:
    """Return the form of the last of the messages that came in a foreign form, or "" if none did."""
    for message in reversed(messages):
        form = form_of(message)
        if form:
            return form
    return ""


def _payloads_of(stored: Sequence[Message]) -> Sequence[tuple[str, int]]:
    """Return the payloads of the events for stored messages: roles and lengths of texts."""
    return [(message["role"], len(text_of(message))) for message in stored]


async def _add_ephemeral(session: Session, message: Message) -> None:
    reminds = session.config.late_system == "reminder"
    add = session.unlogged.add_ephemeral
    await session.queue.run(lambda log: add(log.index, message, session.count, reminds=reminds))


def _chars_of(message: Message) -> int:
    """Return the number of characters in an ordinary message's texts."""
    content = message.get("content")
    if type(content) is str:
        return len(content)
    return sum([len(block["text"]) for block in content or ()])


def _is_large(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, str) and len(content) > _LARGE_CHARS
