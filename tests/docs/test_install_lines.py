"""The README's lines that install the command work with the built wheel, in an empty environment, offline."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fixtures.sample_home import write_home
from tests.support.packages import built, wheel_of
from tests.support.places import ROOT
from tests.support.sweeps import proof

README = (ROOT / "README.md").read_text(encoding="utf-8")
LINES = [line.partition("   #")[0] for line in re.findall(r"^.*install.*'\.\[cli\]'.*$", README, re.MULTILINE)]
"""The lines, without what they say behind a `#`."""


def needed(name: str, extras: frozenset[str], found: dict[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """The installed packages that a package needs, with itself."""
    name = canonicalize_name(name)
    if name in found and extras <= found[name]:
        return found
    found[name] = extras | found.get(name, frozenset())
    for text in distribution(name).requires or ():
        one = Requirement(text)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            needed(one.name, frozenset(one.extras), found)
    return found


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the built wheel and all that it needs, in place of a package index."""
    directory = built(tmp_path_factory.mktemp("built"), "wheel")
    for name in needed("amplifier-module-context-persistent", frozenset({"cli"}), {}):
        if not name.startswith("amplifier-module"):
            shutil.move(wheel_of(distribution(name), directory / name), directory)
    return directory


def test_the_lines_are_those_of_a_checkout() -> None:
    """One makes an environment and ends with the demonstration, one puts the command on the PATH."""
    first, second = LINES
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install -q '.[cli]' && ")
    assert second == "uv tool install '.[cli]'"


@proof
@pytest.mark.parametrize("line", LINES, ids=["pip", "uv"])
def test_a_line_installs_a_command_that_works(line: str, wheels: Path, tmp_path: Path) -> None:
    """It imports the sessions of a home and says what they cost."""
    if line.startswith("uv") and shutil.which("uv", path=PATH) is None:
        pytest.skip("uv is not installed")
    home = tmp_path / "home"
    write_home(home, datetime.now(UTC))
    (wheel,) = wheels.glob("amplifier_module_context_persistent-*.whl")
    offline = {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_COMPILE": "1",
    }
    offline |= {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(wheels), "UV_PYTHON": sys.executable}
    environment = {"PATH": f"{PATH}{os.pathsep}{home}/.local/bin", "HOME": str(home), **offline}

    def run(command: str) -> str:
        done = subprocess.run(command, shell=True, cwd=home, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    install, _, demo = line.replace("'.[cli]'", f"'{wheel}[cli]'").partition(" && .venv/bin/context-persistent ")
    run(install)
    command = ".venv/bin/context-persistent" if demo else "context-persistent"
    assert run(f"{command} import --from claude-code").endswith("4 sessions, 20 messages added\n")
    assert "-home-ada-shop" in run(f"{command} stats --all --since 7d --by project")


PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
