"""The file that an import reads: compressed, piped, empty, cut or binary; each is told apart."""

import bz2
import gzip
import io
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.toolbox.cli import main
from amplifier_module_context_persistent.toolbox.transfer import zstandard
from amplifier_module_context_persistent.toolbox.transfer.importers import lines as lines_module
from amplifier_module_context_persistent.toolbox.transfer.importers import long_line, text_around
from amplifier_module_context_persistent.toolbox.transfer.importers.lines import SourceObject
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.claude_entries import says
from tests.support.imports import imported, write_jsonl
from tests.support.sweeps import proof

ENTRIES = [says("u1", None, "one"), says("u2", "u1", "two")]
LINES = "".join(json.dumps(entry) + "\n" for entry in ENTRIES).encode()
DOCUMENT = json.dumps({"messages": ENTRIES}, indent=1).encode()


@proof(quick=3)
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "only blank lines"),
        (bytes(range(256)) * 40, "binary file"),
        (b"\0" * 5_000, "binary file"),
        (bz2.compress(LINES), "binary file"),
        ("gr\xfc\xdfe".encode("latin-1"), "not UTF-8"),
        (b"# notes\n", "no JSON"),
        (LINES[:100], "the file is cut: it ends within its only line"),
        (
            DOCUMENT[:-40],
            "the file is cut: it ends within its JSON document",
        ),
        (gzip.compress(LINES)[:-20], "the compressed file is cut"),
        (gzip.compress(LINES)[:-8] + b"x" * 8, "cannot be decompressed"),
        (gzip.compress(b""), "the file is empty"),
        (b'{"a": 1}\n', "there is no message in it that is known"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_that_hold_no_session_are_told_apart(tmp_path: Path, content: bytes, reason: str) -> None:
    """By the command with one line that names the file; nothing is written."""
    (tmp_path / "given").write_bytes(content)
    done = CliRunner().invoke(main, ["import", str(tmp_path / "given"), "-o", str(tmp_path / "new")])
    assert done.exit_code == 2
    assert reason in done.output
    assert "given" in done.output
    assert len(done.output.splitlines()) == 1
    assert os.listdir(tmp_path) == ["given"]


@proof
def test_a_gzip_file_is_read(tmp_path: Path) -> None:
    """Whatever its name, of several members too; the session is the one that the plain file is."""
    plain = imported(write_jsonl(tmp_path / "plain.jsonl", ENTRIES))
    for name, content in (
        ("s.jsonl.gz", gzip.compress(LINES)),
        ("named-otherwise", gzip.compress(LINES[:50]) + gzip.compress(LINES[50:])),
    ):
        (tmp_path / name).write_bytes(content)
        report = imported(tmp_path / name, tmp_path / "logs" / name)
        assert (report.format, report.messages) == (plain.format, plain.messages)
    document = {"messages": [{"role": "user", "content": "hi"}], "model": "m"}
    (tmp_path / "body.json.gz").write_bytes(gzip.compress(json.dumps(document).encode()))
    assert imported(tmp_path / "body.json.gz").messages == 1
    (tmp_path / "bare.gz").write_bytes(gzip.compress(b'{"role":"user","content":"hi"}\n'))
    assert imported(tmp_path / "bare.gz").format == "jsonl"


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not unpacked to its end, and what was is removed."""
    monkeypatch.setattr(zstandard, "MOST_UNPACKED_BYTES", 9 << 20)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b" " * (1 << 20)) * 10)
    aside = tmp_path / "aside"
    aside.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(aside))
    with pytest.raises(ImportRefusedError, match="nothing that large is read"):
        import_session(tmp_path / "bomb.gz", path=tmp_path / "new")
    assert list(aside.iterdir()) == []


@proof
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_the_standard_input_is_read(tmp_path: Path, packed: bool) -> None:
    """As `-`; the second time nothing is new."""
    content = gzip.compress(LINES) if packed else LINES
    arguments = ["import", "-", "-o", str(tmp_path / "log"), "--json"]
    first, second = (CliRunner().invoke(main, arguments, input=content) for _ in range(2))
    assert (first.exit_code, second.exit_code) == (0, 0), first.output + second.output
    assert (json.loads(first.stdout)["messages"], json.loads(second.stdout)["added"]) == (2, 0)
    empty = CliRunner().invoke(main, ["import", "-", "-o", str(tmp_path / "other")], input=b"")
    assert (empty.exit_code, empty.output) == (2, "Error: standard input: the file is empty\n")


def test_python_reads_the_standard_input_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message of our own, which a log reader reads from a file."""

    class Piped:
        buffer = io.BytesIO(b'{"role":"user","content":"hi"}\n')

    monkeypatch.setattr("sys.stdin", Piped)
    report = import_session("-", path=tmp_path / "log")
    assert (report.format, report.messages, report.source) == ("jsonl", 1, "-")


@pytest.mark.parametrize("kind", ["lines", "document on one line", "document on many lines"])
def test_each_line_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Also what the format is recognised by."""
    entries = [says(f"u{n}", f"u{n - 1}" if n else None, "x") for n in range(200)]
    body = {"messages": [{"role": "user", "content": "hi"}], "model": "m", "system": "s"}
    source = tmp_path / "s"
    source.write_text(json.dumps(body, indent=1 if "many" in kind else None))
    if kind == "lines":
        write_jsonl(source, entries)
    parsed, real = Counter[bytes](), lines_module.parse_json

    def counting(content: bytes) -> Any:
        value = real(content)
        parsed[content] += 1
        return value

    for module in (lines_module, text_around):
        monkeypatch.setattr(module, "parse_json", counting)
    report = import_session(source, path=tmp_path / "log")
    assert report.messages == (200 if kind == "lines" else 2)
    assert sum(parsed.values()) == len(parsed) == (200 if kind == "lines" else 1)


@proof(quick=1)
@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_text_that_windows_wrote_is_read(tmp_path: Path, codec: str) -> None:
    """UTF-16 with a byte order mark or without, UTF-32 and UTF-8 with one; line ends of Windows."""
    source = tmp_path / "s.jsonl"
    source.write_bytes(LINES.decode().replace("one", "eins \U0001f600 \u2028").replace("\n", "\r\n").encode(codec))
    assert imported(source).messages == 2


async def test_damage_in_utf16_costs_its_line_alone(tmp_path: Path) -> None:
    """A file that ends within a character, and a character that is none: the other lines are read."""
    lines = [json.dumps({"role": "user", "content": said}) for said in ("one", "?", "three")]
    text = "\n".join([*lines, ""]).encode("utf-16-le").replace("?".encode("utf-16-le"), b"\x00\xdc")
    (tmp_path / "s.jsonl").write_bytes(b"\xff\xfe" + text + b"{")
    report = imported(tmp_path / "s.jsonl")
    assert report.messages == 2
    assert [loss.line for loss in report.not_carried] == [2, 4]


def test_nul_bytes_before_a_file_are_no_encoding(tmp_path: Path) -> None:
    """However many there are."""
    for number in (1, 2, 3, 4):
        source = tmp_path / f"{number}.jsonl"
        source.write_bytes(b"\0" * number + LINES)
        assert imported(source).messages == 2


def test_damaged_utf16_is_refused(tmp_path: Path) -> None:
    """With what is wrong."""
    (tmp_path / "s.jsonl").write_bytes(b"\xff\xfe" + "{".encode("utf-16-le") + b"\x00\xdc" * 9)
    with pytest.raises(ImportRefusedError, match="UTF-16"):
        import_session(tmp_path / "s.jsonl", path=tmp_path / "log")


@pytest.mark.parametrize("codec", ["gbk", "latin-1"])
def test_another_encoding_is_refused_with_a_way_out(tmp_path: Path, codec: str) -> None:
    """Where the first such byte is, and how the file is written again."""
    character = "\u597d" if codec == "gbk" else "\xfc"
    text = json.dumps([{"role": "user", "content": f"{character} one"}], ensure_ascii=False)
    (tmp_path / "s.json").write_bytes(text.encode(codec))
    with pytest.raises(ImportRefusedError, match=r"not UTF-8 \(byte 0x.. at offset 30, line 1\).*iconv"):
        import_session(tmp_path / "s.json", path=tmp_path / "log")


@proof(quick=1)
@pytest.mark.parametrize("prefix", ["Exporting session: ses_1", "\ufeffInfo\r\n", "PS C:\\> opencode export\n\n"])
def test_text_before_a_document_is_passed_over(tmp_path: Path, prefix: str) -> None:
    """A command's own words, which a redirection took in; the report says so."""
    source = tmp_path / "s.json"
    document = json.dumps({"messages": [{"role": "user", "content": "hi"}], "model": "m"}, indent=1)
    source.write_text(prefix + document, encoding="utf-8")
    report = imported(source)
    assert report.messages == 1
    assert [prefix.strip("\ufeff \r\n")[:20] in note.reason.replace("\\\\", "\\") for note in report.notes] == [True]


AROUND = {
    "a prompt behind": ("", "\n$ ", [("after", "$")]),
    "a fence": ("```json\n", "\n```\n", [("before", "```json"), ("after", "```")]),
    "colours": ("\x1b[32mdone\x1b[0m\n", "", [("before", "done")]),
    "a log line": ("[INFO] 10:00 exported\n", "", [("before", "[INFO]")]),
    "NULs before": ("\0" * 5_000, "", []),
    "NULs behind": ("", "\0" * 5_000, []),
    "NULs on a line": ("", "\n" + "\0" * 5_000, []),
    "an end mark": ("", "\x1a", []),
}


@pytest.mark.parametrize("is_pretty", [False, True], ids=["one line", "pretty"])
@pytest.mark.parametrize(("before", "behind", "notes"), AROUND.values(), ids=AROUND)
def test_a_document_is_found_in_what_is_around_it(
    tmp_path: Path, before: str, behind: str, notes: list[tuple[str, str]], is_pretty: bool
) -> None:
    """Text before and after it is named; NULs of a disk are nothing."""
    body = {"messages": [{"role": "user", "content": "a [b] {c}"}], "model": "m"}
    source = tmp_path / "s.json"
    source.write_text(before + json.dumps(body, indent=1 if is_pretty else None) + behind, encoding="utf-8")
    report = imported(source)
    assert (report.format, report.messages) == ("openai", 1)
    assert len(report.notes) == len(notes)
    for note, (where, said) in zip(report.notes, notes, strict=True):
        assert f"the text {where} the JSON" in note.reason
        assert said in note.reason


def test_a_damaged_document_is_not_read_in_part(tmp_path: Path) -> None:
    """An object inside it is no session."""
    body = json.dumps({"id": "s", "messages": [{"role": "user", "content": "hi"}], "x": {"messages": []}}, indent=1)
    (tmp_path / "s.json").write_text(body.replace('"id"', "\0\0", 1))
    with pytest.raises(ImportRefusedError, match="not a JSON document"):
        import_session(tmp_path / "s.json", path=tmp_path / "log")


def test_two_documents_in_one_file_are_named(tmp_path: Path) -> None:
    body = json.dumps({"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": []}, indent=1)
    (tmp_path / "s.json").write_text(body + "\n" + body)
    with pytest.raises(ImportRefusedError, match="2 JSON documents or more; cut it"):
        import_session(tmp_path / "s.json", path=tmp_path / "log")


def test_a_line_of_nuls_is_named(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "s.jsonl", [ENTRIES[0], "\0" * 3_000, ENTRIES[1]])
    report = imported(source)
    assert [(loss.line, loss.reason) for loss in report.not_carried] == [
        (2, "3,000 NUL bytes, as a power cut leaves them")
    ]


@pytest.mark.parametrize("text", ["{}\n", "Welcome\n{}\n", "[{}]"], ids=["lines", "after a line", "a list"])
def test_entries_of_pi_are_not_taken_for_items(tmp_path: Path, text: str) -> None:
    """Their type is `message`, too."""
    says = {"type": "message", "timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": "hi"}}
    head = {"type": "session", "id": "p", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}
    between = "," if "[" in text else "\n"
    content = text.replace("{}", between.join(map(json.dumps, [head, says, says])))
    (tmp_path / "s.jsonl").write_text(content)
    report = imported(tmp_path / "s.jsonl")
    assert (report.format, report.messages) == ("pi", 2)


