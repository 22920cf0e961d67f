"""What is inserted into a view: markers, the notice and names share one room."""

from amplifier_module_context_persistent.compaction.gap_markers import Marked
from amplifier_module_context_persistent.compaction.inserted_text import write_inserted
from amplifier_module_context_persistent.messages.elide import Cut
from amplifier_module_context_persistent.view.plan import Gap
from tests.support.drafts import history, request_of

TARGET = 4_000
FILES = tuple(f"src/package/module_{number}.py" for number in range(6))
GAPS = tuple(Gap(f"m{n}", "", 12, "", (("Read a.py", 2), ("bash", 3)), f"m{n}") for n in range(5))


def written(cuts: list[Cut], *, with_markers: bool = True, with_notice: bool = True) -> tuple[list[str], str]:
    """The markers of five gaps and the notice, in a view with these cuts."""
    request = request_of(history("u:9 t:9 u:9"), 2 * TARGET)
    marked, notice = write_inserted(
        request.draft(),
        request,
        Marked(GAPS, changed=FILES, in_vain=("make all",)),
        cuts,
        step=3,
        dropped=60,
        with_notice=with_notice,
        with_markers=with_markers,
    )
    return [gap.text for gap in marked.gaps], notice


def test_all_is_said_where_there_is_room() -> None:
    """What is missing, what was done in it, and which files."""
    markers, notice = written([])
    assert markers[-1] == "[12 messages left out: Read a.py x2, bash x3; recall m4]"
    assert FILES[0] in notice
    assert "make all" in notice


def test_names_go_where_the_markers_of_cuts_take_the_room() -> None:
    """How much is missing where, how it is had and what was tried in vain is said in any case."""
    markers, notice = written([Cut(100, 100)] * 20)
    assert markers == ["[12 messages left out]"] * 5
    assert FILES[0] not in notice
    assert "60 earlier messages are left out" in notice
    assert "2 long texts" not in notice
    assert "20 long texts are shortened" in notice
    assert "make all" in notice


def test_brief_cuts_leave_more_room() -> None:
    """What says less is charged less, and a text that is shown whole costs nothing."""
    assert FILES[0] in written([Cut(270, 0, brief=True)] * 8)[1]
    assert FILES[0] not in written([Cut(270, 0)] * 8)[1]
    assert written([Cut((1 << 31) - 1, 0)] * 50) == written([])


def test_what_is_not_wanted_is_not_said() -> None:
    """No markers, or no notice."""
    assert written([], with_markers=False)[0] == [""] * 5
    assert written([], with_notice=False)[1] == ""
