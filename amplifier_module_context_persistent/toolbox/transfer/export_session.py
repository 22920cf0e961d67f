"""Export a session's live history.

- `markdown`: for people; turn by turn, with calls, results and thinking folded away.
- `jsonl`: every message unchanged, with the id and the timestamp from the log; an import restores the session.
- `transcript`: the host's `transcript.jsonl`: no instructions, no `thinking_block`, no None.
- `atif`, `openai`, `anthropic`, `otlp`: other formats, one file each in `exporters`.
- `claude-code`, `codex`, `pi`: sessions of these agents, which they can resume.

Secrets are replaced in all formats, unless this is switched off. If something was replaced in thinking, the thinking is
left out, except in Markdown: providers refuse a signature that does not match its text. Exports contain no control
characters, so none reaches a terminal. An export to a file has mode 0600 and appears whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...forms.request_bodies import to_anthropic, to_openai
from ...forms.tool_definitions import anthropic_tools, chat_tools, named_tools
from ...log.atomic_file import NewFile
from ...log.check_replaceable import check_replaceable
from ...log.filesystem import FileSystem
from ...log.record_line import MARK, Message, encode_object
from ...messages.host_form import as_hosts_write
from ...messages.message import THINKING_BLOCKS, is_block
from ...messages.metadata import without_bound
from ...messages.secrets.found import REDACTED
from ...messages.secrets.own_forms import OwnForms
from ...messages.secrets.redact import redact_value
from ...messages.text import to_json
from ...paths import LOG_NAME
from ...sessions.transcript import Transcript
from ...view.entry import INSTRUCTING
from .copy_log import unread_lines
from .exporters.atif import trajectory
from .exporters.claude_code import transcript as claude_transcript
from .exporters.codex import rollout
from .exporters.markdown import SessionMarkdown, inline
from .exporters.otlp import spans
from .exporters.pi import session_entries
from .exporters.session_view import Exporter, SessionView, json_lines, model_of
from .sealing import seal_pieces

if TYPE_CHECKING:
    from pyrage import Recipient

MAX_TOKENS = 4_096
"""The output limit that Anthropic's API requires in a request; every model allows this many."""


def _openai(view: SessionView) -> Iterator[str]:
    """Yield a request body of OpenAI's Chat Completions, `{model, tools, messages}`, piece by piece.

    Thinking is left out, because the format has no place for it.
    """
    tools = chat_tools(named_tools(view.tools))
    return _body({"model": model_of(view), "tools": tools}, to_openai(message for _, message in view.messages()))


def _anthropic(view: SessionView) -> Iterator[str]:
    """Yield a request body of the Messages API, `{model, max_tokens, system, tools, messages}`, piece by piece.

    Thinking without a signature is left out.
    """
    tools = anthropic_tools(named_tools(view.tools))
    head = {"model": model_of(view), "max_tokens": MAX_TOKENS, "tools": tools}
    return _body(head, to_anthropic((message for _, message in view.messages()), cache=False))


def _body(head: dict[str, Any], body: dict[str, Any]) -> Iterator[str]:
    messages = body.pop("messages")
    fields = {key: value for key, value in head.items() if value} | body
    opened = to_json(fields).removesuffix("}")
    if fields:
        opened += ","
    yield f'{opened}"messages":[\n'
    yield from json_lines(messages)
    yield "]}\n"


def _lines_of(entries: Callable[[SessionView], Iterator[dict[str, Any]]]) -> Exporter:
    """Return an exporter that writes each of these entries as one line of JSON."""
    return lambda view: (f"{to_json(entry)}\n" for entry in entries(view))


EXPORTERS: dict[str, Exporter] = {
    "atif": trajectory,
    "openai": _openai,
    "anthropic": _anthropic,
    "otlp": spans,
    "claude-code": _lines_of(claude_transcript),
    "codex": _lines_of(rollout),
    "pi": _lines_of(session_entries),
}
"""The exporters of other programs' formats, by name."""

FORMATS = ("markdown", "jsonl", "transcript", *EXPORTERS)
_MESSAGES_ALONE = ("jsonl", "transcript")


@dataclass(frozen=True, slots=True)
class Redaction:
    """A replaced secret: the number of its message in the live history, from 1; the field; and the kind of secret."""

    number: int
    field: str
    kind: str


