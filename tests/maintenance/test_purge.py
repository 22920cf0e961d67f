"""Purging: what was asked for goes for good, everything else stays, and a crash leaves the old log or the new one."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.errors import (
    AppendError,
    LockTimeoutError,
    LogError,
    LogFailedError,
    LogUnreadableError,
    PurgeError,
)
from amplifier_module_context_persistent.log.file import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.record import encode_control, encode_message
from amplifier_module_context_persistent.maintenance.purge import plan_purge, purge_log
from amplifier_module_context_persistent.maintenance.purge_options import Purge, PurgeCounts
from tests.support.fakefs import FakeFiles, choosers
from tests.support.logs import (
    STAMP,
    append,
    append_bodies,
    assert_sound,
    body,
    content_of,
    findings,
    numbers,
    reset_bodies,
    saved_tails,
    sealed,
    stored_numbers,
    write_file,
)
from tests.support.places import ROOT
from tests.support.real_sessions import StartSession

HEADER = encode_control("header", version=1, session_id="s1")
EVERYTHING, CLEARED = Purge(everything=True), Purge(cleared=True)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "log.jsonl")


def before(number: int) -> Purge:
    return Purge(before=f"id-{number}")


def redact(pattern: str) -> Purge:
    return Purge(redact=re.compile(pattern))


def purged(path: str, purge: Purge, **options: Any) -> PurgeCounts:
    return purge_log(path, purge, now=lambda: STAMP, **options)


def keep(first: int, last: int) -> bytes:
    return encode_control("keep", **{"from": f"id-{first}", "to": f"id-{last}"})


def plan(upto: int, *runs: tuple[int, int], notice: str = "") -> bytes:
    named = [[f"id-{first}", f"id-{last}"] for first, last in runs]
    return encode_control("plan", id=f"p{upto}", upto=f"id-{upto}", keep=named, cuts={}, notice=notice)


def write_log(path: str, *bodies: bytes) -> None:
    append_bodies(FileLog(path), HEADER, *bodies)


def kinds(path: str) -> list[str]:
    """The kind of each record: of messages, their number."""
    values = map(json.loads, content_of(path).splitlines())
    return [value["_record"] if "_record" in value else value["metadata"]["message_id"][3:] for value in values]


def messages(path: str) -> list[dict[str, Any]]:
    log = FileLog(path)
    log.follow()
    return list(log.read(log.index.live))


# -- what goes and what stays ------------------------------------------------------------------------------------------


def test_before_a_message_all_that_stands_before_it_goes(path: str) -> None:
    """The message stays with all behind it, byte for byte but for the checksums, and a `purge` record counts."""
    write_log(path, *map(body, range(5)))
    before_it = messages(path)
    counts = purged(path, before(3))
    assert (counts.messages_removed, counts.messages_kept) == (3, 2)
    assert kinds(path) == ["header", "3", "4", "purge"]
    assert messages(path) == before_it[3:]
    assert b"message 1" not in content_of(path)
    assert_sound(path)


def test_before_a_message_hidden_history_behind_it_stays_hidden(path: str) -> None:
    """Resets are fitted to what is left: their counts and their runs of kept records."""
    write_log(path, *map(body, range(6)), *reset_bodies("r", keep(0, 1), keep(2, 4), body(6)), body(7))
    purged(path, before(3))
    assert b'"count":2' in content_of(path)
    assert kinds(path) == ["header", "3", "4", "5", "reset", "keep", "6", "commit", "7", "purge"]
    assert stored_numbers(path) == [3, 4, 6, 7]
    assert findings(path) == []
    purged(path, before(7))
    assert kinds(path) == ["header", "7", "purge", "purge"]


def test_cleared_leaves_what_is_live_in_its_order(path: str) -> None:
    """Hidden messages and the resets that hid them go; the live order stays, whatever the order of the records."""
    write_log(path, *map(body, range(4)), *reset_bodies("r", body(8), keep(1, 2)), body(9))
    assert stored_numbers(path) == [8, 1, 2, 9]
    counts = purged(path, CLEARED)
    assert stored_numbers(path) == [8, 1, 2, 9]
    assert (counts.messages_removed, counts.controls_removed) == (2, 3)
    assert kinds(path) == ["header", "8", "1", "2", "9", "purge"]
    assert_sound(path)


def test_all_leaves_the_header(path: str) -> None:
    """Every message goes, with plans, usage and torn tails; the session's header stays, and the log goes on."""
    write_log(path, body(0), body(1), plan(1, (0, 1)), encode_control("usage", provider="p", model="m"))
    with open(path, "ab") as file:
        file.write(b"torn")
    append(FileLog(path), 2)
    with open(path, "ab") as file:
        file.write(b"torn again")
    counts = purged(path, EVERYTHING)
    assert kinds(path) == ["header", "purge"]
    assert (counts.messages_removed, counts.controls_removed, counts.saved_tails, counts.torn_bytes) == (3, 2, 1, 10)
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
    append(FileLog(path), 5)
    assert stored_numbers(path) == [5]
    assert_sound(path)


