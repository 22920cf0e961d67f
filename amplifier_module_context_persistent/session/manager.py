"""The context manager: Amplifier's protocol over a log and the compaction engine.

Every method may be called from several tasks and threads. Code that uses the log or a window runs on the log's thread.

The methods hand their work on: to the parts of the manager, which `manager_parts` lists, and to these modules:
- `set_messages`, `restore_host_checkpoint` and `clear` to `set_messages`; `get_messages` reads by `live_history`;
- `rewind`, `pop` and `change_history` to `rewind_and_pop`; `pin` and `hide` to `pin_and_hide`; `recall` to `recall`.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from ..clock import new_id, utc_now
from ..config import Config
from ..forms.recognise import check_name
from ..forms.request_bodies import written_as
from ..log.contract import Log
from ..messages.message import Message
from ..search.recall_page import RecallPage, check_wanted
from ..tokens.meter import Recorder
from ..window.retained_texts import checked_bodies
from .choose_log import ChosenLog, choose_log
from .final_request import Ticket
from .host import Host
from .live_history import LiveHistory
from .manager_arguments import ManagerArguments, taking_arguments_of
from .manager_parts import make_parts
from .pin_and_hide import hide, pin
from .recall import RecallState, recall
from .request_flow import SystemPromptFactory
from .rewind_and_pop import DecideOn, change_with, pop, rewind
from .session_identity import SessionIdentity
from .set_messages import replace_history, set_messages

T = TypeVar("T")


class PersistentContextManager:
    """A context manager whose history is a log in a file.

    An `async with` statement closes the manager.

    Hosts call eight methods by the names of the contract, and two more as capabilities (retained texts, usage). Four
    methods receive the host's events. `recall`, `pin`, `hide`, `show_again`, `initialize`, `close` and `log_path` are
    for programs that use a manager directly.

    Args:
        transcript_path: the log's file; else `storage_path`, else the session's directory below `~/.amplifier`.
        config: a checked configuration (`Config.load`), which several managers may share. Options that are given too
            override it.
        log: the log itself, in place of a file (`log/contract.py` is its contract); no other manager may use it.
        coordinator: the host; without one there are no events.
        session_id: the session's id, for the log's path and header.
        parent_id: the parent session's id, for the log's header; a child never shares a configured file with it.
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
        self._host = Host(coordinator)
        values = config.given() if config is not None else {}
        values |= options
        if transcript_path is not None:
            values["transcript_path"] = transcript_path
        self.config = Config.load(values, warn=self._host.warn_once, composed=coordinator is not None)
        identity = SessionIdentity(session_id, parent_id, working_dir or self._host.working_dir)
        if log is not None:
            chosen = ChosenLog(log, is_given=True)
        else:
            chosen = self._choose_log(identity)
        parts = make_parts(
            self.config,
            self._host,
            chosen,
            identity=identity,
            now=now,
            new_id=new_id,
        )
        self._now = now
        self._store = parts.store
        self._meter = parts.meter
        self._redaction = parts.redaction
        self._additions = parts.additions
        self._requests = parts.requests
        self._recalls = RecallState()
        dropped = weakref.finalize(self, self._store.drop)
        dropped.atexit = False

    def __repr__(self) -> str:
        where = self._store.path or "in memory"
        count = self._store.live_count
        state = "not opened" if count is None else f"{count:,} messages"
        return f"<{type(self).__name__} {where}: {state}>"

    async def __aenter__(self) -> Self:
        """Open the log now: an unreadable log raises here, and not at the first use, and is closed again."""
        try:
            await self._store.open()
        except BaseException:
            await self.close()
            raise
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
        """Whether a provider is being asked for a summary; its answer is not meant for a person."""
        return self._requests.is_compacting

    # -- the protocol ------------------------------------------------------------------------------------------------

    async def add_message(self, message: Mapping[str, Any], *, form: str | None = None) -> None:
        """Add a message. When this returns, it is as durable as the option `durability` promises.

        The message may be in Amplifier's own form, or in the form of Anthropic, OpenAI (Chat Completions, Responses),
        Gemini, Bedrock or MCP; it may also be a whole answer of their clients. `docs/forms.md` has an example of each.
        If a foreign message corresponds to several messages, they are stored together or not at all.

        A host replays messages to resume a session. A message that the log already has is acknowledged and not stored
        again. An ephemeral message is only in the views of this process; with `keep_ephemerals` it is stored, and in
        views of later processes too. No reference to the caller's object is kept.

        Args:
            message: the message, as a mapping or an object of a provider's client.
            form: the name of its form, needed only if its shape is ambiguous.

        Raises:
            RecordError (a `ValueError`): the message cannot be stored, or no view could show it: it has no content, is
                a result without a call's id, or has calls without ids. Nothing was stored.
            LogError: nothing was stored, or the state of the log is unknown (`LogFailedError`). The same message may be
                added again; it is stored once.
        """
        if form is not None:
            check_name(form)
        may_tell = await self._additions.add([message], form=form, is_list=False)
        if may_tell:
            await self._requests.hear_answers([message])

    async def add_messages(self, messages: Sequence[Mapping[str, Any]], *, form: str | None = None) -> None:
        """Add messages in order, together or not at all: with one write and one sync.

        Each message is treated as by `add_message`. The items of one answer of OpenAI's Responses become one message.
        If the process is killed, the same list can be added again: only messages that the log lacks are stored.

        Args:
            messages: the messages, in the order of the history.
            form: the name of their form, needed only if their shapes are ambiguous.

        Raises:
            RecordError (a `ValueError`): a message cannot be stored; none was.
            LogError: as for `add_message`.
        """
        check_name(form)
        may_tell = await self._additions.add(messages, form=form, is_list=True)
        if may_tell:
            await self._requests.hear_answers(messages)

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any | None = None
    ) -> list[Message]:
        """Make the view that one request gets: valid, in order, within the budget, and stable between compactions.

        Args:
            token_budget: the budget in tokens; by default the provider's window, else `max_tokens`.
            provider: the provider's module, which is asked for its model's window, or only its name (`anthropic`,
                `anthropic/claude-opus-5-5`). By default the option `recipient` names the reader. If no reader is named,
                a view that fits its budget is the history, message for message.

        Raises:
            ContextLengthError: the messages that must stay do not fit; names them and their tokens.
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
        """Make a view that contains given texts in full, such as the reminders that a hook wants the model to see.

        The messages that contain the texts are shown in full. If the session's view shortens one of them, this request
        gets a separate view, and the session's view does not change.

        Args:
            retain_contents: the texts.
            provider: as for `get_messages_for_request`.
            token_budget: as for `get_messages_for_request`.
            hard_fit: make a new plan for this budget and keep it, because the last view was too large for the provider.

        Raises:
            ContextLengthError: the view does not fit; or no message contains one of the texts (then also a
                `ValueError`).
            LogUnreadableError: the log cannot be read.
        """
        bodies = checked_bodies(retain_contents)
        return await self._requests.view(token_budget, provider, retain=bodies, hard_fit=hard_fit)

    async def get_messages(self) -> list[Message]:
        """Return the whole live history, without kept ephemerals. The messages are new objects; the log has its own."""
        session = await self._store.open()

        def whole(log: Log) -> list[Message]:
            unsaved = session.unlogged.unsaved_copies(log.index)
            return [*unsaved, *LiveHistory.of(log).messages]

        return await self.look(whole)

    async def last_messages(self, count: int) -> list[Message]:
        """Return the last messages of the live history as new objects, in a time that does not depend on its length."""

        def read_last(log: Log) -> list[Message]:
            live = log.index.live
            first = max(0, len(live) - count)
            return list(log.read(live[first:]))

        return await self.look(read_last)

    async def look(self, function: Callable[[Log], T]) -> T:
        """Call a function that only reads the log, on the log's thread, after reading what other processes appended."""
        session = await self._store.open()

        def read(log: Log) -> T:
            log.follow()
            return function(log)

        return await session.read(read)

    async def messages_as(self, form: str) -> list[Message]:
        """Return the whole live history in a foreign form. Messages that were added in this form come back unchanged.

        Args:
            form: `anthropic`, `openai_chat`, `openai_responses`, `gemini`, `bedrock`, `mcp` or `amplifier`.

        Raises:
            ValueError: there is no such form.
            LogUnreadableError: the log cannot be read.
        """
        check_name(form)
        return written_as(await self.get_messages(), form)

    async def set_messages(self, messages: Sequence[Mapping[str, Any]], *, form: str | None = None) -> None:
        """Replace the live history. If the log had a conversation when it was opened, only append new messages.

        The history of such a log is never replaced. Two kinds of lists add to it: the history followed by messages that
        the log never had (turns under another module), and the history with the host's repair of interrupted calls. Any
        other list changes nothing; the event `context:set_messages_ignored`, or without a host a warning, says how many
        messages were unknown. Without a host, a list is a repair only if its messages have ids or times.

        A message that no view can show (`add_message` refuses it) is stored and named in a warning, so that one line
        does not keep a host from resuming an old session.

        Args:
            messages: the list.
            form: the form of all messages, as in `add_message`. Without it, forms are recognised by shape.

        Raises:
            RecordError: one of the messages cannot be stored; nothing was changed.
            ValueError: there is no such form.
        """
        if form is not None:
            check_name(form)
        await set_messages(self._store, self._host, self._redaction, messages, timestamp=self._now(), form=form)

    async def restore_host_checkpoint(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Take the history that the host's own store has for a resumed session.

        As `set_messages` in a resumed session: messages after the history that the log never had are appended once, and
        nothing is replaced. A log without a conversation takes the whole list.

        Args:
            messages: the messages in the host's store.

        Raises:
            RecordError: one of the messages cannot be stored; nothing was changed.
        """
        await set_messages(self._store, self._host, self._redaction, messages, timestamp=self._now(), resumes=True)

    async def clear(self) -> None:
        """Empty the live history. Its messages stay in the log, hidden, until they are purged."""
        await replace_history(self._store, list, "clear", timestamp=self._now())

    async def rewind(self, to: int | str) -> int:
        """End the live history at an earlier turn or message. The messages after it stay in the log, hidden.

        The plan of the last compaction stays in force if the plan covers none of the hidden messages. Messages that
        another process adds first are hidden too, because the place is found under the log's lock.

        Args:
            to: the number of the last turn that stays, from 1; or the id of the last message that stays.

        Returns:
            The number of messages that were hidden.

        Raises:
            PlaceError (a `ValueError`): the history has no such place.
            LogError: as for `add_message`.
        """
        return await rewind(self._store, to, timestamp=self._now())

    async def pop(self) -> list[Message]:
        """Remove the last message from the live history. It stays in the log, hidden.

        Returns:
            The message. If a foreign message was stored as several, all of them. Empty if the history is empty.

        Raises:
            LogError: as for `add_message`.
        """
        return await pop(self._store, timestamp=self._now())

    async def change_history(
        self,
        decide: DecideOn,
        messages: Sequence[Mapping[str, Any]] = (),
        *,
        reason: str = "rewind",
    ) -> None:
        """Change the history by a decision made under the log's lock; used by adapters of other kits.

        Args:
            decide: gets the log and the messages in their stored form, and returns which live messages stay and which
                are added. It may run several times. If it raises, nothing is stored and the exception is passed on.
            messages: canonical messages that it may add; checked, and redacted if `redact_on_write` is on.
            reason: the reason of the reset, if messages leave the history.

        Raises:
            RecordError (a `ValueError`): a message cannot be stored; none was.
            LogError: as for `add_message`.
        """
        await change_with(self._store, self._additions, decide, messages, reason=reason, timestamp=self._now())

    async def set_system_prompt_factory(self, factory: SystemPromptFactory) -> None:
        """Set the function that gives the system text of every view, in place of stored system messages."""
        self._requests.factory = factory

    async def should_compact(self) -> bool:
        """Return whether the current view has reached `compact_threshold`. A method of the older contract."""
        return await self._requests.wants_compaction()

    async def compact(self) -> None:
        """Compact the view to `target_usage` now; the history does not change. A method of the older contract."""
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
        """Read back a piece of a message of the live history, or search the live history.

        Args:
            reference: the id of one message.
            offset: the first character to return; for a search, the number of hits to skip.
            limit: the most characters to return; for a search, the most hits.
            query: a text to search for, in place of a reference.
            regex: whether `query` is a regular expression.
            role: search only messages of this role.
            tool: search only calls and results of this tool.
            image: return only the message's image or document with this number, from 1.
            since: ISO 8601; search only messages from this time on.
            until: ISO 8601; search only messages up to this time.

        Raises:
            RecallError: there is no such message or page, or the arguments are wrong; says what can be asked.
            LogUnreadableError: the log cannot be read.
        """
        where = {"offset": offset, "limit": limit, "image": image}
        how = {"query": query, "regex": regex, "role": role, "tool": tool, "since": since, "until": until}
        wanted = check_wanted(reference=reference, **where, **how)
        return await recall(await self._store.open(), wanted, kept=self._recalls)

    async def pin(self, message_id: str, *, pinned: bool = True, reason: str = "", within: float | None = None) -> None:
        """Pin or unpin a message: from the next plan on, views keep a pinned message and its tool group in full.

        Args:
            message_id: the id of the message.
            pinned: whether to pin or to unpin it.
            reason: the reason, kept in the log.
            within: refuse if all pins would then use more than this share of the last request's target. Pins that do
                not fit would make every request fail, and a model that gets no request cannot unpin anything.

        Raises:
            PinError: no live message has this id, or pins would use too much.
        """
        reason = await self._redaction.of_text(reason)
        await pin(self._store, message_id, pinned=pinned, reason=reason, within=within, time=self._now())

    async def hide(self, turn: int | str, *, hidden: bool = True, reason: str = "") -> None:
        """Hide a turn from views, or show it again (`hidden=False`), from the next plan on.

        Args:
            turn: the number of the turn, from 1, or the id of one of its messages.
            hidden: whether to hide or to show it.
            reason: the reason, kept in the log.

        Raises:
            PinError: there is no such turn, or the turn is in progress.
        """
        reason = await self._redaction.of_text(reason)
        await hide(self._store, turn, hidden=hidden, reason=reason, time=self._now())

    async def show_again(self, turn: int | str) -> None:
        """Show a hidden turn again, from the next plan on. Errors are those of `hide`."""
        await self.hide(turn, hidden=False)

    # -- usage -------------------------------------------------------------------------------------------------------

    def listen(self) -> Callable[[], None]:
        """Listen to the host's events.

        Call the returned function to stop; further calls of that function do nothing.
        """
        return self._host.listen(
            {
                "llm:request": self.on_llm_request,
                "llm:response": self.on_llm_response,
                "provider:error": self.on_provider_error,
                "provider:thinking_binding_retry": self._requests.on_binding_retry,
            }
        )

    async def on_llm_request(self, event: Mapping[str, Any]) -> None:
        """Remember the host's id of the request that has the last view."""
        self._requests.on_request(event)

    async def on_llm_response(self, event: Mapping[str, Any]) -> None:
        """Record the usage that a provider reports for the last view."""
        await self._requests.on_response(event)

    async def on_provider_error(self, event: Mapping[str, Any]) -> None:
        """Take in a provider's error.

        If the provider refused the last view, the next view is shorter or shows no reasoning.
        """
        await self._requests.on_provider_error(event)

    def record_final_request(self, request: Any) -> Ticket:
        """Remember the request as the host sends it for the last view (capability `context.final_request_record`).

        Once `bind_signed_response` gets the ticket, the log gets the request's hash and the messages added to the view.
        """
        return self._requests.record_final_request(request)

    def bind_signed_response(self, ticket: Ticket) -> None:
        """Queue the record of a request whose answer was stored (capability `context.signed_replay`)."""
        self._requests.bind_signed_response(ticket)

    def claim_usage(self) -> Recorder:
        """Claim the last view: only usage that the returned recorder gets is recorded for it."""
        return self._meter.claim()

    # -- life --------------------------------------------------------------------------------------------------------

    async def initialize(self) -> None:
        """Open the log now instead of at the first use. A log that is open or has failed is opened again.

        Raises:
            LogUnreadableError: the log exists and cannot be read.
            MemoryFilesError: the memory files are larger than the budget.
        """
        await self._store.initialize()

    async def close(self) -> None:
        """Write buffered records and close the log. A later call of another method opens the log again."""
        await self._requests.close()
        await self._store.close()

    def _choose_log(self, identity: SessionIdentity) -> ChosenLog:
        return choose_log(self.config, identity)
