"""`context-persistent export` and `import`: what they print, write and refuse."""

import json
import os
import stat
from pathlib import Path

import pytest

from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.toolbox.cli.import_report import loss_words
from amplifier_module_context_persistent.toolbox.transfer.importers.account import Account
from tests.support.commands import refused, run, shows
from tests.support.exports import SESSION, exported, store
from tests.support.secret_forms import SAMPLES
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

HOSTILE = "[bold]b[/bold]\x1b[31mred\x1b[0m \x9b5n \u202e\x07 \ud800 </details>"


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    """A session with a secret, and with what a terminal would act on."""
    messages = [*SESSION, {"role": "user", "content": HOSTILE, "metadata": {"note": SAMPLES["GitHub"]}}]
    await store(tmp_path / "log", messages)
    return tmp_path / "log"


@pytest.mark.parametrize("into", ["markdown", "jsonl", "transcript"])
def test_an_export_goes_to_the_standard_output(log: Path, into: str) -> None:
    """Redacted, which is told beside it; with no character that a terminal acts on."""
    done = run("export", log, "--format", into)
    assert done.stdout == exported(log, into)
    assert SAMPLES["GitHub"] not in done.stdout
    assert not [c for c in done.stdout if not (c.isprintable() or c in "\n\t")]
    expected = "1 secret was redacted. --no-redact leaves them.\n  message 7, metadata.note: GitHub token\n"
    assert into == "markdown" or done.stderr == expected
    open_handed = run("export", log, "--format", into, "--no-redact")
    assert open_handed.stderr == ""
    assert (SAMPLES["GitHub"] in open_handed.stdout) == (into != "markdown")


def test_an_export_goes_to_a_file(log: Path, tmp_path: Path) -> None:
    """Private, in one piece, and over no other file unless that is asked for."""
    told = json.loads(run("export", log, "--format", "jsonl", "-o", tmp_path / "out", "--json").stdout)
    place = {"number": 7, "field": "metadata.note", "kind": "GitHub token", "count": 1}
    assert told.pop("redactions") == [place]
    assert told == {"path": str(tmp_path / "out"), "format": "jsonl", "messages": 7, "redacted": 1, "unread_lines": 0}
    assert (tmp_path / "out").read_text() == exported(log, "jsonl")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600
    (tmp_path / "out").write_text("other")
    assert "--force" in refused("export", log, "--format", "transcript", "-o", tmp_path / "out")
    done = run("export", log, "--format", "jsonl", "-o", tmp_path / "out", "--force")
    assert done.stdout == ""
    assert "7 messages" in done.stderr
    assert (tmp_path / "out").read_text() == exported(log, "jsonl")
    assert "log itself" in refused("export", log, "-o", log, "--force")
    assert "directory" in refused("export", log, "-o", tmp_path, "--force")
    assert str(tmp_path / "no" / "out") in refused("export", log, "-o", tmp_path / "no" / "out")


def test_turns_are_exported(log: Path) -> None:
    """One, or some in a row; what is no turn is refused."""
    both = run("export", log, "--format", "jsonl", "--turn", "2:3")
    assert [json.loads(line)["role"] for line in both.stdout.splitlines()] == ["user", "user"]
    assert len(run("export", log, "--format", "jsonl", "--turn", "1").stdout.splitlines()) == 5
    assert run("export", log, "--format", "jsonl", "--range=-2:").stdout == both.stdout
    assert run("export", log, "--format", "jsonl", "--turn=-2:").stdout == both.stdout
    for wrong in ("4", "3:2", "-4"):
        assert "there is no turn" in refused("export", log, f"--turn={wrong}")
    for wrong in ("x", "0", "1-", "1:x"):
        assert "a range A:B" in refused("export", log, f"--turn={wrong}")
    assert "either" in refused("export", log, "--turn", "1", "--range", "1")


def test_json_is_about_a_file(log: Path) -> None:
    """Without one there is nothing to tell."""
    assert "name one with -o" in refused("export", log, "--json")


def test_an_empty_file_can_be_exported_and_nothing_else(tmp_path: Path) -> None:
    """There is nothing to fork, to go back to or to import; nothing is written."""
    path = tmp_path / "in"
    path.touch()
    done = run("export", path)
    assert (done.stdout, done.stderr) == ("# Session in\n\n", "")
    for command, *options in (["fork"], ["rewind", "--to", "1"], ["import"]):
        refused(command, path, *options)
    assert os.listdir(tmp_path) == ["in"]


def test_lines_that_cannot_be_read_are_told(log: Path) -> None:
    """The rest is exported, and the exit code says that it is not all."""
    whole = run("export", log)
    with log.open("ab") as file:
        file.write(b"\x1b[31m\xff\xfe garbage\n" * 5)
    done = run("export", log, code=1)
    assert done.stdout == whole.stdout
    assert "5 lines of the log cannot be read" in done.stderr


@pytest.mark.parametrize(
    ("lines", "parts", "unit", "told"),
    [
        (1, 0, "line", "1 line not imported:"),
        (0, 1, "line", "a part of one line not imported:"),
        (2, 3, "entry", "2 entries and 3 parts of entries not imported:"),
    ],
)
def test_what_was_not_imported_is_counted(lines: int, parts: int, unit: str, told: str) -> None:
    """Lines, and parts of lines that came in without them; it does not sound as if the file was refused."""
    assert loss_words(Account(unit=unit, lost_lines=lines, lost_parts=parts)) == told


