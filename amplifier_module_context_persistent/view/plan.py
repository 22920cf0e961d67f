"""A plan: which messages views keep, shorten or leave out. It is stored in the log and followed until the next plan.

A plan covers the history up to one message (`upto`) and names the messages that it keeps. Messages appended later are
shown in full. The record of a plan is small however long the history is: it lists the shortened messages, and *runs* of
adjacent kept messages by the first and the last id. The text that compaction inserts is part of the plan, so the same
plan gives the same bytes in any process. Records name messages by id; `stored_plan` finds them in a log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..messages.elide import Cut
from ..messages.message import Message
from ..tokens.model_names import kept_name
from .rules_of_log import WIRE

IMPORTED = "imported"
"""The `strategy` of a plan that was made from an imported compaction."""

_LEFT_OUT_IF_EMPTY = frozenset(
    {"silent", "closed", "media", "hidden", "changed", "read", "in_vain", "narrates", "no_recall", WIRE}
)
"""Fields that are in a plan's record only if they are not empty."""
SUMMARY_TAGS = ("<summary>\n", "\n</summary>")


class Quote(NamedTuple):
    """One line that quotes, shortened, a message that the view leaves out."""

    id: str
    """The id of the message."""
    text: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Adjacent messages that a view leaves out, and the marker that the view shows instead.

    The marker is `text`: a user message before the message `before`, or the end of the result `after`. It is stored in
    the plan, so an unchanged gap keeps its bytes. The other fields are for later plans, in which the gap may grow.
    """

    before: str
    """The id of the first kept message after the gap."""
    after: str = ""
    """The id of the result that ends with the text, or "" if the text is a separate message."""
    messages: int = 0
    text: str = ""
    did: tuple[tuple[str, int], ...] = ()
    """The actions of tools in the gap: each action in words, with the number of times."""
    reference: str = ""
    """The id of the first message of the gap."""
    said: tuple[Quote, ...] = ()
    """Quotes of messages in the gap; the marker's text shows them after its first line."""

    def to_record(self) -> list[Any]:
        """Encode the gap for a plan's record."""
        record = [self.before, self.after, self.messages, self.text, self.did, self.reference]
        if self.said:
            record.append([list(quote) for quote in self.said])
        return record

    @classmethod
    def from_record(cls, record: Sequence[Any]) -> Gap:
        """Read a gap from a plan's record.

        Raises:
            ValueError, TypeError: the record is not of this shape.
        """
        before, after, messages, text, did, reference, *lists_of_quotes = record  # older versions wrote no quotes
        quotes: list[Quote] = []
        for pairs in lists_of_quotes:
            for message_id, words in pairs:
                quotes.append(Quote(str(message_id), str(words)))
        return cls(
            before=str(before),
            after=str(after),
            messages=int(messages),
            text=str(text),
            did=tuple((str(action), int(times)) for action, times in did),
            reference=str(reference),
            said=tuple(quotes),
        )


@dataclass(frozen=True, slots=True)
class NativeItem:
    """The result of a provider's own compaction: an opaque item in place of the older part of a view.

    The provider's module made the item (`compact_context`). It is sent unchanged, and only the same provider and model
    can read it. The messages that it replaces are in the log, so a plan without the item can be made at any time.
    Some providers document that reasoning after the item stays valid (`recipients.ACCEPT_OWN_ITEMS`). For these, an
    answer after the item shows its reasoning also if its hash (`bound`) was made with the replaced messages.
    """

    provider: str
    model: str
    message: Message
    """The message that contains the item."""
    tokens: int
    covers: int = 0
    """The number of messages of the view that the item replaces."""
    seed: str = ""
    """The hash of the tools and the system text of the request that made the item."""
    stands_for: tuple[str, ...] = ()
    """The hashes at the end of the chain over the replaced messages; several if an earlier item is among these."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """The provider's usage report for the request that made the item."""

    def is_for(self, provider: str, model: str) -> bool:
        """Return whether a provider and model made the item."""
        return (self.provider, self.model) == (kept_name(provider), kept_name(model))

    def to_record(self) -> dict[str, Any]:
        """Encode the item for a plan's record."""
        record = {
            "provider": kept_name(self.provider),
            "model": kept_name(self.model),
            "message": self.message,
            "tokens": self.tokens,
            "covers": self.covers,
            "seed": self.seed,
            "stands_for": list(self.stands_for),
        }
        if self.usage:
            record["usage"] = dict(self.usage)
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> NativeItem:
        """Read an item from a plan's record.

        Raises:
            KeyError, TypeError, ValueError: the record is not of this shape.
        """
        message = record["message"]
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise TypeError("its item is no message")
        return cls(
            provider=str(record["provider"]),
            model=str(record["model"]),
            message=message,
            tokens=int(record["tokens"]),
            covers=int(record["covers"]),
            seed=str(record["seed"]),
            stands_for=tuple(map(str, record["stands_for"])),
            usage=counts_in(record.get("usage")),
        )


