"""Secrets that are compared with a name: `password == "x"`, pytest's `assert 'x' == settings.password`.

The report of a test shows a value several times, so a compared value is replaced everywhere in the text.
"""

from __future__ import annotations

import re

from .found import Secret
from .names import (
    Likelihood,
    is_example,
    is_placeholder,
    is_template,
    kind_of_name,
    likelihood_of,
    looks_random,
    names_password,
)
from .passwords_in_sentences import is_chosen
from .searched_text import SearchedText
from .secret_values import is_chosen_word

_LEAST_RANDOM = 12
_TEXT = r"[bBrRuU]?(?P<quote>\\*[\"'`])(?P<secret>[^\s\"'`\\]{6,400})(?P=quote)"
_NAME = r"(?P<name>[A-Za-z_][\w-]{1,60})(?:\(\)|\\*[\"']?\])?"
_OPERATOR = re.compile(r"[ ]?[!=]==?[ ]?")
_BEFORE_CHARS = 450
_MOST_REPEATED = 20
"""The largest number of found values that are searched for elsewhere in the text."""
_PLACES = (
    (re.compile(rf"{_NAME}[ ]?[!=]==?[ ]?\Z"), re.compile(_TEXT)),
    (re.compile(rf"{_TEXT}[ ]?[!=]==?[ ]?\Z"), re.compile(rf"(?:[\w.]{{1,60}}(?:\.|\[\\*[\"']))?{_NAME}(?![\w(.])")),
)
"""The text before and after an operator: a name and a value, or a value and a name."""
_REPORTED = (
    re.compile(rf"\bwhere[ ]{_TEXT}[ ]=[ ][^\n]{{0,200}}?\.(?P<name>[A-Za-z_]\w{{1,60}})(?:\(\))?[ \t\r]*(?=\n|\Z)"),
    re.compile(
        rf"^>[ \t]{{1,40}}assert[ ][\w.]{{0,60}}?(?<!\w){_NAME}[ ]==[ ][^\n]{{1,200}}\n(?:[^\n]{{0,200}}\n){{0,3}}?"
        rf"E[ ]{{1,12}}(?:AssertionError:[ ])?assert[ ]{_TEXT}",
        re.MULTILINE,
    ),
    re.compile(
        rf"\b[aA]ssert\w{{0,24}}\([ ]?{_TEXT}[ ]?,[ ]?"
        r"(?:[\w.]{1,60}\.)?(?:get)?(?P<name>[A-Za-z_]\w{1,60})(?:\(\))?[ ]?\)"
    ),
)
"""Test reports: `where 'x' = <Config>.password` and `> assert c.password == …` of pytest, `assertEquals("x", …)`."""
_STANDS_FOR_ONE = re.compile(
    r"test|fake|dummy|mock|expect|example|token|secret|foo|bar|invalid|wrong|sample|stub|\*{3}|\.{3}|x{4}",
    re.IGNORECASE,
)


def find_compared(searched: SearchedText) -> list[Secret]:
    """Find the values that a program or a test's report compares with a secret's name."""
    text = searched.text
    found = list[Secret]()
    if not searched.has_digit:
        return found
    position = text.find("==")
    while position >= 0:
        operator = _OPERATOR.match(text, position)
        operator_end = operator.end() if operator else position + 2
        found += _around(text, operator_end)
        position = text.find("==", operator_end)
    if "ssert" in text:
        for expression in _REPORTED:
            for reported in expression.finditer(text):
                if _is_secret(reported["name"], reported["secret"]):
                    found.append(Secret.of(reported, kind_of_name(reported["name"])))
    return found + _repeated(text, found)


def _repeated(text: str, secrets: list[Secret]) -> list[Secret]:
    """Find the other places of the values of some secrets in a text."""
    kinds = {text[secret.start : secret.end]: secret.kind for secret in secrets[:_MOST_REPEATED]}
    if not kinds:
        return []
    values = "|".join(map(re.escape, kinds))
    expression = re.compile(rf"(?<![\w-])(?:{values})(?![\w-])")
    return [Secret(match.start(), match.end(), kinds[match[0]]) for match in expression.finditer(text)]


def _around(text: str, at: int) -> list[Secret]:
    """Find the value that an operator compares with a name; the operator ends at `at`."""
    least = max(0, at - _BEFORE_CHARS)
    start = max(least, text.rfind("\n", least, at) + 1)
    for before, after in _PLACES:
        right = after.match(text, at)
        left = before.search(text, start, at) if right else None
        if left is None or right is None:
            continue
        value_is_right = "secret" in right.re.groupindex
        name, value = (left, right) if value_is_right else (right, left)
        if _is_secret(name["name"], value["secret"]):
            return [Secret.of(value, kind_of_name(name["name"]))]
    return []


def _is_secret(name: str, value: str) -> bool:
    if likelihood_of(name) is not Likelihood.STRONG or _STANDS_FOR_ONE.search(value):
        return False
    if is_placeholder(value) or is_template(value) or is_example(value):
        return False
    if looks_random(value, least=_LEAST_RANDOM):
        return True
    return names_password(name) and (is_chosen_word(value) or is_chosen(value))
