"""Commands that change sessions in a database beside writers: nothing acknowledged is lost, doubled or reordered."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from amplifier_module_context_persistent import AppendError, LogUnreadableError, PersistentContextManager
from amplifier_module_context_persistent.log.open_reader import open_reader
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from amplifier_module_context_persistent.toolbox.transfer.compact_session import CompactError, compact_session
from tests.support.commands import run
from tests.support.forks import CONFIG, turn
from tests.support.logs import append, numbers
from tests.support.messages import fill
from tests.support.postgres import TestServer, every_kind
from tests.support.sweeps import proof, some

WRITERS = 2
BUDGET, WHOLE = 3_000, 100_000
"""Tokens: a plan is made for the one; the whole history fits the other."""


@dataclass
class Writer:
    """Appends numbered messages to a log with pauses of chance, until it is stopped or the log is gone."""

    location: str
    first: int
    most_pause_s: float
    told: list[int] = field(default_factory=list)
    is_gone: bool = False

    def write(self, stop: threading.Event) -> None:
        rng = random.Random(self.first)
        with closing(PostgresLog(self.location)) as log:
            for number in range(self.first, self.first + 100_000):
                if stop.is_set():
                    return
                try:
                    append(log, number)
                except (AppendError, LogUnreadableError):
                    self.is_gone = True
                    return
                self.told.append(number)
                stop.wait(rng.random() * self.most_pause_s)


def check_undone(plans: Sequence[dict[str, Any]]) -> int:
    """Check that each undo put the plan before the plan in force in its place, and return how many undos there were."""
    ids, undone = [plan["id"] for plan in plans], 0
    for place in range(1, len(plans)):
        in_force_since = ids.index(ids[place - 1])
        if ids[place] in ids[:place]:
            assert in_force_since > 0
            assert ids[place] == ids[in_force_since - 1]
        elif not plans[place].get("dropped"):  # it keeps everything, as before the first plan
            assert in_force_since == 0
        else:
            continue
        undone += 1
    return undone


@every_kind
@proof
async def test_plans_are_made_and_undone_beside_writers(storage: str) -> None:
    """By two at once: each plan and each undo is there once, nothing is undone twice, and writers notice nothing."""
    config = {**CONFIG, "max_tokens": WHOLE}
    async with PersistentContextManager(storage=storage, session_id="s", project="p", **config) as manager:
        for number in range(1, 31):
            await fill(manager, turn(number))
        await manager.get_messages_for_request()
        location = str(manager.log_path)
    writers = [Writer(location, 1_000_000 * number, 0.01) for number in range(1, WRITERS + 1)]
    stop, rounds = threading.Event(), some(6)

    def make_and_undo() -> int:
        done = 0
        for undo in [False, True] * rounds:
            with suppress(CompactError):  # the other one was first
                done += bool(
                    compact_session(
                        location, EstimateCounter(), budget_tokens=WHOLE if undo else BUDGET, undo=undo
                    ).plan
                )
        return done

    with ThreadPoolExecutor(WRITERS + 2) as pool:
        jobs: list[Future[None]] = [pool.submit(writer.write, stop) for writer in writers]
        try:
            made = sum(job.result() for job in [pool.submit(make_and_undo) for _ in range(2)])
        finally:
            stop.set()
        for job in jobs:
            job.result()
    assert verify_log(location).is_sound
    with closing(open_reader(location, trusting=False)) as reader:
        reader.follow()
        records = [orjson.loads(line) for line in reader.records()]
    plans = [record for record in records if record.get("_record") == "plan"]
    assert len(plans) == made
    undone = check_undone(plans)
    assert 1 <= undone < made
    stored = [str(record.get("content", "")).split() for record in records]
    of_writers = [int(words[1]) for words in stored if words[:1] == ["message"]]
    for writer in writers:
        assert [number for number in of_writers if number // 1_000_000 == writer.first // 1_000_000] == writer.told
        assert not writer.is_gone


@every_kind
@proof
def test_a_prune_beside_writers_takes_a_session_whole_or_leaves_it(server: TestServer, storage: str) -> None:
    """Behind a pooler nobody knows that they are open: one that was written to since it was looked at stays."""
    schema = storage.rpartition("=")[2]
    pooled = f"{storage}&prepare=off"
    for name in ("idle-1", "idle-2"):
        with closing(PostgresLog(f"{pooled}#-p/{name}")) as log:
            append(log, 1)
    writers = [Writer(f"{pooled}#-p/busy-{number}", 1_000_000 * number, 0.1 * number) for number in range(1, 4)]
    stop, seen = threading.Event(), dict[str, int]()
    with ThreadPoolExecutor(len(writers)) as pool:
        jobs = [pool.submit(writer.write, stop) for writer in writers]
        try:
            for _ in range(some(4)):
                told = run("prune", "--all", "--older", "1d", "--storage", pooled, "--yes", "--json", code=None).stdout
                seen |= {one["session"]: one["messages"] for one in orjson.loads(told)["deleted"]}
        finally:
            stop.set()
        for job in jobs:
            job.result()
    assert {"idle-1", "idle-2"} <= seen.keys()
    for writer in writers:
        session = writer.location.rpartition("/")[2]
        if session in seen:
            assert len(writer.told) == seen[session], "what was appended since it was looked at was deleted"
        else:
            assert not writer.is_gone
            with closing(PostgresLog(writer.location)) as log:
                assert numbers(log) == writer.told
    ends = f"select coalesce(sum(head), 0)::bigint, (select count(*) from {schema}.record) from {schema}.log"
    ((lines, rows),) = server.execute(ends)
    assert lines == rows
    assert "every line belongs" in run("storage", "check", storage).output
