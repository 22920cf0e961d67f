"""The formats that can be imported, and which of them a file is."""

from __future__ import annotations

import os

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


def _bare_kind(source: Source, sample: Sample) -> str:
    """What a file of bare messages is: a host's transcript has its name, the older module's file times at the top."""
    if os.path.basename(source.path).startswith("transcript.jsonl"):
        return "transcript"
    first = next((entry for entry in sample.entries if entry.get("role") in ROLES), {})
    return "older" if isinstance(first.get("timestamp"), str) else "jsonl"
