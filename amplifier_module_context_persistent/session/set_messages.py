"""`set_messages`: replace the history, or append the new messages of a list and change nothing else.

A list is first compared with the history (`new_in_host_list`) and with the other messages of the log. If something is
new, the comparison is repeated under the log's lock, so that messages of other processes are neither hidden nor stored
twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import RecordError
from ..forms.any_form_to_canonical import is_foreign, read_given
from ..log.contract import Log
from ..messages.check_incoming import json_copy, listed, to_plain, why_refused
from ..messages.message import Message
from ..messages.metadata import comes_from_a_log, given_id, is_ephemeral
from .growing_list import after_items, may_be_repair, rest_of_agent
from .host import Host
from .list_after_purge import without_purged
from .live_history import LiveHistory
from .memory_files import is_memory_file
from .new_in_agents_list import AgentsKnowledge
from .new_in_host_list import ListComparison, additions_only, compare_list
from .redact_on_write import RedactionOnWrite
from .store import Session, Store
from .taken_messages import TakenMessages
from .transcript_edit import advice, find_edit
from .unchanged_host_list import is_whole, known_beginning

logger = logging.getLogger(__name__)

_SMALL_LIST = 16  # messages


async def set_messages(
    store: Store,
    host: Host,
    redaction: RedactionOnWrite,
    messages: Sequence[Mapping[str, Any]],
    *,
    timestamp: str,
    resumes: bool = False,
    form: str | None = None,
) -> None:
    """Apply a list that a host sets, by the rules of `PersistentContextManager.set_messages`.

    Args:
        store: the session's store.
        host: gets the events.
        redaction: replaces keys before they are compared and stored.
        messages: the list, as the host gives it.
        timestamp: ISO 8601, for messages that have none.
        resumes: whether the host passes the history of a session that it resumes. Then no message of the log is
            replaced.
        form: the form of all messages. Without it, forms are recognised by shape.

    Raises:
        RecordError: one of the messages cannot be stored; nothing was changed.
        LogError: the log cannot be read, or took nothing.
    """
    messages = listed(messages)
    session = await store.open()
    log_decides = session.history.authoritative or (resumes and await session.read(_has_messages))
    if redaction.is_on:
        copies = [json_copy(message, is_stored=comes_from_a_log(message)) for message in messages]
        messages = await redaction.of(copies)
    may_repair = may_be_repair(messages, has_host=host.is_there or resumes)
    incoming = await _recognise(session, messages, form, has_host=host.is_there)
    if incoming.is_history:
        if log_decides:
            stored = len(session.log.index.live)
            await _tell_ignored(host, given=len(incoming.messages), stored=stored, unknown=0)
        return
    plain = [*incoming.known, *_plain_messages(incoming.messages, first=len(incoming.known))]
    plain = [await session.offloaded(message) for message in plain]
    if log_decides:
        plain = [message for message in plain if not is_ephemeral(message)]
    is_agents = not (host.is_there or resumes)
    own_list = session.own_list if is_agents or not log_decides else None

    def without_erased() -> list[Message]:
        last_reset = session.history.last_reset
        return without_purged(session.log, plain, store.path or "", own=own_list, last_reset=last_reset)

    is_in_log = True
    if log_decides:
        agents = _knowledge_of(session) if is_agents else None
        is_in_log = await _take(store, host, without_erased, timestamp=timestamp, agents=agents)
    elif not await _append_additions(store, without_erased, timestamp=timestamp, may_repair=may_repair):
        is_small = len(plain) < _SMALL_LIST
        await replace_history(store, without_erased, "set_messages", timestamp=timestamp, is_small=is_small)
    if own_list is not None and is_in_log:
        session = await store.open()  # it is another one if the log could not be created
        await session.read(lambda log: session.own_list.note(log, plain, session.history.last_reset))


def _knowledge_of(session: Session) -> AgentsKnowledge:
    """Return what an agent without a host knows of the log of its session."""
    history = session.history
    return AgentsKnowledge(history.opened_with, history.removals_at_open, history.last_reset, session.own_list)


class _GivenList(NamedTuple):
    """A host's list as canonical messages, compared with the history."""

    messages: Sequence[Mapping[str, Any]]
    known: list[Message]
    """The live messages that are the beginning of the list."""
    is_history: bool
    """Whether the list is the whole history and nothing else."""


