"""Turns that are kept out of views: by `manager.hide()`, and by the commands `hide` and `show-again`."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from amplifier_module_context_persistent import PinError
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.paths import log_path
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from tests.support.checker import assert_valid
from tests.support.commands import run
from tests.support.counters import count
from tests.support.logs import assert_sound, body, sealed
from tests.support.messages import answers, calls, user
from tests.support.recorded_sessions import Recorded, controls
from tests.support.scans import scan
from tests.support.sweeps import proof


class Hiding(Recorded):
    """Turns with a call each; a view is small enough that no plan is needed, until one is made by hand."""

    async def play(self, first: int, last: int) -> None:
        for number in range(first, last + 1):
            await self.add(
                user(f"question {number} " + "word " * 20),
                calls(f"c{number}"),
                answers(f"c{number}"),
                {"role": "assistant", "content": f"answer {number} " + "word " * 20},
            )

    async def shown(self) -> set[int]:
        """The turns of which the view shows anything; the view is valid."""
        view = await self.view()
        assert_valid(view, history=await self.manager.get_messages(), budget_tokens=4_000, count=count)
        said = json.dumps(view)
        parts = {n: [part in said for part in (f"question {n} ", f'"c{n}"', f"answer {n} ")] for n in range(1, 10)}
        assert all(len(set(found)) == 1 for found in parts.values()), "a turn is shown in part"
        return {number for number, found in parts.items() if found[0]}


@pytest_asyncio.fixture
async def session(tmp_path: Path) -> AsyncIterator[Hiding]:
    """In the end every view is proved."""
    async with Hiding(tmp_path / "log.jsonl") as session:
        yield session


@proof
async def test_a_hidden_turn_goes_with_the_next_plan_and_comes_back_with_another(session: Hiding) -> None:
    """In whole tool groups, across restarts; not before the plan, and with proof; history and recall have it."""
    await session.play(1, 4)
    assert await session.shown() == {1, 2, 3, 4}
    await session.manager.hide(2, reason="a secret")
    await session.manager.hide(2)
    assert await session.shown() == {1, 2, 3, 4}
    await session.manager.compact()
    assert await session.shown() == {1, 3, 4}
    await session.play(5, 5)
    await session.restart()
    assert await session.shown() == {1, 3, 4, 5}
    await session.manager.compact()
    assert await session.shown() == {1, 3, 4, 5}
    assert len(await session.manager.get_messages()) == 20
    page = await session.manager.recall(query="question 2")
    assert "question 2" in str(page)
    await session.manager.show_again(2)
    assert await session.shown() == {1, 3, 4, 5}
    await session.manager.compact()
    assert await session.shown() == {1, 2, 3, 4, 5}
    records = controls(session.path, "hide")
    assert [(record["hidden"], record.get("reason")) for record in records] == [(True, "a secret"), (False, None)]
    assert_sound(str(session.path))


async def test_the_view_says_how_much_is_gone_and_nothing_of_it(session: Hiding) -> None:
    """The marker of the gap counts, and names no tool, file or reference of a hidden turn."""
    await session.play(1, 4)
    ids = [message["metadata"]["message_id"] for message in await session.manager.get_messages()]
    await session.manager.hide(2)
    await session.manager.compact()
    said = json.dumps(await session.view())
    assert "4 messages left out" in said
    assert not any(message_id in said for message_id in ids[4:8])


async def test_what_was_quoted_of_a_turn_goes_when_it_is_hidden(tmp_path: Path) -> None:
    """Its words stand below the marker of its gap, and are no longer in the next plan."""
    session = Hiding(tmp_path / "log.jsonl", max_tokens=20_000)
    for number in range(40):
        call = {"id": f"c{number}", "tool": "bash", "arguments": {"command": f"make part_{number}"}}
        said = f"CAUSE-{number}: part_{number} has no header. " + "It is looked for in the wrong directory. " * 8
        await session.add(
            {"role": "user", "content": f"question {number}"},
            {"role": "assistant", "content": said if number == 3 else "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"part_{number}.c\n" * 300},
        )
    await session.manager.compact()
    assert "CAUSE-3:" in json.dumps(await session.view())
    await session.manager.hide(4)
    await session.manager.compact()
    assert "CAUSE-3:" not in str(await session.view())
    await session.restart()
    assert "CAUSE-3:" not in str(await session.view())
    await session.manager.close()


async def test_a_turn_is_named_by_its_number_or_by_any_of_its_messages(session: Hiding) -> None:
    """What is before the first person's message belongs to turn 1; system text stays."""
    await session.add({"role": "system", "content": "always"})
    await session.play(1, 3)
    ids = [message["metadata"]["message_id"] for message in await session.manager.get_messages()]
    await session.manager.hide(ids[7])
    await session.manager.hide(1)
    await session.manager.compact()
    assert await session.shown() == {3}
    assert session.views[-1][0]["content"] == "always"


