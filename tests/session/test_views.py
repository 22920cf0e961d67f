"""Properties of the views that the managers hand out, for any history and any budget (I4 to I6, I9's clock and ids).

The environment's `HYPOTHESIS_VIEWS_EXAMPLES` sets how many random examples each property runs; without it they are few
and always the same. What fails is not shrunk: an example takes too long for that.
"""

import asyncio
import itertools
import json
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from tests.support import histories
from tests.support.checker import check_view, same

Message = dict[str, Any]
Manager = PersistentContextManager

EXAMPLES = int(os.environ.get("HYPOTHESIS_VIEWS_EXAMPLES", "0"))
INTERRUPTED = "[interrupted: this call has no result]"
FLOOR = re.compile(
    r"the smallest view has ([\d,]+) tokens of a budget of ([\d,]+); compaction cannot make it fit\. "
    r"Fixed: (.+?)(\. Pinned: .+)?"
)


def examples(count: int) -> Callable[[Any], Any]:
    """Run a property so often, or as often as the environment asks."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(
        max_examples=EXAMPLES or count,
        deadline=None,
        suppress_health_check=slow,
        derandomize=not EXAMPLES,
        phases=[Phase.explicit, Phase.generate],
    )


class Hooks:
    """What the session's hooks were told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Message]] = []

    async def emit(self, event: str, payload: Message) -> None:
        self.events.append((event, payload))

    def named(self, name: str) -> list[Message]:
        return [payload for event, payload in self.events if event == name]


class Ids:
    """Ids and timestamps that come out the same in every run; restarts go on with them, and with each message."""

    def __init__(self) -> None:
        self.serial = itertools.count(1)
        self.ticks = 0

    def new_id(self) -> str:
        return f"id{next(self.serial):05}"

    def now(self) -> str:
        return f"2026-03-01T{self.ticks // 3600:02}:{self.ticks // 60 % 60:02}:{self.ticks % 60:02}.000Z"


class Provider:
    """A provider that publishes its window."""

    def __init__(self, context_window: int, max_output_tokens: int) -> None:
        self.window = SimpleNamespace(context_window=context_window, max_output_tokens=max_output_tokens)

    def get_model_info(self) -> Any:
        return self.window


class Session:
    """A manager being played to, and what its history must hold, ephemeral messages in their places."""

    def __init__(self, path: Path | None = None, **config: Any) -> None:
        self.path, self.config, self.ids = path, {"tokenizer": "estimate", **config}, Ids()
        self.stored = 0
        self.places: list[int | Message] = []
        self.head_text: str | None = None
        self.start()

    def start(self) -> None:
        self.hooks = Hooks()
        coordinator = SimpleNamespace(hooks=self.hooks, get_capability=lambda _: None, config={}, get=lambda _: None)
        options = {**self.config, "coordinator": coordinator, "now": self.ids.now, "new_id": self.ids.new_id}
        self.manager: Manager = (
            InMemoryContextManager(**options) if self.path is None else Manager(self.path, **options)
        )

    async def restart(self) -> None:
        """Close the manager and begin anew on the same file; what was ephemeral is gone."""
        await self.manager.close()
        self.places = [place for place in self.places if isinstance(place, int)]
        self.start()
        if self.head_text is not None:
            await self.head(self.head_text)

    async def head(self, text: str) -> None:
        self.head_text = text

        async def factory() -> str:
            return text

        await self.manager.set_system_prompt_factory(factory)

    async def add(self, *messages: Message) -> None:
        for message in messages:
            self.ids.ticks += 1
            await self.manager.add_message(message)
            total = self.hooks.named("context:message_added:debug")[-1]["total_messages"]
            if is_ephemeral(message):
                self.places.append(message)
            elif total > self.stored:
                self.places.append(total - 1)
            self.stored = total

    async def history(self) -> list[Message]:
        stored = await self.manager.get_messages()
        return [stored[place] if isinstance(place, int) else place for place in self.places]

    async def request(self, token_budget: int | None = None, provider: Provider | None = None) -> list[Message]:
        return await self.manager.get_messages_for_request(token_budget=token_budget, provider=provider)

    @property
    def plans(self) -> int:
        return len(self.hooks.named("context:compaction"))

    @property
    def tried_in_vain(self) -> bool:
        """Whether a plan was not worth it since the last one that was made; a process forgets that when it ends."""
        names = [event for event, _ in self.hooks.events if event.endswith(("pre_compact", "compaction"))]
        return names[-1:] == ["context:pre_compact"]

    def budget(self, token_budget: int | None = None, provider: Provider | None = None) -> int:
        """The budget of a request, computed from the documents."""
        cap = self.config.get("max_tokens")
        found = cap or 200_000
        if provider is not None:
            window = provider.window.context_window
            room = window - min(provider.window.max_output_tokens, window // 2) - 1_000
            found = room if room > 0 else found
        if token_budget is not None:
            found = token_budget
        return min(found, cap) if cap else found


def is_ephemeral(message: Message) -> bool:
    metadata = message.get("metadata") or {}
    return metadata.get("ephemeral") is True and metadata.get("persisted") is not True


def count(message: Message) -> int:
    return count_message(message, EstimateCounter())


def as_bytes(view: Sequence[Message] | None) -> bytes:
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
    late_system = session.config.get("late_system", "system")
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
    """I6: a view is its predecessor plus what was appended, but for late results in the place of their stand-ins."""
    return len(before) <= len(after) and all(
        same(one, other) or (one["content"] == INTERRUPTED and one.get("tool_call_id") == other.get("tool_call_id"))
        for one, other in zip(before, after, strict=False)
    )


def run(play: Callable[..., Awaitable[None]], *args: Any, **kw: Any) -> None:
    asyncio.run(play(*args, **kw))  # type: ignore[arg-type]


class History(list[Message]):
    """A history that says briefly what it is; Hypothesis warns of long representations."""

    def __repr__(self) -> str:
        return f"History({json.dumps(self)[:4_000]})"


# --- strategies -------------------------------------------------------------------------------------------------------

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
        "late_system": st.just("reminder"),
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


def calls(call_id: str) -> Message:
    return {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "tool": "bash", "arguments": {}}]}


