"""Importing a log of our own: a copy, byte for byte; again, only what is new."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import ConfigError, LogUnreadableError
from amplifier_module_context_persistent.paths import LOG_NAME, project_slug
from amplifier_module_context_persistent.toolbox.cli import main
from amplifier_module_context_persistent.toolbox.transfer.copy_log import copy_log
from amplifier_module_context_persistent.toolbox.transfer.imports.drafts import ImportConflictError
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.commands import shows
from tests.support.imports import contents, history_and_view, write_jsonl
from tests.support.sweeps import proof


async def talk(path: Path, *texts: str, session_id: str = "s1", clear: bool = False) -> Path:
    """A session that says something and asks for a view, in a directory of its own."""
    async with PersistentContextManager(path, session_id=session_id, receipts=True) as manager:
        for text in texts:
            await manager.add_message({"role": "user", "content": text})
            await manager.get_messages_for_request()
            await manager.add_message({"role": "assistant", "content": text.upper()})
        if clear:
            await manager.clear()
    return path


def place_of(session_id: str) -> Path:
    projects = Path.home() / ".amplifier" / "projects"
    return projects / project_slug(Path.cwd()) / "sessions" / session_id / LOG_NAME


async def test_a_log_is_copied_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under its own id, with receipts and hidden history; the second time nothing is new."""
    monkeypatch.chdir(tmp_path)
    log = await talk(tmp_path / "from" / LOG_NAME, "before", clear=True)
    await talk(log, "after", "more")
    report = import_session(log)
    assert (report.session_id, report.path) == ("s1", str(place_of("s1")))
    assert contents(report.path) == contents(log)
    assert (report.messages, report.added, report.hidden, report.lost) == (4, 4, 2, 0)
    assert report.controls["view"] == 3
    assert report.account.lines == report.account.accounted == contents(log).count(b"\n")
    assert (place_of("s1").parent / "metadata.json").exists()
    again = import_session(log)
    assert (again.path, again.added, again.sessions[0].is_older) == (report.path, 0, False)
    done = CliRunner().invoke(main, ["import", str(log)])
    shows(done.stdout, "imported before; 0 of them were added", "2 more were hidden by a clear or a reset, and stay so")


async def test_a_server_that_cannot_be_asked_is_told(tmp_path: Path) -> None:
    """Not called a log that has the name already."""
    log = await talk(tmp_path / "log", "one")
    with pytest.raises(LogUnreadableError, match="cannot be reached"):
        import_session(log, storage="postgresql://user@127.0.0.1:1/none")


@proof
async def test_what_a_log_got_since_is_appended_with_its_bytes(tmp_path: Path) -> None:
    """So the copy stays the same as the original; one that went on here stays as it is."""
    log, copy = await talk(tmp_path / "log", "one"), tmp_path / "copy"
    import_session(log, path=copy)
    await talk(log, "two", "three")
    assert import_session(log, path=copy, dry_run=True).added == 4
    assert contents(copy) != contents(log)
    assert import_session(log, path=copy).added == 4
    assert contents(copy) == contents(log)
    older = contents(log)
    await talk(copy, "here")
    kept = contents(copy)
    report = import_session(log, path=copy)
    assert (report.added, report.sessions[0].is_older) == (0, True)
    await talk(log, "there")
    with pytest.raises(ImportConflictError, match="differs from it after"):
        import_session(log, path=copy)
    assert contents(copy) == kept
    assert contents(log) != older


async def test_damage_is_copied_as_it_stands_and_told(tmp_path: Path) -> None:
    """Nothing of a log is lost by a copy, so `strict` lets it pass."""
    log = await talk(tmp_path / "log", "one", "two")
    log.write_bytes(contents(log).replace(b'"one"', b'"eno"') + b"torn")
    report = import_session(log, path=tmp_path / "new", strict=True)
    assert contents(tmp_path / "new") == contents(log)
    assert [note.line for note in report.notes] == [2]
    assert "copied as it stands" in report.notes[0].reason
    assert import_session(log, path=tmp_path / "new").added == 0
    history, _ = await history_and_view(tmp_path / "new")
    assert [message["content"] for message in history] == ["eno", "ONE", "two", "TWO"]


