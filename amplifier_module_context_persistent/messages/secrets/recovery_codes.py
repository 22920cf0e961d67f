"""Recovery codes: lists of codes below or after a label that names them, and long codes of several groups.

A service gives such codes when a second factor is set up; each code opens the account once. They have no common form:
five letters, eight digits, groups with dashes. So they count only after a label, and
- in a list, if at least two have the same shape and letters and digits, or at least three are of digits only;
- alone on a line below a label of several codes, if a group of it has letters and digits;
- alone anywhere, if they have at least four groups and 16 characters, or 32 hexadecimal digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .found import Secret
from .searched_text import Beginnings, SearchedText

_LABEL = re.compile(
    r"""
    (?: (?: recovery | back-?up | scratch | emergency | rescue | one-?time | single-?use | 2fa | mfa | two-?factor
          | otp )
        [ _-]{0,2}
        (?:(?: two-?step | login | access | scratch | backup | recovery | security | verification ) [ _-]{1,2})?
        (?:codes?|keys?)
      | (?<![a-z])security[ ]keys?(?=:?[ \t]*(?:\r?\n|:))
      | manual [ ]entry[ ](?:codes?|keys?) | (?:totp|2fa|mfa|authenticator|setup)[ _-](?:secret|key|seed)s?
      | can't[ ]scan[^\n]{0,60}(?:code|key)
      | (?: wiederherstellungs | notfall | sicherheits ) (?:codes?|schlüssel)
      | codes?[ ]de[ ](?:secours|récupération|sauvegarde)
      | c[óo]digos?[ ]de[ ](?:respaldo|recuperaci[óo]n|recuperaç[ãa]o|seguridad|backup|emergencia)
      | codici?[ ]di[ ](?:backup|recupero|ripristino) | kody[ ](?:zapasowe|odzyskiwania) | herstelcodes?
      | återställningskoder | yedek[ ]kod | kurtarma[ ]kod | резервны[ей][ ]код | код(?:ы)?[ ]восстановления
      | 备用(?:验证)?码 | 恢复(?:代码|码|密钥) | バックアップ[ ]?コード | リカバリー?[ ]?コード | 回復コード
      | 백업[ ]?코드 | 복구[ ]?코드
    ) \w{0,6}
    """,
    re.VERBOSE,
)
_NOUNS = ("code", "key", "secret", "seed")
_BEFORE_NOUN = (
    *("recovery", "backup", "back-up", "scratch", "emergency", "rescue", "onetime", "one-time", "singleuse"),
    *("single-use", "2fa", "mfa", "twofactor", "two-factor", "otp", "two-step", "twostep", "login", "access"),
    *("security", "verification", "entry", "authenticator", "setup"),
)
"""Words that may be before the nouns of a label."""
_LONGEST_WORD = max(map(len, _BEFORE_NOUN))
_LABEL_CHARS = 60
_OTHERS = Beginnings(
    (
        *("can't scan", "wiederherstellungs", "notfall", "sicherheits", "code de ", "codes de ", "código", "codigo"),
        *("codici ", "codice ", "kody ", "herstelcode", "återställningskoder", "yedek ", "kurtarma ", "резервны"),
        *("код", "备用", "恢复", "バックアップ", "リカバリ", "回復コード", "백업", "복구"),
    )
)
_CODE = re.compile(
    r"""
    (?<![\w./:@-])
    (?: [A-Za-z0-9]{3,8}(?:-[A-Za-z0-9]{3,8}){1,9}
      | [0-9]{3,5}(?:[ ][0-9]{3,5}){1,9}
      | [A-Z0-9]{4}(?:[ ][A-Z0-9]{4}){3,9} | [A-Za-z0-9]{4}(?:[ ][A-Za-z0-9]{4}){9,13} | [a-z0-9]{4}(?:[ ][a-z0-9]{4}){3,9}
      | [0-9a-fA-F]{32,64} | [A-Za-z0-9]{6,20} )
    (?![\w/@-]|[.:][A-Za-z0-9])
    """,
    re.VERBOSE,
)
_TO_FIRST = re.compile(
    r"[^\n]{0,80}?(?:\s{0,20}|[\s:=\[\]{}\"'`*•|>-]{1,40}(?:[0-9]{1,2}[.)][ \t])?)\Z",
)
_TO_FIRST_LINE = re.compile(
    r"[^\n]{0,120}(?:\r?\n[ \t>#*-]{0,6}(?:[^\d\n]{0,160}[.!?:)])?[ \t]*){1,5}(?:[\s*•>|`-]{1,20}(?:\[[ x]?\][ ])?(?:[0-9]{1,2}[.)][ \t])?)?`?\Z"
)
"""Sentences between a heading and the lines of codes below it."""
_BEGINS_LINE = re.compile(r"(?:\A|\n)[ \t>#*_-]{0,8}(?:\w{1,12}[ ]){0,5}\Z")
_BETWEEN = re.compile(r"[\s,;:/\[\]\"'`*•|>\\n-]{1,40}(?:(?:[0-9]{1,2}[.)]|\[[ x]?\])[ \t]{1,4})?[\"'`*]{0,3}")
_LINE_OF_LIST = re.compile(r"`?[ \t]{0,20}(?:[(\[][^()\[\]\n0-9]{1,30}[)\]])?[ \t]{0,20}(?:\r?\n|\Z)")
_WITHIN_CHARS = 200
_WITHIN_LINES_CHARS = 500
_MOST_CODES = 100
_LEAST_GROUPS = 4
_LEAST_CHARS = 16
_LEAST_HEX = 32


def names_recovery_codes(key: str) -> bool:
    """Return whether a key of a JSON object is a name for a list of recovery codes."""
    return _LABEL.fullmatch(key.lower()) is not None


def find_recovery_codes(searched: SearchedText) -> list[Secret]:
    """Find the recovery codes after the labels in a text."""
    text = searched.text
    found = list[Secret]()
    done = 0
    for label in _labels_in(searched):
        if label.start() < done:
            continue
        heads_lines = _BEGINS_LINE.search(text, max(0, label.start() - 80), label.start()) is not None
        codes = list(_codes_behind(text, label.end(), heads_lines=heads_lines))
        if not codes:
            continue
        shape = _shape(codes[0][0])
        alike = [code for code in codes if _shape(code[0]) == shape]
        if _are_codes([code[0] for code in alike]) or _is_line_of_list(text, label, alike[0]):
            found += [Secret(code.start(), code.end(), "recovery code") for code in alike]
            done = found[-1].end
    return found


def _labels_in(searched: SearchedText) -> list[re.Match[str]]:
    """Return the labels in a text, in order; they may be parts of longer words."""
    folded = searched.folded
    found = _OTHERS.matches(_LABEL, searched, is_folded=True)
    for noun in _NOUNS:
        noun_start = folded.find(noun)
        while noun_start >= 0:
            before = folded[max(0, noun_start - _LONGEST_WORD - 2) : noun_start].rstrip(" _-")
            if before.endswith(_BEFORE_NOUN):
                label = _LABEL.search(folded, max(0, noun_start - _LABEL_CHARS), noun_start + _LABEL_CHARS)
                if label is not None and label.start() <= noun_start:
                    found.append(label)
            noun_start = folded.find(noun, noun_start + 1)
    return sorted(found, key=lambda label: label.start())


def _codes_behind(text: str, end: int, *, heads_lines: bool) -> Iterator[re.Match[str]]:
    """Yield the possible codes after a heading. The search ends at a text other than the marks of a list."""
    code = _first_code(text, end, heads_lines=heads_lines)
    for _ in range(_MOST_CODES):
        if code is None or not _has_digit(code[0]):
            return
        yield code
        gap = _BETWEEN.match(text, code.end())
        code = _CODE.match(text, gap.end()) if gap else None


def _first_code(text: str, end: int, *, heads_lines: bool) -> re.Match[str] | None:
    """Return the first code after a heading; None if there are other words between."""
    within_chars = _WITHIN_LINES_CHARS if heads_lines else _WITHIN_CHARS
    for code in _CODE.finditer(text, end, end + within_chars):
        if _has_digit(code[0]):
            between = text[end : code.start()]
            is_near = _TO_FIRST.match(between) or (heads_lines and _TO_FIRST_LINE.match(between))
            return code if is_near else None
    return None


def _is_line_of_list(text: str, label: re.Match[str], code: re.Match[str]) -> bool:
    """Return whether a code is the only shown line of a longer list: alone on its line, in equally long groups."""
    groups = code[0].split("-")
    have_same_length = len({len(group) for group in groups}) == 1
    if len(groups) < 2 or not have_same_length:
        return False
    is_made = any(_has_digit(group) and not group.isdigit() for group in groups)
    is_of_several = label[0].rstrip().endswith(("codes", "keys"))
    begins_line = "\n" in text[label.end() : code.start()]
    return is_made and is_of_several and begins_line and _LINE_OF_LIST.match(text, code.end()) is not None


def _has_digit(code: str) -> bool:
    return any(map(str.isdigit, code))


def _shape(code: str) -> str:
    """Return the lengths of the groups of a recovery code, as in `4-4-4`. All codes of a list have the same lengths."""
    return "-".join([str(len(group)) for group in re.split("[ -]", code)])


def _are_codes(codes: list[str]) -> bool:
    first = codes[0]
    if len(codes) == 1:
        groups = re.split("[ -]", first)
        if len(groups) == 1:
            return len(first) >= _LEAST_HEX
        have_same_length = len({len(group) for group in groups}) == 1
        return len(groups) >= _LEAST_GROUPS and len(first) >= _LEAST_CHARS and have_same_length
    if any(map(str.isalpha, first)):
        return len(first) >= 8  # no service gives shorter codes
    return len(codes) > 2 and len(first) >= 6  # a date has two numbers, a postal code has five digits
