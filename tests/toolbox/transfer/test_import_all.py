"""Importing a directory: all sessions, each where it belongs, again only what is new; strangers do not stop it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.paths import LOG_NAME, project_slug
from amplifier_module_context_persistent.toolbox.cli import main
from amplifier_module_context_persistent.toolbox.transfer.imports.import_directory import (
    PLACES,
    session_paths,
    standard_place,
)
from tests.support.commands import shows
from tests.support.imports import write_jsonl
from tests.support.sweeps import proof


def says(session: str, text: str, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {
        "type": "user",
        "sessionId": session,
        "uuid": f"{session}-{text}",
        "cwd": "/w/app",
        "message": message,
        **more,
    }


def run(*arguments: object) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(main, ["import", *map(str, arguments), "--json"])
    assert done.exit_code in (0, 1), done.output
    return done.exit_code, json.loads(done.stdout)


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    place = tmp_path / "claude" / "projects" / "-w-app"
    write_jsonl(place / "s1.jsonl", [says("s1", "one"), says("s1", "two", parentUuid="s1-one")])
    write_jsonl(place / "s2.jsonl", [says("s2", "one"), "damaged"])
    write_jsonl(place / "s1" / "subagents" / "agent-a1.jsonl", [says("s1", "look", isSidechain=True, agentId="a1")])
    write_jsonl(place / "agent-b2.jsonl", [says("s2", "look", isSidechain=True, agentId="b2")])
    write_jsonl(place / "agent-c3.jsonl", [says("gone", "look", isSidechain=True, agentId="c3")])
    (place / "notes.json").write_text('{"no": "session"}')
    (place / "notes.txt").write_text("nothing")
    return place


@proof
def test_all_sessions_of_an_agent(projects: Path) -> None:
    """Sub-agents come with their session, or alone where that is gone; the second time nothing is new."""
    code, told = run("--from", "claude-code")
    assert code == 1, "one line is lost"
    ids = {session["session_id"] for report in told["imports"] for session in report["sessions"]}
    assert ids == {"s1", "s1_a1", "s2", "s2_b2", "gone_c3"}
    sessions = Path.home() / ".amplifier" / "projects" / project_slug("/w/app") / "sessions"
    assert all((sessions / session / LOG_NAME).exists() for session in ids)
    assert [Path(one["source"]).name for one in told["skipped"]] == ["notes.json"]
    _, again = run("--from", "claude-code")
    assert sum(report["added"] for report in again["imports"]) == 0
    write_jsonl(projects / "s2.jsonl", [says("s2", "one"), says("s2", "more", parentUuid="s2-one")])
    code, more = run(projects)
    assert code == 0
    assert sum(report["added"] for report in more["imports"]) == 1


def test_strict_leaves_out_files_of_which_anything_is_lost(projects: Path) -> None:
    """The others are imported; the reason is told."""
    code, told = run(projects, "--strict")
    assert code == 1
    assert [Path(one["source"]).name for one in told["errors"]] == ["s2.jsonl"]
    assert "line 2" in told["errors"][0]["error"]
    assert {report["session_id"] for report in told["imports"]} == {"s1", "gone_c3"}


def test_the_report_of_a_directory(projects: Path) -> None:
    """A line for each session with news, the account of all, the sums; a dry run writes nothing."""
    done = CliRunner().invoke(main, ["import", str(projects), "--dry-run"])
    assert "5 files" not in done.stdout
    shows(
        done.stdout,
        "4 files; 1 is no session",
        "no session: ",
        "notes.json: there is no message",
        "2 sessions and 3 sub-agents, 6 messages would be added",
        "lost",
    )
    assert not (Path.home() / ".amplifier").exists()


def test_a_file_of_several_names_is_one_session(tmp_path: Path) -> None:
    """A link to a file of the same directory adds nothing; one to a file elsewhere does, and one to nowhere is none."""
    write_jsonl(tmp_path / "all" / "s1.jsonl", [says("s1", "one")])
    write_jsonl(tmp_path / "other" / "s2.jsonl", [says("s2", "two")])
    for name, target in (("a", "all/s1.jsonl"), ("b", "other/s2.jsonl"), ("c", "nowhere.jsonl"), ("d", "all")):
        (tmp_path / "all" / f"{name}.jsonl").symlink_to(tmp_path / target)
    assert [Path(path).name for path in session_paths(tmp_path / "all")] == ["b.jsonl", "s1.jsonl"]


def test_two_sessions_of_one_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trajectories share ids: what begins with another message is another session."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        steps = [{"step_id": 1, "source": "user", "message": name}]
        agent = {"name": "x", "version": "1"}
        document = {"schema_version": "ATIF-v1.7", "session_id": "same", "agent": agent, "steps": steps}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    first, second, again = run("a.json")[1], run("b.json")[1], run("b.json")[1]
    assert first["session_id"] == "same"
    assert second["session_id"].startswith("same-")
    assert (again["session_id"], again["added"]) == (second["session_id"], 0)


@pytest.mark.parametrize("arguments", [[], [".", "--session", "x"], [".", "-o", "x"], ["a", "--from", "pi"], ["."]])
def test_what_cannot_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    """No source, two sources, one id for many sessions, a directory without sessions."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["import", *arguments])
    assert done.exit_code == 2
    assert done.output


