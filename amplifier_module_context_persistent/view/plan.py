"""A plan: the decision of what a view leaves out, as it is kept in the log and followed until the next one.

A plan covers the history up to one message and names what is kept of it; everything appended later is shown as it
is. Its record is small, whatever it covers: runs of kept messages, and the cut messages. Text that compaction
inserts is part of the plan, so the same plan gives the same bytes in any process. Records name messages by id; here ids
meet the log's ordinals.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import groupby
from typing import Any

from ..log.index import Index
from ..log.record_line import encode_control, name_of
from ..messages.elide import Cut
from ..messages.message import Message
from .entry import Entry
from .recipients import kept_name
from .wire_rules import WIRE

IMPORTED = "imported"
"""The strategy that plans of imported compactions name."""

_BYTES_A_TOKEN = 4  # about, of a log
_DRIFT = 0.1

_NOT_EMPTY = frozenset(
    {"silent", "closed", "media", "hidden", "changed", "read", "in_vain", "narrates", WIRE}
)  # where written
SUMMARY_TAGS = ("<summary>\n", "\n</summary>")


@dataclass(frozen=True, slots=True)
class Gap:
    """Messages in a row that a view leaves out, and how the view says so.

    `text` is put before the message `before` as a user's message, or after the text of the result `after`. It is part
    of the plan, so that an unchanged gap keeps its bytes. The rest is for later plans, in which the gap may grow.
    """

    before: str
    """The id of the first kept message after the gap."""
    after: str = ""
    """The id of the result that ends with the text; empty where the text is a message of its own."""
    messages: int = 0
    text: str = ""
    did: tuple[tuple[str, int], ...] = ()
    """What tools did in it, in words, and how often."""
    reference: str = ""
    """The id of its first message."""

    def to_record(self) -> list[Any]:
        """The gap as a plan's record has it."""
        return list(astuple(self))

    @classmethod
    def from_record(cls, record: Sequence[Any]) -> Gap:
        """Read a gap back.

        Raises:
            ValueError, TypeError: the record is not of this shape.
        """
        before, after, messages, text, did, reference = record
        done = tuple((str(what), int(times)) for what, times in did)
        return cls(str(before), str(after), int(messages), str(text), done, str(reference))


