"""Passwords that a sentence gives without a colon: `the password of the db is now …`, `admin / …`.

The value has to look like a password that somebody chose or a machine made, because nothing else marks it:
- `is_chosen`: letters and digits with a sign such as `!` or `#` inside; other words may be before it;
- `is_varied`: small and capital letters and digits, but not a word with a number; at most a verb, a sign or a quote may
  be between it and the name.
"""

from __future__ import annotations

import re

from .found import Secret
from .names import (
    Likelihood,
    has_salt,
    is_code_or_path,
    is_example,
    is_placeholder,
    is_template,
    likelihood_of,
    looks_random,
)
from .searched_text import Beginnings, SearchedText
from .secret_values import is_chosen_word

_NEAR_CHARS = 60
_LINE_CHARS = 160
_LEAST_WITH_SLASH = 40
"""The length of the shortest key in a sentence that may contain a slash, as base64 does."""
_WORD = re.compile(r"[^\s\"'`()<>,;{}\[\]|\\«»“”„「」]{6,80}")
_SIGN_INSIDE = re.compile(r"[A-Za-z0-9_.-][!#$%^&*?~+@]+[A-Za-z0-9_.-]")
_SIGNS = "!#$%^&*?~+"
_NO_PASSWORD = re.compile(
    r"""
    .*(?:://|&&|[=!<>]=|::|->|=>|\+\+|%[0-9A-F]{2}).* | \w+=.* | .*/.* | -.*
    | [\w.-]+\#[0-9]+ | [\w.+-]+@[\w-]+(?:\.[\w-]+)+ | [\w.-]+@[\w.^~-]+
    | [A-Za-z]+[0-9]*[!?*%]+ | [0-9.,:]+[%*+]?[A-Za-z]{0,3}[!?]*
    | .*\.[a-z]{2,4}[!?]*
    """,
    re.VERBOSE,
)
"""URLs, operators, assignments, paths, flags, references, addresses, versions, marked words, numbers, files."""
_LINK = re.compile(
    r"""
    (?: (?:[ ]?[?,;.]|[ ][\u2013\u2014-])? [ ] (?:and[ ])?
        (?:it['\u2019]?s|it[ ]is|that['\u2019]s|that[ ]is|here[ ]it[ ]is) (?=[ :]) )?
    (?:['\u2019]s)? [ \t*_`"'(«“„「]*
    (?: (?:for|of|on|in|to|für|de|du|del|della|od|от|для|к|do|till) [ ] (?:\w[\w.-]{0,20}[ ]){0,3}?
        (?: (?:\w[\w.-]{0,20}[ ]) (?=(?:is|was|[=\u2013\u2014-])[ ]) | \w[\w.-]{0,20}(?=:[ ]) ) )?
    (?: (?: is | was | are | has | have | been | to | as | now | still | set | reset | changed | named | called
          | \u2192 | [:=\u2013\u2014-] | [=-]>
          | lautet | ist | war | auf | est | es | maintenant | ahora | è | é | är | jest | to | je | là | है | هي | это
          | agora | nu )
      [ \t:]+ | :[ \t]+ ){0,5}
    [*_`"'(«“„「]{0,3}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_KEY_BEFORE = re.compile(r"[\"'](?P<name>[\w-]{2,40})\\*[\"'][ ]?:[ ]?\\*[\"']\Z")
_OF_SOMETHING = re.compile(r"[ ](?:for|of|on|in|to)[ ]")
_HERE = re.compile(r"[ ](?:it[ ]is|here[ ]it[ ]is|that[ ]is):", re.IGNORECASE)
_PAIR_LABEL = re.compile(
    r"""
    \b(?: wi-?fi(?=[ ]?:) | wlan(?=[ ]?:) | log-?ins?
      | basic[ ]auth | credentials? | creds | user(?:name)?[ ]?[/&+][ ]?(?:pass(?:word)?|pw|pwd)
      | (?:test|demo|admin|staging)[ -]?(?:account|user|access)s?
      | (?<!\w)zugang(?:sdaten)? | anmeldedaten  | identifiants?
      | credenciales | acceso | accesso | credenziali | acessos? )\b
    | логин | доступ | учётн\w+ | 账[号户] | アカウント | ログイン | 계정
    """,
    re.VERBOSE,
)
_LABELS = Beginnings(
    (
        *(
            "login",
            "log-in",
            "basic auth",
            "wifi",
            "wi-fi",
            "wlan",
            "credential",
            "creds",
            "user/",
            "user /",
            "user&",
            "user +",
            "username/",
            "username /",
        ),
        *("test account", "test-account", "test user", "test-user", "demo ", "demo-", "admin a", "admin-a", "staging "),
        *("zugang", "anmeldedaten", "identifiant", "credencial", "credenzial", "acces", "accès"),
        *("логин", "доступ", "учётн", "账号", "账户", "アカウント", "ログイン", "계정"),
    )
)
_PAIR = re.compile(
    r"""
    (?<![\w/.:@+-]) (?P<user>[\w.@+-]{2,60})
    (?: [`"']?[ \t]{0,3}(?P<sign>[/:|,])[ \t]{0,3}[`"']? | (?<=[\w.@+-])[ ](?=[^\s/]{6,80}[ \t]*(?:[\r\n]|\Z)) )
    (?P<secret>[^\s"'`()<>,;{}\[\]|\\]{6,80})
    """,
    re.VERBOSE,
)
_NEAR_LABEL = re.compile(r"(?:[ ](?:is|are|with|as|ist|mit|avec|con|com))?[ :=]{1,3}[`\"']?", re.IGNORECASE)
_PAIR_LINES = 12
_PAIR_CHARS = 1_000


def said_value(text: str, end: int, *, is_password: bool, least_random: int = 20) -> Secret | None:
    """Find the value that a sentence gives after a name; None if there is none.

    Args:
        text: any text.
        end: the end of the name.
        is_password: whether the name is a password's; if not, it is a key's, which is always random.
        least_random: the least length of a key.
    """
    line_end = text.find("\n", end, end + _LINE_CHARS)
    if line_end < 0:
        line_end = min(len(text), end + _LINE_CHARS)
    for word in _WORD.finditer(text, end, line_end):
        if word.start() == end:
            continue
        if word.start() - end > _NEAR_CHARS:
            break
        at = word.start()
        if _is_named_itself(text, end, at):
            continue
        is_marked = text[at - 1] in "*_"  # as in **password**
        value = word[0].rstrip(".:_*" if is_marked else ".:")
        if is_password and is_chosen(value):
            return Secret(at, at + len(value), "password by its name")
        if not _is_next(text, end, word):
            continue
        if is_password:
            is_likely = is_varied(value) and "=" not in value and "/" not in value
        else:
            is_likely = _is_key(text[end:at], value, least_random) and not _is_path_of_key(value)
        if is_likely and value.isascii() and not is_example(value) and not is_placeholder(value):
            return Secret(at, at + len(value), "password by its name")
    return None


def _is_path_of_key(value: str) -> bool:
    """Return whether a value that looks like a key is the path of a file."""
    return "/" in value and (len(value) < _LEAST_WITH_SLASH or is_code_or_path(value))


def _is_named_itself(text: str, end: int, start: int) -> bool:
    """Return whether a value belongs to a JSON key with a secret's name. Then the value is judged by that name."""
    key = _KEY_BEFORE.search(text, end, start)
    return key is not None and likelihood_of(key["name"]) is not Likelihood.NONE


def _is_next(text: str, end: int, word: re.Match[str]) -> bool:
    """Return whether only a verb, a sign or a quote is between a name and a word."""
    if _LINK.fullmatch(text, end, word.start()) is None:
        return False
    return "(" not in text[end : word.start()] or text.startswith(")", word.end())


def _is_key(between: str, value: str, least: int) -> bool:
    """Return whether a value is a random key. A value after a sign is not, because other rules have judged it."""
    is_said = _OF_SOMETHING.match(between) or _HERE.search(between)
    is_judged = "=" in between or (":" in between and not is_said)
    if is_judged or "=" in value:
        return False
    return looks_random(value, least=least)


def find_pairs(searched: SearchedText) -> list[Secret]:
    """Find passwords after a user's name: on the line of a label for logins, or on one of the next lines."""
    text = searched.text
    found = list[Secret]()
    searched_to = 0
    for label in _LABELS.matches(_PAIR_LABEL, searched, is_folded=True):
        position = max(searched_to, label.end())
        searched_to = max(searched_to, _end_of_lines(text, label.end()))
        while pair := _PAIR.search(text, position, searched_to):
            position = pair.start("secret")
            value = pair["secret"].rstrip(".:")
            if _is_password_of_pair(text, label.end(), pair, value):
                found.append(Secret(position, position + len(value), "password of a login"))
                position += len(value)
    return found


def _is_password_of_pair(text: str, label_end: int, pair: re.Match[str], value: str) -> bool:
    """Return whether a value after a user's name is a password, judged by its distance from the label, too."""
    if is_chosen(value):
        return True
    is_beside_label = _NEAR_LABEL.fullmatch(text, label_end, pair.start()) is not None
    if is_beside_label and pair["sign"] in ("/", ":") and is_chosen_word(value):
        return True
    start = pair.start("secret")
    is_near_label = start - label_end < _NEAR_CHARS
    is_glued = text[start - 1] == ":" and pair["user"].isidentifier() and is_near_label
    return (pair["sign"] == "/" or is_glued) and is_varied(value)


def _end_of_lines(text: str, start: int) -> int:
    """Return the end of the lines to which a label applies."""
    end = start
    for _ in range(_PAIR_LINES):
        end = text.find("\n", end, start + _PAIR_CHARS) + 1
        if not end:
            return min(len(text), start + _PAIR_CHARS)
    return end


def is_chosen(value: str) -> bool:
    """Return whether a value has letters, digits and a sign, like a password that a person chose."""
    has_all = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    if not has_all or not value.isascii() or is_placeholder(value) or is_template(value) or is_example(value):
        return False
    if _NO_PASSWORD.fullmatch(value):
        return False
    if has_salt(value) or _SIGN_INSIDE.search(value) is not None:
        return True
    return value[-1] in _SIGNS and looks_random(value.rstrip(_SIGNS), least=8)


def is_varied(value: str) -> bool:
    """Return whether a value has small and capital letters and digits, but is not a word with a number."""
    has_both = any(map(str.islower, value)) and any(map(str.isupper, value))
    return has_both and looks_random(value, least=8) and not is_template(value)
