"""`context-persistent demo` end to end, and its own judgement: it must fail where something was lost."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.toolbox.cli.main import main
from amplifier_module_context_persistent.toolbox.demo import command as demo_module
from amplifier_module_context_persistent.toolbox.demo.command import DemoError, PlayedDemo, is_valid, read_messages
from tests.support.commands import shows
from tests.support.sweeps import proof

COMMAND = Path(sys.executable).with_name("context-persistent")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demos of this file make their temporary directories."""
    return tmp_path_factory.mktemp("demo-tmp")


def run(directory: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TMPDIR": str(directory), "HOME": str(directory), **environment}
    return subprocess.run([COMMAND, "demo", *arguments], capture_output=True, text=True, timeout=300, env=env)


@pytest.fixture(scope="module")
def done(directory: Path) -> subprocess.CompletedProcess[str]:
    """One demo, looked at by several tests."""
    return run(directory)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> PlayedDemo:
    """One demo that was played in this process."""
    return demo_module.play(tmp_path_factory.mktemp("played"))


@proof
def test_the_demo_succeeds_and_says_all_six_things(done: subprocess.CompletedProcess[str]) -> None:
    """Acknowledged, recovered, the ignored set_messages, the view, the end of the turn, and the log's place."""
    assert (done.returncode, done.stderr) == (0, "")
    for number, line in enumerate(line for line in done.stdout.splitlines() if re.match(r"\d\. ", line)):
        assert line.startswith(f"{number + 1}. ")
    assert number == 5
    shows(
        done.stdout,
        "SIGKILL while run_tests was at work",
        "7 messages; 0 of the 7 acknowledged ones lost.",
        "set_messages with them was ignored",
        "[interrupted: this call has no result]  (stands in)",
        "Valid: every call has its result right after it.",
        "Heron is ready",
        "context-messages.jsonl",
        "[fix] totals",  # no markup
        "[12 passed]",
    )


@proof
def test_a_pipe_gets_plain_text_of_80_columns(done: subprocess.CompletedProcess[str]) -> None:
    """No escape sequences, nothing beyond ASCII, and only the log's path is longer than a line."""
    assert "\x1b" not in done.stdout
    assert done.stdout.isascii()
    assert [line for line in done.stdout.splitlines() if len(line) > 80 and ".jsonl" not in line] == []


@proof
def test_two_runs_differ_in_paths_alone(
    done: subprocess.CompletedProcess[str], played: PlayedDemo, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output is deterministic; NO_COLOR, an unwritable HOME and a dumb terminal change nothing. Nothing is left."""
    monkeypatch.setattr(demo_module, "play", lambda *_: played)
    bare = {"NO_COLOR": "1", "TERM": "dumb", "HOME": "/proc/no-home", "USERPROFILE": "/proc/no-home"}
    again = CliRunner().invoke(main, ["demo"], env=bare)
    masked = [re.sub(r"/\S+/sessions/", "", run.stdout) for run in (done, again)]
    assert masked[0] == masked[1]
    assert not list(directory.iterdir())


@proof
def test_json_is_one_object_with_everything_in_it(
    played: PlayedDemo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--json` prints what was acknowledged, recovered, handed out and finished, and where it was kept."""
    monkeypatch.setattr(
        demo_module, "play", lambda directory, _: replace(played, log_path=shutil.copy(played.log_path, directory))
    )
    monkeypatch.setattr(demo_module.tempfile, "tempdir", str(tmp_path))
    done = CliRunner().invoke(main, ["demo", "--keep", "--json"])
    told = json.loads(done.stdout)
    assert (done.exit_code, done.stderr, told["ok"], told["faults"]) == (0, "", True, [])
    assert Path(told["log_path"]).is_relative_to(told["kept"])
    assert [m["role"] for m in read_messages(told["log_path"])][-3:] == ["assistant", "tool", "assistant"]
    assert told["ended_by"] == "SIGKILL"
    assert told["recovered"] == told["acknowledged"]
    assert told["set_messages"] == {"handed": 6, "stored": 7, "ignored": True}
    assert [m["stand_in"] for m in told["view"]].count(True) == 1
    assert told["finished"][-1]["content"].startswith("Heron is ready")


@proof
def test_the_first_process_died_in_the_middle_of_a_turn(played: PlayedDemo) -> None:
    """The last thing acknowledged is one of two results, and the other call never came back."""
    (*_, calling, result) = played.acknowledged(resumed=False)
    assert [call["tool"] for call in calling["tool_calls"]] == ["read_file", "run_tests"]
    assert result["tool_call_id"] == calling["tool_calls"][0]["id"]
    assert not [told for told in played.first if told["event"] == "finished" and "Heron" in told["text"]]
    assert played.messages("recovered")[-1]["tool_call_id"] == result["tool_call_id"]


# -- it fails where it should ------------------------------------------------------------------------------------------


def invoke_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, meddle: Any, *options: str) -> Any:
    """Run the command, and meddle with the log between the two processes."""
    really = demo_module.play_part

    def between(part: str, directory: Path, storage: str | None) -> Any:
        if part == "resumed":
            (log,) = directory.rglob("context-messages.jsonl")
            meddle(log)
        return really(part, directory, storage)

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(demo_module.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(demo_module, "play_part", between)
    return CliRunner().invoke(main, ["demo", *options])


def drop_last_line(log: Path) -> None:
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))


