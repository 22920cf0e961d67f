"""An agent of Pydantic AI that runs, and saves each turn, until it is killed."""

from __future__ import annotations

import contextlib

from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.usage import UsageLimits

from amplifier_module_context_persistent.adapters.pydantic_ai import PersistentConversationStore, ViewOfHistory
from tests.support.kit_kills import REFUSED, STORED, note, note_request, turn_is_over
from tests.support.kit_requests import StrictService
from tests.support.pydantic_ai_agent import made_up_agent


async def run(place: str, window_tokens: int) -> None:
    """Run turns for ever; each question is another one."""
    store, service = (
        PersistentConversationStore(place, durability="write"),
        StrictService(window_tokens, note_request),
    )
    agent = made_up_agent(service, ViewOfHistory(store, max_tokens=window_tokens), calls=3, result_words=300)
    while True:
        conversation = await store.load("s") or Conversation(conversation_id="s")
        question, unlimited = f"question {len(conversation.messages)}", UsageLimits(request_limit=None)
        result = await agent.run(question, conversation=conversation, usage_limits=unlimited)
        with contextlib.suppress(ConversationConflict):  # another agent saved since: the run is not kept
            for entry in await store.save(result):
                note(STORED, entry.id)
        for one in service.refused:
            note(REFUSED, one)
        service.refused.clear()
        turn_is_over(place)


async def stored(place: str) -> list[str]:
    """What the conversation holds; its messages are whole runs."""
    store = PersistentConversationStore(place)
    entries = await store.load_entries("s") or []
    await store.close()
    assert len(entries) % 8 == 0  # a question, three calls with their results, an answer
    assert [entry.parent_id for entry in entries] == [None, *(entry.id for entry in entries[:-1])]
    return [f'"{entry.id}"' for entry in entries]
