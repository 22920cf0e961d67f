"""The examples of docs/from_python.md run, one after the other."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.places import DOCS
from tests.support.sessions_of_a_home import CONVERSATION, log_of, write

EXAMPLES = re.findall(r"^```python\n(.*?)^```", (DOCS / "from_python.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.usefixtures("project")
def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Each prints what is there."""
    now = {"timestamp": datetime.now(UTC).isoformat()}
    failed = {"role": "tool", "tool_call_id": "call-1", "content": "Error: it broke"}
    messages = [*CONVERSATION[:3], failed, *CONVERSATION[1:3], CONVERSATION[3]]
    second = {**CONVERSATION[2], "tool_calls": [{**CONVERSATION[2]["tool_calls"][0], "id": "call-2"}]}
    messages[5], messages[6] = second, {**CONVERSATION[3], "tool_call_id": "call-2"}
    write(log_of("one"), [{**message, "metadata": now} for message in messages])
    assert len(EXAMPLES) == 4
    names: dict[str, object] = {}
    for example in EXAMPLES:
        exec(example, names)
    printed = capsys.readouterr().out
    assert "one  Why is the total wrong?" in printed
    assert "$0.00 in 1 sessions" in printed
    assert "one src/total.py 0 {'one': [2]}" in printed
    asyncio.run(follow(names["show"], capsys))


async def follow(show: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Follow the session from its beginning until its first message is printed, then stop."""
    task = asyncio.create_task(show("one", ""))
    printed = ""
    while "user Why is the total wrong?" not in printed:
        assert not task.done()
        await asyncio.sleep(0.01)
        printed += capsys.readouterr().out
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
