"""Results of reading a file that an edit changed which the view leaves out."""

from dataclasses import replace
from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.plan_request import ViewSoFar
from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.compaction.stale_reads import replace_stale_reads
from amplifier_module_context_persistent.messages.elide import WHOLE, Cut
from amplifier_module_context_persistent.view.plan import Plan
from tests.support.drafts import check_total, draft_of, request_of

LINE = "[src/a.py changed since; read it again]"
TEXT = "    1\tfirst_line = compute()\n    2\tsecond_line = compute()"


def group(number: int, tool: str, arguments: dict[str, Any], result: str, **metadata: Any) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "tool": tool, "arguments": arguments}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call], "metadata": {"message_id": f"m{number}a"}},
        {
            "role": "tool",
            "tool_call_id": f"c{number}",
            "content": result,
            "metadata": {"message_id": f"m{number}b", **metadata},
        },
    ]


def history(old: str = "first_line = compute()", *, result: str = "edited", **metadata: Any) -> list[dict[str, Any]]:
    edit = {"file_path": "/w/src/a.py", "old_string": old, "new_string": "first_line = 1"}
    return [
        *group(0, "read_file", {"file_path": "src/a.py"}, TEXT, **metadata),
        *group(1, "edit_file", edit, result),
        *group(2, "read_file", {"file_path": "src/a.py"}, TEXT.replace("compute()", "1", 1)),
    ]


def test_a_read_is_out_of_date_where_its_edit_is_left_out() -> None:
    """It says so; what was read after the edit stays."""
    made = draft_of(history(), 100)
    replace_stale_reads(made)
    assert made.cuts == {}  # both are shown
    made.leave_out(1)
    replace_stale_reads(made)
    assert made.cuts["m0b"].instead == "[out of date: src/a.py changed since by 1 edit; read it again]"
    assert "m2b" not in made.cuts
    check_total(made)


def test_a_read_that_is_taken_in_again_is_out_of_date_too() -> None:
    """Where a plan has room left, what was left out comes back, and is judged by the edits that do not."""
    long = "\n" + "plain words only here\n" * 100
    edit = {"file_path": "src/a.py", "old_string": "first_line = compute()", "new_string": "first_line = 1"}
    messages = [
        {"role": "user", "content": "go", "metadata": {"message_id": "u0"}},
        *group(0, "read_file", {"file_path": "src/a.py"}, TEXT + long),
        *group(1, "read_file", {"file_path": "src/a.py"}, TEXT),
        *group(2, "edit_file", edit, "edited" + long),
        *group(3, "edit_file", edit, "edited"),
        {"role": "assistant", "content": "done", "metadata": {"message_id": "a4"}},
        {"role": "user", "content": "more", "metadata": {"message_id": "u5"}},
    ]
    made = compact(request_of(messages, 300, protected_tool_results=0, compaction_notice_enabled=False)).plan
    assert made.keep == ("u0", "m1a", "m1b", "m3a", "m3b", "a4", "u5")
    assert made.cuts["m1b"].instead == "[out of date: src/a.py changed since by 2 edits; read it again]"


@pytest.mark.parametrize(
    ("old", "result"),
    [
        ("third_line = compute()", "edited"),  # which the result does not show
        ("first_line = compute()", "Error: the text was not found"),
    ],
)
def test_a_read_that_is_true_stays(old: str, result: str) -> None:
    """Also where another part of the file was changed, or nothing."""
    made = draft_of(history(old, result=result), 100)
    made.leave_out(1)
    assert replace_stale_reads(made) == {}
    assert made.cuts == {}


def test_a_pinned_read_keeps_its_edit() -> None:
    """Both stay."""
    made = draft_of(history(pinned=True), 100)
    made.leave_out(1)
    replace_stale_reads(made)
    assert (made.kept, made.cuts) == ([True, True, True], {})


PUT_IN = "first_line = compute()\nput_in_later = 3\nsecond_line = compute()"
INSERTS = [
    {"old_string": "first_line = compute()\nsecond_line = compute()", "new_string": PUT_IN},
    {"edits": [{"old_string": "first_line = compute()", "new_string": "first_line = compute()\nput_in_later = 3"}]},
    {"insert_line": 1, "new_str": "put_in_later = 3"},
    {"patch": "@@ -1,2 +1,3 @@\n first_line = compute()\n+put_in_later = 3\n second_line = compute()"},
    {"content": PUT_IN},
]


@pytest.mark.parametrize("edit", INSERTS)
@pytest.mark.parametrize("pinned", [{}, {"pinned": True}])
def test_a_read_says_that_its_file_changed_since_where_lines_were_put_in(
    edit: dict[str, Any], pinned: dict[str, Any]
) -> None:
    """All that it shows is still there, so it stays, with a line after it; where the edit is shown there is none."""
    read = group(0, "read_file", {"file_path": "src/a.py"}, TEXT, **pinned)
    made = draft_of([*read, *group(1, "edit_file", {"file_path": "/w/src/a.py", **edit}, "edited")], 100)
    made.fixed = frozenset()
    assert replace_stale_reads(made) == {}
    made.leave_out(1)
    assert replace_stale_reads(made) == {"m0b": LINE}
    assert made.cuts == {}


@pytest.mark.parametrize(
    "edit",
    [
        {"old_string": "third_line = compute()", "new_string": "third_line = compute()\nput_in_later = 3"},
        {"old_string": "third_line = compute()", "new_string": "put_in_later = 3"},
        {"content": "first_line = compute()\nsecond_line = compute()\n"},
    ],
)
def test_a_read_of_another_part_of_the_file_does_not(edit: dict[str, Any]) -> None:
    """Nor where nothing was put in."""
    read = group(0, "read_file", {"file_path": "src/a.py"}, TEXT)
    made = draft_of([*read, *group(1, "edit_file", {"file_path": "/w/src/a.py", **edit}, "edited")], 100)
    made.leave_out(1)
    assert replace_stale_reads(made) == {}


def test_the_line_stays_with_later_plans_while_the_read_shows_anything() -> None:
    """They no longer see the edit that was left out."""
    cuts = {"m0b": replace(WHOLE, then=f"{LINE}\n[2 messages left out]")}
    read = group(0, "read_file", {"file_path": "src/a.py"}, TEXT)
    made = draft_of(read, 100, so_far=ViewSoFar(Plan("p0", "m0b", ("m0a", "m0b"), cuts)))
    assert replace_stale_reads(made) == {"m0b": LINE}
    made.cuts["m0b"] = Cut(0, 0)
    assert replace_stale_reads(made) == {}
