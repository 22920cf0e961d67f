"""Statistics of a session, read from its log: where its tokens are, what was compacted, how well it was predicted.

Only the live history is counted. Nothing of a message's content is in what is returned but tool names.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ..log.base import ReadableLog
from ..messages.metadata import metadata_of
from ..sums.add_up import add_up
from ..sums.record_sums import RecordSums
from ..sums.summary import Summary
from ..sums.turn_rows import TurnRows
from ..tokens.counter import TokenCounter


@dataclass(slots=True)
class Share:
    """A part of the history: how many messages, and their tokens."""

    messages: int = 0
    tokens: int = 0


@dataclass(slots=True)
class ToolShare:
    """A tool: how often it was called, its results and their tokens, and how many of them say that the call failed."""

    calls: int = 0
    results: int = 0
    errors: int = 0
    result_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Large:
    """A large message: where it stands in the live history (from 1), and what it comes to."""

    place: int
    message_id: str
    role: str
    tokens: int


@dataclass(slots=True)
class Usage:
    """What providers reported of the views that they answered.

    `error_median` and `error_95` are of `|predicted / actual - 1|`, to three digits; None without reports.
    `cached_share` is of the actual tokens.
    """

    reports: int = 0
    actual_tokens: int = 0
    cached_tokens: int = 0
    error_median: float | None = None
    error_95: float | None = None
    models: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def cached_share(self) -> float | None:
        """The share of what was read that came from a prompt cache."""
        return self.cached_tokens / self.actual_tokens if self.actual_tokens else None


@dataclass(slots=True)
class Views:
    """The views that were handed out, by their receipts.

    A view continues an earlier one where it has the same plan and the same head text: then that one's tokens
    are its beginning, which a prompt cache can hold (`shared_tokens`). The others are `breaks`, the first view too;
    what they have in common with an earlier one is not counted.
    """

    requests: int = 0
    tokens: int = 0
    shared_tokens: int = 0
    breaks: int = 0

    @property
    def shared_share(self) -> float | None:
        """The share of what was handed out that a prompt cache could hold."""
        return self.shared_tokens / self.tokens if self.tokens else None


@dataclass(slots=True)
class Statistics:
    """All of it."""

    path: str
    tokenizer: str
    file_bytes: int
    total: Share = field(default_factory=Share)
    roles: dict[str, Share] = field(default_factory=dict)
    tools: dict[str, ToolShare] = field(default_factory=dict)
    turns: list[Share] = field(default_factory=list)
    largest: list[Large] = field(default_factory=list)
    plans: list[dict[str, Any]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    views: Views = field(default_factory=Views)
    damage: int = 0

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        plain = asdict(self)
        plain["usage"]["cached_share"] = self.usage.cached_share
        plain["views"]["shared_share"] = self.views.shared_share
        return plain


def collect(reader: ReadableLog, counter: TokenCounter) -> Statistics:
    """Read a log that was opened; what its checkpoint has added up is not read again.

    Raises:
        LogUnreadableError: its bytes changed while they were read.
    """
    return statistics_of(reader, *add_up(reader, counter), tokenizer=counter.name)


def statistics_of(
    reader: ReadableLog, messages: Summary, records: RecordSums, *, tokenizer: str, with_turns: bool = True
) -> Statistics:
    """Put together what a log adds up to; `turns` only if they are wanted.

    Raises:
        LogUnreadableError: its bytes changed while they were read.
    """
    described = reader.describe()
    return Statistics(
        described.location,
        tokenizer,
        described.size_bytes,
        total=Share(messages.messages, messages.tokens),
        roles={role: Share(*numbers) for role, numbers in messages.roles.items()},
        tools={tool: ToolShare(*numbers) for tool, numbers in sorted(messages.tools.items())},
        turns=_shares(messages.rows.as_turns()[0]) if with_turns else [],
        largest=_largest(reader, messages),
        plans=records.plans,
        usage=_usage(records),
        views=Views(records.views, records.view_tokens, records.shared_tokens, records.breaks),
        damage=len(reader.index.damage),
    )


def _shares(turns: TurnRows) -> list[Share]:
    return list(map(Share, turns.messages, turns.tokens))


def _largest(reader: ReadableLog, messages: Summary) -> list[Large]:
    live = reader.index.live
    places = [(-negated, tokens) for tokens, negated in messages.largest]
    read = reader.read([live[position] for position, _ in places])
    return [
        Large(position + 1, str(metadata_of(message).get("message_id", "")), str(message.get("role")), tokens)
        for (position, tokens), message in zip(places, read, strict=True)
    ]


def _usage(records: RecordSums) -> Usage:
    count = records.reports
    usage = Usage(count, records.actual_tokens, records.cached_tokens)
    if count:
        usage.error_median = (records.error_at((count - 1) // 2) + records.error_at(count // 2)) / 2
        usage.error_95 = records.error_at(min(count - 1, int(0.95 * count)))
    usage.models = {
        name: {"ratio": ratio, "overhead_tokens": overhead} for name, (ratio, overhead) in records.learned.items()
    }
    return usage
