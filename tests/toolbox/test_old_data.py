"""Logs and databases that earlier versions wrote (`fixtures/old`): read as they read them, purged, copied, exported."""

import json
import re
import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.bring_back_log import bring_back
from amplifier_module_context_persistent.log.checksum import CRC_TAIL_BYTES
from amplifier_module_context_persistent.log.database_location import location_of
from amplifier_module_context_persistent.log.file_handle import FileHandle
from amplifier_module_context_persistent.log.open_log import open_log
from amplifier_module_context_persistent.log.postgres.schema import create_schema
from amplifier_module_context_persistent.session.manager import PersistentContextManager
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.archives import content_of_log
from tests.support.commands import run
from tests.support.logs import STAMP
from tests.support.places import FIXTURES
from tests.support.postgres import TestServer
from tests.support.purges import redact
from tests.support.sweeps import proof

OLD = FIXTURES / "old"
REVISIONS = sorted(path.name for path in OLD.iterdir())
LOGS = [(revision, path.name) for revision in REVISIONS for path in sorted((OLD / revision).glob("*.jsonl"))]
IDS = ["/".join(one) for one in LOGS]
SCHEMA = "old_logs"
TEXT = b"rounds 3 times"
"""Stands in a line of each result."""

every_log = pytest.mark.parametrize(("revision", "name"), LOGS, ids=IDS)
every_revision = pytest.mark.parametrize("revision", REVISIONS)


def copied(revision: str, name: str, tmp_path: Path) -> Path:
    """A log of an earlier version and the files beside it, which this user may write."""
    for path in (OLD / revision).glob(f"{name}*"):
        shutil.copyfile(path, tmp_path / path.name)
        (tmp_path / path.name).chmod(0o600)
    return tmp_path / name


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")


def bodies_of(path: Path) -> list[bytes]:
    """The message records of a log without their checksums and their memberships of resets."""
    lines = (line.lstrip(b"\0") for line in lines_of(path) if b'{"role"' in line[:600] and line.endswith(b'"}'))
    return [re.sub(rb',"_reset":\["[^"]*",\d+\]$', b"", line[:-CRC_TAIL_BYTES]) for line in lines]


def live_in(location: str | Path) -> list[dict[str, Any]]:
    with closing(open_log(str(location))) as log:
        log.follow()
        return list(log.read(log.index.live))


def ids_in(messages: list[dict[str, Any]]) -> list[str]:
    return [message["metadata"]["message_id"] for message in messages]


def known_live(revision: str) -> dict[str, list[str]]:
    """The ids that the earlier version gave for the live history of each of its logs."""
    return dict(json.loads((OLD / revision / "live.json").read_text("utf-8")))


@every_log
def test_it_is_read_as_the_version_that_wrote_it_reads_it(revision: str, name: str, tmp_path: Path) -> None:
    """The same live history; findings only in what was damaged; and not a byte is written."""
    path = copied(revision, name, tmp_path)
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    assert ids_in(live_in(path)) == known_live(revision)[name]
    damage = {found.kind for found in verify_log(str(path)).damage}
    assert (damage - {"torn_tail"} == set()) == ("damaged" not in name)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


@proof(quick=2)
@every_log
async def test_a_session_goes_on_with_it(revision: str, name: str, tmp_path: Path) -> None:
    """What is there stays byte for byte, and views and the next message follow it."""
    path = copied(revision, name, tmp_path)
    before = path.read_bytes()
    manager = PersistentContextManager(str(path), max_tokens=2_400)
    await manager.add_message({"role": "user", "content": "Go on."})
    view = await manager.get_messages_for_request()
    await manager.close()
    assert "Go on." in json.dumps(view)
    whole = before if before.endswith(b"\n") else before[: before.rfind(b"\n") + 1]
    assert path.read_bytes().startswith(whole)
    assert ids_in(live_in(path))[:-1] == known_live(revision)[name]


@proof(quick=4)
@every_log
def test_a_purge_leaves_the_bytes_of_what_stays(revision: str, name: str, tmp_path: Path) -> None:
    """Of each message that stays, but for its checksum and its membership of a reset; also in a redaction."""
    original = copied(revision, name, tmp_path)
    bodies, live = Counter(bodies_of(original)), known_live(revision)[name]
    middle = len(live) // 2
    expected = {"before": live[middle:], "cleared": live, "redact": live}
    purges = {"before": Purge(before=live[middle]), "cleared": Purge(cleared=True), "redact": redact(TEXT.decode())}
    for kind, purge in purges.items():
        path = tmp_path / f"{kind}.jsonl"
        shutil.copy(original, path)
        purge_log(str(path), purge, now=lambda: STAMP)
        left = Counter(bodies_of(path))
        assert ids_in(live_in(path)) == expected[kind]
        assert all(kind == "redact" and b"[redacted]" in body for body in left - bodies)
        gone = [body for body in bodies - left if id_of(body) in expected[kind]]
        assert all(kind == "redact" and TEXT in body for body in gone)
        damage = {found.kind for found in verify_log(str(path)).damage}
        assert kind == "before" or bool(damage - {"torn_tail"}) == ("damaged" in name)


def id_of(body: bytes) -> str:
    found = re.search(rb'"message_id":"([^"]+)"\}$', body)
    return found[1].decode() if found else ""


