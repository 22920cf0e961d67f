"""Long logs: a deadline is for an answer of the server, and what was read is not read again."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import LogUnreadableError
from amplifier_module_context_persistent.log.database_location import parse_location
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.open_reader import open_reader
from amplifier_module_context_persistent.log.postgres import new_log, rows
from amplifier_module_context_persistent.log.postgres.new_log import NewStoredLog
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.postgres.server_connections import FIRST_SHARE, using
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from amplifier_module_context_persistent.toolbox.transfer.copy_log import copy_log
from tests.support.logs import STAMP, append, numbers
from tests.support.postgres import CuttingProxy, TestServer
from tests.support.sweeps import proof

MESSAGES, BLOCK = 100, 4
STOPPED = """
import sys, time
from amplifier_module_context_persistent.log.postgres import new_log
new_log._MOST_IDLE_S = 0.5
server, name = sys.argv[1].split("#")
with new_log.NewStoredLog(f"{server}&application_name=stopped#{name}", timeout_s=4):
    print("begun", flush=True)
    time.sleep(60)
"""
TIMEOUT_S = 1.2


@pytest.fixture
def proxy(server: TestServer) -> Iterator[CuttingProxy]:
    """What stands between the client and the server."""
    opened = CuttingProxy(server.socket_path)
    yield opened
    opened.close()


@pytest.fixture
def slow_log(proxy: CuttingProxy, storage: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A log that is read in blocks of a few lines, from a server whose every answer takes a while."""
    monkeypatch.setattr(rows, "BLOCK_ROWS", BLOCK)
    with closing(PostgresLog(f"{storage}#p/s")) as log:
        append(log, *range(MESSAGES))
    proxy.delay_s = TIMEOUT_S * FIRST_SHARE / 5
    return f"{proxy.location(storage)}#p/s"


@proof
def test_the_deadline_is_for_one_answer(slow_log: str) -> None:
    """A reading that takes longer than the deadline is done, as long as the server answers."""
    with closing(PostgresLog(slow_log, lock_timeout_s=TIMEOUT_S, trusting=False)) as log:
        assert numbers(log) == list(range(MESSAGES))


@proof
def test_an_append_to_a_long_log_waits_until_it_is_read(slow_log: str) -> None:
    """The first use of a log reads it."""
    with closing(PostgresLog(slow_log, lock_timeout_s=TIMEOUT_S, trusting=False)) as log:
        append(log, MESSAGES)
        assert numbers(log) == list(range(MESSAGES + 1))


@proof
def test_a_reading_goes_on_where_it_was(slow_log: str, proxy: CuttingProxy) -> None:
    """A connection that breaks again and again costs what it was answering, not what was read before."""
    blocks = list[int]()

    def cut_now_and_then(size: int) -> None:
        blocks.append(size)
        if len(blocks) % 3 == 0:
            proxy.cut_answers_after = 1

    proxy.delay_s = 0.0
    reader = PostgresLog(slow_log, lock_timeout_s=TIMEOUT_S, trusting=False, on_read=cut_now_and_then)
    with closing(reader) as log:
        log.follow()
        assert len(blocks) == MESSAGES // BLOCK
        assert proxy.cuts >= 3
        proxy.cut_answers_after = None
        assert numbers(log) == list(range(MESSAGES))


@proof
def test_a_server_that_stops_in_the_middle_is_given_up_in_time(slow_log: str, proxy: CuttingProxy) -> None:
    """What does not get further has the whole deadline, and no more."""

    def stop(_size: int) -> None:
        proxy.delay_s = 5.0

    begun = time.monotonic()
    with closing(PostgresLog(slow_log, lock_timeout_s=TIMEOUT_S, trusting=False, on_read=stop)) as log:
        with pytest.raises(OSError, match="cannot be read from the server"):
            log.follow()
        assert time.monotonic() - begun < 5 * TIMEOUT_S + 4  # it asks aside who holds it up, and cancels
        proxy.delay_s = 0.0


