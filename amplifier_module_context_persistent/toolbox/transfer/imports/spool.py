"""A temporary file for values that an import needs later, so that memory holds only their places.

A place is the offset in this file at which a value begins.

An import knows which messages are live, and the contents of a log's header, only at the end of a file. Rules:

- Up to `_HELD_BYTES` bytes stay in memory, so most imports make no file. Longer ones write block after block.
- The values and the records of a small source stay in memory as they are, without a copy.
- The file has no name, so it is gone when the import ends, however it ends.
- Reading is fastest in the order of writing, because a whole block is read at once.
- Long bytes are not copied: they are written to the file at once, and no block keeps them after they were read.
"""

from __future__ import annotations

import marshal
import tempfile
from array import array
from collections.abc import Iterator
from itertools import chain
from typing import IO, Any

from ....log.filesystem import FileSystem

_HELD_BYTES = 16 << 20
_BLOCK_BYTES = 8 << 20
_READ_BYTES = 256 << 10
_SIZE_BYTES = 8
_BATCH_VALUES = 8
SMALL_SOURCE_BYTES = 16 << 20
"""The size up to which a source is small."""
LARGE_BYTES = 256 << 10
"""The size of a source's line from which on its value is written out at once."""


class Spool:
    """A store for bytes, in memory and in a temporary file. `put` returns the place at which bytes can be read again.

    Use the store in a `with` statement, or call `close`.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._files = FileSystem()
        self._waiting = bytearray()
        """The bytes that are not in the file yet."""
        self._end = 0
        """The place of the next bytes."""
        self._written = 0
        """The number of bytes in the file."""
        self._block, self._block_at = b"", 0
        """The block that was read last, and its offset in the file."""
        self.room_bytes = 0
        """The number of bytes of record bodies that may still stay in memory as they are (`RecordBodies`)."""

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the temporary file and all bytes."""
        if self._file is not None:
            self._file.close()
        self._file, self._waiting, self._block = None, bytearray(), b""

    def put(self, content: bytes) -> int:
        """Store bytes, and return their place.

        Raises:
            OSError: the temporary file cannot be written.
        """
        place = self._end
        size = len(content)
        self._end = place + size
        if size >= _BLOCK_BYTES:
            self._write(self._waiting)
            self._waiting = bytearray()
            self._write(content)
            return place
        waiting = self._waiting
        waiting += content
        if len(waiting) >= (_BLOCK_BYTES if self._written else _HELD_BYTES):
            self._write(waiting)
            self._waiting = bytearray()
        return place

    def put_sized(self, content: bytes) -> int:
        """Store bytes together with their size, and return the place. `get_sized` reads the bytes."""
        place = self._end
        self._waiting += len(content).to_bytes(_SIZE_BYTES, "little")
        self._end = place + _SIZE_BYTES
        self.put(content)
        return place

    def get_sized(self, place: int) -> bytes:
        """Return the bytes that `put_sized` stored at a place."""
        block = self._block
        begin = place - self._block_at + _SIZE_BYTES
        if _SIZE_BYTES <= begin <= len(block):
            end = begin + int.from_bytes(block[begin - _SIZE_BYTES : begin], "little")
            if end <= len(block):
                return block[begin:end]
        size = int.from_bytes(self.get(place, _SIZE_BYTES), "little")
        return self.get(place + _SIZE_BYTES, size)

    def get(self, place: int, size: int) -> bytes:
        """Return `size` of the stored bytes, from a place on."""
        if place >= self._written:
            begin = place - self._written
            with memoryview(self._waiting) as waiting:
                return bytes(waiting[begin : begin + size])
        begin = place - self._block_at
        if begin < 0 or begin + size > len(self._block):
            assert self._file is not None  # noqa: S101 - bytes were written, so there is a file
            if size > _READ_BYTES:
                return self._files.read(self._file.fileno(), size, place)
            self._block = self._files.read(self._file.fileno(), _READ_BYTES, place)
            self._block_at, begin = place, 0
        return self._block[begin : begin + size]

    def _write(self, content: bytes | bytearray) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="context-persistent-import-", buffering=0)  # noqa: SIM115 - it stays open until `close`
        self._file.seek(self._written)
        whole = memoryview(content)
        done = 0
        while done < len(whole):
            done += self._file.write(whole[done:]) or 0
        self._written += done


