"""How a command ended, told from the command and its result."""

from typing import Any

import pytest

from amplifier_module_context_persistent.messages.command_outcome import (
    answers_no,
    answers_with_1,
    asking_calls,
    run_failed,
)


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("Error: no such file or directory", True),
        ("The file a.py has been updated. raise ValueError", False),
        ("ok\nmake: *** [all] Error 1", True),
        ("Exit code 2\nboom", True),
        ("exit code: 0", False),
        ("Output: built\nError: (none)\nExit Code: 0", False),
        ('{"stdout": "", "returncode": 1}', True),
        ("def error_handler(self): pass", False),
        ("Traceback (most recent call last):\n  File", True),
    ],
)
def test_a_failed_command_is_told(text: str, failed: bool) -> None:
    """By what stands at either end of its output."""
    assert run_failed({"role": "tool", "content": text}) == failed


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
    ("content", "is_no"),
    [
        ("Command exited with code 1", True),
        ("Exit code 1", True),
        ("[exit code: 1]", True),
        ("No matches found\nexit status 1", True),
        ("Output: (empty)\nError: (none)\nExit Code: 1", True),
        ('{"stdout": "", "stderr": "", "returncode": 1}', True),
        ({"stdout": "", "exit_code": 1}, True),
        ({"success": False, "output": {"stdout": "", "returncode": 1}}, True),
        ('{"output": "", "metadata": {"exit_code": 1}}', True),
        ("{'stdout': '', 'returncode': 1}", True),
        ("exit code 123", True),
        ("2c2\n< one\n---\n> two\n\nCommand exited with code 1", True),
        ("Exit code 2\ngrep: a.py: is a directory", False),
        ("grep: a.py: No such file or directory\nexit code 1", False),
        ("bash: rg: command not found\nexit code 1", False),
        ("exit code: 0", False),
        ("exit code: 12", False),
        ('{"returncode": true}', False),
        ("{" * 5000 + "}", False),
        ("", False),
        (None, False),
    ],
)
def test_a_result_says_no(content: Any, is_no: bool) -> None:
    """With exit code 1, and nothing of an error beside it."""
    assert answers_no({"role": "tool", "tool_call_id": "c", "content": content}) is is_no


def test_the_calls_that_ask_are_named() -> None:
    """By their ids, in any form in which calls are written."""
    blocks = [{"type": "tool_use", "id": "b", "name": "bash", "input": {"command": "grep name a.py"}}]
    calls = [
        {"id": "a", "tool": "bash", "arguments": {"command": "make"}},
        {"id": "c", "function": {"name": "shell", "arguments": '{"command": ["diff", "a", "b"]}'}},
    ]
    assert asking_calls({"role": "assistant", "content": blocks, "tool_calls": calls}) == {"b", "c"}
    assert asking_calls({"role": "user", "content": "grep name"}) == frozenset()
