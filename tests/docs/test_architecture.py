"""`docs/architecture.md` and `docs/walks.md` name files and functions that there are."""

from __future__ import annotations

import ast
import re

import pytest

from tests.support.places import DOCS, ROOT
from tests.support.sweeps import proof

PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
WALK = PAGE.split("ways through the rooms", 1)[1] + (DOCS / "walks.md").read_text(encoding="utf-8")
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
    assert len(NAMED) > 15


def test_the_drawing_shows_every_package() -> None:
    """Each room of the package stands in it."""
    drawing = PAGE.partition("```text")[2].partition("```")[0]
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert [name for name in sorted(packages) if name not in drawing] == []
