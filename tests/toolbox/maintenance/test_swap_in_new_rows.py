"""Purges in a database: they leave what a purge of the file leaves, and running sessions go on."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.errors import (
    AppendError,
    LockTimeoutError,
    LogUnreadableError,
    PurgeError,
)
from amplifier_module_context_persistent.log.database_location import location_of, split_location
from amplifier_module_context_persistent.log.open_log import open_log
from amplifier_module_context_persistent.log.postgres import rows
from amplifier_module_context_persistent.log.postgres.migration_steps import PURGE
from amplifier_module_context_persistent.log.postgres.new_log import NewStoredLog
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.postgres.role_rights import rights
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import plan_purge, purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.transfer.copy_log import copy_log
from tests.support.commands import run
from tests.support.logs import STAMP, append, append_bodies, append_to, body, keep, numbers, reset_bodies, sealed
from tests.support.postgres import CuttingProxy, TestServer
from tests.support.purges import HEADER, before, plan, redact
from tests.support.sweeps import proof, spread

LINES = sealed([*map(body, range(20)), plan(10, (0, 3)), *reset_bodies("r", body(30)), *map(body, range(40, 60))])
LOGS = {
    "sound": b"".join(LINES),
    "edited": b"".join(LINES).replace(b"4", b"5", 9),
    "lost": b"".join(LINES[:7] + LINES[8:]),
    "moved": b"".join([*LINES[:3], LINES[4], LINES[3], *LINES[5:]]),
    "version": b"".join(sealed([HEADER, *map(body, range(60))])).replace(b'"version":2', b'"version":3'),
}


@pytest.fixture
def stored(storage: str) -> str:
    """The location of this test's log."""
    return location_of(storage, "p/s")


PURGES = {
    "before": before(45),
    "cleared": Purge(cleared=True),
    "all": Purge(everything=True),
    "redact": redact("4"),
    "redact nothing": redact("nothing"),
    "torn": Purge(torn=True),
}


@proof(quick=2)
@pytest.mark.parametrize(("kind", "name"), list(spread(product(PURGES, LOGS), 3)))
def test_what_stays_is_what_stays_in_a_file(kind: str, name: str, stored: str, tmp_path: Path) -> None:
    """Byte for byte, with the same counts; or the same refusal, and nothing done."""
    path, back = str(tmp_path / "log.jsonl"), str(tmp_path / "back.jsonl")
    Path(path).write_bytes(LOGS[name])
    copy_log(path, stored)
    said, purge = [], PURGES[kind]
    for place in (path, stored):
        try:
            planned = plan_purge(place, purge).counts
            said.append((planned, purge_log(place, purge, now=lambda: STAMP)))
        except PurgeError as error:
            said.append(str(error))
    with closing(open_log(stored)) as log:
        append(log, 99)
    append_to(path, 99)
    copy_log(stored, back)
    assert Path(back).read_bytes() == Path(path).read_bytes()
    assert said[0] == said[1]


def test_running_sessions_notice(stored: str) -> None:
    """They read the log anew, lose nothing that stays, and append after it."""
    log, other = PostgresLog(stored), PostgresLog(stored)
    append(log, *range(10))
    other.follow()
    purge_log(stored, before(5), now=lambda: STAMP)
    append(other, 10)
    assert numbers(log) == numbers(other) == [*range(5, 11)]
    assert (log.describe().lost_messages, log.index.damage) == (0, [])
    purge_log(stored, Purge(everything=True), now=lambda: STAMP)
    assert numbers(log) == []
    for one in (log, other):
        one.close()


def test_what_is_appended_meanwhile_stays(stored: str) -> None:
    """A writer goes on through purges: all that it was told is stored is there, in order, but what they removed."""
    with closing(PostgresLog(stored, lock_timeout_s=60)) as log:
        append(log, *range(50))
        done, failures, written = threading.Event(), list[Exception](), list[int]()

        def write() -> None:
            writer, number = PostgresLog(stored, lock_timeout_s=60), 1_000
            while not done.is_set() or number < 1_010:
                try:
                    append(writer, number)
                except Exception as error:  # reported below
                    failures.append(error)
                    return
                written.append(number)
                number += 1
            writer.close()

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for first in (10, 20, 30):
                purge_log(stored, before(first), now=lambda: STAMP, lock_timeout_s=60)
        finally:
            done.set()
            thread.join()
        assert not failures
        assert numbers(log) == [*range(30, 50), *written]
        assert log.index.damage == []


