"""What plans remember of messages from one plan to the next."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.marker_wording import brief_marker
from amplifier_module_context_persistent.compaction.persons_words import Divided, Told, divided, told_lines
from amplifier_module_context_persistent.compaction.plan_memory import PlanMemory
from amplifier_module_context_persistent.compaction.plan_request import PlanRequest
from amplifier_module_context_persistent.compaction.planner import Compaction
from amplifier_module_context_persistent.messages.elide import excerpt_cut
from amplifier_module_context_persistent.messages.message import Message
from amplifier_module_context_persistent.view.entry import Entry, classify
from amplifier_module_context_persistent.view.plan import Gap, Quote
from amplifier_module_context_persistent.window import window_plans
from tests.support.counters import count
from tests.support.played_sessions import Session
from tests.support.purges import purged, redact
from tests.support.sweeps import proof
from tests.support.windows import Desk

RESULT = "\n".join(f"src/module_{line}.py: fails at line_{line}" for line in range(60))


def result(text: str = RESULT) -> Entry:
    """A result in the log."""
    metadata = {"message_id": "m1"}
    return classify(1, {"role": "tool", "tool_call_id": "c1", "content": text, "metadata": metadata}, count)


def test_names_that_a_cut_shows_are_those_of_the_message() -> None:
    """Also after the message changed under its id, and by another cut."""
    memory, entry = PlanMemory(), result()
    line = excerpt_cut(0, ((0, 0, RESULT.index("\n")),))
    assert memory.shown(entry, line) == frozenset(entry.gist.terms.shown(line)) != frozenset()
    assert memory.shown(entry, excerpt_cut(0)) == frozenset()
    purged = result("[purged]")
    assert memory.shown(purged, line) == frozenset(purged.gist.terms.shown(line))


def test_a_cut_that_was_tried_is_not_counted_again_until_the_message_changes() -> None:
    """Its tokens are known; with other tokens or other terms the message is another one."""
    memory, entry, cut = PlanMemory(), result(), excerpt_cut(240)
    assert memory.counted(entry, cut) is None
    memory.count(entry, cut, cut, 80)
    assert memory.counted(entry, cut) == (cut, 80)
    assert memory.counted(replace(entry, tokens=entry.tokens - 5), cut) is None
    assert memory.counted(result("[purged]"), cut) is None


def test_lines_that_stand_out_are_looked_for_again_in_another_text() -> None:
    """Also if the message under an id was replaced, as by a purge."""
    memory, looked = PlanMemory(), list[str]()

    def find(text: str) -> list[Told]:
        looked.append(text)
        return told_lines({"role": "user", "content": text})

    long, purged = "A line of words that a person wrote.\n" * 9, "[purged]"
    first, later = result(long), result(purged)
    assert memory.told(first, lambda: find(long)) == memory.told(first, lambda: find(long))
    assert [one.chars for one in memory.told(later, lambda: find(purged))] == [len(purged)]
    assert looked == [long, purged]


def test_a_text_is_divided_again_if_another_one_takes_its_place() -> None:
    """As a purge does; the same text is divided once."""
    memory, looked = PlanMemory(), list[str]()

    def find(text: str) -> list[Divided]:
        looked.append(text)
        return divided({"role": "user", "content": text})

    pasted, purged = "2026-01-05 09:00:00 ERROR total.py:41 failed\n" * 20, "[purged]"
    first, later = result(pasted), result(purged)
    assert memory.divided(first, lambda: find(pasted)) is memory.divided(first, lambda: find(pasted))
    assert memory.divided(later, lambda: find(purged)) == [Divided(len(purged), [])]
    assert looked == [pasted, purged]


@pytest.mark.parametrize(
    "changed",
    [
        {"messages": 7},
        {"after": "m5"},
        {"did": (("Edit a.py", 2),)},
        {"reference": "m7"},
        {"said": (Quote("m2", 'the model said: "done"'),)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_marker_is_written_again_if_its_gap_changes(changed: dict[str, Any]) -> None:
    """Also if the tool recall comes or goes, or if the marker moves after the next call."""
    memory, gap = PlanMemory(), Gap("m9", messages=5, did=(("Bash", 3),), reference="m1")
    asked = [
        (one, recall, after)
        for one in (gap, replace(gap, **changed), gap)
        for recall in (True, False)
        for after in (True, False, True)
    ]
    for one, recall, after in asked:
        text = memory.brief(one, recall=recall, after_next_call=after)
        assert text == brief_marker(one, recall=recall, after_next_call=after)


def test_what_no_view_shows_any_more_is_forgotten() -> None:
    """Only the messages that a plan keeps are remembered."""
    memory, entry, cut = PlanMemory(), result(), excerpt_cut(240)
    memory.count(entry, cut, cut, 80)
    memory.keep_only({"m2"})
    assert memory.counted(entry, cut) is None


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each plan is the same as if no plan had been made before: each is made twice, once with no memory."""
    found: list[bool] = []
    compact = window_plans.compact

    def twice(request: PlanRequest) -> Compaction:
        anew = compact(replace(request, so_far=replace(request.so_far, memory=PlanMemory())))
        plan = compact(request)
        found.append(_facts_of(plan) == _facts_of(anew))
        return plan

    monkeypatch.setattr(window_plans, "compact", twice)
    return found


