"""A session's log, opened for reading: its messages, its turns, the views that models got.

Reads only, also while the session is running. It keeps no message in memory: each one is parsed when it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..catalogue.index_snapshots import CatalogueSnapshots
from ..errors import LogUnreadableError
from ..log.base import ReadableLog
from ..log.database_location import shown_location
from ..log.filesystem import FileSystem
from ..log.index import DAMAGED, ROLE_CODES, UNCHAINED
from ..log.open_reader import open_reader
from ..log.record_line import Message
from ..paths import session_id_of
from ..search.tool_names import tools_of
from ..view.turns import TurnCount, turn_starts
from .calls import CallLookup, CallOutcome
from .raw_records import follow_log

if TYPE_CHECKING:  # what makes views again is half of all that a command loads, and most need no views
    from .find_request import FoundRequest
    from .view_rebuild import PlacedReceipt, RebuiltView, ReceiptLog

_BATCH = 256

Progress = Callable[[str, int, int], None]
"""Is called with the stage of some work, how much of it is done, and how much it is in all."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn: a human message and the messages after it, up to the next human message.

    `number` counts from 1. Its messages are at `start` to before `stop` in the live history, which counts from 0.
    Messages before the first human message belong to the first turn.
    """

    number: int
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class LiveMessage:
    """A live message, and its number in the live history, which counts from 1."""

    number: int
    message: Message
    find_tools: Callable[[], tuple[str, ...]]
    find_ending: Callable[[], CallOutcome | None] = lambda: None
    find_open_calls: Callable[[], frozenset[str]] = frozenset

    def __repr__(self) -> str:
        return f"LiveMessage(number={self.number}, role={self.message.get('role')!r})"

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it calls, or the tool whose result it is; looked up at each access."""
        return self.find_tools()

    @property
    def ending(self) -> CallOutcome | None:
        """The outcome of the call whose result it is; None if it is not a result. Looked up at each access."""
        return self.find_ending()

    @property
    def open_calls(self) -> frozenset[str]:
        """The ids of its calls that have no result; looked up at each access."""
        return self.find_open_calls()


