"""What a view owes its reader, over any session: room used, gaps marked, nothing stale, people answered."""

import re
from collections import Counter
from itertools import groupby
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.marker_wording import ANSWER, PERSON
from amplifier_module_context_persistent.errors import FloorError
from amplifier_module_context_persistent.messages.message import text_of
from amplifier_module_context_persistent.view.inserted_messages import CONTINUED
from amplifier_module_context_persistent.view.plan import Gap, Plan
from tests.support.counters import count
from tests.support.messages import Message
from tests.support.sweeps import proof
from tests.support.view_properties import examples, goes_on
from tests.support.windows import Desk

WORDS = ("handler", "session", "token", "cursor", "batch", "writer", "index", "parser", "buffer", "segment", "config")
FILES = ("src/alpha_file.py", "src/beta_file.py")

MOST_STEP_WITH_ALL_PEOPLE = 4  # of the ladder: only the steps after it leave people's messages out

steps = st.tuples(st.sampled_from("rrrecuw"), st.integers(0, 1), st.sampled_from((3, 12, 60, 240)), st.integers(1, 3))


def lines_of_file(name: int, version: int, lines: int) -> str:
    return "\n".join(f"{n}\tvalue_{name}_{n} = compute_{name}_{n}_version_{version}()" for n in range(lines))


