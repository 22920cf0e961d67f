"""The tests that the documents name as proofs exist."""

import re

import pytest

from tests.support.places import DOCS, ROOT

TESTS = {
    (path.stem, name)
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^ *(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
}
FILES = {stem for stem, _ in TESTS}
NAMES = {name for _, name in TESTS}
PAGES = sorted(path.name for path in DOCS.glob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_a_test_that_a_page_names_is_there(page: str) -> None:
    """As `file.test`, as a file, or by its path."""
    text = (DOCS / page).read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+)\.(test_\w+)`", text)
    assert [pair for pair in named if pair not in TESTS] == []
    assert [one for one in re.findall(r"`(test_\w+)`", text) if one not in FILES | NAMES] == []
    assert [path for path in re.findall(r"`(tests/[\w/]+\.py)`", text) if not (ROOT / path).exists()] == []


def test_proofs_are_named() -> None:
    """The page of proofs names one for each failure that it lists."""
    text = (DOCS / "proofs.md").read_text(encoding="utf-8")
    assert re.search(r"`test_\w+\.test_\w+`", text)
