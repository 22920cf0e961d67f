"""The values that a session and its windows exchange for one view: the request and the result."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..compaction.draft import OTHER_MESSAGES
from ..compaction.native_offer import NativeOffer, NativeTurn
from ..compaction.plan_request import Summary
from ..compaction.planner import Compaction
from ..compaction.provider_limits import RequestLimits
from ..compaction.summary_span import Span
from ..errors import SummaryError
from ..messages.message import Message
from ..view.arrangement import Item
from ..view.recipients import FIRST_RULES, NOBODY, Recipient

_BYTES_SHARE = 0.9
REFUSED = "~"
"""Follows the hash of the tools after a refusal of reasoning, so that no stored reasoning matches."""


@dataclass(frozen=True, slots=True)
class Room:
    """The sizes of a request's parts beside its messages (head text, tools), and its limits beside the tokens."""

    fixed_tokens: int = 0
    """Tokens of head text, tool definitions and overhead."""
    fixed_bytes: int = 0
    """Bytes of head text, tool definitions and overhead."""
    spare_tokens: int = 0
    """Tokens of the provider's window beyond the budget, for an answer."""
    limits: RequestLimits | None = None
    """The provider's limits other than tokens; None if there are none."""


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """A request for a view."""

    budget_tokens: int
    """The budget, in tokens of our counter."""
    room: Room = Room()
    reader: Recipient = NOBODY
    """The reader of the view, with the version of the rules for making the view."""
    line_last: bool = False
    """Whether the reader refuses a request that ends with an answer. A view that ends with an answer then gets a line
    at its end."""
    head_text: str | None = None
    """The factory's system prompt; None if no factory is set."""
    tools: str = ""
    """The hash of the tool definitions, with `REFUSED` at its end after a refusal of reasoning."""
    retained: frozenset[int] = frozenset()
    """Ordinals of the messages that the view must show in full."""
    is_cold: bool = False
    """Whether the provider's cache no longer has the last request, so that every token is paid for."""
    plans_now: bool = False
    """Whether a plan is made even for a small view."""
    sums_up: bool = False
    """Whether a summary may be asked for before a plan."""
    summary: Summary | None = None
    """A provider's summary of the older part, for the plan to be made."""
    native: NativeTurn | None = None
    """Whether the provider can compact a conversation itself, and how; None if no provider is named."""

    @property
    def shows_history(self) -> bool:
        """Whether a view without a plan is the unchanged history, because no reader is named."""
        return self.reader.rules > FIRST_RULES and not self.reader.is_named and not self.tools.endswith(REFUSED)

    @property
    def head(self) -> tuple[Message, ...]:
        """The system text at the start of the view."""
        return head_of(self.head_text)

    @property
    def has_factory(self) -> bool:
        """Whether the head text replaces stored system messages, except memory files and system messages of hooks."""
        return self.head_text is not None

    def with_room_for(self, tokens: int, size_bytes: int) -> ViewRequest:
        """Lower the token budget so that messages of this size will fit the byte limit.

        Return self if messages of this size fit already.
        """
        room = self.room
        if room.limits is None:
            return self
        most_bytes = room.limits.request_bytes - room.fixed_bytes
        if size_bytes <= most_bytes:
            return self
        fewer = int((room.fixed_tokens + tokens) * _BYTES_SHARE * most_bytes / size_bytes)
        return replace(self, budget_tokens=min(self.budget_tokens, max(1, fewer)))


def head_of(text: str | None) -> tuple[Message, ...]:
    """Return the factory's system prompt as messages. There are none if the text is missing or blank."""
    if text is None or not text.strip():
        return ()
    return ({"role": "system", "content": text},)


@dataclass(frozen=True, slots=True)
class Planning:
    """Whether a plan was due for a view, and the outcome."""

    is_due: bool = False
    """Whether a plan was due."""
    span: Span | SummaryError | None = None
    """The messages to summarise with the request for it, or the reason why there can be no summary."""
    compaction: Compaction | None = None
    """The plan that was made and is now followed."""
    floor: dict[str, int] | None = None
    """The tokens that cannot be compacted, by kind, if a due plan would have freed too little."""
    error: str = ""
    """The reason why the plan could not be stored, or "" if it was stored."""


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """The outcome of the provider's own compaction."""

    fallback: str = ""
    """The reason why the last plan's item, or an item that arrived, is not shown; "" if there is no such item."""
    offer: NativeOffer | None = None
    """The part of the view that the provider may compact in the background."""


@dataclass(frozen=True, slots=True)
class ReasoningShown:
    """The decision about the reasoning in a view, and the hash of the view."""

    bound: str = ""
    """The hash of the whole request. The model's answer to the view keeps it in its metadata (`BOUND_KEY`)."""
    left_out: frozenset[int] = frozenset()
    """Ordinals of answers that are shown without their reasoning, because something before them changed."""
    is_refused: bool = False
    """Whether no stored reasoning is shown, because the reader refused some."""


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A view's receipt, which is written to the log with the next append."""

    record: bytes = b""
    id: str = ""


@dataclass(frozen=True, slots=True)
class ViewResult:
    """The view of a request and a report of how it was made.

    The view is None if the caller must get a summary first.
    """

    view: list[Message] | None
    tokens: int
    """Tokens of the view before a plan."""
    messages: int
    """Messages of the view before a plan."""
    budget_tokens: int = 0
    """The budget, in tokens of our counter."""
    planning: Planning = Planning()
    item: ItemOutcome = ItemOutcome()
    reasoning: ReasoningShown = ReasoningShown()
    items: Sequence[Item] = ()
    last: int | None = None
    """The ordinal of the last live message that the view covers."""
    line: Hashable = ()
    """Identifies a series of views in which each view continues the last one."""
    receipt: StoredReceipt = StoredReceipt()

    @property
    def counted_tokens(self) -> int:
        """Tokens of the view, by our count."""
        compaction = self.planning.compaction
        return compaction.plan.making.tokens_after if compaction is not None else self.tokens

    def futile(self) -> dict[str, Any] | None:
        """Return the payload of `context:compaction_futile` if a plan that was due was rejected; else None."""
        floor = self.planning.floor
        if floor is None:
            return None
        fixed = sum(floor.values()) - floor.get(OTHER_MESSAGES, 0)
        sizes = {"tokens": self.tokens, "budget": self.budget_tokens, "floor_tokens": fixed}
        return {**sizes, "floor": floor}

    def report(self) -> dict[str, Any]:
        """Return the payload of `context:compaction`: counts without content."""
        compaction = self.planning.compaction
        if compaction is None:
            return {}
        plan = compaction.plan
        return {
            "plan_id": plan.id,
            "strategy": plan.making.strategy,
            "step": plan.making.step,
            "before_messages": self.messages,
            "after_messages": len(compaction.arrangement.items),
            "before_tokens": plan.making.tokens_before,
            "after_tokens": plan.making.tokens_after,
            "dropped_messages": plan.left_out.messages,
            "shortened_messages": len(plan.cuts),
            "left_out_media": sum(map(len, plan.media.values())),
            "budget": plan.making.budget_tokens,
            "target": plan.making.target_tokens,
        }


def sizes(messages: int, tokens: int) -> dict[str, int]:
    """Return the sizes of a view for `context:pre_compact` and `context:post_compact`."""
    return {"message_count": messages, "tokens": tokens, "token_count": tokens}
