"""The scanner: what it makes of sound lines, of every kind of damage, and of resets."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import pytest

from amplifier_module_context_persistent.log import scanner as scanner_module
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.index import DAMAGED, PINNED, ROLE_CODES, UNCHAINED
from amplifier_module_context_persistent.log.read_back import fetch_lines, parsed
from amplifier_module_context_persistent.log.record_line import ROLES, encode_control, encode_message, message_id_of
from amplifier_module_context_persistent.log.scanner import Scanner, whole_lines
from tests.support.logs import STAMP, body, sealed
from tests.support.scans import found, ids, scan
from tests.support.snapshots import columns_of


def offset_of(lines: Sequence[bytes], line: int) -> int:
    """Where the n-th line, counted from 1, begins."""
    return sum(map(len, lines[: line - 1]))


@pytest.fixture
def six() -> list[bytes]:
    """Six sound lines."""
    return sealed([body(number) for number in range(6)])


# -- sound logs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [1, 2, 6])
def test_sound_lines_are_read_without_a_finding(six: list[bytes], piece: int) -> None:
    """However the blocks are cut, every record is live and has its place."""
    scanner = scan(six, piece=piece)
    assert ids(scanner) == [0, 1, 2, 3, 4, 5]
    assert found(scanner) == []
    assert (scanner.offset, scanner.line) == (sum(map(len, six)), 6)
    assert [scanner.index.columns.offsets[n] for n in range(6)] == [offset_of(six, n + 1) for n in range(6)]
    assert list(scanner.index.columns.lengths) == list(map(len, six))
    assert scanner.seed == int(json.loads(six[-1])["_crc"], 16)


@pytest.mark.parametrize("role", ROLES)
def test_every_role_is_told(role: str) -> None:
    """Roles are read from the head of the line, and by parsing where the line is not ours."""
    line = sealed([encode_message({"role": role}, message_id="id-0", timestamp=STAMP)])[0]
    for one in (line, b'{"content":1,"role":"%s"}\n' % role.encode()):
        assert scan([one]).index.columns.roles[0] == ROLE_CODES[role]


@pytest.mark.parametrize(
    ("metadata", "pinned"),
    [
        ({"pinned": True}, True),
        ({"critical": True}, True),
        ({"pinned": True, "critical": True}, True),
        ({"pinned": True, "critical": False, "timestamp": "t" * 2_000}, True),
        ({"pinned": False}, False),
        ({"pinned": 1}, False),
        ({"other": True}, False),
        ({"other": {"pinned": True}}, False),
        ({"timestamp": True}, False),
    ],
)
def test_pins_are_told_without_parsing_and_with(metadata: dict[str, Any], pinned: bool) -> None:
    """A true `pinned` or `critical` in the metadata is seen wherever it stands."""
    message = {"role": "user", "content": '"pinned":true,"message_id":"', "metadata": metadata}
    ours = sealed([encode_message(message, message_id="id-0", timestamp=STAMP)])[0]
    bare = json.dumps(message).encode() + b"\n"
    for line in (ours, bare):
        assert bool(scan([line]).index.columns.flags[0] & PINNED) is pinned


@pytest.mark.parametrize("name", ["a", "x" * 500, 'quo"te', "back\\slash", "ünï", "\ud800", "\n", ""])
def test_every_id_is_found(name: str) -> None:
    """Ids of any length and content are found again."""
    lines = sealed([body(1), encode_message({"role": "user"}, message_id=name, timestamp=STAMP), body(2)])
    scanner = scan(lines)
    if name:
        assert scanner.index.find(name) == 1
    assert scanner.index.find("id-2") == 2
    assert found(scanner) == []


def test_an_id_within_the_content_is_not_the_id() -> None:
    """Only the id that the log stamped names a record."""
    message = {"role": "user", "content": {"message_id": "false"}, "metadata": {"x": {"message_id": "false"}}}
    scanner = scan(sealed([encode_message(message, message_id="true", timestamp=STAMP)]))
    assert scanner.index.find("true") == 0
    assert scanner.index.find("false") is None


def test_control_records_are_counted_and_headers_and_the_last_plan_kept() -> None:
    """Kinds that are not known are kept and ignored."""
    kinds = [("header", {"session_id": "s"}), ("plan", {"n": 1}), ("strange", {}), ("plan", {"n": 2}), ("view", {})]
    scanner = scan(sealed([encode_control(kind, **fields) for kind, fields in kinds] + [body(1)]))
    assert scanner.index.control_counts == {"header": 1, "plan": 2, "strange": 1, "view": 1}
    assert scanner.index.headers == [{"_record": "header", "session_id": "s"}]
    assert scanner.index.session.plan == {"_record": "plan", "n": 2}
    assert (ids(scanner), found(scanner)) == ([1], [])


def test_an_answer_is_known_by_the_request_before_it() -> None:
    """Who was asked is read from receipts, those that have to be parsed too, and holds for one answer."""
    receipts: list[dict[str, Any]] = [
        {"id": "r1", "provider": "anthropic", "hash": "0"},
        {"id": "r2", "provider": "openai", "model": "gpt-5", "hash": "0"},
        {"id": "r3", "provider": 'a "b"', "model": "m\\n", "hash": "0"},
        {"id": "r4", "hash": "0"},
    ]
    bodies = []
    for number, receipt in enumerate(receipts):
        question = encode_message(
            {"role": "user", "content": ',"provider":"x"'}, message_id=f"u{number}", timestamp=STAMP
        )
        answers = [
            encode_message({"role": "assistant", "content": "Yes."}, message_id=f"id-{number}-{n}", timestamp=STAMP)
            for n in range(2)
        ]
        bodies += [question, encode_control("view", **receipt), *answers]
    for piece in (1, 100):
        index = scan(sealed(bodies), piece=piece).index
        known = [
            index.model_of(ordinal)
            for ordinal in range(len(index))
            if index.columns.roles[ordinal] == ROLE_CODES["assistant"]
        ]
        nobody = ("", "")
        assert known[0::2] == [("anthropic", ""), ("openai", "gpt-5"), ('a "b"', "m\\n"), nobody]
        assert known[1::2] == [nobody] * 4


@pytest.mark.parametrize(
    "more", [{}, {"provider": "p"}, {"provider": 'a "b"'}, {"provider": "p", "render": {"line": "x"}}]
)
def test_when_the_last_request_was_made_is_known(more: dict[str, Any]) -> None:
    """From receipts that are parsed and others; one that does not say it changes nothing."""
    first, last = (encode_control("view", id=name, **more, time=f"2026-{name}") for name in ("01", "02"))
    silent = encode_control("view", id="03", **more)
    for piece in (1, 100):
        assert scan(sealed([first, body(0), last, silent]), piece=piece).index.session.viewed_at == "2026-02"


def test_there_are_codes_for_so_many_names_and_none_for_more() -> None:
    """A log that names more providers than a byte can tell apart leaves the others unknown."""
    answer = {"role": "assistant", "content": "Yes."}
    bodies = []
    for number in range(300):
        receipt = encode_control("view", id=f"r{number}", provider=f"p{number}", hash="0")
        bodies += [receipt, encode_message(answer, message_id=f"id-{number}", timestamp=STAMP)]
    index = scan(sealed(bodies)).index
    assert [index.model_of(n)[0] for n in range(300)] == [*(f"p{n}" for n in range(255)), *[""] * 45]


# -- lines of the older module -----------------------------------------------------------------------------------------


def bare(number: int) -> bytes:
    return b'{"role": "user", "content": "message %d", "timestamp": "2025"}\n' % number


def test_bare_lines_are_records_and_the_chain_goes_on_behind_them() -> None:
    """A log of the older module is sound, gets derived ids, and is continued by chained records."""
    lines = [bare(0), bare(1)]
    scanner = scan(lines)
    more = sealed([body(2), body(3)], scanner.seed)
    for piece in (1, 4):
        both = scan(lines + more, piece=piece)
        assert found(both) == []
        assert list(both.index.columns.flags) == [UNCHAINED | 8, UNCHAINED | 8, 8, 8]
        assert both.index.find(message_id_of(json.loads(bare(1)), bare(1), len(bare(0)))) == 1
    assert scanner.seed == zlib.crc32(bare(1)[:-1], zlib.crc32(bare(0)[:-1]))


def test_equal_bare_lines_have_different_ids() -> None:
    """A derived id depends on the place too."""
    scanner = scan([bare(0), bare(0)])
    assert len(set(scanner.index.columns.id_hashes)) == 2


def test_a_bare_line_behind_chained_ones_is_reported_and_read(six: list[bytes]) -> None:
    """Once there is a chain, a line without a checksum is a finding; what was chained onto it is sound."""
    lines = [*six[:2], bare(9)]
    more = sealed([body(2), body(3)], scan(lines).seed)
    scanner = scan(lines + more)
    assert found(scanner) == [("unchained", 3, offset_of(lines, 3))]
    assert len(scanner.index.live) == 5


# -- damage in the middle ----------------------------------------------------------------------------------------------


def test_a_flipped_byte_is_reported_and_the_next_line_is_not_condemned(six: list[bytes]) -> None:
    """A line that parses but fails its checksum is read, marked and reported, it alone."""
    six[2] = six[2].replace(b"message 2", b"message 7")
    scanner = scan(six)
    assert ids(scanner) == [0, 1, 2, 3, 4, 5]
    assert found(scanner) == [("checksum", 3, offset_of(six, 3))]
    assert [bool(flag & DAMAGED) for flag in scanner.index.columns.flags] == [False, False, True, False, False, False]


@pytest.mark.parametrize("at", range(1, 21))
def test_a_damaged_checksum_condemns_its_own_line_only(six: list[bytes], at: int) -> None:
    """Wherever in the checksum a byte is altered, the records after it verify."""
    for changed in (b"A", b"g", b"0", b" ", b"\xff"):
        lines = list(six)
        lines[2] = six[2][:-at] + changed + (six[2][-at + 1 :] if at > 1 else b"")
        if lines[2] == six[2]:
            continue
        scanner = scan([b"".join(lines)])
        assert [damage.line for damage in scanner.index.damage] == [3], (changed, scanner.index.damage)
        assert set(ids(scanner)) >= {0, 1, 3, 4, 5}


def test_a_first_line_whose_checksum_was_altered_is_told_from_one_that_had_none(six: list[bytes]) -> None:
    """A record that continues the chain of a line without a checksum gives that line's damage away."""
    six[0] = six[0].replace(b"_crc", b"_crd")
    assert found(scan(six)) == [("checksum", 1, 0)]
    assert ids(scan(six)) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_lines_put_in_before_the_first_one_do_not_condemn_it(six: list[bytes], count: int) -> None:
    """However many have no checksum, the first record that has one is what it was."""
    scanner = scan([*(bare(number) for number in range(count)), *six])
    assert not any(flag & DAMAGED for flag in scanner.index.columns.flags)
    assert len(scanner.index.live) == count + 6


