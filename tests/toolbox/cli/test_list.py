"""`context-persistent list`: which sessions there are, how much and in which state."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from pathlib import Path

import pytest
from rich.cells import cell_len

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.catalogue import catalogue_file
from amplifier_module_context_persistent.toolbox.cli.session_rows import scaled, time_taken
from amplifier_module_context_persistent.toolbox.transfer.fork_session import fork_session
from tests.support.commands import is_harmless, run, without_colours
from tests.support.messages import fill
from tests.support.sessions_of_a_home import CONVERSATION, TERMINAL, log_of, stamp_of, write
from tests.support.sweeps import proof
from tests.support.terminals import Terminal, posix

pytestmark = pytest.mark.usefixtures("project")


def written(path: Path, *, hours_ago: float) -> Path:
    when = time.time() - 3600 * hours_ago
    os.utime(path, (when, when))
    return path


def said_at(path: Path, *hours_ago: float, texts: Sequence[str] = ()) -> Path:
    """A session with a message so many hours ago, each."""
    now = datetime.now(UTC)
    messages = [
        {"role": "user", "content": text, "metadata": {"timestamp": (now - timedelta(hours=hours)).isoformat()}}
        for hours, text in zip_longest(hours_ago, texts, fillvalue="Why is the total wrong?")
    ]
    return write(path, messages)


def listed(*arguments: str) -> dict[str, dict[str, object]]:
    done = run("list", *arguments, "--json")
    return {session["session"]: session for session in json.loads(done.output)["sessions"]}


def test_sessions_of_this_project_are_listed_the_newest_first() -> None:
    """By their last messages, not by their files; each has a row, and the first human line below it."""
    written(said_at(log_of("newer"), 5, 3), hours_ago=2)
    written(said_at(log_of("older"), 52, 50.5), hours_ago=1)
    written(write(log_of("undated"), []), hours_ago=100)
    write(log_of("elsewhere", "../other"))
    rows = run("list").output.splitlines()
    assert rows[0].split() == ["AGE", "TOOK", "MESSAGES", "TOKENS", "SIZE", "RESUME", "STATE", "SESSION"]
    size = log_of("older").stat().st_size
    assert rows[1].split()[:3] + rows[1].split()[-1:] == ["3h", "2h", "2", "newer"]
    assert rows[2].strip() == rows[4].strip() == "Why is the total wrong?"
    assert rows[3].split() == ["2d", "1h", "30m", "2", rows[3].split()[4], f"{size:.0f}", "sound", "older"]
    assert rows[5].split() == ["4d", "0", "0", "0", "sound", "undated"]
    assert len(rows) == 6
    assert max(map(len, rows)) <= 80


def test_all_projects_are_listed_one_after_the_other() -> None:
    """`--all` puts the name of each project before its sessions."""
    said_at(log_of("first"), 3)
    said_at(log_of("third"), 1)
    said_at(log_of("second", "../other"), 2)
    rows = run("list", "--all").output.splitlines()[1:]
    names = [row.split()[-1] for row in rows if not row.startswith("     ")]
    here, other = (log_of("x", place).parents[2].name for place in (".", "../other"))
    assert names == [here, "third", "first", other, "second"]


def test_the_newest_and_those_since() -> None:
    """-n and --since choose by last messages; files that are older are not even read."""
    for hours in (1, 30, 80):
        written(said_at(log_of(f"h{hours}"), hours), hours_ago=hours)
    written(said_at(log_of("touched"), 90), hours_ago=0)
    assert list(listed("-n", "2")) == ["h1", "h30"]
    assert list(listed("-n", "9")) == ["h1", "h30", "h80", "touched"]
    assert list(listed("--since", "2d")) == ["h1", "h30"]
    assert list(listed("--since", "1w", "-n", "1")) == ["h1"]
    day = (datetime.now() - timedelta(hours=81)).isoformat()
    assert list(listed("--since", day)) == ["h1", "h30", "h80"]
    of_yesterday = set(listed("--since", "yesterday"))
    assert "h1" in of_yesterday
    assert "h80" not in of_yesterday
    for wrong in ("someday", "3x", "", "99999999999d"):
        run("list", "--since", wrong, code=2)
    assert run("list", "--since", "1m").output == "no session matches\n"


def test_those_that_say_something() -> None:
    """--grep searches what messages say, in any case; PATTERN is plain text."""
    said_at(log_of("one"), 1, texts=["The Total (net)."])
    said_at(log_of("two"), 2, texts=["Refunds."])
    assert list(listed("--grep", "total (")) == ["one"]
    assert list(listed("--grep", "refund")) == ["two"]
    assert re.search(
        r"^     \d{4}-\d\d-\d\d \d\d:\d\d  Refunds\.$", run("list", "--grep", "refund").output, re.MULTILINE
    )
    assert listed("--grep", "nothing like it") == {}


def test_more_of_each_session() -> None:
    """--long adds the cost, when it began, how long it took, the model, and failed calls."""
    call = {"id": "a", "tool": "bash", "arguments": {}}
    paid = {"model": "claude-sonnet-4-5", "usage": {"input_tokens": 500_000, "output_tokens": 0}}
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [call], "metadata": paid},
        {"role": "tool", "tool_call_id": "a", "content": "Error: no"},
    ]
    write(log_of("s1"), messages)
    assert run("list", "--long").output.splitlines()[-2:] == [
        "     began 2026-01-05 09:00, 0.0 s, claude-sonnet-4-5, 1 failed call",
        "     resuming costs $1.50, the cache is cold (500,000 tokens)",
    ]
    session = listed("--long")["s1"]
    assert (session["model"], session["failed_calls"], session["duration_s"]) == ("claude-sonnet-4-5", 1, 0.0)
    assert session["cost"] == 1.5
    assert listed("--sort", "cost")["s1"]["cost"] == 1.5
    assert not {"cost", "failed_calls", "is_cost_estimated"} & set(listed()["s1"])  # null would mean unknown
    fork_session(log_of("s1"), path=log_of("forked"))  # what it copied counts in its origin, but `--failed` chooses it
    failed = {name: one["failed_calls"] for name, one in listed("--long", "--failed").items()}
    assert failed == {"s1": 1, "forked": 1}
    head, row, *_ = run("list", "--long", "--name", "s1").output.splitlines()
    assert ("COST" in head, "1.50  " in row) == (True, True)


@proof
@posix
def test_a_terminal_gets_short_ids_and_cut_titles() -> None:
    """An id is as long as it must be to name the session; a long title is marked where it is cut."""
    ids = [
        "5f2c3a10-aaaa-4bbb-8ccc-0123456789ab",
        "5f2c3a10-aaab-4bbb-8ccc-0123456789ab",
        "77777777-1111-4bbb-8ccc-01234567",
    ]
    for session_id in ids:
        said_at(log_of(session_id), 1, texts=["word " * 40])
    terminal = Terminal("list", NO_COLOR="1")
    assert terminal.end() == 0
    rows = re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown).splitlines()
    assert max(map(len, rows)) <= 80
    names = [row.split()[-1] for row in rows[1::2]]
    assert sorted(names) == ["5f2c3a10-aaaa", "5f2c3a10-aaab", "77777777"]
    assert all(row.rstrip().endswith("...") for row in rows[2::2])
    for name in names:
        run("show", name)
    piped = run("list").output
    assert all(session_id in piped for session_id in ids)
    assert ("word " * 20).strip() in piped
    assert max(map(len, piped.splitlines())) <= 120


def test_a_subdirectory_says_where_sessions_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest directory above that has some; --last says it, too."""
    write(log_of("s1"))
    below = Path("src/deep").absolute()
    below.mkdir(parents=True)
    here = Path().absolute()
    monkeypatch.chdir(below)
    said = " ".join(run("list").output.split())
    assert said.startswith(f"no sessions in this project; the project {here} above has 1; ")
    assert f"the project {here} above has 1" in " ".join(run("show", "--last", code=2).output.split())


