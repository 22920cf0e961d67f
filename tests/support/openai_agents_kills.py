"""An agent of the OpenAI Agents SDK that runs until it is killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents import Runner

from amplifier_module_context_persistent.adapters.openai_agents import PersistentSession
from tests.support.kit_kills import REFUSED, STORED, note
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


async def run(directory: Path) -> None:
    """Run turns for ever; each question is another one."""
    session = Noting("s", directory, max_tokens=20_000, durability="write")
    model = MadeUpModel(Service(20_000), calls=6, reasons=True, result_words=300)
    first = len(await session.get_items())
    for number in range(100):
        await Runner.run(model.agent(), f"question {first} {number}", session=session, run_config=session.run_config())


async def stored(directory: Path) -> list[str]:
    """What the session holds."""
    session = PersistentSession("s", directory)
    items = await session.get_items()
    await session.close()
    return [json.dumps(item, sort_keys=True) for item in items]
