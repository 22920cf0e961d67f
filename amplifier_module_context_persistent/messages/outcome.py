"""The outcome of a call, read from its result: answered, failed, or rejected by a person or a hook.

Tools have no common form for failures. A result failed if one of the following says so: a flag of the message or of a
block; a field of a result that is a JSON object; or the fixed words with which known tools, hosts and programs begin or
end a failed result. Words in the middle prove nothing: a tool that reads a log full of errors did not fail.

For a search that finds nothing and for a comparison that finds a difference, exit code 1 is an answer, not an error.
For these commands only 2 and above is an error (POSIX: `grep`, `diff`, `cmp`, `test`, `command -v`; the manuals of the
others). A script's exit code comes from its last command, even if another program runs that command: `cd src && sudo
timeout 10 grep x a.py` ends with the code of `grep`. Scripts are parsed roughly. If the last command is not understood,
code 1 is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .message import Message, call_arguments_of, given_calls, metadata_of, parsed, text_of
from .tool_kinds import command_of

FAILED, REJECTED, ANSWERED = "failed", "rejected", "answered"

_REJECTED = re.compile(
    r"""
      (?:the\ )?user\ (?:does\ not|doesn't|did\ not|didn't)\ (?:want|approve|allow|permit)
    | (?:the\ )?user\ (?:has\ )?(?:rejected|denied|declined|cancelled|interrupted)
    | denied\ by\ (?:a\ )?(?:hook|user|policy|the\ user)
    | (?:tool\ (?:use|call)|request|operation)\ (?:was\ )?(?:rejected|denied|declined)
    | rejected\ by\ (?:the\ )?user
    | permission\ to\ use\ \S+\ (?:has\ been\ |was\ )?denied
    | (?:operation|request|command)\ (?:was\ )?(?:aborted|interrupted)(?:\ by\ (?:the\ )?user)?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FAILED_HEAD = re.compile(
    r"""
      an\ (?:\w+\ )?error\ (?:has\ )?occurred\b
    | error\b | fatal: | failed\b | failure\b | exception\b | traceback\ \(most\ recent | tool_use_error
    | exit\ (?:code|status):?\ [1-9] | process\ exited\ with\ (?:code|status)\ [1-9]
    | command\ (?:failed|exited\ with|timed\ out) | [a-z_.]*(?:error|exception):
    | could\ not\b | cannot\b | can't\b | unable\ to\b | invalid\b | permission\ denied\b
    | no\ (?:match|such)\b | no\ changes?\ (?:were\ |was\ )?made | (?:file\ |old_?string\ )?not\ found\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FAILED_TAIL = re.compile(
    r"""
      (?:exit(?:ed\ with)?(?:\ code|\ status)|return\ ?code):?\ *[1-9]\d*[\])>.]?\s*\Z
    | command\ aborted\s*\Z
    | [1-9]\d*\ (?:failed|errors?)(?:,\ \d+\ \w+)*\ in\ [\d.]+\ ?m?s(?:\ \([\d:]+\))?[\s=]*\Z    # as pytest ends
    | \*\*\*\ .*\bError\ \d+\s*\Z                                                              # as make ends
    | :\ (?:command\ not\ found|no\ such\ file\ or\ directory)\s*\Z | segmentation\ fault(?:\ \(.*\))?\s*\Z
    | \n(?:FAIL | (?:error|fatal):\ [^\n]*)\s*\Z
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WRAPPING = re.compile(r"(?:Chunk ID: [^\n]{0,80}\n)?(?:Wall time: [^\n]{0,80}\n)?[\s<\[(*#`'\"]*")
"""The text that may precede the words of a failure: quotes, brackets, and the two lines of Codex's `exec_command`."""
_FLAGS = ("is_error", "isError")
_TAIL_CHARS = 160

