"""A very long session in a database: seconds of each step, and whether all its bytes come back.

It is copied in from a file, verified, and copied out; a purge redacts a text in every thousandth message; then it is
verified again, copied out, back in under another name, and out. Every copy has to equal its original byte for byte. The
server is an embedded one with its usual settings. The steps run in one process, whose greatest memory is told.

    python -m benchmarks.postgres_long [--messages N] [--parts]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from amplifier_module_context_persistent.log.open_reader import open_reader
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from amplifier_module_context_persistent.toolbox.transfer.copy_log import copy_log
from benchmarks.append import STAMP
from benchmarks.sessions import write_log
from tests.support.postgres import IN_PARTS, NEW, running_server

SECRET, EACH = "hunter2", 1_000
_BLOCK_BYTES = 1 << 20

T = TypeVar("T")


def messages(count: int) -> Iterator[dict[str, Any]]:
    """Small messages; the text to be redacted is in every thousandth."""
    for number in range(count):
        secret = f" {SECRET}" if number % EACH == 0 else ""
        yield {
            "role": "assistant" if number % 2 else "user",
            "content": f"step {number} of a very long session{secret}",
        }


def timed(what: str, step: Callable[[], T]) -> T:
    """Run a step and print how long it took."""
    start, start_ours = time.perf_counter(), time.process_time()
    result = step()
    seconds, ours = time.perf_counter() - start, time.process_time() - start_ours
    print(f"{what:<20} {seconds:>8.1f} s, {ours:>8.1f} s of this process", flush=True)
    return result


def opened(location: str) -> int:
    """Open a session as it is resumed; how many messages it has."""
    with closing(open_reader(location)) as reader:
        reader.follow()
        return len(reader.index)


def is_equal(one: str, other: str) -> bool:
    """Whether two files have the same bytes."""
    if os.path.getsize(one) != os.path.getsize(other):
        return False
    with open(one, "rb") as first, open(other, "rb") as second:
        while block := first.read(_BLOCK_BYTES):
            if block != second.read(_BLOCK_BYTES):
                return False
    return True


def measure(storage: str, directory: Path, count: int) -> None:
    """Run all steps."""
    source, out, purged, back = (str(directory / name) for name in ("source", "out", "purged", "back"))
    size = write_log(source, messages(count))
    print(f"{count:,} messages, {size:,} bytes; load {os.getloadavg()[0]:.1f}", flush=True)
    log, other = f"{storage}#p/long", f"{storage}#p/back"
    timed("copy in", lambda: copy_log(source, log))
    assert timed("open", lambda: opened(log)) == count
    assert timed("verify", lambda: verify_log(log)).is_sound
    timed("copy out", lambda: copy_log(log, out))
    assert is_equal(source, out)
    redaction = Purge(redact=lambda text: text.replace(SECRET, "[redacted]"))
    counts = timed("purge", lambda: purge_log(log, redaction, now=lambda: STAMP))
    assert counts.messages_redacted == -(-count // EACH)
    assert timed("verify, purged", lambda: verify_log(log)).is_sound
    timed("copy out, purged", lambda: copy_log(log, purged))
    timed("copy back in", lambda: copy_log(purged, other))
    timed("copy out again", lambda: copy_log(other, back))
    assert is_equal(purged, back)
    with open(purged, "rb") as file:
        assert not any(SECRET.encode() in line for line in file)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"all copies are equal; at most {memory:.0f} MB of memory; load {os.getloadavg()[0]:.1f}")


def main() -> int:
    """Start a server and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--parts", action="store_true", help="tables in 16 parts")
    options = parser.parse_args()
    with running_server() as server, tempfile.TemporaryDirectory() as directory:
        measure(server.new_location(IN_PARTS if options.parts else NEW), Path(directory), options.messages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
