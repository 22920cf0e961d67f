"""Filters are the same words with the same meaning in every command that looks at sessions."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click
import pytest

from amplifier_module_context_persistent.sessions.filters import is_of_project
from amplifier_module_context_persistent.toolbox.cli.command_table import TABLE
from amplifier_module_context_persistent.toolbox.cli.erasing import extent
from amplifier_module_context_persistent.toolbox.cli.filter_options import filter_options
from tests.support.commands import refused, run, shows
from tests.support.sessions_of_a_home import CONVERSATION, log_of, write
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("project")

FILTERED = (
    "list",
    "show",
    "search",
    "stats",
    "sql",
    "reports",
    "verify",
    "prune",
    "purge",
    "files",
    "export",
    "du",
    "archive",
    "sync",
)
FILTERS = (
    "--all",
    "--project",
    "--since",
    "--until",
    "--model",
    "--tool",
    "--name",
    "--tag",
    "--not-tag",
    "--untagged",
    "--except",
    "--failed",
    "--number",
)


def option(command: str, name: str) -> click.Option:
    found = [one for one in TABLE[command].load().params if isinstance(one, click.Option) and name in one.opts]
    assert len(found) == 1, (command, name)
    return found[0]


WITHOUT_PLACES = {"sync": "its argument is a place", "prune": "it deletes only what is in DIRECTORY itself"}


@proof(quick=1)
@pytest.mark.parametrize("command", FILTERED)
@pytest.mark.parametrize("name", [*FILTERS, "--in"])
def test_every_command_has_every_filter(command: str, name: str) -> None:
    """With the same help, but where `--tool`, `--since` or `--until` mean single messages; `--in` but for two."""
    if name == "--in" and command in WITHOUT_PLACES:
        assert not any(name in one.opts for one in TABLE[command].load().params)
        return
    one, other = option(command, name), option("list", name)
    assert one.opts == other.opts
    assert one.multiple == (name in ("--tool", "--tag", "--not-tag", "--except", "--in"))
    is_about_messages = command == "search" and name in ("--since", "--until")
    is_about_calls = command in ("show", "search") and name == "--tool"
    assert one.help == other.help or is_about_messages or is_about_calls


@pytest.mark.parametrize("name", FILTERS[1:])
def test_an_import_has_every_filter(name: str) -> None:
    """With the same help; it takes the sessions of all projects as it is."""
    one, other = option("import", name), option("list", name)
    assert (one.opts, one.multiple, one.help) == (other.opts, other.multiple, other.help)


def test_the_filters_are_in_one_place() -> None:
    """What gives a command its filters gives it all of them."""

    @click.command()
    @filter_options()
    def command(**_: object) -> None:
        """Do nothing."""

    assert {name for one in command.params for name in one.opts} == {*FILTERS, "--in", "-n"}


COMMANDS = [name for name in TABLE if name not in ("storage", "mcp")]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_prints_json(command: str) -> None:
    assert option(command, "--json").is_flag


@pytest.mark.parametrize("command", ["delete", "prune", "purge", "rewind", "repair", "archive", "sync"])
def test_what_changes_a_log_can_be_tried_and_confirmed(command: str) -> None:
    assert option(command, "--dry-run").is_flag
    assert option(command, "--yes").is_flag


def test_yes_confirms_and_force_overwrites() -> None:
    """No command has one of them for the other."""
    for name, entry in TABLE.items():
        helps = {opt: one.help for one in entry.load().params if isinstance(one, click.Option) for opt in one.opts}
        assert helps.get("--yes", "Do not ask.") == "Do not ask.", name
        assert "--force" not in helps or "replace" in str(helps["--force"]).lower(), name


def test_options_stand_in_one_order_in_every_help() -> None:
    """Which sessions first, `--json` last."""
    options = ([one for one in entry.load().params if isinstance(one, click.Option)] for entry in TABLE.values())
    orders = [[one.name for one in of_command] for of_command in options]
    first = ["url", "no_catalogue", "last", "everywhere", "places", "project", "since_s", "until_s", "model", "tools"]
    first += ["name", "tags", "without_tags", "untagged", "excepted"]
    for order in orders:
        shared = [name for name in order if name in first]
        assert order[: len(shared)] == shared == [name for name in first if name in shared]
        assert "as_json" not in order[:-1]


@pytest.mark.parametrize(
    ("arguments", "new"),
    [
        (["purge", "--all-sessions", "--redact", "x"], "--all"),
        (["mcp", "--all-projects"], "--all"),
        (["report", "s", "--turns", "1"], "--turn"),
        (["stats", "s", "--turns", "1"], "--top"),
        (["list", "--no-index"], "--no-catalogue"),
        (["compare", "s", "--yes"], "--force"),
        (["list", "--after", "3d"], "--since"),
        (["delete", "s", "--force"], "--yes"),
        (["reports", "-o", "x"], "give DIRECTORY without one"),
        (["show", "--failed-calls"], "--failed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_an_unknown_option_names_the_new_one(arguments: Sequence[str], new: str) -> None:
    said = refused(*arguments)
    assert new in said
    assert f"there is no option {next(one for one in arguments if one.startswith('-'))}" in said


@pytest.mark.parametrize(
    "arguments",
    [["show"], ["nosuch"], ["list", "-n", "0"], ["list", "--since", "x"], ["show", "--turn"], ["copy", "a"], ["prune"]],
    ids=" ".join,
)
def test_a_usage_error_is_one_line(arguments: Sequence[str]) -> None:
    said = run(*arguments, code=2)
    assert said.stdout == ""
    assert said.stderr.startswith("Error: ")
    assert said.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["prune"],
        ["prune", "--all"],
        ["prune", "--all", "--yes"],
        ["prune", "--host-files", "--yes"],
        ["prune", "--except", "one", "--yes"],
        ["prune", "--not-tag", "kept", "--yes"],
        ["purge", "--cleared", "--yes"],
        ["purge", "--torn", "--all", "--yes"],
        ["purge", "--everything", "--all", "--yes"],
        ["purge", "--redact", "total", "--yes"],
        ["purge", "--all", "--yes"],
        ["purge", "one", "--everything", "--since", "1d", "--yes"],
        ["purge", "--before", "x", "--all", "--yes"],
    ],
    ids=" ".join,
)
def test_what_erases_needs_a_session_or_a_filter(arguments: Sequence[str]) -> None:
    """The message says what to give; nothing goes."""
    logs = {name: write(log_of(name)).read_bytes() for name in ("one", "two")}
    shows(refused(*arguments), "--")
    assert {name: log_of(name).read_bytes() for name in logs} == logs


def test_prune_deletes_what_the_filters_choose() -> None:
    """It shows sessions, projects and size before it asks, and the same with --yes."""
    called = [{**CONVERSATION[2], "tool_calls": [{"id": "c", "tool": "bash", "arguments": {}}]}]
    write(log_of("bashed"), [*CONVERSATION[:2], *called])
    write(log_of("other"))
    write(log_of("far", "../other"))
    told = [run("prune", "--tool", "bash", code=2).stdout, run("prune", "--tool", "bash", "--dry-run").stdout]
    assert all("1 session, " in one and "in all (-" in one for one in told)
    assert log_of("bashed").exists()
    done = run("prune", "--tool", "bash", "--yes").stdout
    assert done.splitlines()[:-1] == [line for line in told[1].splitlines() if "Nothing was done" not in line]
    assert not log_of("bashed").exists()
    done = run("prune", "--all", "--everything", "--yes").stdout
    assert "2 sessions of 2 projects, " in done
    assert not log_of("other").exists()
    assert not log_of("far", "../other").exists()


def test_a_purge_takes_the_sessions_that_filters_choose() -> None:
    """And says as JSON what went, and that a copy stays."""
    for name in ("one", "two"):
        write(log_of(name))
    told = json.loads(run("purge", "--redact", "total", "--name", "one", "--yes", "--json", code=1).stdout)
    assert len(told["copies_that_stay"]) == 1
    assert [(one["path"], one["messages_redacted"]) for one in told["purged"]] == [(str(log_of("one")), 2)]
    assert b"total" in log_of("two").read_bytes()
    assert b"the total" not in log_of("one").read_bytes()


def test_several_tools_are_shown() -> None:
    """The second `--tool` does not replace the first."""
    calls = [{"id": name, "tool": name, "arguments": {}} for name in ("bash", "grep", "edit")]
    messages = [{"role": "assistant", "content": "", "tool_calls": [call]} for call in calls]
    write(log_of("one"), messages)
    shown = run("show", "one", "--tool", "bash", "--tool", "EDIT", "--json").output.splitlines()
    assert [json.loads(line)["tools"] for line in shown] == [["bash"], ["edit"]]


def test_verify_takes_filters() -> None:
    for name in ("one", "two"):
        write(log_of(name))
    far = write(log_of("far", "../other"))
    far.write_bytes(far.read_bytes().replace(b"cent", b"dime"))
    assert len(json.loads(run("verify", "--name", "o", "--json").stdout)["logs"]) == 1
    assert len(json.loads(run("verify", "--all", "--json", code=1).stdout)["logs"]) == 3


@pytest.mark.parametrize(
    ("given", "meant"), [("costs", "stats"), ("serach", "search"), ("ls", "list"), ("xyzzy", "--help")]
)
def test_an_unknown_command_names_the_one_that_is_meant(given: str, meant: str) -> None:
    assert f"main {meant}`" in refused(given)  # the name of the function, where no shell runs it


def test_verify_says_that_no_session_matches() -> None:
    write(log_of("one"))
    assert run("verify", "--name", "nobody").stderr == "no session matches\n"


def test_a_prune_until_a_time_warns_of_what_went_on_since() -> None:
    """A session with a message before then is meant, as in `list`; it may not be old."""
    times = ("2026-01-01T09:00:00Z", "2026-02-01T09:00:00Z")
    write(log_of("long"), [{"role": "user", "content": "Go.", "metadata": {"timestamp": time}} for time in times])
    told = run("prune", "--until", "2026-01-15", "--dry-run").stderr
    assert "1 session of these went on after --until" in told
    assert run("prune", "--until", "2026-03-01", "--dry-run").stderr == ""


@pytest.mark.parametrize(
    ("wanted", "is_meant"),
    [("-home-me-my-app", True), ("my-app", True), ("APP", True), ("pp", False), ("y-app", False)],
)
def test_a_project_is_named_by_whole_words_of_its_end(wanted: str, is_meant: bool) -> None:
    assert is_of_project("-home-me-my-app", wanted) is is_meant


@pytest.mark.parametrize(
    ("projects", "told"),
    [
        ([""], "1 session, 4.1kB in all"),
        (["", ""], "2 sessions, 4.1kB in all"),
        (["-work-a"], "1 session, 4.1kB in all (-work-a)"),
        (["-work-a", "-work-a"], "2 sessions, 4.1kB in all (-work-a 2)"),
        (["-work-a", "", "-work-a"], "3 sessions of 2 projects, 4.1kB in all (-work-a 2, no project 1)"),
    ],
)
def test_what_is_erased_is_told_with_its_projects(projects: list[str], told: str) -> None:
    assert extent(projects, 4096) == told


EMPTY = [
    *[(command, option, "") for command in FILTERED for option in ("--project", "--name", "--model", "--tag")],
    ("prune", "--everything", "--not-tag", ""),
    ("prune", "--everything", "--except", ""),
    ("prune", "--tool", ""),
    *[(command, "--storage", "") for command in ("list", "prune", "purge", "delete", "archive", "verify")],
    ("sync", "", "--all"),
    ("backup", ""),
]
"""Options and arguments whose value is an empty text, as from a variable of a script that is not set."""


@pytest.mark.parametrize("arguments", EMPTY, ids=" ".join)
def test_an_empty_text_is_no_value(arguments: tuple[str, ...]) -> None:
    """As a filter it would choose all sessions, and as a place this machine's files or the current directory."""
    write(log_of("kept"))
    assert "this is empty" in refused(*arguments)
    assert log_of("kept").exists()


@pytest.mark.parametrize("url", ["", "mysql://db.example/agents"])
def test_a_demonstration_refuses_a_location_that_is_none(url: str) -> None:
    """As a wrong value of its option."""
    assert "begins with postgresql://" in refused("demo", "--storage", url)


def test_an_empty_variable_is_an_unset_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a shell can switch a database off."""
    write(log_of("kept"))
    monkeypatch.setenv("AMPLIFIER_CONTEXT_STORAGE", "")
    assert "kept" in run("list").output
