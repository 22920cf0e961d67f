"""What is bound to the provider that made it: recognised, and left out."""

import copy
from typing import Any

import pytest

from amplifier_module_context_persistent.messages.normalize import normalise
from amplifier_module_context_persistent.tokens.model_names import bare_name
from amplifier_module_context_persistent.view.recipients import (
    BINDINGS,
    CHAIN_NAMES,
    REPEATS,
    Bond,
    Recipient,
    bond_of,
    family_of,
)
from amplifier_module_context_persistent.view.unbound_messages import without_bonds, without_names
from tests.support.answers import FAMILIES, answer
from tests.support.messages import Message


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


NOBODY = ("", "")
TEXT: Message = {"type": "text", "text": "So."}


def says(*blocks: Message, **more: Any) -> Message:
    return {"role": "assistant", "content": [*blocks, TEXT], **more}


@pytest.mark.parametrize(
    ("message", "family", "may_be"),
    [
        (says({"type": "redacted_thinking", "data": "x"}), "anthropic", {"anthropic"}),
        (says({"type": "thinking", "thinking": "a", "content": ["x", "rs_1"]}), "openai", {"openai"}),
        (says({"type": "reasoning", "content": [], "summary": []}), "openai", {"openai"}),
        (says({"type": "thinking", "thinking": "a", "signature": "x"}), "", {"anthropic", "gemini"}),
        (says({"type": "thinking", "thinking": "a"}), "", set(FAMILIES)),
        (says(tool_calls=[{"id": "c", "tool": "t", "arguments": {}, "signature": "x"}]), "gemini", {"gemini"}),
        (says(metadata={"openai:reasoning_items": ["rs_1"]}), "openai", set(FAMILIES)),
        (says(metadata={"anthropic": {"wire_content": []}}), "anthropic", set(FAMILIES)),
        (says({"type": "thinking", "thinking": "a"}, metadata={"provider": "ollama"}), "ollama", set(FAMILIES)),
        (says(thinking_block={"type": "thinking", "thinking": "a", "signature": "x"}), "", {"anthropic", "gemini"}),
    ],
)
def test_a_message_tells_its_maker(message: Message, family: str, may_be: set[str]) -> None:
    """By the form of its blocks, by the names of its metadata, or in words."""
    bond = bond_of(message, NOBODY)
    assert (bond.family, bond.may_be) == (family, may_be)


@pytest.mark.parametrize(
    "message", [says(), says(metadata={"openai:status": "completed"}), {"role": "user", "content": "Hello"}]
)
def test_what_is_bound_to_nobody_has_no_bond(message: Message) -> None:
    """Text and calls are for everybody."""
    assert bond_of(message, ("anthropic", "")) is None


def test_the_request_tells_whose_an_answer_is_where_it_does_not_say() -> None:
    """But never against the answer's own form: it may have been copied from another session."""
    signed = says({"type": "thinking", "thinking": "a", "signature": "x"})
    assert bond_of(signed, ("gemini", "gemini-3-pro")) == Bond(
        "gemini", "gemini", "gemini-3-pro", frozenset({"anthropic", "gemini"})
    )
    redacted = says({"type": "redacted_thinking", "data": "x"})
    assert bond_of(redacted, ("openai", "gpt-5")) == Bond("anthropic", "", "", frozenset({"anthropic"}))


@pytest.mark.parametrize("maker", FAMILIES)
@pytest.mark.parametrize("keep_text", [True, False])
def test_what_is_left_is_for_everybody(maker: str, keep_text: bool) -> None:
    """Nothing bound is left in any copy, the message is accepted as it is, and the original is not changed."""
    message = answer(maker, 1, calls=True)
    before = copy.deepcopy(message)
    bare = without_bonds(message, keep_text=keep_text)
    assert message == before
    assert "bound-to" not in str(bare)
    assert ("Thought 1" in str(bare)) == keep_text
    assert normalise(bare) is bare
    assert bare["tool_calls"][0]["id"] == "c1"
    again = bond_of(bare, NOBODY)
    assert again is None or keep_text


def test_thinking_alone_beside_calls_leaves_empty_content() -> None:
    """Which is what providers accept there."""
    message = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "a", "signature": "x"}],
        "tool_calls": [1],
    }
    assert without_bonds(message, keep_text=False)["content"] == ""


