"""The mark that a session has its log in a database open: shared, gone with its connection, and in nobody's way."""

from __future__ import annotations

import os
from contextlib import closing

import pytest

from amplifier_module_context_persistent.errors import DeleteError
from amplifier_module_context_persistent.log.database_location import parse_location, split_location
from amplifier_module_context_persistent.log.postgres import list_logs, open_marks
from amplifier_module_context_persistent.log.postgres.list_logs import delete_stored_log, open_marks_in
from amplifier_module_context_persistent.log.postgres.log import PostgresLog
from amplifier_module_context_persistent.log.postgres.open_marks import mark_key
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.logs import append, numbers
from tests.support.postgres import TestServer


@pytest.fixture
def location(server: TestServer) -> str:
    """Where this test's log is."""
    return f"{server.new_location()}#project/session"


def is_open(location: str) -> bool:
    keys = open_marks_in(split_location(location)[0])
    assert keys is not None
    return mark_key(parse_location(location)) in keys


def size_of(location: str) -> int:
    with closing(PostgresLog(location)) as log:
        log.follow()
        return log.describe().size_bytes


def test_a_log_is_marked_from_its_first_use_to_its_close(location: str) -> None:
    """Any number of sessions mark it; whoever only reads or writes without being a session does not."""
    logs = [PostgresLog(location, marks_open=True) for _ in range(3)]
    logs[0].follow()
    assert not is_open(location)  # there is none yet
    for log in logs:
        append(log, 1)
        assert is_open(location)
    append(PostgresLog(location), 2)
    for log in logs:
        assert is_open(location)
        log.close()
    assert not is_open(location)
    logs[0].follow()
    assert is_open(location)
    logs[0].close()


def test_an_open_session_is_not_deleted(location: str) -> None:
    """Not after a purge either; a closed one is."""
    with closing(PostgresLog(location, marks_open=True)) as log:
        append(log, 1)
        purge_log(location, Purge(everything=True), now=lambda: "")
        append(log, 2)
        with pytest.raises(DeleteError, match="the session is open"):
            delete_stored_log(location, size_of(location))
        assert numbers(log) == [2]
    delete_stored_log(location, size_of(location))


def test_a_lost_connection_is_made_anew(location: str, server: TestServer) -> None:
    """With all its marks, once the log finds out."""
    other = f"{split_location(location)[0]}#project/other"
    with closing(PostgresLog(location, marks_open=True)) as log, closing(PostgresLog(other, marks_open=True)) as second:
        append(log, 1)
        append(second, 1)
        server.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
        append(log, 2)
        assert is_open(location)
        assert is_open(other)
        assert numbers(log) == [1, 2]
    assert not is_open(location)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_does_not_keep_it(location: str) -> None:
    """It takes one of its own; the parent's goes when the parent closes its log, and not before."""
    log = PostgresLog(location, marks_open=True)
    append(log, 1)
    told, tell = os.pipe()
    wait, go = os.pipe()
    child = os.fork()
    if not child:
        os.close(go)
        os.read(wait, 1)
        append(log, 2)
        os.write(tell, b"1" if is_open(location) else b"0")
        log.close()
        os._exit(0)
    os.close(wait)
    append(log, 3)
    assert is_open(location)
    log.close()
    assert not is_open(location)
    os.write(go, b"x")
    assert os.read(told, 1) == b"1"
    os.waitpid(child, 0)
    assert not is_open(location)
    for fd in (told, tell, go):
        os.close(fd)


def test_behind_a_pooler_it_is_not_known(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock would stay with the pooler's connection, so none is taken."""
    storage, _, name = location.partition("#")
    pooled = f"{storage}{'&' if '?' in storage else '?'}prepare=off#{name}"
    monkeypatch.setattr(list_logs, "is_direct", lambda _: False)
    monkeypatch.setattr(open_marks, "is_direct", lambda _: False)
    with closing(PostgresLog(location, marks_open=True)) as log:  # a pooler that nobody named
        append(log, 1)
        append(log, 2)
        assert open_marks_in(split_location(location)[0]) is None
    with closing(PostgresLog(pooled, marks_open=True)) as log:
        append(log, 3)
        assert open_marks_in(split_location(pooled)[0]) is None
        delete_stored_log(pooled, size_of(location))
