"""Policies: what each hands out at a request, and which are baselines."""

from __future__ import annotations

import asyncio
import re

import pytest

from amplifier_module_context_persistent.config import STRATEGIES
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.replay import PolicyError
from amplifier_module_context_persistent.toolbox.replay.evidence import PlayedSession
from amplifier_module_context_persistent.toolbox.replay.play_session import Player
from amplifier_module_context_persistent.toolbox.replay.policies import (
    BASELINES,
    POLICIES,
    CachedCounter,
    ManagerPolicy,
    policy_of,
)
from benchmarks.compaction import play
from fixtures.generate import generate_session
from tests.support.counters import count
from tests.support.sweeps import proof

GENERATED = list(generate_session(5, 48, mean_bytes=0))


def test_a_cached_counter_counts_as_the_one_below_it():
    """The cache gives the same numbers under the same name, asking once for each text."""
    asked = []

    class Counting:
        name = "estimate"

        def count_text(self, text):
            asked.append(text)
            return len(text)

    counter = CachedCounter(Counting())
    assert [counter.count_text(text) for text in ("ab", "ab", "c")] == [2, 2, 1]
    assert asked == ["ab", "c"]
    assert counter.name == "estimate"


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_plays_a_message_with_a_key_like_that_of_a_reset(name):
    """A log may hold such a message; a manager would refuse it as a new one."""
    messages = [{**message, "_reset": 5} for message in GENERATED[:8]]
    session = PlayedSession.of("g", messages, count)
    measures = asyncio.run(play(Player(session, CachedCounter(EstimateCounter())), name, 4_000, {}))
    assert measures.requests == sum(message["role"] == "assistant" for message in messages)


@proof(quick=1)
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_makes_valid_views_of_a_generated_session(name):
    """On a session of several budgets every view is valid; those of the package are within the budget."""
    session = PlayedSession.of("g", GENERATED, count)
    budget = 4_000
    measures = asyncio.run(play(Player(session, CachedCounter(EstimateCounter())), name, budget, {}))
    assert (measures.invalid, measures.violations) == (0, [])
    assert measures.requests == sum(message["role"] == "assistant" for message in session.messages)
    assert name in ("none", "sliding") or measures.over == 0
    assert name != "none" or measures.over > 0
    assert (measures.breaks > 0) == (name != "none")
    assert name == "none" or measures.far < 1
    assert name != "none" or measures.far == 1
    assert name == "stateless" or measures.breaks <= measures.breaks_allowed


@proof
def test_recalls_that_are_expected_show_what_others_show():
    """In any case of letters, also where quotes are written with escapes, and of messages that came in between."""
    session = PlayedSession.of("g", generate_session(5, 60, mean_bytes=0), count)
    words = {word.strip(".,:;()`'\"") for message in session.messages for word in str(message["content"]).split()}
    terms = [*sorted(word for word in words if len(word) > 5)[::7], "No_such_name", 'a"quoted"name', "größe_x"]

    async def found(*, expected):
        policy = ManagerPolicy(8_000, EstimateCounter(), {})
        if expected:
            policy.expect_recalls(terms)
        answers = []
        for number, message in enumerate(session.messages):
            await policy.add(message)
            if number % 20 == 19:
                answers.append([await policy.recalls(term, "") for term in terms])
        await policy.close()
        return answers

    plainly = asyncio.run(found(expected=False))
    assert {True, False} == {shown for answers in plainly for shown in answers}
    assert asyncio.run(found(expected=True)) == plainly


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("bogus", "known: none, default, truncate"),
        ("", "known: none"),
        ("truncate:target=0.4", "target_usage"),
        ("truncate:target_usage", "NAME=VALUE"),
        ("truncate:target_usage=2", "allowed: 0 < share"),
        ("truncate:transcript_path=x", "is no option"),
        ("none:target_usage=0.4", "has no options"),
    ],
)
def test_an_unknown_policy_is_an_error_that_names_the_known(text: str, named: str) -> None:
    """So is an unknown option, and a value that is not allowed."""
    with pytest.raises(PolicyError, match=re.escape(named)):
        policy_of(text)


def test_policies_are_read_with_their_options() -> None:
    """Numbers and words are values as the configuration knows them; the default is a name of its own."""
    chosen = policy_of(" truncate:target_usage=0.4, truncate_boundary=char ")
    assert chosen.options == {"target_usage": 0.4, "truncate_boundary": "char"}
    assert chosen.name == "truncate:target_usage=0.4, truncate_boundary=char"
    assert policy_of("default").open is policy_of("truncate").open
    assert policy_of("sliding").open is POLICIES["sliding"]
    assert policy_of("stateless").open is POLICIES["stateless"]


def test_baselines_are_no_strategies():
    """What is only compared with cannot be configured, and has a name of its own."""
    assert set(BASELINES) == {"none", "stateless", "sliding"}
    assert not BASELINES.keys() & set(STRATEGIES)
    assert {**BASELINES, **{name: POLICIES[name] for name in STRATEGIES}} == POLICIES