async def _recognise(
    session: Session, messages: Sequence[Mapping[str, Any]], form: str | None, *, has_host: bool
) -> _GivenList:
    """Read a list of messages of any form, and find the messages of the history at its beginning.

    Raises:
        RecordError: a message is malformed.
    """
    read = read_list(messages, form, guesses=not has_host)
    incoming = await session.read(lambda log: _compared(log, messages))
    if read is messages:
        return incoming
    if incoming.is_history:  # an older version stored messages of other forms unchanged
        return incoming._replace(messages=read)
    incoming = await session.read(lambda log: _compared(log, read))
    if incoming.is_history or has_host:
        return incoming
    continued = await session.read(lambda log: _continued(log, messages, read, form))
    return await session.read(lambda log: _compared(log, continued))


def _plain_messages(messages: Sequence[Mapping[str, Any]], first: int) -> list[Message]:
    """Return the messages from number `first` on in the form in which they are stored.

    Raises:
        RecordError: a message cannot be stored.
    """
    plain = list[Message]()
    for number, message in enumerate(messages[first:], first):
        stored = to_plain(message, is_stored=comes_from_a_log(message))
        plain.append(stored)
        reason = why_refused(stored) if given_id(stored) is None else ""
        if reason:
            logger.warning("set_messages: no view will show message %d: %s", number, reason)
    return plain


def read_list(
    messages: Sequence[Mapping[str, Any]], form: str | None = None, *, guesses: bool
) -> Sequence[Mapping[str, Any]]:
    """Read a list of messages of any form. If all are in Amplifier's form, return the same object.

    Args:
        messages: the list.
        form: the form of all of them, if the caller says so.
        guesses: whether an ambiguous message may be of a foreign form. If false, the list is a host's, and a malformed
            message does not raise an error, so that an old session can be resumed.

    Raises:
        RecordError: a message is malformed.
    """
    if form is None and not any(is_foreign(message, guesses=guesses) for message in messages):
        return messages
    copied = [json_copy(message, is_stored=comes_from_a_log(message)) for message in messages]
    try:
        return read_given(copied, form, guesses=guesses)
    except RecordError as refused:
        if guesses or form is not None:
            raise
        logger.warning("set_messages: the list is taken unchanged: %s", refused)
        return copied


def _has_messages(log: Log) -> bool:
    """Return whether the live history has messages other than memory files."""
    log.follow()
    return not all(map(is_memory_file, log.read(log.index.live)))


def _compared(log: Log, host_list: Sequence[Mapping[str, Any]]) -> _GivenList:
    """Compare a list with the live history: find which live messages it begins with, and whether it has them all."""
    log.follow()
    live = LiveHistory.of(log).messages
    known = known_beginning(live, host_list)
    is_history = len(live) > 0 and is_whole(live, host_list, known)
    return _GivenList(host_list, [live[position] for position in known], is_history)


def _continued(
    log: Log, host_list: Sequence[Mapping[str, Any]], read: Sequence[Mapping[str, Any]], form: str | None
) -> Sequence[Mapping[str, Any]]:
    """Return the messages of a list.

    For a list of OpenAI's items that begins with the history, return the history followed by the new messages.
    """
    copied = [json_copy(message, is_stored=comes_from_a_log(message)) for message in host_list]
    return after_items(LiveHistory.of(log).messages, copied, [dict(message) for message in read], form) or read


