"""`context-persistent verify`, `repair` and `purge`: exit codes, JSON, text for a pipe, and never a traceback."""

import json
import os
from pathlib import Path

import pytest

from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.toolbox.cli import purge as cli_purge
from amplifier_module_context_persistent.toolbox.cli.terminal import console
from amplifier_module_context_persistent.toolbox.cli.verify_and_repair import _show_findings
from amplifier_module_context_persistent.toolbox.maintenance.verify import Finding
from tests.support.commands import refused, run, shows
from tests.support.logs import (
    append,
    append_bodies,
    body,
    content_of,
    numbers,
    reset_bodies,
    saved_tails,
    sealed,
    stored_numbers,
    write_file,
)
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof
from tests.support.terminals import Terminal, posix


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return "log.jsonl"


@pytest.fixture
def log(path: str) -> str:
    """A sound log of four messages, one of them hidden."""
    append_bodies(FileLog(path), body(0), *reset_bodies("r"), *map(body, range(1, 4)))
    return path


# -- verify ------------------------------------------------------------------------------------------------------------


def test_verify_says_that_a_sound_log_is_sound(log: str) -> None:
    """Exit code 0, and a report of sizes and kinds."""
    result = run("verify", log)
    assert result.stdout.splitlines() == [
        "log.jsonl: sound",
        f"  {os.path.getsize(log):,} bytes; 4 messages (user 4)",
        "  live: 3; hidden by a clear or a reset: 1",
        "  control records: reset_begin 1, reset_commit 1",
        "  damage: none",
        "  notes: none",
    ]


def test_verify_says_where_a_log_is_damaged_and_what_to_do(log: str) -> None:
    """Exit code 1; each finding has its place, its kind and its advice; nothing of the content is shown."""
    write_file(log, content_of(log).replace(b"message 2", b"message 8") + b"message 4")
    result = run("verify", log, code=1)
    shows(result.stdout, "log.jsonl: damaged", "  - line 5, byte ", "checksum: ")
    assert "compare it with a backup" in " ".join(result.stdout.split())
    assert "torn tail: 9 bytes" in result.stdout
    assert "message 8" not in result.output
    assert "message 4" not in result.output


def test_verify_takes_several_logs_and_exits_with_the_worst(log: str) -> None:
    """Each has its report; one that is unusable does not hide the others."""
    write_file("damaged.jsonl", b'no json\n{"role":"user","content":"x"}\n')
    run("verify", log, "damaged.jsonl", code=1)
    result = run("verify", "missing.jsonl", log, "damaged.jsonl", code=2)
    assert [line for line in result.stdout.splitlines() if not line.startswith(" ")] == [
        "missing.jsonl: unusable",
        "log.jsonl: sound",
        "damaged.jsonl: damaged",
    ]


def test_verify_prints_one_json_object(log: str) -> None:
    """With --json: the status of all, and for each log what the report says."""
    write_file("damaged.jsonl", b'no json\n{"role":"user","content":"x"}\n')
    os.chmod("damaged.jsonl", 0o600)
    told = json.loads(run("verify", "--json", log, "damaged.jsonl", "missing.jsonl", code=2).stdout)
    assert told["status"] == "unusable"
    sound, damaged, unusable = told["logs"]
    assert sound["messages"] == {"total": 4, "live": 3, "hidden": 1, "by_role": {"user": 4}}
    assert (sound["status"], sound["damage"], sound["notes"]) == ("sound", [], [])
    assert (damaged["status"], damaged["chain_breaks"]) == ("damaged", 0)
    assert damaged["damage"][0]["kind"] == "unreadable"
    assert (damaged["damage"][0]["line"], damaged["damage"][0]["offset"]) == (1, 0)
    assert damaged["damage"][0]["advice"]
    assert unusable == {
        "path": "missing.jsonl",
        "status": "unusable",
        "error": "there is no such file or session; `context-persistent list --all` shows them, and "
        "`context-persistent search -w WORD --all -l` those that say a word",
    }


def test_what_is_wrong_in_many_places_is_said_once(path: str) -> None:
    """Its text and its advice once, with the first places and how many more there are; --json has each."""
    append_bodies(FileLog(path), body(1))
    first = os.path.getsize(path)
    write_file(path, content_of(path) + b"".join(b'{"role":"user","content":"%02d"}\n' % n for n in range(16)))
    shown = run("verify", path, code=1).stdout
    assert "damage: 16" in shown
    assert shown.count("another program wrote it without a checksum") == 1
    places = "; ".join(f"line {number}, byte {first + 31 * (number - 2)}" for number in range(3, 8))
    assert f"    15 more like it: {places}; and 10 more, --json has all\n" in shown
    assert len(json.loads(run("verify", path, "--json", code=1).stdout)["logs"][0]["damage"]) == 16


