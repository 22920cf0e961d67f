"""The ids of lines without a checksum, derived when they are first asked for.

Such an id is a SHA-256 of the line, which costs as much as the rest of its scan. A view needs none; a lookup by id, and
a checkpoint, need all of them.
"""

from __future__ import annotations

from collections.abc import Callable

from .bare_line import id_hash_of_bare
from .index import UNKNOWN_ID, Index
from .line_blocks import Read, fetch_lines
from .read_back import checked


def deriving(read: Read, location: str) -> Callable[[Index], None]:
    """Make what an index derives its late ids with.

    Args:
        read: reads the log.
        location: names the log in errors.
    """

    def derive(index: Index) -> None:
        hashes, offsets = index.id_hashes, index.offsets
        ordinals = [ordinal for ordinal, known in enumerate(hashes[: index.unknown_end]) if known == UNKNOWN_ID]
        for ordinal, line in checked(index, fetch_lines(index, ordinals, read), location):
            hashes[ordinal] = id_hash_of_bare(line, offsets[ordinal])

    return derive
