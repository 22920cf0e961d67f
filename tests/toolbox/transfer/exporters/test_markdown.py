"""Messages as Markdown: readable, and nothing in one gets out of its place."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from amplifier_module_context_persistent.log.record_line import encode_message
from amplifier_module_context_persistent.toolbox.transfer.exporters.markdown import (
    fenced,
    inline,
    message_markdown,
    quoted,
)
from tests.support.commands import shows
from tests.support.exports import exported
from tests.support.growth import assert_grows_with_the_text
from tests.support.histories import messages as any_histories
from tests.support.logs import sealed
from tests.support.sweeps import proof

HOSTILE = [
    "~~~ a`b\n```\n<img src=x onerror=alert(1)>\n```\n~~~",
    "[x](javascript:alert(1)) [y][z] ![i](http://t.example/i.png) <http://t.example> <1@b.co>\n\n[z]: http://t.example",
    "- ~~~\n  <b>\n- > ```\n<i>",
    "</details>\n# Turn 9\n<script>alert(1)</script>",
    "```\ncode\n````\n</details>\n",
    "```python\nnever closed\n</details>",
    "~~~\n```\n~~~\n<img src=x onerror=y>",
    "    ```\n<b>indented</b>",
    "- ```\n<b>in a list</b>",
    "> > quoted\n\nnext\r\n<div>\r</div>",
    "![x](http://track.example/a.png) <!-- c --> &lt;b&gt; [a]: http://b.example",
    "\x1b[31mred\x1b]8;;x\x07 \x9b5n \u202egnp \ud800 \x00 \u2028# line",
    "`" * 400,
]


def outside_of_fences(markdown: str) -> list[str]:
    """The lines that stand in no fence, as a reader of CommonMark finds them; quotation marks are taken off."""
    lines, fence = [], ""
    for line in markdown.split("\n"):
        inner = line.removeprefix("> ").removeprefix(">")
        found = re.match(r" {0,3}(`{3,})(.*)$", inner)
        if fence:
            if found and len(found[1]) >= len(fence) and not found[2].strip():
                fence = ""
        elif found:
            fence = found[1]
        else:
            lines.append(line)
    assert not fence, "a fence is left open"
    return lines


@proof(quick=1)
@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_what_a_message_says_stays_in_its_place(role: str, text: str) -> None:
    """Outside of fences stand our own lines and quotations only, in which nothing begins HTML or an image."""
    message: dict[str, Any] = {"role": role, "content": text, "tool_call_id": "c1", "name": text}
    if role == "assistant":
        blocks = [{"type": "text", "text": text}, {"type": "thinking", "thinking": text}, {"type": text, "x": text}]
        call = {"id": "c1", "tool": text, "arguments": {"a": text}}
        message = {"role": role, "content": blocks, "tool_calls": [call, {"id": "c2", "tool": text, "arguments": text}]}
    shown = message_markdown(message)
    ours = re.compile(
        r"### (User|Assistant|System|Tool)( \([^<>`]*\))?|</?details>|<summary>.*</summary>|<code>\w+</code>:|"
    )
    for line in outside_of_fences(shown):
        if line.startswith(">"):
            assert not re.search(r"<[A-Za-z/!?]|!\[|\]:", line)
        else:
            assert ours.fullmatch(line), line
            assert not re.search(r"<(?!/?(details|summary|code)>)", line)
    outside = outside_of_fences(shown)
    assert outside.count("<details>") == outside.count("</details>")
    assert not [c for c in shown if not (c.isprintable() or c in "\n\t")]


def test_a_message_is_readable() -> None:
    """Prose as a quotation with its code, calls with their arguments, results folded, times and ids in headings."""
    message = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm."},
            {"type": "text", "text": "Run `a < b && c`:\n\n```sh\nls <dir>\n```"},
            {"type": "tool_call", "id": "c1", "name": "bash", "input": {"command": "ls"}},
        ],
        "tool_calls": [{"id": "c1", "tool": "bash", "arguments": {"command": "ls"}}],
        "metadata": {"timestamp": "2026-01-05T09:00:02.000Z", "message_id": "m2"},
    }
    shown = message_markdown(message)
    assert shown.startswith("### Assistant · 2026-01-05 09:00:02 · m2\n\n")
    assert "> Run `a < b && c`:\n>\n> ```sh\n> ls <dir>\n> ```\n" in shown
    assert shown.count("<summary>Call of <code>bash</code>: <code>ls</code></summary>\n\n```sh\nls\n```") == 1
    result = message_markdown({"role": "tool", "tool_call_id": "c1", "name": "bash", "content": "a\nb\n"})
    assert "<summary>Result of <code>bash</code>, 4 characters</summary>\n\n```\na\nb\n```\n\n</details>" in result


def test_commands_and_long_texts_are_shown_as_they_are() -> None:
    """A command is a command, a text of several lines has its lines, and the rest is JSON."""
    given = {"command": "make &&\n  echo 'a'", "content": "one\n```\ntwo", "n": 3, "path": "a.py"}
    call = {"id": "c1", "tool": "bash", "arguments": given}
    shown = message_markdown({"role": "assistant", "content": "", "tool_calls": [call]})
    shows(
        shown,
        "```sh\nmake &&\n  echo 'a'\n```",
        "<code>content</code>:\n\n````\none\n```\ntwo\n````",
        '```json\n{\n  "n": 3,\n  "path": "a.py"\n}\n```',
    )


def test_arguments_that_are_json_text_are_shown_as_json() -> None:
    """As the contract's shape has them; text that is no JSON stands as it is."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    assert '```json\n{\n  "a": 1\n}\n```' in message_markdown(
        {"role": "assistant", "content": None, "tool_calls": [call]}
    )
    call["function"] = {"name": "f", "arguments": "{oops"}
    assert "```\n{oops\n```" in message_markdown({"role": "assistant", "content": None, "tool_calls": [call]})