def test_each_place_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Findings that are alike may have the same place."""
    for offsets, told in (((7, 7, 7), "2 more like it: at the same place"), ((7, 7, 9, 9), "3 more like it: byte 9")):
        findings = [Finding("checksum", "wrong", offset=offset) for offset in offsets]
        _show_findings(console(), "damage", findings)
        assert f"    {told}\n" in capsys.readouterr().out


def test_of_several_logs_a_sound_one_has_one_line(log: str) -> None:
    """A damaged one is told in full."""
    write_file("damaged.jsonl", b'no json\n{"role":"user","content":"x"}\n')
    sound, damaged, *rest = run("verify", log, "damaged.jsonl", code=1).stdout.splitlines()
    assert (sound, damaged) == ("log.jsonl: sound", "damaged.jsonl: damaged")
    assert any(line.startswith("  - line 1, byte 0: ") for line in rest)


@proof
@posix
def test_ctrl_c_at_a_question_is_130(log: str) -> None:
    """As anywhere else; nothing was done."""
    before = content_of(log)
    terminal = Terminal("purge", log, "--everything")
    terminal.until("[y/N]")
    terminal.interrupt()
    assert terminal.end() == 130
    assert content_of(log) == before


def test_purge_all_says_what_to_give_instead(log: str) -> None:
    """It meant all messages once; nothing goes."""
    before = content_of(log)
    said = refused("purge", log, "--all", "--yes")
    assert "--all means the sessions of all projects; every message is --everything" in said
    assert content_of(log) == before


def test_an_empty_file_is_sound_and_there_is_nothing_to_do(path: str) -> None:
    """It is a log without records."""
    write_file(path, b"")
    os.chmod(path, 0o600)
    run("verify", path)
    assert "nothing to repair" in run("repair", path).stdout
    assert "nothing to purge" in run("purge", path, "--everything").stdout
    assert content_of(path) == b""


def test_text_for_a_pipe_is_plain_and_no_line_is_broken(log: str) -> None:
    """No escape sequences, and each finding, its advice and each path on one line, however damaged the log is."""
    lines = content_of(log).splitlines(keepends=True)
    write_file(log, b"".join([*lines[:2], b"no json\n", b'{"a":1}\n', b"\0" * 900 + b"\n", b"\n", *lines[3:], b"torn"]))
    done = run("verify", log, env={}, code=1)
    assert "\x1b" not in done.output
    assert "    run repair, or let the next append do the same: it is saved aside, then cut\n" in done.stdout
    os.rename(log, long := "a-long-name-" * 10 + "log.jsonl")
    for arguments in (["repair", long, "--dry-run"], ["purge", long, "--cleared", "--dry-run"]):
        done = run(*arguments, env={})
        assert any(line.startswith(long) for line in done.stdout.splitlines())


def test_a_file_name_is_shown_as_plain_text(path: str) -> None:
    """Markup, escape sequences and bytes that are no UTF-8 in a name do nothing to the terminal."""
    names = ["[bold]x[/bold].jsonl", "a\x1b[31mb\n.jsonl", os.fsdecode(b"\xff.jsonl"), "é😀.jsonl"]
    for name in names:
        append(FileLog(name), 0)
    for arguments in (["verify", *names], *(["purge", "--everything", "--dry-run", name] for name in names[1:3])):
        assert run(*arguments, charset="ascii").stdout_bytes.isascii()
    assert "a?[31mb?.jsonl: sound" in run("verify", "a\x1b[31mb\n.jsonl").stdout
    assert "[bold]x[/bold].jsonl: sound" in run("verify", "[bold]x[/bold].jsonl").stdout


# -- repair ------------------------------------------------------------------------------------------------------------


def test_repair_shows_its_plan_and_asks(log: str) -> None:
    """A torn tail is saved aside and cut only after a yes."""
    content = content_of(log)
    write_file(log, content + b"torn")
    assert "4 bytes" in run("repair", log, "--dry-run").stdout
    assert content_of(log) == content + b"torn"
    for answer in ("n\n", "", None):
        assert "othing was done" in run("repair", log, answer=answer, code=2).output
    assert content_of(log) == content + b"torn"
    run("repair", log, answer="y\n")
    assert content_of(log) == content
    assert [content_of(tail) for tail in saved_tails(os.path.abspath(log))] == [b"torn"]
    assert "nothing to repair" in run("repair", log).stdout


def test_repair_completes_a_line_and_leaves_other_damage(log: str) -> None:
    """It gets its newline; what repair cannot mend is counted and left alone."""
    lines = sealed([body(0), body(1)])
    write_file(log, lines[0] + b"no json\n" + lines[1][:-1])
    result = run("repair", log, "--yes")
    assert content_of(log) == lines[0] + b"no json\n" + lines[1]
    assert "repair does not change: 1" in result.stdout
    run("verify", log, code=1)


# -- purge -------------------------------------------------------------------------------------------------------------


def test_purge_shows_its_plan_and_asks(log: str) -> None:
    """Nothing is removed without a yes; --dry-run only shows."""
    content = content_of(log)
    assert "2 messages removed" in run("purge", log, "--before", "id-2", "--dry-run").stdout
    refused = run("purge", log, "--everything", answer="n\n", code=2)
    assert refused.stdout.endswith("\nNothing was done.\n")
    assert refused.stderr == ""
    for answer in ("", None):
        assert "nothing was done; answer y" in run("purge", log, "--everything", answer=answer, code=2).output
    assert content_of(log) == content
    run("purge", log, "--before", "id-2", answer="y\n")
    assert stored_numbers(log) == [2, 3]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--before", "id-3"], [3]),
        (["--cleared"], [1, 2, 3]),
        (["--everything"], []),
        (["--redact", "essage 2"], None),
    ],
)
def test_purge_does_what_its_option_says(log: str, options: list[str], left: list[int] | None) -> None:
    """With --yes it does not ask; the log is sound after it, and a second time there is nothing to do."""
    run("purge", log, *options, "--yes")
    run("verify", log)
    if left is None:
        assert b"essage 2" not in content_of(log)
        assert b"m[redacted]" in content_of(log)
    else:
        assert stored_numbers(log) == left
    assert "nothing to purge" in run("purge", log, *options, "--yes").stdout


@pytest.mark.parametrize(
    "options",
    [[], ["--all", "--cleared"], ["--redact", "("], ["--redact", "x*"], ["--redact", ""], ["--before", "id-0"]],
)
def test_purge_refuses_what_it_cannot_do(log: str, options: list[str]) -> None:
    """No option, two of them, no regular expression, one that matches everywhere, an id that is not live."""
    content = content_of(log)
    assert "Error: " in run("purge", log, *options, "--yes", code=2).output
    assert content_of(log) == content


def test_a_log_that_is_open_elsewhere_goes_on_behind_a_purge(log: str) -> None:
    """A process that has the log open reads the new file and appends to it."""
    other = FileLog(log)
    assert numbers(other) == [1, 2, 3]
    run("purge", log, "--before", "id-3", "--yes")
    append(other, 7)
    assert numbers(other) == stored_numbers(log) == [3, 7]


def test_messages_that_were_hidden_after_the_question_do_not_go(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is purged then, and the refusal says how many more would go."""

    def ask(_question: str, *, yes: bool) -> None:
        append_bodies(FileLog(log), *reset_bodies("again"))

    monkeypatch.setattr(cli_purge, "ask", ask)
    result = run("purge", log, "--cleared", code=2)
    shows(result.output, "1 message removed", "3 more messages would go now", "nothing was purged")
    assert stored_numbers(log) == []  # all are hidden
    assert all(f'"id-{number}"'.encode() in content_of(log) for number in range(4))


def test_purge_names_the_hosts_own_copies(tmp_path: Path) -> None:
    """They hold the same messages, and only the host may change them."""
    directory = tmp_path / "sessions" / "s1"
    directory.mkdir(parents=True)
    log = directory / "context-messages.jsonl"
    append_bodies(FileLog(log), body(0), *reset_bodies("r"), body(1))
    (directory / "transcript.jsonl").write_text("{}", encoding="utf-8")
    told = "".join(run("purge", log, "--cleared", "--yes").output.split())
    assert "".join(f"not touched: {directory / 'transcript.jsonl'}".split()) in told
    assert (directory / "transcript.jsonl").read_text(encoding="utf-8") == "{}"


@pytest.mark.usefixtures("project")
def test_many_logs_are_summed_up() -> None:
    """On the error stream, so that what is printed of each log stays as it is."""
    for name in ("one", "two", "three"):
        write(log_of(name))
    assert run("verify", "--all").stderr == "3 logs, all sound.\n"
    log_of("two").write_bytes(log_of("two").read_bytes().replace(b"cent", b"dent"))
    assert run("verify", "--all", code=1).stderr.endswith("3 logs: 2 sound, 1 damaged.\n")
    assert run("verify", "one").stderr == ""
