"""Two providers of one session with windows of very different size, in turn."""

from __future__ import annotations

from pathlib import Path

from tests.support.messages import Message
from tests.support.played_sessions import Provider, Session
from tests.support.sweeps import proof

LARGE, SMALL = Provider(31_001, 0), Provider(8_001, 0)


def turn(number: int) -> list[Message]:
    call = {"id": f"c{number}", "tool": "bash", "arguments": {"command": f"cat {number}"}}
    return [
        {"role": "user", "content": f"Look at {number}"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": f"c{number}",
            "content": "".join(f"p{number}/line_{n}: x\n" for n in range(100)),
        },
        {"role": "assistant", "content": "fine"},
    ]


async def breaks(path: Path, restarts_each: int = 0, *, which_first: int = 0, turns: int = 40) -> list[int]:
    """How often a request of each provider did not begin with its last one, each time as it was compacted."""
    session, found = Session(path), [0, 0]
    before = [list[Message](), list[Message]()]
    for number in range(turns):
        asked, *rest = turn(number)
        await session.add(asked)
        if restarts_each and number > 12 and number % restarts_each == which_first:
            await session.restart()
        which, plans = number % 2, session.plans
        view = await session.request(provider=(LARGE, SMALL)[which])
        if view[: len(before[which])] != before[which]:
            found[which] += 1
            assert session.plans == plans + 1
        before[which] = view
        if which:
            assert sum(len(str(message["content"])) for message in view) < 4 * 8_001
        await session.add(*rest)
    await session.manager.close()
    assert len(before[0]) > 0.75 * turns
    return found


@proof
async def test_neither_breaks_the_prefix_of_the_other(tmp_path: Path) -> None:
    """Each request begins with the one before to the same provider, but for those that it compacted itself."""
    of_large, of_small = undisturbed = await breaks(tmp_path / "log.jsonl")
    assert of_large <= 3
    assert of_small <= 20
    # Whichever of them asks first after a restart: it compacts nothing anew.
    assert await breaks(tmp_path / "large.jsonl", 6, which_first=2) == undisturbed
    assert await breaks(tmp_path / "small.jsonl", 6, which_first=3) == undisturbed


async def test_after_a_restart_the_smaller_one_compacts_nothing_for_the_larger_one(tmp_path: Path) -> None:
    """Also if it asks first: the plans of the session tell that a larger one is in use."""
    undisturbed = await breaks(tmp_path / "log.jsonl", turns=16)
    assert await breaks(tmp_path / "small.jsonl", 14, which_first=1, turns=16) == undisturbed