class Export:
    """An export of a session. Iterate over this object to get the text, piece by piece.

    Args:
        transcript: the session, open.
        into: one of `FORMATS`.
        redact: replace what looks like a secret.
        own: further expressions and values to replace, given by a person.
        start: the position in the live history to begin at.
        stop: the position to end before.
    """

    def __init__(
        self,
        transcript: Transcript,
        into: str = "markdown",
        *,
        redact: bool = True,
        own: OwnForms | None = None,
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        if into not in FORMATS:
            raise ValueError(f"into: {into!r} is not known; allowed are: {', '.join(FORMATS)}")
        self._transcript = transcript
        self._into = into
        self._redact = redact
        self._own = own
        self._start = start
        self._stop = len(transcript) if stop is None else min(stop, len(transcript))
        self.messages = 0
        """The number of messages that were exported so far."""
        self.redacted = 0
        """The number of values in the exported messages in which a secret was replaced."""
        self.redactions: Counter[Redaction] = Counter()
        """The number of replaced secrets, by message, field and kind."""
        self.unread = len(unread_lines(transcript.reader))
        """The number of lines of the log that cannot be read. Their messages are missing in every export."""

    def __len__(self) -> int:
        return max(0, self._stop - self._start)

    def __iter__(self) -> Iterator[str]:
        if self._into in EXPORTERS:
            return self._others()
        return self._markdown() if self._into == "markdown" else self._lines()

    def _messages(self) -> Iterator[tuple[int, Message]]:
        """Yield the redacted messages with their positions.

        The counts begin anew, so that a second iteration counts nothing twice.
        """
        self.messages = self.redacted = 0
        self.redactions.clear()
        for position, message in enumerate(self._transcript.messages(self._start, self._stop), self._start):
            if self._into == "transcript":
                if message.get("role") in INSTRUCTING:
                    continue
                message = as_hosts_write(message)
            clean = self._redacted(message, position + 1)
            if self._into != "markdown":
                clean = _sendable(message, clean)
            yield position, clean
            self.messages += 1

    def _others(self) -> Iterator[str]:
        view = SessionView(self._transcript, self._messages, self._redact_any)
        for piece in EXPORTERS[self._into](view):
            yield _printable(piece.removesuffix("\n")) + "\n" if piece.endswith("\n") else _printable(piece)

    def _redact_any(self, value: Any) -> Any:
        return redact_value(value, own=self._own) if self._redact else value

    def _lines(self) -> Iterator[str]:
        for _, message in self._messages():
            yield _printable((encode_object(message).removesuffix(MARK) + b"}").decode("utf-8")) + "\n"

    def _markdown(self) -> Iterator[str]:
        yield from SessionMarkdown(self._transcript, self._redact_any).pieces(self._messages())
        if self.redacted:
            kinds = ", ".join(f"{inline(kind)} {count:,}" for kind, count in self.redacted_kinds())
            yield f"---\n\n{self.what_was_redacted()} Secrets: {kinds}\n"

    def what_was_redacted(self) -> str:
        """Return a sentence that says how many secrets were replaced. One value may have had several secrets."""
        count = self.redactions.total()
        if count == 1:
            return "1 secret was redacted."
        return f"{count:,} secrets were redacted."

    def redacted_kinds(self) -> list[tuple[str, int]]:
        """Return the number of replaced secrets of each kind, the most frequent kind first."""
        kinds: Counter[str] = Counter()
        for redaction, count in self.redactions.items():
            kinds[redaction.kind] += count
        return kinds.most_common()

    def _redacted(self, message: Message, number: int) -> Message:
        if not self._redact:
            return message

        def found(kind: str, field: str) -> None:
            self.redactions[Redaction(number, field, kind)] += 1

        clean: Message = redact_value(message, found, own=self._own)
        self.redacted += _changes(message, clean)
        return without_bound(clean) if self.redacted else clean


def export_session(
    session: str | Path,
    path: str | Path,
    into: str = "markdown",
    *,
    redact: bool = True,
    own: OwnForms | None = None,
    start: int = 0,
    stop: int | None = None,
    recipients: Sequence[Recipient] = (),
    force: bool = False,
    files: FileSystem | None = None,
) -> Export:
    """Export a session's live history to a file.

    Args:
        session: the session's log, which may be in use.
        path: the new file; its mode is 0600.
        into: one of `FORMATS`.
        redact: replace what looks like a secret.
        own: further expressions and values to replace, given by a person.
        start: the position in the live history to begin at.
        stop: the position to end before.
        recipients: seal the file for these public keys (`sealing.recipients_of`).
        force: replace an existing file.
        files: the system calls that read the log, to report progress.

    Returns:
        The finished export, with its counts of messages and replaced secrets.

    Raises:
        LogUnreadableError: the session's log is missing, or cannot be read.
        ReplaceError: the file is a log.
        FileExistsError: the file exists.
        OSError: the file cannot be written.
    """
    with Transcript(session, files=files) as transcript:
        by_messages = into in _MESSAGES_ALONE and os.path.basename(path) != LOG_NAME
        check_replaceable(path, own=transcript.path, by_messages=by_messages)
        export = Export(transcript, into, redact=redact, own=own, start=start, stop=stop)
        with NewFile(path, replace=force) as file:
            pieces = (piece.encode("utf-8") for piece in export)
            if recipients:
                seal_pieces(pieces, file, recipients)
            else:
                for piece in pieces:
                    file.write(piece)
            file.finish()
        return export


def _sendable(message: Message, clean: Message) -> Message:
    """Return a redacted message without the thinking in which something was replaced."""
    if clean is message:
        return message
    if message.get("thinking_block") != clean.get("thinking_block"):
        clean = {key: value for key, value in clean.items() if key != "thinking_block"}
    content = message.get("content")
    if not isinstance(content, list):
        return clean
    sendable_blocks = []
    for before, after in zip(content, clean["content"], strict=True):
        is_changed_thinking = is_block(before, THINKING_BLOCKS) and before != after
        if not is_changed_thinking:
            sendable_blocks.append(after)
    if len(sendable_blocks) < len(content):
        clean = {**clean, "content": sendable_blocks or [{"type": "text", "text": REDACTED}]}
    return clean


def _changes(before: Any, after: Any) -> int:
    """Return the number of keys and values, also nested ones, that differ between two versions of a message."""
    if isinstance(before, dict) and isinstance(after, dict) and len(before) == len(after):
        changed_keys = sum(1 for key, new_key in zip(before, after, strict=True) if key != new_key)
        return changed_keys + _changes_in_pairs(before.values(), after.values())
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return _changes_in_pairs(before, after)
    if before is after or before == after:
        return 0
    return 1


def _changes_in_pairs(before: Iterable[Any], after: Iterable[Any]) -> int:
    return sum(_changes(value, new_value) for value, new_value in zip(before, after, strict=True))


def _printable(line: str) -> str:
    """Return a line of JSON in which non-printable characters are escaped."""
    if line.isprintable():
        return line
    return line.translate({ord(c): json.dumps(c)[1:-1] for c in set(line) if not c.isprintable()})
