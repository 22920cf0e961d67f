"""The stand-in for a provider that is asked for summaries, and what it is billed."""

import asyncio
from typing import Any

import pytest
from amplifier_core.message_models import ChatRequest
from amplifier_core.message_models import Message as ProviderMessage

from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.toolbox.replay.evidence import PlayedSession
from amplifier_module_context_persistent.toolbox.replay.measures import (
    ANSWER_PRICE,
    CACHED_PRICE,
    UNCACHED_PRICE,
    Measures,
)
from amplifier_module_context_persistent.toolbox.replay.play_session import Player
from amplifier_module_context_persistent.toolbox.replay.policies import POLICIES, CachedCounter
from amplifier_module_context_persistent.toolbox.replay.stand_in_summary import Excerpts
from fixtures.generate import generate_session
from tests.support.sweeps import proof


def asked(excerpts: Excerpts, *messages: dict[str, Any], most_tokens: int = 100) -> str:
    request = ChatRequest(messages=[ProviderMessage(**one) for one in messages], max_output_tokens=most_tokens)
    return asyncio.run(excerpts.complete(request)).content


def test_it_says_what_the_assistant_said() -> None:
    """The first line of each of its messages, the oldest that fit, in their order; and it keeps what it was asked."""
    excerpts = Excerpts()
    said = [{"role": "assistant", "content": f"answer {number}\nmore"} for number in range(3)]
    asks = {"role": "user", "content": "Sum it up."}
    assert asked(excerpts, {"role": "user", "content": "question"}, *said, asks) == "answer 0\nanswer 1\nanswer 2"
    assert asked(excerpts, *said, asks, most_tokens=5) == "answer 0\nanswer 1"
    assert asked(excerpts, asks) == "Sum it up."
    assert asked(excerpts, said[0], asks, most_tokens=1) == "nothing was said"
    taken = excerpts.take()
    assert [one.answer for one in taken][-1] == "nothing was said"
    assert taken[1].messages == [*said, asks]
    assert excerpts.take() == []


@proof
def test_what_it_is_asked_is_billed() -> None:
    """Requests for summaries, what of them was cached, and the answers are in the bill beside the views."""
    counter = CachedCounter(EstimateCounter())
    session = PlayedSession.of("generated-2", generate_session(2, 200), lambda message: count_message(message, counter))
    budget = session.tokens // 3
    measures = asyncio.run(
        Player(session, counter).play("summarize", POLICIES["summarize"], budget, {"summary_max_tokens": 200})
    )
    assert measures.summaries.count == measures.breaks > 0
    assert 0 < measures.summaries.cached_tokens < measures.summaries.tokens
    assert measures.summaries.answer_tokens > 0
    assert measures.over == 0


def test_the_bill_adds_up() -> None:
    """Each part by its price."""
    measures = Measures("s", 100, "summarize", 1_000, request_tokens=[100, 100], cached_tokens=50)
    measures.summaries.tokens, measures.summaries.cached_tokens, measures.summaries.answer_tokens = 40, 30, 7
    uncached = 200 - 50 + 40 - 30
    assert measures.billed == pytest.approx(uncached * UNCACHED_PRICE + 80 * CACHED_PRICE + 7 * ANSWER_PRICE)
