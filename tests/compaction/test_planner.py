"""From entries and a budget to a plan: the floor, the notice, what is worth it, and no loops.

A token is four characters of text here, and a message costs nothing beside.
"""

import logging
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError

from amplifier_module_context_persistent import InMemoryContextManager
from amplifier_module_context_persistent.compaction.always_kept import Stage
from amplifier_module_context_persistent.compaction.draft import floor, pinned
from amplifier_module_context_persistent.compaction.failed_commands import failed_commands
from amplifier_module_context_persistent.compaction.plan_request import PlanRequest, RestOfHistory, Summary, ViewSoFar
from amplifier_module_context_persistent.compaction.planner import NEWEST_SHARE, Compaction, Goals, compact
from amplifier_module_context_persistent.compaction.request_budget import (
    SAFETY_MARGIN_TOKENS,
    ModelLimits,
    budget_tokens,
    read_window,
)
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.errors import FloorError
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.view.entry import classify
from amplifier_module_context_persistent.view.plan import LeftOut, Notice, Plan
from amplifier_module_context_persistent.window.plan_gain import frees_enough
from tests.support.checker import assert_valid
from tests.support.commands import shows
from tests.support.drafts import count, draft, draft_of, history, request_of
from tests.support.messages import fill
from tests.support.played_sessions import Session
from tests.support.sweeps import proof


def plan(words: str, budget: int, *, fixed: int = 0, previous: Compaction | None = None, **config: Any) -> Compaction:
    """Compact a history written in short words."""
    messages = history(words)
    entries = [classify(key, message, count) for key, message in enumerate(messages)]
    if previous is not None:  # as a window has them: what was kept, and what came since
        upto = next(at for at, entry in enumerate(entries) if entry.id == previous.plan.upto)
        entries = [entry for at, entry in enumerate(entries) if entry.id in previous.plan.keep or at > upto]

    return compact(
        request_of(
            messages,
            budget,
            fixed=fixed,
            entries=entries,
            so_far=ViewSoFar(previous.plan, previous.cut_tokens) if previous else ViewSoFar(),
            **config,
        )
    )


LONG = "u:10 " + "t:100 " * 30 + "u:10 a:10"


def test_a_plan_goes_down_to_the_target_in_one_pass() -> None:
    """It says what it did, and its view is as large as it says."""
    made = plan(LONG, 2_000)
    assert (made.plan.making.budget_tokens, made.plan.making.target_tokens, made.plan.making.tokens_before) == (
        2_000,
        1_000,
        3_030,
    )
    assert made.plan.making.tokens_after == made.arrangement.tokens <= 1_000 + 40
    assert (made.plan.making.step, made.plan.silent) == (3, frozenset())
    assert made.plan.left_out.messages == len(history(LONG)) - len(made.plan.keep)
    assert made.plan.upto == history(LONG)[-1]["metadata"]["message_id"]
    full = plan("u:10 a:100 a:100 a:100 u:10 a:5", 450, compaction_notice_enabled=False).plan
    assert (
        full.making.tokens_after == full.making.target_tokens == 225
    )  # no room is kept for a notice that is not put in


def kept_of_hooks(budget: int, strategy: str) -> list[str]:
    """What a plan keeps of a conversation to which a hook added three texts of the same size."""
    messages = history("u:100 a:100 s:100 a:100 s:100 a:100 s:100 a:10 u:10 a:10")
    for message in messages:
        if message["role"] == "system":
            message["metadata"] |= {"source": "hook", "hook_name": "clock"}
    entries = [classify(at, message, count, late=True) for at, message in enumerate(messages)]
    config = {"compaction_notice_enabled": False, "compaction_strategy": strategy}
    return list(compact(request_of(messages, budget, entries=entries, **config)).plan.keep)


@pytest.mark.parametrize("strategy", ["truncate", "importance"])
def test_of_what_a_hook_added_the_earlier_ones_go_first(strategy: str) -> None:
    """Before anything else, the oldest first, and no more of them than has to."""
    everything = [f"m{at}" for at in range(10)]
    assert kept_of_hooks(1_300, strategy) == [one for one in everything if one != "m2"]
    assert kept_of_hooks(1_100, strategy) == [one for one in everything if one not in ("m2", "m4")]


