"""A child session that a host resumes without a system prompt gets the one of its last view back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.messages import Message, fill, set_prompt, user
from tests.support.real_sessions import Host

pytestmark = pytest.mark.usefixtures("each_log")

PROMPT = "You explore, and you never write."


class Sessions:
    """Processes of one session, and the events of all of them."""

    def __init__(self, path: Path) -> None:
        self.path, self.host = path, Host()

    async def request(self, *messages: Message, prompt: str | None = None, **options: Any) -> list[Message]:
        """Open the session, add messages, and ask for a view; twice."""
        options = {"parent_id": "parent", "session_id": "child", "storage_path": self.path, **options}
        async with PersistentContextManager(coordinator=self.host, tokenizer="estimate", **options) as manager:
            await fill(manager, messages)
            if prompt is not None:
                await set_prompt(manager, prompt)
            view = await manager.get_messages_for_request()
            assert await manager.get_messages_for_request() == view
            return view

    @property
    def told(self) -> list[int]:
        return [payload["characters"] for payload in self.host.of("context:system_prompt_restored")]


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path)


async def test_the_prompt_of_the_last_view_heads_the_next_one(sessions: Sessions) -> None:
    """At every resume, and told once in each process."""
    first = await sessions.request(user("one"), prompt="An older prompt.")
    assert first[0]["content"] == "An older prompt."
    await sessions.request(prompt=PROMPT)
    for number in range(2):
        view = await sessions.request(user(f"more {number}"))
        assert view[0] == {"role": "system", "content": PROMPT}
    assert sessions.told == [len(PROMPT)] * 2


@pytest.mark.parametrize(
    "options",
    [{"parent_id": None}, {"restore_system_prompt": False}],
    ids=["root session", "switched off"],
)
async def test_other_sessions_get_nothing_back(sessions: Sessions, options: dict[str, Any]) -> None:
    """A root session's host decides, and so does the configuration."""
    await sessions.request(user("one"), prompt=PROMPT)
    view = await sessions.request(user("two"), **options)
    assert [message["role"] for message in view] == ["user", "user"]
    assert sessions.told == []


async def test_a_new_session_and_one_without_receipts_have_nothing_to_restore(sessions: Sessions) -> None:
    """There is no view before, or nothing that says what headed it."""
    assert [message["content"] for message in await sessions.request(user("one"), receipts=False)] == ["one"]
    await sessions.request(prompt=PROMPT, receipts=False)
    assert [message["content"] for message in await sessions.request(receipts=False)] == ["one"]
    assert sessions.told == []


async def test_a_system_message_stands_for_the_prompt(sessions: Sessions) -> None:
    """A memory file or a hook's message does not."""
    hooked = {"role": "system", "content": "mind the style", "metadata": {"source": "hook"}}
    await sessions.request(user("one"), hooked, prompt=PROMPT)
    assert (await sessions.request())[0]["content"] == PROMPT
    view = await sessions.request({"role": "system", "content": "You are another."})
    assert PROMPT not in [message["content"] for message in view]


async def test_a_factory_that_comes_later_wins(sessions: Sessions) -> None:
    """As the host does that resumes a root session."""
    await sessions.request(user("one"), prompt=PROMPT)
    assert (await sessions.request(prompt="A new one."))[0]["content"] == "A new one."
    assert sessions.told == []
