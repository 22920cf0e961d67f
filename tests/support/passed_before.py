"""Run a test once, if a second run would only repeat the first: `--note-passed=FILE`, and later `--passed=FILE`.

A quick run notes which tests passed as they always run. A run with `--proof` leaves these out, so that no test runs
twice in `.ci/run`: what it runs are proofs, all tests that the quick run sampled, and those that it skipped.
"""

import json
from pathlib import Path

import pytest

from tests.support.sweeps import times_asked

SAMPLED, PROPERTY = "sampled", "property"
"""A test of a file where cases were chosen; a test that tries random examples."""


class NotePassed:
    """Notes the tests that passed and whose cases do not depend on `--proof`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._passed, self._left = set[str](), set[str]()
        self._sampled = set[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Runs where all workers report."""
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)
        told = dict(report.user_properties)
        if not report.passed or PROPERTY in told:
            self._left.add(report.nodeid)
        if SAMPLED in told:
            self._sampled.add(file_of(report.nodeid))

    def pytest_sessionfinish(self) -> None:
        passed = [test for test in self._passed - self._left if file_of(test) not in self._sampled]
        self._path.write_text(json.dumps(sorted(passed)), encoding="utf-8")


class TellSampled:
    """Tells with each test's report whether cases were chosen for it: while its file was imported, or while it ran."""

    def __init__(self) -> None:
        self._sampled = set[str]()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport:
        asked = times_asked()
        report = yield
        if times_asked() != asked:
            self._sampled.add(file_of(collector.nodeid))
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        self._asked = times_asked()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> pytest.TestReport:
        if times_asked() != self._asked or file_of(item.nodeid) in self._sampled:
            _tell(item, SAMPLED)
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            _tell(item, PROPERTY)
        return (yield)


def _tell(item: pytest.Item, what: str) -> None:
    if (what, True) not in item.user_properties:
        item.user_properties.append((what, True))


def file_of(test: str) -> str:
    """The file of a test."""
    return test.partition("::")[0]


def register(config: pytest.Config) -> None:
    """Note what passes, if a run is told to."""
    if path := config.getoption("--note-passed"):
        config.pluginmanager.register(TellSampled())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(NotePassed(Path(path).absolute()))


def among(config: pytest.Config, items: list[pytest.Item]) -> set[pytest.Item]:
    """Of the tests those that a run before this one noted."""
    path = config.getoption("--passed")
    passed = set(json.loads(Path(path).read_bytes())) if path else set()
    return {item for item in items if item.nodeid in passed}
