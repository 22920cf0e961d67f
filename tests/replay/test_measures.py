"""What a session costs."""

import pytest

from amplifier_module_context_persistent.replay.measures import Measures, Prices

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
    assert prices is not None
    assert prices.cost(MEASURES) == pytest.approx(cost)


def test_without_prices_there_is_no_cost():
    """None of them is no price; a part of them without the plain price is an error."""
    assert Prices.of(base=None) is None
    for given in ({"cached": 1.0}, {"write": 1.0}):
        with pytest.raises(ValueError, match="plain input price"):
            Prices.of(base=None, **given)
