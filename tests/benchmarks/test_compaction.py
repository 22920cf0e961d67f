"""The measures of the compaction benchmark, on sessions small enough to be counted by hand."""

import asyncio
import json

import pytest

from amplifier_module_context_persistent.replay.evidence import (
    Session,
    action_text,
    far_evidence,
    identifiers,
    parts_of,
    said,
)
from amplifier_module_context_persistent.replay.measures import Measures
from amplifier_module_context_persistent.replay.player import Player, common_prefix
from amplifier_module_context_persistent.replay.policies import POLICIES, CachedCounter
from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from benchmarks import compaction
from benchmarks.compaction import check as check_fully
from benchmarks.compaction import missed
from fixtures.generate import generate_session
from tests.support.checker import prefix_breaks


def count(message):
    return count_message(message, EstimateCounter())


def user(text, **metadata):
    return {"role": "user", "content": text, "metadata": metadata}


def call(call_id, **arguments):
    return {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "tool": "bash", "arguments": arguments}]}


def result(call_id, text, **metadata):
    return {"role": "tool", "tool_call_id": call_id, "name": "bash", "content": text, "metadata": metadata}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see lib/shop/cart.py, line 3.", {"lib/shop/cart.py"}),
        ("open cart.py:12 and README.md", {"cart.py", "README.md"}),
        ("curl http://localhost:4000/v1/x?y=1", {"http://localhost:4000/v1/x?y=1"}),
        ("cat x 2>/dev/null", set()),
        ("<b>bold</b> and 1/2 or a/b", set()),
        ("merge_cart(CartItem, cartItem) total x_y _private", {"merge_cart", "CartItem", "cartItem"}),
        ("Shop.Orders.CartTotal", {"CartTotal"}),
        ("at 0a1b2c3 and deadbeef and 1234567", {"0a1b2c3"}),
        ("grep 'new-session' \"two words here\" don't", {"new-session"}),
        ("plain words, nothing else", set()),
    ],
)
def test_identifiers_are_what_the_definition_says(text, found):
    """Paths, compound names, hex ids and quoted words are found, and ordinary words are not."""
    assert identifiers(text) == found


def test_what_a_message_says_counts_calls_once():
    """Arguments that stand in both forms of a call are one text."""
    message = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "so"},
            {"type": "tool_call", "id": "1", "name": "bash", "input": {"command": "ls", "limits": [1, "two"]}},
        ],
        "tool_calls": [{"id": "1", "tool": "bash", "arguments": {"command": "ls", "limits": [1, "two"]}}],
    }
    assert parts_of(message) == ["hm", "so", "ls", "two"]
    assert action_text(message) == "ls\ntwo"
    assert parts_of({**message, "content": ""}) == ["", "ls", "two"]


def test_far_evidence_is_used_next_known_before_and_long_ago():
    """An identifier counts if it last stood over twenty messages back, and if it does not stand everywhere."""
    filler = [user("plain words") for _ in range(19)]
    history = [user("far_name"), user("near_name"), *filler]
    action = call("1", command="far_name near_name new_name")
    assert far_evidence([*history, action]) == {21: ["far_name"]}
    assert far_evidence([*history, user("far_name again"), action]) == {22: ["near_name"]}
    often = [user("often_there") for _ in range(6)]
    assert far_evidence([*often, *filler, *filler, call("1", command="often_there")]) == {44: ["often_there"]}
    assert far_evidence([*often, *often, *filler, *filler, call("1", command="often_there")]) == {}


def test_original_text_is_what_history_said():
    """Head, tail and whole lines of a shortened text stay; the marker does not, nor does an inserted message."""
    original = result("1", "alpha one\nbeta two\ngamma three\ndelta four")
    shown = said(
        {**original, "content": "alpha one\n[2 lines of beta_file gone]\ngamma three\n[more]\ndelta four"}, original
    )
    assert "alpha one" in shown.original
    assert "gamma three" in shown.original
    assert "delta four" in shown.original
    assert "gone" not in shown.original
    assert "gone" in shown.text
    assert sorted(shown.inserted) == ["[2 lines of beta_file gone]", "[more]"]
    assert said(original, original) == said(dict(original), dict(original))
    assert said(original, original).inserted == ()
    notice = user("3 left out: far_name", source="context-compaction")
    assert said(notice, None).original == ""
    assert said(notice, None).whole
    assert said(user("who says so?"), None).whole


class Recorded:
    """A policy that hands out given views."""

    def __init__(self, views):
        self.views = iter(views)

    async def add(self, message):
        pass

    async def view(self):
        return next(self.views)

    def asked(self):
        return []

    async def recalls(self, term, inserted):
        return False

    async def close(self):
        pass


def play(messages, views, budget=1_000_000, check=check_fully):
    session = Session.of("s", messages, count)
    player = Player(session, EstimateCounter(), check=check)
    shown = views(session.messages)
    return asyncio.run(player.play("recorded", lambda *_: Recorded(shown), budget, {})), shown


def test_prefix_and_bill_are_counted_in_whole_messages():
    """What the request before began with is cached; the first message that differs and all behind it is not."""
    messages = [user("one"), call("1", x="1"), result("1", "r1"), call("2", x="2"), result("2", "r2"), call("3", x="3")]
    measures, shown = play(messages, lambda m: [m[:1], m[:3], [m[0], m[3], m[4]]])
    sizes = [count(message) for message in shown[1]]
    assert measures.requests == 3
    assert measures.breaks == prefix_breaks(shown) == 1
    assert measures.request_tokens == [sum(map(count, view)) for view in shown]
    assert measures.cached_tokens == 2 * sizes[0]
    uncached = sum(measures.request_tokens) - 2 * sizes[0]
    assert measures.billed == pytest.approx(1.25 * uncached + 0.1 * 2 * sizes[0])
    assert measures.invalid == 0
    assert measures.over == 0


