"""Two homes and a stick are brought in step: nothing is lost or merged, and logs are the same byte for byte."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.archive_log import archive_log
from amplifier_module_context_persistent.log.database_location import location_of
from amplifier_module_context_persistent.log.file_handle import is_archived
from amplifier_module_context_persistent.log.open_log import open_log
from amplifier_module_context_persistent.log.open_mark import mark_path
from amplifier_module_context_persistent.paths import LOG_NAME, project_slug
from amplifier_module_context_persistent.sessions.session_files import SessionFile
from amplifier_module_context_persistent.toolbox.maintenance.note_beside_log import MAKING, WrittenFiles
from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup.sync_step import pairs_of
from tests.support.archives import content_of_log
from tests.support.claude_entries import answers, says, text
from tests.support.sweeps import proof
from tests.support.two_homes import Home, carry, files_below, holders

KEY = "sk-leaked-0123456789"


def test_a_session_goes_over_a_stick_and_back(laptop: Home, desktop: Home, stick: Path) -> None:
    """It goes on there, under the same id, in the checkout of the same repository; logs are the same byte for byte."""
    laptop.says("talk", "one", "two")
    assert "new" in laptop.run("sync", stick).output
    desktop.run("sync", stick)
    assert desktop.log("talk").parents[2].name.endswith("work-name")
    assert desktop.log("talk").read_bytes() == laptop.log("talk").read_bytes()
    desktop.says("talk", "three")
    carry(stick, desktop, laptop)
    assert laptop.texts("talk") == ["one", "two", "three"]
    assert laptop.log("talk").read_bytes() == desktop.log("talk").read_bytes()
    assert "1 session in step" in laptop.run("sync", stick).output


def test_a_dry_run_writes_nothing(laptop: Home, stick: Path) -> None:
    laptop.says("talk", "one")
    before = files_below(laptop.root)
    told = laptop.run("sync", stick, "--dry-run").output
    assert "talk: new" in told
    assert "Nothing was done" in told
    assert files_below(stick) == {}
    assert files_below(laptop.root) == before


def test_a_host_lists_what_came(laptop: Home, desktop: Home, stick: Path) -> None:
    """It finds a session by its metadata; a stick has no second copy of the messages."""
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    assert {path.name for path in desktop.log("talk").parent.iterdir()} >= {"metadata.json", "transcript.jsonl"}
    assert not list(stick.rglob("transcript.jsonl"))
    laptop.says("talk", "two")
    carry(stick, laptop, desktop)
    assert len(desktop.log("talk").with_name("transcript.jsonl").read_text().splitlines()) == 4


def test_a_session_that_went_on_on_both_sides_is_not_merged(laptop: Home, desktop: Home, stick: Path) -> None:
    """It is told where they part, and the exit code is 1."""
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    laptop.says("talk", "from the laptop")
    desktop.says("talk", "from the desktop")
    carry(stick, laptop)
    before = files_below(desktop.root), files_below(stick)
    told = desktop.run("sync", stick, code=1)
    assert "turn 2" in told.output
    assert "--keep both" in told.output
    assert (files_below(desktop.root), files_below(stick)) == before


def test_both_histories_are_kept_and_the_sides_are_in_step(laptop: Home, desktop: Home, stick: Path) -> None:
    """One keeps the id, the other one is a fork; the third place follows by itself, and both go on."""
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    laptop.says("talk", "from the laptop")
    desktop.says("talk", "from the desktop")
    carry(stick, laptop)
    desktop.run("sync", stick, "--keep", "both")
    desktop.run("sync", stick)
    carry(stick, laptop)
    assert laptop.sessions() == desktop.sessions()
    fork = next(session for session in laptop.sessions() if session != "talk")
    for home in (laptop, desktop):
        assert home.texts("talk") == ["one", "from the desktop"]
        assert home.texts(fork) == ["one", "from the laptop"]
        home.run("verify", "--all")
    laptop.says("talk", "and on")
    carry(stick, laptop, desktop)
    assert desktop.texts("talk")[-1] == "and on"


def test_a_fork_that_keeps_a_history_holds_what_is_hidden(laptop: Home, desktop: Home, stick: Path) -> None:
    """So the copy that it stands for may be replaced."""
    laptop.says("talk", "one", "two", "three")
    carry(stick, laptop, desktop)
    laptop.run("rewind", "talk", "--to", "1", "--yes")
    desktop.says("talk", "four")
    carry(stick, laptop)
    desktop.run("sync", stick, "--keep", "both")
    fork = next(session for session in desktop.sessions() if session != "talk")
    assert desktop.texts(fork) == ["one"]
    assert "three" in desktop.run("search", "three", "--hidden", fork).output
    assert desktop.run("verify", fork).exit_code == 0


def test_a_dry_run_says_what_would_be_done(laptop: Home, desktop: Home, stick: Path) -> None:
    """How many sessions, and which history becomes which session; or that there is nothing new."""
    laptop.says("talk", "one")
    assert "1 session would be brought in step, 0 are so already" in laptop.run("sync", stick, "--dry-run").output
    carry(stick, laptop, desktop)
    assert "Nothing is new: 1 session in step" in laptop.run("sync", stick, "--dry-run").output
    laptop.says("talk", "from the laptop")
    desktop.says("talk", "from the desktop")
    carry(stick, laptop)
    told = desktop.run("sync", stick, "--dry-run", "--keep", "both").output
    assert f"the history in {stick} becomes the session" in told
    assert "the one here keeps the id" in told
    assert "0B" not in told


def test_marks_of_open_logs_that_a_killed_sync_left_are_removed(laptop: Home, stick: Path) -> None:
    """The log has nothing new, so nothing else of the sync comes there."""
    laptop.says("talk", "one")
    carry(stick, laptop)
    marks = [Path(mark_path(str(log))) for log in (laptop.log("talk"), next(stick.rglob(LOG_NAME)))]
    for mark in marks:
        mark.touch()
    carry(stick, laptop)
    assert not any(mark.exists() for mark in marks)


def test_what_cannot_be_read_is_named_and_the_others_go_on(laptop: Home, desktop: Home, stick: Path) -> None:
    """Also if something is to be erased: the erasure is tried again by the next sync."""
    laptop.says("talk", f"my key is {KEY}")
    laptop.says("bad", "one")
    carry(stick, laptop)
    bad = next(path for path in stick.rglob(LOG_NAME) if path.parent.name == "bad")
    kept = bad.read_bytes()
    bad.unlink()
    bad.mkdir()
    laptop.run("purge", "talk", "--redact", KEY, "--yes")
    told = laptop.run("sync", stick, "--yes", code=1)
    assert "bad" in told.output
    assert holders(stick, KEY) == []
    bad.rmdir()
    bad.write_bytes(kept)
    laptop.run("sync", stick, "--yes")


def test_a_filter_chooses_and_a_sub_agent_goes_along(laptop: Home, stick: Path) -> None:
    for session in ("talk", "talk-1_helper", "other"):
        laptop.says(session, "one")
    laptop.run("sync", stick, "--name", "talk")
    assert {path.parent.name for path in stick.rglob(LOG_NAME)} == {"talk", "talk-1_helper"}


def test_another_project_needs_all(laptop: Home, stick: Path, tmp_path: Path) -> None:
    laptop.says("talk", "one")
    elsewhere = Home(tmp_path / "laptop", "elsewhere")
    (elsewhere.checkout / ".git" / "config").write_text("")
    assert "--all" in elsewhere.run("sync", stick, code=2).output
    assert files_below(stick) == {}
    elsewhere.run("sync", stick, "--all")
    assert [path.parent.name for path in stick.rglob(LOG_NAME)] == ["talk"]


def test_the_second_machine_finds_what_was_imported_on_the_first_one(
    laptop: Home, desktop: Home, stick: Path, tmp_path: Path
) -> None:
    """An import names the git remote of the checkout as an agent does, so the other checkout has its sessions."""
    source = tmp_path / "messages.jsonl"
    source.write_text('{"role": "user", "content": "where is the cart?"}\n')
    laptop.run("import", source)
    carry(stick, laptop)
    assert "1 session brought in step" in desktop.run("sync", stick).output
    assert desktop.log(desktop.sessions()[0]).parents[2].name == project_slug(desktop.checkout)
    assert "where is the cart?" in desktop.run("list").output


def test_two_imports_of_one_source_that_both_went_on_have_parted(
    laptop: Home, desktop: Home, stick: Path, tmp_path: Path
) -> None:
    """They are told as such, and both histories can be kept."""
    source = tmp_path / "messages.jsonl"
    source.write_text('{"role": "user", "content": "where is the cart?"}\n')
    for home in (laptop, desktop):
        home.run("import", source, "--session", "talk")
        home.says("talk", f"from the {home.root.name}")
    carry(stick, laptop)
    assert "they part at record 3 (turn 2)" in desktop.run("sync", stick, code=1).output
    desktop.run("sync", stick, "--keep", "both")
    carry(stick, laptop, desktop)
    assert "Nothing is new" in laptop.run("sync", stick).output
    fork = next(session for session in laptop.sessions() if session != "talk")
    for home in (laptop, desktop):
        assert home.texts("talk") == ["where is the cart?", "from the desktop"]
        assert home.texts(fork) == ["where is the cart?", "from the laptop"]


def test_sessions_that_name_no_remote_are_named_with_their_project(laptop: Home, desktop: Home, stick: Path) -> None:
    """By a sync that means none of them, and later by the commands in the other checkout that find none."""
    config = laptop.checkout / ".git" / "config"
    remote, project = config.read_text(), project_slug(laptop.checkout)
    config.write_text("")
    laptop.says("talk", "one")
    laptop.says("other", "two")
    carry(stick, laptop)
    named = f"the project {project} has 2 (--project {project})"
    told = " ".join(desktop.run("sync", stick, code=2).output.split())
    assert f"in {stick} {named}, and its sessions name no git remote" in told
    laptop.run("delete", "other", "--yes", "--host-files")
    carry(stick, laptop)
    told = " ".join(desktop.run("sync", stick, "--dry-run").stderr.split())
    assert f"in {stick} the project {project} has 1" in told
    laptop.says("another", "two")
    carry(stick, laptop)
    desktop.run("sync", stick, "--project", project)
    assert desktop.sessions() == ["another", "talk"]
    for command in (["list"], ["du"], ["archive", "--everything", "--yes"], ["show", "--last"]):
        assert named in " ".join(desktop.run(*command, code=None).output.split())
    assert "another" in desktop.run("list", "--project", project).output
    config.write_text(remote)
    laptop.says("third", "three")
    carry(stick, laptop)
    desktop.run("sync", stick, "--all")
    assert f"not listed: 2 more of the project {project}" in desktop.run("list").stderr


def test_json_says_each_session(laptop: Home, stick: Path) -> None:
    laptop.says("talk", "one")
    told = json.loads(laptop.run("sync", stick, "--json", "--yes").stdout)
    assert [(one["session"], one["what"]) for one in told["sessions"]] == [("talk", "copy")]
    assert told["in_step"] == 0
    again = json.loads(laptop.run("sync", stick, "--json", "--yes").stdout)
    assert (again["sessions"], again["in_step"]) == ([], 1)


def test_this_home_is_no_other_side(laptop: Home) -> None:
    laptop.says("talk", "one")
    assert "name another directory" in laptop.run("sync", laptop.root, code=2).output
    assert "no directory" in laptop.run("sync", laptop.root / "missing", code=2).output


def test_a_directory_for_other_things_is_not_filled(laptop: Home, stick: Path) -> None:
    """Sessions get a directory of their own; one that a killed sync left is known."""
    laptop.says("talk", "one")
    (stick / "photo.png").touch()
    assert "make a directory for them" in laptop.run("sync", stick, code=2).output
    (stick / "sessions").mkdir()
    laptop.run("sync", stick / "sessions")
    (stick / "sessions" / "notes.txt").touch()
    laptop.run("sync", stick / "sessions")


def test_another_home_is_a_side(laptop: Home, desktop: Home) -> None:
    """What was erased there is read from that home's own file."""
    laptop.says("talk", "one")
    desktop.says("talk-2", "two")
    laptop.run("sync", desktop.root, "--yes")
    assert laptop.sessions() == desktop.sessions() == ["talk", "talk-2"]
    desktop.run("delete", "talk", "--yes")
    laptop.run("sync", desktop.root, "--yes")
    assert laptop.sessions() == ["talk-2"]


