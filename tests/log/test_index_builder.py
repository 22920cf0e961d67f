"""What each kind of record does to the index."""

import pytest

from amplifier_module_context_persistent.log.index import Damage
from amplifier_module_context_persistent.log.index_builder import IndexBuilder
from amplifier_module_context_persistent.log.record import encode_control, encode_message
from tests.support.logs import STAMP, body, reset_bodies, sealed
from tests.support.scans import found, ids, scan

USAGE = {"provider": "p", "model": "m", "actual_tokens": 5}


def test_every_kind_of_control_record_is_known_and_counted() -> None:
    """Headers, the plan in force, usage by model, head texts and pins; an unknown kind is only counted."""
    header = encode_control("header", version=2, log_id="l")
    controls = [
        encode_control("plan", id="old"),
        encode_control("plan", id="p"),
        encode_control("usage", provider="p", model="m", actual_tokens=1),
        encode_control("usage", **USAGE),
        encode_control("usage", provider="p", model="other"),
        encode_control("system", hash="h", text="t"),
        encode_control("pin", message_id="id-1", pinned=True),
        encode_control("pin", message_id="id-2", pinned=True),
        encode_control("pin", message_id="id-1", pinned=False),
        encode_control("of a later version"),
    ]
    index = scan(sealed([header, *map(body, range(4)), *controls])).index
    assert index.unknown_version == ""
    assert [value["log_id"] for value in index.headers] == ["l"]
    assert index.plan is not None
    assert index.plan["id"] == "p"
    assert index.usage["p", "m"]["actual_tokens"] == 5
    assert set(index.usage) == {("p", "m"), ("p", "other")}
    assert index.heads == {"h"}
    assert index.pins == {2}
    assert index.control_counts == {
        "header": 1, "plan": 2, "usage": 3, "system": 1, "pin": 3, "of a later version": 1,
    }  # fmt: skip


def test_a_reset_voids_the_plan_and_the_pins_of_what_it_hides() -> None:
    """What the plan and the pins named is live no more."""
    pins = [encode_control("pin", message_id=f"id-{number}", pinned=True) for number in (0, 2)]
    before = [*map(body, range(4)), encode_control("plan", id="p"), *pins]
    index = scan(sealed([*before, *reset_bodies("r", encode_control("keep", numbers=[0, 1]), upto="id-3")])).index
    assert index.plan is None
    assert index.pins == {0}


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


def test_without_a_place_a_record_is_at_0() -> None:
    """Until it is told where a record lies."""
    builder = IndexBuilder()
    builder.report("unreadable", "nothing")
    assert builder.index.damage == [Damage(0, 0, "unreadable", "nothing", 0)]
    builder.message({"role": "user"}, "id-0", 0)
    index = builder.index
    assert [*index.offsets, *index.lengths, *index.seeds, *index.checks, *index.answered_by] == [0] * 5


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
    assert scanner.index.models[scanner.builder.pending_model] == ("p", "m")
    scanner.feed(b"".join(sealed([pinned, pinned], scanner.seed)))
    assert [scanner.index.model_of(ordinal) for ordinal in range(3)] == [("", ""), ("p", "m"), ("", "")]
    assert scanner.builder.pending_model == 0
    inside = scan(sealed([body(0), receipt, *reset_bodies("r", pinned, upto="id-0")]))
    assert inside.index.model_of(1) == ("", "")
    assert inside.index.models[inside.builder.pending_model] == ("p", "m")


@pytest.mark.parametrize("asked", [-1, 2])
def test_a_snapshot_with_a_model_that_is_not_known_is_refused(asked: int) -> None:
    """The index has the names of those that were asked."""
    scanner = scan(sealed([encode_control("view", provider="p", model="m")]))
    builder, snapshot = IndexBuilder(scanner.index), scanner.builder.snapshot()
    builder.restore(snapshot)
    assert builder.pending_model == 1
    with pytest.raises(ValueError, match="not known"):
        builder.restore({**snapshot, "pending_model": asked})
