"""The policies that a session can be played under: each gets the messages one by one and is asked for views.

- `truncate` (the default), `importance`, `sliding_window`: the strategies of the package, run by its context manager
  with a temporary log;
- `summarize`, `native`: the package's strategies that ask a provider. A stand-in plays the provider, and its requests
  are billed too. The stand-in answers with excerpts: the first line of each assistant message, the oldest first, as
  many as fit. A model's summary would say more. So the tokens of request and answer can be measured, and the
  quality of the answer cannot;
- `none`: a baseline that sends the whole history at any size; the other policies' bills are compared with its bill;
- `stateless`: a baseline with the package's compaction, computed again from the whole history on every request above
  the upper watermark, as in engines without plans (a plan is a stored decision about what views leave out);
- `sliding`: a baseline that sends the newest whole tool groups (a call with its results) that fit, and the first and
  the last human message. The window moves at the upper watermark, down to the lower one. If the newest group is larger
  than the budget, the view exceeds the budget.

The upper watermark is the size that triggers a compaction, the lower one the size after it; both come from the
configuration (`compact_threshold`, `target_usage`). A person names a policy as `NAME`, or
`NAME:OPTION=VALUE,OPTION=VALUE`. A name is one of `POLICIES`, or `default`. An option is any key of the configuration
that changes views.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

from amplifier_core.llm_errors import ContextLengthError

from ...compaction.plan_request import PlanRequest
from ...compaction.planner import compact
from ...config import NATIVE, STRATEGIES, SUMMARIZE, Config
from ...errors import ConfigError, ContextPersistentError, FloorError, RecallError
from ...log.record_line import RESERVED_KEYS
from ...messages.message import Message
from ...messages.metadata import without_bound
from ...session.manager import PersistentContextManager
from ...tokens.counter import TokenCounter, count_message
from ...view.arrangement import Arrangement, arrange
from ...view.entry import Entry, classify
from ...view.render import render
from ...view.tool_groups import Group, first_human, last_human, tool_groups
from ...window.when_to_plan import needs_plan
from .evidence import TermFinder
from .stand_in_summary import ExcerptItems, Excerpts, SummaryExchange
from .temporary_log import TemporaryLog

_SHORT_CHARS = 64
_MOST_COUNTS = 100_000

_REFERENCE = re.compile(r"\brecall ([^\s\]]+)")


class CachedCounter:
    """A counter that remembers the counts of recent texts, by their hashes if the texts are not short."""

    def __init__(self, counter: TokenCounter) -> None:
        self.name = counter.name
        self._counter = counter
        self._known: dict[str | bytes, int] = {}

    def count_text(self, text: str) -> int:
        """Return the number of tokens in a text."""
        key = (
            text
            if len(text) <= _SHORT_CHARS
            else blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        )
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST_COUNTS:
                self._known.clear()
            known = self._known[key] = self._counter.count_text(text)
        return known


class Policy(Protocol):
    """The interface of a policy that is played on one session."""

    async def add(self, message: Message) -> None:
        """Add a message, which has a `metadata.message_id`."""

    async def view(self) -> list[Message] | None:
        """Return the view of a request, or None if the policy says that nothing fits."""

    def asked(self) -> list[SummaryExchange]:
        """Return the policy's own requests to a provider since the last call."""

    async def recalls(self, term: str, inserted: str) -> bool:
        """Return whether the first page of a recall shows a term.

        The recall searches for the term, or uses a reference in the inserted text.
        """

    async def close(self) -> None:
        """Release the policy's resources."""


Open = Callable[[int, TokenCounter, Mapping[str, Any]], Policy]
"""Opens a policy, given the budget in tokens, the token counter, and keys of the package's configuration."""


_READER = "replay"
"""The name of an unknown provider, whose views keep every rule for order and for reasoning."""


