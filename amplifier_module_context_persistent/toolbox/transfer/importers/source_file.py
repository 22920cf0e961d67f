"""Open the file that an import reads: line by line, decrypted and decompressed if necessary.

Rules:
- The file is only read. A FIFO, a device or a directory is refused without waiting; `-` is the standard input.
- Each line is read and parsed once, including the first lines, by which the format is recognised (`lines.py`).
- A JSON document over `MOST_DOCUMENT_BYTES` is parsed entry by entry if it is a list (`long_list.py`). Any other large
  document is refused, because it would have to be parsed as a whole.
- A compressed file (gzip, zstd) is decompressed into a temporary file, with a limit on window, ratio and size.
"""

from __future__ import annotations

import codecs
import errno
import io
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from secrets import token_hex
from typing import Any, BinaryIO, NamedTuple

from ....errors import LogUnreadableError
from ....log.archived_bytes import archived_bytes
from ....log.filesystem import FileSystem, open_file
from ..imports.spool import LARGE_BYTES, SMALL_SOURCE_BYTES, Spool, SpooledValues
from ..plain_copies import PrivateDirectory
from ..sealing import HEAD_BYTES, SealError, identities_in, is_sealed, unseal
from ..zstandard import MOST_UNPACKED_BYTES, most_unpacked_bytes
from . import long_list
from .account import Account
from .lines import BLOCK_BYTES, BOM, CUT, Line, LineReader, SourceObject, as_object, read_lines, read_objects
from .refused_import import ImportRefusedError
from .source_bytes import UNPACKERS, RawFile, blocks_of
from .text_around import DocumentInText, find_document, is_readable
from .text_encoding import FIRST_BYTES, as_utf8, not_utf8, wide_codec

STANDARD_INPUT = "-"
MOST_DOCUMENT_BYTES = 64 << 20
_SAMPLE_LINES = 50
_SAMPLE_ENTRIES = 3
_SAMPLE_BYTES = 4 << 20
_SAMPLE_TEXT_BYTES = 4096
_FIRST_BRACKET = re.compile(rb"[{\[]")
_BINARY = {
    b"PK\x03\x04": "this is a zip archive: unpack it, and import the files in it",
    b"SQLite format 3": "this is a database of SQLite, in which agents keep sessions: export a session from the agent",
}
"""The description of binary files that people try to import, by the file's first bytes."""


