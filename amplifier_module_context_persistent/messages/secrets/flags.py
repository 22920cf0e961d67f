"""Secrets behind flags of unknown commands (`-u robin -p …`), and in lists of arguments with `-p`.

`-p` can also be a port, a path, a project or a plugin. So the word after it counts only
- after a flag for a user in the same command, if it looks like a chosen password, with letters and digits;
- in a list of arguments, if it also has two digits, or small and capital letters.

In a list, the value of a flag with a telling name (`--password`) may also be a plain word.
"""

from __future__ import annotations

import re

from .found import Secret
from .names import is_placeholder, names_password
from .passwords_in_sentences import is_chosen, is_varied
from .searched_text import Beginnings, SearchedText
from .secret_values import is_app_password, is_chosen_word, is_state

_TO_NEXT = r"""(?:["'][ ]?,\s{0,20}["']|["']?[ \t]*\r?\n[ \t]*-[ ]+["']?|[ ]+["']?)"""
_TO_NEXT_ITEM = r"""(?:["'][ ]?,\s{0,20}["']|["']?[ \t]*\r?\n[ \t]*-[ ]+["']?)"""
_WITH_USER = re.compile(
    rf"-(?:[uU]|-user(?:name)?){_TO_NEXT}[^\s\"',;|&]{{1,60}}(?:{_TO_NEXT}[^\s\"',;|&]{{1,60}}){{0,4}}?{_TO_NEXT}"
    rf"-p{_TO_NEXT}(?P<secret>[^\s\"',;|&$<]{{5,80}})"
)
_IN_LIST = re.compile(rf"-p{_TO_NEXT_ITEM}(?P<secret>[^\s\"',;|&$<]{{6,80}})")
_NAMED = re.compile(rf"(?<![\w-])--(?P<name>[a-z-]{{4,40}}){_TO_NEXT_ITEM}(?P<secret>[a-z]{{6,40}})(?=[\"'\r\n]|\Z)")
_DECLARES = re.compile(
    r"(?:option|argument|arg|flag|opt)\w{0,10}\(\s{0,20}(?:[\"'][^\"'\n]{0,20}[\"'],\s?)?[\"']\Z", re.IGNORECASE
)
_USERS = Beginnings(
    (
        "-u ",
        '-u"',
        "-u'",
        "-u\n",
        "-U ",
        '-U"',
        "-U'",
        "-U\n",
        "--user ",
        "--user\n",
        '--user"',
        "--user'",
        "--username",
    )
)
_FLAGS = Beginnings(('-p"', "-p'", "-p\n", "-p\r"))
_NAMES = Beginnings(
    ("--pass", "--admin-pass", "--db-pass", "--root-pass", "--user-pass", "--master-pass", "--key-pass")
)


def find_behind_flags(searched: SearchedText) -> list[Secret]:
    """Find passwords behind flags of any command."""
    text = searched.text
    found = list[Secret]()
    for flag in _USERS.matches(_WITH_USER, searched, is_folded=False):
        if _may_be_password(flag["secret"]):
            found.append(Secret.of(flag, "password of a command"))
    for flag in _FLAGS.matches(_IN_LIST, searched, is_folded=False):
        value = flag["secret"]
        has_digits = sum(map(str.isdigit, value)) > 1
        if _may_be_password(value) and (has_digits or is_varied(value)):
            found.append(Secret.of(flag, "password of a command"))
    for flag in _NAMES.matches(_NAMED, searched, is_folded=False):
        is_declared = _DECLARES.search(text, max(0, flag.start() - 60), flag.start()) is not None
        if is_declared or not names_password(flag["name"]):
            continue
        if not is_placeholder(flag["secret"]) and not is_state(flag["secret"]):
            found.append(Secret.of(flag, "password by its name"))
    return found


def _may_be_password(value: str) -> bool:
    if "/" in value or ":" in value or is_placeholder(value):
        return False
    return is_chosen_word(value) or is_chosen(value) or is_app_password(value)