def _facts_of(made: Compaction) -> tuple[Any, ...]:
    return made.plan, made.cut_tokens, made.arrangement.items


@proof
def test_a_plan_is_the_same_with_and_without_a_memory(made: list[bool]) -> None:
    """Every plan of a session is made twice, the second time as if no plan had been made before."""
    desk = Desk()
    for messages in (_turn(number) for number in range(60)):
        for message in messages:
            desk.add(message)
        desk.ask(12_000)
    assert len(made) > 3
    assert all(made)


async def late_result(session: Session, ids: list[str]) -> None:
    """A call waits for its result while plans are made, and then has it."""
    call = {"id": "late", "tool": "bash", "arguments": {"command": "make slow.py"}}
    await session.add({"role": "assistant", "content": "I start it.", "tool_calls": [call]})
    await session.add({"role": "user", "content": "What else is to be done in part_3.py?"})
    await play(session, range(100, 110))
    await session.add({"role": "tool", "tool_call_id": "late", "content": RESULT})


async def pin(session: Session, ids: list[str]) -> None:
    await session.manager.pin(ids[2])


async def take_pin_back(session: Session, ids: list[str]) -> None:
    await session.manager.pin(ids[2])
    await play(session, range(100, 106))
    await session.manager.pin(ids[2], pinned=False)


async def hide(session: Session, ids: list[str]) -> None:
    await session.manager.hide(ids[-8])


async def rewind(session: Session, ids: list[str]) -> None:
    await session.manager.rewind(ids[-6])


async def redact_all(session: Session, ids: list[str]) -> None:
    """A purge changes the log of a session that goes on: another process finds the new file."""
    assert session.path is not None
    await session.manager.close()
    purged(str(session.path), redact("module[0-9]"))
    session.start()


async def other_options(session: Session, ids: list[str]) -> None:
    session.config |= {"truncate_chars": 60, "protect_last": 4, "late_system": "system"}
    await session.restart()


async def fork(session: Session, ids: list[str]) -> None:
    assert session.path is not None
    await session.manager.close()
    copied = session.path.with_name("fork.jsonl")
    shutil.copyfile(session.path, copied)
    session.path = copied
    session.start()


async def resume(session: Session, ids: list[str]) -> None:
    await session.restart()


async def play(session: Session, numbers: range) -> None:
    """Play turns, with a request after each."""
    for number in numbers:
        await session.add(*_turn(number))
        await session.request()


EVENTS = (late_result, pin, take_pin_back, hide, rewind, redact_all, other_options, fork, resume)


@proof(quick=2)
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_plans_are_the_same_without_a_memory_whatever_happens(
    made: list[bool], tmp_path: Path, event: Callable[[Session, list[str]], Awaitable[None]]
) -> None:
    """What plans remember is forgotten or still right when a message changes under its id."""

    async def session_with_event() -> int:
        session = Session(tmp_path / "s.jsonl", max_tokens=9_000)
        await play(session, range(24))
        before = len(made)
        history = await session.manager.get_messages()
        await event(session, [message["metadata"]["message_id"] for message in history])
        await play(session, range(30, 48))
        await session.manager.close()
        return before

    before = asyncio.run(session_with_event())
    assert len(made) > before + 2 > 3
    assert all(made)


def _turn(number: int) -> Sequence[Message]:
    call = {"id": f"c{number}", "tool": "bash", "arguments": {"command": f"make part_{number % 7}.py"}}
    return [
        {"role": "user", "content": f"Look at part_{number % 7}.py, please.\n" + RESULT * (number % 5 == 0)},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": RESULT.replace("module", f"module{number % 9}")},
        {"role": "assistant", "content": f"Part {number} is done."},
    ]
