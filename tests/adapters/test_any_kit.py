"""What adapters share, with a kit made up here: views of its lists, the kept plan, and sessions by its keys.

The kits themselves are an extra of which most checkouts have none.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_module_context_persistent.adapters.kept_plan import Kept, KeptPlan, Named, paired
from amplifier_module_context_persistent.adapters.sessions_by_key import SessionKey, SessionsByKey
from amplifier_module_context_persistent.adapters.working_view import WorkingView
from amplifier_module_context_persistent.errors import ConfigError
from amplifier_module_context_persistent.forms.whole_body import bodies_in, with_body
from amplifier_module_context_persistent.log.contract import ReadableLog
from amplifier_module_context_persistent.messages.message import Message
from amplifier_module_context_persistent.messages.metadata import given_id
from amplifier_module_context_persistent.session.change_history import HistoryChange

Own = dict[str, Any]
"""A message of the kit."""
LONG = "words of a long answer " * 60
TIGHT = {"max_tokens": 2_500, "tokenizer": "estimate"}


def asks(number: int) -> Own:
    return {"by": "user", "says": f"question {number}"}


def answers(number: int) -> Own:
    return {"by": "assistant", "says": f"answer {number}: {LONG}"}


def talk(turns: int) -> list[Own]:
    return [message for number in range(turns) for message in (asks(number), answers(number))]


def read(message: Own) -> list[Message]:
    parts: list[Message] = [{"role": message["by"], "content": message["says"]}]
    if "aside" in message:
        parts.append({"role": message["by"], "content": message["aside"]})
    return with_body(parts, message, "made_up")


def write(messages: list[Message]) -> list[Own]:
    return [{"by": message["role"], "says": message["content"], "is_written": True} for message in messages]


def key_of(message: Own) -> str:
    return json.dumps(message, sort_keys=True)


def view_of_kit(kept_plan: KeptPlan | None = None, **options: Any) -> WorkingView[Own]:
    return WorkingView(
        read=read, write=write, make=dict, key=key_of, name="made_up", kept_plan=kept_plan, **{**TIGHT, **options}
    )


def named_in(log: ReadableLog) -> list[Named]:
    pairs = bodies_in(log.read(log.index.live), "made_up")
    return [Named(key_of(body), [given_id(part) or "" for part in group]) for group, body in pairs]


# -- views -------------------------------------------------------------------------------------------------------------


async def test_a_view_that_leaves_out_nothing_is_the_list_itself() -> None:
    """Each message is made from its own body, also one that is stored as two; no list is altered."""
    given = [*talk(1), {"by": "user", "says": "two", "aside": "at once", "more": [1, None]}]
    before = json.dumps(given)
    view = view_of_kit(max_tokens=50_000)
    sent = await view.view(given)
    assert sent == given
    assert await view.view([*given, asks(2)]) == [*given, asks(2)]
    assert json.dumps(given) == before


async def test_a_long_list_gets_a_view_that_begins_as_the_last_one() -> None:
    """A shortened message keeps what else the kit's own says; only what a view inserts is written anew."""
    given = [{"by": "user", "says": LONG * 8}, *({**message, "id": 7} for message in talk(8))]
    view = view_of_kit()
    first = await view.view([*given, asks(8)])
    shortened = [message for message in first[:-1] if message not in given and "is_written" not in message]
    assert {len(message["says"]) < len(answers(0)["says"]) and message["id"] for message in shortened[1:]} == {7}
    assert "[1 message left out: 1 answer]" in [message["says"] for message in first if "is_written" in message]
    assert asks(8) in first
    assert sum(len(message["says"]) for message in first) < sum(len(message["says"]) for message in given)
    second = await view.view([*given, asks(8), {"by": "assistant", "says": "short"}, asks(9)])
    assert second[: len(first)] == first
    assert second[len(first) :] == [{"by": "assistant", "says": "short"}, asks(9)]


async def test_the_kit_may_go_on_from_the_last_view() -> None:
    """A list that begins with the view's own objects is no other history."""
    view = view_of_kit()
    sent = await view.view([*talk(8), asks(8)])
    assert view.gave(sent)
    assert view.gave([*sent, asks(9)])
    assert not view.gave(sent[:-1])
    assert not view.gave([dict(message) for message in sent])
    assert await view.view([*sent, answers(8)]) == [*sent, answers(8)]
    assert view.knows(answers(8), itself=False)


async def test_a_branch_goes_back_to_what_is_common() -> None:
    """What only the old branch had is shown no more, and may be said again."""
    view, given = view_of_kit(max_tokens=50_000), talk(3)
    await view.view(given)
    other = [*given[:3], {"by": "assistant", "says": "another answer"}]
    assert view.in_common(other) == 3
    assert await view.view(other) == other
    assert not view.knows(given[4], itself=False)
    assert await view.view(given) == given
    assert await view.view(given[:2]) == given[:2]
    assert view.in_common([]) == 0