def test_what_a_summary_replaces_is_left_out() -> None:
    """Whole groups of it, and no more where that is enough."""
    words = "u:10 a:300 u:10 t:300 u:10 a:300 u:10 a:300 u:10 a:10"
    summary = Summary("what was done", frozenset({1, 3, 4, 8}), 0)
    made = plan(words, 2_000, summary=summary, compaction_strategy="summarize").plan
    assert made.keep == ("m0", "m2", "m4", "m5", "m6", "m8", "m9")
    shows(made.notice.text, "what was done")


def test_a_window_of_the_newest_messages_is_all_that_stays() -> None:
    """However little what is older would take, but for the first person's message."""
    window = {"compaction_strategy": "sliding_window", "keep_recent": 5}
    made = plan("u:10 a:50 t:50 a:50 u:10 a:400 u:10 a:400 u:10 a:10", 2_060, fixed=300, **window)
    assert made.plan.keep == ("m0", "m5", "m6", "m7", "m8", "m9")


def test_what_nobody_could_make_sense_of_goes_with_what_was_left_out() -> None:
    """A person between two others whose answers are gone; a word in the turn in progress before a gap."""
    window = {"compaction_strategy": "sliding_window", "keep_recent": 3}
    assert plan("u:10 a:10 u:10 u:300 u:10", 160, **window).plan.keep == ("m0", "m4")
    assert plan("u:10 a:100 a:900 a:100", 500).plan.keep == ("m0", "m3")


def test_large_newest_messages_do_not_push_out_all_that_is_older() -> None:
    """Where they leave less than 0.6 of the target the plan stops above it, at most 0.4 of the way to the threshold."""
    most = 1_000 + int(0.4 * 840)
    older = "u:10 " + "t:100 " * 15
    for newest, fixed, tokens in ((300, 0, 1_000), (500, 0, 1_110), (500, 300, 1_410), (900, 0, most)):
        made = plan(f"{older} u:10 t:{newest}", 2_000 + fixed, fixed=fixed)
        assert made.plan.making.target_tokens == 1_000 + fixed
        assert tokens - 160 < made.plan.making.tokens_after <= tokens + 40
        assert made.plan.making.step == 3
    assert len(plan("u:10 " + "u:60 a:1 " * 6 + "u:1100", 2_000).plan.keep) == 14  # for people at most 0.7 of the way


def test_system_text_does_not_raise_the_goal_for_people() -> None:
    """The target is measured above it, so it takes no room from them; a large newest result does."""
    people = "u:240 " + "u:40 a:120 " * 25 + "u:10"
    for words, fixed in ((people, 600), (f"s:600 {people}", 0)):
        made = plan(words, 2_600, fixed=fixed).plan
        assert made.making.target_tokens == 1_600
        assert made.making.tokens_after <= 1_600 + 40
    assert plan(f"{people} t:400", 2_600, fixed=600).plan.making.tokens_after > 1_600 + 200


