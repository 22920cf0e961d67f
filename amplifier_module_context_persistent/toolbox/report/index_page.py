"""Write a page that lists reports, with a link, the subject, the time and the cost of each.

The page is made from the reports alone, without their logs. Like a report it is one file that loads nothing else. Its
script filters and sorts the list. Without scripts the whole list is shown, the newest first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from ...log.atomic_file import NewFile, check_free
from ...log.check_replaceable import check_replaceable
from .page_frame import dollars, moment, page_text, policy_hash, rendered
from .visible_text import visible

INDEX_NAME = "index.html"

_STYLES = ("base.css", "index.css")
_SCRIPT = "index.js"
_CHART = 60  # height in units of the chart
_MOST_WEEKS = 260
_BEGIN, _END = b'<script type="text/plain" id="session">', b"</script>"
_MADE_BY = b"<!-- A list of reports, made by context-persistent "  # at the beginning of `page/index.html`
_MOST_SHELL_BYTES = 1 << 20  # the notes of a report are in its shell, before its data


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A report in a directory: the file's name, and the notes (facts about the session) that the page contains."""

    file: str
    notes: Mapping[str, Any]

    def number(self, key: str) -> float:
        """Return a number from the notes; 0 if the key is missing."""
        value = self.notes.get(key)
        return value if isinstance(value, int | float) else 0

    @property
    def is_estimated(self) -> bool:
        """Whether the cost is an estimate."""
        return self.notes.get("cost_estimated") is True

    def text(self, key: str) -> str:
        """Return a text from the notes; "" if the key is missing."""
        value = self.notes.get(key)
        return visible(value) if isinstance(value, str) else ""

    def texts(self, key: str) -> list[str]:
        """Return a list of texts from the notes; an empty list if the key is missing."""
        values = self.notes.get(key)
        if not isinstance(values, list):
            return []
        return [visible(value) for value in values if isinstance(value, str)]


def reports_in(directory: str | os.PathLike[str]) -> list[ReportLine]:
    """Return the reports in a directory, the newest sessions first; other files are ignored.

    Raises:
        OSError: the directory or a page in it cannot be read.
    """
    lines: list[ReportLine] = []
    for path in sorted(Path(directory).glob("*.html")):
        notes = None if path.name == INDEX_NAME else _notes(path)
        if notes is not None:
            lines.append(ReportLine(path.name, notes))
    return sorted(lines, key=lambda line: (-line.number("ended"), line.file))


def is_report(path: Path) -> bool:
    """Return whether a file is the page of a session.

    Raises:
        OSError: the file cannot be read.
    """
    return _notes(path) is not None


def check_index(directory: str | os.PathLike[str], *, force: bool = False) -> None:
    """Check that `index.html` may be written: the file is missing, or is a list of reports, or `force` is set.

    Raises:
        FileExistsError: another file has this name, and `force` is not set.
        ReplaceError: a log has this name.
        OSError: the file cannot be read.
    """
    place = Path(directory) / INDEX_NAME
    check_replaceable(place)
    check_free(os.fspath(place), replace=force or _is_list(place))


