"""What a run of the tests is: its options, which tests it collects, and where their files and what is compiled are."""

import gc
import os
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from tests.support import passed_before, reached_tests
from tests.support.places import ROOT
from tests.support.sweeps import is_whole_proof, proofs_among, run_proofs, some

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in a shell's background; what tests start would ignore it, too
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--proof`, and what lets `.ci/run` run a test once."""
    parser.addoption("--proof", action="store_true", help="run the proofs as well, and all cases of every sweep")
    parser.addoption("--note-passed", metavar="FILE", help="note the tests that pass and are the same with --proof")
    parser.addoption("--passed", metavar="FILE", help="leave out the tests that such a file names")
    parser.addoption("--note-reached", metavar="DIR", help="note which tests reach the mutants that it names")


def pytest_configure(config: pytest.Config) -> None:
    """Settle how much is tried before tests are collected.

    A busy machine is no fault, and a run is the same for everybody; HYPOTHESIS_EXPLORE=1 looks for new and more
    examples.
    """
    run_proofs(config.getoption("--proof"))
    passed_before.register(config)
    reached_tests.register(config)
    if config.getoption("dist", "no") == "no":  # not the process that only hands tests to workers
        _choose_examples()
        config.pluginmanager.import_plugin("tests.support.fixtures")


def _choose_examples() -> None:
    from hypothesis import settings

    explores = "HYPOTHESIS_EXPLORE" in os.environ
    settings.register_profile(
        "project", deadline=None, derandomize=not explores, max_examples=200 if explores else some(40)
    )
    settings.load_profile("project")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Make no tests of whole proofs in a quick run of all files: it would leave out thousands again."""
    option = collector.config.option
    is_quick_run_of_all = not (option.proof or option.file_or_dir or option.markexpr or option.keyword)
    return [] if is_quick_run_of_all and is_whole_proof(obj) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave proofs out of a quick run, unless nothing else was asked for; and what passed in a run before this one."""
    proofs = set() if config.getoption("--proof") else proofs_among(items)
    left_out = passed_before.among(config, items) | (proofs if len(proofs) < len(items) else set())
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _keep_what_was_compiled() -> None:
    """Let tests and what they start be compiled once, where Python is told to write nothing beside them."""
    if sys.dont_write_bytecode:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / ".pytest_cache" / "compiled"))


_keep_what_was_compiled()

ROOMY = 4 << 30
"""Bytes that have to be free in memory before the tests' files are kept there."""


def _keep_files_in_memory(place: Path = Path("/dev/shm")) -> None:
    """Let files of tests be in memory where the system offers that: they are brought to no disk thousands of times.

    What a power cut leaves is shown by the fake file system. A `TMPDIR` that is set stays.
    """
    wanted = "TMPDIR" not in os.environ and place.is_dir() and os.access(place, os.W_OK)
    if wanted and shutil.disk_usage(place).free >= ROOMY:
        tempfile.tempdir = os.environ["TMPDIR"] = str(place)


_keep_files_in_memory()


gc.disable()  # until all is collected: nearly nothing of it is garbage, and looking for it takes a quarter of the time


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what was collected: thousands of tests, which stay until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(300_000, 50, 50)  # tests keep much and leave little garbage
    gc.enable()


_COUNT = re.compile(
    r"(?P<name>[A-Za-z/][A-Za-z/ -]*?)(?: (?:of|beside) [^:,]+?)?(?P<failed> failed)?: (?P<number>\d+)(?=,|$)"
)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the proofs of durability counted: passed tests' lines of `NAME: NUMBER, …`, added up."""
    totals: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        for line in report.capstdout.splitlines():
            if _COUNT.match(line):
                for found in _COUNT.finditer(line):
                    totals[found["name"].strip() + (found["failed"] or "")] += int(found["number"])
    if totals:
        terminalreporter.section("what the proofs counted")
        terminalreporter.line(", ".join(f"{name}: {number:,}" for name, number in sorted(totals.items())))