def answers(call_id: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "name": "bash", "content": f"What {call_id} found."}


LATE_ANSWER_TO_A_DROPPED_CALL = History(
    [
        {"role": "user", "content": "Begin."},
        calls("call_0"),
        {"role": "user", "content": "Again."},
        calls("call_0"),
        {"role": "user", "content": "Go on. " * 300},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "And now?"},
        answers("call_0"),
        {"role": "user", "content": "So?"},
    ]
)
"""With `KEEP_THE_FIRST_CALL`, the call that is answered late is left out; an older one that has its id stays."""
KEEP_THE_FIRST_CALL = {"protect_first": 2, "max_tokens": 400, "truncate_chars": 0}


# --- properties -------------------------------------------------------------------------------------------------------


@examples(60)
@example(LATE_ANSWER_TO_A_DROPPED_CALL, KEEP_THE_FIRST_CALL, [7], [{}], None)
@given(stories, policies, pauses, st.lists(asks, min_size=1, max_size=5), heads)
def test_every_view_is_valid_and_in_its_budget_or_the_error_says_why_not(
    history: list[Message], policy: Message, sizes: list[int], kinds: list[Message], head: str | None
) -> None:
    """Whatever was stored and whatever is asked for, a view is valid and fits."""

    async def play() -> None:
        session = Session(**policy)
        if head is not None:
            await session.head(head)
        for part, ask in zip(batches(history, sizes), itertools.cycle(kinds), strict=False):
            await session.add(*part)
            await checked(session, **ask)

    run(play)


@examples(40)
@given(stories, policies, pauses, budgets)
def test_between_two_plans_a_view_is_its_predecessor_plus_what_was_appended(
    history: list[Message], policy: Message, sizes: list[int], budget: int
) -> None:
    """Nothing but appending happens until the next plan (I6)."""

    async def play() -> None:
        session = Session(**policy)
        before: list[Message] | None = None
        plans = 0
        for part in batches(history, sizes):
            await session.add(*part)
            view = await checked(session, token_budget=budget)
            if before is not None and view is not None and session.plans == plans:
                assert goes_on(before, view), (before, view)
            before, plans = view, session.plans

    run(play)


@examples(25)
@given(stories, policies, pauses, asks, heads)
def test_two_managers_with_the_same_clock_and_ids_give_the_same_bytes(
    history: list[Message], policy: Message, sizes: list[int], ask: Message, head: str | None
) -> None:
    """The bytes depend on nothing else (I4); the other log gives out ids for other things too, and differs in them."""

    async def play(session: Session) -> list[list[Message] | None]:
        views: list[list[Message] | None] = []
        if head is not None:
            await session.head(head)
        for part in batches(history, sizes):
            await session.add(*part)
            views.append(await checked(session, **ask))
        views.append(await session.manager.get_messages())
        await session.manager.close()
        return views

    in_memory = asyncio.run(play(Session(**policy)))
    with TemporaryDirectory() as directory:
        on_disk = asyncio.run(play(Session(Path(directory, "log.jsonl"), durability="write", **policy)))
    again = asyncio.run(play(Session(**policy)))
    assert [as_bytes(view) for view in again] == [as_bytes(view) for view in in_memory]
    assert [without_ids(view) for view in on_disk] == [without_ids(view) for view in in_memory]