@pytest.mark.parametrize("source", [None, "hook"])
def test_what_no_person_wrote_is_folded(source: str | None) -> None:
    """Reminders and what hooks insert as a user say where they come from."""
    message = {"role": "user", "content": "<system-reminder>x</system-reminder>", "metadata": {"source": source}}
    shown = message_markdown(message)
    shows(shown, f"### User ({source or 'inserted'})", "<details>")


def test_an_image_is_named_and_left_out() -> None:
    """Its base64 is no text for people."""
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 5000}}
    shown = message_markdown({"role": "user", "content": [{"type": "text", "text": "see"}, image]})
    assert "A" * 50 not in shown
    assert "5,000 characters of base64" in shown


@given(st.text(alphabet="`~ \n>a<"))
def test_a_fence_is_longer_than_any_run_in_it(text: str) -> None:
    """So what stands in it cannot end it."""
    first, *inner, last = fenced(text).split("\n")
    assert first == last
    assert all(first not in line for line in inner)
    assert "\n".join(inner) == text.removesuffix("\n")


def test_code_in_a_quotation_ends_where_markdown_ends_it() -> None:
    """A fence that is four spaces in is a line of the code; up to three are none."""
    assert quoted("```\n    ```\n<b>\n```\nend") == "> ````\n>     ```\n> <b>\n> ````\n> end"
    assert quoted("```\ncode\n   ```\nend") == "> ```\n> code\n> ```\n> end"


@given(st.text(alphabet="`~ \n>-<b!/&;[]:a"))
def test_a_quotation_has_no_line_outside(text: str) -> None:
    """Every line is marked as part of it, and fences in it are closed."""
    shown = quoted(text)
    assert all(line.startswith(">") for line in shown.split("\n"))
    for line in outside_of_fences(shown):
        assert not re.search(r"<[A-Za-z/!?]|!\[|\]:|&(?!amp;|lt;|#91;|#58;|#40;|#96;|#126;)#?[a-z0-9]+;", line)


@given(st.text())
def test_a_name_has_no_markup(text: str) -> None:
    """Letters and digits stay, everything else is an entity."""
    shown = inline(text)
    assert "\n" not in shown
    assert not set(re.sub(r"&#\d+;", "", shown)) & set("<>`*_[]()#!|\\&")


@given(any_histories())
def test_any_message_can_be_shown(history: list[dict[str, Any]]) -> None:
    """Whatever orchestrators, hooks and crashes leave."""
    for message in history:
        shown = message_markdown(message)
        assert shown.startswith("### ")
        outside_of_fences(shown)


