"""`search --best`: the messages that answer a question, over sessions."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from amplifier_module_context_persistent.errors import RecallError
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.sessions import indexed_log, search
from amplifier_module_context_persistent.sessions.filters import FilterError
from amplifier_module_context_persistent.toolbox.cli import best_answers
from amplifier_module_context_persistent.toolbox.cli import search as search_module
from tests.support.commands import refused, run, shows
from tests.support.logs import sealed
from tests.support.sessions_of_a_home import log_of, write

CALL = {"id": "c1", "tool": "bash", "arguments": {"command": "git fsck"}}
OTHERS = [{"role": "user", "content": f"We talked about lunch, number {number}."} for number in range(10)]
GIT: list[dict[str, Any]] = [
    {"role": "user", "content": "Why is the git index corrupt?"},
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "error: bad index file sha1 signature"},
    {
        "role": "assistant",
        "content": "First line.\n\nThe index was corrupted by gc in another worktree.\nIt is mended.",
    },
]
QUESTION = "what corrupted the indexes"


@pytest.fixture(autouse=True)
def sessions(project: Path) -> None:
    """This project has a session about git, and another project one about lunch."""
    write(log_of("about-git"), [*OTHERS, *GIT, *OTHERS])
    (log_of("about-git").parent / "metadata.json").write_text(json.dumps({"name": "Broken index"}))
    write(log_of("about-lunch", "/elsewhere/kitchen"), [*OTHERS, {"role": "user", "content": "corrupted soup"}])


def best(*arguments: str) -> list[dict[str, Any]]:
    done = run("search", "--best", "5", *arguments, "--json", code=None)
    assert done.exit_code in (0, 1), done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_best_answers_come_first() -> None:
    """Each with session, number, id and score, and the lines that tell most."""
    found = best(QUESTION)
    assert next(one["number"] for one in found) == 14
    assert {one["session"] for one in found} == {"about-git"}
    first = found[0]
    assert (first["id"], first["role"], first["title"]) == ("msg-14", "assistant", "Broken index")
    assert first["score"] > found[1]["score"]
    (line,) = first["lines"]
    assert [line["text"][slice(*span)] for span in line["spans"]] == ["index", "corrupted"]


def test_all_projects_and_filters() -> None:
    """Nothing of another project without --all or --project; filters narrow it."""
    assert {one["session"] for one in best(QUESTION, "--all")} == {"about-git", "about-lunch"}
    assert {one["session"] for one in best(QUESTION, "--project", "kitchen")} == {"about-lunch"}
    assert {one["session"] for one in best(QUESTION, "--all", "--name", "broken")} == {"about-git"}
    assert {one["role"] for one in best(QUESTION, "--role", "user")} == {"user"}
    assert {one["number"] for one in best("bad index fsck", "--tool", "BASH")} == {12, 13}
    assert best(QUESTION, "--since", "1d") == []


def test_a_page_for_people() -> None:
    """Title, date, project, the message, its best lines; with --explain why."""
    told = run("search", "--best", "2", QUESTION, "--explain").stdout
    assert "1. 2026-01-05 " in told
    assert "about-git  Broken index" in told
    assert "[14] assistant" in told
    assert "The index was corrupted by gc" in told
    assert "First line." not in told
    assert "score " in told
    assert "corrupted " in told
    assert run("search", "--best", "2", "zebra", code=1).stdout == ""


def test_options_that_do_not_go_together() -> None:
    """They are refused, not ignored."""
    for options in (("--explain",), ("--best", "3", "-F"), ("--best", "3", "-w"), ("--best", "3", "-l")):
        run("search", QUESTION, *options, code=2)
    run("search", QUESTION, "about-git", "--name", "git", code=2)
    assert "put several words in quotes" in run("search", *QUESTION.split(), code=2).output
    assert "holds no word" in run("search", "--best", "3", "?!", code=2).output
    assert "no project nowhere" in run("search", "x", "--project", "nowhere", code=2).output


def test_a_question_in_a_terminal_is_answered_if_no_message_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is found is shown as it is, and in a pipe nothing changes."""
    assert run("search", QUESTION, code=1).stdout == ""
    monkeypatch.setattr(search_module, "is_terminal", lambda: True)
    answered = run("search", QUESTION)
    assert "The best answers to it as a question" in answered.output
    assert "[14] assistant" in answered.stdout
    assert "best answers" not in run("search", "corrupted by gc in another").output
    nothing = run("search", "corrupted indexes", code=1)
    assert (nothing.stdout, re.fullmatch(r"nothing in \d+ sessions?\n", nothing.stderr) is not None) == ("", True)
    assert run("search", "corrupted indexes", "--json", code=1).stderr == ""
    assert run("search", "what corrupted the (indexes|trees)", code=1).stdout == ""


