"""What lists cost in a database of 500,000 sessions: whole processes, on an embedded server.

Sessions are spread over two years and 500 projects; one more project has 20. Each has the lines, the list entry and the
figures of one of 730 sessions, which the commands themselves wrote. The server runs with `fsync=off`.

    python -m benchmarks.postgres_lists [--sessions N] [--rounds N]
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import orjson

from amplifier_module_context_persistent.catalogue.glance import told_of
from amplifier_module_context_persistent.log.postgres.postgres_log import PostgresLog
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.paths import log_name
from benchmarks.measure import Figure, compile_package, table_of
from tests.support.postgres import TestServer, id_in_sql, running_server

DAYS, PROJECTS, MINE = 730, 500, 20
_COMMAND = [sys.executable, "-c", "from amplifier_module_context_persistent.toolbox.cli import main; main()"]

ASKED = {
    "list, in a project of 20": (0.5, ["list"]),
    "list --all -n 20": (0.5, ["list", "--all", "-n", "20"]),
    "stats --all --since 7d": (3.0, ["stats", "--all", "--since", "7d"]),
    "prune --all --older 729d --dry-run": (5.0, ["prune", "--all", "--older", "729d", "--dry-run"]),
    "delete SESSION --dry-run": (0.6, ["delete", "SESSION", "--dry-run"]),
}
"""The commands, each with the seconds that it may take."""


def write_sessions(storage: str, directory: str) -> None:
    """Write a session for each day, and let the commands keep what they say of it."""
    now = datetime.now(UTC)
    for day in range(DAYS):
        begun = now - timedelta(days=day, minutes=5)
        stamps = [(begun + timedelta(minutes=minute)).isoformat(timespec="milliseconds") for minute in range(4)]
        call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        messages = [
            {"role": "user", "content": f"Mend the build of day {day}."},
            {"role": "assistant", "content": "I look at it.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "no such target"},
            {"role": "assistant", "content": "The target is named once more now."},
        ]
        bodies = [
            encode_message(message, message_id=f"m{number}", timestamp=stamp)
            for number, (message, stamp) in enumerate(zip(messages, stamps, strict=True))
        ]
        usage = {"time": stamps[3], "provider": "openai", "model": "gpt-5", "actual_tokens": 4_000, "output_tokens": 80}
        bodies.append(encode_control("usage", **usage))
        with closing(PostgresLog(f"{storage}#{log_name(f'day{day:03}', directory)}")) as log:
            log.append([lambda _index, bodies=bodies: bodies])  # type: ignore[misc]  # bound as it is now
    for command in (["list", "--all"], ["stats", "--all"]):
        run(command, storage, directory)


def multiply(server: TestServer, schema: str, sessions: int, directory: str) -> None:
    """Make many sessions of those that were written, which are deleted."""
    server.execute(f"""
        create table {schema}.made as
        select written.log_id as of_id, written.head, written.size, written.crc,
               case when n <= {MINE} then '{log_name("", directory)}' else '-srv-project' || n %% {PROJECTS} || '/' end
               || md5(n::text)::uuid as name,
               now() - make_interval(days => n %% {DAYS}, secs => 86400.0 * n / {sessions}) as changed
          from generate_series(1, {sessions}) as n
          join (select *, row_number() over (order by name) - 1 as day from {schema}.log) as written
            on day = n %% {DAYS};
        alter table {schema}.made add log_id uuid;
        update {schema}.made set log_id = {id_in_sql("name")};
        insert into {schema}.log (log_id, name, created, changed, touched, head, size, crc)
        select log_id, name, changed, changed, changed, head, size, crc from {schema}.made;
        insert into {schema}.figures select made.log_id, figures.size, counted, told
          from {schema}.made join {schema}.figures on figures.log_id = of_id;
        insert into {schema}.record (log_id, generation, seq, at, kind, crc, role, flags, id_hash, length, line)
        select made.log_id, log.generation, seq, at, kind, record.crc, role, flags, id_hash, length, line
          from {schema}.made join {schema}.log using (log_id) join {schema}.record on record.log_id = of_id;
    """)
    keep_entries(server, schema)
    server.execute(f"""
        delete from {schema}.record where log_id in (select of_id from {schema}.made);
        delete from {schema}.log where log_id in (select of_id from {schema}.made);
        drop table {schema}.made;
        analyze
    """)


def keep_entries(server: TestServer, schema: str) -> None:
    """Keep a list entry of each session, whose last message is a minute older than its last write."""
    made = server.execute(f"""
        select made.log_id, glance.size, told, line, changed
          from {schema}.made join {schema}.glance on glance.log_id = of_id
    """)
    table = f"copy {schema}.glance from stdin".encode()
    with server.connection.cursor() as cursor, cursor.copy(table) as copied:
        for log_id, size, told, line, changed in made:
            said = orjson.loads(told)
            for name, minutes in (("first_message", 4), ("last_message", 1)):
                said["glance"][name] = (changed - timedelta(minutes=minutes)).isoformat(timespec="milliseconds")
            copied.write_row((log_id, size, told_of(said["glance"], said["line"]), line))


def first_session(server: TestServer, schema: str) -> str:
    """The id of a session."""
    ((name,),) = server.execute(f"select name from {schema}.log order by log_id limit 1")
    return str(name).rpartition("/")[2]


def run(command: list[str], storage: str, directory: str) -> float:
    """Run a command in a directory; the seconds that it takes."""
    environment = {**os.environ, "AMPLIFIER_CONTEXT_STORAGE": storage}
    out, start = subprocess.DEVNULL, time.perf_counter()
    subprocess.run(
        [*_COMMAND, *command], check=True, stdout=out, stderr=subprocess.STDOUT, env=environment, cwd=directory
    )
    return time.perf_counter() - start


def own_seconds(command: list[str], storage: str, directory: str) -> float:
    """Run a command in a directory; the processor time of its own process, without the server's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command, storage, directory)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # that the server does not wait for its disk
    compile_package()
    with running_server() as server, tempfile.TemporaryDirectory() as directory:
        server.execute("alter system set fsync = off")
        server.execute("select pg_reload_conf()")
        storage = server.new_location()
        write_sessions(storage, directory)
        schema = storage.rpartition("schema=")[2]
        multiply(server, schema, options.sessions, directory)
        figures = []
        for name, (limit, command) in ASKED.items():
            given = [first_session(server, schema) if word == "SESSION" else word for word in command]
            seconds = min(run(given, storage, directory) for _ in range(options.rounds))
            own = min(own_seconds(given, storage, directory) for _ in range(options.rounds))
            figures.append(Figure(name, f"{seconds:.2f} s", f"{own:.2f} s itself", seconds, limit))
    print(table_of(figures))
    return 0 if all(one.holds for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
