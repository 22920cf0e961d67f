"""Make a session's report: one HTML page with the history, the requests and the origin of a session."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ...log.atomic_file import NewFile
from ...log.check_replaceable import check_replaceable
from ...log.database_location import stored_name
from ...messages.normalize import tokens_of
from ...messages.outcome import FAILED, REJECTED
from ...messages.secrets.own_forms import OwnForms
from ...paths import LOG_NAME
from ...sessions.file_uses import FileUse, file_calls
from ...sessions.prices import PriceList
from ...sessions.request_costs import Bills
from ...sessions.session_files import SessionFile
from ...sessions.session_name import SessionName, read_name
from ...sessions.session_origin import relatives_of, source_compactions
from ...sessions.transcript import Progress, Transcript, Turn
from ...tokens.counter import EstimateCounter, TokenCounter
from ...view.plan import IMPORTED
from .history import UNANSWERED, BodyBlocks, History, encode_block, read_history
from .message_body import Bodies
from .page_frame import data_blocks, dollars, moment, shell
from .requests import SOME, VIEWS, RequestReader, Requests, supposed_requests
from .sub_agents_of_page import SubAgent, read_sub_agents, to_json

FORMAT_VERSION = 1
"""The version of the format of the page's data."""


@dataclass(frozen=True, slots=True)
class Made:
    """A report that was made: its path, and counts of its content."""

    path: str
    size_bytes: int
    turns: int
    messages: int
    requests: int
    views_proved: int
    views_not_proved: int
    redacted: int
    """The number of replaced secrets."""
    redacted_messages: list[int] = field(default_factory=list)
    """The numbers of the messages with replaced secrets, from 1, among the report's messages."""
    redacted_kinds: dict[str, int] = field(default_factory=dict)
    images_left_out: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the fields in plain JSON types."""
        return asdict(self)


def report(
    transcript: Transcript,
    path: str | os.PathLike[str],
    *,
    turns: Sequence[Turn] | None = None,
    views: str = SOME,
    redact: bool = True,
    own: OwnForms | None = None,
    counter: TokenCounter | None = None,
    prices: PriceList | None = None,
    force: bool = False,
    sub_agents: Sequence[SessionFile] = (),
    progress: Progress = lambda *_: None,
) -> Made:
    """Write a session's report, one self-contained HTML file with mode 0600, and return the counts of the page.

    Args:
        transcript: the open session.
        path: the new file.
        turns: adjacent turns, from `transcript.turns()`; by default all.
        views: which views are made again and verified by their receipts: `some` (the first under each plan, and up to
            100 others), `all` or `none`.
        redact: whether to replace likely secrets.
        own: further forms of secrets that the user wants replaced.
        counter: counts tokens; by default an estimate.
        prices: prices of models; by default the list prices that `transcript.cost` knows.
        force: replace an existing file.
        sub_agents: the sessions of the session's sub-agents, which the page shows folded.
        progress: called with the current step.

    Raises:
        FileExistsError: the file exists.
        ReplaceError: the existing file is a log.
        ValueError: `views` is not one of the three.
        LogUnreadableError: the log's bytes changed while they were read.
    """
    if views not in VIEWS:
        raise ValueError(f"views: {views!r} is not known; allowed are: {', '.join(VIEWS)}")
    check_replaceable(path, own=transcript.path)
    shown_turns = list(transcript.turns() if turns is None else turns)
    with NewFile(path, replace=force) as file:
        blocks = BodyBlocks()
        bodies = Bodies(redact=redact, own=own)
        counter = counter or EstimateCounter()
        prices = prices or PriceList()
        bills = Bills(transcript.reader, prices, partial(tokens_of, counter=counter))
        history = read_history(transcript, shown_turns, bodies, blocks, counter=counter, bills=bills, progress=progress)
        start, stop = (shown_turns[0].start, shown_turns[-1].stop) if shown_turns else (0, 0)
        requests = _requests_of(transcript, start, stop, history, views=views, bodies=bodies, progress=progress)
        add_source_compactions(requests, transcript, start, stop, bodies)
        below = Bodies(redact=redact, own=own)
        read = read_sub_agents(sub_agents, transcript, history, start, bodies=below, counter=counter, prices=prices)
        session = _session(transcript, history, requests, bodies, shown_turns)
        _add_sub_agents(session, read, below)
        session["prices"] = prices.described()
        files = touched_files(transcript, start, stop, bodies)
        head = _head(session, blocks, history, requests, bodies=bodies, files=files)
        head["sub_agents"] = to_json(read)
        size = _write(file, session, encode_block(head), blocks)
    return _made(file.path, size, session, bodies)


def _requests_of(
    transcript: Transcript, start: int, stop: int, history: History, views: str, bodies: Bodies, progress: Progress
) -> Requests:
    """Return the requests of the shown part; without receipts, one request is assumed before each answer."""
    if not (transcript.has_requests() and transcript.requests()):
        return supposed_requests(history)
    uncounted = Bodies(redact=bodies.redact, own=bodies.own)  # redactions in views are not counted again
    return RequestReader(transcript, start, stop, uncounted).read(views, history.billed, progress)


def _write(file: NewFile, session: dict[str, Any], head: bytes, blocks: BodyBlocks) -> int:
    """Write the page's shell and then the blocks of data, and return the page's size in bytes."""
    size = 0
    for piece in chain([shell(**_fields(session))], data_blocks(head, blocks.blocks)):
        file.write(piece)
        size += len(piece)
    file.finish()
    return size


def _add_sub_agents(session: dict[str, Any], read: Sequence[SubAgent], bodies: Bodies) -> None:
    """Add the sub-agents' number and cost, and their redactions, to the facts at the top of the page."""
    session["sub_agents"] = len(read)
    session["sub_agents_cost"] = round(sum(row.cost for row in read), 4)
    session["sub_agents_guess"] = any(row.guess for row in read)
    session["redacted"] += sum(bodies.redacted.values())
    session["redacted_kinds"] = dict((Counter(session["redacted_kinds"]) + bodies.kinds).most_common())
    session["images_left_out"] += bodies.images_left_out


