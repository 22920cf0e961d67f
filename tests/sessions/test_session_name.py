"""Names that hosts give sessions: read from any `metadata.json`, looked up, and shown harmlessly."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.catalogue.glance import Glance
from amplifier_module_context_persistent.sessions.find_session import SessionNameError, find_session
from amplifier_module_context_persistent.sessions.session_name import (
    SessionName,
    name_from_glance,
    read_metadata,
    read_name,
)
from amplifier_module_context_persistent.toolbox.cli.completion import complete
from tests.support.commands import is_harmless, run, shows
from tests.support.messages import user
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("project")


def named(session_id: str, name: Any, working_dir: str = ".", **more: Any) -> Path:
    """A session with a name, as a host gives it."""
    log = write(log_of(session_id, working_dir), [user(f"hello from {session_id}")])
    fields = {"session_id": session_id, "bundle": "foundation", "name": name, **more}
    log.with_name("metadata.json").write_text(
        json.dumps(fields, ensure_ascii=False), encoding="utf-8", errors="surrogatepass"
    )
    return log


EMOJI = "🐛 Fix the 👩‍👩‍👧 build"
STRANGE = {
    "emoji": EMOJI,
    "right to left": "تصحيح \u202eevil\u202c البناء",
    "control characters": "red \x1b[31m\x07 alert\x00\r\nsecond line",
    "a terminal's title": "\x1b]0;owned\x07",
    "half a surrogate pair": "half \ud800 pair",
    "markup": "[bold]x[/bold] <script>alert(1)</script>",
    "200 characters": "n" * 200,
    "200 wide characters": "名" * 200,
    "an option": "--json",
}


@proof(quick=1)
@pytest.mark.parametrize("name", STRANGE.values(), ids=STRANGE)
def test_a_name_is_shown_everywhere_and_does_no_harm(name: str, tmp_path: Path) -> None:
    """In `list`, `show`, `search` and the report; JSON has it as it is."""
    log = named("s1", name, description=f"about {name}")
    named("s2", "plain")
    for arguments in (["list"], ["list", "-l"], ["show", "s1"], ["search", "hello"], ["search", "hello", "-l"]):
        said = run(*arguments).stdout
        assert is_harmless(said.replace("\t", "  ")), arguments
        assert "plain" in said or arguments[0] == "show"
    (session,) = (one for one in json.loads(run("list", "--json").stdout)["sessions"] if one["session"] == "s1")
    assert (session["name"], session["description"]) == (name.strip(), f"about {name}".strip())
    found = [json.loads(line) for line in run("search", "hello", "--json").stdout.splitlines()]
    assert {one["session"]: one["name"] for one in found} == {"s1": name.strip(), "s2": "plain"}
    run("report", "s1", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<script>alert(1)</script>" not in page
    assert "\x1b" not in page
    assert find_session(name) == log


def test_screens_say_the_name_and_the_description() -> None:
    named("s1", "Fix the build", description="It broke on Monday.")
    lines = [line.strip() for line in run("list").stdout.splitlines()]
    assert lines[2:] == ["Fix the build", "hello from s1"]
    lines = [line.strip() for line in run("list", "-l").stdout.splitlines()]
    assert lines[2:5] == ["Fix the build", "It broke on Monday.", "hello from s1"]
    shows(run("show", "s1").stdout, "Name: Fix the build\n", "Description: It broke on Monday.\n")
    named("s2", "")
    assert "s1  Fix the build\n" in run("search", "hello").stdout


def test_a_report_is_called_by_the_name(tmp_path: Path) -> None:
    """A secret in a name is replaced."""
    named("s1", "Fix the build", description="key: sk-ant-api03-" + "a1B2" * 24)
    run("report", "s1", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<title>Fix the build</title>" in page
    assert "a1B2a1B2" not in page


def test_a_markdown_export_has_the_name(tmp_path: Path) -> None:
    """Nothing in it is markup, and a secret in it is replaced."""
    named("s1", "<b> sk-ant-api03-" + "a1B2" * 24)
    run("export", "s1", "-o", tmp_path / "talk.md")
    second = (tmp_path / "talk.md").read_text("utf-8").splitlines()[2]
    assert second.startswith("**&#60;b&#62; ")
    assert "a1B2" not in second


DAMAGED = {
    "no JSON": b"{",
    "no UTF-8": b'{"name": "\xff"}',
    "a list": b'[{"name": "x"}]',
    "a text": b'"name"',
    "null": b"null",
    "nothing": b"",
    "too deep": b"[" * 100_000,
    "a number": b'{"name": 7, "description": ["x"]}',
    "blank": b'{"name": " \\n "}',
    "huge": b'{"name": "x", "more": "' + b"y" * (2 << 20) + b'"}',
}


@proof(quick=1)
@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_names_nothing(content: bytes) -> None:
    """And the session is shown as if it had no name."""
    log = write(log_of("s1"), [user("hello")])
    log.with_name("metadata.json").write_bytes(content)
    assert read_name(log) == SessionName()
    shows(run("list").stdout, "s1", "hello")
    assert "Name:" not in run("show", "s1").stdout
    with pytest.raises(SessionNameError):
        find_session("x")


@pytest.mark.parametrize("kind", ["FIFO", "link", "circle", "directory"])
def test_what_is_no_file_names_nothing(kind: str, tmp_path: Path) -> None:
    """Nobody waits for a FIFO, and no link is followed out of the session's directory."""
    log = write(log_of("s1"), [user("hello")])
    path = log.with_name("metadata.json")
    (tmp_path / "elsewhere.json").write_text('{"name": "x"}')
    match kind:
        case "FIFO":
            os.mkfifo(path)
        case "link":
            path.symlink_to(tmp_path / "elsewhere.json")
        case "circle":
            path.symlink_to(path)
        case _:
            path.mkdir()
    assert read_name(log) == SessionName()
    assert "hello" in run("list").stdout
    assert "hello" in run("show", "s1").stdout


