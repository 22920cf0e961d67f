"""Tools recognised by their names and arguments, however they are written."""

from __future__ import annotations

from typing import Any

import pytest

from amplifier_module_context_persistent.config.checks import TOOL_KINDS
from amplifier_module_context_persistent.messages.outcome import (
    ANSWERED,
    FAILED,
    REJECTED,
    answers_with_1,
    asking_calls,
    outcome_of,
)
from amplifier_module_context_persistent.messages.tool_kinds import (
    KINDS,
    ReplacedLines,
    ToolKinds,
    replaced_by,
    same_file,
)
from tests.support.growth import assert_grows_with_the_text

CALLS: list[tuple[str, dict[str, Any], str, tuple[str, ...]]] = [
    ("Read", {"file_path": "/w/a.py"}, "read", ("/w/a.py",)),
    ("read_file", {"path": "./a.py"}, "read", ("a.py",)),
    ("mcp__files__read_file", {"path": "a.py"}, "read", ("a.py",)),
    ("edit", {"path": "a.py", "oldText": "x", "newText": "y"}, "change", ("a.py",)),
    ("MultiEdit", {"file_path": "a.py", "edits": []}, "change", ("a.py",)),
    ("write_file", {"filename": "b.md", "content": ""}, "change", ("b.md",)),
    ("apply_patch", {"input": "*** Begin Patch\n*** Update File: c.py\n-x\n+y"}, "change", ("c.py",)),
    ("str_replace_editor", {"command": "view", "path": "d.py"}, "read", ("d.py",)),
    ("str_replace_based_edit_tool", {"command": "str_replace", "path": "d.py"}, "change", ("d.py",)),
    ("TodoWrite", {"todos": []}, "todo", ()),
    ("update_plan", {"plan": []}, "todo", ()),
    ("run_shell_command", {"command": "ls"}, "run", ()),
    ("Glob", {"pattern": "*"}, "other", ()),
    ("look", {"target": "e.py", "path": "f.py"}, "read", ("e.py",)),
    ("Grep", {"path": "src"}, "run", ()),
]


@pytest.mark.parametrize(("tool", "arguments", "kind", "paths"), CALLS)
def test_a_call_is_recognised(tool: str, arguments: dict[str, Any], kind: str, paths: tuple[str, ...]) -> None:
    """By its name in any spelling, by what is configured first of all, and the file by its argument."""
    kinds = ToolKinds({"look": "read:target", "grep": "run"})
    message = {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "tool": tool, "arguments": arguments}]}
    (use,) = kinds.uses_of(message)
    assert (use.kind, use.name, use.paths) == (kind, tool, paths)


def test_the_configuration_allows_every_kind() -> None:
    """It cannot import them."""
    assert KINDS == TOOL_KINDS


def lines(gone: str = "", put: str = "", around: str = "") -> ReplacedLines:
    return ReplacedLines(frozenset(gone.split()), put=frozenset(put.split()), around=frozenset(around.split()))


REPLACED: list[tuple[dict[str, Any], ReplacedLines]] = [
    ({"old_string": "a\n  b\nc", "new_string": "a\nd\nc"}, lines("b", "d", "a c")),
    ({"oldText": "a", "newText": "a\nb"}, lines("", "b", "a")),  # what is only put in takes nothing out
    ({"edits": [{"old": "a", "new": "b"}, {"old": "c", "new": "c"}]}, lines("a", "b", "c")),
    ({"patch": "*** Update File: a\n@@\n-old\n+new\n same"}, lines("old", "new", "same")),
    ({"content": "one\ntwo"}, ReplacedLines(new=frozenset({"one", "two"}))),
    ({"insert_text": "x", "insert_line": 3}, lines("", "x")),
    ({"what": 1}, ReplacedLines(unknown=True)),
]


@pytest.mark.parametrize(("arguments", "replaced"), REPLACED)
def test_what_a_change_takes_out_and_puts_in(arguments: dict[str, Any], replaced: ReplacedLines) -> None:
    """The lines that are gone after it, those that are new and those beside them; or all that it writes."""
    assert replaced_by(arguments) == replaced


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("a.py", "a.py", True), ("/w/src/a.py", "src/a.py", True), ("ra.py", "a.py", False), ("x/a.py", "y/a.py", False)],
)
def test_two_paths_of_one_file(one: str, other: str, same: bool) -> None:
    """One may be given in full and the other from a directory."""
    assert same_file(one, other) is same


