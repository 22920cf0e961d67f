"""Replay sessions from Python: read turns, requests and views, and find what another policy would have done.

    from amplifier_module_context_persistent.toolbox.replay import open_transcript, replay

    with open_transcript("session.jsonl") as transcript:
        played = replay(transcript, "truncate:target_usage=0.4", budget_tokens=40_000)

The log is read and never written. `docs/replay_from_python.md` has examples. A transcript may be a log of this package
or a file of plain messages, with one JSON object on each line.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, overload

from ...messages.message import Message
from ...sessions.find_session import SessionNameError, find_session
from ...sessions.transcript import Progress, Transcript, Turn
from ...sessions.view_rebuild import Rebuilder
from ...tokens.counter import count_message, open_counter
from .evidence import PlayedSession, far_evidence, with_id
from .measures import Measures, Played, Prices
from .play_session import Player
from .policies import CachedCounter, PolicyChoice, PolicyError, policy_of
from .visibility import Compacted, Marker, Marks, PastPositions, Run, lost, marker_of

__all__ = [
    "Compacted",
    "Comparison",
    "Marks",
    "Measures",
    "Played",
    "PolicyError",
    "Prices",
    "Proof",
    "Replayed",
    "Run",
    "Seen",
    "SessionNameError",
    "Transcript",
    "Turn",
    "compare",
    "open_transcript",
    "play",
    "replay",
    "requests",
]


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether a rebuilt view is the one that was sent.

    `plan` and `hash` are those of the receipt; a view made under a policy has none. `is_proved` says whether the
    rebuilt view has this hash; it is None for a view made under a policy. `lacks` names the records that the view needs
    and the log does not have; if it is empty and the view is not proved, the log was altered.
    """

    plan: str = ""
    hash: str = ""
    is_proved: bool | None = None
    lacks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """A request, and what the model saw of the `place` messages before the request.

    `marks` is None if the view could not be made.
    """

    number: int
    place: int
    time: str
    tokens: int
    budget_tokens: int
    view: Sequence[Message] | None
    marks: Marks | None
    compaction: Compacted | None = None
    proof: Proof = Proof()
    unbound: int = 0
    """The number of answers shown without their reasoning, because the messages before it had changed."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of playing a session under a policy: the sums, and the figures of each request without its view."""

    policy: str
    measures: Measures
    requests: list[Played] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results of several policies on one session; `whole` measures sending the whole history every time."""

    budget_tokens: int
    tokenizer: str
    messages: int
    whole: Measures
    replayed: list[Replayed]


def open_transcript(session: str | Path) -> Transcript:
    """Open a session for reading, by the path of its log, by its id, or by the beginning of its id.

    Raises:
        SessionNameError: no session or more than one session has that name.
        LogUnreadableError: the log does not exist or cannot be read.
    """
    return Transcript(find_session(str(session)))


def requests(transcript: Transcript, *, start: int = 0) -> Iterator[Seen]:
    """Rebuild the views of a session's requests from their receipts, and yield the requests in order.

    Args:
        transcript: the session.
        start: skip requests with fewer live messages before them.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    index = transcript.book.index
    rebuilder = Rebuilder(transcript.reader, transcript.book)
    markers: dict[int, tuple[Marker, PastPositions]] = {}
    before: Seen | None = None
    latest = 0
    for number, noted in enumerate(transcript.requests(), 1):
        if id(noted.live) not in markers:
            markers[id(noted.live)] = marker_of(transcript, noted, index)
        marker, positions = markers[id(noted.live)]
        receipt = noted.receipt
        total = positions.count_to(receipt.upto)
        if noted.live is index.live:  # requests of replaced histories are shown at the place that was reached before
            latest = max(latest, total)
        if latest < start:
            continue
        rebuilt = rebuilder.view(noted)
        positions.learn(rebuilt.messages or ())
        marks = marker.mark(rebuilt.messages, total) if rebuilt.messages is not None else None
        seen = Seen(
            number,
            latest,
            time=receipt.time,
            tokens=receipt.tokens,
            budget_tokens=receipt.budget_tokens,
            view=rebuilt.messages,
            marks=marks,
            proof=Proof(receipt.plan, receipt.hashes.view, rebuilt.proved, tuple(rebuilt.reasons)),
            unbound=receipt.unbound,
        )
        tokens_before = None
        if before is None or before.proof.plan != receipt.plan:
            tokens_before = _tokens_before(transcript.book.plan(receipt.plan))
        before = _against(seen, before, marker, tokens_before=tokens_before)
        yield before


