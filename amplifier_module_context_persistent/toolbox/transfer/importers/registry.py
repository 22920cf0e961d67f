"""The formats that can be imported, and which of them a file is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ....log.record_line import ROLES
from ..import_log import read_messages
from . import amplifier_agent, anthropic, atif, claude_code, codex, copilot_cli, gemini_cli, openai, opencode, pi
from .account import Account
from .events import Event
from .source import ImportRefusedError, Sample, Source

Score = Callable[[Sample], int]
"""How many of a sample's entries are surely of a format; 0 if the file is not. A document counts 1,000."""


class Importer(NamedTuple):
    """One format."""

    name: str
    """As `--format` and the header name it."""
    title: str
    """As a report names it."""
    read: Callable[[Source, Account], Iterator[Event]]
    """Yields the sessions of a file, and notes each line in the account; raises `ImportRefusedError` where the file
    cannot be read as this format at all."""
    score: Score
    marks: frozenset[str] = frozenset()
    """Keys by which a line is its own, whatever its type."""


def _lines(is_entry: Callable[[dict[str, Any]], bool]) -> Score:
    """The score of a format of lines."""
    return lambda sample: sum(map(is_entry, sample.entries))


def _whole(is_document: Callable[[Any], bool]) -> Score:
    """The score of a format that is one document."""
    return lambda sample: 1_000 * is_document(sample.document)


_CLAUDE_MARKS = frozenset({"uuid", "parentUuid", "sessionId", "leafUuid"})
_GEMINI_MARKS = frozenset({"$set", "$rewindTo", "projectHash"})

IMPORTERS = (
    Importer("log", "a log", read_messages, _lines(lambda entry: "_record" in entry or "_crc" in entry)),
    Importer("claude-code", "a Claude Code session", claude_code.read, _lines(claude_code.is_entry), _CLAUDE_MARKS),
    Importer("codex", "a Codex rollout", codex.read, _lines(codex.is_entry), frozenset({"payload"})),
    Importer("gemini-cli", "a session of Gemini CLI", gemini_cli.read, gemini_cli.score, _GEMINI_MARKS),
    Importer("pi", "a session of pi", pi.read, _lines(pi.is_entry), frozenset({"parentId"})),
    Importer(
        "copilot-cli",
        "a session of GitHub Copilot CLI",
        copilot_cli.read,
        _lines(copilot_cli.is_entry),
        frozenset({"data"}),
    ),
    Importer("atif", "an ATIF trajectory", atif.read, _whole(atif.is_trajectory)),
    Importer("opencode", "a session of OpenCode", opencode.read, _whole(opencode.is_export)),
    Importer("anthropic", "Anthropic messages", anthropic.read, anthropic.score),
    Importer("openai", "OpenAI messages", openai.read, openai.score),
    Importer("jsonl", "JSON Lines of messages", read_messages, _lines(lambda entry: entry.get("role") in ROLES)),
    Importer("transcript", "a host's transcript", amplifier_agent.read_transcript, lambda _: 0),  # `_bare_kind` tells
    Importer("amplifier-agent", "a session of amplifier-agent", amplifier_agent.read, lambda _: 0),
    Importer("older", "a file of the older module", read_messages, lambda _: 0),
)
"""In the order of preference where two are as sure."""

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
    sample = source.sample
    found = max(IMPORTERS, key=lambda importer: importer.score(sample))
    if not found.score(sample):
        if why := source.strangeness():
            raise ImportRefusedError(why)
        known = ", ".join(importer.name for importer in IMPORTERS)
        raise ImportRefusedError(f"there is no message in it that is known; formats are: {known}")
    return importer_of(_bare_kind(source, sample)) if found.name == "jsonl" else found


def format_check(importer: Importer) -> Callable[[int, dict[str, Any]], None]:
    """Give what refuses a line that another format's agent wrote: two sessions in one file are not merged."""

    def check(number: int, entry: dict[str, Any]) -> None:
        sample = Sample((entry,))
        if not importer.marks or importer.marks & entry.keys() or _TALK.isdisjoint(entry) or importer.score(sample):
            return
        other = next((one.name for one in IMPORTERS if one.score(sample)), "")
        if other:
            raise ImportRefusedError(
                f"line {number:,} is of another format ({other}; the file begins as {importer.name}): a file holds one "
                "session; cut it before that line, and import both parts"
            )

    return check


def _bare_kind(source: Source, sample: Sample) -> str:
    """What a file of bare messages is: a host's transcript has its name, the older module's file times at the top.

    Beside the transcript of amplifier-agent lies what only its engine writes.
    """
    if os.path.basename(source.path).startswith("transcript.jsonl"):
        return "amplifier-agent" if amplifier_agent.is_session(source.path) else "transcript"
    first = next((entry for entry in sample.entries if entry.get("role") in ROLES), {})
    return "older" if isinstance(first.get("timestamp"), str) else "jsonl"
