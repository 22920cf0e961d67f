"""Statistics of a session, read from its log: where its tokens are, what was compacted, how well it was predicted.

Only the live history is counted. Nothing of a message's content is in what is returned but tool names.
"""

from __future__ import annotations

import heapq
import statistics
from dataclasses import asdict, dataclass, field
from typing import Any

from ..log.base import ReadableLog
from ..log.record import Message
from ..log.record_kinds import control_of
from ..messages.message import calls_of, result_id_of
from ..messages.metadata import is_human, metadata_of
from ..messages.normalize import normalise
from ..messages.outcome import ANSWERED, outcome_of
from ..tokens.counter import TokenCounter, count_message
from ..view.receipts import Receipt

LARGEST = 10


@dataclass(slots=True)
class Share:
    """A part of the history: how many messages, and their tokens."""

    messages: int = 0
    tokens: int = 0

    def add(self, tokens: int) -> None:
        """Count one message."""
        self.messages += 1
        self.tokens += tokens


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

    `error_median` and `error_95` are of `|predicted / actual - 1|`; None without reports. `cached_share` is of the
    actual tokens.
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
    """Read a log that was opened.

    Raises:
        LogUnreadableError: its bytes changed while they were read.
    """
    index, described = reader.index, reader.describe()
    gathered = Statistics(described.location, counter.name, described.size_bytes, damage=len(index.damage))
    largest: list[tuple[int, int, Large]] = []
    names: dict[str, str] = {}
    humans = 0
    for position, message in enumerate(reader.read(index.live), start=1):
        tokens = tokens_of(message, counter)
        human = is_human(message)
        humans += human
        if not gathered.turns or (human and humans > 1):  # what stands before the first belongs to its turn
            gathered.turns.append(Share())
        _count(gathered, message, tokens, names)
        large = Large(position, str(metadata_of(message).get("message_id", "")), str(message.get("role")), tokens)
        keep = heapq.heappush if len(largest) < LARGEST else heapq.heappushpop
        keep(largest, (tokens, -position, large))
    gathered.largest = [large for _, _, large in sorted(largest, reverse=True)]
    reports: list[dict[str, Any]] = []
    known: dict[tuple[str, str], int] = {}
    seen: list[Any] = []
    for kind, record in filter(None, map(control_of, reader.records())):
        if kind == "plan" and record.get("id") not in seen:  # a rewind writes the plan in force again
            gathered.plans.append(_plan(record))
            seen.append(record.get("id"))
        elif kind == "usage":
            reports.append(record)
        elif kind == "view":
            _hand_out(gathered.views, record, known)
    gathered.usage = _usage(reports)
    return gathered


def tokens_of(message: Message, counter: TokenCounter) -> int:
    """Count a stored message in the form in which it would be sent."""
    accepted = normalise(message)
    return count_message(accepted, counter) if accepted else 0


def _count(gathered: Statistics, message: Message, tokens: int, names: dict[str, str]) -> None:
    gathered.total.add(tokens)
    gathered.roles.setdefault(str(message.get("role")), Share()).add(tokens)
    gathered.turns[-1].add(tokens)
    for call in calls_of(message):
        names[call.id] = call.name
        gathered.tools.setdefault(call.name, ToolShare()).calls += 1
    call_id = result_id_of(message)
    if call_id is not None:
        tool = gathered.tools.setdefault(names.get(call_id) or str(message.get("name") or "unknown"), ToolShare())
        tool.results += 1
        tool.errors += outcome_of(message) != ANSWERED
        tool.result_tokens += tokens


def _plan(record: dict[str, Any]) -> dict[str, Any]:
    wanted = ("id", "strategy", "step", "dropped", "budget_tokens", "target_tokens", "tokens_before", "tokens_after")
    cuts = record.get("cuts")
    return {key: record.get(key) for key in wanted} | {"shortened": len(cuts) if isinstance(cuts, dict) else 0}


def _hand_out(views: Views, record: dict[str, Any], known: dict[tuple[str, str], int]) -> None:
    """Count a receipt; `known` holds, by plan and head text, the tokens of the last view that may be continued."""
    try:
        receipt = Receipt.from_record(record)
    except ValueError:
        return  # `views` counts it
    line = (receipt.plan, receipt.head)
    shared = min(known.get(line, 0), receipt.tokens)
    views.requests += 1
    views.tokens += receipt.tokens
    views.shared_tokens += shared
    views.breaks += not shared
    known[line] = 0 if receipt.extras else receipt.tokens


def _usage(reports: list[dict[str, Any]]) -> Usage:
    usage = Usage()
    errors: list[float] = []
    for report in reports:
        actual, predicted = report.get("actual_tokens"), report.get("predicted_tokens")
        if not isinstance(actual, int) or not isinstance(predicted, int) or actual <= 0:
            continue
        cached = report.get("cached_tokens")
        usage.reports += 1
        usage.actual_tokens += actual
        usage.cached_tokens += cached if isinstance(cached, int) else 0
        errors.append(abs(predicted / actual - 1))
        name = f"{report.get('provider') or '?'} {report.get('model') or '?'}"
        usage.models[name] = {
            "ratio": float(report.get("ratio") or 0),
            "overhead_tokens": float(report.get("overhead_tokens") or 0),
        }
    if errors:
        errors.sort()
        usage.error_median = statistics.median(errors)
        usage.error_95 = errors[min(len(errors) - 1, int(0.95 * len(errors)))]
    return usage