async def test_a_compressed_log_is_copied(tmp_path: Path) -> None:
    """As it was before it was compressed, under the id in its header."""
    log = await talk(tmp_path / "log", "one")
    packed = tmp_path / "s.jsonl.gz"
    packed.write_bytes(gzip.compress(contents(log)))
    report = import_session(packed, working_dir=str(tmp_path))
    assert report.session_id == "s1"
    assert contents(report.path) == contents(log)


async def test_a_log_keeps_its_id(tmp_path: Path) -> None:
    """Another one is refused, and so is one that leads out of its directory; a log without an id takes any."""
    log = await talk(tmp_path / "log", "one")
    with pytest.raises(ImportRefusedError, match="fork the session"):
        import_session(log, session_id="s2", working_dir=str(tmp_path))
    with pytest.raises(ConfigError):
        import_session(log, session_id="../up", working_dir=str(tmp_path))
    async with PersistentContextManager(tmp_path / "bare") as manager:
        await manager.add_message({"role": "user", "content": "x"})
    report = import_session(tmp_path / "bare", session_id="s2", working_dir=str(tmp_path))
    assert (report.session_id, contents(report.path)) == ("s2", contents(tmp_path / "bare"))


@pytest.mark.parametrize("is_older", [False, True], ids=["now", "earlier version"])
async def test_a_log_that_went_on_by_its_path_keeps_its_id(tmp_path: Path, *, is_older: bool) -> None:
    """Who opens it by its path has no id; earlier versions wrote a header that said so."""
    log = await talk(tmp_path / "log", "one")
    async with PersistentContextManager(log) as manager:
        await manager.add_message({"role": "user", "content": "two"})
        last = contents(log).splitlines(keepends=True)
    if is_older:
        header = json.dumps({"_record": "header", "version": 2, "session_id": None})
        log.write_bytes(b"".join([*last, header.encode() + b"\n"]))
    else:
        assert sum(line.startswith(b'{"_record":"header"') for line in last) == 1
    assert import_session(log, working_dir=str(tmp_path)).session_id == "s1"


@proof
async def test_what_is_no_copy_of_a_log_is_left_alone(tmp_path: Path) -> None:
    """An empty file, another log and a file of another kind."""
    log = await talk(tmp_path / "log", "one")
    others = {"empty": b"", "other": contents(await talk(tmp_path / "o", "two", session_id="s2")), "text": b"a\nb\n"}
    for name, content in others.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileExistsError):
            import_session(log, path=tmp_path / name)
        assert contents(tmp_path / name) == content
    write_jsonl(tmp_path / "header", [{"_record": "header", "version": 2}])
    with pytest.raises(ImportRefusedError, match="no message"):
        import_session(tmp_path / "header", path=tmp_path / "new")


async def test_a_directory_of_logs_is_imported_without_the_hosts_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host's transcript beside a log is no session of its own."""
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        place = tmp_path / "from" / f"d{number}" / LOG_NAME
        await talk(place, "one", session_id=f"d{number}")
        write_jsonl(place.parent / "transcript.jsonl", [{"role": "user", "content": "one"}])
    done = CliRunner().invoke(main, ["import", str(tmp_path / "from")])
    assert done.exit_code == 0, done.output
    assert "2 sessions, 4 messages added" in done.stdout
    assert [contents(place_of(f"d{n}")) == contents(tmp_path / "from" / f"d{n}" / LOG_NAME) for n in (1, 2)] == [
        True
    ] * 2


@proof
async def test_a_log_is_copied_into_a_database_and_back(tmp_path: Path, storage: str) -> None:
    """With the same bytes, also what it gets later; it keeps its id there."""
    log = await talk(tmp_path / "log", "one")
    first = import_session(log, working_dir=str(tmp_path), storage=storage)
    assert (first.session_id, first.added) == ("s1", 2)
    assert import_session(log, working_dir=str(tmp_path), storage=storage).added == 0
    await talk(log, "two")
    assert import_session(log, working_dir=str(tmp_path), storage=storage).added == 2
    copy_log(first.path, str(tmp_path / "back"))
    assert contents(tmp_path / "back") == contents(log)
    await talk(tmp_path / "other", "else")
    with pytest.raises(FileExistsError, match="there is a log of that name already"):
        import_session(tmp_path / "other", working_dir=str(tmp_path), storage=storage)
