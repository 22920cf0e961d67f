"""Recovery keys of BitLocker: eight groups of six digits, each group a number of 16 bits times 11.

Between the groups are dashes, spaces or nothing. Of other numbers with 48 digits, one of three billion is such a key.
"""

from __future__ import annotations

import re

from .found import Secret
from .searched_text import SearchedText

_KEY = re.compile(r"[0-9](?<![\w-][0-9])[0-9]{5}(?:(?:[ ]?-\s{0,20}|[ ]{1,3}|\r?\n[ \t]{0,20})?[0-9]{6}){7}(?![\w-])")
_GROUP = re.compile("[0-9]{6}")
_STEP = 11
_END = 65_536 * _STEP


def find_bitlocker_keys(searched: SearchedText) -> list[Secret]:
    """Find the recovery keys of a text; other numbers in eight groups stay."""
    if not searched.has_digit:
        return []
    return [Secret(*key.span(), "BitLocker recovery key") for key in _KEY.finditer(searched.text) if _is_key(key[0])]


def _is_key(text: str) -> bool:
    groups = [int(group) for group in _GROUP.findall(text)]
    return any(groups) and all(group % _STEP == 0 and group < _END for group in groups)
