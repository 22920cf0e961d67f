"""A file of ours with another name (hard link) keeps its content there: every erasing command says so."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.catalogue.catalogue_file import catalogue_of
from amplifier_module_context_persistent.log.save_torn_tail import saved_tails
from amplifier_module_context_persistent.paths import LOG_NAME
from tests.support.sweeps import proof
from tests.support.two_homes import Home

KEY = "zq-leaked-0123456789"
LINKED = "has another name (hard link), under which its content stays"


def imported(home: Home) -> Path:
    """A session with files for the host that the import wrote, each of which holds the key; its log."""
    home.says("talk", f"my key is {KEY}", "two")
    home.log("talk").with_name("metadata.json").write_text(json.dumps({"name": f"named {KEY}"}))
    home.run("fork", "talk", "--session", "made")
    home.run("stats", "--all")
    return home.log("made")


@proof(quick=1)
@pytest.mark.parametrize("name", ["transcript.jsonl", "metadata.json", "catalogue"])
@pytest.mark.parametrize("what", [("--redact", KEY), ("--everything",)], ids=lambda what: what[0])
def test_a_purge_names_another_name_of_a_file_of_ours(laptop: Home, name: str, what: tuple[str, ...]) -> None:
    """A second purge has nothing to say, since the file is a new one."""
    log = imported(laptop)
    with laptop.used():
        file = catalogue_of(log) if name == "catalogue" else log.with_name(name)
    os.link(file, laptop.root / "kept")
    said = laptop.run("purge", "made", *what, "--yes", code=1).output
    assert f"{file} {LINKED}" in said
    assert "Done, but" in said
    laptop.run("purge", "made", *what, "--yes")


def test_a_purge_does_not_name_another_name_of_a_file_without_the_text(laptop: Home) -> None:
    log = imported(laptop)
    laptop.run("purge", "made", "--redact", KEY, "--yes")
    os.link(log.with_name("metadata.json"), laptop.root / "kept")
    laptop.run("purge", "made", "--redact", "two", "--yes")


def test_a_purge_names_another_name_of_a_torn_tail(laptop: Home) -> None:
    log = imported(laptop)
    log.write_bytes(log.read_bytes() + b'{"role":"user","content":"torn')
    laptop.run("repair", log, "--yes")
    (tail,) = saved_tails(str(log))
    os.link(tail, laptop.root / "kept")
    assert f"{tail} {LINKED}" in laptop.run("purge", "made", "--torn", "--yes", code=1).output


def test_a_deletion_names_another_name_of_the_catalogue(laptop: Home) -> None:
    log = imported(laptop)
    with laptop.used():
        os.link(catalogue_of(log), laptop.root / "kept")
    assert "stays under other names" in laptop.run("delete", "made", "--yes").output


@pytest.mark.parametrize("erased", ["delete", "metadata"])
def test_a_sync_names_another_name_of_what_it_erases(laptop: Home, stick: Path, erased: str) -> None:
    imported(laptop)
    laptop.run("sync", stick, "--yes")
    (log,) = stick.rglob(f"made/{LOG_NAME}")
    if erased == "delete":
        laptop.run("delete", "made", "--yes")
        file = log
    else:
        laptop.run("purge", "made", "--redact", KEY, "--yes")
        file = log.with_name("metadata.json")
    os.link(file, stick / "kept")
    assert f"{LINKED}: {file}" in laptop.run("sync", stick, "--yes", code=1).output
    laptop.run("sync", stick, "--yes")


def test_a_backup_names_another_name_of_what_it_erases(laptop: Home) -> None:
    imported(laptop)
    (laptop.root / "backup").mkdir()
    laptop.run("backup", laptop.root / "backup")
    (log,) = (laptop.root / "backup").rglob(f"made/{LOG_NAME}")
    os.link(log, laptop.root / "kept")
    laptop.run("delete", "made", "--yes")
    said = laptop.run("backup", laptop.root / "backup", "--erase", "--yes", code=1).output
    assert f"{LINKED}: {log}" in said


def test_a_file_of_ours_without_its_log_is_named_by_a_purge_and_goes_with_a_deletion(laptop: Home) -> None:
    """Somebody removed the log alone."""
    log = imported(laptop)
    log.unlink()
    for _ in range(2):
        said = laptop.run("purge", "--redact", KEY, "--all", "--yes", code=1).output
        assert f"{log.with_name('transcript.jsonl')}: 2 lines" in said
    laptop.run("delete", "made", "--yes")
    assert not log.parent.exists()