@proof
def test_an_import_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came over, what did not and why, and where it lies; the exit code says that something was left out."""
    monkeypatch.chdir(tmp_path)
    lines = ['{"role":"user","content":"one"}', HOSTILE.replace("\ud800", ""), ""]
    (tmp_path / "in").write_text("\n".join([*lines, '{"role":"assistant","content":"1"}', ""]))
    done = run("import", "in", "--session", "s1", code=1)
    shows(
        done.stdout,
        "2 messages imported (assistant 1, user 1)",
        "2 without an id",
        "2 lines not imported:",
        "line 2, byte 32: ",
        "Session s1: ",
    )
    run("verify", "s1")
    run("import", "in", "--session", "s1", code=1)
    (tmp_path / "other").write_text(lines[0] + "\n")
    assert "already" in refused("import", "other", "--session", "s1")
    assert "not allowed" in refused("import", "in", "--session", "../s1")


def test_an_import_as_json(tmp_path: Path) -> None:
    """One object; a dry run writes nothing."""
    (tmp_path / "in").write_text('{"role":"user","content":"one","timestamp":"2026-01-05T09:00:00"}\n')
    dry = run("import", tmp_path / "in", "-o", tmp_path / "new", "--json", "--dry-run")
    assert os.listdir(tmp_path) == ["in"]
    told = json.loads(run("import", tmp_path / "in", "-o", tmp_path / "new", "--json").stdout)
    assert json.loads(dry.stdout) == {**told, "dry_run": True}
    account = told.pop("account")
    assert (account["lines"], account["mapped"], account["lost"]) == (1, {"user": 1}, [])
    assert told == {
        "source": str(tmp_path / "in"),
        "format": "older",
        "path": str(tmp_path / "new"),
        "session_id": None,
        "messages": 1,
        "added": 1,
        "roles": {"user": 1},
        "sessions": [
            {
                "kind": "session",
                "session_id": None,
                "path": str(tmp_path / "new"),
                "messages": 1,
                "added": 1,
                "compactions": 0,
                "usage_reports": 0,
                "is_older": False,
                "is_origin": False,
            }
        ],
        "derived_ids": 1,
        "renamed": {},
        "without_timestamp": 0,
        "hidden": 0,
        "controls": {},
        "not_carried": [],
        "notes": [],
        "dry_run": False,
    }
    text = run("import", tmp_path / "in", "-o", tmp_path / "other", "--dry-run")
    shows(text.stdout, "1 message would be imported (user 1)", "Nothing was done (--dry-run).")


def test_an_imported_session_is_named_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other commands find it, as the last one of this project, too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_text('{"role":"user","content":"one"}\n')
    told = json.loads(run("import", "in", "--json").stdout)
    assert Path(told["path"]).name == LOG_NAME
    for name in (told["session_id"], told["session_id"][:8], "--last"):
        assert "> one" in run("export", name).stdout


@pytest.mark.usefixtures("project")
def test_secrets_of_many_sessions_are_summed_up(tmp_path: Path) -> None:
    """By kind, on the standard error; their places are in JSON."""
    for name in ("one", "two"):
        write(log_of(name), [{"role": "user", "content": f"It is {SAMPLES['GitHub']}."}])
    write(log_of("three"))
    said = run("export", "--all", "-o", tmp_path / "out").stderr
    assert "Redacted in 2 sessions: 2 secrets (2 GitHub token); --json says where. --no-redact leaves them." in said
    told = json.loads(run("export", "--all", "-o", tmp_path / "more", "--json").stdout)["exports"]
    places = {one["session"]: [(place["number"], place["kind"]) for place in one["redactions"]] for one in told}
    assert places == {"one": [(1, "GitHub token")], "two": [(1, "GitHub token")], "three": []}
    assert "Redacted" not in run("export", "--all", "--no-redact", "-o", tmp_path / "open").stderr


def test_many_sessions_are_exported_into_a_directory(tmp_path: Path) -> None:
    """Those that filters and a text choose; one that is there already is named, and the others are written."""
    write(log_of("one"))
    write(log_of("two"), [{"role": "user", "content": "Ticket 17 is open."}])
    write(log_of("far", "../other"), [{"role": "user", "content": "The ticket 17, again."}])
    told = json.loads(run("export", "--all", "--grep", "ticket 17", "-o", tmp_path / "out", "--json").stdout)
    assert sorted(one["session"] for one in told["exports"]) == ["far", "two"]
    assert "Ticket 17" in (tmp_path / "out" / log_of("two").parents[2].name / "two.md").read_text()
    newest = run("export", "--all", "--grep", "total", "-n", "1", "-o", tmp_path / "few", "--json").stdout
    assert [one["session"] for one in json.loads(newest)["exports"]] == ["one"]  # of those that say it, the newest
    done = run("export", "--name", "two", "-o", tmp_path / "out", code=1)
    assert "NOT exported: two: " in done.stderr
    run("export", "--project", ".", "--format", "jsonl", "-o", tmp_path / "out")
    assert "name it with -o" in run("export", "--all", code=2).stderr
