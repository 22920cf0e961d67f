"""A named pipe in the place of one of our files: no command waits for a writer."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.file_handle import beginning, first_line, is_archived
from amplifier_module_context_persistent.toolbox.maintenance.note_beside_log import content_of
from tests.support.commands import run
from tests.support.sessions_of_a_home import log_of, write

pytestmark = [
    pytest.mark.usefixtures("project"),
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here"),
]
READERS: dict[str, Callable[[str], object]] = {
    "is_archived": is_archived,
    "first_line": lambda path: first_line(path, 9),
    "beginning": lambda path: beginning(path, 9),
    "content_of": content_of,
}
PATIENCE_S = 60


@pytest.fixture(autouse=True)
def _wait_for_no_writer() -> Iterator[None]:
    """Let a test fail that waits."""

    def waits(*_: object) -> None:
        pytest.fail("it waits for a writer")

    before = signal.signal(signal.SIGALRM, waits)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


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
    with pytest.raises(OSError, match="this is no regular file"):
        READERS[reader](str(path))


@pytest.mark.parametrize("options", [["--yes"], ["--dry-run"]])
@pytest.mark.parametrize("side", ["home", "stick"])
def test_a_sync_does_not_wait_for_a_pipe_in_the_place_of_a_log(tmp_path: Path, side: str, options: list[str]) -> None:
    """It is named and left as it is; the other session is brought over."""
    stick = tmp_path / "stick"
    write(log_of("aaaa-root"))
    named = pipe(log_of("bbbb-root") if side == "home" else stick / "-project" / "sessions" / "cccc" / log_of("").name)
    stick.mkdir(exist_ok=True)
    told = run("sync", stick, "--all", *options, code=1)
    assert f"{named}: this is no regular file, so it cannot be a log" in " ".join((told.stdout + told.stderr).split())
    assert len([path for path in stick.rglob(named.name) if path.is_file()]) == (options == ["--yes"])


@pytest.mark.parametrize("command", ["sync", "purge", "delete"])
def test_a_pipe_in_the_place_of_the_note_of_syncs_counts_as_no_note(tmp_path: Path, command: str) -> None:
    write(log_of("aaaa-root"))
    pipe(Path.home() / ".amplifier" / "context-synced.json")
    (tmp_path / "stick").mkdir()
    options = {"sync": [tmp_path / "stick"], "purge": ["aaaa-root", "--redact", "cent"], "delete": ["aaaa-root"]}
    run(command, *options[command], "--yes")


@pytest.mark.parametrize("command", ["sync", "purge", "delete"])
def test_a_pipe_in_the_place_of_the_note_of_erasures_is_named(tmp_path: Path, command: str) -> None:
    """With what to do; a purge changes nothing, and a deletion says that it is not noted."""
    log = write(log_of("aaaa-root"))
    note = pipe(Path.home() / ".amplifier" / "context-erased.jsonl")
    (tmp_path / "stick").mkdir()
    options = {"sync": [tmp_path / "stick"], "purge": ["aaaa-root", "--redact", "cent"], "delete": ["aaaa-root"]}
    before = log.read_bytes()
    told = run(command, *options[command], "--yes", code=1 if command == "delete" else 2)
    assert f"{note}: this is no regular file" in told.stderr
    assert "move it away" in told.stderr
    assert command == "delete" or log.read_bytes() == before


@pytest.mark.parametrize("command", ["purge", "search"])
def test_a_pipe_with_the_name_of_a_saved_torn_tail_is_not_waited_for(command: str) -> None:
    log = write(log_of("aaaa-root"))
    tail = pipe(log.with_name(f"{log.name}.torn-1-00000000"))
    options = {"purge": ["aaaa-root", "--redact", "cent", "--yes"], "search": ["cent", "aaaa-root", "--hidden"]}
    told = run(command, *options[command], code=None)
    assert told.exit_code in (0, 2), told.stderr
    assert tail.is_fifo()
    assert told.exit_code == 0 or tail.name in told.stderr
