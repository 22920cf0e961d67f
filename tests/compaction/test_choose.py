"""The choice: what loses least for the tokens that it frees goes first, and what still fits comes back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.always_kept import PROMISES, Stage
from amplifier_module_context_persistent.compaction.choose import LEAST_USED, choose, use_room
from amplifier_module_context_persistent.compaction.draft import GAP_TOKENS, Draft
from amplifier_module_context_persistent.compaction.form import Form
from amplifier_module_context_persistent.compaction.losses import LargestTextLoss, Loss, UniqueTermsLoss
from amplifier_module_context_persistent.compaction.shorter_forms import Forms
from amplifier_module_context_persistent.messages.elide import LEAST_SHOWN_CHARS, Cut, excerpt_cut
from amplifier_module_context_persistent.messages.paths_and_ids import terms_of
from amplifier_module_context_persistent.view.entry import classify
from amplifier_module_context_persistent.view.render import shorten
from tests.support.drafts import check_total, choice, count, cut, draft, draft_of, history, kept, named
from tests.support.messages import Message
from tests.support.places import ROOT
from tests.support.sweeps import spread


def test_a_draft_that_fits_is_left_alone() -> None:
    """Nothing goes where nothing has to."""
    made = choice(draft("u:10 t:500 t:500 a:1", 2_000))
    assert (kept(made), cut(made)) == ("0 1 2 3", "")


@pytest.mark.parametrize(
    ("words", "target", "places"),
    [
        ("u:10 a:100 a:100 u:10 a:100", 400, "0 1 2 3 4"),
        ("u:10 a:100 a:100 u:10 a:100", 240, "0 2 3 4"),  # people stay, the last words, and the newest
        ("u:10 a:100 a:100 u:10 a:100", 50, "0 2 3 4"),  # and the first person stays with the answer
        ("s:10 a:100! r:100 s:9 u:10 a:1", 50, "0 1 3 4 5"),  # system text and pins, but no reminder
        ("u:10 a:100 a:60 a:5 a:5", 50, "0 3 4"),  # what is recent
        (
            "u:9 a:15 a:15 a:15 a:50 a:50 a:200 " + "a:50 " * 13,
            800,
            "0 1 2 3 4 7 8 9 10 11 12 13 14 15 16 17 18 19",
        ),  # more is freed beside a gap: before it,
        (
            "u:9 a:15 a:15 a:15 a:15 a:15 a:200 a:50 a:59 " + "a:50 " * 11,
            748,
            "0 1 2 3 4 7 8 9 10 11 12 13 14 15 16 17 18 19",
        ),  # and after it
    ],
)
def test_old_groups_that_say_nothing_special_go_oldest_first(words: str, target: int, places: str) -> None:
    """Among equals age decides; what is held stays."""
    assert kept(choice(draft(words, target))) == places


def test_a_choice_says_whether_it_took_anything() -> None:
    """A plan's number is that of the last stage that did."""
    made = draft("u:10 a:100 a:100 a:100 u:10 a:100", 400)
    forms = Forms(made, PROMISES)
    taken = [choose(made, forms, UniqueTermsLoss(made, forms, Stage.FREE), goal) for goal in (340, 340, 1, 1)]
    assert (taken, kept(made)) == ([True, False, True, False], "0 3 4 5")


def drafted(messages: list[Message], target: int, **config: Any) -> Draft:
    """A draft in which nothing is protected for being recent."""
    return draft_of(messages, target, protected_recent=0.0, **config)


def shows(made: Draft, messages: list[Message], term: str) -> bool:
    """Whether a kept result still shows a term."""
    return any(
        term in terms_of(messages[entry.ordinal]).shown(made.cuts.get(entry.id))
        for place in made.kept_positions()
        for entry in made.view.members[place][1:]
    )


def test_lines_with_terms_that_nothing_else_shows_stay_longer_than_the_rest() -> None:
    """A long result is cut to its telling lines before it goes."""
    lines = [f"plain words that say nothing special, number {number}" for number in range(300)]
    lines[150] = "def the_only_name(first_value, second_value, third_value):"
    text = "\n".join(lines)
    made = choice(
        drafted(named([text, *(f"word {number} " * 400 for number in range(8))]), 2_000, protected_tool_results=1)
    )
    shown = [text[first:last] for _, first, last in made.cuts["m2"].lines]
    assert shown[0] == lines[0]
    assert shown[1].startswith(lines[150])
    assert sum(map(len, shown)) < 2 * LEAST_SHOWN_CHARS
    check_total(made)


def test_what_only_one_message_says_outweighs_age() -> None:
    """An older result with names that stand nowhere else stays whole; newer ones that say nothing special go for it."""
    filler = "nothing of note here at all today\n"
    old = filler * 9 + "".join(f"see src/core/special_name_{n}.py\n" for n in range(9)) + filler * 9
    messages = named([old, filler * 20, filler * 20, "short"])
    made = choice(drafted(messages, 420))
    assert made.fits(420)
    assert all(shows(made, messages, f"src/core/special_name_{n}.py") for n in range(9))


