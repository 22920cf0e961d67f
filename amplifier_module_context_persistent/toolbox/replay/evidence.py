"""Far evidence: the names that an action uses from far back in the history, and the share that a view still shows.

**Identifiers** of a text, as this measure understands them:

- *paths*: words with a slash before name characters, addresses, and file names with a known extension, of 6 characters
  or more; `/dev/null` and similar ones do not count;
- *names* of 6 characters or more in snake_case or CamelCase (an inner underscore, or a capital after a small letter or
  a digit), outside of paths; each part of a dotted name counts by itself;
- *hex ids*: 7 to 40 digits of small hexadecimal with at least one decimal digit and one letter;
- *quoted strings* of 6 to 80 characters without white space that hold a letter.

**Far evidence** of an action (the tool calls of an assistant message) is the set of identifiers in its arguments that
occur in earlier messages, but not in the last `FAR_MESSAGES` of them, and in no more than `COMMON_SHARE` of them. An
identifier in very many messages would survive any compaction, so it proves nothing. A name is *in* a message if
its exact text is contained in the message's text, thinking, arguments or results.

**Original text** of a view is the text of its messages without insertions. A message that is marked as coming from
compaction, or that is not in the history, is an insertion as a whole. In a shortened text, the beginning and the end in
common with its original are original, and so are whole lines of the original in between; the rest (a marker, a
stand-in) is an insertion. So this measure does not depend on the form of markers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ...messages.message import CALL_BLOCKS, Message, given_arguments_of, given_calls, is_block, metadata_of, strings_in
from ...messages.metadata import COMPACTION_SOURCE

FAR_MESSAGES = 20
COMMON_SHARE = 0.2

_EXTENSIONS = (
    "bash|c|cc|cfg|conf|cpp|cs|css|csv|eex|env|erl|ex|exs|go|h|heex|hpp|html|ini|java|js|json|jsonl|jsx|kt|lock|lua|md|"
    "mjs|php|proto|ps1|py|pyi|rb|rs|rst|scala|scss|sh|sql|svelte|swift|tf|toml|ts|tsx|txt|vue|xml|yaml|yml|zig"
)
_PATH = re.compile(
    r"https?://[\w.:/@%?=&~+-]+"
    r"|(?<![<\w~.@+-])[~\w.@+-]*(?:/[\w.@+-]+)+"
    rf"|[\w@+-][\w.@+-]*\.(?:{_EXTENSIONS})(?![\w.-]*\w)",
    re.ASCII,
)
_NO_PATHS = ("/dev/", "/bin/")
_NAME = re.compile(r"[A-Za-z_]\w{5,}", re.ASCII)
_COMPOUND = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_+[A-Za-z0-9]")
_HEX = re.compile(r"(?<![\w-])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}(?!\w)")
_QUOTED = re.compile(r"(?<!\w)([\"'`])((?:(?!\1)\S){6,80})\1(?!\w)")
_LETTER = re.compile(r"[^\W\d_]")
_LEAST_CHARS = 6


def identifiers(text: str) -> set[str]:
    """Return the identifiers in a text: paths, names and ids, as the module's docstring defines them."""
    identifiers = {quoted for _, quoted in _QUOTED.findall(text) if _LETTER.search(quoted)}
    for match in _PATH.findall(text):
        path = match.rstrip("./:?")
        if _LETTER.search(path) and not path.startswith(_NO_PATHS):
            identifiers.add(path)
    without_paths = _PATH.sub(" ", text)
    identifiers.update(name for name in _NAME.findall(without_paths) if _COMPOUND.search(name))
    identifiers.update(_HEX.findall(without_paths))
    return {term for term in identifiers if len(term) >= _LEAST_CHARS}


def parts_of(message: Message) -> list[str]:
    """Return the texts of a message: its content, thinking and results, then the arguments of its calls."""
    content = message.get("content")
    parts = []
    if isinstance(content, str):
        parts = [content]
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and not is_block(block, CALL_BLOCKS):
                for key in ("text", "thinking", "output"):
                    parts += strings_in(block.get(key))
    return parts + _arguments_of(message)


