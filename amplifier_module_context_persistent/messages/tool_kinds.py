"""Kinds of tools: reading files, changing files, running commands, keeping a task list, or asking a person.

A tool is recognised by its name in any spelling (`Read`, `read_file`, `mcp__files__read_file`), and a file by the name
of the argument that contains its path. The tables cover the tools of Amplifier, Claude Code, Codex, Gemini CLI,
OpenHands, pi and the editors with an agent. The key `tool_kinds` of the configuration adds to the tables and overrides
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .message import Message, call_arguments_of, call_name_of, given_calls

READ, CHANGE, TODO, RUN, ASK, OTHER = "read", "change", "todo", "run", "ask", "other"
KINDS = (READ, CHANGE, TODO, RUN, ASK, OTHER)

_NAMES: Mapping[str, tuple[str, ...]] = {
    READ: (
        *("read", "readfile", "readfiles", "readmanyfiles", "view", "viewfile", "viewimage", "openfile", "open"),
        *("cat", "getfile", "getfilecontents", "fileread", "filereader", "notebookread", "readtextfile", "viewsource"),
    ),
    CHANGE: (
        *("edit", "editfile", "multiedit", "fileedit", "replace", "strreplace", "replaceinfile", "searchreplace"),
        *("searchandreplace", "write", "writefile", "writetofile", "filewrite", "createfile", "create", "savefile"),
        *("insert", "insertcontent", "inserttext", "applypatch", "applydiff", "patch", "patchfile", "updatefile"),
        *("notebookedit", "editnotebook", "deletefile", "appendfile", "reapply", "inserteditintofile"),
    ),
    TODO: (
        *("todo", "todos", "todowrite", "writetodos", "todolist", "updatetodolist", "updatetodos", "managetodolist"),
        *("updateplan", "plan", "tasktracker", "tasklist", "settodolist", "updatetasks"),
    ),
    RUN: (
        *("bash", "sh", "shell", "zsh", "powershell", "terminal", "exec", "execute", "execcommand", "executecommand"),
        *("executebash", "run", "runcommand", "runinterminal", "runterminalcmd", "runshellcommand", "localshell"),
        *("runterminalcommand", "containerexec", "process", "python", "ipython", "runpython", "executepython"),
    ),
    ASK: (
        *("askuserquestion", "askuser", "askquestion", "askquestions", "askfollowupquestion", "askhuman", "askperson"),
        *("requestuserinput", "getuserinput", "userinput", "humaninput", "questionuser", "question", "clarify"),
    ),
}
_BY_NAME = {name: kind for kind, names in _NAMES.items() for name in names}

_COMMANDS: Mapping[str, str] = {
    **dict.fromkeys(("view", "read", "open"), READ),
    **dict.fromkeys(("create", "write", "str_replace", "insert", "edit", "undo_edit", "append", "delete"), CHANGE),
}
"""The kind of a call of a tool that does everything (`str_replace_editor`), by its argument `command`."""
_EDITORS = frozenset({"strreplaceeditor", "strreplacebasededittool", "texteditor", "editor", "filesystem", "file"})

PATH_KEYS = (
    *("file_path", "path", "filepath", "filename", "file", "target_file", "notebook_path", "absolute_path"),
    *("relative_path", "file_name", "target_path"),
)
OLD_KEYS = ("old_string", "oldText", "old_str", "old_text", "old", "search", "old_source")
NEW_KEYS = ("new_string", "newText", "new_str", "new_text", "new", "replace", "new_source", "insert_text")
WHOLE_KEYS = ("content", "contents", "file_text", "text", "code_edit")
COMMAND_KEYS = ("command", "cmd", "script", "code", "input")
_EDIT_LISTS = ("edits", "changes", "replacements")
_PATCHED = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File:|\+\+\+ (?:b/)?)[ \t]*(\S.*)$", re.MULTILINE)
_PATCH_KEYS = ("patch", "diff", "input", "patch_text")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The use of a tool by one call: the tool's kind, its name as given, and the paths of files in the arguments."""

    kind: str
    name: str
    paths: tuple[str, ...] = ()


class ToolKinds:
    """The table of tools, extended by a configuration.

    Args:
        more: the kind of each further tool by the tool's name, perhaps with the argument that names the file, as in
            `read:target`.
    """

    def __init__(self, more: Mapping[str, str] | None = None) -> None:
        self._more = {_plain(name): tuple(kind.split(":", 1)) for name, kind in (more or {}).items()}

    def uses_of(self, message: Message) -> tuple[ToolUse, ...]:
        """Return one `ToolUse` for each call of a message, in the order of `calls_of`.

        The message must be in the form that every provider accepts (`messages/normalize.py`).
        """
        calls = given_calls(message).values()
        return tuple(self._use(call_name_of(call), call_arguments_of(call)) for call in calls)

    def _use(self, name: str, arguments: Mapping[str, Any]) -> ToolUse:
        plain = _plain(name)
        kind, *key = self._more.get(plain, (_BY_NAME.get(plain, OTHER),))
        if plain in _EDITORS and plain not in self._more:
            command = arguments.get("command") or arguments.get("operation") or arguments.get("action")
            kind = _COMMANDS.get(command, OTHER) if isinstance(command, str) else OTHER
        if kind not in (READ, CHANGE):
            return ToolUse(kind, name)
        return ToolUse(kind, name, tuple(_paths(arguments, key or PATH_KEYS)))


