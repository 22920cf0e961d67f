"""Change the code of the log, of plans and of views in one place at a time, and count the changes that tests notice.

    python -m tests.mutate --sample 400 --seed 2026

Each mutant is run in a process of its own, forked here so that little is imported twice, against the unit tests of its
module: first those that found most before, then all. It counts as killed if a test fails, or if the tests do not end in
time.
Those that survive are listed with their place. It takes minutes to an hour and is not part of the tests.

With `--verdicts FILE` each verdict is written down as a line of JSON. A second run believes what the file says of
killed mutants, as long as their module is what it was, and runs all others again.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from tests.support.mutants import Mutant, mutants_of, sample_of

ROOT = Path(__file__).parent.parent
PACKAGE = "amplifier_module_context_persistent"
_OF_LINES = [
    "log/test_scanner.py",
    "log/test_index.py",
    "log/test_scanner_state.py",
    "log/test_golden.py",
    "log/test_record_line.py",
    "log/test_torn_tail.py",
    "log/test_read_back.py",
    "log/test_not_a_log.py",
    "log/test_run_ends.py",
    "log/test_lost_messages.py",
    "log/test_format_version.py",
    "log/test_moved_lines.py",
    "log/test_copies.py",
    "log/test_reset_effects.py",
    "log/test_reader.py",
    "log/test_file.py",
    "session/test_hide.py",
    "session/test_provider_bonds.py",
    "session/test_store.py",
    "catalogue/test_snapshot_data.py",
    "log/test_small_scope.py",
    "log/test_damage.py",
    "log/test_flips.py",
]
_OF_PLANS = [
    "compaction/test_planner.py",
    "compaction/test_choose.py",
    "compaction/test_always_kept.py",
    "compaction/test_consequences.py",
    "compaction/test_markers.py",
    "compaction/test_stale_reads.py",
    "compaction/test_strategies.py",
    "compaction/test_protected_ends.py",
    "compaction/test_view_promises.py",
    "view/test_old_plans.py",
    "window/test_trigger.py",
    "window/test_growing_back.py",
    "session/test_view_service.py",
]
_OF_VIEWS = [
    "view/test_render.py",
    "view/test_arrangement.py",
    "view/test_calls_and_results.py",
    "view/test_bound_reasoning.py",
    "view/test_provider_bonds.py",
    "session/test_store.py",
    "session/test_provider_bonds.py",
    "session/test_late_system.py",
    "session/test_reference_only.py",
    "session/test_request_limits.py",
    "session/test_wire.py",
    "window/test_media_plan.py",
    "messages/test_offload.py",
]
TESTS = {
    "log.record_line": ["log/test_record_line.py", *_OF_LINES],
    "log.scanner": _OF_LINES,
    "log.index_builder": ["log/test_index.py", *_OF_LINES],
    "log.group_commit": ["log/test_group_commit.py", "log/test_append.py", "log/test_file_writers.py"],
    "compaction.planner": _OF_PLANS,
    "compaction.choose": _OF_PLANS,
    "view.render": _OF_VIEWS,
}
"""The modules that are changed, and the tests of each."""
QUICK_TESTS = 16
SLOW = "not flipped_bit"
"""What is left out: all bits of a log, flipped."""
CPU_SECONDS, IDLE_SECONDS, WALL_SECONDS = 90, 30, 300
FOREIGN = ("pytest_asyncio", "hypothesis", "amplifier_core", "orjson", "psycopg")
"""Imported once for all mutants."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the tests said of a mutant.

    Attributes:
        mutant: its name.
        source: a hash of the module that was changed.
        killed: whether it was noticed.
        by: the test that failed first; empty where the tests did not end, or could not begin.
        seconds: how long that took.
    """

    mutant: str
    source: str
    killed: bool
    by: str
    seconds: float


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module as its mutant."""

    def __init__(self, name: str, path: Path, code: types.CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def exec_module(self, module: types.ModuleType) -> None:
        exec(self._code, module.__dict__)


class _FirstFailure:
    """A plugin of pytest: tells which test failed first."""

    def __init__(self, tell: int) -> None:
        self._tell = tell

    def pytest_runtest_logreport(self, report: object) -> None:
        if getattr(report, "failed", False):
            name = str(getattr(report, "nodeid", "")).partition("[")[0]
            os.write(self._tell, name.encode()[:1000])


def try_out(module: str, tree: ast.Module | None, found: Counter[str]) -> tuple[bool, str]:
    """Run the tests of a module with its mutant, or as it is: whether they fail, and which did first.

    Args:
        module: its name in the package.
        tree: the mutant.
        found: how many mutants each test found before.
    """
    quick = [test for test, _ in found.most_common(QUICK_TESTS) if test]
    if quick:
        failed, by = _run_apart(module, tree, quick)
        if failed and by:
            return True, by
    return _run_apart(module, tree, [f"tests/{test}" for test in TESTS[module]])


def _run_apart(module: str, tree: ast.Module | None, tests: Sequence[str]) -> tuple[bool, str]:
    """Run tests in a process of their own."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.setsid()  # what the tests start ends with them
            code = _run(module, tree, tests, _FirstFailure(tell))
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
    """Whether a process ends well, and in time."""
    now = time.monotonic()
    deadline, moved, used = now + WALL_SECONDS, now, 0
    while time.monotonic() < min(deadline, moved + IDLE_SECONDS):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        if (ticks := _ticks(pid)) != used:
            moved, used = time.monotonic(), ticks
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def _ticks(pid: int) -> int:
    """The processor time that a process has used; one that waits for ever uses none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return time.monotonic_ns()
    return int(fields[11]) + int(fields[12])


def _run(module: str, mutant: ast.Module | None, tests: Sequence[str], plugin: _FirstFailure) -> int:
    import pytest
    from hypothesis import Phase, settings

    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    phases = (Phase.explicit, Phase.generate)  # a failure is enough: it need not be a small one
    settings.register_profile("mutants", deadline=None, derandomize=True, database=None, phases=phases)
    name, path = f"{PACKAGE}.{module}", _path_of(module)
    if mutant is not None:
        sys.meta_path.insert(0, _Mutated(name, path, compile(mutant, str(path), "exec")))
    with tempfile.TemporaryDirectory() as directory:
        quiet = ["-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--basetemp", f"{directory}/tests"]
        profile = ["--hypothesis-profile", "mutants", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        return int(
            pytest.main(["-x", *quiet, *profile, "-k", SLOW, *(f"{ROOT}/{test}" for test in tests)], plugins=[plugin])
        )


def _path_of(module: str) -> Path:
    return ROOT / PACKAGE / f"{module.replace('.', '/')}.py"


def read_verdicts(path: Path) -> dict[tuple[str, str], Verdict]:
    """The last verdict of each mutant and state of its module."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    verdicts = [Verdict(**json.loads(line)) for line in lines]
    return {(verdict.mutant, verdict.source): verdict for verdict in verdicts}


def judge(module: str, source: str, mutants: Iterable[Mutant], verdicts_path: Path | None) -> Iterator[Verdict]:
    """Try out mutants of one module, but for those that are known to be killed."""
    known = read_verdicts(verdicts_path) if verdicts_path else {}
    found = Counter(
        verdict.by.partition("[")[0] for verdict in known.values() if verdict.mutant.startswith(module) and verdict.by
    )
    for mutant in mutants:
        verdict = known.get((mutant.name, source))
        if verdict is None or not verdict.killed:
            start = time.monotonic()
            killed, by = try_out(module, mutant.make(), found)
            verdict = Verdict(mutant.name, source, killed, by, round(time.monotonic() - start, 1))
            found[by] += 1
            if verdicts_path:
                with verdicts_path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(verdict)) + "\n")
        if not verdict.killed:
            print(f"survived: {module.replace('.', '/')}.py:{mutant.line}: {mutant.name}", flush=True)
        yield verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=400, help="how many mutants, of all modules together")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--module", choices=list(TESTS), action="append", help="only of this one; may be repeated")
    parser.add_argument("--verdicts", type=Path, help="a file of verdicts to go on with")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the tests of the mutant at hand end, too
    for name in ("pytest", *FOREIGN):
        importlib.import_module(name)
    sources = {module: _path_of(module).read_bytes() for module in TESTS}
    of_module = {module: mutants_of(module, source.decode()) for module, source in sources.items()}
    sample = sample_of(chain.from_iterable(of_module.values()), options.sample, options.seed)
    chosen = {mutant.name for mutant in sample}
    killed, tried = 0, 0
    for module in options.module or list(TESTS):
        failed, by = try_out(module, None, Counter())
        if failed:
            sys.exit(f"the tests of {module} fail as it is ({by}); run them by themselves")
        source = hashlib.sha256(sources[module]).hexdigest()[:16]
        mutants = [mutant for mutant in of_module[module] if mutant.name in chosen]
        good = sum(verdict.killed for verdict in judge(module, source, mutants, options.verdicts))
        print(f"{module}: {good} of {len(mutants)} killed", flush=True)
        killed, tried = killed + good, tried + len(mutants)
    print(f"all: {killed} of {tried} killed, of {sum(map(len, of_module.values())):,} possible mutants")


if __name__ == "__main__":
    main()
