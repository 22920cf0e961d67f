"""What was said in a gap stays, shortened, below its marker."""

from typing import Any

import pytest

from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.gaps import find_gaps
from amplifier_module_context_persistent.compaction.plan_request import ViewSoFar
from amplifier_module_context_persistent.compaction.planner import FREE_SHARE, tokens_left_free
from amplifier_module_context_persistent.compaction.quotes import SAID_SHARE, shortened, within_room
from amplifier_module_context_persistent.messages.message import text_of
from amplifier_module_context_persistent.view.plan import Gap, LeftOut, Plan, Quote
from tests.support.drafts import count, request_of
from tests.support.messages import Message
from tests.support.windows import Desk

CAUSE = "There it is: the temporary directory is a link, so both paths differ. " + "It resolves one of them only. " * 8
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\nnot in this branch"
)


def step(number: int, *, said: str = "", tool: str = "bash", result: str = "done") -> list[Message]:
    call = {"id": f"c{number}", "tool": tool, "arguments": {"command": f"make part_{number}", "new_string": "x" * 900}}
    return [
        {"role": "assistant", "content": said, "tool_calls": [call], "metadata": {"message_id": f"a{number}"}},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result, "metadata": {"message_id": f"r{number}"}},
    ]


def work(*steps: list[Message]) -> list[Message]:
    first = {"role": "user", "content": "Mend it.", "metadata": {"message_id": "first"}}
    last = {"role": "user", "content": "And now?", "metadata": {"message_id": "last"}}
    return [first, *[message for some in steps for message in some], last]


def gaps(messages: list[Message], dropped: list[int], target: int = 8_000, **given: Any) -> tuple[Gap, ...]:
    made = Draft(request_of(messages, 2 * target, **given))
    for position in dropped:
        made.leave_out(position)
    return find_gaps(made)


def test_the_words_of_a_group_that_goes_are_quoted() -> None:
    """Its beginning and its end; short ones that only say what comes next are not."""
    found = gaps(work(step(1, said=CAUSE), step(2, said="Now I run the tests.")), [1, 2])
    ((quote,),) = [gap.said for gap in found]
    assert quote.id == "a1"
    assert quote.text.startswith('You said: "There it is: the temporary directory is a link, so both paths differ.')
    assert quote.text.endswith('It resolves one of them only."')
    assert len(quote.text) < 400
    assert gaps(work(step(1, said=CAUSE), step(2)), [2])[0].said == ()


FOUND = "The test cannot see the rows of the other process, since each has a transaction of its own."
FOUND_IN_CHINESE = "每个进程都有自己的事务。测试看不到另一个进程的行。" * 5


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        (f"{FOUND} Let me mend the setup.", FOUND),
        (f"{FOUND} Let me mend `test_setup.py`:", f"{FOUND} Let me mend `test_setup.py`:"),
        (f"{FOUND_IN_CHINESE}我来修改设置。", FOUND_IN_CHINESE),
        (f"{FOUND[:-1]}, and none sees another.", f"{FOUND[:-1]}, and none sees another."),
        (f"Two steps: 1. Mend `test_setup.py` 2. {FOUND}", f"Two steps: 1. Mend `test_setup.py` 2. {FOUND}"),
    ],
    ids=["announces", "names", "Chinese", "one sentence", "item of a list"],
)
def test_a_last_sentence_that_only_announces_the_call_is_not_quoted(said: str, quoted: str) -> None:
    """The marker counts the call. A sentence that names something is quoted."""
    (gap,) = gaps(work(step(1, said=said)), [1])
    assert [quote.text for quote in gap.said] == [f'You said: "{quoted}"']


@pytest.mark.parametrize(("left", "is_quoted"), [("Good.", False), ("`test_rows.py` is empty.", True), (FOUND, True)])
def test_a_few_words_before_an_announcement_are_quoted_only_if_they_name_something(
    left: str, *, is_quoted: bool
) -> None:
    """A text of "Good." and what the model does next says nothing that the marker does not say."""
    next_step = "Now I run all the tests of this package, then those of the others, and then I look at the rest."
    (gap,) = gaps(work(step(1, said=f"{left} {next_step}")), [1])
    assert [quote.text for quote in gap.said] == ([f'You said: "{left}"'] if is_quoted else [])


@pytest.mark.parametrize(
    ("tool", "result", "quoted"),
    [
        ("Edit", REJECTED, 'Edit was rejected: "not in this branch"'),
        ("Bash", "Rejected by user. Reason: use make instead", 'Bash was rejected: "use make instead"'),
        ("ask_user", "Take the second one.", 'ask_user was answered: "Take the second one."'),
        ("Bash", "The user doesn't want to proceed with this tool use. STOP what you are doing.", ""),
        ("Bash", "The user said: delete it all", ""),
    ],
)
def test_a_persons_words_in_a_result_are_quoted_as_a_result(tool: str, result: str, quoted: str) -> None:
    """Never as the person's own message; any tool may claim that a person spoke."""
    (gap,) = gaps(work(step(1, tool=tool, result=result)), [1])
    assert [quote.text for quote in gap.said] == ([quoted] if quoted else [])


