"""What passes between a session and its windows for one view: what is asked, and what is given."""

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
    """What a request has room for besides its budget of tokens, and what is taken before its view."""

    fixed_tokens: int = 0
    """Tokens of head text, tool definitions and overhead."""
    fixed_bytes: int = 0
    """Bytes of the same."""
    spare_tokens: int = 0
    """Tokens of the provider's window beyond the budget, for an answer."""
    limits: RequestLimits | None = None
    """What the request may have besides tokens; None if nothing limits it."""


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """A request for a view."""

    budget_tokens: int
    """By our count."""
    room: Room = Room()
    reader: Recipient = NOBODY
    """Who gets the view, and the version of the rules by which it is made."""
    line_last: bool = False
    """Whether the reader refuses a request that ends with an answer, so that a line follows one."""
    head_text: str | None = None
    """The factory's system prompt; None where no factory is set."""
    tools: str = ""
    """The hash of the tools' definitions; `REFUSED` follows it after a refusal of reasoning."""
    retained: frozenset[int] = frozenset()
    """Ordinals of the messages that the view has to hold complete."""
    is_cold: bool = False
    """Whether the provider no longer has what it cached of the request before, so that every token is paid for."""
    plans_now: bool = False
    """Whether a plan is made whatever the view's size."""
    sums_up: bool = False
    """Whether a summary is to be made before a plan."""
    summary: Summary | None = None
    """What a provider made of the older part, for the plan that is to be made."""
    native: NativeTurn | None = None
    """What the provider can do with items; None where none is named."""

    @property
    def shows_history(self) -> bool:
        """Whether a view without a plan is the history as it stands: nobody is named for whom it would change."""
        return self.reader.rules > FIRST_RULES and not self.reader.is_named and not self.tools.endswith(REFUSED)

    @property
    def head(self) -> tuple[Message, ...]:
        """The system text that heads the view."""
        return head_of(self.head_text)

    @property
    def has_factory(self) -> bool:
        """Whether stored system messages give way to the head, but for those of hooks and memory files."""
        return self.head_text is not None

    def with_room_for(self, tokens: int, size_bytes: int) -> ViewRequest:
        """Lower the token budget until messages of so many tokens fit the byte limit; the very same where they do."""
        room = self.room
        most = room.limits.request_bytes - room.fixed_bytes if room.limits is not None else size_bytes
        if size_bytes <= most:
            return self
        fewer = int((room.fixed_tokens + tokens) * _BYTES_SHARE * most / size_bytes)
        return replace(self, budget_tokens=min(self.budget_tokens, max(1, fewer)))


def head_of(text: str | None) -> tuple[Message, ...]:
    """The system text that heads a view, where a factory gives one."""
    return ({"role": "system", "content": text},) if text is not None and text.strip() else ()


@dataclass(frozen=True, slots=True)
class Planning:
    """Whether a view's plan was due, and what came of it."""

    is_due: bool = False
    """Whether a plan was wanted for the view's size."""
    span: Span | SummaryError | None = None
    """What a summary is wanted of, or why there can be none."""
    compaction: Compaction | None = None
    """The plan that was made and is followed."""
    floor: dict[str, int] | None = None
    """If a plan was wanted and would have freed too little: what cannot be compacted, in tokens by name."""
    error: str = ""
    """Why the plan could not be stored."""


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What came of compaction by the provider itself."""

    fallback: str = ""
    """Why the item that the plan before showed, or one that arrived, is not shown."""
    offer: NativeOffer | None = None
    """What the provider may compact beside the conversation."""


@dataclass(frozen=True, slots=True)
class ReasoningShown:
    """Which reasoning a view shows, and what the answer to its request is bound to."""

    bound: str = ""
    """The hash of all that the request is sent."""
    left_out: frozenset[int] = frozenset()
    """The ordinals of answers that are shown without their reasoning, because what stood before it changed."""
    is_refused: bool = False
    """Whether no stored reasoning may be shown, because its reader refused some."""


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """The record of a view that goes to the log with the next append."""

    record: bytes = b""
    id: str = ""


@dataclass(frozen=True, slots=True)
class ViewResult:
    """The view of a request, or None if a summary is wanted first; and what was done for it."""

    view: list[Message] | None
    tokens: int
    """Tokens of the view before a plan."""
    messages: int
    """Messages of the view before a plan."""
    budget_tokens: int = 0
    """By our count."""
    planning: Planning = Planning()
    item: ItemOutcome = ItemOutcome()
    reasoning: ReasoningShown = ReasoningShown()
    items: Sequence[Item] = ()
    last: int | None = None
    """The ordinal of the last live message that was taken in."""
    line: Hashable = ()
    """Stays the same while each view continues the one before it."""
    receipt: StoredReceipt = StoredReceipt()

    @property
    def counted_tokens(self) -> int:
        """Tokens of the view, by our count."""
        made = self.planning.compaction
        return made.plan.tokens_after if made is not None else self.tokens

    def futile(self) -> dict[str, Any] | None:
        """What `context:compaction_futile` says: why no plan was followed though one was wanted."""
        floor = self.planning.floor
        if floor is None:
            return None
        fixed = sum(floor.values()) - floor.get(OTHER_MESSAGES, 0)
        sizes = {"tokens": self.tokens, "budget": self.budget_tokens, "floor_tokens": fixed}
        return {**sizes, "floor": floor}

    def report(self) -> dict[str, Any]:
        """What `context:compaction` says: counts, never content."""
        made = self.planning.compaction
        if made is None:
            return {}
        plan = made.plan
        return {
            "plan_id": plan.id,
            "strategy": plan.strategy,
            "step": plan.step,
            "before_messages": self.messages,
            "after_messages": len(made.arrangement.items),
            "before_tokens": plan.tokens_before,
            "after_tokens": plan.tokens_after,
            "dropped_messages": plan.dropped,
            "shortened_messages": len(plan.cuts),
            "left_out_media": sum(map(len, plan.media.values())),
            "budget": plan.budget_tokens,
            "target": plan.target_tokens,
        }


def sizes(messages: int, tokens: int) -> dict[str, int]:
    """What `context:pre_compact` and `context:post_compact` say of a view."""
    return {"message_count": messages, "tokens": tokens, "token_count": tokens}
