"""Secrets in columns: a table with the name of a secret in its head, in CSV, Markdown, a terminal or a database shell.

The head is a line in which a cell is a sensitive name. The lines after it belong to the table if they have the same
number of cells. A value has to look random or like a password.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .foreign_names import find_foreign, foreign_names_in, is_named_in_another_language, names_foreign_password
from .found import Secret, hidden
from .names import Likelihood, kind_of_name, likelihood_of, names_service
from .searched_text import SearchedText
from .secret_values import is_secret_text

MOST_ROWS = 2_000
_MOST_CELLS = 60
_MOST_LINE_CHARS = 1_000
_BARS = "│┃┆┇┊┋║"
_ENDS_CELL = re.compile(rf"[`\"'* ]{{0,3}}(?:[|{_BARS},;\t\r\n]|[ ]{{2}}|\Z)|[ ]{{1,60}}[|{_BARS}\r\n]")
_DELIMITERS = ("|", "\t", ";", ",")
_DOUBLE_BAR = "||"
_GAP = re.compile(r"[ ]{2,}")
_RULE = re.compile(r"[\s|+:=\u2500-\u257f-]+")
_RULE_BELOW = re.compile(r"\r?\n[ ]?[-=\u2500]{4,}[ \t\r]*\n")
_BAR = re.compile(f"[{_BARS}]")
_NAME = re.compile(r"[A-Za-z][\w .-]{0,40}")
_VALUE = re.compile(r"[^\s(){}\[\]<>,;]{6,4000}")
_AROUND = " \t\r`\"'*"

Cell = tuple[int, int]
"""The start and end of a cell."""


def find_in_table(text: str, first: int, end: int) -> tuple[list[Secret], int]:
    """Find the secrets below a name that is a cell of a table's head.

    Args:
        text: any text.
        first: the start of the name.
        end: the end of the name.

    Returns:
        (secrets, end of the table); the end is 0 if the name is not in a table's head.
    """
    table = _table_at(text, first, end)
    if table is None:
        return [], 0
    stop, delimiter, head = table
    names = dict[int, str]()
    for number, cell in enumerate(head):
        name = _sensitive(text, cell)
        if name:
            names[number] = name
    if not names:
        return [], 0
    found: list[Secret] = []
    table_end = 0
    for row in _rows(text, stop, delimiter, head):
        table_end = row[-1][1]
        for number, name in names.items():
            secret = _secret(text, row[number], name)
            if secret:
                found.append(secret)
    return found, table_end


def find_digits_below(
    text: str,
    first: int,
    end: int,
    *,
    kind: str,
    is_secret: Callable[[str], bool],
    beside: re.Pattern[str] | None = None,
) -> Iterator[Secret]:
    """Yield the numbers below a name that is a cell of a table's head.

    Args:
        text: any text.
        first: the start of the name.
        end: the end of the name.
        kind: the kind of the secrets.
        is_secret: returns whether the text of a cell is a secret.
        beside: matches the name that another cell of the head must have.
    """
    table = _table_at(text, first, end)
    if table is None:
        return
    stop, delimiter, head = table
    names = [_text_of(text, cell).strip(_AROUND) for cell in head]
    if beside is not None and not any(map(beside.fullmatch, names)):
        return
    columns = [number for number, (cell_start, cell_end) in enumerate(head) if cell_start <= first < cell_end]
    if not columns or names[columns[0]] != text[first:end]:
        return
    for row in _rows(text, stop, delimiter, head):
        cell_start, cell_end = row[columns[0]]
        value = text[cell_start:cell_end].strip(_AROUND)
        if is_secret(value):
            start = text.index(value, cell_start, cell_end)
            yield Secret(start, start + len(value), kind)


def _table_at(text: str, first: int, end: int) -> tuple[int, str, list[Cell]] | None:
    """Return the end of a name's line, its delimiter and its cells; None if the name is not a cell of a head."""
    if not _ENDS_CELL.match(text, end):
        return None
    start = text.rfind("\n", max(0, first - _MOST_LINE_CHARS), first) + 1
    stop = text.find("\n", end, end + _MOST_LINE_CHARS)
    if stop < 0 or first - start >= _MOST_LINE_CHARS:
        return None
    delimiter = _delimiter_of(text, start, stop)
    head = _cells(text, start, stop, delimiter)
    filled = [cell for cell in head if text[slice(*cell)].strip(_AROUND)]
    if len(head) > _MOST_CELLS or (len(filled) == 1 and not _RULE_BELOW.match(text, stop)):
        return None
    return stop, delimiter, head


