"""What is inserted into a view: markers of gaps, the notice, and the room that they share."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.insertions import Gone, Inserted, what_is_gone, write_inserted
from amplifier_module_context_persistent.compaction.plan_request import PlanRequest
from amplifier_module_context_persistent.messages.elide import Cut
from amplifier_module_context_persistent.view.plan import Gap, Plan
from tests.support.drafts import history, request_of
from tests.support.messages import Message

TARGET = 4_000
FILES = tuple(f"src/package/module_{number}.py" for number in range(6))
GAPS = tuple(Gap(f"m{n}", "", 12, "", (("Read a.py", 2), ("bash", 3)), f"m{n}") for n in range(5))
GONE = Gone(GAPS, changed=FILES, in_vain=("make all",))


def written(
    cuts: Sequence[Cut] = (),
    *,
    gone: Gone = GONE,
    inserts: bool = True,
    target: int = TARGET,
    room: int = 1_000,
    dropped: int = 60,
    step: int = 3,
    request: PlanRequest | None = None,
    **config: Any,
) -> Inserted:
    """What is inserted in a view of five gaps with these cuts."""
    return write_inserted(
        request or request_of(history("u:9 t:9 u:9"), 2 * target, **config),
        gone,
        cuts,
        target_tokens=target,
        room_tokens=room,
        dropped=dropped,
        step=step,
        inserts=inserts,
    )


def markers(found: Inserted) -> list[str]:
    return [gap.text for gap in found.gaps]


def reading(paths: Sequence[str]) -> list[Message]:
    """A person's message, a read of each file, and a person's message."""
    messages: list[Message] = [{"role": "user", "content": "go on"}]
    for number, path in enumerate(paths):
        call = {"id": f"c{number}", "tool": "read_file", "arguments": {"file_path": path}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "name": "read_file", "content": "text\n" * 90})
    messages.append({"role": "user", "content": "and now?"})
    return [{**message, "metadata": {"message_id": f"m{number}"}} for number, message in enumerate(messages)]


def without(messages: Sequence[Message], dropped: Sequence[int], **given: Any) -> tuple[Gone, Inserted]:
    """What is told of a view without the groups at these positions."""
    request = request_of(messages, 20_000, **given)
    made = request.draft()
    for position in dropped:
        made.drop(position)
    gone = what_is_gone(made, request, {})
    return gone, written(gone=gone, request=request)


def test_a_marker_says_how_many_what_they_did_and_how_to_have_them_back() -> None:
    """Files by their last name, what was done most first, and a reference only where there is the tool for it."""
    work = reading(["src/a.py", "lib/b.py", "src/a.py"])
    said = "[6 messages left out: read_file a.py x2, read_file b.py"
    gone, found = without(work, [1, 2, 3])
    assert markers(found) == [f"{said}; recall m1]"]
    assert gone.read == ("lib/b.py", "src/a.py")
    assert markers(without(work, [1, 2, 3], recall=False)[1]) == [f"{said}]"]


def test_a_marker_ends_the_result_before_it_or_is_a_message() -> None:
    """After a result it is its last line; after a person's word it is a message before the next kept one."""
    work = reading(["a.py", "b.py", "c.py"])
    assert [(gap.before, gap.after) for gap in without(work, [2])[0].gaps] == [("m5", "m2")]
    assert [(gap.before, gap.after) for gap in without(work, [1, 2])[0].gaps] == [("m5", "")]


