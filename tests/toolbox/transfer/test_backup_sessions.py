"""A backup has every log whole up to some record, and a new home gets all of it back."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.file_handle import is_archived
from amplifier_module_context_persistent.log.open_mark import OPEN_SUFFIX
from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.toolbox.maintenance.note_beside_log import NOTE_SUFFIX
from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup import check_backup, restore_sessions
from tests.support.archives import content_of_log, random_text
from tests.support.kills import killed_before
from tests.support.sessions_of_a_home import write
from tests.support.sweeps import proof
from tests.support.two_homes import Home, files_below, holders

KEY = "sk-leaked-0123456789"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", "name")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept"


@pytest.fixture
def new_home(tmp_path: Path) -> Home:
    return Home(tmp_path / "new", "work/name")


def copy_of(kept: Path, session: str) -> Path:
    return next(path for path in kept.rglob(LOG_NAME) if path.parent.name == session)


def test_a_new_home_gets_all_back_and_goes_on(home: Home, kept: Path, new_home: Home) -> None:
    """In the checkout of the same repository, with the files by which a host lists the sessions."""
    for session in ("talk", "talk-1_helper", "other"):
        home.says(session, "one", "two")
    assert "3 sessions backed up" in home.run("backup", kept).output
    assert "3 sessions restored" in new_home.run("backup", kept, "--restore").output
    assert new_home.sessions() == home.sessions()
    for session in home.sessions():
        assert new_home.log(session).read_bytes() == home.log(session).read_bytes()
        assert new_home.log(session).with_name("transcript.jsonl").exists()
    assert new_home.log("talk").parents[2].name.endswith("work-name")
    new_home.says("talk", "three")
    assert new_home.texts("talk") == ["one", "two", "three"]
    assert "3 sessions restored already" in new_home.run("backup", kept, "--restore").output


def test_only_what_is_new_is_written(home: Home, kept: Path) -> None:
    """The copy's file grows by the new bytes."""
    home.says("talk", "one")
    home.says("other", "one")
    home.run("backup", kept)
    before, other = copy_of(kept, "talk").read_bytes(), copy_of(kept, "other").stat()
    home.says("talk", "two")
    told = json.loads(home.run("backup", kept, "--json").stdout)
    after = copy_of(kept, "talk").read_bytes()
    assert after == home.log("talk").read_bytes()
    assert after.startswith(before)
    by_session = {one["session"]: (one["what"], one["bytes"]) for one in told["sessions"]}
    assert by_session == {"talk": ("more", len(after) - len(before)), "other": ("same", 0)}
    assert copy_of(kept, "other").stat() == other


def test_the_copy_of_an_archived_log_is_archived(home: Home, kept: Path, new_home: Home) -> None:
    """In the backup, and in the home that it is restored to."""
    home.says("talk", "one", "word " * 10_000)
    plain = home.log("talk").read_bytes()
    home.run("archive", "talk", "--yes")
    home.run("backup", kept)
    new_home.run("backup", kept, "--restore")
    for log in (copy_of(kept, "talk"), new_home.log("talk")):
        assert is_archived(log)
        assert content_of_log(log) == plain
    assert "Nothing is new" in home.run("backup", kept).output


def test_a_dry_run_writes_nothing(home: Home, kept: Path, new_home: Home) -> None:
    home.says("talk", "one")
    assert "1 session would be backed up" in home.run("backup", kept, "--dry-run").output
    assert files_below(kept) == {}
    home.run("backup", kept)
    assert "1 session would be restored" in new_home.run("backup", kept, "--restore", "--dry-run").output
    assert new_home.sessions() == []


def test_what_was_purged_stays_until_it_is_erased(home: Home, kept: Path, new_home: Home) -> None:
    """It is told each time; a restore has the purged log."""
    home.says("talk", f"my key is {KEY}", "two")
    home.run("backup", kept)
    home.run("purge", "talk", "--redact", KEY, "--yes")
    told = home.run("backup", kept).output
    assert "still holds what was erased here: 1 older copy of a purged log" in told
    assert "still holds" in home.run("backup", kept).output
    assert len(holders(kept, KEY)) == 1
    new_home.run("backup", kept, "--restore")
    assert holders(new_home.root, KEY) == []
    assert "nobody can answer" in home.run("backup", kept, "--erase", code=2).output
    home.run("backup", kept, "--erase", "--yes")
    assert holders(kept, KEY) == []
    assert "still holds" not in home.run("backup", kept).output


