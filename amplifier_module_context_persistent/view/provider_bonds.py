"""Families of providers, by the names of providers and models."""

from __future__ import annotations

_FAMILIES = (
    ("anthropic", ("anthropic", "claude")),
    ("openai", ("openai", "codex", "chatgpt", "gpt-", "o1-", "o3-", "o4-")),
    ("gemini", ("gemini", "google")),
)


def family_of(provider: str, model: str = "") -> str:
    """The family of a provider: that of its model, else of its name; its own name where neither is known."""
    for name in (model.lower(), provider.lower()):
        for family, parts in _FAMILIES:
            if any(part in name for part in parts):
                return family
    return provider.lower()