@examples(25)
@example(LATE_ANSWER_TO_A_DROPPED_CALL, KEEP_THE_FIRST_CALL, [7], 400, None, 0)
@given(stories, policies, pauses, budgets, heads, st.integers(0, 6))
def test_a_restart_changes_no_byte_of_a_view(
    history: list[Message], policy: Message, sizes: list[int], budget: int, head: str | None, lives: int
) -> None:
    """A view is the same before and after a restart, with a stored plan too, and goes on as if nothing had been."""

    async def play(directory: str) -> None:
        policy["max_tokens"] = max(1, budget)
        session = Session(Path(directory, "log.jsonl"), durability="write", **policy)
        if head is not None:
            await session.head(head)
        for at, part in enumerate(batches([message for message in history if not is_ephemeral(message)], sizes)):
            await session.add(*part)
            before = await checked(session)
            if at % (1 + lives) == 0:
                in_vain = session.tried_in_vain
                await session.restart()
                after = await checked(session)
                assert in_vain or as_bytes(after) == as_bytes(before)
                assert in_vain or session.plans == 0
        await session.manager.close()

    with TemporaryDirectory() as directory:
        run(play, directory)


@examples(25)
@given(stories, policies, pauses, st.lists(asks, min_size=1, max_size=5))
def test_no_request_changes_a_byte_of_history(
    history: list[Message], policy: Message, sizes: list[int], kinds: list[Message]
) -> None:
    """Requests only append plans; what a caller does to a view stays with the caller."""

    async def play(directory: str) -> None:
        path = Path(directory, "log.jsonl")
        session = Session(path, durability="write", **policy)
        for part, ask in zip(batches(history, sizes), itertools.cycle(kinds), strict=False):
            await session.add(*part)
            messages = as_bytes(await session.manager.get_messages())
            lines = read(path)
            view = await checked(session, **ask)
            again = as_bytes(view)
            assert not shared_parts(view or [])
            for message in view or []:
                spoil(message)
            assert as_bytes(await session.manager.get_messages()) == messages
            written = read(path)
            assert written.startswith(lines)
            for line in written[len(lines) :].splitlines():
                assert json.loads(line)["_record"] == "plan"
            if view is not None:
                repeated = as_bytes(await checked(session, **ask))
                assert repeated == again
        await session.manager.close()

    with TemporaryDirectory() as directory:
        run(play, directory)


@examples(25)
@given(stories, pauses, st.lists(budgets, min_size=1, max_size=4), st.integers(200, 40_000))
def test_a_request_with_a_smaller_explicit_budget_disturbs_nothing(
    history: list[Message], sizes: list[int], smaller: list[int], own: int
) -> None:
    """It stores no plan, and the views without it are the same as if it had never been made."""

    async def play(asides: Sequence[int]) -> tuple[list[bytes], int]:
        session = Session(max_tokens=own)
        views, stored = [], 0
        for part in batches(history, sizes):
            await session.add(*part)
            for budget in asides:
                await checked(session, token_budget=min(budget, own - 1))
            plans = session.plans
            views.append(without_ids(await checked(session)))
            stored += session.plans - plans
        return views, stored

    assert asyncio.run(play(smaller)) == asyncio.run(play(()))


@examples(40)
@given(stories, policies, budgets)
def test_the_floor_is_honest(history: list[Message], policy: Message, budget: int) -> None:
    """What the error calls the smallest view can be had with a budget of so many tokens."""

    async def play() -> None:
        policy.pop("max_tokens", None)
        session = Session(**policy)
        await session.add(*history)
        try:
            await session.request(token_budget=budget)
        except ContextLengthError as error:
            text = str(error)
        else:
            return
        needed = check_floor(text, budget)
        assert await checked(session, token_budget=needed) is not None, text

    run(play)


def read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def without_ids(view: list[Message] | None) -> bytes:
    """The bytes of a view but for message ids, which depend on how many were given out before."""
    known: dict[bytes, str] = {}
    return re.sub(rb"id\d{5}", lambda found: known.setdefault(found[0], f"#{len(known)}").encode(), as_bytes(view))


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


def spoil(value: Any) -> None:
    """Change everything that can be changed in a value."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value.clear()
    elif isinstance(value, list):
        for item in value:
            spoil(item)
        value.append("spoilt")


@pytest.mark.parametrize("budget", [0, 1, 50, 5_000])
async def test_an_empty_history_has_an_empty_view(budget: int) -> None:
    """There is nothing to show, whatever the budget."""
    assert await checked(Session(), token_budget=budget) == []
