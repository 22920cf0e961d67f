"""How much of the package a newcomer reads to follow one append, and one request: the modules whose functions run."""

import gc
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import amplifier_module_context_persistent
from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log import group_commit
from tests.support.messages import user

PACKAGE = f"{Path(amplifier_module_context_persistent.__file__).parent}/"
MOST_OF_AN_APPEND, MOST_OF_A_REQUEST = 18, 36


async def test_one_append_and_one_request_enter_few_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/architecture.md draws both ways; whoever adds a module to one of them takes another one out."""
    entered: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            entered.add(frame.f_code.co_filename)

    traced = partial(ThreadPoolExecutor, initializer=lambda: sys.setprofile(note))
    monkeypatch.setattr(group_commit, "ThreadPoolExecutor", traced)
    async with PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate") as manager:

        async def count(step: Callable[[], Awaitable[Any]]) -> int:
            gc.collect()  # finalisers of other tests' objects are no part of the way
            gc.disable()
            entered.clear()
            sys.setprofile(note)
            try:
                await step()
            finally:
                sys.setprofile(None)
                gc.enable()
            return len(entered)

        for number in range(3):
            await manager.add_message(user(f"question {number}"))
            await manager.get_messages_for_request()
            await manager.add_message({"role": "assistant", "content": f"answer {number}"})
        append = await count(lambda: manager.add_message(user("and now?")))
        request = await count(manager.get_messages_for_request)
    assert append <= MOST_OF_AN_APPEND
    assert request <= MOST_OF_A_REQUEST
