"""Families of providers."""

import pytest

from amplifier_module_context_persistent.view.provider_bonds import family_of


@pytest.mark.parametrize(
    ("provider", "model", "family"),
    [
        ("anthropic", "", "anthropic"),
        ("bedrock", "us.anthropic.claude-sonnet-4-5", "anthropic"),
        ("work", "gpt-5.2", "openai"),
        ("azure-openai", "", "openai"),
        ("Gemini", "", "gemini"),
        ("vertex", "gemini-3-pro", "gemini"),
        ("ollama", "qwen3", "ollama"),
        ("", "", ""),
    ],
)
def test_a_family_is_told_by_the_model_and_then_by_the_name(provider: str, model: str, family: str) -> None:
    """Who serves a model matters less than whose it is."""
    assert family_of(provider, model) == family
