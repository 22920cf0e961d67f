"""Two providers of one session with windows of very different size, in turn."""

from __future__ import annotations

from pathlib import Path

from tests.support.messages import Message
from tests.support.played_sessions import Provider, Session

LARGE, SMALL = Provider(41_001, 0), Provider(7_001, 0)


def turn(number: int) -> list[Message]:
    call = {"id": f"c{number}", "tool": "bash", "arguments": {"command": f"cat {number}"}}
    return [
        {"role": "user", "content": f"Look at {number}"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": f"c{number}",
            "content": "".join(f"p{number}/line_{n}: x\n" for n in range(200)),
        },
        {"role": "assistant", "content": "fine"},
    ]


async def test_the_small_one_leaves_the_large_ones_prefix_alone(tmp_path: Path) -> None:
    """Each request of the large one begins with the one before, but for those that it compacted itself."""
    session = Session(tmp_path / "log.jsonl")
    breaks, before = 0, list[Message]()
    for number in range(40):
        asked, *rest = turn(number)
        await session.add(asked)
        view = await session.request(provider=(LARGE, SMALL)[number % 2])
        if number % 2 == 0:
            breaks += view[: len(before)] != before
            before = view
        else:
            assert sum(len(str(message["content"])) for message in view) < 4 * 7_001
        await session.add(*rest)
    await session.manager.close()
    assert breaks <= 3
    assert len(before) > 20
