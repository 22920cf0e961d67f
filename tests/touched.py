"""Run the tests that a change can break, the likeliest first, until one fails.

    python -m tests.touched                  # what differs from the last commit; if nothing does, the last commit
    python -m tests.touched --since main     # what differs from a revision
    python -m tests.touched --list           # say which tests, and run none

The map of imports says which tests a change reaches. They run in three stages, and a failure ends the run:

1. tests that have the name of a changed file, or import it;
2. the other tests of its room;
3. beside each other, a process for each: tests that reach it over other files, the nearest first; and the proofs among
   stages 1 and 2 (kills, sweeps, servers), those of stage 1 first.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.support.import_map import PACKAGE, importers
from tests.support.places import ROOT

PASSED = (0, 5)
"""The exit codes of pytest if no test failed: 5 if there was none to run."""


def _git(*arguments: str) -> list[Path]:
    told = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / line for line in told.stdout.splitlines()]


def changed_files(since: str | None) -> list[Path]:
    """The files that differ from a revision, new ones included."""
    new = _git("ls-files", "--others", "--exclude-standard")
    if since is not None:
        return [*_git("diff", "--name-only", since), *new]
    return [*_git("diff", "--name-only", "HEAD"), *new] or _git("diff", "--name-only", "HEAD~1", "HEAD")


def room_of(path: Path) -> Path:
    """The directory of tests for a file of the package: the same path below `tests`, as deep as it exists."""
    place = ROOT / "tests" / path.relative_to(ROOT / PACKAGE).parent
    while not place.is_dir():
        place = place.parent
    return place


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_")


def stages_for(changed: Iterable[Path]) -> list[list[Path]]:
    """Files of tests: nearest, of the same room, and all others that reach a changed file."""
    map_of = importers()
    changed = {path for path in changed if path.suffix == ".py" and path.is_file()}
    steps = dict.fromkeys(changed, 0)
    reached = list(changed)
    for path in changed:  # what a room gives away as its own is imported from the room
        if (room := path.parent / "__init__.py") in map_of[path] and path.parent != ROOT / PACKAGE:
            steps.setdefault(room, 0)
            reached.append(room)
    for path in reached:  # it grows while it is walked
        for importer in sorted(map_of[path] - steps.keys()):
            steps[importer] = steps[path] + 1
            reached.append(importer)
    named = {f"test_{path.stem}.py" for path in changed}
    near = {path for path in reached if _is_test(path) and (steps[path] <= 1 or path.name in named)}
    rooms = {room_of(path) for path in changed if ROOT / PACKAGE in path.parents} - {ROOT / "tests"}
    same_room = {path for room in rooms for path in room.rglob("test_*.py")} - near
    others = [path for path in reached if _is_test(path) and path not in near | same_room]
    return [sorted(near), sorted(same_room), others]


def _command(paths: list[Path], workers: int, options: Sequence[str]) -> list[str]:
    names = [str(path.relative_to(ROOT)) for path in paths]
    shared = ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else ["-n", "0"]
    return [sys.executable, "-m", "pytest", "-q", "-x", *shared, *options, *names]


def run(what: str, paths: list[Path]) -> bool:
    """Run tests until one fails, and say whether none did."""
    if not paths:
        return True
    print(f"== {what}: {len(paths)} files", flush=True)
    command = _command(paths, 2 if len(paths) > 3 else 1, ())
    return subprocess.run(command, cwd=ROOT, check=False).returncode in PASSED


def run_beside(runs: Mapping[str, tuple[list[Path], Sequence[str]]]) -> bool:
    """Run tests in a process for each of some names until one of them fails, and say whether none did.

    What a run prints is shown when it has ended. A run that goes on when another one failed is ended.
    """
    with tempfile.TemporaryDirectory() as directory:
        going = dict[str, subprocess.Popen[bytes]]()
        for what, (paths, options) in runs.items():
            if paths:
                with Path(directory, what).open("wb") as output:
                    command = _command(paths, 1, options)
                    going[what] = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        passed = True
        try:
            while passed and going:
                time.sleep(0.05)
                for what in [what for what, process in going.items() if process.poll() is not None]:
                    printed = Path(directory, what).read_text(encoding="utf-8", errors="replace")
                    print(f"== {what}: {len(runs[what][0])} files\n{printed}", flush=True)
                    passed = passed and going.pop(what).returncode in PASSED
        finally:
            for process in going.values():
                process.send_signal(signal.SIGINT)  # pytest then ends what its tests have started
            for process in going.values():
                process.wait()
        return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", metavar="REVISION", help="what differs from this revision")
    parser.add_argument("--list", action="store_true", help="name the files of tests and run none")
    arguments = parser.parse_args()
    near, same_room, others = stages_for(changed_files(arguments.since))
    if arguments.list:
        print(*(path.relative_to(ROOT) for path in [*near, *same_room, *others]), sep="\n")
        return 0
    began = time.monotonic()
    passed = run("nearest", near) and run("same room", same_room)
    if passed:
        proofs = [*near, *same_room], ("--proof", "-m", "proof")
        passed = run_beside({"reached over other files": (others, ()), "proofs": proofs})
    print(f"{'all passed' if passed else 'a test failed'} after {time.monotonic() - began:.0f} s")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
