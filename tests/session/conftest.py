"""What the tests of sessions share."""

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test has its log."""
    return tmp_path / "log.jsonl"
