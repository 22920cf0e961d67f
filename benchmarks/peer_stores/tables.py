"""What was measured, as text and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .found import Found

Table = tuple[str, list[str], list[list[str]]]
"""What it is about, its head, and a line for each store."""
Column = tuple[str, Callable[[Found], str]]


def tables(found: Mapping[str, Found], messages: int) -> list[Table]:
    """All tables; `messages` is the length of the long session."""
    first, long = next(iter(found.values())), f"{messages:,} messages"

    def time(label: str, measure: str) -> Column:
        return label, lambda one: f"{seconds(one.median(measure))} ({one.ratio(first, measure):.2g})"

    times = [
        time("append, new session", "append new"),
        time(f"append, {long}", "append long"),
        time(f"read back {long}", "read back"),
        time("start, new session", "resume none"),
        time(f"start, {long}", "resume long"),
    ]
    sizes: list[Column] = [
        (f"given to the model, {long}", lambda one: f"{one.given:,} messages"),
        ("memory of that process", lambda one: "" if one.peak_mb is None else f"{one.peak_mb:,.0f} MB"),
        (f"disk for one message more, {long}", lambda one: f"{one.grown_bytes / 1e3:,.1f} KB"),
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
        _table("Size", sizes, found),
        _table("What is left after faults", faults, found),
        _table("What an acknowledgement stands for", level, found),
    ]


def summary(found: Mapping[str, Found], messages: int) -> str:
    """The short table of the README."""
    columns: list[Column] = [
        ("append", lambda one: seconds(one.median("append long"))),
        ("start to first messages", lambda one: seconds(one.median("resume long"))),
        ("disk for one more", lambda one: f"{one.grown_bytes / 1e3:,.1f} KB"),
        ("after a torn write", lambda one: str(one.damaged["torn_write"])),
        ("after a flipped bit", lambda one: str(one.damaged["flipped_bit"])),
    ]
    _, head, lines = _table("", columns, found)
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


def _table(title: str, columns: Sequence[Column], found: Mapping[str, Found]) -> Table:
    lines = [[name, *(cell(one) for _, cell in columns)] for name, one in found.items()]
    return title, ["", *(label for label, _ in columns)], lines
