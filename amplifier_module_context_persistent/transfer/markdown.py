"""A session as Markdown that people read. A transcript is untrusted, so nothing in a message gets out of its place.

A session is written in one pass, a message at a time: what a turn took and cost stands at its end.

Rules:
- Prose stands in a quotation, line by line. What could begin HTML, a link, an image, a definition of a link or a fence
  is escaped there; code in it is put into fences of our own.
- Everything else (arguments, results, thinking, instructions) is folded away and stands in a fence that is longer than
  any run of backticks within.
- Names and ids are shown letter by letter. Characters that do not print are shown as JSON escapes them.

A test parses the export of any text with a CommonMark parser: every tag is ours, and there are no links and no images.
Addresses stand as they are: a reader who has them made into links by his program gets them as they were said.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ..messages.message import (
    CALL_BLOCKS,
    THINKING_BLOCKS,
    Message,
    call_name_of,
    calls_of,
    given_arguments_of,
    is_block,
    parsed,
)
from ..messages.metadata import is_human, metadata_of
from ..messages.normalize import tokens_of
from ..messages.outcome import ANSWERED
from ..tokens.counter import EstimateCounter
from ..tokens.prices import PRICES_AS_OF, PriceList
from ..transcript.calls import CallLookup, Ending, duration_s, instant_of_message, subject_of
from ..transcript.cost import Bills, RequestBill
from ..transcript.transcript import Transcript, session_id_in

_COMMANDS = ("command", "cmd", "script")
_TITLES = {"system": "System", "developer": "Developer", "user": "User", "assistant": "Assistant"}
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`\n]*)")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,20}")
_BEGINS_HTML = re.compile(r"<(?=\S)")
_FENCE_RUN = re.compile(r"`{3,}|~{3,}")
_ENTITY = re.compile(r"&(?=#?[A-Za-z0-9]+;)")


def message_markdown(message: Message, facts: Sequence[str] = (), tool: str = "") -> str:
    """A message with its heading, ending in an empty line.

    Args:
        message: the message.
        facts: what the heading says besides, as Markdown: a model, a cost, how a call ended.
        tool: for a result that does not name its tool, the tool that was called.
    """
    role = str(message.get("role"))
    metadata = metadata_of(message)
    parts = [_heading(message, role, metadata, facts)]
    if role in ("tool", "function"):
        text = _all_text(message.get("content"))
        name = message.get("name") or tool
        of = f" of {_code(name)}" if name else ""
        parts.append(_folded(", ".join([f"Result{of}", *facts, f"{len(text):,} characters"]), fenced(text)))
    else:
        parts += _content(message, folded=role != "assistant" and not is_human(message))
        shown = {str(block.get("id")) for block in _blocks(message) if is_block(block, CALL_BLOCKS)}
        listed = message.get("tool_calls")
        for call in listed if isinstance(listed, list) else ():
            if isinstance(call, dict) and str(call.get("id")) not in shown:
                parts.append(_call(call))
    return "\n\n".join(parts) + "\n\n"


def quoted(text: str) -> str:
    """Prose as a quotation that nothing in it ends; code in it stands in fences."""
    lines: list[str] = []
    code: list[str] = []
    mark = language = ""
    for line in _visible(text).split("\n"):
        if not mark:
            if found := _FENCE.fullmatch(line):
                mark, language, code = found[1], found[2], []
            else:
                lines.append(_prose(line))
        elif (
            len(line) - len(line.lstrip(" ")) < 4 and set(line.strip()) == {mark[0]} and len(line.strip()) >= len(mark)
        ):
            lines += _fenced_lines(code, language)
            mark = ""
        else:
            code.append(line)
    if mark:
        lines += _fenced_lines(code, language)
    return "\n".join(f"> {line}".rstrip(" ") for line in lines)


def fenced(text: str, language: str = "") -> str:
    """A text in a fence that is longer than any run of backticks in it."""
    return "\n".join(_fenced_lines(_visible(text).removesuffix("\n").split("\n"), language))


def inline(text: str) -> str:
    """A short text on one line, in which nothing is markup."""
    shown = _visible(text[:200]).replace("\n", " ").replace("\t", " ")
    return "".join(c if c.isalnum() or c in " -.:," else f"&#{ord(c)};" for c in shown)


def _heading(message: Message, role: str, metadata: Mapping[str, Any], facts: Sequence[str]) -> str:
    title = _TITLES.get(role, "Tool")
    if role == "user" and not is_human(message):
        title += f" ({inline(str(metadata.get('source') or 'inserted'))})"
    time = metadata.get("timestamp") or message.get("timestamp")
    shown = [title, *facts]
    if isinstance(time, str):
        shown.append(inline(time[:19].replace("T", " ")))
    if isinstance(message_id := metadata.get("message_id"), str):
        shown.append(inline(message_id))
    return "### " + " · ".join(shown)


def _content(message: Message, *, folded: bool) -> list[str]:
    content = message.get("content")
    if folded:
        text = _all_text(content)
        return [_folded(f"{len(text):,} characters", fenced(text))]
    if isinstance(content, str):
        return [quoted(content)] if content.strip() else []
    if not isinstance(content, list):
        return [] if content is None else [fenced(_json(content), "json")]
    parts = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and isinstance(text := block.get("text"), str):
            parts += [quoted(text)] if text.strip() else []
        elif is_block(block, CALL_BLOCKS):
            parts.append(_call(block))
        elif is_block(block, THINKING_BLOCKS) and isinstance(text := block.get("thinking") or block.get("text"), str):
            parts.append(_folded(f"Thinking, {len(text):,} characters", fenced(text)))
        elif kind == "tool_result":
            text = _all_text(block.get("output", block.get("content")))
            failed = " failed," if block.get("is_error") is True else ""
            parts.append(_folded(f"Result,{failed} {len(text):,} characters", fenced(text)))
        else:
            parts.append(_folded(f"Block {_code(kind)}", fenced(_block_text(block), "json")))
    return parts


def _call(call: Mapping[str, Any]) -> str:
    name, arguments = call_name_of(call), given_arguments_of(call)
    if isinstance(arguments, str):
        try:
            arguments = parsed(arguments)
        except ValueError:
            return _folded(f"Call of {_code(name)}", fenced(arguments))
    subject = subject_of(_json(arguments))
    return _folded(f"Call of {_code(name)}{f': {_code(subject)}' if subject else ''}", _arguments(arguments))


def _arguments(given: Any) -> str:
    """What a call asks for: a command and each text of several lines as it is, the rest as JSON."""
    if not isinstance(given, dict):
        return fenced(_json(given), "json")
    texts = {key: text for key, text in given.items() if isinstance(text, str) and (key in _COMMANDS or "\n" in text)}
    rest = {key: value for key, value in given.items() if key not in texts}
    parts = []
    for key, text in texts.items():
        is_command = key in _COMMANDS
        parts += [] if is_command else [f"{_code(key)}:"]
        parts.append(fenced(text, "sh" if is_command else ""))
    if rest or not texts:
        parts.append(fenced(_json(rest), "json"))
    return "\n\n".join(parts)


def _folded(summary: str, body: str) -> str:
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def _code(name: Any) -> str:
    return f"<code>{inline(str(name))}</code>"


def _all_text(content: Any) -> str:
    """What content says: a text, or its blocks one below the other."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(map(_block_text, content))
    return "" if content is None else _json(content)


