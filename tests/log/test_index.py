"""The index: columns, the live history, and finding by id."""

import random

import pytest

from amplifier_module_context_persistent.log.index import (
    LIVE,
    PINNED,
    Damage,
    Index,
    id_hash_of,
    ordinals_of,
    runs_of,
    spans_of,
)
from amplifier_module_context_persistent.log.index_builder import IndexBuilder
from amplifier_module_context_persistent.log.record_line import decode, encode_control, encode_message, message_id_of
from tests.support.logs import STAMP, body, reset_bodies, row, sealed
from tests.support.scans import found, ids, scan


def add(index: Index, name: str, *, live: bool = True) -> int:
    return index.add(row(offset=10 * len(index), length=10, flags=LIVE * live, id_hash=id_hash_of(name)))


def filled(count: int) -> Index:
    index = Index()
    for number in range(count):
        add(index, f"id-{number}")
    return index


def test_records_are_named_in_their_order() -> None:
    """An ordinal is the place among the message records."""
    index = filled(3)
    assert (len(index), list(index.live), list(index.columns.offsets)) == (3, [0, 1, 2], [0, 10, 20])


def test_replacing_the_live_history_moves_the_marks_and_voids_the_plan() -> None:
    """A reset changes what is live, its marks and the generation, and a plan before it is gone."""
    index = filled(4)
    index.session.plan = {"any": 1}
    index.columns.flags[3] |= PINNED
    index.replace_live([3, 1])
    assert list(index.live) == [3, 1]
    assert [index.is_live(ordinal) for ordinal in range(4)] == [False, True, False, True]
    assert index.columns.flags[3] == PINNED | LIVE
    assert index.session.plan is None
    assert index.generation == 1


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
    index.add(row(id_hash=id_hash_of("\ud800".encode("utf-8", "surrogatepass"))))
    assert index.find("\ud800") == 0


def test_a_message_that_is_withdrawn_is_live_and_found_no_more() -> None:
    """A pin lets go of it; the plan stays, as the rest of the history does."""
    index = filled(4)
    index.session.plan, index.session.pins = {"any": 1}, {1, 2}
    index.withdraw(2)
    assert (list(index.live), index.session.pins, index.session.plan) == ([0, 1, 3], {1}, {"any": 1})
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


@pytest.mark.parametrize("first", [0, 1, 65_535, 65_536, 70_001, (1 << 24) - 100_000, (1 << 32) - 200_000])
@pytest.mark.parametrize("length", [1, 65_535, 65_536, 65_537, 200_000])
def test_a_long_run_has_every_ordinal(first: int, length: int) -> None:
    """Long runs are written in blocks, of which the high bytes are written at once."""
    assert list(ordinals_of([first, length], 1 << 32)) == list(range(first, first + length))


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


USAGE = {"provider": "p", "model": "m", "actual_tokens": 5}


def test_every_kind_of_control_record_is_known_and_counted() -> None:
    """Headers, the plan in force, usage by model, head texts and pins; an unknown kind is only counted."""
    header = encode_control("header", version=2, log_id="l")
    controls = [
        encode_control("plan", id="old"),
        encode_control("plan", id="p"),
        encode_control("side_plan", id="beside"),
        encode_control("usage", provider="p", model="m", actual_tokens=1),
        encode_control("usage", **USAGE),
        encode_control("usage", provider="p", model="other"),
        encode_control("system", hash="h", text="t"),
        encode_control("pin", message_id="id-1", pinned=True),
        encode_control("pin", message_id="id-2", pinned=True),
        encode_control("pin", message_id="id-1", pinned=False),
        encode_control("of a later version"),
    ]
    lines = sealed([header, *map(body, range(4)), *controls])
    copied = next(line for line in lines if b"beside" in line).replace(b"beside", b"copied")
    index = scan([*lines, copied]).index  # what does not continue the chain takes no effect
    assert index.unknown_version == ""
    assert [value["log_id"] for value in index.headers] == ["l"]
    assert (index.session.plan["id"], index.session.side_plan["id"]) == ("p", "beside")
    assert index.session.usage["p", "m"]["actual_tokens"] == 5
    assert set(index.session.usage) == {("p", "m"), ("p", "other")}
    assert (index.session.heads, index.session.pins) == ({"h"}, {2})
    assert index.control_counts == {
        "header": 1, "plan": 2, "side_plan": 2, "usage": 3, "system": 1, "pin": 3, "of a later version": 1,
    }  # fmt: skip


def test_a_reset_voids_the_plan_and_the_pins_of_what_it_hides() -> None:
    """What the plan and the pins named is live no more."""
    pins = [encode_control("pin", message_id=f"id-{number}", pinned=True) for number in (0, 2)]
    before = [*map(body, range(4)), encode_control("plan", id="p"), *pins]
    index = scan(sealed([*before, *reset_bodies("r", encode_control("keep", numbers=[0, 1]), upto="id-3")])).index
    assert index.session.plan is None
    assert index.session.pins == {0}


