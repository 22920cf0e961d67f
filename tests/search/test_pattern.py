"""What a search looks for: texts, expressions, what is refused, and the bytes by which lines are passed over."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.errors import RecallError
from amplifier_module_context_persistent.log.record import decode, encode_message, seal
from amplifier_module_context_persistent.search.pattern import MOST_CHARS, compile_pattern, regex_pattern, text_pattern


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
        r"(a+)+$",
        r"(a*)*b",
        r"(?:a|aa)+$",
        r"(foo|bar)*baz",
        r"(.*a){20}",
        r"(a{1,3}){5}",
        r"(?=(a+)+)b",
        r"(?>a*)*b",
        r"(a?b?)*c",
        r"a*b*c*d*",
        r".*.*.*.*=",
        r"(aa|aa)" * 9,
        r"(a)\1",
        r"(?P<x>a)(?(x)b|c)",
        "a{99999999999}",
        "[",
        "(?P<x",
        "a" * (MOST_CHARS + 1),
        "(" * 150 + ")" * 50,
    ],
)
def test_an_expression_that_could_run_away_or_is_none_is_refused(query: str) -> None:
    """It is an error that names the parameter, before anything is searched."""
    with pytest.raises(RecallError, match=r"^query: "):
        regex_pattern(query)


@pytest.mark.parametrize(
    "query",
    [r"def \w+\(.*\):", r"\d{1,3}\.\d{1,3}\.\d{1,3}", r"(foo|bar)(baz)?", r"[0-9a-f]{7,40}", r"(?i)error.*line \d+"],
)
def test_ordinary_expressions_are_allowed(query: str) -> None:
    """What a model asks for every day compiles."""
    assert regex_pattern(query).expression.pattern == query


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (r"x*x*x*y", "y" + "x" * 20_000),
        (r"x*x*y", "x" * 20_000),
        (r".*foo.*bar", "foo" * 8_000),
        (r"\s+$", " " * 20_000 + "x"),
    ],
)
def test_the_worst_that_is_allowed_ends_soon(query: str, text: str) -> None:
    """On a text made against it, a search looks at the clock between windows and stops."""
    start = time.monotonic()
    list(regex_pattern(query).spans(text, expired=lambda: time.monotonic() - start > 0.5))
    assert time.monotonic() - start < 5


def test_a_match_in_a_long_line_is_found_once_wherever_it_stands() -> None:
    """Windows of a line overlap, and what both of them see is told once."""
    pattern = regex_pattern(r"needle\d")
    for before in [*range(3_980, 4_010), *range(2_980, 3_010), 0, 9_999]:
        text = "-" * before + "needle7" + "-" * 6_000
        assert list(pattern.spans(text)) == [(before, before + 7)]


def test_lines_are_not_cut_in_two_by_windows() -> None:
    """A window ends at the end of a line."""
    text = "\n".join(f"{n}: {'x' * 90} end{n}" for n in range(500))
    assert len(found(r"^\d+: x+ end\d+$", text)) == 500


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
        ("a+größe", "größe".encode()),
        ("a\ud800b+", b"a"),
        ('a"bc', b"bc"),
    ],
)
def test_the_needle_of_an_expression(query: str, needle: bytes) -> None:
    """It is the longest run of characters that every match holds."""
    assert regex_pattern(query).needle == needle
