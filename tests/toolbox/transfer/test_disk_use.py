"""What sessions take on the disk, by kind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.sessions.session_files import SessionFile
from amplifier_module_context_persistent.toolbox.cli import du
from amplifier_module_context_persistent.toolbox.cli.session_argument import session_file
from amplifier_module_context_persistent.toolbox.transfer.disk_use import DiskUse, disk_use
from tests.support.commands import run, shows
from tests.support.pictures import shot
from tests.support.purges import CLEARED, purged
from tests.support.recorded_sessions import Recorded
from tests.support.sessions_of_a_home import log_of, write

pytestmark = pytest.mark.usefixtures("project")


def use_of(path: Path) -> DiskUse:
    return disk_use(session_file(str(path)))


async def recorded() -> Path:
    """A session with requests, a large result, an image, and a history that was cleared once."""
    session = Recorded(log_of("told"))
    await session.add({"role": "user", "content": "first " * 500}, {"role": "assistant", "content": "one"})
    await session.view()
    await session.manager.clear()
    await session.add({"role": "user", "content": "second " * 200}, *shot(1))
    await session.view()
    await session.manager.close()
    return log_of("told")


async def test_every_byte_of_a_log_is_counted_once() -> None:
    """Live messages, results, images, receipts, what was cleared and the rest add up to the file."""
    use = use_of(path := await recorded())
    assert use.log_bytes == path.stat().st_size
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    receipts = [line for line in path.read_bytes().splitlines() if line.startswith(b'{"_record":"view"')]
    assert use.kinds["cleared"] > 3_000
    assert 1_400 < use.kinds["messages"] < 3_000
    assert use.kinds["receipts"] >= sum(len(line) + 1 for line in receipts) > 0
    image = next(line for line in lines if line.get("role") == "tool")["content"][1]["source"]["data"]
    assert use.kinds["images"] == len(image)
    assert use.kinds["results"] > 100


async def test_a_purge_frees_about_what_is_said() -> None:
    path = await recorded()
    said, before = use_of(path).purge_frees, path.stat().st_size
    purged(str(path), CLEARED)
    freed = before - path.stat().st_size
    assert freed == pytest.approx(said, rel=0.2)
    assert use_of(path).kinds["cleared"] == use_of(path).purge_frees == 0


def test_files_beside_a_log_are_counted_apart() -> None:
    path = write(log_of("one"))
    (path.parent / "metadata.json").write_text("{}", "utf-8")
    (path.parent / "transcript.jsonl").write_text("x" * 100, "utf-8")
    path.with_name(path.name + ".torn-10-00000000").write_bytes(b"torn")
    use = use_of(path)
    assert (use.saved, use.host) == (4, 102)
    assert use.total == path.stat().st_size + 106


def test_a_torn_tail_counts_with_the_rest() -> None:
    path = write(log_of("one"))
    path.write_bytes(path.read_bytes() + b'{"role":"user","con')
    assert use_of(path).kinds["other"] == 19


def test_a_damaged_line_is_counted_once() -> None:
    """Also one in which several records stand."""
    path = write(log_of("one"))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"\0" * 40, lines[1][:-1], lines[2], b"no record\n", *lines[3:]]))
    assert use_of(path).log_bytes == path.stat().st_size


def test_a_session_counts_with_its_sub_agents() -> None:
    one, below = write(log_of("s1")), write(log_of("s1-0001_agent"))
    write(log_of("s2"))
    told = json.loads(run("du", "s1", "--json").stdout)
    assert [entry["session"] for entry in told["sessions"]] == ["s1", "s1-0001_agent"]
    assert told["total"]["bytes"] == one.stat().st_size + below.stat().st_size


def test_sessions_are_listed_the_largest_first_with_their_sum() -> None:
    write(log_of("small"), [{"role": "user", "content": "a"}])
    write(log_of("large"), [{"role": "user", "content": "a" * 5_000}])
    lines = [line for line in run("du").stdout.splitlines() if line]
    assert [line.split()[0] for line in lines[:4]] == ["session", "large", "small", "all"]
    shows(lines[4], "2 sessions", "kB in all")


def test_projects_are_told_apart() -> None:
    here, there = write(log_of("s1")), write(log_of("s2", "../other"))
    told = json.loads(run("du", "--all", "--json").stdout)
    assert sorted(one["bytes"] for one in told["projects"]) == sorted([here.stat().st_size, there.stat().st_size])
    shown = run("du", "--all").stdout
    shows(shown, "project", "all")
    assert "s1" not in shown
    shows(run("du", "--all", "--by", "session").stdout, "s1", "s2")


def test_what_cannot_be_read_is_named() -> None:
    """The others are counted."""
    write(log_of("sound"))
    bad = write(log_of("bad"))
    bad.write_bytes(b"\x7fELF" + os.urandom(100))
    done = run("du", code=1)
    shows(done.stdout, "sound", "1 session")
    shows(done.stderr, "not read", "bad")


def test_a_session_that_vanished_is_an_error(tmp_path: Path) -> None:
    gone = SessionFile(tmp_path / "gone.jsonl", "gone", "", 0.0)
    with pytest.raises(OSError, match="no such file"):
        disk_use(gone)


def test_what_would_be_freed_and_what_is_elsewhere_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sentence only if there is something; of sessions only those that have it are counted."""
    for name in ("plain", "cleared", "archived", "damaged"):
        write(log_of(name))
    no_bytes = dict.fromkeys(DiskUse().kinds, 0)
    uses = {
        "plain": DiskUse({**no_bytes, "messages": 1_000}, unpacked=1_000),
        "cleared": DiskUse({**no_bytes, "cleared": 5_000}, unpacked=5_000, purge_frees=4_000, archive_frees=2_500),
        "archived": DiskUse({**no_bytes, "other": 2_000}, unpacked=9_000),
    }

    def use(session: SessionFile, *, files: object) -> DiskUse:
        if session.id not in uses:
            raise ValueError("it is damaged")
        return uses[session.id]

    monkeypatch.setattr(du, "disk_use", use)
    monkeypatch.setattr(du, "catalogue_bytes", lambda projects: 7_000 * len(projects))
    done = run("du", code=1)
    assert done.stdout.partition("\n\n")[2].splitlines() == [
        "3 sessions, 8.0kB in all.",
        "`purge SESSION --cleared` would free about 4.0kB, in 1 session: what a clear, a reset or a rewind hid.",
        "`archive` would free about 2.5kB (from a sample of each log).",
        "It compresses the logs alone, not the host's files.",
        "What is archived would take 7.0kB more if it were not.",
        "Catalogues take 7.0kB more; they are made again when they are needed.",
    ]
    shows(done.stderr, "not read: ", "damaged/context-messages.jsonl: it is damaged")
    uses.clear()
    monkeypatch.setattr(du, "catalogue_bytes", lambda _: 0)
    assert run("du", code=1).stdout.splitlines()[-1] == "0 sessions, 0B in all."