def _delimiter_of(text: str, start: int, stop: int) -> str:
    """Return the expression for the delimiter of the cells in a head; "" if there is none."""
    if _BAR.search(text, start, stop):
        return f"[{_BARS}]"
    if _DOUBLE_BAR in text[start:stop]:
        return r"\|{1,2}"  # of Jira: ||user||password|| and rows with single bars
    for sign in _DELIMITERS:
        if sign in text[start:stop]:
            return re.escape(sign)
    return ""


def _cells(text: str, start: int, end: int, delimiter: str) -> list[Cell]:
    """Return the cells of a line, split by a delimiter, or at two spaces if the delimiter is ""."""
    line = text[start:end].rstrip(" \r")
    content = line.lstrip(" ")
    start += len(line) - len(content)
    separators = re.finditer(delimiter, content) if delimiter else _GAP.finditer(content)
    cells = list[Cell]()
    cell_start = start
    for separator in separators:
        cells.append((cell_start, start + separator.start()))
        cell_start = start + separator.end()
    cells.append((cell_start, start + len(content)))
    return cells


def _text_of(text: str, cell: Cell) -> str:
    start, end = cell
    return text[start:end]


def _sensitive(text: str, cell: Cell) -> str:
    """Return the name in a cell of a table's head, if it is a name for secrets; else ""."""
    name = text[cell[0] : cell[1]].strip(_AROUND)
    if names_foreign_password(name):
        return name
    if not _NAME.fullmatch(name):
        return ""
    if likelihood_of(name) is not Likelihood.NONE or names_service(name):
        return name
    return ""


def _rows(text: str, end: int, delimiter: str, head: list[Cell]) -> Iterator[list[Cell]]:
    """Yield the rows of a table below its head; lines that only separate rows, such as `|---|---|`, are left out."""
    start = end + 1
    for _ in range(MOST_ROWS):
        stop = text.find("\n", start)
        if stop < 0:
            stop = len(text)
        line = text[start:stop]
        if not line.strip():
            return
        if not _RULE.fullmatch(line):
            row = _cells(text, start, stop, delimiter)
            has_one_more = len(row) == len(head) + 1
            if not delimiter and has_one_more and _text_of(text, row[0]).isdigit():
                del row[0]  # the row's number
            if len(row) != len(head):
                return
            yield row
        start = stop + 1
        if start > len(text):
            return


def find_by_foreign_names(searched: SearchedText) -> list[Secret]:
    """Find the secrets beside names in languages other than English, and in tables below such names."""
    names = foreign_names_in(searched)
    found = find_foreign(searched.text, names)
    text = hidden(searched.text, found)
    table_end = 0
    for first, end in names:
        if first >= table_end:
            below, table_end = find_in_table(text, first, end)
            found += below
    return found


def _is_secret(value: str, name: str) -> bool:
    if names_foreign_password(name):
        return is_named_in_another_language(name, value)
    return is_secret_text(value, name, is_quoted=False)


def _secret(text: str, cell: Cell, name: str) -> Secret | None:
    """Return the secret in a cell; None if its value is not a secret."""
    value = text[cell[0] : cell[1]].strip(_AROUND)
    if not _VALUE.fullmatch(value) or not _is_secret(value, name):
        return None
    start = text.index(value, cell[0], cell[1])
    return Secret(start, start + len(value), kind_of_name(name))
