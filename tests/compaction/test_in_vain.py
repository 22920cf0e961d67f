"""Commands that failed in what a view leaves out."""

from typing import Any

from amplifier_module_context_persistent.compaction.in_vain import tried_in_vain
from tests.support.drafts import draft_of


def ran(number: int, command: str, result: str) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "tool": "bash", "arguments": {"command": command}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call], "metadata": {"message_id": f"m{number}a"}},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result, "metadata": {"message_id": f"m{number}b"}},
    ]


MESSAGES = [
    *ran(0, "make all", "make: *** Error 1"),
    *ran(1, "cd /home/u/src && make LIBS=-lwrong", "make: *** Error 1"),
    *ran(2, "make all", "built"),
    *ran(3, "make check", "FAILED: two tests"),
]


def test_what_failed_and_is_left_out_is_told() -> None:
    """Not what succeeded later, nor what the view still shows; without the directory that it went to."""
    made = draft_of(MESSAGES, 100)
    for position in (0, 1, 2):
        made.drop(position)
    assert tried_in_vain(made, ["older"]) == ("older", "make LIBS=-lwrong")
    made.drop(3)
    assert tried_in_vain(made, ["make LIBS=-lwrong"]) == ("make LIBS=-lwrong", "make check")


def test_a_long_command_ends_with_a_word() -> None:
    """Its first line, and no more of it than is worth a line."""
    made = draft_of(ran(0, "pytest " + "tests/some_file.py " * 20 + "\nmore", "error: no such test"), 100)
    made.drop(0)
    (line,) = tried_in_vain(made, [])
    assert line.endswith("tests/some_file.py …")
    assert len(line) < 90


def test_a_search_that_finds_nothing_was_not_in_vain() -> None:
    """It answered, as a comparison does that finds a difference; one that could not be made failed."""
    made = draft_of(
        [
            *ran(0, "grep -rn name src", "Command exited with code 1"),
            *ran(1, "cd /w && diff a b", "2c2\n< one\n---\n> two\n\nexit code: 1"),
            *ran(2, "grep name gone.py", "grep: gone.py: No such file or directory\nexit code 2"),
            *ran(3, "make all", "exit code 1"),
            *ran(4, "rg name lib", "lib: No such file or directory (os error 2)\nexit code 2"),
            *ran(5, "rg name lib", "exit code 1"),
            *ran(6, "cmp a b", "exit code 1"),
            *ran(7, "cmp a b", "cmp: b: No such file or directory\nexit code 2"),
        ],
        100,
    )
    for position in range(8):
        made.drop(position)
    assert tried_in_vain(made, []) == ("grep name gone.py", "make all", "cmp a b")