def same_file(path: str, other_path: str) -> bool:
    """Return whether two paths may name the same file: the paths are equal, or one path ends with the other."""
    return path == other_path or path.endswith(f"/{other_path}") or other_path.endswith(f"/{path}")


def file_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class ReplacedLines:
    """The effect of a call on the lines of a file; `unknown` is true if the call does not name the replaced lines.

    Attributes:
        removed_lines: the lines that the call removes.
    """

    removed_lines: frozenset[str] = frozenset()
    new: frozenset[str] | None = None
    """All lines of the file, if the call writes the whole file; else None."""
    unknown: bool = False
    put: frozenset[str] = frozenset()
    """The lines that the call adds."""
    around: frozenset[str] = frozenset()
    """Unchanged lines within the edits of the call."""


def replaced_by(arguments: Mapping[str, Any]) -> ReplacedLines:
    """Return the lines that a call removes from a file and the lines that it adds, without surrounding blanks."""
    edits = _edits_in(arguments) or _edits_of_patch(arguments)
    if edits:
        removed = set[str]()
        added = set[str]()
        unchanged = set[str]()
        for before, after in edits:
            removed |= before - after
            added |= after - before
            unchanged |= before & after
        return ReplacedLines(frozenset(removed), put=frozenset(added), around=frozenset(unchanged))
    whole = _first(arguments, WHOLE_KEYS)
    if whole is not None:
        return ReplacedLines(new=frozenset(lines_of(whole)))
    inserted = _first(arguments, NEW_KEYS)  # a call that only inserts text removes nothing
    if inserted is None:
        return ReplacedLines(unknown=True)
    return ReplacedLines(put=frozenset(lines_of(inserted)))


def _edits_in(arguments: Mapping[str, Any]) -> list[tuple[set[str], set[str]]]:
    """Return the lines before and after each edit for which a call gives the old and the new text."""
    pairs = [_pair(arguments)]
    for key in _EDIT_LISTS:
        listed = arguments.get(key)
        if isinstance(listed, list):
            pairs += [_pair(item) for item in listed if isinstance(item, dict)]
    return [(lines_of(old), lines_of(new or "")) for old, new in pairs if old is not None]


def _edits_of_patch(arguments: Mapping[str, Any]) -> list[tuple[set[str], set[str]]]:
    """Return the lines before and after the patch of a call; an empty list without a patch."""
    patch = _first(arguments, _PATCH_KEYS)
    if patch is None or ("\n-" not in patch and "\n+" not in patch):
        return []
    before = list[str]()
    after = list[str]()
    for line in patch.split("\n"):
        if line.startswith(("---", "+++")):
            continue
        mark = line[:1]
        content = line[1:]
        if mark in ("-", " "):
            before.append(content)
        if mark in ("+", " "):
            after.append(content)
    return [(lines_of("\n".join(before)), lines_of("\n".join(after)))]


def lines_of(text: str) -> set[str]:
    """Return the lines of a text that are not blank, without surrounding blanks."""
    lines = {line.strip() for line in text.split("\n")}
    return lines - {""}


def command_of(arguments: Mapping[str, Any]) -> str:
    """Return the command line that a call gives to a shell; "" if there is none."""
    for key in COMMAND_KEYS:
        if key in arguments:
            command = arguments[key]
            if isinstance(command, list):
                command = " ".join(map(str, command))
            return command if isinstance(command, str) else ""
    return ""


def _pair(arguments: Mapping[str, Any]) -> tuple[str | None, str | None]:
    return _first(arguments, OLD_KEYS), _first(arguments, NEW_KEYS)


def _first(arguments: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    """Return the first value under some keys that is a text; None if there is none."""
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
    return None


def _paths(arguments: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    """Return the paths in the arguments of a call under `keys`, else the paths in its patch."""
    paths = arguments.get("paths")
    for key in keys:
        if arguments.get(key):
            paths = arguments[key]
            if not isinstance(paths, list):
                paths = [paths]
            break
    found = [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
    patch = _first(arguments, _PATCH_KEYS)
    if not found and patch is not None:
        found = _PATCHED.findall(patch)
    return [path.rstrip().removeprefix("./").replace("\\", "/") for path in found]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.rsplit("__", 1)[-1].casefold() if letter.isalnum())