async def replace_history(
    store: Store, choose: Callable[[], Sequence[Message]], reason: str, *, timestamp: str, is_small: bool = True
) -> None:
    """Make messages the live history, by a reset.

    Args:
        store: the session's store.
        choose: returns the new history, in stored form; called under the log's lock.
        reason: the reason of the reset.
        timestamp: ISO 8601, for messages that have none.
        is_small: whether the messages are few.
    """
    session = await store.append(
        lambda history: history.replace(choose, reason=reason, timestamp=timestamp), small=is_small, looks_back=True
    )
    await session.queue.run(lambda _: session.forget())


async def _append_additions(
    store: Store, host_list: Callable[[], list[Message]], *, timestamp: str, may_repair: bool
) -> bool:
    """Append a list's additions to the history of a new session. Return False if the list has other changes.

    `host_list` returns the list without what was purged from the log as it is at that time.
    """
    session = await store.open()

    def compare(log: Log) -> list[Message] | None:
        log.follow()
        return additions_only(log, host_list(), may_repair=may_repair)

    if await session.read(compare) is None:
        return False
    # The last comparison counts: another process may have added or purged messages before it.
    comparisons: list[list[Message] | None] = []

    def choose() -> TakenMessages:
        additions = additions_only(session.log, host_list(), may_repair=may_repair)
        comparisons.append(additions)
        return TakenMessages(additions or [])

    await store.append(lambda history: history.take(choose, timestamp=timestamp), small=False, looks_back=True)
    return comparisons[-1] is not None


async def _take(
    store: Store, host: Host, host_list: Callable[[], list[Message]], *, timestamp: str, agents: AgentsKnowledge | None
) -> bool:
    """Append the new messages of a host's list, if any, and emit an event either way.

    Return whether the log now has all of the list. Then the next list may be compared with this one.

    Args:
        store: the session's store.
        host: gets the event.
        host_list: returns the list, as it would be stored, without what was purged from the log.
        timestamp: ISO 8601, for messages that have none.
        agents: as for `compare_list`.
    """
    session = await store.open()

    def compare(log: Log) -> ListComparison:
        log.follow()
        given.append(host_list())
        return compare_list(log, given[-1], agents=agents)

    given = list[list[Message]]()
    compared = await session.read(compare)
    stored = len(session.log.index.live)
    if not compared.taken:
        await _tell_ignored(host, given=len(given[-1]), stored=stored, unknown=compared.unknown)
        edit = await session.read(lambda _: find_edit(store.path, compared.live, given[-1]))
        if edit and host.show_once(advice(edit, store.path or "", compared.live, given[-1])):
            counts = {"given_messages": len(given[-1]), "stored_messages": stored}
            await host.emit("context:transcript_edited", {"kind": edit, **counts})
        return rest_of_agent(compared.live, given[-1]) == []
    choices: list[TakenMessages] = []  # the last one counts: another process may have added messages before it

    def choose() -> TakenMessages:
        choices.append(compare_list(session.log, host_list(), agents=agents).taken)
        return choices[-1]

    session = await store.append(
        lambda history: history.take(choose, timestamp=timestamp), small=False, looks_back=True
    )
    taken = choices[-1]
    if taken.order:
        await session.queue.run(lambda _: session.views.forget())
    logger.info("set_messages: %d new messages are stored, the history stays", len(taken.new))
    report = {"given_messages": len(given[-1]), "stored_messages": stored, "new_messages": len(taken.new)}
    await host.emit("context:set_messages_taken", {**report, "repaired": taken.repairs})
    return bool(taken)


async def _tell_ignored(host: Host, *, given: int, stored: int, unknown: int) -> None:
    """Report that a list was ignored: its number of messages, the stored ones, and those unknown to the log."""
    logger.info("set_messages with %d messages is ignored: the log decides", given)
    if unknown and not host.is_there:  # no host gets the event
        logger.warning(
            "set_messages: %d of %d messages are not in the log, and nothing was stored: the list is not the history "
            "with more after it; add what is new with add_messages, or call clear first",
            unknown,
            given,
        )
    counts = {"ignored_messages": given, "stored_messages": stored, "unknown_messages": unknown}
    await host.emit("context:set_messages_ignored", counts)
