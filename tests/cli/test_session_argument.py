"""The argument SESSION and the option --last."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.cli.main import main
from amplifier_module_context_persistent.cli.session_argument import complete
from tests.support.projects import two_projects


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return two_projects(tmp_path, monkeypatch)


@pytest.mark.usefixtures("home")
def test_commands_take_a_name_or_the_last_session_but_not_both() -> None:
    """`--last` stands for a name; without either, or with both, it is an error in usage."""
    run = CliRunner().invoke
    assert run(main, ["stats", "firs"]).exit_code == 0
    assert run(main, ["verify", "firs", "fist"]).exit_code == 0
    assert run(main, ["stats", "--last"]).exit_code == 0
    for arguments in (["stats"], ["stats", "--last", "first"], ["stats", "nobody"]):
        done = run(main, arguments)
        assert done.exit_code == 2
        assert "Error:" in done.output


@pytest.mark.usefixtures("home")
def test_a_shell_completes_ids() -> None:
    """What was typed is completed to ids, and else to files."""
    offered = complete(None, None, "fi")  # type: ignore[arg-type]
    assert {item.value for item in offered} == {"first", "fist", "fir"}
    assert [item.type for item in complete(None, None, "x")] == ["file"]  # type: ignore[arg-type]


@pytest.mark.usefixtures("home")
def test_an_ambiguous_name_lists_the_ids() -> None:
    """So that one can be chosen."""
    done = CliRunner().invoke(main, ["show", "fi"])
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert "more than one session has that name: " in said
    assert "first" in said
    assert "/" not in said.partition("that name: ")[2].partition(";")[0]


@pytest.mark.usefixtures("home")
def test_verify_takes_the_last_session() -> None:
    """Or names, but not both and not neither."""
    assert CliRunner().invoke(main, ["verify", "--last"]).exit_code == 0
    assert CliRunner().invoke(main, ["verify"]).exit_code == 2
    assert CliRunner().invoke(main, ["verify", "--last", "first"]).exit_code == 2
