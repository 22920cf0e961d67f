"""The formats that can be imported, and which of them a file is."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ...log.record import ROLES
from .anthropic import Anthropic
from .atif import Atif
from .claude_code import ClaudeCode
from .codex import Codex
from .copilot_cli import CopilotCli
from .events import Importer
from .gemini_cli import GeminiCli
from .openai import OpenAI
from .opencode import OpenCode
from .own import Own
from .pi import Pi
from .source import ImportRefusedError, Sample, Source

IMPORTERS: tuple[Importer, ...] = (
    Own("log", "a log"),
    ClaudeCode(),
    Codex(),
    GeminiCli(),
    Pi(),
    CopilotCli(),
    Atif(),
    OpenCode(),
    Anthropic(),
    OpenAI(),
    Own("jsonl", "JSON Lines of messages"),
    Own("transcript", "a host's transcript"),
    Own("older", "a file of the older module"),
)
"""In the order of preference where two are as sure."""

_MARKS = {
    "claude-code": {"uuid", "parentUuid", "sessionId", "leafUuid"},
    "codex": {"payload"},
    "gemini-cli": {"$set", "$rewindTo", "projectHash"},
    "pi": {"parentId"},
    "copilot-cli": {"data"},
}
"""By format, keys by which a line is its own, whatever its type."""
_TALK = frozenset({"message", "content", "payload", "role", "data"})

FORMATS = ("auto", *(importer.name for importer in IMPORTERS))


def importer_of(name: str) -> Importer:
    """The importer of a format."""
    return next(importer for importer in IMPORTERS if importer.name == name)


def recognise(source: Source) -> Importer:
    """The importer that is surest of a file.

    Raises:
        ImportRefusedError: none knows it.
    """
    sample = source.sample()
    scores = [(importer.score(sample), importer) for importer in IMPORTERS]
    best = max(score for score, _ in scores)
    if not best:
        known = ", ".join(importer.name for importer in IMPORTERS)
        why = source.strangeness() or "there is no message in it that is known"
        raise ImportRefusedError(f"{why}; formats are: {known}")
    found = next(importer for score, importer in scores if score == best)
    return importer_of(_bare_kind(source, sample)) if found.name == "jsonl" else found


def format_check(importer: Importer) -> Callable[[int, dict[str, Any]], None]:
    """Give what refuses a line that another format's agent wrote: two sessions in one file are not merged."""
    marks = _MARKS.get(importer.name)

    def check(number: int, entry: dict[str, Any]) -> None:
        if marks is None or marks & entry.keys() or _TALK.isdisjoint(entry) or importer.score(Sample((entry,))):
            return
        other = next((one.name for one in IMPORTERS if one.score(Sample((entry,)))), "")
        if other:
            raise ImportRefusedError(
                f"line {number:,} is of another format ({other}; the file begins as {importer.name}): a file holds one "
                "session; cut it before that line, and import both parts"
            )

    return check


def _bare_kind(source: Source, sample: Sample) -> str:
    """What a file of bare messages is: a host's transcript has its name, the older module's file times at the top."""
    if os.path.basename(source.path).startswith("transcript.jsonl"):
        return "transcript"
    first = next((entry for entry in sample.entries if entry.get("role") in ROLES), {})
    return "older" if isinstance(first.get("timestamp"), str) else "jsonl"