def test_a_name_that_stands_elsewhere_too_is_no_loss() -> None:
    """The same names in a newer message that stays: then the older one goes first."""
    names = "".join(f"see src/core/special_name_{n}.py\n" for n in range(9))
    messages = named([names * 3, names * 3, "short"])
    made = choice(drafted(messages, 260))
    assert made.fits(260)
    assert shows(made, messages, "src/core/special_name_4.py")


def test_a_name_that_nothing_else_shows_any_more_counts_from_then_on() -> None:
    """Of two results with the same names one is cut nearly to nothing; the newer plain ones go before the other one."""
    names = "".join(f"see src/core/special_name_{n}.py\n" for n in range(9)) * 3
    plain = "nothing of note here at all today\n" * 10
    made = drafted(named([names, names, plain, plain, "short"]), 1_000)
    assert kept(choice(made, goal=made.total_tokens // 5)) == "0 1 5 6"


def test_a_result_is_cut_where_its_ends_hold_what_matters() -> None:
    """A long result whose terms stand at its ends is cut; its group stays."""
    text = "config_loader failed\n" + "just a line of output\n" * 400 + "raised by load_settings\n"
    made = choice(drafted(named([text, "x", "y"], arguments="grep config_loader load_settings"), 600))
    assert kept(made) == "0 1 2 3 4"
    assert cut(made) == "m2"


def test_old_results_are_cut_before_groups_are_left_out() -> None:
    """Where shortening results is enough, every call and its result stay."""
    made = choice(draft("u:10 t:500 t:500 t:500 t:500 a:1", 1_400))
    assert kept(made) == "0 1 2 3 4 5"
    assert "m1" in cut(made)


CHOICE = """
from tests.support.drafts import choice, cut, draft_of, kept, named

names = ["load_index", "find_the_table", "merge_all_routes_of_a_token", "io", "cache"]
texts = [" ".join(f"{name}_{number}" for name in names) + " plain words" * 12 for number in range(18)]
made = choice(draft_of(named(texts, arguments="load_index_3 io_7"), 700, protected_recent=0.0))
print(kept(made), cut(made), made.total_tokens)
"""


def test_the_choice_is_the_same_in_every_order_of_hashing() -> None:
    """Processes that hash texts otherwise leave out and cut the same: prices are sums over sets of names."""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", CHOICE], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE
        )
        for seed in spread(("1", "2", "3"), 3)
    ]
    with redirect_stdout(StringIO()) as here:
        exec(CHOICE, {})
    assert here.getvalue().count(" ") > 3
    assert {run.communicate()[0].decode() for run in runs} == {here.getvalue()}


