"""The table of formats that can be imported, and the recognition of a file's format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ....log.record_line import ROLES
from ..imports.import_log import read_messages
from . import (
    amplifier_agent,
    anthropic,
    atif,
    bedrock,
    chatgpt,
    claude_ai,
    claude_code,
    claude_code_entries,
    claude_stream,
    codex,
    codex_bare_lines,
    codex_exec,
    copilot_cli,
    cursor,
    gemini_cli,
    gemini_contents,
    goose,
    openai,
    opencode,
    pi,
    qwen_code,
    vercel_ai,
    whole_answer,
)
from .account import Account
from .events import Event
from .not_read import first_object, not_read
from .refused_import import ImportRefusedError
from .source_file import Sample, Source

Score = Callable[[Sample], int]
"""A function that returns how well a file fits a format: the number of sample entries that are surely in the format,
1000 for a document in it, 0 for a file in another format."""


class Importer(NamedTuple):
    """A format of session files, and the functions that recognise and read it."""

    name: str
    """The name in `--format` and in the log's header."""
    title: str
    """The name in a report."""
    read: Callable[[Source, Account], Iterator[Event]]
    """A function that yields the sessions of a file, and notes each line in the account. It raises `ImportRefusedError`
    if the file is not in this format at all."""
    score: Score
    marks: frozenset[str] = frozenset()
    """Keys of this format. A line with such a key is not checked further."""
    may_have: Callable[[dict[str, Any]], bool] = lambda _: False
    """Returns whether a line without these keys may be in such a file. Then the line is not refused."""


def _lines(is_entry: Callable[[dict[str, Any]], bool]) -> Score:
    """Return the score function of a JSON Lines format."""
    return lambda sample: sum(map(is_entry, sample.entries))


def _whole(is_document: Callable[[Any], bool]) -> Score:
    """Return the score function for a format whose files are single JSON documents."""
    return lambda sample: 1_000 * is_document(sample.document)


def _is_message(entry: dict[str, Any]) -> bool:
    return entry.get("role") in ROLES and ("content" in entry or "tool_calls" in entry)


_CLAUDE_MARKS = frozenset({"uuid", "parentUuid", "sessionId", "leafUuid"})
_GEMINI_MARKS = frozenset({"$set", "$rewindTo", "projectHash"})

IMPORTERS = (
    Importer("log", "a log", read_messages, _lines(lambda entry: "_record" in entry or "_crc" in entry)),
    Importer("qwen-code", "a session of Qwen Code", qwen_code.read, qwen_code.score, frozenset({"uuid", "sessionId"})),
    Importer(
        "claude-code", "a Claude Code session", claude_code.read, _lines(claude_code_entries.is_entry), _CLAUDE_MARKS
    ),
    Importer("claude-stream", "a stream of Claude Code", claude_stream.read, _lines(claude_stream.is_entry)),
    Importer("codex", "a Codex rollout", codex.read, codex.score, frozenset({"payload"}), codex_bare_lines.is_item),
    Importer("codex-exec", "events of `codex exec`", codex_exec.read, codex_exec.score),
    Importer("goose", "a session of Goose", goose.read, goose.score),
    Importer("cursor", "a transcript of Cursor", cursor.read, _lines(cursor.is_entry)),
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
    Importer("chatgpt", "conversations of ChatGPT", chatgpt.read, chatgpt.score),
    Importer("claude-ai", "conversations of claude.ai", claude_ai.read, claude_ai.score),
    Importer("gemini", "contents of Gemini's API", gemini_contents.read, gemini_contents.score),
    Importer("bedrock", "messages of Bedrock or Strands", bedrock.read, bedrock.score),
    Importer("answer", "an answer of a provider", whole_answer.read, whole_answer.score),
    Importer("vercel-ai", "messages of Vercel's AI SDK", vercel_ai.read, vercel_ai.score),
    Importer("anthropic", "Anthropic messages", anthropic.read, anthropic.score),
    Importer("openai", "OpenAI messages", openai.read, openai.score),
    Importer("jsonl", "JSON Lines of messages", read_messages, _lines(_is_message)),
    Importer("transcript", "a host's transcript", amplifier_agent.read_transcript, lambda _: 0),  # see `_bare_kind`
    Importer("amplifier-agent", "a session of amplifier-agent", amplifier_agent.read, lambda _: 0),
    Importer("older", "a file of the older module", read_messages, lambda _: 0),
)
"""The importers, in the order of preference if two fit equally well."""

