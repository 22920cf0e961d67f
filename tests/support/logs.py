"""Small messages, appends and readings for the tests of the log, and a check of the chain that shares no code."""

import json
import os
import warnings
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.contract import Log, Prepare
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.index import USER, Damage
from amplifier_module_context_persistent.log.message_columns import Row
from amplifier_module_context_persistent.log.record_line import encode_control, encode_message
from amplifier_module_context_persistent.log.reset_record import KeptRun, Reset, frame

STAMP = "2026-01-05T09:00:00.000Z"


def body(number: int, *, text: str = "", **metadata: Any) -> bytes:
    """The body of a user message that says its number."""
    message = {"role": "user", "content": f"message {number}{text}", "metadata": metadata}
    return encode_message(message, message_id=f"id-{number}", timestamp=STAMP)


def giving(*bodies: bytes) -> Prepare:
    """What a caller queues who appends these bodies."""
    return lambda _index: bodies


def append(log: Log, *numbers: int) -> None:
    """Append messages with these numbers, each as a caller of its own; whatever refuses one is raised."""
    for outcome in log.append([giving(body(number)) for number in numbers]):
        if isinstance(outcome, Exception):
            raise outcome


def append_to(path: str, *numbers: int) -> None:
    """Append messages with these numbers to a file that is opened for it and closed again."""
    with closing(FileLog(path)) as log:
        append(log, *numbers)


def append_bodies(log: Log, *bodies: bytes) -> range:
    (outcome,) = log.append([giving(*bodies)])
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def keep(first: int, last: int) -> bytes:
    """What keeps a run of messages in a reset; they are numbered without a gap."""
    return encode_control("keep", **{"from": f"id-{first}", "to": f"id-{last}"})


def kept(numbers: Sequence[int]) -> bytes:
    """What keeps a run of messages in a reset, by their numbers."""
    return encode_control("keep", numbers=list(numbers))


def reset_bodies(reset_id: str, *content: bytes, upto: str = "") -> list[bytes]:
    """The bodies of a whole reset; of its content, what `keep` gives becomes runs of its description."""
    members: list[bytes] = []
    runs: list[KeptRun] = []
    for one in content:
        value = json.loads(one + b"}")
        if value.get("_record") == "keep":
            numbers = value.get("numbers") or range(int(value["from"][3:]), int(value["to"][3:]) + 1)
            runs.append(KeptRun.of(len(members), [f"id-{number}" for number in numbers]))
        else:
            members.append(one + b',"_reset":["%s",%d]' % (reset_id.encode(), len(members)))
    live = len(members) + sum(run.count for run in runs)
    return frame(Reset(reset_id, "clear", STAMP, upto, len(members), live, tuple(runs)), members)


def sealed(bodies: Sequence[bytes], seed: int = 0) -> list[bytes]:
    """The lines of a log that holds these bodies."""
    lines = []
    for one in bodies:
        line, seed = seal(one, seed)
        lines.append(line)
    return lines


def numbers(log: Log) -> list[int]:
    """The numbers of the live messages, in order, parsed afresh; as a session reads, where a snapshot was wrong."""
    log.follow()
    index = log.index
    try:
        return [number_of(message) for message in log.read(index.live)]
    except LogUnreadableError:
        if log.index is index:
            raise
        return [number_of(message) for message in log.read(log.index.live)]


def number_of(message: dict[str, Any]) -> int:
    return int(message["content"].split()[1])


def stored_numbers(path: str) -> list[int]:
    """The numbers of the live messages as a new process reads them."""
    with closing(FileLog(path)) as log:
        return numbers(log)


def findings(path: str) -> list[Damage]:
    """What a new process finds damaged."""
    with closing(FileLog(path)) as log:
        log.follow()
        return list(log.index.damage)


def content_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def write_file(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def saved_tails(path: str) -> list[str]:
    """The copies of torn tails beside a log."""
    directory, name = os.path.split(path)
    saved = [other for other in os.listdir(directory) if other.startswith(f"{name}.torn-")]
    return sorted(os.path.join(directory, other) for other in saved)


def assert_sound(path: str) -> None:
    """Every line ends with LF, is a JSON object, and carries the checksum that continues the one before."""
    seed = 0
    content = content_of(path)
    assert content.endswith(b"\n")
    for line in content.splitlines(keepends=True):
        value = json.loads(line)
        seed = zlib.crc32(line[:-20] + b"}", seed)
        assert value["_crc"] == f"{seed:08x}", f"the chain breaks at {line[:80]!r}"


def in_a_fork(job: Callable[[], bool]) -> bool:
    """Whether a job succeeds in a child process that is forked here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads is what is tested
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if job() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def row(
    *,
    offset: int = 0,
    length: int = 1,
    role: int = USER,
    flags: int = 0,
    id_hash: int = 0,
    seed: int = 0,
    check: int = 0,
    answered_by: int = 0,
    plain_user: int = 0,
) -> Row:
    """What the columns hold of one message."""
    return offset, length, role, flags, id_hash, seed, check, answered_by, plain_user
