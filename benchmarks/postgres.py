"""What a log in PostgreSQL costs, each against something else in the same run, on an embedded server.

The server runs with `fsync=off`: what is measured is the work, not the disk.

- an append (`fsync`) against one bare insert and commit of the same bytes in a worker thread;
- 16 sessions of one process that append at once against one after the other, on a server whose answers take 5 ms, as
  those of a disk or of a network do; and without that, where this process's own time is all there is to share;
- an append of 16 tasks at once against one after the other;
- a request against one of the same session in a file;
- resuming a session against fetching and parsing all its lines, each in a process of its own, with the memory it adds;
- four processes that append to one session, against one process;
- the bytes of a session of 1,000 messages in the tables;
- with `--many N`, only `list --all` and `search --all` over N sessions of 200 messages, as whole processes, against one
  that selects the length of every line: `list` when nothing was kept, and the next time; a word that one session has;
- with `--snapshot N`, only N appends to one session while another connection keeps a snapshot open, as a backup or a
  report does, against N appends to another session before it.

    python -m benchmarks.postgres [--messages N] [--rounds N] [--calls N] [--many N] [--snapshot N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.database_location import location_of
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.paths import log_name
from amplifier_module_context_persistent.toolbox.transfer.copy_log import copy_log
from benchmarks.append import MESSAGE, STAMP
from benchmarks.measure import Comparison, compare_async, report
from benchmarks.sessions import write_session
from tests.support.postgres import CuttingProxy, TestServer, id_in_sql, running_server

TASKS, PROCESSES = 16, 4
_EACH = 200  # appends of each process


def resident_bytes() -> int:
    """The process's resident memory (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def open_session(storage: str, session_id: str, **options: Any) -> PersistentContextManager:
    """A session in a database."""
    return PersistentContextManager(storage=storage, session_id=session_id, tokenizer="estimate", **options)


async def append(server: TestServer, storage: str, calls: int, rounds: int) -> Comparison:
    """A durable append against a bare insert and commit in a worker thread."""
    import psycopg

    line, _ = seal(encode_message(MESSAGE, message_id="id-1000", timestamp=STAMP), 0)
    loop, worker = asyncio.get_running_loop(), ThreadPoolExecutor(max_workers=1)
    server.execute("create table bare (number bigint generated always as identity primary key, line bytea not null)")
    async with open_session(storage, "append") as manager:
        with psycopg.connect(server.server.get_uri(), autocommit=True, prepare_threshold=2) as connection:

            def insert() -> None:
                connection.execute("insert into bare (line) values (%s)", [line])

            async def bare() -> None:
                await loop.run_in_executor(worker, insert)

            async def ours() -> None:
                await manager.add_message(MESSAGE)

            pair = (("append, fsync", ours), ("insert + commit in a thread", bare))
            compared = await compare_async("append", *pair, limit=1.9, calls=calls, rounds=rounds)
    worker.shutdown()
    return compared


