"""What a header says of the sessions that belong to a session."""

from amplifier_module_context_persistent.transcript.source import Relatives, relatives_of


def test_a_header_names_parent_sub_agents_and_branches() -> None:
    """By their ids; whatever else stands there is none."""
    source = {"subagents": ["p_a", 7], "branches": "x", "spawned_by": "call1"}
    found = relatives_of({"parent_id": "q", "source": source})
    assert found == Relatives("q", "call1", ("p_a",), ())
    assert found.lines() == ["Parent: q (call call1)", "Sub-agents: p_a"]
    assert relatives_of({"parent_id": 1, "source": []}).lines() == []
