"""Policies as a person names them."""

from __future__ import annotations

import re

import pytest

from amplifier_module_context_persistent.replay import PolicyError
from amplifier_module_context_persistent.replay.policies import POLICIES
from amplifier_module_context_persistent.replay.policy_spec import policy_of


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("bogus", "known: none, default, truncate"),
        ("", "known: none"),
        ("truncate:target=0.4", "target_usage"),
        ("truncate:target_usage", "NAME=VALUE"),
        ("truncate:target_usage=2", "allowed: 0 < share"),
        ("truncate:transcript_path=x", "is no option"),
        ("none:target_usage=0.4", "has no options"),
    ],
)
def test_an_unknown_policy_is_an_error_that_names_the_known(text: str, named: str) -> None:
    """So is an unknown option, and a value that is not allowed."""
    with pytest.raises(PolicyError, match=re.escape(named)):
        policy_of(text)


def test_policies_are_read_with_their_options() -> None:
    """Numbers and words are values as the configuration knows them; the default is a name of its own."""
    chosen = policy_of(" truncate:target_usage=0.4, truncate_boundary=char ")
    assert chosen.options == {"target_usage": 0.4, "truncate_boundary": "char"}
    assert chosen.name == "truncate:target_usage=0.4, truncate_boundary=char"
    assert policy_of("default").open is policy_of("truncate").open
    assert policy_of("sliding").open is POLICIES["sliding"]
    assert policy_of("stateless").open is POLICIES["stateless"]
