"""A sync with a place that is read-only, keeps no permissions, takes not every name, or has a session twice."""

from __future__ import annotations

import errno
import shutil
import sys
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log import file_trust
from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup import (
    join_labels,
    sync_erasures,
    sync_sessions,
    what_disk_takes,
)
from tests.support.two_homes import Home, carry, files_below

IN_STEP = "Nothing is new: 1 session in step."


def copy_of(stick: Path, session: str = "talk") -> Path:
    """The one copy of a session on the stick."""
    [log] = stick.rglob(f"{session}/{LOG_NAME}")
    return log


def second_copy(stick: Path) -> Path:
    """Make a second copy of the project of the session `talk`, as programs do that carry folders."""
    project = copy_of(stick).parents[2]
    second = project.with_name(f"{project.name} (1)")
    shutil.copytree(project, second)
    return second / "sessions" / "talk" / LOG_NAME


def test_a_place_that_has_a_session_twice_settles(laptop: Home, desktop: Home, stick: Path) -> None:
    """The dry run and the sync say so, and which copy to remove; then nothing is said any more."""
    laptop.says("talk", "one")
    carry(stick, laptop)
    first, second = copy_of(stick), second_copy(stick)
    for more in (["--dry-run"], []):
        told = laptop.run("sync", stick, *more).output
        assert IN_STEP in told
        assert f"has it at {first} and at {second}." in told
        assert f"remove the directory {second.parent} " in told
    carry(stick, desktop)
    assert desktop.sessions() == ["talk"]
    assert f"remove the directory {second.parent} " in desktop.run("sync", stick).output
    shutil.rmtree(second.parent)
    told = desktop.run("sync", stick).output
    assert IN_STEP in told
    assert "TWICE" not in told


@pytest.mark.parametrize("longer", ["home", "first", "second"])
@pytest.mark.parametrize("is_new", [True, False], ids=["new here", "known here"])
def test_of_two_copies_of_a_session_the_longer_one_counts(
    laptop: Home, desktop: Home, stick: Path, longer: str, *, is_new: bool
) -> None:
    """One sync brings the home and both copies in step."""
    laptop.says("talk", "one")
    carry(stick, laptop) if is_new else carry(stick, laptop, desktop)
    first, second = copy_of(stick), second_copy(stick)
    laptop.says("talk", "two")
    if longer == "first":
        shutil.copy(laptop.log("talk"), first)
    elif longer == "second":
        shutil.copy(laptop.log("talk"), second)
    home = laptop if longer == "home" else desktop
    assert home.run("sync", stick).exit_code == 0
    whole = laptop.log("talk").read_bytes()
    assert [log.read_bytes() == whole for log in (home.log("talk"), first, second)] == [True] * 3
    assert home.sessions() == ["talk"]
    assert IN_STEP in home.run("sync", stick).output


def test_two_copies_that_parted_are_told_and_kept(laptop: Home, desktop: Home, stick: Path) -> None:
    """With --keep both, both histories are in the home and in the place."""
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    second = second_copy(stick)
    desktop.says("talk", "from the desktop")
    laptop.says("talk", "from the laptop")
    shutil.copy(desktop.log("talk"), second)
    carry_told = laptop.run("sync", stick, code=1).output
    assert "they part" in carry_told
    laptop.run("sync", stick, "--keep", "both")
    [fork] = set(laptop.sessions()) - {"talk"}
    assert laptop.texts("talk") == ["one", "from the laptop"]
    assert laptop.texts(fork) == ["one", "from the desktop"]
    assert "Nothing is new: 2 sessions in step." in laptop.run("sync", stick).output
    desktop.run("sync", stick)
    assert desktop.texts("talk") == ["one", "from the laptop"]
    assert desktop.texts(fork) == ["one", "from the desktop"]


def test_two_sessions_of_one_id_are_told_with_what_to_do(laptop: Home, desktop: Home, stick: Path) -> None:
    laptop.says("talk", "one")
    desktop.says("talk", "another")
    carry(stick, laptop)
    told = desktop.run("sync", stick, code=1).output
    assert f"another session has its id on the other side: {copy_of(stick)}" in told
    assert "`fork` one of them" in told
    desktop.run("fork", "talk")
    desktop.run("delete", "talk", "--yes")
    carry(stick, desktop, laptop)
    assert laptop.sessions() == desktop.sessions()
    assert sorted(text for one in laptop.sessions() for text in laptop.texts(one)) == ["another", "one"]