def test_a_long_line_has_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long lines are parsed in another way, with the same result for each value and each kind of damage."""
    strange = [
        b'{"a":12345678901234567890123,"b":1.5e300,"c":-0.0,"d":[],"e":null}',
        b'{"a":"\\ud800 \\u00e9 \\n","a":"the last one"}',
        b'{"a":NaN}',
        b'{"a":"caf\xc3\xa9"}',
        b'{"a":1}{"b":2}',
        b'{"a":"cut',
        b"[1,2]",
        b'{"a":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'"{\\"a\\":1}"',
        b"",
    ]
    content = b"\n".join(strange)
    usual = list(lines_module.read_lines(lines_module.LineReader(_opened(content))))
    monkeypatch.setattr(lines_module, "_LONG_LINE_BYTES", 0)
    assert repr(list(lines_module.read_lines(lines_module.LineReader(_opened(content))))) == repr(usual)


def test_the_objects_of_lines_are_those_of_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in the faster form, each usual line is its object, and any other line is as before, such as a shortened one.

    The report of an import tells what was left out of a shortened line.
    """
    monkeypatch.setattr(lines_module, "MOST_LINE_BYTES", 4_000)
    monkeypatch.setattr(long_line, "_LEAST_BYTES", 1_000)
    long = b'{"h":"' + b"A" * 5_000 + b'"}\n'
    content = b'{"a":1}\n\n{"b":2}\n[3]\n{"c":4}{"d":5}\n{"e":\n{"f":NaN}\n' + long + b'{"g":7}'
    lines = list(lines_module.read_lines(lines_module.LineReader(_opened(content))))
    objects = list(lines_module.read_objects(lines_module.LineReader(_opened(content))))
    assert [one.number for one in objects if isinstance(one, SourceObject)] == [1, 3, 7]
    values = [(line.number, line.value) for line in lines]
    assert repr([(one.number, one.value) for one in objects]) == repr(values)
    others = [line for line in lines if line.number not in (1, 3, 7)]
    assert [line.left_out for line in others if line.left_out] == [(5_000,)]
    assert [one for one in objects if not isinstance(one, SourceObject)] == others


def _opened(content: bytes) -> io.BufferedReader:
    return io.BufferedReader(cast("io.RawIOBase", io.BytesIO(content)))