class Source:
    """An open source file. Use it in a `with` statement.

    Args:
        path: the file; a link is followed. `-` is the standard input.
        identity: the file with the private key, for a sealed file.
        files: the system calls that read the file, to report progress.

    Raises:
        LogUnreadableError: the file is missing, or cannot be read.
        SealError: the file is sealed, and no key was given or the key does not open it.
        ImportRefusedError: the file is empty, or cannot be decompressed within the limits.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, identity: str | None = None, files: FileSystem | None = None
    ) -> None:
        is_piped = os.fspath(path) == STANDARD_INPUT
        self.path = STANDARD_INPUT if is_piped else os.path.realpath(path)
        self.plain_path = self.path
        """The path of a file with the decrypted and decompressed bytes. The file exists only while the source is open.
        """
        self.check: Callable[[int, dict[str, Any]], None] = lambda _number, _entry: None
        """Called with the number and the object of each line that has no key of `marks`; raises if the object is in
        another format."""
        self.marks = frozenset[str]()
        """Keys that only objects of the file's format have."""
        self._files = files or FileSystem()
        self._copies: PrivateDirectory | None = None
        """The directory of the decrypted and decompressed file; None if the source is plain."""
        self._first_error = ""
        """The error of the first line that is not blank, if the line is not a whole JSON value; else ""."""
        self._no_document = ""
        """The reason why the file is not a JSON document, or cannot be read as a document; else ""."""
        self._list_begin = 0
        """The number of bytes before a list that is too long to be parsed at once."""
        self.unit = "line"
        """The unit of `lines`: `line` for lines of the file, `entry` for entries of its document."""
        self.spool = Spool()
        """Stores bytes that are needed later, until the source is closed."""
        self.passed_over = DocumentInText(None)
        """The text around the JSON document, which is not imported."""
        self._is_all_seen = False
        """Whether the first lines, read for the sample, are all lines of the file."""
        self._codec = ""
        """The encoding of the file; "" for UTF-8."""
        self._fd = -1
        try:
            self._fd = self._spool(sys.stdin.buffer, MOST_UNPACKED_BYTES) if is_piped else self._open()
            self._make_plain(identity)
            if not self.size:
                raise ImportRefusedError("the file is empty")
            is_small = self.size <= SMALL_SOURCE_BYTES
            self.spool.room_bytes = SMALL_SOURCE_BYTES if is_small else 0
            self.aside = SpooledValues(self.spool, is_small=is_small)
            """Stores entries that are needed later, until the source is closed."""
            reader = LineReader(self._reader())
            lines = read_lines(reader)
            begin = self._begin_of(lines)
            self.sample = self._sample_of([line for line in begin if not (line.is_blank or line.is_continued)])
            """The beginning of the file, by which its format is recognised."""
            self.lines: Iterator[Line] = itertools.chain(_given_once(begin), lines)
            """The lines in order, including blank ones. They can be iterated once."""
            self.objects: Iterator[SourceObject | Line] = itertools.chain(_given_once(begin), read_objects(reader))
            """The same lines in a form that is faster to read: of most lines only the object. Only `lines` or `objects`
            can be iterated."""
        except BaseException:
            self.close()
            raise

    def _make_plain(self, identity: str | None) -> None:
        """Replace the open file by a copy that is decrypted, decompressed and converted to UTF-8, as far as needed.

        Raises:
            ImportRefusedError: the file cannot be decrypted or decompressed.
        """
        if is_sealed(self._files.read(self._fd, HEAD_BYTES, 0)):
            self._continue_with(self._unseal(identity))
        most_bytes = most_unpacked_bytes(self.size)
        unpack = UNPACKERS.get(self._files.read(self._fd, 2, 0))
        archive = archived_bytes(self._read_at, self.size, self.path)
        if archive is not None:  # an archived log, of which damaged parts are passed over
            self._continue_with(self._spool_pieces(archive.contents(), most_bytes))
            if archive.is_all_lost():
                why = f"the archive is damaged: {archive.first_damage()}"
                raise ImportRefusedError(f"{why}; no line of it can be read; put a backup in its place")
        elif unpack is not None:
            self._continue_with(self._spool(unpack(self._reader()), most_bytes))
        self._codec = wide_codec(self._files.read(self._fd, FIRST_BYTES, 0))
        if self._codec:
            self._continue_with(self._spool(self._reader(), MOST_UNPACKED_BYTES, self._codec))

    def _read_at(self, size: int, offset: int) -> bytes:
        return self._files.read(self._fd, size, offset)

    def _continue_with(self, fd: int) -> None:
        """Close the open file, and use another file from now on."""
        before = self._fd
        self._fd = fd
        self._files.close(before)

    def _open(self) -> int:
        opened = open_file(self._files, self.path, writable=False, create=False)
        if opened is None:
            raise LogUnreadableError(errno.ENOENT, "there is no such file", self.path)
        return opened[0]

    def _spool(self, packed: BinaryIO | io.BufferedIOBase, most_bytes: int, codec: str = "") -> int:
        """Copy a stream to a temporary file, set `plain_path` to its path, and return its descriptor.

        With a codec, the text is converted to UTF-8.

        Raises:
            ImportRefusedError: the content has more than `most_bytes` bytes.
        """
        pieces = blocks_of(packed)
        return self._spool_pieces(as_utf8(pieces, codec) if codec else pieces, most_bytes)

    def _spool_pieces(self, pieces: Iterable[bytes], most_bytes: int) -> int:
        """Copy pieces of bytes to a temporary file, as `_spool` does."""
        with self._new_plain_file() as plain:
            for piece in pieces:
                plain.write(piece)
                if plain.tell() > most_bytes:
                    raise ImportRefusedError(f"it becomes more than {most_bytes:,} bytes; nothing that large is read")
        return self._files.open_readonly(self.plain_path)

    def _unseal(self, identity: str | None) -> int:
        """Decrypt the file into a temporary file, set `plain_path` to its path, and return its descriptor.

        Raises:
            SealError: no key is given, or the key does not open the file.
        """
        if identity is None:
            raise SealError("it is sealed; --identity FILE names the private key that opens it")
        with self._new_plain_file() as plain:
            unseal(self._reader(), plain, identities_in(identity))
        return self._files.open_readonly(self.plain_path)

    def _new_plain_file(self) -> BinaryIO:
        self._copies = self._copies or PrivateDirectory()
        self.plain_path = self._copies.file(token_hex(4))
        return self._copies.new_file(self.plain_path)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and remove temporary files."""
        self.spool.close()
        fd = self._fd
        self._fd = -1
        if fd >= 0:
            self._files.close(fd)
        if self._copies is not None:
            self._copies.remove()

    @property
    def size(self) -> int:
        """The decompressed size of the file in bytes."""
        return os.fstat(self._fd).st_size

    @property
    def modified_s(self) -> float:
        """When the file was written, in seconds since 1970."""
        status = os.fstat(self._fd) if self.path == STANDARD_INPUT else os.stat(self.path)
        return status.st_mtime

    def _reader(self) -> io.BufferedReader:
        """Return a new reader that begins at the start of the file."""
        return io.BufferedReader(RawFile(self._files, self._fd), BLOCK_BYTES)

    def _begin_of(self, lines: Iterator[Line]) -> list[Line]:
        """Return the first lines, by which the format is recognised."""
        begin = []
        sampled = 0
        for line in lines:
            begin.append(line)
            if not (line.is_blank or line.is_continued):
                sampled += 1
            if sampled >= _SAMPLE_LINES or line.offset > _SAMPLE_BYTES:
                return begin
        self._is_all_seen = True
        return begin

    def _sample_of(self, first_lines: Sequence[Line]) -> Sample:
        """Make the sample from the first lines that are not blank, or from the document if the file is one.

        If the first line is not a whole JSON value, the file is probably a document of several lines.

        Raises:
            ImportRefusedError: the document is too large to be read.
        """
        entries = tuple(line.value for line in first_lines if isinstance(line.value, dict))
        self._first_error = first_lines[0].error if first_lines else ""
        if not self._first_error:
            return Sample(entries, self._only_value(first_lines))
        if self.size > MOST_DOCUMENT_BYTES:
            return self._sample_of_large(entries)
        try:
            return Sample((), self._read_document())
        except ValueError as error:
            is_cut = _ends_early(str(error))
            what = "the file is cut: it ends within its JSON document" if is_cut else "not a JSON document"
            self._no_document = f"{what} ({error})"
            return Sample(entries)

    def _sample_of_large(self, entries: tuple[dict[str, Any], ...]) -> Sample:
        """Make the sample of a file that is too large to be parsed at once, if possible from its list.

        Args:
            entries: the objects in the first lines; the sample has these if the file is not a list.

        Raises:
            ImportRefusedError: the file is neither a list nor lines with objects.
        """
        prefix = self._text_before_json()
        if prefix is None:
            return Sample(entries)
        self._list_begin = prefix
        begin = self._begin_of_list()
        if begin:
            return Sample((), long_list=begin)
        self._no_document = f"a JSON document of {self.size:,} bytes; at most {MOST_DOCUMENT_BYTES:,} are read at once"
        if not entries:
            raise ImportRefusedError(self._no_document)
        return Sample(entries)

    def _only_value(self, first_lines: Sequence[Line]) -> Any:
        """Return the only JSON value of a file, or None if the file has several.

        The value may be on one line, or a document with other text around it.
        """
        if len(first_lines) == 1:
            return first_lines[0].value
        are_damaged = all(line.error for line in first_lines[1:])
        if not (are_damaged and self._is_all_seen and self.size <= MOST_DOCUMENT_BYTES):
            return None
        try:
            return self._read_document()
        except ValueError:
            return None

    def _read_document(self) -> Any:
        """Return the JSON document in the file, and note the text around it.

        Raises:
            ValueError: the file has no JSON document.
        """
        found = find_document(self._reader().read())
        self.passed_over = found._replace(value=None)
        return found.value

    def _text_before_json(self) -> int | None:
        """Return the number of bytes before a JSON document, or None if there is no JSON.

        A command may have printed a line before the document, for example.
        """
        first = self._files.read(self._fd, _SAMPLE_TEXT_BYTES, 0)
        begin = _FIRST_BRACKET.search(first)
        if begin is None:
            return None
        before = first[: begin.start()]
        try:
            return len(before) if is_readable(before.decode("utf-8")) else None
        except UnicodeDecodeError:
            return None

    def release_sample(self) -> None:
        """Free the sampled lines, which may be long.

        The format is known by now, and its reader gets the lines from `lines`.
        """
        self.sample = self.sample._replace(entries=(), document=None)
        self.passed_over = self.passed_over._replace(after="")  # lines are accounted for one by one

    def release_lines(self) -> None:
        """Free all lines that were read: the file is read in another way."""
        self.release_sample()
        self.lines = iter(())
        self.objects = iter(())

    def read_list_as_lines(self) -> bool:
        """Use the objects in a document's list as the lines of this file. Return whether there are any objects."""
        listed = list(self.sample.long_list) or self.sample.document
        if not isinstance(listed, list):
            return False
        objects = [as_object(value) for value in listed]
        if not any(isinstance(value, dict) for value in objects):
            return False
        self.unit = "entry"
        entries: Iterable[Any] = objects
        if self.sample.long_list:  # the sample has only the first values of the list
            entries = map(as_object, self._long_entries())
        self.lines = itertools.starmap(_line_of_entry, enumerate(entries, 1))
        self.objects = self.lines
        self.sample = Sample(tuple(value for value in objects[:_SAMPLE_LINES] if isinstance(value, dict)))
        return True

    def document(self) -> Any:
        """Return the JSON value of the whole file.

        Raises:
            ImportRefusedError: the file is not a JSON document, or is too large.
        """
        if self.sample.document is None:
            raise ImportRefusedError(self._no_document or "not a JSON document")
        return self.sample.document

    def entries(self) -> Iterator[Any]:
        """Yield the entries of the file's list or, if the document is not a list, the document itself.

        Raises:
            ImportRefusedError: the file is not a JSON document, or is too large or damaged.
        """
        if self.sample.long_list:
            return self._long_entries()
        document = self.document()
        return iter(document if isinstance(document, list) else [document])

    def _long_entries(self) -> Iterator[Any]:
        try:
            yield from long_list.entries_in(self._reader(), self._list_begin, MOST_DOCUMENT_BYTES)
        except long_list.LongListError as error:
            raise ImportRefusedError(str(error)) from error

    def _begin_of_list(self) -> tuple[Any, ...]:
        """Return the first entries of a long list, or an empty tuple if the file is not a list."""
        entries = long_list.entries_in(self._reader(), self._list_begin, MOST_DOCUMENT_BYTES)
        try:
            return tuple(itertools.islice(entries, _SAMPLE_ENTRIES))
        except long_list.LongListError:
            return ()

    def strangeness(self) -> str:
        """Return why the file has no session (it is not text, blank or cut), or "" if no reason was found."""
        first = self._files.read(self._fd, _SAMPLE_TEXT_BYTES, 0)
        for head, kind in _BINARY.items():
            if first.startswith(head):
                return kind
        wrong = not_utf8(first.removeprefix(BOM))
        if wrong:
            return f"this is {self._codec.upper()} text with damaged characters" if self._codec else wrong
        text = codecs.getincrementaldecoder("utf-8")().decode(first.removeprefix(BOM))
        begins_as_json = text.lstrip("\0 \r\n")[:1] in ("{", "[")
        if "\0" in text and not begins_as_json:
            return "this is a binary file"
        if not text.strip() and self.size == len(first):
            return "there are only blank lines in it"
        if not begins_as_json:
            return "this is no JSON; a chat as plain text or Markdown is not read"
        if CUT in self._first_error and _ends_early(self._first_error):
            return f"the file is cut: it ends within its only line ({self._first_error})"
        return self._no_document


