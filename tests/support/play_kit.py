"""A process that plays turns of an agent with a real client, and kills itself at a step.

A session that was broken off goes on with the turn that it was in. The bodies that the client sent are appended to a
file, one on a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.kit_agents import AGENTS


def play(form: str, log: Path, bodies: Path, turns: int, kills: tuple[tuple[int, str], ...]) -> list[Any]:
    """Play a session whose process is killed at some steps; the bodies of its requests.

    Args:
        form: the form of the agent.
        log: where the memory is.
        bodies: where the bodies are noted.
        turns: how many turns there are.
        kills: turns and steps (`said`, `answered`, `resulted`) after which the process is killed by SIGKILL.
    """
    for turn, step in (*kills, (turns, "")):
        command = [sys.executable, "-m", __spec__.name, form, str(log), str(bodies), str(turn), step]
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
        assert ended.returncode == (-signal.SIGKILL if step else 0), ended.stderr
    return [json.loads(line) for line in bodies.read_text(encoding="utf-8").splitlines()]


async def _played(form: str, log: Path, bodies: Path, last: int, killed_after: str) -> None:
    agent = AGENTS[form][1]()
    agent.answers = _count(bodies)
    memory = PersistentContextManager(log, max_tokens=200_000)
    history = await memory.get_messages()
    begun = sum(message["role"] == "user" for message in history)

    def reached(step: str) -> None:
        with bodies.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(body) + "\n" for body in agent.bodies)
        agent.bodies.clear()
        if number == last and step == killed_after:
            os.kill(os.getpid(), signal.SIGKILL)

    number = begun
    agent.reached = reached
    if history:
        await agent.go_on(memory)
    for number in range(begun + 1, last + 1):
        await agent.turn(memory, number)
    await memory.close()


def _count(bodies: Path) -> int:
    return bodies.read_text(encoding="utf-8").count("\n") if bodies.exists() else 0


if __name__ == "__main__":
    asyncio.run(_played(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))
