"""Packages of this project and of what is installed, made without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution
from pathlib import Path

from tests.support.places import ROOT

_LEFT_OUT = shutil.ignore_patterns(".venv", ".git", "__pycache__", "dist", "build", "*.egg-info", "site")


def built(directory: Path, *kinds: str) -> Path:
    """Build a copy of the project; the directory with its `wheel` or `sdist`, or both."""
    source = directory / "source"
    shutil.copytree(ROOT, source, ignore=_LEFT_OUT)
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        *(f"--{kind}" for kind in kinds),
        "--outdir",
        str(directory / "dist"),
    ]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory / "dist"


def wheel_of(installed: Distribution, directory: Path) -> Path:
    """Pack an installed package as the wheel that it came from."""
    directory.mkdir()
    tag = re.search(r"^Tag: (\S+)$", installed.read_text("WHEEL") or "", re.MULTILINE)
    assert tag is not None
    wheel = directory / f"{installed.name.replace('-', '_')}-{installed.version}-{tag[1]}.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for file in installed.files or ():
            place = Path(str(installed.locate_file(file)))
            is_shipped = file.name not in ("INSTALLER", "REQUESTED", "direct_url.json") and ".." not in file.parts
            if is_shipped and place.is_file():
                packed.write(place, str(file))
    return wheel
