"""Mutants that are put into the functions of an imported module, or have to be imported."""

import functools
import gc
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.live_mutants import changed_functions, put_into_functions
from tests.support.mutants import Mutant, mutants_of
from tests.support.sweeps import proof

SOURCE = """
import functools
from tests.support.sweeps import proof

LIMIT = 5
DOUBLE = [2 * one for one in range(3)]


class Box:
    size: int = 7

    @property
    def full(self):
        return self.size > 6

    @functools.cache
    def cached(self, most=3):
        return [one for one in range(8) if one < most]


def outer(number):
    def inner():
        return number + 1

    return inner()
"""


def imported(tmp_path: Path) -> ModuleType:
    path = tmp_path / "box.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("box", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mutant(line: str, what: str) -> Mutant:
    number = next(n for n, one in enumerate(SOURCE.splitlines(), 1) if line in one)
    return next(one for one in mutants_of("box", SOURCE) if one.line == number and one.what == what)


def put(module: ModuleType, one: Mutant) -> bool:
    path = str(module.__file__)
    changed = changed_functions(compile(SOURCE, path, "exec"), compile(one.make(), path, "exec"))
    return changed is not None and put_into_functions(path, changed)


@proof
def test_functions_that_live_do_what_the_mutant_does(tmp_path: Path) -> None:
    """Properties, functions within a decorator or a function; also those that the garbage collector passes over."""
    box = imported(tmp_path)
    gc.freeze()
    assert put(box, mutant("self.size > 6", "6 becomes 7"))
    assert not box.Box().full
    assert put(box, mutant("if one < most", "Lt becomes LtE"))
    assert box.Box().cached() == [0, 1, 2, 3]
    assert isinstance(box.Box.cached, functools._lru_cache_wrapper)
    assert put(box, mutant("number + 1", "Add becomes Sub"))
    assert box.outer(1) == 0


@proof(quick=2)
@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("return inner()", "nothing is returned"),
        ("LIMIT = 5", "5 becomes 6"),
        ("2 * one", "Mult becomes FloorDiv"),
        ("size: int = 7", "7 becomes 8"),
        ("most=3", "3 becomes 4"),
    ],
)
def test_what_runs_as_the_module_is_imported_is_not_put_into_it(tmp_path: Path, line: str, what: str) -> None:
    box = imported(tmp_path)
    assert put(box, mutant(line, what)) is (line == "return inner()")
    assert (box.LIMIT, box.DOUBLE, box.Box().size, box.Box().cached()) == (5, [0, 2, 4], 7, [0, 1, 2])