def test_what_was_purged_is_erased_before_the_backup_has_run_again(home: Home, kept: Path) -> None:
    """The copy of the log as it was is purged too; the next run adds to it, or makes it anew."""
    home.says("talk", f"my key is {KEY}", "two")
    home.run("backup", kept)
    home.run("purge", "talk", "--redact", KEY, "--yes")
    assert "Done: 1 erased from the backup." in home.run("backup", kept, "--erase", "--yes").output
    assert holders(kept, KEY) == []
    home.says("talk", "three")
    home.run("backup", kept)
    home.run("backup", kept, "--check")
    assert holders(kept, KEY) == []


def test_the_torn_tail_of_a_copy_is_erased_with_its_session(home: Home, kept: Path) -> None:
    """The copy was cut; the run that went on with it saved its end."""
    home.says("talk", "one", f"my key is {KEY} and a few words more")
    home.run("backup", kept)
    copy = copy_of(kept, "talk")
    whole = copy.read_bytes()
    copy.write_bytes(whole[: whole.index(KEY.encode()) + len(KEY)])
    home.run("backup", kept)
    assert list(kept.rglob(f"{LOG_NAME}.torn-*"))
    home.run("purge", "talk", "--redact", KEY, "--yes")
    assert (
        "still holds what was erased here: 1 older copy of a purged log, 1 saved torn tail."
        in home.run("backup", kept).output
    )
    home.run("backup", kept, "--erase", "--yes")
    assert holders(kept, KEY) == []


def test_what_was_purged_of_a_log_without_a_header_is_told_too(home: Home, kept: Path) -> None:
    """An older module wrote it; the purge changed its first line."""
    write(home.log("old"), [{"role": "user", "content": f"my key is {KEY}"}])
    home.run("backup", kept)
    home.run("purge", "old", "--redact", KEY, "--yes")
    assert "1 older copy of a purged log" in home.run("backup", kept).output
    home.run("backup", kept, "--erase", "--yes")
    assert holders(kept, KEY) == []


def test_what_was_deleted_stays_until_it_is_erased(home: Home, kept: Path, new_home: Home, tmp_path: Path) -> None:
    """A restore leaves it out, unless it is asked for."""
    home.says("talk", "one")
    home.says("other", "one")
    home.run("backup", kept)
    home.run("delete", "talk", "--yes", "--host-files")
    assert "still holds what was erased here: 1 session" in home.run("backup", kept).output
    assert "was deleted" in new_home.run("backup", kept, "--restore").output
    assert new_home.sessions() == ["other"]
    new_home.run("backup", kept, "--restore", "--again")
    assert new_home.sessions() == ["other", "talk"]
    question = home.run("backup", kept, "--erase", answer="n\n", code=2).output
    assert "Erase 1 session (talk) from the backup for good?" in question
    home.run("backup", kept, "--erase", "--yes")
    assert [path.parent.name for path in kept.rglob(LOG_NAME)] == ["other"]
    assert "still holds" not in home.run("backup", kept).output


def test_a_fork_that_only_the_backup_has_is_purged_with_its_origin(home: Home, kept: Path) -> None:
    """A fork that the home still has, and that was left out of the purge, keeps the text."""
    home.says("talk", "one", f"my key is {KEY}")
    home.run("fork", "talk", "--session", "gone")
    home.run("fork", "talk", "--session", "here")
    home.run("backup", kept)
    shutil.rmtree(home.log("gone").parent)
    home.run("purge", "talk", "--redact", KEY, "--yes")
    told = home.run("backup", kept).output
    assert "still holds what was erased here: 1 older copy of a purged log, 1 session." in told
    home.run("backup", kept, "--erase", "--yes")
    assert {Path(name).parent.name for name in holders(kept, KEY)} == {"here"}
    assert "still holds" not in home.run("backup", kept).output


