"""Which lines of a message match, and what stands around them."""

import contextlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.search.pattern import regex_pattern, text_pattern
from amplifier_module_context_persistent.sessions.pattern_in_session import (
    MOST_SPANS,
    FoundLine,
    matching_lines,
    search,
    searched_text,
)
from amplifier_module_context_persistent.sessions.transcript import Transcript
from tests.support.logs import append_bodies
from tests.support.sweeps import proof

TEXT = "one\ntwo two\nthree\nfour\nfive\nsix\ntwo"


def shown(pattern: str, *, context: int = 0) -> list[str]:
    """The lines that are given, those that match with a sign."""
    lines = matching_lines(TEXT, regex_pattern(pattern).spans(TEXT), context=context)
    return [f"{line.number}{'!' if line.spans else ''}" for line in lines]


@pytest.mark.parametrize(
    ("pattern", "context", "lines"),
    [
        ("two", 0, ["2!", "7!"]),
        ("two", 1, ["1", "2!", "3", "6", "7!"]),
        ("two", 2, ["1", "2!", "3", "4", "5", "6", "7!"]),
        ("two", 99, ["1", "2!", "3", "4", "5", "6", "7!"]),
        ("o", 0, ["1!", "2!", "4!", "7!"]),
        ("o", 1, ["1!", "2!", "3", "4!", "5", "6", "7!"]),
        ("zero", 3, []),
        ("e\nfour\nf", 0, ["3!", "4!", "5!"]),
        ("^f", 0, ["4!", "5!"]),
    ],
)
def test_lines_are_given_once_and_in_order(pattern: str, context: int, lines: list[str]) -> None:
    """Those that match, and so many around each."""
    assert shown(pattern, context=context) == lines


def test_a_line_says_where_its_matches_are() -> None:
    """In characters of the line, line breaks belonging to none."""
    assert list(matching_lines(TEXT, text_pattern("TWO").spans(TEXT))) == [
        FoundLine(2, "two two", ((0, 3), (4, 7))),
        FoundLine(7, "two", ((0, 3),)),
    ]
    assert list(matching_lines("ab\nba", regex_pattern("b\n").spans("ab\nba"))) == [FoundLine(1, "ab", ((1, 2),))]
    assert list(matching_lines("ab\nba", regex_pattern("b\nb").spans("ab\nba"))) == [
        FoundLine(1, "ab", ((1, 2),)),
        FoundLine(2, "ba", ((0, 1),)),
    ]


def test_not_every_match_of_a_very_long_line_is_told() -> None:
    """The first ones are."""
    (line,) = matching_lines("ab" * (MOST_SPANS + 1), regex_pattern("b").spans("ab" * (MOST_SPANS + 1)))
    assert line.spans == tuple((at, at + 1) for at in range(1, 2 * MOST_SPANS, 2))


@given(
    text=st.text("ab\n", max_size=40),
    wanted=st.text("ab", min_size=1, max_size=2),
    context=st.integers(0, 3),
)
def test_it_is_what_grep_would_show(text: str, wanted: str, context: int) -> None:
    """A line is given if it or one that is near enough matches; spans are those of the matches."""
    lines = text.split("\n")
    matching = {number for number, line in enumerate(lines) if wanted in line}
    near = {n for n in range(len(lines)) if any(abs(n - other) <= context for other in matching)}
    given_lines = list(matching_lines(text, text_pattern(wanted, ignore_case=False).spans(text), context=context))
    assert [line.number - 1 for line in given_lines] == sorted(near)
    for line in given_lines:
        assert line.text == lines[line.number - 1]
        assert list(line.spans) == [match.span() for match in re.finditer(re.escape(wanted), line.text)]


@pytest.mark.usefixtures("impatient")
def test_a_message_on_which_an_expression_takes_too_long_is_given_as_not_whole(tmp_path: Path) -> None:
    """What was found in it before is given, and the search goes on with the next message."""
    contents = ["abZ", "abZ\n" + "x" * 20_000 + "\n" + "a" * 40_000 + "b", "abZ"]
    lines = (json.dumps({"role": "user", "content": content}) + "\n" for content in contents)
    (tmp_path / "log.jsonl").write_text("".join(lines))
    with Transcript(tmp_path / "log.jsonl") as transcript:
        found = list(search(transcript, regex_pattern("abZ|(a+)+$")))
    assert [(each.placed.number, [line.number for line in each.lines], each.is_whole) for each in found] == [
        (1, [1], True),
        (2, [1], False),
        (3, [1], True),
    ]


ARGUMENTS: list[object] = [
    {"path": "src/app.py", "lines": [1, 20], "deep": {"kind": "a b", "all": True}},
    '{"path": "src\\/app.py", "text": "caf\\u00e9s \\u0041nton", "n": 1E5, "most": 1e999}',
    '{"old": "x = \\"one\\"\\n\\ty = 2"}',
    "no JSON: src/app.py",
    ["src", 1e-7],
    {"text": 'say "no"\nand \\ go', "n": 1e5, "none": None},
]


@proof(quick=1)
@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.parametrize(
    "wanted",
    [
        *("path: src/app.py", "src/app.py", "lines: [1, 20]", '"kind": "a b"', "Anton", "anton"),
        *("cafés Anton", "100000", "100000.0", "Infinity", "most: Inf", "none: null", "1e-07"),
        *('x = "one"', "y = 2", "old:", "bash c1", "say", 'say "no"', "and \\ go"),
        *("no such word", "pathsrc", "src app"),
    ],
)  # fmt: skip
def test_calls_are_found_by_their_text_however_their_arguments_are_written(
    tmp_path: Path, wanted: str, ignore_case: bool
) -> None:
    """No line is left unparsed whose text matches."""
    path = tmp_path / "log.jsonl"
    with contextlib.closing(FileLog(str(path))) as log:
        bodies = [
            encode_message(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": f"c{number}", "function": {"name": "bash", "arguments": arguments}}],
                },
                message_id=f"m{number}",
                timestamp="2026-01-01T00:00:00.000Z",
            )
            for number, arguments in enumerate(ARGUMENTS)
        ]
        append_bodies(log, *bodies)
    pattern = text_pattern(wanted, ignore_case=ignore_case)
    with Transcript(str(path)) as transcript:
        expected = [
            placed.number for placed in transcript.placed() if list(pattern.spans(searched_text(placed.message)))
        ]
        assert [found.placed.number for found in search(transcript, pattern)] == expected