def test_an_archived_copy_is_in_step_and_comes_back_as_it_goes_on(laptop: Home, stick: Path) -> None:
    laptop.says("talk", *(f"turn {number} " + "word " * 400 for number in range(20)))
    carry(stick, laptop)
    laptop.run("archive", "talk", "--yes")
    assert "1 session in step" in laptop.run("sync", stick).output
    laptop.says("talk", "on")
    carry(stick, laptop)
    assert next(stick.rglob(LOG_NAME)).read_bytes() == laptop.log("talk").read_bytes()


def test_a_database_is_a_side(laptop: Home, desktop: Home, storage: str) -> None:
    """Sessions go over it as over a stick: appended, kept twice if they parted, purged and deleted."""
    laptop.says("talk", "one", f"my key is {KEY}")
    laptop.says("gone", "one")
    laptop.run("sync", storage)
    desktop.run("sync", storage)
    assert desktop.log("talk").read_bytes() == laptop.log("talk").read_bytes()
    assert desktop.log("talk").parents[2].name.endswith("work-name")
    desktop.says("talk", "two")
    desktop.run("sync", storage)
    laptop.run("sync", storage)
    assert laptop.texts("talk")[-1] == "two"
    laptop.run("purge", "talk", "--redact", KEY, "--yes")
    laptop.run("delete", "gone", "--yes")
    laptop.run("sync", storage, "--yes")
    assert "gone" not in laptop.run("list", "--storage", storage, "--all").output
    assert laptop.run("search", KEY, "--hidden", "--storage", storage, "--all", code=1).stdout == ""
    laptop.says("talk", "from the laptop")
    laptop.run("sync", storage)
    assert "1 session in step" in laptop.run("sync", storage).output


