"""What a window keeps of the log: bytes that were verified once, parsed for each view, and forgotten with their log."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.window import shown_messages
from amplifier_module_context_persistent.window.shown_messages import ShownLines
from tests.support.counted_sessions import CountedReads
from tests.support.logs import append_bodies, content_of, write_file
from tests.support.messages import Message, fill, spoil, user
from tests.support.sweeps import proof
from tests.support.windows import STAMP, Desk

KINDS: list[dict[str, Any]] = [
    user("One line of many.\n" * 40),
    {"role": "assistant", "content": [{"type": "text", "text": "Yes."}], "metadata": {"none": None, "few": [1.5]}},
    {"role": "assistant", "content": "large", "metadata": {"number": 2**70}},
    {"role": "assistant", "content": "no number", "metadata": {"number": float("nan"), "most": float("inf")}},
    {"role": "user", "content": "half of a pair: \ud800"},
]
KEY = "sk-ant-api03-" + "q7Tz" * 20


@pytest.fixture
def files() -> CountedReads:
    return CountedReads()


@pytest.fixture
def log(tmp_path: Path, files: CountedReads) -> Iterator[FileLog]:
    with closing(FileLog(tmp_path / "log.jsonl", durability="write", files=files)) as log:
        for number, message in enumerate(KINDS):
            append_bodies(log, encode_message(message, message_id=f"m{number}", timestamp=STAMP))
        yield log


def test_what_is_kept_is_parsed_afresh_and_read_once(log: FileLog, files: CountedReads) -> None:
    """Whatever callers do to what they got; the second view reads nothing of the file."""
    lines, ordinals = ShownLines(), range(len(KINDS))
    shown = list(lines.read(log, ordinals, keeps=True))
    assert repr(shown) == repr(list(log.read(ordinals)))
    before = files.reads
    for message in shown:
        spoil(message)
    again, some = list(lines.read(log, ordinals, keeps=True)), list(lines.read(log, [3, 1]))
    assert files.reads == before
    assert repr(again) == repr(list(log.read(ordinals)))
    assert repr(some) == repr([again[3], again[1]])


def test_what_a_view_no_longer_shows_is_let_go(log: FileLog, files: CountedReads) -> None:
    """A plan leaves messages out, and their bytes do not stay."""
    lines = ShownLines()
    list(lines.read(log, range(5), keeps=True))
    lines.let_go([2, 3, 4])
    before = files.reads
    list(lines.read(log, [2, 3, 4]))
    assert files.reads == before
    list(lines.read(log, [0]))
    assert files.reads > before


def test_no_more_is_kept_than_the_limit(log: FileLog, files: CountedReads, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is beyond is read and verified for each view: where it was changed, that is an error and not handed out."""
    monkeypatch.setattr(shown_messages, "MOST_BYTES", log.index.columns.lengths[0] + 10)
    lines = ShownLines()
    list(lines.read(log, range(5), keeps=True))
    before = files.reads
    list(lines.read(log, [0]))
    assert files.reads == before
    content = bytearray(content_of(log.path))
    content[log.index.columns.offsets[2] + 40] ^= 1
    with open(log.path, "r+b") as file:
        file.write(content)
    assert next(lines.read(log, [0], keeps=True))["content"] == KINDS[0]["content"]
    with pytest.raises(LogUnreadableError, match="was changed since it was read"):
        list(lines.read(log, range(5), keeps=True))


def replaced(path: str) -> None:
    write_file(path + ".new", content_of(path).replace(b"Yes.", b"No!."))
    os.replace(path + ".new", path)


def cut(path: str) -> None:
    os.truncate(path, content_of(path).rfind(b"\n", 0, -1) + 1)


@pytest.mark.parametrize(("change", "most"), [(replaced, 5), (cut, 4)])
def test_a_log_that_is_no_longer_the_one_that_was_read_is_read_anew(
    log: FileLog, change: Callable[[str], None], most: int
) -> None:
    """Another file in its place, and a tail that was lost."""
    lines = ShownLines()
    list(lines.read(log, range(5), keeps=True))
    change(log.path)
    log.follow()
    found = list(lines.read(log, range(len(log.index)), keeps=True))
    assert repr(found) == repr(list(log.read(range(len(log.index)))))
    assert len(found) == most
    assert b"No!." not in content_of(log.path) or "No!." in repr(found)


def test_a_log_that_was_removed_is_an_error_of_the_next_view(tmp_path: Path) -> None:
    """What is kept of it is not handed out."""
    desk = Desk(FileLog(tmp_path / "log.jsonl", durability="write"))
    desk.talk(2)
    assert desk.ask(100_000).view
    os.remove(tmp_path / "log.jsonl")
    with pytest.raises(LogUnreadableError, match="removed"):
        desk.ask(100_000)


@proof
async def test_a_key_that_another_process_redacts_is_in_no_later_request(tmp_path: Path) -> None:
    """Nor in the history, whether the session appends before its next request or not."""
    path = tmp_path / "log.jsonl"
    manager = PersistentContextManager(path, tokenizer="estimate")
    await fill(manager, [user(f"Use {KEY} for this."), {"role": "assistant", "content": "I will."}])
    for _ in range(2):
        assert KEY in repr(await manager.get_messages_for_request())

    def redact() -> None:
        main = "from amplifier_module_context_persistent.toolbox.cli import main; main()"
        purge = [sys.executable, "-c", main, "purge", str(path)]
        done = subprocess.run(
            [*purge, "--redact", KEY[:20] + "[A-Za-z0-9]*", "--yes"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    redact()
    seen: list[list[Message]] = [await manager.get_messages_for_request() for _ in range(2)]
    await manager.add_message(user("And now?"))
    seen += [await manager.get_messages_for_request(), await manager.get_messages()]
    await manager.close()
    assert all(view and KEY[:20] not in repr(view) for view in seen)