def test_reminders_are_no_human_words() -> None:
    """The line is the first one that a person wrote, blank ones aside."""
    words = ["<system-reminder>x</system-reminder>", " \n\n  asked  \nmore"]
    write(log_of("s1"), [{"role": "user", "content": word} for word in words])
    assert listed()["s1"]["first_line"] == "asked"


def test_the_list_as_json() -> None:
    """One object has for each session what the table shows, in numbers, and more."""
    write(log_of("s1"))
    (session,) = listed().values()
    assert session == {
        "session": "s1",
        "name": "",
        "tags": [],
        "description": "",
        "project": log_of("s1").parents[2].name,
        "path": str(log_of("s1")),
        "modified_s": log_of("s1").stat().st_mtime,
        "messages": 7,
        "hidden": 0,
        "tokens": session["tokens"],
        "tokenizer": "estimate",
        "bytes": log_of("s1").stat().st_size,
        "state": "sound",
        "open": session["open"],
        "archived": False,
        "open_calls": 0,
        "torn_bytes": 0,
        "damage": 0,
        "first_line": "Why is the total wrong?",
        "first_message": stamp_of(log_of("s1")),
        "last_message": stamp_of(log_of("s1")),
        "duration_s": 0.0,
        "model": "",
        "resuming": None,
        "error": "",
    }
    tokens = session["tokens"]
    assert isinstance(tokens, int)
    assert 100 < tokens < 600