def action_text(message: Message) -> str:
    """Return the arguments of a message's tool calls as text; "" if it has no calls."""
    return "\n".join(_arguments_of(message))


def _arguments_of(message: Message) -> list[str]:
    """Return the texts in the arguments of a message's calls."""
    texts: list[str] = []
    for call in given_calls(message).values():
        texts += strings_in(given_arguments_of(call))
    return texts


Progress = Callable[[int], None]
"""A function that is called with the number of messages read so far."""


def far_evidence(messages: Iterable[Message], progress: Progress | None = None) -> dict[int, list[str]]:
    """Return the far evidence of each assistant message that has any, by the message's position.

    Far evidence: the names that the message's tool calls use and that only messages far before it contain.

    Args:
        messages: the session; it is read twice, one message at a time.
        progress: is called with the number of messages read.
    """
    places = _TermPlaces({term for message in messages for term in _used_in(message)})
    evidence: dict[int, list[str]] = {}
    for position, message in enumerate(messages):
        if progress is not None:
            progress(position + 1)
        far = [term for term in sorted(_used_in(message)) if places.is_far(term, position)]
        if far:
            evidence[position] = far
        places.take(position, "\n".join(parts_of(message)))
    return evidence


def _used_in(message: Message) -> set[str]:
    """Return the identifiers in the arguments of a message's tool calls."""
    return identifiers(action_text(message))