def test_an_agent_without_sessions_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the place in which they were looked for."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    done = CliRunner().invoke(main, ["import", "--from", "codex"])
    assert done.exit_code == 2
    assert "codex/sessions does not exist; codex keeps its sessions there" in done.output


def test_each_agent_has_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Below the home directory, or where the agent's own variable says."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    assert standard_place("codex") == tmp_path / "sessions"
    assert all(standard_place(name).is_absolute() for name in PLACES)
    with pytest.raises(FileNotFoundError):
        session_paths(tmp_path / "nowhere")


@proof
def test_a_sub_agent_that_came_alone_is_known_when_its_session_comes(projects: Path) -> None:
    """It was imported while its session was gone: it stays one session and gets what is new."""
    run(projects / "agent-c3.jsonl")
    _, alone = run(projects / "agent-c3.jsonl")
    assert alone["added"] == 0
    write_jsonl(
        projects / "agent-c3.jsonl",
        [
            says("gone", "look", isSidechain=True, agentId="c3"),
            says("gone", "more", isSidechain=True, agentId="c3", parentUuid="gone-look"),
        ],
    )
    gone = write_jsonl(projects / "gone.jsonl", [says("gone", "one")])
    code, whole = run(gone)
    assert (code, whole["added"]) == (0, 2)
    assert [session["session_id"] for session in whole["sessions"]] == ["gone", "gone_c3"]
    assert run(gone)[1]["added"] == run(projects / "agent-c3.jsonl")[1]["added"] == 0


def test_a_sub_agents_file_adds_to_the_session_that_came_with_its_parent(tmp_path: Path) -> None:
    """Whether it is read where it lies or alone, from any directory, it is one session."""
    agent = [says("s1", "look", isSidechain=True, agentId="a1")]
    parent = write_jsonl(tmp_path / "s1.jsonl", [says("s1", "one")])
    child = write_jsonl(tmp_path / "s1" / "subagents" / "agent-a1.jsonl", agent)
    _, together = run(parent)
    assert [session["session_id"] for session in together["sessions"]] == ["s1", "s1_a1"]
    more = says("s1", "more", isSidechain=True, agentId="a1", parentUuid="s1-look")
    elsewhere = write_jsonl(tmp_path / "elsewhere" / "agent-a1.jsonl", [*agent, more])
    for source, added in ((child, 0), (elsewhere, 1), (elsewhere, 0)):
        _, alone = run(source)
        assert ([session["session_id"] for session in alone["sessions"]], alone["added"]) == (["s1_a1"], added)


def test_several_files_and_directories(projects: Path, tmp_path: Path) -> None:
    """Each is imported once, also if its directory is named, too; what is not there is refused before anything is."""
    other = write_jsonl(tmp_path / "s9.jsonl", [says("s9", "one")])
    done = CliRunner().invoke(main, ["import", str(other), str(tmp_path / "nosuch")])
    assert (done.exit_code, done.stdout) == (2, "")
    _, told = run(projects / "s1.jsonl", other)
    assert [report["session_id"] for report in told["imports"]] == ["s1", "s9"]
    _, told = run(other, projects, projects / "s2.jsonl")
    assert [Path(report["source"]).name for report in told["imports"]].count("s2.jsonl") == 1
    done = CliRunner().invoke(main, ["import", str(other), str(projects), "--session", "x"])
    assert (done.exit_code, "for one file" in done.stderr) == (2, True)


def test_a_sub_agent_whose_session_is_gone_is_one_everywhere(projects: Path) -> None:
    """Its log names the session that started it: sums, SQL and files say so."""
    read = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "/w/app/a.py"}}
    usage = {"input_tokens": 5, "output_tokens": 5}
    answer = {"role": "assistant", "id": "m", "model": "m-1", "content": [read], "usage": usage}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x = 1"}]}
    alone = {"isSidechain": True, "agentId": "c3"}
    lines = [says("gone", "look", **alone)]
    lines += [{**says("gone", name, **alone), "message": message} for name, message in (("a", answer), ("r", result))]
    lines[1]["type"] = "assistant"
    run(write_jsonl(projects / "agent-c3.jsonl", lines))

    def asked(*command: str) -> Any:
        return json.loads(CliRunner().invoke(main, [*command, "--all", "--json"]).stdout)

    total = asked("stats", "--by", "session")
    assert (total["total"]["sessions"], total["total"]["sub_agents"]) == (1, 1)
    assert [one["session"] for one in total["by_session"]] == ["gone"]
    assert asked("sql", "SELECT session, sub_agent_of FROM sessions")["rows"] == [
        {"session": "gone_c3", "sub_agent_of": "gone"}
    ]
    assert [one["session"] for one in asked("files", "a.py")["files"]] == ["gone"]


def test_a_purged_word_in_the_path_of_a_source_is_told(projects: Path, tmp_path: Path) -> None:
    """It is in the key by which the source is known again, and stays; a person is told, and a program by the code."""
    source = write_jsonl(tmp_path / "talk-with-Millerovic.jsonl", [{"role": "user", "content": "I am Millerovic."}])
    run(source)
    done = CliRunner().invoke(main, ["purge", "--redact", "Millerovic", "--all", "--yes"])
    assert done.exit_code == 1
    assert "1 record with it in an id, a name or a key, which stay" in done.stdout
