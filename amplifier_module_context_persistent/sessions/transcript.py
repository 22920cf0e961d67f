"""Open a session's log for reading: its messages, its turns, and the views that models got.

The log is never written, and can also be read while the session is running. No message is kept in memory: each message
is parsed when it is requested.

A message is live if nothing, such as a clear or a rewind, has removed it from the session's history. A view is the list
of messages that a model gets in a request. A receipt is the record of a view, with its hash.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..catalogue.index_snapshots import CatalogueSnapshots
from ..errors import LogUnreadableError
from ..log.contract import ReadableLog
from ..log.database_location import shown_location
from ..log.filesystem import FileSystem
from ..log.index import DAMAGED, ROLE_CODES, UNCHAINED
from ..log.open_reader import open_reader
from ..log.record_line import Message
from ..paths import session_id_of
from ..search.tool_names import tools_of
from ..view.turns import TurnCount, turn_starts
from .call_of_result import CallLookup, CallOutcome
from .raw_records import read_log

if TYPE_CHECKING:  # half of a command's imports are for rebuilding views, and most commands need no views
    from .find_request import FoundRequest
    from .view_rebuild import PlacedReceipt, RebuiltView, ReceiptLog

_BATCH = 256

Progress = Callable[[str, int, int], None]
"""A function that is called with the stage of the work, the amount that is done, and the total amount."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn: a human message and the messages after it, up to the next human message.

    Messages before the first human message belong to the first turn.

    Attributes:
        number: the number of the turn, from 1.
        start: the position of its first message in the live history, from 0.
        stop: the position after its last message.
    """

    number: int
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class LiveMessage:
    """A live message and its number in the live history, from 1."""

    number: int
    message: Message
    find_tools: Callable[[], tuple[str, ...]]
    find_call_outcome: Callable[[], CallOutcome | None] = lambda: None
    find_open_calls: Callable[[], frozenset[str]] = frozenset

    def __repr__(self) -> str:
        return f"LiveMessage(number={self.number}, role={self.message.get('role')!r})"

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that the message calls, or the tool whose result it is. They are looked up at each access."""
        return self.find_tools()

    @property
    def call_outcome(self) -> CallOutcome | None:
        """The outcome of the call that the message answers; None if the message is not a result.

        Looked up at each access.
        """
        return self.find_call_outcome()

    @property
    def open_calls(self) -> frozenset[str]:
        """The ids of the message's calls that have no result; looked up at each access."""
        return self.find_open_calls()


