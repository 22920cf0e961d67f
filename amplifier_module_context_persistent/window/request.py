"""What passes between the manager, a session's requests and a window: what is asked for, and what is given."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from ..compaction.budget import ModelLimits
from ..compaction.planner import Compaction
from ..compaction.summary_span import Summary
from ..messages.message import Message
from ..view.arrangement import Item


@dataclass(frozen=True, slots=True)
class Ask:
    """A request as the caller made it."""

    explicit_tokens: int | None = None
    provider: ModelLimits | None = None
    provider_name: str = ""
    head_text: str | None = None
    """The factory's system prompt; None where no factory is set."""
    tools_json: str = ""
    force: bool = False
    summarizer: Any | None = None
    """The provider itself, which can be asked for a summary."""
    retain: tuple[str, ...] = ()
    """Bodies that the view has to hold complete."""
    hard_fit: bool = False
    """Plan anew for this budget, and let the session go on with that plan."""
    summary: Summary | None = None
    """What a provider made of the older part, for the plan that is to be made."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The view of a request, or None where a plan is needed first; and what was done for it."""

    view: list[Message] | None
    tokens: int
    messages: int
    budget_tokens: int
    line: Hashable = ()
    """Stays the same while each view continues the one before it."""
    compaction: Compaction | None = None
    plan_error: str = ""
    futile: dict[str, Any] | None = None
    """Why no plan was followed though one was wanted: what `context:compaction_futile` says."""

    @property
    def counted_tokens(self) -> int:
        """What the view comes to, by our count."""
        return self.compaction.plan.tokens_after if self.compaction is not None else self.tokens

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
            "budget": plan.budget_tokens,
            "target": plan.target_tokens,
        }


@dataclass(frozen=True, slots=True)
class Request:
    """What one request asks of a window."""

    budget_tokens: int
    fixed_tokens: int = 0
    """Head text, tool definitions and overhead."""
    head: tuple[Message, ...] = ()
    has_factory: bool = False
    """Stored system messages give way to the head, but for those of hooks and memory files."""
    force: bool = False
    """Plan now, whatever the view's size."""
    retain: frozenset[int] = frozenset()
    """Keys of messages that the view has to show whole."""
    summary: Summary | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A view that was made, or None where a plan is needed and none may be made; tokens and messages before a plan."""

    view: list[Message] | None
    tokens: int
    messages: int
    compaction: Compaction | None = None
    floor: dict[str, int] | None = None
    """Where a plan was wanted and would have freed too little: what cannot be compacted, in tokens by name."""
    items: Sequence[Item] = ()
    last: int | None = None
    """The last live message that was taken in."""


def sizes(messages: int, tokens: int) -> dict[str, int]:
    """What `context:pre_compact` and `context:post_compact` say of a view."""
    return {"message_count": messages, "tokens": tokens, "token_count": tokens}
