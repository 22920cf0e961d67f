"""The context manager: Amplifier's protocol over a log and the compaction engine.

`PersistentContextManager` keeps its log in a file, `InMemoryContextManager` in memory.
Every method may be called from several tasks and threads. What touches the log or a window runs on the log's thread.
"""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from ..clock import new_id, utc_now
from ..config import Config
from ..forms.recognise import check_name
from ..forms.request_bodies import written_as
from ..log.base import Log
from ..messages.message import Message
from ..search.recall_page import RecallPage, check_wanted
from ..tokens.calibration import Meter, Recorder
from ..window.retained_texts import checked_bodies
from .add_messages import Additions
from .choose_log import ChosenLog, choose_log, log_in_memory
from .final_request import Ticket
from .host import Host
from .manager_arguments import ManagerArguments, taking_arguments_of
from .pending_requests import PendingRequests
from .pin_and_hide import check_room, hide_record, pin_record
from .provider_refusals import tells_transformations
from .recall import RecallState, recall
from .reconcile import LiveHistory
from .redact_on_write import RedactionOnWrite
from .request_flow import RequestFlow, SystemPromptFactory
from .rewind import DecideOn, change, pop, rewind
from .set_messages import replace_history, set_messages
from .store import Store

logger = logging.getLogger(__name__)


T = TypeVar("T")


