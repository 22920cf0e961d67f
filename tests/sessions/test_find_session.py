"""Sessions by name: path, id, the beginning of an id, the one that was written last."""

from pathlib import Path

import pytest

from amplifier_module_context_persistent.paths import LOG_NAME, project_slug
from amplifier_module_context_persistent.sessions.find_session import SessionNameError, find_session
from amplifier_module_context_persistent.sessions.other_projects import last_session
from amplifier_module_context_persistent.sessions.session_files import session_files
from amplifier_module_context_persistent.sessions.session_origin import Relatives, relatives_of
from tests.support.projects import LINE, two_projects


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return two_projects(tmp_path, monkeypatch)


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


def test_sub_sessions_and_branches_do_not_make_a_name_ambiguous(home: Path) -> None:
    """The beginning of an id means the session, not those whose ids begin with its own."""
    sessions = home / ".amplifier" / "projects" / project_slug(".") / "sessions"
    for name in ("zed-1", "zed-1_helper", "zed-1-branch"):
        (sessions / name).mkdir(parents=True)
        (sessions / name / LOG_NAME).write_text(LINE)
    assert find_session("zed").parent.name == "zed-1"
    assert find_session("zed-1_").parent.name == "zed-1_helper"
    (sessions / "zed-2").mkdir()
    (sessions / "zed-2" / LOG_NAME).write_text(LINE)
    with pytest.raises(SessionNameError, match="more than one"):
        find_session("zed")


def test_sessions_of_other_hosts_are_found(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each host keeps its projects in a directory of its own; their names say which host's they are."""
    slug = project_slug(".")
    monkeypatch.setenv("AMPLIFIER_HOME", str(home / "moved"))
    agent, unified = ".amplifier-agent", ".amplifier-unified"
    places = (f"{agent}/projects", f"{agent}/state/workspaces", f"{unified}/projects", "moved/projects")
    for number, place in enumerate(places):
        directory = home / place / slug / "sessions" / f"guest-{number}"
        directory.mkdir(parents=True)
        (directory / LOG_NAME).write_text(LINE)
    guests = {one.id: one.project for one in session_files(slug) if one.id.startswith("guest")}
    hosts = ("agent:", "workspaces:", "unified:", "home:")
    assert guests == {f"guest-{number}": f"{host}{slug}" for number, host in enumerate(hosts)}
    assert find_session("guest-2") == home / unified / "projects" / slug / "sessions" / "guest-2" / LOG_NAME
    assert {one.id for one in session_files()} >= guests.keys()
    assert last_session().id in guests


def test_a_path_is_a_path(home: Path) -> None:
    """A file, a session's directory, and what has a separator in it, there or not."""
    Path("first").write_text(LINE)
    assert find_session("first") == Path("first")
    assert find_session("./nobody") == Path("./nobody")
    directory = home / ".amplifier" / "projects" / project_slug(".") / "sessions" / "fist"
    assert find_session(str(directory)) == directory / LOG_NAME


@pytest.mark.usefixtures("home")
def test_a_directory_without_a_log_is_no_session() -> None:
    """It does not hide the session whose id it has; by itself it is told what it lacks, and so is an empty name."""
    Path("fist").mkdir()
    assert find_session("fist").parent.name == "fist"
    Path("empty").mkdir()
    for name in ("empty", "./empty", "."):
        with pytest.raises(SessionNameError, match=f"no {LOG_NAME} in this directory"):
            find_session(name)
    with pytest.raises(SessionNameError, match="name is empty"):
        find_session("")


def test_the_last_session_is_this_projects(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project without one is an error."""
    assert last_session().id == "both-1"
    (home / "empty").mkdir()
    monkeypatch.chdir(home / "empty")
    with pytest.raises(SessionNameError, match="this project has no session"):
        last_session()


def test_a_header_names_parent_sub_agents_and_branches() -> None:
    """By their ids; whatever else stands there is none."""
    source = {"subagents": ["p_a", 7], "branches": "x", "spawned_by": "call1"}
    found = relatives_of({"parent_id": "q", "source": source})
    assert found == Relatives("q", "call1", ("p_a",), ())
    assert found.lines() == ["Parent: q (call call1)", "Sub-agents: p_a"]
    assert relatives_of({"parent_id": 1, "source": []}).lines() == []
    assert relatives_of({"source": {"forked_from_session": "019f"}}).lines() == ["Forked from: 019f"]
