"""Operations that are killed before any of their calls that change a file or a directory.

An operation runs in a forked child, which kills itself before its n-th such call, as a SIGKILL at that moment would:
nothing that an `except` or a `finally` does is done. What SQLite writes is not counted.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from amplifier_module_context_persistent.log.filesystem import FileSystem

_CHANGING = frozenset({"os.rename", "os.remove", "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.truncate"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_DONE, _FAILED = 1, 2


def killed_before(number: int, operation: Callable[[], Any]) -> bool:
    """Run an operation in a child that is killed before its n-th changing call, from 1; whether it got so far.

    Raises:
        AssertionError: the operation raised something.
    """
    child = os.fork()
    if not child:
        _run(number, operation)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == _DONE, "the operation failed; see the error stream"
    return False


def kills(operation: Callable[[], Any], prepare: Callable[[], Any]) -> Iterator[int]:
    """Kill an operation before each of its calls in turn, each time after `prepare`; ends when it was not killed."""
    number = 1
    prepare()
    while killed_before(number, operation):
        yield number
        number += 1
        prepare()


def _run(number: int, operation: Callable[[], Any]) -> None:
    """Run an operation in the child, which never returns from here."""
    left, is_counting = number, False

    def count() -> None:
        nonlocal left
        left -= is_counting
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGING:
            count()
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
            path = str(arguments[0])
            if not path.startswith(("/dev/", "/proc/")) or path.startswith("/dev/shm/"):
                count()

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            count()
            return call(*arguments)

        return run

    sys.addaudithook(watch)
    FileSystem.write = staticmethod(counted(os.write))  # type: ignore[method-assign]
    FileSystem.sync = counted(FileSystem.sync)  # type: ignore[method-assign]
    try:
        is_counting = True
        operation()
        is_counting = False
    except BaseException:
        is_counting = False
        traceback.print_exc()
        os._exit(_FAILED)
    os._exit(_DONE)
