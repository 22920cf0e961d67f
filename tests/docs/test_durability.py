"""The tests that the documents name as proofs exist, and do not grow unnoticed."""

import re
from pathlib import Path
from runpy import run_path

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
    """The page on durability names one for each failure that it lists."""
    text = (DOCS / "durability.md").read_text(encoding="utf-8")
    assert len(re.findall(r"`test_\w+\.test_\w+`", text)) > 15


MOST_STATEMENTS = 7_250
"""What the proofs may weigh; the limit of 19,000 that the project aims at is for all other tests."""

MORE_PROOFS = (
    "catalogue/test_faults.py",
    "compaction/test_view_promises.py",
    "log/postgres/test_attacks.py",
    "log/test_golden.py",
    "messages/test_incoming.py",
    "maintenance/test_purge_faults.py",
    "support/catalogue_faults.py",
    "support/checker.py",
    "support/fakefs.py",
    "support/fuzz.py",
    "support/histories.py",
    "support/log_contract.py",
    "support/postgres_proofs.py",
    "support/reasoning_kills.py",
    "support/request_checker.py",
    "support/small_scope.py",
    "support/snapshot_faults.py",
    "support/soak.py",
    "support/view_checker.py",
    "support/view_properties.py",
    "support/writer.py",
    "transfer/importers/test_any_values.py",
    "transfer/importers/test_hostile_files.py",
    "view/test_bound_reasoning.py",
)
"""Suites of small cases, made-up cases, faults and kills that the page does not name, and what the proofs stand on."""


def test_the_proofs_weigh_no_more_than_their_limit() -> None:
    """They are not counted among the tests that are to become lighter, so they are listed."""
    text = (DOCS / "durability.md").read_text(encoding="utf-8").partition("## How it is tested")[2]
    stems = set(re.findall(r"`(test_\w+)\.", text)) | set(re.findall(r"`tests/[\w/]+/(test_\w+)\.py`", text))
    proofs: set[Path] = {path for path in (ROOT / "tests").rglob("test_*.py") if path.stem in stems}
    proofs |= {ROOT / "tests" / name for name in MORE_PROOFS}
    statements_in = run_path(str(ROOT / "tests" / "test_weight.py"))["statements_in"]
    assert sum(map(statements_in, proofs)) <= MOST_STATEMENTS
