"""An agent of the OpenAI Agents SDK that runs until it is killed."""

from __future__ import annotations

import json
from typing import Any

from agents import Runner

from amplifier_module_context_persistent.adapters.openai_agents import PersistentSession
from tests.support.kit_kills import REFUSED, STORED, note, note_request, turn_is_over, who
from tests.support.kit_requests import StrictService
from tests.support.openai_agent import MadeUpModel


class Noting(PersistentSession):
    """Notes what was acknowledged."""

    async def add_items(self, items: list[Any]) -> None:
        await super().add_items(items)
        for item in items:
            note(STORED, item)


class Service(StrictService):
    """Notes what it refuses."""

    def ask(self, parts: Any) -> None:
        super().ask(parts)
        for one in self.refused:
            note(REFUSED, one)
        self.refused.clear()


async def run(place: str, window_tokens: int) -> None:
    """Run turns for ever; each question is another one."""
    session = Noting("s", place, max_tokens=window_tokens, durability="write")
    model = MadeUpModel(Service(window_tokens, note_request), calls=6, reasons=True, result_words=300)
    while True:
        question = f"question {len(await session.get_items())} of {who()}"
        await Runner.run(model.agent(), question, session=session, run_config=session.run_config())
        turn_is_over(place)


async def stored(place: str) -> list[str]:
    """What the session holds."""
    session = PersistentSession("s", place)
    items = await session.get_items()
    await session.close()
    return [json.dumps(item, sort_keys=True) for item in items]
