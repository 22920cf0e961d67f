"""The version gate: which headers make a log read-only, which are refused, and which are mere damage."""

import pytest

from amplifier_module_context_persistent.errors import LogUnreadableError, LogVersionError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_control
from tests.support.logs import append, body, content_of, findings, sealed, write_file
from tests.support.sweeps import proof, spread

MESSAGES = [body(0), body(1)]
BARE = b'{"role": "user", "content": "message 7"}\n'
VERSIONS = [99, 3, 0, -1, True, 2.0, "2", "99", None, [2], {"major": 2}]


def header(version: object, **fields: object) -> bytes:
    return encode_control("header", version=version, log_id="l", session_id="s", **fields)


def unchained(body: bytes) -> bytes:
    """A record without a checksum that we know."""
    return body + b"}\n"


def other_checksum(body: bytes) -> bytes:
    """A record whose checksum looks like ours and is none."""
    return body + b',"_crc":"0badc0de"}\n'


def longer_checksum(body: bytes) -> bytes:
    """A record whose checksum is of another kind."""
    return body + b',"_crc":"0123456789abcdef"}\n'


FORMS = [unchained, other_checksum, longer_checksum, lambda one: sealed([one])[0]]


def is_read_only(path: str) -> bool:
    """Whether a log is read, and neither appended to nor repaired."""
    before, log = content_of(path), FileLog(path)
    log.follow()
    try:
        append(log, 50)
    except LogVersionError:
        with pytest.raises(LogVersionError):
            log.repair()
        assert content_of(path) == before
        return True
    finally:
        log.close()
    return False


@pytest.mark.parametrize("form", range(len(FORMS)))
@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_a_first_header_of_an_unknown_version_makes_a_log_read_only(path: str, version: object, form: int) -> None:
    """Whatever its checksum is; also where lines of the older module stand before it."""
    first, seeds = FORMS[form](header(version)), sealed(MESSAGES)
    for before in (b"", BARE * 3):
        write_file(path, before + first + b"".join(seeds))
        assert is_read_only(path)


@pytest.mark.parametrize("form", range(3))
def test_a_header_without_a_version_is_unknown_too(path: str, form: int) -> None:
    """A format without one is none of ours."""
    write_file(path, FORMS[form](encode_control("header", log_id="l")) + b"".join(sealed(MESSAGES)))
    assert is_read_only(path)


@pytest.mark.parametrize("form", range(3))
def test_a_header_after_a_line_that_is_not_ours_makes_a_log_read_only(path: str, form: int) -> None:
    """A later format may write something of its own first."""
    sound, own = b"".join(sealed([header(2), *MESSAGES])), FORMS[form](header(99))
    for strange in (b'{"_format":3}\n', b"#3\n", other_checksum(body(9)), longer_checksum(body(9))):
        write_file(path, strange + own)
        assert is_read_only(path)
        write_file(path, sound + strange + own)
        assert is_read_only(path)


@pytest.mark.parametrize("form", range(3))
def test_a_header_that_was_put_in_is_damage_and_gates_nothing(path: str, form: int) -> None:
    """After a sound line it is what somebody copied there."""
    lines = sealed([header(2), *MESSAGES])
    write_file(path, b"".join([*lines[:2], FORMS[form](header(99)), lines[2]]))
    assert not is_read_only(path)
    assert [found.line for found in findings(path)] == [3]


def test_a_sound_header_of_a_later_version_counts_anywhere(path: str) -> None:
    """The later version went on with our log."""
    write_file(path, b"".join(sealed([header(2), body(0), header(99), body(1)])))
    assert is_read_only(path)


@proof
def test_no_flipped_bit_of_the_first_header_makes_a_log_read_only(path: str) -> None:
    """A known version in its place makes its checksum hold; what is flipped elsewhere does not touch the version."""
    lines, count = sealed([header(2, tokenizer="estimate"), *MESSAGES]), 0
    for bit in spread(range(8 * (len(lines[0]) - 1)), 3):
        flipped = bytearray(lines[0])
        flipped[bit // 8] ^= 1 << bit % 8
        for before in (b"", b"no json\n"):
            write_file(path, before + bytes(flipped) + b"".join(lines[1:]))
            assert not is_read_only(path), flipped
            assert findings(path)
            count += 1
    print(f"flipped bits of headers: {count}")


def test_a_digit_more_is_a_known_version_too_if_the_checksum_says_so(path: str) -> None:
    """The checksum tells which version was written."""
    lines = sealed([header(2), *MESSAGES])
    write_file(path, lines[0].replace(b'"version":2', b'"version":22') + b"".join(lines[1:]))
    assert not is_read_only(path)


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_a_log_of_version_1_is_refused_with_a_sentence(path: str, form: int) -> None:
    """It is neither read as lines of the older module nor appended to."""
    write_file(path, FORMS[form](header(1)) + b"".join(sealed(MESSAGES)))
    before = content_of(path)
    for use in (FileLog.follow, lambda log: append(log, 5)):
        with pytest.raises(LogUnreadableError, match="version 1, which was never released"):
            use(FileLog(path))
    assert content_of(path) == before
