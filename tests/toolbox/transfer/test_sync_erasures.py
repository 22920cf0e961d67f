"""What was deleted or purged on one side of a sync goes from the other one, wherever it was erased."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.toolbox.maintenance.note_beside_log import DELETING, WrittenFiles
from tests.support.sweeps import proof
from tests.support.two_homes import Home, carry, holders

KEY = "sk-leaked-0123456789"


def test_a_purged_text_is_purged_everywhere_before_anything_is_copied(laptop: Home, desktop: Home, stick: Path) -> None:
    """Also in a session that went on there, which goes on after that."""
    laptop.says("talk", f"my key is {KEY}", "two")
    carry(stick, laptop, desktop)
    desktop.says("talk", "three")
    laptop.run("purge", "talk", "--redact", KEY, "--yes")
    assert "redacted" in laptop.run("sync", stick, "--dry-run").output
    assert "answer y" in laptop.run("sync", stick, code=2).output
    assert f"Other machines that sync with {stick} follow" in laptop.run("sync", stick, "--yes").output
    carry(stick, desktop, laptop)
    for root in (laptop.root, desktop.root, stick):
        assert holders(root, KEY) == []
    assert laptop.texts("talk")[1:] == ["two", "three"]
    assert laptop.log("talk").read_bytes() == desktop.log("talk").read_bytes()


@proof(quick=1)
@pytest.mark.parametrize("more", [(), ("--keep", "both")], ids=" ".join)
def test_what_a_home_purged_on_the_stick_goes_from_the_home_too(
    laptop: Home, desktop: Home, stick: Path, more: tuple[str, ...]
) -> None:
    """Its own copy went on, which stays but for the text."""
    laptop.says("talk", "one", f"my key is {KEY}")
    carry(stick, laptop, desktop)
    laptop.says("talk", "two")
    laptop.run("purge", next(stick.rglob(LOG_NAME)), "--redact", KEY, "--yes")
    assert "To be erased first here" in laptop.run("sync", stick, "--yes", *more).output
    carry(stick, desktop)
    assert [holders(root, KEY) for root in (laptop.root, stick, desktop.root)] == [[], [], []]
    assert laptop.sessions() == desktop.sessions() == ["talk"]
    assert desktop.texts("talk") == ["one", "my key is [redacted]", "two"]


def test_what_a_home_deleted_on_the_stick_goes_from_all_homes(laptop: Home, desktop: Home, stick: Path) -> None:
    laptop.says("talk", f"my key is {KEY}")
    laptop.says("other", "stays")
    carry(stick, laptop, desktop)
    laptop.run("delete", next(path for path in stick.rglob(LOG_NAME) if path.parent.name == "talk"), "--yes")
    carry(stick, laptop, desktop)
    assert laptop.sessions() == desktop.sessions() == ["other"]
    assert holders(laptop.root, KEY) == holders(desktop.root, KEY) == []


@proof(quick=2)
@pytest.mark.parametrize("shares", [True, False], ids=["a home with it", "a home without it"])
@pytest.mark.parametrize("command", ["delete", "prune"])
def test_what_was_deleted_on_the_stick_is_noted_there(
    laptop: Home, desktop: Home, stick: Path, tmp_path: Path, command: str, *, shares: bool
) -> None:
    """The next machine does not bring it back, although the home that deleted it has not synced since."""
    laptop.says("talk", f"my key is {KEY}")
    laptop.says("other", "stays")
    carry(stick, laptop, desktop)
    deleting = laptop if shares else Home(tmp_path / "third", "shop")
    log = next(path for path in stick.rglob(LOG_NAME) if path.parent.name == "talk")
    given = [log] if command == "delete" else [log.parents[1], "--name", "talk"]
    deleting.run(command, *given, "--yes")
    carry(stick, desktop)
    assert holders(stick, KEY) == holders(desktop.root, KEY) == []
    laptop.run("sync", stick, "--tag", "none", "--all", "--yes")
    assert laptop.sessions() == desktop.sessions() == ["other"]
    assert "Nothing is new" in laptop.run("sync", stick).output


def test_what_was_purged_on_the_stick_is_noted_there(laptop: Home, desktop: Home, stick: Path) -> None:
    laptop.says("talk", "one", f"my key is {KEY}")
    carry(stick, laptop, desktop)
    laptop.run("purge", next(stick.rglob(LOG_NAME)), "--redact", KEY, "--yes")
    assert (stick / "context-erased.jsonl").exists()
    carry(stick, desktop, laptop)
    assert [holders(root, KEY) for root in (laptop.root, stick, desktop.root)] == [[], [], []]
    assert laptop.texts("talk") == desktop.texts("talk") == ["one", "my key is [redacted]"]


def test_what_was_deleted_in_another_home_is_noted_in_that_home(laptop: Home, desktop: Home, stick: Path) -> None:
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    laptop.run("delete", desktop.log("talk"), "--yes")
    assert (desktop.root / ".amplifier" / "context-erased.jsonl").exists()
    carry(stick, desktop)
    assert desktop.sessions() == [] == list(stick.rglob(LOG_NAME))


def test_what_is_said_again_after_a_purge_stays(laptop: Home, desktop: Home, stick: Path) -> None:
    """Only what was there when it was purged goes."""
    laptop.says("talk", "a word")
    carry(stick, laptop, desktop)
    laptop.run("purge", "talk", "--redact", "a word", "--yes")
    laptop.says("talk", "a word again")
    carry(stick, laptop, desktop, laptop)
    assert laptop.texts("talk") == desktop.texts("talk") == ["[redacted]", "a word again"]


def test_a_torn_tail_on_the_stick_that_holds_the_text_is_named(laptop: Home, stick: Path) -> None:
    """The copy was cut, as when a stick is pulled out; the next sync saved its end before it went on."""
    laptop.says("talk", "one", f"my key is {KEY} and a few words more")
    laptop.run("sync", stick)
    copy = next(stick.rglob(LOG_NAME))
    whole = copy.read_bytes()
    copy.write_bytes(whole[: whole.index(KEY.encode()) + len(KEY)])
    laptop.run("sync", stick)
    assert copy.read_bytes() == whole
    laptop.run("purge", "talk", "--redact", KEY, "--yes")
    [tail] = stick.rglob(f"{LOG_NAME}.torn-*")
    told = laptop.run("sync", stick, "--yes", code=1).output
    assert f"stays, a saved torn tail, which `purge --torn` removes: {tail}" in told
    assert holders(stick, KEY) == [str(tail.relative_to(stick))]


def test_two_purges_of_one_text_on_two_sides_are_brought_in_step(laptop: Home, desktop: Home, stick: Path) -> None:
    """Neither copy holds it any more, so none is refused."""
    laptop.says("talk", "one", f"my key is {KEY}")
    carry(stick, laptop, desktop)
    desktop.run("purge", "talk", "--redact", KEY, "--yes")
    laptop.run("purge", next(stick.rglob(LOG_NAME)), "--redact", KEY, "--yes")
    carry(stick, desktop, laptop, desktop)
    assert laptop.log("talk").read_bytes() == desktop.log("talk").read_bytes()
    assert "Nothing is new" in laptop.run("sync", stick).output


@proof(quick=1)
@pytest.mark.parametrize("what", [("--everything",), ("--cleared",)], ids=" ".join)
def test_purged_messages_are_purged_everywhere(laptop: Home, desktop: Home, stick: Path, what: tuple[str, ...]) -> None:
    """Also at the end of the log, and in a copy that is older than the purged log, or went on."""
    laptop.says("talk", "one", f"my key is {KEY}")
    carry(stick, laptop, desktop)
    desktop.says("talk", "from the desktop")
    laptop.says("talk", f"again {KEY}")
    laptop.run("rewind", "talk", "--to", "1", "--yes")
    laptop.run("purge", "talk", *what, "--yes")
    carry(stick, laptop)
    assert holders(stick, KEY) == []
    assert laptop.log("talk").read_bytes() == next(stick.rglob(LOG_NAME)).read_bytes()
    carry(stick, desktop, laptop)
    assert holders(desktop.root, KEY) == []
    assert desktop.texts("talk")[-1] == "from the desktop"
    assert laptop.log("talk").read_bytes() == desktop.log("talk").read_bytes()


@pytest.mark.parametrize("what", ["--cleared", "--everything"])
def test_a_purge_that_took_no_message_keeps_no_copy_back(laptop: Home, desktop: Home, stick: Path, what: str) -> None:
    """It removed records alone, so no message can come back, also if the copy went on."""
    laptop.says("talk", "one")
    if what == "--everything":
        laptop.run("purge", "talk", what, "--yes")
    laptop.run("rename", "talk", "a name")
    carry(stick, laptop, desktop)
    assert "control record" in laptop.run("purge", "talk", what, "--yes").output
    desktop.says("talk", "two")
    carry(stick, laptop, desktop, laptop)
    assert laptop.texts("talk")[-1] == "two"
    assert laptop.log("talk").read_bytes() == desktop.log("talk").read_bytes()


def test_a_copy_that_lacks_what_a_purge_removed_is_not_kept_back(laptop: Home, desktop: Home, stick: Path) -> None:
    """The purge removed receipts of later requests, and the copy has none of them."""
    laptop.says("talk", f"my key is {KEY}")
    laptop.run("purge", "talk", "--redact", KEY, "--yes")
    carry(stick, laptop, desktop)
    laptop.says("talk", "two")
    assert "control record" in laptop.run("purge", "talk", "--cleared", "--yes").output
    desktop.run("rename", "talk", "a name")
    carry(stick, laptop)
    desktop.run("sync", stick, "--keep", "both")
    assert desktop.texts("talk")


def test_a_session_that_was_purged_and_went_on_on_both_sides_is_told(laptop: Home, desktop: Home, stick: Path) -> None:
    """The secret is gone on both sides all the same, and both histories can be kept."""
    laptop.says("talk", "one", f"my key is {KEY}")
    carry(stick, laptop, desktop)
    desktop.says("talk", "from the desktop")
    laptop.run("rewind", "talk", "--to", "1", "--yes")
    laptop.run("purge", "talk", "--cleared", "--yes")
    laptop.says("talk", "from the laptop")
    carry(stick, laptop)
    told = desktop.run("sync", stick, "--yes", code=1)
    assert "they part" in told.output
    assert [holders(root, KEY) for root in (stick, desktop.root)] == [[], []]
    desktop.run("sync", stick, "--keep", "both")
    carry(stick, laptop)
    fork = next(session for session in laptop.sessions() if session != "talk")
    assert laptop.texts("talk") == ["one", "from the desktop"]
    assert laptop.texts(fork) == ["one", "from the laptop"]


def test_a_deleted_session_is_deleted_on_the_other_side(laptop: Home, desktop: Home, stick: Path) -> None:
    laptop.says("talk", f"my key is {KEY}")
    laptop.says("other", "stays")
    carry(stick, laptop, desktop)
    laptop.run("delete", "talk", "--yes")
    carry(stick, laptop, desktop, laptop)
    assert laptop.sessions() == desktop.sessions() == ["other"]
    assert holders(stick, KEY) == holders(desktop.root, KEY) == []


def test_a_session_that_went_on_after_it_was_deleted_elsewhere_stays(laptop: Home, desktop: Home, stick: Path) -> None:
    """Its new messages are nowhere else."""
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    laptop.run("delete", "talk", "--yes")
    carry(stick, laptop)
    desktop.says("talk", "two")
    told = desktop.run("sync", stick, "--yes", code=1)
    assert "it has messages here that the session deleted elsewhere" in told.output
    assert "1 not erased" in told.output
    assert desktop.texts("talk") == ["one", "two"]
    assert not list(stick.rglob(LOG_NAME))


@pytest.mark.parametrize("deleted", ["2020-01-31T00:00:00Z", "2090-01-31T00:00:00Z"])
def test_clocks_do_not_decide_what_a_deletion_reaches(laptop: Home, desktop: Home, stick: Path, deleted: str) -> None:
    """The deletion names the messages: a copy with these alone goes, a copy with others stays."""
    laptop.says("talk", "one")
    laptop.says("other", "one")
    carry(stick, laptop, desktop)
    laptop.run("delete", "talk", "other", "--yes")
    noted = laptop.root / ".amplifier" / "context-erased.jsonl"
    lines = [json.loads(line) | {"time": deleted} for line in noted.read_text().splitlines()]
    noted.write_text("".join(json.dumps(line) + "\n" for line in lines))
    carry(stick, laptop)
    desktop.says("other", "two")
    told = desktop.run("sync", stick, "--yes", code=1).output
    assert "NOT ERASED: other here: it has messages here" in told
    assert desktop.sessions() == ["other"]


def test_what_only_one_copy_has_is_not_deleted(laptop: Home, desktop: Home, stick: Path) -> None:
    """It was said there before the session was deleted elsewhere, where nobody knew of it. A copy without more goes."""
    laptop.says("talk", "one")
    laptop.says("other", "one")
    carry(stick, laptop, desktop)
    desktop.says("talk", "two")
    laptop.says("other", "only here", "and this")
    laptop.run("delete", "talk", "other", "--yes")
    carry(stick, laptop)
    told = desktop.run("sync", stick, "--yes", code=1)
    assert "it has messages here that the session deleted elsewhere on" in " ".join(told.output.split())
    assert "1 not erased" in told.output
    assert desktop.sessions() == ["talk"]
    assert desktop.texts("talk") == ["one", "two"]
    assert "not erased" in desktop.run("sync", stick, "--yes", code=1).output
    desktop.run("delete", "talk", "--yes")
    carry(stick, desktop, laptop)
    assert desktop.sessions() == laptop.sessions() == []


def test_an_emptied_and_deleted_session_takes_nothing_that_only_a_copy_has(
    laptop: Home, desktop: Home, stick: Path
) -> None:
    """Its line has no ids, since the log had no message any more."""
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    desktop.says("talk", "two")
    laptop.run("purge", "talk", "--everything", "--yes")
    laptop.run("delete", "talk", "--yes")
    carry(stick, laptop)
    desktop.run("sync", stick, "--yes", code=1)
    assert desktop.texts("talk") == ["two"]


@pytest.mark.parametrize("purge", [["--cleared"], ["--before", "LAST"], ["--redact", KEY]], ids=" ".join)
def test_an_older_copy_of_a_session_that_was_purged_and_deleted_goes(
    laptop: Home, desktop: Home, stick: Path, purge: list[str]
) -> None:
    """Its last message is none of the deleted log's any more."""
    laptop.says("talk", "one", f"my key is {KEY}")
    carry(stick, laptop, desktop)
    if purge == ["--cleared"]:
        laptop.run("rewind", "talk", "--to", "1", "--yes")
    laptop.says("talk", "three")
    *_, last = (json.loads(line) for line in laptop.run("show", "talk", "--json").stdout.splitlines())
    last_id = last["message"]["metadata"]["message_id"]
    laptop.run("purge", "talk", *(last_id if given == "LAST" else given for given in purge), "--yes")
    laptop.run("delete", "talk", "--yes")
    carry(stick, laptop, desktop)
    assert desktop.sessions() == []
    assert holders(stick, KEY) == holders(desktop.root, KEY) == []


