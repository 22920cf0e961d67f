"""Backups: the role that may read dumps the tables, and what is restored is a log that goes on."""

from __future__ import annotations

import re
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.database_location import parse_location
from amplifier_module_context_persistent.log.postgres.partitions import is_partitioned
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.postgres.server_connections import using
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.commands import run
from tests.support.logs import append, numbers
from tests.support.postgres import TestServer
from tests.support.postgres_copy import base_backup
from tests.support.sweeps import proof


@proof(quick=1)
@pytest.mark.parametrize(
    "options", ["--grant-read", "--grant", "--grant-purge", "--partitioned --grant-read", "--partitioned --grant-purge"]
)
def test_who_may_read_can_dump_and_the_dump_goes_on(options: str, server: TestServer, tmp_path: Path) -> None:
    """While a session runs, also of tables in parts; restored elsewhere, the log is opened, verified and resumed."""
    words = re.sub("[- ]+", "_", options)
    role = f"dumps{words}"
    database, schema, uri = f"restored{words}", role, server.server.get_uri()
    server.execute(f"create role {role} login")
    server.execute(f"create database {database}")
    run("storage", "init", f"{uri}&schema={schema}", *options.split(), role)
    file, place = tmp_path / "dump.sql", ("-h", str(Path(server.socket_path).parent))
    with closing(PostgresLog(f"{uri}&schema={schema}#s")) as log:
        append(log, 1, 2)
        append(log, 3)
        dump = [server.binaries / "pg_dump", *place, "-U", role, "postgres", f"--schema={schema}", "-f", file]
        subprocess.run(dump, check=True, timeout=60)
        append(log, 4)
    restore = [server.binaries / "psql", *place, "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-q", "-f", file, database]
    subprocess.run(restore, check=True, timeout=60, stdout=subprocess.DEVNULL)
    location = f"{uri.replace('/postgres?', f'/{database}?')}&schema={schema}#s"
    assert verify_log(location).is_sound
    with closing(PostgresLog(location)) as restored:
        append(restored, 5)
        assert numbers(restored) == [1, 2, 3, 5]
    with using(parse_location(location)) as there, there.connected(time.monotonic() + 10) as connection:
        assert is_partitioned(connection, schema) == options.startswith("--partitioned")
        assert is_partitioned(connection, schema, "record") == options.startswith("--partitioned")
    with closing(PostgresLog(f"{location}-new")) as another:
        append(another, 1)
        assert numbers(another) == [1]
    server.execute(f"drop database {database} with (force)")


@proof
def test_a_moment_is_restored_from_a_base_backup_and_the_write_ahead_log(server: TestServer) -> None:
    """The session is what it was then: sound, and without what came later."""
    storage = server.new_location()
    archive = Path(server.socket_path).parent / "pg_wal"  # what an `archive_command` would copy is here still
    with closing(PostgresLog(f"{storage}#s")) as log:
        append(log, 1, 2)
        with base_backup(server) as copy:
            append(log, 3)
            ((moment,),) = server.execute("select clock_timestamp()::text")
            append(log, 4)
            server.execute("select pg_switch_wal()")
            restored = {"recovery_target_time": str(moment), "recovery_target_action": "promote"}
            copy.configure({"restore_command": f'cp "{archive}/%f" "%p"', **restored})
            (copy.data / "recovery.signal").touch()
            copy.start()
            try:
                at_copy = storage.replace(str(Path(server.socket_path).parent), str(copy.socket_dir))
                assert at_copy != storage
                assert verify_log(f"{at_copy}#s").is_sound
                with closing(PostgresLog(f"{at_copy}#s", lock_timeout_s=30)) as then:
                    append(then, 5)
                    assert numbers(then) == [1, 2, 3, 5]
            finally:
                copy.stop()
        assert numbers(log) == [1, 2, 3, 4]
