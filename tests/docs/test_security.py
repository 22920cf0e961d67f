"""docs/security.md names a test for each threat."""

from __future__ import annotations

import re

import pytest

from tests.support.places import DOCS, ROOT

PAGE = (DOCS / "security.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("| --- | --- | --- |\n")[2].partition("\n\n")[0].splitlines()


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.split(" | ")[0].removeprefix("| "))
def test_a_threat_has_a_test(row: str) -> None:
    """The file exists, and has the test that the row names."""
    _, answer, test = row.strip("| ").split(" | ")
    assert answer.endswith(".")
    file, _, name = test.strip("`").partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert not name or re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), test


def test_the_table_covers_what_is_not_trusted() -> None:
    """Each part has rows: users, sessions, imports, models, ids, databases, packages."""
    for word in ("user", "Terminal", "import", "expression", "MCP", "session id", "database", "package"):
        assert any(word in row.split(" | ")[0] for row in TABLE), word
