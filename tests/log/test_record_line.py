"""Records: what goes in comes out, or is refused with the way to it."""

import json
import math
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.errors import RecordError
from amplifier_module_context_persistent.log.checksum import has_crc, seal, stored_crc
from amplifier_module_context_persistent.log.record_limits import MAX_READ_DEPTH
from amplifier_module_context_persistent.log.record_line import (
    RESERVED_KEYS,
    Member,
    decode,
    encode_control,
    encode_message,
    has_misplaced_crc,
    member_of,
)
from tests.support.logs import STAMP

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text()
    | st.text(st.characters(categories=["Cs", "Lu"]), max_size=4)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FREE_KEYS = st.text(max_size=8).filter(lambda key: key not in {"role", "metadata", *RESERVED_KEYS})


def stored(message: Any) -> dict[str, Any]:
    """What a reader gets of a message, without what the log stamps."""
    line, _ = seal(encode_message(message, message_id="an-id", timestamp=STAMP), 7)
    value = decode(line)
    assert value["metadata"].pop("message_id") == "an-id"
    assert value["metadata"].pop("timestamp")
    return value


def joined(value: Any) -> Any:
    """A value as JSON has it: halves of a surrogate pair side by side are one character."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    if isinstance(value, list):
        return [joined(item) for item in value]
    if isinstance(value, dict):
        return {joined(key): joined(item) for key, item in value.items()}
    return value


def same(a: Any, b: Any) -> bool:
    """Equality that knows NaN, the sign of zero, and True from 1."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return bool(a == b)


@given(st.dictionaries(FREE_KEYS, VALUES, max_size=4), st.dictionaries(FREE_KEYS, VALUES, max_size=3))
def test_any_json_comes_back_as_it_was_given(fields: dict[str, Any], metadata: dict[str, Any]) -> None:
    """Whatever JSON holds is read back equal, in type and value."""
    metadata = {key: value for key, value in metadata.items() if key not in ("message_id", "timestamp")}
    given = {"role": "assistant", **fields, "metadata": metadata}
    expected = joined(given)
    if len(expected) == len(given) and len(expected["metadata"]) == len(metadata):  # joined keys may fall together
        assert same(stored(given), expected)


@given(st.dictionaries(FREE_KEYS, VALUES, max_size=4))
def test_a_line_is_one_line_of_strict_utf8_json(fields: dict[str, Any]) -> None:
    """Any JSON reader can read a line, and its checksum is the one of the specification."""
    line, crc = seal(encode_message({"role": "user", **fields}, message_id="x", timestamp=STAMP), 99)
    assert line.count(b"\n") == 1
    assert json.loads(line.decode("utf-8"))["_crc"] == f"{crc:08x}"
    assert crc == zlib.crc32(line[:-20] + b"}", 99)


@pytest.mark.parametrize(
    "value",
    [2**63, 2**64, -(2**63) - 1, 10**400, math.inf, -math.inf, "\ud800", {"\udfff": 1}, [{"a": [2**80]}], -0.0, 1e300],
)
def test_values_that_a_fast_writer_alters_come_back(value: Any) -> None:
    """Big integers, infinities and lone surrogates are neither altered nor refused."""
    assert same(stored({"role": "user", "content": value})["content"], value)


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "123456789012345678901",
        "-9223372036854775809",
        "18446744073709551615",
        "1e19",
        "1e400",
        "-0.0",
        '"\\ud800"',
    ],
)
@pytest.mark.parametrize("place", ['{"role":"user","content":%s}', '{"a":{"b":[[1,{"c":%s}]]}}', '{"a":[%s,"x"]}'])
def test_a_line_of_another_program_is_read_as_json_says(text: str, place: str) -> None:
    """Each number as it stands, whatever its size."""
    line = place % text
    assert repr(decode(line.encode())) == repr(json.loads(line))


def test_nan_comes_back_and_none_stays_none() -> None:
    """NaN is not turned into null, and null not into NaN."""
    content = stored({"role": "user", "content": [math.nan, None, "null"]})["content"]
    assert math.isnan(content[0])
    assert content[1:] == [None, "null"]


@pytest.mark.parametrize(
    ("value", "marked"), [(1, False), (None, False), ("null", False), (math.nan, True), (2**64, True)]
)
def test_only_lines_that_need_it_are_marked(value: Any, marked: bool) -> None:
    """`_json` stands in the lines that a fast reader would misread, and in no other."""
    line, _ = seal(encode_message({"role": "user", "content": value}, message_id="x", timestamp=STAMP), 0)
    assert (b',"_json":1,"_crc":"' in line) is marked


