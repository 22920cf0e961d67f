"""A log against a plain list: appends, batches, resets, refusals, two writers, reopenings, power cuts and damage.

The list holds the numbers of the messages that must be live. After every step both writers, which have the log open
all the time, and a process that opens it anew read what the list says, whatever came before.
"""

import errno
import os
import random
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from amplifier_module_context_persistent.errors import AppendError, LogError, LogFailedError
from amplifier_module_context_persistent.log.file_log import FileLog
from tests.support.fakefs import FakeFiles
from tests.support.logs import (
    append_bodies,
    assert_sound,
    body,
    content_of,
    findings,
    giving,
    numbers,
    reset_bodies,
    stored_numbers,
    write_file,
)
from tests.support.logs import (
    kept as run_of,
)
from tests.support.sweeps import whole

WRITERS = st.integers(0, 1)
JUNK = [b"no json\n", b"\0" * 40 + b"\n", b"\n", b"[1]\n", b"null\n", b"\xff\xfe\n"]
SEEDS = st.integers(0, 1 << 16)


class LogModel(RuleBasedStateMachine):
    """The log, and the list."""

    def __init__(self) -> None:
        super().__init__()
        self.directories: list[tempfile.TemporaryDirectory[str]] = []
        self.live: list[int] = []
        self.unsure: set[int] = set()
        """What was refused or not synced: a power cut may bring it back, or take it."""
        self.next = 0
        self.damaged = False

    @initialize()
    def begin(self) -> None:
        self.move_to(self.new_directory())

    def teardown(self) -> None:
        for log in self.logs:
            log.close()
        for directory in self.directories:
            directory.cleanup()

    # -- appending -----------------------------------------------------------------------------------------------------

    @rule(writer=WRITERS)
    def append(self, writer: int) -> None:
        number = self.new_number()
        append_bodies(self.logs[writer], body(number))
        self.live.append(number)
        self.unsure.clear()

    @rule(writer=WRITERS, count=st.integers(2, 5), bad=st.booleans())
    def append_batch(self, writer: int, count: int, bad: bool) -> None:
        """Several callers in one batch, one of which may be refused."""
        fresh = [self.new_number() for _ in range(count)]

        def refuse(_index: Any) -> list[bytes]:
            raise ValueError("refused")

        batch = [giving(body(number)) for number in fresh]
        if bad:
            batch.insert(1, refuse)
        outcomes = self.logs[writer].append(batch)
        assert [isinstance(outcome, range) for outcome in outcomes].count(False) == int(bad)
        self.live += fresh
        self.unsure.clear()

    @rule(writer=WRITERS, runs=st.integers(0, 3), fresh=st.integers(0, 2), seed=SEEDS)
    def reset(self, writer: int, runs: int, fresh: int, seed: int) -> None:
        """A clear (nothing kept, nothing new), or `set_messages` with runs of kept messages and new ones."""
        rng, content, live, kept = random.Random(seed), [], [], self.live
        places = sorted(rng.sample(range(len(kept)), min(2 * runs, len(kept) // 2 * 2)))
        for first, last in zip(places[::2], places[1::2], strict=True):
            content.append(run_of(kept[first : last + 1]))
            live += kept[first : last + 1]
        for _ in range(fresh):
            number = self.new_number()
            content.append(body(number))
            live.append(number)
        append_bodies(self.logs[writer], *reset_bodies(f"r{self.new_number()}", *content))
        self.live = live
        self.unsure.clear()

    # -- failing -------------------------------------------------------------------------------------------------------

    @rule(writer=WRITERS, short=st.integers(0, 60))
    def a_write_is_refused(self, writer: int, short: int) -> None:
        """Nothing of it is stored."""
        log = self.logs[writer]
        log.follow()
        if log.describe().torn_bytes:
            return  # then it might be the copy of the tail that is refused
        number = self.new_number()
        self.files.fail("write", short=short, code=errno.ENOSPC)
        with pytest.raises(AppendError):
            append_bodies(self.logs[writer], body(number))
        self.files.heal()
        self.unsure.add(number)

    @rule(writer=WRITERS)
    def a_sync_fails(self, writer: int) -> None:
        """The outcome is unknown; whoever opens the log anew knows it."""
        log = self.logs[writer]
        log.follow()
        if log.describe().torn_bytes:
            return  # then the sync of the saved tail would fail, and nothing be stored
        number = self.new_number()
        self.files.fail("sync")
        with pytest.raises(LogFailedError):
            append_bodies(self.logs[writer], body(number))
        self.files.heal()
        assert numbers(self.logs[writer]) == self.live  # it serves what was acknowledged
        self.logs[writer].close()
        self.unsure.add(number)
        self.take_over()

    @rule(writer=WRITERS)
    def reopen(self, writer: int) -> None:
        self.logs[writer].close()

    @rule(writer=WRITERS, nth=st.integers(1, 14), seed=SEEDS)
    def the_power_fails_in_an_append(self, writer: int, nth: int, seed: int) -> None:
        """What was acknowledged is there; what was not is there as a whole or not at all."""
        number = self.new_number()
        self.files.fail(nth=nth, forever=True)
        try:
            append_bodies(self.logs[writer], body(number))
            self.live.append(number)
        except LogError:
            self.unsure.add(number)
        self.files.heal()
        self.power_cut(seed)

    @rule(seed=SEEDS)
    def the_power_fails(self, seed: int) -> None:
        self.power_cut(seed)

    # -- damage --------------------------------------------------------------------------------------------------------

    @rule(size=st.integers(1, 50))
    def an_append_of_another_program_is_torn(self, size: int) -> None:
        """What it left is saved aside by the next append."""
        if os.path.exists(self.path):
            line = body(999) + b"}"
            self.rewrite(content_of(self.path) + line[:size])

    @rule(seed=SEEDS, junk=st.sampled_from(JUNK))
    def bytes_are_put_between_records(self, seed: int, junk: bytes) -> None:
        """They are reported, and no record is lost by them."""
        lines = self.lines()
        places = [at for at, line in enumerate(lines) if line.endswith(b"\n")]
        if places:
            at = random.Random(seed).choice(places)
            self.rewrite(b"".join([*lines[:at], junk, *lines[at:]]))
            self.damaged = True

    @rule(seed=SEEDS)
    def a_text_is_altered(self, seed: int) -> None:
        """The message is read as it is now, and reported."""
        lines = self.lines()
        places = [at for at, line in enumerate(lines) if b'"content":"message ' in line and line.endswith(b"\n")]
        if places:
            at = random.Random(seed).choice(places)
            lines[at] = lines[at].replace(b'"content":"message ', b'"content":"massage ')
            self.rewrite(b"".join(lines))
            self.damaged = True

    @precondition(lambda self: self.live)
    @rule(seed=SEEDS)
    def a_message_is_overwritten(self, seed: int) -> None:
        """It alone is lost, and reported."""
        lines = self.lines()
        number = random.Random(seed).choice(self.live)
        named = b'"message_id":"id-%d"' % number
        places = [at for at, line in enumerate(lines) if named in line and line.endswith(b"\n")]
        if len(places) == 1:
            at = places[0]
            lines[at] = b"\0" * (len(lines[at]) - 1) + b"\n"
            self.rewrite(b"".join(lines))
            self.live.remove(number)
            self.damaged = True

    # -- what must hold ------------------------------------------------------------------------------------------------

    @invariant()
    def everybody_reads_the_list(self) -> None:
        if not hasattr(self, "path"):
            return
        for log in self.logs:
            assert numbers(log) == self.live
        assert stored_numbers(self.path) == self.live
        if not self.damaged and os.path.exists(self.path):
            assert findings(self.path) == []
            log = self.logs[0]
            if log.describe().torn_bytes == 0 and content_of(self.path).endswith(b"\n"):  # a power cut may take it
                assert_sound(self.path)
        elif self.damaged:
            assert findings(self.path)

    # -- means ---------------------------------------------------------------------------------------------------------

    def new_number(self) -> int:
        self.next += 1
        return self.next - 1

    def new_directory(self) -> str:
        directory = tempfile.TemporaryDirectory()
        self.directories.append(directory)
        return directory.name

    def move_to(self, root: str) -> None:
        self.root, self.path = root, os.path.join(root, "a", "log.jsonl")
        self.files = FakeFiles()
        self.logs = [FileLog(self.path, files=self.files) for _ in range(2)]

    def power_cut(self, seed: int) -> None:
        root = self.new_directory()
        self.files.power_cut(self.root, root, random.Random(seed).randrange if seed % 4 else None)
        for log in self.logs:
            log.close()
        self.move_to(root)
        self.take_over()
        in_pieces = len(self.unsure) > 1  # of several records that were never synced, the first may be lost alone
        self.unsure.clear()
        self.damaged = (self.damaged or in_pieces) and bool(os.path.exists(self.path) and findings(self.path))

    def take_over(self) -> None:
        """Let the list be what is stored, which may differ from it by what nobody acknowledged."""
        stored, unsure = stored_numbers(self.path), self.unsure
        assert [number for number in stored if number not in unsure] == [n for n in self.live if n not in unsure]
        assert len(set(stored)) == len(stored)
        self.live = stored

    def lines(self) -> list[bytes]:
        return content_of(self.path).splitlines(keepends=True) if os.path.exists(self.path) else []

    def rewrite(self, content: bytes) -> None:
        """Change the file behind the log's back; both writers were closed by then."""
        for log in self.logs:
            log.close()
        write_file(self.path, content)
        self.files.tracked.pop(self.path, None)


def test_a_log_is_a_list() -> None:
    """Through any run of appends, resets, failures, power cuts and damage, all readers read what a plain list holds."""
    run_state_machine_as_test(
        LogModel,
        settings=settings(
            max_examples=60 if whole() else 5,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
