"""Which logs are found in a directory that somebody names, whatever it is of."""

from pathlib import Path

import pytest

from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.sessions.session_files import sessions_in


@pytest.mark.parametrize(
    ("place", "session_id", "project"),
    [
        ("one", "one", ""),
        ("sessions/one", "sessions/one", ""),
        ("shop/sessions/one", "shop/sessions/one", "shop"),
        ("projects/shop/sessions/one", "projects/shop/sessions/one", "shop"),
        (".amplifier/projects/shop/sessions/one", ".amplifier/projects/shop/sessions/one", "shop"),
    ],
)
def test_a_session_is_found_wherever_hosts_keep_it(place: str, session_id: str, project: str, tmp_path: Path) -> None:
    """In a storage, in a project's directory, in one of projects, in Amplifier's, and in a home."""
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / LOG_NAME).write_text('{"role": "user", "content": "go"}\n')
    [found] = sessions_in(tmp_path)
    assert (found.id, found.project) == (session_id, project)
    assert found.path == tmp_path / place / LOG_NAME
