"""This project's sessions beside what others publish for the same job, in one run.

Measured side by side: the OpenAI Agents SDK's SQLite session, Strands' file session manager, LangGraph's SQLite
checkpointer (with its documented state, and with the delta channel that is in beta), a bare file of JSON lines, and
this package at both levels of durability. Each is used as its own documentation says, with its settings as installed,
in processes of its own; what each acknowledgement stands for is printed, since they do not promise the same.

    python -m benchmarks.peers [--venv DIR] [--only NAME ...] [--json | --markdown]
    python -m benchmarks.peers --shown FILE [--markdown | --brief]      # what an earlier run told by --json

The packages of the others are installed by pip into a virtual environment of their own: `--venv`, which is made if it
is not there and kept, or a temporary one. Rounds take all stores in turns, so that what else the machine does falls on
all of them; ratios are those within a round, and medians of the rounds count. Printed for each: an append to a new
session and to a long one, what it adds to the disk, reading all back, the start of a process until it has what the
model would be given, memory, and what is left after SIGKILLs, a torn write, a flipped bit and a cut file.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path

from .measure import compile_package
from .peer_stores.found import from_json, to_json
from .peer_stores.process import MissingPackageError, Process
from .peer_stores.rounds import Rounds, Sizes
from .peer_stores.store import OURS, REQUIREMENTS, STORES
from .peer_stores.tables import as_markdown, as_text, summary

MESSAGES = 20_000


class InstallationError(Exception):
    """The packages of the others cannot be had; says what to do."""


def interpreter(directory: Path) -> str:
    """The interpreter of a virtual environment with the packages of the others; made if it is not there.

    Raises:
        InstallationError: it cannot be made, or pip fails.
    """
    python = directory / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        venv.create(directory, with_pip=True)
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise InstallationError(f"pip cannot install {' '.join(REQUIREMENTS)}:\n{done.stderr.strip()}")
    return str(python)


def available(pythons: dict[str, str]) -> dict[str, str]:
    """For each store whose package is there, what its acknowledgements stand for; the others are told.

    Raises:
        InstallationError: a package is missing.
    """
    levels, missing = {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        for number, (name, python) in enumerate(pythons.items()):
            directory = Path(scratch, str(number))
            directory.mkdir()
            try:
                with Process(python, name, str(directory)) as process:
                    levels[name] = process.durability
            except MissingPackageError as error:
                missing[name] = str(error)
    if missing:
        raise InstallationError(
            "\n".join(
                [
                    *(f"{name} cannot be measured: {why}" for name, why in missing.items()),
                    f"In the environment of {next(iter({pythons[name] for name in missing}))}: "
                    f"pip install {' '.join(REQUIREMENTS)}",
                    "Or leave out --venv, which installs them into a temporary one, or name what to measure by --only.",
                ]
            )
        )
    return levels


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table; 2 if a package is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--venv", type=Path, help="where the packages of the others are, or are to be installed")
    parser.add_argument("--only", nargs="+", choices=STORES, metavar="NAME", help=f"of {', '.join(map(repr, STORES))}")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="the messages of the long session")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--shown", type=Path, metavar="FILE", help="measure nothing; show what --json told")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--brief", action="store_true", help="the short table")
    options = parser.parse_args(arguments)
    if options.shown:
        found, run = from_json(options.shown.read_text(encoding="utf-8"))
    else:
        compile_package()  # pip does so for the others
        names = [name for name in STORES if not options.only or name in options.only]
        try:
            with _environment(options.venv, needed=not OURS.issuperset(names)) as directory:
                python = interpreter(directory) if directory is not None else sys.executable
                pythons = {name: sys.executable if name in OURS else python for name in names}
                sizes = Sizes(options.messages, options.rounds, options.kills)
                found = Rounds(pythons, available(pythons), sizes, _tell).run()
        except InstallationError as error:
            print(error, file=sys.stderr)
            return 2
        run = {**asdict(sizes), "python": platform.python_version(), "packages": REQUIREMENTS}
    if options.json:
        print(to_json(found, run))
    else:
        show = summary if options.brief else as_markdown if options.markdown else as_text
        print(show(found, run["messages"]))
    return 0


def _environment(given: Path | None, *, needed: bool) -> AbstractContextManager[Path | None]:
    if given is not None or not needed:
        return nullcontext(given)
    return _temporary()


@contextmanager
def _temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as scratch:
        _tell(f"installing {' '.join(REQUIREMENTS)} into a temporary environment; --venv DIR keeps one")
        yield Path(scratch, "venv")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
