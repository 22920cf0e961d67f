"""What was measured, as text and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .found import Found
from .store import BARE

Table = tuple[str, list[str], list[list[str]]]
"""What it is about, its head, and a line for each store."""
Column = tuple[str, Callable[[Found], str]]


def tables(found: Mapping[str, Found], messages: int) -> list[Table]:
    """All tables; `messages` is the length of the long session."""
    first, long = next(iter(found.values())), f"{messages:,} messages"

    def time(label: str, measure: str) -> Column:
        return label, lambda one: f"{seconds(one.median(measure))} ({ratio(one, first, measure)})"

    times = [
        time("append, new session", "append new"),
        time(f"append, {long}", "append long"),
        time(f"read back {long}", "read back"),
        time("start, new session", "resume none"),
        time(f"start, {long}", "resume long"),
    ]
    sizes: list[Column] = [
        ("items given to the model", lambda one: f"{one.given:,}"),
        ("memory of that process", lambda one: "" if one.peak_mb is None else f"{one.peak_mb:,.0f} MB"),
        ("one message more on the disk", lambda one: size(one.grown_bytes)),
    ]
    kills = first.survived.kills if first.survived else 0
    faults: list[Column] = [
        (f"acknowledged, {kills} SIGKILLs", lambda one: str(one.survived)),
        ("a torn write", lambda one: str(one.damaged["torn_write"])),
        ("a flipped bit", lambda one: str(one.damaged["flipped_bit"])),
        ("a file cut in half", lambda one: str(one.damaged["cut_file"])),
    ]
    level: list[Column] = [("an acknowledged message survives a", lambda one: one.durability)]
    name = next(iter(found))
    return [
        _table(f"Time; in parentheses the ratio to `{name}`, the median of each round's", times, found),
        _table(f"Size, {long}", sizes, found),
        _table("What is left after faults", faults, found),
        _table("What an acknowledgement stands for", level, found),
    ]


def summary(found: Mapping[str, Found], messages: int) -> str:
    """The short table of the README: sessions, without the bare file that they can be compared with."""
    first = next(iter(found.values()))
    columns: list[Column] = [
        ("append", lambda one: ratio(one, first, "append long")),
        ("start", lambda one: ratio(one, first, "resume long")),
        ("one more on the disk", lambda one: size(one.grown_bytes)),
        ("after a torn write", lambda one: str(one.damaged["torn_write"])),
        ("after a flipped bit", lambda one: str(one.damaged["flipped_bit"])),
    ]
    sessions = {name: one for name, one in found.items() if name != BARE}
    _, head, lines = _table("", columns, sessions)
    return markdown([f"{messages:,} messages", *head[1:]], lines)


def as_text(found: Mapping[str, Found], messages: int) -> str:
    """Tables in columns."""
    parts = []
    for title, head, lines in tables(found, messages):
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        rows = [
            "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)) for line in (head, *lines)
        ]
        parts.append("\n".join([f"{title}:", *(row.rstrip() for row in rows)]))
    return "\n\n".join(parts)


def as_markdown(found: Mapping[str, Found], messages: int) -> str:
    """The same for a page."""
    return "\n\n".join(f"{title}:\n\n{markdown(head, lines)}" for title, head, lines in tables(found, messages))


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """One table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *lines))


def seconds(value: float) -> str:
    """A time in the unit that fits it."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if value * factor < 999.5:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.2f} s"


def size(count: float) -> str:
    """So many bytes."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} KB"


def ratio(one: Found, first: Found, measure: str) -> str:
    """The ratio to the first store, with two digits or as a whole number."""
    value = one.ratio(first, measure)
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"


def _table(title: str, columns: Sequence[Column], found: Mapping[str, Found]) -> Table:
    lines = [[name, *(cell(one) for _, cell in columns)] for name, one in found.items()]
    return title, ["", *(label for label, _ in columns)], lines