@proof
def test_an_archived_session_of_a_database_is_synced(laptop: Home, desktop: Home, storage: str) -> None:
    """In both directions: it is read in place, what is new goes behind it, and a purge takes its place."""
    laptop.says("talk", f"my key is {KEY}", "two")
    laptop.run("sync", storage)
    laptop.run("archive", "talk", "--storage", storage, "--yes")
    desktop.run("sync", storage)
    desktop.says("talk", "three")
    desktop.run("sync", storage)
    laptop.run("sync", storage)
    assert laptop.log("talk").read_bytes() == desktop.log("talk").read_bytes()
    assert laptop.texts("talk")[1:] == ["two", "three"]
    laptop.run("archive", "talk", "--storage", storage, "--yes")
    laptop.run("purge", "talk", "--redact", KEY, "--yes")
    laptop.run("sync", storage, "--yes")
    assert laptop.run("search", KEY, "--hidden", "--storage", storage, "--all", code=1).stdout == ""
    desktop.run("sync", storage, "--yes")
    assert laptop.log("talk").read_bytes() == desktop.log("talk").read_bytes()
    assert holders(desktop.root, KEY) == []


def test_a_copy_of_an_archived_session_is_archived(laptop: Home, desktop: Home, stick: Path) -> None:
    """On the stick and in the other home; the session goes on there, and is the same on both sides after that."""
    laptop.says("talk", "one", "word " * 10_000)
    plain = laptop.log("talk").read_bytes()
    laptop.run("archive", "talk", "--yes")
    carry(stick, laptop, desktop)
    logs = [laptop.log("talk"), next(stick.rglob(LOG_NAME)), desktop.log("talk")]
    assert all(map(is_archived, logs))
    assert all(content_of_log(log) == plain for log in logs)
    desktop.says("talk", "two")
    carry(stick, desktop, laptop)
    assert laptop.texts("talk")[-1] == "two"
    assert "Nothing is new" in laptop.run("sync", stick).output