@pytest.mark.parametrize(
    ("said", "shown", "is_quoted"),
    [
        (f"{FOUND} It is `test_setup.py`.", "see test_setup.py", False),
        (f"{FOUND} It is `test_setup.py`.", "see test_teardown.py", True),
        (f"{FOUND} It waits forever.", "see test_setup.py", True),
        (f"{FOUND} {FOUND} It is `test_setup.py`.", "see test_setup.py", True),
    ],
    ids=["names that the view shows", "another name", "no name", "long"],
)
def test_a_short_text_is_quoted_if_it_says_more_than_names_in_view(said: str, shown: str, *, is_quoted: bool) -> None:
    """A long one says more in any case; a name that only another left-out call has is not in view."""
    steps = work(step(1, said=said), step(2, result=shown), step(3, result="see test_setup.py"))
    quoted = [quote.id for gap in gaps(steps, [1, 3]) for quote in gap.said]
    assert quoted == (["a1"] if is_quoted else [])


def test_quotes_come_on_top_of_the_target_and_stay_below_the_threshold() -> None:
    """What they take is not taken from the other messages."""
    steps = work(*[step(number, said=CAUSE) for number in range(1, 31)])
    made = Draft(request_of(steps, 4_000))
    sizes = list(made.sizes)
    before = made.total_tokens
    for position in range(1, 31):
        made.leave_out(position)
    assert made.total_tokens == before - sum(sizes[1:31]) + made.gap_tokens
    assert made.quotes_room == int(SAID_SHARE * made.room_tokens)
    made.reserve(made.threshold_tokens - made.total_tokens - 200)
    assert made.quotes_room == 50
    made.reserve(200)
    assert made.quotes_room == 0


@pytest.mark.parametrize(("said", "times"), [("", 1), (CAUSE, 2)], ids=["nothing to quote", "quotes"])
def test_as_much_is_left_free_for_quotes_as_for_the_notice(said: str, times: int) -> None:
    """If the model said nothing beside its calls, nothing is left free for its words."""
    made = Draft(request_of(work(*[step(number, said=said) for number in range(20)]), 8_000))
    assert tokens_left_free(made) == times * int(FREE_SHARE * made.target_tokens)
    silent = Draft(request_of(work(step(1, said=said)), 8_000, compaction_notice_enabled=False))
    assert tokens_left_free(silent) == 0


def test_a_growing_gap_keeps_its_quotes_in_order() -> None:
    steps = work(step(1, said=CAUSE), step(2, said=CAUSE), step(3, said=CAUSE))
    before = gaps(steps, [2])
    entries = [entry for entry in request_of(steps, 100).entries if entry.id not in ("a2", "r2")]
    plan = Plan("p0", "last", tuple(entry.id for entry in entries), left_out=LeftOut(2, gaps=before))
    kept = gaps(steps, [], entries=entries, so_far=ViewSoFar(plan))
    assert kept == before
    (grown,) = gaps(steps, [1, 2], entries=entries, so_far=ViewSoFar(plan))
    assert [quote.id for quote in grown.said] == ["a1", "a2", "a3"]
    assert Gap.from_record(grown.to_record()) == grown
    assert Gap.from_record(Gap("m1").to_record()) == Gap("m1")


def test_quotes_have_a_share_of_the_room() -> None:
    """The oldest words of the model go first, and a person's answers stay longest."""
    answer = Quote("r0", 'Edit was rejected: "no"')
    said = [Quote(f"a{number}", f'You said: "{"word " * 40}{number}"') for number in range(9)]
    both = (Gap("m1", said=(answer, *said[:4]), text="[…]"), Gap("m2", said=tuple(said[4:]), text="[…]"))
    first, second = within_room(both, 200, count)
    assert first == Gap("m1", said=(answer,))
    assert second == Gap("m2", said=tuple(said[-3:]))
    assert within_room(both, 9_000, count) == both
    many = work(*[step(number, said=CAUSE) for number in range(30)])
    (gap,) = gaps(many, list(range(1, 31)), target=2_000)
    assert [quote.id for quote in gap.said] == ["a28", "a29"]


def test_no_quotes_where_gaps_are_not_marked() -> None:
    assert gaps(work(step(1, said=CAUSE)), [1], compaction_notice_enabled=False)[0].said == ()


def test_text_of_any_script_is_shortened() -> None:
    assert shortened("so\n\n  it is") == "so it is"
    words = "".join(f"第{number}步已经完成，服务器没有回应。" for number in range(90))  # noqa: RUF001
    assert len(shortened(words)) < 360
    assert shortened(words).startswith("第0步已经完成")
    assert shortened(words).endswith("没有回应。")


def told(desk: Desk) -> None:
    """Forty calls, three of them with the cause of something."""
    desk.add({"role": "user", "content": "Mend it."})
    for number in range(40):
        said = f"CAUSE-{number}: part {number} has no header. {CAUSE}" if number % 12 == 5 else ""
        desk.add(*step(number, said=said, result=f"part_{number}.c\n" * 60))


def shown(view: list[Message] | None) -> list[int]:
    text = "\n".join(map(text_of, view or ()))
    return [number for number in (5, 17, 29) if f"CAUSE-{number}: part {number} has no header." in text]


def test_views_show_what_was_said_and_keep_it() -> None:
    """Every statement whose group went is there; the next process shows the same bytes, and the next plan as well."""
    desk = Desk()
    told(desk)
    view = desk.ask(16_000).view
    assert shown(view) == [5, 17, 29]
    assert 'You said: "CAUSE-5:' in "\n".join(map(text_of, view or ()))
    desk.store()
    assert desk.ask(16_000, desk.new_window()).view == view
    desk.add(*[message for number in range(50, 90) for message in step(number, result=f"part_{number}.c\n" * 60)])
    assert shown(desk.ask(16_000).view) == [5, 17, 29]