@pytest.mark.parametrize(("turn", "said"), [(3, "in progress"), (0, "1 to 3"), (4, "1 to 3"), ("none", "the id")])
async def test_what_cannot_be_hidden(session: Hiding, turn: int | str, said: str) -> None:
    """The turn in progress, and what there is not; nothing is written."""
    await session.play(1, 3)
    with pytest.raises(PinError, match=said):
        await session.manager.hide(turn)
    assert not controls(session.path, "hide")


async def test_pins_and_required_texts_in_a_hidden_turn_are_shown(session: Hiding) -> None:
    """Whoever pins a message wants it more than its turn is unwanted."""
    await session.play(1, 3)
    ids = [message["metadata"]["message_id"] for message in await session.manager.get_messages()]
    await session.manager.hide(1)
    await session.manager.pin(ids[0])
    await session.manager.compact()
    said = json.dumps(await session.view())
    assert "question 1 " in said
    assert "answer 1 " not in said
    text = (await session.manager.get_messages())[3]["content"]
    view = await session.manager.get_messages_for_request_retaining(retain_contents=[text])
    session.views.append(view)
    assert text in [message["content"] for message in view]


async def test_protected_ends_do_not_keep_a_hidden_turn(tmp_path: Path) -> None:
    """Somebody hid this turn; the option is about any."""
    session = Hiding(tmp_path / "log.jsonl", protect_first=8)
    await session.play(1, 4)
    await session.manager.hide(1)
    await session.manager.compact()
    assert await session.shown() == {2, 3, 4}


async def test_after_a_rewind_the_hidden_turn_in_progress_is_shown(session: Hiding) -> None:
    """A request without the words that it answers would be none."""
    await session.play(1, 3)
    await session.manager.hide(2)
    await session.manager.compact()
    await session.manager.close()
    run("rewind", session.path, "--to", "2", "--yes")
    await session.restart()
    await session.manager.compact()
    assert await session.shown() == {1, 2}


@proof
async def test_a_fork_hides_what_its_origin_hides(session: Hiding, tmp_path: Path) -> None:
    """Its next plans leave it out too."""
    await session.play(1, 4)
    await session.manager.hide(2)
    await session.manager.compact()
    await session.manager.close()
    fork = tmp_path / "fork.jsonl"
    fork_session(session.path, 3, path=fork)
    forked = Hiding(fork)
    await forked.play(5, 6)
    await forked.manager.compact()
    assert await forked.shown() == {1, 3, 5, 6}
    await forked.manager.show_again(2)
    await forked.manager.compact()
    assert await forked.shown() == {1, 2, 3, 5, 6}


@proof
async def test_the_commands(session: Hiding) -> None:
    """Hide, see it marked and said why, compact though that saves little, search, show again."""
    await session.play(1, 3)
    await session.view()
    await session.play(4, 4)
    ids = [message["metadata"]["message_id"] for message in await session.manager.get_messages()]

    def does(*words: str) -> str:
        return run(words[0], session.path, *words[1:]).output

    assert "is hidden from views from the next plan" in does("hide", "2", "--reason", "a secret")
    assert "hidden already" in does("hide", ids[5])
    assert does("show").count("hidden from views") == 4
    assert "[hidden from views] question 2" in does("show", "--outline")
    assert "from the next plan on" in does("view", "--why", ids[4])
    assert "left out" in does("compact")
    assert await session.shown() == {1, 3, 4}
    await session.play(5, 5)
    assert "was hidden when the plan was made" in does("view", "--why", ids[4])
    assert "question 2" in run("search", "question 2", session.path).output
    page = session.path.with_name("page.html")
    does("report", "-o", str(page))
    assert "may be shown again" in does("show-again", "2")
    does("compact")
    assert await session.shown() == {1, 2, 3, 4, 5}
    assert "in progress" in run("hide", session.path, "5", code=2).output


async def test_the_commands_take_the_last_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then TURN is their one argument."""
    monkeypatch.chdir(tmp_path)
    session = Hiding(log_path(Config.load({}), session_id="s-1") or tmp_path)
    await session.play(1, 2)
    for command, said in (("hide", "Turn 1 is hidden"), ("show-again", "Turn 1 may be shown")):
        assert said in run(command, "--last", "1").output
        run(command, code=2)


def hide(first: int, last: int, *, hidden: bool = True, name: str = "h") -> bytes:
    return encode_control("hide", id=name, turn=[f"id-{first}", f"id-{last}"], hidden=hidden, time="T")


@pytest.mark.parametrize(
    ("bodies", "hidden"),
    [
        ([*map(body, range(4)), hide(1, 2)], {1, 2}),
        ([*map(body, range(4)), hide(0, 2), hide(1, 1, hidden=False, name="i")], {0, 2}),
        ([body(0), hide(0, 1), body(1)], set()),
        ([*map(body, range(2)), encode_control("hide", turn="id-0", hidden=True)], set()),
        ([*map(body, range(2)), encode_control("hide", turn=[["id-0"], 7], hidden=True)], set()),
        ([*map(body, range(2)), encode_control("hide")], set()),
    ],
)
def test_which_messages_are_hidden(bodies: list[bytes], hidden: set[int]) -> None:
    """Those from one end to the other, while both are live; what is no such record changes nothing."""
    assert scan(sealed(bodies)).index.session.hidden == hidden
