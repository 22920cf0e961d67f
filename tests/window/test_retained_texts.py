"""Requests whose view has to hold given texts complete: `get_messages_for_request_retaining`."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.testing import MockCoordinator
from hypothesis import given
from hypothesis import strategies as st

import amplifier_module_context_persistent as package
from amplifier_module_context_persistent.window.retained_texts import shows_all
from tests.support.checker import assert_valid, check_view, same
from tests.support.messages import Message, result, user
from tests.support.played_sessions import Session
from tests.support.recorded_sessions import Recorded, controls
from tests.support.sweeps import proof
from tests.support.view_properties import (
    batches,
    budgets,
    check_floor,
    count,
    examples,
    goes_on,
    pauses,
    policies,
    run,
    stories,
)

BODY = "<system-reminder>" + "Policy: ask before you delete. " * 20 + "</system-reminder>"


def reminder(body: str = BODY) -> Message:
    metadata = {"source": "hook", "ephemeral": True, "persisted": True}
    return {"role": "user", "content": body, "metadata": metadata}


class Retaining(Recorded):
    """A session that remembers what it was handed out for requests with bodies, too."""

    async def retaining(self, *bodies: str, **ask: Any) -> list[Message]:
        view = await self.manager.get_messages_for_request_retaining(retain_contents=list(bodies), **ask)
        self.views.append(view)
        return view

    async def fill(self, turns: int = 30) -> None:
        start = next(self.serial)
        for number in range(turns):
            await self.add(
                user(f"question {start}-{number} " + "word " * 80),
                {"role": "assistant", "content": f"answer {start}-{number} " + "word " * 80},
            )

    serial = itertools.count()


@pytest_asyncio.fixture
async def session(tmp_path: Path) -> AsyncIterator[Retaining]:
    """In the end every view is proved and valid, also those beside the session's plan."""
    async with Retaining(tmp_path / "log.jsonl") as session:
        yield session
        for view in session.views:
            assert_valid(view, budget_tokens=4_000, count=count)


async def with_dropped_reminder(session: Retaining) -> list[Message]:
    """Play until a plan has left the reminder out."""
    await session.add(user("begin"), reminder())
    await session.fill()
    view = await session.view()
    assert not shows_all(view, [BODY])
    return view


async def test_a_body_that_a_plan_left_out_is_shown_complete(session: Retaining) -> None:
    """In its place, once; and the view of other requests stays what it is."""
    ordinary = await with_dropped_reminder(session)
    view = await session.retaining(BODY)
    assert [message["content"] for message in view].count(BODY) == 1
    assert [message["content"] for message in view][:2] == ["begin", BODY]
    assert await session.view() == ordinary
    await session.manager.close()
    (plan,), (side_plan,) = controls(session.path, "plan"), controls(session.path, "side_plan")
    assert plan["dropped"] - side_plan["dropped"] == 1


async def test_requests_for_the_same_body_go_on_with_the_same_view(session: Retaining) -> None:
    """As long as it is asked for, each view is the one before it with what was appended, and so are the others'."""
    ordinary = [await with_dropped_reminder(session)]
    views = [await session.retaining(BODY)]
    for _ in range(3):
        await session.fill(1)
        views.append(await session.retaining(BODY))
        ordinary.append(await session.view())
    assert all(goes_on(before, after) for before, after in itertools.pairwise(views))
    assert all(goes_on(before, after) for before, after in itertools.pairwise(ordinary))


@proof
async def test_a_plan_that_is_made_meanwhile_keeps_the_body(session: Retaining) -> None:
    """Then no view beside it is needed, and the next process finds the body there."""
    await session.add(user("begin"), reminder())
    for _ in range(12):
        await session.fill(10)
        await session.retaining(BODY)
    assert not controls(session.path, "side_plan")
    await session.restart()
    assert shows_all(await session.view(), [BODY])
    assert len(controls(session.path, "plan")) > 3


async def test_a_body_that_the_view_shows_costs_nothing(session: Retaining) -> None:
    """The view is the one that any request gets."""
    await session.add(user("begin"), reminder())
    ordinary = await session.view()
    assert await session.retaining(BODY) == ordinary
    assert await session.retaining() == ordinary
    assert await session.retaining("", BODY, BODY) == ordinary


