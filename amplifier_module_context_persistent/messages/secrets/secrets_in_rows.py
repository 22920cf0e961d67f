"""Secrets in rows below a head that names the columns once: SQL, JSON, HTML.

`INSERT INTO users (name, password) VALUES ('ada', '…')`, `"columns": ["name", "token"], "rows": [["ada", "…"]]`, a
table of HTML, rows that `COPY … FROM stdin` reads. A row belongs to the head if it has the same number of cells. A list
under a name (`"password": ["…", "…"]`) is a column, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .found import Secret
from .names import Likelihood, kind_of_name, likelihood_of, names_service
from .secret_values import is_secret_text

_MOST_HEAD_CHARS = 1_000
_MOST_CELLS = 60
_MOST_ROWS = 2_000
_NAME = r"\\*[\"'`\[]?(?P<name>[A-Za-z][\w .-]{0,60})\\*[\"'`\]]?"
_HEAD_CELL = re.compile(
    rf"\s{{0,40}}(?:\{{[^{{}}\[\]]{{0,200}}?\b(?:name|label|field|title|column|columnName)\\*[\"']\s?:\s?{_NAME}[^{{}}]{{0,400}}\}}"
    rf"|{_NAME.replace('name', 'plain')})\s{{0,40}}(?P<after>[,)\]])",
    re.IGNORECASE,
)
_CELL = re.compile(
    r"""
    \s{0,40}
    (?: [A-Za-z]{0,2}(?P<quote>\\*["'`])(?P<quoted>[^"'`\n\\]{0,4000})(?P=quote)
      | \{ [^{}\[\]\n]{0,100}? : [ ]{0,4} \\*["'](?P<boxed>[^"'`\n\\]{0,4000})\\*["'] \s{0,40} \}
      | [^\s,()\[\]{}"'`]{1,200} (?: \( [^()\n]{0,100} \) )? (?: ::\w{1,30} )?
      | \{ [^{}\[\]\n]{0,100} \} )
    \s{0,40} (?P<after>[,)\]])
    """,
    re.VERBOSE,
)
_TO_ROWS = re.compile(r"(?P<between>[^\[(]{0,200})[\[(]\s{0,40}(?:[\[(]\s{0,40})?")
_TO_NEXT_ROW = re.compile(r"\s{0,40},?\s{0,40}[\[(]")
_IS_DATA = re.compile(r"values\b|[\"']\s{0,4}:\s{0,40}\Z|\A\s{0,40},\s{0,40}\Z|\brows\b", re.IGNORECASE)
_FROM_INPUT = re.compile(r"\s{0,20}from\s+stdin\b[^\n]{0,100}\n", re.IGNORECASE)
_IN_HTML_HEAD = re.compile(r"<t[hd](?:\s[^<>]{0,200})?>\s{0,40}(?:<\w{1,10}>){0,2}\Z", re.IGNORECASE)
_HTML_CELL = re.compile(
    r"\s{0,100}<t[hd](?:\s[^<>]{0,200})?>(?P<cell>(?:[^<]|<(?!/?t[hdr]\b)){0,4000}?)</t[hd]>", re.IGNORECASE
)
_HTML_ROW = re.compile(r"\s{0,100}(?:</?t(?:r|head|body)(?:\s[^<>]{0,200})?>\s{0,100}){1,6}", re.IGNORECASE)
_IN_TAGS = re.compile(r"\s{0,40}(?:<[^<>]{1,200}>\s{0,40}){0,4}(?P<secret>[^\s<>]{4,4000})\s{0,40}(?:<|\Z)")
_LIST = re.compile(r"s?\\*[\"'`]?\s{0,4}[:=]>?\s{0,4}[\[(](?=\s{0,40}\\*[\"'`])", re.IGNORECASE)

_IN_LIST = re.compile(r"\\*[\"'`\]]?\s{0,4}[,)\]}]")

Cell = tuple[int, int]
"""The start and end of a cell's value."""


class _Row(NamedTuple):
    """A row of cells."""

    cells: list[Cell]
    end: int
    """The end of the row in the text."""


def find_in_rows(text: str, first: int, end: int) -> tuple[list[Secret], int]:
    """Find the values below a name in a head, or in a list under the name.

    Args:
        text: any text.
        first: the start of the name.
        end: the end of the name.

    Returns:
        (secrets, end of the rows); the end is 0 if the name is not in a head.
    """
    opened = _LIST.match(text, end)
    if opened is not None:
        return _in_list(text, text[first:end], opened.end())
    if text.startswith("<", end) or _IN_HTML_HEAD.search(text, max(0, first - 240), first):
        return _in_html(text, first)
    if not _IN_LIST.match(text, end):
        return [], 0
    least = max(0, first - _MOST_HEAD_CHARS)
    start = max(text.rfind("(", least, first), text.rfind("[", least, first))
    head = _head(text, start + 1) if start >= 0 else None
    if head is None:
        return [], 0
    names, head_end = head
    sensitive = _sensitive(names)
    if head_end < end or not sensitive:
        return [], 0
    copied = _FROM_INPUT.match(text, head_end)
    if copied is not None:
        return _found_in(text, sensitive, _copied_rows(text, copied.end(), len(names)), is_data=True)
    opening = _TO_ROWS.match(text, head_end)
    if opening is None:
        return [], 0
    is_data = _IS_DATA.search(opening["between"]) is not None
    return _found_in(text, sensitive, _rows(text, opening.end(), len(names)), is_data=is_data)


def _in_list(text: str, name: str, start: int) -> tuple[list[Secret], int]:
    """Return the secrets in a list under a name, and the end of the list; nothing if any value is not a secret."""
    values = _row(text, start)
    if values is None:
        return [], 0
    rows = [_Row([cell], values.end) for cell in values.cells]
    found, rows_end = _found_in(text, {0: name}, rows, is_data=True)
    if len(found) < len(values.cells):  # it is a list of words
        return [], 0
    return found, rows_end


def _head(text: str, start: int) -> tuple[list[str], int] | None:
    """Return the names in a list and the end of the list; None if the text is not a list of names."""
    names: list[str] = []
    position = start
    while len(names) < _MOST_CELLS:
        cell = _HEAD_CELL.match(text, position)
        if cell is None:
            return None
        names.append(cell["name"] or cell["plain"])
        position = cell.end()
        if cell["after"] != ",":
            return names, position
    return None


def _sensitive(names: list[str]) -> dict[int, str]:
    """Return the names of secrets by their columns."""
    return {column: name for column, name in enumerate(names) if _is_sensitive(name)}


def _is_sensitive(name: str) -> bool:
    return likelihood_of(name) is not Likelihood.NONE or names_service(name)


def _row(text: str, start: int) -> _Row | None:
    """Return the values of a list up to its end; None if the values are not plain."""
    cells: list[Cell] = []
    position = start
    while len(cells) < _MOST_ROWS:
        cell = _CELL.match(text, position)
        if cell is None:
            return None
        if cell["quoted"] is not None:
            cells.append(cell.span("quoted"))
        elif cell["boxed"] is not None:
            cells.append(cell.span("boxed"))
        else:
            cells.append((position, position))
        position = cell.end()
        if cell["after"] != ",":
            return _Row(cells, position)
    return None


def _rows(text: str, start: int, width: int) -> Iterator[_Row]:
    """Yield adjacent rows that have `width` cells."""
    position = start
    for _ in range(_MOST_ROWS):
        row = _row(text, position)
        if row is None or len(row.cells) != width:
            return
        yield row
        opening = _TO_NEXT_ROW.match(text, row.end)
        if opening is None:
            return
        position = opening.end()


def _copied_rows(text: str, start: int, width: int) -> Iterator[_Row]:
    """Yield the rows that are lines with cells between tabs."""
    line_start = start
    for _ in range(_MOST_ROWS):
        line_end = text.find("\n", line_start)
        if line_end < 0:
            line_end = len(text)
        cells: list[Cell] = []
        cell_start = line_start
        for content in text[line_start:line_end].split("\t"):
            cells.append((cell_start, cell_start + len(content)))
            cell_start += len(content) + 1
        if len(cells) != width:
            return
        yield _Row(cells, line_end)
        line_start = line_end + 1


def _in_html(text: str, first: int) -> tuple[list[Secret], int]:
    """Return the secrets below a name in the head of an HTML table, and the end of the table."""
    least = max(0, first - 2 * _MOST_HEAD_CHARS)
    start = max(text.rfind("<tr", least, first), text.rfind("<TR", least, first))
    if start < 0:
        return [], 0
    rows = _html_rows(text, start)
    head = next(rows, None)
    if head is None:
        return [], 0
    names = _sensitive([re.sub(r"<[^<>]*>", "", text[start:end]).strip() for start, end in head.cells])
    is_in_head = any(start <= first < end for start, end in head.cells)
    if not names or not is_in_head:
        return [], 0
    rows_below = (row for row in rows if len(row.cells) == len(head.cells))
    return _found_in(text, names, rows_below, is_data=False)


def _html_rows(text: str, start: int) -> Iterator[_Row]:
    position = start
    for _ in range(_MOST_ROWS):
        opening = _HTML_ROW.match(text, position)
        if opening is None:
            return
        position = opening.end()
        cells = list[Cell]()
        while len(cells) < _MOST_CELLS:
            cell = _HTML_CELL.match(text, position)
            if cell is None:
                break
            cells.append(cell.span("cell"))
            position = cell.end()
        if not cells:
            return
        yield _Row(cells, cells[-1][1])


def _found_in(text: str, names: dict[int, str], rows: Iterable[_Row], *, is_data: bool) -> tuple[list[Secret], int]:
    """Return the secrets in the cells of rows that are below sensitive names, and the end of the last row.

    Args:
        text: the text with the rows.
        names: the names of secrets by their columns.
        rows: the rows, in the text's order.
        is_data: whether the rows are certainly data, so that short values below a name of secrets only count, too.
    """
    found: list[Secret] = []
    rows_end = 0
    for row in rows:
        rows_end = row.end
        for column, name in names.items():
            start, end = row.cells[column]
            inner = _IN_TAGS.match(text, start, end)
            if inner is None:
                continue
            is_quoted = is_data and likelihood_of(name) is Likelihood.STRONG
            if is_secret_text(inner["secret"], name, is_quoted=is_quoted):
                found.append(Secret.of(inner, kind_of_name(name)))
    return found, rows_end