async def together(storage: str, calls: int, rounds: int) -> Comparison:
    """The time for 16 messages: of 16 tasks at once, and one after the other."""
    async with open_session(storage, "together") as manager:

        async def at_once() -> None:
            await asyncio.gather(*(manager.add_message(MESSAGE) for _ in range(TASKS)))

        async def one_by_one() -> None:
            for _ in range(TASKS):
                await manager.add_message(MESSAGE)

        pair = ((f"{TASKS} tasks at once", at_once), (f"{TASKS} one after the other", one_by_one))
        return await compare_async("16 tasks", *pair, limit=0.25, calls=max(4, calls // TASKS), rounds=rounds)


async def sessions(storage: str, calls: int, rounds: int, *, name: str, limit: float) -> Comparison:
    """The time for a message in each of 16 sessions: at once, and one after the other."""
    managers = [open_session(storage, f"{name}-{number}") for number in range(TASKS)]

    async def at_once() -> None:
        await asyncio.gather(*(manager.add_message(MESSAGE) for manager in managers))

    async def one_by_one() -> None:
        for manager in managers:
            await manager.add_message(MESSAGE)

    pair = (("16 sessions at once", at_once), ("16 sessions one by one", one_by_one))
    compared = await compare_async(name, *pair, limit=limit, calls=max(4, calls // TASKS), rounds=rounds)
    for manager in managers:
        await manager.close()
    return compared


async def far_sessions(server: TestServer, storage: str, calls: int, rounds: int) -> Comparison:
    """The same on a server whose every answer comes 5 ms later."""
    proxy = CuttingProxy(server.socket_path, delay_s=0.005)
    try:
        return await sessions(proxy.location(storage), calls, rounds, name="16 sessions", limit=0.25)
    finally:
        proxy.close()


async def request(storage: str, calls: int, rounds: int) -> Comparison:
    """A request after a new message, in a session of 1,000 messages with a plan."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "log.jsonl")
        write_session(path, 1_000)
        copy_log(path, location_of(storage, log_name("request", ".")))
        options: dict[str, Any] = {"max_tokens": 40_000}
        file = PersistentContextManager(path, tokenizer="estimate", **options)
        stored = open_session(storage, "request", **options)
        times: dict[str, list[float]] = {}
        best = (9e9, 0.0, 0.0)
        for _ in range(rounds):
            times = {"file": [], "stored": []}
            for number in range(calls):
                for name, manager in (("file", file), ("stored", stored)):
                    await manager.add_message({"role": "user", "content": f"go on with step {number}"})
                    start = time.perf_counter()
                    await manager.get_messages_for_request()
                    times[name].append((time.perf_counter() - start) * 1e6)
            medians = [statistics.median(times[name]) for name in ("stored", "file")]
            best = min(best, (medians[0] / medians[1], *medians))
        await file.close()
        await stored.close()
    return Comparison(
        "request", "in PostgreSQL", "in a file", round(best[1], 2), round(best[2], 2), round(best[0], 3), 1.3
    )


def resume(storage: str, messages: int, rounds: int) -> tuple[Comparison, dict[str, float]]:
    """The first view of a new process, which follows an earlier one's plan; with the memory that it adds."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "log.jsonl")
        size = write_session(path, messages)
        copied = copy_log(path, location_of(storage, log_name("resume", ".")))
        back = copy_log(location_of(storage, log_name("resume", ".")), os.path.join(directory, "back.jsonl"))
        assert copied.sha256 == back.sha256
    _worker("view", storage)  # makes the plan
    pairs = [(_worker("view", storage), _worker("parse", storage)) for _ in range(rounds)]
    ratio, ours, theirs = min((v["seconds"] / p["seconds"], v["seconds"], p["seconds"]) for v, p in pairs)
    memory = {
        "log_bytes": size,
        "memory_of_view": statistics.median(view["bytes"] for view, _ in pairs),
        "memory_of_lines": statistics.median(parsed["bytes"] for _, parsed in pairs),
    }
    name = f"resume of {messages:,}"
    return Comparison(name, "first view", "fetch and parse", ours * 1e6, theirs * 1e6, round(ratio, 3), 0.3), memory


def processes(storage: str) -> dict[str, float]:
    """Messages a second of four processes that append to one session, and of one."""
    rates = {}
    for count in (1, PROCESSES):
        commands = [
            [sys.executable, "-m", "benchmarks.postgres", "--worker", "append", f"{storage}#processes-{count}"]
            for _ in range(count)
        ]
        start = time.perf_counter()
        running = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
        done = [json.loads(process.communicate()[0]) for process in running]
        assert all(process.returncode == 0 for process in running)
        taken = max(one["end"] for one in done) - min(one["start"] for one in done)
        rates[f"messages_a_second_of_{count}"] = count * _EACH / taken
        rates[f"seconds_of_{count}_with_imports"] = time.perf_counter() - start
    return rates


def size_of_1000(server: TestServer) -> dict[str, float]:
    """The bytes of 1,000 messages in a file, in the table with its long lines, and in its index."""
    storage = server.new_location()
    schema = storage.rpartition("schema=")[2]
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "log.jsonl")
        size = write_session(path, 1_000)
        copy_log(path, location_of(storage, "s"))
    server.execute(f"vacuum full {schema}.record")
    ((table, index),) = server.execute(f"select pg_table_size('{schema}.record'), pg_indexes_size('{schema}.record')")
    return {"file_bytes": size, "table_bytes": table, "index_bytes": index}


def many(server: TestServer, sessions: int) -> dict[str, float]:
    """The seconds of commands over many sessions in a database, and of one that looks at all lines."""
    storage = server.new_location()
    schema = storage.rpartition("schema=")[2]
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "log.jsonl")
        write_session(path, 200)
        copy_log(path, location_of(storage, log_name("one", ".")))
    server.execute(
        f"""
        with made as (
            insert into {schema}.log (log_id, name, head, size, crc)
            select {id_in_sql("made.name")}, made.name, head, size, crc
              from {schema}.log, generate_series(3, {sessions}) as n,
                   lateral (select replace(log.name, '/one', '/s' || n)) as made (name)
            returning log_id, generation
        )
        insert into {schema}.record (log_id, generation, seq, at, kind, crc, role, flags, id_hash, length, line)
        select made.log_id, made.generation, seq, at, kind, crc, role, flags, id_hash, length, line
          from made, {schema}.record
        """
    )

    async def say_it_once() -> None:
        async with open_session(storage, "other") as manager:
            await manager.add_message({**MESSAGE, "content": "zyzzyva"})

    asyncio.run(say_it_once())
    server.execute(f"vacuum analyze {schema}.record")
    command = [sys.executable, "-c", "from amplifier_module_context_persistent.toolbox.cli import main; main()"]
    asked = f"select sum(length(line)) from {schema}.record"
    select = f"import psycopg; psycopg.connect({server.server.get_uri()!r}).execute({asked!r})"
    runs = {
        "select": [sys.executable, "-c", select],
        "list --all, nothing kept": [*command, "list", "--all"],
        "list --all": [*command, "list", "--all"],
        "search --all": [*command, "search", "zyzzyva", "--all"],
    }
    seconds = {}
    for name, arguments in runs.items():
        start = time.perf_counter()
        environment = {**os.environ, "AMPLIFIER_CONTEXT_STORAGE": storage}
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, env=environment)
        seconds[f"seconds_of_{name}"] = time.perf_counter() - start
    return seconds


def server_s(server: TestServer) -> float:
    """The seconds of processor time that the server's processes for our connections have taken."""
    import psutil

    pids = server.execute("select pid from pg_stat_activity where application_name = 'context-persistent'")
    times = [psutil.Process(pid).cpu_times() for (pid,) in pids]
    return sum(one.user + one.system for one in times)


def under_a_snapshot(server: TestServer, appends: int) -> dict[str, float]:
    """The milliseconds of the server's processor time for an append, without and with a long snapshot.

    They are of the first and the last tenth of the appends. After the snapshot is closed, the same session goes on for
    a tenth of them.
    """
    import psycopg

    storage = server.new_location()
    tenth = max(1, appends // 10)

    async def run(session_id: str, count: int) -> list[float]:
        tenths = list[float]()
        async with open_session(storage, session_id) as manager:
            await manager.add_message(MESSAGE)  # opens the log
            for _ in range(count // tenth):
                start = server_s(server)
                for _ in range(tenth):
                    await manager.add_message(MESSAGE)
                tenths.append(1e3 * (server_s(server) - start) / tenth)
        return tenths

    without = asyncio.run(run("without", appends))
    with psycopg.connect(server.server.get_uri()) as other:
        other.execute("set transaction isolation level repeatable read")
        other.execute("select 1")
        under = asyncio.run(run("under", appends))
    after = asyncio.run(run("under", tenth))
    return {
        "server's ms of the first appends without": without[0],
        "server's ms of the last appends without": without[-1],
        "server's ms of the first appends with it": under[0],
        "server's ms of the last appends with it": under[-1],
        "server's ms of appends after it": after[-1],
    }


def view(storage: str) -> dict[str, float]:
    """Open the session and make the first view."""
    import psycopg  # noqa: F401 - imports are not counted

    async def first() -> int:
        async with open_session(storage, "resume") as manager:
            return len(await manager.get_messages_for_request())

    before, start = resident_bytes(), time.perf_counter()
    messages = asyncio.run(first())
    return {"seconds": time.perf_counter() - start, "messages": messages, "bytes": resident_bytes() - before}


def parse(storage: str) -> dict[str, float]:
    """Fetch all lines of the session and parse each."""
    import orjson
    import psycopg

    from amplifier_module_context_persistent.log.database_location import parse_location

    location = parse_location(storage)
    statement = f"select line from {location.schema}.record join {location.schema}.log using (log_id) where name = %s"
    before, start = resident_bytes(), time.perf_counter()
    with psycopg.connect(location.conninfo) as connection:
        rows = connection.execute(f"{statement} order by seq".encode(), [log_name("resume", ".")], binary=True)
        kept = [orjson.loads(line) for (line,) in rows]
    return {"seconds": time.perf_counter() - start, "messages": len(kept), "bytes": resident_bytes() - before}


def append_many(location: str) -> dict[str, float]:
    """Append messages, one after the other."""
    storage, _, session_id = location.partition("#")

    async def run() -> dict[str, float]:
        async with open_session(storage, session_id, lock_timeout_s=60) as manager:
            await manager.add_message(MESSAGE)
            start = time.time()
            for _ in range(_EACH):
                await manager.add_message(MESSAGE)
            return {"start": start, "end": time.time()}

    return asyncio.run(run())


WORKERS = {"view": view, "parse": parse, "append": append_many}


def _worker(name: str, storage: str) -> dict[str, float]:
    """Run one worker in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.postgres", "--worker", name, storage]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> int:
    """Measure and print JSON and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--many", type=int, metavar="N", help="only commands over so many sessions")
    parser.add_argument("--snapshot", type=int, metavar="N", help="only so many appends under a long snapshot")
    parser.add_argument("--worker", nargs=2, metavar=("NAME", "STORAGE"))
    options = parser.parse_args()
    if options.worker:
        name, storage = options.worker
        print(json.dumps(WORKERS[name](storage)))
        return 0
    with running_server() as server:
        server.execute("alter system set fsync = off")
        server.execute("select pg_reload_conf()")
        if options.many or options.snapshot:
            found = many(server, options.many) if options.many else under_a_snapshot(server, options.snapshot)
            for name, value in found.items():
                print(f"{name:<40} {value:>10.2f}")
            return 0
        storage = server.new_location()
        results = [
            asyncio.run(append(server, storage, options.calls, options.rounds)),
            asyncio.run(together(storage, options.calls, options.rounds)),
            asyncio.run(far_sessions(server, storage, options.calls, options.rounds)),
            asyncio.run(sessions(storage, options.calls, options.rounds, name="16 sessions, no wait", limit=1.1)),
            asyncio.run(request(storage, options.calls, options.rounds)),
        ]
        resumed, memory = resume(storage, options.messages, options.rounds)
        others = {**memory, **processes(storage), **size_of_1000(server)}
        code = report([*results, resumed])
        for name, value in others.items():
            print(f"{name:<34} {value:>16,.1f}")
    return code


if __name__ == "__main__":
    sys.exit(main())
