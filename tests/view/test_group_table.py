"""The table of tool groups: what is known of each without looking at it again."""

from itertools import compress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.view.entry import Entry, classify
from amplifier_module_context_persistent.view.group_table import (
    ASSISTANT,
    CALLS,
    FAILED,
    FILES,
    HUMAN,
    IN_LOG,
    INSTRUCTS,
    OFFLOADED,
    OPEN,
    PINNED,
    PLANS,
    RUNS,
    SAID,
    GroupTable,
)
from amplifier_module_context_persistent.view.rules import Group, tool_groups
from tests.support import histories
from tests.support.entries import entries
from tests.support.view_properties import examples

Message = dict[str, Any]


def count(message: Message) -> int:
    return count_message(message, EstimateCounter())


def groups_of(messages: list[Message]) -> list[Group]:
    return tool_groups([classify(ordinal, message, count) for ordinal, message in enumerate(messages)])


@examples(60)
@given(histories.messages().map(list), st.integers(0, 40), st.randoms(use_true_random=False))
def test_a_table_is_that_of_its_groups(messages: list[Message], number: int, chance: Any) -> None:
    """Whether all are looked at together, some later than others, or some are left out."""
    groups = groups_of(messages)
    table = GroupTable.of(groups)
    assert GroupTable.of(groups[:number]).and_later(groups[number:]) == table
    kept = [chance.random() < 0.5 for _ in groups]
    assert table.left(kept) == GroupTable.of(list(compress(groups, kept)))


def is_late_or_no_system_text(head: Entry) -> bool:
    return head.late or not head.instructs


@examples(60)
@given(histories.messages().map(list))
def test_what_is_known_of_a_group(messages: list[Message]) -> None:
    """Each bit says what its message and results say."""
    groups = groups_of(messages)
    table = GroupTable.of(groups)
    assert table.members == [group.entries() for group in groups]
    assert table.tokens == [sum(entry.tokens for entry in group.entries()) for group in groups]
    assert [set(terms) for terms in table.terms] == [{t for e in g.entries() for t in e.terms.names} for g in groups]
    heads = [(position, group.head) for position, group in enumerate(groups)]
    assert table.positions(HUMAN) == [at for at, head in heads if head.human]
    assert table.positions(ASSISTANT) == [at for at, head in heads if head.role == "assistant"]
    assert table.positions(INSTRUCTS) == [at for at, head in heads if head.instructs]
    assert table.positions(PINNED) == [at for at, group in enumerate(groups) if group.pinned]
    assert table.positions(CALLS) == [at for at, head in heads if head.calls]
    assert table.positions(IN_LOG) == [at for at, head in heads if head.id and is_late_or_no_system_text(head)]
    said = [at for at, head in heads if head.role == "assistant" and head.id and any(head.terms.text_chars)]
    assert table.positions(SAID) == said
    assert table.calling(OPEN) == [at for at, group in enumerate(groups) if group.unanswered]
    assert table.has_open == any(group.unanswered for group in groups)


def calling(tool: str, arguments: Message, result: Message) -> Group:
    call = {"id": "c", "tool": tool, "arguments": arguments}
    said = {"role": "assistant", "content": "", "tool_calls": [call], "metadata": {"message_id": "m0"}}
    answer = {"role": "tool", "tool_call_id": "c", **result}
    answer["metadata"] = {"message_id": "m1", **answer.get("metadata", {})}
    (group,) = groups_of([said, answer])
    return group


@pytest.mark.parametrize(
    ("tool", "arguments", "result", "tools"),
    [
        ("read_file", {"file_path": "/a.py"}, {"content": "x"}, FILES),
        ("edit_file", {"file_path": "/a.py", "old_string": "a", "new_string": "b"}, {"content": "x"}, FILES),
        ("bash", {"command": "ls"}, {"content": "x"}, RUNS),
        ("bash", {"command": "ls"}, {"content": "Exit code 2\nno such file"}, RUNS | FAILED),
        ("todo", {"action": "create", "todos": []}, {"content": "x"}, PLANS),
        ("web_search", {"query": "x"}, {"content": "x"}, 0),
        ("web_search", {"query": "x"}, {"content": "x" * 9_000, "metadata": {"offload": [10, 10]}}, OFFLOADED),
    ],
)
def test_what_calls_are(tool: str, arguments: Message, result: Message, tools: int) -> None:
    """What a tool does, and what its result tells."""
    table = GroupTable.of([calling(tool, arguments, result)])
    failed = RUNS if not tools & RUNS else 0  # a failure counts for the calls that run commands alone
    assert table.tools[0] & ~(FAILED if failed else 0) == tools
    assert [entry.id for entry in table.offloaded()] == (["m1"] if tools & OFFLOADED else [])


@pytest.mark.parametrize(
    ("words", "fixed"),
    [
        ("", set()),
        ("s u a u a", {0, 3, 4}),
        ("u a! a u a", {1, 3, 4}),
        ("u c:x t:x! a u a", {1, 3, 4}),  # groups: u, c+t, a, u, a
        ("u c:x u c:y a", {2, 3, 4}),  # only the turn in progress has open calls
        ("u c:x a c:x t:x a", {0, 4}),  # nothing can answer the first call any more
        ("u c:x#x a a", {0, 3}),  # nor a closed one
        ("a a a", {2}),
        ("s s", {0, 1}),
        ("u c:x t:x r", {0, 1, 2}),  # a reminder does not take the newest group's place
        ("u a c:x t:x r r s r", {0, 2, 5, 6}),
        ("r r", {1}),
    ],
)
def test_what_no_step_touches(words: str, fixed: set[int]) -> None:
    """System text, pins, the last human message, open calls of its turn, the newest group and the last message."""
    assert GroupTable.of(tool_groups(entries(words))).untouchable() == fixed


def test_system_text_that_need_not_be_preserved() -> None:
    """Without `preserve_system` only the one that heads the view is."""
    table = GroupTable.of(tool_groups(entries("s u s a a")))
    assert table.untouchable(preserve_system=False) == {0, 1, 4}
