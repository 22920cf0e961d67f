"""What a search looks for: texts, expressions, what is refused, and the bytes by which lines are passed over."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.errors import RecallError
from amplifier_module_context_persistent.log.checksum import seal
from amplifier_module_context_persistent.log.record_line import decode, encode_message
from amplifier_module_context_persistent.search import pattern as pattern_module
from amplifier_module_context_persistent.search.pattern import (
    MOST_CHARS,
    MOST_TEXT_CHARS,
    Pattern,
    SlowPatternError,
    compile_pattern,
    compile_regex,
    exact_literals,
    regex_pattern,
    text_pattern,
)
from amplifier_module_context_persistent.search.replace_matches import replace_matches
from amplifier_module_context_persistent.search.word_search import words_pattern
from amplifier_module_context_persistent.sessions.transcript import Transcript
from tests.support.sessions_of_a_home import write
from tests.support.sweeps import proof


def found(query: str, text: str, *, regex: bool = True) -> list[str]:
    return [text[start:end] for start, end in compile_pattern(query, regex=regex).spans(text)]


def test_a_text_is_found_whatever_its_case_and_special_characters() -> None:
    """A query is no expression, and the case of letters does not matter."""
    assert found("a.B*", "A.b* a.b* aXbb", regex=False) == ["A.b*", "a.b*"]
    assert found("größe", "GRÖSSE Größe GRÖßE", regex=False) == ["Größe", "GRÖßE"]


def test_an_expression_minds_case_and_lines() -> None:
    """`^` and `$` stand for lines, and `(?i)` makes case not matter."""
    assert found(r"^def \w+", "def a\nDef b\n  def c\ndef d") == ["def a", "def d"]
    assert found(r"(?i)^def \w$", "def a\nDef b\n") == ["def a", "Def b"]


def test_case_matters_or_not_as_it_is_asked() -> None:
    """Both kinds of pattern can be told."""
    assert [text_pattern("ab", ignore_case=ignore).expression.findall("ab AB") for ignore in (True, False)] == [
        ["ab", "AB"],
        ["ab"],
    ]
    assert [regex_pattern("a.", ignore_case=ignore).expression.findall("ab AB") for ignore in (True, False)] == [
        ["ab", "AB"],
        ["ab"],
    ]


def test_empty_matches_are_no_matches() -> None:
    """An expression that matches nothing at all finds nothing."""
    assert found("x*", "abc xx") == ["xx"]


@pytest.mark.parametrize(
    "query",
    [
        "a{99999999999}",
        "(?:(?:a?){1000}){1000}",
        "(?:(?:(?:a{9}){9}|b){9}){99}",
        "[",
        "(?P<x",
        "a" * (MOST_CHARS + 1),
        "(" * 150 + ")" * 50,
        "(?R)",
        r"\p{L}",
        "[[:alpha:]]",
        "a(?i)b",
        r"(a)\2",
    ],
)
def test_what_is_no_expression_of_python_or_too_large_is_refused(query: str) -> None:
    """It is an error that names the parameter, before anything is searched."""
    with pytest.raises(RecallError, match=r"^query: "):
        regex_pattern(query)


def test_a_text_that_is_too_long_is_refused() -> None:
    """The error says how long it may be."""
    text_pattern("x" * MOST_TEXT_CHARS)
    with pytest.raises(RecallError, match="at most 1,000 characters, not 1,001"):
        text_pattern("x" * (MOST_TEXT_CHARS + 1))


@pytest.mark.parametrize(
    "query",
    [
        *(r"(?<!\w)foo(?=bar)", r"(\w+) \1", r"(foo|bar)*baz", r"a*b*c*d*", r"foo.{0,200}bar.{0,200}baz"),
        *(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", r"(a?b?)++c", r"(?P<x>a)(?(x)b|c)"),
        *(
            r"def \w+\(.*\):",
            r"\d{1,3}\.\d{1,3}\.\d{1,3}",
            r"(foo|bar)(baz)?",
            r"[0-9a-f]{7,40}",
            r"(?i)error.*line \d+",
        ),
    ],
)
def test_ordinary_expressions_are_allowed(query: str) -> None:
    """What a model asks for every day compiles."""
    assert regex_pattern(query).expression.pattern == query


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("query", "text"),
    [
        (r"(.*a){20}Z", "a" * 40_000),
        (r"(\w*)(\w*)(\w*)\1[-+]", "ab" * 20_000),
    ],
)
def test_an_expression_that_runs_away_is_given_up(query: str, text: str) -> None:
    """It is an error, after the matches before it, and not a process that hangs."""
    with pytest.raises(SlowPatternError):
        list(regex_pattern(query).spans("Z" + text + "Z"))


def test_a_search_that_nobody_waits_for_any_more_ends_at_the_next_window() -> None:
    """What was found before is given."""
    asked = 0

    def expired() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2

    spans = text_pattern("x").spans("-" * 10_000 + "x" + "-" * 100_000 + "x", expired=expired)
    assert next(spans) == (10_000, 10_001)
    with pytest.raises(SlowPatternError):
        next(spans)


EXPRESSIONS = st.recursive(
    st.sampled_from(
        [*("a", "b", "k", "é", ".", r"\w", r"\b", r"\s", "^", "$", "[ab]", "[^a]", "{e}", "{", "}"), r"\.", "\\{", "-"]
    ),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4).map("".join)
        | st.tuples(st.sampled_from(["(", "(?:", "(?=", "(?!"]), inner).map(lambda two: f"{two[0]}{two[1]})")
        | st.tuples(inner, inner).map("|".join)
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?", "{,2}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        )
        | st.tuples(st.sampled_from("abé."), st.sampled_from(["*", "+", "?", "{2}", "{0,1}", "??"])).map("".join)
    ),
    max_leaves=8,
)


@given(EXPRESSIONS.filter(lambda query: len(query) <= MOST_CHARS), st.text("abkKé.-{}e \n", max_size=12), st.booleans())
def test_an_expression_means_what_python_means_by_it(query: str, text: str, ignore: bool) -> None:
    """What is found is what `re` finds, and no line that holds it is passed over."""
    flags = re.MULTILINE | (re.IGNORECASE if ignore else re.NOFLAG)
    expected = next((m.span() for m in re.finditer(query, text, flags) if m.end() > m.start()), None)
    pattern = regex_pattern(query, ignore_case=ignore)
    assert next(pattern.spans(text), None) == expected
    line, _ = seal(encode_message({"role": "user", "content": text}, message_id="m", timestamp="t"), 0)
    assert expected is None or pattern.may_match(line)


def test_a_match_in_a_long_line_is_found_once_wherever_it_stands() -> None:
    """Windows of a line overlap, and what both of them see is told once."""
    pattern = regex_pattern(r"needle\d")
    for before in [*range(16_370, 16_390), *range(12_280, 12_300), 0, 39_999]:
        text = "-" * before + "needle7" + "-" * 20_000
        assert list(pattern.spans(text)) == [(before, before + 7)]


def test_the_end_of_a_window_is_no_end_of_a_line() -> None:
    """What would match only because the text is cut there is no match."""
    assert list(regex_pattern("-$").spans("-" * 50_000 + "x")) == []
    assert list(regex_pattern(r"-\b").spans("-" * 50_000 + "x")) == [(49_999, 50_000)]


def test_lines_are_not_cut_in_two_by_windows() -> None:
    """A window ends at the end of a line."""
    text = "\n".join(f"{n}: {'x' * 90} end{n}" for n in range(5_000))
    assert len(found(r"^\d+: x+ end\d+$", text)) == 5_000


@proof
@given(before=st.text(max_size=20), query=st.text(min_size=1, max_size=8), after=st.text(max_size=20))
def test_no_line_with_a_match_is_passed_over(before: str, query: str, after: str) -> None:
    """Whatever the text, the record of a message that holds it may match."""
    line, _ = seal(
        encode_message({"role": "user", "content": before + query + after}, message_id="m", timestamp="t"), 0
    )
    stored = decode(line)["content"]
    for asked in (query, query.swapcase()):
        for pattern in (text_pattern(asked), text_pattern(asked, ignore_case=False)):
            assert pattern.may_match(line) or not list(pattern.spans(stored))
        pattern = regex_pattern(re.escape(asked), ignore_case=True)
        assert pattern.may_match(line) or not list(pattern.spans(stored))


def test_a_line_that_is_written_in_ascii_may_hold_any_letter() -> None:
    """As one with a lone surrogate is: its letters beyond ASCII are escaped there."""
    message = {"role": "user", "content": "größe \ud800"}
    line, _ = seal(encode_message(message, message_id="m", timestamp="t"), 0)
    assert text_pattern("größe", ignore_case=False).may_match(line.rstrip(b"\n"))
    assert not text_pattern("grosse", ignore_case=False).may_match(line.rstrip(b"\n"))


@pytest.mark.parametrize(
    ("query", "needle"),
    [("abc", b"abc"), ("aBc", b"abc"), ('a"b', b""), ("a\\b", b""), ("a\nb", b""), ("ä", b""), ("a b/c", b"a b/c")],
)
def test_the_needle_of_a_text(query: str, needle: bytes) -> None:
    """Plain ASCII is looked for in the bytes, in lower case; what JSON may escape is not."""
    assert text_pattern(query).needle == needle


@pytest.mark.parametrize(
    ("query", "needle"),
    [
        ("foo.*barbaz", b"barbaz"),
        ("fooo*", b"foo"),
        ("(foo)bar", b"bar"),
        ("foo|bar", b""),
        ("(?i)FoO-", b"foo-"),
        ("(?i)skipped-", b"pped-"),
        ("(?i:foo)", b""),
        ("(?i)größe", b"gr"),
        ("a+größe", b"gr"),
        ("a\ud800b+", b"a"),
        ('a"bc', b"bc"),
    ],
)
def test_the_needle_of_an_expression(query: str, needle: bytes) -> None:
    """It is the longest run of characters that every match holds."""
    assert regex_pattern(query).needle == needle


TEXT = "The Connection was reset\nby peer; retrying os.path.join() in 30 s. このAPI検索は速い"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("connection", ["Connection"]),
        ("connect", []),
        ("connect*", ["Connect"]),
        ("peer connection", ["Connection", "peer"]),
        ("peer absent", []),
        ('"reset by peer"', ["reset\nby peer"]),
        ('"reset peer"', []),
        ('"reset by pee"*', ["reset\nby pee"]),
        ('"by peer', ["by peer"]),
        ("os.path", ["os.path"]),
        ("path os", ["os", "path"]),
        ("S", ["s"]),
        ("API", ["API"]),
        ("検索", ["検索"]),
        ("索は速", ["索は速"]),
        ("-- peer !!", ["peer"]),
        ("(peer)", ["peer"]),
    ],
)
def test_words_are_found(query: str, found: list[str]) -> None:
    """Whatever their case and order; a word is a whole one unless it ends in a star."""
    pattern = words_pattern(query)
    assert [TEXT[first:last] for first, last in pattern.spans(TEXT)] == found
    assert pattern.may_match(TEXT.encode()) or not found


def test_a_phrase_is_found_in_a_long_text() -> None:
    """Also where a line break stands between its words."""
    text = f"{'filler ' * 5_000}reset\nby peer {'filler ' * 5_000}"
    assert [text[first:last] for first, last in words_pattern('"reset by peer"').spans(text)] == ["reset\nby peer"]


def test_letters_with_several_forms_are_not_ruled_out() -> None:
    """The Kelvin sign is a K."""
    pattern = words_pattern("kelvin")
    assert pattern.may_match("\u212aelvin".encode())
    assert list(pattern.spans("\u212aelvin")) == [(0, 6)]


@pytest.mark.parametrize("query", ["", '"', "*** --", "x" * 2_000, "a " * 40])
def test_what_holds_no_words_is_refused(query: str) -> None:
    """And so is what is too long."""
    with pytest.raises(RecallError):
        words_pattern(query)


CALLS = [{"id": "c1", "tool": "bash", "arguments": {}}, {"id": "c2", "tool": "grep", "arguments": {}}]
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Go.", "name": "somebody"},
    {"role": "assistant", "content": "", "tool_calls": [*CALLS, {**CALLS[0], "id": "c3"}]},
    {"role": "tool", "tool_call_id": "c2", "content": "two"},
    {"role": "tool", "tool_call_id": "c1", "name": "renamed", "content": "one"},
    {"role": "tool", "tool_call_id": "c9", "content": "an orphan"},
    {"role": "tool", "tool_call_id": "c3", "content": "three"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c2", "tool": "read", "arguments": {}}]},
    {"role": "tool", "tool_call_id": "c2", "content": "two again"},
]
TOOLS = [(), ("bash", "grep"), ("grep",), ("renamed",), (), ("bash",), ("read",), ("read",)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of these messages."""
    return write(tmp_path / "log.jsonl", MESSAGES)