def test_elsewhere_a_question_that_no_message_has_names_the_option() -> None:
    told = run("search", QUESTION, code=1)
    assert (told.stdout, told.stderr) == ("", "no message has this text; --best N takes it as a question\n")
    assert run("search", "zebra", code=1).stderr == ""
    assert run("search", QUESTION, "--json", code=1).stderr == ""


def test_the_newest_first(project: Path) -> None:
    """Of the best answers."""
    numbers = [one["number"] for one in best(QUESTION)]
    assert [one["number"] for one in best(QUESTION, "--newest")] == numbers  # all are of one moment


def test_a_message_of_a_fork_and_of_its_origin_is_one_answer() -> None:
    """Named with the session in which it was said; the forks are counted."""
    for fork in ("fork-1", "fork-2"):
        run("fork", "about-git", "--at", "msg-14", "--session", fork)
    for one in best(QUESTION):
        assert one["session"] == "about-git"
        assert set(one["forks"]) == {"fork-1", "fork-2"}
    assert len({one["number"] for one in best(QUESTION)}) == len(best(QUESTION)) > 1
    assert "also in 2 forks: fork-" in run("search", "--best", "1", QUESTION).stdout


def test_since_and_until_mean_messages() -> None:
    """Of a session that goes on for weeks only those of the time, also in a search for a text."""
    messages = {f"2026-01-{day:02}T09:00:00Z": f"the broken gearbox, day {day}" for day in range(1, 29)}
    lines = [
        encode_message({"role": "user", "content": text}, message_id=f"m-{time}", timestamp=time)
        for time, text in messages.items()
    ]
    log_of("about-git").write_bytes(b"".join(sealed(lines)))
    wanted = ("--since", "2026-01-10", "--until", "2026-01-13")
    days = {"the broken gearbox, day 10", "the broken gearbox, day 11", "the broken gearbox, day 12"}
    assert {one["lines"][0]["text"] for one in best("gearbox", *wanted)} == days
    assert run("search", "gearbox", "--count", *wanted).stdout.strip().endswith("3")
    assert run("search", "gearbox", "--count", "-w", *wanted).stdout.strip().endswith("3")
    assert run("search", "gearbox", "about-git", "--count", *wanted).stdout.strip().endswith("3")
    found = search("gearbox", since="2026-01-10", until="2026-01-13").messages
    assert {one.lines()[0].text for one in found} == days
    run("search", "gearbox", "--since", "2026-02-01", code=1)


def test_explain_shows_times_and_slips() -> None:
    """What was read as a time, the words as they were written, and the word that was shown instead of another."""
    told = run("search", "--best", "2", "Corruptions of the gearbxo on 5 January 2026", "--explain", code=None)
    assert "read as a time: on 5 January 2026 (2026-01-05 00:00 to 2026-01-05 23:59)" in told.stderr
    assert "Corruptions " in told.stdout
    assert "it is of the time that the question names" in told.stdout
    slipped = run("search", "--best", "2", "wroktree")
    assert slipped.stderr == "no match for `wroktree`; showing `worktree`\n"


def test_the_times_that_the_help_shows_are_read_as_times() -> None:
    text = " ".join(run("search", "--help").stdout.split())
    begin = text.index("Times in words work")
    examples = re.findall('"([^"]+)"', text[begin : text.index(")", begin)])
    assert len(examples) == 3
    for example in examples:
        done = run("search", "--best", "1", f"zebra {example}", code=1)
        assert "read as a time" in done.stderr, example