class Transcript:
    """A log that is read and never written; close it, or use it in a `with` statement.

    Args:
        path: the log's file, or `postgresql://…#NAME`.
        files: the system calls, to be told how far reading is.

    Raises:
        LogUnreadableError: it is not there, it cannot be read, or no line of it is a record.
    """

    def __init__(self, path: str | Path, *, files: FileSystem | None = None) -> None:
        location = shown_location(os.fspath(path))  # and still names it
        self.reader: ReadableLog = open_reader(location, files=files, snapshots=CatalogueSnapshots())
        try:
            follow_log(self.reader)
        except LogUnreadableError:
            self.reader.close()
            raise

    def __enter__(self) -> Transcript:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of live messages."""
        return len(self.reader.index.live)

    def __repr__(self) -> str:
        return f"<Transcript {self.path}: {len(self):,} messages>"

    @property
    def path(self) -> str:
        """The log's file, or its location without a password."""
        return self.reader.describe().location

    @property
    def header(self) -> Mapping[str, Any]:
        """The fields of the log's header record, as `naming_header` chooses it; empty if it has none."""
        return naming_header(self.reader.index.headers)

    def close(self) -> None:
        """Let the file go."""
        self.reader.close()

    def messages(self, start: int = 0, stop: int | None = None) -> Iterator[Message]:
        """Parse the live messages from `start` to before `stop`, one after the other.

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
        """Parse the live messages from `start` to before `stop` that are asked for, one after the other.

        Args:
            start: the first position, from 0.
            stop: the position after the last one; by default the end.
            role: only messages of this role.
            tools: only messages that call one of these tools or are its results, whatever the case of their names.
            may_match: asked of each line that this package wrote; what it refuses is not parsed.
            among: only these places, from 0, in their order, in the place of `start` and `stop`.

        Raises:
            LogUnreadableError: the log's bytes changed while they were read.
        """
        reader, index, live = self.reader, self.reader.index, self.reader.index.live
        calls, folded = CallLookup(reader), frozenset(tool.casefold() for tool in tools)
        positions = range(*slice(start, stop).indices(len(live))) if among is None else among
        for begin in range(0, len(positions), _BATCH):
            batch: list[int] = [
                position
                for position in positions[begin : begin + _BATCH]
                if role is None or index.columns.roles[live[position]] == ROLE_CODES[role]
            ]
            if may_match is not None:
                lines = reader.lines([live[position] for position in batch])
                batch = [
                    position
                    for position, (ordinal, line) in zip(batch, lines, strict=True)
                    if index.columns.flags[ordinal] & (DAMAGED | UNCHAINED) or may_match(line)
                ]
            messages = reader.read([live[position] for position in batch])
            for position, message in zip(batch, messages, strict=True):
                placed = LiveMessage(
                    position + 1,
                    message,
                    partial(tools_of, reader, live, position, message),
                    partial(calls.ending, live, position, message),
                    partial(calls.open_calls, live, position, message),
                )
                if not folded or not folded.isdisjoint(map(str.casefold, placed.tools)):
                    yield placed

    def tool_names(self) -> list[str]:
        """The tools that live messages call, by name."""
        names: set[str] = set()
        for placed in self.placed(role="assistant"):
            names.update(placed.tools)
        return sorted(names)

    def turn_starts(self) -> list[int]:
        """The positions in the live history at which turns begin; empty if the history is."""
        return turn_starts(self.reader.index, self.reader.read)

    def turns(self) -> list[Turn]:
        """The turns of the live history; empty if the history is."""
        edges = [*self.turn_starts(), len(self)]
        return [Turn(number, *edge) for number, edge in enumerate(pairwise(edges), 1)]

    def turn_count(self, starts: Sequence[int] | None = None) -> TurnCount:
        """Number the turns while the live history is gone through; nothing is read ahead.

        Args:
            starts: what `turn_starts` gave, if that is known.
        """
        return TurnCount(self.reader.index, self.reader.read, starts)

    def is_hidden(self, position: int) -> bool:
        """Whether the turn of a message, named by its position in the live history, is hidden from views."""
        return self.reader.index.live[position] in self.reader.index.session.hidden

    @cached_property
    def book(self) -> ReceiptLog:
        """The receipts of the log, and what they name."""
        from .view_rebuild import read_receipts

        return read_receipts(self.reader)

    def requests(self) -> list[PlacedReceipt]:
        """The requests whose views left a receipt, in order."""
        return self.book.requests

    def has_requests(self) -> bool:
        """Whether views left receipts; quicker than `requests`."""
        return self.reader.index.control_counts.get("view", 0) > 0

    def request(self, number: int) -> FoundRequest:
        """One request by its number, from 1, or from -1 for the last one.

        An imported session has no stored receipts. One is made up for the request before each answer, without a hash;
        its view is the history under the source's compactions.

        Raises:
            IndexError: there is no such request.
            LogUnreadableError: the log cannot be read.
        """
        from .find_request import find_request

        return find_request(self.reader, self.book, number)

    def view(self, request: int) -> RebuiltView:
        """Make the view of a request again; `request` counts from 1, or from -1 for the last one.

        Raises:
            IndexError: there is no such request.
            LogUnreadableError: the log's bytes changed while they were read.
        """
        from .view_rebuild import Rebuilder

        return Rebuilder(self.reader, self.book).view(self.request(request).noted)


def session_id_in(transcript: Transcript) -> str | None:
    """A session's id: from its header, else the name of its directory; None if there is neither."""
    return header_session_id(transcript.reader.index.headers) or session_id_of(transcript.path)


def header_session_id(headers: Sequence[Mapping[str, Any]]) -> str | None:
    """The id of a session that the headers of its log name; None if they name none."""
    named = naming_header(headers).get("session_id")
    return named if isinstance(named, str) and named else None


def naming_header(headers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The last header that names its session; without one the last header, or an empty one.

    A session without an id that went on with a log wrote a header of its own in earlier versions.
    """
    named = (header for header in reversed(headers) if header.get("session_id"))
    return next(named, headers[-1] if headers else {})
