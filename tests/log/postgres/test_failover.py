"""Failover: a session younger than the lag goes on, one that was removed does not, a read-only server is left."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from amplifier_module_context_persistent import AppendError, LogUnreadableError
from amplifier_module_context_persistent.erasures.erasure_record import SESSION, TEXT
from amplifier_module_context_persistent.log.postgres import begin_after_failover, row_bytes, rows
from amplifier_module_context_persistent.log.postgres.erasure_rows import erasure_lines
from amplifier_module_context_persistent.log.postgres.migration_steps import APPEND
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.postgres.role_rights import rights
from amplifier_module_context_persistent.log.postgres.row_security import secure_rows
from amplifier_module_context_persistent.log.postgres.schema import create_schema
from amplifier_module_context_persistent.toolbox.transfer.erasing.erased_session_names import SourceNames
from amplifier_module_context_persistent.toolbox.transfer.erasing.new_erasure import erasure_of
from tests.support.logs import STAMP, append, append_bodies, body, findings, numbers, write_file
from tests.support.postgres import IN_PARTS, TestServer, running_server
from tests.support.snapshots import header
from tests.support.sweeps import proof

Use = Callable[[PostgresLog, int], object]


@contextmanager
def promoted(server: TestServer) -> Iterator[None]:
    """Let the block write what a replica that is promoted after it never had."""
    server.kill()
    server.keep_copy()
    server.start()
    yield
    server.kill()
    server.restore_copy()
    (server.directory / "recovery.signal").touch(mode=0o600)
    with (server.directory / "postgresql.auto.conf").open("a") as settings:
        settings.write("restore_command = 'false'\n")
    owner = server.directory.stat()
    os.chown(server.directory / "recovery.signal", owner.st_uid, owner.st_gid)
    server.start()


@pytest.fixture
def own_server() -> Iterator[TestServer]:
    """A server of this test alone: it is killed."""
    with running_server() as server:
        yield server


@proof
@pytest.mark.parametrize(("kept_bytes", "tables"), [(4 << 20, ""), (0, ""), (4 << 20, IN_PARTS)])
def test_a_session_younger_than_the_lag_goes_on(
    kept_bytes: int, tables: str, own_server: TestServer, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    """Its log is begun anew with the lines that it holds, and it says how many messages were lost and restored."""
    monkeypatch.setattr(row_bytes, "KEPT_BYTES", kept_bytes)
    storage = own_server.new_location(tables)
    logs = [PostgresLog(f"{storage}#p/{name}", lock_timeout_s=30) for name in ("young", "other")]
    with closing(logs[0]) as young, closing(logs[1]) as other:
        with promoted(own_server):
            append(young, 1, 2)
            append(young, 3)
            lines = list(young.records())
            append(other, 1)
        held = [1, 2, 3] if kept_bytes else []
        append(young, 4)
        assert numbers(young) == [*held, 4]
        described = young.describe()
        assert (described.lost_messages, described.restored_messages) == (3, len(held))
        write_file(path := f"{tmp_path}/log.jsonl", b"".join(young.records()))
        assert findings(path) == []
        if held:
            assert list(young.records())[:-1] == lines
        assert numbers(other) == ([1] if kept_bytes else [])  # the first use is a view
    with closing(PostgresLog(f"{storage}#p/young")) as again:
        append(again, 5)
        assert numbers(again) == [*held, 4, 5]


@proof
def test_two_processes_of_a_young_session_begin_one_log(own_server: TestServer) -> None:
    """Whoever comes second takes in what the first one wrote."""
    storage = own_server.new_location()
    with closing(PostgresLog(f"{storage}#s", lock_timeout_s=30)) as one, closing(PostgresLog(f"{storage}#s")) as two:
        with promoted(own_server):
            append(one, 1)
            append(two, 2)
            assert numbers(one) == [1, 2]
        append(two, 3)
        append(one, 4)
        assert numbers(one) == numbers(two) == [1, 2, 3, 4]
    assert own_server.execute(f"select count(*) from {storage.rpartition('=')[2]}.log") == [(1,)]


@proof
def test_a_session_deleted_after_a_failover_stays_deleted(own_server: TestServer) -> None:
    """The list of erasures tells a deletion from a loss."""
    storage = own_server.new_location()
    with closing(PostgresLog(f"{storage}#p/s", lock_timeout_s=30)) as log:
        append_bodies(log, header(2, "mine"), body(1))
        with promoted(own_server):
            append(log, 2)
        delete(own_server, storage, "log:mine")
        for _ in range(2):
            with pytest.raises(LogUnreadableError, match="was removed"):
                append(log, 3)
        assert lines_in(own_server, storage) == 0


def delete(server: TestServer, storage: str, name: str) -> str:
    """Delete all logs, as another client does, and note that one was deleted. Return the salt of the note."""
    schema = storage.rpartition("=")[2]
    deletion = erasure_of(SourceNames((name,)), SESSION, time=STAMP)
    server.execute(f"insert into {schema}.erasure (line) values ('{deletion.to_line().decode()}')")
    lose(server, storage)
    return deletion.salt


def lose(server: TestServer, storage: str) -> None:
    """Take all logs away, as a failover to a server that lagged does."""
    schema = storage.rpartition("=")[2]
    server.execute(f"delete from {schema}.record; delete from {schema}.log")


def lines_in(server: TestServer, storage: str) -> int:
    """The number of lines in the tables."""
    ((count,),) = server.execute(f"select count(*) from {storage.rpartition('=')[2]}.record")
    return int(count)


@pytest.fixture
def other_timeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a log that is gone look as after a failover."""
    monkeypatch.setattr(begin_after_failover, "timeline_of", lambda _: "another timeline")


