"""Check what is about to be released: the wheel and the source archive in a directory.

    python -m tests.support.release DIRECTORY [--tag v0.1.0] [--repository URL]

With `--tag` and `--repository`, as before a publication, it also compares the version, the changelog and the address.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from email.message import Message
from email.parser import Parser
from pathlib import Path

from tests.support.places import ROOT

PACKAGE = "amplifier_module_context_persistent"
SHIPPED = {PACKAGE, "docs", "examples", "behaviors", "bundle.md", "pyproject.toml", "PKG-INFO", ".gitignore"}
SHIPPED |= {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"}
"""The first parts of paths in a source archive."""


def metadata(wheel: Path) -> Message:
    """The metadata of a wheel."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (one for one in packed.namelist() if one.endswith(".dist-info/METADATA"))
        return Parser().parsestr(packed.read(name).decode())


def package_files(names: Sequence[str]) -> list[str]:
    """The files of the package among names."""
    return sorted(name for name in names if name.startswith(f"{PACKAGE}/"))


def faults_of_files(wheel: Path, archive: Path) -> Iterator[str]:
    """Say what the files hold that they should not, or lack."""
    with zipfile.ZipFile(wheel) as packed:
        in_wheel = packed.namelist()
    with tarfile.open(archive) as packed_source:
        in_archive = [one.name.partition("/")[2] for one in packed_source if one.isfile()]
    if strange := {name.partition("/")[0] for name in in_archive} - SHIPPED:
        yield f"{archive.name} holds {', '.join(sorted(strange))}"
    if package_files(in_wheel) != package_files(in_archive):
        yield "the wheel and the source archive hold different files of the package"
    sources = [str(path.relative_to(ROOT)) for path in (ROOT / PACKAGE).rglob("*") if path.is_file()]
    expected = [name for name in sources if "__pycache__" not in name and not name.endswith((".pyc", ".pyo"))]
    if package_files(in_wheel) != sorted(expected):
        yield "the wheel does not hold the files of this checkout"


def faults_of_tools(*files: Path) -> Iterator[str]:
    """Say what twine and check-wheel-contents find."""
    wheels = [str(file) for file in files if file.suffix == ".whl"]
    bin_directory = Path(sys.executable).parent
    for command in (["twine", "check", "--strict", *map(str, files)], ["check-wheel-contents", *wheels]):
        run = [str(bin_directory / command[0]), *command[1:]]
        done = subprocess.run(run, capture_output=True, text=True, cwd="/", check=False)
        if done.returncode:
            yield f"{command[0]}: {(done.stdout + done.stderr).strip()}"


def faults_of_publication(found: Message, changelog: str, tag: str | None, repository: str | None) -> Iterator[str]:
    """Say what of the version, the changelog and the address does not fit a publication."""
    version = str(found["Version"])
    if tag is not None and tag != f"v{version}":
        yield f"the tag is {tag}, the version {version}"
    if tag is not None and not re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE
    ):
        yield f"CHANGELOG.md has no line `## [{version}] - YYYY-MM-DD`"
    urls = dict(str(one).split(", ", 1) for one in found.get_all("Project-URL") or ())
    if repository is not None and urls.get("Repository") != repository:
        yield f"[project.urls] does not name {repository} as Repository"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is wrong; 1 if there is something."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.release", description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--tag")
    parser.add_argument("--repository")
    given = parser.parse_args(arguments)
    (wheel,), (archive,) = given.directory.glob("*.whl"), given.directory.glob("*.tar.gz")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    faults = [*faults_of_files(wheel, archive), *faults_of_tools(wheel, archive)]
    faults += faults_of_publication(metadata(wheel), changelog, given.tag, given.repository)
    print("\n".join(faults) or f"{wheel.name} and {archive.name} can be released")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