def test_the_beginning_that_the_plan_before_kept_stays_for_the_cache() -> None:
    """The first half of what it kept is the same in the next plan, where the rest can give as much."""
    first = plan(LONG, 2_000)
    again = plan(LONG + " t:100" * 3, 2_000, previous=first)
    half = first.plan.keep[: len(first.plan.keep) // 3]
    assert again.plan.keep[: len(half)] == half


def test_what_is_taken_by_the_head_counts() -> None:
    """The fixed tokens are part of the view's, and so is the summary."""
    for fixed, text in ((500, ""), (0, "word " * 400)):
        made = plan(LONG, 2_000, fixed=fixed, summary=Summary(text, frozenset(), 0))
        assert made.plan.making.tokens_after == fixed + made.arrangement.tokens
        assert made.plan.making.tokens_after <= 1_000 + fixed // 2 + 40


def test_steps_that_are_not_needed_are_not_taken() -> None:
    """Elision alone may do."""
    made = plan("u:10 t:900 t:900 t:900 a:1", 2_950)
    assert (made.plan.making.step, made.plan.left_out.messages, made.plan.notice.text) == (1, 0, "")
    assert {"m3"} <= made.plan.cuts.keys() <= {"m1", "m2", "m3"}
    assert (
        plan("u:9 a:100! a:40 a:40 a:40 u:9 a:9", 300, protected_recent=1.0).plan.making.step == 4
    )  # what is recent, too


def test_a_large_newest_result_leaves_room_to_older_messages() -> None:
    """Its results take three tenths of the room; what a person said beside it shortens it no further."""
    words = "u:10 " + "t:200 " * 10
    large = plan(f"{words} t:900", 2_000)
    (newest,) = [tokens for name, tokens in large.cut_tokens.items() if name == large.plan.upto]
    assert 200 < newest < 400
    assert large.plan.making.tokens_after > 900
    beside = plan(f"{words} u:500 t:200", 2_000)
    assert beside.plan.upto not in beside.plan.cuts


@pytest.mark.parametrize(
    ("end", "fixed", "budget", "room"),
    [
        ("t:900", 500, 2_500, 1_000),  # the head takes its part
        ("t:700 u:500", 0, 2_000, 1_000 - 510),  # an earlier one gets its share of what the newest messages leave
    ],
)
def test_a_large_result_gets_its_share_of_what_is_left(end: str, fixed: int, budget: int, room: int) -> None:
    """Of the target, without what is taken already."""
    words = "u:10 " + "t:200 " * 10 + end
    made = plan(words, budget, fixed=fixed)
    tokens = made.cut_tokens[next(f"m{at}" for at, word in enumerate(words.split()) if word == end.split()[0])]
    assert NEWEST_SHARE * room / 2 < tokens <= NEWEST_SHARE * room


def test_what_is_said_with_a_call_is_not_counted_as_its_result() -> None:
    """A long text before the newest call leaves its result whole, if that is small."""
    messages = history("u:10 " + "t:200 " * 10 + "t:200")
    messages[-2]["content"] = "word " * 240  # 300 tokens
    assert messages[-1]["metadata"]["message_id"] not in compact(request_of(messages, 2_000)).plan.cuts


def test_a_result_that_is_held_is_shortened_to_the_second_goal_only() -> None:
    """Before it is taken, a plan may stop above the target by what is held, at most 0.7 of the way to the threshold."""
    held = plan("u:10 " + "u:100 a:120 " * 5 + "u:10 t:290", 2_000).plan
    assert "m12" not in held.cuts
    assert 1_000 + 200 < held.making.tokens_after <= 1_000 + 300
    large = plan("u:10 t:500", 1_000, fixed=600).plan  # more than its share is shortened to the first goal at once
    target, above = 600 + 0.5 * 400, 0.42 * 400
    assert target < large.making.tokens_after <= target + 0.4 * above
    assert large.making.step == 1


FLOORS: list[tuple[str, int, int, dict[str, int]]] = [
    ("u:900", 500, 0, {"last human message": 900}),
    ("s:200 u:300 a:1", 400, 0, {"system messages": 200, "last human message": 300, "newest messages": 1}),
    (
        "u:10 a:600! u:5 a:1",
        500,
        0,
        {"pins": 600, "last human message": 5, "newest messages": 1, "inserted messages": 2},
    ),
    ("u:10 a:600 u:5 a:1", 500, 700, {"system prompt, tools and overhead": 700, "last human message": 5}),
    ("u:10 t:900", 0, 0, {"last human message": 10, "newest messages": 12}),
]


@pytest.mark.parametrize(("words", "budget", "fixed", "parts"), FLOORS)
def test_the_floor_says_what_is_fixed_and_by_what(words: str, budget: int, fixed: int, parts: dict[str, int]) -> None:
    """Tokens by name, which come to the smallest view."""
    with pytest.raises(FloorError) as caught:
        plan(words, budget, fixed=fixed)
    error = caught.value
    assert error.budget_tokens == budget
    assert sum(error.fixed.values()) == error.needed_tokens > budget
    for name, tokens in parts.items():
        assert tokens <= error.fixed[name] <= tokens + 20
        assert re.search(rf"{name}( \(`preserve_system`\))? {error.fixed[name]:,}", str(error))


def test_pins_that_do_not_fit_are_named() -> None:
    """The largest five by id, with the tokens that each holds, and how many more there are."""
    with pytest.raises(FloorError) as caught:
        plan("u:10 " + " ".join(f"a:{100 + n}!" for n in range(7)) + " t:300! u:5 a:1", 500)
    named = "m8 (300 tokens), m7 (106 tokens), m6 (105 tokens), m5 (104 tokens), m4 (103 tokens), and 3 more"
    assert str(caught.value).endswith(f". Pinned: {named}")
    assert len(caught.value.pins) == 8
    with pytest.raises(FloorError) as caught:
        plan("u:900", 500)
    assert "Pinned" not in str(caught.value)


async def test_the_error_of_a_request_names_its_pins() -> None:
    """The caller learns which messages to unpin, each time it asks."""
    manager = InMemoryContextManager(max_tokens=1_000, tokenizer="estimate")
    pinned = {"role": "user", "content": "word " * 3_000, "metadata": {"pinned": True, "message_id": "my-pin"}}
    await fill(manager, [pinned, {"role": "user", "content": "go on"}])
    for _ in range(2):
        with pytest.raises(ContextLengthError, match=r"Pinned: my-pin \(3,\d\d\d tokens\)"):
            await manager.get_messages_for_request()
    await manager.close()


def test_what_fits_exactly_is_no_floor() -> None:
    """The error's own figure is a budget that does."""
    with pytest.raises(FloorError) as caught:
        plan("u:500 a:300 u:400 t:900", 100)
    assert (
        plan("u:500 a:300 u:400 t:900", caught.value.needed_tokens).plan.making.tokens_after
        == caught.value.needed_tokens
    )


# --- the notice -------------------------------------------------------------------------------------------------------


def told(made: Compaction) -> str:
    """What a plan inserts to tell what is missing."""
    lines = [cut.then for cut in made.plan.cuts.values() if cut.then]
    marks = [gap.text for gap in made.plan.left_out.gaps or () if not gap.after]
    return "\n".join([*marks, *lines, made.plan.notice.text])


def test_the_notice_stands_at_the_last_gap() -> None:
    """Before the newest human message it is a user's message that says where it comes from."""
    words = "s:5 u:10 " + "t:100 " * 30 + "u:10 a:10 u:10 a:10"
    made = plan(words, 10_000, compact_threshold=0.3, target_usage=0.1, protected_tool_results=0, protected_recent=0.0)
    place = next(at for at, item in enumerate(made.arrangement.items) if item.inserted is not None)
    assert made.arrangement.items[place + 1].entry.id == made.plan.notice.before
    inserted = made.arrangement.items[place].inserted
    assert inserted == {
        "role": "user",
        "content": made.plan.notice.text,
        "metadata": {"source": "context-compaction"},
    }
    shows(made.plan.notice.text, "<system-reminder>\n", f"{made.plan.left_out.messages} earlier messages are left out")


def test_in_the_turn_in_progress_the_notice_ends_a_result() -> None:
    """A user's message would begin a new turn there."""
    made = plan("s:5 u:10 " + "t:100 " * 30 + "a:10", 10_000, compact_threshold=0.3, target_usage=0.1)
    assert made.plan.left_out.messages
    assert made.plan.notice.text == ""
    assert all(item.inserted is None for item in made.arrangement.items)
    assert "earlier messages are left out" in made.plan.cuts[made.plan.left_out.gaps[-1].after].then


NOTICES: list[tuple[dict[str, Any], str]] = [
    ({}, "rather than guess"),
    ({"compaction_notice_verbosity": "minimal"}, "are left out of this view"),
    ({"compaction_notice_verbosity": "verbose"}, "went to step 3 to fit 10,000 tokens"),
    ({"compaction_notice_enabled": False}, ""),
    ({"recall": False}, "look again at a file or a result rather than guess"),
    ({}, "The tool recall gives them back"),
    ({"max_tokens": 9_999}, "They are kept in the session's log"),  # too small a session for it
    ({"compaction_notice_min_level": 4}, ""),
    ({"compaction_notice_min_level": 3}, "rather than guess"),
    ({"compaction_notice_token_reserve": 5}, ""),
    ({"compaction_notice_token_reserve": 30}, "are left out of this view"),
]


@pytest.mark.parametrize(("config", "text"), NOTICES)
def test_what_the_notice_says(config: dict[str, Any], text: str) -> None:
    """As much as is configured, and as its reserve allows."""
    made = plan(LONG, 10_000, **{"compact_threshold": 0.3, "target_usage": 0.1, **config})
    assert text in told(made)
    assert ("<system-reminder>" in told(made)) is bool(text)


def test_a_small_budget_has_no_notice() -> None:
    """It takes two per cent of the budget at most."""
    assert "<system-reminder>" not in told(plan(LONG, 500))


def test_the_notice_counts_in_words() -> None:
    """One is singular."""
    made = plan("u:10 a:1500 a:10 u:10 a:900", 2_000, compaction_notice_verbosity="minimal")
    assert "\n1 earlier message is left out of this view.\n" in told(made)
    assert "[1 message left out" in told(made)


# --- when -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tokens", "worth"), [(960, False), (970, True), (1_001, True)])
def test_a_plan_must_be_worth_it(tokens: int, worth: bool) -> None:
    """Unless the view does not fit without it."""
    made = plan("u:10 a:1 u:10 a:900", 1_000)
    made = replace(made, plan=made.plan.with_tokens(920))
    assert frees_enough(Config.load(), made, budget_tokens=1_000, tokens=tokens, messages=4) is worth


# --- known failures of other context modules --------------------------------------------------------------------------


def words_of(chars: int) -> str:
    return ("The order keeps its total until it was acknowledged. " * (chars // 53 + 1))[:chars]


@proof
async def test_a_huge_message_of_blocks_does_not_make_every_request_compact() -> None:
    """A user's message of 516,184 characters in blocks: few plans over many requests, and valid views."""
    session = Session(max_tokens=160_000)
    parts = [{"type": "text", "text": words_of(129_046)} for _ in range(4)]
    await session.add({"role": "user", "content": parts})
    for turn in range(100):
        call = {"id": f"c{turn}", "tool": "bash", "arguments": {"command": f"ls {turn}"}}
        await session.add(
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "name": "bash", "content": words_of(1_500)},
        )
        if turn % 30 == 7:
            await session.add({"role": "user", "content": f"Go on with part {turn}."})
        view = await session.request()
        if turn % 30 == 0:
            assert_valid(view, budget_tokens=160_000, count=lambda m: count_message(m, EstimateCounter()))
    tried = len(session.host.of("context:pre_compact"))
    assert session.plans <= tried <= 6


@proof
async def test_what_cannot_be_made_smaller_is_not_tried_again_at_every_request() -> None:
    """While the last human message takes most of the budget, plans are as rare as what they can free."""
    session = Session(max_tokens=30_000)
    await session.add({"role": "user", "content": words_of(100_000)})
    for turn in range(60):
        call = {"id": f"c{turn}", "tool": "bash", "arguments": {}}
        await session.add(
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "name": "bash", "content": words_of(400)},
        )
        assert_valid(await session.request(), budget_tokens=30_000, count=lambda m: count_message(m, EstimateCounter()))
    assert len(session.host.of("context:pre_compact")) <= 10


async def test_a_view_that_cannot_fit_is_refused_without_planning_again() -> None:
    """Nothing has changed, so nothing is tried."""
    session = Session(max_tokens=1_000)
    await session.add({"role": "user", "content": words_of(20_000)})
    for _ in range(5):
        with pytest.raises(Exception, match="last human message"):
            await session.request()
    assert len(session.host.of("context:pre_compact")) == 1


async def test_an_image_is_not_counted_as_prose() -> None:
    """Megabytes of base64 leave the history as it is."""
    manager = InMemoryContextManager(max_tokens=40_000, tokenizer="estimate")
    await manager.add_message({"role": "user", "content": "What do you see?"})
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAA" + "QUJD" * 700_000}
    await fill(
        manager,
        [
            {"role": "user", "content": [{"type": "image", "source": source}]},
            {"role": "assistant", "content": "A chart."},
            {"role": "user", "content": "Of what?"},
        ],
    )
    assert await manager.get_messages_for_request() == await manager.get_messages()


@proof
async def test_a_cap_on_messages_is_kept_by_plans_that_free_few_tokens() -> None:
    """`max_messages` counts by itself, however short the messages are."""
    session = Session(max_tokens=200_000, max_messages=20)
    for turn in range(100):
        await session.add({"role": "user", "content": f"Question {turn}"})
        assert len(await session.request()) <= 20
        await session.add({"role": "assistant", "content": "Yes."})
    assert session.plans <= 20


@pytest.mark.parametrize("strategy", ["truncate", "importance", "sliding_window"])
def test_where_only_messages_are_too_many_nothing_is_shortened(strategy: str) -> None:
    """A shorter message is one message still; whole groups go, also of what people said."""
    made = plan(
        "u:10 a:300 " + "t:50 u:300 a:300 " * 10 + "t:300", 100_000, max_messages=20, compaction_strategy=strategy
    )
    assert not any(cut.shortens for cut in made.plan.cuts.values())
    assert 5 <= len(made.plan.keep) <= 10


def test_a_plan_made_of_a_plan_keeps_the_notice_where_the_gap_is() -> None:
    """Where nothing more is dropped, the place of the cut is that of the plan before."""
    messages = history("u:10 u:10 t:900 t:900 t:900 a:1")
    entries = [classify(key, message, count) for key, message in enumerate(messages)]
    made = compact(
        PlanRequest(
            entries,
            config=Config.load({"truncate_chars": 200, "protected_tool_results": 0, "protected_recent": 0.0}),
            budget_tokens=3_500,
            fixed_tokens=0,
            count=count,
            fetch=lambda wanted: (dict(messages[entry.ordinal]) for entry in wanted),
            plan_id="p2",
            so_far=ViewSoFar(Plan("p1", "m1", ("m0", "m1"), notice=Notice("gone", "m1"), left_out=LeftOut(7))),
            history=RestOfHistory(7),
        )
    )
    assert (made.plan.making.step, made.plan.notice.before, made.plan.left_out.messages) == (1, "m1", 7)
    assert [item.inserted is not None for item in made.arrangement.items[:3]] == [False, True, False]


def test_what_holds_a_view_together_counts_too() -> None:
    """Where inserted messages take the room, the largest pieces are shortened further than the target asks."""
    summary = Summary("what was done", frozenset(), 0)
    made = plan("u:10 " + "a:1! t:1! " * 200 + "t:500", 1_000, target_usage=0.9, summary=summary)
    assert sum(item.inserted is not None for item in made.arrangement.items) >= 200
    assert 950 < made.plan.making.tokens_after <= 1_000  # and no further than that
    assert made.plan.making.step == 6
    shows(made.plan.notice.text, "what was done")


def ran(number: int, command: str, result: str) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "tool": "bash", "arguments": {"command": command}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call], "metadata": {"message_id": f"m{number}a"}},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result, "metadata": {"message_id": f"m{number}b"}},
    ]