def test_a_number_of_too_many_digits_is_refused() -> None:
    """The interpreter converts no more than it is set to."""
    with pytest.raises(RecordError, match=r"cannot be written"):
        encode_message({"role": "user", "content": 10**5000}, message_id="x", timestamp=STAMP)


def test_reserved_keys_are_free_below_the_top_level() -> None:
    """Only a top-level key is reserved."""
    content = {"_crc": "12345678", "_record": "x", "_json": 1}
    assert stored({"role": "user", "content": content})["content"] == content


def test_the_message_is_not_altered() -> None:
    """Encoding leaves the caller's message as it was."""
    message = {"role": "user", "metadata": {"pinned": True, "b": [1]}, "content": "x"}
    copy = {"role": "user", "metadata": {"pinned": True, "b": [1]}, "content": "x"}
    encode_message(message, message_id="x", timestamp=STAMP)
    assert message == copy
    assert list(message) == list(copy)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({}, STAMP),
        ({"metadata": None}, STAMP),
        ({"timestamp": "2020-01-01T00:00:00Z"}, "2020-01-01T00:00:00Z"),
        ({"metadata": {"timestamp": "2021"}, "timestamp": "2020"}, "2021"),
        ({"metadata": {"timestamp": None}}, STAMP),
        *(({"metadata": {"timestamp": given}}, given) for given in (0, "", False, 17.5, [], {"at": 1})),
        *(({"metadata": {"timestamp": given}, "timestamp": "2020"}, given) for given in (0, "", False)),
    ],
)
def test_a_timestamp_that_is_there_is_kept(message: dict[str, Any], expected: Any) -> None:
    """Whatever it is; the log stamps the time only where the message has none."""
    line, _ = seal(encode_message({"role": "user", **message}, message_id="x", timestamp=STAMP), 0)
    assert decode(line)["metadata"]["timestamp"] == expected


@pytest.mark.parametrize("given", [5, 0, "", False, True, ["a"], {"id": "a"}, 2**70])
def test_what_is_given_as_an_id_and_is_none_is_kept_beside_it(given: Any) -> None:
    """Ids are texts that are not empty; nothing else is replaced in silence."""
    message = {"role": "user", "metadata": {"message_id": given}}
    line, _ = seal(encode_message(message, message_id="x", timestamp=STAMP), 0)
    assert decode(line)["metadata"] == {"given_message_id": given, "timestamp": STAMP, "message_id": "x"}
    for absent in ({}, {"message_id": None}, {"message_id": "old"}):
        line, _ = seal(encode_message({"role": "user", "metadata": absent}, message_id="x", timestamp=STAMP), 0)
        assert decode(line)["metadata"] == {"timestamp": STAMP, "message_id": "x"}


def test_keys_stand_in_the_order_that_readers_may_rely_on() -> None:
    """The role is first; timestamp, true marks and the id are last."""
    metadata = {"message_id": "old", "critical": True, "z": 1, "timestamp": "t", "pinned": True}
    encoded = encode_message(
        {"content": 1, "metadata": metadata, "role": "user", "a": 2}, message_id="new", timestamp=""
    )
    assert encoded == (
        b'{"role":"user","content":1,"a":2,'
        b'"metadata":{"z":1,"timestamp":"t","pinned":true,"critical":true,"message_id":"new"}'
    )
    odd = encode_message({"role": "user", "metadata": {"pinned": 1, "z": 2}}, message_id="x", timestamp="t")
    assert odd == b'{"role":"user","metadata":{"pinned":1,"z":2,"timestamp":"t","message_id":"x"}'


def test_control_records_begin_with_their_kind() -> None:
    """A control record is known by its first key."""
    line, _ = seal(encode_control("reset", id="a", count=2**65), 0)
    assert line.startswith(b'{"_record":"reset","id":"a"')
    assert decode(line) == {"_record": "reset", "id": "a", "count": 2**65}


@pytest.mark.parametrize("line", [b"null", b"[]", b"1", b'"x"', b"", b"{", b"\xff{}", b'{"a":"\xff"}', b"[" * 100_000])
def test_what_is_no_object_is_a_value_error(line: bytes) -> None:
    """Every unreadable line fails alike."""
    with pytest.raises(ValueError):  # noqa: PT011 - any of its kind
        decode(line)
    with pytest.raises(ValueError):  # noqa: PT011
        decode(line + b',"_crc":"00000000"}')