def test_a_deletion_that_an_older_version_noted_goes_by_its_time(laptop: Home, desktop: Home, stick: Path) -> None:
    """Its line has no ids of messages."""
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    desktop.says("talk", "two")
    laptop.run("delete", "talk", "--yes")
    noted = laptop.root / ".amplifier" / "context-erased.jsonl"
    lines = [json.loads(line) for line in noted.read_text().splitlines()]
    noted.write_text("".join(json.dumps({k: v for k, v in line.items() if k != "ids"}) + "\n" for line in lines))
    carry(stick, laptop, desktop)
    assert desktop.sessions() == []


def test_a_sub_agent_that_went_on_without_its_parent_is_no_failure(laptop: Home, desktop: Home, stick: Path) -> None:
    """The sync that deletes its parent says that it was not erased; later ones name it, and are done."""
    helper = "talk-0123456789abcdef_helper"
    laptop.says("talk", "one")
    laptop.says(helper, "look")
    carry(stick, laptop, desktop)
    laptop.run("delete", "talk", "--yes")
    carry(stick, laptop)
    desktop.says(helper, "look again")
    assert "1 not erased" in desktop.run("sync", stick, "--yes", code=1).output
    assert desktop.sessions() == [helper]
    again = desktop.run("sync", stick, "--yes").output
    assert f"{helper}, a sub-agent's without its parent, stays: it has messages here" in again
    assert "1 named above" in again
    assert "Other machines" not in again
    assert not list(stick.rglob(LOG_NAME))