@proof(quick=1)
@every_log
def test_exports_give_the_messages_as_they_were_stored(revision: str, name: str, tmp_path: Path) -> None:
    """A copy is the same bytes; an export as JSON lines has the messages of the live history, in their order."""
    path = copied(revision, name, tmp_path)
    run("copy", path, tmp_path / "copy.jsonl", code=None)
    assert (tmp_path / "copy.jsonl").read_bytes() == path.read_bytes()
    run("export", path, "--format", "jsonl", "--no-redact", "-o", tmp_path / "export.jsonl", code=None)
    exported = [json.loads(line) for line in lines_of(tmp_path / "export.jsonl") if line]
    assert [repr(message) for message in exported] == [repr(message) for message in live_in(path)]


@every_revision
def test_a_fork_repeats_the_messages_byte_for_byte(revision: str, tmp_path: Path) -> None:
    """But for their checksums and their memberships of resets."""
    path = copied(revision, "session.jsonl", tmp_path)
    run("fork", path, "--session", "new", "-o", tmp_path / "fork.jsonl")
    assert set(bodies_of(tmp_path / "fork.jsonl")) <= set(bodies_of(path))
    assert ids_in(live_in(tmp_path / "fork.jsonl")) == known_live(revision)["session.jsonl"]


@every_revision
def test_an_interrupted_purge_left_the_whole_log(revision: str, tmp_path: Path) -> None:
    """The file that it was writing is named, and the next purge removes it."""
    path = copied(revision, "purge-interrupted.jsonl", tmp_path)
    assert [note.kind for note in verify_log(str(path)).notes if note.kind == "purging"] == ["purging"]
    purge_log(str(path), Purge(cleared=True), now=lambda: STAMP)
    assert list(tmp_path.glob("*.purging*")) == []
    assert ids_in(live_in(path)) == known_live(revision)["purge-interrupted.jsonl"]


@every_revision
def test_a_saved_tail_is_named_and_purged(revision: str, tmp_path: Path) -> None:
    """The bytes that the earlier version saved aside stay until somebody asks for their removal."""
    path = copied(revision, "tail-saved.jsonl", tmp_path)
    assert "saved_tail" in {note.kind for note in verify_log(str(path)).notes}
    purge_log(str(path), Purge(torn=True), now=lambda: STAMP)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


# -- databases ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def old_storage(server: TestServer, revision: str) -> str:
    """The database of an earlier version, as it was dumped."""
    server.execute(f"drop schema if exists {SCHEMA} cascade")
    server.execute((OLD / revision / "database.sql").read_text("utf-8").replace("%", "%%"))
    uri = server.server.get_uri()
    return f"{uri}{'&' if '?' in uri else '?'}schema={SCHEMA}"


@pytest.mark.parametrize("revision", ["2b28c57"])
def test_a_database_of_the_same_schema_is_read_and_purged(old_storage: str, revision: str, tmp_path: Path) -> None:
    """As its version read it; the logs that were files are copied out byte for byte; sessions go on."""
    check_database(old_storage, revision, tmp_path)


@pytest.mark.parametrize("revision", ["f25ab8d"])
def test_a_database_of_schema_1_asks_for_storage_init(
    old_storage: str, revision: str, server: TestServer, tmp_path: Path
) -> None:
    """Nothing is written to it before; then it is as one of today."""
    assert "run storage init" in " ".join(run("show", location_of(old_storage, "fork"), code=2).stderr.split())
    create_schema(server.connection, SCHEMA)
    check_database(old_storage, revision, tmp_path)


def check_database(storage: str, revision: str, tmp_path: Path) -> None:
    for name in ("fork", "damaged", "torn"):
        location = location_of(storage, name)
        assert ids_in(live_in(location)) == known_live(revision)[f"{name}.jsonl"]
        run("copy", location, tmp_path / f"{name}.jsonl", code=None)
        assert (tmp_path / f"{name}.jsonl").read_bytes() == (OLD / revision / f"{name}.jsonl").read_bytes()
    session = location_of(storage, "session")
    contents = [message["content"] for message in live_in(session)]
    of_file = [message["content"] for message in live_in(OLD / revision / "session.jsonl")]
    assert [repr(one) for one in contents] == [repr(one) for one in of_file]
    assert verify_log(session).is_sound
    run("copy", session, tmp_path / "whole.jsonl")
    bodies = set(bodies_of(tmp_path / "whole.jsonl"))
    purge_log(session, Purge(cleared=True), now=lambda: STAMP)
    assert [repr(message["content"]) for message in live_in(session)] == [repr(one) for one in contents]
    run("copy", session, tmp_path / "purged.jsonl")
    assert set(bodies_of(tmp_path / "purged.jsonl")) <= bodies
    with closing(open_log(session)) as log:
        (outcome,) = log.append([lambda _index: [b'{"role":"user","content":"x","metadata":{"message_id":"new"}']])
        assert not isinstance(outcome, Exception)
    assert ids_in(live_in(session))[-1] == "new"


def test_an_archive_of_an_earlier_version_is_read_and_brought_back(tmp_path: Path) -> None:
    """With several frames; and it is sound."""
    log = tmp_path / "log.jsonl"
    shutil.copyfile(FIXTURES / "first-rules.archived", log)
    log.chmod(0o600)
    plain = (FIXTURES / "first-rules.jsonl").read_bytes()
    assert content_of_log(log) == plain
    assert verify_log(str(log)).is_sound
    handle = FileHandle(log)
    assert handle.open(create=False)
    assert handle.archive is not None
    assert len(handle.archive.frames) > 2
    handle.close()
    bring_back(str(log))
    assert log.read_bytes() == plain