MESSAGES = [
    *ran(0, "make all", "make: *** Error 1"),
    *ran(1, "cd /home/u/src && make LIBS=-lwrong", "make: *** Error 1"),
    *ran(2, "make all", "built"),
    *ran(3, "make check", "FAILED: two tests"),
]


def test_what_failed_and_is_left_out_is_told() -> None:
    """Not what succeeded later, nor what the view still shows; without the directory that it went to."""
    made = draft_of(MESSAGES, 100)
    for position in (0, 1, 2):
        made.leave_out(position)
    assert failed_commands(made, ["older"]) == ("older", "make LIBS=-lwrong")
    made.leave_out(3)
    assert failed_commands(made, ["make LIBS=-lwrong"]) == ("make LIBS=-lwrong", "make check")


def test_a_long_command_ends_with_a_word() -> None:
    """Its first line, and no more of it than is worth a line."""
    made = draft_of(ran(0, "pytest " + "tests/some_file.py " * 20 + "\nmore", "error: no such test"), 100)
    made.leave_out(0)
    (line,) = failed_commands(made, [])
    assert line.endswith("tests/some_file.py …")
    assert len(line) < 90


def test_a_search_that_finds_nothing_was_not_in_vain() -> None:
    """It answered, as a comparison does that finds a difference; one that could not be made failed."""
    made = draft_of(
        [
            *ran(0, "grep -rn name src", "Command exited with code 1"),
            *ran(1, "cd /w && diff a b", "2c2\n< one\n---\n> two\n\nexit code: 1"),
            *ran(2, "grep name gone.py", "grep: gone.py: No such file or directory\nexit code 2"),
            *ran(3, "make all", "exit code 1"),
            *ran(4, "rg name lib", "lib: No such file or directory (os error 2)\nexit code 2"),
            *ran(5, "rg name lib", "exit code 1"),
            *ran(6, "cmp a b", "exit code 1"),
            *ran(7, "cmp a b", "cmp: b: No such file or directory\nexit code 2"),
        ],
        100,
    )
    for position in range(8):
        made.leave_out(position)
    assert failed_commands(made, []) == ("grep name gone.py", "make all", "cmp a b")


