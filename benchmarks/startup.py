"""What it costs to start: processor time of fresh processes, beside Python's own start and a bare `import click`.

    python -m benchmarks.startup [--runs N] [--json]

Every round runs all cases one after the other, so that what else the machine does falls on all of them; the figures are
medians of user and system time, and ratios to `python -c pass`. Wall-clock time is not looked at.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = "amplifier_module_context_persistent"
COMMAND = f"import sys; from {PACKAGE}.cli import main; sys.exit(main())"


def cases(log: str) -> dict[str, list[str]]:
    """The arguments of Python, by what they start."""
    commands = {
        "--help": ["--help"],
        "list": ["list", os.path.dirname(log)],
        "show": ["show", log],
        "stats": ["stats", log, "--tokenizer", "estimate"],
        "verify": ["verify", log],
        "export": ["export", log, "--format", "jsonl"],
    }
    return {
        "python -c pass": ["-c", "pass"],
        "import click": ["-c", "import click"],
        "import amplifier_core": ["-c", "import amplifier_core"],
        "import the package": ["-c", f"import {PACKAGE}"],
        "import the manager": ["-c", f"from {PACKAGE} import PersistentContextManager"],
        **{f"context-persistent {name}": ["-c", COMMAND, *given] for name, given in commands.items()},
    }


def processor_s(arguments: list[str]) -> float:
    """Run Python; the processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(runs: int) -> dict[str, float]:
    """Median processor time of each case, over a log of ten messages."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory, "log.jsonl")
        messages = [{"role": ("user", "assistant")[n % 2], "content": f"message {n}"} for n in range(10)]
        log.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
        given = cases(str(log))
        taken: dict[str, list[float]] = {name: [] for name in given}
        for _ in range(runs + 1):  # the first round fills caches
            for name, arguments in given.items():
                taken[name].append(processor_s(arguments))
    return {name: statistics.median(values[1:]) for name, values in taken.items()}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    medians = measure(options.runs)
    bare = medians["python -c pass"]
    rows = {name: {"processor_s": value, "ratio": value / bare} for name, value in medians.items()}
    if options.json:
        print(json.dumps(rows))
        return 0
    print(f"{'':32} {'processor':>10} {'to python -c pass':>18}")
    for name, row in rows.items():
        print(f"{name:32} {row['processor_s'] * 1000:7.0f} ms {row['ratio']:18.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
