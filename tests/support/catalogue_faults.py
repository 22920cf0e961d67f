"""Faults of the catalogue, one a run: whatever becomes of the file, the answers are those of the logs, and nobody dies.

A project of two sessions is gone on with and asked (`stats`, `search`, `list`, and each session opened) while
- the n-th call of SQLite fails, once or from then on: an error of the disk, a full disk, a busy or a broken file;
- the file, or its journal, is deleted, truncated or replaced before the n-th call, also within transactions; the
  journal is garbled, too (in the file itself that would be figures that somebody made up);
- a process is killed at the n-th call;
- a clock goes back, and the log's times with it;
- two sessions and three commands run at once, and the file is deleted, truncated or replaced under them.

After each fault what was answered meanwhile, and what is answered afterwards, is compared with what the logs say.

    python -m tests.support.catalogue_faults [--runs 1000] [--seed 1]

prints how many runs there were of each kind, and how many wrong answers and deaths. The exit code is 1 if there is any.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

from click.testing import CliRunner

from amplifier_module_context_persistent.catalogue import (
    catalogue_file,
    index_snapshots,
    kept_figures,
    session_list_cache,
)
from amplifier_module_context_persistent.catalogue.index_snapshots import CatalogueSnapshots
from amplifier_module_context_persistent.log import file_log
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.paths import project_slug
from amplifier_module_context_persistent.sessions import pattern_in_projects
from amplifier_module_context_persistent.toolbox.cli.main import main as command
from tests.support.busy_logs import steps
from tests.support.logs import append_bodies, body, sealed

SESSIONS = ("one", "two")
MOST_CALLS = 160
_ANSWER_S = 60.0

Act = Callable[[Path, random.Random], None]


def deleted(path: Path, _: random.Random) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def truncated(path: Path, rng: random.Random) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.truncate(path, rng.choice((0, 100, 4096, rng.randrange(path.stat().st_size + 1))))


def garbled(path: Path, rng: random.Random) -> None:
    with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
        size = path.stat().st_size
        for _ in range(rng.choice((1, 20))):
            file.seek(rng.randrange(size + 1))
            file.write(rng.randbytes(rng.choice((1, 200))))


def replaced(path: Path, rng: random.Random) -> None:
    """By nothing, by something else, by a database with another schema, or by what it is already."""
    other = path.with_name("other")
    kind = rng.choice(("empty", "junk", "schema", "same"))
    with contextlib.suppress(FileNotFoundError):
        other.write_bytes({"junk": b"junk" * 2_000, "same": path.read_bytes()}.get(kind, b""))
        other.chmod(0o600)
        if kind == "schema":
            with closing(sqlite3.connect(other)) as connection:
                connection.execute("CREATE TABLE sessions (id)")
                connection.commit()
        os.replace(other, path)


ACTS: dict[str, Act] = {"deleted": deleted, "truncated": truncated, "replaced": replaced}
OF_JOURNAL = {**ACTS, "garbled": garbled}
ERRORS = {
    "disk error": (sqlite3.OperationalError, "disk I/O error", 10),
    "full disk": (sqlite3.OperationalError, "database or disk is full", 13),
    "busy": (sqlite3.OperationalError, "database is locked", 5),
    "broken": (sqlite3.DatabaseError, "database disk image is malformed", 11),
}


class Faults:
    """What happens at the n-th call of SQLite."""

    def __init__(self, nth: int, act: Callable[[], None], *, forever: bool = False) -> None:
        self.left, self.act, self.forever = nth, act, forever

    def count(self) -> None:
        self.left -= 1
        if self.left == 0 or (self.forever and self.left < 0):
            self.act()


@contextlib.contextmanager
def faulty(faults: Faults) -> Iterator[None]:
    """Let calls of SQLite meet faults."""

    class Faulty(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            faults.count()
            return super().execute(*arguments)

        def executemany(self, *arguments: Any) -> sqlite3.Cursor:
            faults.count()
            return super().executemany(*arguments)

    connect = sqlite3.connect

    def connect_to_file(database: str, **options: Any) -> sqlite3.Connection:
        return connect(database, **options, **({} if database == ":memory:" else {"factory": Faulty}))

    with mock.patch.object(sqlite3, "connect", connect_to_file):
        yield


@contextlib.contextmanager
def any_size() -> Iterator[None]:
    """Small logs are kept too."""
    with contextlib.ExitStack() as patches:
        for module, name, value in (
            (index_snapshots, "LEAST_LOG_BYTES", 0),
            (kept_figures, "LEAST_LOG_BYTES", 0),
            (session_list_cache, "LEAST_LOG_BYTES", 0),
            (kept_figures, "ROWS_AT_ONCE", 40),
            (file_log, "CLOSE_BYTES", 1),
            (pattern_in_projects, "LEAST_BYTES", 0),
            (pattern_in_projects, "BLOCK_BYTES", 4_000),
            (pattern_in_projects, "SETTLED_S", -60),
        ):
            patches.enter_context(mock.patch.object(module, name, value))
        patches.enter_context(mock.patch.object(catalogue_file.Catalogue.__init__, "__defaults__", (0.2,)))
        yield


class Project:
    """A project in a home of its own; its sessions go on, and are asked."""

    def __init__(self, home: Path, rng: random.Random) -> None:
        os.environ["HOME"] = str(home)
        os.chdir(home)
        self.root = home / ".amplifier" / "projects" / project_slug(".")
        self.catalogue = self.root / catalogue_file.NAME
        self._rng, self._next = rng, 1_000
        for name in SESSIONS:
            path = self.path(name)
            path.parent.mkdir(parents=True)
            busy = random.Random(rng.randrange(1 << 20))
            path.write_bytes(b"".join(sealed([one for step in steps(20, busy) for one in step])))
            path.chmod(0o600)

    def path(self, name: str) -> Path:
        return self.root / "sessions" / name / "context-messages.jsonl"

    def go_on(self, name: str, count: int = 3) -> None:
        """A session that is opened, appends and is closed."""
        with closing(FileLog(str(self.path(name)), durability="write", snapshots=CatalogueSnapshots(0))) as log:
            log.follow()
            append_bodies(log, *(body(self._next + number, text=" a needle") for number in range(count)))
        self._next += count

    def ask(self, *, with_catalogue: bool = True) -> dict[str, Any]:
        """What sessions and commands answer."""
        off = [] if with_catalogue else ["--no-catalogue"]
        found: dict[str, Any] = {}
        for name in SESSIONS:
            path = str(self.path(name))
            with closing(LogReader(path, snapshots=CatalogueSnapshots(0) if with_catalogue else None)) as reader:
                reader.follow()
                live = list(reader.index.live)
                found[name] = [message["metadata"]["message_id"] for message in reader.read(live)]
            found[f"stats {name}"] = answer("stats", path, "--json", "--tokenizer", "estimate", *off)
        found["search"] = answer("search", "needle", *off)
        found["list"] = answer("list", "--json", *off)
        return found


def answer(*arguments: str) -> str:
    """What a command prints; it must end well."""
    done = CliRunner().invoke(command, list(arguments))
    if done.exit_code not in (0, 1) or (done.exception is not None and not isinstance(done.exception, SystemExit)):
        raise AssertionError(f"{arguments} ended with {done.exit_code}: {done.output} {done.exception!r}")
    return done.stdout


def in_child(work: Callable[[], None]) -> int:
    """Begin work in a forked process; it ends with 0, with 3 where an answer was wrong, or as it dies."""
    pid = os.fork()
    if pid:
        return pid
    code = 3
    try:
        work()
        code = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(code)


def ended(pid: int) -> str:
    """How a child ended: empty where all was well, or it was killed on purpose."""
    end = time.monotonic() + _ANSWER_S
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
                return f"died of signal {os.WTERMSIG(status)}"
            return "" if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0 else "wrong"
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hung"


def check(project: Project, **options: bool) -> str:
    """Ask, and compare with what the logs say; what is wrong."""
    found, expected = project.ask(**options), project.ask(with_catalogue=False)
    return ", ".join(f"{name} differs" for name in expected if found[name] != expected[name])


def calls_fail(project: Project, rng: random.Random) -> tuple[str, str]:
    kind = rng.choice(list(ERRORS))
    error, text, code = ERRORS[kind]

    def fail() -> None:
        raised = error(text)
        raised.sqlite_errorcode = code
        raise raised

    with faulty(Faults(rng.randrange(1, MOST_CALLS), fail, forever=rng.random() < 0.3)):
        project.go_on(rng.choice(SESSIONS))
        wrong = check(project)
    return kind, wrong


def file_changes(project: Project, rng: random.Random) -> tuple[str, str]:
    of_journal = rng.random() < 0.3
    kind = rng.choice(list(OF_JOURNAL if of_journal else ACTS))
    path = Path(f"{project.catalogue}-journal") if of_journal else project.catalogue
    if of_journal and kind in ("replaced", "garbled"):
        path.touch(0o600)
    with faulty(Faults(rng.randrange(1, MOST_CALLS), lambda: OF_JOURNAL[kind](path, rng))):
        project.go_on(rng.choice(SESSIONS))
        wrong = check(project)
    return f"{'journal ' if of_journal else ''}{kind}", wrong


def process_is_killed(project: Project, rng: random.Random) -> tuple[str, str]:
    def work() -> None:
        with faulty(Faults(rng.randrange(1, MOST_CALLS), lambda: os.kill(os.getpid(), signal.SIGKILL))):
            project.go_on(name)
            project.ask()

    name = rng.choice(SESSIONS)
    wrong = ended(in_child(work))
    project._next += 3
    return "killed", wrong


def clock_goes_back(project: Project, rng: random.Random) -> tuple[str, str]:
    name = rng.choice(SESSIONS)
    wrong = check(project)
    project.go_on(name)
    at = rng.choice((0, 1_700_000_000, project.path(name).stat().st_mtime - 86_400))
    os.utime(project.path(name), (at, at))
    with mock.patch("time.time", return_value=at):
        return "clock", wrong or check(project)


def many_at_once(project: Project, rng: random.Random) -> tuple[str, str]:
    """Two sessions go on and three commands ask, while the file is changed under them."""
    works: list[Callable[[], None]] = [
        *(lambda name=name: [project.go_on(name) for _ in range(3)] for name in SESSIONS),
        *(
            lambda arguments=arguments: [answer(*arguments) for _ in range(3)]
            for arguments in (
                ("stats", str(project.path("one")), "--json", "--tokenizer", "estimate"),
                ("search", "needle"),
                ("list", "--json"),
            )
        ),
    ]
    children = [in_child(work) for work in works]
    for _ in range(rng.randrange(5)):
        time.sleep(rng.random() * 0.05)
        name = rng.choice(("", "", "-journal"))
        rng.choice(list((OF_JOURNAL if name else ACTS).values()))(Path(f"{project.catalogue}{name}"), rng)
    wrong = ", ".join(filter(None, map(ended, children)))
    project._next += 9
    return "at once", wrong


KINDS = (calls_fail, calls_fail, file_changes, file_changes, process_is_killed, clock_goes_back, many_at_once)


def run(seed: int, home: Path) -> tuple[str, str]:
    """One run: what was done, and what was wrong; empty where nothing was."""
    rng = random.Random(seed)
    with any_size():
        project = Project(home, rng)
        if rng.random() < 0.7:
            project.ask()
        kind, wrong = KINDS[seed % len(KINDS)](project, rng)
        return kind, wrong or check(project)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    runs, wrong = Counter[str](), list[str]()
    for seed in range(options.seed, options.seed + options.runs):
        with tempfile.TemporaryDirectory() as home:
            try:
                kind, told = run(seed, Path(home))
            except Exception as error:
                kind, told = "?", f"{type(error).__name__}: {error}"
            os.chdir("/")
        runs[kind] += 1
        if told:
            wrong.append(f"seed {seed}, {kind}: {told}")
            print(wrong[-1], flush=True)
    print(f"{sum(runs.values()):,} runs, {len(wrong)} with a wrong answer or a death: {dict(runs)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
