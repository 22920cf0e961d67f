"""One session is imported once, from whichever directory; ids that two sessions have are told by their paths."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.paths import LOG_NAME, log_path
from amplifier_module_context_persistent.sessions.find_session import SessionNameError, find_session
from amplifier_module_context_persistent.sessions.session_files import session_files
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.imports import write_jsonl
from tests.support.sweeps import proof


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "a")
    return tmp_path


def entry(session: str, number: int, **more: Any) -> dict[str, Any]:
    parent = f"u{number - 1}" if number > 1 else None
    message = {"role": "user", "content": f"text {number}"}
    return {
        "type": "user",
        "sessionId": session,
        "uuid": f"u{number}",
        "parentUuid": parent,
        "message": message,
        **more,
    }


def talk(path: Path, count: int, session: str = "s1") -> Path:
    agent = entry(session, 90, isSidechain=True, agentId="a1", parentUuid=None)
    return write_jsonl(path, [*(entry(session, number) for number in range(1, count + 1)), agent])


def test_from_another_directory_it_is_the_same_session(home: Path) -> None:
    """What is new is added in the project in which it was imported first, to its sub-agents too."""
    first = import_session(talk(home / "s1.jsonl", 2))
    os.chdir(home / "b")
    again = import_session(talk(home / "s1.jsonl", 3))
    assert [one.path for one in again.sessions] == [one.path for one in first.sessions]
    assert [one.added for one in again.sessions] == [1, 0]
    assert len(session_files()) == 2
    assert str(find_session("s1")) == first.path


def test_another_session_of_the_same_id_keeps_its_own_place(home: Path) -> None:
    """It got an id with a mark; that one is found again too."""
    first = import_session(talk(home / "s1.jsonl", 2))
    other = write_jsonl(home / "other.jsonl", [entry("s1", 7, parentUuid=None)])
    second = import_session(other)
    assert second.session_id != first.session_id == "s1"
    os.chdir(home / "b")
    assert import_session(other).path == second.path
    assert import_session(talk(home / "s1.jsonl", 2)).path == first.path


@proof
def test_a_copy_of_a_log_goes_on_where_it_is(home: Path) -> None:
    """And a log that is a session of another project already is none again."""
    report = import_session(talk(home / "s1.jsonl", 2))
    copy = home / "copy.jsonl"
    copy.write_bytes(Path(report.path).read_bytes())
    (Path(report.path)).unlink()
    first = import_session(copy)
    os.chdir(home / "b")
    assert (import_session(copy).path, import_session(copy).added) == (first.path, 0)
    with pytest.raises(ImportRefusedError, match="is a session already"):
        import_session(first.path)
    fork_session(first.path)
    assert import_session(first.path, path=home / "elsewhere.jsonl").added == 2


def test_two_sessions_of_one_id_are_told_by_their_paths(home: Path) -> None:
    """From a third directory; the whole id, or its beginning, names both."""
    for name in ("a", "b"):
        path = log_path(Config(), session_id="abc", working_dir=str(home / name))
        write_jsonl(path, [{"role": "user", "content": name}])
    os.chdir(home)
    for name in ("abc", "ab"):
        with pytest.raises(SessionNameError) as refused:
            find_session(name)
        assert all(str(session.path) in str(refused.value) for session in session_files())
        assert "name one by its path" in str(refused.value)
    assert Path(find_session(str(session_files()[0].path))).name == LOG_NAME


@proof
def test_a_killed_addition_is_finished(home: Path) -> None:
    """Its header says what it meant to write; what it did not write comes with the next import, plans too."""
    report = import_session(talk(home / "s1.jsonl", 1))
    kept = Path(report.path).read_bytes()
    note = {"type": "system", "uuid": "c1", "parentUuid": "u2", "sessionId": "s1", "subtype": "compact_boundary"}
    summary = entry("s1", 3, parentUuid="c1", isCompactSummary=True)
    lines = [entry("s1", 1), entry("s1", 2), note, summary, entry("s1", 4)]
    import_session(write_jsonl(home / "s1.jsonl", lines))
    whole = Path(report.path).read_bytes()
    added = whole.removeprefix(kept).splitlines(keepends=True)
    for count in range(1, len(added)):
        Path(report.path).write_bytes(kept + b"".join(added[:count]))
        import_session(home / "s1.jsonl")
        with Transcript(report.path) as transcript:
            assert [one["content"] for one in transcript.messages()] == ["text 1", "text 2", "text 4"], count
        assert Path(report.path).read_bytes().count(b'{"_record":"plan"') >= 1, count


async def test_a_session_that_was_opened_by_its_path_is_known_again(tmp_path: Path) -> None:
    """Such an opening may write a header of its own, which says nothing of a source."""
    talk = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    source = write_jsonl(tmp_path / "s.jsonl", talk)
    report = import_session(source, session_id="s", path=tmp_path / "log.jsonl")
    async with PersistentContextManager(report.path, durability="write") as manager:
        await manager.get_messages_for_request(provider="somebody")
    assert import_session(source, session_id="s", path=tmp_path / "log.jsonl").added == 0
    write_jsonl(source, [*talk, {"role": "user", "content": "three"}])
    assert import_session(source, session_id="s", path=tmp_path / "log.jsonl").added == 1
