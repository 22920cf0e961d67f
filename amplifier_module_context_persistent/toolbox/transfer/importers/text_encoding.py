"""Read text in other encodings than UTF-8, as Windows programs write it.

UTF-16 (which PowerShell's `>` writes, with a byte order mark) and UTF-32 are read. Any other encoding is refused,
because it cannot be recognised for sure. The error says where the first byte is that is not UTF-8, and how to convert
the file.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

__all__ = ["FIRST_BYTES", "as_utf8", "not_utf8", "wide_codec"]

FIRST_BYTES = 4
"""The number of first bytes by which a file's encoding is recognised."""
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WRITE_AGAIN = (
    "write it again as UTF-8: `iconv -f GB18030 -t UTF-8 FILE > NEW` with the name of its encoding, or in PowerShell 7 "
    "`Get-Content FILE -Encoding 936 | Set-Content NEW -Encoding utf8`"
)


def wide_codec(first: bytes) -> str:
    """Return the codec of a file with these first bytes, if the file is UTF-16 or UTF-32; else "".

    Without a byte order mark, a file is UTF-16 if its first two characters are ASCII.
    """
    for mark, codec in _BYTE_ORDER_MARKS:
        if first.startswith(mark):
            return codec
    has_value = [bool(byte) for byte in first]
    if has_value == [True, False, True, False]:
        return "utf-16-le"
    return "utf-16-be" if has_value == [False, True, False, True] else ""


def as_utf8(pieces: Iterable[bytes], codec: str) -> Iterator[bytes]:
    """Yield text as UTF-8, piece by piece.

    Invalid characters (lone surrogates) stay invalid, so only the line with such a character is lost. A character that
    is cut by the end of the file becomes U+FFFD.
    """
    decoder = codecs.getincrementaldecoder(codec)("surrogatepass")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "surrogatepass")
    if decoder.getstate()[0]:
        yield "\ufffd".encode()


def not_utf8(first: bytes) -> str:
    """Return why the first bytes of a file are not UTF-8 text and how to convert it, or "" for UTF-8.

    Args:
        first: the first bytes; they may end within a character.
    """
    try:
        codecs.getincrementaldecoder("utf-8")().decode(first)
    except UnicodeDecodeError as error:
        if b"\0" in first or first.lstrip()[:1] not in (b"{", b"["):
            return "this is a binary file, or text that is not UTF-8"
        line = first.count(b"\n", 0, error.start) + 1
        place = f"byte 0x{first[error.start]:02X} at offset {error.start:,}, line {line:,}"
        return f"this is text that is not UTF-8 ({place}); {WRITE_AGAIN}"
    return ""
