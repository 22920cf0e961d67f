"""What a shell completes after Tab."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.cli.completion import complete, complete_tool
from tests.support.projects import two_projects
from tests.support.sessions_of_a_home import write


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return two_projects(tmp_path, monkeypatch)


@pytest.mark.usefixtures("home")
def test_a_shell_completes_ids() -> None:
    """What was typed is completed to ids, and else to files."""
    offered = complete(None, None, "fi")  # type: ignore[arg-type]
    assert {item.value for item in offered} == {"first", "fist", "fir"}
    assert [item.type for item in complete(None, None, "x")] == ["file"]  # type: ignore[arg-type]


def test_a_log_of_many_megabytes_is_not_read_while_somebody_types(tmp_path: Path) -> None:
    """Names of tools are completed from others."""
    log = write(tmp_path / "log.jsonl")
    context: Any = SimpleNamespace(params={"session": str(log)}, args=[])
    parameter: Any = None
    assert complete_tool(context, parameter, "")
    os.truncate(log, (64 << 20) + 1)
    assert not complete_tool(context, parameter, "")
