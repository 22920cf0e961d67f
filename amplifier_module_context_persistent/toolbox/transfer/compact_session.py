"""Compact a session from outside: preview a plan, make it, or go back to the previous plan.

A plan says which messages the views of a session leave out or shorten; a view is the list of messages that one request
to the model contains.

A plan from here is appended to the log like a session's own plan: sessions that have the log open follow it from their
next request on, and the history does not change. The plan is made for the model, the budget and the system text of the
session's last request. For a session without requests, such as an imported one, the budget must be given.

Turns are hidden from views, or shown again, in the same way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from ... import clock
from ...config import Config
from ...errors import ContextPersistentError, LogError, LogUnreadableError
from ...log.contract import Log
from ...log.index import Index, live_positions
from ...log.open_log import open_log
from ...log.record_line import Message, encode_object, name_of
from ...messages.elide import WHOLE
from ...messages.metadata import given_id
from ...sessions.transcript import Transcript
from ...sessions.view_rebuild import PastLog, config_of, view_request_of
from ...tokens.counter import TokenCounter, count_message
from ...view.arrangement import Item
from ...view.plan import LeftOut, Plan, PlanRules
from ...view.receipts import RENDERING
from ...view.recipients import RULES
from ...view.rules_of_log import begins_strict, late_system_of
from ...window.ephemerals import UnloggedMessages
from ...window.plan_gain import reaches_min_gain
from ...window.request import Room, ViewRequest
from ...window.when_to_plan import needs_plan
from ...window.window import Window
from .copy_log import append_all
from .history_at import following_plan

_WITHOUT_PROVIDER = ("truncate", "sliding_window", "importance")
"""The strategies that write no summary and therefore need no provider."""


class CompactError(ContextPersistentError, ValueError):
    """Raised if a session cannot be compacted with these options; nothing was changed."""


class _PurgedError(CompactError):
    """The log was purged while a plan was made."""


_PURGED = "the session was purged by another process; nothing was changed; try again"
_MOST_ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one message from the view before a plan to the view after it."""

    number: int
    """The position of the message in the live history, from 1."""
    message_id: str
    role: str
    what: str
    """`left out`, `shortened`, `without reasoning`, `marked` (a line was added at its end), or `back`."""
    tokens: int
    """The number of tokens that the view saves on this message; negative if the message is shown again."""


@dataclass(frozen=True, slots=True)
class CompactResult:
    """The result of a compaction.

    `plan` is the id of the new plan; "" if no plan was made because it would free too little.
    """

    path: str
    plan: str
    budget_tokens: int
    target_tokens: int
    tokens_before: int
    """The tokens of the view before, including system text and tools."""
    tokens_after: int
    changes: Sequence[Change]

    def to_json(self) -> dict[str, Any]:
        """Return the report in plain JSON types."""
        return asdict(self)


def compact_session(
    path: str | Path,
    counter: TokenCounter,
    *,
    budget_tokens: int | None = None,
    undo: bool = False,
    dry_run: bool = False,
    lock_timeout_s: float = 10.0,
    new_id: Callable[[], str] = clock.new_id,
) -> CompactResult:
    """Compact a session's view down to its target, or go back to the previous plan.

    If another process purges the log, the plan is made again, because it may hold what was purged.

    Args:
        path: the session's log (a file, or a location in a database), which may be in use.
        counter: counts tokens.
        budget_tokens: the budget of the view; by default the last request's.
        undo: go back to the previous plan, or to the whole history if the current plan is the first.
        dry_run: only report the changes.
        lock_timeout_s: the longest wait for another process that holds the log's lock.
        new_id: gives unique ids.

    Raises:
        CompactError: no budget is known, there is no plan to go back to, or the earlier view does not fit.
        FloorError: the view cannot be made to fit.
        LogError: the log is missing, cannot be read, or refused the append.
    """
    attempts_left = _MOST_ATTEMPTS
    while True:
        attempts_left -= 1
        try:
            return _compact_once(
                path, counter, budget_tokens, undo=undo, dry_run=dry_run, lock_timeout_s=lock_timeout_s, new_id=new_id
            )
        except _PurgedError:
            if not attempts_left:
                raise


def _compact_once(
    path: str | Path,
    counter: TokenCounter,
    budget_tokens: int | None,
    *,
    undo: bool,
    dry_run: bool,
    lock_timeout_s: float,
    new_id: Callable[[], str],
) -> CompactResult:
    """Compact a session's view as `compact_session` does, which describes arguments and errors.

    Raises:
        _PurgedError: another process purged the log, so that the plan may hold what was purged; nothing was changed.
    """
    with Transcript(path) as transcript, _noticing_purges(transcript):
        session = _Session.of(transcript, counter, budget_tokens)
        index = transcript.reader.index
        found = transcript.path
        window = Window(session.config, counter, UnloggedMessages(), new_id, store=False)
        log = PastLog(transcript.reader, index)
        before = window.build(log, session.whole_request)
        new: _PlannedView | None
        if undo:
            new = _plan_of_undo(transcript, session, counter, new_id)
        else:
            new = _new_plan(log, session, window, before.tokens)
        if new is None:
            return session.report(found, "", before.tokens, before.tokens, ())
        changes = _changes(transcript, before.items, new.items)
        done = session.report(found, new.plan_id, before.tokens, new.tokens_after, changes)
        known = _Known.of(index)
    if not dry_run:
        _append(open_log(found, lock_timeout_s=lock_timeout_s), new.record, known)
    return done


