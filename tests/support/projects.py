"""Sessions of two projects below one home directory."""

import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.paths import LOG_NAME, project_slug

LINE = '{"role":"user","content":"Hello."}\n'


def two_projects(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with sessions of two projects; the working directory is the first one's."""
    here, other = root / "here", root / "other"
    here.mkdir()
    other.mkdir()
    monkeypatch.setenv("HOME", str(root))
    monkeypatch.chdir(here)
    for age, (project, session_id) in enumerate(
        [(other, "both-1"), (here, "both-1"), (here, "first"), (here, "fist"), (other, "alone"), (other, "fir")]
    ):
        directory = root / ".amplifier" / "projects" / project_slug(project) / "sessions" / session_id
        directory.mkdir(parents=True)
        (directory / LOG_NAME).write_text(LINE)
        os.utime(directory / LOG_NAME, (1000 - age, 1000 - age))
    return root
