"""Provide zstd: from the standard library since Python 3.14, before that from `backports`; and limits for unpacking.

A few bytes may unpack to terabytes. So a file that somebody else made is unpacked within limits.
"""

import sys
from typing import BinaryIO

if sys.version_info >= (3, 14):  # pragma: no cover - the same interface in the standard library
    from compression import zstd
else:
    from backports import zstd

__all__ = ["MOST_UNPACKED_BYTES", "most_unpacked_bytes", "opened_zstd", "zstd"]

MOST_UNPACKED_BYTES = 4 << 30
_WINDOW_LOG = 25  # 32 MiB; programs that write sessions use at most 8
_FREE_BYTES = 256 << 20
_RATIO = 200  # sessions compress to about a tenth, repeated ones to a hundredth


def most_unpacked_bytes(packed_bytes: int) -> int:
    """Return the largest number of bytes that a compressed file of this size may unpack to."""
    return min(MOST_UNPACKED_BYTES, max(_FREE_BYTES, _RATIO * packed_bytes))


def opened_zstd(file: BinaryIO) -> zstd.ZstdFile:
    """Return a file object that decompresses a file.

    Reading raises `zstd.ZstdError` if the data need too much memory.
    """
    return zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})