@proof(quick=1)
@pytest.mark.parametrize(
    ("state", "written_bytes"),
    [
        ("sound", lambda whole, lines: whole),
        ("interrupted", lambda whole, lines: b"".join(lines[:3])),
        ("interrupted", lambda whole, lines: whole[:-30]),
        ("damaged", lambda whole, lines: whole.replace(b"Be brief", b"Be brisk")),
        ("damaged", lambda whole, lines: whole[:400] + bytes(30) + whole[400:]),
        ("sound", lambda whole, lines: b""),
        ("damaged", lambda whole, lines: os.urandom(5000) + b"\n" + whole),
        ("unreadable", lambda whole, lines: os.urandom(5000) + b"\n"),
    ],
)
def test_a_state_says_what_is_the_matter(state: str, written_bytes) -> None:
    """A call without a result and a torn tail are an interruption; what fails its checksum is damage."""
    whole = write(log_of("s1")).read_bytes()
    log_of("s1").write_bytes(written_bytes(whole, whole.splitlines(keepends=True)))
    assert listed()["s1"]["state"] == state
    assert state in run("list").output


async def test_an_open_session_is_told() -> None:
    """While a session has its log open, and no longer."""
    async with PersistentContextManager(log_of("s1"), session_id="s1") as manager:
        await fill(manager, CONVERSATION[:3])
        told = listed()["s1"]
        if told["open"] is None:
            pytest.skip("this system does not tell which files are open")
        assert (told["open"], told["state"], told["open_calls"]) == (True, "open", 1)
    told = listed()["s1"]
    assert (told["open"], told["state"]) == (False, "interrupted")


def test_what_cannot_be_read_is_listed_as_such() -> None:
    """A directory or a link in a log's place has a row that says why; other sessions are listed all the same."""
    log_of("directory").mkdir(parents=True)
    log_of("link").parent.mkdir(parents=True)
    log_of("link").symlink_to("/dev/null")
    write(log_of("sound"))
    done = run("list")
    assert done.output.count("unreadable") == 2
    assert "symbolic link" in done.output
    assert listed()["directory"]["state"] == "unreadable"
    assert listed()["sound"]["state"] == "sound"


def test_without_sessions_it_says_where_to_look() -> None:
    """Nothing is wrong then."""
    assert run("list").output == (
        "no sessions in this project; `context-persistent list --all` shows those of others\n"
    )
    assert run("list", "--all").output == "no sessions\n"
    assert json.loads(run("list", "--json").output) == {"sessions": []}


def test_a_directory_of_logs(tmp_path: Path) -> None:
    """Its own log, those of its subdirectories, and files that begin with a header or a message; no other JSON."""
    store = tmp_path / "store"
    write(store / "sub" / "context-messages.jsonl")
    write(store / "context-messages.jsonl")
    write(store / "transcript.jsonl")
    (store / "named.jsonl").write_text('{"_record":"header","version":1}\n')
    (store / "plain.jsonl").write_text('{"role": "user", "content": "hello"}\n')
    (store / "other.jsonl").write_text('{"event": "role"}\n')
    (store / "text.jsonl").write_text('"role user"\n')
    (store / "empty").mkdir()
    (store / "empty.jsonl").touch()
    os.mkfifo(store / "fifo.jsonl")
    assert set(listed(str(store))) == {"sub", "store", "named", "transcript", "plain"}
    said_at(tmp_path / "more" / "old" / "context-messages.jsonl", 20_000)
    said_at(store / "sub" / "context-messages.jsonl", 20_001)
    assert [*listed(str(store), str(tmp_path / "more"))][-3:] == ["old", "sub", "plain"]
    run("list", tmp_path / "nobody", code=2)
    run("list", store / "transcript.jsonl", code=2)
    run("list", store, "--all", code=2)