def _given_once(lines: list[Line]) -> Iterator[Line]:
    """Yield the lines in order, and drop each from memory."""
    lines.reverse()
    while lines:
        yield lines.pop()


def _line_of_entry(number: int, value: Any) -> Line:
    """Return an entry of a document's list as a line."""
    if isinstance(value, long_list.UnreadEntry):
        return Line(number, 0, error=value.reason)
    return Line(number, 0, value)


def _ends_early(error: str) -> bool:
    """Return whether an error of `orjson` means that the JSON ends too early."""
    return "end of data" in error


class Sample(NamedTuple):
    """The beginning of a file: the first objects of JSON Lines, or the value of a JSON document."""

    entries: tuple[dict[str, Any], ...]
    document: Any = None
    long_list: tuple[Any, ...] = ()
    """The first entries of a document that is a list and too long to be parsed at once."""


def entries_of(listed: Iterable[Any], account: Account) -> Iterator[SourceObject]:
    """Yield each entry of a document's list that is a JSON object.

    The caller must note the object in the account. Other entries are noted as lost here.
    """
    account.unit = "entry"
    for entry in listed:
        account.next_line()
        if isinstance(entry, dict):
            yield SourceObject(account.lines, entry)
        else:
            account.lose(account.lines, "no JSON object")