_TALK = frozenset({"message", "content", "payload", "role", "data"})

FORMATS = ("auto", *(importer.name for importer in IMPORTERS))


def importer_of(name: str) -> Importer:
    """Return the importer of a format."""
    return next(importer for importer in IMPORTERS if importer.name == name)


def recognise(source: Source) -> Importer:
    """Return the importer whose format fits a file best.

    Raises:
        ImportRefusedError: the file fits no format.
    """
    refused = not_read(source.sample)
    if refused:
        raise ImportRefusedError(refused)
    found = _best_importer(source.sample)
    if found is None and source.read_list_as_lines():
        found = _best_importer(source.sample)
    if found is None:
        raise ImportRefusedError(_why_unknown(source))
    return importer_of(_bare_kind(source, source.sample)) if found.name == "jsonl" else found


def _best_importer(sample: Sample) -> Importer | None:
    """Return the importer whose format fits a sample best, or None if none fits."""
    best = max(IMPORTERS, key=lambda importer: importer.score(sample))
    return best if best.score(sample) else None


def _why_unknown(source: Source) -> str:
    """Return why a file fits no format."""
    why = source.strangeness() or _several(source.sample)
    if why:
        return why
    formats = ", ".join(importer.name for importer in IMPORTERS)
    keys = ", ".join(sorted(first_object(source.sample)))[:100]
    begins = f"; it begins with an object that has {keys}" if keys else ""
    return f"there is no message in it that is known{begins}; formats are: {formats}"


def _several(sample: Sample) -> str:
    """Return why a file is refused that has several documents of known formats, or "" for any other file."""
    found = [entry for entry in sample.entries if _best_importer(Sample((), entry)) is not None]
    if len(found) < 2:
        return ""
    return f"the file holds {len(found)} JSON documents or more; cut it, and import each from a file of its own"


def format_check(importer: Importer) -> Callable[[int, dict[str, Any]], None]:
    """Return a function that refuses a line in another format than the importer's, so that no two sessions are merged.

    The function is called with the number and the object of each line that has no key of the importer's `marks`.

    Raises:
        ImportRefusedError: raised by the returned function.
    """
    if not importer.marks:
        return lambda _number, _entry: None

    def check(number: int, entry: dict[str, Any]) -> None:
        if _TALK.isdisjoint(entry):
            return
        sample = Sample((entry,))
        is_of_this_format = importer.score(sample) > 0 or importer.may_have(entry)
        other = None if is_of_this_format else _first_importer(sample)
        if other is None:
            return
        if number == 1:
            raise ImportRefusedError(
                f"this is {other.name}, not {importer.name}; leave --format out, and its content tells"
            )
        raise ImportRefusedError(
            f"line {number:,} is of another format ({other.name}; the file begins as {importer.name}): "
            "a file holds one session; cut it before that line, and import both parts"
        )

    return check


def _first_importer(sample: Sample) -> Importer | None:
    """Return the first importer whose format fits a sample, or None."""
    for importer in IMPORTERS:
        if importer.score(sample):
            return importer
    return None


def _bare_kind(source: Source, sample: Sample) -> str:
    """Return the format of a file of bare messages.

    A host's transcript is recognised by its name, the older module's file by the times in its messages. A transcript of
    amplifier-agent has files beside it that only its engine writes.
    """
    if os.path.basename(source.path).startswith("transcript.jsonl"):
        return "amplifier-agent" if amplifier_agent.is_session(source.path) else "transcript"
    first = next((entry for entry in sample.entries if entry.get("role") in ROLES), {})
    return "older" if isinstance(first.get("timestamp"), str) else "jsonl"