async def test_a_message_is_known_by_its_content_or_as_the_very_object() -> None:
    view, given = view_of_kit(), talk(1)
    assert not view.knows(given[0], itself=False)
    await view.view(given)
    assert view.knows(given[0], itself=True)
    assert not view.knows(dict(given[0]), itself=True)
    assert view.knows(dict(given[0]), itself=False)
    equal = [dict(message) for message in given]
    assert view.in_common(equal) == 2
    assert view.knows(equal[0], itself=True)  # the newest object of an equal message is remembered


# -- the plan of the views, kept in the stored session -----------------------------------------------------------------


class Kit:
    """A conversation that the kit saves in a session, and its views in one process after another."""

    def __init__(self, place: Path, conversation: str = "talk") -> None:
        self.sessions = SessionsByKey(place)
        self.key = SessionKey("kit", conversation)

    def plan(self) -> KeptPlan:
        return KeptPlan(lambda: self.sessions.open(self.key), named_in)

    async def save(self, messages: list[Own]) -> None:
        parts = [part for message in messages for part in read(message)]
        manager = await self.sessions.open(self.key)
        await manager.change_history(lambda _, ready: HistoryChange(added=ready), parts)


async def test_the_next_process_goes_on_with_the_plan_that_is_kept(tmp_path: Path) -> None:
    """Its view begins as the last one of the first process; without the plan it would not."""
    kit, given = Kit(tmp_path), [*talk(8), asks(8)]
    await kit.save(given)
    sent = await view_of_kit(kit.plan()).view(given)
    await kit.sessions.close()
    more = [{"by": "assistant", "says": "short"}, asks(9)]
    again = Kit(tmp_path)
    assert (await view_of_kit(again.plan()).view([*given, *more]))[: len(sent)] == sent
    kept = await again.plan().read()
    assert kept is not None
    assert kept.covered_count([key_of(message) for message in [*given, *more]]) in range(1, len(given) + 1)
    assert kept.covered_count([key_of(message) for message in more]) == 0
    await again.sessions.close()


async def test_a_plan_is_kept_once_the_session_has_its_messages(tmp_path: Path) -> None:
    """Kits save after the run."""
    kit, given = Kit(tmp_path), [*talk(8), asks(8)]
    view = view_of_kit(kit.plan())
    await view.view(given)
    assert await kit.plan().read() is None
    await view.keep_plan()
    assert await kit.plan().read() is None
    await kit.save(given)
    await view.keep_plan()
    kept = await kit.plan().read()
    assert kept is not None
    assert [one.key for one in kept.named] == [key_of(message) for message in given]
    manager = await kit.sessions.open(kit.key)
    before = await manager.look(lambda log: log.describe().size_bytes)
    await view.keep_plan()  # it is there already
    assert await manager.look(lambda log: log.describe().size_bytes) == before
    await kit.sessions.close()


async def test_a_conversation_without_a_plan_has_none(tmp_path: Path) -> None:
    kit = Kit(tmp_path)
    await kit.save(talk(1))
    plan = kit.plan()
    assert await plan.read() is None
    assert (plan.has(""), plan.has("other")) == (True, False)
    await kit.sessions.close()


async def test_a_plan_is_carried_to_a_conversation_that_has_its_messages(tmp_path: Path) -> None:
    """A fork; a conversation that lacks some gets none."""
    kit, fork, stranger = (Kit(tmp_path, name) for name in ("talk", "fork", "stranger"))
    given = [*talk(8), asks(8)]
    for one, messages in ((kit, given), (fork, given), (stranger, given[1:2])):
        await one.save(messages)
    await view_of_kit(kit.plan()).view(given)
    for other in (fork, stranger):
        await kit.plan().carry_to(other.plan())
    assert await fork.plan().read() is not None
    assert await stranger.plan().read() is None
    for one in (kit, fork, stranger):
        await one.sessions.close()


def test_messages_of_two_logs_are_paired_in_order() -> None:
    """One that the other log lacks has no pair, and equal ones are paired one after another."""
    ours = [Named("a", ["1"]), Named("x", ["2"]), Named("b", ["3", "4"]), Named("a", ["5"])]
    theirs = [Named("a", ["p"]), Named("b", ["q", "r"]), Named("a", ["s"]), Named("c", ["t"])]
    assert paired(ours, theirs) == {"1": "p", "3": "q", "4": "r", "5": "s"}
    assert paired(ours, []) == {}


@pytest.mark.parametrize(("keys", "end"), [("abc", 3), ("xaybzc", 6), ("abac", 4), ("ab", 0), ("cab", 0), ("", 0)])
def test_a_plan_covers_a_list_up_to_its_last_message(keys: str, end: int) -> None:
    named = [Named("a", ["1"]), Named("b", ["2"]), Named("c", ["3a", "3b"]), Named("d", ["4"])]
    plan: Any = SimpleNamespace(record={"upto": "3b"})
    assert Kept(plan, named).covered_count(list(keys)) == end


