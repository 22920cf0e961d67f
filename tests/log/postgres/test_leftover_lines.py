"""Rows under a log's id that are not its lines: none is left by a purge or a deletion, and those that are there go."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from amplifier_module_context_persistent.log.postgres.list_logs import delete_stored_log
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import plan_purge, purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.commands import run
from tests.support.logs import STAMP, append, append_bodies, body, numbers, reset_bodies
from tests.support.postgres import IN_PARTS, NEW, OLD, TestServer, every_kind
from tests.support.sweeps import proof

CLEARED = Purge(cleared=True)
EARLIER, BEYOND = "of an earlier log of this name", "beyond the end"


def lines_in(server: TestServer, storage: str) -> int:
    """How many rows the table of lines has."""
    ((count,),) = server.execute(f"select count(*) from {storage.rpartition('=')[2]}.record")
    return int(count)


def size_of(location: str) -> int:
    """The bytes of a log."""
    with closing(PostgresLog(location)) as log:
        log.follow()
        return log.describe().size_bytes


@every_kind
@pytest.mark.parametrize("is_deleted", [False, True], ids=["purged", "deleted"])
def test_with_row_level_security_no_line_is_left(server: TestServer, storage: str, is_deleted: bool) -> None:
    """By the role whose log it is, which sees a log's lines only as long as it sees the log's row."""
    role = storage.rpartition("=")[2]
    server.execute(f"create role {role} login")
    run("storage", "init", storage, "--grant-purge", role, "--row-security")
    location = f"{storage.replace('postgres:@', f'{role}:@', 1)}#p/s"
    with closing(PostgresLog(location)) as log:
        append(log, *range(20))
        append_bodies(log, *reset_bodies("r", body(99)))
    purge_log(location, CLEARED, now=lambda: STAMP)
    with closing(PostgresLog(location)) as log:
        assert numbers(log) == [99]
    assert server.execute(f"select head from {role}.log") == [(lines_in(server, storage),)]
    if is_deleted:
        delete_stored_log(location, size_of(location))
        assert lines_in(server, storage) == 0


def leave_lines(server: TestServer, storage: str, how: str) -> int:
    """Make a log beside which rows are left; how many."""
    schema = storage.rpartition("=")[2]
    with closing(PostgresLog(f"{storage}#p/s")) as log:
        append(log, *range(5))
    if how == EARLIER:
        server.execute(f"delete from {schema}.log")
        left = lines_in(server, storage)
        with closing(PostgresLog(f"{storage}#p/s")) as log:
            append(log, 7)
        return left
    server.execute(f"create temporary table beyond as select * from {schema}.record order by seq limit 3")
    server.execute("update beyond set seq = seq + 1000")
    server.execute(f"insert into {schema}.record select * from beyond")
    server.execute("drop table beyond")
    return 3


@pytest.mark.parametrize(
    ("storage", "how"),
    [
        (NEW, EARLIER),
        (NEW, BEYOND),
        pytest.param(OLD, BEYOND, marks=proof),
        pytest.param(IN_PARTS, EARLIER, marks=proof),
        pytest.param(IN_PARTS, BEYOND, marks=proof),
    ],
    indirect=["storage"],
)
def test_lines_that_are_left_are_found_and_go(server: TestServer, storage: str, how: str) -> None:
    """A check finds them; a purge takes them, also if it has nothing else to do; and so does a deletion."""
    location = f"{storage}#p/s"
    left = leave_lines(server, storage, how)
    (found,) = verify_log(location).damage
    assert (found.kind, f"{left} more rows" in found.detail) == ("leftover", True)
    assert plan_purge(location, Purge(torn=True)).counts.is_nothing
    counts = plan_purge(location, CLEARED).counts
    assert (counts.leftover_lines, counts.messages_removed, counts.is_nothing) == (left, 0, False)
    assert purge_log(location, CLEARED, now=lambda: STAMP).to_record()["leftover_lines"] == left
    report = verify_log(location)
    assert report.is_sound
    assert report.live == (1 if how == EARLIER else 5)
    assert server.execute(f"select head from {storage.rpartition('=')[2]}.log") == [(lines_in(server, storage),)]
    delete_stored_log(location, size_of(location))
    leave_lines(server, storage, how)
    delete_stored_log(location, size_of(location))
    assert lines_in(server, storage) == 0


@every_kind
def test_lines_of_no_session_are_named_and_deleted(server: TestServer, storage: str) -> None:
    """As somebody leaves them who deletes a log's row by hand; lines of sessions stay."""
    schema = storage.rpartition("=")[2]
    assert "every line belongs to a session" in run("storage", "check", storage).output
    for name, count in (("p/kept", 3), ("p/gone", 4), ("p/too", 5)):
        with closing(PostgresLog(f"{storage}#{name}")) as log:
            append(log, *range(count))
    ((stays,),) = server.execute(f"select head from {schema}.log where name = 'p/kept'")
    before = lines_in(server, storage)
    server.execute(f"delete from {schema}.log where name <> 'p/kept'")
    told = run("storage", "check", storage, "--json", code=1)
    found = json.loads(told.output)
    assert sum(log["lines"] for log in found["of_no_session"]) == before - stays
    assert len(found["of_no_session"]) == 2
    assert f"{before - stays} lines" in run("storage", "check", storage, code=1).output
    assert "answer y" in run("storage", "check", storage, "--delete", code=2).output
    assert lines_in(server, storage) == before
    assert f"Deleted: {before - stays}" in run("storage", "check", storage, "--delete", "--yes").output
    assert lines_in(server, storage) == stays
    assert verify_log(f"{storage}#p/kept").is_sound


@pytest.mark.parametrize("secured", ["log", "record"])
def test_lines_of_sessions_that_are_hidden_are_not_taken_for_lost(
    server: TestServer, storage: str, secured: str
) -> None:
    """A role that row-level security restricts is refused, whichever table has it."""
    role = storage.rpartition("=")[2]
    server.execute(f"create role {role} login")
    run("storage", "init", storage, "--grant-purge", role)
    server.execute(f"alter table {role}.{secured} enable row level security")
    with closing(PostgresLog(f"{storage}#p/s")) as log:
        append(log, *range(3))
    before = lines_in(server, storage)
    theirs = storage.replace("postgres:@", f"{role}:@", 1)
    told = run("storage", "check", theirs, "--delete", "--yes", code=2).output
    assert "row-level security" in told
    assert lines_in(server, storage) == before
    assert "every line belongs to a session" in run("storage", "check", storage).output
