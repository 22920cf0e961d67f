"""zstd, of the standard library from Python 3.14 on, and with the same interface before."""

import sys

if sys.version_info >= (3, 14):  # pragma: no cover - the same interface in the standard library
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]