def test_a_session_is_found_by_its_name() -> None:
    """The whole name comes before the beginning of another one, whatever its case and composition."""
    build, other = named("a1", "Fix the build"), named("a2", "Fix the build and the docs")
    cafe = named("a3", "Cafe\u0301")
    assert find_session("Fix the build") == find_session("fix THE build ") == build
    assert find_session("Fix the build and") == other
    assert find_session("caf\u00e9") == cafe
    assert "hello from a2" in run("show", "fix the build AND").stdout


def test_several_of_one_name_are_listed() -> None:
    """Each with its id and its name, and what to do; a name that says much is cut."""
    named("a1", "Fix the build")
    named("a2", "Fix the build")
    named("a3", "Fix \x1b[31m" + "x" * 200)
    with pytest.raises(SessionNameError, match=re.escape("a1 (Fix the build)")) as raised:
        find_session("fix the build")
    assert str(raised.value).endswith("; give an id")
    done = run("show", "Fix", code=2)
    shows(done.stderr, "a1 (Fix the build)", "a2 (Fix the build)", "a3 (Fix ?[31mxxx")
    assert is_harmless(done.stderr)
    assert "x" * 100 not in done.stderr


def test_a_session_of_this_project_comes_first() -> None:
    """As with ids."""
    here, there = named("a1", "Fix the build"), named("b1", "Fix the build", "../other")
    elsewhere = named("b2", "Elsewhere", "../other")
    assert find_session("Fix the build") == here
    assert find_session("elsewhere") == elsewhere
    assert find_session("Fix the build", "../other") == there


def test_a_name_that_looks_like_an_id_or_a_path_gives_way_to_what_has_it(project: Path) -> None:
    """An id, the beginning of one, and a file that exists come first; else the name counts."""
    first = named("a1", "a2")
    second = named("a2", "feature/login")
    third = named("c3", "src/notes.jsonl")
    fourth = named("c4", "../up")
    assert find_session("a2") == second
    assert find_session("feature/login") == second
    assert find_session("src/notes.jsonl") == third
    assert find_session("../up") == fourth
    notes = Path("src/notes.jsonl")
    notes.parent.mkdir()
    write(notes, [user("x")])
    assert find_session("src/notes.jsonl") == notes
    fifth = named("c5", "src")
    assert find_session("src") == fifth  # the directory has no log
    first.unlink()
    assert find_session("no/such/file.jsonl") == Path("no/such/file.jsonl")


def test_nothing_is_found_by_an_empty_name() -> None:
    named("a1", " ")
    for name in (" ", "\u3000"):
        with pytest.raises(SessionNameError):
            find_session(name)


def test_ids_are_completed_with_their_names_and_by_them() -> None:
    named("a1", "Fix the build")
    named("b2", "")

    def completed(typed: str) -> list[tuple[Any, Any]]:
        return [(one.value, one.help) for one in complete(None, None, typed)]  # type: ignore[arg-type]

    assert completed("a") == [("a1", "Fix the build")]
    assert completed("fix") == [("a1", "Fix the build")]
    assert completed("b") == [("b2", None)]


def test_a_session_in_a_database_has_the_name_in_its_hosts_directory() -> None:
    """The host keeps its own files of it on this machine; a name that would lead elsewhere has none."""
    named("a1", "Fix the build")
    project = log_of("a1").parents[2].name
    assert name_from_glance(f"postgresql://host/db#{project}/a1", Glance()).name == "Fix the build"
    assert name_from_glance("postgresql://host/db#../../x/a1", Glance()) == SessionName()
    assert name_from_glance("postgresql://host/db#a1", Glance()) == SessionName()


def test_a_file_of_a_host_that_is_too_large_names_nothing() -> None:
    """However much of it is blank."""
    path = named("a1", "Fix the build").with_name("metadata.json")
    assert read_metadata(path)
    path.write_bytes(path.read_bytes().ljust((1 << 20) + 1))
    assert read_metadata(path) == {}