def test_a_living_fork_of_a_purged_session_comes_to_a_new_home(
    home: Home, kept: Path, new_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lost home had it, with the text; also if the restore was killed before it came to the fork."""
    home.says("talk", "one", f"my key is {KEY}")
    home.run("fork", "talk", "--session", "tree")
    home.run("purge", "talk", "--redact", KEY, "--yes")
    home.run("backup", kept)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(restore_sessions, "copy_in_form", killed)
        new_home.run("backup", kept, "--restore", code=None)
    assert "2 sessions restored" in new_home.run("backup", kept, "--restore").output
    assert new_home.texts("tree") == ["one", f"my key is {KEY}"]
    assert new_home.texts("talk") == ["one", "my key is [redacted]"]
    shutil.rmtree(new_home.log("tree").parent)
    assert "tree: this session was purged here" in new_home.run("backup", kept, "--restore").output


def test_another_log_of_the_same_id_does_not_replace_its_copy(home: Home, kept: Path) -> None:
    """The copy is set aside, and `--erase` leaves it."""
    home.says("talk", "one")
    home.run("backup", kept)
    old = copy_of(kept, "talk").read_bytes()
    home.log("talk").unlink()
    home.says("talk", "another")
    assert "the older copy is kept as" in home.run("backup", kept).output
    assert "holds nothing" in home.run("backup", kept, "--erase").output
    assert copy_of(kept, "talk").read_bytes() == home.log("talk").read_bytes()
    assert [path.read_bytes() for path in kept.rglob(f"{LOG_NAME}.replaced-*")] == [old]


def test_a_copy_that_another_history_replaced_is_erased_too(home: Home, kept: Path) -> None:
    """It was set aside before the purge, and holds what the purge removed from the log."""
    home.says("talk", f"my key is {KEY}")
    before = home.log("talk").read_bytes()
    home.says("talk", "two")
    home.run("backup", kept)
    home.log("talk").write_bytes(before)
    home.says("talk", "another")
    assert "the older copy is kept as" in home.run("backup", kept).output
    home.run("purge", "talk", "--redact", KEY, "--yes")
    assert "still holds what was erased here: 2 older copies of purged logs" in home.run("backup", kept).output
    home.run("backup", kept, "--erase", "--yes")
    assert holders(kept, KEY) == []


def test_a_log_that_lost_its_end_gets_it_back(home: Home, kept: Path) -> None:
    """The copy stays longer; that is told, and a restore appends what is missing."""
    home.says("talk", "one")
    short = home.log("talk").read_bytes()
    home.says("talk", "two")
    home.run("backup", kept)
    home.log("talk").write_bytes(short)
    assert "shorter than its copy" in home.run("backup", kept, code=1).output
    home.run("backup", kept, "--restore")
    assert home.texts("talk") == ["one", "two"]
    home.run("backup", kept)


def test_a_restore_changes_nothing_that_a_home_has(home: Home, kept: Path, new_home: Home) -> None:
    """A session with another history there is named."""
    home.says("talk", "one")
    home.run("backup", kept)
    new_home.run("backup", kept, "--restore")
    home.says("talk", "from the old home")
    home.run("backup", kept)
    new_home.says("talk", "from the new home")
    before = new_home.log("talk").read_bytes()
    assert "another history" in new_home.run("backup", kept, "--restore", code=1).output
    assert new_home.log("talk").read_bytes() == before


def test_a_damaged_copy_is_found(home: Home, kept: Path) -> None:
    home.says("talk", "one")
    home.run("backup", kept)
    assert "1 log checked, 0 damaged" in home.run("backup", kept, "--check").output
    copy = copy_of(kept, "talk")
    copy.write_bytes(copy.read_bytes().replace(b"one", b"two"))
    assert "1 damaged" in home.run("backup", kept, "--check", code=1).output


def test_only_an_empty_directory_becomes_a_backup(home: Home, kept: Path) -> None:
    """A sync does not go into one, and nothing is restored from what is none."""
    home.says("talk", "one")
    (kept / "photo.png").touch()
    assert "not empty" in home.run("backup", kept, code=2).output
    assert "is no backup" in home.run("backup", kept, "--restore", code=2).output
    assert "no directory" in home.run("backup", kept / "missing", code=2).output
    (kept / "photo.png").unlink()
    home.run("backup", kept)
    assert "is a backup" in home.run("sync", kept, code=2).output
    assert "one of" in home.run("backup", kept, "--check", "--erase", code=2).output


def write_for_ever(log: Path, acknowledged: int) -> None:
    """Append numbered messages to a log, and note each number once it is acknowledged."""

    async def write() -> None:
        async with PersistentContextManager(log, max_tokens=100_000) as manager:
            for number in range(1_000_000):
                await manager.add_message({"role": "user", "content": f"number {number} " + "x" * (number % 7) * 400})
                await asyncio.sleep(0.01)
                os.pwrite(acknowledged, b"%012d" % (number + 1), 0)

    asyncio.run(write())


@pytest.fixture
def writers(home: Home, tmp_path: Path) -> Iterator[dict[str, Path]]:
    """Four sessions that others write to; each with the file that says how many messages were acknowledged."""
    files, children = {session: tmp_path / session for session in ("s1", "s2", "s3", "s4")}, []
    for session, file in files.items():
        file.write_bytes(b"%012d" % 0)
        child = os.fork()
        if not child:
            try:
                write_for_ever(home.log(session), os.open(file, os.O_WRONLY))
            finally:
                os._exit(1)
        children.append(child)
    deadline_s = time.monotonic() + 30
    while any(int(file.read_bytes()) < 5 for file in files.values()) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    yield files
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@proof
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the writers are forked children")
def test_sessions_run_while_they_are_backed_up(
    home: Home, kept: Path, new_home: Home, writers: dict[str, Path]
) -> None:
    """Each copy is the beginning of its log, and has all that was acknowledged before the backup began."""
    for _ in range(4):
        before = {session: int(file.read_bytes()) for session, file in writers.items()}
        home.run("backup", kept)
        for session, count in before.items():
            copy = copy_of(kept, session).read_bytes()
            assert home.log(session).read_bytes().startswith(copy)
            assert copy.endswith(b'"}\n')
            assert copy.count(b'"role":"user"') >= count
        time.sleep(0.1)
    assert "0 damaged" in home.run("backup", kept, "--check").output
    new_home.run("backup", kept, "--restore")
    for session in writers:
        assert new_home.log(session).read_bytes() == copy_of(kept, session).read_bytes()
        assert len(new_home.texts(session)) >= before[session]


def is_unfinished(name: str, content: bytes) -> bool:
    if name.endswith(NOTE_SUFFIX):
        return bool(json.loads(content).get("begun"))
    return name.endswith(".part")


def prepared(home: Home, kept: Path) -> None:
    """A backup since which a session went on, one is new, one was purged and one deleted."""
    for session in ("talk", "other", "purged", "gone"):
        home.says(session, f"my key is {KEY}")
    home.run("backup", kept)
    home.says("talk", "two")
    home.says("new", "three")
    home.run("purge", "purged", "--redact", KEY, "--yes")
    home.run("delete", "gone", "--yes", "--host-files")


@proof
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the operation runs in a forked child")
@pytest.mark.parametrize("what", ["backup", "restore", "erase"])
def test_a_backup_that_was_killed_is_finished_by_a_second_one(
    home: Home, kept: Path, new_home: Home, tmp_path: Path, what: str
) -> None:
    """At each moment the backup has all that it had; afterwards all is as if it was never interrupted."""
    prepared(home, kept)
    if what != "backup":
        home.run("backup", kept)
    options = {"backup": (), "restore": ("--restore", "--again"), "erase": ("--erase", "--yes")}[what]
    used = new_home if what == "restore" else home
    held = holders(kept, KEY)

    def restore() -> None:
        for root in (kept, new_home.root):
            if not (tmp_path / "before" / root.name).exists():
                shutil.copytree(root, tmp_path / "before" / root.name)
            shutil.rmtree(root)
            shutil.copytree(tmp_path / "before" / root.name, root)

    def operation() -> Any:
        return used.run("backup", kept, *options, code=None)

    restore()
    operation()
    wanted = state_of(kept), state_of(new_home.root)
    number, step = 1, 3
    restore()
    while killed_before(number, operation):
        if what == "backup":
            assert len(holders(kept, KEY)) >= len(held), number
        assert operation().exit_code == 0, number
        assert (state_of(kept), state_of(new_home.root)) == wanted, number
        number += step
        restore()
    assert number > 10


def state_of(root: Path) -> dict[str, bytes]:
    """The logs below a directory, those that were set aside, and what only an interrupted operation leaves.

    A mark without a lock says nothing.
    """
    files = {name: content for name, content in files_below(root).items() if not name.endswith(OPEN_SUFFIX)}
    logs = {name: content for name, content in files.items() if LOG_NAME in name and not name.endswith(NOTE_SUFFIX)}
    return logs | {name: content for name, content in files.items() if is_unfinished(name, content)}


def test_a_damaged_log_does_not_take_the_place_of_its_copy(home: Home, kept: Path) -> None:
    """It is told how to have the copy in the place of the log."""
    home.says("talk", "one", "two")
    home.run("backup", kept)
    whole = home.log("talk").read_bytes()
    home.log("talk").write_bytes(b"\0" * 100 + b"\n" + whole[101:])
    told = home.run("backup", kept, code=1).output
    assert f"`context-persistent verify {home.log('talk')}`" in told
    assert copy_of(kept, "talk").read_bytes() == whole
    assert "remove the log, and restore again" in home.run("backup", kept, "--restore", code=1).output
    home.log("talk").unlink()
    home.run("backup", kept, "--restore")
    assert home.log("talk").read_bytes() == whole


@pytest.mark.parametrize(("line", "place"), [(0, "line 1"), (4, "line 5"), (-2, "line ")])
def test_a_damaged_copy_is_named_set_aside_and_not_restored(home: Home, kept: Path, line: int, place: str) -> None:
    """It is no older copy: a disk that decays is told."""
    home.says("talk", "one", "two")
    home.run("backup", kept)
    whole = home.log("talk").read_bytes()
    copy = copy_of(kept, "talk")
    lines = whole.splitlines(keepends=True)
    lines[line] = lines[line].replace(b"e", b"d", 1)
    decayed = b"".join(lines)
    copy.write_bytes(decayed)
    assert "in the backup the log is damaged" in home.run("backup", kept, "--restore", code=1).output
    told = home.run("backup", kept, code=1).output
    assert f"DAMAGED COPY: {copy}: {place}" in told
    assert "copied anew, and the damaged copy is kept as context-messages.jsonl.replaced-" in told
    assert "older copy" not in told
    assert copy.read_bytes() == whole
    assert [path.read_bytes() for path in kept.rglob("*.replaced-*")] == [decayed]
    home.run("backup", kept)


def test_a_copy_that_was_emptied_is_named(home: Home, kept: Path, new_home: Home) -> None:
    """Also by a home that has no such session; an empty log has an empty copy."""
    home.says("talk", "one")
    home.run("backup", kept)
    copy = copy_of(kept, "talk")
    copy.write_bytes(b"")
    assert f"DAMAGED: {copy}: it is empty; it was cut" in home.run("backup", kept, "--check", code=1).output
    assert f"DAMAGED: {copy}: it is empty" in new_home.run("backup", kept, "--check", code=1).output
    assert json.loads(home.run("backup", kept, "--json", code=1).stdout)["sessions"][0]["copy_damage"]
    assert copy.read_bytes() == home.log("talk").read_bytes()
    copy.write_bytes(b"")
    home.log("talk").write_bytes(b"")
    assert "1 log checked, 0 damaged" in home.run("backup", kept, "--check").output


def test_no_copy_that_was_set_aside_is_overwritten(home: Home, kept: Path) -> None:
    """Two damaged copies may end with the same checksum."""
    home.says("talk", "one", "two")
    home.run("backup", kept)
    copy = copy_of(kept, "talk")
    lines = copy.read_bytes().splitlines(keepends=True)
    decayed = [b"".join([b"[" + lines[0][1:], *lines[1:]]), b"".join([b"]" + lines[0][1:], *lines[1:]])]
    for content in decayed:
        copy.write_bytes(content)
        home.run("backup", kept, code=1)
    assert {path.read_bytes() for path in kept.rglob("*.replaced-*")} == set(decayed)


def test_a_copy_that_was_cut_is_damaged_and_not_its_log(home: Home, kept: Path, new_home: Home) -> None:
    """The next backup adds the rest; a home without the session is told so."""
    home.says("talk", "one", "two")
    home.run("backup", kept)
    copy = copy_of(kept, "talk")
    copy.write_bytes(copy.read_bytes()[:-30])
    for place, advice in ((home, "it was cut; back up again"), (new_home, "this home has no such session")):
        told = place.run("backup", kept, "--check", code=1).output
        assert f"DAMAGED: {copy}: byte " in told
        assert advice in told
        assert "the log in the home" not in told
    home.run("backup", kept)
    home.run("backup", kept, "--check")
    assert copy.read_bytes() == home.log("talk").read_bytes()


def test_a_flipped_bit_of_an_archived_copy_is_not_that_of_its_log(home: Home, kept: Path) -> None:
    """It is put right at each reading, and told before a second one comes."""
    home.says("talk", "one", random_text(1, 20_000))
    home.run("archive", "talk", "--yes")
    home.run("backup", kept)
    copy = copy_of(kept, "talk")
    content = bytearray(copy.read_bytes())
    content[len(content) // 2] ^= 1
    copy.write_bytes(content)
    told = home.run("backup", kept, "--check", code=1).output
    assert f"DAMAGED: {copy}: one bit of frame 1 was flipped" in told
    assert "remove this file" in told


@pytest.mark.parametrize("form", ["plain", "archived"])
def test_a_copy_that_is_damaged_inside_is_named_and_the_others_are_restored(
    home: Home, kept: Path, new_home: Home, form: str
) -> None:
    """Its place is told, and nothing of it comes to the home."""
    for session in ("talk", "other"):
        home.says(session, "one", f"the price is 100{random_text(1, 20_000)}", "three")
    if form == "archived":
        home.run("archive", "talk", "other", "--yes")
    home.run("backup", kept)
    copy = copy_of(kept, "talk")
    content = copy.read_bytes()
    changed = content.replace(b"price is 100", b"price is 900") if form == "plain" else _damaged(content)
    assert changed != content
    copy.write_bytes(changed)
    for options in (["--dry-run"], []):
        told = new_home.run("backup", kept, "--restore", *options, code=1).output
        assert f"LEFT: {copy}: the log is damaged" in told
        assert ("line 5, byte" if form == "plain" else "frame 1 of 1") in told
    assert new_home.sessions() == ["other"]


def _damaged(content: bytes) -> bytes:
    """More than a bit, which would be put right."""
    middle = len(content) // 2
    return content[:middle] + bytes(byte ^ 0xFF for byte in content[middle : middle + 8]) + content[middle + 8 :]


def test_a_damaged_log_without_a_copy_is_backed_up_and_named(home: Home, kept: Path) -> None:
    """Some copy is better than none."""
    home.says("talk", "one", "the price is 100")
    log = home.log("talk")
    log.write_bytes(log.read_bytes().replace(b"price is 100", b"price is 900"))
    assert f"DAMAGED: {log}: line 5, byte" in home.run("backup", kept, code=1).output
    assert copy_of(kept, "talk").read_bytes() == log.read_bytes()


def test_an_archive_that_cannot_be_read_is_backed_up_and_named(home: Home, kept: Path, new_home: Home) -> None:
    """Damage costs much of a session of a single frame; its archive is copied, and no restore takes it."""
    home.says("talk", "one", "word " * 10_000)
    home.says("other", "two")
    home.run("archive", "talk", "--yes")
    log = home.log("talk")
    log.write_bytes(_damaged(log.read_bytes()))
    assert f"DAMAGED: {log}: frame 1 of 1, bytes" in home.run("backup", kept, code=1).output
    copy = copy_of(kept, "talk")
    assert copy.read_bytes() == log.read_bytes()
    assert copy.with_name("metadata.json").exists()
    assert f"DAMAGED: {copy}" in home.run("backup", kept, "--check", code=1).output
    assert f"LEFT: {copy}: the log is damaged" in new_home.run("backup", kept, "--restore", code=1).output
    assert new_home.sessions() == ["other"]


def test_what_is_restored_again_is_deleted_no_more(home: Home, kept: Path) -> None:
    """A later restore takes it as any other session."""
    home.says("talk", "one")
    home.run("backup", kept)
    home.run("delete", "talk", "--yes")
    home.run("backup", kept, "--restore", "--again")
    home.log("talk").unlink()
    home.run("backup", kept, "--restore")
    assert home.sessions() == ["talk"]


def test_each_run_reads_copies_again_and_names_a_damaged_one(
    home: Home, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that decayed although nothing is new; the oldest first, and not more than a run reads."""
    monkeypatch.setattr(check_backup, "READ_BYTES", 1)
    for session in ("one", "two", "three"):
        home.says(session, random_text(1, 5_000), "the price is 100", "three")
    assert "all were found whole since 20" in home.run("backup", kept).output
    copy = copy_of(kept, "two")
    sound = copy.read_bytes()
    copy.write_bytes(sound.replace(b"price is 100", b"price is 900"))
    told = [home.run("backup", kept, code=None) for _ in range(4)]
    assert "1 copy read again" in told[0].output
    assert told[-1].exit_code == 1, [(run.exit_code, run.output) for run in told]
    assert f"DAMAGED COPY: {copy}: line 5, byte " in told[-1].output
    assert json.loads(home.run("backup", kept, "--json", code=1).stdout)["all_whole_since"] is None
    copy.unlink()
    assert "1 new" in home.run("backup", kept).output
    assert copy.read_bytes() == sound
    assert json.loads(home.run("backup", kept, "--json").stdout)["all_whole_since"]


def test_sound_copies_have_their_turn_beside_damaged_ones(
    home: Home, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged copy is named by each run, and those of several by turns."""
    monkeypatch.setattr(check_backup, "READ_BYTES", 1)
    for session in ("one", "two", "three", "four"):
        home.says(session, random_text(1, 5_000), "the price is 100", "three")
    home.run("backup", kept)
    damaged = [str(copy_of(kept, session)) for session in ("one", "two")]
    for path in map(Path, damaged):
        path.write_bytes(path.read_bytes().replace(b"price is 100", b"price is 900"))
    home.run("backup", kept, "--check", code=1)
    checked_at = _checked_at(kept)
    told = [home.run("backup", kept, code=1).output for _ in range(4)]
    assert all(any(copy in output for output in told) for copy in damaged)
    assert all("DAMAGED COPY" in output for output in told)
    now = _checked_at(kept)
    assert len(now) == 2
    assert all(now[name] > time for name, time in checked_at.items())


def _checked_at(kept: Path) -> dict[str, str]:
    times: dict[str, str] = json.loads((kept / check_backup.NAME).read_text())["whole"]
    return times


def test_a_copy_with_the_damage_of_its_log_is_named_once(home: Home, kept: Path) -> None:
    """When it is copied; a note that is lost or broken counts as none."""
    home.says("talk", "one", "the price is 100")
    log = home.log("talk")
    log.write_bytes(log.read_bytes().replace(b"price is 100", b"price is 900"))
    home.run("backup", kept, code=1)
    for note in (b"{}", b"[1]", b"", None):
        path = kept / check_backup.NAME
        path.unlink() if note is None else path.write_bytes(note)
        assert "1 copy read again; all were found whole" in home.run("backup", kept).output
    assert "the log in the home has the same damage" in home.run("backup", kept, "--check", code=1).output
