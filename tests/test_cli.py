"""The command line's frame; the demo has tests of its own."""

import subprocess
import sys
from pathlib import Path

from amplifier_module_context_persistent import __version__


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("context-persistent")
    return subprocess.run([command, *arguments], capture_output=True, text=True, timeout=60)


def test_the_installed_command_says_its_version() -> None:
    """`context-persistent --version` prints the package's version."""
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"context-persistent, version {__version__}\n", "")


def test_help_lists_the_commands() -> None:
    """`--help` and `-h` name the demo and what it does."""
    done = run("--help")
    assert done.returncode == 0
    assert "demo" in done.stdout
    assert run("-h").stdout == done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_an_unknown_command_is_an_error_in_usage() -> None:
    """It exits with 2 and names what was not understood."""
    done = run("domo")
    assert done.returncode == 2
    assert "domo" in done.stderr