@pytest.mark.parametrize("gone", range(5))
def test_a_missing_line_is_seen(six: list[bytes], gone: int) -> None:
    """The record after a missing line does not continue the chain."""
    lines = six[:gone] + six[gone + 1 :]
    scanner = scan(lines)
    assert found(scanner) == [("checksum", gone + 1, offset_of(lines, gone + 1))]
    assert ids(scanner) == [n for n in range(6) if n != gone]


def test_a_repeated_line_is_seen(six: list[bytes]) -> None:
    """The second copy of a line does not continue the chain; what follows does."""
    lines = [*six[:3], six[2], *six[3:]]
    assert found(scan(lines)) == [(kind, 4, offset_of(lines, 4)) for kind in ("checksum", "repeated")]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"null\n", "unreadable"),
        (b"[1,2]\n", "unreadable"),
        (b'[{"role":"user"}]\n', "unreadable"),
        (b"{}\n", "unreadable"),
        (b'{"role":"human"}\n', "unreadable"),
        (b'{"role":["user"]}\n', "unreadable"),
        (b'{"role":null}\n', "unreadable"),
        (b"\n", "unreadable"),
        (b"   \n", "unreadable"),
        (b"\x00" * 4096 + b"\n", "unreadable"),
        (b'{"role":"user","content":"\xff\xfe"}\n', "unreadable"),
        (b'{"role":"user","content":"abc\n', "unreadable"),
        (b"[" * 100_000 + b"\n", "unreadable"),
        (b'{"a":' * 100_000 + b"\n", "unreadable"),
        (b'{"role":"user","n":' + b"9" * 5_000 + b"}\n", "unreadable"),
        (b'{"_record":["x"]}\n', "unchained"),
        (b'{"_record":"keep","from":[1],"to":{}}\n', "unchained"),
        (b'{"role":"user","content":"' + b"x" * 2_000 + b'"}\n', "oversized"),
    ],
)
def test_strange_lines_are_reported_and_all_behind_them_is_read(six: list[bytes], line: bytes, kind: str) -> None:
    """A line that is no record is one finding with its place, and hides nothing."""
    lines = [*six[:3], line, *six[3:]]
    scanner = scan(lines, max_record_bytes=1_000 if kind == "oversized" else 1 << 20)
    assert found(scanner)[0] == (kind, 4, offset_of(lines, 4))
    assert ids(scanner) == [0, 1, 2, 3, 4, 5]


