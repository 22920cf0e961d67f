"""The examples of docs/report.md and docs/report_data.md run, one after the other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import DOCS
from tests.support.sessions_of_a_home import CONVERSATION


def example(page: str) -> str:
    """The code of a page."""
    (code,) = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return str(code)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report is made of plain messages, and its data has each of them."""
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"{json.dumps(message)}\n" for message in CONVERSATION)
    (tmp_path / "session.jsonl").write_text(lines, encoding="utf-8")
    exec(example("report.md"), {})
    found: dict[str, Any] = {}
    exec(example("report_data.md"), found)
    assert found["head"]["version"] == 1
    assert sum(len(body) for body in found["bodies"]) == len(CONVERSATION)
