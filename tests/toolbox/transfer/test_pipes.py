"""A named pipe in the place of one of our files: no command waits for a writer.

Each command has a process of its own, which is killed if it waits.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.sessions_of_a_home import COMMAND, log_of, write

pytestmark = [
    pytest.mark.usefixtures("project"),
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here"),
]
MODULE = "amplifier_module_context_persistent"
READERS = {
    "is_archived": f"from {MODULE}.log.file_handle import is_archived as read",
    "first_line": f"from {MODULE}.log.file_handle import first_line; read = lambda path: first_line(path, 9)",
    "beginning": f"from {MODULE}.log.file_handle import beginning; read = lambda path: beginning(path, 9)",
    "content_of": f"from {MODULE}.toolbox.maintenance.note_beside_log import content_of as read",
}


def ended(*arguments: Any) -> subprocess.CompletedProcess[str]:
    """What a process printed that ended; it has no input."""
    command = [str(argument) for argument in arguments]
    return subprocess.run(
        command, timeout=60, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", check=False
    )


def pipe(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("through_link", [False, True])
def test_a_reader_of_any_file_refuses_a_pipe(tmp_path: Path, reader: str, through_link: bool) -> None:
    path = pipe(tmp_path / "pipe")
    if through_link:
        path = tmp_path / "link"
        path.symlink_to("pipe")
    code = f"import sys\n{READERS[reader]}\ntry:\n    read(sys.argv[1])\nexcept OSError as error:\n    print(error)"
    assert "this is no regular file" in ended(sys.executable, "-c", code, path).stdout


@pytest.mark.parametrize("options", [["--yes"], ["--dry-run"]])
@pytest.mark.parametrize("side", ["home", "stick"])
def test_a_sync_does_not_wait_for_a_pipe_in_the_place_of_a_log(tmp_path: Path, side: str, options: list[str]) -> None:
    """It is named and left as it is; the other session is brought over."""
    stick = tmp_path / "stick"
    write(log_of("aaaa-root"))
    named = pipe(log_of("bbbb-root") if side == "home" else stick / "-project" / "sessions" / "cccc" / log_of("").name)
    stick.mkdir(exist_ok=True)
    told = ended(COMMAND, "sync", stick, "--all", *options)
    assert f"{named}: this is no regular file, so it cannot be a log" in " ".join((told.stdout + told.stderr).split())
    assert told.returncode == 1
    assert len([path for path in stick.rglob(named.name) if path.is_file()]) == (options == ["--yes"])


@pytest.mark.parametrize("command", ["sync", "purge", "delete"])
def test_a_pipe_in_the_place_of_the_note_of_syncs_counts_as_no_note(tmp_path: Path, command: str) -> None:
    write(log_of("aaaa-root"))
    pipe(Path.home() / ".amplifier" / "context-synced.json")
    (tmp_path / "stick").mkdir()
    options = {"sync": [tmp_path / "stick"], "purge": ["aaaa-root", "--redact", "cent"], "delete": ["aaaa-root"]}
    told = ended(COMMAND, command, *options[command], "--yes")
    assert told.returncode == 0, told.stderr


@pytest.mark.parametrize("command", ["purge", "search"])
def test_a_pipe_with_the_name_of_a_saved_torn_tail_is_not_waited_for(command: str) -> None:
    log = write(log_of("aaaa-root"))
    tail = pipe(log.with_name(f"{log.name}.torn-1-00000000"))
    options = {"purge": ["aaaa-root", "--redact", "cent", "--yes"], "search": ["cent", "aaaa-root", "--hidden"]}
    told = ended(COMMAND, command, *options[command])
    assert told.returncode in (0, 2), told.stderr
    assert tail.is_fifo()
    assert told.returncode == 0 or tail.name in told.stderr
