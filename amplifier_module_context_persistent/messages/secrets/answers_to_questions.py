"""Passwords that answer a question on the line before: `What's the password?`, and below it `It's x`.

Rules:
- The question is one line that ends with a question mark and has a word for passwords, in English or another language.
- The answer is the next line with text. A speaker, a time, and words such as `it's` may be before the password.
- Nothing follows the password on its line, and it looks chosen by a person or made by a machine.
"""

from __future__ import annotations

import re
from itertools import pairwise

from .foreign_names import names_password_in
from .found import Secret
from .linked_passwords import may_be_password
from .names import names_password
from .searched_text import SearchedText, begun_by

_MOST_QUESTION_CHARS = 160
_MARKS = ("?", "\uff1f")
_ASKED = re.compile(
    r"""
    [?\uff1f][\"'`*_)»”]{0,3} (?: [ \t]*\r?\n (?:[ \t>]{0,10}\r?\n){0,2} | [ ]{1,3}(?=(?:A|Answer|Antwort|R):[ ]) )
    [ \t]{0,20} (?:[>*-][ \t]{1,3})? (?:\[[\w:. -]{3,20}\][ \t]{0,3})? (?:[0-9]{1,2}:[0-9]{2}[ \t]{1,3})?
    (?:<[\w.-]{1,30}>[ ]|\w[\w.-]{0,30}:[ ])?
    (?:(?:yes|yep|yeah|sure|ok|ja|oui|sí|si|sim|tak|да)[,.!:]?[ ])?
    (?:(?:i[ ]think|maybe|probably|still|try|use)[ ])?
    (?:(?:it['\u2019]?s|it[ ]is|it[ ]was|that['\u2019]?s|that[ ]is|here[ ]you[ ]go
      |here[ ]it[ ]is|should[ ]be|it[ ]should[ ]be|try|use
      |es[ ]ist|das[ ]ist|lautet|c['\u2019]est|est|es|la[ ]contraseña[ ]es|è|é|het[ ]is|to|det[ ]är|это)[ ]?:?[ ]{1,2})?
    (?:(?:now|still|just|jetzt|maintenant|ahora)[ ])?
    [\"'`*]{0,3} (?P<secret>[!-~]{6,80}?) [\"'`*]{0,3} [.!]? [ \t]* (?=\r?\n|\Z)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z][\w-]{1,40}")
_ABOUT_FIELD = re.compile(
    r"\b(?:is|are|does|do|did|was|were|will|can|should|why|how|where|has)\b[^?]{0,80}\b(?:hash|encrypt|policy|reset|stored?|work|valid|fail|chang|requir)\w*",
    re.IGNORECASE,
)
"""A question about how passwords are treated, which no password answers."""


def find_answers(searched: SearchedText) -> list[Secret]:
    """Find the passwords that answer questions for a password."""
    text = searched.text
    found = list[Secret]()
    if not searched.has_digit:
        return found
    for mark in _MARKS:
        for asked in begun_by(_ASKED, text, mark):
            if may_be_password(asked["secret"]) and _asks_for_password(text, asked.start()):
                found.append(Secret.of(asked, "password by its name"))
    return found


def _asks_for_password(text: str, mark: int) -> bool:
    """Return whether the line before a question mark asks for a password."""
    least = max(0, mark - _MOST_QUESTION_CHARS)
    question = text[max(least, text.rfind("\n", least, mark) + 1) : mark]
    if _ABOUT_FIELD.search(question):
        return False
    words = _WORD.findall(question)
    pairs = [f"{first} {second}" for first, second in pairwise(words)]
    if any(map(names_password, (*words, *pairs))):
        return True
    return names_password_in(question)
