"""What `add_messages` costs, beside as many single appends."""

import time
from pathlib import Path

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.messages import user

COUNT = 500


async def test_a_list_costs_at_most_half_of_single_appends(tmp_path: Path) -> None:
    """Of the processor's time, with `write`; the best of some rounds, taken in turn."""
    given = [user(f"message {number} " + "word " * 60) for number in range(COUNT)]
    ratios = []
    for number in range(5):
        async with PersistentContextManager(tmp_path / f"one-{number}.jsonl", durability="write") as manager:
            await manager.add_message(user("first"))
            began = time.process_time()
            for message in given:
                await manager.add_message(message)
            single = time.process_time() - began
        async with PersistentContextManager(tmp_path / f"all-{number}.jsonl", durability="write") as manager:
            await manager.add_message(user("first"))
            began = time.process_time()
            await manager.add_messages(given)
            ratios.append((time.process_time() - began) / single)
    print(f"processor time of a list over single appends: {min(ratios):.2f} to {max(ratios):.2f}")
    assert min(ratios) <= 0.5
