"""The page in Chromium, opened from a file as whoever gets it opens it."""

from importlib.resources import files
from itertools import product

import pytest

from benchmarks.chromium import BROWSER, WHY_NOT
from fixtures.generate import generate_session
from tests.support.opened_pages import DRAWN, TEXT, press_button, show, way_down
from tests.support.sweeps import proof, spread

pytestmark = [proof, pytest.mark.skipif(BROWSER is None, reason=WHY_NOT)]

MOST_NODES = 600
VIOLATIONS = """axe.run({ resultTypes: ['violations'] }).then((found) => found.violations.map((one) => [
  one.id,
  one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200) + node.failureSummary),
]))"""


def call(name, arguments, text, **result):
    asked = {"role": "assistant", "content": "", "tool_calls": [{"id": name, "tool": name, "arguments": arguments}]}
    return [asked, {"role": "tool", "tool_call_id": name, "name": name, "content": text, **result}]


def test_calls_unfold_to_what_was_asked_and_answered(opened):
    """Folded at first; an edit is lines removed and added; what failed is marked."""
    edit = {"file_path": "cart.py", "old_string": "a = 1\nb = 2", "new_string": "a = 1\nb = 3"}
    session = [
        {"role": "user", "content": "Mend it."},
        *call("Edit", edit, "done"),
        *call("Bash", {"command": "make"}, "Exit code 2\nno rule"),
    ]
    page = opened(session)
    assert "no rule" not in page.run(TEXT)
    assert "failed" in page.run(TEXT)
    press_button(page, "Edit")
    assert page.run("document.querySelector('del').textContent").strip() == "-b = 2"
    assert page.run("document.querySelector('ins').textContent").strip() == "+b = 3"
    press_button(page, "Bash")
    assert "no rule" in page.run(TEXT)
    press_button(page, "Bash")
    assert "no rule" not in page.run(TEXT)


def shown_of_kind(page, kind):
    """The text of the stream with one kind of messages."""
    page.run(f"document.querySelector('#kind').value = {kind!r}")
    page.run("document.querySelector('#kind').dispatchEvent(new Event('change'))")
    return page.run(TEXT)


def test_messages_of_one_kind_are_shown(opened):
    """What people said, what was said, calls, calls that went wrong; a link to another message shows all again."""
    session = [
        {"role": "user", "content": "Mend the first."},
        *call("Read", {"file_path": "a.py"}, "fine"),
        {"role": "assistant", "content": "It is mended."},
        {"role": "user", "content": "And the second."},
        *call("Bash", {"command": "make"}, "Exit code 2\nno rule"),
    ]
    page = opened(session)
    wanted = {
        "people": ("Mend the first.", "And the second."),
        "said": ("Mend the first.", "It is mended.", "And the second."),
        "calls": ("Read", "Bash"),
        "failed": ("Bash",),
        "": ("Mend the first.", "Read", "It is mended.", "And the second.", "Bash"),
    }
    for kind, texts in wanted.items():
        said = shown_of_kind(page, kind)
        assert [text for text in wanted[""] if text in said] == list(texts), kind
    shown_of_kind(page, "people")
    page.run("location.hash = '#m-n3'")
    page.wait("document.querySelector('#kind').value === ''")
    assert "It is mended." in page.run(TEXT)


def test_a_message_is_copied_as_text(opened):
    """By its button, with its calls and their results."""
    page = opened([{"role": "user", "content": "Mend *it*."}, *call("Bash", {"command": "make"}, "no rule")])
    page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    for number, text in enumerate(["Mend *it*.", 'Bash {"command":"make"}\n\nno rule']):
        page.run(f"document.querySelectorAll('.copy')[{number}].click()")
        page.wait("document.querySelector('#said').textContent.endsWith('copied')")
        assert page.run("window.copied") == text
        page.run("document.querySelector('#said').textContent = ''")


