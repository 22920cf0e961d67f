"""A user and a password in one word: `curl -u robin:x`, `--creds robin:x`, `acme/robin:x@host`, `robin@acme.io:x`.

Rules:
- Only commands that log in somewhere count, because `docker -u` and `chown` get `user:group` in the same form.
- A key can be in the user's place (`curl -u KEY:`). It counts if a machine made it.
- Without a command, the password has to look chosen with care: letters and digits with a sign, or both sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .found import Secret
from .names import is_example, is_mixed, is_placeholder, looks_random
from .passwords_in_sentences import is_chosen, is_varied
from .searched_text import Beginnings, SearchedText
from .secret_values import is_chosen_word, is_count

_CURL = r"-[#0-9afgijklnopqrsvBGIJLMNOQRSVZ]{0,8}u|-U|--user|--proxy-user|--cert|--proxy-cert|-E"
_FLAGS = {
    "curl; curlie": _CURL,
    "http; https; xh; xhs; hey; oha": "-a|--auth",
    "etcdctl": "--user",
    "ab": "-A|-P",
    "skopeo; podman; buildah; crictl": "--creds|--src-creds|--dest-creds",
    "ctr images pull; ctr image pull; ctr i pull; ctr images push; ctr image push": "-u|--user",
    "jenkins-cli.jar; jenkins-cli": "-auth",
    "sqlmap": "--auth-cred|--proxy-cred",
    "nikto": "-id",
    "wpscan": "--http-auth|--proxy-auth",
    "ncat; nmap": "--proxy-auth",
    "mitmproxy; mitmdump; mitmweb": "--proxyauth|--upstream-auth",
    "ngrok": "--basic-auth|--auth|-auth",
    "ttyd; gotty": "-c|--credential",
    "chisel; miniserve": "--auth",
}
"""The commands that log in, with their flags before a user and a password."""
_TO_PAIR = (
    r"""(?:[ \t]{0,2}=[ \t]{0,2}|[ \t]{1,4}|\\*["'][ ]?,\s{0,20}(?=\\*["'])|["']?[ \t]{0,4}\r?\n[ \t]{0,40}-[ ]{1,4})"""
)
_USER = r"""(?:\$\{\w{1,40}\}|[^\s:"'\\|;&<>{}]){0,120}"""
_PAIR = rf"""
    (?P<open>\\*["']?) (?P<user>{_USER}) :
    (?: (?P<inner>\\*["']) (?P<quoted>[^"'\n\\]{{1,200}}) (?P=inner)
      | (?P<bare>(?:\\[!\#$&*()?] | [^\s"'\\|;&<>`]){{0,200}}) )
    """
_IMPACKET = (
    *("psexec", "smbexec", "wmiexec", "atexec", "dcomexec", "secretsdump", "GetUserSPNs", "GetNPUsers", "GetADUsers"),
    *("mssqlclient", "smbclient", "lookupsid", "getTGT", "getST", "ticketer", "samrdump", "rpcdump", "services"),
    *("smbpasswd", "changepasswd", "addcomputer", "owneredit", "dacledit", "findDelegation", "rdp_check"),
)
_TARGET = re.compile(
    r"""(?<=[\s"'])(?P<open>["']?) (?P<user>(?:[\w.-]{1,60}/)?[\w.$-]{1,60}) :
    (?: (?P<inner>["']) (?P<quoted>[^"'\n\\]{1,200}) (?P=inner) | (?P<bare>[^\s"'\\|;&<>`]{1,200}) )""",
    re.VERBOSE,
)
"""The target of the scripts of impacket, `domain/user:password@host`, and their `-hashes LM:NT`."""
_HASHES = re.compile(r"[ ]-hashes[ ]:(?P<secret>[0-9A-Fa-f]{32})\b|[ ]-aesKey[ ](?P<key>[0-9A-Fa-f]{32,64})\b")
_OF_HOST = re.compile(r"@[\w.\[\]:-]{1,100}\Z")
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_MOST_CHARS = 1_000
_ENDS_COMMAND = re.compile(r"(?<![\\`^])\r?\n|[ ](?:\|\|?|&&|;)[ ]|;\s")
_ENDS_LIST = re.compile(r"\]|(?<![,\[])\r?\n(?![ \t]{0,80}[\"'])")
_ENDS_ITEMS = re.compile(r"\n(?![ \t]{0,80}-[ ])")
_OPENS_LIST = re.compile(r"\\*[\"'][ ]?,")
_OPENS_ITEMS = re.compile(r"[\"']?[ \t]{0,4}\r?\n[ \t]{0,80}-[ ]")
_ENDS_NAME = re.compile(r"(?:\.exe)?[ \t]|\\?[\"'][ ]?,|[\"']?[ \t]{0,4}\r?\n[ \t]{0,40}-[ ]")
_UNUSED_CHARS = 12
"""The greatest length of a word that only fills a password's place behind a key: `x`, `api_token`."""
_LEAST_KEY = 20

_EXPRESSIONS = {
    name: re.compile(rf"(?<=[\s\"'])(?:{flags}){_TO_PAIR}{'?' if name.startswith('curl') else ''}{_PAIR}", re.VERBOSE)
    for names, flags in _FLAGS.items()
    for name in names.split("; ")
}
_ALONE = frozenset(name for name in _EXPRESSIONS if len(name) < 6 and name != "curl")
"""Short names of commands, which count only before a space."""
_COMMANDS = Beginnings([f"{name} " if name in _ALONE else name for name in _EXPRESSIONS])
_SCRIPTS = Beginnings([*(f"{script}.py" for script in _IMPACKET), "impacket-"])
_SCRIPT_NAME = re.compile(r"(?:impacket-\w{2,40}|\w{2,40}\.py)")
_WORD_CHARS = 160
_MAIL = re.compile(r"(?P<host>[\w-]{1,60}(?:\.[\w-]{1,60}){1,5}):(?P<secret>[^\s:\"'`<>,;(){}\[\]|\\]{6,80})")
_LOGIN = re.compile(
    r"(?<![^\s\"'`=(,\[])(?P<user>[\w.+-]{1,60}):(?P<secret>[^\s:/@\"'`<>(){}\[\]\\]{6,80})@"
    r"(?:(?:[\w-]{1,60}\.){1,5}[A-Za-z][\w-]{1,20}|(?:[0-9]{1,3}\.){3}[0-9]{1,3}|[\w-]{1,60}(?=:[0-9]{2,5}))(?![\w.@])"
)
_MAIL_USER = re.compile(r"[\w.+-]{1,64}\Z")
_COPIES = re.compile(
    r"\b(?:scp|rsync|sftp|sshfs|git|clone|remote|origin|borg|restic|rclone|ssh|mutagen|unison|from|to)\b"
)
_ENDS_LINE = re.compile(r"[ \t\r]*(?:\n|\Z)")


def find_users_with_passwords(searched: SearchedText) -> list[Secret]:
    """Find the passwords that are in one word with their users, behind flags of commands or beside an address."""
    text = searched.text
    if ":" not in text:
        return []
    found = list[Secret]()
    for name in _COMMANDS.possible_in(searched):
        found += _behind_flags_of(text, name)
    for name in _SCRIPTS.possible_in(searched):
        found += _of_targets(text, name)
    if "@" in text:
        found += _beside_addresses(text)
    return found


def _behind_flags_of(text: str, name: str) -> Iterator[Secret]:
    """Yield the passwords, and the keys in users' places, behind the flags of a command."""
    bare = name.rstrip(" ")
    done = 0
    for start in _ends_of(text, bare):
        if start < done:
            continue
        done = _end_of_command(text, start)
        for pair in _EXPRESSIONS[bare].finditer(text, start, done):
            yield from _of_pair(pair)


def _ends_of(text: str, name: str) -> Iterator[int]:
    """Yield the ends of a command's name, wherever it is a whole word."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if (at == 0 or text[at - 1] not in _NAME_CHARS) and _ENDS_NAME.match(text, end):
            yield end
        at = text.find(name, end)


def _end_of_command(text: str, start: int) -> int:
    """Return the end of a command whose name ends at `start`: of its line, its list in code, or its items in YAML."""
    first = start
    expression = _ENDS_COMMAND
    if _OPENS_LIST.match(text, start):
        expression = _ENDS_LIST
    elif _OPENS_ITEMS.match(text, start):
        expression = _ENDS_ITEMS
        first = text.find("\n", start) + 1
    stop = expression.search(text, first, start + _MOST_CHARS)
    return stop.start() if stop else min(len(text), start + _MOST_CHARS)


def _of_pair(pair: re.Match[str]) -> Iterator[Secret]:
    """Yield the password of a pair behind a flag, and the user if it is a key."""
    group = "quoted" if pair["quoted"] is not None else "bare"
    value, user = pair[group], pair["user"]
    is_filled_in = len(value) <= _UNUSED_CHARS and not is_mixed(value)
    is_key = is_varied(user) if not value else looks_random(user, least=_LEAST_KEY)
    if is_filled_in and is_key and not is_placeholder(user) and not is_example(user) and "@" not in user:
        yield Secret(*pair.span("user"), "key of a command")
        return
    if value and value[0] not in "$<{/" and not is_placeholder(value) and not is_example(value):
        yield Secret(*pair.span(group), "password of a command")


def _of_targets(text: str, name: str) -> Iterator[Secret]:
    """Yield the passwords and hashes that scripts of impacket are given."""
    at = text.find(name)
    while at >= 0:
        script = _SCRIPT_NAME.match(text, at)
        end = script.end() if script else at + len(name)
        stop = _end_of_command(text, end)
        for given in _HASHES.finditer(text, end, stop):
            yield Secret(*given.span(given.lastgroup or 0), "hash of a password")
        for target in _TARGET.finditer(text, end, stop):
            group = "quoted" if target["quoted"] is not None else "bare"
            value = _OF_HOST.sub("", target[group])
            if len(value) >= 4 and is_mixed(value) and not is_count(value) and not _is_stand_in(value):
                start = target.start(group)
                yield Secret(start, start + len(value), "password of a command")
        at = text.find(name, stop)


def _is_stand_in(value: str) -> bool:
    return value[0] == "$" or "/" in value[:2] or is_placeholder(value) or is_example(value)


def _beside_addresses(text: str) -> Iterator[Secret]:
    """Yield passwords behind an address of mail (`robin@acme.io:x`), and before a host (`robin:x@acme.io:21`)."""
    at = text.find("@")
    while at >= 0:
        mail = _MAIL.match(text, at + 1)
        if mail is not None and _MAIL_USER.search(text, max(0, at - 64), at) and _is_password_of_mail(text, at, mail):
            yield Secret(*mail.span("secret"), "password of a login")
        start = max(text.rfind(" ", max(0, at - _WORD_CHARS), at), text.rfind("\n", max(0, at - _WORD_CHARS), at)) + 1
        login = _LOGIN.search(text, max(start, at - _WORD_CHARS), at + _WORD_CHARS) if ":" in text[start:at] else None
        if login is not None and (is_chosen(login["secret"]) or is_varied(login["secret"])):
            yield Secret(*login.span("secret"), "password of a login")
        at = text.find("@", at + 1)


def _is_password_of_mail(text: str, at: int, mail: re.Match[str]) -> bool:
    """Return whether the word behind an address is a password, and not the path of a copy or the name of a project."""
    value = mail["secret"]
    if "/" in value or "@" in value or is_count(value):
        return False
    line = text.rfind("\n", max(0, at - _WORD_CHARS), at) + 1
    before = text[max(line, at - _WORD_CHARS) : at]
    if _COPIES.search(before):
        return False
    if is_chosen(value) or is_varied(value):
        return True
    is_alone = _ENDS_LINE.match(text, mail.end()) is not None and _MAIL_USER.match(before) is not None
    return is_alone and is_chosen_word(value)
