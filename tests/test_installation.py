"""What a person reads where the host did not install what a session needs, and that the named command mends it."""

import importlib
import os
import re
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest

from amplifier_module_context_persistent import DependencyError, installation
from amplifier_module_context_persistent.installation import needed_packages
from tests.support.packages import wheel_of
from tests.support.places import ROOT
from tests.support.sweeps import proof, whole

MOUNT = """
import asyncio, os, sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2:]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
sys.path.insert(0, sys.argv[1])
from amplifier_core.testing import MockCoordinator
import amplifier_module_context_persistent as module

async def main():
    coordinator = MockCoordinator()
    cleanup = await module.mount(coordinator, {"tokenizer": "estimate"})
    await coordinator.get("context").add_message({"role": "user", "content": "hello"})
    await coordinator.get("context").get_messages_for_request()
    await cleanup()

asyncio.run(main())
os._exit(0)  # amplifier-core 2.0.2 may crash when the interpreter is finalised
"""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DEPENDENCIES = [re.split(r"[^\w-]", text)[0] for text in PROJECT["dependencies"]]
NEEDED = {"filelock", "orjson", "regex", "tiktoken"}
"""Those without which no session begins; whoever adds one here breaks sessions whose host updates code alone."""


def mount(python: str | Path, home: Path, *missing: str) -> subprocess.CompletedProcess[str]:
    """Mount this checkout as a host does and make one request, in a process where some packages are missing."""
    command = [str(python), "-c", MOUNT, str(ROOT), *missing]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    return subprocess.run(command, capture_output=True, text=True, cwd=home, env=environment, check=False)


AGENT = """
import asyncio, sys
sys.modules["amplifier_core"] = None
sys.path.insert(0, sys.argv[1])
from amplifier_module_context_persistent import PersistentContextManager, to_anthropic

async def main():
    async with PersistentContextManager("s.jsonl", max_tokens=20_000, recipient="anthropic") as memory:
        for number in range(40):
            await memory.add_message({"role": "user", "content": f"question {number}"})
            await memory.add_message({"role": "assistant", "content": "words " * 1_000})
        await memory.add_message({"role": "user", "content": "and now"})
        body = to_anthropic(await memory.get_messages_for_request(), max_tokens=100)
        print(len(body["messages"]), len((await memory.recall(query="question 7")).text))

asyncio.run(main())
"""


