"""Far evidence: what counts as a name, where it was said, and which text of a view is original."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.toolbox.replay.evidence import (
    TermFinder,
    action_text,
    far_evidence,
    identifiers,
    parts_of,
    said,
)
from amplifier_module_context_persistent.toolbox.replay.measures import Measures, Prices
from tests.support.commands import shows
from tests.support.messages import user
from tests.support.replays import call, result


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
    shows(shown.original, "alpha one", "gamma three", "delta four")
    assert "gone" not in shown.original
    assert "gone" in shown.text
    assert sorted(shown.inserted) == ["[2 lines of beta_file gone]", "[more]"]
    assert said(original, original) == said(dict(original), dict(original))
    assert said(original, original).inserted == ()
    assert said(original, original).original is said(original, original).text
    glued = said({**original, "content": "alpha ta four"}, original)
    assert not glued.inserted
    assert glued.original is not glued.text
    notice = user("3 left out: far_name", source="context-compaction")
    assert said(notice, None).original == ""
    assert said(notice, None).whole
    assert said(user("who says so?"), None).whole


MEASURES = Measures("s", 1_000, "p", 0, request_tokens=[1_000_000, 2_000_000], cached_tokens=1_000_000)


@pytest.mark.parametrize(
    ("given", "cost"),
    [
        ({"base": 4.0}, 2 * 5.0 + 0.4),
        ({"base": 4.0, "cached": 1.0}, 2 * 5.0 + 1.0),
        ({"base": 4.0, "write": 4.0}, 2 * 4.0 + 0.4),
        ({"base": None, "cached": 1.0, "write": 2.0}, 2 * 2.0 + 1.0),
        ({"base": 0.0}, 0.0),
    ],
)
def test_cached_and_other_tokens_have_their_prices(given, cost):
    """What is not given is filled in from the plain price, by the tenth and the 1.25 of billed equivalents."""
    prices = Prices.of(**given)
    assert prices.cost(MEASURES) == pytest.approx(cost)


def test_without_prices_there_is_no_cost():
    """None of them is no price; a part of them without the plain price is an error."""
    assert Prices.of(base=None) is None
    for prices in ({"cached": 1.0}, {"write": 1.0}):
        with pytest.raises(ValueError, match="plain input price"):
            Prices.of(base=None, **prices)


TERMS = ("a.py", "src/round_parcel.py", "round_parcel", "parcel", "größe", "0a1b2c3", "x-y", "xy", "x" * 70)
TEXTS = st.lists(st.sampled_from([*TERMS, "x", "y", "_", " ", "/", ".", "\n", "round"]), max_size=12).map("".join)


@given(st.lists(TEXTS, max_size=6), st.sets(st.sampled_from(TERMS)))
def test_each_term_is_found_that_a_text_contains(texts: list[str], terms: set[str]) -> None:
    """Whatever stands around it, and whatever was looked at before."""
    finder = TermFinder(terms)
    for text in texts:
        found = finder.terms_in(text)
        assert len(found) == len({*found})
        assert {*found} == {term for term in terms if term in text}