# -- sessions by keys --------------------------------------------------------------------------------------------------


def text_of(log: ReadableLog) -> str:
    """A key that a session's first message has, as an adapter stores one that its name cannot."""
    return str(next(iter(log.read(range(1))))["content"])


async def filled(sessions: SessionsByKey, *keys: SessionKey) -> None:
    for key in keys:
        manager = await sessions.open(key)
        await manager.add_message({"role": "user", "content": key.subpath or key.session_id})


async def test_sessions_are_listed_with_their_ids_and_sub_agents_apart(tmp_path: Path) -> None:
    """Ids and subpaths are any texts, also ones that are too long for a name; another project's are not among them."""
    sessions = SessionsByKey(tmp_path)
    long_id, long_path = "ä/" * 200, "tasks/" + "x" * 300
    keys = [SessionKey("p", id_) for id_ in ("one", "a/b", long_id)]
    below = [SessionKey("p", "one", subpath) for subpath in ("sub/agent", long_path)]
    await filled(sessions, *keys, *below, SessionKey("q", "theirs"), SessionKey("p", "a/b", "of another"))
    found = await sessions.main("p", text_of)
    assert sorted(id_ for id_, _ in found) == sorted(key.session_id for key in keys)
    assert sorted(await sessions.subpaths(keys[0], text_of)) == sorted(key.subpath for key in below)
    assert await sessions.subpaths(keys[2], text_of) == []
    assert await sessions.listed("nobody's") == []
    by_id = dict(found)
    assert await sessions.read(by_id["a/b"], text_of) == "a/b"
    assert len(await sessions.listed("p")) == 6
    await sessions.close()


async def test_a_session_is_deleted_with_its_sub_agents_and_no_other(tmp_path: Path) -> None:
    """Also while it is open; again, and of one that never was, nothing happens."""
    sessions = SessionsByKey(tmp_path)
    one, other = SessionKey("p", "one"), SessionKey("p", "one more")
    await filled(sessions, one, SessionKey("p", "one", "x"), SessionKey("p", "one", "y"), other)
    await sessions.delete(SessionKey("p", "one", "x"))
    assert await sessions.subpaths(one, text_of) == ["y"]
    await sessions.delete(one)
    assert [id_ for id_, _ in await sessions.main("p", text_of)] == ["one more"]
    assert len(await sessions.listed("p")) == 1
    for key in (one, SessionKey("nobody", "knows")):
        await sessions.delete(key)
    await filled(sessions, one)
    assert await (await sessions.open(one)).get_messages() != []
    await sessions.close()
    assert [name for _, names, _ in os.walk(tmp_path) for name in names if name.startswith("one_")] == []


async def test_what_a_check_refuses_is_not_deleted(tmp_path: Path) -> None:
    """The check sees the log."""
    sessions, key = SessionsByKey(tmp_path), SessionKey("p", "one")
    await filled(sessions, key)

    def refuse(log: ReadableLog) -> None:
        raise LookupError(text_of(log))

    with pytest.raises(LookupError, match="one"):
        await sessions.delete(key, refuse)
    assert len(await sessions.listed("p")) == 1
    await sessions.close()


async def test_of_many_sessions_those_that_were_used_last_stay_open(tmp_path: Path) -> None:
    """A session that was closed meanwhile goes on where it was."""
    sessions = SessionsByKey(tmp_path)
    keys = [SessionKey("p", str(number)) for number in range(33)]
    managers = [await sessions.open(key) for key in keys[:32]]
    assert await sessions.open(keys[0]) is managers[0]  # now the second one is the oldest
    await filled(sessions, keys[32])
    assert await sessions.open(keys[0]) is managers[0]
    assert await sessions.open(keys[2]) is managers[2]
    assert await sessions.open(keys[1]) is not managers[1]
    await sessions.let_go(keys[32])
    await sessions.let_go(SessionKey("p", "never opened"))
    assert len(await (await sessions.open(keys[32])).get_messages()) == 1
    await sessions.close()
    assert await sessions.open(keys[0]) is not managers[0]
    await sessions.close()


async def test_a_kits_sessions_are_not_kept_in_memory_when_they_cannot_be_stored(impossible: Path) -> None:
    """A kit relies on it that messages are stored when a call returns."""
    sessions = SessionsByKey(impossible)
    with pytest.raises(OSError, match="file"):
        await filled(sessions, SessionKey("p", "one"))
    await sessions.close()


def test_a_wrong_place_or_option_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="durabilty"):
        SessionsByKey(tmp_path, durabilty="fsync")
    with pytest.raises(ConfigError, match="the place is given already"):
        SessionsByKey(tmp_path, storage_path="x")
    with pytest.raises(ConfigError):
        SessionsByKey("mysql://host/db")
