"""What every view must keep, whatever the history and the budget, and the strategies that make both.

The environment's `HYPOTHESIS_VIEWS_EXAMPLES` sets how many random examples each property runs; without it they are few
and always the same, three times as many with `--proof`. What fails is not shrunk: an example takes too long for
that.
"""

import asyncio
import itertools
import json
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from amplifier_core.llm_errors import ContextLengthError
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.view.unbound_messages import without_bonds
from tests.support import histories
from tests.support.checker import check_view, same
from tests.support.counters import count
from tests.support.messages import Message
from tests.support.played_sessions import Provider, Session
from tests.support.sweeps import some

EXAMPLES = int(os.environ.get("HYPOTHESIS_VIEWS_EXAMPLES", "0"))


INTERRUPTED = "[interrupted: this call has no result]"


FLOOR = re.compile(
    r"the smallest view has ([\d,]+) tokens of a budget of ([\d,]+); compaction cannot make it fit\. "
    r"Fixed: (.+?)(\. Pinned: .+)?"
)


def examples(count: int) -> Callable[[Any], Any]:
    """Run a property with so many examples, a third without whole sweeps, or as many as the environment asks."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(
        max_examples=EXAMPLES or some(count),
        deadline=None,
        suppress_health_check=slow,
        derandomize=not EXAMPLES,
        phases=[Phase.explicit, Phase.generate],
    )


def as_bytes(view: Any) -> bytes:
    return json.dumps(view).encode("ascii")


async def checked(session: Session, **ask: Any) -> list[Message] | None:
    """Make a request; the view, checked in every way, or None where the error says why there is none."""
    budget = session.budget(**ask)
    try:
        view = await session.request(**ask)
    except ContextLengthError as error:
        check_floor(str(error), budget)
        return None
    head = [{"role": "system", "content": session.head_text}] if (session.head_text or "").strip() else []
    history = [*head, *await session.history()]
    late_system = session.config.get("late_system", "reminder")
    violations = check_view(view, history=history, budget_tokens=budget, count=count, late_system=late_system)
    assert not violations, "\n".join(violations)
    if head:
        assert view[: len(head)] == head
    return view


def check_floor(text: str, budget: int) -> int:
    """Check what an error says; the tokens that it calls the smallest view."""
    found = FLOOR.fullmatch(text)
    assert found is not None, text
    needed, named = (int(number.replace(",", "")) for number in found.groups()[:2])
    assert named == budget
    assert needed > budget
    parts = [int(part.rsplit(" ", 1)[1].replace(",", "")) for part in found[3].split(" + ") if part != "nothing"]
    assert sum(parts) == needed, text
    return needed


def goes_on(before: Sequence[Message], after: Sequence[Message]) -> bool:
    """I6: a view is its predecessor plus what was appended, but for late results in the place of their stand-ins.

    Reasoning after such a place is no longer what its request led to (I10), and goes.
    """
    moved = False
    for one, other in zip(before, after, strict=False):
        if one["content"] == INTERRUPTED and one.get("tool_call_id") == other.get("tool_call_id"):
            moved = moved or not same(one, other)
        elif not same(one, other) and not (moved and same(without_bonds(one, keep_text=False), other)):
            return False
    return len(before) <= len(after)


def run(play: Callable[..., Awaitable[None]], *args: Any, **kw: Any) -> None:
    asyncio.run(play(*args, **kw))  # type: ignore[arg-type]


class History(list[Message]):
    """A history that says briefly what it is; Hypothesis warns of long representations."""

    def __repr__(self) -> str:
        return f"History({json.dumps(self)[:4_000]})"


stories = histories.messages().map(History)


budgets = st.one_of(
    st.sampled_from((0, 1, 3, 10, 30)),
    st.integers(30, 400),
    st.integers(400, 4_000),
    st.integers(4_000, 40_000),
)


positive_budgets = budgets.map(lambda tokens: max(1, tokens))


providers = st.builds(Provider, positive_budgets.map(lambda tokens: tokens + 1_000), st.sampled_from((0, 0, 500)))


asks: st.SearchStrategy[Message] = st.one_of(
    st.just({}),
    st.builds(lambda tokens: {"token_budget": tokens}, budgets),
    st.builds(lambda provider: {"provider": provider}, providers),
)


policies = st.fixed_dictionaries(
    {},
    optional={
        "max_tokens": positive_budgets,
        "max_messages": st.integers(2, 12),
        "compact_threshold": st.sampled_from((0.5, 0.8, 1.0)),
        "protected_recent": st.sampled_from((0.0, 0.1, 1.0)),
        "protected_tool_results": st.integers(0, 3),
        "protect_first": st.integers(0, 5),
        "protect_last": st.integers(0, 5),
        "truncate_chars": st.sampled_from((0, 1, 60, 5_000)),
        "truncate_boundary": st.just("char"),
        "preserve_system": st.just(False),
        "late_system": st.sampled_from(("system", "reminder")),
        "offload_threshold": st.sampled_from((1, 100, 1_000)),
        "preview_tokens": st.sampled_from((0, 50, 500)),
        "compact_min_gain": st.sampled_from((0.0, 0.5)),
        "compaction_notice_verbosity": st.sampled_from(("minimal", "verbose")),
        "compaction_notice_token_reserve": st.sampled_from((0, 5_000)),
    },
)


pauses = st.lists(st.integers(0, 4), min_size=1, max_size=6)
"""How many messages are added before each request, over and over."""


heads = st.sampled_from((None, None, "You write code.", " ", "Rule.\n" * 40))


def batches(history: Sequence[Message], sizes: Sequence[int]) -> list[list[Message]]:
    """Cut a history where requests are made; every part but the last may be empty."""
    parts, at = [], 0
    for size in itertools.cycle([*sizes, 1]):
        parts.append(list(history[at : at + size]))
        at += size
        if at >= len(history):
            return parts
    raise AssertionError


def shared_parts(value: Any) -> list[Any]:
    """The lists and dictionaries that stand in more than one place of a value."""
    waiting, seen, shared = [value], set(), []
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict | list):
            shared += [part] * (id(part) in seen)
            seen.add(id(part))
            waiting += part.values() if isinstance(part, dict) else part
    return shared