def _block_text(block: Any) -> str:
    """A block's text, else its JSON; an image is named."""
    if isinstance(block, dict):
        if block.get("type") == "text" and isinstance(block.get("text"), str):
            return str(block["text"])
        if block.get("type") == "image":
            return f"[image: {len(_json(block)):,} characters are left out]"
    return block if isinstance(block, str) else _json(block)


def _blocks(message: Message) -> list[Message]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _prose(line: str) -> str:
    """A line outside of code: no HTML, no address in angle brackets, no link, no image, no fence begins in it."""
    line = _BEGINS_HTML.sub("&lt;", _ENTITY.sub("&amp;", line))
    line = line.replace("![", "!&#91;").replace("](", "]&#40;").replace("]:", "]&#58;")
    return _FENCE_RUN.sub(lambda run: f"&#{ord(run[0][0])};" * len(run[0]), line)


def _fenced_lines(lines: list[str], language: str) -> list[str]:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    named = language.strip() if _LANGUAGE.fullmatch(language.strip()) else ""
    return [fence + named, *lines, fence]


def _visible(text: str) -> str:
    """A text with line breaks of one kind, and what does not print escaped."""
    text = text.replace("\r\n", "\n")
    strange = [c for c in set(text) if not (c.isprintable() or c in "\n\t" or unicodedata.category(c) == "Zs")]
    return text.translate({ord(c): json.dumps(c)[1:-1] for c in strange}) if strange else text