PIECES = st.sampled_from(
    [
        *("`", "``", "```", "````", "~~~", "~~~~", "~", "\n", "\n\n", "\r", "\r\n", "\t", " ", "    ", "\\", "b`c"),
        *("<", ">", "<b>", "</b>", "<img src=x onerror=y>", "<!--", "-->", "<?", "<![CDATA[", "</details>"),
        *("<details>", "<script>", "<http://a.example>", "<1@b.co>", "<a@b.co>", "http://a.example", "&lt;b&gt;"),
        *("[", "]", "(", ")", "](", "]:", "![", "[a](b)", "[a]: b", "[a]", "- ", "1. ", "> ", "# ", "---", "==="),
        *("|", "*", "_", "&#60;b&#62;", "&", ";", "'", '"', "a"),
    ]
)
TEXTS = st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=40)
ROLES = st.sampled_from(["user", "assistant", "system", "tool"])
OURS = re.compile(r"</?code>|</details>\n?|<details>\n<summary>([^<>]|</?code>)*</summary>\n?")


def inert(markdown: str) -> list[Token]:
    """The top-level tokens of a document that has no active content but ours."""
    tokens = MarkdownIt("commonmark", {"html": True}).parse(markdown)
    for token in [each for block in tokens for each in (block, *(block.children or ()))]:
        assert token.type not in ("link_open", "image"), (token, markdown)
        if token.type in ("html_block", "html_inline"):
            assert OURS.fullmatch(token.content), (token.content, markdown)
    for token, inside in pairwise(tokens):
        if token.type == "paragraph_open" and token.level == 0:
            assert re.fullmatch(r"<code>[^<>]*</code>:", inside.content), markdown
    return [token for token in tokens if token.level == 0]


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "system", "tool"]), TEXTS, TEXTS), min_size=1, max_size=3)
)
def test_nothing_of_any_text_is_active_and_no_message_ends_another(said: list[tuple[str, str, str]]) -> None:
    """A CommonMark parser finds our tags alone, no links, no images, and each message under its heading."""
    parts = []
    for role, text, name in said:
        message: dict[str, Any] = {"role": role, "content": text, "tool_call_id": name, "name": name}
        if role == "assistant":
            message["content"] = [
                {"type": "text", "text": text},
                {"type": "thinking", "thinking": text},
                {"type": name},
            ]
            message["tool_calls"] = [{"id": "c", "tool": name, "arguments": {name: text}}]
        message["metadata"] = {"message_id": name, "timestamp": name, "source": name}
        parts.append(message_markdown(message))
    alone = [inert(part) for part in parts]
    together = inert("".join(parts))
    assert [token.type for token in together] == [token.type for part in alone for token in part]
    assert sum(token.type == "heading_open" for token in together) == len(said)
    assert {token.type for token in together} <= {
        *("heading_open", "inline", "heading_close", "blockquote_open", "blockquote_close", "fence", "html_block"),
        *("paragraph_open", "paragraph_close"),
    }


def test_a_fence_with_a_long_gap_is_read_once() -> None:
    """Also one that turns out to be none."""
    assert_grows_with_the_text(lambda gap: quoted(f"```{gap}`"), " " * 40_000)


TIMES = [(0.04, "0.0 s"), (9.94, "9.9 s"), (10.4, "10 s"), (59.4, "59 s"), (89, "1 min"), (3_569, "59 min")]
TIMES += [(3_600, "1 h 0 min"), (7_259, "2 h 1 min"), (360_000, "100 h 0 min")]


@pytest.mark.parametrize(("seconds", "told"), TIMES)
def test_a_result_says_how_long_its_call_took(tmp_path: Path, seconds: float, told: str) -> None:
    """In tenths of a second if it was short, in seconds below a minute, then in minutes and hours."""
    began = datetime(2026, 1, 5, 9, tzinfo=UTC)
    times = [began, began + timedelta(seconds=seconds)]
    call = {"id": "c", "tool": "make", "arguments": {}}
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "made", "tool_call_id": "c", "name": "make"},
    ]
    lines = [
        encode_message(message, message_id=f"m{number}", timestamp=time.isoformat())
        for number, (message, time) in enumerate(zip(messages, times, strict=True))
    ]
    (tmp_path / "log").write_bytes(b"".join(sealed(lines)))
    assert f"<code>make</code>, {told}, 4 characters<" in exported(tmp_path / "log", "markdown")