def test_a_message_is_about_what_it_calls_or_answers(path: Path) -> None:
    """A result that does not say its tool has that of the nearest call before it; each name is told once."""
    with Transcript(path) as transcript:
        assert [placed.tools for placed in transcript.placed()] == TOOLS


def test_messages_are_picked_by_tool(path: Path) -> None:
    """Calls and results, also where the call stands before the part that is looked at."""
    with Transcript(path) as transcript:
        assert [placed.number for placed in transcript.placed(tools=["grep"])] == [2, 3]
        assert [placed.number for placed in transcript.placed(2, tools=["grep"])] == [3]
        assert [placed.number for placed in transcript.placed(tools=["bash"])] == [2, 6]


@pytest.mark.parametrize(
    "query",
    ["key", "key|pass", "(?i)key|Pass", "(?i:k)ey", "k.y(?=s)", "(ke|pa)[ys]+", "[Kk]ey|", "p(?#key)ass", "(?x)k e y"],
)
@given(text=st.text("kKeEyY pasPAS\n", max_size=40))
def test_looking_for_literals_first_changes_no_replacement(query: str, text: str) -> None:
    """Whatever the case, with alternatives, groups and repeats."""
    expression = compile_regex(query)
    literals = exact_literals(query, expression)
    assert replace_matches(expression, "-", text, literals=literals) == replace_matches(expression, "-", text)


