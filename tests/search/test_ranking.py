"""The ranking: which message comes first, and why."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.errors import RecallError
from amplifier_module_context_persistent.messages.message import Message
from amplifier_module_context_persistent.search import ranking
from amplifier_module_context_persistent.search.question import read_question
from amplifier_module_context_persistent.search.ranked_segment import MessageColumns, SegmentBuilder
from amplifier_module_context_persistent.search.ranking import Written, rank
from tests.support.ranked import NOW, MemoryIndex, said
from tests.support.sweeps import proof, some

OTHERS = [said(f"We talked about the weather, number {number}, and about lunch.") for number in range(20)]


def call(tool: str, text: str) -> Message:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "tool": tool, "arguments": {"command": text}}],
    }


def result(text: str, name: str = "bash") -> Message:
    return {"role": "tool", "tool_call_id": "c1", "name": name, "content": text}


def _second(time: str) -> float:
    return datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()


def test_a_question_finds_its_answer_in_other_forms_of_its_words() -> None:
    """Stems, and a name in its parts."""
    index = MemoryIndex([*OTHERS, said("flushAll was failing when the caches grew."), *OTHERS])
    for question in ("Why do flushes fail?", "flush_all fails", "which cache growth made flush all fail"):
        assert index.found(question)[0] == 20


def test_words_that_stand_joined_in_a_text_are_found() -> None:
    """`flush all` asks for `flushall`, too."""
    index = MemoryIndex([*OTHERS, said("see flushall for that"), *OTHERS])
    assert index.found("flush all")[0] == 20


def test_rare_words_count_more_than_common_ones() -> None:
    """The weather is in every message."""
    index = MemoryIndex([*OTHERS, said("A zebra.")])
    assert index.found("zebra weather lunch")[0] == 20


def test_what_was_said_comes_before_raw_output() -> None:
    """The same words in an answer and in a tool's result."""
    index = MemoryIndex([*OTHERS, result("the index was corrupt"), *OTHERS, said("the index was corrupt", "assistant")])
    assert index.found("why was the index corrupt")[:2] == [41, 20]


def test_an_answer_comes_before_the_question() -> None:
    """Whoever asks again wants what was said to it."""
    index = MemoryIndex(
        [*OTHERS, said("Why is the index corrupt?"), *OTHERS, said("The index was corrupted by gc, I see.")]
    )
    assert index.found("why is the index corrupt")[:2] == [41, 20]


def test_a_long_log_that_names_everything_does_not_come_first() -> None:
    """Lengths count."""
    rng = random.Random(1)
    words = [f"word{number}" for number in range(3_000)]
    long = result(" ".join([*rng.sample(words, 2_500), "corrupt index worktree"]))
    index = MemoryIndex([*OTHERS, long, *OTHERS, said("A corrupt index in the worktree.")])
    assert index.found("corrupt index worktree")[0] == 41


def test_neighbours_count_for_each_other() -> None:
    """A question and its answer are one thing; what stands further away is not."""
    question, answer = said("Where does Paul live?"), said("In Lisbon, near the river.", "assistant")
    index = MemoryIndex([*OTHERS, question, answer, *OTHERS, said("I saw the river."), *OTHERS])
    assert set(index.found("Paul river")[:2]) == {20, 21}
    (reason,) = [one for one in index.ask("Paul river").found[0].reasons if one.is_near]
    assert reason.points > 0


def test_messages_of_two_logs_are_no_neighbours() -> None:
    """The last one of a log and the first one of the next."""
    index = MemoryIndex([*OTHERS, said("Where does Paul live?")], [said("Nothing here."), *OTHERS])
    assert index.found("Paul") == [20]
    assert not any(reason.is_near for one in index.ask("Paul nothing").found for reason in one.reasons)


def test_who_spoke_counts_if_the_question_names_them() -> None:
    """By a name, or by a role."""
    both = [said("I love hiking.", name="Ada"), *OTHERS, said("I love hiking.", name="Bob Stone"), *OTHERS]
    index = MemoryIndex(both)
    assert index.found("What does Ada love?")[0] == 0
    assert index.found("What does Bob love?")[0] == 21
    assert index.ask("What does Ada love?").found[0].spoke
    roles = MemoryIndex([said("Tabs, please.", "user"), *OTHERS, said("Tabs, please.", "assistant")])
    assert roles.found("tabs, said the user")[0] == 0
    assert roles.found("tabs, said the agent")[0] == 21


def test_the_time_in_a_question_counts() -> None:
    """Of two messages that say the same, the one of that time comes first."""
    old, new = (
        said("The build broke.", time="2026-03-10T10:00:00Z"),
        said("The build broke.", time="2026-03-17T10:00:00Z"),
    )
    index = MemoryIndex([old, *OTHERS, new, *OTHERS])
    assert index.found("what broke last week")[0] == 0
    assert index.found("what broke yesterday")[0] == 21
    assert index.ask("what broke yesterday").found[0].in_period


