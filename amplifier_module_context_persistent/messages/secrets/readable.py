r"""Text as a person reads it: terminal escapes, JSON, URL, HTML and mail encodings are undone, and positions are kept.

A search for secrets reads the decoded text, but replaces pieces of the original. An *edit* is a piece of the original
that stands for another text. `Reading.original` maps a piece of the decoded text back to the original.

Rules:
- Encodings are undone in rounds until nothing changes, at most `MOST_ROUNDS` times (percent encoding in JSON in HTML).
  A run of backslashes, of `%25` or of `&amp;` is one edit, so that triply nested JSON needs one round only.
- Terminal escapes are read in two ways. *Joined*: the escape is removed, because a colour may split a token. *Apart*:
  the escape becomes a space, because a token may follow a word of another colour; a link's target becomes text.
- Only the text near an edit is decoded, in pieces of limited length.
- `json_readings` is for a person's own text: it undoes one level of JSON's escapes after the other, so that
  `C:\\new` is a path and not a line end.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

MOST_ROUNDS = 4
"""The number of nested encodings that are undone."""
PIECE_CHARS = 100_000
"""The length of a piece in characters. It limits the memory for a text that consists of edits only."""
AROUND_CHARS = 200
"""The number of characters on both sides of an edit that are read with the edit, such as a name or the rest of a value.
"""
OVERLAP_CHARS = 9_000
"""The longest word to whose end a piece is extended, and the overlap of adjacent pieces, in characters."""

_NO_SEQUENCE = r"\x00-\x06\x08\x0e-\x1a\x7f\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
"""Characters that no terminal shows and with which no control sequence begins; a run of them is one edit."""
_UNSEEN = "\x00-\x06\x08\x0e-\x1b\x7f-\x9f\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
_EDIT = re.compile(
    rf"""
    [\\%&=^{_UNSEEN}]
    (?: (?<=\\)(?<!\\\\) \\*+
        (?: u(?P<pair>[Dd][89ABab][0-9A-Fa-f]{{2}} \\+u [Dd][C-Fc-f][0-9A-Fa-f]{{2}})
          | u\{{(?P<braced>[0-9A-Fa-f]{{1,6}})\}} | U(?P<long>[0-9A-Fa-f]{{8}})
          | u(?P<unicode>[0-9A-Fa-f]{{4}}) | x(?P<hex>[0-9A-Fa-f]{{2}}) | (?P<octal>[0-3][0-7]{{2}})
          | (?P<letter>[nrtbfaev"'/`]) )
      | (?<=%) (?P<utf8>[C-Fc-f][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){{1,3}})
      | (?<=%) (?:25)* (?P<percent>[0-9A-Fa-f]{{2}})
      | (?<=&) (?:amp;)* (?P<entity> \#[0-9]{{1,7}} | \#[xX][0-9A-Fa-f]{{1,6}} | [A-Za-z]{{2,24}} ) ;
      | (?<==) (?=3D|2[0-9A-F]|3[AB]|5F) (?P<quoted>[0-9A-F]{{2}})
      | (?<==) (?P<quoted_utf8>[C-F][0-9A-F](?:=[89AB][0-9A-F]){{1,3}})
      | (?: (?<=\x1b)\[ | (?<=\^)\[\[ | (?<=\x9b) ) [0-?]{{0,64}} [\ -/]{{0,4}} (?P<sequence>[@-~])
      | (?: (?<=\x1b)[\]PX^_] | (?<=\^)\[[\]PX^_] | (?<=[\x9d\x90\x98\x9e\x9f]) )
        (?P<string>[^\x07\x1b\x80-\x9f\n^]{{0,4000}}) (?: \x07 | \x1b\\ | \x9c | \^\[\\ | \^G )
      | (?P<escape> (?: (?<=\x1b) | (?<=\^)\[ ) (?: [\ -/]{{1,4}} [0-~] | [0-Z\\^-~] ) )
      | (?P<unseen> (?<=\x1b)\x1b*(?=\x1b) | (?<=[{_UNSEEN}])[{_NO_SEQUENCE}]* )
    )
    """,
    re.VERBOSE,
)
r"""An encoded character, or characters that a terminal does not show.

JSON and the strings of programs (`\u0022`, `\ud83d\ude00`, `\u{1f600}`, `\U0001f600`, `\x22`, `\042`, `\"`), URLs
(`%22`, `%2522`), HTML and XML (`&quot;`), quoted-printable (RFC 2045), control sequences and strings of ECMA-48
(colours, moves, links, titles; with the 8-bit controls, and as `cat -v` writes them), characters without a width. The
expression begins with one class of characters, because the engine finds a class ten times as fast as alternatives.
"""
_JSON_ESCAPE = re.compile(
    r"""
    (?P<backslashes> (?:\\\\)+ )
    | \\ (?: u(?P<pair>[Dd][89ABab][0-9A-Fa-f]{2} \\u [Dd][C-Fc-f][0-9A-Fa-f]{2})
        | u(?P<unicode>[0-9A-Fa-f]{4}) | (?P<letter>[nrtbf"/]) )
    """,
    re.VERBOSE,
)
"""Matches an escape of JSON: a run of escaped backslashes, which is undone in one edit, or one other character."""
_ESCAPED_BACKSLASH = re.compile(r"\\{2,}")
_STRUCK = re.compile(r"[^\x08\n]\x08(?P<struck>[^\x08\n])|=(?P<soft_break>\r?\n)")
"""A letter over another one, as in the bold text of manual pages, or a line end that mail adds.

Such edits are undone once, before all others. Line ends are undone only in a text with an encoded `=`, because in other
texts they are the ends of settings.
"""
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " ", "a": " ", "e": "\x1b", "v": " "}
_MOVES = frozenset("ABCDEFGHIZ`adef")
"""Last letters of the sequences that move the cursor; the texts before and after them are not adjacent."""
_CONTROLS = re.compile(r"[\x1b\x90-\x9f]|\^\[|\\(?:u001[bB]|x1[bB]|033|e)|%1[bB]")
"""Sequences and characters for which a text may have to be read in both ways."""
_COLOUR = re.compile(r"\x1b\[[0-9;:]{0,64}m")
_SPACE = re.compile(r"\s")


@dataclass(slots=True)
class Round:
    """The edits of one round of decoding, with their places in the text before the round and after it."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    starts_before: list[int] = field(default_factory=list)
    ends_before: list[int] = field(default_factory=list)

    def before(self, at: int) -> tuple[int, int]:
        """Return the span in the text before this round for the character at a position in the text after it.

        Args:
            at: the position of the character in the text after this round.
        """
        number = bisect_right(self.starts, at) - 1  # of the last edit that begins at the position or before
        if number < 0:
            return at, at + 1
        if at < self.ends[number]:
            return self.starts_before[number], self.ends_before[number]
        start = self.ends_before[number] + at - self.ends[number]
        return start, start + 1


@dataclass(slots=True)
class Reading:
    """A decoded piece of a text, with the edits that map it back to the text."""

    text: str
    offset: int = 0
    """The position of the piece in the text."""
    rounds: list[Round] = field(default_factory=list)

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original text for a span of the decoded text, which must not be empty."""
        for decoded in reversed(self.rounds):
            first_start, _ = decoded.before(start)
            _, last_end = decoded.before(end - 1)
            start = first_start
            end = last_end
        return self.offset + start, self.offset + end


def readings(text: str, around_chars: int = AROUND_CHARS) -> Iterator[Reading]:
    """Yield the decoded text near the encoded parts (*edits*) of a text; nothing if it has none.

    Args:
        text: any text.
        around_chars: how many characters on both sides of an edit are read with the edit.
    """
    for start, end in _pieces(text, around_chars):
        piece = text[start:end]
        without_escapes = read(piece, start, joined=True)
        if without_escapes.rounds:
            yield without_escapes
        if _CONTROLS.search(piece):  # a second reading, with the escapes as spaces: a secret may follow a coloured word
            yield read(piece, start, joined=False)


def json_readings(text: str, around_chars: int = AROUND_CHARS) -> Iterator[Reading]:
    """Yield the pieces of a text near its doubled backslashes, with one to four levels of JSON's escapes undone.

    Args:
        text: any text.
        around_chars: how many characters on both sides of such backslashes are read with them.
    """
    for start, end in _pieces(text, around_chars, _ESCAPED_BACKSLASH):
        reading = Reading(text[start:end], start)
        for _ in range(MOST_ROUNDS):
            if not _decode(_JSON_ESCAPE, reading, joined=True):
                break
            yield Reading(reading.text, start, list(reading.rounds))


def read(text: str, offset: int = 0, *, joined: bool) -> Reading:
    """Return the decoded form of a whole text.

    Args:
        text: any text.
        offset: its position in the text that it is a piece of.
        joined: whether terminal escapes are removed; if not, they become spaces, and the targets of links are kept as
            text.
    """
    reading = Reading(text, offset)
    if "\x08" in text or "=3D" in text:
        _decode(_STRUCK, reading, joined=joined)
    for _ in range(MOST_ROUNDS):
        is_changed = _decode(_EDIT, reading, joined=joined)
        if not is_changed:
            break
    return reading


def _decode(expression: re.Pattern[str], reading: Reading, *, joined: bool) -> bool:
    """Undo one round of encodings in a reading. Return False if there are no encodings."""
    decoded, edits = _decoded(expression, reading.text, joined=joined)
    if not edits.starts:
        return False
    reading.text = decoded
    reading.rounds.append(edits)
    return True


def colours_in(text: str) -> str:
    """Return the colour sequences in a text, joined. They stay when a secret between them is replaced."""
    return "".join(_COLOUR.findall(text)) if "\x1b" in text else ""


def _pieces(text: str, around_chars: int, edits: re.Pattern[str] = _EDIT) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text that have to be decoded; a span ends with a word, or overlaps the next span."""
    start = end = -1
    for edit in edits.finditer(text):
        if end < 0:
            start = _start_of_word(text, edit.start() - around_chars)
        elif edit.start() - around_chars > end:
            yield start, _end_of_word(text, end)
            start = _start_of_word(text, edit.start() - around_chars)
        elif end - start > PIECE_CHARS:
            yield start, _end_of_word(text, end)
            start = max(start + 1, end - OVERLAP_CHARS)
        end = edit.end() + around_chars
    if end >= 0:
        yield start, _end_of_word(text, end)


def _start_of_word(text: str, at: int) -> int:
    if at <= 0:
        return 0
    least = max(0, at - OVERLAP_CHARS)
    last_space = max(text.rfind(space, least, at) for space in " \n\t")
    return last_space + 1 if last_space >= 0 else least


def _end_of_word(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    space = _SPACE.search(text, at, at + OVERLAP_CHARS)
    return space.start() if space else min(len(text), at + OVERLAP_CHARS)


def _decoded(expression: re.Pattern[str], text: str, *, joined: bool) -> tuple[str, Round]:
    """Return a text with one round of encodings undone, and the edits of the round."""
    edits = Round()
    parts: list[str] = []
    done = length = 0
    for match in expression.finditer(text):
        for start, end, decoded in _edits_of(match, joined=joined):
            parts += [text[done:start], decoded]
            length += start - done
            edits.starts.append(length)
            length += len(decoded)
            edits.ends.append(length)
            edits.starts_before.append(start)
            edits.ends_before.append(end)
            done = end
    parts.append(text[done:])
    return "".join(parts), edits


def _edits_of(match: re.Match[str], *, joined: bool) -> tuple[tuple[int, int, str], ...]:
    """Return the edits of a match, each as (start, end, decoded text)."""
    start, end = match.span()
    if match.lastgroup == "string" and not joined:
        return (start, match.start("string"), " "), (match.end("string"), end, " ")
    decoded = _reads_as(match, joined=joined)
    return () if decoded is None else ((start, end, decoded),)


def _reads_as(match: re.Match[str], *, joined: bool) -> str | None:
    """Return the decoded text of a possible edit; None if it is not an encoding."""
    kind = match.lastgroup or ""
    inner = match[kind]
    match kind:
        case "struck":
            return inner
        case "backslashes":
            return inner[: len(inner) // 2]
        case "letter":
            return _LETTERS.get(inner, inner)
        case "pair":
            high = int(inner[:4], 16)
            low = int(inner[-4:], 16)
            return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)
        case "unicode" | "braced" | "long" | "hex" | "percent" | "quoted":
            return _character(int(inner, 16))
        case "utf8" | "quoted_utf8":
            return _characters(bytes.fromhex(inner.replace("%", "").replace("=", "")))
        case "octal":
            return _character(int(inner, 8))
        case "entity":
            decoded = unescape(f"&{inner};")
            return None if decoded == f"&{inner};" else decoded
        case "sequence":
            if joined and inner not in _MOVES:
                return ""
            return " "
        case "escape":
            return "" if joined else " "
        case _:  # a soft line break, a link or a title, or characters without a width
            return ""


def _characters(encoded: bytes) -> str:
    """Return the text of some bytes of UTF-8.

    If the bytes are invalid, each byte becomes the character with its number.
    """
    try:
        return encoded.decode("utf-8")
    except UnicodeDecodeError:
        return encoded.decode("latin-1")


def _character(number: int) -> str:
    """Return the character with a number; "?" for half of a surrogate pair or a number without one."""
    is_half_of_pair = 0xD800 <= number <= 0xDFFF
    if is_half_of_pair or number > sys.maxunicode:
        return "?"
    return chr(number)
