"""A session's store: opens its log at the first use, appends to it, and continues in memory if none can be created.

If a log exists and cannot be read, that is an error: the session does not continue in memory. After a first successful
append it does not continue in memory either. `Session` has the parts of a session whose log is open.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from ..config import Config
from ..errors import LogCreateError, LogError, LogUnreadableError
from ..log.append_queue import AppendQueue, Item
from ..log.contract import Log, Prepare
from ..log.database_location import stored_name
from ..log.index import Index
from ..log.not_a_log import check_may_be_written
from ..log.thread_pool import DATABASE_THREADS, FILE_THREADS, WAITING
from ..messages.message import Message
from ..messages.offload import may_offload, offload
from ..tokens.counter import TokenCounter, count_message, open_counter
from ..tokens.meter import Meter
from ..view.rules_of_log import late_system_of
from ..window.ephemerals import UnloggedMessages
from .choose_log import ChosenLog
from .close_session import archive_others, index_in_database
from .host import Host
from .kept_in_memory import log_in_memory, may_go_on_in_memory, why_in_memory
from .log_events import LogEvents
from .memory_files import check_memory_files, load_memory_files
from .own_list import OwnList
from .record_builder import RecordBuilder
from .session_identity import SessionIdentity
from .view_service import ViewService

logger = logging.getLogger(__name__)


class _Opening:
    """The opening of a log while it runs.

    Args:
        task: opens the log.
    """

    def __init__(self, task: asyncio.Task[Session]) -> None:
        self.task = task
        self._waiting: list[asyncio.Future[None]] = []
        self._appends: list[Item] = []
        """The appends that wait for the opening. Their `work` makes a `Prepare` of the history."""
        self.known: Index | None = None
        """The index of the log when the opening ended."""
        task.add_done_callback(self._end)

    def ended(self) -> asyncio.Future[None]:
        """Return a future that ends with the opening.

        If its caller is cancelled, the opening continues for the other callers.
        """
        future = self.task.get_loop().create_future()
        self._waiting.append(future)
        return future

    def appended(
        self, prepare: Callable[[RecordBuilder], Prepare], *, looks_back: bool, ids: frozenset[str]
    ) -> asyncio.Future[range]:
        """Return the future of an append that is queued when the opening ends. The future fails if the opening fails.

        So a caller waits only once, and all callers' records are written together, on the log's thread.
        """
        future: asyncio.Future[range] = self.task.get_loop().create_future()
        self._appends.append(Item(prepare, appends=True, looks_back=looks_back, ids=ids, future=future))
        return future

    def _end(self, task: asyncio.Task[Session]) -> None:
        if task.cancelled():
            for item in self._appends:
                item.cancel()
        elif (failure := task.exception()) is not None:
            for item in self._appends:
                item.fail(failure)
        else:
            self._enter_appends(task.result())
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    def _enter_appends(self, session: Session) -> None:
        """Queue the appends; the first one carries the records that wait for the next append."""
        history = session.history
        self.known = session.log.index
        appends = self._appends
        self._appends = []
        for item in appends:
            item.work = item.work(history)
        carried = history.deferred.take() if appends else ()
        if carried:
            appends[0].work = history.carrying(carried, appends[0].work)
            appends[0].unstored = partial(history.deferred.put_back, carried)
        session.queue.enter(appends)


class Store:
    """The store of one session.

    Args:
        config: the configuration.
        host: gets events about memory files, and about a session that continues in memory.
        meter: gets the usage that earlier processes left in the log.
        chosen: the log; and if it is in memory although a stored one was wanted, the reason.
        identity: written to the log's header. Its directory is the base of relative paths of memory files.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.
    """

    def __init__(
        self,
        config: Config,
        host: Host,
        meter: Meter,
        chosen: ChosenLog,
        *,
        identity: SessionIdentity,
        now: Callable[[], str],
        new_id: Callable[[], str],
    ) -> None:
        self._config = config
        self._host = host
        self._meter = meter
        self._identity = identity
        self._now = now
        self._new_id = new_id
        self._log = chosen.log
        self._degraded_because = chosen.degraded_because
        self._is_given = chosen.is_given
        self._pid = os.getpid()
        self._session: Session | None = None
        self._opening: _Opening | None = None
        """The running opening, for which all tasks of its event loop wait."""
        self._acknowledged = False
        self._events = LogEvents(host)
        self._queue = _append_queue(self._log)

    @property
    def live_count(self) -> int | None:
        """The number of live messages that this process has read, or None before the log is opened."""
        return len(self._session.log.index.live) if self._session is not None else None

    @property
    def session(self) -> Session | None:
        """The session, or None before its log is opened."""
        return self._session

    @property
    def path(self) -> str | None:
        """The path of the log, or None for a session in memory."""
        return self._log.describe().location or None

    async def open(self) -> Session:
        """Open the log at the first use; in a new session, load the memory files.

        Raises:
            LogUnreadableError: the log is there and cannot be read.
            MemoryFilesError: the memory files are larger than the budget.
        """
        if self._session is not None:
            await self._events.tell_lost(self._log)
            return self._session
        opening = self._begin_to_open()
        await opening.ended()
        return opening.task.result()

    def _begin_to_open(self) -> _Opening:
        """Return the opening that runs on this event loop. Start one if there is none."""
        loop = asyncio.get_running_loop()
        opening = self._opening
        if opening is None or opening.task.done() or opening.task.get_loop() is not loop:
            opening = _Opening(loop.create_task(self._open()))
            self._opening = opening
        return opening

    async def _open(self) -> Session:
        """Open the log; concurrent callers share one opening."""
        await self._events.tell_lost(self._log)
        queue = self._queue
        session = await queue.run(lambda log: self._begin(log, queue, UnloggedMessages()))
        files = await self._memory_files_of(session)
        if self._degraded_because and self._config.require_persistence:
            raise LogCreateError(errno.ENOENT, self._degraded_because)
        is_first = await queue.run(lambda _: self._publish(session, files))
        if is_first:
            if self._degraded_because:
                await self._events.tell_degraded(self._degraded_because)
            for message in files:
                source = message["metadata"]["path"]
                size = len(message["content"])
                await self._host.emit("context:include", {"source": source, "size": size})
        # while this task waited, the session may have been closed, or another task may have published its own
        return self._session or session

    async def _memory_files_of(self, session: Session) -> list[Message]:
        """Return the memory files of a new session as messages with times and ids; an empty list for an old session."""
        if not session.history.is_empty or not self._config.memory_files:
            return []
        files = await load_memory_files(self._config.memory_files, self._identity.working_dir)
        check_memory_files(files, session.count, self._config.max_tokens)
        for message in files:
            message["metadata"] |= {"timestamp": self._now(), "message_id": self._new_id()}
        return files

    def _publish(self, session: Session, files: Sequence[Message]) -> bool:
        """Make a session the store's session. Return False, and do nothing, if another task was faster."""
        if self._session is not None:
            return False
        session.unlogged.set_unsaved(files, session.count)
        self._session = session
        return True

    async def append(
        self,
        prepare: Callable[[RecordBuilder], Prepare],
        *,
        small: bool = True,
        looks_back: bool = False,
        ids: frozenset[str] = frozenset(),
    ) -> Session:
        """Append the records that a history prepares. If the log cannot be created, warn and continue in memory.

        Args:
            prepare: makes the preparation.
            small: as for `AppendQueue.append`.
            looks_back: as for `AppendQueue.append`.
            ids: as for `AppendQueue.append`.

        Raises:
            LogError: as `Log.append`; `LogCreateError` only with `require_persistence`.
        """
        session = self._session
        opening: _Opening | None = None
        known: Index | None = None
        try:
            if session is None:
                opening = self._begin_to_open()
                await opening.appended(prepare, looks_back=looks_back, ids=ids)
                session = opening.task.result()
                known = opening.known
            else:
                known = session.log.index
                await _append_to(session, prepare, small=small, looks_back=looks_back, ids=ids)
        except LogCreateError as error:
            if opening is not None:
                session = opening.task.result()
            if session is None or not may_go_on_in_memory(self._config, is_acknowledged=self._acknowledged):
                raise
            session = await self._degrade(session, error)
            await session.queue.append(prepare(session.history), small=small)
        self._acknowledged = True
        if session.log.index is not known:  # the log was read again, and may have lost messages
            await self._events.tell_lost(self._log)
        return session

    async def initialize(self) -> None:
        """Open the log now. A log that is open or has failed is opened again."""
        if self._session is not None:
            await self.close()
        session = await self.open()
        await session.queue.run(lambda log: log.follow())

    async def close(self) -> None:
        """Write buffered records and close the log. A later call opens the log again."""
        session = self._session
        if session is not None:
            await self._write_waiting(session.history)
        location = self._log.describe().location
        if self._acknowledged:
            await index_in_database(self._queue, location, session.counter if session is not None else None)
        await self._queue.close()
        if self._session is not None:
            self._session.views.close()
        if session is not None:
            await archive_others(location, self._config.archive_after_days)

    async def _write_waiting(self, history: RecordBuilder) -> None:
        """Append the buffered records; if this fails, warn and buffer the records again."""
        waiting = history.deferred.take()
        if not waiting:
            return
        try:
            put_back = partial(history.deferred.put_back, waiting)
            await self._queue.append(history.carrying(waiting, lambda _: []), unstored=put_back)
        except LogError as error:
            logger.warning("records that waited for the next append are not stored: %s", error)

    def drop(self) -> None:
        """Close the log of a manager that was dropped without `close()`, after its queued appends. This never blocks.

        A log that the host passed in stays open, since other objects may use it. So does a log that a forked child
        inherited.
        """
        was_used = self._session is not None or self._opening is not None
        if was_used and not self._is_given and self._pid == os.getpid():
            self._queue.close_later()

    def _begin(self, log: Log, queue: AppendQueue, unlogged: UnloggedMessages) -> Session:
        log.follow()
        check_may_be_written(log)
        name = self._config.tokenizer
        with WAITING:  # it may wait for a download
            counter = open_counter(name, allow_network=name not in ("auto", "estimate"))
        self._meter.load(log.index.session.usage)
        index = log.index
        is_new = not index.headers and len(index) == 0
        late_system = late_system_of(self._config.late_system, index.headers, is_new=is_new)
        config = replace(self._config, late_system=late_system)
        history = RecordBuilder(
            log,
            unlogged,
            identity=replace(self._identity, working_dir=self._identity.directory),
            tokenizer=counter.name,
            late_system=late_system,
            now=self._now,
            new_id=self._new_id,
        )
        views = ViewService(config, counter, unlogged=unlogged, history=history, meter=self._meter, new_id=self._new_id)
        return Session(
            log=log,
            queue=queue,
            counter=counter,
            unlogged=unlogged,
            history=history,
            views=views,
            config=config,
        )

    async def _degrade(self, failed: Session, error: LogCreateError) -> Session:
        """Continue in memory, because the log of the session `failed` could not be created."""
        if self._session is failed:
            where = self._log.describe().location
            log = log_in_memory(self._config)
            queue = _append_queue(log)
            session = await queue.run(lambda log: self._begin(log, queue, failed.unlogged))
            if self._session is failed:
                self._session = session
                self._queue = queue
                self._log = log
                await self._events.tell_degraded(why_in_memory(error, where))
        return await self.open()