def test_a_purge_leaves_no_lock_on_a_stick(laptop: Home, desktop: Home, stick: Path) -> None:
    """Neither one in a sync nor one there; a lock that an earlier version left is removed. In a home they stay."""
    laptop.says("talk", f"my key is {KEY}")
    laptop.run("copy", "talk", "talk.jsonl")
    desktop.run("import", laptop.checkout / "talk.jsonl")
    carry(stick, desktop)
    (session,) = desktop.sessions()
    for text in (KEY, "my"):
        desktop.run("purge", session, "--redact", text, "--yes")
        carry(stick, desktop)
        assert not list(stick.rglob("*.lock"))
    assert list(desktop.root.rglob("*.metadata.lock"))
    copy = next(stick.rglob(LOG_NAME))
    desktop.run("purge", copy, "--redact", "heard", "--yes")
    assert not list(stick.rglob("*.lock"))
    (copy.parent.parent / f".{session}.metadata.lock").touch()
    carry(stick, desktop)
    assert not list(stick.rglob("*.lock"))


def test_a_purged_copy_takes_the_place_of_rows(laptop: Home, storage: str) -> None:
    """A database has no list of erasures, so the lines of this user are tried on it each time."""
    laptop.says("talk", "one", f"my key is {KEY}")
    laptop.run("sync", storage)
    laptop.run("rewind", "talk", "--to", "1", "--yes")
    laptop.run("purge", "talk", "--cleared", "--yes")
    laptop.says("talk", "two")
    laptop.run("sync", storage, "--yes")
    assert laptop.run("search", KEY, "--hidden", "--storage", storage, "--all", code=1).stdout == ""
    assert "1 session in step" in laptop.run("sync", storage).output