def test_a_nul_block_is_named(six: list[bytes]) -> None:
    """NUL bytes in the place of a record are told as what a power cut leaves."""
    six[2] = bytes(len(six[2]) - 1) + b"\n"
    assert "NUL" in scan(six).index.damage[0].detail


def test_a_record_glued_behind_a_torn_one_is_read(six: list[bytes]) -> None:
    """What a writer without a repair appends after a torn line is not eaten by it."""
    lines = [six[0], six[1][:40] + six[2], *six[3:]]
    scanner = scan(lines)
    assert found(scanner)[0] == ("glued", 2, len(six[0]))
    assert ids(scanner) == [0, 2, 3, 4, 5]
    assert scanner.index.columns.offsets[1] == len(six[0]) + 40
    assert scanner.index.columns.lengths[1] == len(six[2])
    assert [bool(flag & DAMAGED) for flag in scanner.index.columns.flags] == [False, True, *[False] * 3]


def test_a_record_behind_nul_bytes_is_read(six: list[bytes]) -> None:
    """NUL bytes before a record hide only themselves."""
    lines = [six[0], bytes(4_096) + six[1], *six[2:]]
    scanner = scan(lines)
    assert found(scanner) == [("glued", 2, len(six[0]))]
    assert ids(scanner) == [0, 1, 2, 3, 4, 5]
    assert not any(flag & DAMAGED for flag in scanner.index.columns.flags)