def test_a_directory_names_the_logs_that_cannot_be_read(tmp_path: Path) -> None:
    """A log whose beginning is damaged, one of nothing but NULs, links that lead nowhere: each has its row and why."""
    store = tmp_path / "store"
    whole = write(store / "damaged.jsonl").read_bytes()
    (store / "damaged.jsonl").write_bytes(b"\xff" + whole[1:])
    (store / "nothing.jsonl").write_bytes(b"\0" * 500)
    (store / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (store / "round").symlink_to("round")
    found = listed(str(store))
    states = {name: session["state"] for name, session in found.items()}
    assert states == {"damaged": "damaged", "nothing": "unreadable", "gone": "unreadable", "round": "unreadable"}
    assert all(found[name]["error"] for name in ("nothing", "gone", "round"))


@pytest.mark.parametrize("env", [TERMINAL, {"COLUMNS": "80"}])
def test_hostile_names_and_words_are_shown_as_text(env: dict[str, str]) -> None:
    """Neither an id nor what was said reaches a terminal or a pipe raw; in a terminal no row is wider than it."""
    hostile = "\x1b[31m[bold]\x9b5n\u202e\x07 合計" * 3
    write(log_of("s\x1b]8;;x\x07" + "long" * 30), [{"role": "user", "content": hostile * 10}])
    done = run("list", env=env)
    assert is_harmless(done.output)
    assert "[bold]" in done.output
    widest = max(cell_len(row) for row in re.sub(r"\x1b\[[0-9;]*m", "", done.output).splitlines())
    assert widest <= 80 if env is TERMINAL else widest > 80


def test_a_long_log_is_not_held_in_memory_nor_counted_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long log a sample is counted, and the estimate is near the count of everything."""
    from amplifier_module_context_persistent.catalogue import take_glance

    messages = [{"role": "user", "content": f"question {n} " + "word and number 12 " * (n % 40)} for n in range(1000)]
    write(log_of("s1"), messages)
    estimate = listed()["s1"]["tokens"]
    monkeypatch.setattr(take_glance, "SAMPLES", 10_000)
    write(log_of("s2"), messages)
    exact = listed()["s2"]["tokens"]
    assert isinstance(estimate, int)
    assert isinstance(exact, int)
    assert estimate != exact
    assert abs(estimate / exact - 1) < 0.05


def test_without_sqlite_everything_but_costs_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs are sums that SQLite adds up; which sessions there are needs none."""
    said_at(log_of("newer"), 5, 3)
    expected = listed()
    monkeypatch.setattr(catalogue_file, "sqlite3", None)
    assert listed() == expected
    done = run("list", "-l")
    assert "newer" in done.stdout
    assert "no costs: Python was built without SQLite" in done.stderr


def test_a_place_of_another_kit_is_listed_with_its_projects(tmp_path: Path) -> None:
    """Adapters keep `PROJECT/sessions/ID`; an id is shown so that it names the session below the directory."""
    place = tmp_path / "place"
    for name in ("agent-framework/sessions/a", "conversations/sessions/b"):
        write(place / name / "context-messages.jsonl", CONVERSATION)
    assert set(listed(str(place))) == {"agent-framework/sessions/a", "conversations/sessions/b"}
    assert set(listed(str(place / "conversations"))) == {"sessions/b"}
    assert (
        "no session to delete" in run("prune", str(place), "--everything", "--yes").output
    )  # only what is in it is deleted


def test_a_url_is_no_directory() -> None:
    """Of sessions, of reports and of exports: it is refused, and nothing of a password is shown."""
    for command in (["list"], ["prune", "--everything"], ["reports"], ["import"], ["export", "--all", "-o"], ["show"]):
        done = run(*command, "mysql://u:secret@h/db", code=2)
        assert "secret" not in done.output, command
        assert "nothing can be kept at mysql://" in done.output
    assert not Path("mysql:").exists()


def test_a_list_that_is_sorted_begins_with_the_largest() -> None:
    """However old it is."""
    said_at(log_of("small"), 1)
    said_at(log_of("large"), 5, 4, 3)
    said_at(log_of("middle"), 7, 6)
    assert list(listed("--sort", "messages")) == ["large", "middle", "small"]
    assert list(listed("--sort", "messages", "-n", "1")) == ["large"]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0s"),
        (41.7, "41s"),
        (310, "5m 10s"),
        (7_200, "2h"),
        (86_399, "23h 59m"),
        (147_600, "1d 17h"),
        (120 * 86_400 + 3_600, "120d 1h"),
        (364 * 86_400 + 82_800, "364d"),
        (366 * 86_400, "1y 1d"),
    ],
)
def test_a_length_of_time_has_two_units_if_both_fit(seconds: float, told: str) -> None:
    assert time_taken(seconds) == told


