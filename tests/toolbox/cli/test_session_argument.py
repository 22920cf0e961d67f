"""The argument SESSION and the option --last."""

from pathlib import Path

import pytest

from tests.support.commands import refused, run, shows
from tests.support.projects import two_projects


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return two_projects(tmp_path, monkeypatch)


@pytest.mark.usefixtures("home")
def test_commands_take_a_name_or_the_last_session_but_not_both() -> None:
    """`--last` stands for a name; without either, or with both, it is an error in usage."""
    run("stats", "firs")
    run("verify", "firs", "fist")
    for command in ("stats", "verify"):
        run(command, "--last")
        run(command, code=2)
        run(command, "--last", "first", code=2)
    refused("stats", "nobody")


@pytest.mark.usefixtures("home")
def test_an_ambiguous_name_lists_the_ids() -> None:
    """So that one can be chosen."""
    said = " ".join(run("show", "fi", code=2).output.split())
    shows(said, "more than one session has that name: ", "first")
    assert "/" not in said.partition("that name: ")[2].partition(";")[0]
