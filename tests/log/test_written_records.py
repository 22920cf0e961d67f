"""Records that were written just now, taken in without a scan: the index is what a scan would have made it."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.index import PINNED
from amplifier_module_context_persistent.log.record import ROLES, Member, encode_control, encode_plain, seal
from amplifier_module_context_persistent.log.reset_record import BEGIN
from amplifier_module_context_persistent.log.scanner import Scanner
from amplifier_module_context_persistent.log.written_records import Written, take_written

IDS = ("m0123456789abcdef", "x", 'a "quoted" id', "back\\slash", "ü", "🙂" * 9, "\ud800", "null", '"message_id":"m1"')
EXTRAS: tuple[dict[str, Any], ...] = (
    {},
    {"pinned": True},
    {"critical": True},
    {"pinned": True, "critical": False},
    {"source": "hook"},
    {"message_id": "given"},
    {"timestamp": None},
    {"note": 'true,"message_id":"m2"}'},
)
CONTENTS = ("", "text", "<system-reminder>now</system-reminder>", '{"role":"user"}', float("nan"), 1 << 70, [{"a": []}])


def message(
    role: str,
    content: Any = "text",
    extra: dict[str, Any] | None = None,
    message_id: str = "m1",
    member: Member | None = None,
) -> bytes:
    value = {"role": role, "content": content, "metadata": extra or {}}
    return encode_plain(value, message_id=message_id, timestamp="2026-01-05T09:00:00.000Z", member=member)


VIEW = encode_control("view", provider="anthropic", model="large")
OLD_RESET = encode_control("reset", id="old", count=2, reason="clear")
ANSWERED = [
    VIEW,
    message("user"),
    message("assistant"),
    message("assistant"),
    message("user", extra={"source": "hook"}),
]
IN_AN_OLD_RESET = [message("user"), OLD_RESET, message("user"), message("tool"), encode_control("commit", id="old")]
messages = st.builds(
    message,
    st.sampled_from(ROLES),
    st.sampled_from(CONTENTS),
    st.sampled_from(EXTRAS),
    st.sampled_from(IDS) | st.text(min_size=1, max_size=12),
    st.none() | st.just(Member("r1", 0)),
)
controls = st.sampled_from(
    [
        encode_control("header", version=2, log_id="l", session_id="s"),
        VIEW,
        encode_control("view", provider='odd "name"', model=""),
        OLD_RESET,
        encode_control(BEGIN, id="r1"),
        encode_control("pin", id="p", message_id="x", pinned=True),
        encode_control("of a later version"),
    ]
)


def known(scanner: Scanner) -> dict[str, Any]:
    """All that a scanner knows that has an effect later."""
    return {
        "index": scanner.index,
        "at": (scanner.line, scanner.offset, scanner.seed, scanner.builder.asked),
        "snapshot": scanner.snapshot(),
    }


@example(ANSWERED, [1, 3])
@example(IN_AN_OLD_RESET, [2])
@example([message(role, extra=extra, message_id=one) for role in ROLES for extra in EXTRAS for one in IDS], [])
@given(st.lists(messages | controls, max_size=12), st.lists(st.integers(1, 3), max_size=12))
def test_it_is_what_a_scan_would_have_taken_in(bodies: list[bytes], batches: list[int]) -> None:
    """For any records, in any batches: columns, live history, findings, and what the next record is judged by."""
    scanned, written = Scanner(), Scanner()
    seed, records = 0, list[Written]()
    for body in bodies:
        line, seed = seal(body, seed)
        records.append(Written(body, line, seed))
    for size in [*batches, len(records)]:
        for record in records[:size]:
            take_written(written, *record)
            scanned.feed(record.line)
        del records[:size]
    assert known(written) == known(scanned)


def test_a_plain_message_is_not_scanned() -> None:
    """What was just encoded is not split, checked or parsed again; what a reader has to look into still is."""
    fed: list[bytes] = []

    class Counting(Scanner):
        def feed(self, block: bytes) -> None:
            fed.append(block)
            super().feed(block)

    scanner = Counting()
    plain, pinned = message("user"), message("user", extra={"pinned": True})
    first, seed = seal(plain, 0)
    second, after = seal(pinned, seed)
    take_written(scanner, plain, first, seed)
    take_written(scanner, pinned, second, after)
    assert fed == [second]
    assert [bool(flag & PINNED) for flag in scanner.index.flags] == [False, True]
    assert scanner.seed == after