def _tokens_before(plan: Message | None) -> int | None:
    """Return the tokens before the compaction that a plan's record reports, or None without such a number."""
    if plan is None:
        return None
    tokens = plan.get("tokens_before")
    return tokens if isinstance(tokens, int) else None


def play(
    transcript: Transcript, policy: str = "default", *, budget_tokens: int, tokenizer: str = "auto"
) -> Iterator[Seen]:
    """Play a session under a policy, and yield one request before each assistant message.

    Args:
        transcript: the session.
        policy: as `policy_of` reads it, such as `truncate:target_usage=0.4`.
        budget_tokens: the budget of every request.
        tokenizer: how tokens are counted: `auto`, `estimate`, or an encoding's name.

    Raises:
        PolicyError: there is no such policy, or the policy has no such option.
    """
    chosen = policy_of(policy)
    counter = CachedCounter(open_counter(tokenizer))
    messages = StoredMessages(transcript)
    session = PlayedSession(transcript.path, messages, 0, {})
    measures = Measures(session.name, budget_tokens, chosen.name, 0)
    player = Player(session, counter)
    marker = Marker(player.positions.get, lambda wanted: (messages[position] for position in wanted))
    before: Seen | None = None
    for played in _drive(player.requests(chosen.open, budget_tokens, chosen.options, measures)):
        marks = marker.mark(played.view, played.place) if played.view is not None else None
        seen = Seen(
            played.number,
            played.place,
            time="",
            tokens=played.tokens,
            budget_tokens=budget_tokens,
            view=played.view,
            marks=marks,
            unbound=played.unbound,
        )
        before = _against(seen, before, marker)
        yield before


def replay(
    transcript: Transcript,
    policy: str = "default",
    *,
    budget_tokens: int,
    tokenizer: str = "auto",
    progress: Progress | None = None,
) -> Replayed:
    """Play a session under one policy, and return the measures of every request. Arguments are those of `compare`.

    Raises:
        PolicyError: there is no such policy, or it has no such option.
    """
    comparison = compare(transcript, [policy], budget_tokens=budget_tokens, tokenizer=tokenizer, progress=progress)
    return comparison.replayed[0]


def compare(
    transcript: Transcript,
    policies: Sequence[str],
    *,
    budget_tokens: int,
    tokenizer: str = "auto",
    progress: Progress | None = None,
) -> Comparison:
    """Play a session under several policies, and return their measures.

    Args:
        transcript: the session.
        policies: as `policy_of` reads them, such as `none` or `truncate:target_usage=0.4`.
        budget_tokens: the budget of every request.
        tokenizer: how tokens are counted: `auto`, `estimate`, or an encoding's name.
        progress: called with the current step.

    Raises:
        PolicyError: there is no such policy, or it has no such option.
        LogUnreadableError: the log's bytes changed while they were read.
    """
    chosen = [policy_of(policy) for policy in policies]
    counter = CachedCounter(open_counter(tokenizer))
    messages = StoredMessages(transcript)
    total = len(messages)
    tell = progress or (lambda *_: None)
    tokens = 0
    for number, message in enumerate(messages, 1):
        tokens += count_message(message, counter)
        tell("reading", number, total)
    evidence = far_evidence(messages, lambda number: tell("looking for far evidence", number, total))
    session = PlayedSession(transcript.path, messages, tokens, evidence)
    player = Player(session, counter, progress=lambda number: tell("adding up all of it", number, total))
    uncompacted = _play(player, policy_of("none"), budget_tokens, tell)
    replays = []
    for policy in chosen:
        replay = uncompacted
        if policy.name != "none":
            replay = _play(player, policy, budget_tokens, tell)
        replay.measures.billed_ratio = replay.measures.billed / max(1.0, uncompacted.measures.billed)
        replays.append(replay)
    return Comparison(budget_tokens, counter.name, total, uncompacted.measures, replays)


