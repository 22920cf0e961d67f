"""Where the sessions of adapters' tests are: in a directory and in PostgreSQL."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.sweeps import proof


@pytest.fixture(params=["file", pytest.param("postgres", marks=proof)])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Make an empty place for sessions."""
    if request.param == "postgres":
        server = request.getfixturevalue("server")
        return lambda: str(server.new_location())
    count = iter(range(1_000))
    return lambda: str(tmp_path / f"place-{next(count)}")


@pytest.fixture
def place(new_place: Callable[[], str]) -> str:
    """An empty place for sessions."""
    return new_place()