def test_the_figures_tell_the_files(opened):
    """Each with what was done to it and links to the turns."""
    session = [
        {"role": "user", "content": "Mend it."},
        *call("Read", {"file_path": "src/a.py"}, "fine"),
        *call("Edit", {"file_path": "src/a.py", "old_string": "a", "new_string": "b"}, "done"),
        {"role": "user", "content": "Once more."},
        *call("Read", {"file_path": "src/a.py"}, "fine"),
        *call("Read", {"file_path": "src/b.py"}, "fine"),
    ]
    page = opened(session)
    press_button(page, "Figures")
    rows = page.run("[...document.querySelectorAll('dialog table')].at(-1).innerText")
    assert [line.split("\t") for line in rows.splitlines()][-3:] == [
        ["file", "read", "changed", "turns"],
        ["src/b.py", "1", "", "2"],
        ["src/a.py", "2", "1", "1, 2"],
    ]
    page.run("[...document.querySelectorAll('dialog a')].find((link) => link.textContent === '2').click()")
    page.wait("!document.querySelector('dialog').open")


def test_markdown_is_rendered_and_addresses_stay_text(opened):
    """Emphasis, code, lists and tables are elements; links, images and HTML are what was written."""
    said = (
        "# Title\n\nSome **bold** and `code`.\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"
        "[x](https://example.org) <b>no</b> ![i](http://e.org/i.png)\n\n```py\nprint(1)\n```"
    )
    page = opened([{"role": "user", "content": "hi"}, {"role": "assistant", "content": said}])
    assert page.run("document.querySelector('#stream strong').textContent") == "bold"
    assert page.run("document.querySelectorAll('#stream td').length") == 2
    assert page.run("document.querySelectorAll('#stream b, #stream img').length") == 0
    assert page.run("[...document.querySelectorAll('a')].every((one) => one.getAttribute('href').startsWith('#'))")
    assert "[x](https://example.org) <b>no</b>" in page.run(TEXT)
    assert page.run("document.querySelector('#stream pre').textContent") == "print(1)"


def test_what_the_model_saw_is_marked_and_proved(opened, compacted):
    """Counts as the replay tells them; 'as the model saw it' leaves out what was dropped and shows what was put in."""
    page = opened(compacted, hash_="#request-20")
    panel = "document.getElementById('seen').innerText"
    assert "What the model saw at request 20" in page.run(panel)
    assert "Proved by its receipt" in page.run(panel)
    assert "dropped" in page.run(panel)
    assert "Request 20 was made here" in page.run(TEXT)
    press_button(page, "As the model saw it")
    assert "The end of what this request was handed" in page.run(TEXT)
    page.run("document.getElementById('stream').scrollTop = 0")
    page.wait(f"{TEXT}.includes('Turn 1')")
    assert page.run("document.querySelectorAll('.row.fate-d').length") == 0


def test_the_timeline_is_gone_through_by_keys_and_clicks(opened, compacted):
    """Arrow keys go from request to request, a click goes to one; a screen reader is told which."""
    page = opened(compacted)
    page.run("document.getElementById('timeline').focus()")
    page.press("End")
    last = page.run("document.getElementById('timeline').getAttribute('aria-valuenow')")
    assert last == page.run("document.getElementById('timeline').getAttribute('aria-valuemax')")
    page.press("ArrowLeft")
    assert page.run("document.getElementById('timeline').getAttribute('aria-valuetext')").startswith(
        f"Request {int(last) - 1} of"
    )
    assert page.run("location.hash") == f"#request-{int(last) - 1}"
    box = page.run("document.getElementById('timeline').getBoundingClientRect().toJSON()")
    page.click(box["x"] + 2, box["y"] + box["height"] / 2)
    assert page.run("location.hash") == "#request-1"


def test_the_page_holds_what_is_in_sight(opened):
    """At most 600 nodes wherever one is, folded or not; the way down shows every message."""
    messages = list(generate_session(3, 120, mean_bytes=0))
    answers = {number for number, one in enumerate(messages, 1) if one["role"] != "tool"}
    page = opened([{key: value for key, value in one.items() if key != "metadata"} for one in messages], height=1_500)
    for height, unfolded in spread([(1_500, False), (900, False), (900, True)], 3, 2):
        page.resize(1280, height)
        if unfolded:
            for turn in range(page.run("document.querySelectorAll('.entry').length")):
                page.run(f"location.hash = '#turn-{turn + 1}'")
                page.run(DRAWN)
                page.press("O")
        seen, most = way_down(page)
        assert most <= MOST_NODES
        assert answers <= seen