def _play(player: Player, chosen: PolicyChoice, budget_tokens: int, tell: Progress) -> Replayed:
    figures: list[Played] = []

    def on_request(played: Played) -> None:
        figures.append(played)
        tell(f"playing {chosen.name}", played.place, len(player.session.messages))

    async def measured() -> AsyncGenerator[Measures, None]:
        yield await player.play(chosen.name, chosen.open, budget_tokens, chosen.options, on_request)

    (measures,) = _drive(measured(), player.stop)
    return Replayed(chosen.name, measures, figures)


def _drive(generator: AsyncGenerator[T, None], stop: Callable[[], None] = lambda: None) -> Iterator[T]:
    """Step through an asynchronous generator from plain code, whether or not an event loop runs in this thread.

    If this thread is interrupted during a step, `stop` is called, to make the step end soon.
    """
    with ThreadPoolExecutor(1, "replay") as thread:
        runner = thread.submit(asyncio.Runner).result()

        async def step() -> list[T]:
            async for item in generator:
                return [item]
            return []

        async def close() -> None:
            await generator.aclose()

        try:
            while items := _result(thread.submit(runner.run, step())):
                yield items[0]
        except KeyboardInterrupt:
            stop()
            raise
        finally:
            thread.submit(runner.run, close()).result()
            thread.submit(runner.close).result()


def _result(future: Future[T]) -> T:
    """Wait for a result in short intervals, because a signal just before a wait is handled only after the wait."""
    while not wait([future], timeout=0.2).done:
        pass
    return future.result()


def _against(seen: Seen, before: Seen | None, marker: Marker, *, tokens_before: int | None = None) -> Seen:
    """Return a request with its losses against the request before it, if both views could be made.

    Args:
        seen: the request.
        before: the request before it; None for the first request.
        marker: the marker that made the marks.
        tokens_before: the size before the compaction that the plan reports, as in all statistics; by default the size
            of the view before.
    """
    marks_before: Marks | None = Marks(0)
    view_tokens_before = 0
    if before is not None:
        marks_before = before.marks
        view_tokens_before = before.tokens
    if seen.marks is None or marks_before is None:
        return seen
    compaction = lost(
        marks_before,
        seen.marks,
        seen.view or (),
        marker,
        tokens_before=view_tokens_before if tokens_before is None else tokens_before,
        tokens_after=seen.tokens,
    )
    return dataclasses.replace(seen, compaction=compaction)


class StoredMessages(Sequence[Message]):
    """The live messages of a transcript, each with an id; each access parses the message again."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def __len__(self) -> int:
        return len(self._transcript)

    def __iter__(self) -> Iterator[Message]:
        for position, message in enumerate(self._transcript.messages()):
            yield with_id(self._transcript.path, position, message)

    @overload
    def __getitem__(self, position: int) -> Message: ...

    @overload
    def __getitem__(self, position: slice) -> list[Message]: ...

    def __getitem__(self, position: int | slice) -> Message | list[Message]:
        if isinstance(position, slice):
            return [self[number] for number in range(*position.indices(len(self)))]
        at = position if position >= 0 else len(self) + position
        if not 0 <= at < len(self):
            raise IndexError("there is no such message")
        (message,) = self._transcript.messages(at, at + 1)
        return with_id(self._transcript.path, at, message)