def as_role(server: TestServer, storage: str, role: str) -> str:
    """The storage as a role that may run sessions; the role is made."""
    schema = storage.rpartition("=")[2]
    server.execute(f"create role {role}_{schema} login; {rights(APPEND, schema, f'{role}_{schema}')}")
    return storage.replace("postgres:@", f"{role}_{schema}:@", 1)


READERS = pytest.mark.parametrize("use", [append, lambda log, _: log.follow()], ids=["append", "follow"])
"""What a session does next: in a transaction, or in none."""


@READERS
@pytest.mark.parametrize("log_id", ["mine", ""])
def test_a_deletion_in_the_list_is_no_loss(
    log_id: str, use: Use, server: TestServer, storage: str, other_timeline: None
) -> None:
    """A log without an id is known by its session's."""
    with closing(PostgresLog(f"{storage}#p/talk")) as log:
        append_bodies(log, *([header(2, log_id)] if log_id else []), body(1))
        delete(server, storage, f"log:{log_id}" if log_id else "session:talk")
        for _ in range(2):
            with pytest.raises(LogUnreadableError, match="was removed"):
                use(log, 2)
        assert lines_in(server, storage) == 0


@READERS
@pytest.mark.parametrize("what", ["nothing", "another", "lifted", "text", "broken", "no table"])
def test_a_log_that_no_deletion_names_goes_on(
    what: str, use: Use, server: TestServer, storage: str, other_timeline: None
) -> None:
    """Another log's does not, nor one that was lifted, nor the erasure of a text."""
    schema = storage.rpartition("=")[2]
    if what == "no table":  # nothing is noted in tables of an earlier version
        server.execute(f"drop table {schema}.erasure")
    with closing(PostgresLog(f"{storage}#p/s")) as log:
        append_bodies(log, header(2, "mine"), body(1))
        line = ""
        if what == "another":
            delete(server, storage, "log:other")
        elif what == "lifted":
            line = json.dumps({"lifts": [delete(server, storage, "log:mine")]})
        elif what == "text":
            line = erasure_of(SourceNames(("log:mine",)), TEXT, time=STAMP).to_line().decode()
        elif what == "broken":
            line = '{"erased":"session","salt":1,"names":7}'
        if line:
            server.execute(f"insert into {schema}.erasure (line) values ('{line}')")
        lose(server, storage)
        use(log, 2)
        append(log, 3)
        assert numbers(log)[0] == 1
        assert log.describe().restored_messages == 1