def test_find_reaches_what_is_folded(opened):
    """In thinking, arguments and results; Enter unfolds the hit and goes from one to the next."""
    session = [{"role": "user", "content": f"Question {number}"} for number in range(300)]
    session[150:150] = call("Read", {"path": "a.py"}, "x\n" * 500 + "the Needle is here\n" + "y\n" * 500)
    session.append(
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "a needle, too"}, {"type": "text", "text": "ok"}],
        }
    )
    page = opened(session)
    page.press("/")
    page.type("NEEDLE")
    page.wait("document.getElementById('found').textContent === '2 messages'")
    page.press("Enter")
    page.wait(f"{TEXT}.includes('the Needle is here')")
    assert page.run("document.getElementById('found').textContent") == "1 of 2"
    assert page.run("CSS.highlights.get('hit').size") == 1
    page.press("Enter")
    page.wait(f"{TEXT}.includes('a needle, too')")
    page.press("Escape")
    assert page.run("document.getElementById('find').value") == ""


def test_links_go_to_messages_and_turns(opened):
    """By id, by number where there is none, by turn; also from another place in the page."""
    stamped = [
        {"role": "user", "content": f"Question {n}", "metadata": {"message_id": f"id <{n}>"}} for n in range(200)
    ]
    page = opened(stamped, hash_="#m-id%20%3C150%3E")
    page.wait(f"{TEXT}.includes('Question 150')")
    assert page.run("document.querySelector('.row.current').innerText").startswith("151")
    page.run("location.hash = '#turn-20'")
    page.wait(f"{TEXT}.includes('Question 19')")
    page.run("location.hash = '#m-%E0%A4%A'")  # no id, and no part of an address either
    page.wait("document.getElementById('said').textContent === 'there is no such message'")
    link = page.run("document.querySelector('#stream .no').getAttribute('href')")
    assert link.startswith("#m-id%20%3C")


def test_keys_move_through_the_session(opened):
    """Messages, turns and failures; `?` says which keys there are, Escape closes that."""
    session = []
    for number in range(40):
        session += [
            {"role": "user", "content": f"Question {number}"},
            *call(f"t{number}", {"n": number}, "Error: no" if number == 30 else "ok"),
        ]
    page = opened(session)
    current = "document.querySelector('.row.current').innerText"
    page.press("j")
    assert "t0" in page.run(current)
    page.press("]")
    assert "Question 1" in page.run(current)
    page.press("e")
    assert "t30" in page.run(current)
    page.press("o")
    assert "Error: no" in page.run(TEXT)
    page.press("?")
    assert page.run("document.getElementById('dialog').open")
    page.press("Escape")
    assert not page.run("document.getElementById('dialog').open")


def test_light_and_dark(opened):
    """As the system has it; the button turns it over."""
    page = opened([{"role": "user", "content": "hi"}])
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.run(ground)
    page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = page.run(ground)
    assert light != dark
    page.press("t")
    assert page.run(ground) == light


def test_turns_that_are_ticked_are_printed(opened):
    """Those and no others, whole; nothing stays in the page afterwards."""
    page = opened([{"role": "user", "content": f"Question {number}"} for number in range(60)])
    page.run("document.querySelectorAll('.entry input')[2].click()")
    page.run("document.querySelectorAll('.entry input')[4].click()")
    page.run(
        "addEventListener('beforeprint', () => {"
        " window.printed = [...document.querySelectorAll('#printed .human')].map((one) => one.textContent); })"
    )
    assert page.send("Page.printToPDF")["data"]
    assert page.run("window.printed") == ["Question 2", "Question 4"]
    assert page.run("document.getElementById('printed') === null")


HOSTILE = (
    "<script>window.pwned = 1; alert(1)</script><img src=x onerror='window.pwned=1; alert(2)'>"
    "</script></title></style><svg onload=alert(3)> javascript:alert(4) https://example.org/x "
    "[a](javascript:alert(5)) <!-- \u202e\u2066 \u0000 \ud800 ]]> {{ 7 * 7 }} {% raw %} '\"` &lt;b&gt;"
)


