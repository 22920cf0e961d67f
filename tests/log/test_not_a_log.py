"""Which files are logs, and which are a stranger's."""

from contextlib import closing
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import NotALogError, ReplaceError
from amplifier_module_context_persistent.log.check_replaceable import check_replaceable
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.not_a_log import check_is_log
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_message
from tests.support.sweeps import proof, spread

RECORD, _ = seal(encode_message({"role": "user", "content": "hello"}, message_id="m", timestamp="t"), 0)


def check(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with closing(LogReader(path)) as reader:
        reader.follow()
        check_is_log(reader)


@pytest.mark.parametrize(
    "content",
    [
        *(
            b"",
            RECORD,
            RECORD[:40],
            b'{"role":"user","content":"plain"}\n',
            b'{"_record":"header","ver',
            RECORD + b"\xff\n" * 99,
        ),
        *(
            b"\x00\x01\n" * 50 + RECORD,
            b"text\n" + RECORD + b"text",
            RECORD[:40] + b"\n",
            RECORD.replace(b"hello", b"\xff\xfe"),
        ),
    ],
)
def test_a_log_may_be_empty_torn_or_damaged(tmp_path: Path, content: bytes) -> None:
    """One record, or the beginning of one at the start, makes a log of it."""
    check(tmp_path / "log.jsonl", content)


@pytest.mark.parametrize(
    "content",
    [
        *(b"\x7fELF\x02\x01" + bytes(range(256)) * 40, b"root:*:19000:0:99999:7:::\n" * 20, b"a" * 100_000, b"\n\n\n"),
        *(b'{"a": 1}\n{"b": 2}\n', b"[1, 2]\n", b"# A heading\n\nand text\n", b"\xff\xfe\n" * 30, b"null"),
    ],
)
def test_a_file_without_a_record_is_none(tmp_path: Path, content: bytes) -> None:
    """The error says what it is not, and what else can be tried; the file stays as it is."""
    with pytest.raises(NotALogError, match="this is not a log") as caught:
        check(tmp_path / "other", content)
    assert caught.value.filename == str(tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        b"root:*:19000:0:99999:7:::\n" * 20,
        b"a note",
        b"SQLite format 3\0" + bytes(4_000),
        b"[1]\n",
        b'{"a": 1}',
        b"{\n}",
    ],
)
async def test_a_session_does_not_begin_in_a_file_of_another_kind(tmp_path: Path, content: bytes) -> None:
    """It is an error, not an empty session, and the file stays as it is."""
    path = tmp_path / "notes"
    path.write_bytes(content)
    manager = PersistentContextManager(str(path))
    with pytest.raises(NotALogError, match="this is not a log"):
        await manager.get_messages()
    with pytest.raises(NotALogError):
        await manager.add_message({"role": "user", "content": "hello"})
    await manager.close()
    assert path.read_bytes() == content


@proof(quick=1)
@pytest.mark.parametrize(
    "content", [b"", b"\n", bytes(5_000), RECORD[:7], b'{"_record":"header","ver', b'{"rolm":"user"}\n']
)
async def test_a_session_goes_on_after_what_a_crash_left(tmp_path: Path, content: bytes) -> None:
    """Nothing, NUL bytes, a torn first record, or a first record with a damaged byte."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    async with PersistentContextManager(str(path)) as manager:
        await manager.add_message({"role": "user", "content": "hello"})
    async with PersistentContextManager(str(path)) as manager:
        assert [message["content"] for message in await manager.get_messages()] == ["hello"]


@proof
@pytest.mark.parametrize("first", [None, b'{"role": "user", "content": "no"}\n', b' { "content":"no","role":"user"}\n'])
async def test_a_session_goes_on_after_a_first_append_torn_anywhere(tmp_path: Path, first: bytes | None) -> None:
    """A record of ours, or a bare message with its keys in any order, cut at every byte."""
    path = tmp_path / "log.jsonl"
    if first is None:
        async with PersistentContextManager(str(path)) as manager:
            await manager.add_message({"role": "user", "content": "no"})
        first = path.read_bytes().splitlines(keepends=True)[0]
    for size in spread(range(len(first) - 1), 3):
        path.write_bytes(first[:size])
        async with PersistentContextManager(str(path)) as manager:
            await manager.add_message({"role": "user", "content": "hello"})
            assert (await manager.get_messages())[-1]["content"] == "hello"


PLAIN = b'{"content":"the role stands last","role":"user"}\n'


@pytest.mark.parametrize(
    ("content", "alone"),
    [
        (RECORD, False),
        (RECORD[:40], True),
        (b'{"_record":"header","ver', False),
        (b"\0" * 99 + b"\n" + RECORD * 3, False),
        (RECORD.replace(b"role", b"rple", 1) + RECORD, False),
        (PLAIN, True),
        (PLAIN + RECORD, False),
        (b'{"role":"user","content":"by an older module"}\n' * 3 + RECORD, False),
    ],
)
def test_a_log_is_not_replaced(tmp_path: Path, content: bytes, alone: bool) -> None:
    """Also through a link, and damaged; messages without checksums give way to their like."""
    (tmp_path / "log").write_bytes(content)
    (tmp_path / "link").symlink_to("log")
    for name in ("log", "link"):
        with pytest.raises(ReplaceError, match="which is not replaced; name another file") as caught:
            check_replaceable(tmp_path / name)
        assert caught.value.filename == str(tmp_path / name)
    if alone:
        check_replaceable(tmp_path / "log", by_messages=True)
    else:
        with pytest.raises(ReplaceError):
            check_replaceable(tmp_path / "log", by_messages=True)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"<!doctype html>\n<p>" + RECORD, b"# Session\n\n```\n" + RECORD + b"```\n"),
        *(b'{"messages":[\n{"role":"user","content":"x"}\n]}\n', b"[]", b"{}\n", b'"role"\n'),
    ],
)
def test_what_is_no_log_may_be_replaced(tmp_path: Path, content: bytes) -> None:
    """A page or an export that quotes a record is none; nor is nothing, nor a directory."""
    (tmp_path / "other").write_bytes(content)
    for name in ("other", "nothing", "."):
        check_replaceable(tmp_path / name)


def test_the_sessions_own_log_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it holds, and by whatever name; a log in a database is no file."""
    monkeypatch.setenv("HOME", str(tmp_path))
    own = tmp_path / "log"
    own.write_bytes(b"")
    with pytest.raises(ReplaceError, match="the session's log itself"):
        check_replaceable("~/log", own=str(own), by_messages=True)
    check_replaceable(own, own="postgresql://host/db#log")
