"""What is inserted into a view: markers of gaps, the notice, and the room that they share."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.markers import (
    SHARE,
    with_left_out,
    write_inserted,
)
from amplifier_module_context_persistent.compaction.plan_request import ViewSoFar
from amplifier_module_context_persistent.compaction.told_files import MOST_FILES, files_text
from amplifier_module_context_persistent.messages.elide import Cut
from amplifier_module_context_persistent.view.plan import Gap, LeftOut, Making, Notice, Plan
from tests.support.commands import shows
from tests.support.drafts import draft_of, history, request_of
from tests.support.messages import Message
from tests.support.sweeps import proof, whole
from tests.support.windows import Desk

TARGET = 4_000
FILES = tuple(f"src/package/module_{number}.py" for number in range(6))
GAPS = tuple(Gap(f"m{n}", "", 12, "", (("Read a.py", 2), ("bash", 3)), f"m{n}") for n in range(5))
GONE = Plan("p1", "m4", (), left_out=LeftOut(60, (), GAPS, changed=FILES, in_vain=("make all",)), making=Making(step=3))


def written(
    cuts: Sequence[Cut] = (), *, gone: Plan = GONE, inserts: bool = True, target: int = TARGET, **given: Any
) -> Plan:
    """What is inserted in a view of five gaps with these cuts."""
    made = draft_of(history("u:9 t:9 u:9"), target, **given)
    gone = replace(gone, cuts={f"c{number}": cut for number, cut in enumerate(cuts)})
    return write_inserted(made, gone, {}, inserts=inserts)


def markers(found: Plan) -> list[str]:
    return [gap.text for gap in found.left_out.gaps or ()]


def reading(paths: Sequence[str]) -> list[Message]:
    """A person's message, a read of each file, and a person's message."""
    messages: list[Message] = [{"role": "user", "content": "go on"}]
    for number, path in enumerate(paths):
        call = {"id": f"c{number}", "tool": "read_file", "arguments": {"file_path": path}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "name": "read_file", "content": "text\n" * 90})
    messages.append({"role": "user", "content": "and now?"})
    return [{**message, "metadata": {"message_id": f"m{number}"}} for number, message in enumerate(messages)]


def without(messages: Sequence[Message], dropped: Sequence[int], **given: Any) -> Plan:
    """What is told of a view without the groups at these positions."""
    made = draft_of(messages, 10_000, **given)
    for position in dropped:
        made.leave_out(position)
    gone = with_left_out(made, replace(GONE, left_out=replace(GONE.left_out, gaps=(), changed=(), in_vain=())))
    return write_inserted(made, gone, {}, inserts=True)


def test_a_marker_says_how_many_what_they_did_and_how_to_have_them_back() -> None:
    """The tools that were called most, and the reference of the first message if there is the tool for it."""
    work = reading(["src/a.py", "lib/b.py", "src/a.py"])
    said = "[6 messages left out: you called read_file x3"
    found = without(work, [1, 2, 3])
    assert markers(found) == [f"{said}; recall m1]"]
    assert found.left_out.read == ("lib/b.py", "src/a.py")
    assert markers(without(work, [1, 2, 3], recall=False)) == [f"{said}]"]


def test_a_marker_counts_what_was_said() -> None:
    """People's messages and answers come before the calls, which a marker in a user's message names as the model's."""
    work = history("u:9 u:9 t:9 a:9 u:9 t:9 t:9 u:9")
    (first,) = without(work, [1, 2, 3, 4, 5, 6]).left_out.gaps or ()
    assert first.text == "[9 messages left out: 2 user messages, 1 answer, you called bash x3; recall m1]"
    (after_result,) = without(work, [3, 4]).left_out.gaps or ()
    assert (after_result.after, after_result.text) == (
        "m2",
        "[2 messages left out: 1 user message, 1 answer; recall m3]",
    )


def test_a_brief_marker_counts_every_call() -> None:
    """The two tools that were called most are named, and the calls of all others are counted."""
    many = Gap("m9", "", 60, "", (("Bash", 20), ("Read", 12), ("Edit a.py", 5), ("Edit b.py", 4), ("Glob", 1)), "m3")
    found = written([Cut(100, 100)] * 20, gone=replace(GONE, left_out=replace(GONE.left_out, gaps=(many,))))
    assert markers(found) == ["[60 messages left out: Bash x20, Read x12, other calls x10; recall m3]"]


