"""Write sealed copies of whole logs: compressed with zstd, then encrypted for given keys (`sealing`).

`age -d -i key.txt FILE | zstd -d` gives the log back without this package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from ...log.atomic_file import NewFile
from ...log.contract import ReadableLog
from ...log.filesystem import FileSystem
from ...log.not_a_log import check_is_log
from ...log.open_reader import not_there, open_reader
from ...paths import SEALED_ENDING
from .copy_log import complete_lines
from .damaged_log import damage_in
from .sealing import seal_pieces
from .zstandard import zstd

if TYPE_CHECKING:
    from pyrage import Recipient

LOG_ENDING = f".jsonl.zst{SEALED_ENDING}"


def seal_log(source: str, target: str, recipients: Sequence[Recipient], *, files: FileSystem | None = None) -> str:
    """Write a copy of a whole log, compressed with zstd and then sealed. Return the log's first damage, or "".

    Args:
        source: a log's file, archived or not, or its location in a database; it is only read.
        target: the new file.
        recipients: the public keys whose holders can read it.
        files: the system calls that read the log, to report progress.

    Raises:
        LogUnreadableError: the source cannot be read, or is not a log.
        FileExistsError: the target exists.
        OSError: the target cannot be written.
    """
    with closing(open_reader(source, files=files, trusting=False)) as reader:
        reader.follow()
        described = reader.describe()
        if not described.exists:
            raise not_there(described.location)
        check_is_log(reader)
        with NewFile(target, replace=False, with_directories=True) as new:
            seal_pieces(_compressed(reader, described.size_bytes - described.torn_bytes), new, recipients)
            new.finish()
        return damage_in(reader)


def _compressed(reader: ReadableLog, end: int) -> Iterator[bytes]:
    packer = zstd.ZstdCompressor()
    for line in complete_lines(reader, end):
        packed = packer.compress(line)
        if packed:
            yield packed
    yield packer.flush()
