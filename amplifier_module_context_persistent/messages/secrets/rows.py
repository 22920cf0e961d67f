"""Secrets in rows below a head that names the columns once: SQL, JSON, HTML.

`INSERT INTO users (name, password) VALUES ('ada', '…')`, `"columns": ["name", "token"], "rows": [["ada", "…"]]`, a
table of HTML, rows that `COPY … FROM stdin` reads. A row belongs to the head if it has the same number of cells. A list
under a name (`"password": ["…", "…"]`) is a column, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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


def find_in_rows(text: str, first: int, end: int) -> tuple[list[Secret], int]:
    """Find the values below a name in a head, or in a list under the name.

    Args:
        text: any text.
        first: the start of the name.
        end: the end of the name.

    Returns:
        (secrets, end of the rows); the end is 0 if the name is not in a head.
    """
    if opened := _LIST.match(text, end):
        cells = _cells(text, opened.end())
        found = _found_in(text, {0: text[first:end]}, [[cell] for cell in cells], is_data=True)
        return found if len(found[0]) == len(cells) - 1 else ([], 0)  # without this, it is a list of words
    if text.startswith("<", end) or _IN_HTML_HEAD.search(text, max(0, first - 240), first):
        return _in_html(text, first)
    if not _IN_LIST.match(text, end):
        return [], 0
    least = max(0, first - _MOST_HEAD_CHARS)
    start = max(text.rfind("(", least, first), text.rfind("[", least, first))
    head = _head(text, start + 1) if start >= 0 else None
    if head is None or head[1] < end:
        return [], 0
    names, head_end = head
    sensitive = _sensitive(names)
    if not sensitive:
        return [], 0
    if copied := _FROM_INPUT.match(text, head_end):
        return _found_in(text, sensitive, _copied_rows(text, copied.end(), len(names)), is_data=True)
    opening = _TO_ROWS.match(text, head_end)
    if opening is None:
        return [], 0
    is_data = _IS_DATA.search(opening["between"]) is not None
    return _found_in(text, sensitive, _rows(text, opening.end(), len(names)), is_data=is_data)


def _head(text: str, at: int) -> tuple[list[str], int] | None:
    """Return the names in a list and the end of the list; None if it is not a list of names."""
    names: list[str] = []
    while (cell := _HEAD_CELL.match(text, at)) is not None and len(names) < _MOST_CELLS:
        names.append(cell["name"] or cell["plain"])
        at = cell.end()
        if cell["after"] != ",":
            return names, at
    return None


def _sensitive(names: list[str]) -> dict[int, str]:
    return {
        number: name
        for number, name in enumerate(names)
        if likelihood_of(name) is not Likelihood.NONE or names_service(name)
    }


def _cells(text: str, at: int) -> list[Cell]:
    """Return the values of a list up to its end; an empty list if they are not plain values."""
    cells: list[Cell] = []
    while (cell := _CELL.match(text, at)) is not None and len(cells) < _MOST_ROWS:
        group = "quoted" if cell["quoted"] is not None else "boxed"
        cells.append(cell.span(group) if cell[group] is not None else (at, at))
        at = cell.end()
        if cell["after"] != ",":
            return [*cells, (at, at)]
    return []


def _rows(text: str, at: int, width: int) -> Iterator[list[Cell]]:
    """Yield adjacent rows that have `width` cells."""
    for _ in range(_MOST_ROWS):
        row = _cells(text, at)
        if len(row) != width + 1:
            return
        yield row
        opening = _TO_NEXT_ROW.match(text, row[-1][1])
        if opening is None:
            return
        at = opening.end()


def _copied_rows(text: str, at: int, width: int) -> Iterator[list[Cell]]:
    """Yield the rows that are lines with cells between tabs."""
    for _ in range(_MOST_ROWS):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        cells: list[Cell] = []
        for part in text[at:end].split("\t"):
            cells.append((at, at + len(part)))
            at += len(part) + 1
        if len(cells) != width:
            return
        yield cells
        at = end + 1


def _in_html(text: str, first: int) -> tuple[list[Secret], int]:
    """Return the secrets below a name in the head of an HTML table, and the end of the table."""
    lowest = max(0, first - 2 * _MOST_HEAD_CHARS)
    start = max(text.rfind("<tr", lowest, first), text.rfind("<TR", lowest, first))
    rows = _html_rows(text, start) if start >= 0 else iter(())
    head = next(rows, [])
    names = _sensitive([re.sub(r"<[^<>]*>", "", text[start:end]).strip() for start, end in head])
    if not names or not any(start <= first < end for start, end in head):
        return [], 0
    return _found_in(text, names, (row for row in rows if len(row) == len(head)), is_data=False)


def _html_rows(text: str, at: int) -> Iterator[list[Cell]]:
    for _ in range(_MOST_ROWS):
        opening = _HTML_ROW.match(text, at)
        if opening is None:
            return
        at, cells = opening.end(), list[Cell]()
        while (cell := _HTML_CELL.match(text, at)) is not None and len(cells) < _MOST_CELLS:
            cells.append(cell.span("cell"))
            at = cell.end()
        if not cells:
            return
        yield cells


def _found_in(
    text: str, names: dict[int, str], rows: Iterator[list[Cell]] | list[list[Cell]], *, is_data: bool
) -> tuple[list[Secret], int]:
    """Return the secrets in the cells of rows that are below sensitive names."""
    found: list[Secret] = []
    rows_end = 0
    for row in rows:
        rows_end = row[-1][1]
        for number, name in names.items():
            start, end = row[number]
            inner = _IN_TAGS.match(text, start, end)
            if inner is None:
                continue
            is_quoted = is_data and likelihood_of(name) is Likelihood.STRONG
            if is_secret_text(inner["secret"], name, is_quoted=is_quoted):
                found.append(Secret(*inner.span("secret"), kind_of_name(name)))
    return found, rows_end