def test_where_markers_take_too_much_names_go_first() -> None:
    """Those of the oldest gaps; how many messages are missing is said of each gap whatever it costs."""
    wide, narrow = markers(written()), markers(written(room=80))
    assert wide == [f"[12 messages left out: Read a.py x2, bash x3; recall m{n}]" for n in range(5)]
    assert narrow[0] == "[12 messages left out]"
    assert narrow[-1].startswith("[12 messages left out: Read a.py")
    assert sum(len(text) // 3 + 4 for text in narrow) <= 80


def test_an_unchanged_gap_keeps_its_text() -> None:
    """As the plan before had it, though there would be room for other words now; one that grew says what both did."""
    work = reading(["a.py", "b.py", "c.py", "d.py"])
    old = Gap("m5", "m2", 2, "[2 messages left out, as was said before]", (("read_file b.py", 1),), "m3")
    previous = Plan("p0", "m6", tuple(f"m{number}" for number in (0, 1, 2, 5, 6)), gaps=(old,))
    entries = [entry for entry in request_of(work, 100).entries if entry.id not in ("m3", "m4")]
    (same,) = without(work, [], entries=entries, previous=previous)[1].gaps
    assert same is old
    (grown,) = without(work, [2], entries=entries, previous=previous)[1].gaps
    assert grown.text == "[4 messages left out: read_file b.py, read_file c.py; recall m3]"


def test_a_gap_right_after_the_newest_persons_message_has_no_marker() -> None:
    """A message of its own would begin a new turn there; it counts, and the notice stands before that turn."""
    work = [*reading(["a.py", "b.py"])[:-1], {"role": "assistant", "content": "done"}]
    work[-1]["metadata"] = {"message_id": "m5"}
    gone, found = without(work, [1])
    assert [(gap.messages, gap.text) for gap in found.gaps] == [(2, "")]
    assert gone.unmarkable == {"m3"}
    assert found.before == "m0"
    assert "60 earlier messages" in found.notice


def test_all_is_said_where_there_is_room() -> None:
    """What is missing, what was done in it, and which files, as a system reminder at the last gap."""
    found = written()
    assert found.before == "m4"
    assert found.notice.startswith(f"{markers(found)[-1]}\n<system-reminder>\n60 earlier messages are left out")
    assert found.notice.endswith("</system-reminder>")
    assert "in 5 places" in found.notice
    assert "Commands that failed in them: make all." in found.notice
    assert FILES[0] in found.notice


def test_names_go_where_the_markers_of_cuts_take_the_room() -> None:
    """How much is missing where, how it is had and what was tried in vain is said in any case."""
    found = written([Cut(100, 100)] * 20)
    assert markers(found) == ["[12 messages left out]"] * 5
    assert FILES[0] not in found.notice
    assert "60 earlier messages are left out" in found.notice
    assert "20 long texts are shortened" in found.notice
    assert "make all" in found.notice


def test_brief_cuts_leave_more_room() -> None:
    """What says less is charged less, and a text that is shown whole costs nothing."""
    assert FILES[0] in written([Cut(270, 0, brief=True)] * 8).notice
    assert FILES[0] not in written([Cut(270, 0)] * 8).notice
    assert written([Cut((1 << 31) - 1, 0)] * 50) == written([])


def test_what_is_not_wanted_is_not_said() -> None:
    """Neither markers, nor notice, nor summary."""
    previous = Plan("p0", "m0", (), notice="<summary>\nso far\n</summary>")
    request = replace(request_of(history("u:9 t:9 u:9"), 2 * TARGET), previous=previous)
    assert written(request=request).notice.startswith("<summary>\nso far\n</summary>\n\n[12 messages")
    nothing = written(request=request, inserts=False)
    assert markers(nothing) == [""] * 5
    assert nothing.notice == ""


def test_without_recall_it_names_no_tool() -> None:
    """Nobody is sent to what is not there."""
    text = written(recall=False).notice
    assert "recall" not in text
    assert "session's log" in text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"compaction_notice_enabled": False}, False),
        ({"compaction_notice_min_level": 4}, False),
        ({"compaction_notice_min_level": 3}, True),
        ({"dropped": 0}, False),
    ],
)
def test_where_the_notice_says_nothing(given: dict[str, Any], expected: bool) -> None:
    """Turned off, at a lower step than wanted, or where nothing was left out."""
    assert ("system-reminder" in written(**given).notice) is expected


def test_it_is_as_long_as_configured_or_as_the_budget_allows() -> None:
    """A small budget gets the shortest one, a smaller one none."""
    gone = replace(GONE, gaps=())
    lengths = [
        len(written(gone=gone, target=50_000, compaction_notice_verbosity=one).notice)
        for one in ("minimal", "normal", "verbose")
    ]
    assert lengths == sorted(set(lengths))
    assert "step 3 to fit 100,000 tokens" in written(target=50_000, compaction_notice_verbosity="verbose").notice
    short = written(gone=gone, target=1_000).notice
    assert short
    assert "recall" not in short
    assert written(gone=gone, target=100).notice == ""
    assert written(gone=gone, compaction_notice_token_reserve=0).notice == ""
