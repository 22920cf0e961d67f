"""Purging: what was asked for goes for good, everything else stays, and a crash leaves the old log or the new one."""

import json
import os
import re
import stat
import subprocess
import sys
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import (
    LockTimeoutError,
    LogFailedError,
    LogUnreadableError,
    PurgeError,
)
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.search import pattern, replace_matches
from amplifier_module_context_persistent.sessions.session_is_open import held_for_writing, is_open
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import plan_purge, purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge, PurgeCounts
from amplifier_module_context_persistent.view.receipts import ReaderName, Receipt, RequestHashes
from tests.support.fakefs import FakeFiles
from tests.support.logs import (
    STAMP,
    append,
    append_bodies,
    assert_sound,
    body,
    content_of,
    findings,
    keep,
    numbers,
    reset_bodies,
    stored_numbers,
    write_file,
)
from tests.support.places import ROOT
from tests.support.purges import (
    CLEARED,
    EVERYTHING,
    HEADER,
    before,
    kinds,
    messages,
    plan,
    purged,
    redact,
    write_log,
)
from tests.support.real_sessions import StartSession
from tests.support.sweeps import proof


def test_an_id_that_is_not_live_is_refused(path: str) -> None:
    """Nothing is changed, and the message says what to do."""
    write_log(path, body(0), *reset_bodies("r"), body(1))
    content = content_of(path)
    for number in (0, 9):
        with pytest.raises(PurgeError, match="no live message has this id"):
            purged(path, before(number))
    assert content_of(path) == content


