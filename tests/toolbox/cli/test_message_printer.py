"""How a message is printed: folded, as Markdown in a terminal, and never raw."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.sessions.transcript import LiveMessage
from amplifier_module_context_persistent.toolbox.cli.message_printer import MessagePrinter, fold
from tests.support import histories
from tests.support.commands import PLAIN, is_harmless, shows
from tests.support.sessions_of_a_home import TERMINAL

PIECES = (
    *(
        "# ",
        "- ",
        "1. ",
        "> ",
        "`",
        "```",
        "```py\n",
        "*",
        "**",
        "_",
        "~~",
        "[",
        "]",
        "(",
        ")",
        "<",
        "<b>",
        "<!--",
        "-->",
    ),
    *(
        "&#27;",
        "&lt;",
        "\n",
        "\n\n",
        "    ",
        "\t",
        "|",
        "|---|",
        "| a | b |\n|---|---|\n",
        "x",
        "word ",
        "![",
        "http://a",
    ),
    *(
        "<http://a>",
        "\x1b]8;;http://x\x07",
        "\x1b[2J",
        "\x9b",
        "\u202e",
        "\ud800",
        "\r",
        "\x00",
        "é漢🛒",
        "[a]: b\n",
        "\\",
    ),
    *("[red]", "[/]", "](`", "---\n", "==="),
)


def shown(
    message: Mapping[str, Any], env: Mapping[str, str], *, full: bool = False, tools: tuple[str, ...] = ()
) -> str:
    """What is printed of a message."""
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        for name in ("NO_COLOR", "FORCE_COLOR"):
            patch.delenv(name, raising=False)
        for name, value in env.items():
            patch.setenv(name, value)
        MessagePrinter(full=full).show(LiveMessage(1, dict(message), lambda: tools))
    return output.getvalue()


def plain(output: str) -> str:
    """Without colours and the spaces that fill lines."""
    return "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", output).split("\n"))


def said(text: Any, role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": text}


def test_markdown_is_rendered_in_a_terminal_only() -> None:
    """Signs of emphasis become styles there, and stay in a pipe."""
    text = "Some **bold** text.\n\n```python\nprint(1)\n```"
    assert "**bold**" in shown(said(text), PLAIN)
    assert "```python" in shown(said(text), PLAIN)
    rendered = shown(said(text), TERMINAL)
    assert "Some bold text." in plain(rendered)
    assert "```" not in rendered
    assert "\x1b[1mbold" in rendered
    assert "**bold**" in shown(said(text, "user"), TERMINAL)  # a person's words stand as they were typed


def test_without_colour_there_is_none() -> None:
    """Under NO_COLOR a terminal gets weights of letters, and no colours."""
    codes = set(re.findall(r"\x1b\[([0-9;]*)m", shown(said("# T\n\n**b** `c`"), {**TERMINAL, "NO_COLOR": "1"})))
    assert codes
    assert all(int(code or 0) < 30 for one in codes for code in one.split(";"))


@pytest.mark.parametrize(
    "text",
    [
        "before <system-reminder>words</system-reminder> after",
        "<div>\nblock\n</div>",
        "<!-- a comment -->",
        "&#27;[31m &amp; &lt;",
        "[ref]: http://hidden.example",
        "[text](http://target.example)",
        '[text](http://target.example "title")',
        "![alt](http://image.example/a.png)",
        ">" * 40 + " deep",
        "|a" * 60 + "|\n" + "|-" * 60 + "|\n" + "|cell" * 60 + "|",
        "first\nsecond",
    ],
)
def test_markdown_hides_nothing(text: str) -> None:
    """Every word of a text can be seen, whatever Markdown makes of it."""
    rendered = "".join(plain(shown(said(text), TERMINAL)).split())
    assert [word for word in re.findall(r"[A-Za-z]+|&#27;|&amp;|&lt;", text) if word not in rendered] == []


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("&amp; &#27;[2J", "&amp; &#27;[2J"),
        ("<b>word</b>", "<b>word</b>"),
        ("![alt](http://a)", "!alt (http://a)"),
        ("[text](http://a)", "text (http://a)"),
        ("\n\n[ref]: http://a", "[ref]: http://a"),
    ],
)
def test_what_markdown_would_hide_is_rendered_as_text(text: str, seen: str) -> None:
    """Without giving up the rendering of what stands beside it."""
    rendered = plain(shown(said(f"**bold** {text}"), TERMINAL))
    assert "bold" in rendered
    assert "**" not in rendered
    assert seen in rendered


def test_lines_stay_lines() -> None:
    """A line break in a paragraph is one on the screen."""
    assert "first\nsecond" in plain(shown(said("first\nsecond"), TERMINAL))


def test_long_results_are_folded() -> None:
    """Their first lines are shown, and how many follow; `--full` shows them."""
    result = {"role": "tool", "tool_call_id": "c", "content": "\n".join(f"line {n}" for n in range(1, 131))}
    for env in (PLAIN, TERMINAL):
        folded = plain(shown(result, env))
        assert "    line 12\n    ... 118 lines more; --full shows them\n" in folded
        assert "line 13" not in folded
        assert "    line 130\n" in plain(shown(result, env, full=True))


@pytest.mark.parametrize(
    ("text", "kept", "note"),
    [
        ("a\nb\nc", "a\nb\nc", ""),
        ("a\nb\nc\nd\n\n", "a\nb\nc\nd", ""),
        ("a\nb\nc\nd\ne", "a\nb\nc", "... 2 lines more; --full shows them"),
        ("x" * 1000, "x" * 600, "... 400 characters more; --full shows them"),
        ("", "", ""),
    ],
)
def test_a_text_is_folded_where_that_saves_room(text: str, kept: str, note: str) -> None:
    """A note is never put in the place of one line."""
    assert fold(text, 3) == (kept, note)


def test_arguments_stand_by_name() -> None:
    """A text of several lines stands below its name; what is no JSON object is shown as it is."""
    calls = [
        {"id": "c1", "tool": "edit", "arguments": {"path": "a.py", "new": "one\ntwo", "n": 3}},
        {"id": "c2", "function": {"name": "odd", "arguments": "not json"}},
        {"id": "c3", "tool": "none", "arguments": {}},
    ]
    output = shown({"role": "assistant", "content": "", "tool_calls": calls}, PLAIN)
    assert output.split("\n", 1)[1] == (
        "-> edit  c1\n    path: a.py\n    new:\n    one\n    two\n    n: 3\n-> odd  c2\n    not json\n-> none  c3\n"
    )


def test_blank_text_takes_no_room() -> None:
    """A message that says nothing is said to be empty."""
    assert shown(said([{"type": "text", "text": " \n\n"}, {"type": "text", "text": "word"}]), PLAIN).endswith(
        "\nword\n"
    )
    assert shown(said(""), PLAIN) == "[1] assistant\n(empty message)\n"
    assert shown({"role": "tool", "tool_call_id": "c", "content": " "}, PLAIN).endswith("\n(empty result)\n")
    failed = {**said(""), "metadata": {"is_error": True, "error": "overloaded\nagain"}}
    assert shown(failed, PLAIN).endswith("\n(no answer: overloaded again)\n")


def test_thinking_stands_before_the_text() -> None:
    """As it was thought, also where it is stored after it."""
    output = shown({**said("Answer."), "thinking_block": {"type": "thinking", "thinking": "Hmm."}}, PLAIN)
    assert output.index("    Hmm.") < output.index("Answer.")


def test_tabs_and_ends_of_lines_are_no_noise() -> None:
    """Tabs become spaces, CRLF a line break; a lone CR could hide what stands before it, and is escaped."""
    output = shown({"role": "tool", "tool_call_id": "c", "content": "a\tb\r\nc\rd"}, PLAIN)
    assert "    a       b\n    c\\rd\n" in output


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30), role=st.sampled_from(["assistant", "user", "tool"]))
def test_nothing_raw_reaches_the_terminal(pieces: list[str], role: str) -> None:
    """Whatever stands in any field of a message, Markdown and control sequences included."""
    text = "".join(pieces)
    message = {
        **said(text, role),
        "name": text,
        "tool_call_id": text,
        "tool_calls": [{"id": text, "tool": text, "arguments": {text: text}}],
        "thinking_block": {"type": "thinking", "thinking": text},
        "metadata": {"message_id": text, "timestamp": text, "source": text},
    }
    for env in (TERMINAL, PLAIN):
        assert is_harmless(shown(message, env, tools=(text,)))


@given(history=histories.messages(max_messages=4))
def test_any_message_can_be_shown(history: list[dict[str, Any]]) -> None:
    """Those of every shape that a log may hold."""
    for message in history:
        assert is_harmless(shown(message, TERMINAL))
        assert is_harmless(shown(message, PLAIN, full=True))


@pytest.mark.parametrize("environment", [PLAIN, TERMINAL])
def test_one_long_line_is_folded(environment: dict[str, str]) -> None:
    """A line of 800 kB takes no more room than a long text; what is left out is said, and --full shows it."""
    line = "x" * 800_000
    for message in (said(line), {"role": "tool", "tool_call_id": "c", "content": line}, said(f"short\n{line}\nend")):
        output = shown(message, environment)
        assert len(output) < 4_000
        shows(output, "798,000 characters more in this line", "--full shows")
        assert shown(message, environment, full=True).count("x") == 800_000
    assert "end" in shown(said(f"short\n{line}\nend"), environment)


@pytest.mark.parametrize("background", ["15;0", "0;15", ""])
def test_code_brings_no_background_of_its_own(background: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a light terminal as on a dark one: colours are those of its palette."""
    monkeypatch.setenv("COLORFGBG", background)
    output = shown(said("Call `total()`:\n\n```python\ndef total(): return 1\n```\n"), TERMINAL)
    assert "\x1b[" in output
    assert not re.search(r"\x1b\[(?:[\d;]*;)?4[0-8](?:;|m)", output)
