"""Which files of this repository import which.

Only the lines of imports are parsed: all of the repository is read in a tenth of the time. A text that has such a line
counts as an import, so the map may name a file too many, and never one too few. A module that is imported by its name,
as commands are, counts too.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
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


_IMPORT = re.compile(
    rb"^[ \t]*((?:from[ \t]+[\w.]+[ \t]+import|import)\b(?:[ \t]*\([^)]*\)|(?:\\\r?\n|[^\n;])*))", re.MULTILINE
)


def import_statements(source: bytes) -> Iterator[ast.stmt]:
    """The imports of a module, wherever they are in it."""
    for found in _IMPORT.finditer(source):
        with suppress(SyntaxError):  # prose
            yield from ast.parse(found[1]).body


_NAME = re.compile(rb'"\.?([a-z_][\w.]*)(?::\w+)?"')


def _imported_by_name(path: Path, source: bytes) -> Iterator[str]:
    """The modules that a file may import by names in its texts, perhaps with one thing of each (`cli.list_:list`)."""
    if b"import_module(" in source:
        above = path.parent.relative_to(ROOT).parts
        for found in _NAME.finditer(source):
            yield from (".".join([*above[:depth], found[1].decode()]) for depth in range(1, len(above) + 1))


def _imported_files(path: Path) -> Iterator[Path]:
    source = path.read_bytes()
    yield from (found for name in _imported_by_name(path, source) if (found := file_of(name)))
    for node in import_statements(source):
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