@proof
def test_both_histories_are_kept_in_a_database(laptop: Home, desktop: Home, storage: str) -> None:
    laptop.says("talk", "one")
    for home in (laptop, desktop):
        home.run("sync", storage)
        home.says("talk", f"from the {home.root.name}")
    laptop.run("sync", storage)
    assert "they part" in desktop.run("sync", storage, code=1).output
    desktop.run("sync", storage, "--keep", "both")
    assert "2 sessions in step" in desktop.run("sync", storage).output
    laptop.run("sync", storage)
    assert laptop.sessions() == desktop.sessions()
    assert laptop.texts("talk") == ["one", "from the desktop"]


def test_what_a_killed_sync_left_is_made_whole_as_the_session_goes_on(laptop: Home, desktop: Home, stick: Path) -> None:
    """If it was killed after the log, and the session got longer before the next sync."""
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    directory = desktop.log("talk").parent
    for name in ("transcript.jsonl", "metadata.json"):
        (directory / name).unlink()
    WrittenFiles.beside(desktop.log("talk")).clear()
    WrittenFiles.beside(desktop.log("talk")).begin(MAKING)
    laptop.says("talk", "two")
    carry(stick, laptop, desktop)
    assert {path.name for path in directory.iterdir()} >= {"metadata.json", "transcript.jsonl"}
    assert WrittenFiles.beside(desktop.log("talk")).begun == ""


