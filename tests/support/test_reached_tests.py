"""Where a run of the tests notes that it reaches a mutant."""

import builtins
import importlib.util
import textwrap
from importlib.resources import files
from pathlib import Path

import pytest

from tests.support.mutants import mutants_of
from tests.support.reached_tests import NOTE, altered_spec, noting

SOURCE = textwrap.dedent(
    '''
    """A module."""
    LIMIT = 5


    def step(value: int, most: int = 7) -> int:
        """Step."""
        if value < LIMIT:
            return value + 1
        elif value == most:
            return 0
        return value


    class Box:
        size = 3

        def double(self) -> int:
            return self.size * 2
    '''
)


def reached_by(monkeypatch: pytest.MonkeyPatch, call: str) -> set[str]:
    """The mutants that a call reaches, in a module that was imported with notes: what they change."""
    mutants = {mutant.name: mutant for mutant in mutants_of("box", SOURCE)}
    names, found = list(mutants), set[str]()
    monkeypatch.setattr(builtins, NOTE, lambda number: found.add(names[number]), raising=False)
    spans = {name: (mutant.line, mutant.last_line) for name, mutant in mutants.items()}
    tree = noting(SOURCE, spans, {name: number for number, name in enumerate(names)})
    module: dict[str, object] = {}
    exec(compile(tree, "box", "exec"), module)
    assert not found
    eval(call, module)
    return {name.split(": ")[1] for name in found}


AT_IMPORT = {"LIMIT = 5", "5", "7", "size = 3", "3"}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("step(1)", {"value < LIMIT", "if value < LIMIT", "return value + 1", "value + 1", "1"}),
        ("step(7)", {"value < LIMIT", "if value < LIMIT", "value == most", "if value == most", "return 0", "0"}),
        ("Box().double()", {"return self.size * 2", "self.size * 2", "2"}),
    ],
)
def test_a_place_is_noted_as_it_runs(call: str, expected: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that runs as the module is imported is noted by each call of a function."""
    found = {what.splitlines()[0].rstrip(":") for what in reached_by(monkeypatch, call)}
    assert {what.replace("elif", "if") for what in found} == expected | AT_IMPORT


def test_a_package_with_other_code_finds_the_files_beside_it(tmp_path: Path) -> None:
    """Modules below it, too; nothing is kept for who imports it without."""
    home = tmp_path / "boxes"
    home.mkdir()
    (home / "page.txt").write_text("a page")
    (home / "small.py").write_text("SIZE = 1")
    (home / "__init__.py").write_text("SIZE = 3")
    spec = altered_spec("boxes", home / "__init__.py", compile("SIZE = 4", "boxes", "exec"))
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    assert (package.SIZE, package.__path__) == (4, [str(home)])
    assert (files(package) / "page.txt").read_text() == "a page"
    assert sorted(path.name for path in home.iterdir()) == ["__init__.py", "page.txt", "small.py"]