class Work:
    """A session of reading and editing two files, with people in between."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.messages, self.calls = desk, list[Message](), 0
        self.versions = [0, 0]

    def add(self, message: Message) -> None:
        self.messages.append(message)
        self.desk.add(message)

    def user(self, text: str) -> None:
        self.add({"role": "user", "content": text})

    def say(self, text: str) -> None:
        self.add({"role": "assistant", "content": text})

    def call(self, tool: str, arguments: dict[str, Any], result: str, times: int = 1) -> None:
        calls = []
        for _ in range(times):
            self.calls += 1
            own = {name: value.format(self.calls) for name, value in arguments.items()}
            calls.append({"id": f"c{self.calls}", "tool": tool, "arguments": own})
        self.add({"role": "assistant", "content": "", "tool_calls": calls})
        for call in calls:
            self.add({"role": "tool", "name": tool, "tool_call_id": call["id"], "content": result})

    def step(self, kind: str, file: int, lines: int, times: int) -> None:
        version = self.versions[file]
        if kind == "r":
            self.call("read_file", {"file_path": FILES[file]}, lines_of_file(file, version, lines), times)
        elif kind == "e":
            old, new = (f"compute_{file}_1_version_{v}()" for v in (version, version + 1))
            whole = {n: f"value_{file}_{n} = compute_{file}_{n}_version_" for n in range(3)}
            arguments = {
                "file_path": FILES[file],
                "old_string": "\n".join(f"{line}{version}()" for line in whole.values()),
                "new_string": "\n".join(f"{line}{version + 1}()" for line in whole.values()),
            }
            assert old != new
            self.versions[file] += 1
            self.call("edit_file", arguments, "The file was edited.")
        elif kind == "w":
            self.say(f"A word in between, {len(self.messages)}. " + "I look further. " * (lines // 4))
        elif kind == "c":
            self.call("bash", {"command": f"make {WORDS[lines % 11]}{self.calls}"}, "done\n" * lines)
        else:
            self.say(f"I am done with part {len(self.messages)}. " + "It works now. " * lines)
            self.user(f"Go on with part {len(self.messages)}, please.")


def place_of(message: Message) -> int | None:
    """Which message of the session it is; None for what was put in."""
    given = (message.get("metadata") or {}).get("message_id", "")
    return int(given[1:]) if re.fullmatch(r"m\d+", given) else None


def check_gaps(view: list[Message]) -> int:
    """Every gap is marked, where it is, by how many messages it has; how many gaps there are."""
    before, between, gaps = -1, "", 0
    for message in view:
        place = place_of(message)
        if place is None:
            between += text_of(message)
            continue
        if place > before + 1:
            gaps += 1
            assert f"[{place - before - 1} message" in between, (before, place)
        before, between = place, text_of(message)
    assert place_of(view[-1]) is not None or text_of(view[-1]) == CONTINUED
    humans = [at for at, m in enumerate(view) if place_of(m) is not None and m["role"] == "user"]
    for message in view[humans[-1] + 2 :]:  # a marker would begin a new turn there
        assert place_of(message) is not None or message["role"] != "user" or text_of(message) == CONTINUED
    return gaps


def check_nothing_stale(work: Work, view: list[Message]) -> None:
    """Where lines of an older version are shown, the edit that replaced them is shown too."""
    shown = {call["id"] for m in view for call in m.get("tool_calls") or []}
    text = {place: text_of(m) for m in view if (place := place_of(m)) is not None and m["role"] == "tool"}
    edits = [
        (at, call)
        for at, message in enumerate(work.messages)
        for call in message.get("tool_calls") or []
        if call["tool"] == "edit_file"
    ]
    for at, call in edits:
        old = call["arguments"]["old_string"].split("\n")
        if call["id"] not in shown:
            assert not any(line in said for place, said in text.items() if place < at for line in old), (at, old)


def is_shortest(gap: Gap) -> bool:
    """Whether a marker says only what it says where there is no room: the tools that were called most, and no files."""
    times = Counter[str]()
    for what, number in gap.did:
        if what not in (PERSON, ANSWER):
            times[what.partition(" ")[0]] += number
    named = gap.text.partition(" left out")[2]
    return "_file.py" not in named and all(tool in named for tool, _ in times.most_common(2))


def check_room_is_used(work: Work, plan: Plan, before: set[int]) -> None:
    """Nothing that this plan left out would still fit; `before` are the messages that it was made from.

    But for words in the running turn before a gap: only a result can be marked there.
    """
    if plan.making.tokens_after >= 0.8 * plan.making.target_tokens:
        return
    kept = {int(message_id[1:]) for message_id in plan.keep}
    room = 0.95 * plan.making.target_tokens - plan.making.tokens_after
    newest = max(place for place in before if work.messages[place]["role"] == "user")
    size = 0
    for place in sorted(before, reverse=True):
        message = work.messages[place]
        size += count(message)
        is_unmarkable = place > newest and not message.get("tool_calls") and place + 1 in before - kept
        if message["role"] != "tool":
            assert place in kept or is_unmarkable or size > room, (
                f"m{place} of {size} tokens is left out, though {room:.0f} are free"
            )
            size = 0


def check_people_are_there(work: Work, view: list[Message]) -> None:
    """Every message that a person wrote, however many gaps stand between them."""
    shown = {place_of(m) for m in view}
    assert [at for at, m in enumerate(work.messages) if m["role"] == "user" and at not in shown] == []


def check_people_are_answered(work: Work, view: list[Message], share: float) -> None:
    """The last words of the newest turns are there, their first 200 characters at least."""
    shown = {place_of(m): text_of(m) for m in view}
    ends = [at - 1 for at, m in enumerate(work.messages) if m["role"] == "user" and at]
    ends = [at for at in ends if work.messages[at]["role"] == "assistant" and not work.messages[at].get("tool_calls")]
    newest = ends[-int(len(ends) * share) :] if ends else []
    for at in newest:
        said = work.messages[at]["content"][:200]
        assert shown.get(at, "").startswith(said), at


WORD_TAKEN_IN_AGAIN = [
    *(("r", 1, 12, 3), ("r", 1, 60, 3), ("w", 1, 3, 1)),
    *(("r", 1, 240, 1), ("r", 1, 12, 3), ("r", 0, 60, 2)),
]
"""There is room for the word again, and none for what comes after it: no result is there to mark that gap."""


@proof
@examples(18)
@given(st.lists(steps, min_size=30, max_size=60), st.sampled_from((8_000, 12_000, 20_000)), st.booleans())
@example(WORD_TAKEN_IN_AGAIN, 12_000, False)
def test_a_view_is_one_to_go_on_from(made: list[tuple[str, int, int, int]], budget: int, recall: bool) -> None:
    """Through several plans of any session: gaps marked, nothing stale, no cliff, prefixes kept."""
    desk = Desk(recall=recall)
    work = Work(desk)
    work.user("Please keep the two files in order.")
    before: list[Message] | None = None
    planned, shown_before, furthest = set[int](), set[int](), 0
    texts: dict[tuple[str, str, int], str] = {}
    for step in made:
        work.step(*step)
        built = desk.ask(budget)
        view = built.view
        assert view is not None
        if built.planning.compaction is None and before is not None:
            assert goes_on(before, view)
        before = view
        plan = desk.window.plan
        if plan is None:
            continue
        check_gaps(view)
        check_nothing_stale(work, view)
        furthest = max(furthest, plan.making.step)
        if furthest <= MOST_STEP_WITH_ALL_PEOPLE:
            check_people_are_there(work, view)
        if built.planning.compaction is not None:
            kept = {int(message_id[1:]) for message_id in plan.keep}
            new = range(max(planned, default=-1) + 1, int(plan.upto[1:]) + 1)
            check_room_is_used(work, plan, shown_before | set(new))
            shown_before, planned = kept, planned | set(new)
            for gap in plan.left_out.gaps or ():
                key = (gap.before, gap.after, gap.messages)
                known = texts.setdefault(key, gap.text)
                assert known in ("", gap.text) or is_shortest(gap)
                texts[key] = gap.text


@examples(18)
@given(
    st.integers(2, 40), st.integers(1, 8), st.sampled_from((300, 2_000, 9_000, 40_000)), st.booleans(),
    st.sampled_from((6_000, 20_000, 60_000)),
)  # fmt: skip
def test_no_cliff(turns: int, results: int, chars: int, separate: bool, budget: int) -> None:
    """Results of any size, an answer and a question: the room is used, and the newest results are shown in part."""
    desk = Desk()
    work = Work(desk)
    for number in range(turns):
        work.user(f"Request {number}: " + " ".join(WORDS))
        work.say(f"Answer {number}: " + " ".join(WORDS * 4))
    work.user("Please look at these files.")
    page = "\n".join(f"line {n} of the page says {WORDS[n % 11]} and {WORDS[n % 7]}" for n in range(chars // 40))
    for _ in range(results if separate else 1):
        work.call("read_file", {"file_path": "notes{}.txt"}, page, 1 if separate else results)
    work.say("I have read them all.")
    work.user("What did you find?")
    try:
        built = desk.ask(budget)
    except FloorError:
        pytest.fail("everything here can be shortened")
    view, plan = built.view, desk.window.plan
    assert view is not None
    if plan is None:
        return
    assert any(text_of(m) == "I have read them all." for m in view)
    newest = [m for m in view if m["role"] == "tool"]
    assert 0.8 * plan.making.target_tokens <= plan.making.tokens_after <= 1.4 * plan.making.target_tokens
    own = [sum(len(line) for line in text_of(m).split("\n") if line in page) for m in newest]
    assert sum(chars >= min(200, len(page)) for chars in own) >= min(4, results)


def test_people_are_answered_in_a_long_session(desk: Desk) -> None:
    """Of sixty turns with long last words, those of the newest are there, as many as a quarter of the target holds."""
    work = Work(desk)
    for number in range(60):
        work.user(f"Question {number}?")
        work.call("bash", {"command": f"make part{number}"}, lines_of_file(number, 0, 60))
        work.say(f"Conclusion {number}: " + " ".join(f"{word}_{number}" for word in WORDS * 3))
    work.user("And now?")
    view, plan = desk.ask(40_000).view, desk.window.plan
    assert view is not None
    assert plan is not None
    check_people_are_answered(work, view, 0.7)
    assert check_gaps(view)


def test_beside_a_large_newest_message_the_task_and_the_last_answer_stay(desk: Desk) -> None:
    """It takes five sixths of the budget, and what is left up to the threshold holds both."""
    work = Work(desk)
    work.user("Never touch the table of entries; amounts are integers in cents.")
    for number in range(20):
        work.call("bash", {"command": f"make part{number}"}, lines_of_file(number, 0, 60))
        work.say(f"Part {number} is done.")
        work.user(f"Now part {number + 1}.")
    work.say("The last part is done; shall I deploy it?")
    work.user("please look at how the retries behave. " * 500)
    newest = count(work.messages[-1])
    view = desk.ask(newest * 6 // 5).view
    assert view is not None
    shown = {place_of(message): text_of(message) for message in view}
    assert shown[0] == text_of(work.messages[0])
    assert shown[len(work.messages) - 2] == "The last part is done; shall I deploy it?"


@proof
@pytest.mark.parametrize(
    "words", ["检查重试队列并且不要丢失任务", "please look at how the retries behave, and tell me"]
)
def test_nothing_of_a_person_is_cut_to_save_little(desk: Desk, words: str) -> None:
    """Messages of many short lines, of which a cut shows nearly all: they are whole, or 200 tokens shorter."""
    work = Work(desk)
    for number in range(40):
        work.user("\n".join(f"{words} {number}.{line}" for line in range(24)))
        work.call("bash", {"command": f"make part{number}"}, lines_of_file(number, 0, 60))
        work.say(f"Part {number} is done.")
    work.user("And now?")
    view = desk.ask(30_000).view
    assert view is not None
    places = [(place_of(message), message) for message in view if message["role"] == "user"]
    saved = [count(work.messages[place]) - count(message) for place, message in places if place is not None]
    assert [tokens for tokens in saved if 0 < tokens < 200] == []
    assert desk.window.plan is not None


def inserted_share(work: Work, view: list[Message]) -> float:
    """The share of a view's tokens that is no part of the session."""
    inserted = 0
    for message in view:
        place = place_of(message)
        source = set() if place is None else set(text_of(work.messages[place]).split("\n"))
        lines = [line for line in text_of(message).split("\n") if line not in source and not cut_line(line, source)]
        inserted += count({**message, "content": "\n".join(lines), "tool_calls": []}) if lines else 0
    return inserted / sum(map(count, view))