class Transcript:
    """A log that is open for reading. Close it, or use it in a `with` statement.

    Args:
        path: the log's file, or `postgresql://…#NAME`.
        files: the system calls, which can report the progress of reading.

    Raises:
        LogUnreadableError: the log does not exist, cannot be read, or none of its lines is a record.
    """

    def __init__(self, path: str | Path, *, files: FileSystem | None = None) -> None:
        location = shown_location(os.fspath(path))  # without a password; it still names the log
        self.reader: ReadableLog = open_reader(location, files=files, snapshots=CatalogueSnapshots())
        try:
            read_log(self.reader)
        except LogUnreadableError:
            self.reader.close()
            raise

    def __enter__(self) -> Transcript:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Return the number of live messages."""
        return len(self.reader.index.live)

    def __repr__(self) -> str:
        return f"<Transcript {self.path}: {len(self):,} messages>"

    @property
    def path(self) -> str:
        """The path of the log's file, or its location in a database without the password."""
        return self.reader.describe().location

    @property
    def header(self) -> Mapping[str, Any]:
        """The fields of the log's header record (chosen by `naming_header`); {} if the log has no header."""
        return naming_header(self.reader.index.headers)

    def close(self) -> None:
        """Close the log."""
        self.reader.close()

    def messages(self, start: int = 0, stop: int | None = None) -> Iterator[Message]:
        """Yield the live messages from position `start` to before `stop`.

        Raises:
            LogUnreadableError: the log's bytes changed while they were read.
        """
        yield from self.reader.read(self.reader.index.live[start:stop])

    def placed(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        role: str | None = None,
        tools: Collection[str] = (),
        may_match: Callable[[bytes], bool] | None = None,
        among: Sequence[int] | None = None,
    ) -> Iterator[LiveMessage]:
        """Yield the live messages that match the arguments, each with its number.

        Args:
            start: the first position, from 0.
            stop: the position after the last message; by default the end.
            role: only messages of this role.
            tools: only calls and results of these tools, ignoring case.
            may_match: called with each undamaged line that this package wrote. If it returns False, the message is
                skipped without being parsed.
            among: the positions to look at, from 0 and in this order, instead of `start` and `stop`.

        Raises:
            LogUnreadableError: the log's bytes changed while they were read.
        """
        reader = self.reader
        live = self.reader.index.live
        calls = CallLookup(reader)
        wanted_tools = frozenset(tool.casefold() for tool in tools)
        positions = range(len(live))[start:stop] if among is None else among
        for begin in range(0, len(positions), _BATCH):
            batch: Sequence[int] = positions[begin : begin + _BATCH]
            if role is not None:
                batch = self._of_role(batch, role)
            if may_match is not None:
                batch = self._with_line(batch, may_match)
            messages = reader.read([live[position] for position in batch])
            for position, message in zip(batch, messages, strict=True):
                placed = LiveMessage(
                    position + 1,
                    message,
                    partial(tools_of, reader, live, position, message),
                    partial(calls.outcome_of_result, live, position, message),
                    partial(calls.open_calls, live, position, message),
                )
                if wanted_tools and wanted_tools.isdisjoint(tool.casefold() for tool in placed.tools):
                    continue
                yield placed

    def _of_role(self, positions: Sequence[int], role: str) -> list[int]:
        """Return the positions, among the given ones, of messages with a role."""
        index = self.reader.index
        roles = index.columns.roles
        code = ROLE_CODES[role]
        return [position for position in positions if roles[index.live[position]] == code]

    def _with_line(self, positions: Sequence[int], may_match: Callable[[bytes], bool]) -> list[int]:
        """Return the given positions whose line may match. Lines that this package did not write always may."""
        index = self.reader.index
        lines = self.reader.lines([index.live[position] for position in positions])
        found = []
        for position, (ordinal, line) in zip(positions, lines, strict=True):
            is_ours = not index.columns.flags[ordinal] & (DAMAGED | UNCHAINED)
            if not is_ours or may_match(line):
                found.append(position)
        return found

    def tool_names(self) -> list[str]:
        """Return the names of the tools that live messages call, sorted."""
        names: set[str] = set()
        for placed in self.placed(role="assistant"):
            names.update(placed.tools)
        return sorted(names)

    def turn_starts(self) -> list[int]:
        """Return the positions in the live history at which turns begin; [] if the history is empty."""
        return turn_starts(self.reader.index, self.reader.read)

    def turns(self) -> list[Turn]:
        """Return the turns of the live history; [] if the history is empty."""
        edges = [*self.turn_starts(), len(self)]
        return [Turn(number, *edge) for number, edge in enumerate(pairwise(edges), 1)]

    def turn_count(self, starts: Sequence[int] | None = None) -> TurnCount:
        """Return a counter of turns for going through the live history. The counter reads no messages in advance.

        Args:
            starts: the result of `turn_starts`, if it is known.
        """
        return TurnCount(self.reader.index, self.reader.read, starts)

    def is_hidden(self, position: int) -> bool:
        """Return whether views leave out the turn of the message at a position in the live history."""
        return self.reader.index.live[position] in self.reader.index.session.hidden

    @cached_property
    def book(self) -> ReceiptLog:
        """The receipts of the log, and the records to which these refer. They are read at the first access."""
        from .view_rebuild import read_receipts

        return read_receipts(self.reader)

    def requests(self) -> list[PlacedReceipt]:
        """Return the requests that have a receipt, in order."""
        return self.book.requests

    def has_requests(self) -> bool:
        """Return whether the log has receipts; faster than `requests`."""
        return self.reader.index.control_counts.get("view", 0) > 0

    def request(self, number: int) -> FoundRequest:
        """Return a request by its number, from 1, or from -1 for the last request.

        An imported session has no stored receipts. For each of its answers, a receipt without a hash is made up; its
        view is the history before the answer, as the compactions of the imported agent left it.

        Raises:
            IndexError: there is no such request.
            LogUnreadableError: the log cannot be read.
        """
        from .find_request import find_request

        return find_request(self.reader, self.book, number)

    def view(self, request: int) -> RebuiltView:
        """Rebuild the view of a request; `request` is its number from 1, or from -1 for the last request.

        Raises:
            IndexError: there is no such request.
            LogUnreadableError: the log's bytes changed while they were read.
        """
        from .view_rebuild import Rebuilder

        return Rebuilder(self.reader, self.book).view(self.request(request).noted)


def session_id_in(transcript: Transcript) -> str | None:
    """Return a session's id from the header of its log, else from the log's path; None if neither has an id."""
    return header_session_id(transcript.reader.index.headers) or session_id_of(transcript.path)


def header_session_id(headers: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the session's id from the headers of its log; None if the headers contain none."""
    session_id = naming_header(headers).get("session_id")
    if not isinstance(session_id, str):
        return None
    return session_id or None


def log_id_in(headers: Iterable[Mapping[str, Any]]) -> str:
    """Return the id of a log from its headers, which all repeat the first one's; "" if they have none."""
    ids = (header.get("log_id") for header in headers)
    return next((log_id for log_id in ids if log_id and isinstance(log_id, str)), "")


def naming_header(headers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the last header that contains a session's id; else the last header, or {} without headers.

    There may be several headers: in earlier versions, a session without an id that continued a log wrote its own.
    """
    naming = [header for header in headers if header.get("session_id")]
    candidates = naming or headers
    return candidates[-1] if candidates else {}
