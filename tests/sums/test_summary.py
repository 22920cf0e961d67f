"""Sums of runs of messages: joined, they are the sum of both runs, wherever they were cut."""

import json
import random
from itertools import pairwise

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages.usage import ReportedUsage
from amplifier_module_context_persistent.sums.requests import Request
from amplifier_module_context_persistent.sums.summary import LARGEST, Summary
from tests.support.busy_logs import MODELS, message


def some_messages(seed: int, count: int) -> list[tuple[dict, int, list[Request]]]:
    rng = random.Random(seed)
    made = []
    for number in range(count):
        usage = ReportedUsage(rng.randrange(9), 1, 2, 3, "p", rng.choice(MODELS))
        requests = [Request(usage, 3, is_estimate=False, message_id="")] * (rng.random() < 0.2)
        made.append((message(number, rng), rng.randrange(12), requests))
    return made


def summed(messages: list[tuple[dict, int, list[Request]]]) -> Summary:
    summary = Summary()
    for one, tokens, requests in messages:
        summary.add(one, tokens, requests)
    return summary


def finished(summary: Summary) -> list:
    summary.finish()
    told = summary.to_json()
    for calls in told[7].values():  # by id, and in the order of the calls
        calls.sort()
    return json.loads(json.dumps(told, sort_keys=True))


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 1 << 30), count=st.integers(0, 40), cuts=st.lists(st.integers(0, 40), max_size=6))
def test_joined_sums_are_the_sum_of_all(seed: int, count: int, cuts: list[int]) -> None:
    """Of any cuts, joined in any grouping, after being written down and read back."""
    messages = some_messages(seed, count)
    expected = finished(summed(messages))
    places = sorted({0, count, *(cut for cut in cuts if cut < count)})
    parts = [summed(messages[start:stop]) for start, stop in pairwise(places)]
    rng = random.Random(seed)
    while len(parts) > 1:
        at = rng.randrange(len(parts) - 1)
        first, second = (Summary.from_json(orjson.loads(orjson.dumps(part.to_json()))) for part in parts[at : at + 2])
        first.join(second)
        parts[at : at + 2] = [first]
    assert finished(parts[0] if parts else Summary()) == expected


def test_a_result_answers_the_last_open_call_of_its_id() -> None:
    """Its failure counts in the turn of the call; a call that none answers stays open, a second result stands alone."""

    def call(*ids: str) -> dict:
        return {"role": "assistant", "content": "", "tool_calls": [{"id": one, "tool": "bash"} for one in ids]}

    def result(call_id: str, text: str) -> dict:
        return {"role": "tool", "tool_call_id": call_id, "content": text}

    asked = {"role": "user", "content": "go"}
    found = Summary()
    for one in (asked, call("a", "b"), asked, result("a", "Error: no"), result("a", "fine"), result("", "fine")):
        found.add(one, 1)
    found.finish()
    rows, shift = found.rows.as_turns()
    assert (rows.calls, rows.errors, shift) == ([2, 0], [1, 0], 1)
    assert found.tools == {"bash": [2, 1, 1, 1], "unknown": [0, 2, 0, 2]}
    assert found.open_by_row() == {1: 1}


def test_the_largest_are_kept_the_first_of_equals_before_others() -> None:
    """Through joining too."""
    first, second = Summary(), Summary()
    for summary, sizes in ((first, [5, 1, 5]), (second, [5, 9, 0] * 6)):
        for size in sizes:
            summary.add({"role": "user", "content": "x"}, size)
    first.join(second)
    assert first.largest == [(9, -4 - 3 * n) for n in range(6)] + [(5, 0), (5, -2), (5, -3), (5, -6)]
    assert len(first.largest) == LARGEST


def test_times_are_those_of_the_messages() -> None:
    """A turn lasts from its first time to its latest one; what tells no time, or an earlier one, adds nothing."""
    found = Summary()
    for second in (None, 30, 10, None, 50):
        stamp = f"2026-01-05T09:00:{second}Z" if second else "soon"
        found.add({"role": "assistant", "content": "x", "metadata": {"timestamp": stamp}}, 1)
    rows, _ = found.rows.as_turns()
    assert (rows.duration_s(0), rows.time_at, rows.line_at) == (20.0, [1], [-1])
