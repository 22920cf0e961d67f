"""What each kind of record does to the index."""

from amplifier_module_context_persistent.log.record import encode_control
from tests.support.logs import body, reset_bodies, sealed
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
    assert index.version == 2
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


def test_the_version_is_the_highest_of_a_sound_header() -> None:
    """Not the last one's, and not that of a header whose checksum does not hold."""
    headers = [encode_control("header", version=version) for version in (1, 2, 1)]
    assert scan(sealed(headers)).index.version == 2
    broken = [line.replace(b'"version":2', b'"version":77') for line in sealed(headers)]
    assert scan(broken).index.version == 1
    assert scan(sealed([encode_control("header", version="9")])).index.version == 0


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


def test_an_old_commit_that_is_sound_must_be_of_the_reset_before_it() -> None:
    """One with another id commits nothing where fewer records stand than the reset had."""
    bodies = [body(0), encode_control("reset", id="r", count=2), body(1), encode_control("commit", id="x"), body(2)]
    assert ids(scan(sealed(bodies)))[:1] == [0]
    assert scan(sealed(bodies)).index.damage