@pytest.mark.parametrize(
    ("number", "told"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (99_949, "99.9k"), (100_000, "100k"), (1_500_000, "1.5M"), (2e9, "2000M")],
)
def test_a_number_has_at_most_four_digits(number: float, told: str) -> None:
    assert scaled(number, "kM") == told


def test_the_order_of_turns_and_of_what_resuming_costs() -> None:
    """The largest first; with the number of turns in a column and in JSON."""
    said_at(log_of("two"), 3, 2)
    said_at(log_of("three"), 9, 8, 7)
    said_at(log_of("one"), 1)
    assert [(name, one["turns"]) for name, one in listed("--sort", "turns").items()] == [
        ("three", 3),
        ("two", 2),
        ("one", 1),
    ]
    assert "turns" not in listed()["one"]
    rows = run("list", "--sort", "turns").output.splitlines()
    assert rows[0].split()[2] == "TURNS"
    usage = {"input_tokens": 100_000, "output_tokens": 1}
    paid = {"model": "claude-opus-4-5-20251101", "provider": "anthropic", "usage": usage}
    write(log_of("dear"), [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "", "metadata": paid}])
    assert next(iter(listed("--sort", "resume"))) == "dear"
    assert next(iter(listed())) == "one"


def test_the_column_of_the_order_stays_in_a_narrow_terminal() -> None:
    said_at(log_of("one"), 43, 2)
    for width in (60, 80):
        env = {"COLUMNS": str(width), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
        rows = without_colours(run("list", "--sort", "took", env=env).output).splitlines()
        assert "TOOK" in rows[0]
        assert "1d 17h" in rows[1]
        assert max(map(len, rows)) <= width


def test_a_name_in_the_place_of_a_directory_gets_a_hint() -> None:
    write(log_of("one"))
    said = run("list", "one", "--since", "3d", code=2).stderr
    assert "`context-persistent show one`" in said
    assert "`context-persistent list --name one`" in said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--model", "nosuch"], "no session has the model nosuch; there are m-1"),
        (["--tool", "nosuch"], "no session has the tool nosuch; there are read_file"),
        (["--tag", "nosuch"], "no session has the tag nosuch; there are kept"),
        (["--not-tag", "nosuch"], "no session has the tag nosuch; there are kept"),
    ],
)
@pytest.mark.parametrize("command", ["list", "stats"])
def test_a_value_that_no_session_has_is_named(command: str, arguments: list[str], told: str) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1}
    answer = {**CONVERSATION[2], "metadata": {"model": "m-1", "usage": usage}}
    write(log_of("one"), [CONVERSATION[1], answer, CONVERSATION[3]])
    run("tag", "one", "kept")
    assert told in run(command, *arguments).stderr


def test_a_project_that_has_no_sessions_is_an_error() -> None:
    """By name; it names those that are like it. A directory may be new."""
    said_at(log_of("one", "/home/robin/kitchen"), 1)
    assert (
        "no project kitch has sessions; like it: -home-robin-kitchen"
        in run("list", "--project", "kitch", code=2).output
    )
    assert run("list", "--project", "kitchen", "--name", "other").output == "no session matches\n"
    assert run("list", "--project", ".").exit_code == 0


def test_a_model_is_listed_as_the_answer_names_it(home: Path) -> None:
    """Letter by letter: a filter, a price and a person look it up by that name."""
    write(log_of("one"), [{"role": "assistant", "content": "So.", "metadata": {"model": "Qwen/Qwen3-Coder"}}])
    [told] = json.loads(run("list", "--all", "--json").stdout)["sessions"]
    assert told["model"] == "Qwen/Qwen3-Coder"