def test_what_a_clear_hid_is_no_answer() -> None:
    """The index has it, the log decides."""
    path = log_of("about-git")
    assert best(QUESTION)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:12]))
    assert {one["number"] for one in best(QUESTION)} == {11, 12} - {12}


def test_a_question_in_place_of_a_number_says_what_comes_first() -> None:
    assert "search --best 5 'QUESTION'" in refused("search", "--best", "where is it", "--all")


def test_sessions_without_messages_take_no_answer_away(project: Path) -> None:
    """An empty log, and one whose messages were all purged."""
    empty = log_of("empty")
    empty.parent.mkdir()
    empty.write_bytes(b"")
    write(log_of("purged"), OTHERS)
    run("purge", "purged", "--everything", "--yes", code=1)  # the others begin alike: they count as copies that stay
    assert {one["session"] for one in best("corrupted")} == {"about-git"}
    assert {one["session"] for one in best("corrupted")} == {"about-git"}, "from the catalogue"
    assert [one.session.id for one in search("corrupted", project=".", most=1).messages] == ["about-git"]


def test_a_session_that_fails_unexpectedly_is_named_beside_the_answers_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(log_of("broken"), OTHERS)
    original = indexed_log.lacking

    def lacking(reader: LogReader, *rest: Any) -> Any:
        if "broken" in str(reader.path):
            raise IndexError("array index out of range")
        return original(reader, *rest)

    monkeypatch.setattr(indexed_log, "lacking", lacking)
    done = run("search", "--best", "5", "corrupted", code=2)
    assert "The index was corrupted by gc" in done.stdout
    shows(done.stderr, "broken", "IndexError")


def test_words_that_no_message_has_are_named() -> None:
    """In a terminal, as JSON, and in Python; not a word of a message, a slip, a speaker, or a function word."""
    asked = "was the indxe corrupted by kubernetes or zeppelins, assistant"
    assert "no message has: kubernetes, zeppelins\n" in run("search", "--best", "1", asked).stderr
    assert best(asked)[0]["unmatched"] == ["kubernetes", "zeppelins"]
    assert search(asked, project=".").unmatched == ("kubernetes", "zeppelins")
    assert search("corrupted index", project=".").unmatched == ()


def test_a_question_without_an_answer_says_of_what_it_was_asked() -> None:
    done = run("search", "--best", "3", "zebras im März 2026", code=1)
    assert done.stdout == ""
    shows(
        done.stderr,
        "no message answers this: 1 session\n",
        "no message has: zebras",
        "read as a time: im März 2026 (2026-",
    )


def test_a_project_that_is_not_there_gets_names_like_it() -> None:
    """From the command and from Python."""
    assert re.search(
        r"no project kitch has sessions; like it: \S*kitchen", refused("search", "x", "--project", "kitch")
    )
    with pytest.raises(FilterError, match=r"project: no project kitch has sessions; like it: \S*kitchen"):
        search("soup", project="kitch")
    with pytest.raises(RecallError, match=r"^question: "):
        search(" ", project=".")


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
def test_a_narrow_terminal_shows_an_id_that_can_be_shown(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The title is cut, not the id."""
    session = "01d88f11-0eeb-54ab-8203-c632033df94d"
    write(log_of(session), [{"role": "user", "content": "Corrupted marmalade, and whose fault it is at length. " * 3}])
    narrow = Console(width=columns, force_terminal=True, color_system=None, file=sys.stdout)
    monkeypatch.setattr(best_answers, "console", lambda: narrow)
    with narrow.capture() as captured:
        run("search", "--best", "1", "marmalade")
    heading = captured.get().splitlines()[0]
    assert "01d88f11" in heading.split()
    assert len(heading) <= columns
    assert "marmalade" in run("show", "01d88f11").stdout


def test_a_slip_shows_a_word_of_a_message() -> None:
    """Not a form that only has its stem."""
    write(log_of("fruit"), [{"role": "user", "content": "Blueberries taste good."}])
    assert "showing `Blueberries`" in run("search", "--best", "1", "bluebery").stderr
