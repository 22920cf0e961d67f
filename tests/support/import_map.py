"""Which files of this repository import which, read with `ast`."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.places import ROOT

PACKAGE = "amplifier_module_context_persistent"


def absolute(path: Path, node: ast.ImportFrom, root: Path = ROOT) -> str:
    """The module that a `from` import names, dotted, counted from the root."""
    if not node.level:
        return str(node.module)
    above = path.parent.relative_to(root).parts
    above = above[: len(above) - (node.level - 1)]
    return ".".join([*above, *([node.module] if node.module else [])])


@cache
def file_of(dotted: str) -> Path | None:
    """The file of a module of this repository; None for any other module and for a name within a module."""
    place = ROOT.joinpath(*dotted.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None


def _imported_files(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = absolute(path, node)
            names = [f"{module}.{alias.name}" if file_of(f"{module}.{alias.name}") else module for alias in node.names]
        yield from (found for name in names if (found := file_of(name)))


@cache
def importers() -> dict[Path, set[Path]]:
    """For each file of the package and of the tests, the files that import it."""
    found: dict[Path, set[Path]] = defaultdict(set)
    for top in (PACKAGE, "tests"):
        for path in sorted((ROOT / top).rglob("*.py")):
            for imported in _imported_files(path):
                found[imported].add(path)
    return found