_CODES = ("returncode", "return_code", "exit_code", "exitCode")
"""The keys under which a result that is a JSON object may have an exit code."""
_HOLDERS = ("output", "metadata", "result")
_CODE = re.compile(
    r"\b(?:exit(?:ed)?(?: with)?(?: code| status)|return ?code|return_code|exit_code)['\"]?[:=]?\s*(\d+)\b",
    re.IGNORECASE,
)
_NO = ("1", "123")  # xargs ends with 123 if its command ended with 1
_TELLS_ERROR = re.compile(
    r"^[^\n]{0,120}?(?:\berror:(?! \(none\))|\berror\[|: error\b|\*\*\* .*\berror\b|\bfatal:|\bFAILED\b"
    r"|command not found|no such file or directory|traceback \(most recent call last\)|\bpanicked at\b"
    r"|segmentation fault)",
    re.IGNORECASE | re.MULTILINE,
)
_EDGE_CHARS = 400

_ANY: frozenset[str] = frozenset()
_ANSWERS_WITH_1: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep", "findstr", "locate"), _ANY),
    **dict.fromkeys(("diff", "cmp", "zdiff", "zcmp", "colordiff", "test", "[", "[["), _ANY),
    **dict.fromkeys(("which", "type", "hash", "pgrep", "pkill", "pidof", "lsof", "fuser"), _ANY),
    "command": frozenset(("-v", "-V")),
    "git": frozenset(("grep", "diff", "check-ignore", "merge-base", "show-ref")),
}
"""The programs for which exit code 1 is an answer, with the first words that must follow; empty if any may follow."""
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
"""Programs that run the command in their arguments, with the letters of the options whose value is the next word."""
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


def outcome_of(result: Mapping[str, Any], *, asks: bool = False) -> str:
    """Return how the call of a result ended: `FAILED`, `REJECTED` or `ANSWERED`.

    Args:
        result: the message with the result.
        asks: whether exit code 1 is an answer to this call (see `asking_calls`).
    """
    text = text_of(result).strip()
    wrapping = _WRAPPING.match(text)
    start = wrapping.end() if wrapping is not None else 0
    if _REJECTED.match(text, start):
        return REJECTED
    result_object = _object_in(result, text)
    failed = (
        _is_flagged(result)
        or (result_object is not None and _says_failed(result_object))
        or _FAILED_HEAD.match(text, start)
        or _FAILED_TAIL.search(text[-_TAIL_CHARS:])
    )
    if not failed or (asks and _answers_no(result_object, text)):
        return ANSWERED
    return FAILED


def asking_calls(message: Message) -> frozenset[str]:
    """Return the ids of a message's calls for which exit code 1 is an answer."""
    commands = ((call_id, command_of(call_arguments_of(call))) for call_id, call in given_calls(message).items())
    return frozenset(call_id for call_id, command in commands if answers_with_1(command))


def answers_with_1(command: str) -> bool:
    """Return whether exit code 1 of a command is an answer."""
    if len(command) > _MOST_CHARS or _ANSWERS_WITH_1.keys().isdisjoint(_WORDS_OF.findall(command)):
        return False
    shell = _SHELL.fullmatch(command)
    if shell is not None:
        command = shell["script"]
    return _is_asking(_last_command(command))


def _is_flagged(result: Mapping[str, Any]) -> bool:
    content = result.get("content")
    parts: list[Mapping[str, Any]] = [result, metadata_of(result)]
    if isinstance(content, list):
        parts += [block for block in content if isinstance(block, dict)]
    return any(part.get(flag) is True for part in parts for flag in _FLAGS)


def _object_in(result: Mapping[str, Any], text: str) -> dict[str, Any] | None:
    """Return the JSON object in a result's content or text; None if there is none."""
    content: Any = result.get("content")
    if not isinstance(content, dict) and text.startswith("{") and text.endswith("}"):
        try:
            content = parsed(text)
        except ValueError:
            return None
    return content if isinstance(content, dict) else None


