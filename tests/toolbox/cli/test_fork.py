"""`context-persistent fork` and `rewind`: what they print, ask and do."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from tests.support.commands import refused, run, shows
from tests.support.forks import play, read
from tests.support.logs import content_of
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    """A session of twelve turns, with a compaction."""
    await play(tmp_path / "log", 12, session_id="origin")
    return tmp_path / "log"


@proof
async def test_a_fork_is_told(log: Path, tmp_path: Path) -> None:
    """Which session it is, what it comes from, and where it lies."""
    done = run("fork", log, "--at", "11", "-o", tmp_path / "new", "--session", "s2")
    shows(
        done.stdout,
        "Session s2: 44 messages of origin, up to turn 11",
        "The plan of the last compaction was copied too.",
        str(tmp_path / "new"),
    )
    assert len((await read(tmp_path / "new"))[0]) == 44
    assert "already" in refused("fork", log, "--at", "1", "-o", tmp_path / "new")
    assert "turns 1 to 12" in refused("fork", log, "--at", "13")
    assert "no message with the id 'm0'" in refused("fork", log, "--at", "m0")
    assert "not allowed" in refused("fork", log, "--session", "../x")


def test_a_fork_as_json(log: Path, tmp_path: Path) -> None:
    """One object; a dry run writes nothing."""
    dry = json.loads(run("fork", log, "--at", "1", "-o", tmp_path / "new", "--json", "--dry-run").stdout)
    assert os.listdir(tmp_path) == ["log"]
    told = json.loads(run("fork", log, "--at", "1", "-o", tmp_path / "new", "--json").stdout)
    assert dry == {**told, "dry_run": True}
    assert (told["parent_id"], told["forked_from_turn"], told["messages"], told["dry_run"]) == ("origin", 1, 4, False)


async def test_a_fork_that_cannot_be_whole_says_so(log: Path, tmp_path: Path) -> None:
    """With the line, the reason, and exit code 1."""
    with log.open("ab") as file:
        file.write(b'{"role":"user","content":"x","metadata":"none"}\n')
    shows(run("fork", log, "-o", tmp_path / "new", code=1).stdout, "NOT copied: line ", "must be an object")


@pytest.mark.parametrize("losses", [50, 51, 53])
def test_of_many_losses_fifty_are_shown(log: Path, tmp_path: Path, losses: int) -> None:
    """And how many more there are, if there are more."""
    with log.open("ab") as file:
        file.write(b'{"role":"user","content":"x","metadata":"none"}\n' * losses)
    said = run("fork", log, "-o", tmp_path / "new", code=1).stdout
    assert said.count("NOT copied: line ") == 50
    assert re.findall(r"\.\.\. and (\d+) more; --json has all", said) == ([str(losses - 50)] if losses > 50 else [])


@proof
async def test_a_rewind_asks_first(log: Path) -> None:
    """Without a yes nothing is done; it says what stays, what is hidden, and the way back, which works."""
    history, _ = await read(log)
    before = content_of(str(log))
    for answer in ("n\n", ""):
        done = run("rewind", log, "--to", "3", answer=answer, code=2)
        shows(done.stdout, "12 messages kept, up to turn 3", "36 after that hidden")
        assert "nothing was done" in done.output.casefold()
    run("rewind", log, "--to", "3", "--dry-run")
    assert content_of(str(log)) == before
    done = run("rewind", log, "--to", "3", answer="y\n")
    assert len((await read(log))[0]) == 12
    command = shlex.split(done.stdout.splitlines()[-1])
    assert command[:2] == ["context-persistent", "fork"]
    run(*command[1:], "-o", log.with_name("back"))
    assert (await read(log.with_name("back")))[0] == history
    run("verify", log, log.with_name("back"))


def test_a_rewind_as_json(log: Path) -> None:
    """It cannot ask, so it must be told; at the end of the history there is nothing to do."""
    assert "--yes" in refused("rewind", log, "--to", "1", "--json")
    dry = json.loads(run("rewind", log, "--to", "1", "--json", "--dry-run").stdout)
    told = json.loads(run("rewind", log, "--to", "1", "--json", "--yes").stdout)
    assert dry == {**told, "dry_run": True}
    assert (told["messages"], told["hidden"], told["turn"]) == (4, 44, 1)
    assert json.loads(run("rewind", log, "--to", "1", "--json", "--yes").stdout)["hidden"] == 0
    assert "Nothing to do" in run("rewind", log, "--to", "1").stdout


def test_a_place_that_is_not_there_is_refused(log: Path) -> None:
    """The error says which turns there are; a hidden message points to fork."""
    assert "turns 1 to 12" in refused("rewind", log, "--to", "0")
    hidden = json.loads(run("rewind", log, "--to", "1", "--json", "--yes").stdout)["hidden_to"]
    assert "fork" in refused("rewind", log, "--to", hidden, "--yes")
    assert "name the last turn to keep" in refused("rewind", log)


def test_a_fork_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact command of the host, and where it works; of a file elsewhere, what names it. A dry run has nothing."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write(log_of("s1"))
    told = "Go on with it:\n  amplifier session resume forked\n"
    assert told not in run("fork", "s1", "--session", "forked", "--dry-run").stdout
    assert run("fork", "s1", "--session", "forked").stdout.endswith(told)
    assert "`transcript_path`" in run("fork", "s1", "-o", "elsewhere.jsonl").stdout
    monkeypatch.chdir(tmp_path)
    shown = run("fork", "s1", "--session", "again").stdout
    project = log_of("s1", tmp_path / "here").parents[2].name
    assert f"Go on with it, in the directory of the project {project}:\n  amplifier session resume again\n" in shown
    (tmp_path / "plain.jsonl").write_text('{"role":"user","content":"x"}\n')
    shown = run("import", "plain.jsonl", "--session", "imported").stdout
    assert shown.endswith("Go on with it:\n  amplifier session resume imported\n")


def test_a_rewind_takes_the_turn_after_the_session(log: Path) -> None:
    """As `hide` does; also as --to, but not both."""
    told = [run("rewind", log, *turn, "--dry-run").stdout for turn in (["3"], ["--to", "3"])]
    assert told[0] == told[1]
    assert "up to turn 3" in told[0]
    for turns in (["3", "--to", "4"], []):
        assert "as in `rewind SESSION 12`" in refused("rewind", log, *turns)
