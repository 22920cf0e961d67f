"""How much of a file is read: what costs too much is seen without a clock."""

from __future__ import annotations

from amplifier_module_context_persistent.log.filesystem import FileSystem


class CountedReads(FileSystem):
    """The real file system; counts the reads, and the bytes that are read."""

    def __init__(self) -> None:
        self.reads = self.bytes_read = 0

    def read(self, fd: int, size: int, offset: int) -> bytes:
        block = super().read(fd, size, offset)
        self.reads += 1
        self.bytes_read += len(block)
        return block
