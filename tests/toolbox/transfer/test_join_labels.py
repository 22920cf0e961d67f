"""Names and tags that were given on both sides of a sync are put together; they part no session."""

from __future__ import annotations

import errno
import json
from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.file_handle import is_archived
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.open_log import open_log
from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup import sync_sessions
from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup.append_to_copy import SyncError
from amplifier_module_context_persistent.toolbox.transfer.sync_and_backup.join_labels import Label
from tests.support.archives import content_of_log
from tests.support.sweeps import proof
from tests.support.two_homes import Home, carry, files_below


def label_of(home: Home, session: str = "talk") -> tuple[str, list[str]]:
    """The name and the tags that a list shows."""
    (found,) = [
        one for one in json.loads(home.run("list", "--all", "--json").stdout)["sessions"] if one["session"] == session
    ]
    return found["name"], sorted(found["tags"])


@pytest.fixture
def both(laptop: Home, desktop: Home, stick: Path) -> tuple[Home, Home]:
    """Two homes with the same session, which has the tag `old`."""
    laptop.says("talk", "one", "two")
    laptop.run("tag", "talk", "old")
    carry(stick, laptop, desktop)
    return laptop, desktop


def check_in_step(stick: Path, *homes: Home) -> None:
    """Nothing is new anywhere, and the logs are the same and sound."""
    for home in homes:
        assert "Nothing is new: 1 session in step" in home.run("sync", stick).output
        home.run("verify", "--all")
    copy = next(stick.rglob(LOG_NAME))
    assert {content_of_log(log) for log in (copy, *(home.log("talk") for home in homes))} == {content_of_log(copy)}


def test_a_name_here_and_a_tag_there_are_both_kept(both: tuple[Home, Home], stick: Path) -> None:
    laptop, desktop = both
    laptop.run("rename", "talk", "cart bug")
    desktop.run("tag", "talk", "shop")
    desktop.run("tag", "talk", "--remove", "old")
    carry(stick, laptop)
    told = desktop.run("sync", stick, "--dry-run").output
    assert "names and tags of both sides are put together; nothing else differs" in told
    carry(stick, desktop, laptop)
    assert label_of(laptop) == label_of(desktop) == ("cart bug", ["shop"])
    check_in_step(stick, laptop, desktop)


@pytest.mark.parametrize("who", ["laptop", "desktop"])
@pytest.mark.parametrize("form", ["plain", "archived"])
def test_the_side_that_said_more_keeps_its_history(both: tuple[Home, Home], stick: Path, who: str, form: str) -> None:
    """The other one has named the session, and gets all of it, with the host's files."""
    laptop, desktop = both
    goes_on, names = (laptop, desktop) if who == "laptop" else (desktop, laptop)
    goes_on.says("talk", "three")
    names.run("rename", "talk", "cart bug")
    if form == "archived":
        goes_on.run("archive", "talk", "--yes")
    carry(stick, laptop, desktop, laptop)
    for home in both:
        assert label_of(home) == ("cart bug", ["old"])
    check_in_step(stick, laptop, desktop)
    assert is_archived(goes_on.log("talk")) == (form == "archived")
    assert laptop.texts("talk") == desktop.texts("talk") == ["one", "two", "three"]
    transcript = names.log("talk").with_name("transcript.jsonl")
    if transcript.exists():
        assert "three" in transcript.read_text()


def test_of_two_names_the_later_one_counts(both: tuple[Home, Home], stick: Path) -> None:
    """Also if the earlier one is synced last."""
    laptop, desktop = both
    laptop.run("rename", "talk", "first")
    desktop.run("rename", "talk", "second")
    desktop.run("tag", "talk", "shop")
    carry(stick, desktop, laptop, desktop)
    assert label_of(laptop) == label_of(desktop) == ("second", ["old", "shop"])
    check_in_step(stick, laptop, desktop)


def test_a_third_machine_follows(both: tuple[Home, Home], stick: Path, tmp_path: Path) -> None:
    """It has the label of one of the two."""
    laptop, desktop = both
    third = Home(tmp_path / "third", "name")
    laptop.run("rename", "talk", "cart bug")
    carry(stick, laptop, third)
    desktop.says("talk", "three")
    desktop.run("tag", "talk", "shop")
    carry(stick, desktop, third, laptop)
    for home in (laptop, desktop, third):
        assert label_of(home) == ("cart bug", ["old", "shop"])
    check_in_step(stick, laptop, desktop, third)


