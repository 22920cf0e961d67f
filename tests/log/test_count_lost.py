"""Messages that a file held and no longer holds: counted and told, and a log that is gone is no new session."""

import contextlib
import logging
import os
import shutil
from collections.abc import Callable

import pytest

from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.fakefs import FakeFiles
from tests.support.logs import STAMP, append, append_to, body, content_of, in_a_fork, numbers, sealed, write_file
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("without_and_with_snapshots")


def cut(path: str) -> None:
    """The file shrinks by its last two messages."""
    os.truncate(path, len(b"".join(sealed([body(0), body(1)]))))


def cut_and_grow(path: str) -> None:
    """It shrinks, and grows again beyond its old size."""
    write_file(path, b"".join(sealed([body(0), body(1), *(body(number) for number in range(10, 20))])))


def restore(path: str) -> None:
    """An older copy takes its place."""
    write_file(path + ".copy", b"".join(sealed([body(0), body(1)])))
    os.replace(path + ".copy", path)


def overwrite(path: str) -> None:
    """Other records stand where the last two stood."""
    write_file(path, b"".join(sealed([body(0), body(1), body(8), body(9)])))


LOSSES = [cut, cut_and_grow, restore, overwrite]


@proof(quick=8)
@pytest.mark.parametrize("between", ["nothing", "close", "failed reads", "fork"])
@pytest.mark.parametrize("lose", LOSSES)
def test_lost_messages_are_counted_and_told_as_an_error(
    path: str,
    files: FakeFiles,
    log: FileLog,
    lose: Callable[[str], None],
    between: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """By the next use, whatever this process did in between; they are told once, and the log goes on."""
    append(log, 0, 1, 2, 3)
    if between == "close":
        log.close()
    lose(path)
    for nth in range(4, 0, -1) if between == "failed reads" else ():
        files.fail("read", nth=nth)
        with contextlib.suppress(LogUnreadableError):
            log.follow()
        files.heal()
    if between == "fork":
        assert in_a_fork(lambda: (log.follow(), log.describe().lost_messages)[1] == 2)
    append(log, 30)
    assert log.describe().lost_messages == 2
    log.follow()
    log.close()
    log.follow()
    assert log.describe().lost_messages == 2
    told = [record for record in caplog.records if "2 messages that it held are gone" in record.message]
    assert [record.levelno for record in told] == [logging.ERROR]
    assert numbers(log)[:2] == [0, 1]
    assert numbers(log)[-1] == 30


def test_a_loss_in_two_steps_is_counted_twice(path: str, log: FileLog) -> None:
    """Each is compared with what was known before it."""
    append(log, *range(5))
    os.truncate(path, len(b"".join(sealed(list(map(body, range(4)))))))
    log.follow()
    assert log.describe().lost_messages == 1
    cut(path)
    log.follow()
    assert log.describe().lost_messages == 3


def test_what_a_purge_removed_is_not_lost(path: str, log: FileLog) -> None:
    """Nor what was appended to a log that another process had copied into its place unchanged."""
    append(log, 0, 1, 2, 3)
    purge_log(path, Purge(before="id-2"), now=lambda: STAMP)
    append(log, 4)
    shutil.copy(path, path + ".copy")
    os.replace(path + ".copy", path)
    append_to(path, 5)
    assert numbers(log) == [2, 3, 4, 5]
    assert log.describe().lost_messages == 0


@proof(quick=4)
@pytest.mark.parametrize("met", ["appended", "read", "failed read", "fork"])
def test_a_log_that_was_removed_is_no_new_session(path: str, met: str, files: FakeFiles) -> None:
    """Closed or not, written to or only read: nothing is created in its place, and put back it goes on."""
    if met == "read":
        append_to(path, 0)
    log = FileLog(path, files=files)
    if met == "read":
        log.follow()
    else:
        append(log, 0)
    if met == "failed read":
        append_to(path, 7)
        files.fail("read")
        with pytest.raises(LogUnreadableError):
            log.follow()
        files.heal()
    else:
        log.close()
        log.close()
    os.rename(path, path + ".away")
    for use in (FileLog.follow, lambda log: append(log, 1)):
        with pytest.raises(LogUnreadableError, match="removed"):
            use(log)
        if met == "fork":
            assert in_a_fork(lambda use=use: _raises_removed(lambda: use(log)))  # type: ignore[misc]
    assert not os.path.exists(path)
    os.rename(path + ".away", path)
    append(log, 1)
    assert numbers(log)[:1] == [0]
    assert numbers(log)[-1] == 1
    assert log.describe().lost_messages == 0
    log.close()


def _raises_removed(use: Callable[[], object]) -> bool:
    try:
        use()
    except LogUnreadableError as error:
        return "removed" in str(error)
    return False


def test_a_log_that_was_never_met_is_created(path: str, log: FileLog) -> None:
    """Closing or looking at what is not there is no meeting."""
    log.follow()
    log.close()
    append(log, 0)
    assert numbers(log) == [0]
    assert content_of(path)