@proof
def test_a_lost_message_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If something acknowledged is gone, the demo exits with 1, says what, and cleans up all the same."""
    result = invoke_with(monkeypatch, tmp_path, drop_last_line)
    assert result.exit_code == 1
    assert "the resumed session lacks acknowledged message 7 (tool)" in result.output
    assert not list(tmp_path.iterdir())


@proof
def test_a_broken_process_is_a_clear_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If a process fails, its last words are shown, the demo exits with 1, and says what it kept."""
    result = invoke_with(monkeypatch, tmp_path, lambda log: log.with_name("transcript.jsonl").unlink(), "--keep")
    (left,) = tmp_path.iterdir()
    assert result.exit_code == 1
    shows(result.output, "the resumed process did not play its part", "FileNotFoundError", f"kept in {left}")


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The demo waits for neither process for ever."""
    monkeypatch.setattr(demo_module, "TIMEOUT_S", 0.01)
    result = invoke_with(monkeypatch, tmp_path, lambda log: None)
    assert result.exit_code == 1
    assert "the first process did not play its part" in result.output


def test_no_temporary_directory_is_a_clear_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where nothing can be written the demo says so."""
    monkeypatch.setattr(demo_module.tempfile, "tempdir", str(tmp_path / "absent"))
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 1
    assert "no temporary directory can be made" in result.output


@proof
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    """Ctrl-C ends the child processes too, and removes the directory."""
    command = [str(COMMAND), "demo"]
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=-3, stderr=-3)
    deadline = time.monotonic() + 20
    while not list(tmp_path.rglob("context-messages.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) != 0
    assert not list(tmp_path.iterdir())


CALL = {"id": "c1", "tool": "t", "arguments": {}}
USER = {"role": "user", "content": "u"}
CALLING = {"role": "assistant", "content": "a", "tool_calls": [CALL, {**CALL, "id": "c2"}]}
RESULTS = [{"role": "tool", "tool_call_id": call_id, "name": "t", "content": "r"} for call_id in ("c1", "c2")]


@pytest.mark.parametrize(
    ("view", "valid"),
    [
        ([USER, CALLING, *RESULTS], True),
        ([USER, CALLING, RESULTS[0]], False),
        ([USER, CALLING, RESULTS[0], USER, RESULTS[1]], False),
        ([USER, CALLING, *reversed(RESULTS)], False),
        ([USER, RESULTS[0]], False),
        ([{"role": "assistant", "content": "a"}], False),
        ([USER, {"role": "assistant", "content": None}], False),
    ],
)
def test_the_demo_knows_an_invalid_view(view: list[dict[str, Any]], valid: bool) -> None:
    """What a provider would refuse is a fault, and so the demo fails."""
    assert is_valid(view) is valid


@proof
def test_the_demo_starts_a_server_of_its_own(server: object) -> None:
    """And leaves nothing of it."""
    with tempfile.TemporaryDirectory(prefix="demo-") as name:  # not pytest's, which only root may enter
        os.chmod(name, 0o755)
        done = run(Path(name), "--storage", "embedded", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["ok"] is True
        assert [left for left in os.listdir(name) if left.startswith("context-persistent")] == []


@proof
def test_the_demo_keeps_its_log_in_a_database_that_it_is_given(directory: Path, storage: str) -> None:
    """The log is there afterwards, and no server was started."""
    done = run(directory, "--storage", storage, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["ok"], told["log_path"].startswith("postgresql:")) == (True, True)
    assert len(read_messages(told["log_path"], storage)) == len(told["acknowledged"]) + len(told["finished"])


def test_a_storage_that_is_given_is_that_of_both_processes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    played: list[str | None] = []

    def play(directory: Path, storage: str | None) -> PlayedDemo:
        played.append(storage)
        raise DemoError("that is enough")

    monkeypatch.setattr(demo_module.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(demo_module, "play", play)
    for options in ([], ["--storage", "postgresql://here/agents"]):
        assert CliRunner().invoke(main, ["demo", *options]).exit_code == 1
    assert played == [None, "postgresql://here/agents"]
