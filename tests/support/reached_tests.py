"""Which tests run which lines of the package: the tests are run once with `coverage`, and asked afterwards."""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import pytest
from coverage import CoverageData

from tests.support.import_map import PACKAGE
from tests.support.places import ROOT

AT_IMPORT = ""
"""The context of lines that run while tests are collected."""


class Durations:
    """A plugin of pytest: keeps how long each test took that passed."""

    def __init__(self) -> None:
        self.of: dict[str, float] = defaultdict(float)
        self._failed = set[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.of[report.nodeid] += report.duration
        if not report.passed:
            self._failed.add(report.nodeid)

    def of_those_that_passed(self) -> dict[str, float]:
        return {test: seconds for test, seconds in self.of.items() if test not in self._failed}


class ReachedTests:
    """The tests that run a line.

    Attributes:
        durations: by each test that passed, how many seconds it took.
    """

    def __init__(self, directory: Path) -> None:
        self._data = CoverageData(str(directory / "coverage"))
        self._data.read()
        self.durations: dict[str, float] = json.loads((directory / "durations.json").read_text(encoding="utf-8"))

    @cached_property
    def _contexts(self) -> dict[Path, dict[int, list[str]]]:
        return {}

    def _by_line(self, path: Path) -> dict[int, list[str]]:
        if path not in self._contexts:
            found = {
                line: [context.rpartition("|")[0] for context in contexts]
                for line, contexts in self._data.contexts_by_lineno(str(path)).items()
            }
            self._contexts[path] = found
        return self._contexts[path]

    def of(self, path: Path, lines: Iterable[int]) -> set[str]:
        """The tests that run one of the lines."""
        by_line = self._by_line(path)
        return {test for line in lines for test in by_line.get(line, ()) if test in self.durations}

    def of_file(self, path: Path) -> set[str]:
        """The tests that run anything in a file."""
        return self.of(path, self._by_line(path))

    def runs_at_import(self, path: Path, lines: Iterable[int]) -> bool:
        """Whether one of the lines runs before any test."""
        by_line = self._by_line(path)
        return any(AT_IMPORT in by_line.get(line, ()) for line in lines)


def record(directory: Path, *, with_proofs: bool = False) -> None:
    """Run the quick tests, and the proofs if they are wanted; note in a directory which lines each of them runs."""
    directory.mkdir(parents=True, exist_ok=True)
    more = ["--proof"] if with_proofs else []
    subprocess.run([sys.executable, "-m", __name__, str(directory), *more], cwd=ROOT, check=False)


def _main(directory: Path, *more: str) -> None:
    (directory / "coveragerc").write_text(f"[run]\ndata_file = {directory / 'coverage'}\nconcurrency = thread\n")
    durations = Durations()
    covered = [f"--cov={PACKAGE}", "--cov-context=test", f"--cov-config={directory / 'coveragerc'}", "--cov-report="]
    options = ["-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider"]
    pytest.main([*options, *covered, *more, str(ROOT / "tests")], plugins=[durations])
    (directory / "durations.json").write_text(json.dumps(durations.of_those_that_passed()), encoding="utf-8")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), *sys.argv[2:])
