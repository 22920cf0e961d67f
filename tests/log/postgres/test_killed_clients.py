"""Clients that are killed, and what others do meanwhile: what was acknowledged is there, once and in order."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from contextlib import closing, suppress

import pytest

from amplifier_module_context_persistent import AppendError, LogUnreadableError
from amplifier_module_context_persistent.errors import DeleteError
from amplifier_module_context_persistent.log.postgres.list_logs import delete_stored_log
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.logs import append, numbers
from tests.support.postgres import TestServer, every_kind, in_parts_too
from tests.support.sweeps import proof, some

WRITER = """
import sys
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from tests.support.logs import append
log = PostgresLog(sys.argv[1], durability=sys.argv[3])
for number in range(int(sys.argv[2]), 10**6):
    append(log, number)
    print(number, flush=True)
"""


@in_parts_too
@proof
@pytest.mark.parametrize("durability", ["fsync", "write"])
def test_a_client_that_is_killed_loses_nothing(durability: str, storage: str) -> None:
    """Whenever it is killed: what it was told is stored, at most one message besides; the next one goes on at once."""
    location, told, first = f"{storage}#s", list[int](), 0
    for kill in range(some(2)):
        command = [sys.executable, "-c", WRITER, location, str(first), durability]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            for _ in range(3 + 5 * kill):
                told.append(int(client.stdout.readline()))
            client.kill()
            told += [int(line) for line in re.findall(r"(\d+)\n", client.stdout.read())]
        with closing(PostgresLog(location, lock_timeout_s=10)) as log:
            first = numbers(log)[-1] + 1
            append(log, first)
            told.append(first)
            first += 1
            stored = numbers(log)
        assert stored == sorted(set(stored))
        assert set(told) <= set(stored)
        assert len(set(stored) - set(told)) <= kill + 1
    assert verify_log(location).is_sound


@every_kind
@proof
def test_a_deletion_beside_a_writer_is_whole_or_nothing(server: TestServer, storage: str) -> None:
    """A log that was written to since it was looked at stays; one that goes takes all its lines with it."""
    location, schema = f"{storage}#s", storage.rpartition("=")[2]
    stop, told, gone = threading.Event(), list[int](), list[bool]()

    def write() -> None:
        with closing(PostgresLog(location)) as log:
            for number in range(10**6):
                if stop.is_set():
                    return
                try:
                    append(log, number)
                    told.append(number)
                except (AppendError, LogUnreadableError):
                    return  # it was deleted

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            with closing(PostgresLog(location)) as log, suppress(DeleteError, LogUnreadableError):
                log.follow()
                delete_stored_log(location, log.describe().size_bytes)
                gone.append(True)
                break
    finally:
        stop.set()
        writer.join()
    with closing(PostgresLog(location)) as log:
        log.follow()
        stored = numbers(log) if log.describe().exists else []
    assert stored == ([] if gone else told)
    if gone:
        assert server.execute(f"select count(*) from {schema}.record") == [(0,)]
