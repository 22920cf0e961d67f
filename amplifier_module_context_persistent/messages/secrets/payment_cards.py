"""Numbers of payment cards, their check values, and PINs: beside their names, and below them in tables.

A card's number counts beside a name if its check digit is valid (ISO/IEC 7812). A check value (`cvv`) of three or four
digits counts beside its name. `pin` is also the name of a chip's pins, so a PIN counts only if it is a text of digits
beside a user, or if its name says whose it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .found import Secret
from .searched_text import Beginnings, SearchedText
from .secrets_in_tables import find_digits_below

_CHECK_NAME = re.compile(r"(?:card[ _-]?)?(?:cvv2?|cvc2?|cvn)(?:[ _-]?(?:code|number|value|no))?", re.IGNORECASE)
_CARD_NAME = re.compile(
    r"(?:credit|debit|payment|bank)?[ _-]?card(?:[ _-]?(?:number|num|no\.?|nr\.?))?|cc[ _-]?(?:number|num|no)|pan"
    r"|kreditkarte(?:nnummer)?",
    re.IGNORECASE,
)
_PIN_NAME = re.compile(
    r"(?:sim|card|user|atm|account|unlock|door|alarm|safe|device|login|admin|phone|bank|voicemail|parental|master|gate)"
    r"[ _-]?pin",
    re.IGNORECASE,
)
_PERSONS = re.compile(
    r"user(?:[ _-]?(?:name|id))?|login|e-?mail|customer\w*|member\w*|employee\w*|holder|card\w*|account\w*|owner"
    r"|phone|client",
    re.IGNORECASE,
)
"""Names of the person or account that a PIN belongs to."""
_ASSIGNED = r"\\*[\"'`]?[*_]{0,2}[ \t]{0,4}(?:[:=]|=>|[ ]is|[ ]was)[*_]{0,2}[ \t]{0,4}\\*[\"'`]?"
_DIGITS = r"(?<![0-9])(?P<secret>[0-9](?:[ -]?[0-9]){2,18})(?![0-9]|[.,][0-9])"
_NUMBER = re.compile(rf"(?:{_ASSIGNED}|[ ]{{1,2}}){_DIGITS}")
_ASSIGNED_NUMBER = re.compile(rf"{_ASSIGNED}{_DIGITS}")
_QUOTED_PIN = re.compile(r"\\*[\"']\s{0,4}:\s{0,4}(?P<quote>\\*[\"'])(?P<secret>[0-9]{4,8})(?P=quote)")
_CARD_OBJECT = re.compile(
    r"\\*[\"']\s{0,4}:\s{0,4}\\*[\"']?(?P<secret>[0-9]{13,19})\\*[\"']?[^{}]{0,300}\b(?:cvc|cvv|exp_month|expiry)",
    re.IGNORECASE,
)
_NAMES = Beginnings(
    (
        "cvv",
        "cvc",
        "cvn",
        "cid",
        "card",
        "cc ",
        "cc-",
        "cc_",
        "credit",
        "debit",
        "payment",
        "bank",
        "pan",
        "kreditkarte",
    )
)
_PIN_OWNERS = Beginnings(
    (
        *(
            "sim",
            "card",
            "user",
            "atm",
            "account",
            "unlock",
            "door",
            "alarm",
            "safe",
            "device",
            "login",
            "admin",
            "phone",
        ),
        *("bank", "voicemail", "parental", "master", "gate"),
    )
)
_BARE_NAMES = Beginnings(("pin", "number"))
"""Names that need further words nearby, because they also have other meanings."""
_EXAMPLES = frozenset(
    {"4111111111111111", "4242424242424242", "5555555555554444", "378282246310005", "4000056655665556"}
)
"""Test numbers that the documentation of every payment service shows."""
_AROUND_CHARS = 200


def is_card_field(key: str, item: str) -> bool:
    """Return whether a text under a key of a JSON object is the number or the check value of a card."""
    if _CHECK_NAME.fullmatch(key):
        return _is_check_value(item)
    return _CARD_NAME.fullmatch(key) is not None and _is_card_number(item)


def find_card_numbers(searched: SearchedText) -> list[Secret]:
    """Find numbers of cards, their check values, and PINs."""
    text = searched.text
    found = list[Secret]()
    if not searched.has_digit:
        return found
    names = _NAMES.matches(_CARD_NAME, searched, is_folded=True) + _NAMES.matches(_CHECK_NAME, searched, is_folded=True)
    for name in names:
        found += _after_card_name(text, name)
    for name in _PIN_OWNERS.matches(_PIN_NAME, searched, is_folded=True):
        assigned = _ASSIGNED_NUMBER.match(text, name.end())
        found += _if_secret(assigned, "code", is_secret=_is_pin)
    for bare_name in _BARE_NAMES.possible_in(searched):
        for name in re.finditer(rf"(?<![\w-]){bare_name}(?![\w-])", searched.folded):
            if bare_name == "number":
                found += _number_in_card_object(text, name)
            else:
                found += _pins_of_person(text, name)
    return found


def _after_card_name(text: str, name: re.Match[str]) -> Iterator[Secret]:
    """Yield the number or the check value after or below a name such as `card number` or `cvv`."""
    if _CHECK_NAME.fullmatch(name[0]):
        kind = "check value of a card"
        is_secret = _is_check_value
    else:
        kind = "number of a card"
        is_secret = _is_card_number
    yield from _if_secret(_NUMBER.match(text, name.end()), kind, is_secret=is_secret)
    yield from find_digits_below(text, *name.span(), kind=kind, is_secret=is_secret)


def _number_in_card_object(text: str, name: re.Match[str]) -> Iterator[Secret]:
    """Yield the number under the key `number` of a JSON object that also has other values of a card."""
    in_object = _CARD_OBJECT.match(text, name.end())
    yield from _if_secret(in_object, "number of a card", is_secret=_is_card_number)


def _pins_of_person(text: str, name: re.Match[str]) -> Iterator[Secret]:
    """Yield the PINs after or below the word `pin`, if a name of a person or an account is near."""
    near = text[max(0, name.start() - _AROUND_CHARS) : name.end() + _AROUND_CHARS]
    if re.search(rf"[\"'](?:{_PERSONS.pattern})[\"'\\]", near, re.IGNORECASE):
        yield from _if_secret(_QUOTED_PIN.match(text, name.end()), "code", is_secret=_is_pin)
    yield from find_digits_below(text, *name.span(), kind="code", is_secret=_is_pin, beside=_PERSONS)


def _if_secret(match: re.Match[str] | None, kind: str, *, is_secret: Callable[[str], bool]) -> Iterator[Secret]:
    """Yield the part `secret` of a match, if there is a match and the part passes a check."""
    if match is not None and is_secret(match["secret"]):
        yield Secret(*match.span("secret"), kind)


def _is_check_value(text: str) -> bool:
    return text.isdigit() and len(text) in (3, 4) and len(set(text)) > 1


def _is_pin(text: str) -> bool:
    if not text.isdigit() or not 4 <= len(text) <= 8:
        return False
    is_repeated = len(set(text)) == 1
    is_counting = text in "0123456789"
    return not is_repeated and not is_counting


def _is_card_number(text: str) -> bool:
    """Return whether digits, in groups or not, are a card's number with a valid check digit, but no test number."""
    digits = re.sub("[ -]", "", text)
    if not digits.isdigit() or not 13 <= len(digits) <= 19 or digits[0] not in "23456":
        return False
    if digits in _EXAMPLES or len(set(digits)) < 4:
        return False
    total = 0  # by Luhn's algorithm: every second digit from the right is doubled
    for place, digit in enumerate(reversed(digits)):
        value = int(digit)
        if place % 2 == 1:
            value *= 2
        total += value // 10 + value % 10
    return total % 10 == 0