class PersistentContextManager:
    """A context manager whose history is a log in a file.

    An `async with` statement closes it.

    Hosts call eight methods by the contract's names and two as capabilities (retained texts, usage); four receive the
    host's events; `recall`, `pin`, `hide`, `show_again`, `initialize`, `close` and `log_path` are for those
    who use a manager directly.

    Args:
        transcript_path: the log's file; else `storage_path`, else the session's directory below `~/.amplifier`.
        config: a configuration that was checked before (`Config.load`), which several managers may share; keys that are
            given besides take the place of its own.
        log: the log itself, in place of a file (`log/base.py` is its contract); no other manager may use it.
        coordinator: the host; without one there are no events.
        session_id: the session's id, for the log's path and header.
        parent_id: the parent session's id: a child never shares a configured file with it.
        working_dir: the directory that the session works in.
        now: gives ISO 8601 timestamps.
        new_id: gives unique ids.
        options: the configuration's keys; `docs/configuration.md` lists them.

    Raises:
        ConfigError: an unknown option, or a wrong value; names it and what is allowed. With a `coordinator` the options
            are those of a mount plan, and an unknown one is a warning: it may be another module's.
    """

    @taking_arguments_of(ManagerArguments)
    def __init__(
        self,
        transcript_path: str | os.PathLike[str] | None = None,
        *,
        config: Config | None = None,
        log: Log | None = None,
        coordinator: Any | None = None,
        session_id: str | None = None,
        parent_id: str | None = None,
        working_dir: str | None = None,
        now: Callable[[], str] = utc_now,
        new_id: Callable[[], str] = new_id,
        **options: Any,
    ) -> None:
        given = {"transcript_path": transcript_path} if transcript_path is not None else {}
        self._host = Host(coordinator)
        asked = {**(config.given() if config is not None else {}), **options, **given}
        self.config = Config.load(asked, warn=self._host.warn_once, composed=coordinator is not None)
        self._now, self._new_id = now, new_id
        corrects = self.config.token_meter == "actual"  # noqa: S105 - tokens of text
        self._meter = Meter(enabled=corrects, session_id=session_id)
        working_dir = working_dir or self._host.working_dir
        self._store = Store(
            self.config,
            self._host,
            self._meter,
            ChosenLog(log, is_given=True) if log is not None else self._choose_log(session_id, parent_id, working_dir),
            session_id=session_id,
            working_dir=working_dir,
            now=now,
            new_id=new_id,
        )
        dropped = weakref.finalize(self, self._store.drop)
        dropped.atexit = False
        self._pending = PendingRequests(session_id, names_makers=not self.config.receipts)
        self._redaction = RedactionOnWrite(self._host, is_on=self.config.redact_on_write)
        self._additions = Additions(
            self.config,
            self._host,
            self._store,
            self._meter,
            self._pending,
            self._redaction,
            now=self._now,
            new_id=new_id,
        )
        self._recalls = RecallState()
        self._requests = RequestFlow(
            self.config,
            self._host,
            self._store,
            self._meter,
            self._pending,
            session_id=session_id,
            is_child_session=parent_id is not None,
        )

    def __repr__(self) -> str:
        where = self._store.path or "in memory"
        count = self._store.live_count
        state = "not opened" if count is None else f"{count:,} messages"
        return f"<{type(self).__name__} {where}: {state}>"

    async def __aenter__(self) -> Self:
        """Open the log, so that an unreadable one is an error here and not at the first use."""
        await self._store.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def log_path(self) -> str | None:
        """The log's file; None for a session in memory."""
        return self._store.path

    @property
    def is_compacting(self) -> bool:
        """Whether a provider is being asked for a summary: what it answers now is not for a person."""
        return self._requests.is_compacting

    # -- the protocol ------------------------------------------------------------------------------------------------

    async def add_message(self, message: Mapping[str, Any], *, form: str | None = None) -> None:
        """Add a message; it is durable when this returns, as `durability` promises.

        It may be in Amplifier's own form or in that of Anthropic, OpenAI (Chat Completions, Responses), Gemini, Bedrock
        or MCP, also a whole answer of their clients; `docs/forms.md` has an example of each. A foreign message that
        stands for several is stored as several, together or not at all.

        A message that the log holds already, as a host replays it to resume a session, is acknowledged and not stored
        again. An ephemeral one is in this process's views only; with `keep_ephemerals` it is stored and in later ones'
        views too. The caller's object is not kept.

        Args:
            message: the message, as a mapping or an object of a provider's client.
            form: the name of its form, where its shape leaves that open; else the shape decides.

        Raises:
            RecordError (a `ValueError`): it cannot be stored as it is, or no view could ever show it: it has no
                content, is a result without a call's id, or has calls without ids; nothing was stored.
            LogError: the log took nothing, or its state is unknown (`LogFailedError`); then the same message may be
                added again, and is stored once.
        """
        if form is not None:
            check_name(form)
        may_tell = await self._additions.add([message], form=form, is_list=False)
        if may_tell and _tells_transformations(message):
            await self._requests.hear(message)

    async def add_messages(self, messages: Sequence[Mapping[str, Any]], *, form: str | None = None) -> None:
        """Add messages in order, together or not at all: with one write and one sync.

        As `add_message` for each. The items of one answer of OpenAI's Responses become one message. The same list added
        again after its process was killed adds only what is not at the end of the log yet.

        Args:
            messages: the messages.
            form: the name of their form, where their shapes leave that open.

        Raises:
            RecordError (a `ValueError`): one of them cannot be stored; nothing was.
            LogError: as `add_message`.
        """
        check_name(form)
        may_tell = await self._additions.add(messages, form=form, is_list=True)
        for message in filter(_tells_transformations, messages if may_tell else ()):
            await self._requests.hear(message)

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any | None = None
    ) -> list[Message]:
        """Make the view that one request gets: valid, in order, within the budget, and stable between compactions.

        Args:
            token_budget: the budget in tokens; else the provider's window decides, else `max_tokens`.
            provider: asked for its model's window. Its name alone (`anthropic`, `anthropic/claude-opus-5-5`) will do
                for a caller without a host; without one the option `recipient` says who gets the view. If nobody is
                named, a view that fits its budget is the history, message for message.

        Raises:
            ContextLengthError: what may not be compacted does not fit; says how many tokens are fixed, and by what.
            LogUnreadableError: the log cannot be read.
        """
        return await self._requests.view(token_budget, provider)

    async def get_messages_for_request_retaining(
        self,
        *,
        retain_contents: Sequence[str],
        provider: Any | None = None,
        token_budget: int | None = None,
        hard_fit: bool = False,
    ) -> list[Message]:
        """Make a view that holds given texts in full, such as the reminders that a hook wants the model to see.

        The message that holds a text is shown in full. If the view of other requests does not show it in full, this
        request gets a view of its own, and theirs does not change.

        Args:
            retain_contents: the texts.
            provider: as `get_messages_for_request`.
            token_budget: likewise.
            hard_fit: make a new plan for this budget and keep it: the last view was too large for the provider.

        Raises:
            ContextLengthError: it does not fit; or, as a `ValueError` too, no message holds one of the texts.
            LogUnreadableError: the log cannot be read.
        """
        bodies = checked_bodies(retain_contents)
        return await self._requests.view(token_budget, provider, retain=bodies, hard_fit=hard_fit)

    async def get_messages(self) -> list[Message]:
        """Return the whole live history, parsed afresh, without kept ephemerals; nothing done to it reaches the log."""
        session = await self._store.open()

        def read(log: Log) -> list[Message]:
            log.follow()
            return [*session.extras.unsaved_copies(log.index), *LiveHistory.of(log).messages]

        return await session.read(read)

    async def last_messages(self, count: int) -> list[Message]:
        """Return the last messages of the live history, parsed afresh, at a cost that does not depend on its length."""
        return await self.look(lambda log: list(log.read(log.index.live[max(0, len(log.index.live) - count) :])))

    async def look(self, function: Callable[[Log], T]) -> T:
        """Call a function that only reads the log, on the log's thread, with what others appended taken in."""
        session = await self._store.open()

        def read(log: Log) -> T:
            log.follow()
            return function(log)

        return await session.read(read)

    async def messages_as(self, form: str) -> list[Message]:
        """Return the whole live history in a form: what came in it as it was added, the rest as the form has it.

        Args:
            form: `anthropic`, `openai_chat`, `openai_responses`, `gemini`, `bedrock`, `mcp` or `amplifier`.

        Raises:
            ValueError: there is no such form.
            LogUnreadableError: the log cannot be read.
        """
        check_name(form)
        return written_as(await self.get_messages(), form)

    async def set_messages(self, messages: Sequence[Mapping[str, Any]], *, form: str | None = None) -> None:
        """Replace the live history; where the log held a conversation when it was opened, take only what is new.

        Of such a log's history nothing is replaced. Two lists add to it: the history with messages after it that the
        log never held (turns made under another module), and the history as a host repairs interrupted calls. Any other
        list changes nothing, and the event `context:set_messages_ignored` says how many messages were unknown; without
        a host a warning does. There no list is a repair, unless its messages have ids or times.

        A message that no view can show (`add_message` refuses it) is stored and named in a warning: a host that resumes
        an old session must not fail because of one line.

        Args:
            messages: the list.
            form: the form of all of them, as of `add_message`; None: recognised by their shapes.

        Raises:
            RecordError: one of the messages cannot be stored; nothing was changed.
            ValueError: there is no such form.
        """
        if form is not None:
            check_name(form)
        await set_messages(self._store, self._host, self._redaction, messages, timestamp=self._now(), form=form)

    async def restore_host_checkpoint(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Take the history of a session that the host resumes, from the host's own store.

        As `set_messages` in a resumed session: the log decides, messages after the history that it never held are
        appended once, and nothing is replaced. A log without a conversation takes the whole list.

        Args:
            messages: what the host stored.

        Raises:
            RecordError: one of the messages cannot be stored; nothing was changed.
        """
        await set_messages(self._store, self._host, self._redaction, messages, timestamp=self._now(), resumes=True)

    async def clear(self) -> None:
        """Empty the live history; what it held stays in the log until it is purged."""
        await replace_history(self._store, [], "clear", timestamp=self._now())

    async def rewind(self, to: int | str) -> int:
        """Let the live history end at an earlier place; what came after it stays in the log, hidden.

        The plan of the last compaction stays in force if it covers nothing that goes. Messages that another process
        adds meanwhile go too: the place is found under the log's lock.

        Args:
            to: the number of the last turn that stays, from 1; or the id of the last message that stays.

        Returns:
            How many messages went out of the history.

        Raises:
            PlaceError (a `ValueError`): the history has no such place.
            LogError: as `add_message`.
        """
        return await rewind(self._store, to, timestamp=self._now())

    async def pop(self) -> list[Message]:
        """Take the last message out of the live history; it stays in the log, hidden.

        Returns:
            The message; of a foreign one that was stored as several, all of them; nothing if the history is empty.

        Raises:
            LogError: as `add_message`.
        """
        return await pop(self._store, timestamp=self._now())

    async def change_history(
        self,
        decide: DecideOn,
        messages: Sequence[Mapping[str, Any]] = (),
        *,
        reason: str = "rewind",
    ) -> None:
        """Change the history by a decision made under the log's lock: for adapters of other kits.

        Args:
            decide: gets the log and the messages as they would be stored, and says which live messages stay and what
                is added. It may run several times. What it raises is raised here, and nothing is stored.
            messages: canonical messages that it may add; checked, and redacted if `redact_on_write` is on.
            reason: of the reset, if messages go out of the history.

        Raises:
            RecordError (a `ValueError`): a message cannot be stored; nothing was.
            LogError: as `add_message`.
        """
        ready = await self._additions.ready(messages)
        try:
            await change(self._store, lambda log: decide(log, ready), reason=reason, timestamp=self._now())
        except BaseException:
            self._additions.not_stored(ready)
            raise

    async def set_system_prompt_factory(self, factory: SystemPromptFactory) -> None:
        """Set the function whose text heads every view, in place of stored system messages."""
        self._requests.factory = factory

    async def should_compact(self) -> bool:
        """Whether the current view has reached `compact_threshold` (of the older contract)."""
        return await self._requests.wants_compaction()

    async def compact(self) -> None:
        """Compact the view to `target_usage` now (of the older contract); history does not change."""
        await self._requests.compact()

    async def recall(
        self,
        reference: str | None = None,
        *,
        offset: int = 0,
        limit: int | None = None,
        query: str | None = None,
        regex: bool = False,
        role: str | None = None,
        tool: str | None = None,
        image: int | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> RecallPage:
        """Read back a piece of a message of the live history, or search it.

        Args:
            reference: the id of one message.
            offset: the first character; of a search, how many hits are skipped.
            limit: the most characters; of a search, hits.
            query: what to search for instead.
            regex: whether `query` is a regular expression.
            role: search only messages of this role.
            tool: search only calls and results of this tool.
            image: of the message, only its image or document of this number, from 1 on.
            since: ISO 8601; search from then on.
            until: ISO 8601; search up to then.

        Raises:
            RecallError: there is no such message or page, or the question is wrong; says what can be asked.
            LogUnreadableError: the log cannot be read.
        """
        where = {"offset": offset, "limit": limit, "image": image}
        how = {"query": query, "regex": regex, "role": role, "tool": tool, "since": since, "until": until}
        wanted = check_wanted(reference=reference, **where, **how)
        return await recall(await self._store.open(), wanted, kept=self._recalls)

    async def pin(self, message_id: str, *, pinned: bool = True, reason: str = "", within: float | None = None) -> None:
        """Protect a message and its tool group from the next plan on, or end that.

        Args:
            message_id: names the message.
            pinned: whether it is pinned.
            reason: why; the log keeps it.
            within: refuse if pins would then hold more than this share of the last request's target. Pins that do not
                fit make every request an error, and a model that gets no request cannot unpin anything.

        Raises:
            PinError: no live message has this id, or pins would hold too much.
        """
        time = self._now()
        if pinned and within is not None:
            session = await self._store.open()
            most = int(within * session.config.target_usage * session.requests.last_budget_tokens)
            await session.commit.run(partial(check_room, message_id=message_id, count=session.count, most_tokens=most))
        make = partial(pin_record, message_id=message_id, pinned=pinned, reason=reason, time=time)
        await self._store.append(lambda history: history.by_hand(make))

    async def hide(self, turn: int | str, *, hidden: bool = True, reason: str = "") -> None:
        """Keep a turn out of views from the next plan on, or, with `hidden=False`, show it again from then on.

        Args:
            turn: its number, from 1, or the id of one of its messages.
            hidden: whether it is hidden.
            reason: why; the log keeps it.

        Raises:
            PinError: there is no such turn, or it is the one in progress.
        """
        make = partial(hide_record, turn=turn, hidden=hidden, reason=reason, time=self._now())
        await self._store.append(lambda history: history.by_hand(make))

    async def show_again(self, turn: int | str) -> None:
        """Show a hidden turn again, from the next plan on; errors as `hide`."""
        await self.hide(turn, hidden=False)

    # -- usage -------------------------------------------------------------------------------------------------------

    def listen(self) -> Callable[[], None]:
        """Listen to the host's events; call the result to stop, as often as you like."""
        return self._host.listen(
            {
                "llm:request": self.on_llm_request,
                "llm:response": self.on_llm_response,
                "provider:error": self.on_provider_error,
                "provider:thinking_binding_retry": self._on_binding_retry,
            }
        )

    async def on_llm_request(self, event: Mapping[str, Any]) -> None:
        """Learn the host's name of the request that carries the last view."""
        self._pending.on_request(event)

    async def on_llm_response(self, event: Mapping[str, Any]) -> None:
        """Learn from the usage that a provider reports for the last view."""
        self._pending.on_response(event)
        self._meter.on_response(event)
        await self._requests.hear(event)
        await self._requests.settle_usage()

    async def on_provider_error(self, event: Mapping[str, Any]) -> None:
        """Learn that a provider refused the last view: as too long, or for its reasoning; the next one has less."""
        self._meter.on_error(event)
        await self._requests.on_provider_error(event)

    async def _on_binding_retry(self, event: Mapping[str, Any]) -> None:
        """Learn that a provider's module had to ask again, for reasoning that the provider refused."""
        await self._requests.hear(event, certain=True)

    def record_final_request(self, request: Any) -> Ticket:
        """Note the request that a host sends at last for the last view (capability `context.final_request_record`).

        The log gets its hash and what was added to the view once `bind_signed_response` has the ticket.
        """
        return self._requests.record_final_request(request)

    def bind_signed_response(self, ticket: Ticket) -> None:
        """Note that the answer to a request was stored (capability `context.signed_replay`)."""
        self._requests.bind_signed_response(ticket)

    def claim_usage(self) -> Recorder:
        """Claim the last view: only usage that the returned recorder gets counts for it."""
        return self._meter.claim()

    # -- life --------------------------------------------------------------------------------------------------------

    async def initialize(self) -> None:
        """Open the log now instead of at the first use; open it anew, also after it failed.

        Raises:
            LogUnreadableError: the log is there and cannot be read.
            MemoryFilesError: the memory files are larger than the budget.
        """
        await self._store.initialize()

    async def close(self) -> None:
        """Write buffered records and close the log. May be called twice; a later call of any method opens it again."""
        await self._requests.close()
        await self._store.close()

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _choose_log(self, session_id: str | None, parent_id: str | None, working_dir: str | None) -> ChosenLog:
        return choose_log(self.config, session_id=session_id, parent_id=parent_id, working_dir=working_dir)


def _tells_transformations(message: Mapping[str, Any]) -> bool:
    """Whether a message of any form is an answer that says what its provider dropped of the request."""
    is_object = type(message) is dict or isinstance(message, Mapping)
    return is_object and message.get("role") == "assistant" and tells_transformations(message)


class InMemoryContextManager(PersistentContextManager):
    """The same context manager over a log in memory, which ends with its process: for tests and hosts without a disk.

    It takes the arguments of `PersistentContextManager`; those that say where and how durably the log is kept have no
    meaning here.
    """

    def _choose_log(self, session_id: str | None, parent_id: str | None, working_dir: str | None) -> ChosenLog:
        return ChosenLog(log_in_memory(self.config))
