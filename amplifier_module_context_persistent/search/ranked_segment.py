"""A segment of the ranked index: the terms of some neighbouring messages of one log, packed.

A term is kept as a 32-bit checksum. The highest bits of the checksum choose the term's bucket, so that a question reads
few of them. A bucket begins with the number of its terms and their checksums in order, uncompressed: most segments do
not have a term, and then nothing is decompressed. Three columns follow, compressed together: the number of messages
with each term; the distance of each such message from the one before; and the term's weight in it. Numbers are
little-endian.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import sub

from ..messages.message import Message
from ..messages.message_times import instant_of, timestamp_of
from .message_terms import weights_of

MOST_MESSAGES = (1 << 16) - 1
MOST_TEXT = 1 << 23
"""The number of characters at which a segment is full. A question reads a row of each segment."""
LEVELS = (0, 4, 8, 10)
"""The number of a checksum's bits that choose the bucket, by level. Larger segments have a higher level."""
_LEVEL_TEXT = (12_000, 200_000, 2_000_000)
"""The number of characters at which a segment gets the next level."""
_COLUMNS_BYTES = 12
"""The number of bytes of one message in the columns of a segment."""
_KEY_BYTES = 4
_LAST_SECOND = (1 << 32) - 1
_WEIGHT_BITS = 6
"""A posting in a `SegmentBuilder` is an integer: the lowest bits are the weight, the others are the message's number.
"""
_WEIGHT_MASK = (1 << _WEIGHT_BITS) - 1


class Postings:
    """The messages of a segment that have a term, by their numbers in the segment, and the term's weight in each.

    The numbers are computed from the distances at the first use. Of a common term, most segments need only the weights.

    Args:
        distances: the distance of each message's number from the one before; the first one's from 0.
        weights: the term's weight in each message.
    """

    __slots__ = ("_distances", "_messages", "weights")

    def __init__(self, distances: Sequence[int], weights: bytes) -> None:
        self._distances = distances
        self._messages: Sequence[int] | None = None
        self.weights = weights

    @classmethod
    def of(cls, messages: Sequence[int], weights: bytes) -> Postings:
        """Make postings of the numbers of messages."""
        postings = cls((), weights)
        postings._messages = messages
        return postings

    @property
    def messages(self) -> Sequence[int]:
        """The numbers of the messages, in order."""
        if self._messages is None:
            self._messages = list(accumulate(self._distances))
        return self._messages


NO_POSTINGS = Postings((), b"")


@dataclass(frozen=True, slots=True)
class MessageColumns:
    """The messages' offsets in the log, and their times in seconds since 1970 (0 if unknown).

    The columns are not compressed: a question looks up a few messages in many segments.
    """

    offsets: array[int]
    seconds: array[int]

    def packed(self) -> bytes:
        """Return the columns as bytes."""
        return _bytes(self.offsets) + _bytes(self.seconds)

    @classmethod
    def unpacked(cls, content: bytes) -> MessageColumns:
        """Read packed columns.

        Raises:
            ValueError: the content is not packed columns.
        """
        end, rest = divmod(len(content), _COLUMNS_BYTES)
        if rest:
            raise ValueError("columns of different lengths")
        end *= array("Q").itemsize
        return cls(_array("Q", content[:end]), _array("I", content[end:]))


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment in its stored form.

    Attributes:
        messages: the number of its messages.
        chars: the characters of their texts.
        level: an index into `LEVELS`.
        columns: packed `MessageColumns`.
        buckets: packed postings, by the number of the bucket.
    """

    messages: int
    chars: int
    level: int
    columns: bytes
    buckets: tuple[bytes, ...]

    def postings(self, key: int) -> Postings:
        """Return the postings of a term."""
        return postings_in(self.buckets[bucket_of(key, self.level)], key)


def key_of(term: str) -> int:
    """Return the checksum of a term, its key in the index."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def bucket_of(key: int, level: int) -> int:
    """Return the number of a term's bucket in a segment of a level."""
    return key >> (32 - LEVELS[level])