def test_chains_are_found_by_one_table_of_names() -> None:
    """With and without a namespace, and below the name of a family; other metadata stays."""
    for metadata in (
        {"openai:response_id": "r", "openai:status": "done"},
        {"azure_openai:response_id": "r", "n": 1},
        {"previous_response_id": "r"},
        {"gemini:interaction_id": "r"},
        {"gemini": {"interaction_id": "r", "stop_reason": "end"}},
    ):
        message = {"role": "assistant", "content": "So.", "metadata": metadata}
        assert (bond := bond_of(message, NOBODY)) is not None
        assert bond.chained
        bare = without_names(message, CHAIN_NAMES)
        assert bond_of(bare, NOBODY) is None
        assert bare["content"] == "So."
    assert without_names({"metadata": {"openai:response_id": "r", "n": 1}}, CHAIN_NAMES)["metadata"] == {"n": 1}
    repeats = {"metadata": {"anthropic": {"wire_content": [], "x": 1}}}
    assert without_names(repeats, CHAIN_NAMES) == repeats
    assert without_names(repeats, REPEATS)["metadata"] == {"anthropic": {"x": 1}}
    assert (
        bond_of({"role": "assistant", "metadata": {"openai:status": "done", "other": {"response_id": 1}}}, NOBODY)
        is None
    )


def test_what_nobody_is_known_to_have_made_is_given_to_whom_it_may_be_of() -> None:
    """A signature cannot be of a provider that makes none."""
    bond = bond_of(says({"type": "thinking", "thinking": "a", "signature": "x"}), NOBODY)
    assert bond is not None
    assert [Recipient(name).refuses(bond) for name in ("anthropic", "gemini", "openai", "ollama")] == [
        False,
        False,
        True,
        False,
    ]
    assert not Recipient.of("", "gpt-5").refuses(bond)


@pytest.mark.parametrize(
    "strange", [None, 7, "x", [], {}, [{}], {"type": {}}, [{"type": {"a": 1}}], [{"type": ["thinking"]}]]
)
def test_what_is_no_message_as_hosts_write_it_is_read_all_the_same(strange: Any) -> None:
    """In any place, anything that JSON holds."""
    for key in ("content", "thinking_block", "tool_calls", "metadata", "provider", "model", "content_blocks"):
        message = {"role": "assistant", "content": "So.", key: strange}
        bond = bond_of(message, NOBODY)
        assert bond is None or isinstance(bond, Bond)
        without_bonds(message, keep_text=True)
        without_names(message, CHAIN_NAMES)
    for key in ("openai", "anthropic", "openai:response_id", "compaction", "provider"):
        assert without_names({"metadata": {key: strange}}, CHAIN_NAMES)["metadata"].keys() <= {key}
        bond_of({"role": "assistant", "content": "So.", "metadata": {key: strange}}, NOBODY)


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
    assert Recipient.of(provider, model).checks_prefix == checks


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
    assert Recipient("anthropic", reader).refuses(Bond("anthropic", "anthropic", maker)) != reads


def test_blocks_bound_to_an_account_go_to_the_provider_that_made_them() -> None:
    """The name of a provider stands for its account."""
    for model, refused in (("claude-sonnet-5-5", True), ("claude-opus-5-5", False)):
        assert Recipient("anthropic", model).refuses(Bond("anthropic", "anthropic-work", model)) == refused


def test_unsigned_thinking_is_not_sent_to_anthropic() -> None:
    """Whoever made it; a reader that is not named gets everything."""
    bond = Bond(unsigned=True)
    assert Recipient("anthropic", "claude-opus-4-5").refuses(bond)
    assert not Recipient("ollama").refuses(bond)
    assert not Recipient().refuses(bond)


def test_each_row_has_a_source_and_a_date() -> None:
    """And the last one fits everybody."""
    assert all(row.source and row.read_on for row in BINDINGS)
    assert (BINDINGS[-1].family, BINDINGS[-1].models) == ("", "")


def test_a_model_has_one_name_wherever_it_runs() -> None:
    """Routers and dates are no part of it."""
    names = ("claude-opus-4-5", "anthropic/claude-opus-4.5", "claude-opus-4-5-20251101", "claude-opus-4-5@latest")
    assert {bare_name(name) for name in names if "@" not in name} == {"claude-opus-4-5"}
