"""Looking into a log of about 100 MB with the command line, against scanning it.

Each command runs in a process of its own; what counts is the time until its first line is printed (of a search that
finds nothing: until it ends), less what the command takes on an empty log, and the most memory that the process holds.
Beside it stands, from the same round, what opening the log takes: reading every byte and checking every record.

    python -m benchmarks.cli [--messages N] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from amplifier_module_context_persistent.log.record import encode_message, seal
from benchmarks.measure import compile_package
from benchmarks.sessions import write_session

MOST_MORE_S = 1.0
"""So much later than opening alone takes a command may print its first line."""
MOST_BYTES = 200_000_000
COMMANDS = {
    "list": ["list", "{directory}"],
    "show": ["show", "{log}"],
    "show --turn 1": ["show", "{log}", "--turn", "1"],
    "show --turn -1": ["show", "{log}", "--turn", "-1"],
    "tail": ["tail", "{log}"],
    "search, found first": ["search", "e", "{log}"],
    "search, found last": ["search", "the last word", "{log}"],
    "search -i, found last": ["search", "-i", "THE LAST WORD", "{log}"],
    "search, not found": ["search", "no such word", "{log}"],
}
_RUN = "from amplifier_module_context_persistent.cli import main; main()"
_OPEN = """
import sys
from amplifier_module_context_persistent.transcript.transcript import Transcript
Transcript(sys.argv[1])
"""


def first_line(code: str, arguments: list[str]) -> tuple[float, int]:
    """Run Python code in a process of its own: seconds to its first line, or its end, and its peak memory in bytes."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    for _ in range(2 if arguments[0] == "list" else 1):  # the heads of the columns say nothing yet
        process.stdout.readline()
    seconds = time.perf_counter() - start
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in ((0,) if code == _OPEN else (0, 1, 141)), arguments
    return seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def append_last_word(path: str) -> None:
    """Put a last message after a log, for a search to find."""
    with open(path, "rb") as log:
        log.seek(-40, os.SEEK_END)
        seed = int(log.read()[-11:-3], 16)
    body = encode_message({"role": "user", "content": "the last word"}, message_id="last", timestamp="t")
    with open(path, "ab") as log:
        log.write(seal(body, seed)[0])


def main() -> int:
    """Measure interleaved and print a table and JSON; 1 if a promise is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    compile_package()
    rows: dict[str, list[tuple[float, float, int]]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as scratch:
        empty, full = Path(scratch, "empty"), Path(scratch, "full")
        for directory in (empty, full):
            directory.mkdir()
        log, none = str(full / "context-messages.jsonl"), str(empty / "context-messages.jsonl")
        Path(none).touch()
        write_session(log, options.messages)
        append_last_word(log)
        size = os.path.getsize(log)
        for _ in range(options.rounds):
            opening = first_line(_OPEN, [log])[0] - first_line(_OPEN, [none])[0]
            begin = min(first_line(_RUN, ["search", "x", none])[0] for _ in range(2))
            for name, arguments in COMMANDS.items():
                asked = [part.format(log=log, directory=full) for part in arguments]
                seconds, memory = first_line(_RUN, asked)
                rows[name].append((seconds - begin, opening, memory))
    return report(size, rows)


def report(size: int, rows: dict[str, list[tuple[float, float, int]]]) -> int:
    """Print what was measured."""
    print(f"a log of {size / 1e6:.0f} MB; median of {len(next(iter(rows.values())))} rounds\n")
    print(f"{'':22}  first line  opening  ratio    more  peak memory")
    told, missed = [], False
    for name, measured in rows.items():
        seconds, opening = (statistics.median(one[at] for one in measured) for at in (0, 1))
        more, memory = seconds - opening, max(one[2] for one in measured)
        holds = more < MOST_MORE_S and memory < MOST_BYTES
        missed |= not holds
        ratio = seconds / opening
        told.append({"name": name, "ratio": ratio, "more_s": more, "peak_bytes": memory, "holds": holds})
        print(
            f"{name:22}  {seconds:8.2f} s  {opening:5.2f} s  {ratio:5.2f}  {more:5.2f} s  {memory / 1e6:8.0f} MB"
            f"{'' if holds else '  MISSED'}"
        )
    print(json.dumps({"most_more_s": MOST_MORE_S, "most_bytes": MOST_BYTES, "commands": told}))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