@pytest.mark.parametrize(
    ("tail", "crc"),
    [
        (b',"_crc":"0000002a"}', 42),
        (b',"_crc":"0000002A"}', None),
        (b',"_crc":"+000002a"}', None),
        (b',"_crc":"0x00002a"}', None),
        (b',"_crc":"00_0002a"}', None),
        (b',"_crc":" 000002a"}', None),
        (b',"_CRC":"0000002a"}', None),
        (b"}", None),
    ],
)
def test_a_checksum_is_eight_lower_case_digits(tail: bytes, crc: int | None) -> None:
    """What a flipped bit makes of a checksum is not taken for the same checksum."""
    assert stored_crc(b'{"role":"user"' + tail) == crc
    assert has_crc(b'{"role":"user"' + tail) or crc is None


@pytest.mark.parametrize("opened", [b"[", b'{"a":'])
def test_what_is_nested_deeper_than_can_be_written_again_is_no_record(opened: bytes) -> None:
    """By any version of Python, and with or without a checksum."""
    closed = b"]" if opened == b"[" else b"}"

    def line(levels: int) -> bytes:
        return b'{"role":"user","content":' + opened * levels + b"1" + closed * levels + b"}"

    assert decode(line(MAX_READ_DEPTH - 1))["role"] == "user"
    for levels in (MAX_READ_DEPTH, 900, 5_000):
        for written in (line(levels), line(levels)[:-1] + b',"_crc":"00000000"}'):
            with pytest.raises(ValueError, match=r"nested too deeply|limit"):
                decode(written)
    assert decode(b'{"content":' + b"[" + b"[]," * 5_000 + b"[]]}")


MESSAGE: dict[str, Any] = {"role": "user", "content": "text"}


def line_of(message: dict[str, Any], member: Member | None) -> bytes:
    """The line of a message, without LF."""
    line, _ = seal(encode_message(message, message_id="x", timestamp=STAMP, member=member), 0)
    return line[:-1]


@pytest.mark.parametrize("reset_id", ["r", "", 'quo"te', "back\\slash", "ünï", '",3]', "7"])
@pytest.mark.parametrize("number", [0, 7, 999_999_999])
@pytest.mark.parametrize("content", ["text", 2**70])
def test_a_membership_is_read_and_is_no_part_of_the_message(reset_id: str, number: int, content: Any) -> None:
    """Whatever the reset's id is, with and without LF, and in a line that the standard library wrote."""
    line = line_of({"role": "user", "content": content}, Member(reset_id, number))
    assert member_of(line) == Member(reset_id, number)
    expected = {
        "role": "user",
        "content": content,
        "metadata": {"timestamp": STAMP, "message_id": "x"},
    }
    assert decode(line) == decode(line + b"\n") == expected


def test_what_was_written_by_hand_is_no_membership() -> None:
    """A line without a checksum keeps its `_reset`; a membership of another shape is none."""
    by_hand = b'{"role":"user","_reset":["r",0]}'
    assert member_of(by_hand) is None
    assert decode(by_hand)["_reset"] == ["r", 0]
    for reset in (b'["r"]', b'["r",-1]', b'["r",1234567890]', b'[["r"],1]', b'["\\ud8",1]'):
        line, _ = seal(b'{"role":"user","_reset":' + reset, 0)
        assert member_of(line[:-1]) is None, reset
    assert member_of(line_of(MESSAGE, None)) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"_crc":"00000000","role":"user"}', True),
        (b'{"role":"user", "_crc": "00000000", "content": "edited"}', True),
        (b'{"role":"user","content":"text"}', False),
        (b'{"role":"user","content":{"_crc":"00000000"}}', False),
        (b'{"role":"user","content":"\\"_crc\\""}', False),
        (b'["_crc"]', False),
        (b'"_crc"', False),
        (b'{"_crc":"0000', False),
        (b'{"_crc":"\xff"}', False),
    ],
)
def test_a_checksum_that_is_not_at_the_end_is_told(line: bytes, expected: bool) -> None:
    """Of the message itself, in whatever order and spacing; not of what the message holds."""
    assert has_misplaced_crc(line) is expected


@pytest.mark.parametrize("before", [0, 1, (1 << 20) - 10, (1 << 20) - 1, 1 << 20])
def test_a_long_number_is_read_exactly_wherever_it_is(before: int) -> None:
    """Also over the border of two blocks of the search for it."""
    line = b'{"role":"user","content":"' + b"x" * before + b'","n":-9223372036854775809}'
    assert decode(line)["n"] == -(2**63) - 1