def test_a_marker_ends_the_result_before_it_or_is_a_message() -> None:
    """After a result it is its last line; after a person's word it is a message before the next kept one."""
    work = reading(["a.py", "b.py", "c.py"])
    assert [(gap.before, gap.after) for gap in without(work, [2]).left_out.gaps or ()] == [("m5", "m2")]
    assert [(gap.before, gap.after) for gap in without(work, [1, 2]).left_out.gaps or ()] == [("m5", "")]


def test_where_markers_take_too_much_names_of_files_go_first() -> None:
    """Those of the oldest gaps; how many messages are missing, the first of them and what was done each gap says."""
    wide, narrow = (
        markers(written()),
        markers(written(gone=replace(GONE, left_out=replace(GONE.left_out, messages=0)), target=1_600)),
    )
    assert wide == [f"[12 messages left out: you called bash x3, Read a.py x2; recall m{n}]" for n in range(5)]
    assert narrow[0] == "[12 messages left out: bash x3, Read x2; recall m0]"
    assert narrow[-1].startswith("[12 messages left out: you called bash x3, Read a.py")
    assert sum(len(text) // 3 + 4 for text in narrow) <= SHARE * 1_600


def test_a_marker_names_every_call_and_the_files_that_were_changed() -> None:
    """However many tools and files there were, the numbers add up, and the reference is that of the first message."""
    did = [
        ("Read", 20),
        ("Bash", 9),
        *((f"Edit part_{n}.py", 2) for n in range(6)),
        ("Glob", 3),
        ("Grep", 2),
        ("Ls", 1),
    ]
    gap = Gap("m0", "", 12, "", tuple(did), "m0")
    (text,) = markers(written(gone=replace(GONE, left_out=replace(GONE.left_out, gaps=(gap,)))))
    assert text == (
        "[12 messages left out: you called Read x20, Edit part_0.py, part_1.py, part_2.py and 3 more x12, Bash x9, "
        "Glob x3, other calls x3; recall m0]"
    )


def test_a_marker_that_grows_before_an_older_gap_names_the_first_message() -> None:
    """Not the first of the part that was missing already."""
    work = reading(["a.py", "b.py", "c.py", "d.py"])
    old = Gap("m5", "m2", 2, "[2 messages left out]", (("read_file b.py", 1),), "m3")
    previous = Plan("p0", "m6", tuple(f"m{number}" for number in (0, 1, 2, 5, 6)), left_out=LeftOut(gaps=(old,)))
    entries = [entry for entry in request_of(work, 100).entries if entry.id not in ("m3", "m4")]
    (grown,) = without(work, [1], entries=entries, so_far=ViewSoFar(previous)).left_out.gaps or ()
    assert (grown.messages, grown.reference) == (4, "m1")


def test_an_unchanged_gap_keeps_its_text() -> None:
    """As the plan before had it, though there would be room for other words now; one that grew says what both did."""
    work = reading(["a.py", "b.py", "c.py", "d.py"])
    old = Gap("m5", "m2", 2, "[2 messages left out, as was said before]", (("read_file b.py", 1),), "m3")
    previous = Plan("p0", "m6", tuple(f"m{number}" for number in (0, 1, 2, 5, 6)), left_out=LeftOut(gaps=(old,)))
    entries = [entry for entry in request_of(work, 100).entries if entry.id not in ("m3", "m4")]
    (same,) = without(work, [], entries=entries, so_far=ViewSoFar(previous)).left_out.gaps or ()
    assert same is old
    (grown,) = without(work, [2], entries=entries, so_far=ViewSoFar(previous)).left_out.gaps or ()
    assert grown.text == "[4 messages left out: read_file b.py x2; recall m3]"


def test_a_gap_right_after_the_newest_persons_message_is_marked_behind_it() -> None:
    """No message of its own may stand there, and the person's is not altered: the next results tell of it."""
    work = [*reading(["a.py", "b.py"])[:-1], {"role": "assistant", "content": "done"}]
    work[-1]["metadata"] = {"message_id": "m5"}
    found = without(work, [1])
    (gap,) = found.left_out.gaps or ()
    assert (gap.before, gap.after, gap.messages) == ("m3", "m4", 2)
    assert gap.text == "[2 messages left out before this call: read_file; recall m1]"
    assert found.cuts["m4"].then.startswith(gap.text)
    assert "60 earlier messages" in found.cuts["m4"].then


def test_a_gap_between_the_newest_persons_message_and_a_text_is_marked_between_them() -> None:
    """A user's message right after the person's begins no other turn than that one did."""
    work = [*reading(["a.py", "b.py"])[:-1], {"role": "assistant", "content": "done"}]
    work[-1]["metadata"] = {"message_id": "m5"}
    found = without(work, [1, 2])
    marker = "[4 messages left out: you called read_file x2; recall m1]"
    assert [(gap.before, gap.after, gap.text) for gap in found.left_out.gaps or ()] == [("m5", "", marker)]
    assert found.notice.before == "m5"
    assert found.notice.text.startswith(f"{marker}\n<system-reminder>\n60 earlier messages")


def test_a_gap_between_two_texts_of_the_newest_turn_has_no_marker() -> None:
    """It counts, and the notice stands before that turn."""
    work = [*reading(["a.py", "b.py"])[:-1], {"role": "assistant", "content": "done"}]
    work[1:3] = [{"role": "assistant", "content": "I look."}]
    for at, message in enumerate(work):
        message["metadata"] = {"message_id": f"m{at}"}
    found = without(work, [2])
    assert [(gap.messages, gap.text) for gap in found.left_out.gaps or ()] == [(2, "")]
    assert found.notice.before == "m0"


def test_all_is_said_where_there_is_room() -> None:
    """What is missing, what was done in it, and which files, as a system reminder at the last gap."""
    found = written()
    assert found.notice.before == "m4"
    assert found.notice.text.startswith(f"{markers(found)[-1]}\n<system-reminder>\n60 earlier messages are left out")
    assert found.notice.text.endswith("</system-reminder>")
    shows(found.notice.text, "in 5 places", "Commands that failed in them: make all.")
    assert FILES[0] in found.notice.text


def test_names_of_files_go_where_the_markers_of_cuts_take_the_room() -> None:
    """How much is missing where, what was done, how it is had and what was tried in vain is said in any case."""
    found = written([Cut(100, 100)] * 20)
    assert markers(found) == [f"[12 messages left out: bash x3, Read x2; recall m{n}]" for n in range(5)]
    assert FILES[0] not in found.notice.text
    shows(found.notice.text, "60 earlier messages are left out", "20 long texts are shortened", "make all")


def test_brief_cuts_leave_more_room() -> None:
    """What says less is charged less, and a text that is shown whole costs nothing."""
    assert FILES[0] in written([Cut(270, 0, brief=True)] * 7).notice.text
    assert FILES[0] not in written([Cut(270, 0)] * 7).notice.text
    assert written([Cut((1 << 31) - 1, 0)] * 50).notice.text == written([]).notice.text


def test_what_is_not_wanted_is_not_said() -> None:
    """Neither markers, nor notice, nor summary."""
    previous = Plan("p0", "m0", (), notice=Notice("<summary>\nso far\n</summary>"))
    assert written(so_far=ViewSoFar(previous)).notice.text.startswith("<summary>\nso far\n</summary>\n\n[12 messages")
    nothing = written(so_far=ViewSoFar(previous), inserts=False)
    assert markers(nothing) == [""] * 5
    assert nothing.notice.text == ""


def test_without_recall_it_names_no_tool() -> None:
    """Nobody is sent to what is not there."""
    text = written(recall=False).notice.text
    assert "recall" not in text
    assert "session's log" in text


@proof(quick=1)
@pytest.mark.parametrize("config", [{"recall": False}, {"max_tokens": 4_000}], ids=["not wanted", "too small a budget"])
def test_without_recall_no_cut_text_names_it(config: dict[str, Any]) -> None:
    """Results, answers and people's messages that are cut say how much is missing; stored plans keep it so."""
    desk = Desk(**config)
    for number in range(40 if whole() else 15):
        log = "".join(f"{number}{line} INFO worker_{line} took {line * 7} ms\n" for line in range(90))
        call = {"id": f"c{number}", "tool": "bash", "arguments": {"command": f"make part_{number}"}}
        desk.add(
            {"role": "user", "content": f"Say why part_{number} fails, and keep this in mind. " * 40},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": log},
            {"role": "assistant", "content": f"Part_{number} lacks a header of library_{number}. " * 60},
        )
        view = desk.ask(4_000).view
    desk.store()
    shown = "\n".join(str(message["content"]) for message in view or ())
    assert "characters left out]" in shown
    assert "characters elided …]" in shown
    assert "recall" not in shown
    assert desk.ask(4_000, desk.new_window()).view == view


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"compaction_notice_enabled": False}, False),
        ({"compaction_notice_min_level": 4}, False),
        ({"compaction_notice_min_level": 3}, True),
        ({"gone": replace(GONE, left_out=replace(GONE.left_out, messages=0))}, False),
    ],
)
def test_where_the_notice_says_nothing(given: dict[str, Any], expected: bool) -> None:
    """Turned off, at a lower step than wanted, or where nothing was left out."""
    assert ("system-reminder" in written(**given).notice.text) is expected