def test_a_damaged_line_with_the_id_of_any_message_before_it_is_not_live() -> None:
    """Also of the first one, and of one that came since the ids were last looked through."""
    lines = sealed([body(0), body(1)])
    for number in (0, 1):
        edited = lines[number].replace(b"message ", b"massage ")
        assert ids(scan([*lines, edited])) == [0, 1]
    later = sealed([body(2)], int(lines[1][-11:-3], 16))
    edited = [lines[0].replace(b"message ", b"massage "), *later, later[0].replace(b"message ", b"massage ")]
    scanner = scan([*lines, *edited])
    assert ids(scanner) == [0, 1, 2]
    assert [kind for kind, *_ in found(scanner)].count("repeated") == 2


def test_a_damaged_copy_that_comes_first_gives_way() -> None:
    """The message that continues the chain is read, and the copy reported at its place."""
    first, second = sealed([body(0), body(1)])
    scanner = scan([first, second.replace(b"message ", b"massage "), second])
    assert ids(scanner) == [0, 1]
    assert scanner.index.columns.offsets[scanner.index.live[1]] == len(first) + len(second)
    assert ("repeated", 2, len(first)) in found(scanner)


def test_a_message_that_names_itself_nowhere_is_found_by_the_id_that_it_is_given() -> None:
    """Also where it ends as one does that has an id."""
    (line,) = sealed([b'{"role":"user","content":"hello","metadata":{"anything":"as long as an id would be"}'])
    scanner = scan([line])
    derived = message_id_of(decode(line), line, 0)
    assert found(scanner) == []
    assert scanner.index.find(derived) == 0


def test_an_index_of_another_history_is_not_filled() -> None:
    """One whose messages stand elsewhere, or are live in another number, is left as it is."""
    builder = scan(sealed([body(0), body(1)])).builder
    same, own = scan(sealed([body(0), body(1)])).index, builder.index
    own.session.viewed_at = "2026-01-02"
    for other in (scan(sealed([body(0)])).index, scan(sealed([body(1, text="longer"), body(0)])).index):
        assert not builder.adopt(other)
        assert builder.index is own
    assert builder.adopt(same)
    assert builder.index is same
    assert same.session.viewed_at == "2026-01-02"


def test_without_a_place_a_record_is_at_0() -> None:
    """Until it is told where a record lies."""
    builder = IndexBuilder()
    builder.report("unreadable", "nothing")
    assert builder.index.damage == [Damage(0, 0, "unreadable", "nothing", 0)]
    builder.message({"role": "user"}, "id-0", 0)
    index = builder.index
    assert [
        *index.columns.offsets,
        *index.columns.lengths,
        *index.columns.seeds,
        *index.columns.checks,
        *index.columns.answered_by,
    ] == [0] * 5


def test_messages_with_the_same_id_are_live_unless_they_are_doubtful() -> None:
    """A sound line is what its writer meant, whatever its id."""
    builder = IndexBuilder()
    for doubtful in ({}, {}, {"doubtful": True}):
        builder.message({"role": "user"}, "id-0", 0, **doubtful)
    assert list(builder.index.live) == [0, 1]
    assert [builder.index.is_held(ordinal) for ordinal in range(3)] == [True, True, False]
    assert builder.index.find("id-0") == 1


def test_nobody_holds_a_message_of_a_reset_that_is_not_in_force() -> None:
    """It is not found by its id, either."""
    index = scan(sealed([body(0), *reset_bodies("r", body(1), body(2), upto="id-0")[:2]])).index
    assert [index.is_held(ordinal) for ordinal in range(2)] == [True, False]
    assert index.find("id-1") is None


def test_who_was_asked_is_known_until_an_answer_comes() -> None:
    """Also where the answer has to be parsed; one of a reset answers no request."""
    receipt = encode_control("view", id="v", provider="p", model="m")
    answer = {"role": "assistant", "content": "Yes.", "metadata": {"pinned": True}}
    pinned = encode_message(answer, message_id="id-2", timestamp=STAMP)
    scanner = scan(sealed([body(0), receipt]))
    assert scanner.index.models[scanner.builder.session.pending_model] == ("p", "m")
    scanner.feed(b"".join(sealed([pinned, pinned], scanner.seed)))
    assert [scanner.index.model_of(ordinal) for ordinal in range(3)] == [("", ""), ("p", "m"), ("", "")]
    assert scanner.builder.session.pending_model == 0
    inside = scan(sealed([body(0), receipt, *reset_bodies("r", pinned, upto="id-0")]))
    assert inside.index.model_of(1) == ("", "")
    assert inside.index.models[inside.builder.session.pending_model] == ("p", "m")


@pytest.mark.parametrize("asked", [-1, 2])
def test_a_snapshot_with_a_model_that_is_not_known_is_refused(asked: int) -> None:
    """The index has the names of those that were asked."""
    scanner = scan(sealed([encode_control("view", provider="p", model="m")]))
    builder, snapshot = IndexBuilder(scanner.index), scanner.builder.snapshot()
    builder.restore(snapshot)
    assert builder.session.pending_model == 1
    with pytest.raises(ValueError, match="not known"):
        builder.restore({**snapshot, "pending_model": asked})
