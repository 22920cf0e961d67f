"""The strategies: what each leaves out first, and what all of them share."""

import pytest

from amplifier_module_context_persistent import InMemoryContextManager
from amplifier_module_context_persistent.compaction import losses
from amplifier_module_context_persistent.compaction.always_kept import Stage
from amplifier_module_context_persistent.compaction.losses import ImportanceLoss
from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.compaction.shorter_forms import Forms
from amplifier_module_context_persistent.compaction.strategies import STRATEGIES, before_the_window
from amplifier_module_context_persistent.config import STRATEGIES as NAMES
from amplifier_module_context_persistent.errors import ConfigError
from fixtures.generate import generate_session
from tests.support.checker import assert_valid, prefix_breaks
from tests.support.drafts import choice, cut, draft, draft_of, history, kept, named, request_of
from tests.support.sweeps import proof


def test_every_name_that_is_allowed_has_its_steps() -> None:
    """The configuration and the steps know the same strategies, and any other name is an error that says which."""
    assert tuple(STRATEGIES) == NAMES
    with pytest.raises(ConfigError, match="sliding_window"):
        InMemoryContextManager(compaction_strategy="summarise")


@pytest.mark.parametrize(
    ("words", "keep_recent", "places"),
    [
        ("u:10 a:90 u:10 a:90 a:90 u:1 a:1", 3, "0 4 5 6"),
        ("u:10 a:90 u:10 t:90 t:90 u:1 a:1", 3, "0 4 5 6"),  # a whole tool group, though its result was enough
        ("s:10 u:10 a:90! a:90 u:90 a:9 u:1 a:1", 1, "0 1 2 6 7"),  # system text, pins, the first and last human's
        ("u:10 a:90 a:90 u:1 a:90 a:90 a:1", 2, "0 3 5 6"),
        ("u:10 a:90 a:90 u:1 a:90 a:90 a:1", 0, "0 3 6"),
        ("u:10 a:90 a:90 u:1 a:90 a:90 a:1", 99, "0 1 2 3 4 5 6"),
    ],
)
def test_the_window_keeps_the_newest_messages(words: str, keep_recent: int, places: str) -> None:
    """What is older goes at once, never a part of a tool group, and never what no step touches."""
    made = draft(words, 100, keep_recent=keep_recent)
    gone = before_the_window(made)
    assert " ".join(str(place) for place in made.kept_positions() if place not in gone) == places


def test_a_window_that_fits_does_not_move() -> None:
    """Only a plan that has to free tokens moves it."""
    messages = history("u:10 a:90 a:90 u:1 a:1")
    made = compact(request_of(messages, 2_000, keep_recent=1, compaction_strategy="sliding_window"))
    assert made.plan.keep == ("m0", "m1", "m2", "m3", "m4")


def test_the_score_is_what_the_documentation_says() -> None:
    """References by later calls, a person's word, errors and recency add up."""
    messages = named(
        ["see a_name_used and b_name_used, c_name_used", "Error: no", "ok"], arguments="a_name_used b_name_used"
    )
    made = draft_of(messages, 10)
    assert ImportanceLoss(made, Forms(made, ()), Stage.FREE).scores == [
        losses.HUMAN,
        2 * losses.REFERENCED + losses.RECENT // 4,
        losses.ERROR + losses.RECENT * 2 // 4,
        losses.RECENT * 3 // 4,
        losses.RECENT,
    ]


def test_the_least_important_goes_first() -> None:
    """Results are shortened, then groups left out, in the order of their scores and not of their age."""
    text = "plain words only\n" * 100
    names = " ".join(f"{letter}_name_used" for letter in "abcde")
    messages = named([f"uses {names}\n{text}", text, text, "ok"], arguments=names)
    made = choice(draft_of(messages, 1_000, protected_recent=0.0), loss=ImportanceLoss)
    assert (cut(made), kept(made)) == ("m4 m6", "0 1 2 3 4 5")
    made = choice(draft_of(messages, 30, protected_recent=0.0), loss=ImportanceLoss)
    assert kept(made) == "0 1 4 5"


@proof(quick=1)
@pytest.mark.parametrize("name", NAMES)
async def test_every_strategy_keeps_the_rules_and_the_budget(name: str) -> None:
    """Views are valid and within the budget, the prefix breaks with plans only, and the plan says whose it is."""
    manager = InMemoryContextManager(max_tokens=6_000, tokenizer="estimate", compaction_strategy=name, keep_recent=300)
    views = []
    for message in generate_session(3, 70, mean_bytes=0):
        if message["role"] == "assistant":
            views.append(await manager.get_messages_for_request())
            assert_valid(views[-1], history=await manager.get_messages())
        await manager.add_message(message)
    assert 1 <= prefix_breaks(views) <= 12
    await manager.close()
