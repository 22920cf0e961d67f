"""Copying whole logs between files and a database: the same bytes, the same views, the same receipts."""

import os
from dataclasses import fields
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import AppendError, LogUnreadableError
from amplifier_module_context_persistent.log.database_location import location_of
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.open_log import open_log
from amplifier_module_context_persistent.log.open_reader import open_reader
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from amplifier_module_context_persistent.toolbox.transfer.copy_log import copy_log, copy_target
from fixtures.generate import generate_session
from tests.support.logs import STAMP, append, body, reset_bodies, sealed
from tests.support.postgres import CuttingProxy, TestServer
from tests.support.recorded_sessions import Recorded
from tests.support.sweeps import proof, spread

ROOT = Path(__file__).parents[3]
REAL = sorted((ROOT.parent / "shared" / "transcripts").rglob("*.jsonl"))
LOGS = [*sorted((ROOT / "fixtures").glob("*.jsonl")), *sorted((ROOT / "tests" / "log" / "golden").glob("*.jsonl"))]


async def recorded(path: Path) -> None:
    """A session with plans, receipts, a clear and an edited line."""
    session = Recorded(path)
    messages = list(generate_session(3, 60))
    for start in range(0, len(messages), 12):
        await session.add(*messages[start : start + 12])
        await session.view()
    await session.manager.clear()
    await session.add(*messages[:4])
    await session.view()
    await session.manager.close()