def test_a_plan_goes_with_the_messages_that_it_names(path: str) -> None:
    """A plan that keeps or covers up to what goes is void; one that names only what stays stays in force."""
    write_log(path, *map(body, range(5)), plan(4, (0, 0), (3, 4)), body(5), plan(5, (4, 5)))
    purged(path, before(2))
    assert kinds(path) == ["header", "2", "3", "4", "5", "plan", "purge"]
    purged(path, before(5))
    assert kinds(path) == ["header", "5", "purge", "purge"]


def test_cleared_never_puts_a_void_plan_in_force(path: str) -> None:
    """A plan from before a reset is void although all that it names is live; the one in force stays."""
    bodies = [*map(body, range(3)), plan(2, (0, 2)), *reset_bodies("r", keep(0, 2))]
    write_log(path, *bodies)
    purged(path, CLEARED)
    assert "plan" not in kinds(path)
    append_bodies(FileLog(path), plan(2, (1, 2)), *reset_bodies("e", keep(1, 2)), plan(2, (2, 2)))
    purged(path, CLEARED)
    assert kinds(path).count("plan") == 1
    log = FileLog(path)
    log.follow()
    assert log.index.plan is not None
    assert log.index.plan["keep"] == [["id-2", "id-2"]]


def test_receipts_of_views_go_with_what_they_stand_for(path: str) -> None:
    """A `view` record's hash stands for messages that it does not name, so it goes with them."""
    view = encode_control("view", hash="ab", upto="id-2")
    write_log(path, body(0), view, body(1), body(2), view)
    purged(path, redact("message 1"))
    assert kinds(path) == ["header", "0", "view", "1", "2", "purge"]
    purged(path, before(1))
    assert "view" not in kinds(path)


def test_an_id_that_is_not_live_is_refused(path: str) -> None:
    """Nothing is changed, and the message says what to do."""
    write_log(path, body(0), *reset_bodies("r"), body(1))
    content = content_of(path)
    for number in (0, 9):
        with pytest.raises(PurgeError, match="no live message has this id"):
            purged(path, before(number))
    assert content_of(path) == content


def test_where_nothing_goes_nothing_is_written(path: str) -> None:
    """The file is the same one, without another `purge` record."""
    write_log(path, body(0), body(1))
    inode = os.stat(path).st_ino
    for purge in (before(0), CLEARED, redact("absent")):
        assert purged(path, purge).is_nothing
    assert os.stat(path).st_ino == inode
    purged(path, EVERYTHING)
    assert purged(path, EVERYTHING).is_nothing


@pytest.mark.parametrize("purge", [before(2), CLEARED, redact("message"), EVERYTHING])
def test_a_plan_of_a_purge_tells_what_the_purge_does(path: str, purge: Purge) -> None:
    """`plan_purge` counts the same and writes nothing."""
    write_log(path, *map(body, range(4)), *reset_bodies("r", keep(1, 3)), plan(3, (2, 3)))
    content = content_of(path)
    planned = plan_purge(path, purge)
    assert content_of(path) == content
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
    assert purged(path, purge) == planned


