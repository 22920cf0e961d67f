"""Ids of calls in a view."""

from amplifier_module_context_persistent.view.tool_groups import tool_groups
from amplifier_module_context_persistent.view.unique_call_ids import unique_call_ids
from tests.support.messages import entries


def test_call_ids_that_occurred_before_are_renamed() -> None:
    """The new ones depend on what stands before alone, and meet no other id."""
    groups = tool_groups(entries("u c:x t:x c:x t:x c:x_2+x"))
    seen: set[str] = set()
    assert unique_call_ids(groups, seen) == {(3, 0): "x_2", (5, 0): "x_2_2", (5, 1): "x_3"}
    assert {"x", "x_2", "x_2_2", "x_3"} <= seen
    assert unique_call_ids(groups[:2], set()) == {}
    first = next(group for group in groups if group.head.calls)
    assert unique_call_ids([first], {"x"}) == {(first.head.ordinal, 0): "x_2"}
