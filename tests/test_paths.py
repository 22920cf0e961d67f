"""Where a session's log lies."""

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.errors import ConfigError
from amplifier_module_context_persistent.paths import LOG_NAME, check_session_id, log_path, project_slug


@pytest.mark.parametrize(
    ("config", "ids", "path"),
    [
        ({"transcript_path": "a/log.jsonl"}, {}, "a/log.jsonl"),
        ({"transcript_path": "a/log.jsonl"}, {"session_id": "s"}, "a/log.jsonl"),
        ({"transcript_path": "a/log.jsonl"}, {"session_id": "s", "parent_id": "p"}, "a/log.s.jsonl"),
        ({"transcript_path": "{session_id}.jsonl"}, {"session_id": "s", "parent_id": "p"}, "s.jsonl"),
        ({"storage_path": "a"}, {}, f"a/{LOG_NAME}"),
        ({"storage_path": "a"}, {"session_id": "s"}, f"a/s/{LOG_NAME}"),
        ({"storage_path": "a/{session_id}/b"}, {"session_id": "s"}, f"a/s/b/{LOG_NAME}"),
        ({"transcript_path": "x", "storage_path": "a"}, {"session_id": "s"}, "x"),
    ],
)
def test_the_configuration_names_the_file(config: dict[str, Any], ids: dict[str, str], path: str) -> None:
    """Relative to the working directory; a child session has a file of its own."""
    found = log_path(Config.load(config), session_id=ids.get("session_id"), **{"working_dir": "/work", **_others(ids)})
    assert found == Path("/work") / path


def _others(ids: dict[str, str]) -> dict[str, Any]:
    return {key: value for key, value in ids.items() if key != "session_id"}


def test_without_configuration_it_is_the_hosts_directory(home: Path) -> None:
    """Beside the host's own files of the session; without a session id there is no file."""
    config = Config.load({})
    found = log_path(config, session_id="s", working_dir="/home/u/project")
    assert found == home / ".amplifier" / "projects" / "-home-u-project" / "sessions" / "s" / LOG_NAME
    assert log_path(config, session_id=None) is None


def test_the_home_directory_may_be_written_as_a_tilde(home: Path) -> None:
    """As in a shell."""
    assert log_path(Config.load({"transcript_path": "~/log.jsonl"}), session_id=None) == home / "log.jsonl"


def test_a_session_id_is_no_users_home(home: Path) -> None:
    """A tilde in an id is a letter like any other."""
    for config in ({"transcript_path": "{session_id}/log"}, {"storage_path": "{session_id}"}, {"storage_path": "a"}):
        for session_id in ("~root", "~"):
            found = log_path(Config.load(config), session_id=session_id, working_dir="/work")
            assert Path("/work") in found.parents
            assert session_id in found.parts
    own = log_path(Config.load({"transcript_path": "~/{session_id}"}), session_id="~root", working_dir="/work")
    assert own == home / "~root"


def test_a_path_that_names_the_session_needs_one() -> None:
    """The error says which path."""
    with pytest.raises(ConfigError, match=r"\{session_id\}\.jsonl"):
        log_path(Config.load({"transcript_path": "{session_id}.jsonl"}), session_id=None)


@pytest.mark.parametrize("session_id", ["", ".", "..", "a/b", "a\\b", "../a", "a\0b"])
def test_a_session_id_stays_in_its_directory(session_id: str) -> None:
    """An id that leads out is refused, also where the configuration does not use it."""
    with pytest.raises(ConfigError, match="session_id"):
        check_session_id(session_id)
    with pytest.raises(ConfigError):
        log_path(Config.load({"transcript_path": "log.jsonl"}), session_id=session_id)


def test_a_projects_name_is_its_directory(tmp_path: Path) -> None:
    """Resolved, with separators as `-`."""
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    assert project_slug(tmp_path / "link") == project_slug(tmp_path) == str(tmp_path.resolve()).replace("/", "-")
