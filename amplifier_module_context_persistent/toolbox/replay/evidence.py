"""Far evidence: the names that an action needs from further back, and the share that a view still shows.

**Identifiers** of a text, as this measure understands them:

- *paths*: words with a slash before name characters, addresses, and file names with a known extension, of 6 characters
  or more; `/dev/null` and the like are none;
- *names* of 6 characters or more in snake_case or CamelCase (an inner underscore, or a capital after a small letter or
  a digit), outside of paths; of a dotted name each part by itself;
- *hex ids*: 7 to 40 digits of small hexadecimal with at least one figure and one letter;
- *quoted strings* of 6 to 80 characters without white space that hold a letter.

**Far evidence** of an action (the tool calls of an assistant message) are the identifiers in its arguments that stand
somewhere in the messages before it, the last time more than `FAR_MESSAGES` back, and in no more than `COMMON_SHARE` of
them: a name that is everywhere survives any cut. A name is *in* a message if its exact text is contained in the
message's text, thinking, arguments or results.

**Original text** of a view is the text of its messages without insertions. A message that says it comes from
compaction, or that the history does not have, is an insertion as a whole. In a shortened text, the beginning and the
end in common with its original are original, and so are whole lines of the original in between; the rest (a marker, a
stand-in) is an insertion. So this measure does not depend on the form of markers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from ...messages.message import CALL_BLOCKS, Message, given_arguments_of, given_calls, is_block, strings_in
from ...messages.metadata import COMPACTION_SOURCE, metadata_of

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
    """The identifiers in a text, by the definition above."""
    found = {quoted for _, quoted in _QUOTED.findall(text) if _LETTER.search(quoted)}
    paths = [path.rstrip("./:?") for path in _PATH.findall(text)]
    found.update(path for path in paths if not path.startswith(_NO_PATHS) and _LETTER.search(path))
    rest = _PATH.sub(" ", text)
    found.update(name for name in _NAME.findall(rest) if _COMPOUND.search(name))
    found.update(_HEX.findall(rest))
    return {term for term in found if len(term) >= _LEAST_CHARS}


def parts_of(message: Message) -> list[str]:
    """The texts of a message: content, thinking and results, then the arguments of its calls."""
    content = message.get("content")
    parts = [content] if isinstance(content, str) else []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and not is_block(block, CALL_BLOCKS):
            for key in ("text", "thinking", "output"):
                parts += strings_in(block.get(key))
    return parts + _arguments_of(message)


def action_text(message: Message) -> str:
    """The arguments of a message's tool calls as text; empty if it calls nothing."""
    return "\n".join(_arguments_of(message))


def _arguments_of(message: Message) -> list[str]:
    return [text for call in given_calls(message).values() for text in strings_in(given_arguments_of(call))]


Progress = Callable[[int], None]
"""Is told how many messages were looked at."""


def far_evidence(messages: Iterable[Message], progress: Progress | None = None) -> dict[int, list[str]]:
    """The far identifiers in the arguments of each assistant message with calls, by its position.

    Args:
        messages: the session; it is read twice, one message at a time.
        progress: is called with the number of messages read.
    """
    stands = _TermPlaces({term for message in messages for term in _used_in(message)})
    evidence: dict[int, list[str]] = {}
    for position, message in enumerate(messages):
        if progress is not None:
            progress(position + 1)
        if far := [term for term in sorted(_used_in(message)) if stands.is_far(term, position)]:
            evidence[position] = far
        stands.take(position, "\n".join(parts_of(message)))
    return evidence


def _used_in(message: Message) -> set[str]:
    """The identifiers that a message's actions use."""
    return identifiers(action_text(message))