@contextmanager
def _noticing_purges(transcript: Transcript) -> Iterator[None]:
    """Raise a `_PurgedError` if a block cannot read a log in a database because another process purged it."""
    purges = _purges(transcript.reader.index)
    try:
        yield
    except LogUnreadableError as error:
        with suppress(LogError):
            transcript.reader.follow()
        if _purges(transcript.reader.index) > purges:
            raise _PurgedError(_PURGED) from error
        raise


def _purges(index: Index) -> int:
    return index.control_counts["purge"]


class _Known(NamedTuple):
    """The state of a log for which a plan was made."""

    generation: int
    plan_id: str
    purges: int

    @classmethod
    def of(cls, index: Index) -> _Known:
        """Return the state of a log with this index."""
        return cls(index.generation, _plan_id(index), _purges(index))


class _PlannedView(NamedTuple):
    """A plan that will be appended, and the view that results from it."""

    plan_id: str
    record: bytes
    items: Sequence[Item]
    tokens_after: int


def _plan_of_undo(
    transcript: Transcript, session: _Session, counter: TokenCounter, new_id: Callable[[], str]
) -> _PlannedView:
    """Return the plan before the current plan, with its view.

    Raises:
        CompactError: there is no earlier plan, or its view does not fit.
    """
    earlier = _plan_before(transcript, new_id)
    log = PastLog(transcript.reader, transcript.reader.index.under_plan(earlier))
    view = Window(session.config, counter, UnloggedMessages(), new_id, store=False).build(log, session.whole_request)
    session.check_fits(view.tokens, len(view.items))
    return _PlannedView(name_of(earlier.get("id")), encode_object(earlier), view.items, view.tokens)


def _new_plan(log: PastLog, session: _Session, window: Window, tokens_before: int) -> _PlannedView | None:
    """Make a new plan, or return None if the plan would neither free enough tokens nor change which turns are hidden.

    Raises:
        FloorError: the view cannot be made to fit.
    """
    compaction = window.build(log, replace(session.request, plans_now=True)).planning.compaction
    if compaction is None:
        return None
    tokens_after = compaction.plan.making.tokens_after
    hidden_before = set((log.index.session.plan or {}).get("hidden", ()))
    hides_others = set(compaction.plan.left_out.hidden) != hidden_before
    if not hides_others and not session.is_worth_it(tokens_before - tokens_after):
        return None
    return _PlannedView(compaction.plan.id, window.plan_record(log), compaction.arrangement.items, tokens_after)


