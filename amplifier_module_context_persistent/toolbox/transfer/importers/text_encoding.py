"""Files that are text in another encoding than UTF-8, as Windows writes them.

UTF-16 is read: PowerShell's `>` writes it, with a byte order mark. Any other encoding is refused with the place of the
first byte that is not UTF-8, and with a way to write the file again: which encoding it is cannot be known for sure.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

__all__ = ["as_utf8", "not_utf8", "utf16_name"]

_BYTE_ORDER_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_WITHOUT_MARK = {b"{\0": "utf-16-le", b"[\0": "utf-16-le", b"\0{": "utf-16-be", b"\0[": "utf-16-be"}
WRITE_AGAIN = (
    "write it again as UTF-8: `iconv -f GB18030 -t UTF-8 FILE > NEW` with the name of its encoding, or in PowerShell 7 "
    "`Get-Content FILE -Encoding 936 | Set-Content NEW -Encoding utf8`"
)


def utf16_name(first: bytes) -> str:
    """The codec of a file that begins with these bytes if it is UTF-16; else empty."""
    return _BYTE_ORDER_MARKS.get(first[:2]) or _WITHOUT_MARK.get(first[:2], "")


def as_utf8(pieces: Iterable[bytes], codec: str) -> Iterator[bytes]:
    """Encode text again as UTF-8, piece by piece.

    Raises:
        UnicodeDecodeError: it is not of this encoding.
    """
    decoder = codecs.getincrementaldecoder(codec)()
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "surrogatepass")
    yield decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")


def not_utf8(first: bytes) -> str:
    """Why the first bytes of a file are not UTF-8 text and what can be done; empty if they are UTF-8.

    Args:
        first: they may end within a character.
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
