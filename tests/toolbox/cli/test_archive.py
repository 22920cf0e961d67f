"""`context-persistent archive`: what every command says of an archived session is what it said before."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue.catalogue_file import Catalogue, catalogue_of
from amplifier_module_context_persistent.catalogue.log_coverage import WORDS, covered_by_path, name_of
from amplifier_module_context_persistent.errors import DamagedArchiveError
from amplifier_module_context_persistent.log.archive_log import archive_log
from amplifier_module_context_persistent.log.file_handle import FileHandle, is_archived
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.sessions.transcript import Transcript
from fixtures.generate import generate_session
from tests.support.all_answers import answers
from tests.support.archives import content_of_log, small_frames
from tests.support.commands import refused, run, shows
from tests.support.counted_sessions import CountedReads
from tests.support.messages import user
from tests.support.places import TRANSCRIPTS
from tests.support.recorded_sessions import Recorded
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("project")

KEY = "sk-leaked-0123456789"


@cache
def generated(seed: int, count: int) -> tuple[dict[str, Any], ...]:
    """Messages that no test changes: to make them takes longer than most commands."""
    return tuple(generate_session(seed, count))


def large(name: str, seed: int = 1, *, key: str = "") -> Path:
    """A session of some 100 kB; one message may hold a key."""
    messages = [*generated(seed, 120)]
    if key:
        messages[60:60] = [user(f"my key is {key}"), {"role": "assistant", "content": "Thank you."}]
    path = write(log_of(name), messages)
    path.chmod(0o600)
    return path


async def recorded(name: str, seed: int = 5) -> Path:
    """A session with views, plans and a clear."""
    session = Recorded(log_of(name))
    messages = generated(seed, 90)
    for start in range(0, 90, 15):
        await session.add(*messages[start : start + 15])
        await session.view()
        if start == 15:
            await session.manager.clear()
    await session.manager.close()
    return log_of(name)


# -- the same answers --------------------------------------------------------------------------------------------------


async def test_every_command_says_the_same_of_an_archived_session() -> None:
    """Also with what the catalogue kept of the plain log; and the log comes back byte for byte."""
    path = await recorded("one")
    content, before = path.read_bytes(), answers("one")
    with small_frames(20_000, 5_000):
        archive_log(str(path))
    assert answers("one") == before
    run("archive", "--undo", "one", "--yes")
    assert path.read_bytes() == content


@proof
async def test_it_does_so_without_a_catalogue_too() -> None:
    """And once it was brought back."""
    paths = [await recorded("one"), large("two")]
    before = answers("two")
    with small_frames(20_000, 5_000):
        for path in paths:
            archive_log(str(path))
    os.remove(catalogue_of(paths[0]))
    assert answers("two") == before
    run("archive", "--undo", "one", "two", "--yes")
    assert answers("two") == before


@proof
@pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="needs ../shared/transcripts")
def test_twenty_real_sessions_come_back_byte_for_byte() -> None:
    """Their sizes are printed."""
    sources = sorted(path for path in TRANSCRIPTS.rglob("*.jsonl"))[:20]
    for source in sources:
        run("import", source, code=None)
    logs = sorted(Path.home().glob(".amplifier/projects/*/sessions/*/context-messages.jsonl"))
    content = [log.read_bytes() for log in logs]
    run("stats", "--all")  # sums of seconds are rounded otherwise once they are kept
    before = answers()
    told = json.loads(run("archive", "--everything", "--yes", "--json").stdout)
    assert len(told["archived"]) == len(logs) >= 16
    assert [content_of_log(log) for log in logs] == content
    assert answers() == before
    sizes = [sum(one[key] for one in told["archived"]) for key in ("bytes_before", "bytes_after")]
    print(f"archived sessions: {len(logs)}; bytes: {sizes[0]}; archived: {sizes[1]}")
    assert sizes[1] < 0.3 * sizes[0]
    run("archive", "--undo", "--everything", "--yes")
    assert [log.read_bytes() for log in logs] == content


async def test_a_session_goes_on_with_the_same_view() -> None:
    """Mounted on an archived log it shows the bytes that it would have shown; its first message brings the log back."""
    path = await recorded("one")
    other = log_of("other")
    shutil.copytree(path.parent, other.parent)
    archive_log(str(path))
    views, lives = [], []
    for log in (path, other):
        manager = PersistentContextManager(log, tokenizer="estimate", max_tokens=4_000)
        lives.append(await manager.get_messages())
        views.append(await manager.get_messages_for_request())
        assert is_archived(path) == (log == path)
        await manager.add_message(user("go on"))
        views.append(await manager.get_messages_for_request())
        lives.append(await manager.get_messages())
        await manager.close()
        assert not is_archived(path)
    assert lives[0] == lives[2]
    assert [len(live) for live in lives[:2]] == [len(live) for live in lives[2:]]
    assert views[0] == views[2]
    assert [one["content"] for one in views[1]] == [one["content"] for one in views[3]]
    run("verify", "one")


@proof
def test_what_the_catalogue_knows_stays_known() -> None:
    """A search need not read an archived log again, nor one that was brought back."""
    path = large("one", seed=3)
    with closing(FileLog(str(path))) as log:
        log.follow()
    paths = [path, *(large(f"more-{n}", seed=n) for n in range(10, 16))]
    for log in paths:
        os.utime(log, (10**9, 10**9))
    run("search", "nowhere-to-be-found", "--all", code=1)
    read = CountedReads()
    for change in (("archive",), ("archive", "--undo")):
        run(*change, "--everything", "--yes")
        with Transcript(path, files=read) as transcript:
            assert transcript.reader.index

        with Catalogue(catalogue_of(path)).reading() as connection:
            known = covered_by_path(connection, WORDS)
        assert all(known[name_of(log)].is_whole_of(log) for log in paths)


# -- which sessions, and what is said ----------------------------------------------------------------------------------


def test_a_dry_run_names_what_would_stay() -> None:
    """A torn end and a second name are found without reading the logs."""
    torn, linked, sound = (large(name, seed) for seed, name in enumerate(("torn", "linked", "sound")))
    torn.write_bytes(torn.read_bytes() + b'{"role":"user"')
    os.link(linked, linked.with_name("other"))
    os.link(sound, sound.with_name(f"{sound.name}.0123abcd.part"))  # by a writer that was killed
    told = json.loads(run("archive", "--all", "--everything", "--dry-run", "--json").stdout)
    assert {Path(one["path"]).parent.name for one in told["kept"]} == {"torn", "linked"}
    assert [Path(one["path"]).parent.name for one in told["archived"]] == ["sound"]
    asked = run("archive", "--all", "--everything", answer="n\n", code=None).output
    shows(asked, f"stays as it is: {torn}", f"stays as it is: {linked}", "Archive 1 session?")
    done = json.loads(run("archive", "--all", "--everything", "--yes", "--json", code=None).stdout)
    assert [one["refused"] for one in done["kept"]] == [one["refused"] for one in told["kept"]]
    assert sound.read_bytes()[:4] != torn.read_bytes()[:4]


def test_filters_choose_and_what_is_freed_is_said() -> None:
    """Small logs are passed over unless they are named; what is archived already is left."""
    old, new = large("old"), large("new", seed=2)
    small = write(log_of("small"))
    new.write_bytes(new.read_bytes().replace(b"2026-01-05", b"2026-11-05"))
    told = run("archive", "--older", "2026-06-01", "--dry-run").stdout
    shows(told, "old: ", "archived about", "1 session", "frees about", "--dry-run")
    assert not is_archived(old)
    told = run("archive", "--older", "2026-06-01", answer="y\n").stdout
    shows(told, "Archive 1 session?", "Archived 1 session", "became")
    assert is_archived(old)
    assert not is_archived(new)
    shows(run("list").stdout, "archived", "sound")
    told = json.loads(run("archive", "--everything", "--yes", "--json").stdout)
    assert [one["session"] for one in told["archived"]] == ["new"]
    assert told["freed_bytes"] == told["archived"][0]["bytes_before"] - new.stat().st_size > 0
    assert not is_archived(small)
    run("archive", "small", "--yes")
    assert is_archived(small)
    shows(run("archive", "--everything", "--yes").stdout, "no session to archive")
    shows(run("archive", "--undo", "--everything", "--yes").stdout, "Brought back 3 sessions")
    assert not any(map(is_archived, (old, new, small)))


def test_older_says_which_sessions_have_no_times() -> None:
    """They were written now; named, they are archived."""
    log = log_of("untimed")
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps(user(f"{number}: {'a word ' * 99}")) + "\n" for number in range(99)))
    told = run("archive", "--older", "90d", "--yes")
    shows(told.stderr, "left out: 1 session whose messages have no times", "name them to mean them: untimed")
    shows(run("prune", "--older", "90d", "--yes").stderr, "left out: 1 session whose messages have no times")
    run("archive", "untimed", "--yes")
    assert is_archived(str(log))


def test_something_has_to_say_which_sessions() -> None:
    large("one")
    shows(refused("archive", "--yes"), "this would mean all sessions of this project", "--older")
    shows(refused("archive", "one", "--all", "--yes"), "give it without SESSION")
    shows(run("archive", "one", code=2).stderr, "nothing was done")
    shows(refused("archive", "one", "--json"), "--yes or --dry-run")


async def test_an_open_session_stays() -> None:
    """It is named, and the others are archived."""
    large("other")
    path = large("one")
    manager = PersistentContextManager(path, tokenizer="estimate")
    await manager.add_message(user("at work"))
    done = run("archive", "--everything", "--yes", code=1)
    shows(done.stdout, "stays as it is", "open", "Archived 1 session")
    assert not is_archived(path)
    await manager.close()
    run("archive", "one", "--yes")
    assert is_archived(path)


def test_a_session_goes_with_its_sub_agents() -> None:
    paths = [large("one"), large("one-0001_agent", seed=2)]
    run("archive", "one", "--yes")
    assert all(map(is_archived, paths))


# -- erasing -----------------------------------------------------------------------------------------------------------


@proof(quick=1)
@pytest.mark.parametrize("how", ["redact", "everything", "delete"])
def test_nothing_of_a_text_is_left(how: str) -> None:
    """In no file, compressed or not; what is left is archived again."""
    path = large("one", key=KEY)
    other = large("two", seed=4)
    run("search", KEY, "--all")
    run("archive", "--everything", "--yes")
    if how == "redact":
        run("purge", "--redact", KEY, "--all", "--yes")
    elif how == "everything":
        run("purge", "one", "--everything", "--yes")
    else:
        run("delete", "one", "--yes")
    if how == "delete":
        assert not path.exists()
    else:
        assert is_archived(path)
        assert KEY.encode() not in content_of_log(path)
        run("verify", "one")
    for file in Path.home().rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()
    run("search", KEY, "--all", "--hidden", code=1)
    assert is_archived(other)
    assert not [name for name in os.listdir(other.parent) if name != other.name]


def test_no_export_takes_the_place_of_an_archived_log() -> None:
    path = large("one")
    archive_log(str(path))
    shows(refused("export", "one", "-o", path, "--force"), "log")
    assert is_archived(path)


def test_a_copy_is_plain_and_an_archive_can_be_imported() -> None:
    """Also the bare file, which another machine may have been given."""
    path = large("one")
    content = path.read_bytes()
    run("archive", "one", "--yes")
    run("copy", "one", "copy.jsonl")
    assert Path("copy.jsonl").read_bytes() == content
    shutil.copy(path, "given.jsonl")
    run("delete", "one", "--yes")
    run("import", "given.jsonl", "--again")
    with Transcript(log_of("one") if log_of("one").exists() else "given.jsonl") as transcript:
        assert len(transcript) == 120


# -- damage, and sizes -------------------------------------------------------------------------------------------------


def test_a_damaged_frame_is_told_with_its_place() -> None:
    """The rest is shown."""
    path = large("one")
    with small_frames(20_000, 5_000):
        archive_log(str(path))
    packed = bytearray(path.read_bytes())
    packed[len(packed) // 2] ^= 255
    path.write_bytes(packed)
    told = json.loads(run("verify", "one", "--json", code=1).stdout)["logs"][0]
    found = [one for one in told["damage"] if one["kind"] == "archive_frame"]
    assert len(found) == 1
    shows(found[0]["detail"], "frame ", "of the file", "of the log")
    assert told["damage"] == found
    shows(run("verify", "one", code=1).stdout, "damage: 1", "a part of the archive cannot be read: frame ")
    assert 80 < told["messages"]["total"] < 120
    shows(run("list").stdout, "damaged")
    run("show", "one", code=None)
    shows(run("archive", "--undo", "one", "--yes", code=2).stderr, "NOT BROUGHT BACK", "is damaged")
    told = run("copy", "one", "copy.jsonl", code=1)
    shows(told.output, "DAMAGED: ", "frame ", "a copy has the damage too", "read back and the same")
    assert "frame " in json.loads(run("copy", "one", "other.jsonl", "--json", code=1).stdout)["damage"]
    assert path.read_bytes() == packed


@pytest.mark.parametrize("frames", [1, 2])
def test_an_archive_without_a_sound_frame_is_damaged_and_no_stranger(frames: int) -> None:
    """Each command names the place and a backup; nothing is changed, and the session does not begin anew."""
    path = large("one")
    size = path.stat().st_size
    with small_frames(size // frames + 2_000 * (frames - 1), 1_000) if frames > 1 else small_frames(size + 1, size):
        archive_log(str(path))
    packed = bytearray(path.read_bytes())
    handle = FileHandle(path)
    assert handle.open(create=False)
    assert handle.archive is not None
    assert len(handle.archive.frames) == frames
    for frame in handle.archive.frames:
        packed[frame.at + 12] ^= 255
    handle.close()
    path.write_bytes(packed)
    place = f"the archive is damaged: frame 1 of {frames}, bytes"
    told = json.loads(run("verify", "one", "--json", code=1).stdout)["logs"][0]
    assert told["status"] == "damaged"
    assert [one["kind"] for one in told["damage"]] == ["archive_frame"] * frames
    shows(run("verify", "one", code=1).stdout, f"frame 1 of {frames}, bytes", "put a backup in its place")
    shows(run("list").stdout, place)
    ways = [
        ("show", "one"),
        ("copy", "one", "copy.jsonl"),
        ("export", "one"),
        ("fork", "one"),
        ("import", str(path)),
    ]
    for words in [*ways, ("purge", "one", "--redact", KEY, "--yes")]:
        result = run(*words, code=None)
        assert result.exit_code != 0, words
        shows(result.output, place, "put a backup in its place")
        assert "not a log" not in result.output
    with pytest.raises(DamagedArchiveError, match=place):
        asyncio.run(_opened(path))
    assert path.read_bytes() == packed
    deleted = run("delete", "one", "--yes", code=1)
    shows(deleted.output, "NOT NOTED", "its archive was damaged")
    assert not path.exists()


async def _opened(path: Path) -> None:
    async with PersistentContextManager(str(path)) as manager:
        await manager.get_messages()


def test_du_counts_what_the_file_takes() -> None:
    """Its kinds share the size of the archive, and what archiving would free of the others is about right."""
    paths = [large("one"), large("two", seed=2)]
    plain = json.loads(run("du", "--json").stdout)["total"]
    assert plain["bytes"] == plain["unpacked_bytes"] == sum(path.stat().st_size for path in paths)
    shows(run("du").stdout, "`archive` would free about")
    run("archive", "--everything", "--yes")
    packed = json.loads(run("du", "--json").stdout)["total"]
    assert packed["bytes"] == sum(packed["kinds"].values()) == sum(path.stat().st_size for path in paths)
    assert packed["unpacked_bytes"] == plain["unpacked_bytes"]
    assert packed["archive_frees_bytes"] == 0
    assert plain["archive_frees_bytes"] == pytest.approx(plain["bytes"] - packed["bytes"], rel=0.02)
    shows(run("du").stdout, "would take")


def test_a_directory_of_sessions_is_archived_as_with_in(tmp_path: Path) -> None:
    """So a stick is made smaller; a sync goes on with the archived copies. All of it needs a word."""
    large("one")
    stick = tmp_path / "stick"
    stick.mkdir()
    run("sync", stick)
    (copy,) = stick.rglob("context-messages.jsonl")
    shows(refused("archive", stick), "--everything if all are meant")
    run("archive", stick, "--everything", "--yes")
    assert is_archived(copy)
    assert not is_archived(log_of("one"))
    assert "1 session in step" in run("sync", stick).output
    run("archive", "--undo", stick, "--everything", "--yes")
    assert copy.read_bytes() == log_of("one").read_bytes()


@pytest.mark.parametrize("size", [9, 40])
def test_an_archive_that_is_cut_in_its_head_is_named_as_one(size: int) -> None:
    """It is no file of another kind, and can be deleted."""
    log = large("cut")
    run("archive", "cut", "--yes")
    log.write_bytes(log.read_bytes()[:size])
    what = f"the archive is damaged: it is cut after {size} bytes; put a backup in its place, or delete the session"
    assert what in run("verify", "cut", code=2).output
    shows(run("archive", "cut", "--undo", "--yes", code=2).output, "stays as it is", "its end is cut off")
    run("delete", "cut", "--yes", code=1)  # its messages cannot be noted
    assert not log.exists()


def test_an_archive_without_a_line_that_can_be_read_is_not_said_to_have_others() -> None:
    log = large("cut")
    run("archive", "cut", "--yes")
    log.write_bytes(log.read_bytes()[:250])
    told = run("verify", "cut", code=1).output
    assert "no line of the log can be read; put a backup in its place, or delete the session" in told
    assert "all other lines" not in told
    assert "nothing is lost" not in told
