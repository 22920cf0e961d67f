"""Read the sessions of sub-agents for their parent's page: where each began, its counts and cost, and its text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass

from ...errors import LogError
from ...log.filesystem import FileSystem
from ...messages.first_line import first_line
from ...messages.message import Message, calls_of
from ...messages.message_times import timestamp_of
from ...sessions.gather_figures import gathered
from ...sessions.prices import PriceList
from ...sessions.session_files import SessionFile
from ...sessions.session_name import read_name
from ...sessions.session_origin import relatives_of
from ...sessions.totals import Total, totals
from ...sessions.transcript import Transcript
from ...tokens.counter import TokenCounter
from .history import History, time_ms
from .message_body import Bodies

MOST_CHARS = 200_000
"""The most characters of a sub-agent's text that are shown; a report of the sub-agent has the rest."""
_ALL_CHARS = 4_000_000
_TITLE_CHARS = 120
_ROLES = {"user": "Task", "tool": "Result", "function": "Result", "assistant": "Sub-agent"}


@dataclass(slots=True)
class SubAgent:
    """A sub-agent's session, which began after the message at `place`, counted from 0 on the page."""

    id: str
    title: str
    place: int
    turns: int
    messages: int
    calls: int
    failed: int
    cost: float
    guess: int
    """1 if the cost is an estimate."""
    text: str


def read_sub_agents(
    sessions: Sequence[SessionFile],
    parent: Transcript,
    history: History,
    start: int,
    bodies: Bodies,
    counter: TokenCounter,
    prices: PriceList,
) -> list[SubAgent]:
    """Return the sessions of sub-agents that began in the shown history, except unreadable sessions.

    Args:
        sessions: the sub-agents' sessions.
        parent: the session of the page.
        history: the part of the parent's history that the page shows.
        start: the position in the live history at which this part begins.
        bodies: redacts texts and makes them printable.
        counter: counts tokens.
        prices: prices of models.
    """
    if not sessions:
        return []
    with gathered(sessions, counter, lambda _: nullcontext(FileSystem())) as figures:
        sums = totals(figures, prices, "path")
    places = _CallPlaces(parent, history, start)
    read: list[SubAgent] = []
    for session in sessions:
        room = _ALL_CHARS - sum(len(row.text) for row in read)
        try:
            with Transcript(session.path) as transcript:
                place = places.of(transcript)
                if place is not None:
                    total = sums.get(str(session.path), Total())
                    read.append(
                        _read(transcript, session, place=place, total=total, bodies=bodies, room=min(MOST_CHARS, room))
                    )
        except (LogError, OSError, ValueError):
            continue
    return sorted(read, key=lambda row: row.place)


def to_json(read: Sequence[SubAgent]) -> list[dict[str, object]]:
    """Return the sub-agents in the form that the page's script reads; see docs/report_data.md."""
    return [asdict(row) for row in read]


class _CallPlaces:
    """Finds the message after which a sub-agent began, by the call that started the sub-agent, or else by time."""

    def __init__(self, parent: Transcript, history: History, start: int) -> None:
        self._calls: dict[str, int] = {}
        for place, message in enumerate(parent.messages(start, start + len(history))):
            for call in calls_of(message):
                self._calls[call.id] = place
        self._times: list[int] = []
        self._places: list[int] = []
        for place, time in enumerate(history.times):
            if time:
                self._times.append(time)
                self._places.append(place)

    def of(self, transcript: Transcript) -> int | None:
        """Return the position of the message after which a sub-agent began.

        Return None if the sub-agent began before the shown part, or at an unknown time.
        """
        called = self._calls.get(relatives_of(transcript.header).call_id)
        if called is not None:
            return called
        began_ms = _first_time_ms(transcript)
        if not began_ms:
            return None
        earlier_times = bisect_right(self._times, began_ms)
        if not earlier_times:
            return None
        return self._places[earlier_times - 1]


def _first_time_ms(transcript: Transcript) -> int:
    """Return the first time in the first messages, in milliseconds since 1970, or 0 if none of these has a time."""
    for message in transcript.messages(0, 20):
        time = time_ms(timestamp_of(message))
        if time:
            return time
    return 0


def _read(
    transcript: Transcript, session: SessionFile, place: int, total: Total, bodies: Bodies, room: int
) -> SubAgent:
    pieces: list[str] = []
    size = 0
    for number, message in enumerate(transcript.messages()):
        if size > room:
            pieces.append(f"... and {len(transcript) - number:,} messages more, which a report of its own has")
            break
        pieces.append(_said(message, bodies))
        size += len(pieces[-1])
    return SubAgent(
        id=bodies.name(session.id),
        title=bodies.name(_title(transcript)),
        place=place,
        turns=len(transcript.turns()),
        messages=len(transcript),
        calls=total.calls,
        failed=total.failed_calls,
        cost=round(total.bill.cost, 4),
        guess=int(total.bill.is_estimated),
        text="\n\n".join(pieces),
    )


def _title(transcript: Transcript) -> str:
    """Return the session's name, or else the first line of its task; "" if it has neither."""
    name = read_name(transcript.path).name
    if name:
        return name
    first_turn = next(iter(transcript.turns()), None)
    if first_turn is None:
        return ""
    task = next(transcript.messages(first_turn.start, first_turn.start + 1), None)
    if task is None:
        return ""
    return first_line(task)[:_TITLE_CHARS]


def _said(message: Message, bodies: Bodies) -> str:
    """Return a message as text: its role, its words and its calls, without thinking."""
    parts = []
    for part in bodies.body(-1, message):
        if part[0] == "t":
            parts.append(part[1])
        elif part[0] == "c":
            parts.append(f"{part[2]} {part[3]}")
    return f"{_ROLES.get(str(message.get('role')), 'System')}: " + "\n".join(parts)