def test_saved_tails_of_this_log_alone_are_removed(path: str) -> None:
    """Files of other names stay."""
    write_log(path, body(0), body(1))
    others = [path + ".torn-notes", path + "2.torn-5-00000000", path + ".torn-5-00000000.bak"]
    for name in [*others, path + ".torn-5-00000000", path + ".torn-77-0123abcd.2"]:
        write_file(name, b"x")
    assert purged(path, CLEARED).saved_tails == 2
    assert sorted(os.listdir(os.path.dirname(path))) == sorted(map(os.path.basename, [path, *others]))


# -- redacting ---------------------------------------------------------------------------------------------------------


def test_redaction_replaces_what_is_said_and_no_id(path: str) -> None:
    """Text, blocks, arguments (also those that are JSON text), keys in arguments and names' neighbours; ids stay."""
    call = {
        "role": "assistant",
        "content": [{"type": "text", "text": "the hunter2 key"}],
        "tool_calls": [
            {"id": "hunter2", "tool": "run", "arguments": {"id": "hunter2", "hunter2": ["a hunter2"]}},
            {"id": "b", "function": {"name": "run", "arguments": '{"p": "hunter2", "n": 1}'}},
        ],
        "metadata": {"note": "hunter2", "big": 2**80},
    }
    result = {"role": "tool", "tool_call_id": "hunter2", "name": "run", "content": "saw hunter2 and hunter2"}
    write_log(
        path,
        encode_message(call, message_id="hunter2", timestamp=STAMP),
        encode_message(result, message_id="id-1", timestamp=STAMP),
        plan(1, (1, 1), notice="said hunter2"),
        body(2),
    )
    counts = purged(path, redact("hunter2"))
    assert (counts.messages_redacted, counts.controls_redacted, counts.messages_kept) == (2, 1, 3)
    first, second, _ = messages(path)
    assert first["metadata"] == {"note": "[redacted]", "big": 2**80, "timestamp": STAMP, "message_id": "hunter2"}
    assert first["content"][0]["text"] == "the [redacted] key"
    assert first["tool_calls"][0]["id"] == second["tool_call_id"] == "hunter2"
    assert first["tool_calls"][0]["arguments"] == {"id": "[redacted]", "[redacted]": ["a [redacted]"]}
    assert first["tool_calls"][1]["function"]["arguments"] == '{"p": "[redacted]", "n": 1}'
    assert second["content"] == "saw [redacted] and [redacted]"
    assert content_of(path).count(b"hunter2") == 3  # the message's id, the call's, and the result's reference
    assert_sound(path)


def test_signed_thinking_that_would_change_is_left_out(path: str) -> None:
    """A provider refuses thinking that does not fit its signature; other thinking stays with its signature."""

    def thought(text: str) -> dict[str, Any]:
        return {"type": "thinking", "thinking": text, "signature": "hunter2=="}

    for number, text in enumerate(("about hunter2", "about tea")):
        message = {"role": "assistant", "content": [thought(text)], "thinking_block": thought(text)}
        append_bodies(FileLog(path), encode_message(message, message_id=f"id-{number}", timestamp=STAMP))
    write_file(path + ".torn-1-00000000", b"hunter2")
    purged(path, redact("hunter2"))
    changed, same = messages(path)
    assert changed["content"] == [{"type": "text", "text": "[redacted]"}]
    assert "thinking_block" not in changed
    assert saved_tails(path) == []
    assert same["content"][0]["thinking"] == "about tea"


def test_the_purge_record_does_not_hold_the_pattern(path: str) -> None:
    """The pattern may be the secret itself."""
    write_log(path, body(0, text=" hunter2"))
    purged(path, redact("hunter2"))
    assert b"hunter2" not in content_of(path)


# -- older and damaged logs --------------------------------------------------------------------------------------------


def test_messages_of_the_older_module_keep_their_ids(path: str) -> None:
    """An id that was derived from a message's place is written down, since its place changes."""
    write_file(path, b"".join(b'{"role":"user","content":"message %d"}\n' % number for number in range(3)))
    old = messages(path)
    purged(path, Purge(before=old[1]["metadata"]["message_id"]))
    assert messages(path) == old[1:]
    assert_sound(path)