def test_a_copy_that_is_open_is_left(laptop: Home, desktop: Home) -> None:
    """It is not written to while a session has it open, and follows once that is closed."""
    laptop.says("talk", "one")
    laptop.run("sync", desktop.root)
    laptop.says("talk", "two")
    with closing(open_log(str(desktop.log("talk")), marks_open=True)) as log:
        log.follow()
        assert "is open" in laptop.run("sync", desktop.root, code=1).output
    laptop.run("sync", desktop.root)
    assert desktop.texts("talk") == ["one", "two"]


def test_a_damaged_record_is_not_appended(laptop: Home, stick: Path) -> None:
    """What comes before it is, and the session is named."""
    laptop.says("talk", "one")
    carry(stick, laptop)
    before = next(stick.rglob(LOG_NAME)).read_bytes()
    laptop.says("talk", "two", "three")
    log = laptop.log("talk")
    log.write_bytes(log.read_bytes().replace(b"three", b"THREE"))
    told = laptop.run("sync", stick, code=1)
    assert "damaged from here on" in told.output
    after = next(stick.rglob(LOG_NAME)).read_bytes()
    assert after.startswith(before)
    assert b"two" in after
    assert b"THREE" not in after


@pytest.mark.parametrize("later", ["laptop", "desktop"])
def test_a_session_that_both_sides_imported_becomes_one(
    laptop: Home, desktop: Home, stick: Path, tmp_path: Path, later: str
) -> None:
    """The import that has all takes the other one's place; if both went on, it is told."""
    source = tmp_path / "claude.jsonl"
    entries = [says("u1", None, "Why?"), answers("a1", "u1", "m1", text("Because."))]
    source.write_text("".join(json.dumps(one) + "\n" for one in entries))
    for home in (laptop, desktop):
        if home.root.name == later:
            more = [says("u2", "a1", "And?"), answers("a2", "u2", "m2", text("So."))]
            source.write_text("".join(json.dumps(one) + "\n" for one in (*entries, *more)))
        home.run("import", source)
    session = laptop.sessions()[0]
    carry(stick, laptop, desktop, laptop)
    assert laptop.texts(session) == desktop.texts(session) == (["Why?", "And?"])
    assert laptop.log(session).read_bytes() == desktop.log(session).read_bytes()