class SegmentBuilder:
    """Collects messages with their terms, and packs these into a segment."""

    def __init__(self) -> None:
        self._postings: dict[str, list[int]] = {}
        self._offsets = array("Q")
        self._seconds = array("I")
        self._chars = 0

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def is_full(self) -> bool:
        """Whether the segment is full, so that the next message must go to a new segment."""
        return len(self._offsets) >= MOST_MESSAGES or self._chars >= MOST_TEXT

    def add(self, offset: int, message: Message) -> None:
        """Add the next message of a log, which begins at an offset."""
        weights, chars = weights_of(message)
        shifted_number = len(self._offsets) << _WEIGHT_BITS
        postings = self._postings
        for term, weight in weights.items():
            if term in postings:
                postings[term].append(shifted_number | weight)
            else:
                postings[term] = [shifted_number | weight]
        written = instant_of(timestamp_of(message))
        self._offsets.append(offset)
        self._seconds.append(min(max(0, int(written.timestamp())), _LAST_SECOND) if written is not None else 0)
        self._chars += chars

    def segment(self) -> Segment:
        """Pack the added messages into a segment."""
        level = bisect_right(_LEVEL_TEXT, self._chars)
        buckets: list[list[tuple[int, list[int]]]] = [[] for _ in range(1 << LEVELS[level])]
        for key, postings in self._by_key():
            buckets[bucket_of(key, level)].append((key, postings))
        columns = MessageColumns(self._offsets, self._seconds).packed()
        return Segment(len(self._offsets), self._chars, level, columns, tuple(map(_packed, buckets)))

    def _by_key(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the postings by checksum, in order. Terms with equal checksums are merged."""
        last_key = None
        merged = list[int]()
        for key, postings in sorted((key_of(term), postings) for term, postings in self._postings.items()):
            if key == last_key:
                merged = _merged(merged, postings)
                continue
            if last_key is not None:
                yield last_key, merged
            last_key = key
            merged = postings
        if last_key is not None:
            yield last_key, merged


def _merged(one: list[int], other: list[int]) -> list[int]:
    """Merge the postings of two terms, as if both were one term. A message with both terms gets the larger weight."""
    by_message = dict[int, int]()
    for posting in sorted([*one, *other]):  # of one message, the posting with the larger weight is the last
        by_message[posting >> _WEIGHT_BITS] = posting
    return list(by_message.values())


def _packed(terms: list[tuple[int, list[int]]]) -> bytes:
    """Pack the terms of a bucket.

    Args:
        terms: the checksum of each term, and the term's postings in order.
    """
    keys = [key for key, _ in terms]
    counts = array("H", [len(postings) for _, postings in terms])
    distances = array("H")
    weights = bytearray()
    for _, postings in terms:
        numbers = [posting >> _WEIGHT_BITS for posting in postings]
        distances.append(numbers[0])
        later_numbers = numbers[1:]
        distances.extend(map(sub, later_numbers, numbers))  # each number minus the one before it
        weights.extend([posting & _WEIGHT_MASK for posting in postings])
    columns = zlib.compress(_bytes(counts) + _bytes(distances) + bytes(weights), 1)
    return _bytes(array("I", [len(terms), *keys])) + columns


def postings_in(bucket: bytes, key: int) -> Postings:
    """Return the postings of a term from its packed bucket."""
    terms = int.from_bytes(bucket[:_KEY_BYTES], "little")
    keys_end = _KEY_BYTES * (1 + terms)
    wanted = key.to_bytes(_KEY_BYTES, "little")
    position = bucket.find(wanted, _KEY_BYTES, keys_end)
    while position > 0 and position % _KEY_BYTES:  # these bytes are parts of two keys
        position = bucket.find(wanted, position + 1, keys_end)
    if position < 0:
        return NO_POSTINGS
    term = position // _KEY_BYTES - 1
    columns = zlib.decompress(memoryview(bucket)[keys_end:])
    counts = _array("H", columns[: 2 * terms])
    before = sum(counts[:term])
    count = counts[term]
    distances_begin = 2 * terms
    postings = (len(columns) - distances_begin) // 3  # two bytes for the distance, one for the weight
    weights_begin = distances_begin + 2 * postings
    distances = _array("H", columns[distances_begin + 2 * before : distances_begin + 2 * (before + count)])
    weights = columns[weights_begin + before : weights_begin + before + count]
    return Postings(distances, weights)


def _bytes(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


def _array(kind: str, content: bytes) -> array[int]:
    values = array(kind)
    values.frombytes(content)
    if sys.byteorder == "big":
        values.byteswap()
    return values