def _made(path: str, size: int, session: dict[str, Any], bodies: Bodies) -> Made:
    return Made(
        path,
        size_bytes=size,
        turns=session["turns"],
        messages=session["messages"],
        requests=session["requests"],
        views_proved=session["proved"],
        views_not_proved=session["not_proved"],
        redacted=session["redacted"],
        redacted_messages=[position + 1 for position in sorted(bodies.redacted)],
        redacted_kinds=session["redacted_kinds"],
        images_left_out=session["images_left_out"],
    )


def _head(
    session: dict[str, Any],
    blocks: BodyBlocks,
    history: History,
    requests: Requests,
    bodies: Bodies,
    files: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return the first block of the page's data; see docs/report_data.md."""
    return {
        "version": FORMAT_VERSION,
        "session": session,
        "starts": blocks.starts,
        "history": history.to_json(),
        "requests": requests.to_json(),
        "redacted": sorted(bodies.redacted.items()),
        "files": files,
    }


def _session(
    transcript: Transcript, history: History, requests: Requests, bodies: Bodies, turns: Sequence[Turn]
) -> dict[str, Any]:
    """Return the facts about the session at the top of the page."""
    names = _named(transcript, bodies)
    lines = [turn.line for turn in history.turns if turn.line]
    first_line = lines[0] if lines else ""
    models = dict.fromkeys(row["model"] for row in requests.rows if row["model"])
    index = transcript.reader.index
    redaction = {
        "redacts": bodies.redact,
        "redacted": sum(bodies.redacted.values()),
        "redacted_messages": len(bodies.redacted),
        "redacted_kinds": dict(bodies.kinds.most_common()),
    }
    return {
        "id": bodies.name(_id_of(transcript)),
        "title": names.name or first_line,
        "description": names.description,
        "tags": list(names.tags),
        "project": bodies.name(_project(transcript.path)),
        "models": list(models),
        "first": turns[0].start if turns else 0,
        "all_messages": len(transcript),
        "hidden": len(index) - len(transcript),
        "damage": len(index.damage),
        **_history_sums(history),
        **_request_sums(requests),
        **redaction,
        "images_left_out": bodies.images_left_out,
        "relatives": relatives(transcript, bodies),
    }


def _id_of(transcript: Transcript) -> str:
    """Return the session's id from its header, or else the name of its file."""
    session_id = transcript.header.get("session_id")
    if isinstance(session_id, str) and session_id:
        return session_id
    return Path(transcript.path).stem


def _history_sums(history: History) -> dict[str, int]:
    """Return counts and times of the history."""
    times = [time for time in history.times if time]
    states = Counter(call.state for call in history.calls)
    return {
        "turns": len(history.turns),
        "messages": len(history),
        "calls": len(history.calls),
        "failed": states[FAILED],
        "rejected": states[REJECTED],
        "unanswered": states[UNANSWERED],
        "tokens": sum(history.tokens),
        "began": min(times, default=0),
        "ended": max(times, default=0),
    }


def _request_sums(requests: Requests) -> dict[str, Any]:
    """Return counts, tokens and costs of the requests; unknown numbers (negative in the rows) count as 0."""
    rows = requests.rows

    def total(column: str) -> Any:
        return sum(row[column] for row in rows if row[column] > 0)

    verdicts = Counter(row["proved"] for row in rows)
    has_estimated_cost = any(row["guess"] and row["cost"] > 0 for row in rows)
    return {
        "requests": len(rows) if requests.receipts else 0,
        "compactions": len(requests.compactions),
        "proved": verdicts["y"],
        "not_proved": verdicts["n"],
        "input": total("actual"),
        "cached": total("cached"),
        "output": total("output"),
        "cost": round(total("cost") + 0.0, 4),
        "cost_estimated": has_estimated_cost,
    }


def _named(transcript: Transcript, bodies: Bodies) -> SessionName:
    """Return the session's name, description and tags, as the page shows them."""
    names = read_name(transcript.path)
    return SessionName(bodies.name(names.name), bodies.name(names.description), tuple(map(bodies.name, names.tags)))


def _project(log: str) -> str:
    """Return the project of a log in a host's directories or in a database; "" for any other log."""
    stored = stored_name(log)
    if stored is not None:
        return stored.rpartition("/")[0]
    path = Path(log)
    if path.name != LOG_NAME or path.parents[1].name != "sessions":
        return ""
    return path.parents[2].name


def _fields(session: dict[str, Any]) -> dict[str, Any]:
    """Return the values that the template shows without scripts."""
    began, ended = session["began"], session["ended"]
    return {
        **session,
        "cost_said": dollars(session["cost"], is_estimated=session["cost_estimated"]),
        "sub_agents_said": dollars(session["sub_agents_cost"], is_estimated=session["sub_agents_guess"]),
        "heading": session["title"] or f"Session {session['id']}",
        "when": moment(began),
        "until": moment(ended) if ended > began else "",
        "notes": session,
    }


_MOST_FILES, _MOST_TURNS = 500, 20
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,79}")


