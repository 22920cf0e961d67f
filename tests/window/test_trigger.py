"""When a window plans: at the threshold, not again where it frees too little, and never where it may not."""

from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.summary_span import Span
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.errors import FloorError
from amplifier_module_context_persistent.window.plan_gain import reaches_min_gain
from amplifier_module_context_persistent.window.prompt_cache import PromptCache
from amplifier_module_context_persistent.window.request import ViewRequest
from amplifier_module_context_persistent.window.summary_request import PROMPT, flattened, instruction
from amplifier_module_context_persistent.window.when_to_plan import needs_plan
from tests.support.checker import same
from tests.support.commands import shows
from tests.support.counters import count
from tests.support.sweeps import proof
from tests.support.windows import TEXT, Desk


def test_no_plan_is_made_before_the_summary_that_is_wanted() -> None:
    """The caller gets the request for it in place of the view, and what a plan would begin with."""
    desk = Desk(summary_max_tokens=100)
    desk.talk(20)
    built = desk.window.build(desk.log, ViewRequest(budget_tokens=2_000, sums_up=True))
    assert (built.view, built.messages, built.planning.compaction) == (None, 40, None)
    assert isinstance(built.planning.span, Span)
    assert built.planning.span.ordinals
    assert built.tokens > 2_000
    assert desk.window.plan is None


@proof
def test_a_plan_that_frees_too_little_is_not_made_nor_tried_again() -> None:
    """Until the view has grown by `compact_min_gain`, or the budget has shrunk by so much or is too small."""
    desk = Desk(compact_min_gain=0.2, protected_recent=0.0)
    desk.talk(1, pinned=True)
    desk.add({"role": "user", "content": TEXT * 8})
    size = sum(map(count, desk.ask(10_000).view or []))
    budget = int(size / 0.95)
    assert desk.ask(budget).planning.compaction is None
    tried = next(desk.plan_ids)
    for drifting in (budget, budget + 9, int(budget * 0.97), budget):
        assert desk.ask(drifting).planning.compaction is None
    assert next(desk.plan_ids) == tried + 1
    desk.add({"role": "assistant", "content": "Yes."})
    desk.window.build(desk.log, ViewRequest(budget_tokens=int(budget * 0.95)))
    assert next(desk.plan_ids) == tried + 3


def test_the_next_process_does_not_plan_again_either() -> None:
    """Where a plan could not reach what is asked for, as little is tried after a restart as before it."""
    desk = Desk(max_messages=3)
    for _ in range(3):
        desk.add({"role": "user", "content": TEXT, "metadata": {"pinned": True}})
    desk.talk(5)
    desk.add({"role": "assistant", "content": TEXT * 40})
    first = desk.ask(3_000)
    assert first.planning.compaction is not None
    assert len(first.view or []) > 3
    desk.store()
    assert desk.ask(3_000).planning.compaction is None
    again = desk.ask(3_000, desk.new_window())
    assert again.planning.compaction is None
    assert same(again.view, first.view)


def test_an_error_is_raised_again_without_another_plan(desk: Desk) -> None:
    """While nothing has changed but the budget, and that not by enough; it names the budget at hand."""
    desk.add({"role": "user", "content": TEXT * 20})
    for budget in (100, 100, 50, 200):
        with pytest.raises(FloorError) as caught:
            desk.ask(budget)
        assert caught.value.budget_tokens == budget
    assert next(desk.plan_ids) == 1
    desk.ask(caught.value.needed_tokens)


NOON = "2026-11-23T12:00:00.000Z"


@pytest.mark.parametrize(
    ("provider", "model", "now", "cold"),
    [
        ("anthropic", "claude-opus-5-5", "2026-11-23T12:05:00.000Z", False),
        ("anthropic", "claude-opus-5-5", "2026-11-23T12:05:00.001Z", True),
        ("openai", "gpt-6.2-sol", "2026-11-24T11:59:00.000Z", False),
        ("openai", "gpt-6.2-sol", "2026-11-24T12:01:00.000Z", True),
        ("", "", "2026-11-23T12:06:00.000Z", True),
        ("anthropic", "", "2026-11-23T07:00:00.000Z", False),
        ("anthropic", "", "no time at all", False),
    ],
    ids=["within", "after", "a day at openai", "after a day", "nobody named", "a clock that went back", "no time"],
)
@pytest.mark.parametrize("restarted", [False, True])
def test_a_pause_longer_than_the_cache_lives_is_cold(
    provider: str, model: str, now: str, cold: bool, restarted: bool
) -> None:
    """By the request before, of this process or, as the log says, of the one before it."""
    cache = PromptCache(None)
    if not restarted:
        assert not cache.is_cold(provider, model, now=NOON, viewed_at="")
        cache.note_request(NOON)
    assert cache.is_cold(provider, model, now=now, viewed_at=NOON if restarted else "") is cold