def test_it_is_as_long_as_configured_or_as_the_budget_allows() -> None:
    """A small budget gets the shortest one, a smaller one none."""
    gone = replace(GONE, left_out=replace(GONE.left_out, gaps=()))
    lengths = [
        len(written(gone=gone, target=50_000, compaction_notice_verbosity=one).notice.text)
        for one in ("minimal", "normal", "verbose")
    ]
    assert lengths == sorted(set(lengths))
    assert "step 3 to fit 100,000 tokens" in written(target=50_000, compaction_notice_verbosity="verbose").notice.text
    short = written(gone=gone, target=1_000).notice.text
    assert short
    assert "recall" not in short
    assert written(gone=gone, target=100).notice.text == ""
    assert written(gone=gone, compaction_notice_token_reserve=0).notice.text == ""


HOME = "/home/someone/projects/shop"


def test_it_names_the_newest_and_says_how_many_more_there_are() -> None:
    """Of each kind."""
    paths = [f"{n}.py" for n in range(MOST_FILES + 3)]
    assert (
        files_text(paths, ["b.md"])
        == f" Files changed in them: {', '.join(paths[3:])} and 3 more. Files read in them: b.md."
    )
    assert files_text([], []) == ""


def test_a_directory_that_they_share_is_named_once() -> None:
    """What is not below it keeps its whole path."""
    paths = [f"{HOME}/src/{name}.py" for name in ("cart", "order", "price", "stock")]
    assert files_text(paths[:3], [paths[3], "/etc/hosts"]) == (
        " Files changed in them: cart.py, order.py, price.py. Files read in them: stock.py, /etc/hosts."
        f" Relative paths are below {HOME}/src."
    )


