"""Results of reading a file that an edit changed which the view leaves out."""

from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.stale_reads import FileUses, replace_stale_reads
from tests.support.drafts import check_total, draft_of

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
    assert not replace_stale_reads(made, FileUses.of(made))  # both are shown
    made.drop(1)
    assert replace_stale_reads(made, FileUses.of(made))
    assert made.cuts["m0b"].instead == "[out of date: src/a.py changed since by 1 edit; read it again]"
    assert "m2b" not in made.cuts
    check_total(made)


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
    made.drop(1)
    assert not replace_stale_reads(made, FileUses.of(made))
    assert made.cuts == {}


def test_a_pinned_read_keeps_its_edit() -> None:
    """Both stay."""
    made = draft_of(history(pinned=True), 100)
    made.drop(1)
    assert replace_stale_reads(made, FileUses.of(made))
    assert made.kept == [True, True, True]
    assert made.cuts == {}
