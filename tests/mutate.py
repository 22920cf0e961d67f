"""Change the package in one place at a time, and count the changes that its tests notice.

    python -m tests.mutate --sample 400 --seed 2027 --verdicts /tmp/verdicts.jsonl

The quick tests run once and note which of them run what a mutant changes (`--reached DIR` keeps that, and takes what a
run with `--note-reached=DIR` noted). Then each mutant meets these tests: those nearest to its file first, as
`python -m tests.touched` orders them, the quickest first among these. If they take more than `--seconds` together, the
rest of them are left out. A mutant is killed if a test fails, or if the tests do not end in time. A test counts only if
it passes without the mutant.

Mutants of functions are put into the imported package, in a process forked for each (`tests.support.live_mutants`);
what runs as a module is imported is tried in a process that imports it anew. It is not part of the tests.

With `--verdicts FILE` each verdict is written down as a line of JSON. A second run believes what the file says of
killed mutants, as long as their module is what it was, and runs all others again: with `--proof`, which has the proofs
met by them too, it says what only those notice. `--least SHARE` makes a run fail if fewer are killed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.import_map import PACKAGE
from tests.support.live_mutants import changed_functions, put_into_functions
from tests.support.mutant_sample import Chosen, add_options, chosen, room_of, write_sample
from tests.support.mutants import Mutant
from tests.support.places import ROOT
from tests.support.reached_tests import DURATIONS, ReachedTests, altered_spec
from tests.touched import stages_for

IDLE_SECONDS, SLOWER = 20, 2
"""After how long without any work tests are ended; and after how many times the processor time that they took once."""
FOREIGN = ("pytest_asyncio", "hypothesis", "amplifier_core", "orjson", "psycopg")
"""Imported once for all mutants."""
STAGES = ("nearest", "same room", "others")
QUIET = [
    "-q",
    "-x",
    "-n",
    "0",
    "-p",
    "no:cacheprovider",
    "--no-header",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the tests said of a mutant.

    Attributes:
        mutant: its name.
        source: a hash of the module that was changed.
        killed: whether it was noticed.
        by: the test that failed first; empty where the tests did not end, or could not begin.
        seconds: how long that took.
        tests: how many tests it was to meet.
        left_out: how many more run its line.
    """

    mutant: str
    source: str
    killed: bool
    by: str
    seconds: float
    tests: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant and the tests that it meets, in their order."""

    module: str
    path: Path
    source: str
    mutant: Mutant
    tests: tuple[str, ...]
    left_out: int
    seconds: float

    @property
    def key(self) -> tuple[str, str]:
        """What a verdict of it is kept by."""
        return self.mutant.name, self.source

    def code(self) -> types.CodeType:
        """The code of the mutant."""
        return compile(self.mutant.make(), str(self.path), "exec")

    def verdict(self, killed: bool, by: str, began: float) -> Verdict:
        """What became of it."""
        taken = round(time.monotonic() - began, 1)
        return Verdict(self.mutant.name, self.source, killed, by, taken, len(self.tests), self.left_out)


# ------------------------------------------------------------------------------------------- which tests meet a mutant


@cache
def _stage_of_files(path: Path) -> dict[str, int]:
    """The number of the stage in which `tests.touched` runs a file of tests."""
    stages = enumerate(stages_for([path]))
    return {str(test.relative_to(ROOT)): number for number, tests in stages for test in tests}


def stage_of(path: Path, test: str) -> int:
    """The stage in which `tests.touched` runs a test after a change of a file."""
    return _stage_of_files(path).get(test.partition("::")[0], len(STAGES) - 1)


def _in_functions(path: Path, mutant: Mutant) -> bool:
    """Whether a mutant changes only what functions do, so that it can be put into an imported module."""
    sound = compile(path.read_bytes(), str(path), "exec")
    return bool(changed_functions(sound, compile(mutant.make(), str(path), "exec")))


def _trial(module: str, path: Path, source: str, mutant: Mutant, reached: ReachedTests, seconds: float) -> Trial:
    stages = _stage_of_files(path)
    tests = reached.of(mutant.name)
    if not _in_functions(path, mutant):  # a table: a test may look at it and call no function of its module
        tests |= {test for test in reached.durations if stages.get(test.partition("::")[0]) == 0}
    known = [test for test in tests if test.partition("::")[0] in stages]
    ordered = sorted(known, key=lambda test: (stage_of(path, test), reached.durations[test], test))
    chosen, taken = list[str](), 0.0
    for test in ordered:
        if taken + reached.durations[test] <= seconds:
            chosen.append(test)
            taken += reached.durations[test]
    return Trial(module, path, source, mutant, tuple(chosen), len(ordered) - len(chosen), taken)


# --------------------------------------------------------------------------------------------------- running the tests


class _FirstFailure:
    """A plugin of pytest: tells which test failed first."""

    def __init__(self, tell: int) -> None:
        self.tell = tell
        self.failed = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = True
            os.write(self.tell, report.nodeid.encode()[:1000])


class _Chosen:
    """A plugin of pytest: runs the tests that were chosen, in their order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._order = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self._order), key=lambda i: self._order[i.nodeid])