def test_a_cut_that_saves_too_little_is_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cuts promise more than they free, the choice goes on to something else, and ends."""
    real, asked = Forms.cuts, Counter[int]()

    def promising(forms: Forms, position: int, stage: Stage) -> list[Form]:
        asked[position] += 1
        assert asked[position] < 100, "the same cut again and again"
        return [form._replace(saved=999) for form in real(forms, position, stage)]

    monkeypatch.setattr(Forms, "cuts", promising)
    made = choice(drafted(named(["word " * 60] * 6), 1, protected_tool_results=0))
    assert kept(made).startswith("0 ")
    assert asked


def test_what_the_provider_has_in_its_cache_goes_last() -> None:
    """The cached beginning stays while something after it costs less than four times as much."""
    made = drafted(named([f"nothing of note here at all today, {number}\n" * 20 for number in range(8)]), 1_200)
    forms = Forms(made, PROMISES)
    loss = UniqueTermsLoss(made, forms, Stage.FREE)
    loss.cached_groups = 5
    choose(made, forms, loss, 1_200)
    assert made.fits(1_200)
    assert made.kept_positions()[:5] == [0, 1, 2, 3, 4]
    assert not made.cuts.keys() & {"m2", "m4", "m6", "m8"}


def test_only_messages_that_are_cut_are_read() -> None:
    """What the choice has to know stands with the entries, so planning reads no message that it does not shorten."""
    made = draft("u:10 t:5 t:900 t:5 a:100 t:900 t:5 a:1", 1_000, protected_tool_results=0)
    fetch, read = made.request.fetch, list[str]()

    def reading(wanted: Any) -> Any:
        read.extend(entry.id for entry in wanted)
        return fetch(wanted)

    made = choice(Draft(replace(made.request, fetch=reading)))
    assert made.fits(1_000)
    assert set(read) == set(made.cuts) == {"m2", "m5"}


def test_a_group_beside_gaps_frees_their_marker_too() -> None:
    """Between two gaps it frees one more; where none is beside it, a marker has to be put in its place."""
    made = draft("u:9 a:50 a:50 a:50 a:50 u:9", 1_000)
    assert made.freed_by_leaving_out(2) == 50 - made.gap_tokens
    made.leave_out(1)
    assert made.freed_by_leaving_out(2) == 50
    made.leave_out(3)
    assert made.freed_by_leaving_out(2) == 50 + made.gap_tokens
    check_total(made)


NAMES = st.lists(st.sampled_from([f"src/some_{name}.py" for name in "abcdefgh"]), max_size=4).map(" ".join)
CALLS = st.lists(st.tuples(NAMES, NAMES, st.integers(0, 12) | st.integers(0, 90), NAMES), min_size=1, max_size=12)


@given(CALLS, st.integers(0, 99), st.integers(0, 3))
def test_what_a_loss_remembers_is_what_it_would_find_anew(
    calls: list[tuple[str, str, int, str]], percent: int, spared: int
) -> None:
    """How many kept groups show each name."""
    line = "just a line of output\n"
    messages = named([line * (lines // 2) + f"{some}\n" + line * lines + more for _, some, lines, more in calls])
    for message, (asked, *_) in zip(messages[1::2], calls, strict=False):
        message["tool_calls"][0]["arguments"]["command"] = asked
    made = drafted(messages, 1, protected_tool_results=spared)
    forms = Forms(made, PROMISES)
    loss = UniqueTermsLoss(made, forms, Stage.FREE)
    choose(made, forms, loss, made.total_tokens * percent // 100)
    shown = Counter(name for place in made.kept_positions() for name in set(made.shown_terms(place)))
    for name, number in loss.counts.items():
        assert number <= shown[name]  # a cut that was taken back shows more than the loss knows
    check_total(made)


@pytest.mark.parametrize(
    ("words", "target", "ids"),
    [
        ("u:10 t:900", 1_000, ""),
        ("u:10 t:900", 500, "m1"),
        ("u:900 t:900", 500, "m1"),  # never the last human message
        ("s:900 u:1 u:900! t:900! a:900 u:1 a:9", 100, "m4"),  # nor system text, nor pins
        ("u:10 t:900 t:300 t:100 a:1", 900, "m1"),  # the largest one, down to a level
        ("u:10 t:900 t:900 t:100 a:1", 900, "m1 m2"),
    ],
)
def test_at_last_the_largest_pieces_are_shortened(words: str, target: int, ids: str) -> None:
    """To one level, as high as the goal allows; the newest group is not spared."""
    made = choice(draft(words, target, protected_recent=1.0), Stage.LAST, loss=LargestTextLoss)
    assert all(made.kept)
    assert cut(made) == ids


def test_a_held_result_is_shortened_for_a_single_token() -> None:
    """What is only taken where nothing else is left counts as soon as it frees anything."""
    made = draft_of(named(["word " * 99, "y"]), 1_000, protected_tool_results=2)
    assert made.total_tokens == 124
    assert cut(choice(made, Stage.SHORTEN, goal=123, loss=LargestTextLoss)) == "m2"
    assert made.total_tokens < 123


def test_at_last_a_text_shows_a_little_or_nothing() -> None:
    """No text is cut below 240 characters, but for those that have to go altogether, the oldest first."""
    made = choice(draft("u:1 t:900 t:900", 150), Stage.LAST, loss=LargestTextLoss)
    assert all(240 <= one.head_chars + one.tail_chars <= 320 for one in made.cuts.values())
    assert len(made.cuts) == 2
    made = choice(draft("u:1 t:900 t:900", 100), Stage.LAST, loss=LargestTextLoss)
    assert made.cuts["m1"] == excerpt_cut(0)
    assert LEAST_SHOWN_CHARS <= made.cuts["m2"].shown_chars <= LEAST_SHOWN_CHARS + 20


@pytest.mark.parametrize(
    ("words", "target", "ids"),
    [
        ("u:900 u:900 u:900 u:900 a:1", 3_000, "m1 m2"),  # to one level, and the first one last
        ("u:900 u:900 u:900 u:900 a:1", 100, "m0 m1 m2"),  # never the last one
        ("u:900 b:900 u:10 a:1", 1_100, "m1"),  # block lists too
        ("u:900! u:40 r:900 u:10 a:900", 10, ""),  # neither pins, nor short ones, nor what hooks say
    ],
)
def test_long_messages_of_people_are_shortened(words: str, target: int, ids: str) -> None:
    """The largest first, the very first one last, the last one never."""
    made = choice(draft(words, target), Stage.TEXTS, loss=LargestTextLoss)
    assert " ".join(one for one in cut(made).split()) == ids


@pytest.mark.parametrize(
    ("words", "target", "places"),
    [
        ("u:10 u:22 u:30 u:10 a:30", 100, "0 2 3 4"),  # the oldest but the first one
        ("u:10 u:20 u:30 u:10 a:30", 61, "0 3 4"),
        ("u:10 u:20 u:30 u:10 a:30", 20, "0 3 4"),  # the first one not even then
        ("s:10 u:10 u:10 u:10! u:10 a:30", 20, "0 1 3 4 5"),
        ("u:10 a:9 u:20 a:9 u:30 u:10 a:30", 100, "0 4 5 6"),  # with its answer
    ],
)
def test_people_go_oldest_first(words: str, target: int, places: str) -> None:
    """What the session is for, as the first person said it, last; and with each of them its answer."""
    assert kept(choice(draft(words, target), Stage.PEOPLE, loss=Loss)) == places


def test_messages_count_as_tokens_do() -> None:
    """With `max_messages` groups go until the view has few enough."""
    made = draft("u:1 " + "a:1 " * 20, 10_000, max_messages=12, protected_recent=0.0)
    assert not made.fits(10_000)
    choice(made)
    assert made.total_messages == 6
    assert made.fits(10_000)


# --- upwards ----------------------------------------------------------------------------------------------------------


def test_the_newest_groups_that_fit_come_back() -> None:
    """One that is too large is passed over, older ones that still fit are taken."""
    made = draft("u:9 t:60 t:200 t:900 t:300 u:9 a:9", 415)
    for position in (1, 2, 3, 4):
        made.leave_out(position)
    assert use_room(made)
    assert kept(made) == "0 1 4 5 6"
    check_total(made)


@pytest.mark.parametrize("tokens", [38, 39])
def test_a_view_that_is_full_enough_is_left_alone(tokens: int) -> None:
    """At `LEAST_USED` of the target nothing is done, below it everything that can be."""
    full = int(LEAST_USED * 1_000)
    made = draft(f"u:{full - 39 - GAP_TOKENS} t:60 u:{tokens}", 1_000)
    made.leave_out(1)
    assert use_room(made) == (tokens < 39)
    assert made.kept[1] == (tokens < 39)


def test_a_view_of_so_many_messages_is_not_filled() -> None:
    """Where `max_messages` says how many there are, room in tokens means nothing."""
    made = draft("u:9 t:60 u:9", 1_000, max_messages=4)
    made.leave_out(1)
    assert not use_room(made)
    assert not made.kept[1]


def test_the_newest_results_are_shown_longer() -> None:
    """Alike, up to the target and never beyond it; an older one stays as short as it was made, and so does a line."""
    messages = history("u:9 t:2000 t:2000 t:2000 t:2000 u:9 a:9")
    messages[3]["tool_calls"] += messages.pop(5)["tool_calls"] + messages.pop(6)["tool_calls"]
    made, short = draft_of(messages, 1_000), excerpt_cut(LEAST_SHOWN_CHARS)
    line = Cut(0, 0, instead="The file changed since.")
    for (position, at), how in zip([(1, 1), (2, 1), (2, 2), (2, 3)], (short, line, short, short), strict=True):
        made.cut(position, made.view.members[position][at], how)
    before, old = made.total_tokens, made.cuts["m1"]
    assert use_room(made)
    assert before < 400
    assert 900 <= made.total_tokens <= 1_000
    assert (made.cuts["m1"], made.cuts["m2"]) == (old, line)  # an older one may show lines that a change replaced
    assert abs(made.cuts["m3"].head_chars - made.cuts["m4"].head_chars) < LEAST_SHOWN_CHARS
    check_total(made)


def test_nothing_of_a_short_result_is_no_form_of_it() -> None:
    """Its marker takes half of what it takes."""
    forms = Forms(draft("u:9 t:90 t:900 t:50 u:9 a:9", 1_000, truncate_chars=100), PROMISES)
    assert [form.cut.shown_chars for form in forms.cuts(1, Stage.FREE)] == [100]
    assert [form.cut.shown_chars for form in forms.cuts(2, Stage.FREE)] == [250, 100, 0]


def test_a_short_text_of_a_result_stays_beside_a_long_one() -> None:
    """Its marker would be as long; both texts are in one message, so one cut has to do for both."""
    messages = history("u:9 t:900 t:50 u:9 a:9")
    short = "wrote 3 files to build/output_7: parser.py, lexer.py and tokens.py; nothing else was changed in it"
    messages[2]["content"] = [{"type": "text", "text": text} for text in (short, messages[2]["content"])]
    forms = Forms(draft_of(messages, 1_000), PROMISES).cuts(1, Stage.FREE)
    for form in forms:
        first, second = shorten(classify(0, messages[2], count), messages[2], form.cut)["content"]
        assert first["text"] == short
    assert second["text"].startswith("[… 3,600 of 3,600 characters elided")