def test_a_read_only_place_is_copied_from(
    laptop: Home, desktop: Home, stick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was erased in the home stays erased; what the place misses is told, by the dry run too."""
    laptop.says("talk", "one")
    laptop.says("gone", "two")
    carry(stick, laptop, desktop)
    laptop.says("new", "three")
    carry(stick, laptop)
    desktop.says("own", "four")
    desktop.run("delete", "gone", "--yes")
    before = files_below(stick)
    for module in (sync_erasures, sync_sessions):
        monkeypatch.setattr(module, "why_read_only", lambda root: f"{stick} is locked" if root == stick else "")
    for more in (["--dry-run"], ["--yes"]):
        told = desktop.run("sync", stick, *more, code=1).output
        assert f"NOT NOTED in {stick}: {stick} is locked" in told
        assert f"NOT ERASED: gone in {stick}: {stick} is locked" in told
        assert f"LEFT: own: {stick} is locked" in told
    assert desktop.sessions() == ["new", "own", "talk"]
    assert files_below(stick) == before


def read_only(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """Have the disk of a place refuse to be written to."""
    monkeypatch.setattr(sync_sessions, "why_read_only", lambda root: f"{place} is locked" if root == place else "")


def names_apart(laptop: Home, desktop: Home, stick: Path) -> None:
    """The stick has a name and one turn more, and the desktop has a tag."""
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    laptop.says("talk", "two")
    laptop.run("rename", "talk", "cart bug")
    carry(stick, laptop)
    desktop.run("tag", "talk", "shop")


def test_no_names_are_joined_with_those_of_a_read_only_place(
    laptop: Home, desktop: Home, stick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The home's copy would get them from there, but the place would have to get the home's first."""
    names_apart(laptop, desktop, stick)
    read_only(monkeypatch, stick)
    before = files_below(stick)
    for more in (["--dry-run"], []):
        assert f"LEFT: talk: {stick} is locked" in desktop.run("sync", stick, *more, code=1).output
    assert desktop.texts("talk") == ["one"]
    assert files_below(stick) == before


def test_a_read_only_place_that_has_all_names_and_tags_is_copied_from(
    laptop: Home, desktop: Home, stick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names_apart(laptop, desktop, stick)
    laptop.run("tag", "talk", "shop")
    carry(stick, laptop)
    read_only(monkeypatch, stick)
    before = files_below(stick)
    monkeypatch.setattr(join_labels, "open_log", lambda *_, **__: pytest.fail("the place is read-only"))
    for more in (["--dry-run"], []):
        desktop.run("sync", stick, *more)
    assert desktop.texts("talk") == ["one", "two"]
    assert files_below(stick) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_no_names_are_joined_with_those_of_a_copy_that_every_user_may_write(
    laptop: Home, desktop: Home, stick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_trust, "keeps_permissions", lambda _: True)
    names_apart(laptop, desktop, stick)
    copy_of(stick).chmod(0o777)
    before = files_below(stick)
    for more in (["--dry-run"], []):
        assert f"{copy_of(stick)}: every user may write the log" in desktop.run("sync", stick, *more, code=1).output
    assert files_below(stick) == before


@pytest.mark.parametrize("locked", ["home", "stick"])
def test_both_histories_are_kept_only_if_both_sides_can_be_written_to(
    laptop: Home, desktop: Home, stick: Path, monkeypatch: pytest.MonkeyPatch, locked: str
) -> None:
    laptop.says("talk", "one")
    carry(stick, laptop, desktop)
    laptop.says("talk", "from the laptop")
    desktop.says("talk", "from the desktop")
    carry(stick, laptop)
    place = stick if locked == "stick" else desktop.root / ".amplifier" / "projects"
    read_only(monkeypatch, place)
    before = files_below(stick)
    for more in (["--dry-run"], []):
        told = desktop.run("sync", stick, "--keep", "both", *more, code=1).output
        assert "LEFT: talk: they part at" in told
        assert f"; {place} is locked" in told
    assert desktop.sessions() == ["talk"]
    assert files_below(stick) == before


def test_a_list_that_cannot_be_written_in_another_place_keeps_no_session_from_coming(
    laptop: Home, desktop: Home, stick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.says("gone", "one")
    desktop.run("delete", "gone", "--yes")
    laptop.says("talk", "one")
    carry(stick, laptop)

    def refuse(_: object, place: Path) -> None:
        if stick in place.parents:
            raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(sync_erasures, "note_erasures", refuse)
    told = desktop.run("sync", stick, "--yes", code=1).output
    assert f"NOT NOTED in {stick}: {stick / 'context-erased.jsonl'}: Read-only file system" in told
    assert desktop.sessions() == ["talk"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
@pytest.mark.parametrize("keeps", [True, False])
def test_a_copy_that_every_user_may_write_grows_only_where_permissions_mean_nothing(
    laptop: Home, stick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, keeps: bool
) -> None:
    """FAT, exFAT and NTFS show every file so, and take no chmod. Elsewhere the copy may be forged; it is named."""
    monkeypatch.setattr(file_trust, "keeps_permissions", lambda _: keeps)
    backup = tmp_path / "backup"
    backup.mkdir()
    laptop.says("talk", "one")
    for command, place in (("sync", stick), ("backup", backup)):
        laptop.run(command, place)
        copy_of(place).chmod(0o777)
    laptop.says("talk", "two")
    for command, place in (("sync", stick), ("backup", backup)):
        copy = copy_of(place)
        for more in (["--dry-run"], []):
            told = laptop.run(command, place, *more, code=int(keeps)).output
            assert (f"{copy}: every user may write the log" in told) is keeps
        assert (copy.read_bytes() == laptop.log("talk").read_bytes()) is not keeps


def test_a_name_that_the_disk_refuses_is_told_with_its_signs(
    laptop: Home, stick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the dry run, too."""
    monkeypatch.setattr(what_disk_takes, "_takes", lambda *_: False)
    backup = tmp_path / "backup"
    backup.mkdir()
    laptop.says("was:ist", "one")
    laptop.says("plain", "one")
    for command, place in (("sync", stick), ("backup", backup)):
        for more in (["--dry-run"], []):
            told = laptop.run(command, place, *more, code=1).output
            assert "the disk takes no : in a name, as in was:ist; `copy` writes the log to a file" in told
        assert copy_of(place, "plain").exists()


def test_a_damaged_note_of_places_is_told(laptop: Home, stick: Path) -> None:
    """By a deletion, since it cannot say where copies follow, and by the sync that writes the note anew."""
    laptop.says("talk", "one")
    laptop.run("sync", stick)
    note = laptop.root / ".amplifier" / "context-synced.json"
    note.write_text('{"version')
    assert f"{note} is damaged" in laptop.run("delete", "talk", "--dry-run").output
    assert f"{note} is damaged" in laptop.run("sync", stick).output
    assert str(stick) in note.read_text()
    assert "is damaged" not in laptop.run("sync", stick).output


def test_a_new_home_is_told_how_to_become_one(laptop: Home, tmp_path: Path) -> None:
    laptop.says("talk", "one")
    (tmp_path / "new" / "Documents").mkdir(parents=True)
    projects = tmp_path / "new" / ".amplifier" / "projects"
    assert f"or for another home {projects}" in laptop.run("sync", tmp_path / "new", code=2).output
    projects.mkdir(parents=True)
    laptop.run("sync", tmp_path / "new")
    assert list(projects.rglob(LOG_NAME))


def test_a_home_without_sessions_gets_those_of_a_place(laptop: Home, desktop: Home, stick: Path) -> None:
    """Its directory of projects is made."""
    laptop.says("talk", "one")
    carry(stick, laptop)
    shutil.rmtree(desktop.root / ".amplifier")
    assert "1 session would be brought in step" in desktop.run("sync", stick, "--dry-run").output
    desktop.run("sync", stick)
    assert desktop.sessions() == ["talk"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_a_new_home_takes_every_name_that_its_disk_takes(laptop: Home, desktop: Home, stick: Path) -> None:
    """It has no directory of projects yet."""
    laptop.says("was:ist", "one")
    carry(stick, laptop)
    shutil.rmtree(desktop.root / ".amplifier")
    assert "1 session would be brought in step" in desktop.run("sync", stick, "--dry-run").output
    desktop.run("sync", stick)
    assert desktop.sessions() == ["was:ist"]