class _Mutated(importlib.abc.MetaPathFinder):
    """Imports one module as its mutant."""

    def __init__(self, name: str, path: Path, code: types.CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return altered_spec(fullname, self._path, self._code) if fullname == self._name else None


def _apart(run: Callable[[_FirstFailure], int], cpu_seconds: float) -> tuple[bool, str]:
    """Run tests in a process of their own: whether they failed or did not end, and which test failed."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.setsid()  # what the tests start ends with them
            limit = int(cpu_seconds * SLOWER) + 10
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nothing, stream)
            with tempfile.TemporaryDirectory() as directory:
                os.environ["TMPDIR"] = tempfile.tempdir = directory
                code = run(_FirstFailure(tell))
        finally:
            os._exit(code)
    os.close(tell)
    try:
        passed = _wait(pid)
        os.set_blocking(told, False)
        with contextlib.suppress(BlockingIOError):
            return not passed, os.read(told, 1000).decode()
        return not passed, ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.close(told)


def _wait(pid: int) -> bool:
    """Whether a process ends well; one that uses no processor time any more is ended."""
    moved, used = time.monotonic(), 0
    while time.monotonic() < moved + IDLE_SECONDS:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        if (ticks := _ticks(pid)) != used:
            moved, used = time.monotonic(), ticks
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def _ticks(pid: int) -> int:
    """The processor time that a process and its children have used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return time.monotonic_ns()
    return sum(map(int, fields[11:15]))


class _Collected:
    """A plugin of pytest: instead of running the collected tests, tries mutants of functions with them."""

    def __init__(self, trials: Sequence[Trial], keep: Callable[[Verdict], None], until_s: float) -> None:
        self._trials, self._keep, self._until_s = trials, keep, until_s
        self._sound: dict[str, bool] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        self._plugins = session.config.pluginmanager
        for trial in self._trials:
            began = time.monotonic()
            if began > self._until_s:
                break
            changed = changed_functions(compile(trial.path.read_bytes(), str(trial.path), "exec"), trial.code())
            if changed and (found := self._try(trial, changed)) is not None:
                self._keep(trial.verdict(*found, began))
        return True

    def _try(self, trial: Trial, changed: dict[Any, types.CodeType]) -> tuple[bool, str] | None:
        """Whether it is killed, and by which test; None if it has to be imported."""
        tests = [test for test in trial.tests if self._sound.get(test, True)]
        cannot = "cannot be put into functions"

        def run(failure: _FirstFailure) -> int:
            if not put_into_functions(str(trial.path), changed):
                os.write(failure.tell, cannot.encode())
                return 1
            return self._run(tests, failure)

        while tests:
            failed, by = _apart(run, trial.seconds)
            if by == cannot:
                return None
            if not by or self._passes(by):
                return failed, by
            tests.remove(by)
        return False, ""

    def _passes(self, test: str) -> bool:
        """Whether a test passes without any mutant, in a process that is forked as well."""
        if test not in self._sound:
            failed, _ = _apart(lambda failure: self._run([test], failure), 60)
            self._sound[test] = not failed
        return self._sound[test]

    def _run(self, tests: Sequence[str], failure: _FirstFailure) -> int:
        items = [self._items[test] for test in tests if test in self._items]
        self._plugins.register(failure)
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if failure.failed:
                return 1
        return 0


def try_functions(trials: Sequence[Trial], keep: Callable[[Verdict], None], until_s: float) -> None:
    """Try mutants of functions, in a process that has collected all tests."""
    pid = os.fork()
    if pid == 0:
        with open(os.devnull, "w", encoding="utf-8") as nothing:
            os.dup2(nothing.fileno(), 1)
            files = sorted({test.partition("::")[0] for trial in trials for test in trial.tests})
            os._exit(pytest.main([*QUIET, *files], plugins=[_Collected(trials, keep, until_s)]))
    os.waitpid(pid, 0)


def try_imported(trial: Trial) -> tuple[bool, str]:
    """Try a mutant in a process that imports it in its module's place: with the nearest tests, then with the others."""

    def run(tests: Sequence[str], failure: _FirstFailure) -> int:
        sys.meta_path.insert(0, _Mutated(f"{PACKAGE}.{trial.module}".removesuffix("."), trial.path, trial.code()))
        files = sorted({test.partition("::")[0] for test in tests})
        return int(pytest.main([*QUIET, *files], plugins=[_Chosen(tests), failure]))

    for nearest in (True, False):
        tests = [test for test in trial.tests if (stage_of(trial.path, test) == 0) is nearest]
        failed, by = _apart(partial(run, tests), trial.seconds + 30) if tests else (False, "")
        if failed:
            return True, by
    return False, ""


# ---------------------------------------------------------------------------------------------------- what is reported


def read_verdicts(path: Path, first: int = 0) -> dict[tuple[str, str], Verdict]:
    """The last verdict of each mutant and state of its module, from a line of the file on."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    verdicts = [Verdict(**json.loads(line)) for line in lines[first:]]
    return {(verdict.mutant, verdict.source): verdict for verdict in verdicts}


def report(trials: Sequence[Trial], verdicts: dict[tuple[str, str], Verdict]) -> Iterator[str]:
    """What survived, and for each room how many were killed, and by which stage of `tests.touched`."""
    tried, by_stage = Counter[str](), Counter[tuple[str, str]]()
    for trial in trials:
        verdict = verdicts.get(trial.key)
        room = room_of(trial.module)
        tried[room] += verdict is not None
        if verdict and verdict.killed:
            by_stage[room, STAGES[stage_of(trial.path, verdict.by)] if verdict.by else "did not end"] += 1
        elif verdict:
            place = f"{trial.path.relative_to(ROOT)}:{trial.mutant.line}"
            yield f"survived {verdict.tests} tests: {place}: {' '.join(verdict.mutant.split())}"
    how = [*STAGES, "did not end"]
    yield f"| room | mutants | killed | {' | '.join(how)} |"
    yield "| --- " * (3 + len(how)) + "|"
    for room in [*sorted(tried), None]:
        counts = [sum(n for (of, by), n in by_stage.items() if by == one and room in (of, None)) for one in how]
        every = tried[room] if room is not None else tried.total()
        yield f"| {f'`{room}`' if room else 'all'} | {every} | {sum(counts)} | {' | '.join(map(str, counts))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--seconds", type=float, default=30, help="of tests for one mutant, as long as they took once")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no other mutant is begun")
    parser.add_argument("--proof", action="store_true", help="with the proofs, too")
    parser.add_argument("--least", type=float, default=0.0, help="the share that has to be killed")
    parser.add_argument("--reached", type=Path, help="a directory that says which tests run what is changed, or shall")
    parser.add_argument("--verdicts", type=Path, help="a file of verdicts to go on with")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the tests of the mutant at hand end, too
    for name in ("pytest", *FOREIGN):
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as directory:
        place = options.reached or Path(directory)
        if options.proof:
            QUIET.append("--proof")
        sample, possible = chosen(options)
        reached = _reached(place.absolute(), sample, with_proofs=options.proof)
        print(f"{len(sample):,} of {possible:,} possible mutants are tried", flush=True)
        share = _run(options, sample, reached, options.verdicts or Path(directory, "verdicts"))
    sys.exit(share < options.least)


def _reached(place: Path, sample: Sequence[Chosen], *, with_proofs: bool) -> ReachedTests:
    """Which tests reach the mutants of a sample, as a directory tells; the tests are run if it does not."""
    if (place / DURATIONS).exists():
        noted = ReachedTests(place)
        if noted.mutants >= {mutant.name for *_, mutant in sample}:
            return noted
    write_sample(place, sample)
    options = ["-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider", f"--note-reached={place}"]
    if with_proofs:
        options.append("--proof")
    subprocess.run([sys.executable, "-m", "pytest", *options], cwd=ROOT, check=False)
    return ReachedTests(place)


def _run(options: argparse.Namespace, sample: Sequence[Chosen], reached: ReachedTests, verdicts_path: Path) -> float:
    """Try the chosen mutants and print what became of them; returns the share that was killed."""
    hash_of = {path: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for _, path, _ in sample}
    trials = [_trial(module, path, hash_of[path], mutant, reached, options.seconds) for module, path, mutant in sample]
    known = read_verdicts(verdicts_path)
    to_try = [one for one in trials if not ((verdict := known.get(one.key)) and verdict.killed)]

    def keep(verdict: Verdict) -> None:
        with verdicts_path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(verdict)) + "\n")
        print("." if verdict.killed else f"survived: {verdict.mutant}", file=sys.stderr, flush=True)

    before = sum(1 for _ in verdicts_path.open(encoding="utf-8")) if verdicts_path.exists() else 0
    until_s = time.monotonic() + 60 * options.minutes
    try_functions(to_try, keep, until_s)
    tried = read_verdicts(verdicts_path, before).keys()
    for trial in to_try:
        if trial.key not in tried and time.monotonic() < until_s:
            start = time.monotonic()
            keep(trial.verdict(*try_imported(trial), start))
    verdicts = read_verdicts(verdicts_path)
    print(*report(trials, verdicts), sep="\n")
    of_sample = [verdicts[trial.key] for trial in trials if trial.key in verdicts]
    killed = sum(verdict.killed for verdict in of_sample)
    unreached = sum(not verdict.tests for verdict in of_sample)
    late = f"; {len(trials) - len(of_sample)} not tried in time" if len(of_sample) < len(trials) else ""
    print(f"{killed:,} of {len(of_sample):,} mutants killed; {unreached} reached by no test{late}")
    return killed / max(1, len(of_sample))


if __name__ == "__main__":
    main()
