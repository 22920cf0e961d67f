"""A short file without ids does not bring erased content back: a request body, bare messages, or a trajectory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.sweeps import proof
from tests.support.two_homes import Home, holders

KEY = "zq-leaked-0123456789"
SECRET = "ghp_" + "Zq3" * 12
FORMS = ["openai", "anthropic", "atif", "bare"]
TALK = (f"my key is {KEY}", f"and my token is {SECRET}")


def exported(laptop: Home, form: str, *options: str) -> Path:
    """A file of the session `talk`; `bare`: its messages as lines, without ids."""
    file = laptop.root / f"talk.{form}"
    if form != "bare":
        laptop.run("export", "talk", "--format", form, "-o", file, "--force", *options)
        return file
    lines = laptop.run("export", "talk", "--format", "jsonl", *options).stdout.splitlines()
    messages = [json.loads(line) for line in lines]
    spoken = [{"role": one["role"], "content": one["content"]} for one in messages if "role" in one]
    file.write_text("".join(f"{json.dumps(one)}\n" for one in spoken))
    return file


def in_home(laptop: Home, text: str = KEY) -> list[str]:
    return [path for path in holders(laptop.root / ".amplifier", text) if "catalogue" not in path]


@proof(quick=2)
@pytest.mark.parametrize("form", FORMS)
def test_a_purged_text_is_replaced_again(laptop: Home, form: str) -> None:
    """However short the conversation is; `--again` brings it."""
    laptop.says("talk", f"look at {KEY}")
    file = exported(laptop, form)
    assert KEY in file.read_text()
    laptop.run("purge", "talk", "--redact", KEY, "--yes")
    assert "a text was purged here on" in laptop.run("import", file, "--session", "second").stdout
    assert in_home(laptop) == []
    assert laptop.texts("second")[:1] == ["look at [redacted]"]
    laptop.run("import", file, "--session", "third", "--again")
    assert laptop.texts("third")[:1] == [f"look at {KEY}"]


@proof(quick=2)
@pytest.mark.parametrize("erase", [["delete", "talk"], ["purge", "talk", "--everything"]], ids=["delete", "purge"])
@pytest.mark.parametrize("form", FORMS)
def test_an_erased_session_is_refused(laptop: Home, form: str, erase: list[str]) -> None:
    """Also if the file lacks its secrets, as exports do."""
    laptop.says("talk", *TALK)
    file = exported(laptop, form)
    laptop.run(*erase, "--yes")
    assert "here on" in laptop.run("import", file, "--session", "second", code=2).stderr
    assert in_home(laptop) == []
    laptop.run("import", file, "--session", "second", "--again")


@pytest.mark.parametrize("form", ["openai", "bare"])
def test_a_beginning_of_an_erased_session_is_refused_and_so_is_one_that_went_on(laptop: Home, form: str) -> None:
    laptop.says("talk", *TALK)
    early = exported(laptop, form).read_bytes()
    laptop.says("talk", "one more question of the person")
    late = exported(laptop, form)
    laptop.run("delete", "talk", "--yes")
    if form == "bare":
        with late.open("a") as end:
            end.write('{"role":"user","content":"added"}\n{"role":"assistant","content":"yes"}\n')
    laptop.run("import", late, "--session", "second", code=2)
    late.write_bytes(early)
    laptop.run("import", late, "--session", "second", code=2)


def test_other_sessions_that_begin_alike_are_imported(laptop: Home) -> None:
    """The same question with another answer, a very short conversation, and the origin of a deleted fork."""
    laptop.says("talk", *TALK)
    origin = exported(laptop, "openai")
    laptop.run("fork", "talk", "--session", "forked")
    laptop.says("forked", "a question that only the fork has, of some length")
    laptop.run("delete", "forked", "--yes")
    laptop.run("import", origin, "--session", "second")
    laptop.run("delete", "talk", "second", "--yes")
    other = json.loads(origin.read_text())
    answer = next(one for one in other["messages"] if one["role"] == "assistant")
    answer["content"] = "another answer"
    laptop.run("import", write(laptop, other), "--session", "third")
    laptop.says("short", "hi")
    short = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "I heard: hi"}]}
    laptop.run("delete", "short", "--yes")
    laptop.run("import", write(laptop, short), "--session", "fourth")


def test_what_is_live_after_a_purge_of_what_was_hidden_is_imported(laptop: Home) -> None:
    laptop.says("talk", "a first question of the person", "another question, of some length, of the same person")
    laptop.says("talk", f"my key is {KEY}")
    laptop.run("rewind", "talk", "2", "--yes")
    file = exported(laptop, "openai")
    laptop.run("purge", "talk", "--cleared", "--yes")
    laptop.run("import", file, "--session", "second")


def write(laptop: Home, value: object) -> Path:
    file = laptop.root / "other.json"
    file.write_text(json.dumps(value))
    return file


@pytest.mark.parametrize("form", ["openai", "bare"])
def test_a_session_is_known_by_what_a_clear_has_hidden(laptop: Home, form: str) -> None:
    laptop.says("talk", *TALK)
    file = exported(laptop, form)
    laptop.run("rewind", "talk", "1", "--yes")
    laptop.says("talk", "another question after the rewind, of some length")
    laptop.run("delete", "talk", "--yes")
    laptop.run("import", file, "--session", "second", code=2)


@pytest.mark.parametrize("form", ["openai", "bare"])
def test_a_text_that_is_purged_from_a_fork_alone_is_replaced_in_its_export(laptop: Home, form: str) -> None:
    """The fork has no message that is not its origin's, which is lost."""
    laptop.says("talk", f"look at {KEY}")
    laptop.run("fork", "talk", "--session", "forked")
    file = exported(laptop, form)
    shutil.rmtree(laptop.log("talk").parent)
    laptop.run("purge", "forked", "--redact", KEY, "--yes")
    laptop.run("import", file, "--session", "second")
    assert in_home(laptop) == []
