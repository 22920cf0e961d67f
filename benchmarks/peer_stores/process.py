"""The side that asks: a store's worker as a process that is spoken to, resumed, and killed."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

_ROOT = Path(__file__).resolve().parents[2]
_MODULE = "benchmarks.peer_stores.worker"


class MissingPackageError(Exception):
    """What a store needs is not installed."""


class StoreError(Exception):
    """What a store did in place of what was asked; says what it raised."""


class Process:
    """A worker that is alive.

    Args:
        python: the interpreter that has the store's package.
        name: the store.
        directory: where its session lies.

    Raises:
        MissingPackageError: the store's package is not installed there.
        StoreError: the session could not be opened.
    """

    def __init__(self, python: str, name: str, directory: str) -> None:
        self._process = _start(python, name, directory)
        try:
            self.durability = str(self._answer()["durability"])
        except BaseException:
            self.kill()
            self.close()
            raise

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Ask for one thing; the answer.

        Raises:
            StoreError: the store raised an error.
        """
        self.send(do, **arguments)
        return self._answer()

    def send(self, do: str, **arguments: Any) -> None:
        """Ask without waiting for an answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
        self._process.stdin.flush()

    def answers(self) -> Iterator[dict[str, Any]]:
        """All answers until the process ends."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.endswith(b"\n"):  # a kill may cut one
                yield _checked(line)

    def kill(self) -> None:
        """Kill it as the system would (SIGKILL), and wait until it is gone; its last answers can still be read."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Let it close its session, if it is alive, and wait until it is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.kill()
        self.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return _checked(self._process.stdout.readline())


def resume(python: str, name: str, directory: str) -> dict[str, Any]:
    """Start a process that opens a session and takes what the model would be given; `seconds` until it has it.

    Raises:
        MissingPackageError: the store's package is not installed there.
        StoreError: the store raised an error.
    """
    began = time.perf_counter()
    with _start(python, name, directory, "--first") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        return {**_checked(line), "seconds": time.perf_counter() - began}


def _start(python: str, name: str, directory: str, *options: str) -> subprocess.Popen[bytes]:
    command = [python, "-m", _MODULE, name, directory, *options]
    path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )


def _checked(line: bytes) -> dict[str, Any]:
    if not line:
        raise StoreError("the process ended without an answer")
    told: dict[str, Any] = json.loads(line)
    if "missing" in told:
        raise MissingPackageError(told["missing"])
    if "error" in told:
        raise StoreError(told["error"])
    return told