def test_bytes_that_are_no_record_stay_and_damage_is_counted(path: str) -> None:
    """What cannot be read cannot be judged, so it stays where it was; altered messages are kept and counted."""
    lines = sealed([HEADER, *map(body, range(5))])
    lines[4] = lines[4].replace(b"message 3", b"message 8")
    content = [*lines[:3], b"no json\n", *lines[3:5], b'{"role":"us' + lines[5]]
    write_file(path, b"".join(content))
    counts = purged(path, before(1))
    assert (counts.messages_removed, counts.unreadable_kept, counts.altered_kept) == (1, 2, 2)
    assert stored_numbers(path) == [1, 2, 8, 4]
    assert [found.kind for found in findings(path)] == ["unreadable", "unreadable"]
    counts = purged(path, before(3))
    assert (counts.unreadable_removed, counts.unreadable_kept) == (1, 1)
    purged(path, EVERYTHING)
    assert_sound(path)


def test_what_cannot_be_carried_over_is_refused(path: str) -> None:
    """A damaged frame of a reset, for all but --cleared and --all: nothing is changed, and it says what works."""
    lines = sealed([HEADER, *map(body, range(3)), *reset_bodies("r", keep(0, 1)), body(3), body(4)])
    lines[6] = lines[6].replace(b"commit", b"comnit")[:-30] + b"\n"
    write_file(path, b"".join(lines))
    content, live = content_of(path), stored_numbers(path)
    for purge in (before(4), redact("message")):
        with pytest.raises(PurgeError, match="--all"):
            purged(path, purge)
    assert content_of(path) == content
    assert os.listdir(os.path.dirname(path)) == ["log.jsonl"]
    purged(path, CLEARED)
    assert stored_numbers(path) == live


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_history_is_purged_to_what_a_list_says(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Through appends and resets, each purge leaves live what a plain list says, in a sound log."""
    path = str(tmp_path_factory.mktemp("purge") / "log.jsonl")
    log, live, number = FileLog(path), [0], 1
    append(log, 0)
    for _ in range(data.draw(st.integers(1, 6))):
        action = data.draw(st.sampled_from(["append", "reset", "before", "cleared", "redact"]))
        if action == "append":
            append(log, number)
            live.append(number)
        elif action == "reset" and live:
            start = data.draw(st.integers(0, len(live) - 1))
            stop = data.draw(st.integers(start, len(live) - 1))
            append_bodies(log, *reset_bodies(f"r{number}", body(number), keep(live[start], live[stop])))
            live = [number, *live[start : stop + 1]]
        elif action == "before":
            place = data.draw(st.integers(0, len(live) - 1))
            purged(path, before(live[place]))
            live = live[place:]
        else:
            purged(path, CLEARED if action == "cleared" else redact("zzz"))
        number += 1
        assert numbers(log) == stored_numbers(path) == live
        assert_sound(path)


# -- the file ----------------------------------------------------------------------------------------------------------


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


# -- with others -------------------------------------------------------------------------------------------------------


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


def test_purges_beside_writers_that_are_killed_lose_nothing(path: str) -> None:
    """While processes append and are killed, the log is purged again and again: all they acknowledged is there."""
    command = [sys.executable, "-m", "tests.support.writer", path, "--kills", "24", "--writers", "2", "--seed", "11"]
    root = str(ROOT)
    purges, notes = 0, path + ".notes"
    with open(notes, "w") as output, subprocess.Popen(command, cwd=root, stdout=output) as writing:
        while writing.poll() is None:
            if os.path.exists(path):
                purges += not purged(path, redact("x{9,}")).is_nothing
    told = [json.loads(line) for line in content_of(notes).splitlines()]
    assert writing.returncode == 0
    assert len(told) == 24
    stored = stored_numbers(path)
    assert len(set(stored)) == len(stored)
    for one in told:
        own = [number for number in stored if number in set(one["begun"])]
        assert set(one["acknowledged"]) <= set(own)
        assert own == one["begun"][: len(own)]
    assert findings(path) == []
    assert purges > 0
    print(f"purges beside writers: {purges}, acknowledged: {sum(len(one['acknowledged']) for one in told)}")


def test_who_appends_behind_a_purge_syncs_the_directory(tmp_path: Path) -> None:
    """The purger may have died before the new name was synced; an acknowledged append must not go with it."""
    root, target = tmp_path / "root", tmp_path / "target"
    root.mkdir()
    target.mkdir()
    path = str(root / "log.jsonl")
    files = FakeFiles()
    log = FileLog(path, files=files)
    append(log, 0, 1)
    files.fail("sync_directory")
    with pytest.raises(LogFailedError, match="run the purge again"):
        purged(path, before(1), files=files)
    files.heal()
    append(log, 2)
    files.power_cut(str(root), str(target))
    assert stored_numbers(str(target / "log.jsonl")) == [1, 2]


def test_a_purge_waits_for_the_lock(path: str) -> None:
    """A writer that holds it is named after the deadline, and nothing is changed."""
    log = FileLog(path)
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


# -- faults ------------------------------------------------------------------------------------------------------------

OLD, NEW = [0, 1, 2, 3], [2, 3]


def torn_log(path: str) -> None:
    append(FileLog(path), 0, 1)
    with open(path, "ab") as file:
        file.write(b"torn")
    append(FileLog(path), 2, 3)


@pytest.mark.parametrize("forever", [False, True])
@pytest.mark.parametrize("code", [5, 28])
def test_every_call_of_a_purge_may_fail(tmp_path: Path, forever: bool, code: int) -> None:
    """Fail the n-th call for n = 1, 2, 3 …: the old log or the new one is there, whole, and the error says which."""
    nth, reached = 0, True
    while reached:
        nth += 1
        directory = tmp_path / str(nth)
        directory.mkdir()
        path = str(directory / "log.jsonl")
        torn_log(path)
        files = FakeFiles()
        fault = files.fail(nth=nth, code=code, forever=forever)
        try:
            purged(path, before(2), files=files)
            expected = [NEW]
        except AppendError:
            expected = [OLD]
        except LogFailedError:
            expected = [NEW]
        except LogError:
            expected = [OLD]
        reached = fault.seen >= nth
        assert stored_numbers(path) in expected
        assert_sound(path)
        assert findings(path) == []
        log = FileLog(path, lock_timeout_s=1)
        append(log, 9)
        assert stored_numbers(path) == [*expected[0], 9]
        purged(path, before(3))
        assert os.listdir(directory) == ["log.jsonl"]
        log.close()
    assert nth > 15
    print(f"I/O operations of a purge failed: {nth - 1}")


@pytest.mark.parametrize("short", [0, 10])
def test_a_short_write_is_refused(path: str, short: int) -> None:
    """The log is what it was, and nothing is left beside it."""
    torn_log(path)
    content, listed = content_of(path), os.listdir(os.path.dirname(path))
    files = FakeFiles()
    files.fail("write", short=short)
    with pytest.raises(AppendError, match="the log is what it was"):
        purged(path, before(2), files=files)
    assert content_of(path) == content
    assert os.listdir(os.path.dirname(path)) == listed


def test_a_power_cut_at_any_call_leaves_the_old_log_or_the_new_one(tmp_path: Path) -> None:
    """With the power cut at each call of a purge, in many states of the disk: never neither, never a mixture."""
    images, seen = 0, set()
    for nth in range(1, 200):
        root = tmp_path / f"{nth}"
        root.mkdir()
        path = str(root / "log.jsonl")
        torn_log(path)
        files = FakeFiles()
        fault = files.fail(nth=nth, forever=True)
        acknowledged = True
        try:
            purged(path, before(2), files=files)
        except LogError:
            acknowledged = False
        for chooser in (None, *choosers(7)):
            target = tmp_path / f"{nth}-{images}"
            target.mkdir()
            files.power_cut(str(root), str(target), chooser)
            image = str(target / "log.jsonl")
            stored = stored_numbers(image)
            assert stored in ([NEW] if acknowledged else [OLD, NEW])
            assert findings(image) == []
            assert saved_tails(image) or stored == NEW  # they go when nothing can bring the old log back
            append(FileLog(image), 9)
            assert stored_numbers(image) == [*stored, 9]
            assert_sound(image)
            seen.add(tuple(stored))
            images += 1
        if fault.seen < nth:
            break
    else:
        raise AssertionError("the purge did not end")
    assert seen == {tuple(OLD), tuple(NEW)}
    print(f"power cuts of a purge: {nth}, crash images: {images}")