def test_a_sync_that_was_killed_between_is_finished(
    both: tuple[Home, Home], stick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has the label, and its copy is not replaced yet."""
    laptop, desktop = both
    laptop.run("rename", "talk", "cart bug")
    desktop.run("tag", "talk", "shop")
    carry(stick, laptop)

    def killed(*_: object, **__: object) -> None:
        raise SyncError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(sync_sessions, "replace_copy", killed)
        desktop.run("sync", stick, code=1)
    carry(stick, desktop, laptop)
    assert label_of(laptop) == label_of(desktop) == ("cart bug", ["old", "shop"])
    check_in_step(stick, laptop, desktop)


def test_what_a_model_would_see_otherwise_is_not_put_together(both: tuple[Home, Home], stick: Path) -> None:
    """It is said that no message differs, and what does."""
    laptop, desktop = both
    laptop.says("talk", "three")
    carry(stick, laptop, desktop)
    laptop.run("hide", "talk", "1")
    laptop.run("tag", "talk", "shop")
    desktop.run("hide", "talk", "2")
    carry(stick, laptop)
    before = files_below(stick)
    told = desktop.run("sync", stick, code=1).output
    assert "no message differs, but a model would see them otherwise: here hidden turns, there hidden turns, " in told
    assert files_below(stick) == before


def test_a_replacement_that_does_not_fit_is_called_so(both: tuple[Home, Home], stick: Path) -> None:
    """It is no purge; the next sync finishes it."""
    laptop, desktop = both
    laptop.run("rename", "talk", "cart bug")
    desktop.run("tag", "talk", "shop")
    carry(stick, laptop)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileSystem, "create_new", full)
        told = desktop.run("sync", stick, code=1).output
    assert "its replacement was refused (" in told
    assert "purge" not in told
    carry(stick, desktop, laptop)
    check_in_step(stick, laptop, desktop)


@pytest.mark.parametrize("opened", ["the kept log", "its copy"])
def test_a_log_that_is_open_is_left(both: tuple[Home, Home], stick: Path, opened: str) -> None:
    laptop, desktop = both
    laptop.says("talk", "three")
    desktop.run("rename", "talk", "cart bug")
    carry(stick, laptop)
    log = next(stick.rglob(LOG_NAME)) if opened == "the kept log" else desktop.log("talk")
    before = log.read_bytes()
    with closing(open_log(str(log), marks_open=True)) as opened_log:
        opened_log.follow()
        assert "the session is open" in desktop.run("sync", stick, code=1).output
    assert log.read_bytes() == before


def test_a_damaged_copy_is_not_replaced(both: tuple[Home, Home], stick: Path) -> None:
    laptop, desktop = both
    laptop.run("rename", "talk", "cart bug")
    desktop.run("tag", "talk", "shop")
    carry(stick, laptop)
    for log in (next(stick.rglob(LOG_NAME)), desktop.log("talk")):
        log.write_bytes(log.read_bytes().replace(b'"I heard: one"', b'"I heard: two"'))
    before = files_below(stick)
    desktop.run("sync", stick, code=1)
    assert files_below(stick) == before


def test_a_label_without_a_time_or_tags_is_read() -> None:
    """Another program may have written it."""
    label = Label().after(b'{"_record":"label","title":"a"}')
    assert label == Label("a")
    assert label.after(b'{"role":"user"}') is label
    assert label.after(b'{"_record":"label","tags":["x",1]}').tags == ("x",)


@proof
def test_they_are_put_together_in_a_database(laptop: Home, desktop: Home, storage: str) -> None:
    laptop.says("talk", "one")
    for home in (laptop, desktop, laptop):
        home.run("sync", storage)
    laptop.run("rename", "talk", "cart bug")
    desktop.run("tag", "talk", "shop")
    for home in (laptop, desktop, laptop):
        home.run("sync", storage)
    assert label_of(laptop) == label_of(desktop) == ("cart bug", ["shop"])
    for home in (laptop, desktop):
        assert "Nothing is new" in home.run("sync", storage).output
    assert laptop.log("talk").read_bytes() == desktop.log("talk").read_bytes()


def test_a_restore_says_that_only_the_name_differs(laptop: Home, tmp_path: Path) -> None:
    """It changes nothing that the home has."""
    kept = tmp_path / "kept"
    kept.mkdir()
    laptop.says("talk", "one")
    before = laptop.log("talk").read_bytes()
    laptop.run("tag", "talk", "shop")
    laptop.run("backup", kept)
    laptop.log("talk").write_bytes(before)
    laptop.run("rename", "talk", "cart bug")
    told = laptop.run("backup", kept, "--restore", code=1).output
    assert "the home has all of it, and another name or other tags" in told
    assert label_of(laptop) == ("cart bug", [])
