"""The index: columns, the live history, and finding by id."""

import random

import pytest

from amplifier_module_context_persistent.log.index import (
    LIVE,
    PINNED,
    Index,
    id_hash_of,
    ordinals_of,
    runs_of,
    spans_of,
)
from tests.support.rows import row


def add(index: Index, name: str, *, live: bool = True) -> int:
    (ordinal,) = index.add([row(offset=10 * len(index), length=10, flags=LIVE * live, id_hash=id_hash_of(name))])
    return ordinal


def filled(count: int) -> Index:
    index = Index()
    for number in range(count):
        add(index, f"id-{number}")
    return index


def test_records_are_named_in_their_order() -> None:
    """An ordinal is the place among the message records."""
    index = filled(3)
    assert (len(index), list(index.live), list(index.offsets)) == (3, [0, 1, 2], [0, 10, 20])


def test_replacing_the_live_history_moves_the_marks_and_voids_the_plan() -> None:
    """A reset changes what is live, its marks and the generation, and a plan before it is gone."""
    index = filled(4)
    index.plan = {"any": 1}
    index.flags[3] |= PINNED
    index.replace_live([3, 1])
    assert list(index.live) == [3, 1]
    assert [index.is_live(ordinal) for ordinal in range(4)] == [False, True, False, True]
    assert index.flags[3] == PINNED | LIVE
    assert index.plan is None
    assert index.generation == 1


def test_appending_is_no_new_generation() -> None:
    """The generation tells changes of the past from growth."""
    index = filled(4)
    assert index.generation == 0


def test_the_last_record_of_an_id_is_found() -> None:
    """Finding is by id, the last one winning, before and after more was added."""
    index = filled(100)
    assert index.find("id-7") == 7
    assert index.find("id-100") is None
    again = add(index, "id-7")
    assert index.find("id-7") == again
    assert index.find_all(["id-7", "id-8", "nobody"]) == {"id-7": again, "id-8": 8}


def test_finding_many_agrees_with_finding_one() -> None:
    """The pass over the column gives what the table gives, for few and for many ids."""
    for count in (1, 10, 70, 900):
        index, other = filled(1_000), filled(1_000)
        names = [f"id-{number * 1_000 // count}" for number in range(count)] + ["nobody"]
        expected = {name: found for name in names if (found := other.find(name)) is not None}
        assert index.find_all(names) == expected
        assert len(expected) == count


def test_ids_with_lone_surrogates_can_be_found() -> None:
    """An id that UTF-8 cannot carry is an id all the same."""
    index = Index()
    index.add([row(id_hash=id_hash_of("\ud800".encode("utf-8", "surrogatepass")))])
    assert index.find("\ud800") == 0


def test_a_message_that_is_withdrawn_is_live_and_found_no_more() -> None:
    """A pin lets go of it; the plan stays, as the rest of the history does."""
    index = filled(4)
    index.plan, index.pins = {"any": 1}, {1, 2}
    index.withdraw(2)
    assert (list(index.live), index.pins, index.plan) == ([0, 1, 3], {1}, {"any": 1})
    assert (index.find("id-2"), index.is_held(2), index.is_live(2), index.generation) == (None, False, False, 1)


@pytest.mark.parametrize("seed", range(20))
def test_ordinals_are_written_as_runs(seed: int) -> None:
    """And read again as they were; what goes beyond the index is refused."""
    rng = random.Random(seed)
    ordinals = [n for n in range(200) if rng.random() < rng.choice((0.1, 0.9))]
    rng.shuffle(ordinals) if seed % 2 else None
    spans = spans_of(ordinals)
    assert list(ordinals_of(spans, 200)) == ordinals
    if ordinals:
        with pytest.raises(ValueError, match="beyond"):
            ordinals_of(spans, max(ordinals))


@pytest.mark.parametrize(
    "runs",
    [
        [],
        [(7, 1)],
        [(0, 1), (2, 1), (1, 1), (3, 1)],
        [(0, 20_000)],
        [(5, 4_096), (4_200, 4_095), (9_000, 1), (9_001, 3)],
        [(0, 4_096), (5_000, 4_096), (9_096, 1), (4_096, 904)],
        [(100, 3), (50, 9_000), (20_000, 2), (20_003, 5_000), (3, 1)],
    ],
)
def test_runs_are_as_long_as_they_can_be(runs: list[tuple[int, int]]) -> None:
    """Wherever they begin and end, and neighbours that are given as two are one."""
    ordinals = [ordinal for first, count in runs for ordinal in range(first, first + count)]
    expected: list[range] = []
    for ordinal in ordinals:
        if expected and expected[-1].stop == ordinal:
            expected[-1] = range(expected[-1].start, ordinal + 1)
        else:
            expected.append(range(ordinal, ordinal + 1))
    assert list(runs_of(ordinals)) == expected