@pytest.mark.parametrize("between", [b"", b"J", b" ", b"\r", b"\x0b", b"\0\0", b"\xff", b'"}]'])
def test_records_whose_newline_was_altered_are_both_read(six: list[bytes], between: bytes) -> None:
    """Two whole records in one line are two records, and verify."""
    lines = [six[0], six[1][:-1] + between + six[2], *six[3:]]
    scanner = scan(lines)
    assert found(scanner) == [("glued", 2, len(six[0]))]
    assert ids(scanner) == [0, 1, 2, 3, 4, 5]
    assert not any(flag & DAMAGED for flag in scanner.index.columns.flags)


def test_a_control_record_behind_nul_bytes_takes_effect() -> None:
    """It continues the chain, as one in a line of its own does."""
    lines = sealed([body(0), encode_control("usage", provider="p", model="m", factor=2), body(1)])
    scanner = scan([lines[0], bytes(100) + lines[1], lines[2]])
    assert scanner.index.session.usage["p", "m"]["factor"] == 2
    assert list(scanner.index.columns.flags) == list(scan(lines).index.columns.flags)


@pytest.mark.parametrize("lost", [b"no json\n", b'{"role":"us'], ids=["altered", "torn"])
def test_a_control_record_behind_a_lost_line_takes_effect_once(lost: bytes) -> None:
    """It was chained onto the line that is lost, so it is believed; a copy of an older one is not."""
    old, new = (encode_control("plan", id=name) for name in ("old", "new"))
    lines = sealed([body(0), old, body(1), new, body(2), body(3)])
    for again in ([], [lost, lines[1]]):
        scanner = scan(b"".join([*lines[:2], lost, *lines[3:5], *again, lines[5]]).splitlines(keepends=True))
        assert scanner.index.session.plan is not None
        assert scanner.index.session.plan["id"] == "new"
        assert ids(scanner) == [0, 2, 3]


def test_a_control_record_without_a_checksum_takes_no_effect() -> None:
    """Nobody knows where it comes from; it is reported."""
    lines = sealed([body(0), encode_control("plan", id="chained")])
    scanner = scan([*lines, encode_control("plan", id="bare") + b"}\n"])
    assert scanner.index.session.plan is not None
    assert scanner.index.session.plan["id"] == "chained"
    assert [kind for kind, *_ in found(scanner)] == ["unchained"]


def test_garbage_behind_a_record_does_not_condemn_the_next(six: list[bytes]) -> None:
    """A record that was chained onto one with garbage after it verifies, and so does one that was appended since."""
    lines = [six[0], six[1][:-1] + b"garbage\n", *six[2:]]
    scanner = scan(lines)
    assert found(scanner) == [("glued", 2, len(six[0]))]
    assert ids(scanner) == [0, 1, 2, 3, 4, 5]
    appended = sealed([body(6)], zlib.crc32(lines[1][:-1], scan(six[:1]).seed))
    assert found(scan([*lines[:2], *appended])) == found(scanner)
    assert found(scan([six[0][:-1] + b"garbage\n", *six[1:]])) == [("glued", 1, 0)]  # also where it is the first one


