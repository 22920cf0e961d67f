"""Sessions by name: path, id, the beginning of an id, the one that was written last."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.cli.main import main
from amplifier_module_context_persistent.cli.session_argument import complete
from amplifier_module_context_persistent.paths import LOG_NAME, project_slug
from amplifier_module_context_persistent.transcript.sessions import (
    SessionNameError,
    find_session,
    last_session,
    session_files,
)

LINE = '{"role":"user","content":"Hello."}\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with sessions of two projects; the working directory is the first one's."""
    here, other = tmp_path / "here", tmp_path / "other"
    here.mkdir()
    other.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(here)
    for age, (project, session_id) in enumerate(
        [(other, "both-1"), (here, "both-1"), (here, "first"), (here, "fist"), (other, "alone"), (other, "fir")]
    ):
        directory = tmp_path / ".amplifier" / "projects" / project_slug(project) / "sessions" / session_id
        directory.mkdir(parents=True)
        (directory / LOG_NAME).write_text(LINE)
        os.utime(directory / LOG_NAME, (1000 - age, 1000 - age))
    return tmp_path


def test_sessions_are_listed_the_newest_first(home: Path) -> None:
    """Those of one project, or of all."""
    assert [session.id for session in session_files(project_slug("."))] == ["both-1", "first", "fist"]
    assert [s.id for s in session_files()] == ["both-1", "both-1", "first", "fist", "alone", "fir"]
    assert {s.project for s in session_files()} == {project_slug("."), project_slug(home / "other")}


@pytest.mark.parametrize(
    ("name", "found"), [("first", "first"), ("firs", "first"), ("both-1", "both-1"), ("b", "both-1")]
)
@pytest.mark.usefixtures("home")
def test_this_projects_sessions_come_first(name: str, found: str) -> None:
    """A name that has one meaning in this project means that, whatever other projects hold."""
    path = find_session(name)
    assert (path.parent.name, path.parents[2].name) == (found, project_slug("."))


@pytest.mark.usefixtures("home")
def test_then_those_of_all_projects() -> None:
    """A name that no session of this project has is looked for everywhere."""
    assert find_session("al").parent.name == "alone"


@pytest.mark.parametrize(
    ("name", "said"), [("fi", "more than one.*first.*fist"), ("nobody", "no such file or session")]
)
@pytest.mark.usefixtures("home")
def test_a_name_with_no_or_many_meanings_is_an_error_that_names_them(name: str, said: str) -> None:
    """It says which sessions begin so, or where to look."""
    with pytest.raises(SessionNameError, match=said):
        find_session(name)


def test_a_path_is_a_path(home: Path) -> None:
    """A file, a session's directory, and what has a separator in it, there or not."""
    Path("first").write_text(LINE)
    assert find_session("first") == Path("first")
    assert find_session("./nobody") == Path("./nobody")
    directory = home / ".amplifier" / "projects" / project_slug(".") / "sessions" / "fist"
    assert find_session(str(directory)) == directory / LOG_NAME


def test_the_last_session_is_this_projects(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project without one is an error."""
    assert last_session().id == "both-1"
    (home / "empty").mkdir()
    monkeypatch.chdir(home / "empty")
    with pytest.raises(SessionNameError, match="this project has no session"):
        last_session()


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