def _says_failed(fields: Mapping[str, Any]) -> bool:
    if fields.get("success") is False or any(fields.get(flag) is True for flag in _FLAGS):
        return True
    if _exit_code_in(fields) not in ("", "0"):
        return True
    return bool(fields.get("error")) and fields.get("success") is not True


def _answers_no(fields: Mapping[str, Any] | None, text: str) -> bool:
    """Return whether a command's result has exit code 1 and no text about an error."""
    if _exit_code(fields, text) not in _NO:
        return False
    return not any(_TELLS_ERROR.search(edge) for edge in (text[:_EDGE_CHARS], text[-_EDGE_CHARS:]))


def _exit_code(result: Mapping[str, Any] | None, text: str) -> str:
    """Return the exit code at the beginning or the end of a result, as text; "" without one.

    Args:
        result: the result, if it is a JSON object; else None.
        text: the result's text.
    """
    if result is not None:
        return _exit_code_in(result)
    at_beginning = _CODE.search(text[:_EDGE_CHARS])
    if at_beginning is not None:
        return at_beginning[1]
    at_end = _CODE.findall(text[-_EDGE_CHARS:])
    return at_end[-1] if at_end else ""


def _exit_code_in(fields: Mapping[str, Any]) -> str:
    """Return the exit code in an object, or in an object within it, under one of the known keys; "" without one."""
    inner = [fields.get(key) for key in _HOLDERS]
    for part in (fields, *inner):
        if not isinstance(part, dict):
            continue
        for key in _CODES:
            code = part.get(key)
            if type(code) is int:
                return str(code)
    return ""


def _last_command(script: str) -> list[str]:
    """Return the words of the command that determines a script's exit code; an empty list if it is unknown."""
    last: list[str] = []
    words: list[str] = []
    position = 0
    while position < len(script):
        token = _TOKEN.match(script, position)
        if token is None:
            return []
        is_here_document = token.group().startswith("<<") and token.group() != "<<<"
        if is_here_document:
            return []
        position = token.end()
        if token["condition"] is not None:
            words.append("[[")
        elif token["word"] is not None:
            words.append(token.group())
        elif token["end"] is not None:
            last = last if _closes(words) else words
            words = []
            if token.group() == "&":  # the script does not wait for a command in the background
                last = []
    return last if _closes(words) else words


def _closes(words: Sequence[str]) -> bool:
    """Return whether the words are empty or only close a block of the script."""
    if not words:
        return True
    return len(words) == 1 and words[0] in ("}", "done", "fi")


def _is_asking(words: Sequence[str]) -> bool:
    """Return whether exit code 1 of a command is an answer; for a wrapper, its inner command decides."""
    while words:
        name = words[0].strip("\"'\\").rsplit("/", 1)[-1]
        rest = words[1:]
        if name == "find":
            words = _command_of_find(rest)
            continue
        arguments = _after_options(rest, _OF_GIT) if name == "git" else rest
        if name in _ANSWERS_WITH_1:
            subcommands = _ANSWERS_WITH_1[name]
            if not subcommands or not subcommands.isdisjoint(arguments[:1]):
                return True
        if name in _WRAPPERS:
            words = _after_options(rest, _WRAPPERS[name])
            if name == "timeout":
                words = words[1:]  # the duration
        elif _ASSIGNMENT.match(words[0]):
            words = rest
        else:
            return False
    return False


def _command_of_find(arguments: Sequence[str]) -> Sequence[str]:
    """Return the words of the command that `find` runs; empty if `find` runs no command."""
    for position, word in enumerate(arguments):
        if word in _FIND_RUNS:
            return arguments[position + 1 :]
    return ()


def _after_options(words: Sequence[str], valued: str) -> Sequence[str]:
    """Return the words after a program's options; the letters in `valued` are options whose value is the next word."""
    position = 0
    while position < len(words) and words[position].startswith("-"):
        option = words[position]
        has_value = len(option) == 2 and option[1] in valued
        position += 2 if has_value else 1
    return words[position:]