class _TermPlaces:
    """The number of texts that contain each term, and the last such text.

    Args:
        terms: the terms to look for.
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self._finder = TermFinder(terms)
        self._counts: dict[str, int] = {}
        self._last: dict[str, int] = {}

    def is_far(self, term: str, position: int) -> bool:
        """Whether a term is in texts before a position, not in too many, and only far from it."""
        before = self._counts.get(term, 0)
        return bool(before) and position - self._last[term] > FAR_MESSAGES and before <= COMMON_SHARE * position

    def take(self, position: int, text: str) -> None:
        """Take the text at a position."""
        for term in self._finder.terms_in(text):
            self._counts[term] = self._counts.get(term, 0) + 1
            self._last[term] = position


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """A transcript to play."""

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
        """Take a transcript."""
        numbered = [with_id(name, position, message) for position, message in enumerate(messages)]
        return cls(name, numbered, sum(map(count, numbered)), far_evidence(numbered, progress))


def with_id(name: str, position: int, message: Message) -> Message:
    """A message with the id that it has, else one of the shape and length that a log gives."""
    metadata = message.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    if isinstance(message_id := known.get("message_id"), str) and message_id:
        return message
    digest = hashlib.blake2b(f"{name} {position}".encode(), digest_size=8).hexdigest()
    return {**message, "metadata": {**known, "message_id": f"m{digest}"}}


@dataclass(frozen=True, slots=True)
class MessageParts:
    """The text of a view's message: all of it, its original part, and the inserted pieces.

    Each line of the original part is a part of a line of the text. If all is original, both are the same object.
    """

    text: str
    original: str
    inserted: tuple[str, ...] = ()
    whole: bool = False
    """Whether the message as a whole was inserted."""


def said(message: Message, original: Message | None) -> MessageParts:
    """Tell what of a view's message is original; `original` is the history's message of the same id, or None."""
    parts = parts_of(message)
    text = "\n".join(parts)
    if original is None or metadata_of(message).get("source") == COMPACTION_SOURCE:
        return MessageParts(text, "", tuple(parts), whole=True)
    sources = parts_of(original)
    kept: list[str] = []
    inserted: list[str] = []
    for part in parts:
        if part in sources:
            kept.append(part)
        else:
            nearest = max(sources, key=partial(_shared, part), default="")
            _split(part, nearest, kept, inserted)
    own = "\n".join(kept)
    return MessageParts(text, text if own == text else own, tuple(inserted))


def _split(part: str, source: str, kept: list[str], inserted: list[str]) -> None:
    """Part a shortened text into what its original has and what it has not."""
    head = shared_beginning(part, source)
    tail = shared_beginning(part[head:][::-1], source[head:][::-1])
    kept.append(part[:head])
    lines = set(source.split("\n"))
    for line in part[head : len(part) - tail].split("\n"):
        if line.strip():
            (kept if line in lines else inserted).append(line)
    kept.append(part[len(part) - tail :])


def _shared(part: str, source: str) -> int:
    return shared_beginning(part, source) + shared_beginning(part[::-1], source[::-1])


def shared_beginning(a: str, b: str) -> int:
    """The number of characters that two texts have in common at their beginning."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


_WORD = re.compile(r"\w+")
_MOST_WORDS = 50_000  # texts of this length are cached with the terms that may contain them
_START_CHARS = 4


class TermFinder:
    """Finds terms in texts.

    Args:
        terms: what is looked for; each has a letter, a figure or an underscore.
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self._by_piece: dict[str, list[str]] = {}
        for term in terms:
            self._by_piece.setdefault(max(_WORD.findall(term), key=len), []).append(term)
        self._by_start: dict[str, list[str]] = {}
        """The longest words by how they begin."""
        for piece in self._by_piece:
            self._by_start.setdefault(piece[:_START_CHARS], []).append(piece)
        self._start_sizes = sorted(set(map(len, self._by_start)))
        self._terms_of = lru_cache(_MOST_WORDS)(self._terms_with)

    def terms_in(self, text: str) -> list[str]:
        """The terms that a text holds, each once."""
        likely = {term for word in set(_WORD.findall(text)) for term in self._terms_of(word)}
        return [term for term in likely if term in text]

    def _terms_with(self, word: str) -> tuple[str, ...]:
        """The terms whose longest word is contained in a word."""
        return tuple(term for piece in self._pieces_in(word) for term in self._by_piece[piece])

    def _pieces_in(self, word: str) -> set[str]:
        by_start, found = self._by_start, set[str]()
        for size in self._start_sizes:
            for at in range(len(word) - size + 1):
                if (pieces := by_start.get(word[at : at + size])) is not None:
                    found.update(piece for piece in pieces if word.startswith(piece, at))
        return found