def test_names_in_a_database_lead_nowhere_else(laptop: Home, storage: str) -> None:
    """A log whose name is no project and session is named, and the others are copied."""
    (laptop.checkout / ".git" / "config").write_text("")
    laptop.says("talk", "one")
    for name in ("../../escaped/s", "p/..", "plain/talk"):
        laptop.run("copy", laptop.log("talk"), location_of(storage, name))
    note = laptop.root / ".amplifier" / "context-synced.json"
    before = {path for path in laptop.root.parent.rglob("*") if path.parent.name != "talk"} | {note}
    told = laptop.run("sync", storage, "--all", code=1)
    assert "cannot be a directory" in told.output
    assert {path for path in laptop.root.parent.rglob("*") if path.parent.name != "talk"} == before


def test_of_copies_of_one_id_the_one_of_the_same_project_is_meant() -> None:
    """In whatever order both sides list them; without one, the copy of another project is."""
    ones = [SessionFile(Path(project), "s1", project, 0.0) for project in ("a", "b")]
    for here in (ones, ones[::-1]):
        (pair, alone) = pairs_of(here, [SessionFile(Path("there"), "s1", "b", 0.0)])
        assert pair.here is not None
        assert (pair.here.project, alone.here, alone.there) == ("b", ones[0], None)
    (pair,) = pairs_of(ones[:1], [SessionFile(Path("there"), "s1", "b", 0.0)])
    assert pair.here == ones[0]


@pytest.mark.parametrize("damaged", ["there", "here"])
def test_a_damaged_copy_is_told_with_its_place_and_what_to_do(laptop: Home, stick: Path, damaged: str) -> None:
    """It is not called another session; when it is removed, the next sync copies the whole one."""
    laptop.says("talk", "one", "two")
    laptop.run("sync", stick)
    whole = laptop.log("talk").read_bytes()
    log = laptop.log("talk") if damaged == "here" else next(stick.rglob(LOG_NAME))
    log.write_bytes(b"\0" * 100 + b"\n" + whole[101:])
    told = laptop.run("sync", stick, code=1).output
    assert f"`context-persistent verify {log}`" in told
    assert "another session" not in told
    log.unlink()
    laptop.run("sync", stick)
    assert laptop.log("talk").read_bytes() == next(stick.rglob(LOG_NAME)).read_bytes() == whole


def test_a_copy_that_cannot_be_read_is_named_by_its_path(laptop: Home, stick: Path) -> None:
    """So a person knows on which side it is."""
    laptop.says("talk", "one")
    laptop.run("sync", stick)
    copy = next(stick.rglob(LOG_NAME))
    archive_log(str(copy))
    copy.write_bytes(copy.read_bytes()[:150])
    assert f"LEFT: talk: {copy}: " in laptop.run("sync", stick, code=1).output


