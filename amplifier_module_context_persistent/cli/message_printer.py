"""How `show` and `tail` print a message.

Rules:
- In a terminal an assistant's text is rendered as Markdown. What Markdown would hide (HTML, entities, link targets) is
  shown as text. In a pipe all text is printed as it was written, and no line is broken.
- Results, arguments, thinking and long texts are folded; `full` shows all of them.
- Text from the log is escaped, and escaped again after Markdown rendering: nothing raw reaches the terminal.
"""

from __future__ import annotations

import json
from typing import Any

import click
from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.text import Text

from ..log.record import Message
from ..messages.message import result_id_of
from ..messages.metadata import metadata_of, timestamp_of
from ..messages.text import Part, parts_of
from ..transcript.transcript import Placed
from .terminal import console, escaped, escaped_body, one_line

_RESULT_LINES = 12
_TEXT_LINES = 200
_LINE_CHARS = 200  # a folded text has no more of them, times its lines
_RENDERED_CHARS = 20_000  # a longer text is written as it is: rendering and wrapping can be slow
_INDENT = 4
_STYLES = {"user": "green", "assistant": "cyan", "tool": "yellow", "function": "yellow"}

_parser = MarkdownIt("commonmark").enable(["strikethrough", "table"])
_parser.disable(["entity", "html_block", "html_inline", "image", "reference"])


class MessagePrinter:
    """Print messages one after the other.

    Args:
        full: whether long results and texts are shown in full.
        as_json: print JSON lines instead.
        screen: where to print; by default the standard output.
    """

    def __init__(self, *, full: bool = False, as_json: bool = False, screen: Console | None = None) -> None:
        self._full, self._as_json = full, as_json
        self._console = screen or console()
        self._printed = False

    def show(self, placed: Placed, *, turn: int | None = None) -> None:
        """Print a message; `turn` is the number of the turn that it begins."""
        if self._as_json:
            named = {"number": placed.number, "tools": placed.tools, "message": placed.message}
            click.echo(json.dumps(named))
            return
        if self._printed:
            self._print(Text())
        self._printed = True
        self._print(head_of(placed, turn=turn))
        for part in sorted(parts_of(placed.message), key=lambda part: part.kind != "thinking"):
            self._part(placed.message, part)

    def note(self, text: str) -> None:
        """Print a line about the log; nothing where JSON lines are printed."""
        if not self._as_json:
            self._print(Text(f"--- {text} ---", "dim"))

    def _part(self, message: Message, part: Part) -> None:
        if part.kind == "call":
            head = Text(f"-> {escaped(one_line(part.name))}", "bold")
            head.append(f"  {escaped(one_line(part.call_id))}", "not bold dim")
            self._print(head)
            if arguments := _arguments(part.text):
                self._folded(arguments, _RESULT_LINES, indent=_INDENT)
        elif part.kind == "thinking":
            self._folded(part.text, _RESULT_LINES, indent=_INDENT, style="dim italic")
        elif result_id_of(message) is not None:
            self._folded(part.text, _RESULT_LINES, indent=_INDENT)
        elif part.text.strip():
            self._folded(part.text, _TEXT_LINES, as_markdown=message.get("role") == "assistant")

    def _folded(self, text: str, lines: int, *, indent: int = 0, style: str = "", as_markdown: bool = False) -> None:
        shown, more = (text, "") if self._full else fold(text, lines)
        shown = escaped_body(shown)
        if not self._console.is_terminal or len(shown) > _RENDERED_CHARS:
            click.echo("\n".join(" " * indent + line if line else line for line in shown.split("\n")))
        elif as_markdown:
            self._console.print(_rendered(shown, self._console))
        else:
            self._console.print(Padding(Text(shown, style), (0, 0, 0, indent), expand=False))
        if more:
            self._print(Text(" " * indent + more, "dim"))

    def _print(self, text: Text) -> None:
        if self._console.is_terminal:
            self._console.print(text)
        else:
            click.echo(text.plain)


def head_of(placed: Placed, *, turn: int | None = None) -> Text:
    """The head line of a message: number, role, tool, time and id."""
    message = placed.message
    role = str(message.get("role"))
    answered = f" {' '.join(placed.tools)}" if result_id_of(message) is not None and placed.tools else ""
    what = f"[{placed.number}] {role}{answered}{f', turn {turn}' if turn else ''}"
    head = Text(escaped(one_line(what)), f"bold {_STYLES.get(role, 'magenta')}")
    metadata = metadata_of(message)
    for said in (timestamp_of(message)[:19].replace("T", " "), metadata.get("message_id"), metadata.get("source")):
        if isinstance(said, str) and said:
            head.append(f"  {escaped(one_line(said))}", "not bold dim default")
    return head


def fold(text: str, most_lines: int) -> tuple[str, str]:
    """Cut a long text: its beginning, and a note that says how much is left out (empty if nothing is)."""
    lines = text.rstrip("\n").split("\n")
    shown = "\n".join(lines[:most_lines])
    left_out = len(lines) - most_lines
    if len(shown) > most_lines * _LINE_CHARS:
        shown = shown[: most_lines * _LINE_CHARS]
        return shown, f"... {len(text) - len(shown):,} characters more; --full shows them"
    if left_out > 1:  # a note about one line would be as long as the line
        return shown, f"... {left_out:,} lines more; --full shows them"
    return "\n".join(lines), ""


def _arguments(text: str) -> str:
    """A call's arguments, one on each line; a value of several lines starts below its name."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(given, dict):
        return text
    return "\n".join(_argument(name, value) for name, value in given.items())


def _argument(name: str, value: Any) -> str:
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return f"{name}:\n{value}" if "\n" in value else f"{name}: {value}"


def _rendered(text: str, screen: Console) -> Segments | Text:
    """Render Markdown; return the plain text if rendering would hide a part of it (deep nesting, wide tables)."""
    markdown = Markdown("", hyperlinks=False)
    markdown.parsed = _parser.parse(text)
    tags = 0  # the languages of code blocks are not shown
    for token in markdown.parsed:
        tags += _letters(token.info)
        for inline in token.children or ():
            if inline.type == "softbreak":  # people and models break lines where they mean it
                inline.type = "hardbreak"
    segments = list(screen.render(markdown))
    if sum(_letters(segment.text) for segment in segments) < _letters(text) - tags:
        return Text(text)
    return Segments([Segment(escaped(segment.text), segment.style) for segment in segments])


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
