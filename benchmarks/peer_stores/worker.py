"""One store in a process of its own: it does what lines of JSON ask for, and answers each with one.

    python -m benchmarks.peer_stores.worker NAME DIRECTORY [--first]

With `--first` it opens the session, takes what the model would be given, answers and ends without closing: a resume.
Whatever a package prints goes to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from ..conversation import messages, plain
from .store import Message, Store, new_store

_PEAK = "VmHWM"


class _Said(logging.Handler):
    """Keeps what was said at the level of a warning or above."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Worker:
    """A store and its answers."""

    def __init__(self, store: Store, answers: int) -> None:
        self._store = store
        self._answers = answers
        self._said = _Said()
        logging.captureWarnings(capture=True)
        logging.getLogger().addHandler(self._said)
        warnings.simplefilter("default")

    def answer(self, told: dict[str, Any]) -> None:
        """Write one line."""
        os.write(self._answers, json.dumps(told).encode() + b"\n")

    async def resume(self, directory: str) -> None:
        """Answer with what the model would be given, and with the memory that it took."""
        await self._store.open(directory)
        given = await self._store.first()
        self.answer({"messages": len(given), "peak_mb": peak_mb()})
        os._exit(0)  # what a close costs is no part of it

    async def serve(self, directory: str) -> None:
        """Open the session, then do what is asked for until the input ends."""
        await self._store.open(directory)
        self.answer({"durability": self._store.durability})
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            self.answer(await getattr(self, f"_{asked.pop('do')}")(**asked))
        await self._store.close()

    async def _fill(self, count: int, first: int = 0) -> dict[str, Any]:
        await self._store.fill(messages(count, first=first))
        return {}

    async def _append(self, first: int, count: int, seconds: float) -> dict[str, Any]:
        """Append until there are so many, or that much time is gone; the microseconds of each."""
        stamps: list[float] = []

        def stamped() -> Iterator[Message]:
            for message in messages(count, first=first):
                stamps.append(time.perf_counter())
                yield message
                if time.perf_counter() - stamps[0] > seconds:
                    break
            stamps.append(time.perf_counter())

        await self._store.append(stamped())
        return {"us": [(after - before) * 1e6 for before, after in pairwise(stamps)]}

    async def _plain(self, first: int, count: int) -> dict[str, Any]:
        await self._store.append(islice(plain(first), count))
        return {}

    async def _acknowledge(self, first: int) -> dict[str, Any]:
        """Append without end, and answer with the number of each message that is stored; until killed."""

        def told() -> Iterator[Message]:
            for number, message in enumerate(plain(first), first):
                yield message
                self.answer({"stored": number})

        await self._store.append(told())
        return {}

    async def _read(self) -> dict[str, Any]:
        began = time.perf_counter()
        given = await self._store.read()
        return {"seconds": time.perf_counter() - began, "messages": len(given)}

    async def _texts(self) -> dict[str, Any]:
        given = await self._store.read()
        return {"texts": [self._store.text(item) for item in given], "said": self._said.lines}


def peak_mb() -> float | None:
    """The most memory that this process held; None where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in status.split("\n") if line.startswith(_PEAK)), None)


def main() -> int:
    """Run one worker; an error ends it and is its last answer."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name")
    parser.add_argument("directory")
    parser.add_argument("--first", action="store_true")
    options = parser.parse_args()
    answers = os.dup(1)
    os.dup2(2, 1)
    worker = Worker(new_store(options.name), answers)
    run = worker.resume if options.first else worker.serve
    try:
        asyncio.run(run(options.directory))
    except ImportError as error:
        worker.answer({"missing": str(error)})
        return 2
    except Exception as error:  # noqa: BLE001 - what a package raises is the result that is measured
        told = f"{type(error).__name__}: {error}"
        worker.answer({"error": told.replace(options.directory, "DIRECTORY")})  # a temporary one says nothing later
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
