"""The package and its tests do not grow unnoticed: whoever cuts lowers these numbers, whoever raises one says why."""

import ast
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.sweeps import takes_long

PACKAGE = "amplifier_module_context_persistent"
MOST_STATEMENTS = {PACKAGE: 21_240, "tests": 27_575}
MOST_FILES = {PACKAGE: 251, "tests": 365}


def statements_in(source: Path) -> int:
    """How many statements a file has, without imports and the texts of documentation."""
    return statements_below(ast.parse(source.read_text(encoding="utf-8")))


def statements_below(node: ast.AST) -> int:
    """Likewise; only these fields hold statements, and expressions, which are most of a tree, are passed over."""
    below = [one for name in ("body", "handlers", "orelse", "finalbody", "cases") for one in getattr(node, name, ())]
    return sum(map(statements_below, below)) + sum(
        isinstance(one, ast.stmt) and not isinstance(one, ast.Import | ast.ImportFrom) and not is_text(one)
        for one in below
    )


def is_text(node: ast.AST) -> bool:
    """Whether a statement is a text alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@takes_long
@pytest.mark.parametrize("tree", MOST_STATEMENTS)
def test_it_weighs_no_more_than_before(tree: str) -> None:
    """Layout and comments change nothing; neither do documentation and imports."""
    files = sorted((ROOT / tree).rglob("*.py"))
    assert len(files) <= MOST_FILES[tree]
    assert sum(map(statements_in, files)) <= MOST_STATEMENTS[tree]