@proof
async def test_a_body_in_a_result_that_was_cut(session: Retaining) -> None:
    """The result stands whole, with the call that it answers and that call's other results."""
    calls = [{"id": f"c{n}", "tool": "read", "arguments": {}} for n in (1, 2)]
    await session.add(
        user("begin"),
        {"role": "assistant", "content": "", "tool_calls": calls},
        result("c1", "line of code\n" * 300 + BODY + "\nline of code" * 300),
        result("c2", "other line\n" * 300),
    )
    await session.fill(16)
    assert not shows_all(await session.view(), [BODY])
    view = await session.retaining(BODY)
    assert view[1:4] == (await session.manager.get_messages())[1:4]


@proof
async def test_the_newest_message_that_is_the_body_holds_it(session: Retaining) -> None:
    """Neither one that quotes it, nor an older copy."""
    await session.add(
        user("begin"),
        reminder(),
        reminder(),
        user(f"what is {BODY}?"),
        {"role": "assistant", "content": f"{BODY} is a reminder"},
    )
    await session.fill()
    await session.view()
    view = await session.retaining(BODY)
    (held,) = [message for message in view if message["content"] == BODY]
    assert same(held, (await session.manager.get_messages())[2])


async def test_an_ephemeral_body_that_a_plan_left_out(tmp_path: Path) -> None:
    """It comes back as well."""
    session = Retaining(tmp_path / "log.jsonl")
    await session.add(user("begin"), user(BODY, source="hook", ephemeral=True))
    await session.fill()
    assert not shows_all(await session.view(), [BODY])
    assert shows_all(await session.retaining(BODY), [BODY])
    assert not shows_all(await session.view(), [BODY])


async def test_a_body_in_a_head_text_is_shown(session: Retaining) -> None:
    """Nothing needs to be done for it; a stored system message that gives way to the head text holds nothing."""
    await session.add({"role": "system", "content": "stored rule"}, user("begin"))
    await session.head(f"You are careful. {BODY}")
    assert shows_all(await session.retaining(BODY), [BODY])
    with pytest.raises(ContextLengthError, match="but no live message of this session contains it"):
        await session.retaining("stored rule")


@proof
async def test_a_body_far_back_in_a_history_without_a_plan(session: Retaining) -> None:
    """Also where the first plan of a long history never looks at it."""
    await session.add(user("begin"), reminder())
    await session.fill(500)
    view = await session.retaining(BODY)
    assert shows_all(view, [BODY])


@proof(quick=1)
@pytest.mark.parametrize("content", [f'é {BODY}\n"quoted\\" \x00\u2028', f"half \ud83d {BODY}"])
async def test_a_body_is_found_however_its_record_is_written(session: Retaining, content: str) -> None:
    """Also escaped characters, and what only the standard library writes."""
    await session.add(user("begin"), reminder(content))
    await session.fill()
    await session.view()
    assert shows_all(await session.retaining(content), [content])


async def test_a_body_that_is_nowhere_is_an_error(session: Retaining) -> None:
    """It says which, and nothing of what it is; the next request is none the worse, and a reset forgets."""
    ordinary = await with_dropped_reminder(session)
    for kind in (ContextLengthError, ValueError):
        with pytest.raises(kind, match="body 2 of 2 must be in the view, but no live message") as caught:
            await session.retaining(BODY, "never said")
        assert "never said" not in str(caught.value)
    assert await session.view() == ordinary
    await session.retaining(BODY)
    await session.manager.clear()
    await session.add(user("anew"))
    with pytest.raises(ContextLengthError):
        await session.retaining(BODY)


@pytest.mark.parametrize("given", ["text", None, 3, [b"x"], [None]])
async def test_what_is_no_list_of_texts_is_refused(session: Retaining, given: Any) -> None:
    """The error names the parameter."""
    with pytest.raises(ValueError, match="retain_contents must"):
        await session.manager.get_messages_for_request_retaining(retain_contents=given)