def test_bare_records_in_one_line_are_both_read() -> None:
    """A record of the older module that lost its newline is read too."""
    scanner = scan([bare(0)[:-1] + bare(1), bare(2)])
    assert len(scanner.index.live) == 3
    assert [kind for kind, *_ in found(scanner)] == ["glued"]


def test_an_object_within_arguments_is_not_taken_for_a_record(six: list[bytes]) -> None:
    """Of a torn record no inner object is read as a message."""
    inner = {"role": "user", "content": "inner"}
    call = {"role": "assistant", "tool_calls": [{"arguments": {"messages": [inner, inner], "_crc": "00000000"}}]}
    torn = sealed([encode_message(call, message_id="id-9", timestamp=STAMP)])[0]
    for end in (len(torn) - 1, len(torn) - 2, len(torn) - 25, len(torn) - 60):
        scanner = scan([six[0], torn[1:end] + b"\n", six[1]])
        assert ids(scanner) == [0, 1]


def test_a_line_full_of_heads_is_given_up_soon() -> None:
    """A line that was made to be slow does not hang the scan."""
    scanner = scan([b'{"role":"user' * 50_000 + b"\n"])
    assert found(scanner) == [("unreadable", 1, 0)]


def test_skipped_lines_keep_the_chain(six: list[bytes]) -> None:
    """Behind a line too long to be held the records verify, and the place is right."""
    scanner = scan(six[:2])
    scanner.skip(len(six[2]), zlib.crc32(six[2][:-1], scanner.seed), six[2][:-1][-19:])
    scanner.feed(b"".join(six[3:]))
    assert found(scanner) == [("oversized", 3, offset_of(six, 3))]
    assert ids(scanner) == [0, 1, 3, 4, 5]
    assert list(scanner.index.columns.offsets) == [offset_of(six, line) for line in (1, 2, 4, 5, 6)]
    assert (scanner.offset, scanner.line) == (sum(map(len, six)), 6)


LINES = sealed([body(number) for number in range(4)])
BARE = b'{"role": "user", "content": "text"}\n'


def details(lines: list[bytes], **options: int) -> list[str]:
    return [damage.detail for damage in scan(lines, **options).index.damage]