@dataclass(slots=True)
class _Sums:
    """What some messages come to."""

    messages: int = 0
    calls: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    read: int = 0
    cached: int = 0
    written: int = 0
    cost: float = 0.0
    first: datetime | None = None
    last: datetime | None = None

    def take(self, message: Message, billed: RequestBill, ending: Ending | None) -> None:
        """Add a message."""
        self.messages += 1
        self.calls += len(calls_of(message)) if message.get("role") == "assistant" else 0
        if ending is not None:
            self.ended[ending.outcome] += 1
        if (instant := instant_of_message(message)) is not None:
            self.first, self.last = min(self.first or instant, instant), max(self.last or instant, instant)
        self.models[billed.model] += bool(billed.model)
        self.read += max(0, billed.input_tokens)
        self.cached += max(0, billed.cached_tokens)
        self.written += max(0, billed.output_tokens)
        self.cost += max(0.0, billed.cost)

    def line(self) -> str:
        """All of it, apart by dots."""
        bad = [f"{count:,} {outcome}" for outcome, count in sorted(self.ended.items()) if outcome != ANSWERED]
        seconds = duration_s(self.first, self.last)
        facts = [
            f"{self.messages:,} message{'' if self.messages == 1 else 's'}",
            f"{self.calls:,} call{'' if self.calls == 1 else 's'}{', ' if bad else ''}{', '.join(bad)}"
            if self.calls or bad
            else "",
            _duration(seconds or 0),
            *(inline(model) for model in sorted(+self.models)),
            _bill(self.read, self.cached, self.written, self.cost),
        ]
        return " · ".join(filter(None, facts))


class SessionMarkdown:
    """Writes a session as Markdown.

    Args:
        transcript: the session, open.
        redacted: redacts what is taken from the log besides the messages that `pieces` gets.
    """

    def __init__(self, transcript: Transcript, redacted: Callable[[Any], Any]) -> None:
        self._transcript, self._redacted = transcript, redacted
        counter = EstimateCounter()
        self._bills = Bills(transcript.reader, PriceList(), lambda message: tokens_of(message, counter))
        self._calls = CallLookup(transcript.reader)

    def pieces(self, messages: Iterable[tuple[int, Message]]) -> Iterator[str]:
        """The export, a piece at a time; `messages` are positions in the history with messages, redacted."""
        name = session_id_in(self._transcript) or Path(self._transcript.path).stem
        yield f"# Session {inline(name)}\n\n"
        begins = {turn.start: turn.number for turn in self._transcript.turns()}
        all_of_it, of_turn, number = _Sums(), _Sums(), 0
        for position, message in messages:
            if position in begins:
                if of_turn.messages:
                    yield _turn_end(number, of_turn)
                of_turn, number = _Sums(), begins[position]
                yield f"## Turn {number}\n\n"
            yield self._message(position, message, (of_turn, all_of_it))
        if of_turn.messages:
            yield _turn_end(number, of_turn)
            yield f"---\n\n{all_of_it.line()}\n\n"
            if all_of_it.cost:
                yield f"Costs are list prices in US dollars, as of {PRICES_AS_OF}.\n\n"

    def _message(self, position: int, message: Message, sums: tuple[_Sums, ...]) -> str:
        billed = self._bills.of(message)
        ending = self._calls.ending(self._transcript.reader.index.live, position, message)
        for one in sums:
            one.take(message, billed, ending)
        facts, tool = [], ""
        if ending is not None:
            facts = [ending.outcome if ending.is_error else "", _duration(ending.duration_s or 0)]
            tool = str(self._redacted(ending.call.name)) if ending.call is not None else ""
        elif message.get("role") == "assistant":
            bill = _bill(billed.input_tokens, billed.cached_tokens, billed.output_tokens, billed.cost)
            facts = [inline(billed.model), bill]
        return message_markdown(message, tuple(filter(None, facts)), tool)


def _turn_end(number: int, sums: _Sums) -> str:
    return f"Turn {number}: {sums.line()}\n\n"


def _bill(read: int, cached: int, written: int, cost: float) -> str:
    """What requests read, wrote and cost; empty where nobody reported it."""
    if read <= 0 and written <= 0:
        return ""
    share = f" ({100 * cached / read:.0f} % cached)" if cached > 0 and read > 0 else ""
    said = [f"{read:,} tokens read{share}"] if read > 0 else []
    said += [f"{written:,} written"] if written > 0 else []
    said += [f"${cost:.4f}" if cost < 0.095 else f"${cost:,.2f}"] if cost > 0 else []
    return ", ".join(said)


def _duration(seconds: float) -> str:
    if not seconds:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