def test_a_time_is_no_word_of_a_question() -> None:
    """The word `March` is no answer to what was said in March; if nothing was said then, the words answer."""
    in_march, with_word = (
        said("The build broke.", time="2026-03-10T10:00:00Z"),
        said("March in the parade, the build of the float broke.", time="2026-02-17T10:00:00Z"),
    )
    index = MemoryIndex([in_march, *OTHERS, with_word, *OTHERS])
    assert index.found("why did the build break in March")[0] == 0
    assert index.found("in March")[0] == 0
    assert index.found("why did the build break in May 2020")[0] in (0, 21)


def test_a_question_of_a_time_alone_finds_what_was_said_then() -> None:
    """`what did we do yesterday` has no word but the time."""
    old, new = (
        said("We mend the cart.", time="2026-03-10T10:00:00Z"),
        said("We paint the shed.", time="2026-03-17T10:00:00Z"),
    )
    index = MemoryIndex([said("hello", time="2026-03-01T10:00:00Z"), old, new])
    assert index.found("what did we do yesterday")[0] == 2
    assert index.found("what happened yesterday")[0] == 2
    assert index.found("was haben wir letzte Woche gemacht?")[0] == 1
    assert index.found("zebras of last week?")[0] == 1
    assert index.found("what happened on 5 May 2020") == index.found("zebras of 5 May 2020") == []
    told = "no match for the words; showing what was said at that time"
    assert index.ask("zebras of last week?").notes == (told,)
    assert index.ask("cart of last week?").notes == index.ask("what did we do yesterday").notes == ()


def test_only_messages_of_a_wanted_time_are_ranked() -> None:
    """Those that tell no time are in none."""
    log = [said("The build broke.", time=f"2026-03-{day:02}T00:00:00Z") for day in range(1, 11)]
    index = MemoryIndex([*log, said("The build broke.")])
    wanted = Written(_second("2026-03-04T00:00:00"), _second("2026-03-06T12:00:00"))
    found = rank(read_question("build", now=NOW), index, most=20, written=wanted).found
    assert sorted(one.number for one in found) == [3, 4, 5]


def test_words_are_found_without_their_accents() -> None:
    """And the other way round; the exact word comes first."""
    index = MemoryIndex([said("the cafe"), *OTHERS, said("the café"), *OTHERS])
    assert index.found("cafe") == [0, 21]
    assert index.found("café") == [21, 0]
    assert MemoryIndex([said("Die Lösung war größer"), *OTHERS]).found("losung grosser")[0] == 0


def test_one_slip_of_the_finger_is_forgiven() -> None:
    """If no message has the word; and the answer says so."""
    index = MemoryIndex([said("We chose postgres for the cart."), *OTHERS, said("sqlite for tests"), *OTHERS])
    for word in ("postgers", "posgres", "postgress", "postgtes"):
        answer = index.ask(word)
        assert [slip.sentence for slip in answer.slips] == [f"no match for `{word}`; showing `postgres`"]
        assert index.found(word) == [0]
    assert index.ask("postgres").slips == ()
    assert index.ask("zebra").slips == ()
    assert index.found("postgers cart")[0] == 0


def test_beside_words_that_are_found_only_likely_slips_are_tried() -> None:
    """A word that was never said is more often right than mistyped."""
    index = MemoryIndex([said("a winter coat"), said("the cart"), *OTHERS])
    assert index.ask("printer and cart").slips == ()
    assert [slip.meant.said for slip in index.ask("wniter and cart").slips] == ["winter"]


def test_a_word_that_says_little_is_no_slip() -> None:
    """Nobody said `quite`, and a place that is quiet is not meant."""
    index = MemoryIndex([said("a quiet place"), said("the cart"), *OTHERS])
    assert [slip.meant.said for slip in index.ask("qiuet cart").slips] == ["quiet"]
    assert index.ask("quite a cart").slips == ()


@pytest.mark.parametrize(
    "question", ["another cart, next", "wo ist der cart", "was ist mit dem cart", "où est le cart"]
)
def test_function_words_weigh_next_to_nothing(question: str) -> None:
    """Of English, German, French and Spanish."""
    texts = ["another one, next please", "wo ist der", "was ist mit dem", "où est le"]
    index = MemoryIndex([*map(said, texts), *OTHERS, said("The cart is the subject here, at some length.")])
    assert index.found(question)[0] == 24


def test_two_function_words_form_no_name() -> None:
    """`for the` does not ask for `for_the`."""
    index = MemoryIndex([said("for_the"), *OTHERS, said("the cart")])
    assert index.found("what is for the cart") == [21]


