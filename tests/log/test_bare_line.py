"""A plain line of the older module is read quickly, and exactly as any other line is read."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.bare_line import id_hash_of_bare, is_plain_user, role_of_plain
from amplifier_module_context_persistent.log.record import encode_message, seal
from amplifier_module_context_persistent.log.scanner import Scanner
from amplifier_module_context_persistent.messages.metadata import is_human
from tests.support.logs import body

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["content", "metadata", "tool_calls", "_crc", "_json", "_record", "_reset", "role", "name"])
ROLES = st.sampled_from(["user", "assistant", "tool", "system", "nobody", "", 7, None, ["user"]])
METADATA = st.dictionaries(
    st.sampled_from(["message_id", "pinned", "critical", "timestamp", "source"]), VALUES, max_size=3
)
MESSAGES = st.builds(
    lambda role, rest, metadata: {"role": role, **rest, **({"metadata": metadata} if metadata is not None else {})},
    ROLES,
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.none() | METADATA,
)


def slowly(lines: list[bytes]) -> Scanner:
    """Scan lines one by one by the way that any line can go."""
    scanner = Scanner()
    for number, line in enumerate(lines, 1):
        scanner.take(line, number, scanner.offset)
        scanner.offset += len(line) + 1
    return scanner


def quickly(lines: list[bytes]) -> Scanner:
    scanner = Scanner()
    scanner.feed(b"".join(line + b"\n" for line in lines))
    return scanner


def all_of(scanner: Scanner) -> tuple[Any, ...]:
    scanner.index.plain_users = bytearray()  # what the slow way does not find out
    return scanner.index, scanner.snapshot(), scanner.seed, scanner.offset, scanner.line


def as_line(message: Any, style: int) -> bytes:
    separators = ((",", ":"), (", ", ": "))[style % 2]
    return json.dumps(message, ensure_ascii=style % 3 == 0, separators=separators).encode("utf-8", "surrogatepass")


@settings(max_examples=400, deadline=None)
@given(messages=st.lists(MESSAGES, min_size=1, max_size=5), styles=st.integers(0, 5), chained=st.integers(0, 6))
def test_it_finds_what_the_slow_way_finds(messages: list[Any], styles: int, chained: int) -> None:
    """Whatever stands in the line, and wherever a chained record comes."""
    lines = [as_line(message, styles) for message in messages]
    if chained < len(lines):
        lines.insert(chained, seal(body(chained), 0)[0].rstrip(b"\n"))
    assert all_of(quickly(lines)) == all_of(slowly(lines))


@pytest.mark.parametrize("deep", [100, 253, 254, 255, 300, 600])
@pytest.mark.parametrize("kind", ["[", "{"])
def test_a_line_that_is_nested_deeply_is_read_alike(deep: int, kind: str) -> None:
    """Or refused alike."""
    inner = "[" * deep + "]" * deep if kind == "[" else '{"a":' * deep + "1" + "}" * deep
    lines = [f'{{"role": "user", "content": {inner}}}'.encode(), b'{"role":"user","content":"a"}']
    assert all_of(quickly(lines)) == all_of(slowly(lines))


@pytest.mark.parametrize("digits", [10, 25, 400, 5000])
def test_long_numbers_are_read_alike(digits: int) -> None:
    """Those that one parser refuses and the other does not."""
    lines = [
        b'{"role": "user", "content": %s}' % (b"1" * digits),
        b'{"role":"user","content":NaN}',
        b'{"role":"user"}\r',
    ]
    assert all_of(quickly(lines)) == all_of(slowly(lines))


def test_a_chained_line_with_a_flipped_bit_in_its_checksum_is_no_plain_line() -> None:
    """Each bit of its end: it is looked at closely."""
    line = seal(body(1), 0)[0].rstrip(b"\n")
    for bit in range(8 * 19):
        flipped = bytearray(line)
        flipped[len(line) - 19 + bit // 8] ^= 1 << bit % 8
        lines = [bytes(flipped), b'{"role":"user","content":"a"}']
        if b"\n" not in lines[0]:
            assert all_of(quickly(lines)) == all_of(slowly(lines))


def test_a_plain_line_is_read_quickly() -> None:
    """What the comparisons above are about is taken by the quick way."""
    line = b'{"role": "tool", "content": "x", "metadata": {"timestamp": "t"}}'
    index = slowly([line]).index
    assert (index.roles[0], index.id_hashes[0]) == (role_of_plain(line), id_hash_of_bare(line, 0))
    assert id_hash_of_bare(line, 5) != id_hash_of_bare(line, 0)


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize(
    ("message", "plain"),
    [
        ({"content": "a"}, True),
        ({"content": [{"type": "text", "text": "a"}], "metadata": {"timestamp": "t"}}, True),
        ({"content": "a", "metadata": {"source": "hook"}}, False),
        ({"content": "a", "metadata": {"ephemeral": True}}, False),
        ({"content": "<system-reminder>a"}, False),
        ({"role": "assistant", "content": "a"}, False),
    ],
)
def test_of_plain_users_messages_it_is_known_that_a_person_wrote_them(
    message: dict[str, Any], plain: bool, sealed: bool
) -> None:
    """Others may be a person's too, and are read to find out."""
    message = {"role": "user", **message}
    body = encode_message(message, message_id="m1", timestamp="t")
    line = seal(body, 0)[0] if sealed else json.dumps(message).encode() + b"\n"
    scanner = quickly([line.rstrip(b"\n")])
    assert list(scanner.index.plain_users) == [plain]
    assert is_human(message) or not plain


@settings(deadline=None)
@given(message=MESSAGES)
def test_who_is_no_person_is_never_taken_for_one(message: dict[str, Any]) -> None:
    """However the line is written."""
    for style in range(6):
        line = as_line({**message, "role": "user"}, style)
        assert not is_plain_user(line) or is_human(json.loads(line))
    escaped = json.dumps({"role": "user", "content": "<system-reminder>"}).replace("<", "\\u003c").encode()
    assert not is_plain_user(escaped)