def test_every_token_of_a_draft_has_one_name() -> None:
    """System text, pins, the last human message, the newest messages and the rest add up to the draft."""
    made = draft("s:10 a:90 a:40! u:20 a:30 a:5", 1_000)
    named = floor(made)
    assert sum(named.values()) == made.total_tokens == 195
    assert named["system messages"] == 10
    assert named["pins"] == 40
    assert named["last human message"] == 20
    assert named["system prompt, tools and overhead"] == 0
    assert named["newest messages"] > 0
    assert named["other messages"] >= 90
    made.leave_out(1)
    assert sum(floor(made).values()) == 105  # the floor is of what stays


def test_pins_are_told_with_their_groups() -> None:
    """A pinned result holds its call, too."""
    made = draft("u:10 t:90! a:40! u:5", 1_000)
    assert pinned(made) == [("m1", 90), ("m2", 40)]
    made.leave_out(2)
    assert pinned(made) == [("m1", 90)]


MARGIN = SAFETY_MARGIN_TOKENS


@pytest.mark.parametrize(
    ("config", "explicit", "window", "budget"),
    [
        ({}, None, None, 200_000),
        ({"max_tokens": 500}, None, None, 500),
        ({}, 0, None, 0),
        ({}, 700, None, 700),
        ({}, 700, ModelLimits(100_000), 700),
        ({}, 900_000, ModelLimits(100_000), 900_000),  # the caller knows
        ({"max_tokens": 500}, 700, None, 500),  # a configured `max_tokens` is a cap
        ({"max_tokens": 500}, None, ModelLimits(100_000), 500),
        ({"max_tokens": 500_000}, None, ModelLimits(100_000), 100_000 - MARGIN),
        ({}, None, ModelLimits(100_000, 8_000), 92_000 - MARGIN),
        ({}, None, ModelLimits(1_000_000, 8_000), 992_000 - MARGIN),  # the default of `max_tokens` is none
        ({}, None, ModelLimits(100_000, 90_000), 50_000 - MARGIN),  # at most half is kept free for the answer
        ({"output_reserve_fraction": 0.5}, None, ModelLimits(100_000, 8_000), 96_000 - MARGIN),
        ({"output_reserve_fraction": 0}, None, ModelLimits(100_000, 8_000), 100_000 - MARGIN),
        ({}, None, ModelLimits(MARGIN), 200_000),  # nonsense
        ({"max_tokens": 500}, None, ModelLimits(3), 500),
    ],
)
def test_the_budget(config: dict[str, Any], explicit: int | None, window: ModelLimits | None, budget: int) -> None:
    """Explicit, else the window less answer and margin, else `max_tokens`, which caps them where it is configured."""
    assert budget_tokens(Config.load(config), explicit, window) == budget


