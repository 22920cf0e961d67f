"""Stems of English words: all forms of a word have the same stem.

The algorithm is Porter's (https://tartarus.org/martin/PorterStemmer/def.txt), after a table of irregular forms (`went`,
`bought`, `children`). British spellings become American ones (`colour`, `initialise`), because a person's question and
a program's names often differ in spelling. Words of other languages lose at most an ending, in texts and questions
alike.
"""

from __future__ import annotations

import re
from types import MappingProxyType

_IRREGULAR_FORMS = """
arose arisen arise; ate eaten eat; awoke awoken awake; beaten beat; became become; began begun begin; bent bend;
bitten bit bite; bled bleed; blew blown blow; bred breed; broke broken break; brought bring; built build; bought buy;
burnt burn; caught catch; chose chosen choose; clung cling; came come; crept creep; dealt deal; drank drunk drink;
drawn drew draw; dreamt dream; driven drove drive; dug dig; fallen fell fall; fed feed; felt feel; fled flee;
flew flown fly; forbade forbidden forbid; foresaw foreseen foresee; forgave forgiven forgive; forgot forgotten forget;
fought fight; found find; froze frozen freeze; gave given give; gone went goes go; got gotten get; grew grown grow;
ground grind; heard hear; held hold; hid hidden hide; hung hang; kept keep; knelt kneel; knew known know; laid lay;
lain lie; leapt leap; learnt learn; led lead; lent lend; lit light; lost lose; made make; meant mean; met meet;
mistaken mistook mistake; overridden overrode override; overtaken overtook overtake; overwritten overwrote overwrite;
paid pay; proven prove; ran run; rang rung ring; rebuilt rebuild; redone redid redo; rewritten rewrote rewrite;
ridden rode ride; risen rose rise; said say; sang sung sing; sank sunk sink; sat sit; saw seen see; sent send;
shaken shook shake; shone shine; shot shoot; shown show; shrank shrunk shrink; slept sleep; slid slide; sold sell;
sought seek; spelt spell; spent spend; spoke spoken speak; sprang sprung spring; spun spin; stole stolen steal;
stood stand; stuck stick; struck strike; sung sing; swam swum swim; swept sweep; swore sworn swear; swung swing;
taken took take; taught teach; thought think; threw thrown throw; told tell; tore torn tear; undid undone undo;
understood understand; woke woken wake; won win; wore worn wear; wound wind; wove woven weave; written wrote write;
withdrawn withdrew withdraw; children child; feet foot; geese goose; halves half; indices index; kids kid; knives knife;
leaves leaf; lives life; matrices matrix; men man; mice mouse; people person; shelves shelf; teeth tooth;
themselves themself; thieves thief; vertices vertex; wives wife; women woman; artefact artifact; artefacts artifact;
catalogue catalog; catalogues catalog; centre center; centred center; centres center; defence defense; dialogue
dialog; dialogues dialog; fibre fiber; grey greys gray; licence license; metre meter; metres meter; offence offense;
better good; best good; worse bad; worst bad; did done does do; has had have; was were been be
"""
"""Forms, each group with its base at its end."""


def _read_forms(text: str) -> dict[str, str]:
    groups = [group.split() for group in text.split(";")]
    return {form: base for *forms, base in groups for form in forms}


_BASES = MappingProxyType(_read_forms(_IRREGULAR_FORMS))

_ENDINGS_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
_ENDINGS_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_ENDINGS_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip
_BY_LENGTH_2 = tuple(sorted(_ENDINGS_2, key=lambda ending: -len(ending[0])))
_BY_LENGTH_4 = tuple(sorted(_ENDINGS_4, key=lambda ending: -len(ending)))
_VOWEL = r"[aeiouy]"
_CONSONANTS = r"[^aeiou][^aeiouy]*"
_VOWELS = r"[aeiouy][aeiou]*"
_LONG = re.compile(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}")
"""A stem of Porter's measure 1 or more."""
_LONGER = re.compile(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}{_VOWELS}{_CONSONANTS}")
"""A stem of measure 2 or more."""
_OF_ONE = re.compile(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}(?:{_VOWELS})?$")
"""A stem of measure 1."""
_HAS_VOWEL = re.compile(f"^(?:{_CONSONANTS})?{_VOWEL}")
_SHORT_END = re.compile(f"^{_CONSONANTS}{_VOWEL}[^aeiouwxy]$")
_DOUBLE_END = re.compile(r"([^aeiouylsz])\1$")
_OUR = re.compile(r"^((?:mis)?(?:arm|behavi|col|endeav|fav|flav|harb|hon|hum|lab|neighb|od|rig|rum|tum|vap|vig))our")
_ISE = re.compile(r"(?<=[a-z]{3})s(e|ed|er|ers|es|ing|able|ation|ations)$")
"""The endings of `initialise` and `analyse`. Words such as `promise` are changed too, in texts and questions."""
_LEAST_CHARS = 3
_MOST_CHARS = 24
"""The longest word that is stemmed. Longer words are names or data, and keep their endings."""


def stem(word: str) -> str:
    """Return the stem of a word in small letters. A word with other characters than ASCII letters is not changed."""
    word = _BASES.get(word, word)
    if not _LEAST_CHARS <= len(word) <= _MOST_CHARS or not (word.isascii() and word.isalpha()):
        return word
    if "our" in word:
        word = _OUR.sub(r"\1or", word)
    match = _ISE.search(word)
    if match is not None and word[match.start() - 1] in "iy":
        word = f"{word[: match.start()]}z{match[1]}"
    if word[0] == "y":
        word = f"Y{word[1:]}"  # a first y is a consonant
    word = _without_past(_without_plural(word))
    if word.endswith("y") and _HAS_VOWEL.match(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replaced(word, _BY_LENGTH_2)
    word = _replaced(word, _ENDINGS_3)
    return _without_e(_without_suffix(word)).lower()


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _LONG.match(word[:-3]) else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and _HAS_VOWEL.match(rest):
            if rest.endswith(("at", "bl", "iz")):
                return f"{rest}e"
            if _DOUBLE_END.search(rest):
                return rest[:-1]
            return f"{rest}e" if _SHORT_END.match(rest) else rest
    return word


def _replaced(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, replacement in endings:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + replacement if _LONG.match(rest) else word
    return word


def _without_suffix(word: str) -> str:
    for ending in _BY_LENGTH_4:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            is_suffix = ending != "ion" or rest.endswith(("s", "t"))
            if is_suffix and _LONGER.match(rest):
                return rest
            return word
    return word


def _without_e(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _LONGER.match(rest) or (_OF_ONE.match(rest) and not _SHORT_END.match(rest)):
            word = rest
    if word.endswith("ll") and _LONGER.match(word[:-1]):
        return word[:-1]
    return word