class ManagerPolicy:
    """A policy that runs the package's context manager with a temporary log."""

    def __init__(
        self,
        budget_tokens: int,
        counter: TokenCounter,
        options: Mapping[str, Any],
        provider: Excerpts | None = None,
    ) -> None:
        whom = {"recipient": _READER}  # a view without a recipient shows reasoning that no provider would accept
        settings = {"max_tokens": budget_tokens, "tokenizer": counter.name, "receipts": False, **whom, **options}
        self._log = TemporaryLog()
        self._manager = PersistentContextManager(log=self._log, **settings)
        self._recalls = self._manager.config.recall
        self._provider = provider

    async def add(self, message: Message) -> None:
        """Add a message. The hash of its recorded request is dropped, because here it answers the played request.

        Keys that a log reserves, such as `_reset`, are left out, because a manager rejects them.
        """
        played = {key: value for key, value in without_bound(message).items() if key not in RESERVED_KEYS}
        await self._manager.add_message(played)

    def expect_recalls(self, terms: Iterable[str]) -> None:
        """Prepare the search for these terms, so that the whole history is not read for each term."""
        small = {term.lower() for term in terms if term.isascii()}
        finder = TermFinder(small)

        def find_in(line: bytes) -> Iterator[bytes]:
            text = line.decode(errors="replace")
            return map(str.encode, finder.terms_in(text))

        self._log.watch(map(str.encode, small), find_in)

    async def view(self) -> list[Message] | None:
        """Return the view of a request, as an orchestrator gets it; None if no view fits."""
        try:
            view = await self._manager.get_messages_for_request(provider=self._provider)
        except ContextLengthError:
            return None
        await asyncio.sleep(0)  # lets the stand-in finish a compaction for the next request
        return view

    def asked(self) -> list[SummaryExchange]:
        """Return the requests for summaries since the last call, with the stand-in's answers."""
        return self._provider.take() if self._provider is not None else []

    async def recalls(self, term: str, inserted: str) -> bool:
        """Recall as the tool `recall` does, and return whether a page shows the term."""
        if not self._recalls:
            return False
        questions: list[dict[str, Any]] = [{"query": term, "limit": 1}, {"query": term}]
        questions += [{"reference": reference} for reference in dict.fromkeys(_REFERENCE.findall(inserted))]
        for question in questions:
            try:
                page = await self._manager.recall(**question)
            except RecallError:
                continue
            text = page.text or "\n".join(hit.excerpt for hit in page.hits)
            if term in text:
                return True
        return False

    async def close(self) -> None:
        """Close the manager."""
        await self._manager.close()


def strategy(name: str) -> Open:
    """Return a function that opens a `compaction_strategy` as a policy."""
    make_provider = _STAND_INS.get(name)

    def open_policy(budget_tokens: int, counter: TokenCounter, options: Mapping[str, Any]) -> Policy:
        provider = make_provider() if make_provider is not None else None
        return ManagerPolicy(budget_tokens, counter, {**options, "compaction_strategy": name}, provider)

    return open_policy


class WholeHistory:
    """The policy `none`, which never compacts; also the base class of the other baselines."""

    def __init__(self, budget_tokens: int, counter: TokenCounter, options: Mapping[str, Any]) -> None:
        self.budget_tokens = budget_tokens
        self.config = Config.load(options)
        self._counter = counter
        self._messages: dict[int, Message] = {}
        self._stored: Sequence[Message] | None = None
        self._taken = 0
        self._arranged = Arrangement()
        self.entries: list[Entry] = []

    def read_from(self, messages: Sequence[Message]) -> None:
        """Use `messages` for the session's messages from now on, instead of copies in memory."""
        self._stored = messages

    def count(self, message: Message) -> int:
        """Return the number of tokens in a message."""
        return count_message(message, self._counter)

    def fetch(self, entries: Sequence[Entry]) -> Iterator[Message]:
        """Return an iterator over the messages of entries, which are not copied and must not be altered."""
        messages = self._messages if self._stored is None else self._stored
        return (messages[entry.ordinal] for entry in entries)

    def render(self, arrangement: Arrangement) -> list[Message]:
        """Return the messages of a view."""
        return render(arrangement, self.fetch, boundary=self.config.truncate_boundary)

    def full(self, arrangement: Arrangement) -> bool:
        """Return whether a view has reached the upper watermark."""
        messages = len(arrangement.items)
        return needs_plan(self.config, budget_tokens=self.budget_tokens, tokens=arrangement.tokens, messages=messages)

    def take(self, message: Message) -> None:
        """Add a message to the entries."""
        self.entries.append(classify(self._taken, message, self.count))
        if self._stored is None:
            self._messages[self._taken] = message
        self._taken += 1

    def arrange(self) -> Arrangement:
        """Arrange all entries, and return the arrangement."""
        self._arranged = arrange(self.entries, self.count, after=self._arranged)
        return self._arranged

    async def add(self, message: Message) -> None:
        """Add a message."""
        self.take(message)

    async def view(self) -> list[Message] | None:
        """Return the whole history; never None."""
        return self.render(self.arrange())

    def asked(self) -> list[SummaryExchange]:
        """Return an empty list, because this policy asks no provider."""
        return []

    async def recalls(self, term: str, inserted: str) -> bool:
        """Return False, because nothing can be recalled."""
        return False

    async def close(self) -> None:
        """Do nothing, because nothing is open."""