def test_what_a_killed_deletion_left_is_removed(laptop: Home, stick: Path) -> None:
    """If a sync was killed after the log went, and before that was noted on the other side."""
    laptop.says("talk", "one")
    carry(stick, laptop)
    laptop.run("delete", "talk", "--yes")
    log = next(stick.rglob(LOG_NAME))
    for file in log.parent.iterdir():
        file.unlink()
    WrittenFiles.beside(log).begin(DELETING)
    carry(stick, laptop)
    assert not list(stick.rglob("sessions/talk/*"))


@proof(quick=1)
@pytest.mark.parametrize("command", [("delete", "talk"), ("purge", "talk", "--everything"), ("prune", "--everything")])
def test_an_erasure_names_the_places_where_the_next_sync_erases_too(
    laptop: Home, desktop: Home, stick: Path, command: tuple[str, ...]
) -> None:
    """Before the question; a home that was never synced is told nothing of it."""
    laptop.says("talk", "one")
    assert "sync" not in laptop.run(*command, "--dry-run").output
    laptop.run("sync", stick, "--dry-run")
    assert "sync" not in laptop.run(*command, "--dry-run").output
    laptop.run("sync", stick)
    day = synced_day(laptop)
    assert f"it is erased in {stick} (last synced {day}) too" in laptop.run(*command, "--dry-run").output
    other = stick.parent / "other"
    other.mkdir()
    laptop.run("sync", other)
    told = f"it is erased in {other} (last synced {day}), {stick} (last synced {day}) too"
    assert told in laptop.run(*command, "--dry-run").output
    assert told in laptop.run(*command, "--yes").output


