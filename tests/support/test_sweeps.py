"""Which tests a quick run leaves out."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.passed_before import PROPERTY, SAMPLED, NotePassed
from tests.support.sweeps import is_whole_proof, proof, proofs_among, spread, times_asked, whole


def item(nodeid: str, *marks: pytest.MarkDecorator) -> Any:
    return Collected(nodeid, marks)


class Collected(SimpleNamespace):
    """What a collected test tells of itself."""

    def __init__(self, nodeid: str, marks: tuple[pytest.MarkDecorator, ...]) -> None:
        super().__init__(nodeid=nodeid, iter_markers=lambda _: iter([one.mark for one in marks]))

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def left_out(*items: Any) -> list[str]:
    found = proofs_among(items)
    return [one.nodeid for one in items if one in found]


def test_a_proof_is_left_out_and_other_tests_are_not() -> None:
    assert left_out(item("a.py::one"), item("a.py::two", proof), item("a.py::three")) == ["a.py::two"]


def test_of_the_cases_of_one_test_the_first_are_tried() -> None:
    """Each test has its own first ones."""
    some = proof(quick=2)
    cases = [item(f"a.py::{name}[{case}]", some) for name in ("one", "two") for case in range(3)]
    assert left_out(*cases) == ["a.py::one[2]", "a.py::two[2]"]


def test_a_case_that_is_a_proof_by_itself_is_none_of_the_first() -> None:
    """A test whose cases are tried in a database as well, which its fixture marks."""
    first = item("a.py::one[postgres]", proof(quick=1), proof)
    assert left_out(first, item("a.py::one[file]", proof(quick=1))) == ["a.py::one[postgres]"]


def noted(tmp_path: Path, *reports: tuple[str, str, str, list[str]]) -> list[str]:
    notes = NotePassed(tmp_path / "passed")
    for nodeid, when, outcome, told in reports:
        properties = [(what, True) for what in told]
        notes.pytest_runtest_logreport(
            pytest.TestReport(nodeid, ("", 0, ""), {}, outcome, None, when, user_properties=properties)
        )
    notes.pytest_sessionfinish()
    return list(json.loads((tmp_path / "passed").read_text()))


def test_only_what_passed_as_it_always_runs_is_not_run_again(tmp_path: Path) -> None:
    """Not what failed, or was skipped, or tries random examples; and nothing of a file where cases were chosen."""
    assert noted(
        tmp_path,
        ("a.py::passed", "setup", "passed", []),
        ("a.py::passed", "call", "passed", []),
        ("a.py::failed", "call", "failed", []),
        ("a.py::skipped", "setup", "skipped", []),
        ("a.py::ended_badly", "call", "passed", []),
        ("a.py::ended_badly", "teardown", "failed", []),
        ("a.py::random", "call", "passed", [PROPERTY]),
        ("b.py::swept", "call", "passed", [SAMPLED]),
        ("b.py::beside_it", "call", "passed", []),
    ) == ["a.py::passed"]


def test_a_sweep_is_known_by_asking_how_much_it_tries() -> None:
    before = times_asked()
    whole()
    asked = times_asked()
    assert asked > before
    list(spread(range(9), 3))
    assert times_asked() > asked


def marked(*marks: pytest.MarkDecorator) -> Any:
    def test() -> None: ...

    for mark in marks:
        test = mark(test)
    return test


def test_a_proof_of_which_no_case_is_quick_is_known_before_its_cases_are_made() -> None:
    assert is_whole_proof(marked(proof))
    assert not is_whole_proof(marked(proof(quick=1)))
    assert not is_whole_proof(marked(pytest.mark.usefixtures("project")))
    assert not is_whole_proof(pytest.param(1, marks=proof))
    assert not is_whole_proof(12)