@proof
def test_an_expression_that_runs_away_is_given_up_and_nothing_is_changed(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of what was to go would be worse than none."""
    monkeypatch.setattr(replace_matches, "REPLACE_S", 0.2)
    write_log(path, body(0), encode_message({"role": "user", "content": "a" * 40_000}, message_id="m", timestamp="t"))
    content = content_of(path)
    with pytest.raises(pattern.SlowPatternError, match="too much time"):
        purged(path, redact(r"(.*a){20}Z|hello"))
    assert content_of(path) == content
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]


def test_where_nothing_goes_nothing_is_written(path: str) -> None:
    """The file is the same one, without another `purge` record."""
    write_log(path, body(0), body(1))
    inode = os.stat(path).st_ino
    for purge in (before(0), CLEARED, redact("absent")):
        assert purged(path, purge).is_nothing
    assert os.stat(path).st_ino == inode
    purged(path, EVERYTHING)
    assert purged(path, EVERYTHING).is_nothing


@proof(quick=1)
@pytest.mark.parametrize("purge", [before(2), CLEARED, redact("message"), EVERYTHING])
def test_a_plan_of_a_purge_tells_what_the_purge_does(path: str, purge: Purge) -> None:
    """`plan_purge` counts the same and writes nothing."""
    write_log(path, *map(body, range(4)), *reset_bodies("r", keep(1, 3)), plan(3, (2, 3)))
    content = content_of(path)
    planned = plan_purge(path, purge).counts
    assert content_of(path) == content
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
    assert purged(path, purge) == planned


def test_saved_tails_of_this_log_alone_are_removed(path: str) -> None:
    """Files of other names stay."""
    write_log(path, body(0), body(1))
    others = [path + ".torn-notes", path + "2.torn-5-00000000", path + ".torn-5-00000000.bak"]
    for name in [*others, path + ".torn-5-00000000", path + ".torn-77-0123abcd.2"]:
        write_file(name, b"x")
    purged(path, before(1))
    assert os.path.exists(path + ".torn-5-00000000")
    assert purged(path, Purge(torn=True)).saved_tails == 2
    assert sorted(os.listdir(os.path.dirname(path))) == sorted(map(os.path.basename, [path, *others]))


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_new_file_is_private(path: str, umask: int) -> None:
    """Its mode is 0600, whatever the umask and whatever the old one was."""
    write_log(path, body(0), body(1))
    os.chmod(path, 0o666)
    old = os.umask(umask)
    try:
        purged(path, before(1))
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_log_with_several_names_is_refused(path: str) -> None:
    """The other name would keep the history."""
    write_log(path, body(0), body(1))
    os.link(path, path + ".backup")
    with pytest.raises(PurgeError, match="2 names"):
        purged(path, before(1))


def test_the_other_name_of_a_killed_fork_does_not_hinder(path: str) -> None:
    """It is the name under which the log was written; it would keep what is purged."""
    append(FileLog(path), 0, 1)
    os.link(path, f"{path}.context-persistent-0a1b2c3d.part")
    purged(path, before(1))
    assert stored_numbers(path) == [1]
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]


@pytest.mark.parametrize("make", ["missing", "directory", "link"])
def test_what_is_no_log_is_refused(path: str, make: str) -> None:
    """Nothing is created beside it."""
    if make == "directory":
        os.mkdir(path)
    elif make == "link":
        os.symlink("/dev/null", path)
    listed = os.listdir(os.path.dirname(path))
    with pytest.raises(LogUnreadableError):
        purged(path, EVERYTHING)
    assert os.listdir(os.path.dirname(path)) == listed


def test_what_a_killed_purge_left_is_replaced(path: str) -> None:
    """Its unfinished file does not stop the next purge."""
    write_log(path, body(0), body(1))
    write_file(path + ".purging", b"half")
    purged(path, before(1))
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
    assert stored_numbers(path) == [1]


def test_a_log_that_is_open_elsewhere_goes_on_with_the_new_file(path: str) -> None:
    """Nothing goes to the old file; an open log notices, reads anew, and appends to the new one."""
    log, reading = FileLog(path), FileLog(path)
    append_bodies(log, HEADER, *map(body, range(4)))
    assert numbers(reading) == [0, 1, 2, 3]
    with open(path, "rb") as old:
        purged(path, before(2))
        size = os.fstat(old.fileno()).st_size
        append(log, 5)
        assert os.fstat(old.fileno()).st_size == size
    assert numbers(log) == numbers(reading) == stored_numbers(path) == [2, 3, 5]
    assert_sound(path)


@proof(quick=1)
@pytest.mark.parametrize("mode", ["before", "cleared", "everything", "redact"])
async def test_a_session_goes_on_behind_a_purge(path: str, start_session: StartSession, mode: str) -> None:
    """A running session, compacted before, hands out what the new log holds, makes valid views, and appends to it."""
    config = {"transcript_path": path, "max_tokens": 4_000}
    session = await start_session({"module": "context-persistent", "config": config})
    manager = session.coordinator.get("context")
    await manager.add_message({"role": "user", "content": "message 0"})
    await manager.clear()
    for number in range(1, 41):
        role = "user" if number % 2 else "assistant"
        await manager.add_message({"role": role, "content": f"message {number} hunter2 " + "word " * 100})
        await manager.get_messages_for_request()
    assert "plan" in kinds(path)
    held = await manager.get_messages()
    choice = {
        "before": Purge(before=held[10]["metadata"]["message_id"]),
        "cleared": CLEARED,
        "everything": EVERYTHING,
        "redact": redact("hunter2"),
    }[mode]
    purged(path, choice)
    expected = {"before": held[10:], "everything": []}.get(mode, held)
    if mode == "redact":
        expected = [{**message, "content": message["content"].replace("hunter2", "[redacted]")} for message in held]
    assert await manager.get_messages() == expected
    await manager.add_message({"role": "user", "content": "message 99"})
    view = await manager.get_messages_for_request()
    assert view[-1]["content"] == "message 99"
    said = [message["content"] for message in expected] + ["message 99"]
    shown = [m["content"] for m in view if m.get("metadata", {}).get("source") != "context-compaction"]
    assert shown
    if mode in ("redact", "everything"):
        assert not any("hunter2" in str(message) for message in view)
    assert [message["content"] for message in await manager.get_messages()] == said
    assert [message["content"] for message in messages(path)] == said
    assert findings(path) == []


async def test_what_waits_for_an_append_is_not_written_behind_a_purge(path: str) -> None:
    """A receipt and a head text of before it may hold what was removed; those of later views are written."""
    heads = ["hunter2 is the key", "no key any more", "no key any more"]

    async def head() -> str:
        return heads.pop(0)

    async with PersistentContextManager(path) as manager:
        await manager.set_system_prompt_factory(head)
        await manager.add_message({"role": "user", "content": "the key is hunter2"})
        await manager.get_messages_for_request()
        purged(path, redact("hunter2"))
        await manager.get_messages_for_request()
        await manager.add_message({"role": "assistant", "content": "done"})
        await manager.get_messages_for_request()
    assert b"hunter2" not in content_of(path)
    assert [kind for kind in kinds(path) if kind in ("system", "view")] == ["system", "view", "view"]


@pytest.mark.parametrize("mode", ["before", "cleared", "redact"])
def test_who_gave_an_answer_outlives_the_receipts(path: str, log: FileLog, mode: str) -> None:
    """Thinking is shown to models that can read it; a second purge says it once more, not twice."""
    append_bodies(log, body(0, text=" hunter2"))
    for number, model in ((1, "m-1"), (2, "m-2")):
        reader = ReaderName("p", model)
        receipt = Receipt(f"r{number}", STAMP, "", f"id-{number - 1}", 1, 9, 99, reader, RequestHashes("0" * 32))
        answer = {"role": "assistant", "content": f"answer {number}"}
        append_bodies(log, receipt.encode(), encode_message(answer, message_id=f"id-{number}", timestamp=STAMP))
    append_bodies(log, body(3))
    if mode == "cleared":
        append_bodies(log, *reset_bodies("r", keep(0, 2)))
    log.close()
    for _ in range(2):
        purged(path, {"before": Purge(before="id-1"), "cleared": CLEARED, "redact": redact("hunter2")}[mode])
        assert kinds(path).count("view") == 0
        reader = FileLog(path)
        reader.follow()
        ids = {
            message["metadata"]["message_id"]: at for at, message in enumerate(reader.read(range(len(reader.index))))
        }
        assert [reader.index.model_of(ids[f"id-{number}"]) for number in (1, 2)] == [("p", "m-1"), ("p", "m-2")]
        assert kinds(path).count("asked") == 2
        reader.close()
    assert findings(path) == []


@proof
def test_purges_beside_writers_that_are_killed_lose_nothing(path: str) -> None:
    """While processes append and are killed, the log is purged again and again: all they acknowledged is there."""
    command = [sys.executable, "-m", "tests.support.writer", path, "--kills", "8", "--writers", "2", "--seed", "11"]
    told, purges, pipe = list[dict[str, list[int]]](), 0, subprocess.PIPE
    with subprocess.Popen([*command, "--paced"], cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as writing:
        assert writing.stdin is not None
        assert writing.stdout is not None
        for line in writing.stdout:
            if (one := json.loads(line)) is not None:
                told.append(one)
                continue
            if len(told) % 4:  # they are killed while the log is purged
                writing.stdin.write("\n")
                writing.stdin.flush()
            purges += not purged(path, redact("x{9,}")).is_nothing
            if not len(told) % 4:  # they live while it is
                writing.stdin.write("\n")
                writing.stdin.flush()
    assert writing.returncode == 0
    assert len(told) == 8
    stored = stored_numbers(path)
    assert len(set(stored)) == len(stored)
    for one in told:
        own = [number for number in stored if number in set(one["begun"])]
        assert set(one["acknowledged"]) <= set(own)
        assert own == one["begun"][: len(own)]
    assert findings(path) == []
    assert purges > 0  # a purge may have taken what the next one would have found
    print(f"purges beside writers: {purges}, acknowledged: {sum(len(one['acknowledged']) for one in told)}")


def test_who_appends_behind_a_purge_syncs_the_directory(tmp_path: Path, files: FakeFiles) -> None:
    """The purger may have died before the new name was synced; an acknowledged append must not go with it."""
    root, target = tmp_path / "root", tmp_path / "target"
    root.mkdir()
    target.mkdir()
    path = str(root / "log.jsonl")
    log = FileLog(path, files=files)
    append(log, 0, 1)
    files.fail("sync_directory")
    with pytest.raises(LogFailedError, match="run the purge again"):
        purged(path, before(1), files=files)
    files.heal()
    append(log, 2)
    files.power_cut(str(root), str(target))
    assert stored_numbers(str(target / "log.jsonl")) == [1, 2]


def test_a_purge_waits_for_the_lock(path: str, log: FileLog) -> None:
    """A writer that holds it is named after the deadline, and nothing is changed."""
    append(log, 0, 1)
    files = FileSystem()
    descriptor = files.open_log(path, create=False)
    lock = files.try_lock(path, descriptor)
    assert lock is not None
    content = content_of(path)
    with pytest.raises(LockTimeoutError, match=str(os.getpid())):
        purged(path, before(1), lock_timeout_s=0.1)
    assert content_of(path) == content
    files.unlock(lock)
    files.close(descriptor)
    purged(path, before(1))
    assert stored_numbers(path) == [1]


def test_nobody_appends_to_the_new_file_before_the_purge_is_done(path: str) -> None:
    """The new file is locked from before its rename until the directory was synced."""
    append(FileLog(path), 0, 1)
    refused: list[bool] = []

    class Watching(FakeFiles):
        def sync_directory(self, directory: str) -> None:
            with pytest.raises(LockTimeoutError):
                append(FileLog(path, lock_timeout_s=0.02), 7)
            refused.append(True)
            super().sync_directory(directory)

    purged(path, before(1), files=Watching())
    assert refused
    append(FileLog(path), 8)
    assert stored_numbers(path) == [1, 8]


@pytest.mark.parametrize("purge", [redact("message 1"), before(1), CLEARED], ids=["redact", "before", "cleared"])
def test_a_history_that_is_replaced_meanwhile_is_the_history_afterwards(path: str, purge: Purge) -> None:
    """A session set new messages after the purge had read the log; a purge does not take that for damage."""
    write_log(path, *map(body, range(4)), *reset_bodies("r", keep(0, 2), upto="id-3"))

    def replaced_first() -> str:
        with closing(FileLog(path)) as log:
            append_bodies(log, *reset_bodies("s", body(7), keep(2, 2), body(8), upto="id-2"))
        return STAMP

    purge_log(path, purge, now=replaced_first)
    assert stored_numbers(path) == [7, 2, 8]
    assert findings(path) == []


def test_files_that_are_open_for_writing_are_found(tmp_path: Path) -> None:
    """By name, of this process too; not those that are only read, and none after they were closed."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("x")
    identity = {path.name: (path.stat().st_dev, path.stat().st_ino) for path in tmp_path.iterdir()}
    opened = [os.open(tmp_path / "a", os.O_RDWR | os.O_APPEND), os.open(tmp_path / "b", os.O_RDONLY)]
    opened.append(os.open(tmp_path / "c", os.O_WRONLY))
    held = held_for_writing({"a", "b"})
    for fd in opened:
        os.close(fd)
    if held is None:
        pytest.skip("this system does not tell which files are open")
    assert held & set(identity.values()) == {identity["a"]}
    assert not (held_for_writing({"a"}) or frozenset()) & {identity["a"]}


@pytest.mark.usefixtures("all_open_files")
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="this system does not tell which files are open")
def test_a_file_that_another_process_has_open_is_found(tmp_path: Path) -> None:
    with (tmp_path / "a").open("ab") as opened:
        waits = [sys.executable, "-S", "-c", "import sys; sys.stdin.read()"]
        other = subprocess.Popen(waits, stdin=subprocess.PIPE, pass_fds=[opened.fileno()])
    assert is_open(tmp_path / "a")
    other.communicate()
    assert not is_open(tmp_path / "a")


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    """It is known that nothing is known."""
    assert held_for_writing({"a"}, proc=str(tmp_path / "nowhere")) is None


@pytest.mark.parametrize(
    ("purge", "mode"),
    [
        (Purge(before="m1"), "before"),
        (Purge(cleared=True), "cleared"),
        (Purge(everything=True), "all"),
        (Purge(redact=re.compile("x")), "redact"),
    ],
)
def test_a_purge_has_one_mode(purge: Purge, mode: str) -> None:
    """The word of its record."""
    assert purge.mode == mode


KEPT = {"tails_matching", "names_matching", "messages_kept", "altered_kept", "unreadable_kept", "bytes_before"}


@pytest.mark.parametrize("name", [field.name for field in fields(PurgeCounts)])
def test_nothing_to_remove_means_that_nothing_goes(name: str) -> None:
    """What stays does not count."""
    assert PurgeCounts().is_nothing
    assert PurgeCounts(**{name: 1}).is_nothing is (name in KEPT)
    assert PurgeCounts(**{name: 1}).to_record()[name] == 1
