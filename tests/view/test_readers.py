"""Which reasoning each reader takes, whatever stands before it."""

import pytest

from amplifier_module_context_persistent.view.readers import BINDINGS, Bond, Reader, plain_model


@pytest.mark.parametrize(
    ("provider", "model", "checks"),
    [
        ("", "", True),
        ("anthropic", "", True),
        ("anthropic", "claude-opus-5-5", True),
        ("bedrock", "us.anthropic.claude-sonnet-5-5-20260928-v1:0", True),
        ("openrouter", "anthropic/claude-haiku-5.5", True),
        ("anthropic", "claude-fable-5-2", True),
        ("anthropic", "claude-mythos-5-1", True),
        ("anthropic", "claude-opus-6", True),  # not known yet: the careful way
        ("anthropic", "claude-opus-5", False),
        ("anthropic", "claude-sonnet-4-5-20250929", False),
        ("anthropic", "claude-3-7-sonnet-latest", False),
        ("openai", "", True),
        ("openai", "gpt-6.2-astra", True),
        ("openai", "gpt-7", True),
        ("openai", "gpt-6.1-sol", False),
        ("openai", "gpt-6-luna", False),
        ("openai", "gpt-5.2-codex", False),
        ("azure", "o3-mini", False),
        ("gemini", "gemini-3-pro", False),
        ("somebody", "", True),
    ],
)
def test_who_checks_the_prefix(provider: str, model: str, checks: bool) -> None:
    """The newest models, and whoever is not known."""
    assert Reader.of(provider, model).checks_prefix == checks


@pytest.mark.parametrize(
    ("reader", "maker", "reads"),
    [
        ("claude-fable-5-1", "claude-fable-5-1", True),
        ("claude-fable-5-1", "claude-opus-5", True),
        ("claude-fable-5-1", "claude-opus-5-5", True),
        ("claude-fable-5-1", "claude-sonnet-5-5", False),
        ("claude-opus-5-5", "claude-fable-5-1", False),
        ("claude-opus-5", "claude-fable-5-1", False),
        ("claude-opus-5", "claude-sonnet-4-5", True),
        ("claude-opus-5", "", True),
        ("", "claude-fable-5-1", True),
    ],
)
def test_claude_models_read_a_fixed_set_of_others(reader: str, maker: str, reads: bool) -> None:
    """Where both are named."""
    assert Reader("anthropic", reader).refuses(Bond("anthropic", "anthropic", maker)) != reads


def test_blocks_bound_to_an_account_go_to_the_provider_that_made_them() -> None:
    """The name of a provider stands for its account."""
    for model, refused in (("claude-sonnet-5-5", True), ("claude-opus-5-5", False)):
        assert Reader("anthropic", model).refuses(Bond("anthropic", "anthropic-work", model)) == refused


def test_unsigned_thinking_is_not_sent_to_anthropic() -> None:
    """Whoever made it; a reader that is not named gets everything."""
    bond = Bond(unsigned=True)
    assert Reader("anthropic", "claude-opus-4-5").refuses(bond)
    assert not Reader("ollama").refuses(bond)
    assert not Reader().refuses(bond)


def test_each_row_has_a_source_and_a_date() -> None:
    """And the last one fits everybody."""
    assert all(row.source and row.read_on for row in BINDINGS)
    assert (BINDINGS[-1].family, BINDINGS[-1].models) == ("", "")


def test_a_model_has_one_name_wherever_it_runs() -> None:
    """Routers and dates are no part of it."""
    names = ("claude-opus-4-5", "anthropic/claude-opus-4.5", "claude-opus-4-5-20251101", "claude-opus-4-5@latest")
    assert {plain_model(name) for name in names if "@" not in name} == {"claude-opus-4-5"}
