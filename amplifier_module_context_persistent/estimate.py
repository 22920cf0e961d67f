"""The estimate: about how many tokens of `o200k_base` a text is, without a vocabulary.

The rules of this room:

- Pure and deterministic: the same text gives the same number in every process. Costs are whole thousandths of a token,
  so that the order in which they are added does not matter.
- A text is split as `o200k_base` splits it before merging (a word with the character before it, up to three digits, a
  run of punctuation, white space), and each piece has a cost: what the merging would make of it on average. A cost is
  linear in features of the piece (length and case of a word, its letter pairs, the script of a run), never under one
  token. A piece met before is looked up, which makes counting ordinary text a loop in C.
- The costs are fitted by `benchmarks/fit_tokens.py`, where the data's origin is stated; the errors stand in
  `docs/tokens.md`.
- Up to 32,768 characters every piece counts. A longer text is sampled: 32 windows of 1,024 characters, one in each
  32nd part of it, at places that depend on its length alone.
"""

from __future__ import annotations

import functools
import re
from operator import ne
from typing import Final

from .estimate_costs import COSTS, KNOWN_WORDS

_UPPER: Final = "A-Z\u00c0-\u00d6\u00d8-\u00de"
_LOWER: Final = (
    "a-z\u00df-\u00f6\u00f8-\u024f\u1e00-\u1eff"  # with the capitals beyond Latin-1: rare, and cheap to confuse
)
_NO_PREFIX: Final = rf"\r\n{_UPPER}{_LOWER}0-9\x80-\U0010ffff"
_PIECES: Final = re.compile(
    rf"[^{_NO_PREFIX}]?[{_UPPER}]*[{_LOWER}]+(?:'(?:s|t|re|ve|m|ll|d)(?![a-z]))?"
    rf"|[^{_NO_PREFIX}]?[{_UPPER}]+"
    r"|[0-9]{1,3}"
    rf"| ?[^\s{_UPPER}{_LOWER}0-9\x80-\U0010ffff]+[\r\n/]*"
    rf"| ?[^\x00-\x7f{_UPPER}{_LOWER}]+"
    r"|\s*[\r\n]+|\s+(?!\S)|\s"
)
_WORD: Final = re.compile(rf"([^{_UPPER}{_LOWER}]?)([{_UPPER}]*)([{_LOWER}]*)('[a-z]+)?\Z")
_SCRIPTS: Final = re.compile(
    "(?P<cyrillic>[\u0400-\u052f]+)|(?P<arabic>[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefe]+)"
    "|(?P<cjk>[\u3005\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]+)|(?P<hangul>[\uac00-\ud7af]+)"
    "|(?P<greek>[\u0370-\u03ff\u1f00-\u1fff]+)|(?P<hebrew>[\u0590-\u05ff]+)|(?P<thai>[\u0e00-\u0e7f]+)"
    "|(?P<indic>[\u0900-\u0dff]+)|(?P<georgian>[\u10a0-\u10ff]+)|(?P<armenian>[\u0530-\u058f]+)"
    "|(?P<single>.)",
    re.DOTALL,
)
PAIRED_SCRIPTS: Final = {
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґ",
    "arabic": "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيپچژکگی",
}
"""The scripts whose words cost by their letter pairs, as Latin ones do, and the letters that count."""

_HIRAGANA: Final = re.compile("[\u3041-\u309f]")
_KATAKANA: Final = re.compile("[\u30a0-\u30ff]")
_COMMON_HAN: Final = frozenset(
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都然没日于起还发成"
    "事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向"
    "情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市"
)
_WORD_CHARS: Final = 14
_RUN_CHARS: Final = 12
_PUNCTUATION_CHARS: Final = 8

_WHOLE_CHARS: Final = 32_768
_WINDOWS: Final = 32
_WINDOW_CHARS: Final = 1_024
_MEMO_PIECES: Final = 20_000


