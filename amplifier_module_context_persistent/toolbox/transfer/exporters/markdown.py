"""Write a session as Markdown for people. A transcript is untrusted, so the text of a message must not become markup.

A session is written in one pass, a message at a time. Therefore a turn's duration and cost are written at its end.

Rules:
- Prose is in a quotation, line by line. Characters that could begin HTML, a link, an image, a definition of a link or a
  fence are escaped; code in the prose is put into fences of our own.
- Everything else (arguments, results, thinking, instructions) is folded, in a fence that is longer than any run of
  backticks within.
- Names and ids are shown literally. Characters that do not print are shown as JSON escapes.

A test parses the export of any text with a CommonMark parser: every tag is ours, and there are no links and no images.
Addresses are not changed: a program that turns addresses into links uses the original ones.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ....messages.message import Message, calls_of, metadata_of, parsed, result_id_of
from ....messages.message_times import seconds_between
from ....messages.metadata import is_human
from ....messages.normalize import tokens_of
from ....messages.outcome import ANSWERED, REJECTED
from ....messages.text import TextPart, full_text, parts_of
from ....sessions.call_of_result import CallLookup, CallOutcome, instant_of_message, subject_of
from ....sessions.prices import PriceList
from ....sessions.request_costs import Bills, RequestBill
from ....sessions.session_name import read_name
from ....sessions.transcript import Transcript, session_id_in
from ....tokens.counter import EstimateCounter

_COMMANDS = ("command", "cmd", "script")
_TITLES = {"system": "System", "developer": "Developer", "user": "User", "assistant": "Assistant"}
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`\n]*)")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,20}")
_BEGINS_HTML = re.compile(r"<(?=\S)")
_FENCE_RUN = re.compile(r"`{3,}|~{3,}")
_ENTITY = re.compile(r"&(?=#?[A-Za-z0-9]+;)")


def message_markdown(message: Message, facts: Sequence[str] = (), tool: str = "") -> str:
    """Return a message as Markdown with a heading, ending in an empty line.

    Args:
        message: the message in the form of the log.
        facts: more facts for the heading, as Markdown: a model, a cost, the outcome of a call.
        tool: the name of the called tool, for a result that does not name it.
    """
    role = str(message.get("role"))
    parts = [_heading(message, role, metadata_of(message), facts)]
    if role == "assistant" or is_human(message):
        parts += [_part(part) for part in parts_of(message) if part.kind == "call" or part.text.strip()]
    else:
        text, _ = full_text(message)
        summary = []
        if result_id_of(message) is not None:
            name = message.get("name") or tool
            summary = [f"Result of {_code(name)}" if name else "Result", *facts]
        summary.append(f"{len(text):,} characters")
        parts.append(_folded(", ".join(summary), fenced(text)))
    return "\n\n".join(parts) + "\n\n"


def _closes(line: str, mark: str) -> bool:
    """Return whether a line closes the code block that a mark opened: as many of its characters, hardly indented."""
    fence = line.strip()
    indent = len(line) - len(line.lstrip(" "))
    return indent < 4 and set(fence) == {mark[0]} and len(fence) >= len(mark)


def quoted(text: str) -> str:
    """Return prose as a Markdown quotation, which nothing in the text can end. Code in the text is put into fences."""
    lines: list[str] = []
    code: list[str] = []
    mark = language = ""
    for line in _visible(text).split("\n"):
        if not mark:
            found = _FENCE.fullmatch(line)
            if found:
                mark = found[1]
                language = found[2]
                code = []
            else:
                lines.append(_prose(line))
        elif _closes(line, mark):
            lines += _fenced_lines(code, language)
            mark = ""
        else:
            code.append(line)
    if mark:
        lines += _fenced_lines(code, language)
    return "\n".join(f"> {line}".rstrip(" ") for line in lines)


def fenced(text: str, language: str = "") -> str:
    """Return a text in a fence that is longer than any run of backticks in the text."""
    return "\n".join(_fenced_lines(_visible(text).removesuffix("\n").split("\n"), language))


def inline(text: str) -> str:
    """Return the first 200 characters of a text on one line, with all markup escaped."""
    visible = _visible(text[:200]).replace("\n", " ").replace("\t", " ")
    return "".join(map(_escaped, visible))


def _escaped(character: str) -> str:
    """Return a character as itself if it is never markup, else as its number."""
    if character.isalnum() or character in " -.:,":
        return character
    return f"&#{ord(character)};"


def _heading(message: Message, role: str, metadata: Mapping[str, Any], facts: Sequence[str]) -> str:
    title = _TITLES.get(role, "Tool")
    if role == "user" and not is_human(message):
        title += f" ({inline(str(metadata.get('source') or 'inserted'))})"
    time = metadata.get("timestamp") or message.get("timestamp")
    parts = [title, *facts]
    if isinstance(time, str):
        parts.append(inline(time[:19].replace("T", " ")))
    if isinstance(message_id := metadata.get("message_id"), str):
        parts.append(inline(message_id))
    return "### " + " · ".join(parts)


def _part(part: TextPart) -> str:
    if part.kind == "text":
        return quoted(part.text)
    if part.kind == "thinking":
        return _folded(f"Thinking, {len(part.text):,} characters", fenced(part.text))
    try:
        value = parsed(part.text)
    except ValueError:
        value = part.text
    if part.kind == "block":
        return _folded(f"Block {_code(part.name)}", fenced(value if isinstance(value, str) else _json(value)))
    subject = subject_of(part.text)
    body = fenced(value) if isinstance(value, str) else _arguments(value)
    return _folded(f"Call of {_code(part.name)}{f': {_code(subject)}' if subject else ''}", body)


def _arguments(arguments: Any) -> str:
    """Return the arguments of a call as Markdown: commands and texts of several lines unchanged, the rest as JSON."""
    if not isinstance(arguments, dict):
        return fenced(_json(arguments), "json")
    parts = []
    rest = {}
    for key, value in arguments.items():
        is_text = isinstance(value, str)
        if is_text and key in _COMMANDS:
            parts.append(fenced(value, "sh"))
        elif is_text and "\n" in value:
            parts += [f"{_code(key)}:", fenced(value, "")]
        else:
            rest[key] = value
    if rest or not parts:
        parts.append(fenced(_json(rest), "json"))
    return "\n\n".join(parts)


def _folded(summary: str, body: str) -> str:
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def _code(name: Any) -> str:
    return f"<code>{inline(str(name))}</code>"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _prose(line: str) -> str:
    """Escape a line outside of code, so that no HTML, address in angle brackets, link, image or fence begins in it."""
    line = _BEGINS_HTML.sub("&lt;", _ENTITY.sub("&amp;", line))
    line = line.replace("![", "!&#91;").replace("](", "]&#40;").replace("]:", "]&#58;")
    return _FENCE_RUN.sub(lambda run: f"&#{ord(run[0][0])};" * len(run[0]), line)


def _fenced_lines(lines: list[str], language: str) -> list[str]:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    info_string = language.strip() if _LANGUAGE.fullmatch(language.strip()) else ""
    return [fence + info_string, *lines, fence]


def _visible(text: str) -> str:
    """Return a text with LF line breaks, in which non-printable characters are escaped."""
    text = text.replace("\r\n", "\n")
    escapes = {}
    for character in set(text):  # most texts have few different characters
        if not _is_visible(character):
            escapes[ord(character)] = json.dumps(character)[1:-1]
    return text.translate(escapes) if escapes else text


def _is_visible(character: str) -> bool:
    """Return whether a character is printable, a space, a tab or a line break."""
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"


@dataclass(slots=True)
class _Sums:
    """The sums over the messages of a turn or of a session."""

    counts: Counter[str] = field(default_factory=Counter)
    """The numbers of messages and calls, and of tokens that were read, read from a cache, and written."""
    ended: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    cost: float = 0.0
    is_estimated: bool = False
    """Whether the tokens of an answer were counted here, because the provider did not report them."""
    first: datetime | None = None
    last: datetime | None = None

    def take(self, message: Message, billed: RequestBill, outcome: CallOutcome | None) -> None:
        """Add a message to the sums, with its bill, and for a result with the outcome of the call."""
        self.counts.update(
            messages=1,
            calls=len(calls_of(message)),
            read=max(0, billed.input_tokens),
            cached=max(0, billed.cached_tokens),
            written=max(0, billed.output_tokens),
        )
        if outcome is not None:
            self.ended[outcome.outcome] += 1
        instant = instant_of_message(message)
        if instant is not None:
            self.first = min(self.first or instant, instant)
            self.last = max(self.last or instant, instant)
        if billed.model:
            self.models[billed.model] += 1
        self.cost += max(0.0, billed.cost)
        self.is_estimated = self.is_estimated or billed.is_estimated

    def line(self) -> str:
        """Return one line of text with the messages, calls, duration, models, tokens and cost, separated by dots."""
        facts = [_count(self.counts["messages"], "message")]
        failed = sum(self.ended.values()) - self.ended[ANSWERED]
        rejected = self.ended[REJECTED]
        if self.counts["calls"] or failed:
            calls = _count(self.counts["calls"], "call")
            if failed:  # as in `stats`: a rejected call counts as failed too
                calls += f", {failed:,} failed"
            if rejected:
                calls += f" ({rejected:,} rejected)"
            facts.append(calls)
        facts.append(_duration(seconds_between(self.first, self.last) or 0))
        facts += [inline(model) for model in sorted(+self.models)]
        facts.append(
            _bill(
                RequestBill(
                    self.counts["read"],
                    self.counts["cached"],
                    self.counts["written"],
                    cost=self.cost,
                    is_estimated=self.is_estimated,
                )
            )
        )
        return " · ".join(filter(None, facts))


class SessionMarkdown:
    """Writes a session as Markdown.

    Args:
        transcript: the session, open.
        redacted: redacts names and values from the log that are not part of the messages given to `pieces`.
    """

    def __init__(self, transcript: Transcript, redacted: Callable[[Any], Any]) -> None:
        self._transcript = transcript
        self._redacted = redacted
        counter = EstimateCounter()
        self._prices = PriceList()
        self._bills = Bills(transcript.reader, self._prices, lambda message: tokens_of(message, counter))
        self._calls = CallLookup(transcript.reader)

    def pieces(self, messages: Iterable[tuple[int, Message]]) -> Iterator[str]:
        """Yield the Markdown piece by piece.

        `messages` are pairs of a position in the history and a redacted message.
        """
        session_id = session_id_in(self._transcript) or Path(self._transcript.path).stem
        yield f"# Session {inline(str(self._redacted(session_id)))}\n\n"
        name = read_name(self._transcript.path).name
        if name:
            yield f"**{inline(str(self._redacted(name)))}**\n\n"
        starts = [turn.start for turn in self._transcript.turns()]
        whole = _Sums()
        of_turn = _Sums()
        number = 0
        for position, message in messages:
            turn = bisect_right(starts, position)
            if turn != number:
                if of_turn.counts:
                    yield _turn_end(number, of_turn)
                of_turn = _Sums()
                number = turn
                yield f"## Turn {number}\n\n"
            yield self._message(position, message, (of_turn, whole))
        if of_turn.counts:
            yield _turn_end(number, of_turn)
            yield f"---\n\n{whole.line()}\n\n"
            if whole.cost:
                estimated = ""
                if whole.is_estimated:
                    estimated = " Those with ~ have outputs that were counted here, not reported."
                yield f"Costs are by these prices: {self._prices.described()}.{estimated}\n\n"

    def _message(self, position: int, message: Message, sums: tuple[_Sums, ...]) -> str:
        billed = self._bills.of(message)
        outcome = self._calls.outcome_of_result(self._transcript.reader.index.live, position, message)
        for totals in sums:
            totals.take(message, billed, outcome)
        facts = []
        tool = ""
        if outcome is not None:
            facts = [outcome.outcome if outcome.is_error else "", _duration(outcome.duration_s or 0)]
            tool = str(self._redacted(outcome.call.name)) if outcome.call is not None else ""
        elif message.get("role") == "assistant":
            facts = [inline(billed.model), _bill(billed)]
        return message_markdown(message, tuple(filter(None, facts)), tool)


def _turn_end(number: int, sums: _Sums) -> str:
    return f"Turn {number}: {sums.line()}\n\n"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def _bill(billed: RequestBill) -> str:
    """Return the tokens and the cost of requests as text, or "" if none are known.

    An estimate is marked with a tilde.
    """
    read, cached, written, cost = billed.input_tokens, billed.cached_tokens, billed.output_tokens, billed.cost
    if read <= 0 and written <= 0:
        return ""
    mark = "~" if billed.is_estimated else ""
    parts = list[str]()
    if read > 0:
        share = f" ({100 * cached / read:.0f} % cached)" if cached > 0 else ""
        parts.append(f"{read:,} tokens read{share}")
    if written > 0:
        parts.append(f"{mark}{written:,} written")
    if cost > 0:
        dollars = f"${cost:.4f}" if cost < 0.095 else f"${cost:,.2f}"
        parts.append(f"{mark}{dollars}")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    if not seconds:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
