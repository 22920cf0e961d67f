"""What was erased from a database stays erased there: whoever imports, syncs or copies into it, from any machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amplifier_module_context_persistent.erasures.erasure_list import erasures, lift, note_erasure
from amplifier_module_context_persistent.erasures.erasure_record import SESSION
from amplifier_module_context_persistent.log.database_location import parse_location
from amplifier_module_context_persistent.log.postgres import migration_steps, row_security
from amplifier_module_context_persistent.log.postgres.schema import create_schema
from amplifier_module_context_persistent.toolbox.transfer.erasing.erased_session_names import SourceNames
from amplifier_module_context_persistent.toolbox.transfer.erasing.new_erasure import erasure_of
from tests.support.postgres import TestServer
from tests.support.sweeps import proof
from tests.support.two_homes import Home, holders

KEY = "sk-live-0123456789abcdefghij"


def in_database(home: Home, storage: str) -> str:
    """What a machine lists there."""
    return home.run("list", "--storage", storage, "--all", code=None).output


@proof(quick=1)
@pytest.mark.parametrize("way", ["import", "sync", "copy"])
def test_a_session_that_was_deleted_there_does_not_come_back(
    way: str, laptop: Home, desktop: Home, storage: str, tmp_path: Path
) -> None:
    """Not even from a machine that knows nothing of the deletion; told to, it does."""
    laptop.says("talk", "one", "two")
    laptop.run("copy", "talk", storage)
    laptop.run("copy", "talk", tmp_path / "kept.jsonl")
    laptop.run("delete", "talk", "--storage", storage, "--yes")
    if way == "sync":
        desktop.says("other", "three")
        desktop.run("import", tmp_path / "kept.jsonl")
        desktop.run("sync", storage, "--yes", code=None)
        assert "three" in in_database(desktop, storage)
        assert "one" not in in_database(desktop, storage)
        assert desktop.sessions() == ["other"]
        return
    command = ("import", tmp_path / "kept.jsonl", "--storage", storage)
    if way == "copy":
        desktop.run("import", tmp_path / "kept.jsonl")
        command = ("copy", desktop.sessions()[0], storage)
    refused = desktop.run(*command, code=2).output
    assert "was deleted here" in refused
    assert "one" not in in_database(desktop, storage)
    desktop.run(*command, "--again")
    assert "one" in in_database(desktop, storage)


@proof(quick=1)
@pytest.mark.parametrize("what", [("--redact", KEY), ("--everything",)], ids=" ".join)
def test_what_was_purged_there_does_not_come_back(
    what: tuple[str, ...], laptop: Home, desktop: Home, storage: str, tmp_path: Path
) -> None:
    """Neither by an old log, nor by a sync: that purges the copy on the other machine."""
    laptop.says("talk", f"my key is {KEY}", "two")
    laptop.run("copy", "talk", storage)
    laptop.run("copy", "talk", tmp_path / "kept.jsonl")
    laptop.run("purge", "talk", *what, "--storage", storage, "--yes")
    desktop.run("import", tmp_path / "kept.jsonl")
    assert "was purged here" in desktop.run("import", tmp_path / "kept.jsonl", "--storage", storage, code=2).output
    desktop.run("sync", storage, "--yes", code=None)
    for there in ((), ("--storage", storage)):
        assert desktop.run("search", KEY, "--hidden", "--all", *there, code=1).stdout == ""


@proof(quick=1)
@pytest.mark.parametrize("way", [("delete",), ("purge", "--redact", KEY), ("purge", "--everything")], ids=" ".join)
def test_what_a_home_erased_there_goes_from_the_home_too(way: tuple[str, ...], laptop: Home, storage: str) -> None:
    """The home has noted the erasure already; its own copy still holds what went."""
    laptop.says("talk", f"my key is {KEY}", "two")
    laptop.run("sync", storage)
    laptop.run(way[0], "talk", *way[1:], "--storage", storage, "--yes")
    laptop.run("sync", storage, "--all", "--yes")
    assert holders(laptop.root, KEY) == []
    assert "in step" in laptop.run("sync", storage, "--all", code=None).output or way == ("delete",)


def test_a_foreign_source_is_purged_again_on_its_way_into_the_database(
    laptop: Home, desktop: Home, storage: str, tmp_path: Path
) -> None:
    """From any machine, and under another id, too."""
    source = tmp_path / "talk.jsonl"
    source.write_text(json.dumps({"role": "user", "content": f"my key is {KEY}"}) + "\n")
    laptop.run("import", source, "--session", "a", "--storage", storage)
    laptop.run("purge", "a", "--redact", KEY, "--storage", storage, "--yes")
    told = desktop.run("import", source, "--session", "b", "--storage", storage).output
    assert "a text was purged here" in told
    assert desktop.run("search", KEY, "--hidden", "--all", "--storage", storage, code=1).stdout == ""
    desktop.run("import", source, "--session", "c", "--storage", storage, "--again")
    desktop.run("search", KEY, "--all", "--storage", storage)


def test_a_list_is_read_and_lifted_in_both_places(storage: str, home: Path) -> None:
    """What one of the two lifts is in force in neither, and the other list of this user stays as it was."""
    erasure = erasure_of(SourceNames(("key:a",)), SESSION, time="2026-01-05T09:00:00Z")
    assert erasures(storage) == []
    note_erasure(erasure, f"{storage}#p/s")
    assert erasures() == erasures(storage) == [erasure]
    lift([erasure], storage)
    assert erasures() == erasures(storage) == []


def test_tables_without_a_list_go_on(server: TestServer, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Only this user's list says what was erased; the migration adds the table."""
    with monkeypatch.context() as patch:
        patch.setattr(
            migration_steps,
            "STEPS",
            tuple(step for step in migration_steps.STEPS if step.name != migration_steps.ERASURES),
        )
        create_schema(server.connection, "without_list")
    storage = f"{server.server.get_uri()}&schema=without_list"
    note_erasure(erasure_of(SourceNames(("key:a",)), SESSION, time="t"), storage)
    assert [one.time for one in erasures(storage)] == ["t"]
    server.execute("drop schema without_list cascade")


def test_each_role_sees_its_own_list_with_row_security(server: TestServer, storage: str) -> None:
    """As it sees its own logs; and what administrators noted."""
    schema = parse_location(storage).schema
    assert "erasure" in row_security.secure_rows(server.connection, schema)
    policies = server.execute(
        "select qual from pg_catalog.pg_policies where schemaname = %s and tablename = 'erasure'", schema
    )
    assert len(policies) == 2
    assert all("owner" in policy for (policy,) in policies)


def test_a_purge_of_many_messages_names_them_all() -> None:
    """Of a million as of three: by these names it travels."""
    ids = tuple(range(-75_000, 75_000))
    erasure = erasure_of(SourceNames(("key:a",), id_hashes=ids), "messages", time="t")
    assert len(erasure.ids.hashes) == 6 * len(ids)
    assert all(map(erasure.took, ids[::500]))
    assert not any(map(erasure.took, range(75_000, 75_500)))