@pytest.mark.parametrize(("ttl_s", "cold"), [(3600.0, False), (60.0, True), (0.0, False)])
def test_the_configuration_says_how_long_it_lives(ttl_s: float, cold: bool) -> None:
    """Zero: pauses change nothing."""
    assert PromptCache(ttl_s).is_cold("anthropic", "", now="2026-11-23T12:06:00Z", viewed_at=NOON) is cold


def test_a_request_warms_it_again() -> None:
    """The time counts from the last request, whatever the log says of earlier ones."""
    cache = PromptCache(None)
    colds = []
    for now in ("2026-11-23T12:10:00Z", "2026-11-23T12:14:00Z", "2026-11-23T12:18:00Z"):
        colds.append(cache.is_cold("anthropic", "", now=now, viewed_at=NOON))
        cache.note_request(now)
    assert colds == [True, False, False]


def test_a_log_without_receipts_says_nothing() -> None:
    """As one that was just imported."""
    assert not PromptCache(None).is_cold("anthropic", "", now=NOON, viewed_at="")


@pytest.mark.parametrize(
    ("config", "tokens", "messages", "wanted"),
    [
        ({}, 799, 10, False),
        ({}, 800, 10, True),
        ({"compact_threshold": 1.0}, 999, 10, False),
        ({"compact_threshold": 1.0}, 1_000, 10, True),
        ({"max_messages": 10}, 1, 10, False),
        ({"max_messages": 10}, 1, 11, True),
    ],
)
def test_a_plan_is_wanted_at_the_threshold(config: dict[str, Any], tokens: int, messages: int, wanted: bool) -> None:
    """Of a budget of 1,000 tokens, or over the messages that are allowed."""
    given = Config.load({"compact_threshold": 0.8, **config})
    assert needs_plan(given, tokens=tokens, messages=messages, budget_tokens=1_000) is wanted


@pytest.mark.parametrize(("tokens", "wanted"), [(649, False), (650, True)])
def test_a_turn_begins_with_a_plan_earlier(tokens: int, wanted: bool) -> None:
    """Half of the way from the target to the threshold: a plan in the middle of a tool loop would end its reasoning."""
    given = Config.load({"compact_threshold": 0.8, "target_usage": 0.5})
    assert needs_plan(given, tokens=tokens, messages=1, budget_tokens=1_000, begins_turn=True) is wanted
    assert not needs_plan(given, tokens=tokens, messages=1, budget_tokens=1_000)


@pytest.mark.parametrize(
    ("config", "tokens", "messages", "enough"),
    [
        ({}, 99, 0, False),
        ({}, 100, 0, True),
        ({}, 0, 1_000, False),
        ({"max_messages": 50}, 0, 4, False),
        ({"max_messages": 50}, 0, 5, True),
        ({"compact_min_gain": 0.0}, 0, 0, False),
        ({"compact_min_gain": 0.0}, 1, 0, True),
    ],
)
def test_a_gain_has_a_least_size(config: dict[str, Any], tokens: int, messages: int, enough: bool) -> None:
    """A tenth of the budget here, or of the messages that are allowed; never nothing."""
    given = Config.load({"compact_min_gain": 0.1, **config})
    assert reaches_min_gain(given, tokens=tokens, messages=messages, budget_tokens=1_000) is enough


MESSAGES = [
    {"role": "user", "content": "Look at a.py."},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": "read", "arguments": {"path": "a.py"}}]},
    {"role": "tool", "tool_call_id": "c", "name": "read", "content": "begin " + "x" * 5000 + " end"},
    {"role": "assistant", "content": [{"type": "text", "text": "It is long."}]},
]


def test_the_instruction_is_no_human_message() -> None:
    """It is a reminder in a user's role."""
    assert instruction("Do it.") == {"role": "user", "content": "<system-reminder>\nDo it.\n</system-reminder>"}


def test_a_conversation_is_flattened_to_one_text() -> None:
    """Roles, texts, calls and results are in it, in order, and the instruction after them."""
    content = flattened(MESSAGES, PROMPT, 100_000)["content"]
    for part in ("[user]\nLook at a.py.", '[call read c] {"path":"a.py"}', "[tool read]\nbegin", "It is long.", PROMPT):
        at = content.index(part)
        content = content[at:]


def test_long_texts_are_shortened_to_what_there_is_room_for() -> None:
    """Their beginnings and ends stay, and short texts stay whole."""
    content = flattened(MESSAGES, "", 1_000)["content"]
    assert len(content) < 1_100
    shows(content, "begin x", "x end", "It is long.")


def test_where_not_even_the_shortest_fit_the_oldest_go() -> None:
    """The end of the conversation is what stays."""
    content = flattened(MESSAGES * 50, "", 300)["content"]
    assert content.endswith("It is long.\n</conversation>\n\n")
    assert len(content) < 350
    assert flattened(MESSAGES, "", 0)["content"] == "<conversation>\n\n</conversation>\n\n"
