"""The context manager: Amplifier's protocol over a log and the compaction engine.

`PersistentContextManager` keeps its log in a file, `InMemoryContextManager` in memory; all else is the same code.
Every method may be called from several tasks and threads. What touches the log or a window runs on the log's thread.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

from amplifier_core.llm_errors import ContextLengthError

from .commit import GroupCommit
from .config import Config
from .entry import is_ephemeral
from .errors import FloorError, LogCreateError
from .extras import Extras
from .history import History
from .host import Host, provider_window
from .location import log_path
from .log import FileLog, Log, MemoryLog, Prepare
from .memory_files import check_memory_files, load_memory_files
from .record import to_plain
from .requests import Answer, Ask, Requests
from .shape import Message, text_of
from .tokens import TokenCounter, count_message, open_counter

logger = logging.getLogger(__name__)

SystemPromptFactory = Callable[[], Awaitable[str]]

_LARGE_CHARS = 1 << 20  # a longer text is not encoded on the event loop's thread


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _new_id() -> str:
    return "m" + token_hex(8)


@dataclass(frozen=True, slots=True)
class _Session:
    """What is there once the log was opened."""

    log: Log
    commit: GroupCommit
    counter: TokenCounter
    extras: Extras
    history: History
    requests: Requests

    def count(self, message: Message) -> int:
        return count_message(message, self.counter)


class PersistentContextManager:
    """A context manager whose history is a log in a file.

    Args:
        transcript_path: the log's file; else `storage_path`, else the session's place below `~/.amplifier`.
        coordinator: the host; without one there are no events.
        session_id: the session's id, for the log's place and header.
        parent_id: the parent session's id: a child never shares a configured file with it.
        working_dir: the directory that the session works in.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.
        config: the configuration's keys.

    Raises:
        ConfigError: a wrong value; names key, value and what is allowed.
    """

    def __init__(
        self,
        transcript_path: str | os.PathLike[str] | None = None,
        *,
        coordinator: Any | None = None,
        session_id: str | None = None,
        parent_id: str | None = None,
        working_dir: str | None = None,
        now: Callable[[], str] = _now,
        new_id: Callable[[], str] = _new_id,
        **config: Any,
    ) -> None:
        if transcript_path is not None:
            config["transcript_path"] = transcript_path
        self.config = Config.load(config)
        self._host = Host(coordinator)
        self._working_dir = working_dir or self._host.working_dir
        self._session_id, self._now, self._new_id = session_id, now, new_id
        self._factory: SystemPromptFactory | None = None
        self._session: _Session | None = None
        self._acknowledged = False
        path = self._locate(parent_id)
        self.log_path = os.fspath(path) if path is not None else None
        """Where the log lies; None for a session in memory."""
        self._commit = self._group_commit(self.log_path)

    # -- the protocol ------------------------------------------------------------------------------------------------

    async def add_message(self, message: Mapping[str, Any]) -> None:
        """Add a message; it is durable when this returns, as `durability` promises.

        A message that the log holds already, as a host replays it to resume a session, is acknowledged and not stored
        again. An ephemeral one stands in this process's views only. The caller's object is not kept.

        Raises:
            RecordError: it cannot be stored as it is; nothing was stored.
            LogError: the log took nothing, or its state is unknown (`LogFailedError`).
        """
        plain = to_plain(message)
        session = await self._open()
        if is_ephemeral(plain):
            await session.commit.run(lambda log: session.extras.add_ephemeral(log.index, plain, session.count))
        else:
            timestamp, content = self._now(), plain.get("content")
            small = not (isinstance(content, str) and len(content) > _LARGE_CHARS)
            session = await self._append(lambda history: history.add(plain, timestamp=timestamp), small=small)
        await self._host.emit(
            "context:message_added:debug",
            {
                "role": plain["role"],
                "content_length": len(text_of(plain)),
                "total_messages": len(session.log.index.live),
            },
        )

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any | None = None
    ) -> list[Message]:
        """Make the view that one request gets: valid, in order, within the budget, and stable between compactions.

        Args:
            token_budget: the budget in tokens; else the provider's window decides, else `max_tokens`.
            provider: asked for its model's window.

        Raises:
            ContextLengthError: what may not be compacted does not fit; says how many tokens are fixed, and by what.
            LogUnreadableError: the log cannot be read.
        """
        ask = await self._ask(token_budget, provider)
        answer = await self._answer(ask, may_plan=False)
        if answer.view is None:
            answer = await self._compact(ask, answer)
        return answer.view or []

    async def get_messages(self) -> list[Message]:
        """Return the whole live history, parsed afresh; nothing done to it reaches the log."""
        session = await self._open()

        def read(log: Log) -> list[Message]:
            log.follow()
            return [*session.extras.unsaved_copies(log.index), *log.read(log.index.live)]

        return await session.commit.run(read)

    async def set_messages(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Replace the live history; ignored, with an event, where the log held a conversation when it was opened.

        Raises:
            RecordError: one of the messages cannot be stored; nothing was changed.
        """
        plain = [to_plain(message) for message in messages]
        session = await self._open()
        if not session.history.authoritative:
            await self._replace(plain, "set_messages")
            return
        logger.info("set_messages with %d messages is ignored: the log decides", len(plain))
        counts = {"ignored_messages": len(plain), "stored_messages": len(session.log.index.live)}
        await self._host.emit("context:set_messages_ignored", counts)

    async def clear(self) -> None:
        """Empty the live history; what it held stays in the log until it is purged."""
        await self._replace([], "clear")

    async def set_system_prompt_factory(self, factory: SystemPromptFactory) -> None:
        """Let a function give the system text that heads every view, in place of stored system messages."""
        self._factory = factory

    async def should_compact(self) -> bool:
        """Whether the view as it stands has reached `compact_threshold` (of the older contract)."""
        ask, session = await self._ask(None, None), await self._open()
        return await session.commit.run(lambda log: session.requests.wants_compaction(log, ask))

    async def compact(self) -> None:
        """Plan the view down to `target_usage` now (of the older contract); history is untouched."""
        ask = await self._ask(None, None, force=True)
        await self._compact(ask, await self._answer(ask, may_plan=False))

    # -- life --------------------------------------------------------------------------------------------------------

    async def initialize(self) -> None:
        """Open the log now instead of at the first use; open it anew, also after it failed.

        Raises:
            LogUnreadableError: the log is there and cannot be read.
            MemoryFilesError: the memory files are larger than the budget.
        """
        if self._session is not None:
            await self.close()
        session = await self._open()
        await session.commit.run(lambda log: log.follow())

    async def close(self) -> None:
        """Finish what was begun and let the log go; may be called twice, and a later call opens it again."""
        await self._commit.close()

    def _locate(self, parent_id: str | None) -> os.PathLike[str] | None:
        return log_path(self.config, session_id=self._session_id, parent_id=parent_id, working_dir=self._working_dir)

    def _group_commit(self, path: str | None) -> GroupCommit:
        config = self.config
        if path is None:
            return GroupCommit(MemoryLog(max_record_bytes=config.max_record_bytes), inline=True)
        log = FileLog(
            path,
            durability=config.durability,
            lock_timeout_s=config.lock_timeout_s,
            max_record_bytes=config.max_record_bytes,
        )
        return GroupCommit(log, inline=config.durability == "write")

    async def _open(self) -> _Session:
        """Open the log at the first use; in a fresh session, load the memory files."""
        if self._session is not None:
            return self._session
        if self.log_path is None:
            await self._without_place()
        commit, extras = self._commit, Extras()
        session = await commit.run(lambda log: self._make_session(log, commit, extras))
        files: list[Message] = []
        if session.history.is_empty and self.config.memory_files:
            files = await load_memory_files(self.config.memory_files, self._working_dir)
            check_memory_files(files, session.count, self.config.max_tokens)
            for message in files:
                message["metadata"] |= {"timestamp": self._now(), "message_id": self._new_id()}

        def publish(_: Log) -> bool:
            if self._session is not None:  # another task was faster
                return False
            extras.set_unsaved(files, session.count)
            self._session = session
            return True

        if await commit.run(publish):
            for message in files:
                source, size = message["metadata"]["path"], len(message["content"])
                await self._host.emit("context:include", {"source": source, "size": size})
        return self._session or session

    def _make_session(self, log: Log, commit: GroupCommit, extras: Extras) -> _Session:
        log.follow()
        counter = open_counter(self.config.tokenizer)
        history = History(
            log,
            extras,
            session_id=self._session_id,
            tokenizer=counter.name,
            now=self._now,
            new_id=self._new_id,
        )
        requests = Requests(self.config, counter, extras, history, self._new_id)
        return _Session(log, commit, counter, extras, history, requests)

    async def _without_place(self) -> None:
        """Say that a persistent session keeps nothing, as neither a path nor a session id names its log."""
        await self._tell_degraded("no transcript_path, no storage_path and no session id say where the log lies")

    # -- helpers -----------------------------------------------------------------------------------------------------

    async def _append(self, prepare: Callable[[History], Prepare], *, small: bool = True) -> _Session:
        """Append what a history prepares; in memory, loudly, where there is no log and none can be created."""
        session = await self._open()
        try:
            await session.commit.append(prepare(session.history), small=small)
        except LogCreateError as error:
            if self.config.require_persistence or self._acknowledged:
                raise
            session = await self._degrade(session, error)
            await session.commit.append(prepare(session.history), small=small)
        self._acknowledged = True
        return session

    async def _degrade(self, failed: _Session, error: LogCreateError) -> _Session:
        if self._session is failed:
            commit = self._group_commit(None)
            session = await commit.run(lambda log: self._make_session(log, commit, failed.extras))
            if self._session is failed:
                self._session, self._commit, self.log_path = session, commit, None
                await self._tell_degraded(str(error))
        return await self._open()

    async def _tell_degraded(self, reason: str) -> None:
        logger.error("this session is kept in memory only and ends with its process: %s", reason)
        self._host.show(f"This session is NOT saved: {reason}")
        await self._host.emit("context:degraded", {"reason": reason})

    async def _replace(self, messages: Sequence[Message], reason: str) -> None:
        timestamp = self._now()
        session = await self._append(
            lambda history: history.replace(messages, reason=reason, timestamp=timestamp), small=len(messages) < 16
        )

        def forget(_: Log) -> None:
            session.extras.clear()
            session.requests.forget()

        await session.commit.run(forget)

    async def _ask(self, token_budget: int | None, provider: Any | None, *, force: bool = False) -> Ask:
        head_text = str(await self._factory()) if self._factory is not None else None
        window = await provider_window(provider)
        return Ask(token_budget, window, head_text, self._host.tools_json(), force)

    async def _answer(self, ask: Ask, *, may_plan: bool) -> Answer:
        session = await self._open()
        try:
            return await session.commit.run(lambda log: session.requests.answer(log, ask, may_plan=may_plan))
        except FloorError as error:
            raise ContextLengthError(str(error)) from error

    async def _compact(self, ask: Ask, before: Answer) -> Answer:
        """Make a plan and the view that follows it, and report both."""
        await self._host.emit("context:pre_compact", _sizes(before.messages, before.tokens))
        after = await self._answer(ask, may_plan=True)
        made = after.compaction
        if made is not None:
            messages, tokens = len(made.arrangement.items), made.plan.tokens_after
            await self._host.emit("context:compaction", after.report())
            if after.plan_error:
                await self._host.emit("context:plan_not_stored", {"plan_id": made.plan.id, "error": after.plan_error})
        else:
            messages, tokens = after.messages, after.tokens
        await self._host.emit("context:post_compact", _sizes(messages, tokens))
        return after


class InMemoryContextManager(PersistentContextManager):
    """The same context manager over a log that lives and dies with its process.

    Keys of the configuration that say where and how durably the log is kept have no meaning here.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    def _locate(self, parent_id: str | None) -> None:
        return None

    async def _without_place(self) -> None:
        """Say nothing: this is what was asked for."""


def _sizes(messages: int, tokens: int) -> dict[str, int]:
    return {"message_count": messages, "tokens": tokens, "token_count": tokens}