def test_of_two_purges_the_second_is_refused_or_comes_after(stored: str) -> None:
    """Both at once: each removes what it says, or says that it removed nothing."""
    with closing(PostgresLog(stored)) as log:
        append(log, *range(40))
        outcomes: list[object] = []

        def purge(first: int) -> None:
            try:
                outcomes.append(purge_log(stored, before(first), now=lambda: STAMP, lock_timeout_s=60).messages_removed)
            except (PurgeError, AppendError) as error:
                outcomes.append(error)

        threads = [threading.Thread(target=purge, args=(first,)) for first in (10, 20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        removed = sum(one for one in outcomes if isinstance(one, int))
        assert removed in (10, 20)
        assert numbers(log) == [*range(removed, 40)]


def test_a_purge_beside_another_one_says_so_soon(stored: str) -> None:
    """It changes nothing, and does not wait for the end of the other one, which may be far."""
    with closing(PostgresLog(stored)) as log:
        append(log, *range(40))
        with NewStoredLog(f"{stored} (purge)", like=log.head), ThreadPoolExecutor() as pool:
            purge = pool.submit(purge_log, stored, before(10), now=lambda: STAMP, lock_timeout_s=60)
            with pytest.raises(PurgeError, match="another purge of this session is running"):
                purge.result(timeout=30)
        assert purge_log(stored, before(10), now=lambda: STAMP).messages_removed == 10
        assert numbers(log) == [*range(10, 40)]


@pytest.mark.parametrize("change", [before(45), None], ids=["purge", "copy"])
def test_a_role_with_short_transactions_changes_a_long_session(
    change: Purge | None, server: TestServer, stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A DBA's limit on transactions is not one on purges and copies, which take as long as the session is."""
    if server.execute("select current_setting('transaction_timeout', true)") == [(None,)]:
        pytest.skip("this server has no such limit")
    (tmp_path / "log.jsonl").write_bytes(LOGS["sound"])
    if change is not None:
        copy_log(str(tmp_path / "log.jsonl"), stored)
    schema = split_location(stored)[0].rpartition("=")[2]
    role = f"hasty_{schema}"
    server.execute(f"create role {role} login; {rights(PURGE, schema, role)}")
    server.execute(f"alter role {role} set transaction_timeout = '300ms'")
    as_role = stored.replace("postgres:@", f"{role}:@", 1)
    insert = rows.insert

    def insert_slowly(*arguments: Any) -> None:
        insert(*arguments)
        time.sleep(0.6)

    monkeypatch.setattr(rows, "insert", insert_slowly)
    if change is None:
        copy_log(str(tmp_path / "log.jsonl"), as_role)
    else:
        assert purge_log(as_role, change, now=lambda: STAMP).messages_removed
    with closing(PostgresLog(as_role)) as log:
        append(log, 99)
        assert numbers(log)[-1] == 99


def test_a_copy_beside_another_one_to_the_same_place_says_so_soon(stored: str, tmp_path: Path) -> None:
    """As a purge does."""
    (tmp_path / "log.jsonl").write_bytes(LOGS["sound"])
    with NewStoredLog(stored), ThreadPoolExecutor() as pool:
        copy = pool.submit(copy_log, str(tmp_path / "log.jsonl"), stored)
        with pytest.raises(LockTimeoutError, match="another client is writing this log"):
            copy.result(timeout=30)


def test_a_purge_whose_rows_another_purge_deletes_is_refused(stored: str) -> None:
    """It says that the log was purged meanwhile, and changes nothing."""
    with closing(PostgresLog(stored)) as log:
        append(log, *range(40))

        def other_first() -> str:
            purge_log(stored, before(10), now=lambda: STAMP)
            return STAMP

        with pytest.raises(PurgeError, match="by another process"):
            purge_log(stored, before(20), now=other_first)
        assert numbers(log) == [*range(10, 40)]


def test_a_history_that_is_replaced_meanwhile_is_the_history_afterwards(stored: str) -> None:
    """A session set new messages after the purge had read the log."""
    with closing(PostgresLog(stored)) as log:
        append(log, 0, 1, 2)

        def replaced_first() -> str:
            with closing(PostgresLog(stored)) as other:
                append_bodies(other, *reset_bodies("s", body(7), keep(2, 2), body(8), upto="id-2"))
            return STAMP

        purge_log(stored, redact("message 1"), now=replaced_first)
        assert numbers(log) == [7, 2, 8]


def test_a_log_that_is_purged_while_it_is_read_is_read_anew(stored: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the log's row and its lines a purge may delete these; whoever opens the log then gets the new ones."""
    with closing(PostgresLog(stored)) as log:
        append(log, *range(40))
        waiting, read_block = [20, 10], rows.read_block

        def purged_first(*arguments: Any) -> list[bytes]:
            if waiting:
                first, *waiting[:] = waiting[::-1]
                with monkeypatch.context() as unpatched:
                    unpatched.setattr(rows, "read_block", read_block)
                    purge_log(stored, before(first), now=lambda: STAMP)
            return read_block(*arguments)

        monkeypatch.setattr(rows, "read_block", purged_first)
        opened = PostgresLog(stored)
        assert numbers(opened) == [*range(20, 40)]
        assert opened.describe().lost_messages == 0
    opened.close()


@proof
def test_a_purge_is_cut_anywhere(server: TestServer, stored: str) -> None:
    """An error says that nothing was changed, and nothing was; a success is one."""
    log, proxy, first = open_log(stored, lock_timeout_s=60), CuttingProxy(server.socket_path), 0
    append(log, *range(400))
    try:
        through = proxy.location(stored)
        for cut in (700, 2_000, 9_000, 40_000, 50_000, 60_000, None):
            proxy.cut_after = cut
            try:
                purge_log(through, before(first + 10), now=lambda: STAMP, lock_timeout_s=60)
                first += 10
            except (AppendError, LogUnreadableError):
                pass
            proxy.cut_after = None
            append(log, 1_000 + first)
            assert [n for n in numbers(log) if n < 1_000] == [*range(first, 400)]
            assert log.index.damage == []
    finally:
        proxy.close()
        log.close()
    assert first
    assert proxy.cuts


def test_another_purge_is_not_taken_for_the_own(
    server: TestServer, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection ends before the commit, and another purge is done before anybody asks: the own one was not."""
    import psycopg

    with closing(PostgresLog(stored)) as log:
        append(log, *range(20))
        really, commits = psycopg.Connection.execute, list[int]()

        def execute(self: Any, query: Any, *arguments: Any, **options: Any) -> Any:
            if query == b"commit" and not commits:
                commits.append(self.info.backend_pid)
                server.execute("select pg_terminate_backend(%s)", commits[0])
                other = threading.Thread(target=purge_log, args=(stored, before(15)), kwargs={"now": lambda: STAMP})
                other.start()
                other.join(60)
            return really(self, query, *arguments, **options)

        monkeypatch.setattr(psycopg.Connection, "execute", execute)
        with pytest.raises(AppendError, match="nothing is stored"):
            purge_log(stored, redact("3"), now=lambda: STAMP)
        assert commits
        assert numbers(log) == [*range(15, 20)]


def test_a_purge_by_another_role_leaves_the_log_to_its_owner(server: TestServer) -> None:
    """Owner and creation stay, and so does what policies by owner let the owner see; the session goes on."""
    for role, right in (("its_owner", ""), ("another", ""), ("its_purger", "bypassrls")):
        server.execute(f"create role {role} login {right}")
    url = f"{server.server.get_uri()}&schema=owned"
    grants = ("--grant", "its_owner", "--grant", "another", "--grant-purge", "its_purger")
    run("storage", "init", url, *grants, "--row-security")
    of = {role: f"{url.replace('postgres:@', f'{role}:@', 1)}#p/s" for role in ("its_owner", "another", "its_purger")}
    with closing(PostgresLog(of["its_owner"])) as log:
        append(log, 1, 2)
        was = server.execute("select owner, created, name from owned.log")
        purge_log(of["its_purger"], redact("1"), now=lambda: STAMP)
        assert server.execute("select owner, created, name from owned.log") == was
        append(log, 3)
        log.follow()
        assert len(log.index.live) == 3
    for role, lines in (("its_owner", 4), ("another", 0)):
        assert server.execute(f"set role {role}; select count(*) from owned.record") == [(lines,)]
