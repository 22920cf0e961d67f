"""The command line's frame; the demo has tests of its own."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent import __version__
from amplifier_module_context_persistent.toolbox.cli.command_table import TABLE
from amplifier_module_context_persistent.toolbox.cli.main import main
from tests.support.commands import refused, run
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof


def test_the_installed_command_says_its_version() -> None:
    """`context-persistent --version` prints the package's version."""
    done = start("--version", stdout=subprocess.PIPE)
    assert done.communicate(timeout=60) == (f"context-persistent, version {__version__}\n".encode(), b"")


def test_help_sorts_the_commands_into_sections() -> None:
    """Every command stands in one, those for looking first; `-h` says the same, in 80 columns."""
    told = run("--help").stdout
    assert run("-h").stdout == told
    assert max(map(len, told.splitlines())) <= 80
    titles = ["Look into sessions:", "What the model saw:", "Maintain logs:", "More:"]
    assert [line for line in told.splitlines() if line in titles] == titles
    assert all(re.search(rf"^  {name}  ", told, re.MULTILINE) for name in TABLE)


def start(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    command = Path(sys.executable).with_name("context-persistent")
    return subprocess.Popen([command, *map(str, arguments)], stderr=subprocess.PIPE, **options)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A log that no pipe holds."""
    line = b'{"role":"user","content":"%s"}\n' % (b"word " * 200)
    (tmp_path / "log.jsonl").write_bytes(line * 1_000)
    return tmp_path / "log.jsonl"


@proof(quick=1)
@pytest.mark.parametrize(
    "arguments",
    [["show"], ["export"]],
)
def test_a_reader_that_goes_ends_a_command_without_a_word(large: Path, arguments: list[str]) -> None:
    """As with `| head`: no traceback, and the exit code of a broken pipe."""
    done = start(*arguments, large, stdout=subprocess.PIPE)
    assert done.stdout.readline()
    done.stdout.close()
    assert (done.stderr.read(), done.wait(60)) == (b"", 141)
    done.stderr.close()


@proof(quick=1)
@pytest.mark.parametrize("arguments", [["show", "log.jsonl"], ["--help"]], ids=" ".join)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_is_an_error_of_one_line(large: Path, arguments: list[str]) -> None:
    """What cannot be written is said, without a traceback; that of the help too."""
    with open("/dev/full", "wb") as full:
        done = start(*arguments, stdout=full, cwd=large.parent)
        _, errors = done.communicate(timeout=60)
    assert done.returncode == 2
    assert errors == b"Error: cannot continue: No space left on device; make room\n"


@proof
def test_closed_streams_lead_nowhere(tmp_path: Path) -> None:
    """As a shell closes them; no file that is opened takes their places."""
    log = write(tmp_path / "log.jsonl")
    before = log.read_bytes()
    line = '"$0" report "$1" <&- >&- 2>&-'
    program = Path(sys.executable).with_name("context-persistent")
    done = subprocess.run(["sh", "-c", line, program, log], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert log.read_bytes() == before


@proof
def test_a_current_directory_that_is_gone_is_told(tmp_path: Path) -> None:
    """Commands that need none work without it."""
    log = write(tmp_path / "log.jsonl")
    gone = 'mkdir gone && cd gone && rmdir ../gone && "$0"'
    program = Path(sys.executable).with_name("context-persistent")

    def said(arguments: str) -> subprocess.CompletedProcess[str]:
        line = ["sh", "-c", f"{gone} {arguments}", program]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, cwd=tmp_path)

    done = said("list")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "the current directory is not there any more" in done.stderr
    assert said(f"show {log}").returncode == 0


@proof
def test_an_interrupt_ends_a_command_without_a_word(large: Path) -> None:
    """The exit code is that of an interrupt."""
    done = start("show", large, stdout=subprocess.PIPE)
    assert done.stdout.readline()
    done.send_signal(signal.SIGINT)
    done.stdout.read()
    _, errors = done.communicate(timeout=60)
    assert (errors, done.returncode) == (b"", 130)


def completed(typed: str) -> list[str]:
    """What the shell is offered for the last word of what was typed."""
    words = str(len(typed.split(" ")) - 1)
    asked = {"_CONTEXT_PERSISTENT_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": words}
    done = CliRunner().invoke(main, [], env=asked, prog_name="context-persistent")
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ta", ["plain,tag", "plain,tail"]),
        ("show ab", ["plain,abc-1", "plain,abd-2"]),
        ("tail abc", ["plain,abc-1"]),
        ("search word abd", ["plain,abd-2"]),
        ("show --role as", ["plain,assistant"]),
        ("show x", ["file,x"]),
        ("show abc-1 --tool re", ["plain,read_file"]),
        ("search word abc-1 --tool ", ["plain,read_file"]),
        ("fork abc-1 --at ", ["plain,1", "plain,2", "plain,msg-1", "plain,msg-6"]),
        ("rewind abc-1 --to m", ["plain,msg-1", "plain,msg-6"]),
        ("show nobody --tool re", [""]),
        ("list x", ["dir,x"]),
    ],
)
def test_a_shell_completes_commands_sessions_and_options(typed: str, offered: list[str]) -> None:
    """By the script that `_CONTEXT_PERSISTENT_COMPLETE=bash_source` prints, which asks the command itself."""
    write(log_of("abc-1"))
    write(log_of("abd-2", ".."))
    assert sorted(completed(f"context-persistent {typed}")) == offered


@pytest.mark.parametrize(
    ("command", "option"),
    [("export", "-o"), ("report", "-o"), ("fork", "-o"), ("import", "-o"), ("compare", "--svg")],
)
def test_an_empty_name_of_a_new_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str
) -> None:
    """As a wrong use of the option; nothing is written, under no other name either."""
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_text('{"role":"user","content":"hi"}\n')
    said = refused(command, "s.jsonl", option, "")
    assert "this is an empty name; give the path of the new file" in said
    assert os.listdir() == ["s.jsonl"]


def test_a_shell_gets_a_script() -> None:
    """For each that can be asked."""
    script = subprocess.run(
        [Path(sys.executable).with_name("context-persistent")],
        env={**os.environ, "_CONTEXT_PERSISTENT_COMPLETE": "zsh_source"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (script.returncode, script.stdout.partition("\n")[0]) == (0, "#compdef context-persistent")


def test_an_option_without_its_value_leads_to_the_help_of_its_command() -> None:
    """Also where click does not say which command it is."""
    assert " prune --help`" in refused("prune", "--older")
