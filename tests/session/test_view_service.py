"""Properties of the views that the managers hand out, for any history and any budget (I4 to I6, I9's clock and ids)."""

import asyncio
import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.messages import Message, answers, calls
from tests.support.played_sessions import Session, is_ephemeral
from tests.support.sweeps import proof
from tests.support.view_properties import (
    History,
    as_bytes,
    asks,
    batches,
    budgets,
    check_floor,
    checked,
    examples,
    goes_on,
    heads,
    pauses,
    policies,
    run,
    shared_parts,
    stories,
)

# --- strategies -------------------------------------------------------------------------------------------------------


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


@proof
@examples(36)
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


@proof
@examples(24)
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


@proof
@examples(12)
@given(stories, policies, pauses, asks, heads)
def test_two_managers_with_the_same_clock_and_ids_give_the_same_bytes(
    history: list[Message], policy: Message, sizes: list[int], ask: Message, head: str | None
) -> None:
    """The bytes depend on nothing else (I4); the other log gives out ids for other things too, and differs in them."""

    async def play(session: Session) -> list[Any]:
        views: list[Any] = []
        if head is not None:
            await session.head(head)
        for part in batches(history, sizes):
            await session.add(*part)
            views.append(await told(session, **ask))
        views.append(await session.manager.get_messages())
        await session.manager.close()
        return views

    in_memory = asyncio.run(play(Session(**policy)))
    with TemporaryDirectory() as directory:
        on_disk = asyncio.run(play(Session(Path(directory, "log.jsonl"), durability="write", **policy)))
    again = asyncio.run(play(Session(**policy)))
    assert [as_bytes(view) for view in again] == [as_bytes(view) for view in in_memory]
    assert [without_ids(view) for view in on_disk] == [without_ids(view) for view in in_memory]


lives = given(stories, policies, pauses, budgets, heads, st.integers(0, 6))
"""What is said to a session that is restarted after the first of so many requests, over and over."""


async def restarted(
    directory: str, history: list[Message], policy: Message, sizes: list[int], head: str | None, lives: int
) -> None:
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


@proof
@examples(18)
@example(LATE_ANSWER_TO_A_DROPPED_CALL, KEEP_THE_FIRST_CALL, [7], 400, None, 0)
@lives
def test_a_restart_changes_no_byte_of_a_view(
    history: list[Message], policy: Message, sizes: list[int], budget: int, head: str | None, lives: int
) -> None:
    """A view is the same before and after a restart, with a stored plan too, and goes on as if nothing had been."""
    with TemporaryDirectory() as directory:
        run(restarted, directory, history, policy | {"max_tokens": max(1, budget)}, sizes, head, lives)


@proof
@pytest.mark.usefixtures("each_log")
@pytest.mark.parametrize("each_log", ["postgres"], indirect=True)
@examples(6)
@example(LATE_ANSWER_TO_A_DROPPED_CALL, KEEP_THE_FIRST_CALL, [7], 400, None, 0)
@lives
def test_a_restart_over_a_database_changes_no_byte_of_a_view(
    history: list[Message], policy: Message, sizes: list[int], budget: int, head: str | None, lives: int
) -> None:
    """In fewer examples: what a log gives back is compared in `tests/log/test_contract.py`."""
    with TemporaryDirectory() as directory:
        run(restarted, directory, history, policy | {"max_tokens": max(1, budget)}, sizes, head, lives)


@proof
@examples(18)
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
                assert as_bytes(await session.request(**ask)) == again
        await session.manager.close()

    with TemporaryDirectory() as directory:
        run(play, directory)


@proof
@examples(18)
@given(stories, pauses, st.lists(budgets, min_size=1, max_size=4), st.integers(200, 40_000))
def test_a_request_with_a_smaller_explicit_budget_disturbs_nothing(
    history: list[Message], sizes: list[int], smaller: list[int], own: int
) -> None:
    """It stores no plan, and the views without it are the same as if it had never been made.

    The host's events say which of the requests the next answer is of; a request that is refused has none, and ends the
    story. Both runs give the same ids to the messages: a marker names one, and the tokens of its digits decide ties.
    """

    async def play(asides: Sequence[int]) -> tuple[list[Any], int]:
        session = Session(max_tokens=own)
        views, stored = [], 0
        for number, part in enumerate(batches(history, sizes)):
            session.ids.serial = itertools.count(1_000 * number + 1)
            await session.add(*part)
            for budget in asides:
                await told(session, token_budget=min(budget, own - 1))
            plans = session.plans
            session.ids.serial = itertools.count(1_000 * number + 501)
            views.append(await told(session))
            if isinstance(views[-1], str):
                break
            await session.manager.on_llm_request({"request_id": "own"})
            await session.manager.on_llm_response({"request_id": "own"})
            stored += session.plans - plans
        return views, stored

    assert asyncio.run(play(smaller)) == asyncio.run(play(()))


@proof
@examples(24)
@given(stories, policies, budgets)
def test_the_floor_is_honest(history: list[Message], policy: Message, budget: int) -> None:
    """What the error calls the smallest view can be had with a budget of so many tokens."""

    async def play() -> None:
        policy.pop("max_tokens", None)
        session = Session(**policy)
        await session.add(*history)
        text = await told(session, token_budget=budget)
        if not isinstance(text, str):
            return
        needed = check_floor(text, budget)
        assert await checked(session, token_budget=needed) is not None, text

    run(play)


async def told(session: Session, **ask: Any) -> list[Message] | str:
    """A view, or the error that says why there is none; what a view is, is checked above."""
    try:
        return await session.request(**ask)
    except ContextLengthError as error:
        return str(error)


def read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def without_ids(view: Any) -> bytes:
    """The bytes of a view but for message ids, which depend on how many were given out before, and hashes over them."""
    known: dict[bytes, str] = {}
    ids = rb'id\d{5}|"bound": "[0-9a-f]{32}"'
    return re.sub(ids, lambda found: known.setdefault(found[0], f"#{len(known)}").encode(), as_bytes(view))


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
