"""The estimate: the approximate number of `o200k_base` tokens of a text, without a vocabulary.

Rules of this module:

- Pure and deterministic: only whole numbers are used, and nothing is stored between texts. New words take the same time
  as known ones.
- A token is counted at its beginning. At each byte of a text a small network of tables looks at the bytes around
  it and says how likely a token begins there, in hundredths; the estimate is the sum.
- A layer of a network is a table. It gives each byte two labels of four bits: one for when it comes first in a pair,
  one for when it comes second. The labels of a byte and of the one `distance` after it are a byte again,
  which is what the next layer reads; so each layer sees further. The last table gives the hundredths.
- Two networks share the work: one says where tokens begin at ASCII bytes, and reads only the first UTF-8 byte of every
  other character. The other says where tokens begin at other bytes, and reads these and a few bytes beside them.
- Characters that the vocabulary does not know are removed first and counted apart (`rare_characters`).
- All bytes of a block go through a layer at once: `bytes.translate` looks the labels up, and whole numbers as long as
  the block pair them. The interpreter runs two dozen operations for a block, whatever its size.
- The tables are fitted by `benchmarks/fit_tokens.py`. `benchmarks/corpus.py` names the sources of its texts;
  `docs/token_estimate.md` gives the errors.
- Up to 262,144 characters every byte counts. A longer text is sampled: 128 windows of 2,048 characters, one in each
  128th part of it, at places that depend on its length alone.
"""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass
from typing import Final
from zlib import adler32

from . import _estimate_tables as estimate_tables
from .rare_characters import without_rare

BLOCK_CHARS: Final = 8_192
_WINDOWS: Final = 128
_WINDOW_CHARS: Final = 2_048
WHOLE_CHARS: Final = _WINDOWS * _WINDOW_CHARS

_MOST_CHARS: Final = 16
"""Every text has at least one token for this many characters.

The networks are worst at runs of one character, and a low estimate does more harm than a high one.
"""

_EDGE: Final = b"\n"
"""The bytes that a network reads before the beginning of a text and after its end."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTINUATION: Final = bytes(range(0x80, 0xC0))
_LONGEST: Final = 4 * BLOCK_CHARS + 64
_FIRST: Final = int.from_bytes(b"\xf0" * _LONGEST, "little")
_SECOND: Final = int.from_bytes(b"\x0f" * _LONGEST, "little")


@dataclass(frozen=True, slots=True)
class Network:
    """Tables that give for each byte how likely a token begins there.

    Attributes:
        layers: Each layer's table (256 pairs of labels) and the distance between the two bytes of a pair.
        hundredths: The last table (256 likelihoods, each at most 100).
        before: The number of bytes before a byte that the network looks at.
        after: The number of bytes after a byte that the network looks at.
        asked: A table with all bits set for the bytes at which tokens are counted, and 0 for the others; empty if
            tokens are counted at every byte.
    """

    layers: tuple[tuple[bytes, int], ...]
    hundredths: bytes
    before: int
    after: int
    asked: bytes | None = None

    def cost(self, text: bytes) -> int:
        """Return the number of tokens that begin in a text of at most one block, in hundredths."""
        read = _EDGE * self.before + text + _EDGE * self.after
        for layer in self.layers[:-1]:
            read = _pairs(read, *layer).to_bytes(len(read), "little")
        states = _pairs(read, *self.layers[-1])
        if self.asked:
            states &= int.from_bytes(text.translate(self.asked), "little")
        return _sum(states.to_bytes(len(read), "little")[: len(text)].translate(self.hundredths))


def _pairs(read: bytes, table: bytes, distance: int) -> int:
    labels = int.from_bytes(read.translate(table), "little")
    return labels & _FIRST | labels >> 8 * distance & _SECOND


def _sum(numbers: bytes) -> int:
    # Started at 0, the low half of Adler-32 is the sum of the bytes as long as that is below 65,521, and a byte is at
    # most 100 here. No other sum of bytes in the standard library is as fast.
    view = memoryview(numbers)
    return sum([adler32(view[position : position + 512], 0) & 0xFFFF for position in range(0, len(view), 512)])


def _network(tables: tuple[str, ...], distances: tuple[int, ...], before: int, asked: bytes | None = None) -> Network:
    *layers, last = map(b64decode, tables)
    return Network(tuple(zip(layers, distances, strict=True)), last, before, sum(distances) - before, asked)


ASCII: Final = _network(*estimate_tables.ASCII)
_MARKS: Final = bytes(128) + b"\xff" * 128
"""A table that has 0 for ASCII bytes and all bits set for the others."""
OTHER: Final = _network(*estimate_tables.OTHER, asked=_MARKS)


def estimate_tokens(text: str) -> int:
    """Return the approximate number of `o200k_base` tokens of a text; 0 for the empty text, else at least 1.

    Example:
        >>> estimate_tokens("The quick brown fox jumps over the lazy dog.")
        11
    """
    if not text:
        return 0
    length = len(text)
    if length <= WHOLE_CHARS:
        hundredths = sum([_block_cost(text[start : start + BLOCK_CHARS]) for start in range(0, length, BLOCK_CHARS)])
    else:
        windows = [text[start : start + _WINDOW_CHARS] for start in _window_starts(length)]
        hundredths = sum(map(_block_cost, windows)) * length // WHOLE_CHARS
    return max(1, length // _MOST_CHARS, (hundredths + 50) // 100)


def _block_cost(block: str) -> int:
    if block.isascii():
        return ASCII.cost(block.encode())
    if _SURROGATE.search(block):  # half a surrogate pair is sent as U+FFFD
        block = block.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    rest, cost = without_rare(block)
    encoded = rest.encode()
    return ASCII.cost(encoded.translate(None, _CONTINUATION)) + OTHER.cost(_beside_others(encoded)) + cost


def _beside_others(encoded: bytes) -> bytes:
    """Return the parts of a text that the network `OTHER` reads, joined.

    These are the bytes that are not ASCII, and the bytes at most `OTHER.before` before and `OTHER.after` after them. If
    more than an eighth of the text is not ASCII, return all of it: there is little to leave out then.
    """
    marks = encoded.translate(_MARKS)
    if 8 * marks.count(b"\xff") > len(encoded):
        return encoded
    parts = list[bytes]()
    part_end = 0
    run_start = marks.find(b"\xff")
    while run_start >= 0:
        run_end = marks.find(b"\x00", run_start)
        if run_end < 0:
            run_end = len(encoded)
        part_start = max(part_end, run_start - OTHER.before)  # no byte is in two parts
        part_end = run_end + OTHER.after
        parts.append(encoded[part_start:part_end])
        run_start = marks.find(b"\xff", run_end)
    return b"".join(parts)


def _window_starts(length: int) -> list[int]:
    part = length // _WINDOWS
    # Knuth's multiplicative hash scatters the windows, so that they are not all at the same place of a repeating text.
    return [index * part + (index * 2654435761 % 2**32) * (part - _WINDOW_CHARS) // 2**32 for index in range(_WINDOWS)]
