"""Passwords that are plain words, in a sentence that says whose password it is: `my password is velvetbridge and …`.

A word that describes a password is at the same place: `my password is incorrect`. So the word has to be long, a sign or
`and` has to follow it, and words with the endings of adjectives and participles stay.
"""

from __future__ import annotations

import re

from .found import Secret
from .names import SERVICES, Likelihood, is_placeholder, likelihood_of
from .searched_text import Beginnings, SearchedText
from .secret_values import is_state

_LEAST_CHARS = 8
_BEFORE_CHARS = 60
_SAID = Beginnings(("password is ", "password was ", "passphrase is ", "passwort ist ", "passcode is "))
_WORD = re.compile(
    r"pass(?:word|phrase|code|wort)[ ](?:is|was|ist):?[ ](?P<quote>[\"'`]?)(?P<secret>[a-z]{8,40})(?P=quote)"
    r"(?=[ ]?(?:[.,;!)](?![\w/])|\r?\n|\Z)|[ ](?:and|but|for|und)[ ])"
)
_OWNER = re.compile(
    r"(?:^|[^\w'])(?:my|his|her|our|their|mein|unser"
    r"|the[ ](?=[^\n]{0,40}[ ]?(?:root|admin|wi-?fi|wlan|guest|router|db|database|server|vpn|ftp|mail)[ ]\Z))"
    r"[ ]?(?:[\w-]{1,20}[ ]){0,3}\Z"
)
_ENDINGS = re.compile(
    r"(?:ed|ing|ly|able|ible|ent|ant|ive|al|ous|ful|less|ic|ary|ory|ect|en|own|text|word|phrase|where|thing|ever|one|self"
    r"|lich|isch|iert|bar|sam|ig|los|gen|ten|den|ert|igt|tzt|ndert)\Z"
)
_ADJECTIVES = frozenset(
    "complex simplest strongest longest identical separate duplicate obsolete complete incomplete accurate"
    " inaccurate private confidential unique opaque absolute outdated necessary together whatever elsewhere"
    " argument variable parameter position postgres mandatory sensitive lowercase uppercase numeric unicode"
    " problem question mistake nonsense falsch richtig".split()
)


def find_plain_words(searched: SearchedText) -> list[Secret]:
    """Find words that a sentence says are somebody's password."""
    secrets = list[Secret]()
    for sentence in _SAID.matches(_WORD, searched, is_folded=True):
        begin = sentence.start()
        _, _, before_on_line = searched.folded[max(0, begin - _BEFORE_CHARS) : begin].rpartition("\n")
        start, end = sentence.span("secret")
        is_lower = searched.text[start + 1 : end].islower()
        if _OWNER.search(before_on_line) and is_lower and _may_be_password(sentence["secret"]):
            secrets.append(Secret(start, end, "password by its name"))
    return secrets


def _may_be_password(word: str) -> bool:
    if is_placeholder(word) or is_state(word) or word in _ADJECTIVES or word in SERVICES or _ENDINGS.search(word):
        return False
    return likelihood_of(word) is Likelihood.NONE
