"""An agent of the Microsoft Agent Framework that runs, and saves each model call, until it is killed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agent_framework import Message

from amplifier_module_context_persistent.adapters.agent_framework import PersistentHistory
from tests.support.agent_framework_agent import made_up_agent
from tests.support.kit_kills import REFUSED, STORED, note, note_request, turn_is_over, who
from tests.support.kit_requests import StrictService


async def run(place: str, window_tokens: int, *, saves_each_call: bool = False) -> None:
    """Run turns for ever; each question is another one. The framework saves at the end of a run, or after each call."""
    kit = PersistentHistory(place, max_tokens=window_tokens, durability="write")
    service = StrictService(window_tokens, note_request)
    save = kit.provider.save_messages

    async def saved(session_id: str | None, messages: Sequence[Message], **more: Any) -> None:
        await save(session_id, messages, **more)
        for message in messages:
            note(STORED, said_by(message))

    kit.provider.save_messages = saved  # type: ignore[method-assign]
    agent = made_up_agent(
        service,
        calls=3,
        result_words=200,
        context_providers=[kit.provider],
        compaction_strategy=kit.compaction,
        require_per_service_call_history_persistence=saves_each_call,
    )
    session = agent.create_session(session_id="s")
    while True:
        question = f"question {len(await kit.provider.get_messages('s'))} of {who()}"
        await agent.run(question, session=session)
        for one in service.refused:
            note(REFUSED, one)
        service.refused.clear()
        turn_is_over(place)


def said_by(message: Message) -> list[Any]:
    """What tells a message from others; each call of the made-up client has another id."""
    return [str(message.role), *(content.call_id or content.text for content in message.contents)]


async def stored(place: str) -> list[str]:
    """What the session holds."""
    kit = PersistentHistory(place)
    messages = await kit.provider.get_messages("s")
    await kit.close()
    return [json.dumps(said_by(message)) for message in messages]