@dataclass(frozen=True, slots=True)
class NativeItem:
    """What a provider compacted by itself: an opaque item in place of the older part of a view.

    It is the message that the provider's module made (`compact_context`), carried unchanged: only that provider, with
    that model, reads it. Everything that it stands for is in the log, so a plan without it can be made at any time.
    Where the provider's documentation says that reasoning in the turns which follow stays valid
    (`recipients.ACCEPT_OWN_ITEMS`), the chain of a view (`bound`) may also go on from what it stands for.
    """

    provider: str
    model: str
    message: Message
    """The message that carries it."""
    tokens: int
    covers: int = 0
    """How many messages of the view it took the place of."""
    seed: str = ""
    """The hash of tools and system text that it was made with."""
    stands_for: tuple[str, ...] = ()
    """The chains of what it took the place of; several where an earlier item is in it."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """What the provider reported of the request that made it."""

    def is_for(self, provider: str, model: str) -> bool:
        """Whether a reader is the one who made it."""
        return (self.provider, self.model) == (kept_name(provider), kept_name(model))

    def to_record(self) -> dict[str, Any]:
        """The item as a plan's record has it."""
        return {
            "provider": kept_name(self.provider),
            "model": kept_name(self.model),
            "message": self.message,
            "tokens": self.tokens,
            "covers": self.covers,
            "seed": self.seed,
            "stands_for": list(self.stands_for),
            **({"usage": dict(self.usage)} if self.usage else {}),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> NativeItem:
        """Read an item back.

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
    """The numbers of tokens in what a provider reported."""
    given = usage.items() if isinstance(usage, Mapping) else ()
    return {
        key: n for key, n in given if isinstance(key, str) and key.endswith("_tokens") and type(n) is int and n >= 0
    }


@dataclass(frozen=True, slots=True)
class Plan:
    """What a view keeps of the history up to `upto`.

    `keep` names the kept messages in order, `cuts` those of them that are shortened, `silent` those without their
    thinking. `notice` is the text inserted before the message `notice_before`. `step` says how far the choice went.
    """

    id: str
    upto: str
    keep: tuple[str, ...]
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    """Kept messages whose thinking is left out."""
    closed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By message id, the calls of kept messages that no message after `upto` can answer."""
    media: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """By message id, the numbers of images and documents that are left out of kept messages."""
    hidden: tuple[str, ...] = ()
    """The first messages of tool groups that are left out because their turns are hidden."""
    notice: str = ""
    notice_before: str = ""
    gaps: tuple[Gap, ...] | None = None
    """Where messages are left out, in order; None in plans from before gaps were marked."""
    changed: tuple[str, ...] = ()
    """Files that were changed in what is left out, the newest last."""
    read: tuple[str, ...] = ()
    """Files that were read in what is left out."""
    in_vain: tuple[str, ...] = ()
    """Commands in what is left out that failed, and were not run with success later."""
    step: int = 0
    dropped: int = 0
    """Messages of the history up to `upto` that are not kept."""
    budget_tokens: int = 0
    target_tokens: int = 0
    tokens_before: int = 0
    tokens_after: int = field(default=0, compare=False)
    """What its view came to, which is known once it is arranged."""
    strategy: str = "truncate"
    wire: bool = True
    """Whether views that follow it keep the strict rules of `view.wire_rules`; false before there were any."""
    narrates: bool = False
    """Whether what was said between tool calls is shown as text when its thinking is not; false in older plans."""
    native: NativeItem | None = None
    """What the provider compacted by itself, shown before the first kept message that is no system text."""

    @property
    def summary(self) -> str:
        """The summary that the notice begins with; empty where it has none."""
        before, opened, rest = self.notice.partition(SUMMARY_TAGS[0])
        return rest.partition(SUMMARY_TAGS[1])[0] if opened and not before else ""

    def to_record(self, runs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """The fields of the plan's control record; `runs` are `keep` as first and last ids of runs."""
        silent = keep_runs((at, message_id) for at, message_id in enumerate(self.keep) if message_id in self.silent)
        keep = {"keep": [list(run) for run in runs]}
        fields = {
            "id": self.id,
            "upto": self.upto,
            # Under `native`, a version that does not know the item finds no `keep`, and makes a plan of its own.
            **(keep if self.native is None else {"native": {**self.native.to_record(), **keep}}),
            "cuts": {message_id: cut.to_record() for message_id, cut in self.cuts.items()},
            "silent": list(map(list, silent)),
            "closed": {key: sorted(ids) for key, ids in self.closed.items()},
            "media": {key: sorted(numbers) for key, numbers in self.media.items()},
            "hidden": list(self.hidden),
            **({"gaps": [gap.to_record() for gap in self.gaps]} if self.gaps is not None else {}),
            "changed": list(self.changed),
            "read": list(self.read),
            "in_vain": list(self.in_vain),
            "notice": self.notice,
            "notice_before": self.notice_before,
            "step": self.step,
            "dropped": self.dropped,
            "budget_tokens": self.budget_tokens,
            "target_tokens": self.target_tokens,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "strategy": self.strategy,
            "narrates": int(self.narrates),
            WIRE: int(self.wire),
        }
        return {key: value for key, value in fields.items() if value or key not in _NOT_EMPTY}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], keep: Sequence[str]) -> Plan:
        """Read a plan back; `keep` are the messages in its runs.

        Raises:
            ValueError: the record is not of this shape.
        """
        try:
            return cls(
                id=str(record["id"]),
                upto=str(record["upto"]),
                keep=tuple(keep),
                cuts={str(key): Cut.from_record(cut) for key, cut in record["cuts"].items()},
                silent=_between(keep, record.get("silent", [])),
                closed={str(key): frozenset(map(str, ids)) for key, ids in record.get("closed", {}).items()},
                media={str(key): frozenset(map(int, nos)) for key, nos in record.get("media", {}).items()},
                hidden=tuple(map(str, record.get("hidden", ()))),
                gaps=tuple(map(Gap.from_record, record["gaps"])) if "gaps" in record else None,
                changed=tuple(map(str, record.get("changed", ()))),
                read=tuple(map(str, record.get("read", ()))),
                in_vain=tuple(map(str, record.get("in_vain", ()))),
                notice=str(record["notice"]),
                notice_before=str(record["notice_before"]),
                step=int(record["step"]),
                dropped=int(record["dropped"]),
                budget_tokens=int(record["budget_tokens"]),
                target_tokens=int(record["target_tokens"]),
                tokens_before=int(record["tokens_before"]),
                tokens_after=int(record["tokens_after"]),
                strategy=str(record["strategy"]),
                narrates=record.get("narrates") == 1,
                wire=record.get(WIRE) == 1,
                native=NativeItem.from_record(record["native"]) if "native" in record else None,
            )
        except RecursionError as error:  # a list or an object instead of a name, nested too deeply to be shown
            raise ValueError("not a plan: it is nested too deeply") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a plan: {error!r}") from error