def test_invalid_and_oversized_and_refused_views_are_counted():
    """A view with an orphaned result is invalid, one over the budget is over it, and None is a refusal."""
    messages = [user("one"), call("1", x="1"), result("1", "r1"), call("2", x="2"), result("2", "r2"), call("3", x="3")]
    measures, _ = play(messages, lambda m: [m[:1], [m[0], m[2]], None], budget=8)
    assert measures.invalid == 1
    assert "results" in measures.violations[0]
    assert measures.over == 1
    assert measures.refused == 1
    assert measures.requests == 3


def test_evidence_in_original_and_in_inserted_text_are_told_apart():
    """What only a notice names is a gain by placeholders; a refused view shows nothing."""
    filler = [user(f"word {n}") for n in range(21)]
    messages = [user("kept_name and lost_name and told_name"), *filler, call("1", x="kept_name lost_name told_name")]

    def views(m):
        notice = user("told_name is in the log", source="context-compaction")
        return [[{**m[0], "content": "kept_name and [...]"}, notice, m[-2]]]

    measures, _ = play(messages, views, check=None)
    assert (measures.evidence, measures.evidence_original, measures.evidence_shown) == (3, 1, 2)
    assert measures.far == pytest.approx(1 / 3)
    assert measures.far_gain == pytest.approx(1 / 3)
    assert 0 < measures.inserted_share < 1
    refused, _ = play(messages, lambda m: [None], check=None)
    assert (refused.evidence, refused.far) == (3, 0)


def test_common_prefix_is_byte_by_byte():
    """Two equal beginnings are common up to the first difference or the shorter end."""
    assert common_prefix([b"a", b"b", b"c"], [b"a", b"b", b"d"]) == 2
    assert common_prefix([], [b"a"]) == 0
    assert common_prefix([b"a"], [b"a", b"b"]) == 1


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
def test_every_policy_makes_valid_views_of_a_generated_session(name):
    """On a session of several budgets every view is valid; those of the package are within the budget."""
    session = Session.of("g", generate_session(5, 80, mean_bytes=0), count)
    budget = max(8_000, session.tokens // 4)
    player = Player(session, CachedCounter(EstimateCounter()), check=check_fully)
    measures = asyncio.run(player.play(name, POLICIES[name], budget, {}))
    assert measures.violations == []
    assert measures.requests == sum(message["role"] == "assistant" for message in session.messages)
    assert name in ("none", "sliding") or measures.over == 0
    assert name != "none" or measures.over > 0
    assert (measures.breaks > 0) == (name != "none")
    assert name == "none" or measures.far < 1
    assert name != "none" or measures.far == 1
    assert name == "stateless" or measures.breaks <= measures.breaks_allowed


def row(policy="truncate", **values):
    measures = Measures("session-a", 40_000, policy, session_tokens=200_000, band=0.42, evidence=100)
    measures.request_tokens, measures.cached_tokens, measures.billed_ratio = [10_000] * 10, 90_000, 0.4
    measures.evidence_original = measures.evidence_shown = 80
    measures.evidence_recoverable = 100
    for name, value in values.items():
        setattr(measures, name, value)
    return measures


@pytest.mark.parametrize(
    ("changed", "said_of_it"),
    [
        ({}, ""),
        ({"invalid": 1}, "invalid"),
        ({"request_tokens": [10_000] * 9 + [40_001]}, "over the budget"),
        ({"breaks": 13}, "breaks"),
        ({"inserted_tokens": 5_000}, "inserted"),
        ({"cached_tokens": 10_000}, "stateless"),
        ({"evidence_original": 74}, "sliding"),
        ({"evidence_original": 72}, "at least 0.73"),
        ({"billed_ratio": 0.44}, "at most 0.43"),
        ({"evidence_recoverable": 99}, "99.0% of far evidence recoverable"),
    ],
)
def test_what_the_default_misses_is_named(changed, said_of_it):
    """Each thing that is required of the default is a sentence where it is not kept, and nothing where it is."""
    others = [row("stateless", cached_tokens=0), row("sliding", evidence_original=75)]
    found = missed([row(**changed), *others])
    assert bool(found) == bool(said_of_it)
    assert said_of_it in "\n".join(found)


def test_the_program_prints_a_table_and_writes_json(tmp_path, capsys, monkeypatch):
    """Without transcripts it says so and plays the generated sessions, and all measures are in the file."""
    monkeypatch.setattr("benchmarks.sessions.GENERATED", ((1, 30),))
    out = tmp_path / "rows.json"
    given = ["--budgets", "9000", "--fast", "--tokenizer", "estimate", "--json", str(out)]
    assert compaction.main([*given, "--transcripts", str(tmp_path), "--seeds", "1"]) in (0, 1)
    printed = capsys.readouterr().out
    assert "no transcripts" in printed
    assert "by the estimate" in printed
    rows = json.loads(out.read_text())["rows"]
    assert [one["policy"] for one in rows] == [
        "none",
        "sliding",
        "truncate",
        "summarize",
        "sliding_window",
        "importance",
    ]
    assert rows[0]["billed_ratio"] == 1
    assert {"cached_share", "far", "far_gain", "inserted_share", "mean_ms", "over"} <= set(rows[0])
    assert all(one["session"] in printed for one in rows)
