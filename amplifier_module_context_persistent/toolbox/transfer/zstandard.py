"""zstd, of the standard library from Python 3.14 on and with the same interface before; and how much is unpacked.

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
_WINDOW_LOG = 25  # 32 MiB; what writes sessions uses at most 8
_FREE_BYTES = 256 << 20
_RATIO = 200  # sessions compress to about a tenth, repeated ones to a hundredth


def most_unpacked_bytes(packed_bytes: int) -> int:
    """The largest size of the decompressed data, for a compressed file of this size."""
    return min(MOST_UNPACKED_BYTES, max(_FREE_BYTES, _RATIO * packed_bytes))


def opened_zstd(file: BinaryIO) -> zstd.ZstdFile:
    """Read a file compressed with zstd; one that needs too much memory for it raises `zstd.ZstdError`."""
    return zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})