def result(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c1", "content": content, **more}


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        (result("12 passed"), ANSWERED),
        (result(""), ANSWERED),
        (result("3 errors were found in the log, which says: Error: x"), ANSWERED),
        (result("Error: no such file"), FAILED),
        (result("An error occurred while running the tool. Please try again."), FAILED),  # the OpenAI Agents SDK's
        (result("An error message is drawn in red"), ANSWERED),
        (result("<error>no such file</error>"), FAILED),
        (result("Traceback (most recent call last):\n  File ..."), FAILED),
        (result("FileNotFoundError: a.py"), FAILED),
        (result("some output\n[exit code: 1]"), FAILED),
        (result("some output\nexit code: 0"), ANSWERED),
        (result("...\n==== 1 failed, 0 passed in 44.1s ===="), FAILED),
        (result("...\n2 errors in 0.12s"), FAILED),
        (result("...\n1 failed, 6977 passed, 7 skipped in 618.50s (0:10:18)"), FAILED),
        (result("...\n==== 3 passed in 0.1s ===="), ANSWERED),
        (result("1 failed in 2s, says the log\nand then it went on"), ANSWERED),
        (result("fine", is_error=True), FAILED),
        (result("fine", metadata={"is_error": True}), FAILED),
        (result([{"type": "text", "text": "fine", "is_error": True}]), FAILED),
        (result({"success": False}), FAILED),
        (result('{"returncode": 2, "stdout": ""}'), FAILED),
        (result('{"returncode": 0, "stderr": "warning"}'), ANSWERED),
        (result('{"returncode": true}'), ANSWERED),
        (result('{"output": "boom", "metadata": {"exit_code": 2, "duration_seconds": 0.1}}'), FAILED),  # Codex's
        (result('{"output": "fine", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}'), ANSWERED),
        (result("Process exited with code 2\nOutput:\nboom"), FAILED),
        (result("Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nboom"), FAILED),
        (result("Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nerror"), ANSWERED),
        (result("The file a.py has been updated. raise ValueError"), ANSWERED),
        (result("def error_handler(self): pass"), ANSWERED),
        (result("Output: built\nError: (none)\nExit Code: 0"), ANSWERED),
        (result("ok\nmake: *** [all] Error 1"), FAILED),
        (result("compiling\nerror: could not compile a.rs\n"), FAILED),
        (result("ok a\n--- FAIL: TestB\nFAIL\n"), FAILED),
        (result("bash: rg: command not found"), FAILED),
        (result("grep: a.py: No such file or directory\n"), FAILED),
        (result("Command failed: error"), FAILED),
        (result("old_string not found in a.py"), FAILED),
        (result("Could not find the text to replace."), FAILED),
        (result("No match for old_string"), FAILED),
        (result("No changes made to a.py"), FAILED),
        (result("No matches found"), ANSWERED),
        (result("The user rejected this call."), REJECTED),
        (result("Permission to use bash has been denied."), REJECTED),
        (result("Denied by hook: no network"), REJECTED),
    ],
)
def test_an_outcome_is_told(message: dict[str, Any], outcome: str) -> None:
    """By flags, by the fields of a JSON object, by fixed words at the beginning or the end; never by the middle."""
    assert outcome_of(message) == outcome