@pytest.mark.parametrize("damaged", ["here", "there"])
def test_a_session_that_is_damaged_inside_is_not_copied_as_a_whole(
    laptop: Home, desktop: Home, stick: Path, damaged: str
) -> None:
    """It is named with its place, and the others are copied; a sound copy that comes later is taken."""
    for session in ("talk", "other"):
        laptop.says(session, "one", "the price is 100", "three")
    log = laptop.log("talk")
    whole = log.read_bytes()
    if damaged == "there":
        carry(stick, laptop)
        log = next(path for path in stick.rglob(LOG_NAME) if path.parent.name == "talk")
    log.write_bytes(whole.replace(b"price is 100", b"price is 900"))
    home = desktop if damaged == "there" else laptop
    told = home.run("sync", stick, code=1).output
    assert "LEFT: talk: the log is damaged, and was not copied: line 5, byte" in told
    assert "1 session brought in step" in told
    log.write_bytes(whole)
    carry(stick, laptop, desktop)
    assert desktop.log("talk").read_bytes() == whole


def test_a_damaged_history_is_not_kept_as_a_sound_session(laptop: Home, desktop: Home, stick: Path) -> None:
    """A fork would seal the damaged records anew."""
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    laptop.says("talk", "here", "the price is 100")
    desktop.says("talk", "there")
    carry(stick, laptop)
    copy = next(stick.rglob(LOG_NAME))
    copy.write_bytes(copy.read_bytes().replace(b"price is 100", b"price is 900"))
    before = files_below(stick)
    told = desktop.run("sync", stick, "--keep", "both", "--yes", code=1).output
    assert "the log is damaged" in told
    assert files_below(stick) == before


def test_an_archived_session_comes_without_a_second_copy_of_its_messages(
    laptop: Home, desktop: Home, stick: Path, tmp_path: Path
) -> None:
    """By a sync or a restore; the host's file is made when the log is brought back, or is the host's."""
    laptop.says("talk", "one", "word " * 10_000)
    laptop.run("archive", "talk", "--yes")
    carry(stick, laptop, desktop)
    kept, restored = tmp_path / "kept", Home(tmp_path / "restored", "name")
    kept.mkdir()
    laptop.run("backup", kept)
    restored.run("backup", kept, "--restore")
    for home in (desktop, restored):
        transcript = home.log("talk").with_name("transcript.jsonl")
        assert home.log("talk").with_name("metadata.json").exists()
        assert not transcript.exists()
        home.run("archive", "--undo", "talk", "--yes")
        assert len(transcript.read_bytes().splitlines()) == 4
    stored = next(stick.rglob(LOG_NAME))
    laptop.run("archive", "--undo", stored, "--yes")
    assert not is_archived(stored)
    assert not stored.with_name("transcript.jsonl").exists()


def test_a_session_that_went_on_after_it_came_archived_gets_the_hosts_file(
    laptop: Home, desktop: Home, stick: Path
) -> None:
    laptop.says("talk", "one", "word " * 10_000)
    laptop.run("archive", "talk", "--yes")
    carry(stick, laptop, desktop)
    laptop.says("talk", "two")
    carry(stick, laptop, desktop)
    transcript = desktop.log("talk").with_name("transcript.jsonl")
    assert len(transcript.read_bytes().splitlines()) == 6


@pytest.mark.parametrize("named", [False, True])
def test_the_two_histories_of_a_session_are_told_apart_in_lists(
    laptop: Home, desktop: Home, stick: Path, named: bool
) -> None:
    """The one that gets a new id is called so, in all places; its tags stay."""
    laptop.says("talk", "common question")
    if named:
        laptop.run("rename", "talk", "a name")
        laptop.run("tag", "talk", "urgent")
    carry(stick, laptop, desktop)
    laptop.says("talk", "from the laptop")
    desktop.says("talk", "from the desktop")
    carry(stick, laptop)
    desktop.run("sync", stick, "--keep", "both")
    carry(stick, laptop)
    called = "a name" if named else "common question"
    for home in (laptop, desktop):
        listed = {one["session"]: one for one in json.loads(home.run("list", "--json").stdout)["sessions"]}
        own = listed.pop("talk")
        (fork,) = listed.values()
        assert own["name"] == ("a name" if named else "")
        assert fork["name"] == f"{called} (other history from turn 2)"
        assert fork["tags"] == own["tags"] == (["urgent"] if named else [])