@proof
async def test_a_body_that_does_not_fit_is_an_error(session: Retaining) -> None:
    """It gives the floor; other requests go on as they did, and so does one for a body that fits."""
    huge = "<system-reminder>" + "much too long " * 4_000
    await session.add(user("begin"), reminder(huge), reminder())
    await session.fill()
    with pytest.raises(ContextLengthError):
        await session.retaining(huge)
    ordinary = await session.view()
    for _ in range(2):
        with pytest.raises(ContextLengthError) as caught:
            await session.retaining(huge)
        assert check_floor(str(caught.value), 4_000) > 4_000
    assert await session.view() == ordinary
    assert shows_all(await session.retaining(BODY), [BODY])


# -- forced rebuilds ---------------------------------------------------------------------------------------------------


async def test_a_forced_rebuild_fits_its_budget_and_the_session_goes_on_with_it(session: Retaining) -> None:
    """The plan is the session's own: later requests of any kind, and the next process, get the same view."""
    await session.add(user("begin"), reminder())
    await session.fill(10)
    large = await session.view()
    view = await session.retaining(BODY, token_budget=1_200, hard_fit=True)
    assert sum(map(count, view)) <= 1_200 < sum(map(count, large))
    assert shows_all(view, [BODY])
    assert await session.view() == await session.retaining() == view
    await session.restart()
    assert await session.view() == view


@proof
async def test_a_forced_rebuild_that_cannot_fit_is_an_error(session: Retaining) -> None:
    """And the session's view stays what it was."""
    ordinary = await with_dropped_reminder(session)
    with pytest.raises(ContextLengthError):
        await session.retaining(BODY, token_budget=60, hard_fit=True)
    assert await session.view() == ordinary


@proof
async def test_without_it_a_smaller_budget_disturbs_nothing(session: Retaining) -> None:
    """As any request with a smaller explicit budget."""
    ordinary = await with_dropped_reminder(session)
    view = await session.retaining(BODY, token_budget=900)
    assert shows_all(view, [BODY])
    assert sum(map(count, view)) <= 900
    assert await session.view() == ordinary


async def test_the_capability_is_there_from_the_mount_on(coordinator: MockCoordinator) -> None:
    """Hosts call it as the manager's own method."""
    cleanup = await package.mount(coordinator, {})
    manager, retaining = coordinator.get("context"), coordinator.get_capability("context.request_retention")
    assert await retaining(retain_contents=[]) == []
    await manager.add_message(reminder())
    assert await retaining(retain_contents=[BODY], provider=None, token_budget=2_000, hard_fit=True)
    await cleanup()


# -- properties --------------------------------------------------------------------------------------------------------


def bodies_of(history: Sequence[Message]) -> list[str]:
    """Texts that a host could want in force."""
    told = [message for message in history if message["role"] == "user" and isinstance(message.get("content"), str)]
    return [message["content"] for message in told if message["content"].strip()]


@proof
@examples(27)
@given(stories, policies, pauses, budgets, st.lists(st.tuples(st.integers(0, 40), st.booleans(), st.booleans())))
def test_any_view_with_bodies_is_valid_and_shows_them(
    history: list[Message], policy: Message, sizes: list[int], budget: int, asks: list[tuple[int, bool, bool]]
) -> None:
    """Whatever was stored: they stand complete in a view that is valid and fits, or the error says why not."""

    async def play() -> None:
        session = Session(**policy)
        for part, (which, explicit, hard_fit) in zip(
            batches(history, sizes), itertools.cycle(asks or [(0, False, False)]), strict=False
        ):
            await session.add(*part)
            told = await session.history()
            known = bodies_of(told)
            bodies = known[which % len(known) :][:2] if known else []
            ask = {"token_budget": budget} if explicit else {}
            try:
                view = await session.manager.get_messages_for_request_retaining(
                    retain_contents=bodies, hard_fit=hard_fit, **ask
                )
            except ContextLengthError as error:
                check_floor(str(error), session.budget(**ask))
                continue
            late_system = session.config.get("late_system", "reminder")
            limit = session.budget(**ask)
            assert not check_view(view, history=told, budget_tokens=limit, count=count, late_system=late_system)
            assert shows_all(view, bodies)

    run(play)
