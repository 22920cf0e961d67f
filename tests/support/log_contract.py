"""What every implementation of `Log` must keep: subclass `LogContract`, give it a log, and pytest runs the suite."""

from collections.abc import Callable, Sequence

import pytest

from amplifier_module_context_persistent.errors import LogUnreadableError, LogVersionError
from amplifier_module_context_persistent.log.contract import Log
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.log.reset_record import ids_in, reset_bodies
from tests.support.logs import STAMP, append, append_bodies, body, giving, numbers

OpenLog = Callable[[], Log]


class LogContract:
    """The suite. `shares` says whether a second log can be opened on the same storage; `survives`, whether it stays."""

    shares = True
    survives = True

    @pytest.fixture
    def open_log(self) -> OpenLog:
        """Open another log on the storage of this test; a subclass gives it."""
        raise NotImplementedError

    @pytest.fixture
    def log(self, open_log: OpenLog) -> Log:
        return open_log()

    def test_a_log_that_is_not_there_is_empty(self, log: Log) -> None:
        """Looking at it creates nothing."""
        log.follow()
        assert len(log.index) == 0
        assert list(log.records()) == []

    def test_records_keep_their_order_and_numbers(self, log: Log) -> None:
        """Messages are numbered as they were appended; control records have no number."""
        append(log, 0, 1)
        assert append_bodies(log, encode_control("view"), body(2)) == range(2, 3)
        assert numbers(log) == [0, 1, 2]
        assert log.index.control_counts == {"view": 1}
        assert list(log.index.columns.offsets) == sorted(set(log.index.columns.offsets))

    def test_each_caller_is_told_its_own_outcome(self, log: Log) -> None:
        """What one of a batch raises concerns it alone, and nothing of it is stored."""

        def refuse(_: Index) -> list[bytes]:
            raise KeyError("mine")

        first, second, third = log.append([giving(body(0), body(1)), refuse, giving(body(2))])
        assert (first, third) == (range(2), range(2, 3))
        assert isinstance(second, KeyError)
        assert numbers(log) == [0, 1, 2]

    def test_an_empty_result_appends_nothing(self, log: Log) -> None:
        """And is a success."""
        append(log, 0)
        assert log.append([giving()]) == [range(1, 1)]
        assert numbers(log) == [0]

    def test_prepare_sees_what_was_stored(self, log: Log) -> None:
        """Control records of callers before it in the batch, too; and it may read messages."""
        append(log, 0)
        seen: list[tuple[int, int]] = []

        def look(index: Index) -> Sequence[bytes]:
            seen.append((index.control_counts.get("plan", 0), len(list(log.read([0])))))
            return [body(1)]

        log.append([giving(encode_control("plan", id="p")), look])
        assert seen[-1] == (1, 1)

    def test_a_message_is_parsed_afresh(self, log: Log) -> None:
        """What a reader does to one does not reach the log."""
        append(log, 0)
        (message,) = log.read([0])
        message["content"] = "changed"
        assert numbers(log) == [0]

    def test_messages_are_read_in_the_order_asked_for(self, log: Log) -> None:
        """Any order, and more than once."""
        append(log, *range(5))
        assert [ordinal for ordinal, _ in log.lines([4, 0, 0, 2])] == [4, 0, 0, 2]
        assert [message["content"] for message in log.read([3, 1])] == ["message 3", "message 1"]

    def test_a_reset_takes_effect_as_a_whole(self, log: Log) -> None:
        """What it keeps is live in its order, and its messages are what was given."""
        append(log, 0, 1, 2, 3)
        index = log.index
        bodies = reset_bodies(index.live, [3, 1], ids_in(log.read), reset_id="r", reason="rewind", time=STAMP)
        append_bodies(log, *bodies)
        assert numbers(log) == [3, 1]
        append(log, 4)
        assert numbers(log) == [3, 1, 4]

    def test_every_record_is_given_with_its_line(self, log: Log) -> None:
        """Oldest first, with LF, control records among them; message lines are those of `lines`."""
        append(log, 0)
        append_bodies(log, encode_control("view"), body(1))
        lines = list(log.records())
        assert len(lines) == 3
        assert all(line.endswith(b"\n") for line in lines)
        assert [line + b"\n" for _, line in log.lines([0, 1])] == [lines[0], lines[2]]

    def test_a_description_reads_no_message(self, log: Log) -> None:
        """It says that the log is there, and how large it is."""
        append(log, 0)
        described = log.describe()
        assert (described.exists, described.torn_bytes, described.lost_messages) == (True, 0, 0)
        assert described.size_bytes > 0

    def test_a_log_of_a_later_version_is_read_and_never_appended_to(self, log: Log) -> None:
        """Nothing that this version would write can be right there."""
        append_bodies(log, encode_control("header", version=99), body(0))
        with pytest.raises(LogVersionError, match="format version 99"):
            append(log, 1)
        assert numbers(log) == [0]
        assert len(list(log.records())) == 2

    def test_others_are_followed(self, open_log: OpenLog) -> None:
        """What another writer appends is seen, and the next append follows it."""
        if not self.shares:
            pytest.skip("nobody else can append to it")
        one, other = open_log(), open_log()
        append(one, 0)
        append(other, 1)
        append(one, 2)
        assert numbers(one) == numbers(other) == [0, 1, 2]

    def test_prepare_runs_after_the_others(self, open_log: OpenLog) -> None:
        """Its last run sees what another writer stored before it, whatever was known when it was called."""
        if not self.shares:
            pytest.skip("nobody else can append to it")
        one, other = open_log(), open_log()
        append(one, 0)
        other.follow()
        append(one, 1)
        seen: list[int] = []
        other.append([lambda index: (seen.append(len(index)), [body(2)])[1]])  # type: ignore[func-returns-value]
        assert seen[-1] == 2

    def test_a_closed_log_opens_again(self, log: Log) -> None:
        """Closing twice is no error; what was stored is there if the storage stays."""
        append(log, 0)
        log.close()
        log.close()
        if self.survives:
            append(log, 1)
            assert numbers(log) == [0, 1]

    def test_without_waiting_nothing_is_lost(self, log: Log) -> None:
        """`wait=False` appends, or says that it would have to wait; then nothing was stored."""
        append(log, 0)
        try:
            outcomes = log.append([giving(body(1))], wait=False)
        except BlockingIOError:
            assert numbers(log) == [0]
        else:
            assert outcomes == [range(1, 2)]
            assert numbers(log) == [0, 1]

    def test_what_changed_in_the_storage_is_never_handed_out(self, log: Log) -> None:
        """A line that is not what the index was made from is an error."""
        if not self.tamper(log, b"", b""):
            pytest.skip("nobody can change it")
        append(log, 0, 1)
        numbers(log)
        assert self.tamper(log, b"message 1", b"message 9")
        with pytest.raises(LogUnreadableError, match="was changed"):
            list(log.read([1]))

    def tamper(self, log: Log, old: bytes, new: bytes) -> bool:
        """Change bytes in the storage behind the log's back; False where that is not possible."""
        return False
