"""`rename` and `tag`: what a person calls a session is shown, found and kept, and lies in its log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amplifier_module_context_persistent.catalogue import session_list_cache
from amplifier_module_context_persistent.sessions.public_functions import sessions
from amplifier_module_context_persistent.sessions.session_name import read_names
from tests.support.commands import is_harmless, refused, run
from tests.support.messages import user
from tests.support.sessions_of_a_home import log_of, write


@pytest.fixture
def one(project: Path) -> Path:
    return write(log_of("s-one"), [user("hello")])


@pytest.fixture
def other(project: Path) -> Path:
    return write(log_of("s-other"), [user("hello")])


def listed(*arguments: str) -> dict[str, tuple[str, list[str]]]:
    found = json.loads(run("list", "--json", *arguments).stdout)["sessions"]
    return {one["session"]: (one["name"], one["tags"]) for one in found}


@pytest.mark.usefixtures("one", "other")
def test_a_session_is_shown_and_found_by_its_name() -> None:
    assert "s-one is called The flaky test" in run("rename", "s-one", "The flaky test").stdout
    assert listed() == {"s-one": ("The flaky test", []), "s-other": ("", [])}
    assert list(listed("--name", "flaky")) == ["s-one"]
    assert "The flaky test" in run("list").stdout
    assert "hello" in run("show", "the FLAKY test").stdout
    assert "hello" in run("show", "the flaky").stdout
    assert "s-one  The flaky test: " in run("diff", "s-one", "s-other", code=None).stdout


def test_the_name_of_the_log_says_more_than_that_of_the_host(one: Path) -> None:
    """And where it is taken back, the host's is shown again; its file stays as it is."""
    host = one.with_name("metadata.json")
    host.write_text(json.dumps({"name": "Named by the host", "description": "about it"}))
    run("rename", "s-one", "Mine")
    assert [(named.name, named.description) for named in read_names([one])] == [("Mine", "about it")]
    assert "is called Named by the host" in run("rename", "s-one", "").stdout
    assert listed() == {"s-one": ("Named by the host", [])}
    assert json.loads(host.read_text())["name"] == "Named by the host"


@pytest.mark.usefixtures("other")
def test_tags_are_put_on_taken_off_and_filtered_by(one: Path) -> None:
    run("tag", "s-one", "release", "Urgent")
    run("tag", "s-other", "release")
    assert run("tag", "s-one").stdout == "s-one: release, Urgent\n"
    assert listed("--tag", "release", "--tag", "URGENT") == {"s-one": ("", ["release", "Urgent"])}
    assert [seen.session.path for seen in sessions(tag="urgent")] == [one]
    run("tag", "s-one", "--remove", "RELEASE", "later")
    assert listed()["s-one"] == ("", ["Urgent", "later"])
    assert "#Urgent  #later" in run("list").stdout


def test_what_is_said_already_is_not_written_again(one: Path) -> None:
    first = json.loads(run("tag", "s-one", "a", "--json").stdout)
    size = one.stat().st_size
    again = json.loads(run("tag", "s-one", "A", "--json").stdout)
    assert (first["changed"], again["changed"], again["tags"]) == (True, False, ["a"])
    assert "already" in run("rename", "s-one", "").stdout or one.stat().st_size == size
    assert one.stat().st_size == size


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rename", "s-one", "x" * 201], "at most 200 characters"),
        (["rename", "s-one", "two\nlines"], "on one line"),
        (["rename", "s-one", "\x1b[31mred"], "on one line"),
        (["tag", "s-one", "two words"], "no space"),
        (["tag", "s-one", ""], "1 to 50 characters"),
        (["tag", "s-one", *map(str, range(51))], "51 tags are too many: a session has at most 50"),
        (["rename", "nosuch", "x"], "no such file or session"),
    ],
    ids=range(7),
)
def test_what_is_no_name_or_tag_is_refused(one: Path, arguments: list[str], said: str) -> None:
    size = one.stat().st_size
    assert said in refused(*arguments)
    assert one.stat().st_size == size


def test_a_label_that_somebody_else_wrote_does_no_harm(one: Path) -> None:
    """Tags of other types are passed over, control characters shown escaped."""
    with one.open("a") as file:
        file.write('{"_record":"label","title":"a\\u202eb\\u001b[31m","tags":["x\\u0007",{"y":1},7]}\n')
    for arguments in (["list"], ["list", "-l"], ["tag", "s-one"]):
        assert is_harmless(run(*arguments).stdout)


@pytest.fixture
def large(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log that is not looked at twice: its catalogue keeps what a list says."""
    monkeypatch.setattr(session_list_cache, "LEAST_LOG_BYTES", 0)
    return write(log_of("s-large"), [user(f"hello {number}") for number in range(50)])


@pytest.mark.usefixtures("large")
def test_the_catalogue_says_the_name_as_the_log_does() -> None:
    """After a list has kept what it saw, and after the name changed."""
    for name in ("First", "Second", ""):
        run("rename", "s-large", name)
        run("tag", "s-large", f"tag{len(name)}")
        assert listed() == listed() == listed("--no-catalogue")
        assert listed()["s-large"][0] == name


def test_the_name_goes_with_a_copy(one: Path, tmp_path: Path) -> None:
    run("rename", "s-one", "Kept")
    run("copy", "s-one", tmp_path / "copy.jsonl")
    assert [named.name for named in read_names([tmp_path / "copy.jsonl"])] == ["Kept"]
    assert one.read_bytes() == (tmp_path / "copy.jsonl").read_bytes()


def test_a_purge_takes_a_text_out_of_the_name(one: Path) -> None:
    """In the log and in the catalogue."""
    run("rename", "s-one", "call hunter2secret")
    run("tag", "s-one", "hunter2secret")
    listed()
    run("purge", "s-one", "--redact", "hunter2secret", "--yes")
    left = [path for path in one.parents[2].rglob("*") if path.is_file() and b"hunter2secret" in path.read_bytes()]
    assert not left, [path.read_bytes() for path in left]
    assert "hunter2secret" not in run("list").stdout
    assert listed()["s-one"][0].startswith("call ")


def test_what_is_not_there_gets_no_name_and_no_file(tmp_path: Path) -> None:
    for command in ("rename", "tag"):
        assert "there is no such file" in refused(command, str(tmp_path / "none.jsonl"), "x")
    assert not list(tmp_path.rglob("none.jsonl"))


def test_failed_calls_of_many_sessions_stand_below_their_names(one: Path) -> None:
    call = {"id": "c", "tool": "bash", "arguments": {}}
    write(one, [user("hello"), {"role": "assistant", "content": "", "tool_calls": [call]}])
    run("rename", "s-one", "The flaky test")
    assert run("show", "--errors", "--all").stdout.startswith("s-one  The flaky test  ")
