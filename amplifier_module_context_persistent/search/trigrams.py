"""What the index over sessions knows of a text: which short runs of characters it holds.

A text that holds another one holds its runs too, so a block of messages that lacks one of them cannot match. Rules:
- A run has three characters; where two neighbours are CJK characters, it has those two, since words of two are common.
- Case is folded further than any expression ignores it, character by character: folding never depends on neighbours.
- A run is written as one of `TOKENS` words by its checksum. So the index holds no text, and its vocabulary is small
  in every script. Two runs with the same word only mean that a block is read in vain.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from itertools import pairwise
from string import ascii_lowercase, digits
from typing import Protocol

_LETTERS = digits + ascii_lowercase
TOKENS = len(_LETTERS) ** 3
CJK = "\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff66-\uffdc\U00020000-\U0003ffff"
"""The characters of Chinese, Japanese and Korean, as ranges of an expression's set."""
_CJK_RUN = re.compile(f"[{CJK}]{{2,}}")
_CJK_PAIR = re.compile(f"[{CJK}]{{2}}")
_RUN_CHARS = 3
_MOST_ASKED = 64
"""Of the words of a pattern: more would rule out hardly more."""
_MOST_KNOWN = 1 << 18
_PIECE_CHARS = 1 << 19


class Searched(Protocol):
    """What a search looks for."""

    @property
    def literals(self) -> tuple[tuple[str, ...], ...]:
        """Alternatives: every text that matches holds all texts of at least one of them, whatever their case."""
        ...


class _Words(dict[tuple[str, ...], str]):
    """The word of each run; runs repeat from block to block."""

    def __missing__(self, run: tuple[str, ...]) -> str:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        text = "".join(run)
        if len(text) == _RUN_CHARS and _CJK_PAIR.search(text):
            word = ""  # its pairs have words
        else:
            rest, last = divmod(zlib.crc32(text.encode("utf-8", "surrogatepass")) % TOKENS, len(_LETTERS))
            first, second = divmod(rest, len(_LETTERS))
            word = _LETTERS[first] + _LETTERS[second] + _LETTERS[last]
        self[run] = word
        return word


_words = _Words()


class Runs:
    """The runs of some texts."""

    def __init__(self) -> None:
        self._runs: set[tuple[str, ...]] = set()

    def add(self, text: str) -> None:
        """Take in the runs of a text."""
        for begin in range(0, max(1, len(text) - _RUN_CHARS + 1), _PIECE_CHARS):  # bounds the memory for a long text
            folded = fold(text[begin : begin + _PIECE_CHARS + _RUN_CHARS - 1])
            self._runs.update(zip(folded, folded[1:], folded[2:], strict=False))
            if not folded.isascii():
                for found in _CJK_RUN.findall(folded):
                    self._runs.update(pairwise(found))

    def words(self) -> set[str]:
        """The words of the runs."""
        return {_words[run] for run in self._runs} - {""}


def fold(text: str) -> str:
    """Fold the case of a text: texts that an expression takes for the same are the same then."""
    if not text.isascii():  # expressions take the Turkish letters for the others
        text = text.replace("\u0130", "i").replace("\u0131", "i")
    return text.casefold()


def asked_of(pattern: Searched) -> list[list[str]]:
    """The words that a text must have to match: all of at least one alternative; empty where that is not known."""
    alternatives = [_all_words(texts) for texts in pattern.literals]
    return [sorted(words)[:_MOST_ASKED] for words in alternatives] if all(alternatives) else []


def _all_words(texts: Iterable[str]) -> set[str]:
    runs = Runs()
    for text in texts:
        for line in text.split("\n"):  # the parts of a message are joined by line breaks
            runs.add(line)
    return runs.words()