def _append_queue(log: Log) -> AppendQueue:
    in_database = stored_name(log.describe().location) is not None
    threads = DATABASE_THREADS if in_database else FILE_THREADS
    return AppendQueue(log, inline=not log.waits_for_storage, threads=threads)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Session:
    """The parts of a session whose log is open: its log, its history, its views."""

    log: Log
    queue: AppendQueue
    counter: TokenCounter
    unlogged: UnloggedMessages
    history: RecordBuilder
    views: ViewService
    config: Config
    own_list: OwnList = field(default_factory=OwnList)

    def count(self, message: Message) -> int:
        """Count a message's tokens."""
        return count_message(message, self.counter)

    def forget(self) -> None:
        """Drop state of the history that was replaced."""
        self.unlogged.clear()
        self.views.forget()

    async def offloaded(self, message: Message) -> Message:
        """Mark a large tool result with the part that views show. Return any other message unchanged."""
        threshold = self.config.offload_threshold
        preview = self.config.preview_tokens
        if threshold is None or not may_offload(message, threshold):
            return message
        return await self.queue.run(
            lambda _: offload(
                message,
                self.count,
                threshold_tokens=threshold,
                preview_tokens=preview,
                offers_recall=self.config.offers_recall,
            )
        )

    async def read(self, function: Callable[[Log], T]) -> T:
        """Call a function that only reads the log, on the log's thread.

        If the log's snapshot proves wrong during the call, the log is scanned again and the function is called once
        more.

        Raises:
            LogUnreadableError: the log cannot be read.
        """

        def read_again_if_scanned_again(log: Log) -> T:
            index = log.index
            try:
                return function(log)
            except LogUnreadableError:
                was_scanned_again = log.index is not index
                if not was_scanned_again or not log.describe().exists:
                    raise
            return function(log)

        return await self.queue.run(read_again_if_scanned_again)


async def _append_to(
    session: Session,
    prepare: Callable[[RecordBuilder], Prepare],
    *,
    small: bool,
    looks_back: bool,
    ids: frozenset[str],
) -> None:
    """Append records to an open session, with the records that wait for the next append. Arguments as in `append`.

    Small records without others are written on this thread, if the log is free.
    """
    history = session.history
    queue = session.queue
    prepared = prepare(history)
    carried = history.deferred.take()
    if carried:
        unstored = partial(history.deferred.put_back, carried)
        prepared = history.carrying(carried, prepared)
        await queue.append(prepared, small=small, looks_back=looks_back, ids=ids, unstored=unstored)
        return
    is_written = small and queue.append_at_once(prepared) is not None
    if not is_written:
        await queue.append(prepared, small=False, looks_back=looks_back, ids=ids)