NO_PLAN = Plan(id="", upto="", keep=())
"""Leaves out nothing."""


def _between(keep: Sequence[str], runs: Sequence[tuple[str, str]]) -> frozenset[str]:
    """The kept messages in some runs of them; a run of others silences nobody."""
    positions = {message_id: position for position, message_id in enumerate(keep)} if runs else {}
    found = [(positions[first], positions[last]) for first, last in runs if first in positions and last in positions]
    return frozenset(message_id for first, last in found for message_id in keep[first : last + 1])


def plan_record(plan: Plan, index: Index, entries: Sequence[Entry]) -> bytes:
    """Encode a plan as a control record; `entries` are those that it keeps, which become runs of the live history."""
    positions = live_positions(index.live, [entry.ordinal for entry in entries])
    runs = keep_runs((position, entry.id) for position, entry in zip(positions, entries, strict=True))
    return encode_control("plan", **plan.to_record(runs))


def kept_ordinals(index: Index, record: Mapping[str, Any]) -> tuple[list[int], int]:
    """The ordinals that a plan's record keeps, and the position of its last message in the live history.

    Raises:
        ValueError: the record names messages that the live history lacks, or is not of this shape.
    """
    native = record.get("native")
    runs = (native if isinstance(native, dict) else record).get("keep")
    if not isinstance(runs, list) or not all(isinstance(run, list) and len(run) == 2 for run in runs):
        raise ValueError("its record has no list of runs")
    ids = [name_of(message_id) for run in runs for message_id in run] + [name_of(record.get("upto"))]
    found = index.find_all(ids)
    try:
        positions = dict(zip(ids, live_positions(index.live, [found[message_id] for message_id in ids]), strict=True))
    except KeyError as error:
        raise ValueError(f"it names a message that is not in the live history: {error}") from error
    kept = [index.live[positions[name_of(first)] : positions[name_of(last)] + 1] for first, last in runs]
    return [ordinal for run in kept for ordinal in run], positions[ids[-1]]


def budget_in_use(index: Index, record: Mapping[str, Any] | None) -> int:
    """The budget of a stored plan; 0 where it is not followed any more, or so much came since that it would not be."""
    budget, upto = (record or {}).get("budget_tokens"), index.find(name_of((record or {}).get("upto")))
    if not isinstance(budget, int) or upto is None or not index.is_live(upto):
        return 0
    later = index.live[live_positions(index.live, [upto])[0] + 1 :]
    return budget if sum(map(index.columns.lengths.__getitem__, later)) <= _BYTES_A_TOKEN * budget else 0


def is_plan_for(index: Index, record: Mapping[str, Any] | None, budget_tokens: int) -> bool:
    """Whether a stored plan is in use, for about this budget: it follows the provider's counts, so it drifts."""
    return abs(budget_in_use(index, record) - budget_tokens) <= _DRIFT * budget_tokens


def live_positions(live: array[int], ordinals: Sequence[int]) -> list[int]:
    """The positions of records in the live history.

    Raises:
        KeyError: one is not live.
    """
    positions = [bisect_left(live, ordinal) for ordinal in ordinals]  # right wherever no reset changed the order
    if all(at < len(live) and live[at] == ordinal for at, ordinal in zip(positions, ordinals, strict=True)):
        return positions
    by_ordinal = {ordinal: position for position, ordinal in enumerate(live)}
    return [by_ordinal[ordinal] for ordinal in ordinals]


def keep_runs(positions: Iterable[tuple[int, str]]) -> list[tuple[str, str]]:
    """Join messages at neighbouring positions of the live history into runs, as first and last ids."""
    numbered = groupby(enumerate(positions), key=lambda one: one[1][0] - one[0])
    runs = ([message_id for _, (_, message_id) in run] for _, run in numbered)
    return [(run[0], run[-1]) for run in runs]