def test_english_words_that_are_function_words_elsewhere_count() -> None:
    """`die` is an article of German, and what servers do."""
    index = MemoryIndex([said("the server"), *OTHERS, said("it will die, the server")])
    assert index.found("why did the server die")[0] == 21


def test_reasons_name_the_words_of_the_question() -> None:
    """As the person wrote them."""
    index = MemoryIndex([said("It was corrupted."), *OTHERS])
    (reason,) = index.ask("Corruptions").found[0].reasons
    assert reason.said == "Corruptions"


def test_of_equal_messages_the_later_one_comes_first() -> None:
    """By their times, also in two logs; without times, by their place."""
    first = [said("The build broke.", time="2026-03-17T10:00:00Z")]
    second = [said("The build broke.", time="2026-03-10T10:00:00Z")]
    assert MemoryIndex(first, second).found("build") == [0, 1]
    assert MemoryIndex(second, first).found("build") == [1, 0]
    assert MemoryIndex([said("The build broke.")], [said("The build broke.")]).found("build") == [1, 0]


def test_what_recall_gave_is_not_indexed() -> None:
    """Neither its results nor the calls of it."""
    earlier = result("[recall of m1, characters 0-9 of 9]\nThe build broke.", "recall")
    index = MemoryIndex([said("The build broke."), *OTHERS, call("recall", "broke"), earlier, call("bash", "broke")])
    assert index.found("broke") == [0, 23]


def test_a_question_of_function_words_is_asked_all_the_same() -> None:
    """They count where there is nothing else."""
    assert MemoryIndex([*OTHERS, said("Who are you?")]).found("who are you")[0] == 20


@pytest.mark.parametrize("question", ["", "?!", "…", "x" * 2_000])
def test_what_is_no_question_is_refused(question: str) -> None:
    """It holds no word, or is too long."""
    with pytest.raises(RecallError):
        read_question(question, now=NOW)


def test_common_words_count_only_in_what_rarer_ones_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the answer names them."""
    monkeypatch.setattr(ranking, "MOST_POSTINGS", 10)
    index = MemoryIndex([*OTHERS, said("zebra weather"), said("zebra"), *OTHERS])
    answer = index.ask("zebra weather lunch")
    assert answer.common == ("lunch", "weather")
    assert index.found("zebra weather lunch")[0] == 20
    assert len(index.found("weather")) == 10


@proof
@settings(max_examples=some(30), deadline=None)
@given(
    st.lists(st.text("abc cache flushAll 東京 broke", min_size=1, max_size=40), min_size=1, max_size=30),
    st.integers(1, 7),
    st.sampled_from(["cache", "broke abc", "flush all 東京", "a b c"]),
)
def test_the_answer_does_not_depend_on_how_a_log_is_divided(texts: list[str], size: int, question: str) -> None:
    """One segment, or many."""
    log = [said(text) for text in texts]
    whole, parts = MemoryIndex(log), MemoryIndex(log, segment_messages=size)
    assert parts.found(question) == whole.found(question)
    assert [one.score for one in parts.ask(question).found] == [one.score for one in whole.ask(question).found]


@pytest.mark.parametrize("seed", range(8))
def test_nor_does_it_where_words_are_cut_off(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Common words count in messages with rarer ones, and in the neighbours of these, also across segments."""
    monkeypatch.setattr(ranking, "MOST_POSTINGS", 12)
    monkeypatch.setattr(ranking, "CANDIDATES", 5)
    rng = random.Random(seed)
    log = [said(" ".join(rng.choices(["cache", "broke", "lunch", "rare"], [9, 9, 9, 1], k=2))) for _ in range(60)]
    whole = MemoryIndex(log).ask("did the rare cache break lunch").found
    for size in (1, 2, 7):
        parts = MemoryIndex(log, segment_messages=size)
        assert [
            (parts.numbers[one.segment] + one.number, one.score)
            for one in parts.ask("did the rare cache break lunch").found
        ] == [(one.number, one.score) for one in whole]


@proof
def test_columns_and_postings_survive_packing() -> None:
    """Offsets, times and the weights of every level of segments."""
    for count, words in ((3, 5), (60, 300), (400, 700)):
        builder = SegmentBuilder()
        rng = random.Random(count)
        for number in range(count):
            text = " ".join(f"w{rng.randrange(words)}" for _ in range(words))
            builder.add(number * 1_000 + 2**33, said(text, time=f"2026-03-{number % 28 + 1:02}T00:00:00Z"))
        segment = builder.segment()
        columns = MessageColumns.unpacked(segment.columns)
        assert list(columns.offsets) == [number * 1_000 + 2**33 for number in range(count)]
        assert len(columns.seconds) == count
        assert columns.seconds[0] == 1772323200
        met = sum(len(segment.postings(ranking.key_of(f"w{number}")).messages) for number in range(words))
        assert met > count
        assert not segment.postings(ranking.key_of("missing")).messages