def test_a_place_that_is_gone_can_be_forgotten(laptop: Home, stick: Path) -> None:
    """It is told that it is not there, and named no more once it is forgotten; a later sync notes it again."""
    laptop.says("talk", "one")
    other = stick.parent / "other"
    other.mkdir()
    for place in (stick, other):
        laptop.run("sync", place)
    day = synced_day(laptop)
    away = stick.rename(stick.parent / "away")
    told = laptop.run("delete", "talk", "--dry-run").output
    assert f"{stick} (last synced {day}, not there now)" in told
    assert "`context-persistent sync PLACE --forget`" in told
    assert (
        f"noted places: {other} (last synced {day}), {stick} (" in laptop.run("sync", away, "--forget", code=2).output
    )
    assert f"Forgotten: {stick} (" in laptop.run("sync", stick, "--forget").output
    told = laptop.run("delete", "talk", "--dry-run").output
    assert str(stick) not in told
    assert "--forget" not in told
    away.rename(stick)
    laptop.run("sync", stick)
    assert str(stick) in laptop.run("delete", "talk", "--dry-run").output


def test_a_note_of_an_earlier_version_is_read(laptop: Home, stick: Path) -> None:
    """It has no days."""
    laptop.says("talk", "one")
    note = laptop.root / ".amplifier" / "context-synced.json"
    note.write_text(json.dumps({"version": 1, "places": [str(stick)]}))
    assert f"it is erased in {stick} too" in laptop.run("delete", "talk", "--dry-run").output