def add_source_compactions(requests: Requests, transcript: Transcript, start: int, stop: int, bodies: Bodies) -> None:
    """Add the compactions by the agent from which the session was imported, in order of place.

    An import makes a plan from such a compaction, so the first request under that plan gets no compaction row.

    Args:
        requests: the requests to which the compactions are added.
        transcript: the session.
        start: the first position of the history that the page shows.
        stop: the position after the last one.
        bodies: redacts the summaries.
    """
    of_source = []
    for position, found in sorted(source_compactions(transcript).items()):
        if not start <= position < stop:
            continue
        row = {
            "plan": "",
            "request": 0,
            "place": position + 1 - start,
            "strategy": IMPORTED,
            "dropped": found.dropped,
            "kept": found.kept,
            "tokens_before": found.tokens_before,
            "tokens_after": found.tokens_after,
            "summary": bodies.name(found.summary),
        }
        of_source.append(row)
    others = requests.compactions
    if of_source:
        others = [row for row in others if row.get("strategy") != IMPORTED]
    requests.compactions = sorted([*of_source, *others], key=lambda row: row["place"])


def touched_files(transcript: Transcript, start: int, stop: int, bodies: Bodies) -> list[dict[str, Any]]:
    """Return the files that calls used, the last used first, each with its kinds of use and turns.

    Args:
        transcript: the session.
        start: the first position of the history that the page shows.
        stop: the position after the last one.
        bodies: redacts the paths.
    """
    uses: dict[str, FileUse] = {}
    for call in file_calls(transcript):
        if start < call.message <= stop:
            use = uses.pop(call.path, FileUse(call.path, "", ""))
            use.add("", call)
            uses[call.path] = use
    return [
        {"path": bodies.name(use.path), **use.counts, "turns": use.turns[""][-_MOST_TURNS:]}
        for use in list(reversed(uses.values()))[:_MOST_FILES]
    ]


def relatives(transcript: Transcript, bodies: Bodies) -> list[dict[str, Any]]:
    """Return the sessions that a header names: kind, id, and default file name of the report.

    The file name is "" if the id could lead to another directory.
    """
    related = relatives_of(transcript.header)
    relations: list[tuple[str, str]] = []
    if related.parent:
        relations.append(("parent", related.parent))
    relations += [("sub-agent", name) for name in related.subagents]
    relations += [("branch", name) for name in related.branches]
    rows = []
    for kind, name in relations:
        file = f"report-{name}.html" if _FILE_NAME.fullmatch(name) else ""
        rows.append({"what": kind, "id": bodies.name(name), "file": file})
    return rows