def counts_in(usage: Any) -> dict[str, int]:
    """Return the token counts in a provider's usage report. Other fields are ignored."""
    if not isinstance(usage, Mapping):
        return {}
    return {key: count for key, count in usage.items() if _is_token_count(key, count)}


def _is_token_count(key: Any, count: Any) -> bool:
    return isinstance(key, str) and key.endswith("_tokens") and type(count) is int and count >= 0


@dataclass(frozen=True, slots=True)
class Notice:
    """A text that a plan inserts before a message."""

    text: str = ""
    before: str = ""
    """The id of the message."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The messages that a plan leaves out, and what the notice and later plans say about them."""

    messages: int = 0
    """Messages of the history up to `upto` that are not kept."""
    hidden: tuple[str, ...] = ()
    """The first messages of the tool groups that are left out because their turn is hidden."""
    gaps: tuple[Gap, ...] | None = None
    """The gaps, in order; None in plans of versions that did not mark gaps."""
    changed: tuple[str, ...] = ()
    """Files that calls in the left-out messages changed, the newest last."""
    read: tuple[str, ...] = ()
    """Files that calls in the left-out messages read."""
    in_vain: tuple[str, ...] = ()
    """Commands in the left-out messages that failed and did not succeed later."""


@dataclass(frozen=True, slots=True)
class Making:
    """The strategy, the last step and the budget of a plan, and the tokens of the view before and after it."""

    strategy: str = "truncate"
    step: int = 0
    """The number of the last step that compaction needed."""
    budget_tokens: int = 0
    target_tokens: int = 0
    tokens_before: int = 0
    tokens_after: int = field(default=0, compare=False)
    """Tokens of the plan's view, known once the view is arranged."""


