"""Managers that are dropped without a close."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.thread_pool import MOST_IDLE
from tests.support.logs import in_a_fork
from tests.support.sweeps import proof

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="it counts descriptors in /proc")


def said(number: int) -> dict[str, object]:
    return {"role": "user", "content": f"message {number}"}


def open_below(directory: Path) -> list[str]:
    """The files below a directory that this process has open."""
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    targets = [os.readlink(link) for link in links if os.path.islink(link)]
    return [target for target in targets if target.startswith(str(directory))]


async def until_closed(directory: Path) -> None:
    for _ in range(5_000):
        if not open_below(directory):
            return
        await asyncio.sleep(0.002)
    raise AssertionError(open_below(directory))


@LINUX
@pytest.mark.parametrize("durability", ["write", "fsync"])
async def test_a_dropped_manager_gives_its_descriptors_back(tmp_path: Path, durability: str) -> None:
    manager = PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate", durability=durability)
    await manager.add_message(said(1))
    assert open_below(tmp_path)
    del manager  # no garbage is collected here: a manager is in no cycle
    await until_closed(tmp_path)


@LINUX
async def test_many_dropped_managers_leave_no_descriptor_and_few_threads(tmp_path: Path) -> None:
    before = threading.active_count()
    for number in range(100):
        manager = PersistentContextManager(tmp_path / f"{number}.jsonl", tokenizer="estimate")
        await manager.add_message(said(number))
    del manager
    await until_closed(tmp_path)
    assert threading.active_count() <= before + MOST_IDLE + 1
    assert all((tmp_path / f"{number}.jsonl").stat().st_size for number in range(100))


@LINUX
async def test_what_was_queued_before_is_stored_first(tmp_path: Path) -> None:
    """The log is closed on its own turn, after the last append."""
    path = tmp_path / "log.jsonl"
    manager = PersistentContextManager(path, tokenizer="estimate")
    await manager.add_message(said(0))
    tasks = [asyncio.create_task(manager.add_message(said(number))) for number in range(1, 50)]
    del manager
    await asyncio.gather(*tasks)
    del tasks
    await until_closed(tmp_path)
    async with PersistentContextManager(path, tokenizer="estimate") as again:
        assert len(await again.get_messages()) == 50


@proof
@LINUX
async def test_a_log_that_the_host_gave_stays_open_until_it_is_dropped_itself(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "log.jsonl")
    manager = PersistentContextManager(log=log, tokenizer="estimate")
    await manager.add_message(said(1))
    del manager
    gc.collect()
    await asyncio.sleep(0.02)
    assert open_below(tmp_path)
    log.append([lambda _: []])
    del log
    gc.collect()
    await until_closed(tmp_path)


@proof
@LINUX
async def test_a_forked_child_that_drops_a_manager_closes_nothing_of_its_parent(tmp_path: Path) -> None:
    managers = [PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate")]
    await managers[0].add_message(said(1))

    def in_child() -> bool:
        managers.clear()
        gc.collect()
        return True

    assert in_a_fork(in_child)
    await managers[0].add_message(said(2))
    assert len(await managers[0].get_messages()) == 2
    await managers[0].close()
