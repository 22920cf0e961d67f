"""How a command ended, told from the command and its result.

Exit code 1 is no error of a search that finds nothing, nor of a comparison that finds a difference: they answered. Only
2 and more is one (POSIX: `grep`, `diff`, `cmp`, `test`, `command -v`; the manuals of the others). The code of a script
is that of its last command, whatever that is wrapped in: `cd src && sudo timeout 10 grep x a.py` ends as `grep` does.

A script is parsed roughly. Where the last command is not understood, code 1 is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .message import Message, call_arguments_of, call_id_of, text_of
from .tool_kinds import calls_with_arguments, command_of
from .worded_pattern import WordedPattern

_ANY: frozenset[str] = frozenset()
_ANSWERS_WITH_1: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep", "findstr", "locate"), _ANY),
    **dict.fromkeys(("diff", "cmp", "zdiff", "zcmp", "colordiff", "test", "[", "[["), _ANY),
    **dict.fromkeys(("which", "type", "hash", "pgrep", "pkill", "pidof", "lsof", "fuser"), _ANY),
    "command": frozenset(("-v", "-V")),
    "git": frozenset(("grep", "diff", "check-ignore", "merge-base", "show-ref")),
}
"""By program, the words of which one must come first after it; any may where there are none."""
_WORDS_OF = re.compile(r"[\w-]+|\[\[?")

_WRAPPERS: Mapping[str, str] = {
    **dict.fromkeys(("command", "builtin", "exec", "nohup", "setsid", "!", "(", "{", "then", "do", "else"), ""),
    "sudo": "ugCpDRTh",
    "doas": "uC",
    "env": "uC",
    "time": "fo",
    "nice": "n",
    "ionice": "cnpPu",
    "stdbuf": "ioe",
    "timeout": "sk",
    "xargs": "nPILdsEa",
}
"""By program that runs what its arguments say, the letters of its options whose value is the next word."""
_OF_GIT = "Cc"
_FIND_RUNS = ("-exec", "-execdir")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELL = re.compile(
    r"\s*(?:\S*/)?(?:ba|z|da|k)?sh\s+(?:-l\s+)?-l?c\s+(?P<quote>['\"]?)(?P<script>.*)(?P=quote)\s*", re.DOTALL
)
_TOKEN = re.compile(
    r"""
      (?P<skip>\\\n | [ \t\r]+ | (?<!\S)\#[^\n]*)
    | (?P<condition>\[\[\s[^\n]{0,200}?\s\]\])
    | (?P<word>\( | (?:\\. | '[^']*' | "(?:\\.|[^"\\])*" | [$<>]\([^()]*\) | `[^`]*` | [^\s;|&()<>'"\\`])+)
    | (?P<redirection>&?(?:<<<|<<-?|>>|>\||<>|[<>])(?:&[\d-]*)?)
    | (?P<end>\|[|&]? | &&? | ;+ | \n | \))
    """,
    re.VERBOSE | re.DOTALL,
)
_MOST_CHARS = 2000

_WORDS = (
    r"\berror:(?! \(none\))|\berror\[|: error\b|\*\*\* .*\berror\b|\bfatal:|\bFAILED\b|command not found"
    r"|no such file or directory|traceback \(most recent call last\)|\bpanicked at\b|segmentation fault"
)
_CODES = r"\bexit(?:ed)?(?: with)?(?: code| status)?:? ?[1-9]\d*\b|\"(?:returncode|exit_code)\": ?[1-9]"
_IN_WORDS = (
    *("error", "fatal:", "failed", "command not found", "no such file or directory", "traceback (most recent"),
    *("panicked at", "segmentation fault"),
)
TELLS_ERROR = WordedPattern(re.compile(rf"(?:^|\n)[^\n]{{0,120}}?(?:{_WORDS})", re.IGNORECASE), _IN_WORDS)
RUN_FAILED = WordedPattern(
    re.compile(rf"(?:^|\n)[^\n]{{0,120}}?(?:{_WORDS}|{_CODES})", re.IGNORECASE), (*_IN_WORDS, "exit", "returncode")
)
_EDGE_CHARS = 400

CODES = ("returncode", "return_code", "exit_code", "exitCode")
"""The keys of an exit code in a result that is a JSON object."""
_HOLDERS = ("output", "metadata", "result")
_CODE = re.compile(
    r"\b(?:exit(?:ed)?(?: with)?(?: code| status)|return ?code|return_code|exit_code)['\"]?[:=]?\s*(\d+)\b",
    re.IGNORECASE,
)
_NO = ("1", "123")  # xargs ends with 123 where what it ran ended with 1


def run_failed(message: Message) -> bool:
    """Whether the result of a command says, at its beginning or its end, that the command failed."""
    return _says(RUN_FAILED, text_of(message))


def asking_calls(message: Message) -> frozenset[str]:
    """The ids of a message's calls of which exit code 1 is an answer."""
    commands = ((call, command_of(call_arguments_of(call))) for call in calls_with_arguments(message))
    return frozenset(call_id_of(call) or "" for call, command in commands if answers_with_1(command))


def answers_with_1(command: str) -> bool:
    """Whether exit code 1 of a command is an answer."""
    if len(command) > _MOST_CHARS or _ANSWERS_WITH_1.keys().isdisjoint(_WORDS_OF.findall(command)):
        return False
    if (shell := _SHELL.fullmatch(command)) is not None:
        command = shell["script"]
    return _is_asking(_last_command(command))


def answers_no(result: Mapping[str, Any]) -> bool:
    """Whether the result of a command has exit code 1, and says nothing of an error beside it."""
    return _exit_code(result) in _NO and not _says(TELLS_ERROR, text_of(result))


def _says(pattern: WordedPattern, text: str) -> bool:
    return pattern.is_in(text[:_EDGE_CHARS]) or pattern.is_in(text[-_EDGE_CHARS:])


def _exit_code(result: Mapping[str, Any]) -> str:
    """The exit code that a result tells, at its beginning or its end; empty if it tells none."""
    content: Any = result.get("content")
    text = text_of(result).strip()
    if text.startswith("{") and text.endswith("}"):
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            content = None
    if isinstance(content, dict):
        holders = (content, *(content.get(key) for key in _HOLDERS))
        codes = [held.get(key) for held in holders if isinstance(held, dict) for key in CODES]
        return next((str(code) for code in codes if type(code) is int), "")
    if (found := _CODE.search(text[:_EDGE_CHARS])) is not None:
        return found[1]
    return next(reversed(_CODE.findall(text[-_EDGE_CHARS:])), "")


def _last_command(script: str) -> list[str]:
    """The words of the command whose exit code is a script's; empty where that is not known."""
    last: list[str] = []
    words: list[str] = []
    at = 0
    while at < len(script):
        token = _TOKEN.match(script, at)
        if token is None or (token.group().startswith("<<") and token.group() != "<<<"):
            return []
        at = token.end()
        if token["condition"] is not None:
            words.append("[[")
        elif token["word"] is not None:
            words.append(token.group())
        elif token["end"] is not None:
            last = last if _closes(words) else words
            words = []
            if token.group() == "&":  # what runs in the background is not waited for
                last = []
    return last if _closes(words) else words


def _closes(words: Sequence[str]) -> bool:
    """Whether it is no command of its own."""
    return not words or (words[0] in ("}", "done", "fi") and len(words) == 1)


def _is_asking(words: Sequence[str]) -> bool:
    """Whether code 1 of a command is an answer; wrappers are gone through."""
    while words:
        name, rest = words[0].strip("\"'\\").rsplit("/", 1)[-1], words[1:]
        if name == "find":
            words = rest[next((at + 1 for at, word in enumerate(rest) if word in _FIND_RUNS), len(rest)) :]
            continue
        first = _after_options(rest, _OF_GIT) if name == "git" else rest
        if name in _ANSWERS_WITH_1 and (not (needed := _ANSWERS_WITH_1[name]) or not needed.isdisjoint(first[:1])):
            return True
        if name in _WRAPPERS:
            words = _after_options(rest, _WRAPPERS[name])[name == "timeout" :]
        elif _ASSIGNMENT.match(words[0]):
            words = rest
        else:
            return False
    return False


def _after_options(words: Sequence[str], valued: str) -> Sequence[str]:
    """What comes after the options of a program; those of the letters `valued` have the next word as their value."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if len(words[at]) == 2 and words[at][1] in valued else 1
    return words[at:]