@proof
def test_the_time_of_whoever_takes_the_matches_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Printing each of many matches takes longer than an expression may."""
    monkeypatch.setattr(pattern_module, "WINDOW_S", 0.05)
    taken = 0
    for _ in regex_pattern("[^ ]").spans("many matches"):
        end_s = time.process_time() + 0.02
        while time.process_time() < end_s:
            pass
        taken += 1
    assert taken == 11


@proof
def test_a_pause_of_the_process_is_not_taken_for_a_slow_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a collection of garbage: here it falls into the first match of the first window."""
    monkeypatch.setattr(pattern_module, "WINDOW_S", 0.05)
    pauses = 0

    class Paused:
        def finditer(self, *given: object, **how: object) -> Iterator[re.Match[str]]:
            for match in expression.finditer(*given, **how):
                nonlocal pauses
                end_s = time.process_time() + (0.0 if pauses else 0.2)
                pauses += 1
                while time.process_time() < end_s:
                    pass
                yield match

    asked = regex_pattern("[^ ]")
    expression: Any = asked.expression
    paused = replace(asked, expression=cast("Any", Paused()))
    assert len(list(paused.spans("many matches"))) == 11


def test_an_expression_that_takes_too_much_memory_is_given_up() -> None:
    """It is an error of the search, not of the process."""

    class Greedy:
        def finditer(self, *_: object, **__: object) -> object:
            raise MemoryError

    greedy = Pattern(Greedy())  # type: ignore[arg-type]
    with pytest.raises(SlowPatternError, match="too much memory"):
        list(greedy.spans("text"))
