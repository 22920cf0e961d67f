"""Print messages, for `show` and `tail`.

Rules:
- In a terminal an assistant's text is rendered as Markdown. Parts that Markdown would hide (HTML, entities, link
  targets) are shown as text. In a pipe all text is printed unchanged, and no line is broken.
- Long results, arguments, thinking, texts and single lines are folded, that is, cut; `full` shows all of them.
- A result names the call that it answers. Failed, rejected and unanswered calls and empty messages are marked.
- Text from the log is escaped, and escaped again after Markdown rendering: nothing unescaped reaches the terminal.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.text import Text

from ...log.record_line import Message
from ...messages.message import metadata_of, result_id_of
from ...messages.message_times import timestamp_of
from ...messages.normalize import tokens_of
from ...messages.text import TextPart, arguments_text, parts_of
from ...tokens.counter import TokenCounter, open_counter
from .terminal import console, counted, duration, escaped, escaped_body, one_line

if TYPE_CHECKING:
    from ...sessions.session_origin import SourceCompaction
    from ...sessions.transcript import LiveMessage

HIDDEN = "hidden from views"
"""The note on a message whose turn is hidden."""
_RESULT_LINES = 12
_SUMMARY_LINES = 24
_TEXT_LINES = 200
_LINE_CHARS = 200  # a folded text has at most this number of characters times its number of lines
_LONGEST_LINE = 2_000  # a longer line is cut even if the text has few lines
_RENDERED_CHARS = 20_000  # a longer text is not rendered: rendering and wrapping can be slow
_INDENT = 4
_STYLES = {"user": "green", "assistant": "cyan", "tool": "yellow", "function": "yellow"}


class MessagePrinter:
    """Prints the messages of a session on a terminal, each with its head and its text.

    Args:
        full: whether long results and texts are shown in full.
        as_json: print JSON lines instead.
        screen: where to print; by default the standard output.
        may_grow: whether results may still come, so that a call without a result is not marked.
        with_calls: whether the arguments of a result's call are printed if its head does not show all of them.
    """

    def __init__(
        self,
        *,
        full: bool = False,
        as_json: bool = False,
        screen: Console | None = None,
        may_grow: bool = False,
        with_calls: bool = False,
    ) -> None:
        self._full = full
        self._as_json = as_json
        self._may_grow = may_grow
        self._with_calls = with_calls
        self._counter = open_counter("estimate")
        self._console = screen or console()
        self._printed = False
        self.place: dict[str, Any] = {}
        """The first keys of each JSON line, which say to which session the message belongs."""

    def show(self, placed: LiveMessage, *, turn: int | None = None, note: str = "") -> None:
        """Print a message; `turn` is the number of the turn that the message begins, `note` is added to its head."""
        if self._as_json:
            click.echo(json.dumps(self._as_plain(placed)))
            return
        if self._printed:
            self._print(Text())
        self._printed = True
        self._print(head_of(placed, turn=turn, counter=self._counter, note=note))
        self._call_of(placed)
        parts = sorted(parts_of(placed.message), key=lambda part: part.kind != "thinking")
        unanswered = placed.open_calls if not self._may_grow else frozenset()
        for part in parts:
            self._part(placed.message, part, unanswered)
        if not any(part.kind == "call" or part.text.strip() for part in parts):
            self._print(Text(_why_empty(placed.message), "dim"))

    def _as_plain(self, placed: LiveMessage) -> dict[str, Any]:
        plain = {**self.place, "number": placed.number, "tools": placed.tools, "message": placed.message}
        outcome = placed.call_outcome
        if outcome is not None:
            answers = outcome.call.number if outcome.call is not None else None
            plain |= {"answers": answers, "outcome": outcome.outcome, "duration_s": outcome.duration_s}
            if outcome.call is not None:
                plain["arguments"] = outcome.call.plain_arguments()
        elif not self._may_grow:
            unanswered = placed.open_calls
            if unanswered:
                plain["open_calls"] = sorted(unanswered)
        return plain

    def note(self, text: str) -> None:
        """Print a line about the log, unless JSON lines are printed."""
        if not self._as_json:
            self._print(Text(f"--- {text} ---", "dim"))

    def show_compaction(self, compaction: SourceCompaction) -> None:
        """Print a compaction by the agent from which the session was imported, with its summary."""
        self._print(Text())
        self._print(Text(f"-- {compaction.line()}", "dim"))
        if compaction.summary:
            self._folded(compaction.summary, _SUMMARY_LINES, indent=_INDENT, style="dim")

    def _call_of(self, placed: LiveMessage) -> None:
        """Print the arguments of the call that a result answers.

        Nothing is printed unless `with_calls` is set and the head may show only a part of the arguments.
        """
        if not self._with_calls:
            return
        outcome = placed.call_outcome
        if outcome is None or outcome.call is None:
            return
        call = outcome.call
        if call.is_shortened or self._full:
            self._print(Text(f"-> {escaped(one_line(call.name))}", "bold"))
            self._folded(arguments_text(call.arguments), _RESULT_LINES, indent=_INDENT)

    def _part(self, message: Message, part: TextPart, unanswered: frozenset[str]) -> None:
        if part.kind == "call":
            head = Text(f"-> {escaped(one_line(part.name))}", "bold")
            head.append(f"  {escaped(one_line(part.call_id))}", "not bold dim")
            if part.call_id in unanswered:
                head.append("  NO RESULT", "bold red")
            self._print(head)
            arguments = arguments_text(part.text)
            if arguments:
                self._folded(arguments, _RESULT_LINES, indent=_INDENT)
        elif part.kind == "thinking":
            self._folded(part.text, _RESULT_LINES, indent=_INDENT, style="dim italic")
        elif part.kind == "block" and part.text.startswith("{") and not self._full:
            kind = escaped(one_line(part.name.replace("_", " ")))
            self._print(Text(f"[{kind}: {len(part.text):,} characters; --full shows them]", "dim"))
        elif result_id_of(message) is not None:
            self._folded(part.text, _RESULT_LINES, indent=_INDENT)
        elif part.text.strip():
            self._folded(part.text, _TEXT_LINES, as_markdown=message.get("role") == "assistant")

    def _folded(self, text: str, lines: int, *, indent: int = 0, style: str = "", as_markdown: bool = False) -> None:
        """Print the first lines of a text, and a note about the lines that are left out."""
        note = ""
        if not self._full:
            text, note = fold(text, lines)
        text = escaped_body(text)
        if not self._console.is_terminal or len(text) > _RENDERED_CHARS:
            indented = [" " * indent + line if line else line for line in text.split("\n")]
            click.echo("\n".join(indented))
        elif as_markdown:
            self._console.print(rendered(text, self._console))
        else:
            self._console.print(Padding(Text(text, style), (0, 0, 0, indent), expand=False))
        if note:
            self._print(Text(" " * indent + note, "dim"))

    def _print(self, text: Text) -> None:
        if self._console.is_terminal:
            self._console.print(text)
        else:
            click.echo(text.plain)


def _why_empty(message: Message) -> str:
    """Return words for a message without content: that its request failed, or that it is empty."""
    error = metadata_of(message).get("error")
    if isinstance(error, str) and error.strip():
        return f"(no answer: {one_line(' '.join(error.split()))[:_LINE_CHARS]})"
    return "(empty result)" if result_id_of(message) is not None else "(empty message)"


def head_of(
    placed: LiveMessage, *, turn: int | None = None, counter: TokenCounter | None = None, note: str = ""
) -> Text:
    """Return the head line of a message: number (`+` if none), role, its call, turn, time and id."""
    message, outcome = placed.message, placed.call_outcome
    role = str(message.get("role"))
    parts = [f"[{placed.number or '+'}] {role}"]
    if outcome is not None:
        call = outcome.call
        words = [parts[0], *placed.tools]
        if call is not None and call.subject:
            words.append(call.subject)
        parts[0] = " ".join(words)
        parts.append("of no call" if call is None else f"of [{call.number}]")
        if outcome.duration_s:
            parts.append(duration(outcome.duration_s))
        if counter is not None:
            parts.append(counted(tokens_of(message, counter), "token"))
    if turn:
        parts.append(f"turn {turn}")
    head = Text(escaped(one_line(", ".join(parts))), f"bold {_STYLES.get(role, 'magenta')}")
    if outcome is not None and outcome.is_error:
        head.append(f", {outcome.outcome.upper()}", "bold red")
    if note:
        head.append(f", {note}", "bold yellow")
    metadata = metadata_of(message)
    time = timestamp_of(message)[:19].replace("T", " ")
    for text in (time, metadata.get("message_id"), metadata.get("source")):
        if isinstance(text, str) and text:
            head.append(f"  {escaped(one_line(text))}", "not bold dim default")
    return head


def fold(text: str, most_lines: int) -> tuple[str, str]:
    """Cut a long text; return its beginning, and a note on how much is left out ("" if nothing is)."""
    lines = text.rstrip("\n").split("\n")
    first_lines = lines if len(lines) <= most_lines + 1 else lines[:most_lines]  # a note is as long as one more line
    shown_text = "\n".join(map(_shortened, first_lines))
    if len(shown_text) > most_lines * _LINE_CHARS:
        shown_text = shown_text[: most_lines * _LINE_CHARS]
        return shown_text, f"... {len(text) - len(shown_text):,} characters more; --full shows them"
    if len(first_lines) < len(lines):
        return shown_text, f"... {len(lines) - len(first_lines):,} lines more; --full shows them"
    has_long_lines = max(map(len, lines)) > _LONGEST_LINE
    if has_long_lines:
        return shown_text, "... --full shows long lines whole"
    return shown_text, ""


def _shortened(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[:_LONGEST_LINE]} ... {len(line) - _LONGEST_LINE:,} characters more in this line"


_LIGHT = ("7", "15")  # white, in the palette of sixteen colours


def rendered(text: str, screen: Console) -> Segments | Text:
    """Render Markdown; return plain text instead if rendering would hide a part (deep nesting, wide tables)."""
    from markdown_it import MarkdownIt  # only terminals need the parser
    from rich.markdown import Markdown

    parser = MarkdownIt("commonmark").enable(["strikethrough", "table"])
    parser.disable(["entity", "html_block", "html_inline", "image", "reference"])
    markdown = Markdown("", code_theme=_code_theme(), hyperlinks=False)
    markdown.parsed = parser.parse(text)
    tags = 0  # letters that are not shown: the languages of code blocks
    for token in markdown.parsed:
        tags += _letters(token.info)
        for inline in token.children or ():
            if inline.type == "softbreak":  # line breaks in messages are intended
                inline.type = "hardbreak"
    segments = list(screen.render(markdown))
    if sum(_letters(segment.text) for segment in segments) < _letters(text) - tags:
        return Text(text)
    return Segments([Segment(escaped(segment.text), segment.style) for segment in segments])


def _code_theme() -> str:
    """Return the theme for code in the terminal's colours, for the light or dark background of `COLORFGBG`."""
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return "ansi_light" if background in _LIGHT else "ansi_dark"


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
