"""Copies of a test's PostgreSQL server, made as `pg_basebackup` makes them: a replica, or a backup to restore."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .postgres import TestServer


@dataclass
class ServerCopy:
    """A copy of a server, in a directory of its own; it listens on a socket there."""

    origin: TestServer
    socket_dir: Path

    @property
    def data(self) -> Path:
        """The directory of its data."""
        return self.socket_dir / "data"

    def run(self, program: str, *arguments: object) -> None:
        """Run a program of the server, as the user whom it runs as."""
        command = [self.origin.binaries / program, *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=self.origin.server.system_user, timeout=60)

    def configure(self, settings: Mapping[str, str]) -> None:
        """Set settings, before it starts."""
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def start(self) -> None:
        """Start it; it may be behind, or recover."""
        options = f"-h '' -k {self.socket_dir}"
        self.run("pg_ctl", "-w", "-D", self.data, "-o", options, "-l", self.socket_dir / "log", "start")

    def stop(self) -> None:
        """Stop it at once."""
        self.run("pg_ctl", "-w", "-D", self.data, "-m", "immediate", "stop")

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement as the owner of everything."""
        import psycopg

        with psycopg.connect(f"host={self.socket_dir} dbname=postgres user=postgres", autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@contextlib.contextmanager
def base_backup(origin: TestServer, *options: str) -> Iterator[ServerCopy]:
    """Make a base backup of a server; it is not started."""
    directory = Path(tempfile.mkdtemp(prefix="postgres-copy-"))
    try:
        if origin.server.system_user is not None:
            shutil.chown(directory, origin.server.system_user)
        copy = ServerCopy(origin, directory)
        source = Path(origin.socket_path).parent
        copy.run(
            "pg_basebackup", "-h", source, "-U", "postgres", "-D", copy.data, "-c", "fast", "-X", "stream", *options
        )
        yield copy
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def running_replica(origin: TestServer) -> Iterator[ServerCopy]:
    """Start a replica that follows a server."""
    with base_backup(origin, "-R") as copy:
        copy.start()
        try:
            yield copy
        finally:
            copy.stop()
