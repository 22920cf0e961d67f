"""Which requests find nothing in a provider's cache."""

import pytest

from amplifier_module_context_persistent.window.thresholds import PromptCache

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
        assert not cache.note_request(provider, model, now=NOON, viewed_at="")
    assert cache.note_request(provider, model, now=now, viewed_at=NOON if restarted else "") is cold


@pytest.mark.parametrize(("ttl_s", "cold"), [(3600.0, False), (60.0, True), (0.0, False)])
def test_the_configuration_says_how_long_it_lives(ttl_s: float, cold: bool) -> None:
    """Zero: pauses change nothing."""
    assert PromptCache(ttl_s).note_request("anthropic", "", now="2026-11-23T12:06:00Z", viewed_at=NOON) is cold


def test_a_request_warms_it_again() -> None:
    """The time counts from the last request, whatever the log says of earlier ones."""
    cache = PromptCache(None)
    assert cache.note_request("anthropic", "", now="2026-11-23T12:10:00Z", viewed_at=NOON)
    assert not cache.note_request("anthropic", "", now="2026-11-23T12:14:00Z", viewed_at=NOON)
    assert not cache.note_request("anthropic", "", now="2026-11-23T12:18:00Z", viewed_at=NOON)


def test_a_log_without_receipts_says_nothing() -> None:
    """As one that was just imported."""
    assert not PromptCache(None).note_request("anthropic", "", now=NOON, viewed_at="")