class _Told(FileSystem):
    """Adds up what it is told."""

    size = 0

    def note_read(self, size: int) -> None:
        self.size += size


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_a_conflict_with_what_a_replica_takes_over_is_no_end(
    state: str, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server cancels what is in the way; a reading goes on, but not in a transaction, which has ended."""
    location, read_block, conflicts = f"{storage}#p/s", rows.read_block, [2]

    def read_in_conflict(connection: Any, *arguments: Any) -> list[bytes]:
        if conflicts[0]:
            conflicts[0] -= 1
            connection.execute(f"do $$ begin raise exception 'in conflict' using errcode = '{state}'; end $$".encode())
        return read_block(connection, *arguments)

    with closing(PostgresLog(location)) as log:
        append(log, *range(5))
    monkeypatch.setattr(rows, "read_block", read_in_conflict)
    with closing(open_reader(location, trusting=False)) as reader:
        reader.follow()
        assert len(reader.index) == 5
    assert conflicts == [0]
    conflicts[0] = 1
    with (
        using(parse_location(location)) as server,
        server.connected(time.monotonic() + 10),
        closing(open_reader(location, trusting=False)) as reader,
        pytest.raises(LogUnreadableError, match="in conflict"),
    ):
        reader.follow()


def test_how_far_a_reading_is_is_told(storage: str) -> None:
    """All bytes of the log, for each time that it is read from its beginning to its end."""
    location = f"{storage}#p/s"
    with closing(PostgresLog(location)) as log:
        append(log, *range(MESSAGES))
        size = log.describe().size_bytes
    for trusting in (True, False):
        told = _Told()
        with closing(open_reader(location, files=told, trusting=trusting)) as reader:
            reader.follow()
        assert told.size == size
    told = _Told()
    verify_log(location, files=told)
    assert told.size == 2 * size


@proof
def test_long_work_on_a_slow_server(
    slow_log: str, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Verifying, copying out and in, and purging take as long as they take."""
    hurried = {"lock_timeout_s": TIMEOUT_S}, {"timeout_s": TIMEOUT_S}
    for kind, limit in zip((PostgresLog, NewStoredLog), hurried, strict=True):
        monkeypatch.setattr(kind.__init__, "__kwdefaults__", {**kind.__init__.__kwdefaults__, **limit})
    monkeypatch.setattr(new_log, "_BLOCK_ROWS", BLOCK)
    proxy.delay_s = TIMEOUT_S / 40  # each of the four takes longer than the deadline still
    assert verify_log(slow_log).is_sound
    file = str(tmp_path / "copy.jsonl")
    assert copy_log(slow_log, file).messages == MESSAGES
    assert copy_log(file, f"{slow_log}-2").messages == MESSAGES
    counts = purge_log(slow_log, Purge(everything=True), now=lambda: STAMP, lock_timeout_s=TIMEOUT_S)
    assert counts.messages_removed == MESSAGES


def test_a_client_that_works_lets_the_server_know(
    server: TestServer, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sends a statement now and then, and no more of them once it is done."""
    monkeypatch.setattr(new_log, "_PULSE_S", 0.02)
    with NewStoredLog(f"{storage}&application_name=working#p/s") as new:
        asked = (
            "select query from pg_stat_activity where application_name = 'working' and state = 'idle in transaction'"
        )
        begun = time.monotonic()
        while server.execute(asked) != [("select 1",)]:
            assert time.monotonic() - begun < 10
            time.sleep(0.01)
        new.write(b'{"role":"user","content":"a"}\n')
        new.finish()
    assert not [thread for thread in threading.enumerate() if thread.name.endswith("pulse")]


@proof
def test_work_between_two_statements_keeps_its_transaction(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server hears of a client that works, however long that takes."""
    monkeypatch.setattr(new_log, "_MOST_IDLE_S", 0.1)
    with NewStoredLog(f"{storage}#p/s", timeout_s=2) as new:
        new.write(b'{"role":"user","content":"a"}\n')
        time.sleep(4)  # the server's limit is three seconds
        new.finish()
    with closing(PostgresLog(f"{storage}#p/s")) as log:
        log.follow()
        assert len(log.index) == 1


@proof
def test_a_client_that_is_stopped_loses_its_transaction(server: TestServer, storage: str) -> None:
    """What it holds is free again within the limit, though its connection stays."""
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, f"{storage}#p/s"], stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "begun\n"
        client.send_signal(signal.SIGSTOP)
        asked = "select count(*) from pg_stat_activity where state like 'idle in%%' and application_name = 'stopped'"
        begun = time.monotonic()
        while server.execute(asked) != [(0,)]:
            assert time.monotonic() - begun < 30
            time.sleep(0.05)
        client.kill()
    with NewStoredLog(f"{storage}#p/s") as new:
        new.finish()
