"""Which tests a quick run leaves out."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.sweeps import proof, proofs_among


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
