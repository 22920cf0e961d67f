"""What plans keep of a tool group from one plan to the next, and when it is found out again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.always_kept import PROMISES, Stage
from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.form import Form
from amplifier_module_context_persistent.compaction.group_facts import GroupFacts
from amplifier_module_context_persistent.compaction.plan_memory import PlanMemory
from amplifier_module_context_persistent.compaction.plan_request import ViewSoFar
from amplifier_module_context_persistent.compaction.shorter_forms import Forms
from amplifier_module_context_persistent.messages.elide import excerpt_cut
from amplifier_module_context_persistent.messages.message import Message
from amplifier_module_context_persistent.view.entry import Entry, classify, with_changes
from amplifier_module_context_persistent.view.tool_groups import Group, tool_groups
from tests.support.drafts import count, named, request_of

LINES = "\n".join(f"src/module_{line}.py: line_{line} fails with E{line}0{line}7" for line in range(40))


def messages_of(text: str = LINES, said: str = "I look at it.") -> list[Message]:
    """A person's message, a call with its result, and an answer."""
    found = named([text])
    found[1]["content"] = said
    return found


def entries_of(messages: Sequence[Message]) -> list[Entry]:
    return [classify(at, message, count) for at, message in enumerate(messages)]


def values_of(facts: GroupFacts) -> dict[str, Any]:
    """All that is known of a group."""
    slots = [slot for slot in GroupFacts.__slots__ if not slot.startswith("_")]
    return {slot: getattr(facts, slot) for slot in slots} | {"names": facts.names}


def test_facts_about_an_unchanged_group_are_found_out_once() -> None:
    """Also if the groups are matched anew; a message that is in no log has no id, and is asked each time."""
    memory, entries = PlanMemory(), entries_of(messages_of())
    first, again = memory.facts_of(tool_groups(entries)), memory.facts_of(tool_groups(entries))
    assert [one is other for one, other in zip(first, again, strict=True)] == [True, True, True]
    unsaved = classify(-1, {"role": "user", "content": "draft"}, count)
    [one], [other] = memory.facts_of(tool_groups([unsaved])), memory.facts_of(tool_groups([unsaved]))
    assert one is not other


def _without_result(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.result_of is None]


CHANGES: dict[str, tuple[Callable[[list[Entry]], list[Entry]], Callable[[list[Entry]], list[Entry]]]] = {
    "late result": (_without_result, list),
    "result is gone": (list, _without_result),
    "pin of the head": (list, lambda entries: [replace(entry, pinned=bool(entry.calls)) for entry in entries]),
    "pin of the result": (
        list,
        lambda entries: [replace(entry, pinned=entry.result_of is not None) for entry in entries],
    ),
    "pin is taken back": (lambda entries: [replace(entry, pinned=True) for entry in entries], list),
    "protected end": (list, lambda entries: [with_changes(entry, protected=True) for entry in entries]),
    "protection ends": (lambda entries: [with_changes(entry, protected=True) for entry in entries], list),
    "redaction": (list, lambda _: entries_of(messages_of("[redacted]", "[redacted]"))),
    "other tokens": (list, lambda entries: [replace(entry, tokens=entry.tokens + 7) for entry in entries]),
}


@pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=CHANGES)
def test_facts_about_a_changed_group_are_found_out_again(
    before: Callable[[list[Entry]], list[Entry]], after: Callable[[list[Entry]], list[Entry]]
) -> None:
    """The group has the same id and other entries; what is known of it is as if it had never been seen before."""
    memory, entries = PlanMemory(), entries_of(messages_of())
    for facts in memory.facts_of(tool_groups(before(entries))):
        assert facts.names is not None  # it is found when it is asked for
    groups = tool_groups(after(entries))
    assert [values_of(facts) for facts in memory.facts_of(groups)] == [values_of(GroupFacts(group)) for group in groups]


def test_terms_are_those_of_the_cuts_that_a_group_has_now() -> None:
    """Each plan begins with the cuts of the plan before, and cuts more."""
    memory, messages = PlanMemory(), messages_of()
    so_far = ViewSoFar(memory=memory)
    seen = []
    for keep_chars in (400, 0, 400):
        draft, anew = (Draft(request_of(messages, 8_000, so_far=so)) for so in (so_far, ViewSoFar()))
        for one in (draft, anew):
            assert "src/module_20.py" in one.shown_terms(1)
            one.cut(1, one.view.members[1][1], excerpt_cut(keep_chars))
        assert draft.shown_terms(1) == anew.shown_terms(1)
        seen.append(draft.shown_terms(1))
        draft.show_whole(1, draft.view.members[1][1])
        assert draft.shown_terms(1) == draft.view.facts[1].names
    assert seen[0] == seen[2] > seen[1]


def test_forms_are_those_of_the_configuration() -> None:
    """With another `truncate_chars` a result has other cuts; with the same one they are not looked for again."""

    def forms(memory: PlanMemory, chars: int) -> list[Form]:
        draft = Draft(
            request_of(messages, 8_000, so_far=ViewSoFar(memory=memory), truncate_chars=chars, entries=entries)
        )
        return Forms(draft, PROMISES[:1]).cuts(1, Stage.HELD)

    messages = messages_of()
    entries, memory = entries_of(messages), PlanMemory()
    for chars in (200, 1_200, 200):
        assert forms(memory, chars) == forms(PlanMemory(), chars) != []
    assert forms(memory, 200)[0].cut != forms(memory, 1_200)[0].cut


def test_facts_about_groups_that_no_view_shows_are_forgotten() -> None:
    """Only those of the groups that a plan keeps are remembered."""
    memory, groups = PlanMemory(), tool_groups(entries_of(messages_of()))
    before = memory.facts_of(groups)
    memory.keep_only({groups[0].head.id})
    assert [one is other for one, other in zip(before, memory.facts_of(groups), strict=True)] == [True, False, False]


def test_a_group_is_known_by_its_own_entries() -> None:
    """Equal entries are not enough: some changes of an entry, such as its protection, do not count for equality."""
    entries = entries_of(messages_of())
    [_, group, _] = tool_groups(entries)
    facts = GroupFacts(group)
    same = with_changes(group.head, protected=True)
    assert same == group.head
    assert facts.is_of(Group(group.head, group.results))
    assert not facts.is_of(Group(same, group.results))
    assert not facts.is_of(Group(group.head, (None,)))