def cut_line(line: str, source: set[str]) -> bool:
    """Whether it is a part of a line of the session."""
    return len(line) >= 24 and any(line in whole for whole in source)


@proof
@examples(3)
@example(120, 3, 90, "make x{}", 36_000)
@example(120, 3, 90, "make x{}", 20_000)
@given(
    st.integers(20, 80), st.integers(0, 3), st.sampled_from((4, 30, 90)), st.sampled_from(("make x{}", "look")),
    st.sampled_from((20_000, 36_000, 44_000)),
)  # fmt: skip
def test_what_is_inserted_is_a_small_part(turns: int, calls: int, words: int, command: str, budget: int) -> None:
    """Markers, the notice and what says that a text was cut: 6 % of the tokens, in the mean of a session's views.

    At a small budget with very many turns it is 8 %. No three messages of people stand together without an answer.
    """
    desk = Desk()
    work = Work(desk)
    shares = []
    for turn in range(turns):
        work.user(f"Question {turn}: " + " ".join(WORDS[turn % 7 :]))
        for call in range(calls):
            result = lines_of_file(turn, call, 25) + "\nmake: *** Error 1" * (turn % 3 == 0)
            work.call("bash", {"command": f"{command} {turn}.{call}"}, result)
        work.say(f"Conclusion {turn}: " + " ".join(f"{word}_{turn}" for word in WORDS * 9)[: 9 * words])
        work.user("Go on.")
        if turn % 4 == 1:
            desk.build(budget)
        if turn % 4 == 3:
            view = desk.ask(budget).view
            assert view is not None
            shares.append(inserted_share(work, view))
            runs = groupby(message["role"] for message in view if place_of(message) is not None)
            assert max(len(list(run)) for role, run in runs if role == "user") <= 2
        work.say("Yes.")
    assert sum(shares) / len(shares) <= (0.06 if budget >= 36_000 else 0.08)
