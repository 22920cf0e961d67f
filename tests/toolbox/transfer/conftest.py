"""Two machines and a stick, for tests of what is carried between them."""

from pathlib import Path

import pytest

from tests.support.two_homes import Home


@pytest.fixture
def laptop(tmp_path: Path) -> Home:
    """One machine."""
    return Home(tmp_path / "laptop", "name")


@pytest.fixture
def desktop(tmp_path: Path) -> Home:
    """Another machine, with the checkout at another path."""
    return Home(tmp_path / "desktop", "work/name")


@pytest.fixture
def stick(tmp_path: Path) -> Path:
    """An empty directory that both can reach."""
    (tmp_path / "stick").mkdir()
    return tmp_path / "stick"
