"""Short numeric codes after the words that name them: `Enter PIN: …`, `Your verification code is …`, `OTP: …`.

They count only behind words that nothing but such a code has; a PIN also needs a word that says whose it is, because
pins of a chip and postal codes have the name too.
"""

from __future__ import annotations

import re

from .found import Secret
from .searched_text import Beginnings, SearchedText

_CODE = re.compile(
    r"""
    (?: \b(?: otp | totp
          | (?: one[ -]time | verification | authentication | authenticator | security | login | log-in | sign-?in
              | 2fa | mfa | two-factor | confirmation | sms )
            [ ](?:password|passcode|pass[ ]?code|code|pin) )
        (?:[ ](?:code|token))? (?:[ ]\([^()\n]{1,30}\))?
      | \b(?:enter|your|my|card|sim|user|unlock|new|old|account|door|alarm|bank) [ ]
        (?:(?!gpio|input|output|data|reset|clock|led|analog|digital)\w{1,12}[ ]){0,2}? pin
        (?![ ]?code|\w) )
    (?: [ ]?[:=][ ]? | [ ](?:is|was)(?:[ ]now)?:?[ ] | [ ] (?=[0-9]{6}\b) )
    [\"'`*]{0,3} (?P<secret> [0-9]{4,8} | [0-9]{3}[ -][0-9]{3} ) (?![\w%./:-]?[\w%])
    """,
    re.VERBOSE,
)
_WORDS = Beginnings(
    (
        *("otp ", "otp:", "otp=", "totp", "one time ", "one-time ", "verification ", "authentic", "security "),
        *("login ", "log-in ", "signin ", "sign-in ", "2fa ", "mfa ", "two-factor ", "confirmation ", "sms "),
        *("enter ", "your ", "my ", "card ", "sim ", "user ", "unlock ", "new ", "old "),
        *("account ", "door ", "alarm ", "bank "),
    )
)
_NOUNS = ("code", "pin", "otp", "pass")


def find_short_codes(searched: SearchedText) -> list[Secret]:
    """Find codes of a few digits behind what asks for them."""
    if searched.word_heads.isdisjoint(_NOUNS) and "otp" not in searched.folded:
        return []
    codes = _WORDS.matches(_CODE, searched, is_folded=True)
    return [Secret(*code.span("secret"), "code") for code in codes if not _is_example(code["secret"])]


def _is_example(code: str) -> bool:
    """Whether the digits of a code are all the same, or follow each other."""
    digits = re.sub("[ -]", "", code)
    return len(set(digits)) == 1 or digits in "0123456789" or digits in "9876543210"