@dataclass(frozen=True, slots=True)
class PlanRules:
    """The rules that views under a plan follow. All are off for plans of older versions."""

    wire: bool = True
    """Whether the views keep the strict rules of `view.wire_rules`."""
    narrates: bool = False
    """Whether narration between tool calls is shown as text if its thinking is left out."""
    no_recall: bool = False
    """Whether narration and the lines for left-out media name no way to recall the rest: no tool does."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The messages of the history up to `upto` that a view keeps, and how it shows them.

    `keep` has the ids of the kept messages in order. `cuts` has the shortened ones.
    """

    id: str
    upto: str
    keep: tuple[str, ...]
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    """Kept messages whose thinking is left out."""
    closed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Calls of kept messages that no message after `upto` can answer, by message id."""
    media: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Numbers of the images and documents that are left out of kept messages, by message id."""
    left_out: LeftOut = LeftOut()
    notice: Notice = Notice()
    making: Making = Making()
    rules: PlanRules = PlanRules()
    native: NativeItem | None = None
    """The item of the provider's own compaction, shown before the first kept message that is not system text."""

    @property
    def summary(self) -> str:
        """The summary at the start of the notice, or "" if there is none."""
        opening, closing = SUMMARY_TAGS
        if not self.notice.text.startswith(opening):
            return ""
        return self.notice.text.removeprefix(opening).partition(closing)[0]

    def with_tokens(self, tokens_after: int) -> Plan:
        """Return a copy of the plan with the number of tokens of its arranged view."""
        return replace(self, making=replace(self.making, tokens_after=tokens_after))

    def to_record(self, runs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Return the fields of the plan's control record.

        Args:
            runs: the kept messages as runs: the ids of the first and the last message of each run.
        """
        kept_fields: dict[str, Any] = {"keep": [list(run) for run in runs]}
        if self.native is not None:
            # An older version that does not know the item finds no `keep` at the top level, and makes its own plan.
            kept_fields = {"native": {**self.native.to_record(), **kept_fields}}
        silent = [(at, message_id) for at, message_id in enumerate(self.keep) if message_id in self.silent]
        left_out = self.left_out
        making = self.making
        fields = {
            "id": self.id,
            "upto": self.upto,
            **kept_fields,
            "cuts": {message_id: cut.to_record() for message_id, cut in self.cuts.items()},
            "silent": [list(run) for run in keep_runs(silent)],
            "closed": {message_id: sorted(call_ids) for message_id, call_ids in self.closed.items()},
            "media": {message_id: sorted(numbers) for message_id, numbers in self.media.items()},
            "hidden": list(left_out.hidden),
            "gaps": [gap.to_record() for gap in left_out.gaps or ()],
            "changed": list(left_out.changed),
            "read": list(left_out.read),
            "in_vain": list(left_out.in_vain),
            "notice": self.notice.text,
            "notice_before": self.notice.before,
            "step": making.step,
            "dropped": left_out.messages,
            "budget_tokens": making.budget_tokens,
            "target_tokens": making.target_tokens,
            "tokens_before": making.tokens_before,
            "tokens_after": making.tokens_after,
            "strategy": making.strategy,
            "narrates": int(self.rules.narrates),
            "no_recall": int(self.rules.no_recall),
            WIRE: int(self.rules.wire),
        }
        if left_out.gaps is None:
            del fields["gaps"]
        return {name: value for name, value in fields.items() if value or name not in _LEFT_OUT_IF_EMPTY}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], keep: Sequence[str]) -> Plan:
        """Read a plan from its record.

        Args:
            record: the fields of the control record.
            keep: the ids of all kept messages, in order; the record has only the ends of their runs.

        Raises:
            ValueError: the record is not of this shape.
        """
        try:
            return cls(
                id=str(record["id"]),
                upto=str(record["upto"]),
                keep=tuple(keep),
                cuts=_cuts_of(record),
                silent=_between(keep, record.get("silent", [])),
                closed=_closed_of(record),
                media=_media_of(record),
                left_out=_left_out_of(record),
                notice=Notice(str(record["notice"]), str(record["notice_before"])),
                making=_making_of(record),
                rules=_rules_of(record),
                native=_native_of(record),
            )
        except RecursionError as error:  # a list or an object instead of a name, nested too deeply to be shown
            raise ValueError("not a plan: it is nested too deeply") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a plan: {error!r}") from error


def _cuts_of(record: Mapping[str, Any]) -> dict[str, Cut]:
    """Read the cuts of a plan from its record, by message id."""
    return {str(message_id): Cut.from_record(cut) for message_id, cut in record["cuts"].items()}


def _closed_of(record: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Read the closed calls of a plan from its record: their ids, by message id."""
    closed = record.get("closed", {})
    return {str(message_id): frozenset(map(str, call_ids)) for message_id, call_ids in closed.items()}


def _media_of(record: Mapping[str, Any]) -> dict[str, frozenset[int]]:
    """Read the left-out media of a plan from its record: their numbers, by message id."""
    media = record.get("media", {})
    return {str(message_id): frozenset(map(int, numbers)) for message_id, numbers in media.items()}


def _native_of(record: Mapping[str, Any]) -> NativeItem | None:
    """Read the item of a provider's compaction from a plan's record, or return None if the plan has no item."""
    if "native" not in record:
        return None
    return NativeItem.from_record(record["native"])


def _left_out_of(record: Mapping[str, Any]) -> LeftOut:
    """Read from a plan's record which messages the plan leaves out."""
    gaps = None
    if "gaps" in record:
        gaps = tuple(map(Gap.from_record, record["gaps"]))
    return LeftOut(
        messages=int(record["dropped"]),
        hidden=tuple(map(str, record.get("hidden", ()))),
        gaps=gaps,
        changed=tuple(map(str, record.get("changed", ()))),
        read=tuple(map(str, record.get("read", ()))),
        in_vain=tuple(map(str, record.get("in_vain", ()))),
    )


def _rules_of(record: Mapping[str, Any]) -> PlanRules:
    """Read the rules of a plan from its record."""
    return PlanRules(
        wire=record.get(WIRE) == 1, narrates=record.get("narrates") == 1, no_recall=record.get("no_recall") == 1
    )


def _making_of(record: Mapping[str, Any]) -> Making:
    """Read from a plan's record how the plan was made."""
    return Making(
        strategy=str(record["strategy"]),
        step=int(record["step"]),
        budget_tokens=int(record["budget_tokens"]),
        target_tokens=int(record["target_tokens"]),
        tokens_before=int(record["tokens_before"]),
        tokens_after=int(record["tokens_after"]),
    )


NO_PLAN = Plan(id="", upto="", keep=())
"""The plan that leaves out nothing."""


def _between(keep: Sequence[str], runs: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Return the ids of the kept messages in some runs. A run is ignored if its first or last message is not kept."""
    positions = {message_id: position for position, message_id in enumerate(keep)}
    ids: set[str] = set()
    for first, last in runs:
        if first in positions and last in positions:
            ids.update(keep[positions[first] : positions[last] + 1])
    return frozenset(ids)


def keep_runs(positions: Iterable[tuple[int, str]]) -> list[tuple[str, str]]:
    """Join messages at adjacent positions into runs. Return the ids of the first and the last message of each run."""
    runs: list[tuple[str, str]] = []
    end = None
    for position, message_id in positions:
        if end is not None and position == end + 1:
            first_id, _ = runs[-1]
            runs[-1] = first_id, message_id
        else:
            runs.append((message_id, message_id))
        end = position
    return runs
