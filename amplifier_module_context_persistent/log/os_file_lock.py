"""A lock on a whole file, shared or exclusive. Locking never waits.

The lock belongs to the open file: it ends when the file is closed or the process ends. It is `flock`, and on Windows
`LockFileEx`.
"""

from __future__ import annotations

import errno
import sys

_HELD_BY_OTHERS = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES})

if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    _EXCLUSIVE, _AT_ONCE, _LOCK_VIOLATION = 2, 1, 33

    class _Overlapped(ctypes.Structure):
        _fields_ = (
            ("internal", ctypes.c_void_p),
            ("internal_high", ctypes.c_void_p),
            ("offset", wintypes.DWORD),
            ("offset_high", wintypes.DWORD),
            ("event", wintypes.HANDLE),
        )

    def try_lock(fd: int, *, exclusive: bool) -> bool:
        """Lock an open file without waiting; False if another open file has the lock (see the other `try_lock`)."""
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        handle = msvcrt.get_osfhandle(fd)
        place = _Overlapped()
        kernel.UnlockFileEx(wintypes.HANDLE(handle), 0, 1, 0, ctypes.byref(place))
        flags = _AT_ONCE | (_EXCLUSIVE if exclusive else 0)
        if kernel.LockFileEx(wintypes.HANDLE(handle), flags, 0, 1, 0, ctypes.byref(place)):
            return True
        code = ctypes.get_last_error()
        if code != _LOCK_VIOLATION:
            raise ctypes.WinError(code)
        return False

    def unlock(fd: int) -> None:
        """Give the lock of an open file back."""
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        place = _Overlapped()
        if not kernel.UnlockFileEx(wintypes.HANDLE(msvcrt.get_osfhandle(fd)), 0, 1, 0, ctypes.byref(place)):
            raise ctypes.WinError(ctypes.get_last_error())

else:
    import fcntl

    _SHARED, _EXCLUSIVE = fcntl.LOCK_SH | fcntl.LOCK_NB, fcntl.LOCK_EX | fcntl.LOCK_NB

    def try_lock(fd: int, *, exclusive: bool) -> bool:
        """Lock an open file without waiting: exclusively, or shared with other open files.

        Returns:
            True if the file is locked; False if another open file has the lock.

        Raises:
            OSError: the file system does not support locks.
        """
        try:
            fcntl.flock(fd, _EXCLUSIVE if exclusive else _SHARED)
        except OSError as error:
            if error.errno in _HELD_BY_OTHERS:
                return False
            raise
        return True

    def unlock(fd: int) -> None:
        """Give the lock of an open file back.

        Raises:
            OSError: the system refuses.
        """
        fcntl.flock(fd, fcntl.LOCK_UN)