class _TermPlaces:
    """For each term, the number of texts with this term, and the position of the last such text.

    Args:
        terms: the terms to look for.
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self._finder = TermFinder(terms)
        self._counts: dict[str, int] = {}
        self._last: dict[str, int] = {}

    def is_far(self, term: str, position: int) -> bool:
        """Return whether a term is in earlier texts, in none near the position, and not in too many."""
        texts_with_term = self._counts.get(term, 0)
        if texts_with_term == 0:
            return False
        is_near = position - self._last[term] <= FAR_MESSAGES
        is_common = texts_with_term > COMMON_SHARE * position
        return not is_near and not is_common

    def take(self, position: int, text: str) -> None:
        """Count the terms in the text of the message at `position`. Call this for the messages in order."""
        for term in self._finder.terms_in(text):
            self._counts[term] = self._counts.get(term, 0) + 1
            self._last[term] = position


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """A session to play.

    `evidence` has, by the position of an assistant message, the names that its tool calls use from far back in the
    history (`far_evidence`).
    """

    name: str
    messages: Sequence[Message]
    tokens: int
    evidence: dict[int, list[str]]

    @classmethod
    def of(
        cls,
        name: str,
        messages: Iterable[Message],
        count: Callable[[Message], int],
        progress: Progress | None = None,
    ) -> PlayedSession:
        """Create a session from messages, with its far evidence and its number of tokens."""
        numbered = [with_id(name, position, message) for position, message in enumerate(messages)]
        return cls(name, numbered, sum(map(count, numbered)), far_evidence(numbered, progress))


def with_id(name: str, position: int, message: Message) -> Message:
    """Return a message that has an id. A message without one gets an id that looks like those of a log."""
    metadata = message.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    message_id = metadata.get("message_id")
    if isinstance(message_id, str) and message_id:
        return message
    digest = hashlib.blake2b(f"{name} {position}".encode(), digest_size=8).hexdigest()
    return {**message, "metadata": {**metadata, "message_id": f"m{digest}"}}


@dataclass(frozen=True, slots=True)
class MessageParts:
    """The whole text of a view's message, its original part, and the inserted pieces.

    Each line of the original part is a part of a line of the text. If the whole text is original, `text` and `original`
    are the same object.
    """

    text: str
    original: str
    inserted: tuple[str, ...] = ()
    whole: bool = False
    """Whether the message as a whole was inserted."""


def said(message: Message, original: Message | None) -> MessageParts:
    """Split a view's message into original and inserted text; `original` is the history's message, or None."""
    parts = parts_of(message)
    text = "\n".join(parts)
    if original is None or metadata_of(message).get("source") == COMPACTION_SOURCE:
        return MessageParts(text, "", tuple(parts), whole=True)
    sources = parts_of(original)
    original_parts: list[str] = []
    inserted: list[str] = []
    for part in parts:
        if part in sources:
            original_parts.append(part)
            continue
        source = _most_similar(part, sources)
        pieces = _split(part, source)
        original_parts += pieces.kept
        inserted += pieces.inserted
    kept_text = "\n".join(original_parts)
    if kept_text == text:
        return MessageParts(text, text, tuple(inserted))  # one object, so that a comparison need not read it
    return MessageParts(text, kept_text, tuple(inserted))


def _most_similar(part: str, sources: Sequence[str]) -> str:
    """Return the source that has most of its beginning and its end in common with a text; "" if there is none."""
    return max(sources, key=lambda source: _shared(part, source), default="")


class _Pieces(NamedTuple):
    """The pieces of a shortened text: those from its source, and those that were inserted."""

    kept: list[str]
    inserted: list[str]


def _split(part: str, source: str) -> _Pieces:
    """Split a shortened text into pieces from its source and inserted pieces."""
    head_chars = shared_beginning(part, source)
    rest = part[head_chars:]
    rest_of_source = source[head_chars:]
    tail_chars = shared_beginning(rest[::-1], rest_of_source[::-1])  # the shared end
    tail_start = len(part) - tail_chars
    source_lines = set(source.split("\n"))
    original_parts = [part[:head_chars]]
    inserted = []
    for line in part[head_chars:tail_start].split("\n"):
        if line in source_lines and line.strip():
            original_parts.append(line)
        elif line.strip():
            inserted.append(line)
    original_parts.append(part[tail_start:])
    return _Pieces(original_parts, inserted)


def _shared(part: str, source: str) -> int:
    return shared_beginning(part, source) + shared_beginning(part[::-1], source[::-1])


def shared_beginning(a: str, b: str) -> int:
    """Return the number of characters that two texts have in common at their beginning."""
    low = 0
    high = min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


_WORD = re.compile(r"\w+")
_MOST_WORDS = 50_000  # for this number of words, the terms that may contain them are cached
_START_CHARS = 4


class TermFinder:
    """Finds terms in texts.

    Args:
        terms: the terms to find; each has a letter, a digit or an underscore.
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self._by_piece: dict[str, list[str]] = {}
        for term in terms:
            self._by_piece.setdefault(max(_WORD.findall(term), key=len), []).append(term)
        self._by_start: dict[str, list[str]] = {}
        """The longest word of each term, by the first characters of the word."""
        for piece in self._by_piece:
            self._by_start.setdefault(piece[:_START_CHARS], []).append(piece)
        self._start_sizes = sorted(set(map(len, self._by_start)))
        self._terms_of = lru_cache(_MOST_WORDS)(self._terms_with)

    def terms_in(self, text: str) -> list[str]:
        """Return the terms that a text contains, each once."""
        candidates: set[str] = set()
        for word in set(_WORD.findall(text)):
            candidates.update(self._terms_of(word))
        return [term for term in candidates if term in text]

    def _terms_with(self, word: str) -> tuple[str, ...]:
        """Return the terms whose longest word is a part of `word`."""
        terms: list[str] = []
        for piece in self._pieces_in(word):
            terms += self._by_piece[piece]
        return tuple(terms)

    def _pieces_in(self, word: str) -> set[str]:
        """Return the longest words of terms (`_by_start`) that are a part of `word`."""
        contained: set[str] = set()
        by_start = self._by_start
        for size in self._start_sizes:
            for at in range(len(word) - size + 1):
                pieces = by_start.get(word[at : at + size])
                if pieces is not None:
                    contained.update(piece for piece in pieces if word.startswith(piece, at))
        return contained