def test_no_directory_is_named_where_relative_paths_may_be_below_another_one() -> None:
    """The session may have worked in any."""
    paths = [f"{HOME}/src/{n}.py" for n in range(4)]
    assert (
        files_text(paths, ["docs/a.md"])
        == f" Files changed in them: {', '.join(paths)}. Files read in them: docs/a.md."
    )


def test_a_file_that_is_named_in_two_ways_is_told_once() -> None:
    """By its absolute path; but a name alone may be that of another file."""
    path = f"{HOME}/src/cart.py"
    assert files_text(["src/cart.py", path], []) == f" Files changed in them: {path}."
    assert files_text(["src/cart.py"], [path]) == " Files changed in them: src/cart.py."
    assert files_text([path], ["src/cart.py"]) == f" Files changed in them: {path}."
    others = [f"{HOME}/{number}.py" for number in range(20)]
    assert "src/cart.py" in files_text([path, *others, "src/cart.py"], [])  # it was changed last, by its other name
    assert files_text([path], ["cart.py"]) == f" Files changed in them: {path}. Files read in them: cart.py."


parts = st.lists(st.sampled_from(("home", "shop", "src", "a", "b")), min_size=1, max_size=5).map("/".join)
files = st.lists(st.builds("{}{}.py".format, st.sampled_from(("/", "/", "/", "")), parts), max_size=20)


@given(files, files)
def test_every_name_stands_for_a_file_and_no_file_is_told_twice(changed: list[str], read: list[str]) -> None:
    """Put together again with the directory, whatever the paths are; and those that are told are the newest."""
    text = files_text(changed, read)
    said, _, directory = text.partition(" Relative paths are below ")
    told: list[str] = []
    for sentence in said.split(" Files ")[1:]:
        names = sentence.partition(": ")[2].removesuffix(".").partition(" and ")[0]
        told += names.split(", ")
    if directory:
        told = [name if name.startswith("/") else f"{directory.removesuffix('.')}/{name}" for name in told]
        assert all(path.startswith("/") for path in told)
    assert len(told) == len(set(told))
    assert set(told) <= {*changed, *read}
    if changed:
        assert any(path == changed[-1] or path.endswith(f"/{changed[-1]}") for path in told)