class StatelessLadder(WholeHistory):
    """The package's compaction, computed again from the whole history on every request."""

    async def view(self) -> list[Message] | None:
        """Return the whole history if it fits, else the view of a new plan; None if no plan fits."""
        arrangement = self.arrange()
        if not self.full(arrangement):
            return self.render(arrangement)
        try:
            compaction = compact(
                PlanRequest(
                    self.entries,
                    config=self.config,
                    budget_tokens=self.budget_tokens,
                    fixed_tokens=0,
                    count=self.count,
                    fetch=self.fetch,
                    plan_id="plan",
                )
            )
        except FloorError:
            return None
        return self.render(compaction.arrangement)


class SlidingWindow(WholeHistory):
    """Keeps only the newest whole tool groups, and the first and the last human message."""

    def read_from(self, messages: Sequence[Message]) -> None:
        """Do nothing. The window keeps its own messages in memory instead, because every request shows all of them."""

    async def view(self) -> list[Message] | None:
        """Return the window's messages. If the window is full, move it first. Return None if no window fits."""
        arrangement = self.arrange()
        if self.full(arrangement):
            self._move()
            arrangement = self.arrange()
        return self.render(arrangement)

    def _move(self) -> None:
        groups = tool_groups(self.entries)
        always = {first_human(groups), last_human(groups), len(groups) - 1}
        tokens = sum(map(_tokens, groups))
        target = self.config.target_usage * self.budget_tokens
        dropped: set[int] = set()
        for position, group in enumerate(groups):
            if tokens <= target:
                break
            if position not in always:
                dropped.update(entry.ordinal for entry in group.entries())
                tokens -= _tokens(group)
        self.entries = [entry for entry in self.entries if entry.ordinal not in dropped]
        self._messages = {entry.ordinal: self._messages[entry.ordinal] for entry in self.entries}


def _tokens(group: Group) -> int:
    return sum(entry.tokens for entry in group.entries())


_STAND_INS = {SUMMARIZE: Excerpts, NATIVE: ExcerptItems}
BASELINES: dict[str, Open] = {"none": WholeHistory, "stateless": StatelessLadder, "sliding": SlidingWindow}
"""Policies that exist only for comparison, by name. No session can be configured with these."""

POLICIES: dict[str, Open] = {**BASELINES, **{name: strategy(name) for name in STRATEGIES}}
"""All policies by name."""


class PolicyError(ContextPersistentError, ValueError):
    """Raised if a policy, or an option of a policy, does not exist. The message names the existing ones."""


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """The policy that a person named, and its options."""

    name: str
    open: Open
    options: Mapping[str, Any]


NAMES = ("none", "default", *STRATEGIES, "stateless", "sliding")
"""The names that `policy_of` accepts."""

_NOT_PLAYED = {
    "archive_after_days",
    "auto_save",
    "compaction_strategy",
    "durability",
    "lock_timeout_s",
    "max_record_bytes",
    "max_tokens",
    "memory_files",
    "receipts",
    "redact_on_write",
    "require_persistence",
    "restore_system_prompt",
    "storage_path",
    "token_meter",
    "tokenizer",
    "transcript_path",
}
OPTIONS = tuple(sorted(Config.options().keys() - _NOT_PLAYED))
"""The options that a policy accepts: all keys of the configuration that affect views."""


def policy_of(text: str) -> PolicyChoice:
    """Parse a policy: `NAME` or `NAME:OPTION=VALUE,OPTION=VALUE`, with values as in JSON, or plain words.

    Raises:
        PolicyError: the policy or an option does not exist, or a value is not allowed.
    """
    name, _, rest = text.strip().partition(":")
    if name not in NAMES:
        raise PolicyError(f"there is no policy {name!r:.80}; known: {', '.join(NAMES)}")
    options = dict(_option(option) for option in rest.split(",") if option.strip())
    if options and name == "none":
        raise PolicyError("the policy none compacts nothing and has no options")
    chosen = POLICIES["truncate" if name == "default" else name]
    try:
        Config.load(options)
    except ConfigError as error:
        raise PolicyError(f"{name}: {error}") from error
    return PolicyChoice(text.strip(), chosen, options)


def _option(text: str) -> tuple[str, Any]:
    key, equals_sign, value = text.partition("=")
    key = key.strip()
    if key not in OPTIONS or not equals_sign:
        raise PolicyError(f"{text.strip()!r:.80} is no option; write NAME=VALUE with one of: {', '.join(OPTIONS)}")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value.strip()
