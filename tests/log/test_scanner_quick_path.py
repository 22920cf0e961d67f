"""Which lines a scan takes without parsing them; a long log is opened quickly because nearly all of its lines are such.

What is taken quickly and what is parsed give the same index.
"""

import json
from typing import Any

import pytest

from amplifier_module_context_persistent.log import scanner as scanner_module
from amplifier_module_context_persistent.log.index import ROLE_CODES
from amplifier_module_context_persistent.log.record import ROLES, encode_control, encode_message
from amplifier_module_context_persistent.log.scanner import Scanner
from tests.support.logs import STAMP, body, sealed
from tests.support.scans import found, scan
from tests.support.snapshots import columns_of


def refuse(line: bytes) -> dict[str, Any]:
    raise AssertionError(f"parsed: {line!r}")


@pytest.fixture
def unparsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line may be parsed."""
    monkeypatch.setattr(scanner_module, "decode", refuse)


def message(role: str = "user", name: str = "id-0", **fields: Any) -> bytes:
    return encode_message({"role": role, **fields}, message_id=name, timestamp=STAMP)


@pytest.mark.usefixtures("unparsed")
@pytest.mark.parametrize("piece", [1, 100])
def test_sound_messages_and_receipts_are_not_parsed(piece: int) -> None:
    """Messages of every role, with ids of any length, and receipts between them."""
    receipt = encode_control("view", id="v", provider="p", model="m", hash="0")
    names = ["i", "id-1", "ünï", "x" * 500]
    bodies = [line for role in ROLES for name in names for line in (message(role, name, content="text"), receipt)]
    scanner = scan(sealed(bodies), piece=piece)
    assert list(scanner.index.roles) == [ROLE_CODES[role] for role in ROLES for _ in names]
    assert scanner.index.control_counts == {"view": len(bodies) // 2}
    assert scanner.line == len(bodies)
    assert found(scanner) == []


@pytest.mark.usefixtures("unparsed")
def test_a_line_of_the_most_bytes_is_not_parsed() -> None:
    """Its LF counts; a longer one is skipped, and not parsed either."""
    line = sealed([message(content="x" * 500)])[0]
    assert found(scan([line], max_record_bytes=len(line))) == []
    assert found(scan([line], max_record_bytes=len(line) - 2)) == [("oversized", 1, 0)]


@pytest.mark.parametrize(
    "one",
    [
        message(metadata={"pinned": True}),
        message(name="back\\slash"),
        message(name='quo"te'),
        encode_control("plan", id="p"),
        encode_control("view", id="v", provider='quo"te', hash="0"),
    ],
)
def test_a_line_that_may_mean_more_is_parsed(monkeypatch: pytest.MonkeyPatch, one: bytes) -> None:
    """Pins, ids and names with escapes, other control records: the tests above can fail."""
    monkeypatch.setattr(scanner_module, "decode", refuse)
    with pytest.raises(AssertionError, match="parsed"):
        scan(sealed([body(1), one]))


def test_what_is_not_parsed_is_indexed_as_if_it_were() -> None:
    """Line by line through `take`, the same columns come out, but for the one that is known of quick lines only."""
    receipt = encode_control("view", id="v", provider="p", model="m", hash="0")
    bare = [json.dumps({"role": role, "content": "text"}).encode() + b"\n" for role in ROLES]
    quick = scan(bare)
    lines = [*bare, *sealed([receipt, *(message(role, f"id-{role}", content="x") for role in ROLES)], quick.seed)]
    quick.feed(b"".join(lines[len(bare) :]))
    slow, offset = Scanner(), 0
    for number, line in enumerate(lines, 1):
        slow.take(line[:-1], number, offset)
        offset += len(line)
    expected, columns = columns_of(slow.index), columns_of(quick.index)
    assert [n for n, plain in enumerate(columns.pop("plain_users")) if plain] == [8]
    assert columns == {name: expected[name] for name in columns}
    assert slow.seed == quick.seed


@pytest.mark.parametrize(
    "first", [body(0), encode_control("view", id="v"), encode_control("view", id="v", provider="p")]
)
def test_any_sound_record_begins_the_chain(first: bytes) -> None:
    """A line without a checksum after it is reported."""
    bare = b'{"role": "user", "content": "text"}\n'
    assert [kind for kind, *_ in found(scan([*sealed([first]), bare]))] == ["unchained"]
    assert found(scan([bare, bare])) == []