REFUSALS = [
    "The user doesn't want to proceed with this tool use.",
    "User did not approve the command",
    *(f"The user has {done} this call." for done in ("rejected", "denied", "declined", "cancelled", "interrupted")),
    *(f"Denied by {who}: no writes there" for who in ("a hook", "the user", "policy")),
    *(f"Tool use was {done}" for done in ("rejected", "denied", "declined")),
    "Rejected by the user",
    "Permission to use Bash has been denied.",
    "Operation aborted by user",
    "Request interrupted",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_what_a_person_or_a_rule_refused_is_rejected(text: str) -> None:
    """In every wording, also quoted; the same words later in a text are only talked about."""
    assert outcome_of(result(text)) == REJECTED
    assert outcome_of(result(f"<error>`{text}`")) in (REJECTED, FAILED)
    assert outcome_of(result(f"In this log: {text}")) == ANSWERED


def test_hostile_results_are_answered_in_linear_time() -> None:
    """Deep JSON and long runs of brackets are no failure of ours."""
    assert outcome_of(result("{" * 100_000 + "}")) == ANSWERED
    assert outcome_of(result("<" * 1_000_000)) == ANSWERED


ASKING = [
    "grep -rn name src",
    "/usr/bin/grep name a.py",
    "\\grep name a.py",
    "rg name",
    "git grep -n name",
    "git -C /w --no-pager -c core.pager=cat diff --exit-code a b",
    "diff <(sort a) <(sort b)",
    "cmp a b",
    "test -f a.py",
    "[ -f a.py ]",
    "[[ -f a.py && -d src ]]",
    "which rg",
    "command -v rg",
    "pgrep -f 'python -m http.server'",
    "cd /w/src && grep name a.py",
    "make; diff a b",
    "make\n# is it the same?\ndiff a b",
    "ls -la \\\n  | grep name",
    "grep name a.py 2>/dev/null >> out",
    "LC_ALL=C grep name a.py",
    "sudo -u bob timeout -s KILL 10 nice -n 5 rg name",
    "env -i PATH=/bin cmp a b",
    "time -p diff a b",
    "! grep name a.py",
    "find . -name '*.py' | xargs -0 -n 1 grep name",
    "find . -name '*.py' -exec grep name {} +",
    "(cd src; grep name a.py)",
    "{ grep name a.py; }",
    "for f in *.py; do grep name $f; done",
    "bash -lc 'cd src && grep name a.py'",
    "bash -lc cd src && grep name a.py",
    "grep 'a;b && make' a.py",
    'grep "it\'s | here" a.py',
    "grep $(cat name.txt) a.py <<< text",
]
OTHERS = [
    "make",
    "pytest -k grep",
    "echo grep",
    "my-grep name",
    "find . -name a.py",
    "git commit -m 'grep name'",
    "git status",
    "command ls",
    "grep name a.py | head -5",
    "grep name a.py && make",
    "grep name a.py || make",
    "grep name a.py; make",
    "grep name a.py &",
    "grep name <<EOF\nname\nEOF",
    "if grep -q name a.py; then make; fi",
    "timeout 10",
    "grep " + "x" * 5000,
    "",
]


@pytest.mark.parametrize(("command", "asks"), [*((c, True) for c in ASKING), *((c, False) for c in OTHERS)])
def test_the_last_program_of_a_command_says_what_exit_code_1_is(command: str, asks: bool) -> None:
    """A search or a comparison answers with it, whatever it is wrapped in; of everything else it is an error."""
    assert answers_with_1(command) is asks


@pytest.mark.parametrize("part", ["'", '"', "`", "(", "$(", "$(a", "[[ ", "\\", "<", "sh -c ", "sudo ", "find -exec "])
def test_no_command_is_too_odd(part: str) -> None:
    """What is not understood is taken for something, and quickly."""
    for number in (1, 2, 300):
        assert answers_with_1(f"grep {part * number}") in (True, False)
        assert answers_with_1(f"{part * number} grep") in (True, False)


@pytest.mark.parametrize(
    "content",
    [
        "Command exited with code 1",
        "Exit code 1",
        "[exit code: 1]",
        "No matches found\nexit status 1",
        "Output: (empty)\nError: (none)\nExit Code: 1",
        '{"stdout": "", "stderr": "", "returncode": 1}',
        {"stdout": "", "exit_code": 1},
        {"success": False, "output": {"stdout": "", "returncode": 1}},
        '{"success": false, "output": "", "metadata": {"exit_code": 1}}',
        "exit code 123",
        "2c2\n< one\n---\n> two\n\nCommand exited with code 1",
    ],
    ids=str,
)
def test_exit_code_1_answers_a_call_that_asks(content: Any) -> None:
    """It failed where the call asks nothing; with the words of an error beside it, it failed anyway."""
    assert outcome_of(result(content), asks=True) == ANSWERED
    assert outcome_of(result(content)) == FAILED


@pytest.mark.parametrize(
    "content",
    [
        "Exit code 2\ngrep: a.py: is a directory",
        "grep: a.py: No such file or directory\nexit code 1",
        "bash: rg: command not found\nexit code 1",
        "make: exit code: 12",
        '{"returncode": 2}',
        "Error: no such file",
    ],
)
def test_another_exit_code_or_an_error_is_no_answer(content: str) -> None:
    """Whether the call asks or not."""
    assert outcome_of(result(content), asks=True) == FAILED


def test_the_calls_that_ask_are_named() -> None:
    """By their ids, in any form in which calls are written."""
    blocks = [{"type": "tool_use", "id": "b", "name": "bash", "input": {"command": "grep name a.py"}}]
    calls = [
        {"id": "a", "tool": "bash", "arguments": {"command": "make"}},
        {"id": "c", "function": {"name": "shell", "arguments": '{"command": ["diff", "a", "b"]}'}},
    ]
    assert asking_calls({"role": "assistant", "content": blocks, "tool_calls": calls}) == {"b", "c"}
    assert asking_calls({"role": "user", "content": "grep name"}) == frozenset()


def test_a_patch_with_a_long_gap_in_its_file_s_name_is_read_once() -> None:
    """Its time grows with its length."""

    def read(patch: str) -> None:
        call = {"id": "c", "tool": "apply_patch", "arguments": {"patch": patch}}
        ToolKinds().uses_of({"role": "assistant", "content": "", "tool_calls": [call]})

    assert_grows_with_the_text(read, f"*** Update File: a{' ' * 60_000}b")