@pytest.mark.parametrize(
    "content", [b'{"_record" no json', b'{"role":"user","content":"a""', b'{"_record":"plan"', b'{"role":"user"', b"7"]
)
def test_a_flipped_bit_in_a_line_that_was_no_record_stops_no_scan(content: bytes) -> None:
    """Somebody may have put in a line that is none, with a checksum that holds."""
    line = seal(content, 0)[0]
    for at in range(8 * (len(line) - 1)):
        flipped = bytearray(line)
        flipped[at // 8] ^= 1 << at % 8
        scanner = scan([bytes(flipped), *LINES])
        assert scanner.index.columns.offsets[-4] == len(line)
        assert list(scanner.index.live[-4:]) == list(range(len(scanner.index)))[-4:]
        assert found(scanner)


def test_a_header_of_which_one_bit_was_flipped_counts() -> None:
    """As it is, if it is the first; the damage is one finding."""
    header = sealed([encode_control("header", version=2, log_id="l")])[0]
    for changed in (header.replace(b'"l"', b'"m"'), header.replace(b"_crc", b"_crb")):
        scanner = scan([changed, *sealed([body(0)], int(header[-11:-3], 16))])
        assert scanner.index.control_counts == {"header": 1}
        assert scanner.index.headers[0]["log_id"] in "lm"
        assert len(scanner.index.damage) == 1
        assert ids(scanner) == [0]


def test_an_altered_line_begins_the_chain() -> None:
    """A line without a checksum after it is reported."""
    altered = LINES[0].replace(b"message 0", b"something else")
    assert [kind for kind, *_ in found(scan([altered, BARE]))] == ["checksum", "unchained"]


@pytest.mark.parametrize(("zeros", "others", "is_named"), [(5, 5, False), (6, 5, True), (3, 7, False), (9, 0, True)])
def test_nul_bytes_are_named_where_they_are_most_of_a_line(zeros: int, others: int, is_named: bool) -> None:
    """So a person knows what happened."""
    (detail,) = details([b"\0" * zeros + b"x" * others + b"\n"])
    assert ("NUL" in detail) is is_named


def test_how_many_bytes_are_no_record_is_said() -> None:
    """Of a line with whole records among other bytes, and of one that is too long."""
    between = LINES[0][:-1] + b"0123456789" + LINES[1]
    assert details([between])[0] == "10 bytes that are no record stand in one line with 2 that are read"
    (detail,) = details([LINES[0]], max_record_bytes=len(LINES[0]) - 1)
    assert detail == f"a line of {len(LINES[0])} bytes; at most {len(LINES[0]) - 1} are read; skipped"


def test_records_in_one_line_are_read_back() -> None:
    """With and without a checksum: each is checked against what was scanned."""
    for lines in ([LINES[0][:-1] + LINES[1]], [BARE[:-1] + BARE], [LINES[0], b"xx" + BARE], [b"xx" + LINES[0]]):
        content = b"".join(lines)
        index = scan(lines).index
        stored = fetch_lines(index, index.live, lambda offset, size, all_of=content: all_of[offset : offset + size])
        assert len(list(parsed(index, stored, "log"))) == len(index.live) > 0


def test_sound_messages_with_the_same_id_are_both_live() -> None:
    """Also those that have to be parsed; a copy without a checksum among them is not."""
    pinned = body(0, pinned=True)
    scanner = scan(sealed([pinned, pinned, body(1, pinned=True)]))
    assert (ids(scanner), found(scanner)) == ([0, 0, 1], [])
    bare = b'{"role": "user", "content": "x", "metadata": {"pinned": true, "message_id": "id-0"}}\n'
    scanner = scan([bare, bare])
    assert (ids(scanner), found(scanner)) == ([0, 0], [])
    assert scanner.index.columns.flags[0] & UNCHAINED
    assert [kind for kind, *_ in found(scan([*sealed([pinned]), bare]))] == ["unchained", "repeated"]


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
    assert list(scanner.index.columns.roles) == [ROLE_CODES[role] for role in ROLES for _ in names]
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


@pytest.mark.parametrize(
    ("block", "lines"),
    [
        (b"", []),
        (b"one", []),
        (b"one\ntw", [b"one\n"]),
        (b"a\rb\r\n\n\x00\x85\x1c\n", [b"a\rb\r\n", b"\n", b"\x00\x85\x1c\n"]),
    ],
)
def test_only_a_line_feed_ends_a_line(block: bytes, lines: list[bytes]) -> None:
    """No other end of a line counts, and what has no LF yet is left out."""
    assert whole_lines(block) == lines


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
    "fields",
    [
        {"metadata": {"source": "hook"}},
        {"metadata": {"ephemeral": True}},
        {"content": "<system-reminder>"},
        {"metadata": {"\u0001ource": 1}},
    ],
)
def test_who_wrote_a_users_message_is_left_open_where_its_line_may_name_another(fields: dict[str, Any]) -> None:
    """Such a message is parsed before it is taken for the beginning of a turn."""
    lines = sealed([message(content="text"), message(name="id-1", **fields)])
    assert list(scan(lines).index.columns.plain_users) == [True, False]


@pytest.mark.parametrize(
    "first", [body(0), encode_control("view", id="v"), encode_control("view", id="v", provider="p")]
)
def test_any_sound_record_begins_the_chain(first: bytes) -> None:
    """A line without a checksum after it is reported."""
    bare = b'{"role": "user", "content": "text"}\n'
    assert [kind for kind, *_ in found(scan([*sealed([first]), bare]))] == ["unchained"]
    assert found(scan([bare, bare])) == []


def test_what_was_just_sealed_is_taken_in_as_a_scan_does() -> None:
    """Whatever the record is: messages of all roles, pinned ones, ids with escapes, control records, half a reset."""
    shapes = [message(role, f"id-{role}", content="x") for role in ROLES]
    asked = encode_control("view", id="v", provider="p", model="m", hash="0")
    reminder = message("user", "id-r", content="<system-reminder>")
    others = [message("user", "id-p", metadata={"pinned": True}), message("user", 'id-"'), reminder]
    begun = encode_control("reset_begin", id="r", base="", count=1)
    bodies = [asked, *shapes, *others, asked, *shapes, begun, message("assistant", "id-last")]
    lines = sealed(bodies)
    scanned, taken = scan(lines), Scanner()
    for line in lines:
        taken.take_sealed(line, int(line[-11:-3], 16))
    assert columns_of(taken.index) == columns_of(scanned.index)
    assert list(taken.index.live) == list(scanned.index.live)
    assert taken.index.models == [("", ""), ("p", "m")]
    assert (taken.offset, taken.line, taken.seed) == (scanned.offset, scanned.line, scanned.seed)
    assert found(taken) == found(scanned)
