"""The kinds of control records: those that are written are in the table and in docs/format.md, with what older ones do.

An issue that adds a kind adds a row to each of the two tables of the page.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import amplifier_module_context_persistent
from amplifier_module_context_persistent.log.record_kinds import KINDS
from tests.support.places import DOCS, FIXTURES
from tests.support.sweeps import proof

PACKAGE = Path(amplifier_module_context_persistent.__file__).parent

FIRST = frozenset(
    {"header", "plan", "side_plan", "pin", "usage", "view", "system", "asked", "source", "purge", "appends"}
)
EARLIER = {
    "f25ab8d": FIRST | {"reset_begin", "reset_commit", "damaged"},
    "2b28c57": FIRST | {"reset_begin", "reset_commit", "damaged", "hide"},
}
"""The kinds that earlier revisions knew."""


def written_in(tree: ast.AST) -> Iterator[str]:
    """The kinds that a module writes, as far as they are literal texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "encode_control":
            yield from _texts(node.args[0])
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            yield from (text for key, value in pairs if "_record" in _texts(key) for text in _texts(value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bytes):
            yield from (found.decode() for found in re.findall(rb'^\{"_record":"([a-z_]+)"', node.value))


def _texts(node: ast.AST | None) -> list[str]:
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def table_under(heading: str) -> list[list[str]]:
    """The cells of the first table after a heading of docs/format.md."""
    text = (DOCS / "format.md").read_text("utf-8").partition(f"\n## {heading}\n")[2]
    rows = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert rows
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[0].splitlines()[2:]]


@proof
def test_every_kind_that_is_written_is_in_the_table() -> None:
    """A purge and a redaction know it then."""
    written = {kind for path in PACKAGE.rglob("*.py") for kind in written_in(ast.parse(path.read_text("utf-8")))}
    assert {"plan", "view", "header", "damaged", "hide"} <= written
    assert written <= set(KINDS)


def test_the_page_describes_every_kind() -> None:
    """And no other."""
    described = [kind for row in table_under("Control records") for kind in re.findall(r"`([a-z_]+)`", row[0])]
    assert sorted(described) == sorted(KINDS)


def test_the_page_says_what_older_versions_do_without_a_kind() -> None:
    """For each kind that an earlier revision did not know; it keeps and ignores such a record."""
    rows = {row[0].strip("`"): re.findall(r"`([0-9a-f]{7})`", row[1]) for row in table_under("Versions")}
    unknown = {kind: [name for name, known in EARLIER.items() if kind not in known] for kind in KINDS}
    assert rows == {kind: names for kind, names in unknown.items() if names}


def test_earlier_revisions_wrote_only_kinds_that_they_knew() -> None:
    """As far as their fixtures show."""
    for revision, known in EARLIER.items():
        logs = list((FIXTURES / "old" / revision).glob("*.jsonl"))
        found = {
            kind for log in logs for kind in re.findall(rb'^\{"_record":"([a-z_]+)"', log.read_bytes(), re.MULTILINE)
        }
        assert logs
        assert {kind.decode() for kind in found} <= known