@dataclass(frozen=True, slots=True)
class _Session:
    """The budget, the reader and the policy for a new plan: those of the session's last request, else defaults."""

    config: Config
    request: ViewRequest

    @property
    def whole_request(self) -> ViewRequest:
        """The request with an unlimited budget, for which no plan is needed."""
        return replace(self.request, budget_tokens=sys.maxsize)

    @classmethod
    def of(cls, transcript: Transcript, counter: TokenCounter, budget_tokens: int | None) -> _Session:
        """Read the settings from the last receipt; if there is none, the budget must be given.

        Raises:
            CompactError: there is neither a receipt nor a budget.
        """
        if not transcript.requests():
            return cls._without_receipts(transcript, budget_tokens)
        receipt = transcript.request(-1).noted.receipt
        budget = budget_tokens or receipt.budget_tokens
        config_then = config_of(receipt)
        options = {name: getattr(config_then, name) for name in RENDERING} | {"max_tokens": budget}
        strategy = (transcript.reader.index.session.plan or {}).get("strategy")
        if strategy in _WITHOUT_PROVIDER:
            options["compaction_strategy"] = strategy
        request_then = view_request_of(transcript.book, receipt)
        head = sum(count_message(message, counter) for message in request_then.head)
        view = sum(count_message(message, counter) for message in transcript.view(-1).messages or ())
        tools = max(0, receipt.tokens - view)  # includes anything else that was counted and is in no message
        request = replace(
            request_then,
            budget_tokens=budget,
            reader=replace(request_then.reader, rules=RULES),
            room=Room(fixed_tokens=head + min(tools, budget // 2)),
        )
        return cls(Config.load(options), request)

    @classmethod
    def _without_receipts(cls, transcript: Transcript, budget_tokens: int | None) -> _Session:
        """Return settings for a session without receipts, such as an imported session.

        The provider and the model are unknown, so the view may lack content that only one provider accepts.

        Raises:
            CompactError: no budget is given.
        """
        if budget_tokens is None:
            raise CompactError("no view was requested, or `receipts` is off: say for which budget (`--budget`)")
        late_system = late_system_of("auto", transcript.reader.index.headers, is_new=False)
        config = Config.load({"max_tokens": budget_tokens, "late_system": late_system})
        return cls(config, ViewRequest(budget_tokens))

    def is_worth_it(self, fewer_tokens: int) -> bool:
        """Return whether a plan that frees this many tokens reaches the configured gain (`compact_min_gain`)."""
        return reaches_min_gain(self.config, tokens=fewer_tokens, messages=0, budget_tokens=self.request.budget_tokens)

    def check_fits(self, tokens: int, messages: int) -> None:
        """Refuse a view that the next request would compact again.

        Raises:
            CompactError: the next request would compact the view.
        """
        budget = self.request.budget_tokens
        if needs_plan(self.config, tokens=tokens, messages=messages, budget_tokens=budget):
            enough = ceil(tokens / self.config.compact_threshold) + 1
            raise CompactError(
                f"under the plan before, the view has {tokens:,} of {budget:,} tokens: the next request would compact "
                "it again, so the plan in force stays. Give the session a larger budget (`max_tokens`), and name it "
                f"here with --budget ({enough:,} or more); or rewind the session to an earlier turn"
            )

    def report(
        self, path: str, plan: str, tokens_before: int, tokens_after: int, changes: Sequence[Change]
    ) -> CompactResult:
        """Return the report about changes, made or only planned.

        Args:
            path: the session's log.
            plan: the id of the plan; "" without a plan.
            tokens_before: the tokens of the view before.
            tokens_after: the tokens of the view under the plan.
            changes: the changed messages.
        """
        budget = self.request.budget_tokens
        target = int(self.config.target_usage * budget)
        return CompactResult(
            path,
            plan,
            budget_tokens=budget,
            target_tokens=target,
            tokens_before=tokens_before,
            tokens_after=tokens_after,
            changes=changes,
        )


def _plan_before(transcript: Transcript, new_id: Callable[[], str]) -> Message:
    """Return the record of the plan before the current plan.

    Before the first plan, this is a new plan that keeps everything.

    Raises:
        CompactError: there is no current plan, or the current plan keeps everything already.
    """
    index = transcript.reader.index
    plan_in_force = index.session.plan or {}
    if not plan_in_force.get("dropped") and not plan_in_force.get("cuts"):
        raise CompactError(
            "no plan is in force that leaves anything out: the view shows the whole history; there is nothing to undo"
        )
    before = following_plan(transcript.book, index.live, before=_plan_id(index))
    if before is not None:
        return before
    first_message, last_message = transcript.reader.read([index.live[0], index.live[-1]])
    first_id, last_id = given_id(first_message) or "", given_id(last_message) or ""
    rules = PlanRules(wire=begins_strict(index.headers))
    plan = Plan(new_id(), last_id, keep=(), left_out=LeftOut(gaps=()), rules=rules)  # without gaps it keeps everything
    return {"_record": "plan", **plan.to_record([(first_id, last_id)])}


def _plan_id(index: Index) -> str:
    return name_of((index.session.plan or {}).get("id"))


def _changes(transcript: Transcript, before: Sequence[Item], after: Sequence[Item]) -> list[Change]:
    """Return the changes of stored messages between two views, in the order of the history."""
    old, new = _by_ordinal(before), _by_ordinal(after)
    changed = []
    for ordinal in sorted(old | new):
        old_item, new_item = old.get(ordinal), new.get(ordinal)
        is_in_one = old_item is None or new_item is None
        if is_in_one or _tokens(old_item) != _tokens(new_item):
            changed.append(ordinal)
    reader = transcript.reader
    positions = live_positions(reader.index.live, changed)
    changes = []
    for ordinal, position, message in zip(changed, positions, reader.read(changed), strict=True):
        old_item, new_item = old.get(ordinal), new.get(ordinal)
        freed = _tokens(old_item) - _tokens(new_item)
        message_id = given_id(message) or ""
        changes.append(Change(position + 1, message_id, str(message["role"]), _what(old_item, new_item), freed))
    return changes


def _by_ordinal(items: Sequence[Item]) -> dict[int, Item]:
    """Return the items of stored messages, by the ordinals of the messages."""
    return {item.entry.ordinal: item for item in items if item.entry is not None and item.entry.ordinal >= 0}


def _tokens(item: Item | None) -> int:
    return item.tokens if item is not None else 0


def _what(old: Item | None, new: Item | None) -> str:
    """Return what happened to a message between two views, such as left out or shortened, in words for a report."""
    if new is None:
        return "left out"
    if old is None:
        return "back"
    has_same_reasoning = (old.bare, old.silent) == (new.bare, new.silent)
    if has_same_reasoning and old.cut != new.cut:
        has_same_text = replace(old.cut or WHOLE, then="") == replace(new.cut or WHOLE, then="")
        if has_same_text:  # only the text that stands for the left-out part is another
            return "marked"
    if new.tokens > old.tokens:
        return "back"
    return "shortened" if new.cut != old.cut else "without reasoning"


def _append(log: Log, record: bytes, known: _Known) -> None:
    def prepare(index: Index) -> list[bytes]:
        found = _Known.of(index)
        if found.purges != known.purges:
            raise _PurgedError(_PURGED)
        if found != known:
            raise CompactError("the session was compacted or reset by another process; look at it, and try again")
        return [record]

    append_all(log, prepare)
