"""Secrets that a command or an interpreter shows: a prompt with a command, and the secret alone on the next line.

`$ echo $API_KEY`, `>>> os.environ["DB_PASSWORD"]`, `$ pass show db`. The next line has to look random or like a chosen
password.
"""

from __future__ import annotations

import re

from .evident_values import is_evident
from .found import Secret
from .names import (
    Likelihood,
    is_code_or_path,
    is_example,
    is_placeholder,
    likelihood_of,
    looks_random,
    names_secret_file,
    names_service,
)
from .passwords_in_sentences import is_chosen
from .searched_text import SearchedText

_SHOWN = re.compile(
    r"""
    [$\#>%:)\u276f\u279c][ ]
    (?P<command>[^\n]{3,400}) \r?\n
    (?:[ \t]*\r?\n)? (?:Out\[[0-9]{1,5}\]:[ ]|=>[ ]|\[1\][ ])? [bu]?(?P<quote>["']?)
    (?P<secret>[^\s"'<>()\[\]{},;]{8,4000}) (?P=quote) [ \t]* (?=\r?$|\Z)
    """,
    re.VERBOSE | re.MULTILINE,
)
_PROMPT = re.compile(
    r"[ \t]{0,20}(?:[\w.@~:/\\ ()\[\]-]{0,80}[$#%\u276f\u279c]|In \[[0-9]{1,5}\]:|\([A-Za-z-]{2,8}\)"
    r"|[\w.()]{0,40}>{1,3})"
)
_MOST_PROMPT_CHARS = 100
_GIVES = re.compile(
    r"""
    (?: (?:pass|gopass|rbw|keepassxc-cli|lpass)[ ](?:show|get)\b | op[ ](?:read|item[ ]get)\b
      | bw[ ]get[ ](?:password|totp)
      | security[ ]find-\w+-password\b | secret-tool[ ]lookup | gcloud[ ]secrets[ ]versions[ ]access
      | gcloud[ ]auth\b.*print-\w+-token | gh[ ]auth[ ]token | vault[ ](?:kv[ ]get|read)\b.*-field
      | kubectl[ ]create[ ]token
      | aws[ ]\w+[ ]get-(?:login-password|authorization-token|secret-value|parameter) | az[ ]account[ ]get-access-token
      | wg[ ]gen(?:key|psk) | az[ ]keyvault[ ]secret[ ]show
      | openssl[ ]rand | pwgen | apg | mkpasswd | uuidgen.*secret | secrets\.token_\w+ | cat[ ]\S{0,100}/secrets?/
      | doppler[ ]secrets[ ]get | chamber[ ]read | sops\b.*--extract | \.data\.[\w-]+\}.*base64[ ]-(?:d|D) )
    """,
    re.VERBOSE,
)
_NAME = re.compile(r"[A-Za-z_][\w-]{2,60}")
_SHOWS_FILE = re.compile(
    r"(?:sudo[ ])?(?:cat|more|less|head|tail|type|bat|tr[ ].{1,20}<)[ ](?P<path>[\w./~-]{2,200})[ \t]*\Z"
)
_AFTER_NAME = re.compile(r"[\"'`)\]}\s;]*(?:\|[ ]*(?:base64[ ]-\w+|cat|tr[ ].{0,40}|head.{0,20}))?\s*(?:;[ ]*echo)?\Z")
_LEAST_RANDOM = 10


def find_shown(searched: SearchedText) -> list[Secret]:
    """Find the values that are shown after a prompt with a command that shows a secret."""
    text = searched.text
    found = list[Secret]()
    if "\n" not in text:
        return found
    for output in _SHOWN.finditer(text):
        start = text.rfind("\n", max(0, output.start() - _MOST_PROMPT_CHARS), output.start()) + 1
        value = output["secret"]
        if not _PROMPT.fullmatch(text, start, output.start() + 1):
            continue
        if is_placeholder(value) or is_example(value) or is_code_or_path(value):
            continue
        if (is_chosen(value) or looks_random(value, least=_LEAST_RANDOM)) and _asks(output["command"], value):
            found.append(Secret(*output.span("secret"), "secret that is shown"))
    return found


def _asks(command: str, value: str) -> bool:
    """Return whether a command shows a secret, judging by the command and by the names in it."""
    if _GIVES.search(command):
        return True
    shown = _SHOWS_FILE.match(command)
    if shown is not None and names_secret_file(shown["path"]):
        return True
    names = [*_NAME.finditer(command)]
    if is_evident(value, "") and any(likelihood_of(name[0]) is not Likelihood.NONE for name in names):
        return True
    if not names or not _AFTER_NAME.fullmatch(command, names[-1].end()):
        return False
    name = names[-1][0]
    return likelihood_of(name) is not Likelihood.NONE or names_service(name)
