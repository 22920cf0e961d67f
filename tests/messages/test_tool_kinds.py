"""Tools recognised by their names and arguments, however they are written."""

from typing import Any

import pytest

from amplifier_module_context_persistent.config.checks import TOOL_KINDS
from amplifier_module_context_persistent.messages.tool_kinds import (
    KINDS,
    Replaced,
    ToolKinds,
    replaced_by,
    same_file,
)

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


def lines(gone: str = "", put: str = "", around: str = "") -> Replaced:
    return Replaced(frozenset(gone.split()), put=frozenset(put.split()), around=frozenset(around.split()))


REPLACED: list[tuple[dict[str, Any], Replaced]] = [
    ({"old_string": "a\n  b\nc", "new_string": "a\nd\nc"}, lines("b", "d", "a c")),
    ({"oldText": "a", "newText": "a\nb"}, lines("", "b", "a")),  # what is only put in takes nothing out
    ({"edits": [{"old": "a", "new": "b"}, {"old": "c", "new": "c"}]}, lines("a", "b", "c")),
    ({"patch": "*** Update File: a\n@@\n-old\n+new\n same"}, lines("old", "new", "same")),
    ({"content": "one\ntwo"}, Replaced(new=frozenset({"one", "two"}))),
    ({"insert_text": "x", "insert_line": 3}, lines("", "x")),
    ({"what": 1}, Replaced(unknown=True)),
]


@pytest.mark.parametrize(("arguments", "replaced"), REPLACED)
def test_what_a_change_takes_out_and_puts_in(arguments: dict[str, Any], replaced: Replaced) -> None:
    """The lines that are gone after it, those that are new and those beside them; or all that it writes."""
    assert replaced_by(arguments) == replaced


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("a.py", "a.py", True), ("/w/src/a.py", "src/a.py", True), ("ra.py", "a.py", False), ("x/a.py", "y/a.py", False)],
)
def test_two_paths_of_one_file(one: str, other: str, same: bool) -> None:
    """One may be given in full and the other from a directory."""
    assert same_file(one, other) is same