def synced_day(home: Home) -> str:
    """The day on which a home was synced, as its note has it."""
    days = json.loads((home.root / ".amplifier" / "context-synced.json").read_text())["days"]
    return str(next(iter(days.values())))


def test_an_erasure_on_the_stick_names_this_home(laptop: Home, stick: Path) -> None:
    laptop.says("talk", "one")
    laptop.run("sync", stick)
    log = next(stick.rglob(LOG_NAME))
    for command in (("delete", log), ("purge", log, "--everything")):
        assert "it is erased in this home too" in laptop.run(*command, "--dry-run").output
    (laptop.root / ".amplifier" / "context-synced.json").write_text('{"version": 1, "places": 7}')
    assert "this home" not in laptop.run("delete", log, "--dry-run").output
    laptop.run("sync", stick)
    assert "it is erased in this home too" in laptop.run("delete", log, "--dry-run").output


@pytest.mark.parametrize("damaged", ["home", "stick"])
def test_a_damaged_list_is_told_and_nothing_comes_back(laptop: Home, stick: Path, tmp_path: Path, damaged: str) -> None:
    """Import and sync are refused until a person puts the line right; a deletion is carried out, and tells it."""
    laptop.says("talk", "one")
    laptop.says("other", "two")
    laptop.run("copy", "talk", tmp_path / "copy.jsonl")
    carry(stick, laptop)
    laptop.run("delete", "talk", "--yes")
    carry(stick, laptop)
    noted = {"home": laptop.root / ".amplifier", "stick": stick}[damaged] / "context-erased.jsonl"
    sound = noted.read_text()
    noted.write_text(sound[: len(sound) // 2] + "\n")
    told = f"{noted}: line 1 of this list of erasures is damaged"
    assert told in laptop.run("sync", stick, "--yes", code=2).output
    if damaged == "home":
        assert told in laptop.run("import", tmp_path / "copy.jsonl", code=2).output
    else:
        assert told in laptop.run("delete", next(stick.rglob(f"other/{LOG_NAME}")), "--yes").output
    if damaged == "home":
        assert told in laptop.run("delete", "other", "--yes").output
        noted.write_text(sound + noted.read_text().splitlines(keepends=True)[1])
    else:
        noted.unlink()
    carry(stick, laptop)
    assert laptop.sessions() == []
    assert list(stick.rglob(LOG_NAME)) == []
