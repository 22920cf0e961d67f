"""A file in pieces: every record with its bytes, and every stretch that is none."""

import json

from amplifier_module_context_persistent.log.read_back import NumberedLine
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.maintenance.raw_records import pieces_of
from tests.support.logs import body, sealed, write_file

ONE, TWO, THREE = sealed([body(number) for number in range(3)])


def read(path: str, content: bytes) -> list[tuple[bytes, bool]]:
    """The pieces of a file: their bytes, and whether they are records; each stands where it says."""
    write_file(path, content)
    reader = LogReader(path)
    try:
        reader.follow()
        lines = [*reader.whole_lines(), *torn_line(reader, content)]
        found = [piece for line in lines for piece in pieces_of(line.offset, line.content)]
    finally:
        reader.close()
    for offset, line, value in found:
        assert content[offset : offset + len(line)] == line
        assert value is None or value.items() <= json.loads(line).items()
    return [(line, value is not None) for _, line, value in found]


def torn_line(reader: LogReader, content: bytes) -> list[NumberedLine]:
    return [NumberedLine(0, torn.offset, content[torn.offset :])] if (torn := reader.torn) else []


def test_every_byte_but_padding_is_in_a_piece(tmp_path) -> None:
    """Sound lines, a line that is no JSON, records after NUL bytes or glued together, and a torn end."""
    one, two, three = (line.rstrip(b"\n") for line in (ONE, TWO, THREE))
    content = ONE + b"no JSON\n" + b"\0\0" + TWO + one + THREE + b"\n" + two[:20]
    assert read(str(tmp_path / "log.jsonl"), content) == [
        (one, True),
        (b"no JSON", False),
        (two, True),
        (one, True),
        (three, True),
        (b"", False),
        (two[:20], False),
    ]


def test_an_object_that_is_no_record_is_none(tmp_path) -> None:
    """It has neither a role nor a kind."""
    content = b'{"a":1}\n{"role":"user","content":"x"}\n{"_record":"later"}\n'
    assert [known for _, known in read(str(tmp_path / "log.jsonl"), content)] == [False, True, True]
