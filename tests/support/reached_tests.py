"""Which tests run what a mutant changes: with `--note-reached=DIR` a run of the tests notes it where that runs.

The directory says which mutants are meant. Their modules are imported with one more statement before each one that a
mutant changes. It notes which test runs, and costs next to nothing. A mutant of what runs as a module is imported, such
as a table, is reached by each test that calls a function of the module (`tests.mutate` adds the nearest tests).
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from tests.support.places import ROOT

NOTE = "note_that_a_mutant_is_reached"
"""The name of the function that the added statements call."""
SAMPLE, DURATIONS = "sample.json", "durations.json"

Span = tuple[int, int]
"""The first and the last line of what a mutant changes."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Place:
    """A statement, the list that holds it, and whether it is in a function."""

    statement: ast.stmt
    holder: list[ast.stmt]
    in_function: bool


def _places(node: ast.AST, *, in_function: bool = False) -> Iterator[Place]:
    """The statements below a node, outer ones first."""
    for _, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.stmt):
                yield Place(child, value, in_function)
            if isinstance(child, ast.AST):
                yield from _places(child, in_function=in_function or isinstance(child, _FUNCTIONS))


def noting(source: str, spans: Mapping[str, Span], numbers: Mapping[str, int]) -> ast.Module:
    """A module whose statements note by numbers which mutants a test reaches."""
    tree = ast.parse(source)
    innermost: dict[str, Place] = {}
    for place in _places(tree):
        for name, (first, last) in spans.items():
            if place.statement.lineno <= first and last <= (place.statement.end_lineno or 0):
                innermost[name] = place
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    for name, place in innermost.items():
        if place.in_function:
            at = place.holder.index(place.statement)
            place.holder.insert(at, _note(numbers[name], place.statement))
            continue
        for function in functions:
            after_docstring = int(ast.get_docstring(function, clean=False) is not None)
            function.body.insert(after_docstring, _note(numbers[name], function.body[0]))
    return tree


def _note(number: int, before: ast.stmt) -> ast.stmt:
    call = ast.Call(ast.Name(NOTE, ast.Load()), [ast.Constant(number)], [])
    statement = ast.copy_location(ast.Expr(call), before)
    return ast.fix_missing_locations(statement)


class AlteredLoader(importlib.machinery.SourceFileLoader):
    """Imports a module with other code; all else, such as the files beside it, is found as ever."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        super().__init__(name, str(path))
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code


def altered_spec(name: str, path: Path, code: CodeType) -> importlib.machinery.ModuleSpec | None:
    """What imports a module or a package from its file with other code."""
    above = [str(path.parent)] if path.name == "__init__.py" else None
    loader = AlteredLoader(name, path, code)
    return importlib.util.spec_from_file_location(name, path, loader=loader, submodule_search_locations=above)


class NoteReached(importlib.abc.MetaPathFinder):
    """A plugin of pytest that imports modules with notes, and keeps which tests reach which mutants."""

    def __init__(self, directory: Path, part: str) -> None:
        self._sample: dict[str, dict[str, Span]] = json.loads((directory / SAMPLE).read_bytes())
        self._names = [name for spans in self._sample.values() for name in spans]
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._written = directory / f"reached-{part}.json"
        self._reached = defaultdict[int, set[str]](set)
        self._test = ""
        setattr(builtins, NOTE, lambda number: self._reached[number].add(self._test))
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Known are the modules of the sample."""
        place = fullname.replace(".", "/")
        for file in (f"{place}.py", f"{place}/__init__.py"):
            if file in self._sample:
                tree = noting((ROOT / file).read_text(encoding="utf-8"), self._sample[file], self._numbers)
                return altered_spec(fullname, ROOT / file, compile(tree, str(ROOT / file), "exec"))
        return None

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._test = nodeid

    def pytest_sessionfinish(self) -> None:
        reached = {self._names[number]: sorted(tests - {""}) for number, tests in self._reached.items()}
        self._written.write_text(json.dumps(reached), encoding="utf-8")


class NoteDurations:
    """A plugin of pytest that keeps how many seconds each test took that passed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds = defaultdict[str, float](float)
        self._failed = set[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Runs where all workers report."""
        self._seconds[report.nodeid] += report.duration
        if not report.passed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        passed = {test: seconds for test, seconds in self._seconds.items() if test not in self._failed}
        self._path.write_text(json.dumps(passed), encoding="utf-8")


def register(config: pytest.Config) -> None:
    """Note what is reached, if a run is told to; the process that hands tests to workers notes how long they take."""
    if not (directory := config.getoption("--note-reached")):
        return
    place = Path(directory).absolute()
    worker = getattr(config, "workerinput", None)
    if worker is None:
        config.pluginmanager.register(NoteDurations(place / DURATIONS))
    if worker is not None or config.getoption("dist", "no") == "no":
        part = "alone" if worker is None else worker["workerid"]
        config.pluginmanager.register(NoteReached(place, part))


class ReachedTests:
    """The tests that reach the mutants of a sample.

    Attributes:
        durations: by each test that passed, how many seconds it took.
        mutants: the names of the mutants that were looked for.
    """

    def __init__(self, directory: Path) -> None:
        sample: dict[str, dict[str, Span]] = json.loads((directory / SAMPLE).read_bytes())
        self.mutants = {name for spans in sample.values() for name in spans}
        self.durations: dict[str, float] = json.loads((directory / DURATIONS).read_bytes())
        self._tests = defaultdict[str, set[str]](set)
        for part in directory.glob("reached-*.json"):
            for mutant, tests in json.loads(part.read_bytes()).items():
                self._tests[mutant] |= self.durations.keys() & tests

    def of(self, mutant: str) -> set[str]:
        """The tests that passed and run what a mutant changes."""
        return self._tests[mutant]