def write_index(directory: str | os.PathLike[str], *, force: bool = False) -> tuple[str, int]:
    """Write `index.html`, a list of the reports in a directory, with mode 0600; an older list is replaced.

    Args:
        directory: the directory of the reports.
        force: replace any `index.html`.

    Returns:
        The path of the list, and the number of reports in it.

    Raises:
        FileExistsError: there is another `index.html`.
        OSError: a file cannot be read or written.
    """
    check_index(directory, force=force)
    lines = reports_in(directory)
    styles = "\n".join(map(page_text, _STYLES))
    script = page_text(_SCRIPT)
    policy = (
        f"default-src 'none'; script-src '{policy_hash(script)}'; style-src '{policy_hash(styles)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    weeks = _weeks(lines)
    page = rendered(
        "index.html",
        policy=policy,
        styles=Markup(styles),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
        rows=list(_rows(lines)),
        total=_sums(lines),
        weeks=weeks,
        highest=max(weeks, key=lambda week: week["height"])["cost"] if weeks else "",
    )
    with NewFile(Path(directory) / INDEX_NAME, replace=True) as file:
        file.write(page)
        file.finish()
    return file.path, len(lines)


def _is_list(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _MADE_BY in file.read(1 << 10)


def _notes(path: Path) -> Mapping[str, Any] | None:
    """Return the notes about the session in a report's page; None for any other page."""
    with path.open("rb") as file:
        shell = file.read(_MOST_SHELL_BYTES)
    start = shell.find(_BEGIN)
    end = shell.find(_END, start)
    if start < 0 or end < 0:
        return None
    try:
        notes = json.loads(shell[start + len(_BEGIN) : end])
    except ValueError:
        return None
    if isinstance(notes, dict) and "redacts" in notes:
        return notes
    return None


def _rows(lines: list[ReportLine]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the list: the texts to show, and the numbers to sort by."""
    for line in lines:
        number = line.number
        failed = number("failed") + number("rejected") + number("unanswered")
        took = number("ended") - number("began")
        read_tokens = number("input")
        about = (line.text("project"), *line.texts("models"), *line.texts("tags"))
        numbers = {
            "ended": number("ended"),
            "cost": number("cost"),
            "guess": int(line.is_estimated),
            "took": max(0, took),
            "messages": number("messages"),
            "calls": number("calls"),
            "read": read_tokens,
            "failed": failed,
        }
        yield {
            "address": quote(line.file),
            "title": line.text("title") or f"Session {line.text('id')}",
            "id": line.text("id"),
            "when": moment(int(number("began"))),
            "took": _duration(took),
            "turns": _count(number("turns")),
            "messages": _count(number("messages")),
            "calls": _count(number("calls")),
            "failed": _count(failed) if failed else "",
            "read": _count(read_tokens) if read_tokens else "",
            "cost": dollars(number("cost"), is_estimated=line.is_estimated),
            "redacts": line.notes.get("redacts") is True,
            "about": [text for text in about if text],
            "sort": numbers,
        }


def _weeks(lines: list[ReportLine]) -> list[dict[str, Any]]:
    """Return the costs of sessions by the week (from Monday, UTC) in which they began, with weeks in between."""
    costs: dict[date, float] = {}
    estimated: set[date] = set()
    for line in lines:
        cost = line.number("cost")
        began = moment(int(line.number("began")))
        if cost > 0 and began:
            day = date.fromisoformat(began[:10])
            monday = day - timedelta(days=day.weekday())
            costs[monday] = costs.get(monday, 0.0) + cost
            if line.is_estimated:
                estimated.add(monday)
    if not costs:
        return []
    highest = max(costs.values())
    last = max(costs)
    first = max(min(costs), last - timedelta(weeks=_MOST_WEEKS - 1))
    mondays = [first + timedelta(weeks=number) for number in range((last - first).days // 7 + 1)]
    return [
        {
            "monday": monday.isoformat(),
            "cost": dollars(costs.get(monday, 0.0), is_estimated=monday in estimated),
            "height": round(_CHART * costs.get(monday, 0.0) / highest, 1),
        }
        for monday in mondays
    ]


def _sums(lines: list[ReportLine]) -> dict[str, str]:
    """Return the texts of the last row, with sums over all reports."""

    def total(key: str) -> float:
        return sum(line.number(key) for line in lines)

    read_tokens = total("input")
    has_estimates = any(line.is_estimated for line in lines)
    return {
        "reports": "1 report" if len(lines) == 1 else f"{len(lines):,} reports",
        "messages": f"{_count(total('messages'))} messages",
        "calls": f"{_count(total('calls'))} calls",
        "read": f"{_count(read_tokens)} tokens read" if read_tokens else "",
        "cost": dollars(total("cost"), is_estimated=has_estimates),
    }


def _count(number: float) -> str:
    return f"{round(number):,}"


def _duration(ms: float) -> str:
    minutes = round(ms / 60_000)
    if minutes < 1:
        return f"{ms / 1000:.0f} s" if ms > 0 else ""
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
