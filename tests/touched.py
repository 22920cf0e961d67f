"""Run the tests that a change can break, the likeliest first, until one fails.

    python -m tests.touched                  # what differs from the last commit; if nothing does, the last commit
    python -m tests.touched --since main     # what differs from a revision
    python -m tests.touched --list           # say which tests, and run none

The map of imports says which tests a change reaches. They run in four stages, and a failure ends the run:

1. tests that have the name of a changed file, or import it;
2. the other tests of its room;
3. tests that reach it over other files, the nearest first;
4. the proofs among stages 1 and 2: kills, sweeps, servers.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from tests.support.import_map import PACKAGE, importers
from tests.support.places import ROOT


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


def run(what: str, paths: list[Path], *options: str) -> bool:
    """Run tests until one fails, and say whether none did."""
    if not paths:
        return True
    print(f"== {what}: {len(paths)} files", flush=True)
    names = [str(path.relative_to(ROOT)) for path in paths]
    workers = ["-n", "2", "--dist", "worksteal"] if len(paths) > 3 else ["-n", "0"]
    command = [sys.executable, "-m", "pytest", "-q", "-x", *workers, *options, *names]
    return subprocess.run(command, cwd=ROOT, check=False).returncode in (0, 5)


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
    passed = (
        run("nearest", near)
        and run("same room", same_room)
        and run("reached over other files", others)
        and run("proofs", [*near, *same_room], "--proof", "-m", "proof")
    )
    print(f"{'all passed' if passed else 'a test failed'} after {time.monotonic() - began:.0f} s")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