def test_hostile_content_stays_text(opened):
    """In every field: nothing runs, nothing is asked for, no element is made of it; it is there to be read."""
    metadata = {
        "message_id": HOSTILE,
        "timestamp": HOSTILE,
        "source": HOSTILE,
        "model": HOSTILE,
        "usage": {"input_tokens": 3},
    }
    image = {"type": "image", "source": {"type": "base64", "media_type": f"image/png;{HOSTILE}", "data": HOSTILE}}
    blocks = [{"type": "thinking", "thinking": HOSTILE}, {"type": "text", "text": HOSTILE}, image, {"type": HOSTILE}]
    asked = {"id": HOSTILE, "tool": HOSTILE, "arguments": {HOSTILE: HOSTILE, "old_string": HOSTILE, "new_string": "x"}}
    session = [
        {"role": "user", "content": HOSTILE, "metadata": {"message_id": f"0{HOSTILE}"}},
        {"role": "system", "content": HOSTILE},
        {"role": "assistant", "content": blocks, "tool_calls": [asked], "metadata": metadata},
        {"role": "tool", "tool_call_id": HOSTILE, "name": HOSTILE, "content": HOSTILE},
        {"role": "user", "content": HOSTILE, "metadata": {"source": HOSTILE}},
    ]
    page = opened(session)
    page.run("[...document.querySelectorAll('.fold')].forEach((one) => one.click())")
    for button in ("figures-button", "help-button"):
        page.run(f"document.getElementById('{button}').click()")
        page.run(DRAWN)
        assert page.run("document.querySelectorAll('dialog script, dialog img, dialog svg').length") == 0
        page.press("Escape")
    page.run("document.querySelectorAll('.fold[aria-expanded=false]').forEach((one) => one.click())")
    page.run(DRAWN)
    assert page.run("window.pwned === undefined")
    assert page.run("document.querySelectorAll('#stream script, #stream img, #stream svg, #contents img').length") == 0
    assert page.run("document.querySelectorAll('[style], [onerror], [onload], [onclick]').length") == 0
    assert "alert(3)" in page.run(TEXT)
    assert "\\u202e" in page.run(TEXT)


def test_a_file_that_was_cut_short_says_so(tab, compacted, tmp_path):
    """What is missing is not taken for nothing."""
    content = compacted.with_suffix(".html").read_bytes()
    (tmp_path / "cut.html").write_bytes(content[: content.rindex(b'class="block">') + 30])
    show(tab, f"file://{tmp_path}/cut.html")
    tab.wait("document.documentElement?.dataset.state === 'failed'")
    assert "cannot be read" in tab.run("document.body.innerText")


def test_axe_finds_nothing(opened, compacted):
    """No violation of its rules, wide and narrow, light and dark, with the panel, the list of turns and the dialogs."""
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not there")
    script = (files(axe) / "axe.min.js").read_text(encoding="utf-8")
    page = opened(compacted)
    page.run(script + "; 1")
    for scheme, width in product(("light", "dark"), (1280, 390)):
        page.resize(width, 900)
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for state in (
            "document.querySelector('.fold').click()",
            "location.hash = '#request-20'",
            "document.getElementById('turns-button').click()",
            "document.getElementById('turns-button').click(); document.getElementById('help-button').click()",
            "document.getElementById('figures-button').click()",
        ):
            page.run(f"document.getElementById('dialog').close(); {state}")
            page.run(DRAWN)
            found = page.run(VIOLATIONS)
            assert found == [], (scheme, width, state)


def test_what_does_not_print_is_escaped_in_folded_rows_too(opened):
    """A command with a change of direction reads as it is written, folded and unfolded."""
    call = {"id": "c", "tool": "bash", "arguments": {"command": "rm abc\u202egpj.exe \u0007", "a\u202eb": "x"}}
    page = opened([{"role": "user", "content": "Go."}, {"role": "assistant", "content": "", "tool_calls": [call]}])
    assert "rm abc\\u202egpj.exe \\u0007" in page.run(TEXT)
    press_button(page, "bash")
    assert "a\\u202eb: x" in page.run(TEXT)
    assert page.run("/[\\u202e\\u0007]/.test(document.body.textContent)") is False


def test_o_unfolds_the_failed_call_that_e_went_to(opened):
    """That one alone, of several of its message; a second `e` goes on within the message."""
    calls = [{"id": f"c{n}", "tool": "bash", "arguments": {"command": f"make part-{n}"}} for n in range(4)]
    results = [
        {"role": "tool", "tool_call_id": f"c{n}", "content": f"Error: part {n}" if n % 2 else "fine\n" * 200}
        for n in range(4)
    ]
    messages = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "", "tool_calls": calls}, *results]
    page = opened(messages)
    for number in (1, 3):
        page.press("e")
        page.press("o")
        page.run(DRAWN)
        assert f"Error: part {number}" in page.run(TEXT)
    assert "fine" not in page.run(TEXT)
