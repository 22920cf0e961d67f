"""Baselines: what strategies are compared with."""

from __future__ import annotations

from amplifier_module_context_persistent.config import STRATEGIES
from amplifier_module_context_persistent.replay.policies import BASELINES, POLICIES


def test_baselines_are_no_strategies():
    """What is only compared with cannot be configured, and has a name of its own."""
    assert set(BASELINES) == {"none", "stateless", "sliding"}
    assert not BASELINES.keys() & set(STRATEGIES)
    assert {**BASELINES, **{name: POLICIES[name] for name in STRATEGIES}} == POLICIES