@pytest.mark.parametrize(
    ("config", "explicit", "window", "budget"),
    [
        ({}, None, ModelLimits(1_000_000, 8_000), 272_000 - MARGIN),
        ({}, None, ModelLimits(200_000, 8_000), 192_000 - MARGIN),
        ({}, None, None, 200_000),
        ({"max_tokens": 500_000}, None, ModelLimits(1_000_000), 500_000),  # whoever says so pays for it
        ({}, 300_000, ModelLimits(1_000_000), 300_000),
    ],
)
def test_a_budget_stays_below_a_step_of_the_tariff(
    config: dict[str, Any], explicit: int | None, window: ModelLimits | None, budget: int
) -> None:
    """Above it whole requests cost more; what somebody asked for is theirs."""
    assert budget_tokens(Config.load(config), explicit, window, step_tokens=272_000) == budget


@pytest.mark.parametrize("explicit", [-1, 1.5, "1000", True, float("nan")])
def test_an_explicit_budget_is_a_number_of_tokens(explicit: Any) -> None:
    """Anything else is an error that says so."""
    with pytest.raises(ValueError, match=r"token_budget is .*; it must be a number of tokens, 0 or more"):
        budget_tokens(Config.load(), explicit, None)


@pytest.mark.parametrize(
    ("published", "window", "warnings"),
    [
        (SimpleNamespace(context_window=100, max_output_tokens=10), ModelLimits(100, 10), 0),
        ({"context_window": 100, "max_output_tokens": 10}, ModelLimits(100, 10), 0),
        ({"context_window": 100}, ModelLimits(100), 0),
        ({"context_window": 100, "max_output_tokens": 0}, ModelLimits(100), 0),
        ({"context_window": 100, "max_output_tokens": "many"}, ModelLimits(100), 1),
        ({"context_window": 100, "max_output_tokens": -5}, ModelLimits(100), 1),
        ({}, None, 0),
        ({"context_window": None}, None, 0),
        ({"context_window": 0}, None, 0),
        ({"context_window": -1}, None, 1),
        ({"context_window": True}, None, 1),
        ({"context_window": 1e6}, None, 1),
        ("nothing of the kind", None, 0),
    ],
)
def test_what_a_provider_publishes(
    published: Any, window: ModelLimits | None, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Attributes or keys are read; what is unknown is that, and nonsense is ignored with a warning."""
    with caplog.at_level(logging.WARNING):
        assert read_window(published) == window
    assert len(caplog.records) == warnings


def test_a_window_without_room_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The budget is then that of `max_tokens`."""
    budget_tokens(Config.load(), None, ModelLimits(500))
    assert "the provider's window of 500 tokens leaves no room" in caplog.text


def test_a_long_turn_in_progress_takes_no_final_answers_before_it_takes_peoples_words() -> None:
    """Neither comes back in a later plan, so the view may be larger by that turn."""
    made = draft("u:9 a:60 u:9 t:100 t:100 t:100 t:100", 1_000)
    goals = Goals.of(made)
    assert goals.at(Stage.SECOND_ANSWERS, made) == goals.at(Stage.PEOPLE, made) > goals.at(Stage.TEXTS, made)


@pytest.mark.parametrize("turn_in_progress", ["u:9 " + "t:150 " * 4, "u:9 " + "t:150 " * 8])
@pytest.mark.parametrize("turns", [20, 22, 25, 30])
def test_an_early_plan_leaves_out_no_answers_that_a_usual_plan_keeps(turns: int, turn_in_progress: str) -> None:
    """Nor people's messages, also if not all of them fit and newest messages raise the goals."""
    words = history("u:50 a:64 " * turns + turn_in_progress)
    said = {f"m{place}" for place in range(2 * turns)}
    usual, early = [said.intersection(compact(request_of(words, 3_600, target_share=s)).plan.keep) for s in (1, 0.86)]
    assert usual <= early
    assert usual < said


@pytest.mark.parametrize("share", [1.0, 0.86])
def test_an_early_plan_leaves_out_no_answers_that_fit_the_usual_target(share: float) -> None:
    """It saves the price of tokens, and what was concluded would not come back."""
    made = compact(request_of(history("u:50 a:64 " * 13 + "u:9 t:150"), 3_600, target_share=share))
    people = {f"m{place}" for place in range(0, 27, 2)}
    answers = {f"m{place}" for place in range(1, 26, 2)}
    assert answers | people <= set(made.plan.keep)
    assert made.plan.making.target_tokens == int(1_800 * share)