def asking(number: int) -> list[bytes]:
    """A receipt of a request to one of three models, now and then without an answer, or with none before an answer."""
    models = [("anthropic", "opus"), ("openai", "é"), ("", "")]
    receipts = [encode_control("view", provider=provider, model=model) for provider, model in models]
    return (
        [] if number % 7 == 3 else receipts[number % 2 : number % 2 + 1 + number % 5 // 4] + receipts[number % 3 :][:1]
    )


def answer(number: int) -> bytes:
    return encode_message(
        {"role": "assistant", "content": f"answer {number}"}, message_id=f"a{number}", timestamp=STAMP
    )


def made_logs() -> dict[str, bytes]:
    """Logs that a database could mistake: moved, repeated, bare and damaged lines, resets of both formats."""
    lines = sealed([body(number) for number in range(100)])
    sound = b"".join(lines)
    bare = b'{"role":"user","content":"bare"}\n'
    return {
        "sound": sound,
        "moved": b"".join([*lines[:10], *lines[20:30], *lines[10:20], *lines[30:]]),
        "repeated": sound + lines[50],
        "bare before": bare * 70 + sound,
        "bare within": b"".join([*lines[:70], bare, *lines[70:]]),
        "lost": b"".join(lines[:70] + lines[71:]),
        "edited": sound.replace(b"7", b"8", 5),
        "no newline": sound[:-1],
        "torn": sound + lines[-1][:40],
        "empty lines": sound.replace(b"\n", b"\n\n", 3),
        "reset": b"".join(sealed([*map(body, range(80)), *reset_bodies("r", body(200)), *map(body, range(300, 380))])),
        "open reset": b"".join(
            sealed([*map(body, range(80)), *reset_bodies("r", body(200))[:-1], *map(body, range(300, 380))])
        ),
        "pinned": b"".join(sealed([body(number, pinned=number % 3 == 0) for number in range(100)])),
        "asked": b"".join(
            sealed([one for number in range(90) for one in (*asking(number), answer(number), body(500 + number))])
        ),
        "no last kept": b"not json" + sound,
        "empty": b"",
    }


def state(location: str) -> object:
    """All that a reader knows of a log, and what its views were."""
    with Transcript(location) as there:
        # a torn end is no line of a file
        columns = [one.name for one in fields(Index) if one.compare and one.name != "damage"]
        known = [getattr(there.reader.index, name) for name in columns]
        views = [there.view(number + 1) for number in range(len(there.requests()))]
        return [known, list(there.messages()), views]


def assert_same_there(source: str, storage: str, tmp_path: Path) -> None:
    """Copied there and back it has the same bytes, and both sides read the same in it."""
    there, back = location_of(storage, "p/copied"), str(tmp_path / "back.jsonl")
    copied, again = copy_log(source, there), copy_log(there, back)
    assert Path(back).read_bytes() == Path(source).read_bytes()
    assert (copied.sha256, copied.size_bytes, copied.messages) == (again.sha256, again.size_bytes, again.messages)
    assert state(there) == state(source) == state(back)
    with_lines = open_reader(there, trusting=False)
    with_lines.follow()
    by_columns = open_reader(there)
    by_columns.follow()
    assert [one.kind for one in by_columns.index.damage] == [one.kind for one in with_lines.index.damage]
    for reader in (with_lines, by_columns):
        reader.close()


@proof(quick=1)
@pytest.mark.parametrize("name", list(spread(made_logs(), 2)))
def test_made_logs_are_the_same_on_both_sides(name: str, storage: str, tmp_path: Path) -> None:
    """Whatever state a log is in."""
    source = tmp_path / "log.jsonl"
    source.write_bytes(made_logs()[name])
    assert_same_there(str(source), storage, tmp_path)


@proof(quick=1)
@pytest.mark.parametrize(
    "path",
    [*spread([log for log in LOGS if log.name != "bundle.jsonl"], 2), *spread(REAL[:: max(1, len(REAL) // 8)], 8)],
    ids=lambda path: path.name,
)
def test_fixtures_are_the_same_on_both_sides(path: Path, storage: str, tmp_path: Path) -> None:
    """Those of this repository, and a sample of real transcripts where there are any."""
    assert_same_there(str(path), storage, tmp_path)


def test_an_interrupted_append_of_several_messages_is_not_copied(storage: str, tmp_path: Path) -> None:
    """Nobody was told that they were stored; a database has no torn end, and would show the first of them."""
    (source,) = (log for log in LOGS if log.name == "bundle.jsonl")
    for target in (location_of(storage, "p/cut"), str(tmp_path / "cut.jsonl")):
        copied = copy_log(str(source), target)
        assert copied.messages == 4
        assert state(copied.path) == state(str(source))
        assert source.read_bytes()[copied.size_bytes :].startswith(b'{"_record":"bundle"')


@proof
async def test_views_and_receipts_are_the_same(storage: str, tmp_path: Path) -> None:
    """Every view is made again and proved there, and the session goes on with the bytes that it would have here."""
    path = tmp_path / "log.jsonl"
    await recorded(path)
    assert_same_there(str(path), storage, tmp_path)
    with Transcript(location_of(storage, "p/copied")) as there:
        views = [there.view(number + 1) for number in range(len(there.requests()))]
    assert views
    assert all(view.proved for view in views)
    location = location_of(storage, "p/copied")
    config = {"tokenizer": "estimate", "max_tokens": 4_000}
    handed = []
    async with PersistentContextManager(path, **config) as here:
        handed.append(await here.get_messages_for_request())
    copy_log(location, str(tmp_path / "again" / "log.jsonl"))
    async with PersistentContextManager(tmp_path / "again" / "log.jsonl", **config) as again:
        handed.append(await again.get_messages_for_request())
    assert handed[0] == handed[1]


@proof
def test_a_name_is_never_taken_twice(storage: str, tmp_path: Path) -> None:
    """Neither a log's in a database nor a file's; what is there stays."""
    path, there = str(tmp_path / "log.jsonl"), location_of(storage, "s")
    Path(path).write_bytes(made_logs()["sound"])
    copy_log(path, there)
    before = verify_log(there)
    with pytest.raises(FileExistsError):
        copy_log(path, there)
    with pytest.raises(FileExistsError):
        copy_log(there, path)
    assert verify_log(there) == before
    assert Path(path).read_bytes() == made_logs()["sound"]


def test_what_is_not_there_is_not_copied(storage: str, tmp_path: Path) -> None:
    """Nothing is made where it would have gone."""
    with pytest.raises(LogUnreadableError, match="no such"):
        copy_log(location_of(storage, "s"), str(tmp_path / "new" / "log.jsonl"))
    with pytest.raises(LogUnreadableError, match="no such"):
        copy_log(str(tmp_path / "log.jsonl"), location_of(storage, "s"))
    assert os.listdir(tmp_path) == []


def test_a_cut_connection_leaves_nothing_or_all(server: TestServer, storage: str, tmp_path: Path) -> None:
    """Wherever it is cut: an error is the truth, and so is a success."""
    path, content = tmp_path / "log.jsonl", made_logs()["sound"]
    path.write_bytes(content)
    proxy, outcomes = CuttingProxy(server.socket_path), []
    try:
        through = proxy.location(storage)
        for number, cut in enumerate((600, 1_500, 3_000, 9_000, 20_000, len(content) + 1_500, len(content) + 3_500)):
            there = f"s{number}"
            proxy.cut_after = cut
            try:
                copy_log(str(path), location_of(through, there))
            except (AppendError, LogUnreadableError):
                outcomes.append(False)
            else:
                outcomes.append(True)
            proxy.cut_after = None
            log = open_reader(location_of(storage, there))
            log.follow()
            assert b"".join(log.records()) == (content if outcomes[-1] else b"")
            log.close()
    finally:
        proxy.close()
    assert False in outcomes


def test_a_target_is_completed_by_the_sessions_name(
    storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the host's directories; in a directory it gets one of its own."""
    path = tmp_path / "-home-u-app" / "sessions" / "s1" / LOG_NAME
    assert copy_target(str(path), storage) == location_of(storage, "-home-u-app/s1")
    assert copy_target(str(path), location_of(storage, "other")) == location_of(storage, "other")
    assert copy_target(location_of(storage, "p/s1"), str(tmp_path)) == str(tmp_path / "s1" / LOG_NAME)
    assert copy_target(location_of(storage, "p/s1"), "service=other") == "service=other #p/s1"
    monkeypatch.chdir(tmp_path)
    named = copy_target(str(tmp_path / "kept" / LOG_NAME), storage)
    assert named.endswith("/kept")
    with pytest.raises(ValueError, match="name the copy"):
        copy_target(str(tmp_path / "some.jsonl"), storage)


def test_a_session_goes_on_in_the_copy(storage: str, tmp_path: Path) -> None:
    """What is appended there chains to what was copied."""
    path, there = tmp_path / "log.jsonl", location_of(storage, "s")
    path.write_bytes(made_logs()["no newline"])
    copy_log(str(path), there)
    log = open_log(there)
    append(log, 500, 501)
    log.close()
    assert verify_log(there).is_sound
    copy_log(there, str(tmp_path / "back.jsonl"))
    assert verify_log(str(tmp_path / "back.jsonl")).is_sound
