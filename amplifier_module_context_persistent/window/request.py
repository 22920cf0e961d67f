"""What passes between a session and its windows for one view: what is asked, what is given, and its sums."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..compaction.budget import ModelLimits
from ..compaction.floor import OTHER_MESSAGES
from ..compaction.planner import Compaction
from ..compaction.request_limits import RequestLimits, view_bytes
from ..compaction.summary_span import Summary
from ..messages.message import Message
from ..view.arrangement import Item
from ..view.receipts import extras_in, keeps_wire_rules
from ..view.wire import WIRE


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """A request for a view: what the caller gave, and after that what a session found out for it."""

    explicit_tokens: int | None = None
    provider: ModelLimits | None = None
    provider_name: str = ""
    head_text: str | None = None
    """The factory's system prompt; None where no factory is set."""
    tools_json: str = ""
    force: bool = False
    """Plan now, whatever the view's size, and write no receipt."""
    summarizer: Any | None = None
    """The provider itself, which can be asked for a summary."""
    retain: tuple[str, ...] = ()
    """Bodies that the view has to hold complete."""
    hard_fit: bool = False
    """Plan anew for this budget, and let the session go on with that plan."""
    summary: Summary | None = None
    """What a provider made of the older part, for the plan that is to be made."""

    model: str = ""
    """The provider's model, where the provider says so."""
    told: Mapping[str, int] = field(default_factory=dict)
    """What of `limits` the provider says itself."""
    reasoning_refused: bool = False
    """Whether a provider has refused reasoning although it stood as it was made."""

    tools: str = ""
    """The hash of the tools' definitions: found out; marked where reasoning was refused, so that none stands."""
    budget_tokens: int = 0
    """The budget by our count: found out."""
    fixed_tokens: int = 0
    """Head text, tool definitions and overhead: found out."""
    limits: RequestLimits | None = None
    """What the request may have besides tokens: found out; None where nothing limits it."""
    fixed_bytes: int = 0
    """The bytes of head text, tool definitions and overhead: found out."""
    retained: frozenset[int] = frozenset()
    """Ordinals of the messages that hold what is in `retain`: found out."""

    @property
    def head(self) -> tuple[Message, ...]:
        """The system text that heads the view."""
        text = self.head_text
        return ({"role": "system", "content": text},) if text is not None and text.strip() else ()

    @property
    def has_factory(self) -> bool:
        """Whether stored system messages give way to the head, but for those of hooks and memory files."""
        return self.head_text is not None

    @property
    def plans_now(self) -> bool:
        """Whether a plan is made whatever the view's size."""
        return self.force or self.hard_fit


@dataclass(frozen=True, slots=True)
class ViewSums:
    """What the items of a view add up to."""

    size_bytes: int = 0
    """About how many bytes their messages have, rather more than fewer."""
    extras: int = 0
    """How many are messages that are in no log."""
    keeps_wire_rules: bool = False
    """Whether any is shown otherwise for what providers refuse."""
    has_media: bool = False
    """Whether any has images or documents."""

    def rendered_by(self) -> dict[str, Any]:
        """What a receipt says of it besides options."""
        return {WIRE: 1} if self.keeps_wire_rules else {}

    def __add__(self, other: ViewSums) -> ViewSums:
        return ViewSums(
            self.size_bytes + other.size_bytes,
            self.extras + other.extras,
            self.keeps_wire_rules or other.keeps_wire_rules,
            self.has_media or other.has_media,
        )


@dataclass(frozen=True, slots=True)
class ViewResult:
    """The view of a request, or None where a plan is needed first; and what was done for it."""

    view: list[Message] | None
    tokens: int
    """Tokens of the view before a plan."""
    messages: int
    """Messages of the view before a plan."""
    counted_budget_tokens: int = 0
    """The budget by our count."""
    compaction: Compaction | None = None
    floor: dict[str, int] | None = None
    """Where a plan was wanted and would have freed too little: what cannot be compacted, in tokens by name."""
    items: Sequence[Item] = ()
    sums: ViewSums = field(default_factory=ViewSums)
    """What the items add up to."""
    last: int | None = None
    """The ordinal of the last live message that was taken in."""
    bound: str = ""
    """The hash of all that the request is sent."""
    unbound: int = 0
    """How many answers are shown without their reasoning, as what stood before it changed."""
    line: Hashable = ()
    """Stays the same while each view continues the one before it."""
    plan_error: str = ""

    @property
    def counted_tokens(self) -> int:
        """What the view comes to, by our count."""
        return self.compaction.plan.tokens_after if self.compaction is not None else self.tokens

    def futile(self) -> dict[str, Any] | None:
        """What `context:compaction_futile` says: why no plan was followed though one was wanted."""
        if self.floor is None:
            return None
        fixed = sum(self.floor.values()) - self.floor.get(OTHER_MESSAGES, 0)
        sizes = {"tokens": self.tokens, "budget": self.counted_budget_tokens, "floor_tokens": fixed}
        return {**sizes, "floor": self.floor}

    def report(self) -> dict[str, Any]:
        """What `context:compaction` says: counts, never content."""
        made = self.compaction
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


class RunningSums:
    """The sums of a window's views, one after the other."""

    def __init__(self) -> None:
        self._items: Sequence[Item] = ()
        self._sums = ViewSums()

    def of(self, items: Sequence[Item]) -> ViewSums:
        """What items add up to."""
        known = len(self._items)
        if known and items[:known] == self._items:
            sums = self._sums + _sums_of(items[known:]) if len(items) > known else self._sums
        else:
            sums = _sums_of(items)
        self._items, self._sums = items, sums
        return sums


def _sums_of(items: Sequence[Item]) -> ViewSums:
    has_media = any(item.entry is not None and item.entry.media for item in items)
    return ViewSums(view_bytes(items), extras_in(items), keeps_wire_rules(items), has_media)
