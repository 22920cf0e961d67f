"""What the page says of where a session comes from: compactions of its source, and the sessions beside it."""

from __future__ import annotations

import re
from typing import Any

from ..transcript.source import relatives_of, source_compactions
from ..transcript.transcript import Transcript
from ..view.plan import IMPORTED
from .body import Bodies
from .requests import Requests

_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,79}")


def add_source_compactions(requests: Requests, transcript: Transcript, start: int, stop: int, bodies: Bodies) -> None:
    """Put the source's compactions into their places among the others.

    What they did shows where they happened; so the first request under the plan that an import made of one has no
    compaction of its own.

    Args:
        requests: takes them in.
        transcript: the session.
        start: the first position of the history that the page shows.
        stop: the position after the last one.
        bodies: redacts the summaries.
    """
    rows = [
        {
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
        for position, found in sorted(source_compactions(transcript).items())
        if start <= position < stop
    ]
    own = [row for row in requests.compactions if not rows or row.get("strategy") != IMPORTED]
    requests.compactions = sorted([*rows, *own], key=lambda row: row["place"])


def relatives(transcript: Transcript, bodies: Bodies) -> list[dict[str, Any]]:
    """The sessions that a session's header names: what each one is, its id, and its report's file name by default.

    The file's name is empty where the id could lead elsewhere than beside this report.
    """
    found = relatives_of(transcript.header)
    named = [("parent", found.parent)] if found.parent else []
    named += [("sub-agent", name) for name in found.subagents] + [("branch", name) for name in found.branches]
    return [
        {"what": what, "id": bodies.name(name), "file": f"report-{name}.html" if _FILE_NAME.fullmatch(name) else ""}
        for what, name in named
    ]