def test_an_agent_that_mounts_nothing_does_without_amplifier_core(tmp_path: Path) -> None:
    """Its import would take two thirds as long as all else. Messages, a plan, a view and recall need none of it."""
    command = [sys.executable, "-c", AGENT, str(ROOT)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr


@proof
def test_a_session_begins_without_what_only_commands_need(tmp_path: Path) -> None:
    """Hosts update a module's code without what it depends on."""
    others = {*DEPENDENCIES} - NEEDED - {"amplifier-core", "markdown-it-py", "backports-zstd"}
    done = mount(sys.executable, tmp_path, *others, "markdown_it", "backports")
    assert done.returncode == 0, done.stderr


@proof
@pytest.mark.parametrize("name", sorted(NEEDED)[:: 1 if whole() else 4])
def test_a_missing_package_is_named_with_the_command(name: str, tmp_path: Path) -> None:
    """A session that needs it says what to do."""
    done = mount(sys.executable, tmp_path, name)
    assert done.returncode != 0
    told, command = done.stderr.splitlines()[-2:]
    assert f"DependencyError: context-persistent needs {name}," in told
    assert command.startswith("uv pip install -U -p ")
    assert name in command.split()  # it is installed here, and only hidden: perhaps too old


@proof
def test_memory_files_need_one_package_more(tmp_path: Path) -> None:
    """It is asked for when the session is mounted, not at the first message; a session without them needs it not."""
    (tmp_path / "NOTES.md").write_text("Use tabs.")
    script = MOUNT.replace('{"tokenizer": "estimate"}', '{"tokenizer": "estimate", "memory_files": ["NOTES.md"]}')
    for missing, told in ((["aiofiles"], "DependencyError: context-persistent needs aiofiles,"), ([], "")):
        command = [sys.executable, "-c", script, str(ROOT), *missing]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        assert told in done.stderr
        assert (done.returncode == 0) == (not missing), done.stderr


def test_a_fault_of_our_own_is_no_missing_package() -> None:
    """It is not hidden behind a command that would not mend it."""
    with pytest.raises(ModuleNotFoundError, match="no_such_room") as raised, needed_packages():
        importlib.import_module("amplifier_module_context_persistent.no_such_room")
    assert not isinstance(raised.value, DependencyError)


def test_the_command_for_a_new_dependency_survives_wrapping(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is on a line of its own, and fits into a panel of 80 columns where hosts are usually installed."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(sys, "prefix", str(home / ".local/share/uv/tools/amplifier"))
    monkeypatch.setattr(installation, "_is_missing", lambda package: package == "aiofiles")
    command = installation.install_command("aiofiles.os")
    assert command == "uv pip install -p ~/.local/share/uv/tools/amplifier aiofiles"
    assert len(command) < 76
    with pytest.raises(DependencyError, match=f"\n{command}$"), needed_packages():
        raise ModuleNotFoundError("No module named 'aiofiles'", name="aiofiles")


def test_the_command_for_many_packages_installs_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is on the host's disk; a path with a blank is quoted."""
    monkeypatch.setattr(sys, "prefix", "/opt/my hosts/amplifier")
    monkeypatch.setattr(installation, "_is_missing", lambda package: True)
    assert installation.install_command("orjson") == f"uv pip install -p '/opt/my hosts/amplifier' -e {ROOT}"


# -- the extras --------------------------------------------------------------------------------------------------------

RUN = "from amplifier_module_context_persistent.toolbox.cli import main; main()"


@proof
@pytest.mark.parametrize("package", ["rich", "click"])
def test_without_its_extra_the_command_says_in_one_line_what_to_install(package: str, tmp_path: Path) -> None:
    """For each command, the demonstration too, and with exit code 2."""
    python = environment_without(tmp_path / "base", package)
    for arguments in ([], ["demo"], ["list", "--all"]):
        command = [str(python), "-c", RUN, *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        (told,) = done.stderr.splitlines()
        assert told.startswith(f"context-persistent: {package} is not installed; the extra `cli` brings it: ")
        assert told.endswith(f" install -e '{ROOT}[cli]'")


@proof
def test_one_command_that_lacks_a_package_of_its_own_says_so(tmp_path: Path) -> None:
    """As where a host brings click and rich, and nobody installed the extra: the others work."""
    python = environment_without(tmp_path / "host", "jinja2")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    log = str(ROOT / "fixtures" / "every-kind.jsonl")
    shown, reported = (
        subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        for command in ([str(python), "-c", RUN, "show", log], [str(python), "-c", RUN, "report", log])
    )
    assert shown.returncode == 0, shown.stderr
    assert reported.returncode == 2
    assert "jinja2 is not installed; the extra `cli` brings it: " in reported.stderr


def test_no_command_that_is_told_names_this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is not published yet: whoever registered it would be installed. So the extra's packages are named."""
    monkeypatch.setattr(installation, "_is_checkout", lambda: False)
    command = installation.extra_command("cli")
    assert "amplifier" not in command.partition(" install ")[2]
    assert "'rich>=" in command


# -- where Microsoft's older module was installed under the same name --------------------------------------------------


@proof
def test_the_command_mends_an_environment_with_the_older_module(tmp_path: Path) -> None:
    """An environment of the host's own, in which the older module was installed once, and so ours was not."""
    for needed in ("hatchling", "editables", "pip"):  # nothing can be fetched
        pytest.importorskip(needed)
    python = environment_without(tmp_path / "host", "orjson")
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    older, told = (packages / f"amplifier_module_context_persistent{end}" for end in ("", "-0.0.1.dist-info"))
    for place, name, content in (
        (older, "__init__.py", "async def mount(coordinator, config=None): ...\n"),
        (told, "METADATA", "Metadata-Version: 2.1\nName: amplifier-module-context-persistent\nVersion: 0.0.1\n"),
        (told, "RECORD", f"{older.name}/__init__.py,,\n{told.name}/METADATA,,\n{told.name}/RECORD,,\n"),
    ):
        place.mkdir(exist_ok=True)
        (place / name).write_text(content)
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation"]

    first = mount(python, tmp_path)
    assert "needs orjson" in first.stderr
    command = re.search(r"Install what it needs:\n(uv pip install -p \S+ orjson)$", first.stderr.rstrip())
    assert command is not None, first.stderr
    uv = tmp_path / "bin" / "uv"  # stands in for the installer: from a directory of wheels instead of an index
    uv.parent.mkdir()
    wheels = wheel_of(distribution("orjson"), tmp_path / "wheels").parent
    uv.write_text(f'#!/bin/sh\nshift 4\nexec {" ".join(install)} --find-links "{wheels}" "$@"\n')
    uv.chmod(0o755)
    path = f"{uv.parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command[1], shell=True, check=True, capture_output=True, env={**os.environ, "PATH": path})

    second = mount(python, tmp_path)
    assert second.returncode == 0, second.stderr


def environment_without(directory: Path, name: str) -> Path:
    """The interpreter of a new environment that has everything of this one but a package and this project."""
    venv.EnvBuilder(with_pip=False, symlinks=True).create(directory)
    (packages,) = directory.glob("lib/python*/site-packages")
    for place in map(Path, sys.path):
        for entry in place.iterdir() if place.name == "site-packages" else ():
            left_out = entry.name.startswith((name, "amplifier_module", "_editable", "__")) or entry.suffix == ".pth"
            if not left_out and not (packages / entry.name).exists():
                (packages / entry.name).symlink_to(entry, target_is_directory=entry.is_dir())
    return directory / "bin" / "python"
