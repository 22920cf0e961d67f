"""Secrets that a shell writes to a command or a file: `echo x | docker login …`, `… <<< x`, `echo x > master.key`.

Rules:
- The command is known to read a secret, or the name of the file or of the flag says that it holds one.
- A variable, a placeholder or the output of another command is not a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .commands import is_no_secret_word
from .found import Secret
from .linked_passwords import may_be_password
from .names import looks_random, names_secret_file
from .searched_text import Beginnings, SearchedText

_BEGINNINGS = Beginnings(("echo ", "printf ", "print "))
_READS_INPUT = r"""
    (?: [^\n|;&]{0,200}? -(?:password|passwd|pass|token)-(?:on-)?stdin\b | (?:docker|podman)[ ]secret[ ]create\b
      | gcloud[ ]secrets[ ](?:create|versions[ ]add)\b | gh[ ](?:auth[ ]login|secret[ ]set|variable[ ]set)\b
      | vercel[ ](?:env|secrets)[ ]add\b | vault[ ](?:login|kv|write)\b
      | (?:npx[ ])?wrangler[ ](?:\w+[ ])?secret[ ](?:put|bulk)\b
      | kinit\b | su\b | (?:sudo|doas)[ ](?:-\w+[ ])*-\w*S
      | passwd\b | chpasswd\b | cryptsetup\b
      | gpg\b[^\n|;&]{0,200}?--passphrase-fd | openssl\b[^\n|;&]{0,200}?\bstdin
      | pass[ ]insert\b | secret-tool[ ]store\b
      | smbpasswd\b | htpasswd\b[^\n|;&]{0,40}-\w*i | ansible-vault[ ]encrypt | vncpasswd\b | argon2\b
      | systemd-creds[ ]encrypt
      | read[ ](?:-\w+[ ]){0,3}\w*(?i:pass|token|secret|pw)\w* | sops\b | kubeseal\b | fly[ ]secrets\b | veracrypt\b
      | firebase[ ]functions:secrets:set\b | aws[ ]configure\b | security[ ]add | restic\b | borg\b | mkpasswd\b )
    """


def _word(number: str) -> str:
    """Return an expression for a word in quotes or without; the names of its groups end with a number."""
    return rf"""(?: \\?"(?P<double{number}>(?:[^"\n\\$`]|\\n){{4,2000}})\\?" | '(?P<single{number}>[^'\n]{{4,2000}})'
        | (?P<bare{number}>[^\s"'|;&<>$`()\\]{{4,2000}}) )"""


_ECHO = r"""(?:echo|printf|print)[ ]+(?:-[neE]+[ ]+|["']?(?:%s(?:\\n)?){1,2}["']?[ ]+)*"""
_TO_COMMAND = rf"[ ]*\|[ ]*(?:sudo[ ])?{_READS_INPUT}"
_PIPED = re.compile(rf"\b{_ECHO}{_word('')}(?:[ ]{_word('2')})?{_TO_COMMAND}", re.VERBOSE)
_REPEATED = re.compile(rf"\b{_ECHO}{_word('')}[ ]*;[ ]*{_ECHO}{_word('2')}[ ]*;?[ ]*[)}}]{_TO_COMMAND}", re.VERBOSE)
"""A password that is written twice, as a prompt asks for it: `(echo x; echo x) | smbpasswd …`."""
_HERE = re.compile(
    rf"(?:^|[\s;&|(])(?=[^\n<]{{2,300}}<<<){_READS_INPUT}[^\n<]{{0,200}}<<<[ ]*{_word('')}", re.VERBOSE | re.MULTILINE
)
_INTO_FILE = re.compile(
    rf"\b{_ECHO}{_word('')}[ ]?(?:>{{1,2}}[ ]?|\|[ ]?(?:sudo[ ])?tee[ ](?:-a[ ])?)[\"']?(?P<path>[\w./~-]{{2,200}})",
    re.VERBOSE,
)
_AS_FILE = re.compile(rf"\b{_ECHO}{_word('')}[ ]?\)", re.VERBOSE)
_BEFORE_FILE = re.compile(
    r"(?:--?[\w-]{0,30}(?:pw|pass|passwd|secret|token|cred|key)[\w-]{0,20}[ =]?|\bsshpass[ ]-f[ ]?)<\([ ]?\Z",
    re.IGNORECASE,
)
"""A flag that names a file with a secret, whose text a command writes: `--pwfile=<(echo x)`."""
_BEFORE_CHARS = 60


def find_echoed(searched: SearchedText) -> list[Secret]:
    """Find the secrets that a shell writes to the input of a command, or into a file."""
    text = searched.text
    found = list[re.Match[str]]()
    if "|" in text:
        found += _BEGINNINGS.matches(_PIPED, searched, is_folded=False)
        found += _BEGINNINGS.matches(_REPEATED, searched, is_folded=False)
    if ">" in text or "tee " in text:
        written = _BEGINNINGS.matches(_INTO_FILE, searched, is_folded=False)
        found += [match for match in written if names_secret_file(match["path"]) and _may_be_secret(match)]
    if "<(" in text:
        for match in _BEGINNINGS.matches(_AS_FILE, searched, is_folded=False):
            start = match.start()
            if _BEFORE_FILE.search(text, max(0, start - _BEFORE_CHARS), start):
                found.append(match)
    if "<<<" in text:
        found += _HERE.finditer(text)
    return [secret for match in found for secret in _words_in(match)]


def _may_be_secret(match: re.Match[str]) -> bool:
    """Return whether a word that is written into a file is more than a word with a digit."""
    word = match["double"] or match["single"] or match["bare"]
    has_digits = sum(map(str.isdigit, word)) > 1
    return looks_random(word) or (has_digits and may_be_password(word))


def _words_in(match: re.Match[str]) -> Iterator[Secret]:
    """Yield the secrets among the words of a match."""
    for group, word in match.groupdict().items():
        if word is not None and group != "path" and not is_no_secret_word(word):
            yield Secret(*match.span(group), "password of a command")
