"""What a release would publish, and that nothing is published before an owner turns it on."""

from __future__ import annotations

import re
import tomllib
import zipfile
from email.message import Message
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from tests.support import release
from tests.support.packages import built
from tests.support.places import DOCS, ROOT
from tests.support.sweeps import proof

WORKFLOW = (ROOT / ".github" / "workflows" / "publish.yml").read_text(encoding="utf-8")


@proof
def test_the_wheel_and_the_source_archive_can_be_released(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They pass the checks of twine and check-wheel-contents, and hold the package without tests and samples."""
    for needed in ("hatchling", "editables", "build", "twine", "check_wheel_contents"):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed (the extra `dev`)")
    directory = built(tmp_path, "wheel", "sdist")
    assert release.main([str(directory)]) == 0, capsys.readouterr().out
    (wheel,) = directory.glob("*.whl")
    found = release.metadata(wheel)
    assert found["License-Expression"] == "MIT"
    assert "cli" in found.get_all("Provides-Extra")
    with zipfile.ZipFile(wheel, "a") as packed:
        packed.writestr("tests/__init__.py", "")
        packed.writestr(f"{release.PACKAGE}/left.log", "")
    assert release.main([str(directory)]) == 1
    assert "different files of the package" in capsys.readouterr().out


def test_a_publication_needs_a_dated_section_and_the_repositorys_address() -> None:
    """Each that is missing is named."""
    found = Message()
    found["Version"] = "0.1.0"
    found["Project-URL"] = "Amplifier, https://example.org/amplifier"
    here = "https://example.org/memory"
    faults = list(release.faults_of_publication(found, "## [Unreleased]\n", "v0.2.0", here))
    assert [fault.split()[-1] for fault in faults] == ["0.1.0", "YYYY-MM-DD`", "Repository"]
    found["Project-URL"] = f"Repository, {here}"
    assert not list(release.faults_of_publication(found, "## [0.1.0] - 2026-12-01\n", "v0.1.0", here))


def test_publishing_is_off_until_an_owner_turns_it_on() -> None:
    """A variable starts it, a protected environment holds it, and no secret is named."""
    jobs = yaml.safe_load(WORKFLOW)["jobs"]
    assert jobs["build"]["if"] == "vars.PUBLISH == 'on'"
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["environment"] == "pypi"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in WORKFLOW
    assert "`PUBLISH`" in (DOCS / "releasing.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["publish", "tests"])
def test_actions_are_pinned_by_hash(name: str) -> None:
    """A tag could be moved."""
    used = re.findall(r"uses: (.*)", (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one) for one in used)


def test_the_bundle_has_the_version_of_the_package() -> None:
    """A host shows the bundle's."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"\n  version: {version}\n" in (ROOT / "bundle.md").read_text(encoding="utf-8")