@READERS
def test_a_deletion_that_ends_as_the_log_is_begun_anew(
    use: Use, server: TestServer, storage: str, other_timeline: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process of the session began the log anew, and it was deleted, before this one makes its row."""
    location = as_role(server, storage, "strict")
    server.execute(f"alter role strict_{storage.rpartition('=')[2]} set default_transaction_isolation = serializable")
    create = rows.create

    def create_later(*arguments: Any, **options: Any) -> Any:
        delete(server, storage, "log:mine")
        return create(*arguments, **options)

    with closing(PostgresLog(f"{location}#p/s")) as log:
        append_bodies(log, header(2, "mine"), body(1))
        lose(server, storage)
        monkeypatch.setattr(rows, "create", create_later)
        with pytest.raises(LogUnreadableError, match="was removed"):
            use(log, 2)
        assert lines_in(server, storage) == 0


@READERS
def test_a_role_that_may_not_read_the_list_begins_no_log_anew(
    use: Use, server: TestServer, storage: str, other_timeline: None, caplog: pytest.LogCaptureFixture
) -> None:
    """It cannot know whether the log was deleted, and says so."""
    location, schema = as_role(server, storage, "blind"), storage.rpartition("=")[2]
    server.execute(f"revoke select on {schema}.erasure from blind_{schema}")
    with closing(PostgresLog(f"{location}#p/s")) as log:
        append_bodies(log, header(2, "mine"), body(1))
        lose(server, storage)
        with pytest.raises(LogUnreadableError, match="was removed"):
            use(log, 2)
        assert "may not read the list of erasures" in caplog.text


@pytest.mark.parametrize("is_older", [False, True], ids=["", "secured before"])
def test_row_security_does_not_hide_an_administrators_deletion(
    is_older: bool, server: TestServer, storage: str, other_timeline: None
) -> None:
    """Of another role's deletions, which are of other logs, none is seen."""
    schema = storage.rpartition("=")[2]
    locations = [as_role(server, storage, role) for role in ("ann", "bob")]
    secure_rows(server.connection, schema)
    if is_older:
        server.execute(f"drop policy of_administrators on {schema}.erasure")
        assert secure_rows(server.connection, schema) == ["erasure"]
    assert secure_rows(server.connection, schema) == []
    with closing(PostgresLog(f"{locations[0]}#p/s")) as log:
        append_bodies(log, header(2, "mine"), body(1))
        server.execute(f"set role bob_{schema}; insert into {schema}.erasure (line) values ('of bob')")
        delete(server, storage, "log:mine")
        with pytest.raises(LogUnreadableError, match="was removed"):
            append(log, 2)
    found = [erasure_lines(location) for location in locations]
    assert [len(lines) for lines in found] == [1, 2]
    assert "of bob" not in found[0]


def test_a_log_that_was_removed_stays_removed(server: TestServer, storage: str) -> None:
    """Also after the server was killed: nobody but a failover takes a log without removing it."""
    schema = storage.rpartition("=")[2]
    with closing(PostgresLog(f"{storage}#s", lock_timeout_s=30)) as log:
        append(log, 1)
        server.execute(f"delete from {schema}.record; delete from {schema}.log")
        server.kill()
        server.start()
        for _ in range(2):
            with pytest.raises(LogUnreadableError, match="removed while it was open"):
                append(log, 2)


@proof
def test_a_server_that_turns_read_only_is_left(server: TestServer, storage: str, own_server: TestServer) -> None:
    """For the next of the address; and without one it is an error in time, and the next append works again."""
    schema, sockets = storage.rpartition("=")[2], [one.socket_path.rpartition("/")[0] for one in (server, own_server)]
    create_schema(own_server.connection, schema)
    both = f"postgresql://postgres@/postgres?host={','.join(sockets)}&schema={schema}#s"
    alone = f"{storage}#alone"
    with closing(PostgresLog(both, lock_timeout_s=30)) as log, closing(PostgresLog(alone, lock_timeout_s=2)) as other:
        append(log, 1)
        append(other, 1)
        server.execute("alter system set default_transaction_read_only = on")
        server.execute("select pg_reload_conf()")
        try:
            append_until_it_is_there(log, own_server, schema)
            with pytest.raises(AppendError, match="read-only"):
                append(other, 2)
        finally:
            server.connection.execute(b"set default_transaction_read_only = off")
            server.execute("alter system reset default_transaction_read_only")
            server.execute("select pg_reload_conf()")
        other.timeout_s = 30
        append(other, 3)
        assert numbers(other) == [1, 3]


def append_until_it_is_there(log: PostgresLog, server: TestServer, schema: str) -> None:
    """Append; a server reads its settings a little later."""
    for number in range(2, 50):
        append(log, number)
        if server.execute(f"select name from {schema}.log"):
            return
    raise AssertionError("nothing was written to the other server")


@proof
def test_a_server_without_a_free_connection_is_an_error_in_time(server: TestServer, storage: str) -> None:
    """The one that the documentation names; once there is a connection, the session goes on."""
    schema = storage.rpartition("=")[2]
    role = f"crowd_{schema}"
    server.execute(f"create role {role} login superuser connection limit 0")
    server.execute(f"alter role {role} nosuperuser")
    server.execute(f"grant usage on schema {schema} to {role}; grant all on all tables in schema {schema} to {role}")
    location = f"{storage.replace('postgres:@', f'{role}:@', 1)}#s"
    with closing(PostgresLog(location, lock_timeout_s=2)) as log:
        with pytest.raises(LogUnreadableError, match="too many connections"):
            log.follow()
        with pytest.raises(AppendError, match="too many connections"):
            append(log, 1)
        server.execute(f"alter role {role} connection limit 10")
        log.timeout_s = 30
        append(log, 1)
        assert numbers(log) == [1]