def estimate_tokens(text: str) -> int:
    """Return about how many tokens of `o200k_base` a text is; 0 for the empty text, else at least 1.

    Example:
        >>> estimate_tokens("The quick brown fox jumps over the lazy dog.")
        10
    """
    cost = _cost(text, 0, len(text)) if len(text) <= _WHOLE_CHARS else _sampled_cost(text)
    return -(-cost // 1000) if cost < 1000 else (cost + 500) // 1000


def _cost(text: str, start: int, end: int) -> int:
    return sum(map(_costs.__getitem__, _PIECES.findall(text, start, end)))


def _sampled_cost(text: str) -> int:
    part = len(text) // _WINDOWS
    cost = 0
    for index in range(_WINDOWS):
        # Knuth's multiplicative hash scatters the windows, so that a text which repeats is not met in one phase.
        start = index * part + (index * 2654435761 % 2**32) * (part - _WINDOW_CHARS) // 2**32
        cost += _cost(text, start, start + _WINDOW_CHARS)
    return cost * len(text) // (_WINDOWS * _WINDOW_CHARS)


def features(piece: str) -> list[str]:
    """Name what a piece's cost is made of; a name that occurs twice counts twice."""
    match = _WORD.match(piece)
    if match is not None and (match[2] or match[3]):
        return _word_features(*match.groups())
    first = piece[1] if piece[0] == " " and len(piece) > 1 else piece[0]
    if first.isspace():
        return ["white"]
    if first.isascii():
        return ["digits"] if first.isalnum() else _punctuation_features(piece)
    return _run_features(piece)


def _word_features(prefix: str, upper: str, lower: str, suffix: str | None) -> list[str]:
    word = upper + lower
    length = len(word)
    case = "l" if not upper else "u" if not lower else "c" if len(upper) == 1 else "m"
    before = "" if not prefix else "_" if prefix == " " else "."
    plain = word.lower() if case in "lc" else word.upper()
    if plain in KNOWN_WORDS and before != ".":
        return ["known"]
    names = [f"{case}{before}{min(length, _WORD_CHARS)}"]
    if plain.isascii():
        names += [plain[at : at + 2] for at in range(length - 1)]
    else:
        names += [_pair(plain[at : at + 2]) for at in range(length - 1)]
    names += [case + "+"] * (length - _WORD_CHARS)
    return [*names, "suffix"] if suffix else names


def _pair(pair: str) -> str:
    return pair if pair.isascii() else "accent" if pair < "\u1e00" > pair[1:] else "vietnamese"


def _punctuation_features(piece: str) -> list[str]:
    length = len(piece)
    names = [f"p{min(length, _PUNCTUATION_CHARS)}"] + ["p+"] * (length - _PUNCTUATION_CHARS)
    return names + ["p~"] * sum(map(ne, piece, piece[1:]))


def _run_features(piece: str) -> list[str]:
    names: list[str] = []
    for match in _SCRIPTS.finditer(piece, piece[0] == " "):
        script, run = str(match.lastgroup), match[0]
        if script == "single":
            names.append(_symbol(ord(run)))
        elif script == "cjk":
            hiragana, katakana = len(_HIRAGANA.findall(run)), len(_KATAKANA.findall(run))
            mixed = "-kana" if hiragana or katakana else ""
            common = sum(map(_COMMON_HAN.__contains__, run))
            names.append("cjk" + mixed)
            names += ["hiragana"] * hiragana + ["katakana"] * katakana + ["han-common" + mixed] * common
            names += ["han" + mixed] * (len(run) - hiragana - katakana - common)
        else:
            names.append(f"{script}{min(len(run), _RUN_CHARS)}")
            names += [script + "+"] * (len(run) - _RUN_CHARS)
            if script in PAIRED_SCRIPTS:
                names += _script_pairs(script, run)
    return names


def _script_pairs(script: str, run: str) -> list[str]:
    letters, plain = PAIRED_SCRIPTS[script], run.lower()
    names = [
        plain[at : at + 2] if plain[at] in letters and plain[at + 1] in letters else script + "~"
        for at in range(len(plain) - 1)
    ]
    return names if plain[0] == run[0] else [*names, script + "-capital"]


# The end of a block of code points, and the name of its characters' cost.
_SYMBOLS: Final = (
    (0x800, "two-bytes"),
    (0x2000, "three-bytes"),
    (0x200D, "general"),
    (0x200E, "joiner"),
    (0x2070, "general"),
    (0x2190, "three-bytes"),
    (0x2200, "arrow"),
    (0x2500, "three-bytes"),
    (0x25A0, "box"),
    (0x2600, "three-bytes"),
    (0x27C0, "symbol"),
    (0x3000, "three-bytes"),
    (0x3040, "cjk-punctuation"),
    (0xFE0F, "three-bytes"),
    (0xFE10, "variant"),
    (0xFF00, "three-bytes"),
    (0xFFF0, "cjk-punctuation"),
    (0x10000, "three-bytes"),
    (0x1F1E6, "four-bytes"),
    (0x1F200, "flag"),
    (0x1F300, "four-bytes"),
    (0x1F3FB, "emoji-1f3"),
    (0x1F400, "skin"),
    (0x1F500, "emoji-1f4"),
    (0x1F600, "emoji-1f5"),
    (0x1F700, "emoji-1f6"),
    (0x1FB00, "emoji-more"),
    (0x110000, "four-bytes"),
)


@functools.lru_cache(maxsize=4096)
def _symbol(code: int) -> str:
    return next(name for end, name in _SYMBOLS if code < end)


class _PieceCosts(dict[str, int]):
    """The costs of the pieces met lately, in thousandths of a token; a memo, whose content never shows."""

    def __missing__(self, piece: str) -> int:
        cost = max(1000, sum([COSTS.get(name, 0) for name in features(piece)]))
        if len(piece) <= 32:
            if len(self) >= _MEMO_PIECES:
                self.clear()
            self[piece] = cost
        return cost


_costs: Final = _PieceCosts()