class SpooledValues:
    """Objects and lists of plain JSON types that are needed later. They must not change after they were stored.

    The values of a small source stay in memory. Those of a large source are written to a spool, several as one batch,
    which takes half the time of writing each alone. The place of a value combines the number of its batch and its
    position there.

    Args:
        spool: keeps the values of a large source.
        is_small: whether the source is small.
    """

    def __init__(self, spool: Spool, *, is_small: bool = False) -> None:
        self._spool = spool
        self._held: list[Any] | None = [] if is_small else None
        """The values of a small source; None for a large one."""
        self._batches = array("Q")
        """The place of each batch in the spool."""
        self._waiting: list[Any] = []
        """The values of the next batch."""
        self._read: list[Any] = []
        """The values of the batch that was read last; None in place of a value that was returned."""
        self._read_number = -1

    @property
    def keeps_values(self) -> bool:
        """Whether the values stay in memory as they are, of any type."""
        return self._held is not None

    def put(self, value: Any) -> int:
        """Store a value, which must not change any more, and return its place."""
        if self._held is not None:
            self._held.append(value)
            return len(self._held) - 1
        place = len(self._batches) * _BATCH_VALUES + len(self._waiting)
        self._waiting.append(value)
        if len(self._waiting) == _BATCH_VALUES:
            self.write_out()
        return place

    def write_out(self) -> None:
        """Write the values that wait for a full batch.

        After a large value this must be called, so that only one is in memory.
        """
        if self._waiting:
            content = marshal.dumps(self._waiting)  # it also stores values that JSON cannot
            self._waiting = []
            self._batches.append(self._spool.put_sized(content))

    def get(self, place: int) -> Any:
        """Return the value that was stored at a place, or a copy of it."""
        if self._held is not None:
            return self._held[place]
        number, position = divmod(place, _BATCH_VALUES)
        if number != self._read_number or self._read[position] is None:
            self._read_batch(number)
        value = self._read[position]
        self._read[position] = None
        return value

    def _read_batch(self, number: int) -> None:
        if number == len(self._batches):
            self.write_out()
        self._read = []
        self._read = marshal.loads(self._spool.get_sized(self._batches[number]))  # noqa: S302 - this process wrote it
        self._read_number = number


class RecordBodies:
    """A list of record bodies. The first ones are in memory as far as the spool has room; the others are in the spool.

    Args:
        spool: keeps the bodies.
    """

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._held: list[bytes] = []
        """The first bodies. As soon as one is in the spool, all later ones are."""
        self._places, self._sizes = array("Q"), array("L")

    def __len__(self) -> int:
        return len(self._held) + len(self._places)

    def __getitem__(self, number: int) -> bytes:
        in_spool = number - len(self._held)
        if in_spool < 0:
            return self._held[number]
        return self._spool.get(self._places[in_spool], self._sizes[in_spool])

    def __setitem__(self, number: int, body: bytes) -> None:
        in_spool = number - len(self._held)
        if in_spool < 0:
            self._held[number] = body
        else:
            self._places[in_spool], self._sizes[in_spool] = self._spool.put(body), len(body)

    def __iter__(self) -> Iterator[bytes]:
        return self.part(0)

    def append(self, body: bytes) -> int:
        """Add the body of the next record, and return its number."""
        size = len(body)
        number = len(self)
        if size <= self._spool.room_bytes and not self._places:
            self._spool.room_bytes -= size
            self._held.append(body)
        else:
            self._places.append(self._spool.put(body))
            self._sizes.append(size)
        return number

    def append_whole(self, record: bytes) -> int:
        """Add the next record, given with its closing brace, which is not part of the body; return its number."""
        if len(record) <= self._spool.room_bytes:
            return self.append(record[:-1])
        self._places.append(self._spool.put(record))
        self._sizes.append(len(record) - 1)
        return len(self) - 1

    def take_over(self, bodies: RecordBodies) -> None:
        """Add the bodies of another list of the same spool, to a list that is empty."""
        self._held, self._places, self._sizes = bodies._held, bodies._places, bodies._sizes

    def part(self, start: int, stop: int | None = None) -> Iterator[bytes]:
        """Return the bodies from number `start` up to, but without, number `stop`; by default up to the end."""
        held = len(self._held)
        end = len(self) if stop is None else stop
        in_spool = slice(max(0, start - held), max(0, end - held))
        return chain(self._held[start:end], map(self._spool.get, self._places[in_spool], self._sizes[in_spool]))
