"""`protect_first` and `protect_last`: whole groups, both at once, within half of the target."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amplifier_module_context_persistent import InMemoryContextManager
from amplifier_module_context_persistent.compaction.plan_request import Summary
from amplifier_module_context_persistent.compaction.protected_ends import protect
from amplifier_module_context_persistent.compaction.summary_span import leave_out_span, older_ordinals
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.view.entry import Entry
from amplifier_module_context_persistent.view.tool_groups import tool_groups
from tests.support.checker import assert_valid, same
from tests.support.drafts import check_total, draft, kept
from tests.support.messages import Message, entries, fill
from tests.support.sweeps import proof, spread
from tests.support.windows import Desk

TEXT = "The order keeps its total until it was acknowledged. " * 8


def chosen(found: list[Entry], first: int, last: int, budget_tokens: int, *, fixed: int = 0, **config: Any) -> set[int]:
    made = protect(
        found,
        [entry.ordinal for entry in found],
        config=Config.load({**config, "protect_first": first, "protect_last": last}),
        budget_tokens=budget_tokens,
        fixed_tokens=fixed,
        tokens_of=lambda entry: entry.tokens,
    )
    return {entry.ordinal for entry in made if entry.changes.protected}


# -- the choice (every message has 10 tokens; half of the target is a quarter of the budget) ---------------------------

PLAIN = "a c:x t:x a a a c:y+z t:y t:z a u a"


@pytest.mark.parametrize(
    ("words", "first", "last", "budget", "expected"),
    [
        (PLAIN, 0, 0, 10_000, ""),
        (PLAIN, 1, 0, 10_000, "0"),
        (PLAIN, 2, 0, 10_000, "0 1 2"),  # a call with its result
        (PLAIN, 0, 1, 10_000, "11"),
        (PLAIN, 0, 4, 10_000, "6 7 8 9 11"),  # the last human message stays anyway
        (PLAIN, 1, 1, 10_000, "0 11"),
        (PLAIN, 12, 12, 10_000, "0 1 2 3 4 5 6 7 8 9 11"),
        (PLAIN, 12, 0, 160, "0 1 2 3"),  # the newest of the first ones go
        (PLAIN, 0, 12, 200, "6 7 8 9 11"),  # the oldest of the last ones go
        (PLAIN, 12, 12, 240, "0 1 2 3 9 11"),  # half for each, and what a group that is too large leaves
        (PLAIN, 1, 12, 160, "0 9 11"),
        (PLAIN, 12, 1, 160, "0 1 2 11"),  # what one leaves is the other's
        ("c:1+2+3 t:1 t:2 t:3 a a u", 5, 0, 120, "4"),  # a group that alone is larger than the room is passed over
        ("s s! a u", 3, 0, 120, "2"),  # what stays anyway takes none of its own
        ("s s! a u", 3, 0, 79, ""),  # but leaves the less of the target
    ],
)
def test_which_messages_are_protected(words: str, first: int, last: int, budget: int, expected: str) -> None:
    """Whole groups, oldest or newest ones first, as far as half of the target goes."""
    assert chosen(entries(words), first, last, budget) == set(map(int, expected.split()))


@given(
    st.lists(st.sampled_from(["u", "r", "s", "a", "a!", "c:x t:x", "c:x", "c:y+z t:y t:z"]), max_size=20),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(0, 1_000),
    st.integers(0, 60),
)
@example(["c:x", "c:x t:x", "a", "c:x t:x", "a"], 4, 2, 200, 0)  # a call without a result is two messages of a view
def test_protections_are_whole_groups_within_half_of_the_target(
    words: list[str], first: int, last: int, budget: int, fixed: int
) -> None:
    """Whatever the history, they hold no part of a group and no more than their room; more budget protects no less."""
    found = entries(" ".join(words))
    keys = chosen(found, first, last, budget, fixed=fixed)
    groups = [{entry.ordinal for entry in group.entries()} for group in tool_groups(found)]
    assert all(group <= keys or not group & keys for group in groups)
    assert 10 * len(keys) <= max(0, min(budget // 4, budget // 2 - fixed))
    assert chosen(found, first, last, budget) == chosen(found, first, last, budget)
    assert keys <= chosen(found, first, last, 100_000)


def test_a_cap_on_messages_counts_too() -> None:
    """Half of the messages that a plan aims at are protected at most."""
    found = entries("a a a a a a a a u")
    assert chosen(found, 8, 0, 10_000, max_messages=12) == {0, 1, 2}


# -- in a session ------------------------------------------------------------------------------------------------------


def turn(number: int) -> list[Message]:
    call = {"id": f"c{number}", "tool": "read", "arguments": {"path": f"{number}.py"}}
    return [
        {"role": "user", "content": f"Question {number}. {TEXT}"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "name": "read", "content": f"Result {number}. {TEXT * 5}"},
        {"role": "assistant", "content": f"Answer {number}. {TEXT}"},
    ]


@proof(quick=1)
@pytest.mark.parametrize("option", ["protect_first", "protect_last"])
@pytest.mark.parametrize("messages", list(spread([3, 7, 0], 3)))
async def test_the_messages_stay_as_they_are(option: str, messages: int) -> None:
    """Over many compactions, with their groups; without the option they do not."""
    options = {option: messages, "protected_recent": 0.0, "protected_tool_results": 0}
    manager = InMemoryContextManager(tokenizer="estimate", max_tokens=6_000, **options)
    lost = 0
    for number in range(16):
        for message in turn(number):
            await manager.add_message(message)
            history = await manager.get_messages()
            shown = {one["metadata"].get("message_id"): one for one in await manager.get_messages_for_request()}
            named = history[:7] if option == "protect_first" else history[-7:]
            lost += sum(not same(one, shown.get(one["metadata"]["message_id"])) for one in named)
    assert (lost == 0) == (messages == 7)


@proof
async def test_a_far_history_keeps_its_first_messages() -> None:
    """Also where a long history is planned for the first time, of which most is never looked at."""
    manager = InMemoryContextManager(tokenizer="estimate", max_tokens=4_000, protect_first=2)
    for number in range(300):
        await fill(manager, turn(number))
    view = await manager.get_messages_for_request()
    history = await manager.get_messages()
    assert len(view) < 100
    assert [shown["metadata"]["message_id"] for shown in view[:3]] == [
        one["metadata"]["message_id"] for one in history[:3]
    ]
    assert same(view[:3], history[:3])


def test_a_protection_larger_than_the_budget_is_narrowed() -> None:
    """However many messages are named, views fit and are valid."""
    desk = Desk(protect_first=1_000, protect_last=1_000)
    desk.talk(60)
    built = desk.ask(4_000)
    assert built.planning.compaction is not None
    assert built.view is not None
    assert_valid(built.view, budget_tokens=4_000, count=lambda message: count_message(message, EstimateCounter()))


def test_the_older_part_without_people_pins_and_system_text() -> None:
    """What is recent stays, whole groups are taken."""
    made = draft("s:10 u:10 t:90 a:90! a:90 u:10 a:100 a:100", 100)
    assert older_ordinals(made) == {2, 3, 5, 7}


def test_what_a_summary_stands_for_is_left_out() -> None:
    """Only groups that it covers in whole, and nothing that no step touches."""
    made = draft("u:10 t:90 a:90 a:90 u:10 a:1", 100)
    leave_out_span(made, Summary("so far", frozenset({1, 2, 3}), "basis"))
    assert kept(made) == "0 3 4 5"
    check_total(made)
    made = draft("u:10 t:90 a:90 u:10 a:1", 100)
    leave_out_span(made, Summary("so far", frozenset({1}), "basis"))
    assert kept(made) == "0 1 2 3 4"
