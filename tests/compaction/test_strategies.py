"""The strategies: what each leaves out first, and what all of them share."""

import pytest

from amplifier_module_context_persistent import InMemoryContextManager
from amplifier_module_context_persistent.compaction import strategies
from amplifier_module_context_persistent.compaction.strategies import STRATEGIES, lose_unimportant, scores, slide
from amplifier_module_context_persistent.config import STRATEGIES as NAMES
from amplifier_module_context_persistent.errors import ConfigError
from fixtures.generate import generate_session
from tests.support.checker import assert_valid, prefix_breaks
from tests.support.drafts import check_total, cut, draft, draft_of, kept, named


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
    slide(made)
    assert kept(made) == places
    assert cut(made) == ""
    check_total(made)


def test_a_window_that_fits_does_not_move() -> None:
    """Only a plan that has to free tokens moves it."""
    made = draft("u:10 a:90 a:90 u:1 a:1", 1_000, keep_recent=1)
    slide(made)
    assert kept(made) == "0 1 2 3 4"


def test_the_score_is_what_the_documentation_says() -> None:
    """References by later calls, a person's word, errors and recency add up."""
    messages = named(
        ["see a_name_used and b_name_used, c_name_used", "Error: no", "ok"], arguments="a_name_used b_name_used"
    )
    made = draft_of(messages, 10)
    assert scores(made) == [
        strategies.HUMAN,
        2 * strategies.REFERENCED + strategies.RECENT // 4,
        strategies.ERROR + strategies.RECENT * 2 // 4,
        strategies.RECENT * 3 // 4,
        strategies.RECENT,
    ]


def test_the_least_important_goes_first() -> None:
    """Results are shortened, then groups left out, in the order of their scores and not of their age."""
    text = "plain words only\n" * 100
    names = " ".join(f"{letter}_name_used" for letter in "abcde")
    messages = named([f"uses {names}\n{text}", text, text, "ok"], arguments=names)
    made = draft_of(messages, 1_000, protected_recent=0.0)
    lose_unimportant(made)
    assert (cut(made), kept(made)) == ("m4", "0 1 2 3 4 5")
    made = draft_of(messages, 60, protected_recent=0.0)
    lose_unimportant(made)
    assert kept(made) == "0 1 4 5"
    check_total(made)


@pytest.mark.parametrize("name", NAMES)
async def test_every_strategy_keeps_the_rules_and_the_budget(name: str) -> None:
    """Views are valid and within the budget, the prefix breaks with plans only, and the plan says whose it is."""
    manager = InMemoryContextManager(max_tokens=9_000, tokenizer="estimate", compaction_strategy=name, keep_recent=300)
    views, history = [], []
    for message in generate_session(3, 120, mean_bytes=0):
        if message["role"] == "assistant":
            views.append(await manager.get_messages_for_request())
            assert_valid(views[-1], history=history)
        await manager.add_message(message)
        history = await manager.get_messages()
    assert 1 <= prefix_breaks(views) <= 12
    await manager.close()