def objects_of(source: Source, account: Account, end_offset: int | None = None) -> Iterator[SourceObject]:
    """Yield the JSON object of each line. The caller must note the object in the account.

    Blank lines are noted here, and lines without an object are noted as lost. A line with two records counts as two
    lines. Lines from `end_offset` on are not read.
    """
    account.unit = source.unit
    source.release_sample()
    marks = source.marks
    for line in source.objects if end_offset is None else source.lines:
        if isinstance(line, SourceObject):  # nearly always
            account.next_line()
            if marks.isdisjoint(line.value):
                source.check(line.number, line.value)
            yield line
            continue
        if end_offset is not None and line.offset >= end_offset:
            return
        value = line.value
        if isinstance(value, dict):
            account.next_line()
            for size in line.left_out:
                account.leave_out(line.number, size)
            if marks.isdisjoint(value):
                source.check(line.number, value)
            yield SourceObject(line.number, value)
            if line.size > LARGE_BYTES:
                source.aside.write_out()
        elif line.is_lost_part:
            account.lose_part(line.number, line.error)
        else:
            account.next_line()
            if line.is_blank:
                account.skip("blank line")
            elif line.is_continued:
                account.skip("line that belongs to the record before it")
            else:
                account.lose(line.number, line.error or "no JSON object")
