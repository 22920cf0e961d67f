"""Lists and searches for texts read the replica that a location names; everything else reads the primary."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.database_location import Location, parse_location
from amplifier_module_context_persistent.log.postgres import ask_database
from amplifier_module_context_persistent.log.postgres.ask_database import ask
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.postgres.replica import reading_from_replica
from amplifier_module_context_persistent.log.postgres.server_connections import ServerError, using
from tests.support.commands import run
from tests.support.logs import append
from tests.support.postgres import CuttingProxy, TestServer
from tests.support.postgres_copy import running_replica
from tests.support.sweeps import proof


@pytest.fixture
def proxy(server: TestServer) -> Iterator[CuttingProxy]:
    """Another way to the server, which counts connections: it stands for a replica."""
    proxy = CuttingProxy(server.socket_path)
    yield proxy
    proxy.close()


@pytest.fixture
def storage(storage: str) -> str:
    """A storage with a session."""
    with closing(PostgresLog(f"{storage}#-p/s1")) as log:
        append(log, 1, 2)
    return storage


def named(storage: str, proxy: CuttingProxy) -> str:
    """The storage with that replica."""
    return f"{storage}&read=127.0.0.1:{proxy.port}"


@proof(quick=8)
@pytest.mark.parametrize(
    ("arguments", "reads"),
    [
        (("list", "--all"), True),
        (("search", "message", "--all"), True),
        (("search", "message", "s1"), True),
        (("stats", "--all"), True),
        (("sql", "select * from sessions", "--all"), True),
        (("search", "--best", "3", "message", "--all"), False),
        (("stats", "s1"), False),
        (("stats", "--all", "--spend-limit", "1d=5"), False),
        (("show", "s1"), False),
        (("verify", "s1"), False),
        (("verify", "--all"), False),
        (("purge", "s1", "--cleared", "--dry-run"), False),
        (("delete", "s1", "--dry-run"), False),
        (("prune", "--all", "--older", "9y", "--dry-run"), False),
        (("export", "s1"), False),
        (("rename", "s1", "Nightly"), False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_only_lists_and_searches_read_the_replica(
    arguments: tuple[str, ...], reads: bool, storage: str, proxy: CuttingProxy, project: Path
) -> None:
    """What must not be behind never does; each command ends as it does without a replica."""
    before = run(*arguments, "--storage", storage, code=None)
    after = run(*arguments, "--storage", named(storage, proxy), code=None)
    assert after.exit_code == before.exit_code
    assert bool(proxy.accepted) == reads
    assert (f"read from 127.0.0.1:{proxy.port}, which is no replica" in after.output) == reads


async def test_a_session_reads_the_primary(storage: str, proxy: CuttingProxy) -> None:
    """Also as it is resumed, and as it recalls."""
    for _ in range(2):
        async with PersistentContextManager(storage=named(storage, proxy), session_id="s1", project="-p") as session:
            await session.add_message({"role": "user", "content": "more"})
            assert await session.get_messages_for_request()
    assert proxy.accepted == 0


def test_a_replica_that_is_away_is_said(storage: str, proxy: CuttingProxy) -> None:
    """Then the primary is asked."""
    location = named(storage, proxy)
    proxy.close()
    told = run("list", "--all", "--storage", location).output
    assert "the replica cannot be read, so the primary is" in told
    assert "s1" in told


@pytest.mark.parametrize("value", ["a@b", "host:port", "a b", "a,,b", "[::1"])
def test_a_replica_that_cannot_be_read_is_refused(value: str) -> None:
    """Before any connection."""
    with pytest.raises(ValueError, match="read must be HOST"):
        parse_location(f"postgresql://db.example/agents?read={value}")


def test_a_replica_of_a_service() -> None:
    """It is a word of the service's location, too, and is shown."""
    found = parse_location("service=agents read=replica.example:5433 #p/s")
    assert (found.read, found.shown) == ("replica.example:5433", "service=agents read=replica.example:5433 #p/s")


def until_said(storage: str, said: str) -> str:
    """List until a command says something of its replica; its output."""
    for _ in range(100):
        if said in (told := run("list", "--all", "--storage", storage).output):
            return told
        time.sleep(0.1)
    return pytest.fail(f"never said {said!r}: {told}")


@proof
def test_a_replica_that_is_behind(storage: str, server: TestServer) -> None:
    """It is said, and what has to be up to date is."""
    with running_replica(server) as replica:
        location = f"{storage}&read={replica.socket_dir}"
        until_said(location, "which is up to date")
        replica.execute("select pg_wal_replay_pause()")
        with closing(PostgresLog(f"{storage}#-p/s2")) as log:
            append(log, 3)
        told = until_said(location, "which is behind; its last change is")
        assert "s1" in told
        assert "s2" not in told
        assert "message 3" not in run("search", "message", "--all", "--storage", location).output
        assert "message 3" in run("show", "s2", "--storage", location).output
        assert "sound" in run("verify", "s2", "--storage", location).output
        replica.execute("select pg_wal_replay_resume()")
        assert "s2" in until_said(location, "which is up to date")
        run("delete", "s2", "--storage", location, "--yes")
    assert "s2" not in run("list", "--all", "--storage", location).output


CANCELLED = """
    do $$ begin raise exception using errcode = '40001', message = 'canceling statement due to conflict with recovery';
    end $$
"""
"""A statement with the error of a replica that cancels a statement."""


@pytest.mark.parametrize(("times", "is_answered_by_replica"), [(1, True), (2, True), (3, False)])
def test_a_replica_that_cancels_is_asked_again(
    times: int,
    is_answered_by_replica: bool,
    storage: str,
    proxy: CuttingProxy,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """And then the primary, with a word of what the administrator may set."""
    asked: list[bool] = []

    def question(connection: Any, _location: Location) -> bool:
        is_replica = connection.info.port == proxy.port
        asked.append(is_replica)
        if len(asked) <= times:
            connection.execute(CANCELLED)
        return is_replica

    location = named(storage, proxy)
    with reading_from_replica(location):
        assert ask(location, 10, question) == is_answered_by_replica
        assert asked == [True] * min(times + 1, 3) + [False] * (not is_answered_by_replica)
    assert ("hot_standby_feedback" in caplog.text) != is_answered_by_replica


def test_another_refusal_of_a_replica_is_an_error(storage: str, proxy: CuttingProxy) -> None:
    """It is not asked again."""
    location = named(storage, proxy)
    with reading_from_replica(location), pytest.raises(LogUnreadableError, match="the server refused: division by"):
        ask(location, 10, lambda connection, _: connection.execute("select 1 / 0"))


def test_what_a_replica_cancels_is_listed(
    storage: str, proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    """Every question of a command is asked again."""
    cancelled: list[str] = []

    def connect(place: Location) -> Any:
        if f"port={proxy.port}" not in place.conninfo:
            return using(place)
        cancelled.append(place.conninfo)
        raise ServerError("canceling statement", sqlstate="40001", is_refusal=True)

    monkeypatch.setattr(ask_database, "using", connect)
    for arguments in (["list"], ["list", "--grep", "message"], ["search", "message"], ["stats"]):
        cancelled.clear()
        plain = run(*arguments, "--all", "--storage", storage).stdout
        assert run(*arguments, "--all", "--storage", named(storage, proxy)).stdout == plain
        assert cancelled
