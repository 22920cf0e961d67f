"""The pages on architecture, walks and failures, and the lists of packages, name files and functions that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.places import DOCS, ROOT
from tests.support.sweeps import proof

PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
WALK = PAGE.split("ways through the rooms", 1)[1]
WALK += "".join((DOCS / name).read_text(encoding="utf-8") for name in ("walks.md", "failures.md"))
PACKAGE = ROOT / "amplifier_module_context_persistent"
FILES = sorted(set(re.findall(r"`((?:\w+/)+\w+\.py)`", WALK)))
NAMED = sorted(set(re.findall(r"`((?:\w+/)+\w+\.py)`\s+`(\w+)`", WALK)))


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_the_walk_exists(file: str) -> None:
    """Each is in the package."""
    assert (PACKAGE / file).is_file()


@proof(quick=1)
@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_name_of_the_walk_is_defined_in_its_file(file: str, name: str) -> None:
    """A function, a method or a class."""
    tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_the_walk_goes_through_both_halves() -> None:
    """From the manager through log, window, view and compaction."""
    assert {file.partition("/")[0] for file in FILES} >= {"session", "log", "window", "view", "compaction", "messages"}
    assert NAMED


ROOMS = [path.parent for path in sorted(PACKAGE.glob("*/**/__init__.py")) if len(list(path.parent.glob("*.py"))) > 4]
"""The packages with so many modules that a newcomer has to be told where to look."""


@proof
@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.relative_to(PACKAGE).as_posix())
def test_a_room_says_where_things_are_done(room: Path) -> None:
    """In a list or a table of its `__init__`; each module that it names is there."""
    said = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
    _, _, guide = (
        said.partition("Where things are done:\n") if "Where things are done:" in said else said.partition("\n|")
    )
    guide = guide.partition("\n\n")[0]
    named = re.findall(r"`([a-z_/]+)`", guide)
    modules = {path.stem for path in room.glob("*.py")}
    defined = {
        node.name
        for path in room.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    assert modules & set(named)
    for name in named:
        if ("_" in name or "/" in name) and name not in modules | defined:
            places = [place / name for place in (room, room.parent, PACKAGE)]
            assert any(place.is_dir() or place.with_suffix(".py").is_file() for place in places), name


def test_the_drawing_shows_every_package() -> None:
    """Each room of the package stands in it."""
    drawing = PAGE.partition("```text")[2].partition("```")[0]
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert [name for name in sorted(packages) if name not in drawing] == []
