"""The argument SESSION and the option --last."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.cli.session_argument import complete, complete_tool
from tests.support.commands import refused, run, shows
from tests.support.projects import two_projects
from tests.support.sessions_of_a_home import write


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
def test_a_shell_completes_ids() -> None:
    """What was typed is completed to ids, and else to files."""
    offered = complete(None, None, "fi")  # type: ignore[arg-type]
    assert {item.value for item in offered} == {"first", "fist", "fir"}
    assert [item.type for item in complete(None, None, "x")] == ["file"]  # type: ignore[arg-type]


@pytest.mark.usefixtures("home")
def test_an_ambiguous_name_lists_the_ids() -> None:
    """So that one can be chosen."""
    said = " ".join(run("show", "fi", code=2).output.split())
    shows(said, "more than one session has that name: ", "first")
    assert "/" not in said.partition("that name: ")[2].partition(";")[0]


def test_a_log_of_many_megabytes_is_not_read_while_somebody_types(tmp_path: Path) -> None:
    """Names of tools are completed from others."""
    log = write(tmp_path / "log.jsonl")
    context: Any = SimpleNamespace(params={"session": str(log)}, args=[])
    parameter: Any = None
    assert complete_tool(context, parameter, "")
    os.truncate(log, (64 << 20) + 1)
    assert not complete_tool(context, parameter, "")
